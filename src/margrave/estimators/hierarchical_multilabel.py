"""Several classes per example from a hierarchy; an example with a class also has all its ancestors."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from margrave.errors import MargraveError
from margrave.estimators.base import Given
from margrave.estimators.matrix_examples import MatrixExamples, has_names
from margrave.features.base import Features
from margrave.labels import Taxonomy
from margrave.learners import Learner
from margrave.losses import LossFamily
from margrave.maps import FeatureTable, Kernel, NodeMap, table_named
from margrave.structures import NodeSets
from margrave.structures.node_sets import closed_sets


class HierarchicalMultiLabelClassifier(MatrixExamples):
    """Predicts sets of nodes of one or more trees that contain the parent of each of their nodes.

    X is a dense or sparse matrix, or a list of attribute lists or dictionaries. Y is a list of sets of nodes, to which
    all ancestors are added, or an indicator matrix with one column per node in sorted order. The cost is the number of
    missing and superfluous nodes.

    Parameters
    ----------
    loss : a loss by name or an object of `margrave.losses`; its cost is "hamming" or "zero-one".
    taxonomy : a `Taxonomy`, the parents of its nodes, the separator of node names such as a.b.c, or None for labels
        that are unrelated.
    intercept : give each node a weight that does not depend on attributes, regularised like all others.
    weights : which pairs of attribute and class have a weight: "all", "observed", or "hash:BITS" for hashed attributes.
    kernel : a `Kernel` between examples instead of weights of attributes.
    features : how raw examples become attributes, such as `margrave.features.TfIdf` for texts; None if X has them.
    C, learner, max_iter, tol, n_jobs, random_state, verbose : as in `SequenceTagger`.

    Attributes
    ----------
    classes_ : the nodes, sorted.
    taxonomy_ : the taxonomy of the nodes.
    coef_, intercept_ : (nodes, attributes), or one number per observed pair; and one number per node.

    >>> model = HierarchicalMultiLabelClassifier(taxonomy=".", C=10.0)
    >>> model.fit([["purr"], ["bark"], []], [["pet.cat"], ["pet.dog"], []]).predict([["bark"], []])
    [['pet', 'pet.dog'], []]
    """

    classes_: NDArray[Any]
    intercept_: NDArray[np.float64]  # one number per node; zero without intercept

    def __init__(
        self,
        loss: str | LossFamily = "hinge",
        *,
        taxonomy: Taxonomy | Mapping[Any, Any] | Sequence[Any] | str | None = None,
        intercept: bool = True,
        C: float = 1.0,
        learner: str | Learner = "auto",
        weights: str | FeatureTable = "all",
        kernel: Kernel | None = None,
        features: Features | None = None,
        max_iter: int | None = None,
        tol: float = 1e-4,
        n_jobs: int | None = None,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.loss = loss
        self.taxonomy = taxonomy
        self.intercept = intercept
        self.C = C
        self.learner = learner
        self.weights = weights
        self.kernel = kernel
        self.features = features
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def taxonomy_(self) -> Taxonomy:
        """The taxonomy of the nodes."""
        self._check_fitted()
        taxonomy: Taxonomy = self.outputs_.taxonomy
        return taxonomy

    def _structure(self, given: Given) -> NodeSets:
        return NodeSets(self.taxonomy)

    def _map(self, outputs: Any) -> NodeMap:
        return NodeMap(table_named(self.weights, self.kernel), self.intercept)

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        """The micro-averaged F1 of the nodes of all examples; 1 if there are no nodes and none are predicted."""
        names = outputs.classes.tolist()
        gold = closed_sets(Y, outputs)
        if len(gold) != len(predicted):
            raise MargraveError(f"there are {len(predicted)} examples in X and {len(gold)} in Y.")
        right = sum(len({names[k] for k in a} & set(b)) for a, b in zip(gold, predicted, strict=True))
        both = sum(map(len, gold)) + sum(map(len, predicted))
        return 2 * right / both if both else 1.0

    def _checked(self, given: Given, sample_weight: Any) -> tuple[Given, Any]:
        if self.features is not None or has_names(given.X):
            return given, sample_weight
        rows = check_array(given.X, accept_sparse="csr", dtype=np.float64, estimator=self)
        return replace(given, X=rows, original=given.X), sample_weight

    def _set_weights(self, w: NDArray[np.float64]) -> None:
        super()._set_weights(w)
        size = self.map_.table.size
        self.intercept_ = w[size:] if self.map_.intercept else np.zeros(len(self.outputs_.classes))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
