"""Readers of the field's formats, and small built-in data."""

from margrave.datasets.builtin import load_digits, load_town
from margrave.datasets.columns import read_columns, write_columns
from margrave.datasets.conllu import Sentence, Word, read_conllu, read_conllx, write_conllu
from margrave.datasets.svmlight import read_svmlight
from margrave.datasets.tags import Span, convert_tags, spans
from margrave.datasets.taxonomy import read_descriptions, read_hierarchy, read_svmlight_paths, read_texts

__all__ = [
    "Sentence",
    "Span",
    "Word",
    "convert_tags",
    "load_digits",
    "load_town",
    "read_columns",
    "read_conllu",
    "read_conllx",
    "read_descriptions",
    "read_hierarchy",
    "read_svmlight",
    "read_svmlight_paths",
    "read_texts",
    "spans",
    "write_columns",
    "write_conllu",
]
