"""Which bags of parts are outputs: one file a structure."""

from margrave.structures.chain import Chain
from margrave.structures.multiclass import Multiclass
from margrave.structures.non_projective_tree import NonProjectiveTree

__all__ = ["Chain", "Multiclass", "NonProjectiveTree"]
