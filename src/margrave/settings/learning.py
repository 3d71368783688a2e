"""The settings of all estimators that learn by optimization: loss, C, learner, and when to stop."""

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from margrave.checks import truth
from margrave.errors import MargraveError, either
from margrave.options import option

if TYPE_CHECKING:
    from margrave.features.base import Features
    from margrave.learners import Learner
    from margrave.losses import LossFamily
    from margrave.maps import FeatureTable, Kernel


# The names that come with the library; help lists them without importing any.
LEARNERS = (
    "auto", "bcfw", "cccp", "cg", "cutting-plane", "eg", "eg-batch", "kbest-mira", "lbfgs", "lp", "mira", "one-slack",
    "perceptron", "printed-eg", "sgd", "smo", "smo-eg", "svrg",
)  # fmt: skip
LOSSES = (
    "log", "hinge", "softmax-margin", "perceptron", "ramp", "expected-cost", "latent-log", "latent-hinge",
)  # fmt: skip
LOSS_HELP = f"{either(LOSSES)}."
LOSS_OBJECTS = "Also an object of `margrave.losses`."
LEARNER_HELP = f"{either(LEARNERS)}; auto chooses by the loss and the size of the data."
LEARNER_OBJECTS = "Also an object of `margrave.learners`."
C_HELP = "Inverse regularization strength: larger values fit the training data more closely."
TOL_HELP = "Relative gap at which to stop."


def _jobs(what: str, value: Any) -> Any:
    if value == 0:
        raise MargraveError(f"{what} must be at least 1, or -1 for all processors, and it is 0.")
    return value


@dataclass(eq=False, repr=False, kw_only=True)
class JobSettings:
    """How many threads to use."""

    n_jobs: int | None = option(
        None,
        "Number of threads; -1 uses all processors.",
        if_none="all processors, where the result does not depend on their number",
        at_least=-1,
        at_most=1024,
        check=_jobs,
    )


@dataclass(eq=False, repr=False)
class LearningSettings(JobSettings):
    """What every estimator passes to its learner."""

    loss: "str | LossFamily" = option("log", LOSS_HELP, python=LOSS_OBJECTS)
    _: KW_ONLY
    C: float = option(1.0, C_HELP, above=0)
    learner: "str | Learner" = option("auto", LEARNER_HELP, python=LEARNER_OBJECTS)
    max_iter: int | None = option(
        None,
        "Maximum number of passes, apart from repeated steps and certificates.",
        at_least=1,
        at_most=10**9,
        if_none="depends on the learner",
    )
    max_seconds: float | None = option(
        None, "Time after which to stop, also within a pass.", above=0, if_none="no limit"
    )
    tol: float = option(1e-4, TOL_HELP, at_least=0)
    random_state: int = option(0, "Random seed for the order of examples and whatever else is drawn.", at_least=0)
    verbose: Any = option(False, "Report progress.", check=truth)


@dataclass(eq=False, repr=False, kw_only=True)
class FeatureSettings(LearningSettings):
    """Where the features come from: raw data, or X itself."""

    features: "Features | str | None" = option(
        None,
        "How raw data become features: an object of `margrave.features`.",
        if_none="if X has features already",
    )


@dataclass(eq=False, repr=False, kw_only=True)
class TableSettings(FeatureSettings):
    """Which pairs of feature and label have a weight, or a kernel instead."""

    weights: "str | FeatureTable" = option(
        "all", 'Which pairs of feature and label have a weight: "all", "observed", or "hash:BITS" for hashed features.'
    )
    kernel: "Kernel | None" = option(None, "`Kernel` between inputs instead of weights of features.")
