"""What rounding errors may have added to P, its gradient and D at given weights.

A marginal is exp(beta <theta, y> - log Z), so its relative error is that of beta times the scores. Scores are at most
|w| R_i from those of gold outputs, where R_i is the largest difference between the features of two outputs of example
i. The gradient sums C_i R_i times such errors. Large features and a large C make them larger than the optimum itself.
"""

from dataclasses import dataclass
from math import exp
from sys import float_info

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.losses import LossFamily

_OF_SUM = 1e-14  # of the terms of a sum over examples: a bound on its rounding error
_OF_SCORE = 4e-16  # of |w| R_i, which is far more than scores usually are (100 times the errors seen on short chains)
_NEGLIGIBLE = 1e-6  # of D: a run does not take a gap below minus this for more than a rounding error either


def radii(problem: _core.Problem, mass: NDArray[np.float64]) -> NDArray[np.float64]:
    """R_i of every example, or for a problem that need not know them, an average.

    Parameters
    ----------
    problem : the problem.
    mass : the weights of the average.
    """
    if isinstance(problem, _core.BoundProblem):
        return np.array([problem.radius(i) for i in range(problem.size)])
    gold = np.zeros(problem.dim)
    for i in np.flatnonzero(mass).tolist():
        counts = np.zeros(problem.parts(i))
        np.add.at(counts, problem.gold(i), 1.0)
        problem.scatter(i, counts, float(mass[i]), gold)
    total = float(mass.sum())
    largest = float(np.abs(gold).max(initial=0.0))
    return np.full(problem.size, max(largest / total, 1.0) if total > 0 else 1.0)


def lowered(value: float, error: float) -> float:
    """A lower bound of D, given a value that may be too large by this error; the value itself if that is negligible.

    The gold outputs have D = 0, so 0 is a bound that no error spoils, and so is all below.
    """
    return max(value - error, min(value, 0.0)) if error > _NEGLIGIBLE * abs(value) else value


@dataclass(frozen=True)
class Rounding:
    """Bounds on the rounding errors of an objective at weights of a given norm.

    Parameters
    ----------
    costs : gamma sum_i C_i, the size of costs.
    entropies : sum_i C_i / beta, the factor on entropies; 0 where beta is infinite.
    terms : sum_i C_i R_i, the size of the terms of w(alpha) and of gradients.
    bends : beta sum_i C_i R_i^2; 0 where beta is infinite, as outputs have no marginals then.
    factor : how much larger the relative error of a marginal is than that of beta times the scores.
    """

    costs: float
    entropies: float
    terms: float
    bends: float
    factor: float = 1.0

    @classmethod
    def of(
        cls, problem: _core.Problem, loss: LossFamily, mass: NDArray[np.float64], radius: NDArray[np.float64]
    ) -> "Rounding":
        """Those of a problem whose examples have these C_i and R_i.

        The zero-one cost of a structured output takes all but a fraction e^(-beta gamma) of the gold output's share
        away from log Z, which leaves the errors of the share.
        """
        with np.errstate(over="ignore"):
            terms, bends = float(mass @ radius), min(float(mass @ radius**2), float_info.max)
        costs, entropies = loss.gamma * float(mass.sum()), float(mass.sum()) / loss.beta
        if not loss.smooth:
            return cls(costs, entropies, terms, 0.0)
        factor = exp(loss.beta * loss.gamma) if loss.beyond_parts(problem) else 1.0
        return cls(costs, entropies, terms, loss.beta * bends, factor)

    def of_primal(self, primal: float, norm: float) -> float:
        """The largest error of P at weights of this norm."""
        return _OF_SUM * (abs(primal) + norm * norm) + _OF_SCORE * self.factor * norm * self.terms

    def of_gradient(self, norm: float) -> float:
        """The largest norm of the error of grad P at weights of this norm."""
        return _OF_SUM * (norm + self.terms) + _OF_SCORE * self.factor * norm * self.bends

    def of_dual(self, primal: float, norm: float, slope: float) -> float:
        """How much larger P - |grad P|^2 / 2 may be than D of the loss's own distributions at the weights.

        Parameters
        ----------
        primal : P at the weights.
        norm : the norm of the weights.
        slope : the norm of grad P at the weights.
        """
        error = self.of_gradient(norm)
        return self.of_primal(primal, norm) + error * (slope + 0.5 * error)

    def of_state(self, norm: float, passes: int, score: float | None = None) -> float:
        """How much larger D of stored marginals may seem than it is.

        Parameters
        ----------
        norm : the norm of w(alpha).
        passes : how many sums over all examples w(alpha) and the costs consist of, such as the steps of a pass.
        score : the largest score of an output, times beta, that marginals were computed from; None: those at w(alpha).
        """
        if score is None:
            of_marginals = self.factor * norm * self.bends
            of_entropies = self.factor * norm * self.terms + norm * of_marginals
        else:
            of_marginals = score * self.terms
            of_entropies = (score + score * score) * self.entropies  # log Z - <t, mu>, with the errors of mu
        error = _OF_SCORE * (passes * self.terms + of_marginals)
        return _OF_SCORE * (passes * self.costs + of_entropies) + error * (norm + 0.5 * error)
