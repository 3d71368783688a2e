"""Which bags of parts are outputs: one file a structure."""

from margrave.structures.candidates import CandidateLists
from margrave.structures.chain import Chain
from margrave.structures.multiclass import Multiclass
from margrave.structures.node_sets import NodeSets
from margrave.structures.non_projective_tree import NonProjectiveTree

__all__ = ["CandidateLists", "Chain", "Multiclass", "NodeSets", "NonProjectiveTree"]
