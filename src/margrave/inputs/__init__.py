"""Inputs, which turn raw data into attributes: one file per kind. They are saved with the model."""

from margrave.files.stored import import_modules
from margrave.inputs.arcs import ArcTemplates, default_arc_templates
from margrave.inputs.base import Inputs
from margrave.inputs.columns import Columns
from margrave.inputs.graphs import Graph, image_graph
from margrave.inputs.lattices import EdgeFeatures
from margrave.inputs.ngrams import NGrams
from margrave.inputs.segments import SegmentTemplates
from margrave.inputs.sequences import Sequences
from margrave.inputs.spans import SpanTemplates, default_span_templates
from margrave.inputs.templates import Templates, default_templates, read_templates
from margrave.inputs.tfidf import TfIdf

__all__ = [
    "ArcTemplates",
    "Columns",
    "EdgeFeatures",
    "Graph",
    "Inputs",
    "NGrams",
    "SegmentTemplates",
    "Sequences",
    "SpanTemplates",
    "Templates",
    "TfIdf",
    "default_arc_templates",
    "default_span_templates",
    "default_templates",
    "image_graph",
    "read_templates",
]

import_modules(__name__)
