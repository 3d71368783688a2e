"""What a task is to the commands: options of its own, data to train on, and how a trained model is applied."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self

from margrave.cli.options import CommandOption, settings_options
from margrave.errors import DataError, MargraveError
from margrave.options import options_of
from margrave.settings.learning import LearningSettings

if TYPE_CHECKING:
    from margrave.estimators.base import StructuredEstimator

DEFAULT_TASK = "tagging"


@dataclass(eq=False, repr=False)
class Job:
    """An estimator with its settings, its data, and how the two are reported."""

    estimator: "StructuredEstimator"
    X: Any
    y: Any
    sizes: dict[str, int]  # of the data
    metadata: dict[str, Any]  # what the model must know to read data, besides its inputs
    dev: tuple[Any, Any] | None
    score: Callable[[Any, Any], dict[str, float | None]]  # of the gold and the predicted outputs of dev
    fit_options: dict[str, Any] = field(default_factory=dict)
    dev_options: dict[str, Any] = field(default_factory=dict)  # what `predict` takes besides the inputs of dev


class Model(ABC):
    """A trained model that knows how to read data: what `predict` and `evaluate` apply."""

    does: ClassVar[str]  # in a few words
    options: ClassVar[tuple[str, ...]] = ()  # of `predict`, `evaluate` and `inspect` that are its own

    def accepted(self, path: str, given: Mapping[str, Any], declared: Mapping[str, CommandOption]) -> dict[str, Any]:
        """The options that were given, if all belong to this model; `path` is where it is from."""
        for name in given:
            if name not in self.options:
                option = declared[name]
                raise DataError(
                    path, None, f"{option.flag} applies to {option.applies} only, and this model {self.does}."
                )
        return dict(given)

    @abstractmethod
    def predicted_lines(self, path: str, marginals: bool, **options: Any) -> Iterator[list[str]]:
        """The lines to write, batch by batch; `marginals` asks for the probability of each prediction."""

    @abstractmethod
    def evaluation(self, path: str, **options: Any) -> dict[str, Any]:
        """The scores on labeled data, as JSON can hold them."""

    @abstractmethod
    def evaluation_summary(self, report: Mapping[str, Any]) -> str:
        """The same as people read it."""

    def illustration(self, **options: Any) -> dict[str, Any]:
        """What its own options of `inspect` ask for, as JSON can hold it."""
        return {}

    def illustration_summary(self, report: Mapping[str, Any]) -> str:
        """The same as people read it."""
        return ""


@dataclass(eq=False, repr=False)
class Task(ABC):
    """A kind of model to train. A subclass with a `name` is registered; it is a dataclass.

    Its options of `margrave train` are the settings of the estimator that it offers, and its own fields that are
    declared by `margrave.options.option`. An object has the values that were given, or else the defaults;
    `__post_init__` refuses options that contradict each other, before any data are read.
    """

    registered: ClassVar[dict[str, type["Task"]]] = {}

    name: ClassVar[str]
    summary: ClassVar[str]  # what it learns, in a few words
    estimator: ClassVar[str]  # "module:class", which is imported when it is needed: help must be fast
    also: ClassVar[tuple[str, ...]] = ()  # the names of further classes of models that it trains
    settings: ClassVar[type[LearningSettings]] = LearningSettings  # those of the estimator
    fields: ClassVar[tuple[str, ...]] = ()  # the settings that are options, besides those that all tasks share
    flags: ClassVar[Mapping[str, str]] = {}  # what the command line calls some of these settings
    own_cost: ClassVar[bool] = False  # whether the cost belongs to the estimator or the data, not to the loss
    data: ClassVar[str]  # what its files look like, for help
    sample: ClassVar[str]  # some lines of such a file, for help
    examples: ClassVar[tuple[str, ...]]  # training commands, for help; the first of them the plainest
    predicts: ClassVar[str]  # what `predict` writes, for help
    measures: ClassVar[str]  # what `evaluate` measures, for help
    predict_options: ClassVar[tuple[CommandOption, ...]] = ()
    evaluate_options: ClassVar[tuple[CommandOption, ...]] = ()
    inspect_options: ClassVar[tuple[CommandOption, ...]] = ()

    chosen: Any  # an object of `settings`: what the options say
    given: frozenset[str] = frozenset()  # the names of the options that were given

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if "name" in vars(cls):
            other = Task.registered.setdefault(cls.name, cls)
            # A dataclass with slots, or a file that is run again, defines the same class anew.
            if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
                raise TypeError(f"the task {cls.name!r} is already {other.__qualname__}.")
            Task.registered[cls.name] = cls

    @classmethod
    def options(cls) -> list[CommandOption]:
        """Its own options of `margrave train`: those of the estimator first."""
        offered = settings_options(cls.settings, cls.fields).values()
        own = [CommandOption(each) for each in options_of(cls) if each.help]
        return [*(CommandOption(each, name=cls.flags.get(each.name, "")) for each in offered), *own]

    @classmethod
    def estimator_class(cls) -> Any:
        """The class of its models."""
        module, _, name = cls.estimator.partition(":")
        return getattr(import_module(module), name)

    def files(self) -> list[str]:
        """The files that its options name."""
        values = [getattr(self, each.name) for each in self.options() if each.option.metavar == "FILE"]
        return [path for value in values for path in ([value] if isinstance(value, str) else value or ())]

    def given_cost(self) -> Any:
        """What wrong outputs cost, as far as options say so; None if none does."""
        return None if self.own_cost and "cost" not in self.given else getattr(self, "cost", None)

    def loss_settings(self) -> dict[str, Any]:
        """Its options that belong to the loss: the cost, unless it is the estimator's."""
        cost = self.given_cost()
        return {} if cost is None or self.own_cost else {"cost": cost}

    def parameters(self) -> dict[str, Any]:
        """What the options say to the constructor of the estimator."""
        shared = (each.name for each in options_of(LearningSettings))
        return {name: getattr(self.chosen, name) for name in (*self.fields, *shared)}

    def for_one_run(self) -> Self:
        """The task for a training with a checkpoint, which follows one run: with one starting point."""
        from margrave.losses import loss_named

        if "starts" not in self.fields:
            return self
        if "starts" in self.given and self.chosen.starts != 1 and not loss_named(self.chosen.loss).convex:
            raise MargraveError(
                f"--checkpoint follows one run, and this is --starts {self.chosen.starts}: use --starts 1."
            )
        return replace(self, chosen=replace(self.chosen, starts=1))

    @abstractmethod
    def job(self, data: str, dev: str | None) -> Job:
        """Reads the data and sets up the estimator, whose settings are `parameters()` and what the data decide."""

    @staticmethod
    @abstractmethod
    def dev_summary(scores: Mapping[str, Any]) -> str:
        """The scores on dev, in one line."""

    @staticmethod
    @abstractmethod
    def model(path: str, estimator: Any) -> Model:
        """How to apply a trained estimator, by what its file says about reading data."""

    # The following also describe estimators that no task trains.

    @staticmethod
    def cost_of(estimator: Any) -> Any:
        """What its wrong outputs cost."""
        from margrave.losses import loss_named

        return getattr(estimator, "cost", loss_named(estimator.loss).cost)

    @staticmethod
    def sizes(estimator: Any) -> dict[str, Any]:
        """How large it is."""
        from margrave.estimators.model import token_table

        table = token_table(estimator.map_)
        return {
            **({"n_classes": len(estimator.classes_)} if hasattr(estimator, "classes_") else {}),
            **({} if table is None else {"n_features": table.encoder.attributes}),
            "n_weights": estimator.n_weights_,
        }

    @staticmethod
    def training_notes(estimator: Any) -> dict[str, Any]:
        """What the training did with its data, for the report of `train`."""
        return {}

    @staticmethod
    def training_rows(report: Mapping[str, Any]) -> list[tuple[str, str]]:
        """The same as people read it: names and values."""
        return []

    @staticmethod
    def inspection(estimator: Any, top: int, sign: str | None = None) -> dict[str, Any]:
        """What else to report of it; `top`: how many of the features with the largest weights by label, if any."""
        report: dict[str, Any] = {}
        if hasattr(estimator, "classes_"):
            report["labels"] = estimator.classes_.tolist()
        if top:
            found = estimator.top_features(top, sign=sign)
            report["top"] = {str(label): [[str(name), weight] for name, weight in of] for label, of in found.items()}
        return report

    @staticmethod
    def inspection_summary(report: Mapping[str, Any]) -> str:
        """The top features as people read them, below the table of all models."""
        return top_table(report.get("top", {}))


def top_table(top: Mapping[str, list[Any]]) -> str:
    """Features and weights, grouped by the label they favor."""
    width = max((len(name) for of in top.values() for name, _ in of), default=0)
    lines = []
    for label, of in top.items():
        lines += [label, *(f"    {name:<{width}}  {weight:+.6g}" for name, weight in of)]
    return "\n".join(lines)
