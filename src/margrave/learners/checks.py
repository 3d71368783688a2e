"""Checks of whether a learner can minimize a loss on a problem, and the error messages if it cannot.

A learner states in `needs` what it requires of the loss and of the problem, and in `offers` what it can do beyond
minimizing a convex loss of the family. Every word is explained here, next to its test. A condition that concerns only
one learner is checked in that learner's `check`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import real, whole
from margrave.errors import MargraveError, Message, Setting, quoted, setting
from margrave.losses import LossFamily

if TYPE_CHECKING:
    from margrave.learners.base import Learner


def check_settings(
    C: Any, tol: Any, max_iter: Any, max_seconds: Any, n_jobs: Any, random_state: Any
) -> tuple[float, float, int | None, float | None, int | None, int]:
    """The settings that every estimator passes to its learner; a wrong one is an error in one sentence."""
    return (
        real("C", C, "be positive and finite", lambda C: 0 < C < inf),
        real("tol", tol, "be finite and not negative", lambda tol: 0 <= tol < inf),
        None if max_iter is None else whole("max_iter", max_iter, 1, 10**9),
        None if max_seconds is None else real("max_seconds", max_seconds, "be positive", lambda seconds: seconds > 0),
        None if n_jobs is None else _jobs(n_jobs),
        _seed(random_state),
    )


def _jobs(n_jobs: Any) -> int:
    """The number of threads, of which -1 means one per processor."""
    if isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool) and n_jobs == -1:
        return -1
    return whole("n_jobs", n_jobs, 1, 1024)


def _seed(random_state: Any) -> int:
    if not isinstance(random_state, Integral) or random_state < 0:
        raise MargraveError(
            f"random_state must be a whole number that is not negative, and it is {quoted(random_state)}."
        )
    return int(random_state)


@dataclass(frozen=True)
class Rule:
    """The meaning of a word, the test for conflicts of a loss and a problem with it, and the error message.

    A conflict is an error if the word is in the learner's `needs` or, for words that a learner can offer, if it is not
    in its `offers`.
    """

    meaning: str
    conflict: Callable[[LossFamily, Any], bool]
    sentence: Callable[["Learner", LossFamily, Any], Sequence[str | Setting]]  # the message without its full stop
    offered: bool = False
    of_loss: bool = True  # whether the loss alone decides; if not, the problem must be known


# The first rule that refuses a combination decides the error message.
RULES = {
    "differences": Rule(
        "it minimizes differences of losses, which are not convex",
        lambda loss, _: not loss.convex and not (loss.latent and loss.smooth),
        lambda learner, loss, _: (
            f"learner '{learner.name}' needs a convex loss, and {loss.name} is a difference of two: use ",
            setting(learner="cccp"),
            ", or ",
            setting(loss="hinge"),
        ),
        offered=True,
    ),
    "smooth latent losses": Rule(
        "it minimizes losses over all good outputs that have a gradient everywhere, and are not convex",
        lambda loss, _: loss.latent and loss.smooth,
        lambda learner, loss, _: (
            f"learner '{learner.name}' needs a convex loss, and {loss.name} is a difference of two: use ",
            setting(learner=("cccp", "lbfgs")),
        ),
        offered=True,
    ),
    "difference": Rule(
        "it minimizes differences of losses only",
        lambda loss, _: loss.convex,
        lambda learner, loss, _: (
            f"learner '{learner.name}' is for differences of losses, and {loss.name} is convex: use ",
            setting(learner="bcfw" if loss.smooth or loss.gamma > 0 else "perceptron"),
            ", or ",
            setting(loss="ramp"),
        ),
    ),
    "any rescaling": Rule(
        "it takes any re-scaling, slack and cost of `Hinge`; other learners take margin re-scaling, linear slack and "
        "costs that the core knows",
        lambda loss, _: not loss.of_family,
        lambda learner, loss, _: (
            f"learner '{learner.name}' supports the hinge loss only with margin re-scaling and linear slack, and this "
            f"is {loss.name}: use ",
            setting(learner="cutting-plane"),
        ),
        offered=True,
    ),
    "finite beta": Rule(
        "it needs a gradient everywhere",
        lambda loss, _: not loss.smooth,
        lambda learner, loss, _: (
            f"learner '{learner.name}' needs a smooth loss, and {loss.name} has beta = inf: use ",
            setting(learner="bcfw"),
            ", or ",
            setting(loss="softmax-margin"),
        ),
    ),
    "infinite beta": Rule(
        "it works on outputs, not on distributions",
        lambda loss, _: loss.smooth,
        lambda learner, loss, _: (
            f"learner '{learner.name}' needs a loss with beta = inf, and {loss.name} has beta = {loss.beta:g}: use ",
            setting(learner="eg"),
            ", or ",
            setting(loss="hinge"),
        ),
    ),
    "perceptron loss": Rule(
        "it takes the loss with beta = inf and gamma = 0, whose regularized optimum is w = 0",
        lambda loss, _: not loss.smooth and loss.gamma == 0,
        lambda learner, loss, _: (
            f"under the perceptron loss the regularized optimum is w = 0, so learner '{learner.name}' refuses it: use ",
            setting(learner="perceptron"),
            ", or ",
            setting(loss="hinge"),
        ),
        offered=True,
    ),
    "euclidean": Rule(
        "it requires weights with the Euclidean inner product, which those of a kernel do not have",
        lambda _, problem: not problem.euclidean,
        lambda learner, loss, problem: (
            f"learner '{learner.name}' needs weights with the Euclidean inner product, and those of a kernel have "
            "another: use ",
            setting(learner=("bcfw", "eg", "smo", "mira", "cutting-plane", "one-slack", "perceptron")),
            ", or a kernel with nystroem",
        ),
        of_loss=False,
    ),
    "several good outputs": Rule(
        "it takes costs of whole outputs where several outputs are good; other learners would charge all but the first",
        lambda loss, problem: loss.convex and loss.charges_good(problem),
        lambda learner, loss, problem: (
            f"learner '{learner.name}' would let this loss charge good outputs except for the first, and some examples "
            "have several: use ",
            _spare_good(loss),
        ),
        offered=True,
        of_loss=False,
    ),
    "cost of parts": Rule(
        "it requires a cost that decomposes over parts",
        lambda loss, problem: loss.beyond_parts(problem),
        lambda learner, loss, problem: (
            f"learner '{learner.name}' needs a cost that decomposes over parts, unlike the zero-one cost of a "
            "structured output: use ",
            Message(setting(learner="bcfw"), ", or ") if loss.convex else "",
            setting(cost="hamming"),
        ),
        of_loss=False,
    ),
    "whole outputs": Rule(
        "it keeps outputs, and a relaxation gives mixtures of them",
        lambda loss, problem: not loss.smooth and loss.gamma > 0 and "relaxed_argmax" in problem.offers,
        lambda learner, loss, problem: (
            f"learner '{learner.name}' keeps whole outputs, and this problem gives the marginals of a relaxation: use ",
            setting(learner="sgd"),
            ", or BCFW(pairwise=False)",
        ),
        of_loss=False,
    ),
    "any scores": Rule(
        "it requires inference with arbitrary scores of parts, which no weights need produce",
        lambda _, problem: not problem.any_scores,
        lambda learner, loss, problem: (
            f"learner '{learner.name}' needs inference with any scores, and this problem offers it only with weights: "
            "use ",
            setting(learner="bcfw"),
            " with ",
            setting(loss="hinge"),
            Message(", or ", setting(learner="lbfgs")) if problem.euclidean else "",
        ),
        of_loss=False,
    ),
}

# The words of `needs`, with their meanings; any other word of `needs` is an operation that the problem must offer.
NEEDS = {word: rule.meaning for word, rule in RULES.items() if not rule.offered}

# All words of `offers`, with their meanings.
OFFERS = {word: rule.meaning for word, rule in RULES.items() if rule.offered} | {
    "choice": "it chooses another learner, which does the work",
    "another objective": "it minimizes an objective other than P, for example with another norm of w",
    "last weights": "the result is the last iterate, not the one with the lowest P",
    "certificate": "its records have D and the gap",
    "certificate at finite beta": "its records have D and the gap where beta is finite",
    "tol": "its gap falls below tol eventually, so that stopping earlier deserves a warning",
}

_ADVICE = {
    "kbest": Message(": use ", setting(learner="bcfw")),
    "untied": Message(": use ", setting(learner="bcfw"), ", or tied=False on a chain, or SequenceAligner(edges=True)"),
    "logsum": Message(": use ", setting(loss="hinge"), " with ", setting(learner="bcfw")),
    "good": Message(
        ": use ", setting(loss=("log", "hinge")), ", or segments whose spans have alternatives (margrave.data.Answers)"
    ),
}


def _spare_good(loss: LossFamily) -> Message:
    """What to use where costs of whole outputs would charge good ones."""
    if loss.slack == 0:
        return Message(setting(slack=1))
    return Message(setting(cost="hamming"), Message(", or ", setting(learner="lp")) if loss.name == "hinge" else "")


def check_loss(learner: "Learner", loss: LossFamily) -> None:
    """Refuse a loss that the learner cannot minimize, in one sentence that says what would work."""
    _check_rules(learner, loss, None)


def check(learner: "Learner", loss: LossFamily, problem: _core.Problem) -> None:
    """Refuse a combination that cannot work, in one sentence that says what would work."""
    _check_rules(learner, loss, problem)
    offers = problem.offers
    for need in (*loss.needs, *(word for word in learner.needs if word not in NEEDS)):
        if need not in offers:
            raise MargraveError(
                f"learner '{learner.name}' with loss {loss.name} needs '{need}', and this problem offers only "
                f"{', '.join(offers) or 'nothing'}",
                _ADVICE.get(need, ""),
                ".",
            )


def check_rule(word: str, learner: "Learner", loss: LossFamily, problem: _core.Problem) -> None:
    """Apply one rule, for a learner that needs it with some of its settings only."""
    if RULES[word].conflict(loss, problem):
        raise MargraveError(*RULES[word].sentence(learner, loss, problem), ".")


def _check_rules(learner: "Learner", loss: LossFamily, problem: _core.Problem | None) -> None:
    """Apply all rules or, without a problem, those that only concern the loss."""
    for word, rule in RULES.items():
        matters = word not in learner.offers if rule.offered else word in learner.needs
        decidable = rule.of_loss or problem is not None
        if matters and decidable and rule.conflict(loss, problem):
            raise MargraveError(*rule.sentence(learner, loss, problem), ".")


def example_weights(given: Any, n: int) -> NDArray[np.float64]:
    """The factors of n examples as numbers; an error if they are something else."""
    try:
        weights = np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise MargraveError("sample_weight must be a list of numbers, one per example.") from None
    if weights.shape != (n,):
        raise MargraveError(f"sample_weight must have one number per example: {n} of them.")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise MargraveError("sample_weight must be finite and not negative.")
    if not weights.any():
        raise MargraveError("sample_weight must not be zero for every example.")
    return weights
