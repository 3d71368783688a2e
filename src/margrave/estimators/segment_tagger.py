"""Tags for the tokens of sequences, predicted by whole segments: semi-Markov models."""

from collections.abc import Mapping
from typing import Any

from margrave import _core
from margrave.checks import flag
from margrave.data.tags import alternatives_of
from margrave.errors import MargraveError
from margrave.estimators.model import Given
from margrave.estimators.sequence_tagger import TokenTagger
from margrave.features.base import Features
from margrave.features.segments import SegmentTemplates
from margrave.losses import LossFamily
from margrave.maps import SegmentMap, table_named
from margrave.metrics import token_accuracy
from margrave.settings.sequence_tagger import SegmentSettings
from margrave.structures import SemiMarkov
from margrave.structures.semi_markov import segments_of, tags_of


class SegmentTagger(SegmentSettings, TokenTagger):
    """Predicts a label for every token of a sequence by whole segments; minimizes 1/2 |w|^2 + C sum_i L_i(w).

    X is as in `SequenceTagger`. Labels are IOB2 tags; IOB1 is converted, and predictions and `score` use IOB2. The
    features of tokens are added up over a segment, and neighboring segments depend on each other.

    Several segmentations of a sequence may be correct (`margrave.data.Answers`). "latent-log" maximizes the probability
    of all of them together, and "latent-hinge" separates the best of them from the others. Neither is convex, so there
    is no gap. `LP` places the worst correct one above the best other one. The other losses learn that of the tags.

    Attributes
    ----------
    classes_ : the labels, sorted.
    coef_ : the weights.
    history_, certificate_ : P, D and the gap after each pass, and for `coef_`.
    n_iter_, converged_, stop_reason_ : the number of iterations, and whether and why the learner stopped.
    starts_ : after several starts, the objective and the norm of its gradient for every start; not saved. For
        "latent-hinge" it is a subgradient, whose norm need not be small at an optimum.

    >>> X = [[["in"], ["New"], ["York"]], [["in"], ["Rome"]]]
    >>> tagger = SegmentTagger(C=10.0).fit(X, [["O", "B-LOC", "I-LOC"], ["O", "B-LOC"]])
    >>> tagger.predict([[["in"], ["New"], ["York"]]])
    [['O', 'B-LOC', 'I-LOC']]
    """

    map_: SegmentMap

    def _structure(self, given: Given) -> SemiMarkov:
        return SemiMarkov(self.max_length, flag("tied", self.tied))

    def _map(self, outputs: Any) -> SegmentMap:
        table = table_named(self.weights, self.kernel)
        longest = max(outputs.longest, default=1)
        of_pairs = self.start, self.stop, self.transition_scale
        return SegmentMap(table, list(outputs.labels), longest, self.templates, *of_pairs)

    def _check_parameters(self) -> LossFamily:
        if self.templates is not None:
            if not isinstance(self.templates, SegmentTemplates):
                raise MargraveError(f"templates must be SegmentTemplates, not {type(self.templates).__name__}.")
            if self.features is None and not hasattr(self, "features_"):
                raise MargraveError("templates of segments need rows of columns: pass features=Templates().")
        return super()._check_parameters()

    def _to_map(self, given: Given, features: Features | None) -> Mapping[str, Any]:
        if given.to_map:
            raise MargraveError("transitions between segments have no attributes: do not pass edges=.")
        if self.templates is None:
            return {}
        texts = _texts(given.X, self.templates.column, features)
        if given.Y is None:
            return {"texts": texts}
        segments = (
            [(span.start, span.stop) for span in [*segments_of(tags, i), *alternatives_of(tags)]]
            for i, tags in enumerate(given.Y)
        )
        return {"texts": texts, "gold": segments}

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        # Predictions are in IOB2. Other tags may write the same segments, such as those of IOB1.
        gold = [[tag for each in segments_of(tags, i) for tag in tags_of(each)] for i, tags in enumerate(Y)]
        return float(token_accuracy(gold, predicted))


def _texts(X: Any, column: int, features: Features | None) -> list[list[str]]:
    """The texts of one column of the tokens; the label does not count as a column."""
    columns, label = getattr(features, "columns", None), getattr(features, "label", -1)
    if len(X) == 0:
        return []
    if columns is None:
        raise MargraveError("templates of segments need rows of columns: pass features=Templates().")
    if column >= columns:
        raise MargraveError(f"templates of segments ask for column {column}, and there are {columns}.")
    if isinstance(X, _core.ColumnTable):
        return X.column(column + (X.width > columns and 0 <= label <= column))
    return [[row[column + (len(row) > columns and 0 <= label <= column)] for row in rows] for rows in X]
