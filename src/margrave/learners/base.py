"""The base of all learners.

A learner is a dataclass of settings with `begin(task)`, which makes its state, and `one_pass(state)`, which improves
it and says where it stands. Everything else is shared: the task (`task.py`), the loop (`run.py`), the checks of what
goes with what (`checks.py`), checkpoints and observers.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from margrave import _core
from margrave.errors import MargraveError, unknown
from margrave.files.stored import Stored
from margrave.learners.checks import OFFERS, check
from margrave.learners.run import Run, Solution
from margrave.learners.task import Step, Task
from margrave.losses import LossFamily


@dataclass(frozen=True)
class Option:
    """A setting of a learner, for help texts and tables."""

    name: str
    type: Any
    default: Any
    help: str  # a sentence; empty if the learner's author gave none
    choices: tuple[Any, ...] = ()  # all values that it can have, if they can be listed


def option(default: Any, help: str, *, choices: Collection[Any] = ()) -> Any:
    """A field of a learner with its help text, which is a sentence, and its choices if they can be listed."""
    return field(default=default, metadata={"help": help, "choices": tuple(choices)})


@dataclass
class Learner(Stored, kind="learner"):
    """The base of all learners. A class with a `name` of its own is registered under it.

    `needs` says what the learner requires: words of `checks.NEEDS`, and operations that the problem must offer beyond
    those that the loss needs. `offers` has words of `checks.OFFERS`: what it can do beyond minimising a convex loss of
    the family, and what its result is like.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    offers: ClassVar[tuple[str, ...]] = ()
    default_max_iter: ClassVar[int] = 100

    def __init_subclass__(cls, **settings: Any) -> None:
        for word in cls.offers:
            if word not in OFFERS:
                raise TypeError(f"{cls.__qualname__}.offers: {unknown('word', word, OFFERS)}")
        super().__init_subclass__(**settings)

    @classmethod
    def missing(cls, name: str) -> str:
        """The name alone: a model can be applied without the learner that trained it."""
        return name

    @classmethod
    def options(cls) -> list[Option]:
        """Its settings, with their types, defaults and help texts."""
        return [
            Option(each.name, each.type, each.default, each.metadata.get("help", ""), each.metadata.get("choices", ()))
            for each in fields(cls)
        ]

    def settings(self) -> dict[str, Any]:
        """The settings in the form that a checkpoint compares; an inner learner is given by name and settings."""
        values: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, Learner):
                value = {"name": value.name, "settings": value.settings()}
            values[each.name] = list(value) if isinstance(value, tuple) else value
        return values

    def check(self, loss: LossFamily, problem: _core.Problem) -> None:
        """Refuses a combination that cannot work, in one sentence that says what would.

        A learner with conditions of its own overrides this, and calls it first.
        """
        check(self, loss, problem)

    def check_packages(self) -> None:
        """Refuses, before any work, a setting that needs a package which is not installed."""

    def most_iterations(self, task: Task) -> int:
        """The number of passes after which to give up: that of the task, or the learner's own default."""
        return task.max_iter or self.default_max_iter

    def resolve(self, loss: LossFamily, problem: _core.Problem) -> "Learner":
        """The learner that does the work: itself, unless its task is to choose one."""
        return self

    @property
    def resumable(self) -> bool:
        """Whether it can make a state for a checkpoint to fill."""
        return type(self).blank is not Learner.blank

    def blank(self, task: Task) -> Any:
        """A state without any work done, for a checkpoint to fill."""
        raise MargraveError(
            f"the learner {type(self).__name__} does not say how it begins: it needs blank(task), or begin(task) where "
            "there is no checkpoint."
        )

    def begin(self, task: Task) -> Any:
        """The state before the first pass."""
        return self.blank(task)

    def carry(self, state: Any, task: Task) -> Any:
        """A state for the same problem at another C, which begins where another run ended."""
        raise MargraveError(
            f"learner '{self.name}' cannot go on from one C to the next: use learner='eg', 'bcfw' or 'lbfgs'."
        )

    def one_pass(self, state: Any) -> Step:
        """One improvement."""
        raise MargraveError(f"the learner {type(self).__name__} has no passes.")

    def certify(self, state: Any) -> Step:
        """P, D and the gap at the current state; one pass or more. For learners whose passes leave P out."""
        raise MargraveError(f"the learner {type(self).__name__} computes no P.")

    def solve(self, task: Task, state: Any = None) -> Solution:
        """Passes until the certificate is good enough, the learner is done, or the passes are used up.

        `state` is where to begin, if not where the learner itself would.
        """
        self.check(task.loss, task.problem)
        return Run(self, task).solve(state)


def learner_named(learner: str | Learner) -> Learner:
    """The learner of this name with its defaults, or the configured learner itself."""
    if isinstance(learner, Learner):
        return learner
    if not isinstance(learner, str) or learner not in Learner.registered:
        raise unknown("learner", learner, sorted(Learner.registered))
    named: Learner = Learner.registered[learner]()
    return named
