"""Which bags of parts are outputs: one file per structure."""

from margrave.files.stored import import_modules
from margrave.structures.arc_trees import ArcLabels, Arcs
from margrave.structures.base import Labels, NoOutputs, Outputs, Structure
from margrave.structures.candidates import CandidateLists
from margrave.structures.chain import Chain
from margrave.structures.multiclass import Multiclass
from margrave.structures.node_sets import NodeSets
from margrave.structures.non_projective_tree import NonProjectiveTree
from margrave.structures.projective_tree import ProjectiveTree
from margrave.structures.second_order_tree import SecondOrderTree

__all__ = [
    "ArcLabels",
    "Arcs",
    "CandidateLists",
    "Chain",
    "Labels",
    "Multiclass",
    "NoOutputs",
    "NodeSets",
    "NonProjectiveTree",
    "Outputs",
    "ProjectiveTree",
    "SecondOrderTree",
    "Structure",
]

import_modules(__name__)
