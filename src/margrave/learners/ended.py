"""How a run ended, and the sentence that says so."""

from collections.abc import Iterable
from enum import StrEnum


class Ended(StrEnum):
    """How a run ended. Model files store the value.

    >>> Ended("max_iter") is Ended.MAX_ITER
    True
    """

    GAP = "gap"  # The relative gap reached tol.
    DONE = "done"  # The learner had a reason of its own, which may be the optimum or a failure.
    MAX_ITER = "max_iter"  # The iterations were used up.
    MAX_SECONDS = "max_seconds"  # The time was used up.
    INTERRUPTED = "interrupted"  # Ctrl-C.
    OBSERVER = "observer"  # An observer asked for it.


def ending_sentence(ended: Ended, reason: str, notes: Iterable[str] = ()) -> str:
    """Why a run ended, in words.

    Parameters
    ----------
    ended : how it ended.
    reason : the gap and tol, or the reason of the learner or the observer; empty for all other endings.
    notes : notes to append to the reason.

    >>> ending_sentence(Ended.INTERRUPTED, "", ["approximate: inference is not exact"])
    'interrupted (approximate: inference is not exact)'
    """
    return " ".join([reason or ended.value, *(f"({note})" for note in notes)])
