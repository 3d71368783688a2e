"""Block-coordinate Frank-Wolfe; at finite beta, stochastic dual coordinate ascent (docs/design.md, section 1)."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, whole
from margrave.errors import MargraveError
from margrave.learners.base import Learner, Step, Task, Weights
from margrave.learners.dual import DualState, blank_blocks, certified, check_order, gold_counts
from margrave.losses import LossFamily

_MEMORY = 10  # outputs without mass that a block remembers
_ENOUGH = 0.1  # of the gap that a visit found: what it leaves between the outputs that it knows


@dataclass
class BCFW(Learner):
    """Mixes each example's distribution with the loss's own at w, by exact line search.

    Where beta is infinite, `pairwise` steps (the default) move mass between outputs that a block remembers, up to
    `cached_steps` for each of them after an inference; without it mass moves to the new output from all old ones alike.
    `order`: "shuffled", "cyclic", or "gap" (examples drawn by their gaps). `averaging`: the result is the average of
    the passes' weights, later ones counting more. `exact_entropy`: at finite beta, line search over the entropy of the
    mixture itself, where the structure offers `entropy` and its parts are untied, instead of a bound on it.

    >>> BCFW(pairwise=False, averaging=True).name
    'bcfw'
    """

    name: ClassVar[str] = "bcfw"
    reaches_tol: ClassVar[bool] = True
    default_max_iter: ClassVar[int] = 1000

    pairwise: bool = True
    cached_steps: int = 10
    order: str = "shuffled"
    averaging: bool = False
    exact_entropy: bool = False

    def __post_init__(self) -> None:
        self.pairwise = flag("pairwise", self.pairwise)
        self.cached_steps = whole("cached_steps", self.cached_steps, 0, 10**6)
        check_order(self.order)
        self.averaging = flag("averaging", self.averaging)
        self.exact_entropy = flag("exact_entropy", self.exact_entropy)

    def blank(self, task: Task) -> "_State":
        """All mass on the gold outputs, so that w = 0."""
        if self._pairwise(task.loss):
            return _State(**blank_blocks(task), blocks=_core.Blocks(task.problem))
        return _State(**blank_blocks(task), mu=gold_counts(task))

    def begin(self, task: Task) -> "_State":
        """The same, if the loss and the structure allow what is asked for."""
        if task.loss.smooth and not getattr(task.problem, "any_scores", True):
            raise MargraveError(
                f"learner 'bcfw' keeps distributions over parts under {task.loss.name}, and this problem has none: use "
                "learner='lbfgs', or loss='hinge'."
            )
        if self.exact_entropy and not (task.loss.smooth and {"entropy", "untied"} <= set(task.problem.offers)):
            raise MargraveError(
                "exact_entropy needs a finite beta and a structure with entropies of untied parts: leave it out."
            )
        return self.blank(task)

    def carry(self, state: "_State", task: Task) -> "_State":
        """The same alpha at another C."""
        state.rescale(task)
        state.average, state.average_value = np.zeros(0), 0.0
        return state

    def one_pass(self, state: "_State") -> Step:
        """Visits all examples."""
        task = state.task
        order = state.visits(self.order, self.order == "shuffled" and self._pairwise(task.loss))
        ascent = task.ascent(state.w, order)
        if state.blocks is not None:
            _core.pairwise_pass(*ascent, state.blocks, state.gap, self.cached_steps, _MEMORY, _ENOUGH)
        else:
            _core.mixing_pass(*ascent, state.mu, state.entropy, state.cost, state.gap, self.exact_entropy)
        state.count(len(order))
        state.settle()
        if not self.averaging:
            return state.step()
        state.include()
        return Step(state.average.copy(), dual=state.average_dual(), estimate=state.estimate())

    def certify(self, state: "_State") -> Step:
        """P and the gap; one pass. An average of dual points is one: D at the average of alpha."""
        if self.averaging:
            return certified(state.task, state.average.copy(), state.average_value)
        state.settle()  # an interrupted pass has not
        return state.certify(state.mu if state.blocks is None else state.blocks.marginals(state.task.problem))

    def _pairwise(self, loss: LossFamily) -> bool:
        return self.pairwise and not loss.smooth


@dataclass(kw_only=True)
class _State(DualState):
    mu: Weights = field(default_factory=lambda: np.zeros(0))  # of all examples, one after another; or
    blocks: Any = None  # the outputs that have mass
    average: Weights = field(default_factory=lambda: np.zeros(0))
    average_value: float = 0.0  # of D without the norm

    def settle(self) -> None:
        """The expected costs of blocks that keep outputs."""
        if self.blocks is not None:
            self.cost = self.blocks.costs()

    def include(self) -> None:
        """Pass k counts k times: the weighted averages of Lacoste-Julien et al. (2013), over whole passes."""
        share = 2 / (self.turn + 1)
        if not len(self.average):
            self.average = np.zeros_like(self.w)
        self.average += share * (self.w - self.average)
        self.average_value += share * (self.value() - self.average_value)

    def average_dual(self) -> float:
        """D at the average of alpha, from below: the entropy is concave."""
        return self.average_value - 0.5 * self.task.problem.dot(self.average, self.average)

    def pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The blocks as arrays."""
        plain, arrays = super().pack()
        if plain.pop("blocks") is not None:
            arrays |= dict(zip(_BLOCKS, self.blocks.arrays(), strict=True))
        return plain, arrays

    def unpack(self, plain: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """The blocks from arrays."""
        blocks = self.blocks
        if blocks is not None:
            kept = [np.ascontiguousarray(arrays[name]) for name in _BLOCKS]
            blocks = _core.Blocks.from_arrays(self.task.problem, *kept)
        super().unpack(plain | {"blocks": blocks}, arrays)


_BLOCKS = ("atom_begin", "part_begin", "parts", "alpha", "atom_cost", "gram")
