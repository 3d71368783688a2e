"""The base of all learners.

A learner is a dataclass of settings with `begin(objective)`, which makes its state, and `one_pass(state)`, which
improves the state and returns the current weights with P and D. Everything else is shared: the objective
(`objective.py`), the loop (`run.py`), the checks of learner, loss and problem (`checks.py`), checkpoints and observers.
"""

from dataclasses import dataclass, fields
from importlib import import_module
from importlib.util import find_spec
from math import inf
from typing import Any, ClassVar

from margrave import _core
from margrave.errors import MargraveError, setting, unknown
from margrave.files.stored import import_modules
from margrave.learners.checks import OFFERS, check
from margrave.learners.objective import Objective, Step, Weights
from margrave.learners.run import Run, Solution
from margrave.losses import LossFamily
from margrave.options import Option, check_options, options_of
from margrave.stored import Stored

PACKAGES = ("margrave.learners", "margrave.learners.published")  # where the files of learners are


@dataclass
class Learner(Stored, kind="learner"):
    """The base of all learners. A class with a `name` in its body is registered under this name.

    `needs` lists what the learner requires: words of `checks.NEEDS`, and operations that the problem must offer in
    addition to those that the loss needs. `offers` lists words of `checks.OFFERS`, which say what the learner can do
    beyond minimizing a convex loss of the family, and what kind of result it returns.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    offers: ClassVar[tuple[str, ...]] = ()
    default_max_iter: ClassVar[int] = 100

    def __init_subclass__(cls, **settings: Any) -> None:
        for word in cls.offers:
            if word not in OFFERS:
                raise TypeError(f"{cls.__qualname__}.offers: {unknown('word', word, OFFERS)}")
        if isinstance(vars(cls).get("name"), str):
            Learner.find(cls.name)  # Another learner of this name is registered first, so that this one is refused.
        super().__init_subclass__(**settings)

    def __post_init__(self) -> None:
        for name, value in check_options(self, getattr(self, "name", "")).items():
            setattr(self, name, value)

    @classmethod
    def find(cls, name: str) -> "type[Learner] | None":
        """The learner with this name. The file of a learner has its name, so no other file is imported."""
        if name not in cls.registered:
            module = name.replace("-", "_")
            for package in PACKAGES:
                if module.isidentifier() and find_spec(f"{package}.{module}"):
                    import_module(f"{package}.{module}")
        return cls.registered.get(name)

    @classmethod
    def missing(cls, name: str) -> str:
        """The name alone: a model can be applied without the learner that trained it."""
        return name

    @classmethod
    def options(cls) -> list[Option]:
        """Its settings, with their types, defaults and help texts."""
        return options_of(cls)

    def settings(self) -> dict[str, Any]:
        """The settings in the form that checkpoints compare; an inner learner is given by its name and settings."""
        values: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, Learner):
                value = {"name": value.name, "settings": value.settings()}
            values[each.name] = list(value) if isinstance(value, tuple) else value
        return values

    def check(self, loss: LossFamily, problem: _core.Problem) -> None:
        """Refuse a combination that cannot work, in one sentence that says what would work.

        A learner with further conditions overrides this method and calls it first.

        Parameters
        ----------
        loss : the loss to minimize.
        problem : the problem.
        """
        check(self, loss, problem)

    def check_packages(self) -> None:
        """Refuse a setting that needs a package that is not installed, before any work is done."""

    def most_iterations(self, objective: Objective) -> int:
        """The number of passes after which to give up: that of the objective, or the learner's own default."""
        return objective.max_iter or self.default_max_iter

    def resolve(self, loss: LossFamily, problem: _core.Problem, C: float = 1.0, tol: float = 1e-4) -> "Learner":
        """The learner that does the work: itself, unless it chooses another one, for C_i up to this C."""
        return self

    def required_bytes(self, loss: LossFamily, problem: _core.Problem) -> int | None:
        """The memory that a run takes besides data and weights; None if it is not known before the run."""
        return None

    @property
    def resumable(self) -> bool:
        """Whether it can make a state for a checkpoint to fill."""
        return type(self).blank is not Learner.blank

    def blank(self, objective: Objective) -> Any:
        """An initial state, which a checkpoint can overwrite."""
        raise MargraveError(
            f"the learner {type(self).__name__} does not say how it begins: it needs blank(objective), or "
            "begin(objective) where there is no checkpoint."
        )

    def begin(self, objective: Objective) -> Any:
        """The state before the first pass."""
        return self.blank(objective)

    def continue_with(self, state: Any, objective: Objective) -> Any:
        """A state for the same problem with another C, which starts from the end of another run.

        Parameters
        ----------
        state : the state of the other run.
        objective : the objective with the other C.
        """
        raise MargraveError(
            f"learner '{self.name}' cannot continue from one C to the next: use ",
            setting(learner=("eg", "bcfw", "lbfgs")),
            ".",
        )

    def one_pass(self, state: Any) -> Step:
        """Make one pass over the data, which improves the state."""
        raise MargraveError(f"the learner {type(self).__name__} has no passes.")

    def certify(self, state: Any) -> Step:
        """P, D and the gap at the current state, where its passes do not compute them; one pass or more."""
        return Step(state.w, *state.objective.certify(state.w))

    def known_primal(self, state: Any, w: Weights) -> float:
        """A lower bound on P of any weights by the outputs that are known now; -inf if none are remembered.

        It is asked for where searches are not exact: weights of an earlier pass may have outputs that were missed then.

        Parameters
        ----------
        state : the state, which may remember outputs.
        w : the weights.
        """
        objective = state.objective
        return objective.primal(w) if getattr(objective.problem, "remembers", False) else -inf

    def result(self, state: Any) -> Weights | None:
        """The weights that the last pass returned; None if the state knows their P, or nothing depends on it."""
        return None

    def note(self, state: Any) -> str:
        """A note to append to the stopping reason; empty if there is none."""
        return ""

    def solve(self, objective: Objective, state: Any = None) -> Solution:
        """Make passes until the gap reaches the tolerance, the learner is done, or `max_iter` is reached.

        Parameters
        ----------
        objective : the objective.
        state : the state to begin with; None uses the learner's initial state.
        """
        self.check(objective.loss, objective.problem)
        if not {"another objective", "perceptron loss"} & set(self.offers):
            objective.check_scale()
        return Run(self, objective).solve(state)


def learner_named(learner: str | Learner) -> Learner:
    """Return the learner with this name and default settings, or the learner itself.

    Parameters
    ----------
    learner : a name or a learner.
    """
    if isinstance(learner, Learner):
        return learner
    found = Learner.find(learner) if isinstance(learner, str) else None
    if found is None:
        raise unknown("learner", learner, sorted(all_learners()))
    return found()


def all_learners() -> dict[str, type[Learner]]:
    """All learners by name, those of users included; this imports every file of learners."""
    for package in PACKAGES:
        import_modules(package)
    return Learner.registered
