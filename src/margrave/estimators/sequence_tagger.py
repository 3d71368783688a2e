"""Tags for the tokens of sequences: conditional random fields, structural SVMs, perceptrons."""

from collections.abc import Sequence
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, whole
from margrave.data.tags import alternatives_of
from margrave.errors import MargraveError
from margrave.estimators.base import StructuredEstimator
from margrave.estimators.model import Given
from margrave.learners import Checkpoint
from margrave.losses import LossFamily
from margrave.maps import ChainMap, SegmentMap, table_named
from margrave.metrics import token_accuracy
from margrave.settings.sequence_tagger import TaggerSettings
from margrave.structures import Chain, SemiMarkov
from margrave.structures.chain import check_labels


class TokenTagger(StructuredEstimator):
    """What taggers share: one label per token, predicted one by one or by segments."""

    starts: int
    classes_: NDArray[Any]
    map_: ChainMap | SegmentMap

    def _structure(self, given: Given) -> Chain | SemiMarkov:
        raise MargraveError(f"{type(self).__name__} does not say which structure it has.")

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Sequence[Any]],
        sample_weight: Any = None,
        *,
        edges: Sequence[Any] | None = None,
        dev: tuple[Any, ...] | None = None,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
        observers: Sequence[Any] = (),
    ) -> Self:
        """Learn from sequences of tokens and their labels.

        Parameters
        ----------
        X : the sequences.
        y : a list of labels for each.
        sample_weight : one factor per sequence on its C.
        edges : attributes of the transition into each token, in the form of X; those of the first token are ignored.
        dev : development data (X, y), or (X, y, edges), by which sgd chooses its rate.
        checkpoint : a file for the state of the learner; after an interruption, the same call continues from it.
        observers : objects that are called after every pass (`margrave.learners.Observer`).
        """
        return self._fit(_given(X, y, edges), sample_weight, self._dev_given(dev), checkpoint, observers)

    def fit_path(
        self,
        X: Sequence[Any],
        y: Sequence[Sequence[Any]],
        Cs: Sequence[float],
        *,
        sample_weight: Any = None,
        edges: Sequence[Any] | None = None,
    ) -> list[Any]:
        """Fit one tagger per C, in the given order, each starting from the solution of the previous one.

        Ascending values of C are the fastest. Ctrl-C ends the path with the taggers so far.

        Parameters
        ----------
        X, y, sample_weight, edges : as in `fit`.
        Cs : the values of C.
        """
        return self._fit_path(_given(X, y, edges), Cs, sample_weight)

    def predict(
        self, X: Sequence[Any], *, edges: Sequence[Any] | None = None, allowed: Sequence[Any] | None = None
    ) -> list[list[Any]]:
        """Predict the best labels of every sequence.

        Parameters
        ----------
        X, edges : as in `fit`.
        allowed : for each position of each sequence, None or the labels that are allowed there.
        """
        labels: list[list[Any]] = self._predict(_given(X, None, edges, allowed))
        return labels

    def predict_numbers(
        self, X: Sequence[Any], *, edges: Sequence[Any] | None = None, allowed: Sequence[Any] | None = None
    ) -> NDArray[np.int32]:
        """Predict the best labels as indices in `classes_`: one array for the tokens of all sequences.

        Parameters
        ----------
        X, edges, allowed : as in `predict`.
        """
        given = _given(X, None, edges, allowed)
        bound = self._bind(given)
        parts = _core.argmax_all(bound.problem, self._weights(), self._threads())
        return self._structure(given).decode_numbers(bound.outputs, bound.units, bound.core, *parts)

    def predict_marginals(
        self, X: Sequence[Any], *, edges: Sequence[Any] | None = None, allowed: Sequence[Any] | None = None
    ) -> list[NDArray[np.float64]]:
        """Compute the probability of every label at every position: one (tokens, classes) array per sequence.

        The model is p(y) ~ exp(beta <theta, y>) with the loss's beta, or with 1 if that is infinite.

        Parameters
        ----------
        X, edges, allowed : as in `predict`.
        """
        marginals: list[NDArray[np.float64]] = self._predict_marginals(_given(X, None, edges, allowed))
        return marginals

    def predict_kbest(
        self, X: Any, k: int = 10, *, edges: Sequence[Any] | None = None, allowed: Sequence[Any] | None = None
    ) -> list[list[tuple[float, Any]]]:
        """Predict the k best label sequences of every sequence, best first, each with its score.

        Parameters
        ----------
        X, edges, allowed : as in `predict`.
        k : the number of label sequences.
        """
        return self._predict_kbest(_given(X, None, edges, allowed), k)

    def sample(
        self,
        X: Any,
        n: int = 1,
        random_state: int = 0,
        *,
        edges: Sequence[Any] | None = None,
        allowed: Sequence[Any] | None = None,
    ) -> list[list[Any]]:
        """Draw n label sequences from the model for every sequence.

        Parameters
        ----------
        X, edges, allowed : as in `predict`.
        n : the number of label sequences.
        random_state : the seed of the random numbers; the same seed draws the same label sequences.
        """
        return self._sample(_given(X, None, edges, allowed), n, random_state)

    def score(self, X: Sequence[Any], y: Sequence[Sequence[Any]], *, edges: Sequence[Any] | None = None) -> float:
        """Compute the fraction of tokens with the right label.

        Parameters
        ----------
        X, y, edges : as in `fit`.
        """
        check_labels(y)
        return self._score(y, self.predict(X, edges=edges), self.outputs_)

    def top_transitions(self, n: int = 10) -> list[tuple[tuple[Any, ...], float]]:
        """The n tuples of neighbouring labels with the largest absolute weights, with these weights.

        Parameters
        ----------
        n : the number of tuples.
        """
        self._check_fitted()
        tuples = self._structure(Given([])).tuples(self.outputs_)
        return self.map_.top_transitions(self.coef_, tuples, whole("n", n, 1, 2**31 - 1))

    def _n_starts(self, loss: LossFamily) -> int:
        return self.starts if loss.latent else 1

    def _raw(self, X: Any) -> Any:
        if not hasattr(X, "__len__"):
            raise MargraveError(f"X must be a sequence of examples, not {type(X).__name__}.")
        return X

    def _dev_given(self, dev: Any) -> Given | None:
        if dev is not None and (not isinstance(dev, tuple | list) or len(dev) not in (2, 3)):
            raise MargraveError("dev must be a pair (X, y), or (X, y, edges).")
        return None if dev is None else _given(*dev)

    def _no_examples(self, feature_map: ChainMap | SegmentMap) -> Given:
        return _given([], None, None if feature_map.edges is None else [])


class SequenceTagger(TaggerSettings, TokenTagger):
    """Predicts a label for every token of a sequence; minimizes 1/2 |w|^2 + C sum_i L_i(w).

    A token is a list of feature strings, or a dictionary from names to numbers (or strings), or, for whole sequences
    at once, a row of a two-dimensional array. With `features`, it is a row of columns.

    Attributes
    ----------
    classes_ : the labels, sorted.
    coef_ : the weights.
    history_, certificate_ : P, D and the gap after each pass, and for `coef_`.
    n_iter_, converged_, stop_reason_ : the number of iterations, and whether and why the learner stopped.

    >>> X = [[["the"], ["dog"], ["barks"]], [["the"], ["cat"], ["sleeps"]]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"]]
    >>> tagger = SequenceTagger(C=10.0).fit(X, y)
    >>> tagger.predict([[["the"], ["cat"], ["barks"]]])
    [['D', 'N', 'V']]
    >>> tagger.history_[-1].relative_gap <= tagger.tol
    True
    """

    map_: ChainMap

    def _structure(self, given: Given) -> Chain:
        return Chain(self.order, self.forbidden, flag("tied", self.tied) and "edges" not in given.to_map)

    def _map(self, outputs: Any) -> ChainMap:
        table = table_named(self.weights, self.kernel)
        return ChainMap(table, self.start, self.stop, self.transition_scale)

    def _checked(self, given: Given, sample_weight: Any) -> tuple[Given, Any]:
        if hasattr(given.Y, "__iter__") and any(map(alternatives_of, given.Y)):
            raise MargraveError("alternatives to spans need segments: use SegmentTagger.")
        return given, sample_weight

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        return float(token_accuracy([list(labels) for labels in Y], predicted))


def _given(X: Any, y: Any = None, edges: Any = None, allowed: Any = None) -> Given:
    to_map = {} if edges is None else {"edges": edges}
    return Given(X, y, to_map, {} if allowed is None else {"allowed": allowed})
