"""The state of learners that follow the gradient of P, and the dual bound that they mix from all gradients so far."""

from dataclasses import dataclass, field

from margrave import _core
from margrave.learners.objective import Objective, Objectives, State, Weights
from margrave.learners.resuming import check_same, scale_of_losses, scale_of_weights
from margrave.memory import check_memory

_VECTORS = 7  # w, its gradient, the mixture, those of the next w, and what is computed of them
_ROUNDING = 1e-14  # of the terms of the bound, which it is lowered by


@dataclass
class PrimalState(State):
    """Weights with P and its gradient, and a mixture of the loss's own distributions at all weights so far.

    The distribution at w has w(alpha) = w - grad P(w). A mixture has the mixture of these, and at least the mixture of
    their entropies, because the entropy is concave. D at a mixture is therefore bounded from below by numbers that
    every gradient gives, without another pass (docs/background/learning.md). One vector stores the best mixture so far:
    each new distribution is mixed in with the share that raises the bound most.
    """

    w: Weights
    primal: float
    slope: Weights  # grad P(w)
    mixed: Weights = field(init=False)  # w(alpha) of the mixture
    linear: float = field(init=False)  # at most D(alpha) + 1/2 |w(alpha)|^2

    def __post_init__(self) -> None:
        self.mixed, self.linear = self.w - self.slope, self.own_linear()

    def dot(self, u: Weights, v: Weights) -> float:
        """The core's inner product: NumPy's is threaded, which is slower here and changes the last bits."""
        return self.objective.problem.dot(u, v)

    def own_linear(self) -> float:
        """D(alpha) + 1/2 |w(alpha)|^2 of the loss's own distribution at w."""
        return self.primal + 0.5 * self.dot(self.w, self.w) - self.dot(self.w, self.slope)

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
        if not rise > 0:
            return
        share = rise / bend if rise < bend else 1.0
        _core.add_scaled(change, share, self.mixed)
        self.linear += share * more

    def gap(self) -> float:
        """P minus the better of two bounds: that of the mixture, less its rounding errors, and that at w alone.

        If inference is approximate, gradients from several weights need not bound one convex function.
        """
        own = self.own_gap()
        square = 0.5 * self.dot(self.mixed, self.mixed)
        rounding = _ROUNDING * (abs(self.primal) + abs(self.linear) + square)
        mixed = self.primal - (self.linear - square) + rounding
        return mixed if self.objective.problem.exact and 0 <= mixed < own else own

    def objectives(self) -> Objectives:
        """P, D and the gap."""
        gap = self.gap()
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
