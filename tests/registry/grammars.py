"""Derivations of grammars, and labeled spans."""

from collections import Counter
from typing import Any

import numpy as np

from margrave.binding import bind as bind_examples
from margrave.examples import Examples
from margrave.losses import Hamming
from margrave.maps import SparseMap
from margrave.structures import (
    ContextFreeTree,
    SpanTree,
)
from margrave.structures.constituents import checked_trees
from margrave.structures.grammar import Grammar
from margrave.testing.enumeration import Outputs, Parts
from tests.references.grammars import PartNumbers, derivations, random_grammar, trees_of
from tests.registry.cases import Case, CountedCase, register
from tests.registry.labels import Rows


@register("grammar")
@register("grammar, splits", splits=True, form="real")
@register("grammar, untied", tied=False)
@register("grammar, anchors", anchors=("begin", "split", "end"), bits=4)
@register("grammar, hashed, one anchor", anchors=("split",), splits=True, bits=3)
@register("grammar, pruned", splits=True, prune=True)
def grammar(
    rng: np.random.Generator,
    cost: str,
    size: int,
    *,
    tied: bool = True,
    splits: bool = False,
    anchors: tuple[str, ...] = (),
    form: str = "names",
    bits: int = 0,
    prune: bool = False,
) -> Case:
    rules = random_grammar(rng)
    structure = ContextFreeTree(splits=splits, tied=tied, anchors=anchors, grammar=rules)
    gold: list[Any] = []
    lengths = [1, 3, *(int(n) for n in rng.integers(1, 4, max(0, size - 2)))][:size]
    while len(gold) < size:
        words = [str(word) for word in rng.choice(list("xyz"), lengths[len(gold)])]
        every = trees_of(rules, words) if len(words) > 1 else trees_of(rules, ["x"])
        if 0 < len(every) <= 60:
            gold.append(every[rng.integers(len(every))])
        elif rng.random() < 0.1:
            lengths[len(gold)] = 1
    return constituent_case(rng, structure, rules, gold, form, bits, prune)


@register("spans")
@register("spans, splits", splits=True)
@register("spans, pruned", prune=True)
def spans(rng: np.random.Generator, cost: str, size: int, *, splits: bool = False, prune: bool = False) -> Case:
    known = ["(S (A x))", "(A x)", "(S (A x) (B y))", "(S (N (A x) (B y)))", "(S (S (A x)) (B y))"]
    three = ["(S (A x) (B y) (A x))", "(S (A x) (S (B y) (A x)))", "(S (S (A x) (B y)) (A x))"]
    gold = checked_trees([known[k] for k in rng.integers(0, len(known), size)])
    gold[: size > 1] = checked_trees([three[rng.integers(3)]])[: size > 1]
    structure = SpanTree(splits=splits)
    return constituent_case(rng, structure, structure.learn(checked_trees(known)), gold, "names", 0, prune)


def constituent_case(
    rng: np.random.Generator, structure: Any, rules: Grammar, gold: list[Any], form: str, bits: int, prune: bool
) -> Case:
    """A case of these trees, with all derivations of their sentences."""
    settings = (getattr(structure, "tied", True), structure.splits, getattr(structure, "anchors", ()))
    numbers = [PartNumbers(rules.compiled, len(tree.words), *settings) for tree in gold]
    rows = Rows(rng, [number.count for number in numbers], form, bits)
    flags = [rng.random(len(number.cells)) < 0.5 for number in numbers]
    bound = bind_examples(
        structure,
        SparseMap(bits),
        Examples(None, gold, extras={"left": np.concatenate(flags)} if prune else {}, encoded=rows.given),
        outputs=rules,
        costs=Hamming(),
    )
    outputs, golds, costs, items = [], [], [], []
    for tree, number, flag in zip(gold, numbers, flags, strict=True):
        left = {cell for cell, kept in zip(number.cells, flag, strict=True) if kept}
        left |= {(node.begin, node.end) for node in rules.derive(tree)}
        ys = derivations(number, rules.sentence_numbers(tree.words, tree.tags), left=left if prune else None)
        one = bind_examples(
            structure, SparseMap(), Examples(None, [tree], encoded=[[[]] * number.count]), outputs=rules
        )
        right = tuple(sorted(one.problem.gold(0).tolist()))
        outputs.append(Outputs(number.count, ys))
        golds.append(right)
        costs.append(np.array([wrong_constituents(number, right, y) for y in ys], dtype=float))
        items.append([labeled_spans(number, y) for y in ys])
    return CountedCase(bound.problem, outputs, golds, costs, rows.matrices(), items=items)


def labeled_spans(number: PartNumbers, y: Parts) -> Counter[tuple[str, int]]:
    """The constituents of a derivation, with their cells; tops do not count."""
    first, labels = number.root(0) + len(number.compiled.roots), len(number.compiled.spans)
    found: Counter[tuple[str, int]] = Counter()
    for part in y:
        cell, span = divmod(part - first, labels) if labels else (-1, 0)
        if part >= first and cell < len(number.cells):
            found.update((name, cell) for name in number.compiled.span_nodes[span] if name != "TOP")
    return found


def wrong_constituents(number: PartNumbers, gold: Parts, y: Parts) -> int:
    """How many constituents of a derivation the gold one does not have."""
    return sum((labeled_spans(number, y) - labeled_spans(number, gold)).values())
