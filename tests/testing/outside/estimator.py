"""An estimator from outside of the package, with features of its own: it divides texts into segments."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from margrave.estimators.base import StructuredEstimator
from margrave.examples import Examples
from margrave.features import Features
from margrave.maps import SparseMap
from margrave.options import option
from margrave.settings.learning import LearningSettings
from tests.testing.outside.structure import Segments, segments


class SegmentWords(Features):
    """The words of every segment, and its length."""

    name = "outside-segment-words"

    def transform(self, X: Any) -> Any:
        return [self.of_text(text.split()) for text in X]

    def of_text(self, words: list[str]) -> list[list[str]]:
        return [["_".join(words[begin:end]), f"length {end - begin}"] for begin, end in segments(len(words))]


@dataclass(eq=False, repr=False, kw_only=True)
class SegmenterSettings(LearningSettings):
    """What a `Segmenter` can be told."""

    features: Any = option("default", "How texts become features.")


class Segmenter(SegmenterSettings, StructuredEstimator):
    """Divides texts into segments."""

    def _structure(self, examples: Examples) -> Segments:
        return Segments()

    def _map(self, outputs: Any) -> SparseMap:
        return SparseMap(unit="segment")

    def _default_features(self) -> SegmentWords:
        return SegmentWords()

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        return float(np.mean([list(map(tuple, y)) == best for y, best in zip(Y, predicted, strict=True)]))
