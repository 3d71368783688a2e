"""Several classes an example, from a hierarchy: with a class, everything above it."""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from margrave import _core
from margrave.checks import flag
from margrave.errors import MargraveError
from margrave.estimators.base import StructuredEstimator, check_classes
from margrave.estimators.structured_classifier import has_names
from margrave.estimators.taxonomy_classifier import taxonomy_from_file, taxonomy_to_file
from margrave.features.table import AttributeTable
from margrave.labels import Taxonomy
from margrave.labels.taxonomy import as_taxonomy
from margrave.learners import Learner
from margrave.losses import LossFamily
from margrave.structures import NodeSets


class HierarchicalMultiLabelClassifier(StructuredEstimator):
    """Predicts sets of the nodes of a tree (or of several) that hold, with a node, its parent.

    `taxonomy`: a `Taxonomy`, the parents of its nodes, the separator of node names such as a.b.c, or None for labels
    that know nothing of each other. X is a dense or sparse matrix, or a list of attribute lists or dictionaries; Y is a
    list of sets of nodes, to which what lies above is added, or an indicator matrix with a column for each node in
    sorted order. The cost counts the nodes that are missing or too many. `intercept`: a weight for each node whatever
    the attributes, regularised as all others. Other parameters are those of `StructuredClassifier`.

    >>> model = HierarchicalMultiLabelClassifier(taxonomy=".", C=10.0)
    >>> model.fit([["purr"], ["bark"], []], [["pet.cat"], ["pet.dog"], []]).predict([["bark"], []])
    [['pet', 'pet.dog'], []]
    """

    taxonomy_: Taxonomy
    intercept_: NDArray[np.float64]  # a number for each node; zero without intercept

    def __init__(
        self,
        loss: str | LossFamily = "hinge",
        *,
        taxonomy: Taxonomy | Mapping[Any, Any] | Sequence[Any] | str | None = None,
        intercept: bool = True,
        C: float = 1.0,
        learner: str | Learner = "auto",
        features: str | AttributeTable = "all",
        max_iter: int | None = None,
        tol: float = 1e-4,
        n_threads: int | None = None,
        seed: int = 0,
        verbose: bool = False,
    ) -> None:
        self.loss = loss
        self.taxonomy = taxonomy
        self.intercept = intercept
        self.C = C
        self.learner = learner
        self.features = features
        self.max_iter = max_iter
        self.tol = tol
        self.n_threads = n_threads
        self.seed = seed
        self.verbose = verbose

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Learns from examples and their sets of nodes; `sample_weight` is a factor on each example's C."""
        loss, features = self._settings()
        intercept = flag("intercept", self.intercept)
        taxonomy, sets = _read(Y, self.taxonomy)
        structure = NodeSets(taxonomy, intercept)
        classes = check_classes(taxonomy.nodes)
        gold = _numbers(sets, structure, classes.tolist())
        if not has_names(X):
            X = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        _check_length(X, sets)
        problem = structure.bind(X, gold, features=features, classes=classes.tolist(), loss=loss)
        w = self._solve(problem, loss, sample_weight)
        self.taxonomy_, self.classes_ = taxonomy, classes
        kept, w = features.compact(w)
        self._set_features(kept)
        self._set_weights(w)
        return self

    def predict(self, X: Any) -> list[list[Any]]:
        """The best closed set of nodes of every example, in sorted order."""
        begin, parts = _core.argmax_all(self._bind(X), self._flat, self._threads())
        names = self.classes_.tolist()
        return [[names[k] for k in parts[first:last]] for first, last in pairwise(begin.tolist())]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of every node: (examples, nodes), under the loss's beta (1 where that is infinite).

        The nodes above one half are a closed set too, the one of least expected cost; the best set may be another.
        """
        _, _, mu = _core.marginals_all(self._bind(X), self._flat, self._temperature(), self._threads())
        return mu.reshape(-1, len(self.classes_))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score of every node; that of a set is the sum over its nodes."""
        problem = self._bind(X)
        return np.array([problem.score(i, self._flat) for i in range(problem.size)]).reshape(-1, len(self.classes_))

    def score(self, X: Any, Y: Any) -> float:
        """F1 over the nodes of all examples together (micro-averaged); 1 if there are none and none are predicted."""
        predicted = self.predict(X)
        names = self.classes_.tolist()
        gold = _numbers(_read(Y, self.taxonomy_)[1], self._node_sets(), names)
        _check_length(predicted, gold)
        right = sum(len({names[k] for k in a} & set(b)) for a, b in zip(gold, predicted, strict=True))
        both = sum(map(len, gold)) + sum(map(len, predicted))
        return 2 * right / both if both else 1.0

    def _bind(self, X: Any) -> _core.Problem:
        self._check_fitted()
        if not has_names(X):
            X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return self._unlabelled(X)

    def _empty_problem(self) -> _core.Problem:
        return self._unlabelled([])

    def _unlabelled(self, X: Any) -> _core.Problem:
        return self._node_sets().bind(X, features=self.features_, classes=self.classes_.tolist())

    def _node_sets(self) -> NodeSets:
        return NodeSets(self.taxonomy_, flag("intercept", self.intercept))

    def _weights(self) -> NDArray[np.float64]:
        return self._flat

    def _set_weights(self, w: NDArray[np.float64]) -> None:
        """`coef_` is (nodes, attributes) where every pair has a weight, else one number a pair."""
        self._flat = w
        pairs = self.features_.token_pairs
        assert pairs is not None
        size = self.features_.token_weights
        self.coef_ = w[:size] if pairs.packed else w[:size].reshape(-1, pairs.labels).T
        self.intercept_ = w[size:] if self.intercept else np.zeros(pairs.labels)
        if self.features_.tokens.kind == "columns":
            self.n_features_in_ = self.features_.tokens.columns

    def _structure_settings(self) -> dict[str, Any]:
        return {"taxonomy": taxonomy_to_file(self.taxonomy_), "intercept": bool(self.intercept)}

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        header["structure"]["taxonomy"] = taxonomy_from_file(header["structure"]["taxonomy"])
        return super()._from_file(header, arrays)

    def _set_structure(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.taxonomy_ = as_taxonomy(self.taxonomy, [])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags


def _read(Y: Any, taxonomy: Any) -> tuple[Taxonomy, list[Collection[Any]]]:
    """The taxonomy, and the nodes that Y names of each example."""
    from scipy.sparse import csr_array, issparse

    if issparse(Y) or (isinstance(Y, np.ndarray) and Y.ndim == 2):
        if isinstance(taxonomy, str):
            raise MargraveError("an indicator matrix has no names to separate: pass the taxonomy itself.")
        rows = csr_array(Y)
        if not np.isin(rows.data, (0, 1)).all():
            raise MargraveError("an indicator matrix has zeros and ones only.")
        rows.eliminate_zeros()
        known = as_taxonomy(taxonomy, range(rows.shape[1]) if taxonomy is None else ())
        nodes = check_classes(known.nodes).tolist()
        if rows.shape[1] != len(nodes):
            raise MargraveError(f"an indicator matrix needs {len(nodes)} columns, one a node, not {rows.shape[1]}.")
        bounds = pairwise(rows.indptr.tolist())
        return known, [[nodes[k] for k in rows.indices[first:last]] for first, last in bounds]
    if isinstance(Y, str | bytes | Mapping) or not isinstance(Y, Collection):
        raise MargraveError(f"Y must be a list of sets of nodes or an indicator matrix, not {type(Y).__name__}.")
    for i, nodes in enumerate(Y):
        if isinstance(nodes, str | bytes | Mapping) or not isinstance(nodes, Collection):
            raise MargraveError(f"example {i}: its nodes must be a list or a set, not {type(nodes).__name__}.")
    names = dict.fromkeys(node for nodes in Y for node in nodes)
    return as_taxonomy(taxonomy, list(names) if taxonomy is None or isinstance(taxonomy, str) else ()), list(Y)


def _numbers(sets: list[Collection[Any]], structure: NodeSets, classes: list[Any]) -> list[set[int]]:
    """The sets with everything above their nodes, as numbers of classes."""
    number = {node: k for k, node in enumerate(classes)}
    closed = []
    for i, nodes in enumerate(sets):
        for node in nodes:
            if node not in number:
                raise MargraveError(f"example {i}: the taxonomy has no node {node!r}.")
        closed.append({number[node] for node in structure.close(nodes)})
    return closed


def _check_length(X: Any, Y: Sequence[Any]) -> None:
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if n != len(Y):
        raise MargraveError(f"there are {n} examples in X and {len(Y)} in Y.")
