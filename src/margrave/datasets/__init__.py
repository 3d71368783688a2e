"""Readers and writers for the field's file formats, and small built-in data sets."""

from margrave.datasets.alignments import read_fasta, read_pairs, write_aligned_fasta
from margrave.datasets.alternatives import read_alternatives
from margrave.datasets.brackets import read_brackets, write_brackets
from margrave.datasets.builtin import load_digits, load_harbor, load_quay, load_town
from margrave.datasets.columns import read_columns, write_columns
from margrave.datasets.conllu import conllu_lines, read_conllu, read_conllx, write_conllu
from margrave.datasets.forests import read_forests, write_forests
from margrave.datasets.graphs import read_graphs, write_graphs
from margrave.datasets.lattices import from_plf, read_lattices, to_plf, write_lattices
from margrave.datasets.nbest import read_nbest, read_references, write_nbest
from margrave.datasets.ranking import read_ranking, relevance_targets
from margrave.datasets.substitution import read_matrix, write_matrix
from margrave.datasets.svmlight import read_svmlight
from margrave.datasets.taxonomy import (
    read_descriptions,
    read_hierarchy,
    read_svmlight_paths,
    read_taxonomy,
    read_texts,
)

__all__ = [
    "conllu_lines",
    "from_plf",
    "load_digits",
    "load_harbor",
    "load_quay",
    "load_town",
    "read_alternatives",
    "read_brackets",
    "read_columns",
    "read_conllu",
    "read_conllx",
    "read_descriptions",
    "read_fasta",
    "read_forests",
    "read_graphs",
    "read_hierarchy",
    "read_lattices",
    "read_matrix",
    "read_nbest",
    "read_pairs",
    "read_ranking",
    "read_references",
    "read_svmlight",
    "read_svmlight_paths",
    "read_taxonomy",
    "read_texts",
    "relevance_targets",
    "to_plf",
    "write_aligned_fasta",
    "write_brackets",
    "write_columns",
    "write_conllu",
    "write_forests",
    "write_graphs",
    "write_lattices",
    "write_matrix",
    "write_nbest",
]
