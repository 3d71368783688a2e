"""Tags for the tokens of sequences: conditional random fields, structural SVMs, perceptrons."""

from collections.abc import Callable
from typing import Any

from margrave.data.tags import alternatives_of
from margrave.errors import MargraveError
from margrave.estimators.base import StructuredEstimator, Training
from margrave.estimators.model import Weights
from margrave.estimators.models.sequence_tagger import TaggerModel
from margrave.estimators.models.sequences import as_lists, check_any, not_empty, numbered, without_empty
from margrave.examples import Examples
from margrave.losses import LossFamily
from margrave.maps import ChainMap, table_named


class TokenTagger(StructuredEstimator, saved_as=""):
    """What taggers share."""

    starts: int

    def _training(self, examples: Examples, loss: LossFamily) -> Training:
        examples = as_lists(examples)
        kept = not_empty(examples)
        if kept is None:
            return super()._training(examples, loss)
        check_any(kept)
        with numbered(kept):
            return super()._training(without_empty(examples, kept), loss)

    def _dev_score(self, examples: Examples, training: Training) -> Callable[[Weights], float]:
        examples = as_lists(examples)
        kept = not_empty(examples)
        if kept is None:
            return super()._dev_score(examples, training)
        with numbered(kept):
            return super()._dev_score(without_empty(examples, kept), training)

    def _n_starts(self, loss: LossFamily) -> int:
        return self.starts if loss.latent else 1


class SequenceTagger(TaggerModel, TokenTagger):
    """Predicts a label for every token of a sequence; minimizes 1/2 |w|^2 + C sum_i L_i(w).

    A token is a list of feature strings, or a dictionary from names to numbers (or strings), or, for whole sequences
    at once, a row of a two-dimensional array. With `features`, it is a row of columns. y has a list of labels for each
    sequence.

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

    def _map(self, outputs: Any) -> ChainMap:
        table = table_named(self.weights, self.kernel)
        return ChainMap(table, self.start, self.stop, self.transition_scale)

    def _prepared(self, examples: Examples) -> tuple[Examples, dict[str, Any]]:
        if hasattr(examples.Y, "__iter__") and any(map(alternatives_of, examples.Y)):
            raise MargraveError("alternatives to spans need segments: use SegmentTagger.")
        return examples, {}
