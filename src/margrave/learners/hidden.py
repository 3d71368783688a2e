"""Outputs of which only some labels are known: the log-likelihood of what is observed.

Let Z_i be the sum over all outputs and O_i the sum over those that agree with what is known of example i. The loss is
log Z_i - log O_i, a difference of two log losses that have the same gold output, whichever it is. `LBFGS` minimizes it
directly. `CCCP` replaces log O_i by its tangent in each round, which is the expectation step of EM, and solves the
convex problem that is left, the maximization step.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from margrave import _core
from margrave.errors import MargraveError
from margrave.learners.objective import Objective, Weights
from margrave.losses import DifferenceOfLosses, LossFamily


@dataclass
class HiddenObjective(Objective):
    """An objective whose problem has all outputs and no costs, beside that problem restricted to what is observed."""

    observed: _core.Problem | None = None

    def subtracted_losses(self, w: Weights, *, gradient: bool = False) -> tuple[float, Weights]:
        """The log losses among the outputs that agree with what is observed; one pass."""
        assert self.observed is not None
        self.passes += 1
        family = self.loss.core(self.C, self.sample_weight, gamma=0.0)
        losses, slope = _core.losses_and_gradient(self.observed, w, family, self.threads, gradient)
        total = losses.sum() if self.sample_weight is None else (losses * self.sample_weight).sum()
        return self.C * float(total), slope


class _HiddenLog(DifferenceOfLosses):
    """The loss of a `HiddenObjective`. It is smooth, so learners of smooth latent losses minimize it, too."""

    latent: ClassVar[bool] = True


def hidden_loss(loss: LossFamily) -> DifferenceOfLosses:
    """The loss of a `HiddenObjective`; an error unless the loss is a log loss."""
    if not loss.convex or loss.gamma != 0 or not np.isfinite(loss.beta):
        raise MargraveError(
            f"labels that are unknown (None) or have hidden states need the log loss, and this is {loss.name}."
        )
    return _HiddenLog(loss.beta, 1.0)  # whose cost is that of the problem, which has none
