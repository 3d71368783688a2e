"""What a task is to the commands: options of its own, data to train on, and how a trained model is applied."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self

from margrave.cli.options import Option, options_of
from margrave.errors import DataError

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


class Model(ABC):
    """A trained model that knows how to read data: what `predict` and `evaluate` apply."""

    does: ClassVar[str]  # in a few words
    options: ClassVar[tuple[str, ...]] = ()  # of `predict`, `evaluate` and `inspect` that are its own

    def accepted(self, path: str, given: Mapping[str, Any], declared: Mapping[str, Option]) -> dict[str, Any]:
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
        """The scores on labelled data, as JSON can hold them."""

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

    Fields that are made by `option` are its options of `margrave train`. An object has the values that were given, or
    else the defaults; options that contradict each other are refused when it is made, before any data are read.
    """

    registered: ClassVar[dict[str, type["Task"]]] = {}

    name: ClassVar[str]
    summary: ClassVar[str]  # what it learns, in a few words
    estimator: ClassVar[str]  # "module:class", which is imported when it is needed: help must be fast
    also: ClassVar[tuple[str, ...]] = ()  # the names of further classes of models that it trains
    default_loss: ClassVar[str]
    own_cost: ClassVar[bool] = False  # whether the cost belongs to the estimator or the data, not to the loss
    data: ClassVar[str]  # what its files look like, for help
    sample: ClassVar[str]  # some lines of such a file, for help
    examples: ClassVar[tuple[str, ...]]  # training commands, for help; the first of them the plainest
    predicts: ClassVar[str]  # what `predict` writes, for help
    measures: ClassVar[str]  # what `evaluate` measures, for help
    predict_options: ClassVar[tuple[Option, ...]] = ()
    evaluate_options: ClassVar[tuple[Option, ...]] = ()
    inspect_options: ClassVar[tuple[Option, ...]] = ()

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if "name" in vars(cls):
            other = Task.registered.setdefault(cls.name, cls)
            # A dataclass with slots, or a file that is run again, defines the same class anew.
            if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
                raise TypeError(f"the task {cls.name!r} is already {other.__qualname__}.")
            Task.registered[cls.name] = cls

    @classmethod
    def options(cls) -> list[Option]:
        """Its own options of `margrave train`, those that it shares with other tasks last."""
        own = inspect.get_annotations(cls)
        return sorted(options_of(cls), key=lambda each: each.name not in own)

    @classmethod
    def estimator_class(cls) -> Any:
        """The class of its models."""
        module, _, name = cls.estimator.partition(":")
        return getattr(import_module(module), name)

    def files(self) -> list[str]:
        """The files that its options name."""
        values = [getattr(self, each.name) for each in self.options() if each.metavar == "FILE"]
        return [path for value in values for path in ([value] if isinstance(value, str) else value or ())]

    def loss_settings(self) -> dict[str, Any]:
        """Its options that belong to the loss: the cost, unless it is the estimator's."""
        cost = getattr(self, "cost", None)
        return {} if cost is None or self.own_cost else {"cost": cost}

    def for_one_run(self, settings: Mapping[str, Any]) -> Self:
        """The task for a training with a checkpoint, which follows one run; options that need several are refused."""
        return self

    @abstractmethod
    def job(self, data: str, dev: str | None, settings: dict[str, Any]) -> Job:
        """Reads the data and sets up the estimator; `settings` are those that every estimator takes."""

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
    def inspection(estimator: Any, top: int) -> dict[str, Any]:
        """What else there is to say of it; `top`: how many of its heaviest features by label, if any."""
        report: dict[str, Any] = {}
        if hasattr(estimator, "classes_"):
            report["labels"] = estimator.classes_.tolist()
        if top:
            found = estimator.top_features(top)
            report["top"] = {str(label): [[str(name), weight] for name, weight in of] for label, of in found.items()}
        return report

    @staticmethod
    def inspection_summary(report: Mapping[str, Any]) -> str:
        """The heaviest features as people read them, below the table of all models."""
        return top_table(report.get("top", {}))


def top_table(top: Mapping[str, list[Any]]) -> str:
    """Features with their weights, under the label that they speak for."""
    width = max((len(name) for of in top.values() for name, _ in of), default=0)
    lines = []
    for label, of in top.items():
        lines += [label, *(f"    {name:<{width}}  {weight:+.6g}" for name, weight in of)]
    return "\n".join(lines)
