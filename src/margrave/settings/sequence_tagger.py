"""The settings of `SequenceTagger`."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from margrave.options import option
from margrave.settings.learning import TableSettings

if TYPE_CHECKING:
    from margrave.features.base import Features
    from margrave.features.segments import SegmentTemplates
    from margrave.maps import FeatureTable


@dataclass(eq=False, repr=False, kw_only=True)
class TaggerSettings(TableSettings):
    """What a `SequenceTagger` can be told."""

    weights: "str | FeatureTable" = option(
        "observed",
        'Which pairs of feature and label have a weight: "observed", "all", or "hash:BITS" for hashed features.',
    )
    features: "Features | str | None" = option(
        None, "How raw rows become features, such as `margrave.features.Templates`; None if X has features already."
    )
    segments: "bool | SegmentTemplates" = option(
        False,
        "Predict whole segments. Labels must be IOB2 tags (IOB1 is converted), the features of tokens are added up "
        "over a segment, and neighboring segments depend on each other. A `margrave.features.SegmentTemplates` object "
        "also gives segments features of their own. Predictions and `score` use IOB2.",
    )
    max_length: int | Mapping[str, int] | None = option(
        None,
        "Largest number of tokens of a segment: a number, or a mapping from labels to numbers; None uses the longest "
        "segment of each label in the training data.",
    )
    order: Any = option(1, "Number of preceding labels on which a label depends: 1, 2 or 3.")
    forbidden: Collection[tuple[Any, Any]] = option((), "Pairs of neighboring labels that no output may contain.")
    start: bool = option(False, "Give the label of the first position additional weights.")
    stop: bool = option(False, "Give the label of the last position additional weights.")
    transition_scale: Any = option(1.0, "Factor on the features of transitions.")
    tied: bool = option(True, "Share one table of transition parts among all positions; some learners require False.")
    starts: int = option(
        3,
        'Number of starting points for "latent-log" and "latent-hinge". The first is the learner\'s own (the tags for '
        "'cccp', otherwise zero), the others are random; the model with the lowest objective wins.",
        at_least=1,
        at_most=1000,
    )
