"""The settings of `Translator`."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from margrave.errors import MargraveError, setting, unknown
from margrave.options import option
from margrave.settings.learning import LEARNER_HELP, LEARNER_OBJECTS, LOSS_HELP, LOSS_OBJECTS, LearningSettings

if TYPE_CHECKING:
    from margrave.learners import Learner
    from margrave.losses import LossFamily
    from margrave.translation.synchronous import SynchronousDecoder

PHRASES = "phrases"


def _decoder(what: str, value: Any) -> Any:
    if isinstance(value, str) and value == PHRASES:
        return value
    from margrave.translation.synchronous import SynchronousDecoder

    if not isinstance(value, SynchronousDecoder):
        raise unknown(what, value, (PHRASES, "a SynchronousDecoder"))
    return value


def _start(what: str, value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise MargraveError(f"{what} must be a dictionary from the names of features to weights.")
    return value


@dataclass(eq=False, repr=False)
class TranslatorSettings(LearningSettings):
    """What a `Translator` can be told."""

    tuning: str = option(
        "mert",
        "How weights are tuned in rounds of decoding and learning.",
        choices={
            "mert": "minimum error rate training",
            "mira": "k-best MIRA with hope and fear",
            "learner": "the loss and the learner on the candidates closest to the references",
            "none": "not at all",
        },
    )
    _: KW_ONLY
    decoder: "str | SynchronousDecoder" = option(
        PHRASES,
        '"phrases", or a `margrave.translation.SynchronousDecoder`, which has a grammar and perhaps a language model. '
        "It is saved with the model.",
        check=_decoder,
    )
    start: Mapping[str, float] | None = option(
        None,
        "Initial weights, by the names of features. All others are those of Moses or, for a grammar, 1, and -100 for "
        "words that pass through.",
        check=_start,
    )
    loss: "str | LossFamily" = option("hinge", f'For tuning "learner": {LOSS_HELP}', python=LOSS_OBJECTS)
    learner: "str | Learner" = option("lp", f'For tuning "learner": {LEARNER_HELP}', python=LEARNER_OBJECTS)
    tol: float = option(1e-2, "Relative gap at which to stop.", at_least=0)
    step: float = option(0.01, 'For tuning "mira": the largest step.', above=0)
    sparse: bool = option(
        False, "Use target trigrams, phrase pairs and their orientations as features, too; for phrases, not with mert."
    )
    rounds: int = option(5, "Number of rounds of decoding and learning.", at_least=0, at_most=10**6)
    k: int = option(100, "Number of candidates per sentence and round.", at_least=1, at_most=10**6)
    good: int = option(
        5,
        'For tuning "learner": number of good candidates, those closest to the references by smoothed sentence BLEU.',
        at_least=1,
        at_most=10**6,
    )
    wrong: int | None = option(
        5,
        'For tuning "learner": number of wrong candidates, the worst ones; 0 for all that are not good.',
        python="None means all, too.",
        at_least=0,
        at_most=10**9,
    )
    graphs: bool = option(
        False, 'For tuning "learner": learn from search graphs of phrases, all of whose other paths are wrong.'
    )
    n_edges: int = option(
        1000, "Number of edges of each search graph to keep, those on its best paths.", at_least=1, at_most=10**6
    )
    n_tuning: int | None = option(
        1000,
        "Number of training sentences to tune on if there are no others, evenly spaced; 0 for all.",
        python="None means all, too.",
        at_least=0,
        at_most=10**9,
    )
    folds: int = option(
        5,
        "Number of folds of the training sentences: each is decoded with phrases of the other folds.",
        at_least=2,
        at_most=10**6,
    )
    longest: int = option(5, "Maximum number of words of a phrase.", at_least=1, at_most=100)
    order: int = option(3, "Order of the language model of phrases.", at_least=1, at_most=100)
    beam: int | None = option(
        None,
        "Maximum number of partial translations of each length, or of combinations of each span; 0 for all.",
        if_none="50, or 200 for a grammar",
        at_least=0,
        at_most=10**9,
    )
    options: int = option(10, "Maximum number of translations of a phrase; 0 for all.", at_least=0, at_most=10**9)
    reach: int = option(
        6, "Maximum number of source words of two phrases that swap; 0 forbids swaps.", at_least=0, at_most=10**9
    )


def check_together(settings: TranslatorSettings) -> None:
    """Refuse settings that exclude each other.

    Parameters
    ----------
    settings : values that are valid alone.
    """
    if settings.decoder != PHRASES and (settings.sparse or settings.graphs):
        raise MargraveError("only phrases have sparse features and search graphs: leave out sparse and graphs.")
    if settings.graphs and settings.tuning != "learner":
        raise MargraveError(setting(graphs=True), " is for ", setting(tuning="learner"), ".")
    if settings.sparse and settings.tuning == "mert":
        raise MargraveError(
            setting(tuning="mert"), " is for few features: leave out ", setting(sparse=True), ", or use another tuning."
        )
