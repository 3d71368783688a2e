"""Classes, label sequences, output features and lists of candidates."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from margrave.losses import LossFamily
from margrave.maps import FeatureTable, SparseMap
from margrave.structures import (
    CandidateLists,
    Chain,
    Multiclass,
)
from margrave.testing.enumeration import Array, Outputs
from tests.references.enumeration import ChainParts, TableByDefinition, hash_of, multiclass_outputs, values_of
from tests.references.problems import bind
from tests.registry.cases import LABEL_COSTS, Case, register


def label_loss(rng: np.random.Generator, cost: str, classes: list[str]) -> tuple[LossFamily | None, Array]:
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
    loss, price = label_loss(rng, cost, classes)
    x = np.concatenate(rows.given) if form == "vectors" else [tokens[0] for tokens in rows.given]
    problem = bind(Multiclass(), x, gold, feature_map=FeatureTable(pairs), classes=classes, loss=loss)
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
@register("chain, order 0", LABEL_COSTS, order=0)
@register("chain, order 0, untied, start and stop", order=0, tied=False, start=True, stop=True)
@register("chain, order 0, allowed", LABEL_COSTS, order=0, allow=True, form="real")
@register("chain, order 0, vectors, all pairs", order=0, form="vectors", pairs="all")
@register("chain, order 0, hashed", order=0, bits=3, labels=3)
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
    longest = {0: 4, 1: 4, 2: 4, 3: 5}[order]
    labels = labels or int(rng.integers(2, 4 if order < 3 else 3))
    lengths = [1, longest, *(int(n) for n in rng.integers(1, longest + 1, max(0, size - 2)))][:size]
    forbidden = random_forbidden(rng, labels) if forbid else frozenset()
    parts = ChainParts(labels, order, tied and not edges and order > 0, forbidden)
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
    loss, price = label_loss(rng, cost, classes)
    structure = Chain(order=order, forbidden=[(classes[a], classes[b]) for a, b in sorted(forbidden)], tied=tied)
    problem = bind(
        structure,
        rows.given,
        np.array([label for y in gold for label in y], dtype=np.int32),
        feature_map=FeatureTable("all" if bits else pairs, bits),
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
    loss, price = label_loss(rng, cost, classes)
    problem = bind(
        Multiclass(),
        [tokens[0] for tokens in rows.given],
        gold,
        feature_map=FeatureTable(pairs),
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
        feature_map=SparseMap(bits, "candidate"),
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
