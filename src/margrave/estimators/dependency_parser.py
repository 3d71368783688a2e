"""Dependency trees for sentences: the arc-factored parsers of 001, section 4, and 002, section 7.2."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.estimators.base import Given, StructuredEstimator
from margrave.features import SparseFeatures, features_named
from margrave.inputs import ArcTemplates, Inputs
from margrave.learners import Learner
from margrave.losses import LossFamily
from margrave.structures import NonProjectiveTree


class DependencyParser(StructuredEstimator):
    """Predicts the head of every word; minimises 1/2 |w|^2 + C sum_i L_i(w) over non-projective trees.

    A sentence of X has one row of columns per word, such as its form and its tag. y has the head of every word: 0 for
    the root, otherwise the number of a word, counted from 1. The score of an arc from head to word is the sum of the
    weights of its attributes, and the score of a tree is the sum over its arcs.

    Parameters
    ----------
    loss : "log", "hinge", "softmax-margin", "perceptron", or an object of `margrave.losses`; the cost of a tree is its
        number of wrong heads.
    inputs : how sentences become attributes of arcs: `margrave.inputs.ArcTemplates`, "default" for its built-in
        templates, or None if X already has the attributes of the n * n arcs of each sentence of n words, word by word
        and head by head.
    single_root : whether the root must have exactly one child.
    features : "all", or "hash:BITS" for hashed attributes.
    C, learner, max_iter, tol, n_threads, seed, verbose : as in `SequenceTagger`.

    Attributes
    ----------
    coef_ : one weight per attribute.

    >>> X = [[("dogs", "NOUN"), ("bark", "VERB")], [("cats", "NOUN"), ("sleep", "VERB"), ("well", "ADV")]]
    >>> parser = DependencyParser().fit(X, [[2, 0], [2, 0, 2]])
    >>> parser.predict([[("dogs", "NOUN"), ("sleep", "VERB")]])
    [[2, 0]]
    """

    def __init__(
        self,
        loss: str | LossFamily = "log",
        *,
        C: float = 1.0,
        learner: str | Learner = "auto",
        features: str = "all",
        inputs: Inputs | str | None = "default",
        single_root: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-4,
        n_threads: int | None = None,
        seed: int = 0,
        verbose: bool = False,
    ) -> None:
        self.loss = loss
        self.C = C
        self.learner = learner
        self.features = features
        self.inputs = inputs
        self.single_root = single_root
        self.max_iter = max_iter
        self.tol = tol
        self.n_threads = n_threads
        self.seed = seed
        self.verbose = verbose

    def predict_proba(self, X: Any) -> list[NDArray[np.float64]]:
        """Compute the probability of every head of every word: one (words, words + 1) array per sentence, root first.

        Parameters
        ----------
        X : as in `fit`.
        """
        probabilities: list[NDArray[np.float64]] = self._predict_marginals(Given(X))
        return probabilities

    def _structure(self, given: Given) -> NonProjectiveTree:
        return NonProjectiveTree(self.single_root)

    def _features(self, outputs: Any) -> SparseFeatures:
        return SparseFeatures(features_named(self.features).hash_bits, "arc")

    def _default_inputs(self) -> Inputs:
        return ArcTemplates()

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        """The fraction of words with the right head (unlabelled attachment score)."""
        from margrave.metrics import attachment_scores

        return attachment_scores(Y, predicted).uas
