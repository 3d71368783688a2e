"""The loss family L(beta, gamma) of 001, Fig. 1, and the costs of outputs.

`L(w) = max_beta(theta + gamma delta) + gamma c0 - <theta, y_gold>`, where `max_inf` is the ordinary maximum and
`max_beta(v) = 1/beta log sum_y exp(beta <v, y>)`. The names of the field are corners of the family:

| loss | beta | gamma |
| --- | --- | --- |
| `Log` (conditional random field) | 1 | 0 |
| `SoftmaxMargin` | 1 | 1 |
| `Hinge` (structural SVM, margin re-scaling) | inf | 1 |
| `Perceptron` | inf | 0 |

The hinge loss also comes with slack re-scaling and with quadratic slack or none (003, section 2.2): see `Hinge`.

Differences `L(beta, gamma) - L(beta, 0)` (001, footnote 1) are not convex, and bounded: at beta = inf the structured
`Ramp` loss, at beta = 1 `ExpectedCostBound`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margrave import _core
from margrave.checks import real, whole
from margrave.errors import MargraveError, unknown

# "hamming": one for every wrong label (or wrong head); "zero-one": one for every wrong output; a number for every label
# (what it costs to miss it), as a mapping or in the order of the classes; or a matrix from gold to predicted labels;
# "f1": one minus the F1 score of the output's parts, for cutting planes; or, for them too, any function of the gold and
# another output, which is then sought among the 100 best.
Cost: TypeAlias = str | Mapping[Any, float] | ArrayLike | Callable[[Any, Any], float]

_COSTS = ("hamming", "zero-one", "f1")
RESCALINGS = ("margin", "slack")


@dataclass(frozen=True, eq=False)
class LossFamily:
    """Any member of the family, with the cost that gamma multiplies.

    >>> LossFamily(beta=2.0, gamma=1.0).name
    'L(beta=2, gamma=1)'
    """

    convex: ClassVar[bool] = True

    beta: float = 1.0
    gamma: float = 0.0
    cost: Cost = "hamming"
    rescale: str = "margin"
    slack: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", real("beta", self.beta, "be positive (or infinite)", lambda beta: beta > 0))
        rule = "be finite and not negative"
        object.__setattr__(self, "gamma", real("gamma", self.gamma, rule, lambda gamma: 0 <= gamma < inf))
        if isinstance(self.cost, str) and self.cost not in _COSTS:
            raise unknown("cost", self.cost, _COSTS)
        if self.rescale not in RESCALINGS:
            raise unknown("re-scaling", self.rescale, RESCALINGS)
        object.__setattr__(self, "slack", whole("slack", self.slack, 0, 2))
        if (self.rescale, self.slack) != ("margin", 1) and (self.smooth or self.gamma != 1):
            raise MargraveError(
                "slack re-scaling and quadratic or no slack are for the hinge loss: beta = inf, gamma = 1."
            )
        if (self._f1 or callable(self.cost)) and (self.smooth or self.gamma != 1):
            raise MargraveError("the F1 cost and cost functions are for the hinge loss: beta = inf, gamma = 1.")

    @property
    def of_family(self) -> bool:
        """Whether it is a member of L(beta, gamma) with a cost that the core knows, as all learners take."""
        return self.rescale == "margin" and self.slack == 1 and not self._f1 and not callable(self.cost)

    @property
    def _f1(self) -> bool:
        return isinstance(self.cost, str) and self.cost == "f1"

    @property
    def cost_kind(self) -> str:
        """What the core calls the cost, unless it is a function."""
        return "zero-one" if self.zero_one else "f1" if self._f1 else "parts"

    @property
    def name(self) -> str:
        """The field's name of this member, or its coordinates."""
        if not self.of_family:
            return self._hinge_name()
        names = {(1.0, 0.0): "log", (1.0, 1.0): "softmax-margin", (inf, 1.0): "hinge", (inf, 0.0): "perceptron"}
        return names.get((self.beta, self.gamma), f"L(beta={self.beta:g}, gamma={self.gamma:g})")

    def _hinge_name(self) -> str:
        """What 003 calls SVM0, SVM1 and SVM2, with its re-scaling."""
        slack = ("hard margin", "linear slack", "quadratic slack")[self.slack]
        what = "" if self.slack == 0 else f"{self.rescale} re-scaling, "
        cost = ", F1 cost" if self._f1 else ", a cost function" if callable(self.cost) else ""
        return f"hinge ({what}{slack}{cost})"

    @property
    def smooth(self) -> bool:
        """Whether beta is finite, so that the loss has a gradient everywhere."""
        return self.beta < inf

    @property
    def zero_one(self) -> bool:
        """Whether the cost is one for every output but the gold one."""
        return isinstance(self.cost, str) and self.cost == "zero-one"

    def beyond_parts(self, problem: _core.Problem) -> bool:
        """Whether its cost is no sum over the parts of this problem's outputs, and counts."""
        return self.zero_one and self.gamma > 0 and not problem.zero_one_is_of_parts

    @property
    def needs(self) -> tuple[str, ...]:
        """What the loss asks of a structure."""
        if self.smooth:
            return ("logsum",)
        if self._f1:
            return ("argmax_by_cost",)
        best = self.zero_one or self.slack == 0 or callable(self.cost)
        return ("argmax", "kbest") if best and self.gamma > 0 else ("argmax",)

    def cost_matrix(self, classes: Sequence[Any]) -> NDArray[np.float64]:
        """The cost of predicting one label where another is right: (gold, predicted).

        >>> Hinge(cost={"a": 3.0}).cost_matrix(["a", "b"])
        array([[0., 3.],
               [1., 0.]])
        """
        n = len(classes)
        if isinstance(self.cost, str) or callable(self.cost):
            return 1.0 - np.eye(n)
        if isinstance(self.cost, Mapping):
            for label in self.cost:
                if label not in classes:
                    raise unknown("label in the costs", label, map(str, classes))
            costs: Any = [self.cost.get(label, 1.0) for label in classes]
        else:
            costs = self.cost
        try:
            array = np.asarray(costs, dtype=np.float64)
        except (TypeError, ValueError):
            raise MargraveError(
                "costs must be numbers: one a label, or a matrix from gold to predicted labels."
            ) from None
        if not np.isfinite(array).all() or (array < 0).any():
            raise MargraveError("costs must be finite, not negative, and zero for the right label.")
        if array.shape == (n,):
            array = array[:, None] * (1.0 - np.eye(n))
        if array.shape != (n, n):
            raise MargraveError(
                f"costs must be one number a label or a matrix from gold to predicted labels: shape ({n},) or "
                f"({n}, {n}), not {array.shape}."
            )
        if array.diagonal().any():
            raise MargraveError("costs must be finite, not negative, and zero for the right label.")
        return np.ascontiguousarray(array)


class Log(LossFamily):
    """The negative log-likelihood: conditional random fields, logistic regression."""

    def __init__(self) -> None:
        super().__init__(beta=1.0, gamma=0.0)


class Hinge(LossFamily):
    """The structured hinge loss: structural SVMs, max-margin Markov networks.

    xi_i = max(0, max_y H(y)) with m(y) = <theta, y_gold - y> and H(y) = cost(y) - m(y) (`rescale="margin"`) or
    cost(y) (1 - m(y)) (`rescale="slack"`); L_i = xi_i with linear slack, L_i = 1/2 xi_i^2 with `slack=2`, where the
    square root of the cost takes its place (003, section 2.2; its C is n times ours). `slack=0` is a hard margin, SVM0:
    1/2 |w|^2 alone, every other output at least 1 below the gold one; C and the cost play no part.

    >>> Hinge(rescale="slack", slack=2).name
    'hinge (slack re-scaling, quadratic slack)'
    """

    def __init__(self, cost: Cost = "hamming", rescale: str = "margin", slack: int = 1) -> None:
        super().__init__(beta=inf, gamma=1.0, cost=cost, rescale=rescale, slack=slack)


class SoftmaxMargin(LossFamily):
    """The log loss with the cost inside its partition function."""

    def __init__(self, cost: Cost = "hamming") -> None:
        super().__init__(beta=1.0, gamma=1.0, cost=cost)


class Perceptron(LossFamily):
    """The loss of the structured perceptron: what the best output scores above the gold one."""

    def __init__(self) -> None:
        super().__init__(beta=inf, gamma=0.0)


class DifferenceOfLosses(LossFamily):
    """L(beta, gamma) - L(beta, 0) = log E exp(beta gamma cost) / beta, expected under the model exp(beta score).

    At most gamma times the largest cost, whatever the weights: no single example outweighs the others, at the price of
    convexity. Learner 'cccp' minimises it.

    >>> DifferenceOfLosses(beta=2.0, gamma=1.0).name
    'dL(beta=2, gamma=1)'
    """

    convex: ClassVar[bool] = False

    def __init__(self, beta: float, gamma: float = 1.0, cost: Cost = "hamming") -> None:
        super().__init__(beta, gamma, cost)
        if self.gamma == 0:
            raise MargraveError("the gamma of a difference of losses must be positive: at 0 it is nothing.")

    @property
    def name(self) -> str:
        """The field's name of this difference, or its coordinates."""
        names = {(inf, 1.0): "ramp", (1.0, 1.0): "expected-cost"}
        return names.get((self.beta, self.gamma), f"dL(beta={self.beta:g}, gamma={self.gamma:g})")


class Ramp(DifferenceOfLosses):
    """The structured ramp loss: the hinge loss, less what the prediction scores above the gold output.

    It bounds the cost of the prediction from above.
    """

    def __init__(self, cost: Cost = "hamming") -> None:
        super().__init__(beta=inf, cost=cost)


class ExpectedCostBound(DifferenceOfLosses):
    """log E exp(cost) under the model, which bounds the expected cost (minimum risk training) from above."""

    def __init__(self, cost: Cost = "hamming") -> None:
        super().__init__(beta=1.0, cost=cost)


LOSSES: dict[str, type[LossFamily]] = {
    "log": Log,
    "hinge": Hinge,
    "softmax-margin": SoftmaxMargin,
    "perceptron": Perceptron,
    "ramp": Ramp,
    "expected-cost": ExpectedCostBound,
}


def loss_named(loss: str | LossFamily) -> LossFamily:
    """The loss of this name, or the loss itself."""
    if isinstance(loss, LossFamily):
        return loss
    if not isinstance(loss, str) or loss not in LOSSES:
        raise unknown("loss", loss, LOSSES)
    return LOSSES[loss]()
