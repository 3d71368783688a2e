"""The loss family L(beta, gamma) of 001, Fig. 1, and the costs of outputs.

`L(w) = max_beta(theta + gamma delta) + gamma c0 - <theta, y_gold>`, where `max_inf` is the ordinary maximum and
`max_beta(v) = 1/beta log sum_y exp(beta <v, y>)`. The well-known losses are corners of the family:

| loss | beta | gamma |
| --- | --- | --- |
| `Log` (conditional random field) | 1 | 0 |
| `SoftmaxMargin` | 1 | 1 |
| `Hinge` (structural SVM, margin re-scaling) | inf | 1 |
| `Perceptron` | inf | 0 |

The hinge loss also exists with slack re-scaling, with quadratic slack and with a hard margin (003, section 2.2): see
`Hinge`.

Differences `L(beta, gamma) - L(beta, 0)` (001, footnote 1) are bounded but not convex. They are the structured `Ramp`
loss at beta = inf, and `ExpectedCostBound` at beta = 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import real, whole
from margrave.errors import MargraveError, unknown
from margrave.losses.costs import F1, Cost, CostFunction, CostLike, ZeroOne, cost_named
from margrave.stored import Stored

RESCALINGS = ("margin", "slack")


@dataclass(frozen=True, eq=False)
class LossFamily(Stored, kind="loss"):
    """Any member of the family L(beta, gamma).

    Model files store the `name` of the class; the `name` of an object says which member it is.

    Parameters
    ----------
    beta : the inverse temperature, positive or infinite; an infinite beta makes the soft maximum a maximum.
    gamma : the factor on the cost.
    cost : the cost of wrong outputs: "hamming", "zero-one", or any other form that `margrave.losses.cost_named` takes.
    rescale, slack : see `Hinge`; other losses do not have them.

    >>> LossFamily(beta=2.0, gamma=1.0).name
    'L(beta=2, gamma=1)'
    """

    name: ClassVar[str] = "family"
    convex: ClassVar[bool] = True
    latent: ClassVar[bool] = False  # whether the loss over the good outputs alone is subtracted

    beta: float = 1.0
    gamma: float = 0.0
    cost: CostLike = "hamming"
    rescale: str = "margin"
    slack: int = 1
    costs: Cost = field(init=False, repr=False)  # the cost as an object

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", real("beta", self.beta, "be positive (or infinite)", lambda beta: beta > 0))
        rule = "be finite and not negative"
        object.__setattr__(self, "gamma", real("gamma", self.gamma, rule, lambda gamma: 0 <= gamma < inf))
        object.__setattr__(self, "costs", cost_named(self.cost))
        if self.rescale not in RESCALINGS:
            raise unknown("re-scaling", self.rescale, RESCALINGS)
        object.__setattr__(self, "slack", whole("slack", self.slack, 0, 2))
        if (self.rescale, self.slack) != ("margin", 1) and (self.smooth or self.gamma != 1):
            raise MargraveError(
                "slack re-scaling, quadratic slack and hard margins require the hinge loss: beta = inf, gamma = 1."
            )
        if self.costs.of_whole_outputs and (self.smooth or self.gamma != 1):
            raise MargraveError("the F1 cost and cost functions require the hinge loss: beta = inf, gamma = 1.")
        object.__setattr__(self, "name", self._member_name())

    @property
    def of_family(self) -> bool:
        """Whether it is a member of L(beta, gamma) with a cost that the core knows, which all learners accept."""
        return self.rescale == "margin" and self.slack == 1 and not self.costs.of_whole_outputs

    @property
    def cost_kind(self) -> str:
        """The core's name of the cost, unless the cost is a function."""
        return self.costs.name if isinstance(self.costs, ZeroOne | F1) else "parts"

    def _member_name(self) -> str:
        """The usual name of this member, or its coordinates."""
        if not self.of_family:
            return self._hinge_name()
        names = {(1.0, 0.0): "log", (1.0, 1.0): "softmax-margin", (inf, 1.0): "hinge", (inf, 0.0): "perceptron"}
        return names.get((self.beta, self.gamma), f"L(beta={self.beta:g}, gamma={self.gamma:g})")

    def _hinge_name(self) -> str:
        """The name of the structural SVM, with its re-scaling."""
        slack = ("hard margin", "linear slack", "quadratic slack")[self.slack]
        what = "" if self.slack == 0 else f"{self.rescale} re-scaling, "
        named = {F1: ", F1 cost", CostFunction: ", a cost function"}
        return f"hinge ({what}{slack}{named.get(type(self.costs), '')})"

    @property
    def smooth(self) -> bool:
        """Whether beta is finite, so that the loss has a gradient everywhere."""
        return self.beta < inf

    @property
    def zero_one(self) -> bool:
        """Whether the cost is 1 for every output except the gold one."""
        return isinstance(self.costs, ZeroOne)

    def beyond_parts(self, problem: _core.Problem) -> bool:
        """Whether the loss uses its cost, and the cost does not decompose over the parts of this problem's outputs."""
        return self.zero_one and self.gamma > 0 and not problem.zero_one_is_of_parts

    def charges_good(self, problem: _core.Problem) -> bool:
        """Whether the loss compares whole outputs with the first good one of an example that has several."""
        whole = self.beyond_parts(problem) or self.slack == 0 or self.costs.of_whole_outputs
        return whole and "good" in problem.offers and any(problem.gold_count(i) > 1 for i in range(problem.size))

    def core(
        self, C: float = 1.0, sample_weight: NDArray[np.float64] | None = None, *, gamma: float | None = None
    ) -> _core.LossFamily:
        """The loss with C and the weights of the examples, as the passes of the core take it.

        `gamma` takes the place of its own: at 0 it is what a difference of losses subtracts.
        """
        return _core.LossFamily(self.beta, self.gamma if gamma is None else gamma, self.zero_one, C, sample_weight)

    @property
    def needs(self) -> tuple[str, ...]:
        """The operations that the loss requires of a structure."""
        if self.smooth:
            return ("logsum",)
        if isinstance(self.costs, F1):
            return ("argmax_by_cost",)
        best = self.zero_one or self.slack == 0 or isinstance(self.costs, CostFunction)
        return ("argmax", "kbest") if best and self.gamma > 0 else ("argmax",)

    def cost_matrix(self, classes: Sequence[Any]) -> NDArray[np.float64]:
        """The cost of predicting one label when another is right, as a (gold, predicted) matrix.

        >>> Hinge(cost={"a": 3.0}).cost_matrix(["a", "b"])
        array([[0., 3.],
               [1., 0.]])
        """
        return self.costs.matrix(classes)

    def stored_settings(self) -> dict[str, Any]:
        """The arguments of its constructor."""
        return {name: getattr(self, name) for name in self.arguments}

    arguments: ClassVar[tuple[str, ...]] = ("beta", "gamma", "cost", "rescale", "slack")

    @classmethod
    def from_settings(cls, settings: Any) -> Any:
        """A loss with these arguments."""
        for each in settings:
            if each not in cls.arguments:
                raise MargraveError(f"the loss {cls.name!r} has no setting {each!r}.")
        return cls(**settings)


class Log(LossFamily):
    """The negative log-likelihood: conditional random fields, logistic regression."""

    name: ClassVar[str] = "log"
    arguments: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        super().__init__(beta=1.0, gamma=0.0)


class Hinge(LossFamily):
    """The structured hinge loss: structural SVMs, max-margin Markov networks.

    The slack of an example is xi_i = max(0, max_y H(y)), with m(y) = <theta, y_gold - y> and H(y) as given by
    `rescale` (Tsochantaridis et al. 2005, section 2.2; their C is n times ours).

    Parameters
    ----------
    cost : the cost of wrong outputs: "hamming", "zero-one", or any other form that `margrave.losses.cost_named` takes.
    rescale : "margin", H(y) = cost(y) - m(y), or "slack", H(y) = cost(y) (1 - m(y)).
    slack : 1 for linear slack, L_i = xi_i; 2 for quadratic slack, L_i = 1/2 xi_i^2, where H uses the square root of
        the cost; 0 for a hard margin (SVM0), which minimizes 1/2 |w|^2 such that every other output scores at least 1
        below the gold one, and ignores C and the cost.

    >>> Hinge(rescale="slack", slack=2).name
    'hinge (slack re-scaling, quadratic slack)'
    """

    name: ClassVar[str] = "hinge"
    arguments: ClassVar[tuple[str, ...]] = ("cost", "rescale", "slack")

    def __init__(self, cost: CostLike = "hamming", rescale: str = "margin", slack: int = 1) -> None:
        super().__init__(beta=inf, gamma=1.0, cost=cost, rescale=rescale, slack=slack)


class SoftmaxMargin(LossFamily):
    """The log loss with the cost inside its partition function.

    Parameters
    ----------
    cost : the cost of wrong outputs, as in `Hinge`.
    """

    name: ClassVar[str] = "softmax-margin"
    arguments: ClassVar[tuple[str, ...]] = ("cost",)

    def __init__(self, cost: CostLike = "hamming") -> None:
        super().__init__(beta=1.0, gamma=1.0, cost=cost)


class Perceptron(LossFamily):
    """The loss of the structured perceptron: the score of the best output minus that of the gold output."""

    name: ClassVar[str] = "perceptron"
    arguments: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        super().__init__(beta=inf, gamma=0.0)


class DifferenceOfLosses(LossFamily):
    """L(beta, gamma) - L(beta, 0) = log E exp(beta gamma cost) / beta, expected under the model exp(beta score).

    For any weights it is at most gamma times the largest cost, so that no single example can outweigh the others, but
    it is not convex. Learner 'cccp' minimizes it.

    Parameters
    ----------
    beta : the inverse temperature, positive or infinite.
    gamma : the factor on the cost, which must be positive.
    cost : the cost of wrong outputs, as in `Hinge`.

    >>> DifferenceOfLosses(beta=2.0, gamma=1.0).name
    'dL(beta=2, gamma=1)'
    """

    name: ClassVar[str] = "difference"
    arguments: ClassVar[tuple[str, ...]] = ("beta", "gamma", "cost")
    convex: ClassVar[bool] = False

    def __init__(self, beta: float, gamma: float = 1.0, cost: CostLike = "hamming") -> None:
        super().__init__(beta, gamma, cost)
        if self.gamma == 0:
            raise MargraveError("the gamma of a difference of losses must be positive: at 0 the loss is zero.")

    def _member_name(self) -> str:
        """The usual name of this difference, or its coordinates."""
        names = {(inf, 1.0): "ramp", (1.0, 1.0): "expected-cost"}
        return names.get((self.beta, self.gamma), f"dL(beta={self.beta:g}, gamma={self.gamma:g})")


class Ramp(DifferenceOfLosses):
    """The structured ramp loss: the hinge loss minus the perceptron loss.

    It is an upper bound on the cost of the prediction.

    Parameters
    ----------
    cost : the cost of wrong outputs, as in `Hinge`.
    """

    name: ClassVar[str] = "ramp"
    arguments: ClassVar[tuple[str, ...]] = ("cost",)

    def __init__(self, cost: CostLike = "hamming") -> None:
        super().__init__(beta=inf, cost=cost)


class ExpectedCostBound(DifferenceOfLosses):
    """log E exp(cost) under the model, an upper bound on the expected cost (minimum risk training).

    Parameters
    ----------
    cost : the cost of wrong outputs, as in `Hinge`.
    """

    name: ClassVar[str] = "expected-cost"
    arguments: ClassVar[tuple[str, ...]] = ("cost",)

    def __init__(self, cost: CostLike = "hamming") -> None:
        super().__init__(beta=1.0, cost=cost)


class LatentLog(LossFamily):
    """log Z - log Z_good: minus the log of the probability of all good outputs together.

    It is for structures with several good outputs that are not listed, such as the paths of a lattice that spell a good
    string. It is not convex. Learners 'cccp' and 'lbfgs' minimize it.
    """

    name: ClassVar[str] = "latent-log"
    arguments: ClassVar[tuple[str, ...]] = ()
    convex: ClassVar[bool] = False
    latent: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__(beta=1.0, gamma=0.0)

    def _member_name(self) -> str:
        return "latent-log"

    @property
    def needs(self) -> tuple[str, ...]:
        """The operations that the loss requires of a structure."""
        return ("logsum", "good")


class LatentHinge(LossFamily):
    """max (score + cost) - max over good outputs of the score: the hinge loss against the best good output.

    It is for structures with several good outputs that are not listed. It is not convex. Learner 'cccp' minimizes it.

    Parameters
    ----------
    cost : the cost of wrong outputs, as in `Hinge`; good outputs cost nothing.
    """

    name: ClassVar[str] = "latent-hinge"
    arguments: ClassVar[tuple[str, ...]] = ("cost",)
    convex: ClassVar[bool] = False
    latent: ClassVar[bool] = True

    def __init__(self, cost: CostLike = "hamming") -> None:
        super().__init__(beta=inf, gamma=1.0, cost=cost)

    def _member_name(self) -> str:
        return "latent-hinge"

    @property
    def needs(self) -> tuple[str, ...]:
        """The operations that the loss requires of a structure."""
        return ("argmax", "good")


_GENERAL = ("family", "difference")  # These need coordinates, so that a name alone does not determine them.


def loss_names() -> list[str]:
    """The names that `loss_named` accepts."""
    return [name for name in LossFamily.registered if name not in _GENERAL]


LOSSES: dict[str, type[LossFamily]] = {name: LossFamily.registered[name] for name in loss_names()}


def loss_named(loss: str | LossFamily) -> LossFamily:
    """Return the loss with this name, or the loss itself.

    Parameters
    ----------
    loss : a name from `loss_names()`, or a loss object.
    """
    if isinstance(loss, LossFamily):
        return loss
    if not isinstance(loss, str) or loss not in loss_names():
        raise unknown("loss", loss, loss_names())
    named: LossFamily = LossFamily.registered[loss]()
    return named
