"""Features, which turn raw data into attributes: one file per kind. They are saved with the model."""

from margrave.features.arcs import ArcTemplates, default_arc_templates
from margrave.features.base import Features
from margrave.features.columns import Columns
from margrave.features.lattices import EdgeFeatures
from margrave.features.ngrams import NGrams, ngram_indicators, varying_ngrams
from margrave.features.segments import SegmentTemplates
from margrave.features.sequences import Sequences
from margrave.features.spans import SpanTemplates, default_span_templates
from margrave.features.templates import Templates, default_templates, read_templates
from margrave.features.tfidf import TfIdf
from margrave.files.stored import import_modules

__all__ = [
    "ArcTemplates",
    "Columns",
    "EdgeFeatures",
    "Features",
    "NGrams",
    "SegmentTemplates",
    "Sequences",
    "SpanTemplates",
    "Templates",
    "TfIdf",
    "default_arc_templates",
    "default_span_templates",
    "default_templates",
    "ngram_indicators",
    "read_templates",
    "varying_ngrams",
]

import_modules(__name__)
