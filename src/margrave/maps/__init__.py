"""Feature maps, which turn weights into scores of parts: one file per map."""

from margrave.files.stored import import_modules
from margrave.maps.alignment import AlignmentMap
from margrave.maps.base import FeatureMap
from margrave.maps.chain import ChainMap
from margrave.maps.graphs import GraphMap
from margrave.maps.label_graph import LabelGraphMap
from margrave.maps.mercer import Kernel
from margrave.maps.outputs import NodeMap, OutputMap
from margrave.maps.segments import SegmentMap
from margrave.maps.span_kernel import SpanKernel
from margrave.maps.spans import SpanMap
from margrave.maps.sparse import SparseMap
from margrave.maps.table import FeatureTable, table_named
from margrave.maps.trees import TreeMap

__all__ = [
    "AlignmentMap",
    "ChainMap",
    "FeatureMap",
    "FeatureTable",
    "GraphMap",
    "Kernel",
    "LabelGraphMap",
    "NodeMap",
    "OutputMap",
    "SegmentMap",
    "SpanKernel",
    "SpanMap",
    "SparseMap",
    "TreeMap",
    "table_named",
]

import_modules(__name__)
