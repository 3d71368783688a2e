"""What the tests compare with: the outputs of every structure by brute force, and the linear maps by their definition.

Nothing here uses the core, and lattices are plain data. An output is a sorted tuple of part ids; what the protocol asks
of all outputs of an example is in `margrave.testing.enumeration`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.data import Forest, Lattice
from margrave.data.tags import Answers, spans
from margrave.testing.enumeration import Array, Outputs, Parts, gibbs, log_sum_exp

# ---- which bags of parts are outputs --------------------------------------------------------------------------------


def multiclass_outputs(labels: int, allowed: NDArray[np.bool_] | None = None) -> list[Parts]:
    return [(k,) for k in range(labels) if allowed is None or allowed[k]]


@dataclass
class ChainParts:
    """The numbering of a chain's parts.

    Positions first, then for every table the label tuples of 2 .. order+1 neighbors in lexicographic order. Order 1
    numbers all pairs; higher orders only tuples without a forbidden pair.
    """

    labels: int
    order: int = 1
    tied: bool = True
    forbidden: frozenset[tuple[int, int]] = frozenset()

    def __post_init__(self) -> None:
        self.grams: dict[Parts, int] = {}
        for m in range(2, self.order + 2):
            for gram in product(range(self.labels), repeat=m):
                if self.order == 1 or not self._breaks(gram):
                    self.grams[gram] = len(self.grams)

    def _breaks(self, y: Sequence[int]) -> bool:
        return any(pair in self.forbidden for pair in pairwise(y))

    def count(self, length: int) -> int:
        return length * self.labels + (1 if self.tied else length - 1) * len(self.grams)

    def gram_part(self, length: int, t: int, gram: Parts) -> int:
        """The part of the tuple that ends at position t >= 1."""
        return length * self.labels + (0 if self.tied else (t - 1) * len(self.grams)) + self.grams[gram]

    def of(self, y: Sequence[int]) -> Parts:
        parts = [t * self.labels + label for t, label in enumerate(y)]
        for t in range(1, len(y)):
            for m in range(2, min(t, self.order) + 2):
                parts.append(self.gram_part(len(y), t, tuple(y[t - m + 1 : t + 1])))
        return tuple(sorted(parts))

    def sequences(self, length: int, allowed: NDArray[np.bool_] | None = None) -> Iterator[Parts]:
        """All label sequences; allowed: (length, labels)."""
        for y in product(range(self.labels), repeat=length):
            if self._breaks(y) or (allowed is not None and not all(allowed[t, k] for t, k in enumerate(y))):
                continue
            yield y


Segment = tuple[int, int, int]  # start, end, label


@dataclass
class SegmentParts:
    """The numbering of the parts of segmentations.

    Segments by end, label and length; then, for every boundary or once, all pairs of labels.
    """

    longest: list[int]  # by label
    tied: bool = True

    def segments(self, n: int) -> list[Segment]:
        return [
            (end - length, end, label)
            for end in range(1, n + 1)
            for label, longest in enumerate(self.longest)
            for length in range(1, min(longest, end) + 1)
        ]

    def count(self, n: int) -> int:
        return len(self.segments(n)) + (1 if self.tied else n - 1) * len(self.longest) ** 2

    def pair_part(self, n: int, boundary: int, before: int, after: int) -> int:
        labels = len(self.longest)
        table = 0 if self.tied else (boundary - 1) * labels**2
        return len(self.segments(n)) + table + before * labels + after

    def of(self, n: int, y: Sequence[Segment]) -> Parts:
        number = {segment: part for part, segment in enumerate(self.segments(n))}
        parts = [number[segment] for segment in y]
        parts += [self.pair_part(n, after[0], before[2], after[2]) for before, after in pairwise(y)]
        return tuple(sorted(parts))

    def segmentations(self, n: int, start: int = 0) -> Iterator[tuple[Segment, ...]]:
        """All divisions of the tokens from `start` on."""
        if start == n:
            yield ()
            return
        for label, longest in enumerate(self.longest):
            for end in range(start + 1, min(start + longest, n) + 1):
                for rest in self.segmentations(n, end):
                    yield ((start, end, label), *rest)

    def graph(self, n: int) -> "Graph":
        """The same as a hypergraph: a node for every label that ends at a token, and one for the whole."""
        labels = len(self.longest)
        number = {segment: part for part, segment in enumerate(self.segments(n))}
        edges: list[tuple[int, Parts, Parts]] = []
        for end in range(1, n + 1):
            for label, longest in enumerate(self.longest):
                node = (end - 1) * labels + label
                for length in range(1, min(longest, end) + 1):
                    start = end - length
                    part = number[start, end, label]
                    if start == 0:
                        edges.append((node, (), (part,)))
                        continue
                    for before in range(labels):
                        tail = ((start - 1) * labels + before,)
                        edges.append((node, tail, (part, self.pair_part(n, start, before, label))))
        edges += [(n * labels, ((n - 1) * labels + label,), ()) for label in range(labels)]
        return Graph(n * labels + 1, edges)


def random_lattice(rng: np.random.Generator, epsilon: bool = False, nodes: int = 5, words: int = 2) -> Lattice:
    """A lattice in which every node is on a path; edges may be parallel, and several paths may spell the same."""
    n = int(rng.integers(2, nodes + 1))
    letters = ["a", "b", "c", "d"][:words] + ([""] if epsilon else [])
    joined = [(v, v + 1) for v in range(n - 1)]
    joined += [(int(tail), int(head)) for tail, head in (np.sort(rng.choice(n, 2, replace=False)) for _ in range(n))]
    edges = [(tail, head, str(rng.choice(letters))) for tail, head in joined]
    return Lattice.of([edges[k] for k in rng.permutation(len(edges))], start=0, end=n - 1)


def lattice_paths(lattice: Lattice) -> list[Parts]:
    """All paths, as numbers of edges."""
    found: list[list[Parts]] = [[()]] + [[] for _ in range(lattice.nodes - 1)]
    for number, edge in enumerate(lattice.edges):
        found[edge.head] += [(*path, number) for path in found[edge.tail]]
    return found[-1]


def random_forest(rng: np.random.Generator) -> tuple[Forest, list[tuple[Parts, str]]]:
    """A forest over the spans of a few words, and all its derivations: their edges, sorted, and what they spell."""
    n = int(rng.integers(1, 5))
    spans = [(i, i + width) for width in range(1, n + 1) for i in range(n - width + 1)]
    node = {span: k for k, span in enumerate(spans)}

    def edge(head: tuple[int, int], *tails: tuple[int, int]) -> tuple[Any, ...]:
        target: list[str | int] = [str(word) for word in rng.choice(["a", "b"], rng.integers(0 if tails else 1, 3))]
        for k in rng.permutation(len(tails)).tolist():
            target.insert(int(rng.integers(0, len(target) + 1)), k)
        features = {f"f{k}": float(rng.normal()) for k in rng.choice(4, 2, replace=False).tolist()}
        return node[head], tuple(node[tail] for tail in tails), tuple(target), features

    edges = []
    for i, j in spans:
        edges += [edge((i, j)) for _ in range(int(rng.integers(1, 3)))]
        edges += [edge((i, j), (i, m), (m, j)) for m in range(i + 1, j) if rng.random() < 0.7]
        edges += [edge((i, j), (i, j - 1)) for _ in range(1) if j - i > 1 and rng.random() < 0.3]
    forest = Forest.of([edges[k] for k in rng.permutation(len(edges))], goal=node[0, n])
    return forest, forest_derivations(forest)


def forest_with_repeats(rng: np.random.Generator) -> tuple[Forest, list[tuple[Parts, str]]]:
    """A forest of a few nodes, each of which may be several tails of an edge, with at most 300 derivations."""
    while True:
        nodes = int(rng.integers(2, 4))
        edges = []
        for head in range(nodes):
            for _ in range(int(rng.integers(1, 3))):
                tails = rng.integers(0, head, int(rng.integers(1, 4))).tolist() if head else []
                target: list[str | int] = [*rng.permutation(len(tails)).tolist(), str(rng.choice(["a", "b"]))]
                features = {f"f{int(rng.integers(4))}": float(rng.normal())}
                edges.append((head, tuple(tails), tuple(target), features))
        forest = Forest.of(edges, goal=nodes - 1)
        derivations = forest_derivations(forest)
        if len(derivations) <= 300:
            return forest, derivations


def forest_derivations(forest: Forest) -> list[tuple[Parts, str]]:
    """All derivations, by combining those of the tails."""
    found: list[list[tuple[Parts, list[str]]]] = [[] for _ in range(forest.nodes)]
    for number, (head, tails, target, _) in enumerate(forest.edges):
        for below in product(*(found[tail] for tail in tails)):
            words = [word for each in target for word in ([each] if isinstance(each, str) else below[each][1])]
            found[head].append((tuple(sorted([number, *(e for edges, _ in below for e in edges)])), words))
    return [(edges, " ".join(words)) for edges, words in found[-1]]


def arc_part(n: int, head: int, word: int) -> int:
    return (word - 1) * n + (head if head < word else head - 1)


def trees(n: int, single_root: bool) -> Iterator[Parts]:
    """All lists of heads of the words 1..n that make a tree under the root 0."""
    for heads in product(range(n + 1), repeat=n):
        if single_root and heads.count(0) != 1:
            continue
        if all(_reaches_root(word, heads) for word in range(1, n + 1)):
            yield heads


def projective_trees(n: int, single_root: bool) -> list[Parts]:
    """Those of them whose arcs do not cross above the positions 0..n."""
    return [heads for heads in trees(n, single_root) if not crosses(heads)]


def crosses(heads: Sequence[int]) -> bool:
    """Whether exactly one end of an arc lies strictly between the ends of another, for any two arcs."""
    arcs = [sorted((head, word)) for word, head in enumerate(heads, 1)]
    return any(a < c < b < d for a, b in arcs for c, d in arcs)


def _reaches_root(word: int, heads: Parts) -> bool:
    for _ in range(len(heads)):
        word = heads[word - 1]
        if word == 0:
            return True
    return False


def tree_parts(heads: Sequence[int]) -> Parts:
    return tuple(sorted(arc_part(len(heads), head, word) for word, head in enumerate(heads, 1)))


PartTuple = tuple[int, int, int, int]  # grandparent, head, sibling, word; -1: none; sibling 0: none closer to the head


class SecondOrderParts(dict[PartTuple, int]):
    """The numbers of the parts of a sentence, in their documented order."""

    def of(self, heads: Sequence[int]) -> Parts:
        """The parts of a tree, from the children of each head on each side, from the inside out."""
        found: list[PartTuple] = []
        for head in range(len(heads) + 1):
            children = [word for word, its_head in enumerate(heads, 1) if its_head == head]
            for side in ([c for c in children if c > head], [c for c in children if c < head][::-1]):
                for sibling, word in zip([0, *side], side, strict=False):
                    found += [(-1, head, -1, word), (-1, head, sibling, word)]
                    if head > 0 and any(grandparent >= 0 for grandparent, *_ in self):
                        found.append((heads[head - 1], head, -1, word))
        return tuple(sorted(self[part] for part in found))


def second_order_parts(
    n: int, grandparents: bool, single_root: bool, allowed: Sequence[Iterable[int]] | None = None
) -> SecondOrderParts:
    """Arcs; for each arc the part without a sibling and those with one; for each arc (g, h) the parts (g, h, m)."""
    arcs = [
        (head, word)
        for word in range(1, n + 1)
        for head in range(n + 1)
        if head != word and (allowed is None or head in allowed[word - 1])
    ]
    found: list[PartTuple] = [(-1, head, -1, word) for head, word in arcs]
    for head, word in arcs:
        found.append((-1, head, 0, word))
        if head > 0 or not single_root:
            between = range(min(head, word) + 1, max(head, word))
            found += [(-1, head, sibling, word) for sibling in between if (head, sibling) in arcs]
    for above, head in arcs if grandparents else []:
        found += [
            (above, head, -1, word)
            for word in range(1, n + 1)
            if (head, word) in arcs and word != above and not min(head, word) < above < max(head, word)
        ]
    return SecondOrderParts({part: k for k, part in enumerate(found)})


class LabeledParts:
    """The numbers of the parts (head, word, label) of a sentence, arc by arc, and then those of pairs of arcs."""

    def __init__(self, arcs: Sequence[tuple[int, int]], labels: Callable[[int, int], Sequence[int]]) -> None:
        every = [(head, word, label) for head, word in arcs for label in labels(head, word)]
        self.number = {part: k for k, part in enumerate(every)}
        self.labels, self.arcs, self.pairs, self.count = labels, len(arcs), SecondOrderParts(), len(every)

    def add_pairs(self, pairs: SecondOrderParts) -> None:
        self.pairs = pairs
        self.count += len(pairs) - self.arcs

    def labeled(self, heads: Sequence[int]) -> Iterator[tuple[tuple[int, int], ...]]:
        """All outputs with these heads: (head, label) of every word."""
        for labels in product(*(self.labels(head, word) for word, head in enumerate(heads, 1))):
            yield tuple(zip(heads, labels, strict=True))

    def of(self, y: Sequence[tuple[int, int]]) -> Parts:
        found = [self.number[head, word, label] for word, (head, label) in enumerate(y, 1)]
        if self.pairs:
            inner = self.pairs.of([head for head, _ in y])
            found += [part - self.arcs + len(self.number) for part in inner if part >= self.arcs]
        return tuple(sorted(found))


@dataclass
class Graph:
    """An acyclic hypergraph: edges (head, tails, parts), by head; outputs are the derivations of the last node."""

    nodes: int
    edges: list[tuple[int, Parts, Parts]]

    def derivations(self, node: int | None = None) -> list[Parts]:
        """The bags of parts of all derivations; a bag that has several derivations occurs as often."""
        found: list[list[Parts]] = [[] for _ in range(self.nodes)]
        for head, tails, parts in self.edges:
            for below in product(*(found[tail] for tail in tails)):
                found[head].append(tuple(sorted([*parts, *(part for bag in below for part in bag)])))
        return found[self.nodes - 1 if node is None else node]


# ---- what the protocol asks, by definition --------------------------------------------------------------------------


def check_division(problem: Any, theta: Array, outputs: Outputs, good: NDArray[np.bool_]) -> dict[bool, Parts]:
    """Inference among the good outputs and among the others is that of the enumeration; the best of both."""
    values = outputs.values(theta).astype(float)
    best: dict[bool, Parts] = {}
    for wanted in (True, False):
        of = values[good == wanted]
        value, y = problem.argmax_among(wanted, 0, theta)
        log_z, mu = problem.logsum_among(wanted, 0, theta)
        if len(of) == 0:
            assert value == -inf and log_z == -inf
            continue
        np.testing.assert_allclose([value, theta[y].sum()], of.max())
        expected, marginals = gibbs(of, outputs.counts[good == wanted])
        np.testing.assert_allclose(log_z, expected)
        np.testing.assert_allclose(mu, marginals, atol=1e-12)
        best[wanted] = tuple(y.tolist())
    return best


# ---- long chains and large trees, where nothing can be enumerated ---------------------------------------------------


def chain_logsum(emission: Array, transitions: Array) -> tuple[float, Array, Array]:
    """Forward-backward of a chain of order 1 in log space, in extended precision.

    emission: (length, labels); transitions: (length - 1, labels, labels). Returns the log partition function, the
    label marginals and the transition marginals.
    """
    e, m = emission.astype(np.longdouble), transitions.astype(np.longdouble)
    length = len(e)
    alpha, beta = np.empty_like(e), np.zeros_like(e)
    alpha[0] = e[0]
    for t in range(1, length):
        alpha[t] = e[t] + _log_sum_rows((alpha[t - 1][:, None] + m[t - 1]).T)
    for t in range(length - 1, 0, -1):
        beta[t - 1] = _log_sum_rows(m[t - 1] + (e[t] + beta[t])[None, :])
    total = _log_sum_rows(alpha[-1][None, :])[0]
    if total == -inf:
        return -inf, np.zeros(emission.shape), np.zeros(transitions.shape)
    pairs = alpha[:-1, :, None] + m + (e[1:] + beta[1:])[:, None, :] - total
    return float(total), np.exp(alpha + beta - total).astype(float), np.exp(pairs).astype(float)


def chain_logsum_of_any_order(parts: ChainParts, length: int, theta: Array) -> tuple[float, Array]:
    """Forward-backward of a chain of any order over tuples of labels, in log space, in extended precision."""
    wide = theta.astype(np.longdouble)

    def steps(t: int, before: Parts) -> Iterator[tuple[Parts, list[int], np.longdouble]]:
        """From the latest labels before position t: the latest labels there, the parts on the way, their score."""
        for label in range(parts.labels):
            if before and (before[-1], label) in parts.forbidden:
                continue
            y = (*before, label)
            used = [t * parts.labels + label]
            used += [parts.gram_part(length, t, y[-m:]) for m in range(2, len(y) + 1)]
            yield y[-parts.order :], used, wide[used].sum()

    alpha: list[dict[Parts, np.longdouble]] = [{(): np.longdouble(0)}]
    for t in range(length):
        arrivals: dict[Parts, list[np.longdouble]] = {}
        for before, value in alpha[t].items():
            for after, _, score in steps(t, before):
                arrivals.setdefault(after, []).append(value + score)
        alpha.append({after: log_sum_exp(np.array(values)) for after, values in arrivals.items()})
    total = log_sum_exp(np.array(list(alpha[-1].values())))
    mu = np.zeros(len(theta), dtype=np.longdouble)
    if total == -inf:
        return -inf, mu.astype(float)
    beta = dict.fromkeys(alpha[-1], np.longdouble(0))
    for t in range(length - 1, -1, -1):
        departures: dict[Parts, np.longdouble] = {}
        for before, value in alpha[t].items():
            onward = []
            for after, used, score in steps(t, before):
                onward.append(score + beta[after])
                np.add.at(mu, used, np.exp(value + onward[-1] - total))
            departures[before] = log_sum_exp(np.array(onward)) if onward else np.longdouble(-inf)
        beta = departures
    return float(total), mu.astype(float)


def _log_sum_rows(x: NDArray[np.longdouble]) -> NDArray[np.longdouble]:
    top = x.max(axis=1)
    safe = np.where(top == -inf, 0, top)
    with np.errstate(divide="ignore"):
        return np.where(top == -inf, -inf, safe + np.log(np.exp(x - safe[:, None]).sum(axis=1)))


def chain_graph(emission_parts: NDArray[np.int64], gram_parts: NDArray[np.int64]) -> Graph:
    """A chain of order 1 as a hypergraph.

    emission_parts: (length, labels) part ids; gram_parts: (length - 1, labels, labels).
    """
    length, labels = emission_parts.shape
    edges: list[tuple[int, Parts, Parts]] = [(k, (), (int(emission_parts[0, k]),)) for k in range(labels)]
    for t in range(1, length):
        for k in range(labels):
            for j in range(labels):
                parts = (int(emission_parts[t, k]), int(gram_parts[t - 1, j, k]))
                edges.append((t * labels + k, ((t - 1) * labels + j,), parts))
    edges += [(length * labels, ((length - 1) * labels + k,), ()) for k in range(labels)]
    return Graph(length * labels + 1, edges)


def projective_graph(n: int, single_root: bool) -> Graph:
    """Projective trees of n words as a hypergraph, by the recurrences of Eisner (1996) with items for each direction.

    An item (i, j, right, complete) covers the positions i..j; the head is i if `right`, otherwise j. Children of a
    single root are counted by a root item of its own.
    """
    node: dict[tuple[object, ...], int] = {}
    edges: list[tuple[int, Parts, Parts]] = []

    def add(item: tuple[object, ...], ways: list[tuple[list[tuple[object, ...]], list[int]]]) -> None:
        node[item] = len(node)
        for tails, parts in ways:
            if all(tail in node for tail in tails):
                edges.append((node[item], tuple(node[tail] for tail in tails), tuple(parts)))

    for i in range(1, n + 1):
        for right in (True, False):
            add((i, i, right, True), [([], [])])
    for width in range(1, n):
        for i in range(1, n + 1 - width):
            j = i + width
            halves = [[(i, k, True, True), (k + 1, j, False, True)] for k in range(i, j)]
            add((i, j, True, False), [(tails, [arc_part(n, i, j)]) for tails in halves])
            add((i, j, False, False), [(tails, [arc_part(n, j, i)]) for tails in halves])
            ends = range(i + 1, j + 1)
            add((i, j, True, True), [([(i, k, True, False), (k, j, True, True)], []) for k in ends])
            add((i, j, False, True), [([(i, k, False, True), (k, j, False, False)], []) for k in range(i, j)])
    # ("first", m): the trees of the first m words, each under the root; a tree over b..e has the root's child c.
    add(("first", 0), [([], [])])
    for m in range(1, n + 1):
        add(
            ("first", m),
            [
                ([("first", b - 1), (b, c, False, True), (c, m, True, True)], [arc_part(n, 0, c)])
                for b in ([1] if single_root else range(1, m + 1))
                for c in range(b, m + 1)
            ],
        )
    return Graph(len(node), edges)


def second_order_graph(n: int, number: SecondOrderParts, single_root: bool) -> Graph:
    """Projective trees with second-order parts as a hypergraph, child by child.

    ("half", g, h, e, m): h, whose head is g, with its children from the inside out up to m, which reach to e on one
    side; m = 0 is no child. ("half", g, h, e): whatever m. ("whole", h, m, a, b): m, whose head is h, over a..b.
    """
    with_grandparents = any(grandparent >= 0 for grandparent, *_ in number)
    node: dict[tuple[object, ...], int] = {}
    edges: list[tuple[int, Parts, Parts]] = []

    def add(item: tuple[object, ...], ways: list[tuple[list[tuple[object, ...]], list[PartTuple]]]) -> None:
        node[item] = len(node)
        for tails, parts in ways:
            if all(tail in node for tail in tails) and all(part in number for part in parts):
                edges.append((node[item], tuple(node[t] for t in tails), tuple(number[part] for part in parts)))

    def parts(g: int, h: int, s: int, m: int) -> list[PartTuple]:
        return [(-1, h, -1, m), (-1, h, s, m), *([(g, h, -1, m)] if with_grandparents and h > 0 else [])]

    def half(g: int, h: int, e: int) -> None:
        step = 1 if e > h else -1
        for m in range(h + step, e + step, step):
            ways = []
            for a in range(h + step, m + step, step):  # where the tree of m begins
                whole = ("whole", h, m, min(a, e), max(a, e))
                ways += [
                    ([("half", g, h, a - step, s), whole], parts(g, h, s, m)) for s in [0, *range(h + step, a, step)]
                ]
            add(("half", g, h, e, m), ways)
        add(("half", g, h, e), [([("half", g, h, e, m)], []) for m in range(h + step, e + step, step)])

    def every_head(h: int) -> list[int]:
        return [g for g in range(n + 1) if g != h]

    for h in range(n + 1):
        for g in every_head(h) if h else [-1]:
            add(("half", g, h, h, 0), [([], [])])
            add(("half", g, h, h), [([("half", g, h, h, 0)], [])])
    for width in range(n):
        for h in range(1, n + 1):
            for g in every_head(h):
                for e in (h - width, h + width):
                    if width and 1 <= e <= n and not min(h, e) < g <= max(h, e) and not min(h, e) <= g < max(h, e):
                        half(g, h, e)
        for a in range(1, n + 1 - width):
            for m in range(a, a + width + 1):
                for h in (h for h in range(n + 1) if not a <= h <= a + width):
                    ends = [("half", h, m, a), ("half", h, m, a + width)]
                    add(("whole", h, m, a, a + width), [(ends, [])])
    if not single_root:
        for e in range(1, n):
            half(-1, 0, e)
    half(-1, 0, n)
    return Graph(len(node), edges)


def tree_logsum_lapack(theta: Array, n: int, single_root: bool) -> tuple[float, Array]:
    """The matrix-tree theorem (Koo et al. 2007) by LU: fine while the Laplacian is well conditioned."""
    weights = np.zeros((n, n))  # (head, word), both from 0
    root = np.zeros(n)
    for word in range(1, n + 1):
        for head in range(n + 1):
            if head == 0:
                root[word - 1] = np.exp(theta[arc_part(n, 0, word)])
            elif head != word:
                weights[head - 1, word - 1] = np.exp(theta[arc_part(n, head, word)])
    laplacian = np.diag(weights.sum(axis=0) + (0 if single_root else root)) - weights
    if single_root:
        laplacian[0] = root
    _, log_z = np.linalg.slogdet(laplacian)
    inverse = np.linalg.inv(laplacian)
    mu = np.zeros(n * n)
    for word in range(1, n + 1):
        m = word - 1
        for head in range(n + 1):
            if head == word:
                continue
            if head == 0:
                gradient = root[m] * inverse[m, 0 if single_root else m]
            else:
                h = head - 1
                diagonal = 0.0 if single_root and m == 0 else inverse[m, m]
                off = 0.0 if single_root and h == 0 else inverse[m, h]
                gradient = weights[h, m] * (diagonal - off)
            mu[arc_part(n, head, word)] = gradient
    return float(log_z), mu


# ---- attributes and labels ------------------------------------------------------------------------------------------


Attributes = list[tuple[int, float]]  # (attribute, value) pairs of one token


@dataclass
class TableByDefinition:
    """The linear map A of attribute x label tables, with the weights in their documented order.

    (attribute, label) pairs, label tuples, start, stop, (transition attribute, tuple) pairs. With `observed` only what
    occurs in the training data (`tokens`, `labels`, `edges`: by sequence) has a weight.
    """

    parts: ChainParts
    attributes: int
    tokens: list[list[Attributes]]
    labels: list[Parts]
    observed: bool = True
    start: bool = False
    stop: bool = False
    scale: float = 1.0
    edges: list[list[Attributes]] | None = None
    edge_attributes: int = 0

    def __post_init__(self) -> None:
        pairs, grams, edge_pairs = set(), set(), set()
        for i, y in enumerate(self.labels):
            for t, label in enumerate(y):
                pairs |= {(a, label) for a, _ in self.tokens[i][t]}
                ending = {self.parts.grams[y[t - m + 1 : t + 1]] for m in range(2, min(t, self.parts.order) + 2)}
                grams |= ending
                if self.edges is not None:
                    edge_pairs |= {(a, gram) for a, _ in self.edges[i][t] for gram in ending}
        labels, tuples = range(self.parts.labels), range(len(self.parts.grams))
        if not self.observed:
            pairs, grams = set(product(range(self.attributes), labels)), set(tuples)
            edge_pairs = set(product(range(self.edge_attributes), tuples))
        keys: list[tuple[object, ...]] = [("pair", *pair) for pair in sorted(pairs)]
        keys += [("gram", gram) for gram in sorted(grams)]
        keys += [("start", label) for label in labels if self.start]
        keys += [("stop", label) for label in labels if self.stop]
        keys += [("edge", *pair) for pair in sorted(edge_pairs) if self.edges is not None]
        self.number = {key: k for k, key in enumerate(keys)}

    def matrix(self, i: int) -> Array:
        """A_i: (parts, weights)."""
        labels, length = self.parts.labels, len(self.tokens[i])
        a = np.zeros((self.parts.count(length), len(self.number)))

        def add(part: int, key: tuple[object, ...], value: float) -> None:
            if key in self.number:
                a[part, self.number[key]] += value

        for t, label in product(range(length), range(labels)):
            for attribute, value in self.tokens[i][t]:
                add(t * labels + label, ("pair", attribute, label), value)
        for label in range(labels):
            add(label, ("start", label), 1.0)
            add((length - 1) * labels + label, ("stop", label), 1.0)
        for k in range(1 if self.parts.tied else length - 1):
            for q in self.parts.grams.values():
                part = length * labels + k * len(self.parts.grams) + q
                add(part, ("gram", q), self.scale)
                if self.edges is not None:
                    for attribute, value in self.edges[i][k + 1]:
                        add(part, ("edge", attribute, q), self.scale * value)
        return a


def spans_of(n: int, longest: int) -> list[tuple[int, int]]:
    """All spans of at most so many of n tokens, by end and length."""
    return [(end - length, end) for end in range(1, n + 1) for length in range(1, min(longest, end) + 1)]


def is_good(answers: Answers, tags: list[str]) -> bool:
    """Whether tags are right where spans have alternatives: no span is wrong, and no right span is missing."""
    right, predicted = set(spans(answers)), set(spans(tags))
    taken = predicted & set(answers.alternatives)
    found = [a in predicted or any(a.start < b.stop and b.start < a.stop for b in taken) for a in right]
    return all(found) and predicted <= right | taken


def segment_attributes(words: Sequence[str], begin: int, end: int) -> list[str]:
    """What the templates string, length, last, ngram1.lower and the dictionary d = {x, yy x} make of a span."""
    inside = list(words[begin:end])
    found = [f"string={' '.join(inside)}", f"length={len(inside)}", f"last={inside[-1]}"]
    found += [f"ngram1.lower={word.lower()}" for word in inside]
    return [*found, "in d"] if " ".join(inside) in ("x", "yy x") else found


@dataclass
class SegmentsByDefinition:
    """The linear map A of segmentations, with the weights in their documented order.

    (attribute, tag) pairs, pairs of labels, start, stop, (segment attribute, label) pairs.
    """

    parts: SegmentParts
    first: list[int]
    inside: list[int]
    tags: int
    attributes: int
    tokens: list[list[Attributes]]
    gold: list[tuple[Segment, ...]]
    observed: bool
    start: bool
    stop: bool
    scale: float
    spans: list[list[list[str]]] | None  # the attributes of all spans of each example, by end and length
    bits: int
    longest: int

    def __post_init__(self) -> None:
        labels = range(len(self.parts.longest))
        pairs, grams, span_pairs = set(), set(), set()
        names: dict[str, int] = {}
        for i, y in enumerate(self.gold):
            for begin, end, label in y:
                for t in range(begin, end):
                    pairs |= {(a, self._tag(t, begin, label)) for a, _ in self.tokens[i][t]}
            grams |= {(before[2], after[2]) for before, after in pairwise(y)}
            for number, (begin, end) in enumerate(spans_of(len(self.tokens[i]), self.longest)):
                for _, _, label in [segment for segment in y if segment[:2] == (begin, end)]:
                    for name in self.spans[i][number] if self.spans else []:
                        span_pairs.add((names.setdefault(name, len(names)), label))
        if not self.observed:
            pairs, grams = set(product(range(self.attributes), range(self.tags))), set(product(labels, labels))
            rows = (1 << self.bits) if self.bits else len(names)
            span_pairs = set(product(range(rows), labels)) if self.spans else set()
        self.names = names
        keys: list[tuple[object, ...]] = [("pair", *pair) for pair in sorted(pairs)]
        keys += [("gram", *gram) for gram in sorted(grams)]
        keys += [("start", label) for label in labels if self.start]
        keys += [("stop", label) for label in labels if self.stop]
        keys += [("span", *pair) for pair in sorted(span_pairs)]
        self.number = {key: k for k, key in enumerate(keys)}

    def _tag(self, t: int, begin: int, label: int) -> int:
        return self.first[label] if t == begin else self.inside[label]

    def matrix(self, i: int) -> Array:
        """A_i: (parts, weights)."""
        n = len(self.tokens[i])
        a = np.zeros((self.parts.count(n), len(self.number)))

        def add(part: int, key: tuple[object, ...], value: float) -> None:
            if key in self.number:
                a[part, self.number[key]] += value

        of_span = {span: number for number, span in enumerate(spans_of(n, self.longest))}
        for part, (begin, end, label) in enumerate(self.parts.segments(n)):
            for t in range(begin, end):
                for attribute, value in self.tokens[i][t]:
                    add(part, ("pair", attribute, self._tag(t, begin, label)), value)
            for name in self.spans[i][of_span[begin, end]] if self.spans else []:
                row = hash_of(name, self.bits) if self.bits else self.names.get(name, -1)
                add(part, ("span", row, label), 1.0)
            if begin == 0:
                add(part, ("start", label), 1.0)
            if end == n:
                add(part, ("stop", label), 1.0)
        for boundary in range(1, 2 if self.parts.tied else n):
            for before, after in product(range(len(self.parts.longest)), repeat=2):
                add(self.parts.pair_part(n, boundary, before, after), ("gram", before, after), self.scale)
        return a


def hash_of(name: str, bits: int) -> int:
    """The row of a hashed attribute: a multiplicative hash of the UTF-8 bytes, eight at a time, little endian."""
    mask, multiplier = 2**64 - 1, 0x9FB21C651E98DF25
    data = name.encode()
    h = (0x243F6A8885A308D3 ^ (len(data) * multiplier)) & mask
    whole = len(data) // 8 * 8
    for word in [*(data[k : k + 8] for k in range(0, whole, 8)), data[whole:]]:
        h = ((h ^ int.from_bytes(word, "little")) * multiplier) & mask
        h ^= h >> 29
    h = (h * multiplier) & mask
    return (h ^ (h >> 32)) & ((1 << bits) - 1)


def values_of(token: object) -> list[tuple[str, float]]:
    """The attributes of a token given as strings or as a dictionary, with their values."""
    if isinstance(token, dict):
        named = [(f"{k}={v}", 1.0) if isinstance(v, str) else (k, float(v)) for k, v in token.items()]
        return [(name, value) for name, value in named if value != 0]
    assert isinstance(token, Iterable)
    return [(name, 1.0) for name in token]
