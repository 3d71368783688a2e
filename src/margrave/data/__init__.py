"""What users hand over and get back, as plain values: one file per kind."""

from margrave.data.alignments import gapped, matched_pairs
from margrave.data.arcs import ArcLabels, Arcs
from margrave.data.candidates import Candidates
from margrave.data.constituents import Constituent, Tree
from margrave.data.factors import Factor, Factors
from margrave.data.forests import Forest, ForestEdge
from margrave.data.graphs import Graph, LabeledGraph, image_graph
from margrave.data.heads import crossing_words, is_projective, projectivize
from margrave.data.lattices import Edge, Lattice
from margrave.data.letters import Letters
from margrave.data.nbest import NBestList
from margrave.data.parallel import ParallelText
from margrave.data.rules import Allowed, AtMostOne, Budget, Forbidden, Implies, Or, OwnRule, Rule, TreeRule, Xor
from margrave.data.sentences import Sentence, Word
from margrave.data.substitution import BLOSUM62, SubstitutionMatrix
from margrave.data.tags import Answers, Span, convert_tags, spans
from margrave.data.taxonomy import Taxonomy

__all__ = [
    "BLOSUM62",
    "Allowed",
    "Answers",
    "ArcLabels",
    "Arcs",
    "AtMostOne",
    "Budget",
    "Candidates",
    "Constituent",
    "Edge",
    "Factor",
    "Factors",
    "Forbidden",
    "Forest",
    "ForestEdge",
    "Graph",
    "Implies",
    "LabeledGraph",
    "Lattice",
    "Letters",
    "NBestList",
    "Or",
    "OwnRule",
    "ParallelText",
    "Rule",
    "Sentence",
    "Span",
    "SubstitutionMatrix",
    "Taxonomy",
    "Tree",
    "TreeRule",
    "Word",
    "Xor",
    "convert_tags",
    "crossing_words",
    "gapped",
    "image_graph",
    "is_projective",
    "matched_pairs",
    "projectivize",
    "spans",
]
