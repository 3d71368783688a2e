"""Models that predict a tag for every token of a sequence by whole segments."""

from typing import Any

from margrave import _core
from margrave.checks import flag
from margrave.errors import MargraveError
from margrave.estimators.models.sequence_tagger import TokenModel
from margrave.examples import Examples
from margrave.features.base import Features
from margrave.features.segments import SegmentTemplates
from margrave.maps import SegmentMap
from margrave.metrics import token_accuracy
from margrave.settings.sequence_tagger import SegmentSettings
from margrave.structures import SemiMarkov
from margrave.structures.semi_markov import segments_of, tags_of


class SegmentModel(SegmentSettings, TokenModel, saved_as="SegmentTagger"):
    """Predicts a label for every token of a sequence by segments: what `load` makes of a `SegmentTagger`'s file."""

    map_: SegmentMap

    def _structure(self, examples: Examples) -> SemiMarkov:
        return SemiMarkov(self.max_length, flag("tied", self.tied))

    def _check_parameters(self) -> Any:
        if self.templates is not None and not isinstance(self.templates, SegmentTemplates):
            raise MargraveError(f"templates must be SegmentTemplates, not {type(self.templates).__name__}.")
        return super()._check_parameters()

    def _completed(self, examples: Examples, outputs: Any) -> Examples:
        if self.templates is None:
            return examples
        return examples.having(texts=_texts(examples.X, self.templates.column, self.features_))

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
