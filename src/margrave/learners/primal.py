"""The state of learners that follow the gradient of P, and the dual bound that they mix from all gradients so far."""

from dataclasses import dataclass, field
from math import sqrt

from margrave import _core
from margrave.learners.objective import Objective, Objectives, State, Weights
from margrave.learners.resuming import check_same, scale_of_losses, scale_of_weights
from margrave.learners.rounding import lowered
from margrave.memory import check_memory

_VECTORS = 7  # w, its gradient, the mixture, those of the next w, and what is computed of them
_OF_TWO = 4e-16  # of the terms of a sum of two: a bound on its rounding error


@dataclass
class PrimalState(State):
    """Weights with P and its gradient, and a mixture of the loss's own distributions at all weights so far.

    The distribution at w has w(alpha) = w - grad P(w). A mixture has the mixture of these, and at least the mixture of
    their entropies, because the entropy is concave. D at a mixture is therefore bounded from below by numbers that
    every gradient gives, without another pass (docs/background/learning.md). One vector stores the best mixture so far:
    each new distribution is mixed in with the share that raises the bound most.

    The first weights can have scores, and so rounding errors, that are larger than the optimum. What is left of these
    errors in the mixture is subtracted from the bound. An error e of w - grad P(w) raises the bound by <mixed - w, e>,
    so those of weights near the mixture hardly matter.
    """

    w: Weights
    primal: float
    slope: Weights  # grad P(w)
    mixed: Weights = field(init=False)  # w(alpha) of the mixture
    linear: float = field(init=False)  # at most D(alpha) + 1/2 |w(alpha)|^2, but for rounding
    error: float = field(init=False)  # the largest norm of the rounding error of `mixed`
    excess: float = field(init=False)  # how much rounding may have raised the bound, to the first order of that error
    dual: float = field(init=False)  # the largest D so far

    def __post_init__(self) -> None:
        self.mixed, self.linear, self.error = self.w - self.slope, self.own_linear(), self.own_error()
        self.excess = self.own_excess()
        self.dual = self.bound()

    def dot(self, u: Weights, v: Weights) -> float:
        """The core's inner product: NumPy's is threaded, which is slower here and changes the last bits."""
        return self.objective.problem.dot(u, v)

    def norm(self, v: Weights) -> float:
        """|v|"""
        return sqrt(self.dot(v, v))

    def own_linear(self) -> float:
        """D(alpha) + 1/2 |w(alpha)|^2 of the loss's own distribution at w."""
        return self.primal + 0.5 * self.dot(self.w, self.w) - self.dot(self.w, self.slope)

    def own_error(self) -> float:
        """The largest norm of the rounding error of w - grad P(w)."""
        return self.objective.rounding.of_gradient(self.norm(self.w))

    def own_excess(self) -> float:
        """How much the rounding errors of P and its gradient at w may raise the bound at the mixture."""
        norm = self.norm(self.w)
        terms = norm * (norm + self.norm(self.slope))
        far = self.norm(self.w - self.mixed)
        return self.objective.rounding.of_primal(self.primal, norm) + _OF_TWO * terms + far * self.own_error()

    def own_gap(self) -> float:
        """The gap of the loss's own distribution at w: half the squared norm of the gradient."""
        return 0.5 * self.dot(self.slope, self.slope)

    def mix(self) -> None:
        """Mix in the distribution at w, after every new gradient.

        Along the line to it the bound is a parabola, so that the best share is known.
        """
        change = self.w - self.slope
        change -= self.mixed
        more = self.own_linear() - self.linear
        rise, bend = more - self.dot(change, self.mixed), self.dot(change, change)
        if rise > 0:
            share = rise / bend if rise < bend else 1.0
            _core.add_scaled(change, share, self.mixed)
            self.linear += share * more
            before = self.excess + share * sqrt(bend) * self.error
            sums = abs(self.linear) + abs(share * more) + self.dot(self.mixed, self.mixed)
            self.excess = before + share * (self.own_excess() - before) + _OF_TWO * sums
            self.error += share * (self.own_error() - self.error) + _OF_TWO * self.norm(self.mixed)
        self.dual = max(self.dual, self.bound())

    def bound(self) -> float:
        """The better of two values of D: that of the mixture, and that at w alone."""
        mixture = self.linear - 0.5 * self.dot(self.mixed, self.mixed)
        alone = self.objective.dual_at(self.w, self.primal, self.own_gap())
        return max(lowered(mixture, self.excess + 0.5 * self.error * self.error), alone)

    def objectives(self) -> Objectives:
        """P, D and the gap, with the D of the mixture.

        Where rounding hides that this D is below P, the gap is half the squared norm of the gradient and the error of
        P. The same holds if inference is approximate: gradients from several weights need not bound one convex
        function then.
        """
        own = self.own_gap()
        gap = own if self.dual == self.primal - own else self.primal - self.dual
        if self.objective.problem.exact and gap > 0:
            return self.primal, self.dual, gap
        error = self.objective.rounding.of_primal(self.primal, self.norm(self.w))
        gap = own + (self.primal - lowered(self.primal, error))
        return self.primal, self.primal - gap, gap

    def verify(self) -> None:
        """P and its gradient must be those at w."""
        primal, slope = self.objective.value_and_gradient(self.w)
        check_same("P", self.primal, primal, terms=scale_of_losses(self.objective, self.w))
        check_same("gradient", self.slope, slope, terms=scale_of_weights(self.objective))


def check_vectors(objective: Objective, more: int, what: str, remedy: str) -> None:
    """Refuse to begin if the vectors of a `PrimalState` and so many more take more memory than there is.

    Parameters
    ----------
    objective : the objective, whose problem has the length of the vectors.
    more : the number of vectors of the learner itself.
    what : the learner and what determines its memory.
    remedy : what the user can do about it.
    """
    check_memory(8 * (_VECTORS + more) * objective.problem.dim, what, remedy)
