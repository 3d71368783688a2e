"""The problems that every contract is tested on: registering one here is enough.

An entry makes a small random problem from a seed, together with all that the core must agree with: the outputs of each
example by enumeration, the gold output, the cost of every output and the linear map A.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from margrave import _core
from margrave.binding import bind as bind_examples
from margrave.datasets import Lattice
from margrave.estimators.graph_labeler import shared_graphs
from margrave.features import AttributeTable, GraphFeatures, SegmentFeatures, SparseFeatures, TreeFeatures
from margrave.inputs import ArcTemplates, SegmentTemplates
from margrave.inputs import Graph as NodesAndEdges
from margrave.labels import Answers, Taxonomy
from margrave.learners import LEARNERS, Learner
from margrave.losses import Hamming, LossFamily
from margrave.losses import Segments as SegmentCost
from margrave.structures import (
    Alignment,
    ArcLabels,
    ArcPairTree,
    Arcs,
    CandidateLists,
    Chain,
    ContextFreeTree,
    FactorGraph,
    ForestDerivations,
    Homology,
    Labels,
    LatticePaths,
    Letters,
    Multiclass,
    NodeSets,
    NonProjectiveTree,
    NoOutputs,
    ProjectiveTree,
    SecondOrderTree,
    Segmentation,
    SemiMarkov,
    SpanTree,
)
from margrave.structures.constituents import checked_trees
from margrave.structures.grammar import Grammar
from tests.references.alignments import AlignmentParts, alignments, edge_parts
from tests.references.arc_pairs import arc_pair_parts, every_tree, parts_of
from tests.references.enumeration import (
    Array,
    ChainParts,
    Graph,
    LabelledParts,
    Outputs,
    Parts,
    SegmentParts,
    SegmentsByDefinition,
    TableByDefinition,
    arc_part,
    hash_of,
    is_good,
    lattice_paths,
    multiclass_outputs,
    projective_trees,
    random_forest,
    random_lattice,
    second_order_parts,
    segment_attributes,
    spans_of,
    tree_parts,
    trees,
    values_of,
)
from tests.references.grammars import PartNumbers, derivations, random_grammar, trees_of
from tests.references.graphs import SETS, labellings, part_count, random_graph
from tests.references.problems import bind

# The learners that come with the library; tests register others beside them.
BUILT_IN_LEARNERS: dict[str, type[Learner]] = {
    name: kind for name, kind in LEARNERS.items() if kind.__module__.startswith("margrave.")
}


@dataclass
class Case:
    """A problem, and what it must agree with, example by example."""

    problem: _core.Problem
    outputs: list[Outputs]
    gold: list[Parts]
    costs: list[Array]  # of every output
    matrices: list[Array]  # A_i: (parts, weights)
    others: list[list[Parts]] | None = None  # which are good as well, best first; None: no others
    bound: Any = None  # the core's structure, where inference is approximate

    def __len__(self) -> int:
        return len(self.outputs)

    def gold_index(self, i: int) -> int:
        return self.outputs[i].ys.index(self.gold[i])

    def good(self, i: int) -> list[Parts]:
        """All good outputs, best first."""
        return [self.gold[i], *(self.others[i] if self.others else [])]

    def wrong(self, i: int) -> Array:
        """The zero-one cost of every output: it spares all good ones if outputs are single parts, else the first."""
        spared = self.good(i) if self.problem.zero_one_is_of_parts else self.good(i)[:1]
        return np.array([y not in spared for y in self.outputs[i].ys], dtype=float)


@dataclass(frozen=True)
class Kind:
    """A registered problem: make(seed, cost, size)."""

    name: str
    make: Callable[..., Case]
    costs: tuple[str, ...] = ("hamming",)
    exact: bool = True

    def __call__(self, seed: int, cost: str = "hamming", size: int = 4) -> Case:
        return self.make(np.random.default_rng(seed), cost, size)


KINDS: list[Kind] = []
APPROXIMATE: list[Kind] = []  # whose inference is not exact, with contracts of their own
LABEL_COSTS = ("hamming", "weights", "matrix")


def register(
    name: str, costs: tuple[str, ...] = ("hamming",), *, exact: bool = True, **options: Any
) -> Callable[[Any], Any]:
    def add(make: Any) -> Any:
        kind = Kind(name, lambda rng, cost, size: make(rng, cost, size, **options), costs, exact)
        (KINDS if exact else APPROXIMATE).append(kind)
        return make

    return add


# ---- labels ---------------------------------------------------------------------------------------------------------


def _loss(rng: np.random.Generator, cost: str, classes: list[str]) -> tuple[LossFamily | None, Array]:
    """A loss with this kind of cost, and the cost of each label where another is right."""
    n = len(classes)
    wrong = 1.0 - np.eye(n)
    if cost == "none":
        return None, 0 * wrong
    if cost == "weights":
        weights = rng.integers(1, 8, n) / 2
        if rng.random() < 0.5:
            return LossFamily(cost=weights), weights[:, None] * wrong
        return LossFamily(cost=dict(zip(classes, weights, strict=True))), weights[:, None] * wrong
    if cost == "matrix":
        matrix = rng.integers(0, 8, (n, n)) / 2 * wrong
        return LossFamily(cost=matrix), matrix
    return LossFamily(), wrong


def _named_token(rng: np.random.Generator, real: bool) -> Any:
    names = [f"attribute {k}" for k in rng.choice(7, rng.integers(0, 4))]  # none, some, or the same one twice
    if not real:
        return names
    token: dict[str, Any] = {name: float(rng.integers(-8, 9) / 4) for name in names}
    if rng.random() < 0.3:
        token["shape"] = "Xx" if rng.random() < 0.5 else "x"
    return token


class Rows:
    """Attributes of sequences of tokens, as users give them and as (attribute, value) pairs."""

    def __init__(self, rng: np.random.Generator, lengths: list[int], form: str, bits: int) -> None:
        if form == "vectors":
            self.count = 3
            self.given: Any = [rng.integers(-2, 3, (n, self.count)) / 2.0 for n in lengths]
            self.pairs = [[[(a, v) for a, v in enumerate(row) if v] for row in x] for x in self.given]
            return
        self.given = [[_named_token(rng, form == "real") for _ in range(n)] for n in lengths]
        named = [[values_of(token) for token in tokens] for tokens in self.given]
        names = list(dict.fromkeys(name for tokens in named for token in tokens for name, _ in token))
        number = {name: hash_of(name, bits) if bits else k for k, name in enumerate(names)}
        self.count = 1 << bits if bits else len(names)
        self.pairs = [[[(number[name], value) for name, value in token] for token in tokens] for tokens in named]

    def matrices(self) -> list[Array]:
        """A_i, if every row belongs to a part and every attribute has one weight."""
        found = []
        for rows in self.pairs:
            a = np.zeros((len(rows), self.count))
            for part, pairs in enumerate(rows):
                for k, value in pairs:
                    a[part, k] += value
            found.append(a)
        return found


def random_forbidden(rng: np.random.Generator, labels: int) -> frozenset[tuple[int, int]]:
    """Random forbidden pairs; label 0 may always repeat, so that sequences of any length remain."""
    pairs = np.argwhere(rng.random((labels, labels)) < 0.4)
    return frozenset((int(a), int(b)) for a, b in pairs if (a, b) != (0, 0))


@register("multiclass", LABEL_COSTS)
@register("multiclass, vectors", LABEL_COSTS, form="vectors")
@register("multiclass, all pairs", LABEL_COSTS, pairs="all")
def multiclass(rng: np.random.Generator, cost: str, size: int, *, form: str = "names", pairs: str = "observed") -> Case:
    labels = int(rng.integers(1, 8))
    classes = [f"class {k}" for k in range(labels)]
    rows = Rows(rng, [1] * size, form, 0)
    gold = rng.integers(0, labels, size).astype(np.int32)
    loss, price = _loss(rng, cost, classes)
    x = np.concatenate(rows.given) if form == "vectors" else [tokens[0] for tokens in rows.given]
    problem = bind(Multiclass(), x, gold, features=AttributeTable(pairs), classes=classes, loss=loss)
    table = TableByDefinition(
        ChainParts(labels, order=0), rows.count, rows.pairs, [(int(k),) for k in gold], observed=pairs == "observed"
    )
    return Case(
        problem,
        [Outputs(labels, multiclass_outputs(labels)) for _ in gold],
        [(int(k),) for k in gold],
        [price[k] for k in gold],
        [table.matrix(i) for i in range(size)],
    )


@register("chain", LABEL_COSTS)
@register("chain, untied", LABEL_COSTS, tied=False)
@register("chain, start and stop", start=True, stop=True)
@register("chain, start", start=True, tied=False)
@register("chain, stop", stop=True, form="real")
@register("chain, scale", scale=0.3)
@register("chain, scale and edge attributes", scale=0.3, edges=True, start=True, stop=True)
@register("chain, edge attributes", edges=True)
@register("chain, edge attributes, all pairs", edges=True, pairs="all", form="real")
@register("chain, edge vectors", edges=True, form="vectors")
@register("chain, forbidden", LABEL_COSTS, forbid=True)
@register("chain, forbidden, untied", forbid=True, tied=False)
@register("chain, allowed", LABEL_COSTS, allow=True)
@register("chain, allowed, untied", allow=True, tied=False)
@register("chain, forbidden and allowed", forbid=True, allow=True, start=True)
@register("chain, real values", form="real")
@register("chain, vectors", form="vectors")
@register("chain, vectors, all pairs", form="vectors", pairs="all", tied=False)
@register("chain, hashed", bits=3)
@register("chain, hashed, real values, edges", bits=2, form="real", edges=True)
@register("chain, all pairs", pairs="all")
@register("chain, one label", labels=1)
@register("chain, order 2", LABEL_COSTS, order=2)
@register("chain, order 2, untied", order=2, tied=False)
@register("chain, order 2, forbidden", order=2, forbid=True, start=True, stop=True)
@register("chain, order 2, forbidden, untied, edges", order=2, forbid=True, edges=True, scale=0.5)
@register("chain, order 2, allowed, all pairs", order=2, allow=True, pairs="all")
@register("chain, order 3", order=3)
@register("chain, order 3, untied", order=3, tied=False)
@register("chain, order 3, forbidden", order=3, forbid=True)
@register("chain, order 3, forbidden, allowed, untied", order=3, forbid=True, allow=True, tied=False)
def chain(
    rng: np.random.Generator,
    cost: str,
    size: int,
    *,
    labels: int = 0,
    order: int = 1,
    tied: bool = True,
    start: bool = False,
    stop: bool = False,
    scale: float = 1.0,
    edges: bool = False,
    forbid: bool = False,
    allow: bool = False,
    form: str = "names",
    bits: int = 0,
    pairs: str = "observed",
) -> Case:
    longest = {1: 4, 2: 4, 3: 5}[order]
    labels = labels or int(rng.integers(2, 4 if order < 3 else 3))
    lengths = [1, longest, *(int(n) for n in rng.integers(1, longest + 1, max(0, size - 2)))][:size]
    forbidden = random_forbidden(rng, labels) if forbid else frozenset()
    parts = ChainParts(labels, order, tied and not edges, forbidden)
    gold, allowed, outputs = [], [], []
    for n in lengths:
        possible = list(parts.sequences(n))
        gold.append(possible[rng.integers(len(possible))])
        allowed.append(rng.random((n, labels)) < 0.6 if allow else np.ones((n, labels), dtype=bool))
        allowed[-1][range(n), gold[-1]] = True
        outputs.append(list(parts.sequences(n, allowed[-1])))
    rows = Rows(rng, lengths, form, bits)
    edge_rows = Rows(rng, lengths, form, bits) if edges else None
    classes = [f"label {k}" for k in range(labels)]
    loss, price = _loss(rng, cost, classes)
    structure = Chain(order=order, forbidden=[(classes[a], classes[b]) for a, b in sorted(forbidden)], tied=tied)
    problem = bind(
        structure,
        rows.given,
        np.array([label for y in gold for label in y], dtype=np.int32),
        features=AttributeTable("all" if bits else pairs, bits),
        classes=classes,
        loss=loss,
        start=start,
        stop=stop,
        scale=scale,
        edges=edge_rows.given if edge_rows else None,
        allowed=np.concatenate(allowed) if allow else None,
    )
    table = TableByDefinition(
        parts,
        rows.count,
        rows.pairs,
        gold,
        observed=not bits and pairs == "observed",
        start=start,
        stop=stop,
        scale=scale,
        edges=edge_rows.pairs if edge_rows else None,
        edge_attributes=edge_rows.count if edge_rows else 0,
    )
    return Case(
        problem,
        [Outputs(parts.count(n), [parts.of(y) for y in ys]) for n, ys in zip(lengths, outputs, strict=True)],
        [parts.of(y) for y in gold],
        [
            np.array([sum(price[right, label] for right, label in zip(g, y, strict=True)) for y in ys], dtype=float)
            for g, ys in zip(gold, outputs, strict=True)
        ],
        [table.matrix(i) for i in range(size)],
    )


@register("multiclass, output features", LABEL_COSTS)
@register("multiclass, output features, all pairs", LABEL_COSTS, pairs="all", form="real")
def output_features(
    rng: np.random.Generator, cost: str, size: int, *, form: str = "names", pairs: str = "observed"
) -> Case:
    labels, width = int(rng.integers(1, 6)), int(rng.integers(1, 5))
    classes = [f"class {k}" for k in range(labels)]
    lambdas = rng.integers(-4, 5, (labels, width)) / 2.0 * (rng.random((labels, width)) < 0.6)
    rows = Rows(rng, [1] * size, form, 0)
    gold = rng.integers(0, labels, size).astype(np.int32)
    loss, price = _loss(rng, cost, classes)
    problem = bind(
        Multiclass(),
        [tokens[0] for tokens in rows.given],
        gold,
        features=AttributeTable(pairs),
        classes=classes,
        loss=loss,
        output=csr_array(lambdas),
    )
    seen = lambdas[gold] != 0
    kept = [
        (a, k)
        for a in range(rows.count)
        for k in range(width)
        if pairs == "all" or any(seen[i, k] and a in dict(tokens[0]) for i, tokens in enumerate(rows.pairs))
    ]
    matrices = []
    for tokens in rows.pairs:
        phi = np.zeros(rows.count)
        for a, value in tokens[0]:
            phi[a] += value
        matrices.append(np.array([[phi[a] * row[k] for a, k in kept] for row in lambdas]).reshape(labels, len(kept)))
    return Case(
        problem,
        [Outputs(labels, multiclass_outputs(labels)) for _ in gold],
        [(int(k),) for k in gold],
        [price[k] for k in gold],
        matrices,
    )


@register("candidates", ("hamming", "costs"))
@register("candidates, real values", ("hamming", "costs"), form="real")
@register("candidates, vectors", form="vectors")
@register("candidates, hashed", bits=3)
def candidates(rng: np.random.Generator, cost: str, size: int, *, form: str = "names", bits: int = 0) -> Case:
    counts = [1, 6, *(int(n) for n in rng.integers(1, 7, max(0, size - 2)))][:size]
    good = [rng.permutation(n)[: rng.integers(1, n + 1)].tolist() for n in counts]
    prices = [rng.integers(0 if cost == "costs" else 1, 8 if cost == "costs" else 2, n) / 1.0 for n in counts]
    for price, numbers in zip(prices, good, strict=True):
        price[numbers] = 0
    rows = Rows(rng, counts, form, bits)
    problem = bind(
        CandidateLists(),
        rows.given,
        [numbers[0] if len(numbers) == 1 else numbers for numbers in good],
        prices if cost == "costs" else None,
        features=SparseFeatures(bits, "candidate"),
        loss=LossFamily(),
    )
    matrices = rows.matrices()
    return Case(
        problem,
        [Outputs(n, multiclass_outputs(n)) for n in counts],
        [(numbers[0],) for numbers in good],
        prices,
        matrices,
        [[(k,) for k in numbers[1:]] for numbers in good],
    )


@register("segments", ("hamming", "weights", "matrix", "segments"))
@register("segments, untied", ("hamming", "segments"), tied=False)
@register("segments, start and stop, scale", start=True, stop=True, scale=0.3, form="real")
@register("segments, attributes of segments", ("hamming", "segments"), templates=True)
@register("segments, attributes of segments, all pairs", templates=True, pairs="all", tied=False, start=True)
@register("segments, hashed", templates=True, bits=3)
@register("segments, allowed", allow=True)
@register("segments, allowed, untied", allow=True, tied=False)
@register("segments of one token", longest=1)
@register("segments, several answers", ("hamming", "matrix"), several=True, pairs="all")
@register("segments, several answers, untied", several=True, pairs="all", tied=False, templates=True)
def segments(
    rng: np.random.Generator,
    cost: str,
    size: int,
    *,
    longest: int = 4,
    tied: bool = True,
    start: bool = False,
    stop: bool = False,
    scale: float = 1.0,
    templates: bool = False,
    allow: bool = False,
    several: bool = False,
    form: str = "names",
    bits: int = 0,
    pairs: str = "observed",
) -> Case:
    labels = ["A", "B", "O"][: int(rng.integers(2, 4))] if longest > 1 else ["A", "B", "C", "O"]
    labels = labels if rng.random() < 0.5 else [*labels[:-1], "O"]
    most = [1 if label == "O" else int(rng.integers(1, longest + 1)) for label in labels]
    outputs = Segmentation(labels, most)
    parts = SegmentParts(most, tied)
    lengths = [1, 4, *(int(n) for n in rng.integers(1, 5, max(0, size - 2)))][:size]
    tags = outputs.names

    def tagged(y: Any) -> list[str]:
        return [
            outputs.first[label] if t == begin else str(outputs.inside[label])
            for begin, end, label in y
            for t in range(begin, end)
        ]

    gold, allowed, all_outputs = [], [], []
    for n in lengths:
        possible = list(parts.segmentations(n))
        gold.append(possible[rng.integers(len(possible))])
        mask = rng.random((n, len(tags))) < (0.7 if allow else 2.0)
        mask[range(n), [tags.index(tag) for tag in tagged(gold[-1])]] = True
        allowed.append(mask)
        all_outputs.append([y for y in possible if all(mask[t, tags.index(tag)] for t, tag in enumerate(tagged(y)))])
    right: list[list[Any]] = [[y] for y in gold]  # all good outputs; the first is that of the tags
    answers: list[list[str]] = [tagged(y) for y in gold]
    for i, n in enumerate(lengths if several else []):
        spans = [each for each in parts.segments(n) if labels[each[2]] != "O"]
        chosen = [spans[k] for k in rng.permutation(len(spans))[: int(rng.integers(0, 3))]]
        answers[i] = Answers(answers[i], [(labels[label], begin, end) for begin, end, label in chosen])
        right[i] += [y for y in all_outputs[i] if y != gold[i] and is_good(answers[i], tagged(y))]
    rows = Rows(rng, lengths, form, bits)
    texts = [[str(rng.choice(["x", "yy", "Zz"])) for _ in range(n)] for n in lengths]
    of_spans = SegmentTemplates(["string", "length", "last", "ngram1.lower"], {"d": ["x", "yy x"]})
    loss, price = _loss(rng, cost if cost in LABEL_COSTS else "hamming", tags)
    costs = SegmentCost() if cost == "segments" else loss.costs if loss else None
    features = SegmentFeatures(
        AttributeTable("all" if bits else pairs, bits),
        labels,
        max(most),
        of_spans if templates else None,
        start,
        stop,
        scale,
    )
    bound = bind_examples(
        SemiMarkov(None, tied),
        features,
        rows.given,
        answers,
        outputs=outputs,
        costs=costs,
        to_features={"texts": texts, "gold": [[(begin, end) for begin, end, _ in y] for y in gold]}
        if templates
        else {},
        to_structure={"allowed": np.concatenate(allowed)} if allow else {},
    )
    table = SegmentsByDefinition(
        parts,
        [tags.index(tag) for tag in outputs.first],
        [-1 if tag is None else tags.index(tag) for tag in outputs.inside],
        len(tags),
        rows.count,
        rows.pairs,
        gold,
        observed=not bits and pairs == "observed",
        start=start,
        stop=stop,
        scale=scale,
        spans=[
            [segment_attributes(words, begin, end) for begin, end in spans_of(len(words), max(most))] for words in texts
        ]
        if templates
        else None,
        bits=bits,
        longest=max(most),
    )

    def price_of(good: list[Any], y: Any) -> float:
        if cost == "segments":
            known = {segment for segment in good[0] if labels[segment[2]] != "O"}
            found = {segment for segment in y if labels[segment[2]] != "O"}
            return float(len(known ^ found))
        tags_of_good = zip(*map(tagged, good), strict=True)
        return float(
            sum(
                min(price[tags.index(a), tags.index(b)] for a in {*of_good})
                for of_good, b in zip(tags_of_good, tagged(y), strict=True)
            )
        )

    def others(i: int) -> list[Parts]:
        """The good outputs but for the first, in the order of the core, which is arbitrary."""
        by_parts = {tuple(sorted(of)): of for of in (parts.of(lengths[i], y) for y in right[i])}
        listed = [by_parts[tuple(sorted(bound.problem.gold(i, k).tolist()))] for k in range(bound.problem.golds(i))]
        assert len(set(listed)) == len(listed) == len(right[i]) and listed[0] == parts.of(lengths[i], gold[i])
        return listed[1:]

    return Case(
        bound.problem,
        [Outputs(parts.count(n), [parts.of(n, y) for y in ys]) for n, ys in zip(lengths, all_outputs, strict=True)],
        [parts.of(n, y) for n, y in zip(lengths, gold, strict=True)],
        [np.array([price_of(good, y) for y in ys]) for good, ys in zip(right, all_outputs, strict=True)],
        [table.matrix(i) for i in range(size)],
        [others(i) for i in range(size)] if several else None,
    )


@register("lattice")
@register("lattice, one good path", single=True)
@register("lattice, real values", form="real", epsilon=True)
def lattice(
    rng: np.random.Generator,
    cost: str,
    size: int,
    *,
    form: str = "names",
    single: bool = False,
    epsilon: bool = False,
) -> Case:
    lattices, outputs, gold, others, costs, strings = [], [], [], [], [], []
    for _ in range(size):
        found = random_lattice(rng, epsilon)
        paths = lattice_paths(found)
        spelled = [found.string(path) for path in paths]
        distinct = sorted(set(spelled))
        if single:
            distinct = [each for each in distinct if spelled.count(each) == 1] or distinct
        chosen = [str(each) for each in rng.permutation(distinct)[: 1 if single else int(rng.integers(1, 4))]]
        listed = _core_order(found, paths, spelled, chosen)
        lattices.append(found)
        strings.append(chosen)
        outputs.append(Outputs(len(found.edges), paths))
        gold.append(listed[0])
        others.append(listed[1:])
        free = {edge for path in listed for edge in path}
        costs.append(np.array([float(sum(edge not in free for edge in path)) for path in paths]))
    rows = Rows(rng, [len(each.edges) for each in lattices], form, 0)
    bound = bind_examples(
        LatticePaths(),
        SparseFeatures(unit="edge"),
        rows.given,
        strings,
        outputs=NoOutputs(),
        costs=Hamming(),
        to_structure={"lattices": lattices},
    )
    return Case(bound.problem, outputs, gold, costs, rows.matrices(), others)


@register("forest")
@register("forest, real values", form="real")
def forest(rng: np.random.Generator, cost: str, size: int, *, form: str = "names") -> Case:
    pairs = [random_forest(rng) for _ in range(size)]
    forests = [found for found, _ in pairs]
    every = [[edges for edges, _ in derivations] for _, derivations in pairs]
    gold = [of[rng.integers(len(of))] for of in every]
    rows = Rows(rng, [len(found.edges) for found in forests], form, 0)
    bound = bind_examples(
        ForestDerivations(),
        SparseFeatures(unit="edge"),
        rows.given,
        gold,
        outputs=NoOutputs(),
        costs=Hamming(),
        to_structure={"forests": forests},
    )
    return Case(
        bound.problem,
        [Outputs(len(found.edges), of) for found, of in zip(forests, every, strict=True)],
        gold,
        [np.array([float(len(set(y) - set(right))) for y in of]) for right, of in zip(gold, every, strict=True)],
        rows.matrices(),
    )


def lattice_graph(found: Lattice) -> Graph:
    """A lattice as a hypergraph: node 0 has an edge without tails and parts."""
    edges: list[tuple[int, Parts, Parts]] = [(0, (), ())]
    return Graph(found.nodes, edges + [(edge.head, (edge.tail,), (k,)) for k, edge in enumerate(found.edges)])


def _core_order(found: Lattice, paths: list[Parts], spelled: list[str], chosen: list[str]) -> list[Parts]:
    """The good paths string by string; among those of a string, in the order of the core, which is arbitrary."""
    arrays = LatticePaths().bind(NoOutputs(), np.array([len(found.edges)]), [chosen], costs=Hamming(), lattices=[found])
    rows = _core.Tokens(np.array([0, len(found.edges)]), np.zeros(len(found.edges) + 1, dtype=np.int64),
                        np.zeros(0, dtype=np.int32), None)  # fmt: skip
    problem = _core.join(arrays, _core.sparse_parts(1, rows, arrays.choices))
    listed = [tuple(problem.gold(0, k).tolist()) for k in range(problem.golds(0))]
    expected = [{path for path, string in zip(paths, spelled, strict=True) if string == each} for each in chosen]
    assert [spelled[paths.index(path)] for path in listed] == [
        string for string, of in zip(chosen, expected, strict=True) for _ in of
    ]
    assert set(listed) == set().union(*expected)
    return listed


# ---- trees ----------------------------------------------------------------------------------------------------------


@register("tree, single root", single_root=True)
@register("tree, several roots", single_root=False, form="real")
@register("tree, hashed", single_root=True, bits=3)
@register("tree, vectors", single_root=False, form="vectors")
@register("tree, allowed", single_root=True, allow=True)
@register("tree, allowed, several roots", single_root=False, allow=True)
@register("tree, pruned", single_root=True, prune=True)
@register("tree, pruned and allowed, several roots", single_root=False, prune=True, allow=True, form="real")
@register("projective tree, single root", single_root=True, projective=True)
@register("projective tree, several roots", single_root=False, projective=True, form="real")
@register("projective tree, hashed", single_root=False, projective=True, bits=3)
@register("projective tree, allowed", single_root=True, projective=True, allow=True)
@register("projective tree, allowed, several roots", single_root=False, projective=True, allow=True, form="vectors")
@register("projective tree, pruned", single_root=True, projective=True, prune=True, form="vectors")
@register("projective tree, pruned and allowed", single_root=True, projective=True, prune=True, allow=True)
@register("projective tree, pruned, several roots", single_root=False, projective=True, prune=True, bits=3)
def tree(
    rng: np.random.Generator,
    cost: str,
    size: int,
    *,
    single_root: bool,
    projective: bool = False,
    allow: bool = False,
    prune: bool = False,
    form: str = "names",
    bits: int = 0,
) -> Case:
    words = [1, 4, *(int(n) for n in rng.integers(1, 5, max(0, size - 2)))][:size]
    every_tree = projective_trees if projective else trees
    all_trees = [list(every_tree(n, single_root)) for n in words]
    gold = [every[rng.integers(len(every))] for every in all_trees]
    left, allowed = random_arcs(rng, gold, prune), random_arcs(rng, gold, allow)
    all_trees = [
        [heads for heads in every if (here & may)[list(tree_parts(heads))].all()]
        for every, here, may in zip(all_trees, left, allowed, strict=True)
    ]
    number = [np.cumsum(mask) - 1 for mask in left]  # of the arcs that are left
    parts = [lambda heads, here=here: tuple(here[list(tree_parts(heads))].tolist()) for here in number]
    rows = Rows(rng, [int(mask.sum()) for mask in left], form, bits)
    problem = bind(
        (ProjectiveTree if projective else NonProjectiveTree)(single_root),
        rows.given,
        gold,
        features=SparseFeatures(bits),
        allowed=np.concatenate(allowed) if allow else None,
        arcs=Arcs(np.array(words), np.concatenate(left)) if prune else None,
    )
    return Case(
        problem,
        [
            Outputs(int(mask.sum()), [of(heads) for heads in every])
            for mask, of, every in zip(left, parts, all_trees, strict=True)
        ],
        [of(heads) for of, heads in zip(parts, gold, strict=True)],
        [attachment_errors(heads, every) for heads, every in zip(gold, all_trees, strict=True)],
        rows.matrices(),
    )


def random_arcs(rng: np.random.Generator, gold: list[Parts], some: bool) -> list[NDArray[np.bool_]]:
    """For each sentence some of its arcs, those of the gold tree among them, or all."""
    masks = [rng.random(len(heads) ** 2) < (0.7 if some else 1.0) for heads in gold]
    for mask, heads in zip(masks, gold, strict=True):
        mask[list(tree_parts(heads))] = True
    return masks


def attachment_errors(gold: Parts, every: list[Parts]) -> Array:
    """The number of wrong heads of every tree."""
    return np.array([sum(a != b for a, b in zip(gold, heads, strict=True)) for heads in every], dtype=float)


def random_heads(rng: np.random.Generator, gold: Parts) -> list[list[int]]:
    """For each word some heads that it may have, the gold one among them."""
    n = len(gold)
    return [
        [head for head in range(n + 1) if head != word and (head == gold[word - 1] or rng.random() < 0.6)]
        for word in range(1, n + 1)
    ]


@register("second-order tree, siblings", parts="siblings")
@register("second-order tree, siblings, several roots", parts="siblings", single_root=False, form="real")
@register("second-order tree, siblings, allowed", parts="siblings", allow=True)
@register("second-order tree, grandparents", parts="grandparents", form="vectors")
@register("second-order tree, grandparents, allowed", parts="grandparents", allow=True, single_root=False, bits=3)
def second_order_tree(
    rng: np.random.Generator,
    cost: str,
    size: int,
    *,
    parts: str,
    single_root: bool = True,
    allow: bool = False,
    form: str = "names",
    bits: int = 0,
) -> Case:
    words = [1, 4, *(int(n) for n in rng.integers(1, 5, max(0, size - 2)))][:size]
    all_trees = [projective_trees(n, single_root) for n in words]
    gold = [every[rng.integers(len(every))] for every in all_trees]
    allowed = [random_heads(rng, heads) for heads in gold] if allow else None
    if allowed is not None:
        all_trees = [
            [tree for tree in every if all(head in may for head, may in zip(tree, heads, strict=True))]
            for every, heads in zip(all_trees, allowed, strict=True)
        ]
    numbers = [
        second_order_parts(n, parts == "grandparents", single_root, allowed and allowed[i]) for i, n in enumerate(words)
    ]
    rows = Rows(rng, [len(number) for number in numbers], form, bits)
    structure = SecondOrderTree(parts, single_root)
    problem = bind(structure, rows.given, gold, features=SparseFeatures(bits), allowed=allowed)
    matrices = rows.matrices()
    return Case(
        problem,
        [
            Outputs(len(number), [number.of(heads) for heads in every])
            for number, every in zip(numbers, all_trees, strict=True)
        ],
        [number.of(heads) for number, heads in zip(numbers, gold, strict=True)],
        [attachment_errors(heads, every) for heads, every in zip(gold, all_trees, strict=True)],
        matrices,
    )


@register("arc-pair tree", exact=False)
@register("arc-pair tree, several roots, messages kept", exact=False, single_root=False, form="real", keep=1.0)
@register("arc-pair tree, allowed, reweighted", exact=False, allow=True, fallback="reweighted")
def arc_pair_tree(
    rng: np.random.Generator,
    cost: str,
    size: int,
    *,
    single_root: bool = True,
    allow: bool = False,
    form: str = "names",
    **inference: Any,
) -> Case:
    gold, restrictions, outputs, parts, costs = [], [], [], [], []
    for n in rng.integers(1, 5, size).tolist():
        every = list(trees(n, single_root))
        right = every[rng.integers(len(every))]
        heads = random_heads(rng, right) if allow else None
        left = every_tree(n, single_root, heads)
        number = arc_pair_parts(n, single_root, heads)
        gold.append(right)
        restrictions.append(heads)
        outputs.append(Outputs(len(number), [parts_of(number, tree) for tree in left]))
        parts.append(parts_of(number, right))
        costs.append(attachment_errors(right, left))
    rows = Rows(rng, [each.n for each in outputs], form, 0)
    bound = bind_examples(
        ArcPairTree(single_root, **inference),
        SparseFeatures(),
        rows.given,
        [list(heads) for heads in gold],
        costs=Hamming(),
        to_structure={"allowed": restrictions} if allow else {},
    )
    return Case(bound.problem, outputs, parts, costs, rows.matrices(), bound=bound.approximate)


@register("tree by templates", structure=NonProjectiveTree)
@register("projective tree by templates, pruned", structure=ProjectiveTree, prune=True)
@register("labelled tree by templates, pruned", structure=NonProjectiveTree, prune=True, labelled=True)
@register("second-order tree by templates", structure=SecondOrderTree)
@register("labelled second-order tree by templates, pruned", structure=SecondOrderTree, prune=True, labelled=True)
def tree_by_templates(
    rng: np.random.Generator,
    cost: str,
    size: int,
    *,
    structure: Any,
    prune: bool = False,
    labelled: bool = False,
) -> Case:
    """Attributes from templates, as the core maps them; the matrix comes from their names, as Python spells them."""
    classes = ["a", "b"]
    second = structure is SecondOrderTree
    words = [1, 3, *(int(n) for n in rng.integers(1, 4, max(0, size - 2)))][:size]
    columns = (["Dog", "dogs", "\u00e9tat"], ["N", "V"], ["_", "Case=Nom", "Case=Nom|Number=Sing"])
    X = [[[str(rng.choice(values)) for values in columns] for _ in range(n)] for n in words]
    all_trees = [list((trees if structure is NonProjectiveTree else projective_trees)(n, True)) for n in words]
    heads = [every[rng.integers(len(every))] for every in all_trees]
    left = random_arcs(rng, heads, prune)
    arcs = [
        [(h, m) for m in range(1, n + 1) for h in range(n + 1) if h != m and mask[arc_part(n, h, m)]]
        for n, mask in zip(words, left, strict=True)
    ]
    templates = [
        *(
            "way",
            "h[0].lower|w[1]",
            "w[0]-1.stem2|h[1]+1",
            "w[0].suffix3|dir",
            "h[2].each|w[2].each",
            "between[1]|w[1]",
        ),
        *(["s[1]|w[1]|dir", "h[1]|s[0].lower", "g[1]|h[1]|dir", "g[2].each|way"] if second else []),
        *(["h[1]|w[1]|label", "w[2].each|label", "label"] if labelled else []),
    ]
    inputs = ArcTemplates(templates).learn(X)
    gold = [[(head, int(rng.integers(2))) for head in tree] for tree in heads]
    options = {"parts": "grandparents"} if second else {}
    features = TreeFeatures(0, classes if labelled else [])
    bound = bind_examples(
        structure(labelled=labelled, **options),
        features,
        inputs.transform(X),
        [[(head, classes[label]) if labelled else head for head, label in tree] for tree in gold],
        outputs=Labels.of(classes) if labelled else NoOutputs(),
        costs=Hamming(),
        to_structure={"arcs": Arcs(np.array(words), np.concatenate(left))},
    )
    assert features.table is not None
    columns_of = {name: k for k, name in enumerate(features.table.names())}
    outputs, golds, costs, matrices = [], [], [], []
    for x, n, its_arcs, every, tree in zip(X, words, arcs, all_trees, gold, strict=True):
        right = tuple((head, label if labelled else 0) for head, label in tree)
        number = LabelledParts(its_arcs, lambda h, m: (0, 1) if labelled else (0,))
        tuples = [(None, h, None, m, label) for h, m, label in number.number]
        if second:
            every_head = [[h for h, word in its_arcs if word == m] for m in range(1, n + 1)]
            pairs = second_order_parts(n, True, True, every_head)
            number.add_pairs(pairs)
            tuples += [
                (None if g < 0 else g, h, None if s < 0 else s, m, None) for g, h, s, m in list(pairs)[len(its_arcs) :]
            ]
        possible = [heads for heads in every if all((h, m) in its_arcs for m, h in enumerate(heads, 1))]
        ys = [y for heads in possible for y in number.labelled(heads)]
        outputs.append(Outputs(number.count, [number.of(y) for y in ys]))
        golds.append(number.of(right))
        costs.append(np.array([sum(a != b for a, b in zip(right, y, strict=True)) for y in ys], dtype=float))
        matrix = np.zeros((number.count, len(columns_of)))
        for part, (g, h, s, m, label) in enumerate(tuples):
            spelled = inputs.part_attributes(x, h, m, grandparent=g, sibling=s)
            if labelled and label is not None:
                spelled += inputs.part_attributes(x, h, m, label=classes[label])
            for name in spelled:
                if name in columns_of:
                    matrix[part, columns_of[name]] += 1
        matrices.append(matrix)
    return Case(bound.problem, outputs, golds, costs, matrices)


@register("labelled tree", structure=NonProjectiveTree)
@register("labelled tree, several roots", structure=NonProjectiveTree, single_root=False, form="real", wrong_label=0.5)
@register("labelled tree, pruned", structure=NonProjectiveTree, prune=True, bits=3)
@register("labelled tree, pruned and allowed", structure=NonProjectiveTree, prune=True, allow=True, single_root=False)
@register("labelled projective tree", structure=ProjectiveTree, form="vectors")
@register("labelled projective tree, pruned", structure=ProjectiveTree, prune=True, wrong_label=2.0)
@register("labelled projective tree, several roots", structure=ProjectiveTree, prune=True, single_root=False)
@register("labelled tree, siblings", structure=SecondOrderTree, form="real")
@register("labelled tree, siblings, pruned", structure=SecondOrderTree, prune=True, allow=True)
@register("labelled tree, grandparents, pruned", structure=SecondOrderTree, parts="grandparents", prune=True)
def labelled_tree(
    rng: np.random.Generator,
    cost: str,
    size: int,
    *,
    structure: Any,
    parts: str = "siblings",
    single_root: bool = True,
    prune: bool = False,
    allow: bool = False,
    wrong_label: float = 1.0,
    form: str = "names",
    bits: int = 0,
) -> Case:
    classes = ["a", "b", "c"]
    second = structure is SecondOrderTree
    words = [1, 3, *(int(n) for n in rng.integers(1, 4, max(0, size - 2)))][:size]
    every_tree = trees if structure is NonProjectiveTree else projective_trees
    all_trees = [list(every_tree(n, single_root)) for n in words]
    heads = [every[rng.integers(len(every))] for every in all_trees]
    left, allowed = random_arcs(rng, heads, prune), random_arcs(rng, heads, allow)
    sets = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    of_arc = [[sets[rng.integers(len(sets))] for _ in mask] for mask in left]  # of all n * n arcs
    gold = []
    for tree, its_sets in zip(heads, of_arc, strict=True):
        its_labels = [its_sets[arc_part(len(tree), head, word)] for word, head in enumerate(tree, 1)]
        gold.append([(head, int(rng.choice(labels))) for head, labels in zip(tree, its_labels, strict=True)])

    numbers, outputs = [], []
    for n, here, may, its_sets, every in zip(words, left, allowed, of_arc, all_trees, strict=True):
        arcs = [(h, m) for m in range(1, n + 1) for h in range(n + 1) if h != m and here[arc_part(n, h, m)]]
        number = LabelledParts(arcs, lambda h, m, n=n, its=its_sets: its[arc_part(n, h, m)])
        if second:
            every_head = [[h for h, word in arcs if word == m] for m in range(1, n + 1)]
            number.add_pairs(second_order_parts(n, parts == "grandparents", single_root, every_head))
        possible = [tree for tree in every if (here & may)[list(tree_parts(tree))].all()]
        outputs.append([y for tree in possible for y in number.labelled(tree)])
        numbers.append(number)
    rows = Rows(rng, [number.count for number in numbers], form, bits)
    kept = [its_sets[k] for mask, its_sets in zip(left, of_arc, strict=True) for k in np.flatnonzero(mask)]
    options = {"single_root": single_root, "labelled": True, "wrong_label": wrong_label}
    problem = bind(
        structure(**options, parts=parts) if second else structure(**options),
        rows.given,
        [[(head, classes[label]) for head, label in y] for y in gold],
        features=SparseFeatures(bits),
        classes=classes,
        allowed=np.concatenate(allowed) if allow else None,
        arcs=Arcs(np.array(words), np.concatenate(left) if prune else None),
        arc_labels=ArcLabels(
            [sets.index(labels) for labels in kept],
            np.cumsum([0, *(len(labels) for labels in sets)]),
            [label for labels in sets for label in labels],
        ),
    )
    return Case(
        problem,
        [Outputs(number.count, [number.of(y) for y in ys]) for number, ys in zip(numbers, outputs, strict=True)],
        [number.of(y) for number, y in zip(numbers, gold, strict=True)],
        [
            np.array(
                [
                    sum(1.0 if a != b else wrong_label * (k != j) for (a, k), (b, j) in zip(g, y, strict=True))
                    for y in ys
                ],
                dtype=float,
            )
            for g, ys in zip(gold, outputs, strict=True)
        ],
        rows.matrices(),
    )


# ---- graphs ---------------------------------------------------------------------------------------------------------


@register("graph, tree", LABEL_COSTS, style="tree")
@register("graph, loops", LABEL_COSTS, style="loop", form="real")
@register("graph, triples", style="triples")
@register("graph, disconnected", style="disconnected", form="vectors")
@register("graph, single variable", style="single")
@register("graph, hard factors", style="hard", bits=3)
@register("graph, listed tuples", style="listed")
@register("graph, partial factors", LABEL_COSTS, style="partial", form="real")
@register("graph, allowed", style="allowed")
@register("graph, bp", exact=False, style="loop", inference="bp", form="real")
@register("graph, bp, triples, parallel", exact=False, style="triples", inference="bp", schedule="parallel")
@register("graph, bp, hard factors, residual", exact=False, style="hard", inference="bp", schedule="residual")
@register("graph, bp, allowed, messages kept", exact=False, style="allowed", inference="bp", keep=1.0)
@register("graph, trw", exact=False, style="loop", inference="trw", form="vectors")
@register("graph, trw, messages kept", exact=False, style="loop", inference="trw", keep=1.0)
@register("graph, relaxed", exact=False, style="loop", inference="relaxed", form="real")
@register("graph, relaxed, hard factors", exact=False, style="hard", inference="relaxed")
@register("graph, lp", exact=False, style="loop", inference="lp", form="real")
@register("graph, lp, triples", exact=False, style="triples", inference="lp")
@register("graph, lp, partial factors", exact=False, style="partial", inference="lp")
@register("graph, lp, listed tuples", exact=False, style="listed", inference="lp")
def graph(
    rng: np.random.Generator, cost: str, size: int, *, style: str, form: str = "names", bits: int = 0, **inference: Any
) -> Case:
    price, loss = {}, None
    for name, labels in SETS.items():
        loss, price[name] = _loss(np.random.default_rng(0), cost if cost == "hamming" else "hamming", labels)
    if cost != "hamming":  # costs of labels are given for one set of labels
        loss, price["three"] = _loss(rng, cost, SETS["three"])
    sets = SETS if cost == "hamming" else {"three": SETS["three"]}
    graphs = [random_graph(rng, style, sets, 5 if cost == "hamming" else 4) for _ in range(size)]
    if size > 2:
        graphs[2] = graphs[1]  # examples may share a graph
    every = [list(labellings(graph, sets)) for graph in graphs]
    gold = [ys[rng.integers(len(ys))][0] for ys in every]
    allowed = None
    if style == "allowed":
        masks = [
            [[name for k, name in enumerate(sets[kind]) if k == right or rng.random() < 0.6] for kind, right in pairs]
            for pairs in (list(zip(graph.variables, y, strict=True)) for graph, y in zip(graphs, gold, strict=True))
        ]
        allowed = [None, *masks[1:]]
        every = [
            [
                (y, parts)
                for y, parts in ys
                if mask is None
                or all(sets[kind][k] in names for kind, k, names in zip(graph.variables, y, mask, strict=True))
            ]
            for ys, mask, graph in zip(every, allowed, graphs, strict=True)
        ]
    counts = [part_count(graph, sets) for graph in graphs]
    rows = Rows(rng, counts, form, bits)
    names = [[sets[kind][k] for kind, k in zip(g.variables, y, strict=True)] for g, y in zip(graphs, gold, strict=True)]
    bound = bind_examples(
        FactorGraph(labels=sets, **inference),
        SparseFeatures(bits),
        rows.given,
        names,
        costs=None if loss is None else loss.costs,
        to_structure={"graphs": graphs, "allowed": allowed},
    )
    assert bound.decode(*bound.core.gold_parts()) == names
    return Case(
        bound.problem,
        [Outputs(n, [parts for _, parts in ys]) for n, ys in zip(counts, every, strict=True)],
        [dict(ys)[y] for ys, y in zip(every, gold, strict=True)],
        [
            np.array([sum(price[kind][r, k] for kind, r, k in zip(g.variables, right, y, strict=True)) for y, _ in ys])
            for g, right, ys in zip(graphs, gold, every, strict=True)
        ],
        rows.matrices(),
        bound=bound.approximate,
    )


@register("graph, tied weights", LABEL_COSTS)
@register("graph, tied weights of edges", described=True, form="real")
@register("graph, tied weights, directed", pairs="directed", form="vectors", described=True, intercept=False)
@register("graph, tied weights, equal labels", pairs="equal", bits=2)
def labelled_graph(
    rng: np.random.Generator,
    cost: str,
    size: int,
    *,
    pairs: str = "auto",
    described: bool = False,
    intercept: bool = True,
    form: str = "names",
    bits: int = 0,
) -> Case:
    labels = int(rng.integers(2, 4))
    classes = [f"label {k}" for k in range(labels)]
    loss, price = _loss(rng, cost, classes)
    nodes = [1, 4, *(int(n) for n in rng.integers(2, 5, max(0, size - 2)))][:size]
    edges = [
        [(int(a), int(b)) for a, b in map(rng.permutation, combinations(range(n), 2)) if rng.random() < 0.6]
        for n in nodes
    ]
    gold = [tuple(int(k) for k in rng.integers(0, labels, n)) for n in nodes]
    of_nodes = Rows(rng, nodes, form, bits)
    of_edges = Rows(rng, [len(e) for e in edges], form, bits) if described else None
    graphs = [
        NodesAndEdges(x, e, None if of_edges is None else of_edges.given[i])
        for i, (x, e) in enumerate(zip(of_nodes.given, edges, strict=True))
    ]
    structure, features = FactorGraph(), GraphFeatures(pairs, intercept, bits)
    bound = bind_examples(
        structure,
        features,
        graphs,
        [[classes[k] for k in y] for y in gold],
        outputs=Labels(np.array(classes)),
        costs=None if loss is None else loss.costs,
        to_structure={"graphs": shared_graphs(graphs)},
    )
    if pairs == "auto":
        pairs = "directed" if described else "symmetric"
    column = {"directed": lambda a, b: (a, b), "equal": lambda a, b: 0 if a == b else None}.get(
        pairs, lambda a, b: (min(a, b), max(a, b))
    )
    columns = list(dict.fromkeys(column(a, b) for a, b in product(range(labels), repeat=2) if column(a, b) is not None))
    edge_count = of_edges.count if of_edges else (1 << bits if bits and described else 0)
    width = (of_nodes.count + intercept) * labels + (edge_count + intercept) * len(columns)
    outputs, matrices, costs = [], [], []
    for i, (n, joined) in enumerate(zip(nodes, edges, strict=True)):
        count = n * labels + len(joined) * labels**2
        a = np.zeros((count, width))
        for v, pairs_of_row in enumerate(of_nodes.pairs[i]):
            for attribute, value in [*([(-1, 1.0)] if intercept else []), *pairs_of_row]:
                for k in range(labels):
                    a[v * labels + k, (attribute + intercept) * labels + k] += value
        first = (of_nodes.count + intercept) * labels
        for e in range(len(joined)):
            row = [*([(-1, 1.0)] if intercept else []), *(of_edges.pairs[i][e] if of_edges else [])]
            for attribute, value in row:
                for k, m in product(range(labels), repeat=2):
                    if (which := column(k, m)) is not None:
                        place = first + (attribute + intercept) * len(columns) + columns.index(which)
                        a[n * labels + (e * labels + k) * labels + m, place] += value
        ys = list(product(range(labels), repeat=n))
        outputs.append(
            Outputs(
                count,
                [
                    tuple(v * labels + k for v, k in enumerate(y))
                    + tuple(n * labels + (e * labels + y[s]) * labels + y[t] for e, (s, t) in enumerate(joined))
                    for y in ys
                ],
            )
        )
        costs.append(np.array([sum(price[r, k] for r, k in zip(gold[i], y, strict=True)) for y in ys], dtype=float))
        matrices.append(a)
    golds = [outputs[i].ys[list(product(range(labels), repeat=n)).index(gold[i])] for i, n in enumerate(nodes)]
    return Case(bound.problem, outputs, golds, costs, matrices)


@register("node sets")
@register("node sets, intercept, real values", intercept=True, form="real")
def node_sets(rng: np.random.Generator, cost: str, size: int, *, intercept: bool = False, form: str = "names") -> Case:
    nodes = int(rng.integers(1, 8))
    parents = {k: int(rng.integers(k)) if k and rng.random() < 0.7 else None for k in range(nodes)}
    order = rng.permutation(nodes).tolist()  # node k is class number order[k]
    above = {order[k]: None if p is None else order[p] for k, p in parents.items()}
    outputs = closed_sets(above)
    gold = [outputs[rng.integers(len(outputs))] for _ in range(size)]
    rows = Rows(rng, [1] * size, form, 0)
    problem = bind(
        NodeSets(Taxonomy(above)),
        [tokens[0] for tokens in rows.given],
        gold,
        features=AttributeTable("all"),
        classes=list(range(nodes)),
        loss=LossFamily(),
        intercept=intercept,
    )
    matrices = []
    for tokens in rows.pairs:
        phi = np.zeros(rows.count)
        for a, value in tokens[0]:
            phi[a] += value
        matrices.append(np.kron(np.append(phi, 1.0) if intercept else phi, np.eye(nodes)))
    return Case(
        problem,
        [Outputs(nodes, outputs) for _ in gold],
        gold,
        [np.array([len(set(y) ^ set(g)) for y in outputs], dtype=float) for g in gold],
        matrices,
    )


def closed_sets(parents: dict[int, int | None]) -> list[Parts]:
    """All sets of nodes that hold, with a node, its parent."""
    subsets = ([v for v in sorted(parents) if bits >> v & 1] for bits in range(1 << len(parents)))
    return [tuple(y) for y in subsets if all(parents[v] is None or parents[v] in y for v in y)]


# ---- grammars -------------------------------------------------------------------------------------------------------


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
    to_structure = {"left": np.concatenate(flags)} if prune else {}
    bound = bind_examples(
        structure, SparseFeatures(bits), rows.given, gold, outputs=rules, costs=Hamming(), to_structure=to_structure
    )
    outputs, golds, costs = [], [], []
    for tree, number, flag in zip(gold, numbers, flags, strict=True):
        left = {cell for cell, kept in zip(number.cells, flag, strict=True) if kept}
        left |= {(node.begin, node.end) for node in rules.derive(tree)}
        ys = derivations(number, rules.sentence_numbers(tree.words, tree.tags), left=left if prune else None)
        one = bind_examples(structure, SparseFeatures(), [[[]] * number.count], [tree], outputs=rules)
        right = tuple(sorted(one.problem.gold(0).tolist()))
        outputs.append(Outputs(number.count, ys))
        golds.append(right)
        costs.append(np.array([wrong_constituents(number, right, y) for y in ys], dtype=float))
    return Case(bound.problem, outputs, golds, costs, rows.matrices())


def labelled_spans(number: PartNumbers, y: Parts) -> Counter[tuple[str, int]]:
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
    return sum((labelled_spans(number, y) - labelled_spans(number, gold)).values())


# ---- hypergraphs ----------------------------------------------------------------------------------------------------


def bracketings(rng: np.random.Generator, words: int, symbols: int) -> tuple[Graph, int]:
    """Binary trees over a few words with symbols on their nodes; some rules are missing. One part a rule."""
    edges: list[tuple[int, Parts, Parts]] = []
    node: dict[tuple[int, int, int], int] = {}
    parts = 0
    for width in range(1, words + 1):
        for i in range(words - width + 1):
            for s in range(symbols):
                v = node[i, i + width, s] = len(node)
                if width == 1:
                    edges.append((v, (), (parts,) if rng.random() < 0.8 else ()))  # or a rule without any part
                    parts += 1
                for k in range(i + 1, i + width):
                    for a, b in np.ndindex(symbols, symbols):
                        if rng.random() < 0.7 or (a, b) == (0, 0):
                            edges.append((v, (node[i, k, a], node[k, i + width, b]), (parts,)))
                            parts += 1
    root = len(node)
    for s in range(symbols):
        edges.append((root, (node[0, words, s],), (parts,)))
        parts += 1
    return Graph(root + 1, edges), parts


def core_graph(graph: Graph) -> _core.Hypergraph:
    """The core's hypergraph of the same nodes and edges."""

    def begin(lists: list[Parts]) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum([len(x) for x in lists])]).astype(np.int64)

    def flat(lists: list[Parts]) -> NDArray[np.int32]:
        return np.array([k for x in lists for k in x], dtype=np.int32)

    heads = np.array([head for head, _, _ in graph.edges], dtype=np.int32)
    tails = [tails for _, tails, _ in graph.edges]
    parts = [parts for _, _, parts in graph.edges]
    return _core.Hypergraph(graph.nodes, heads, begin(tails), flat(tails), begin(parts), flat(parts))


def part_rows(rng: np.random.Generator, counts: list[int], dim: int) -> tuple[_core.Tokens, list[Array]]:
    """A random sparse vector for every part, as the core's rows and as matrices."""
    matrices = [rng.integers(-4, 5, (n, dim)) / 2.0 * (rng.random((n, dim)) < 0.5) for n in counts]
    rows = np.concatenate(matrices)
    lists = [np.flatnonzero(row) for row in rows]
    index = np.concatenate(lists)
    where = np.repeat(np.arange(len(rows)), [len(x) for x in lists])
    return (
        _core.Tokens(
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.concatenate([[0], np.cumsum([len(x) for x in lists])]).astype(np.int64),
            index.astype(np.int32),
            rows[where, index],
        ),
        matrices,
    )


@register("hypergraph")
def hypergraph(rng: np.random.Generator, cost: str, size: int) -> Case:
    graphs, outputs, gold, deltas, c0, costs = [], [], [], [], [], []
    for _ in range(size):
        graph, parts = bracketings(rng, int(rng.integers(1, 4)), int(rng.integers(1, 3)))
        ys = graph.derivations()
        y = ys[rng.integers(len(ys))]
        delta = np.zeros(parts)  # the price of every gold part that is missed
        delta[list(y)] = -rng.integers(1, 4, len(y)).astype(float)
        graphs.append(core_graph(graph))
        outputs.append(Outputs(parts, ys))
        gold.append(y)
        deltas.append(delta)
        c0.append(-delta.sum())
        costs.append(np.array([-delta[[k for k in y if k not in other]].sum() for other in ys]))
    counts = [len(delta) for delta in deltas]
    rows, matrices = part_rows(rng, counts, 5)
    structure = _core.hypergraphs(
        graphs,
        np.array(counts, dtype=np.int64),
        [np.array(y, dtype=np.int32) for y in gold],
        deltas,
        np.array(c0),
    )
    features = _core.sparse_parts(5, rows, np.ones(size, dtype=np.int64))
    return Case(_core.join(structure, features), outputs, gold, costs, matrices)


# ---- alignments -----------------------------------------------------------------------------------------------------


def distinct_letters(rng: np.random.Generator, letters: int, length: int) -> list[int]:
    """Without repeats, so that tied parts of different alignments are different."""
    return [int(a) for a in rng.permutation(letters)[:length]]


@register("alignment, global, tied", mode="global", tied=True)
@register("alignment, local, tied", mode="local", tied=True)
@register("alignment, semi-global, tied", mode="semi-global", tied=True)
@register("alignment, global, tied, linear", mode="global", tied=True, gaps="linear")
@register("alignment, local, tied, linear", mode="local", tied=True, gaps="linear")
@register("alignment, semi-global, tied, linear", mode="semi-global", tied=True, gaps="linear")
@register("alignment, global", mode="global")
@register("alignment, local", mode="local")
@register("alignment, semi-global", mode="semi-global")
@register("alignment, global, linear", mode="global", gaps="linear")
@register("alignment, local, linear", mode="local", gaps="linear")
@register("alignment, semi-global, linear", mode="semi-global", gaps="linear")
@register("alignment, edges", edges=True)
def alignment(
    rng: np.random.Generator,
    cost: str,
    size: int,
    *,
    mode: str = "global",
    gaps: str = "affine",
    tied: bool = False,
    edges: bool = False,
) -> Case:
    letters = 4
    longest = 3 if tied or edges else 4  # tests of the structure itself go up to 5
    outputs, gold, costs, golds, xs, ys = [], [], [], [], [], []
    for k in range(size):
        n, m = (1, 1) if k == 0 else (int(a) for a in rng.integers(1, longest + 1, 2))
        x, y = distinct_letters(rng, letters, n), distinct_letters(rng, letters, m)
        every = list(alignments(n, m))
        right = every[rng.integers(len(every))]
        parts = AlignmentParts(x, y, mode, gaps == "affine", tied, letters)
        bags = [edge_parts(n, m, each) if edges else parts.of(each) for each in every]
        outputs.append(Outputs(10 * n * m + 1 if edges else len(parts.number), bags))
        gold.append(bags[every.index(right)])
        golds.append(right)
        wrong = [float(len(set(each) ^ set(right))) for each in every]
        costs.append(np.array(wrong) if not tied else np.zeros(len(every)))
        xs.append(x)
        ys.append(y)
    structure = Alignment(mode, gaps, tied, edges, letters)
    bound = structure.bind(
        structure.learn(golds),
        np.zeros(0, dtype=np.int64),
        golds,
        costs=Hamming(),
        x=Letters.of(xs),
        y=Letters.of(ys),
    )
    rows, matrices = part_rows(rng, [each.n for each in outputs], 5)
    features = _core.sparse_parts(5, rows, bound.choices, bound.repeats)
    return Case(_core.join(bound, features), outputs, gold, costs, matrices)


@register("homology, local", mode="local")
@register("homology, global, affine", mode="global", gaps="affine")
def homology(rng: np.random.Generator, cost: str, size: int, *, mode: str, gaps: str = "linear") -> Case:
    letters = 4
    outputs, gold, costs, golds, xs, candidates, first = [], [], [], [], [], [], [0]
    for _ in range(size):
        x = distinct_letters(rng, letters, int(rng.integers(1, 4)))
        own = [distinct_letters(rng, letters, int(rng.integers(1, 4))) for _ in range(rng.integers(1, 4))]
        good = int(rng.integers(len(own)))
        shared, bags = 0, []
        for k, y in enumerate(own):
            parts = AlignmentParts(x, y, mode, gaps == "affine", True, letters, begins=False)
            shared = len(parts.number)
            every = list(alignments(len(x), len(y)))
            if k == good:
                every = [every[rng.integers(len(every))]]
                golds.append((good, every[0]))
                gold.append(tuple(sorted([*parts.of(every[0]), shared + k])))
            bags += [tuple(sorted([*parts.of(each), shared + k])) for each in every]
        outputs.append(Outputs(shared + len(own), bags))
        costs.append(np.array([float(shared + good not in bag) for bag in bags]))
        xs.append(x)
        candidates += own
        first.append(len(candidates))
    structure = Homology(mode, gaps, letters)
    bound = structure.bind(
        NoOutputs(),
        np.zeros(0, dtype=np.int64),
        golds,
        x=Letters.of(xs),
        candidates=Letters.of(candidates),
        first=np.array(first, dtype=np.int64),
    )
    rows, matrices = part_rows(rng, [each.n for each in outputs], 5)
    features = _core.sparse_parts(5, rows, bound.choices, bound.repeats)
    return Case(_core.join(bound, features), outputs, gold, costs, matrices)


# ---- a structure written in Python ----------------------------------------------------------------------------------


class Gaps(_core.Problem):
    """Which items of a row to choose, never two neighbours: parts are the items, and choosing none is an output too."""

    def __init__(self, matrices: list[Array], gold: list[Parts]) -> None:
        super().__init__(len(matrices), matrices[0].shape[1])
        self.matrices = matrices
        self.gold_parts = gold
        self.every = [list(self.choices(len(a))) for a in matrices]

    @staticmethod
    def choices(n: int) -> list[Parts]:
        subsets = (tuple(k for k in range(n) if bits >> k & 1) for bits in range(1 << n))
        return [y for y in subsets if all(b - a > 1 for a, b in pairwise(y))]

    def values(self, i: int, theta: Array) -> Array:
        return np.array([theta[list(y)].sum() for y in self.every[i]])

    def parts(self, i: int) -> int:
        return len(self.matrices[i])

    def score(self, i: int, w: Array) -> Array:
        return self.matrices[i] @ w

    def row(self, i: int, v: Array) -> tuple[NDArray[np.int64], Array]:
        values = self.matrices[i].T @ v
        index = np.flatnonzero(values)
        return index, values[index]

    def radius(self, i: int) -> float:
        return float(np.linalg.norm(self.matrices[i], axis=1).sum())

    def gold(self, i: int) -> NDArray[np.int32]:
        return np.array(self.gold_parts[i], dtype=np.int32)

    def cost(self, i: int) -> tuple[Array, float]:
        delta = np.ones(self.parts(i))
        delta[list(self.gold_parts[i])] = -1.0
        return delta, float(len(self.gold_parts[i]))

    def argmax(self, i: int, theta: Array) -> tuple[float, NDArray[np.int32]]:
        values = self.values(i, theta)
        best = int(np.argmax(values))
        return float(values[best]), np.array(self.every[i][best], dtype=np.int32)

    def logsum(self, i: int, theta: Array) -> tuple[float, Array]:
        values = self.values(i, theta)
        top = values.max()
        p = np.exp(values - top)
        mu = np.zeros(self.parts(i))
        for y, share in zip(self.every[i], p / p.sum(), strict=True):
            mu[list(y)] += share
        return float(top + np.log(p.sum())), mu

    def kbest(self, i: int, theta: Array, k: int) -> list[tuple[float, NDArray[np.int32]]]:
        values = self.values(i, theta)
        order = [j for j in np.argsort(-values, kind="stable")[:k] if values[j] > -np.inf]
        return [(float(values[j]), np.array(self.every[i][j], dtype=np.int32)) for j in order]

    def argmax_by_cost(self, i: int, theta: Array, delta: Array) -> list[tuple[int, float, NDArray[np.int32]]]:
        found: dict[int, tuple[int, float, NDArray[np.int32]]] = {}
        for value, y in zip(self.values(i, theta), self.every[i], strict=True):
            cost = int(delta[list(y)].sum())
            if value > found.get(cost, (0, -np.inf))[1]:
                found[cost] = (cost, float(value), np.array(y, dtype=np.int32))
        return [found[cost] for cost in sorted(found)]

    def sample(self, i: int, theta: Array, seed: int) -> NDArray[np.int32]:
        values = self.values(i, theta)
        p = np.exp(values - values.max())
        return np.array(self.every[i][np.random.default_rng(seed).choice(len(p), p=p / p.sum())], dtype=np.int32)


@register("written in Python")
def gaps(rng: np.random.Generator, cost: str, size: int) -> Case:
    matrices = [rng.integers(-4, 5, (int(rng.integers(1, 6)), 4)) / 2.0 for _ in range(size)]
    every = [Gaps.choices(len(a)) for a in matrices]
    gold = [ys[rng.integers(len(ys))] for ys in every]
    return Case(
        Gaps(matrices, gold),
        [Outputs(len(a), ys) for a, ys in zip(matrices, every, strict=True)],
        gold,
        [np.array([float(len(set(g) ^ set(y))) for y in ys]) for g, ys in zip(gold, every, strict=True)],
        matrices,
    )


@register("slice of a chain", of="chain")
@register("slice of a tree", of="tree, single root")
@register("slice of candidates", of="candidates")
@register("slice of one written in Python", of="written in Python")
def sliced(rng: np.random.Generator, cost: str, size: int, *, of: str) -> Case:
    whole = next(kind for kind in KINDS if kind.name == of).make(rng, cost, size + 3)
    begin, end = 2, size + 2
    return Case(
        whole.problem.slice(begin, end),
        whole.outputs[begin:end],
        whole.gold[begin:end],
        whole.costs[begin:end],
        whole.matrices[begin:end],
        None if whole.others is None else whole.others[begin:end],
    )
