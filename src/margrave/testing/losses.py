"""The contracts of a loss: its values and gradients by definition, over all outputs of small problems."""

from math import inf

import numpy as np

from margrave.learners import Objective
from margrave.losses import LossFamily, loss_named
from margrave.testing.enumeration import Array, LossByDefinition, numerical_gradient
from margrave.testing.failures import contract, quoted, require, require_close
from margrave.testing.learners import SmallProblem, small_problems
from margrave.testing.structures import check_stored


def check_loss(loss: str | LossFamily) -> None:
    """Check a loss of your own: a member of the loss family, or a difference of two.

    Parameters
    ----------
    loss : a loss, or its name.

    >>> check_loss("softmax-margin")
    """
    loss = loss_named(loss)
    check_stored(loss)
    with contract(loss, "it is a member of the loss family, or a difference of two, over listed outputs"):
        require(loss.of_family and not loss.latent, f"it is {loss.name}")
    rng = np.random.default_rng(0)
    with contract(loss, "some of the small problems have outputs with its costs"):
        problems = small_problems(loss.costs)
        require(problems, f"the cost {loss.costs!r} is refused by all")
    for small in problems:
        for size in (0.0, 0.3, 3.0):
            w = size * rng.standard_normal(small.problem.dim)
            where = f"{small.name}, weights {quoted(w.tolist())}"
            objective = Objective(small.problem, loss, n_jobs=1)
            with contract(loss, "the sum of losses is that of the definition", where):
                require_close("it", objective.losses(w)[0], _by_definition(loss, small, w))
            if loss.smooth:
                with contract(loss, "the gradient is that of the definition", where):
                    slope = objective.losses(w, gradient=True)[1]
                    expected = numerical_gradient(lambda v: _by_definition(loss, small, v), w)  # noqa: B023
                    require_close("a derivative", slope, expected, smallest=1e-6, digits=1e-6)
            if loss.convex and loss.beta == inf:
                with contract(loss, "no loss is negative", where):
                    require(objective.losses(w)[0] >= 0, f"the sum is {objective.losses(w)[0]:.9g}")


def _by_definition(loss: LossFamily, small: SmallProblem, w: Array) -> float:
    """The sum of L(beta, gamma) over the examples, less that of L(beta, 0) for a difference of losses."""
    case, total = small.case, 0.0
    for i, outputs in enumerate(case.outputs):
        scores, gold = outputs.values(case.matrices[i] @ w), case.gold_index(i)
        costs = case.wrong(i) if loss.zero_one else case.costs[i]
        total += LossByDefinition.of(scores, costs, gold, loss.beta, loss.gamma).loss
        if not loss.convex:
            total -= LossByDefinition.of(scores, costs, gold, loss.beta, 0.0).loss
    return total
