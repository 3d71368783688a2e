"""A small data set for every estimator: what is registered here gets every verb tested."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from margrave import (
    ConstituencyParser,
    DependencyParser,
    GraphLabeler,
    HierarchicalMultiLabelClassifier,
    HomologyRanker,
    Kernel,
    LatticeDecoder,
    LinearClassifier,
    MultiLabelClassifier,
    Reranker,
    SegmentTagger,
    SequenceAligner,
    SequenceTagger,
    TaxonomyClassifier,
)
from margrave.data import Lattice
from margrave.data.candidates import Candidates
from margrave.data.constituents import Tree
from margrave.features import ArcTemplates, Columns, NGrams, Sequences, Templates, TfIdf


@dataclass(frozen=True)
class Entry:
    """An estimator with data that it learns perfectly, or nearly so."""

    make: Callable[..., Any]
    X: Any
    y: Any
    raw: Any = None  # the same examples before the inputs
    features: Callable[[], Any] | None = None
    names: bool = True  # whether features have names to show
    more: dict[str, Any] = field(default_factory=dict)


WORDS = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["dogs", "sleep"], ["the", "cats", "bark"]]
TAGS = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"], ["D", "N", "V"]]
HEADS = [[2, 3, 0], [2, 3, 0], [2, 0], [2, 3, 0]]
ROWS = [[(word, tag) for word, tag in zip(words, tags, strict=True)] for words, tags in zip(WORDS, TAGS, strict=True)]
BRACKETS = [  # The phrase with a preposition can belong to the verb or to the noun.
    "(S (NP (N we)) (VP (V see) (NP (N cats)) (PP (P in) (NP (N rain)))))",
    "(S (NP (N dogs)) (VP (V see) (NP (D the) (N cats)) (PP (P in) (NP (N rain)))))",
    "(NP (NP (N hats)) (PP (P in) (NP (N rain))))",
    "(S (NP (N dogs)) (VP (V see) (NP (N cats))))",
]
BRACKETED = [[(leaf.children[0], leaf.label) for leaf in Tree.of(brackets).leaves()] for brackets in BRACKETS]
TEXTS = ["the cat purrs", "the dog barks", "the carp swims", "a cat and a cat", "one dog barks", "swim little carp"]
ANIMALS = ["pet.cat", "pet.dog", "fish.carp"] * 2
LISTS = [[{"lm": -2.0, "tm": 1.0}, {"lm": -1.0}], [{"lm": -1.0}, {"lm": -3.0}, {"lm": -2.0, "oov": 1.0}]] * 2
PAIRS = [("ACGT", "AGT"), ("TTACG", "TACG"), ("GATTA", "GTTA"), ("CCAT", "CAT")]
MATCHES = [[(0, 0), (2, 1), (3, 2)], [(1, 0), (2, 1), (3, 2), (4, 3)], [(0, 0), (2, 1), (3, 2), (4, 3)]]
MATCHES.append([(1, 0), (2, 1), (3, 2)])
NATIVES = [("ACGT", Candidates(["ACT", "GGG"])), ("TTAC", Candidates(["CCC", "TAC"]))]
HOMOLOGUES = [(0, [(0, 0), (1, 1), (3, 2)]), (1, [(1, 0), (2, 1), (3, 2)])]


LATTICES = [
    Lattice.of([(0, 1, "a", {"x": float(k % 2 == 0)}), (0, 1, "b", {"y": float(k % 2)}), (1, 2, "b", {"z": 1.0})])
    for k in range(4)
]


@dataclass
class Hypotheses:
    """As an n-best list has them."""

    hypotheses: list[str]
    features: list[dict[str, float]]


def color_maps() -> list[Any]:
    """Neighboring countries: each has the color that it names, and those without a name differ from neighbors."""
    return [
        ([["red"], ["blue"], ["red"], []], [(0, 1), (1, 2), (2, 3), (3, 0)]),
        ([["blue"], [], ["red"]], [(0, 1), (2, 1)]),
        ([["red"]], []),
        ([["blue"], ["red"], []], [(0, 1), (0, 2)]),
    ]


COLORS = [["r", "b", "r", "b"], ["b", "r", "r"], ["r"], ["b", "r", "r"]]


def tokens() -> list[Any]:
    return [[[f"w={word}", f"s={word[-1]}"] for word in words] for words in WORDS]


# Contracts expect the outputs with the highest scores, few of them, and fits that are close to the data.
PARSED = {"C": 1.0, "tol": 1e-4, "decode": "best"}
ENTRIES: dict[str, Entry] = {
    "SequenceTagger": Entry(SequenceTagger, tokens(), TAGS, [[(w,) for w in words] for words in WORDS], Templates),
    "SegmentTagger": Entry(
        SegmentTagger,
        tokens(),
        [["O", "B-X", "I-X"], ["O", "B-X", "I-X"], ["B-X", "I-X"], ["O", "B-X", "I-X"]],
        [[(w,) for w in words] for words in WORDS],
        Templates,
    ),
    "LinearClassifier": Entry(
        LinearClassifier, [[f"w={w}" for w in text.split()] for text in TEXTS], ANIMALS, TEXTS, TfIdf
    ),
    "TaxonomyClassifier": Entry(
        lambda **settings: TaxonomyClassifier(taxonomy=".", **settings),
        [text.split() for text in TEXTS],
        ANIMALS,
        TEXTS,
        TfIdf,
    ),
    "HierarchicalMultiLabelClassifier": Entry(
        lambda **settings: HierarchicalMultiLabelClassifier(taxonomy=".", **settings),
        [text.split() for text in TEXTS],
        [[animal] for animal in ANIMALS],
        TEXTS,
        TfIdf,
    ),
    "Reranker": Entry(
        Reranker,
        LISTS,
        [1, 0, 1, 0],
        [Hypotheses([f"word {k}" for k in range(len(each))], each) for each in LISTS],
        lambda: NGrams(1),
    ),
    "GraphLabeler": Entry(GraphLabeler, color_maps(), COLORS),
    "MultiLabelClassifier": Entry(
        MultiLabelClassifier, [text.split() for text in TEXTS], [animal.split(".") for animal in ANIMALS], TEXTS, TfIdf
    ),
    "LatticeDecoder": Entry(
        lambda **settings: LatticeDecoder(**{"loss": "log", **settings}),
        LATTICES,
        ["a b", "b b", "a b", "b b"],
        names=True,
    ),
    "DependencyParser": Entry(
        lambda **settings: DependencyParser(**{"features": None, **PARSED, **settings}),
        [ArcTemplates().learn(ROWS).attributes(rows) for rows in ROWS],
        HEADS,
        ROWS,
        ArcTemplates,
    ),
    "SequenceAligner": Entry(
        lambda **settings: SequenceAligner(**{"features": None, "decode": "score", "tol": 1e-4, **settings}),
        Sequences().learn(PAIRS).transform(PAIRS),
        MATCHES,
        PAIRS,
        Sequences,
    ),
    "HomologyRanker": Entry(
        lambda **settings: HomologyRanker(**{"features": None, **settings}),
        Sequences().learn(NATIVES).transform(NATIVES) * 2,
        HOMOLOGUES * 2,
        NATIVES * 2,
        Sequences,
    ),
    "ConstituencyParser": Entry(
        lambda **settings: ConstituencyParser(**{"grammar": "rules", **PARSED, **settings}), BRACKETED, BRACKETS
    ),
}

VARIANTS: dict[str, Entry] = {
    "a kernel": Entry(
        lambda **settings: SequenceTagger(kernel=Kernel("polynomial"), **settings), tokens(), TAGS, names=False
    ),
    "hashed": Entry(lambda **settings: SequenceTagger(weights="hash:8", **settings), tokens(), TAGS, names=False),
    "images": Entry(
        GraphLabeler,
        [np.eye(3), np.eye(3)[:2], np.ones((1, 2)), np.zeros((2, 2))],
        [y.astype(int) for y in (np.eye(3), np.eye(3)[:2], np.ones((1, 2)), np.zeros((2, 2)))],
    ),
    "columns": Entry(LinearClassifier, np.eye(6), ANIMALS, np.eye(6), Columns),
}
