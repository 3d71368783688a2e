"""Random factor graphs, and their outputs by definition: every labeling is looked at. Nothing here uses the core."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np

from margrave.data import (
    Allowed,
    AtMostOne,
    Budget,
    Factor,
    Factors,
    Forbidden,
    Implies,
    Or,
    OwnRule,
    Rule,
    TreeRule,
    Xor,
)
from margrave.data.rules import Tables

Sets = dict[str, list[str]]
Labeling = tuple[int, ...]
SETS: Sets = {"one": ["only"], "two": ["a", "b"], "three": ["x", "y", "z"]}


class Even(OwnRule):
    """The sum of the labels is even."""

    def allows(self, labels: Sequence[int]) -> bool:
        return sum(labels) % 2 == 0


class FastEven(OwnRule):
    """The number of variables with the second of two labels is even: its own maximum and sum, without `allows`."""

    def maximum(self, scores: Tables) -> tuple[float, list[int]]:
        best = [int(row.argmax()) for row in scores]
        if sum(best) % 2 == 1:
            changed = int(np.argmin([row.max() - row.min() for row in scores]))
            best[changed] = 1 - best[changed]
        return float(sum(row[k] for row, k in zip(scores, best, strict=True))), best

    def sum(self, scores: Tables) -> tuple[float, Tables]:
        """Of the products of p and of 1 - 2 p, where p are the shares of the second labels, half of the sum."""
        tops = [float(row.max()) for row in scores]
        if -np.inf in tops:
            return -np.inf, [np.zeros(2) for _ in scores]
        weights = [np.exp(row - top) for row, top in zip(scores, tops, strict=True)]
        totals, signed = (np.array([w[0] + sign * w[1] for w in weights]) for sign in (1, -1))
        z = (totals.prod() + signed.prod()) / 2
        if z <= 0:
            return -np.inf, [np.zeros(2) for _ in scores]
        marginals = []
        for v, w in enumerate(weights):
            even, odd = ((np.delete(totals, v).prod() + sign * np.delete(signed, v).prod()) / 2 for sign in (1, -1))
            marginals.append(np.array([w[0] * even, w[1] * odd]) / z)
        return float(np.log(z) + sum(tops)), marginals


def scope_of(factor: Any) -> list[int]:
    return list(factor.variables if isinstance(factor, Factor) else factor)


def cells_of(factor: Any, graph: Factors, sets: Sets) -> list[tuple[str, ...]]:
    """The tuples of labels that have a part, in the order of the parts."""
    if isinstance(factor, Factor) and factor.tuples is not None:
        return [tuple(labels) for labels in factor.tuples]
    return list(product(*(sets[graph.variables[v]] for v in scope_of(factor))))


def part_count(graph: Factors, sets: Sets) -> int:
    return sum(len(cells_of(factor, graph, sets)) for factor in graph.soft)


def is_true(literal: tuple[Any, ...], names: Sequence[str]) -> bool:
    return (names[literal[0]] == literal[1]) == (len(literal) < 3 or literal[2])


def allows(rule: Rule, names: Sequence[str], sets: Sets, kinds: Sequence[str]) -> bool:
    """Whether a rule allows a labeling, from its description in words."""
    if isinstance(rule, Allowed | Forbidden):
        listed = tuple(names[v] for v in rule.variables) in [tuple(labels) for labels in rule.tuples]
        return listed == isinstance(rule, Allowed)
    if isinstance(rule, Even | FastEven):
        return sum(sets[kinds[v]].index(names[v]) for v in rule.variables) % 2 == 0
    if isinstance(rule, Implies):
        return is_true(rule.conclusion, names) or not all(is_true(each, names) for each in rule.premises)
    count = sum(is_true(literal, names) for literal in rule.literals())
    if isinstance(rule, Xor):
        return count == 1
    if isinstance(rule, AtMostOne):
        return count <= 1
    if isinstance(rule, Or):
        return count >= 1
    if isinstance(rule, Budget):
        return count <= rule.most
    assert isinstance(rule, TreeRule)
    arcs = [(head, word) for head, word, v, label in rule.arcs if names[v] == label]
    if sorted(word for _, word in arcs) != list(range(1, rule.words + 1)):
        return False
    if rule.single_root and sum(head == 0 for head, _ in arcs) != 1:
        return False
    reached = {0}
    while True:
        more = {word for head, word in arcs if head in reached} - reached
        if not more:
            return len(reached) == rule.words + 1
        reached |= more


def labelings(graph: Factors, sets: Sets) -> Iterator[tuple[Labeling, tuple[int, ...]]]:
    """Every allowed labeling, with its parts."""
    kinds = graph.variables
    numbered = []
    first = 0
    for factor in graph.soft:
        cells = cells_of(factor, graph, sets)
        forbids = isinstance(factor, Factor) and factor.tuples is not None and factor.others == "forbidden"
        numbered.append((scope_of(factor), {cell: first + k for k, cell in enumerate(cells)}, forbids))
        first += len(cells)
    for numbers in product(*(range(len(sets[kind])) for kind in kinds)):
        names = [sets[kind][k] for kind, k in zip(kinds, numbers, strict=True)]
        found = [(parts.get(tuple(names[v] for v in scope)), forbids) for scope, parts, forbids in numbered]
        if any(part is None and forbids for part, forbids in found):
            continue
        if all(allows(rule, names, sets, kinds) for rule in graph.hard):
            yield numbers, tuple(part for part, _ in found if part is not None)


def random_rules(rng: np.random.Generator, kinds: list[str], sets: Sets) -> list[Rule]:
    """One or two rules of any kind."""

    def literal(v: int) -> tuple[Any, ...]:
        label = str(rng.choice(sets[kinds[v]]))
        return (v, label, False) if rng.random() < 0.3 else (v, label)

    def some(least: int) -> list[int]:
        return [int(v) for v in rng.permutation(len(kinds))[: max(least, int(rng.integers(1, len(kinds) + 1)))]]

    def tuples(scope: list[int]) -> list[tuple[str, ...]]:
        every = list(product(*(sets[kinds[v]] for v in scope)))
        return [every[k] for k in rng.permutation(len(every))[: int(rng.integers(1, len(every) + 1))]]

    makers: list[Callable[[], Rule]] = [
        lambda: Xor([literal(v) for v in some(1)]),
        lambda: AtMostOne([literal(v) for v in some(1)]),
        lambda: Or([literal(v) for v in some(1)]),
        lambda: Budget([literal(v) for v in some(1)], int(rng.integers(0, 3))),
        lambda: (lambda scope: Allowed(scope, tuples(scope)))(some(1)),
        lambda: (lambda scope: Forbidden(scope, tuples(scope)))(some(1)),
        lambda: Even(some(1)),
    ]
    if len(kinds) > 1:
        makers.append(lambda: (lambda scope: Implies([literal(v) for v in scope[1:]], literal(scope[0])))(some(2)))
    return [makers[int(rng.integers(len(makers)))]() for _ in range(int(rng.integers(1, 3)))]


def random_graph(rng: np.random.Generator, style: str, sets: Sets, most: int = 5) -> Factors:
    """A random graph of this style that has at least one output."""
    while True:
        n = 1 if style == "single" else int(rng.integers(2, most + 1))
        kinds = [str(rng.choice(list(sets))) for _ in range(n)]
        pairs = [(int(rng.integers(0, v)), v) for v in range(1, n) if style != "disconnected" or v != n // 2]
        if style in ("loop", "hard", "listed", "partial", "allowed"):
            pairs += [pair for pair in combinations(range(n), 2) if pair not in pairs and rng.random() < 0.5]
        soft: list[Any] = [(v,) for v in range(n)] + [tuple(rng.permutation(pair).tolist()) for pair in pairs]
        if style == "triples" and n > 2:
            soft += [tuple(rng.permutation(n)[:3].tolist()) for _ in range(2)]
            soft = soft[int(rng.integers(0, 2)) :]
            covered = {v for scope in soft for v in scope}
            soft += [(v,) for v in range(n) if v not in covered]
        if style in ("listed", "partial"):
            soft = [_some_tuples(rng, factor, kinds, sets, style) for factor in soft]
        soft = [soft[k] for k in rng.permutation(len(soft))]
        hard = random_rules(rng, kinds, sets) if style == "hard" else []
        graph = Factors(kinds, soft, hard)
        if next(labelings(graph, sets), None) is not None:
            return graph


def _some_tuples(rng: np.random.Generator, factor: tuple[int, ...], kinds: list[str], sets: Sets, style: str) -> Factor:
    every = list(product(*(sets[kinds[v]] for v in factor)))
    if len(factor) == 1:  # from which labels can be read
        without = int(rng.integers(len(every)))
        kept = [cell for k, cell in enumerate(every) if k != without] if style == "partial" else every
        return Factor(factor, kept, "zero")
    kept = [cell for cell in every if rng.random() < 0.6] or every[:1]
    return Factor(factor, kept, "forbidden" if style == "listed" else "zero")
