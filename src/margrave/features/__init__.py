"""Feature maps, which turn weights into scores of parts: one file per map."""

from margrave.features.alignment import AlignmentFeatures
from margrave.features.base import Features
from margrave.features.chain import ChainFeatures
from margrave.features.graphs import GraphFeatures
from margrave.features.label_graph import LabelGraphFeatures
from margrave.features.mercer import Kernel
from margrave.features.outputs import NodeFeatures, OutputFeatures
from margrave.features.segments import SegmentFeatures
from margrave.features.span_kernel import SpanKernel
from margrave.features.spans import SpanFeatures
from margrave.features.sparse import SparseFeatures
from margrave.features.substitution import BLOSUM62, SubstitutionMatrix, read_matrix
from margrave.features.table import AttributeTable, features_named
from margrave.features.trees import TreeFeatures
from margrave.files.stored import import_modules

__all__ = [
    "BLOSUM62",
    "AlignmentFeatures",
    "AttributeTable",
    "ChainFeatures",
    "Features",
    "GraphFeatures",
    "Kernel",
    "LabelGraphFeatures",
    "NodeFeatures",
    "OutputFeatures",
    "SegmentFeatures",
    "SpanFeatures",
    "SpanKernel",
    "SparseFeatures",
    "SubstitutionMatrix",
    "TreeFeatures",
    "features_named",
    "read_matrix",
]

import_modules(__name__)
