"""The settings of the estimators that align sequences: `SequenceAligner`, `HomologyRanker`, `GenerativeAligner`."""

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from margrave.options import option
from margrave.settings.learning import JobSettings, LearningSettings

if TYPE_CHECKING:
    from margrave.data import SubstitutionMatrix
    from margrave.features.base import Features
    from margrave.losses import LossFamily


@dataclass(eq=False, repr=False, kw_only=True)
class DecodingSettings(JobSettings):
    """How alignments are predicted."""

    decode: Any = option(
        "score",
        '"score" predicts the best alignment; "accuracy" the one with the highest expected accuracy: the sum over its '
        "pairs of their posterior probability minus `caution`.",
    )
    caution: float = option(0.0, "From 0, which favors recall, to 1, which favors precision.", at_least=0, at_most=1)


@dataclass(eq=False, repr=False, kw_only=True)
class AlignmentSettings(LearningSettings):
    """What all estimators that learn to align share."""

    mode: Any = option("global", '"global", "local" or "semi-global".')
    gaps: Any = option("affine", '"affine" or "linear".')
    symmetric: bool = option(True, "Whether the score of a pair of letters does not depend on their order.")
    gap_residues: bool = option(False, "Whether unmatched letters have scores of their own.")
    end_gaps: bool = option(False, "Whether gaps at the ends have scores of their own.")
    start: "str | SubstitutionMatrix | None" = option(
        None,
        'Scores from which the weights are measured: "BLOSUM62" (with 10 and 1 half-bits for gaps), or a '
        "`SubstitutionMatrix`; both are converted to natural logarithms by the unit of the matrix. The loss must be "
        'convex with a cost that decomposes over parts: "log", "hinge", "softmax-margin" or "perceptron". Small C stay '
        "close to the matrix; None starts from 0. Its letters are known besides those of the training data.",
    )
    features: "Features | str | None" = option(
        "default",
        '`margrave.features.Sequences`, "default" for the letters of the training data, or None if X is encoded.',
    )


@dataclass(eq=False, repr=False)
class AlignerSettings(DecodingSettings, AlignmentSettings):
    """What a `SequenceAligner` can be told."""

    loss: "str | LossFamily" = option(
        "log",
        'A name, or an object of `margrave.losses`. The cost "hamming" counts gold pairs that are missed and '
        'pairs that are wrong; "f1" is 1 - F1 of the pairs, for sequences of up to 40 letters.',
    )
    _: KW_ONLY
    tied: bool | str = option(
        "auto",
        'Whether parts belong to letters, which takes less memory, or to places; "auto" ties them if the loss has no '
        "cost and scores depend on letters alone.",
    )
    edges: bool = option(
        False,
        'Whether every edge of the trellis has a part of its own in training, which the learners "smo" and "smo-eg" '
        "require. The weights are the same, and parts take at least ten times as much memory; tied=True is refused.",
    )
    window: Any = option(0, "The scores of a pair also depend on this many letters on either side.")
    gap_context: Any = option(0, "The scores of a gap also depend on this many letters on either side.")


@dataclass(eq=False, repr=False)
class HomologySettings(AlignmentSettings):
    """What a `HomologyRanker` can be told."""

    loss: "str | LossFamily" = option(
        "hinge",
        "A name, or an object of `margrave.losses`. `Hinge(slack=2)` is the SVM2 of Tsochantaridis et al. (2005).",
    )
    _: KW_ONLY
    mode: Any = option("local", '"global", "local" or "semi-global".')
    gaps: Any = option("linear", '"affine" or "linear".')
    symmetric: bool = option(False, "Whether the score of a pair of letters does not depend on their order.")


@dataclass(eq=False, repr=False)
class CountedAlignmentSettings(DecodingSettings):
    """What a `GenerativeAligner` can be told."""

    gap: float = option(
        -0.2,
        "Score of every unmatched letter. Tsochantaridis et al. (2005) have -0.2, in a unit that they do not state; "
        "with natural logarithms, -1 comes nearest to their errors of six values that were tried (docs/papers.md).",
    )
    _: KW_ONLY
    smoothing: float = option(1.0, "What Laplace's rule adds to every count.", above=0)
    mode: Any = option("local", '"global", "local" or "semi-global".')
    alphabet: Any = option(None, "Letters; None uses those of the training data.")
