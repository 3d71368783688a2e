"""Every value of margrave.data has a short text form, however large it is."""

from typing import Any

import numpy as np
import pytest

import margrave.data
from margrave.data import (
    BLOSUM62,
    Allowed,
    Answers,
    ArcLabels,
    Arcs,
    AtMostOne,
    Budget,
    Candidates,
    Edge,
    Factor,
    Factors,
    Forbidden,
    Forest,
    ForestEdge,
    Graph,
    Implies,
    LabeledGraph,
    Lattice,
    Letters,
    NBestList,
    Or,
    OwnRule,
    ParallelText,
    Sentence,
    SubstitutionMatrix,
    Taxonomy,
    Tree,
    TreeRule,
    Word,
    Xor,
)

LONG = "long" * 100
MANY = 500
LITERALS = [(k, "yes") for k in range(MANY)]
PAIRS = [(0, k) for k in range(1, MANY)]
GRAPH = Graph([["x"]] * MANY, PAIRS)

SMALL: list[tuple[Any, str]] = [
    (Word(1, "Hunde", head=2), "<Word 1 'Hunde', head 2>"),
    (Sentence(words=[Word(1, "Hunde"), Word(2, "bellen")]), "<Sentence of 2 words: Hunde bellen>"),
    (Tree.of("(S (NP (NN dogs)) (VP (VBP bark)))"), "<Tree (S (NP (NN dogs)) (VP (VBP bark)))>"),
    (Answers(["O", "B-GENE"], [("GENE", 0, 2)]), "<Answers O B-GENE, 1 alternative>"),
    (Lattice.of([(0, 1, "a"), (1, 2, "b")]), "<Lattice of 3 nodes, 2 edges>"),
    (Edge(0, 1, "a", {"lm": 1.0}), "<Edge from 0 to 1: 'a', 1 feature>"),
    (Forest.of([(0, (), ("a",)), (1, (0,), ("the", 0))]), "<Forest of 2 nodes, 2 edges>"),
    (ForestEdge(1, (0,), ("the", 0)), "<ForestEdge from 0 to 1: 'the [0]', 0 features>"),
    (Graph([["x"], ["y"]], [(0, 1)]), "<Graph of 2 nodes, 1 edge>"),
    (NBestList(7, ["a b", "a"], [{}, {}]), "<NBestList 7, 2 hypotheses: a b>"),
    (ParallelText(["a"], ["b"]), "<ParallelText of 1 sentence pair, without links>"),
    (Candidates(["AC", "AD"]), "<Candidates: 2 sequences>"),
    (Factor([0, 1]), "<Factor of variables 0, 1: all tuples>"),
    (Factors(2, [(0,), (1,)], [Xor([(0, "a"), (1, "a")])]), "<Factors of 2 variables: 2 soft and 1 hard factors>"),
    (Xor([(0, "a"), (1, "a")]), "<Xor of 2 literals>"),
    (Allowed([0], [["a"]]), "<Allowed of 1 variable>"),
    (Arcs([2, 1], [True, True, False, True, True]), "<Arcs of 2 sentences: 4 of 5 arcs>"),
    (Letters.of([[0, 2], [1]]), "<Letters of 2 sequences, 3 in all>"),
    (BLOSUM62, "<SubstitutionMatrix of 24 letters, gaps -10 and -1>"),
    (Taxonomy({"cat": "mammal"}), "<Taxonomy of 2 nodes, 1 of them leaves>"),
]

LARGE: list[Any] = [
    Word(1, LONG),
    Sentence(words=[Word(k, LONG) for k in range(MANY)]),
    Tree(LONG, tuple(Tree(LONG, (LONG,)) for _ in range(MANY))),
    Answers([LONG] * MANY, [("GENE", k, k + 1) for k in range(MANY)]),
    Lattice.of([(k, k + 1, LONG) for k in range(MANY)]),
    Edge(0, 1, LONG, {f"{LONG}{k}": 1.0 for k in range(MANY)}),
    Forest.of([(k + 1, (k,), (LONG,)) for k in range(MANY)] + [(0, (), (LONG,))]),
    ForestEdge(MANY, tuple(range(MANY)), (LONG,) * MANY, {LONG: 1.0}),
    GRAPH,
    LabeledGraph(GRAPH, [LONG] * MANY, {LONG: LONG}),
    NBestList(1, [LONG] * MANY, [{LONG: 1.0}] * MANY),
    ParallelText([LONG] * MANY, [LONG] * MANY, [[(0, 0)]] * MANY),
    Candidates([LONG] * MANY),
    Factor(range(MANY), [[LONG] * MANY] * MANY),
    Factors([LONG] * MANY, [(k,) for k in range(MANY)], [Or(LITERALS)] * MANY),
    Xor(LITERALS),
    AtMostOne(LITERALS),
    Or(LITERALS),
    Implies(LITERALS, (MANY, LONG)),
    Budget(LITERALS, 3),
    TreeRule(MANY, [(0, k, k, LONG) for k in range(1, MANY)]),
    Allowed(range(MANY), [[LONG] * MANY]),
    Forbidden(range(MANY), [[LONG] * MANY]),
    OwnRule(range(MANY)),
    Arcs(np.full(MANY, 9)),
    ArcLabels(np.zeros(MANY, int), [0, MANY], np.arange(MANY)),
    Letters.of([range(MANY)] * MANY),
    SubstitutionMatrix([f"{LONG}{k}" for k in range(30)], np.eye(30)),
    Taxonomy({f"{LONG}{k}": LONG for k in range(MANY)}),
]


@pytest.mark.parametrize(("value", "text"), SMALL, ids=lambda each: type(each).__name__)
def test_the_text_says_what_a_value_is(value: Any, text: str) -> None:
    assert repr(value) == text


@pytest.mark.parametrize("value", LARGE, ids=lambda each: type(each).__name__)
def test_the_text_of_a_large_value_is_short(value: Any) -> None:
    assert len(repr(value)) <= 160
    assert "\n" not in repr(value)


def test_every_value_is_tried() -> None:
    public = [getattr(margrave.data, name) for name in margrave.data.__all__]
    kinds = {value for value in public if isinstance(value, type)}
    names_alone = {margrave.data.Constituent, margrave.data.Span, margrave.data.Rule}  # two numbers and a label; a base
    assert kinds - names_alone == {type(value) for value in LARGE}
