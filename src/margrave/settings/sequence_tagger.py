"""The settings of `SequenceTagger` and `SegmentTagger`."""

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
class TokenSettings(TableSettings):
    """What all taggers share."""

    weights: "str | FeatureTable" = option(
        "observed",
        'Which pairs of feature and label have a weight: "observed", "all", or "hash:BITS" for hashed features.',
    )
    features: "Features | str | None" = option(
        None,
        "How raw rows become features, such as `margrave.features.Templates`.",
        if_none="if X has features already",
    )
    start: bool = option(False, "Give the label of the first position additional weights.")
    stop: bool = option(False, "Give the label of the last position additional weights.")
    transition_scale: float = option(
        1.0, "Factor on the features of transitions.", at_least=0, what="the scale of transitions"
    )
    tied: bool = option(True, "Share one table of transition parts among all positions; some learners require False.")
    starts: int = option(
        3,
        'Number of starting points for "latent-log" and "latent-hinge"; the model with the lowest objective wins.',
        python="The first is the learner's own (the tags for 'cccp', otherwise zero), the others are random.",
        at_least=1,
        at_most=1000,
    )


@dataclass(eq=False, repr=False, kw_only=True)
class TaggerSettings(TokenSettings):
    """What a `SequenceTagger` can be told."""

    order: int = option(
        1, "Number of preceding labels on which a label depends.", choices=(0, 1, 2, 3), what="the order of a chain"
    )
    forbidden: Collection[tuple[Any, Any]] = option((), "Pairs of neighboring labels that no output may contain.")


@dataclass(eq=False, repr=False, kw_only=True)
class SegmentSettings(TokenSettings):
    """What a `SegmentTagger` can be told."""

    templates: "SegmentTemplates | None" = option(
        None, "Features of whole segments: a `margrave.features.SegmentTemplates` object."
    )
    max_length: int | Mapping[str, int] | None = option(
        None,
        "Largest number of tokens of a segment.",
        python="Also a mapping from labels to numbers.",
        if_none="that of each label in the training data",
    )
