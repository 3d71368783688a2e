"""Which bags of parts are outputs: one file per structure."""

from margrave.files.stored import import_modules
from margrave.structures.alignment import Alignment, Homology
from margrave.structures.arc_pair_tree import ArcPairTree
from margrave.structures.base import Labels, NoOutputs, Outputs, Structure
from margrave.structures.candidates import CandidateLists
from margrave.structures.chain import Chain
from margrave.structures.constituents import ContextFreeTree, SpanTree
from margrave.structures.factor_graph import FactorGraph
from margrave.structures.forest_derivations import ForestDerivations
from margrave.structures.grammar import Grammar
from margrave.structures.label_graph import LabelGraph
from margrave.structures.lattice_paths import LatticePaths
from margrave.structures.multiclass import Multiclass
from margrave.structures.node_sets import NodeSets
from margrave.structures.non_projective_tree import NonProjectiveTree
from margrave.structures.projective_tree import ProjectiveTree
from margrave.structures.second_order_tree import SecondOrderTree
from margrave.structures.semi_markov import Segmentation, SemiMarkov

__all__ = [
    "Alignment",
    "ArcPairTree",
    "CandidateLists",
    "Chain",
    "ContextFreeTree",
    "FactorGraph",
    "ForestDerivations",
    "Grammar",
    "Homology",
    "LabelGraph",
    "Labels",
    "LatticePaths",
    "Multiclass",
    "NoOutputs",
    "NodeSets",
    "NonProjectiveTree",
    "Outputs",
    "ProjectiveTree",
    "SecondOrderTree",
    "Segmentation",
    "SemiMarkov",
    "SpanTree",
    "Structure",
]

import_modules(__name__)
