"""The settings of the estimators that align sequences: `SequenceAligner`, `HomologyRanker`, `GenerativeAligner`."""

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from margrave.options import option
from margrave.settings.learning import C_HELP, LOSS_HELP, LOSS_OBJECTS, TOL_HELP, JobSettings, LearningSettings

if TYPE_CHECKING:
    from margrave.data import SubstitutionMatrix
    from margrave.features.base import Features
    from margrave.losses import LossFamily


MODES = {"global": "whole sequences", "local": "parts of both", "semi-global": "gaps at the ends are free"}
GAPS = {"affine": "by scores for opening and for extending a gap", "linear": "by their length"}


_DECODE = "Which alignment is predicted."
_DECODERS = {
    "score": "the alignment with the highest score",
    "accuracy": "the alignment with the highest expected accuracy: the sum over its pairs of their posterior "
    "probability minus caution",
}
_START = (
    'Scores from which the weights are measured: "BLOSUM62" (with 10 and 1 half-bits for gaps), or "auto", which is '
    "BLOSUM62 if the training data are proteins and the loss allows it. Small C stay close to them."
)
_START_OBJECTS = (
    "Also a `SubstitutionMatrix`; both are converted to natural logarithms by the unit of the matrix. The loss must be "
    'convex with a cost that decomposes over parts: "log", "hinge", "softmax-margin" or "perceptron". The letters of '
    "the matrix are known besides those of the training data. Sequences are proteins if all letters are those of "
    "BLOSUM62, and some of them are not codes of nucleotides."
)


def way_to_decode(decode: str, mode: str) -> str:
    """What `decode` stands for in this mode."""
    if isinstance(decode, str) and decode == "auto":
        return "accuracy" if mode == "global" else "score"
    return decode


@dataclass(eq=False, repr=False, kw_only=True)
class DecodingSettings(JobSettings):
    """How alignments are predicted."""

    decode: str = option("score", _DECODE, choices=_DECODERS, what="way to decode")
    caution: float = option(
        0.0,
        'With the decoder "accuracy": from 0, which favors recall, to 1, which favors precision.',
        at_least=0,
        at_most=1,
    )


@dataclass(eq=False, repr=False, kw_only=True)
class AlignmentSettings(LearningSettings):
    """What all estimators that learn to align share."""

    mode: str = option("global", "What is aligned.", choices=MODES, what="mode of alignments")
    gaps: str = option("affine", "How gaps are scored.", choices=GAPS, what="kind of gaps")
    symmetric: bool = option(True, "Whether the score of a pair of letters does not depend on their order.")
    gap_residues: bool = option(False, "Give every letter scores of its own in gaps.")
    end_gaps: bool = option(False, "Give gaps at the ends of sequences scores of their own.")
    start: "str | SubstitutionMatrix | None" = option(None, _START, python=_START_OBJECTS, if_none="0")
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
    # The defaults of C, tol, decode and start were measured on training data (docs/choosing.md).
    C: float | None = option(  # type: ignore[assignment]
        None, C_HELP, above=0, if_none="0.1 if the weights start from a matrix, and otherwise 1"
    )
    tol: float = option(1e-3, TOL_HELP, at_least=0)
    decode: str = option(
        "auto",
        _DECODE,
        choices={"auto": "accuracy for global alignments, and otherwise score", **_DECODERS},
        what="way to decode",
    )
    start: "str | SubstitutionMatrix | None" = option("auto", _START, python=_START_OBJECTS, if_none="0")
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
    window: int = option(
        0, "The scores of a pair also depend on this many letters on either side.", at_least=0, at_most=100
    )
    gap_context: int = option(
        0, "The scores of a gap also depend on this many letters on either side.", at_least=0, at_most=100
    )


@dataclass(eq=False, repr=False)
class HomologySettings(AlignmentSettings):
    """What a `HomologyRanker` can be told."""

    loss: "str | LossFamily" = option(
        "hinge",
        LOSS_HELP,
        python=f"{LOSS_OBJECTS} `Hinge(slack=2)` is the SVM2 of Tsochantaridis et al. (2005).",
    )
    _: KW_ONLY
    mode: str = option("local", "What is aligned.", choices=MODES, what="mode of alignments")
    gaps: str = option("linear", "How gaps are scored.", choices=GAPS, what="kind of gaps")
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
    mode: str = option("local", "What is aligned.", choices=MODES, what="mode of alignments")
    alphabet: Any = option(None, "Letters.", if_none="those of the training data")
