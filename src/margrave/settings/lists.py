"""The settings of the estimators that choose among listed outputs: `LatticeDecoder` and `Reranker`."""

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from margrave.options import option
from margrave.settings.learning import LOSS_HELP, LOSS_OBJECTS, FeatureSettings

if TYPE_CHECKING:
    from margrave.features.base import Features
    from margrave.losses import LossFamily

_WEIGHTS = 'Which features have weights: "all", or "hash:BITS" for hashed features.'


@dataclass(eq=False, repr=False)
class LatticeSettings(FeatureSettings):
    """What a `LatticeDecoder` can be told."""

    loss: "str | LossFamily" = option("latent-log", LOSS_HELP, python=LOSS_OBJECTS)
    _: KW_ONLY
    weights: Any = option("all", _WEIGHTS)
    features: "Features | str | None" = option(
        "default",
        'How lattices become features of edges: "default" uses the features that edges have, and '
        "`EdgeFeatures(words=True)` also their words.",
    )
    unreachable: str = option(
        "stop", "Lattices without a correct path.", choices={"stop": "an error", "skip": "left out of the training"}
    )
    starts: int = option(
        3,
        "Number of starting points for losses that are not convex; the model with the lowest objective wins.",
        python="The first is the learner's own (the first good string for 'cccp', otherwise zero), the others are "
        "random.",
        at_least=1,
        at_most=1000,
    )


@dataclass(eq=False, repr=False)
class RerankerSettings(FeatureSettings):
    """What a `Reranker` can be told."""

    loss: "str | LossFamily" = option(
        "hinge",
        LOSS_HELP,
        python=f'{LOSS_OBJECTS} With the cost "hamming", it uses the costs that are passed to `fit`, by default 1 for '
        'every candidate that is not good; with "zero-one", that cost is always 1. A cost function, and the metric of '
        "learner `LP`, are called with two candidates of X.",
    )
    _: KW_ONLY
    weights: Any = option("all", _WEIGHTS)
    features: "Features | str | None" = option(
        None, "How raw lists become candidates, such as `margrave.features.NGrams`; None if X has their features."
    )
    no_good: str = option(
        "stop", "Lists without a good candidate.", choices={"stop": "an error", "skip": "left out of the training"}
    )
