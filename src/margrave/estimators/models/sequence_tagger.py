"""Models that predict a tag for every token of a sequence."""

from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, has_length, whole
from margrave.errors import MargraveError, setting
from margrave.estimators.extras import LEARNING, PREDICTION, Extra
from margrave.estimators.model import StructuredModel
from margrave.estimators.models.sequences import around_empty, as_list, as_lists, not_empty, numbered, without_empty
from margrave.examples import Examples
from margrave.maps import ChainMap, SegmentMap
from margrave.metrics import token_accuracy
from margrave.settings.sequence_tagger import TaggerSettings
from margrave.structures import Chain, SemiMarkov
from margrave.structures.chain import check_labels

ALLOWED = Extra(
    "allowed",
    (*PREDICTION, "predict_numbers"),
    "for each position of each sequence, None or the labels that are allowed there.",
)
EDGES = Extra(
    "edges",
    (*LEARNING, *PREDICTION, "predict_numbers", "score"),
    "attributes of the transition into each token, in the form of X; those of the first token are ignored.",
)


class TokenModel(StructuredModel, saved_as=""):
    """What models of taggers share: one label per token, predicted one by one or by segments."""

    extras: ClassVar[tuple[Extra, ...]] = (ALLOWED,)

    classes_: NDArray[Any]
    map_: ChainMap | SegmentMap

    def _structure(self, examples: Examples) -> Chain | SemiMarkov:
        raise MargraveError(f"{type(self).__name__} does not say which structure it has.")

    def predict_numbers(self, X: Any, **extras: Any) -> NDArray[np.int32]:
        """Predict the best labels as indices in `classes_`: one array for the tokens of all sequences.

        Parameters
        ----------
        X : as in `fit`.
        """
        examples = as_lists(self._examples("predict_numbers", X, extras))
        kept = not_empty(examples)
        if kept is None:
            return self._numbers(examples)
        with numbered(kept):
            return self._numbers(without_empty(examples, kept))

    def _numbers(self, examples: Examples) -> NDArray[np.int32]:
        bound = self._bind(examples)
        parts = _core.argmax_all(bound.problem, self._weights(), self._threads())
        numbers: NDArray[np.int32] = self._structure(bound.examples).decode_numbers(bound, *parts)
        return numbers

    def _predict(self, examples: Examples) -> Any:
        return around_empty(examples, super()._predict, list)

    def _predict_marginals(self, examples: Examples) -> Any:
        self._check_fitted()
        return around_empty(examples, super()._predict_marginals, lambda: np.zeros((0, len(self.classes_))))

    def _predict_kbest(self, examples: Examples, k: int) -> list[list[tuple[float, Any]]]:
        return around_empty(examples, partial(super()._predict_kbest, k=k), lambda: [(0.0, [])])

    def _sample(self, examples: Examples, n: int, random_state: int) -> list[list[Any]]:
        draw = partial(super()._sample, n=n, random_state=random_state)
        return around_empty(examples, draw, lambda: [[] for _ in range(n)])

    def _log_probability(self, examples: Examples) -> NDArray[np.float64]:
        return np.array([*around_empty(examples, super()._log_probability, float)], dtype=np.float64)

    def top_transitions(self, n: int = 10) -> list[tuple[tuple[Any, ...], float]]:
        """The n tuples of neighboring labels with the largest absolute weights, with these weights.

        Parameters
        ----------
        n : the number of tuples.
        """
        self._check_fitted()
        tuples = self._structure(Examples([])).tuples(self.outputs_)
        return self.map_.top_transitions(self.coef_, tuples, whole("n", n, 1, 2**31 - 1))

    def _inputs(self, X: Any) -> Any:
        if not has_length(X):
            raise MargraveError(f"X must be a sequence of examples, not {type(X).__name__}.")
        return X

    def _outputs(self, Y: Any, X: Any) -> Any:
        Y = as_list(Y)
        check_labels(Y)
        return Y


class TaggerModel(TaggerSettings, TokenModel, saved_as="SequenceTagger"):
    """Predicts a label for every token of a sequence: what `load` makes of the file of a `SequenceTagger`."""

    extras = (EDGES, ALLOWED)

    map_: ChainMap

    def _structure(self, examples: Examples) -> Chain:
        if self.order == 0 and examples.extra("edges") is not None:
            raise MargraveError(
                "features of transitions need labels that depend on one another: ", setting(order=1), "."
            )
        return Chain(self.order, self.forbidden, flag("tied", self.tied) and examples.extra("edges") is None)

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        return float(token_accuracy([list(labels) for labels in Y], predicted))

    def _no_examples(self, feature_map: ChainMap) -> Examples:
        return Examples([], extras={} if feature_map.edges is None else {"edges": []})
