"""Sets of labels in which pairs of labels have scores: multi-label classification with a label graph."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import is_list
from margrave.data.classes import distinct_labels, is_label
from margrave.data.factors import Factor, Factors
from margrave.errors import MargraveError, quoted, unknown
from margrave.examples import Examples
from margrave.losses.costs import Cost, Hamming, ZeroOne
from margrave.structures.base import Bound, Labels, Outputs, Structure
from margrave.structures.factor_graph import FactorGraph
from margrave.structures.node_sets import read_sets

GRAPHS = ("independent", "tree", "full")


@dataclass(frozen=True, eq=False)
class LabelCounts(Outputs):
    """The labels, and how often they and their pairs occur; label graphs are made from these counts.

    >>> LabelCounts.of([["a"], ["a", "b"]]).counts
    [[2, 1], [1, 1]]
    """

    name = "label-counts"

    labels: Sequence[str | int]  # sorted
    counts: Sequence[Sequence[float]]  # (labels, labels): in how many examples both occur
    examples: float

    @property
    def classes(self) -> NDArray[Any]:
        """The labels."""
        return distinct_labels(self.labels)

    @classmethod
    def of(cls, sets: Sequence[Any], more: Sequence[Any] = (), weights: NDArray[np.float64] | None = None) -> Self:
        """The counts of these sets, or the sums of their weights; there may be more labels than occur."""
        labels = distinct_labels({*more, *(label for each in sets for label in each)}).tolist()
        number = {label: k for k, label in enumerate(labels)}
        here = np.zeros((len(sets), len(labels)), dtype=np.int64)
        for i, each in enumerate(sets):
            here[i, [number[label] for label in each]] = 1
        if weights is None:
            return cls(labels, (here.T @ here).tolist(), len(sets))
        return cls(labels, (here.T @ (here * weights[:, None])).tolist(), float(weights.sum()))

    def merge(self, other: Self) -> Self:
        """The labels and the counts of both."""
        labels = distinct_labels([*self.labels, *other.labels]).tolist()
        kind = np.result_type(np.int64, *(np.asarray(part.counts) for part in (self, other) if part.labels))
        total = np.zeros((len(labels), len(labels)), dtype=kind)  # sums of weights are no whole numbers
        for part in (self, other):
            places = [labels.index(label) for label in part.labels]
            if places:
                total[np.ix_(places, places)] += np.asarray(part.counts)
        return type(self)(labels, total.tolist(), self.examples + other.examples)

    def check(self) -> None:
        """Refuse data without labels; a single one is a problem with two outputs."""
        if len(self.labels) == 0:
            raise MargraveError("there are no labels.")

    def tree(self) -> list[tuple[int, int]]:
        """The tree of labels with the highest mutual information (Chow and Liu 1968); independent labels are apart."""
        counts, n = np.asarray(self.counts, dtype=float), float(self.examples)
        ones, labels = np.diag(counts), len(self.labels)

        def information(a: int, b: int) -> float:
            both = counts[a, b]
            joint = np.array([[n - ones[a] - ones[b] + both, ones[b] - both], [ones[a] - both, both]]) / n
            apart = np.outer(joint.sum(axis=1), joint.sum(axis=0))
            seen = joint > 0
            return float((joint[seen] * np.log(joint[seen] / apart[seen])).sum())

        group = list(range(labels))
        edges = []
        for value, a, b in sorted(((information(a, b), a, b) for a, b in combinations(range(labels), 2)), reverse=True):
            if value > 1e-12 and group[a] != group[b]:
                edges.append((a, b))
                group = [group[a] if each == group[b] else each for each in group]
        return sorted(edges)


@dataclass
class LabelGraph(Structure[LabelCounts, _core.FactorGraphStructure]):
    """Sets of labels. There is a part for each label and, for each pair that is an edge of the label graph, four parts.

    Parameters
    ----------
    graph : "independent", no pairs; "tree", the tree of labels that explains the training data best (Chow and Liu);
        "full", all pairs; or a list of pairs of labels.
    inference, memory : as in `FactorGraph`.
    """

    name = "label-graph"
    costs = (Hamming, ZeroOne)

    graph: Any = "tree"
    inference: str = "exact"
    memory: float = 1024.0

    def __post_init__(self) -> None:
        if isinstance(self.graph, str) and self.graph not in GRAPHS:
            raise unknown("label graph", self.graph, GRAPHS)
        if not isinstance(self.graph, str | set | frozenset) and not is_list(self.graph):
            raise MargraveError(f"a label graph must be a name or a list of pairs of labels, not {quoted(self.graph)}.")
        FactorGraph(None, self.inference, self.memory)  # which checks them

    def learn(self, Y: Any) -> LabelCounts:
        """The labels and how often pairs of them occur."""
        labels, sets = read_sets(Y)
        if not sets:
            raise MargraveError("there are no examples to learn from.")
        return LabelCounts.of(sets, labels)

    def learn_weighted(self, Y: Any, weights: NDArray[np.float64]) -> LabelCounts:
        """The same with the weights of the examples, whose sums replace counts."""
        labels, sets = read_sets(Y)
        return LabelCounts.of(sets, labels, weights)

    def edges(self, outputs: LabelCounts) -> list[tuple[int, int]]:
        """The edges of the label graph, as numbers of labels."""
        if isinstance(self.graph, str):
            if self.graph == "independent":
                return []
            if self.graph == "tree":
                return outputs.tree()
            return list(combinations(range(len(outputs.labels)), 2))
        number = {label: k for k, label in enumerate(outputs.labels)}
        edges: list[tuple[int, int]] = []
        for pair in self.graph:
            if not is_list(pair) or len(pair) != 2:
                raise MargraveError(f"the edges of a label graph are pairs of labels, and one is {quoted(pair)}.")
            for label in pair:
                if not is_label(label) or label not in number:
                    raise unknown("label in the label graph", label, map(str, outputs.labels))
            a, b = sorted(number[label] for label in pair)
            if a == b:
                raise MargraveError(f"the label graph has a self-loop at {quoted(pair[0])}.")
            if (a, b) in edges:
                raise MargraveError(f"the label graph has the pair of {quoted(pair[0])} and {quoted(pair[1])} twice.")
            edges.append((a, b))
        return edges

    def bind(self, outputs: LabelCounts, examples: Examples, costs: Cost | None = None) -> _core.FactorGraphStructure:
        """Make the core's structure for these examples, each of which has one row of features."""
        if costs is not None:
            self.check_cost(costs)
            if getattr(costs, "weights", None) is not None:
                raise MargraveError("the cost of a set of labels has no label weights.")
        n = len(outputs.labels)
        soft = [*(Factor((v,), [(1,)], "zero") for v in range(n)), *self.edges(outputs)]
        inner = FactorGraph(None, self.inference, self.memory)
        graph = Factors(n, soft)
        labelings = None if examples.Y is None else self._labelings(outputs, examples.Y)
        cost = None if costs is None else Hamming()
        graphs = replace(examples, X=[graph] * len(examples), Y=labelings)
        return inner.bind(Labels(np.array([0, 1])), graphs, cost)

    def _labelings(self, outputs: LabelCounts, Y: Any) -> list[list[int]]:
        number = {label: k for k, label in enumerate(outputs.labels)}
        found = []
        for i, labels in enumerate(read_sets(Y)[1]):
            row = [0] * len(number)
            for label in labels:
                if label not in number:
                    raise MargraveError(f"example {i}: the label {quoted(label)} is not among the classes.")
                row[number[label]] = 1
            found.append(row)
        return found

    def decode(
        self,
        bound: Bound[LabelCounts, _core.FactorGraphStructure],
        begin: NDArray[np.int64],
        parts: NDArray[np.int32],
        owners: NDArray[np.int64] | None = None,
    ) -> list[list[Any]]:
        """The labels of every output, in sorted order."""
        names, labels = bound.outputs.labels, len(bound.outputs.labels)
        return [
            [names[k] for k in parts[first:last].tolist() if k < labels] for first, last in pairwise(begin.tolist())
        ]

    def present(
        self,
        bound: Bound[LabelCounts, _core.FactorGraphStructure],
        begin: NDArray[np.int64],
        mu: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """The probability of every label: (examples, labels)."""
        n = len(bound.outputs.labels)
        return np.stack([mu[first : first + n] for first in begin[:-1].tolist()] or [np.zeros(n)])[: len(begin) - 1]

    def part_names(self, outputs: LabelCounts) -> list[Any]:
        """The labels."""
        return list(outputs.labels)

    def tuples(self, outputs: LabelCounts) -> list[tuple[Any, Any]]:
        """The pairs of labels that are edges."""
        return [(outputs.labels[a], outputs.labels[b]) for a, b in self.edges(outputs)]

    def count_examples(self, X: Any, Y: Any, where: str = "Y") -> None:
        """Refuse different numbers of inputs and outputs."""
        super().count_examples(X, range(Y.shape[0] if hasattr(Y, "shape") else len(Y)), where)
