"""The rate of convergence of batch exponentiated gradient, known before it starts (002, sections 4.4 and 4.5).

The steps lead from alpha^1 to alpha^T+1 with the safe rate eta. With KL(p, q) the divergence of distributions,

    D(alpha*) - D(alpha^T+1)  <=  sum_i C_i KL(alpha*_i, alpha^1_i) / (eta T),     1 / eta = 1 / beta + n C R^2

where C is the largest C_i. The paper has Q = -D / C in place of D, and therefore no C_i before the divergences.
"""

from math import ceil, inf

from margrave import _core
from margrave.checks import real, whole
from margrave.learners.dual import gold_parameters
from margrave.learners.objective import Objective
from margrave.learners.published.eg_batch import BatchEG, safe_rate

_MOST = 2**63 - 1


def eg_bound(objective: Objective, steps: int, *, start: float = 0.0, divergence: float | None = None) -> float:
    """Bound how far D is below its optimum after so many steps of `BatchEG(rate="safe", start=start)`.

    It falls like 1 / T, and the rate of the theorem is small, so that D is usually much closer to its optimum.

    Parameters
    ----------
    objective : the problem with its loss, C and sample weights.
    steps : T, the number of steps.
    start : the natural parameter that the gold parts begin with; 0 means uniform distributions.
    divergence : sum_i C_i KL(alpha*_i, alpha^1_i), for those who know the optimum alpha*. None means the largest value
        that it can have; for uniform distributions this is sum_i C_i log(number of outputs).

    Examples
    --------
    Here n C R^2 is 3, so that 1 / eta is 4, and the divergence is at most 1.5 log 3.

    >>> from margrave.binding import bind
    >>> from margrave.examples import Examples
    >>> from margrave.maps import FeatureTable
    >>> from margrave.losses import Log
    >>> from margrave.structures import Multiclass
    >>> problem = bind(Multiclass(), FeatureTable("all"), Examples([["a"], ["b"], ["c"]], ["x", "y", "z"])).problem
    >>> objective = Objective(problem, Log(), C=0.5)
    >>> round(eg_bound(objective, steps=100), 4)
    0.0659
    >>> best = BatchEG().solve(Objective(problem, Log(), C=0.5, tol=1e-9)).certificate.dual
    >>> steps = Objective(problem, Log(), C=0.5, tol=0.0, max_iter=100)
    >>> after = BatchEG(rate="safe", start=0.0).solve(steps).certificate.dual
    >>> best - after <= eg_bound(objective, steps=100)
    True
    """
    steps = whole("steps", steps, 1, _MOST)
    return _divergence(objective, start, divergence) / _rate(objective) / steps


def eg_steps(objective: Objective, missing: float, *, start: float = 0.0, divergence: float | None = None) -> int:
    """Count the steps of `BatchEG(rate="safe", start=start)` after which D is at most `missing` below its optimum.

    Parameters
    ----------
    objective, start, divergence : as for `eg_bound`.
    missing : how far D may be below its optimum.

    Examples
    --------
    >>> from margrave.binding import bind
    >>> from margrave.examples import Examples
    >>> from margrave.maps import FeatureTable
    >>> from margrave.losses import Log
    >>> from margrave.structures import Multiclass
    >>> problem = bind(Multiclass(), FeatureTable("all"), Examples([["a"], ["b"], ["c"]], ["x", "y", "z"])).problem
    >>> eg_steps(Objective(problem, Log(), C=0.5), missing=0.01)
    660
    """
    missing = real("missing", missing, "be positive and finite", lambda value: 0 < value < inf)
    return max(1, ceil(_divergence(objective, start, divergence) / _rate(objective) / missing))


def _rate(objective: Objective) -> float:
    """eta, in the units of the papers: the rate of `BatchEG` is eta / beta where beta is finite."""
    return safe_rate(objective) * (objective.loss.beta if objective.loss.smooth else 1.0)


def _divergence(objective: Objective, start: float, known: float | None) -> float:
    """sum_i C_i KL(alpha*_i, alpha^1_i) if it is known, and otherwise the largest value that it can have.

    KL(alpha*, alpha^1) = log Z(t) - <t, mu*> - H(alpha*). The entropy H is not negative, and neither is <t, mu*>, since
    t is 0 or `start`.
    """
    learner = BatchEG(rate="safe", start=start)
    learner.check(objective.loss, objective.problem)
    if known is not None:
        return real("divergence", known, "be finite and not negative", lambda value: 0 <= value < inf)
    problem, begin = objective.problem, _core.part_offsets(objective.problem)
    t = gold_parameters(objective, start)
    log_z = [problem.logsum(i, problem.forbid(i, t[begin[i] : begin[i + 1]]))[0] for i in range(problem.size)]
    return float(objective.weights() @ log_z)
