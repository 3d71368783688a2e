"""Rules that leave no output are refused by every inference, with a set of rules of which none can be left out."""

import re
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margrave import MargraveError, _core
from margrave.data import AtMostOne, Budget, Factor, Factors, Forbidden, Or, Rule, TreeRule, Xor
from margrave.examples import Examples
from margrave.structures import FactorGraph
from margrave.structures.factor_graph import LabelSets
from tests.references.graphs import SETS, Even, FastEven, labelings, random_rules

every_inference = pytest.mark.parametrize("inference", ["exact", "bp", "relaxed", "lp"])


def bind(graph: Factors, inference: str, sets: dict[str, list[str]] = SETS) -> _core.FactorGraphStructure:
    return FactorGraph(labels=sets, inference=inference).bind(
        LabelSets(sets), Examples.of_sizes(np.array([0]), X=[graph])
    )


def refusal(graph: Factors, inference: str, sets: dict[str, list[str]] = SETS) -> str:
    with pytest.raises(MargraveError, match=r"^graph 0: .*leaves? no output\.$") as refused:
        bind(graph, inference, sets)
    return str(refused.value)


def named(message: str) -> list[int]:
    """The numbers of the rules that a message names."""
    return [int(number) for number in re.findall(r"(\d+) \(", message)]


def soft(n: int) -> list[Any]:
    return [(v,) for v in range(n)]


@every_inference
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_rules_that_leave_nothing_together_are_named_and_all_of_them_are_needed(inference: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = [str(rng.choice(["two", "three"])) for _ in range(int(rng.integers(1, 4)))]
    rules = [rule for _ in range(4) for rule in random_rules(rng, kinds, SETS)]
    if inference == "lp":
        rules = [rule for rule in rules if not isinstance(rule, Even)]

    def leaves_something(some: list[Rule]) -> bool:
        return any(True for _ in labelings(Factors(kinds, soft(len(kinds)), some), SETS))

    graph = Factors(kinds, [*soft(len(kinds)), tuple(range(len(kinds)))], rules)
    if leaves_something(rules):
        bind(graph, inference)
        return
    needed = named(refusal(graph, inference))
    assert not leaves_something([rules[h] for h in needed])
    for others in combinations(needed, len(needed) - 1):
        assert leaves_something([rules[h] for h in others])


@pytest.mark.parametrize("inference", ["exact", "bp", "trw", "relaxed", "lp"])
def test_listed_tuples_that_leave_nothing_are_named_if_they_are_needed(inference: str) -> None:
    pair, back = Factor((0, 1), [("a", "b")]), Factor((1, 0), [("a", "a")])
    tuples = Factors(["two"] * 2, [*soft(2), pair, back])
    assert refusal(tuples, inference) == "graph 0: the tuples that its factors list leave no output."
    if inference == "trw":
        return
    both = Factors(["two"] * 2, [*soft(2), pair], [Or([(0, "a")]), Xor([(0, "a"), (1, "b")])])
    assert refusal(both, inference) == (
        "graph 0: hard factor 1 (Xor), together with the tuples that its factors list, leave no output."
    )
    rules = Factors(["two"] * 2, [*soft(2), pair], [Forbidden([0], [("a",), ("b",)])])
    assert refusal(rules, inference) == "graph 0: hard factor 0 (Forbidden) leaves no output."


def test_the_relaxation_proves_what_is_too_wide_for_elimination() -> None:
    """Twelve pigeons do not fit into eleven holes; the rule about two of the pigeons is not needed."""
    sets = {"hole": [str(hole) for hole in range(11)]}
    holes: list[Rule] = [AtMostOne([(v, hole) for v in range(12)]) for hole in sets["hole"]]
    graph = Factors(["hole"] * 12, soft(12), [Or([(0, "3"), (1, "4")]), *holes])
    assert named(refusal(graph, "bp", sets)) == list(range(1, 12))
    assert bind(Factors(["hole"] * 11, soft(11), [AtMostOne(rule.literals()[:11]) for rule in holes]), "bp", sets)


@every_inference
@pytest.mark.parametrize("words", [2, 6])
def test_a_tree_without_an_arc_from_the_root_is_refused(inference: str, words: int) -> None:
    """With two words by elimination, with six (a table of 2^36 cells) by search or by the relaxation."""
    arcs = [(h, m) for m in range(1, words + 1) for h in range(words + 1) if h != m]
    tree = TreeRule(words, [(h, m, v, "b") for v, (h, m) in enumerate(arcs)])
    none = Budget([(v, "b") for v, (h, _) in enumerate(arcs) if h == 0], 0)
    graph = Factors(["two"] * len(arcs), soft(len(arcs)), [Or([(0, "a"), (1, "a")]), none, tree])
    assert refusal(graph, inference) == "graph 0: hard factors 1 (Budget) and 2 (TreeRule) together leave no output."


@pytest.mark.parametrize("inference", ["bp", "relaxed", "lp"])
def test_large_rules_of_users_are_searched(inference: str) -> None:
    """A table would ask the rule 512 times."""
    n = 9
    graph = Factors(["two"] * n, soft(n), [FastEven(range(n)), Xor([(v, "b") for v in range(n)])])
    assert named(refusal(graph, inference)) == [0, 1]


def test_gold_labels_are_an_output_and_other_graphs_are_looked_at() -> None:
    fine = Factors(["two"], soft(1), [Or([(0, "a")])])
    empty = Factors(["two"], soft(1), [Forbidden([0], [("a",), ("b",)])])
    structure = FactorGraph(labels=SETS, inference="bp")
    assert structure.bind(LabelSets(SETS), Examples.of_sizes(np.array([0]), [["a"]], X=[fine]))
    with pytest.raises(MargraveError, match="graph 1: hard factor 0"):
        structure.bind(LabelSets(SETS), Examples.of_sizes(np.array([0, 0]), X=[fine, empty]))
    with pytest.raises(MargraveError, match="example 0: its gold labels break hard factor 0"):
        structure.bind(LabelSets(SETS), Examples.of_sizes(np.array([0]), [["a"]], X=[empty]))


@every_inference
def test_allowed_labels_that_rules_do_not_allow_are_refused(inference: str) -> None:
    pair = Factor((1, 2), [("a", "a"), ("b", "b")])
    graph = Factors(["two"] * 3, [*soft(3), pair], [Or([(0, "a"), (1, "a")]), Xor([(0, "a"), (1, "a")])])

    def bound(*allowed: list[str] | None) -> _core.FactorGraphStructure:
        structure = FactorGraph(labels=SETS, inference=inference)
        return structure.bind(
            LabelSets(SETS), Examples.of_sizes(np.array([0, 0]), X=[graph] * 2, allowed=[None, list(allowed)])
        )

    assert bound(["a"], ["b"], None)
    for allowed, why in (
        ((["a"], ["a"], None), "hard factor 1 (Xor), together with the labels that are allowed, leave no output."),
        ((None, ["a"], ["b"]), "the tuples that its factors list and the labels that are allowed leave no output."),
        (
            (["a"], None, ["a"]),
            "hard factor 1 (Xor), together with the tuples that its factors list and the labels that are allowed, "
            "leave no output.",
        ),
    ):
        with pytest.raises(MargraveError) as refused:
            bound(*allowed)
        assert str(refused.value) == f"example 1: {why}"
    with pytest.raises(MargraveError, match=r"^example 1, variable 1: no label is allowed\.$"):
        bound(None, [], None)
