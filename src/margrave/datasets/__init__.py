"""Readers and writers for the field's file formats, and small built-in data sets."""

from margrave.datasets.alignments import gapped, read_fasta, read_pairs, write_aligned_fasta
from margrave.datasets.alternatives import read_alternatives
from margrave.datasets.brackets import read_brackets, write_brackets
from margrave.datasets.builtin import load_digits, load_harbour, load_quay, load_town
from margrave.datasets.columns import read_columns, write_columns
from margrave.datasets.conllu import Sentence, Word, conllu_lines, read_conllu, read_conllx, write_conllu
from margrave.datasets.forests import Forest, ForestEdge, read_forests, write_forests
from margrave.datasets.graphs import LabelledGraph, read_graphs, write_graphs
from margrave.datasets.lattices import Edge, Lattice, from_plf, read_lattices, to_plf, write_lattices
from margrave.datasets.nbest import NBestList, read_nbest, read_references, write_nbest
from margrave.datasets.parallel import ParallelText, read_parallel, read_sentences
from margrave.datasets.ranking import read_ranking, relevance_targets
from margrave.datasets.svmlight import read_svmlight
from margrave.datasets.taxonomy import read_descriptions, read_hierarchy, read_svmlight_paths, read_texts
from margrave.labels.tags import Span, convert_tags, spans

__all__ = [
    "Edge",
    "Forest",
    "ForestEdge",
    "LabelledGraph",
    "Lattice",
    "NBestList",
    "ParallelText",
    "Sentence",
    "Span",
    "Word",
    "conllu_lines",
    "convert_tags",
    "from_plf",
    "gapped",
    "load_digits",
    "load_harbour",
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
    "read_nbest",
    "read_pairs",
    "read_parallel",
    "read_ranking",
    "read_references",
    "read_sentences",
    "read_svmlight",
    "read_svmlight_paths",
    "read_texts",
    "relevance_targets",
    "spans",
    "to_plf",
    "write_aligned_fasta",
    "write_brackets",
    "write_columns",
    "write_conllu",
    "write_forests",
    "write_graphs",
    "write_lattices",
    "write_nbest",
]
