"""What a task is to the commands: options of its own, data to train on, and what a trained model is good for."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

from margrave.errors import DataError

if TYPE_CHECKING:
    from margrave.estimators.base import StructuredEstimator
    from margrave.losses import LossFamily


@dataclass(frozen=True)
class Job:
    """An estimator with its settings, its data, and how the two are reported."""

    estimator: "StructuredEstimator"
    X: Any
    y: Any
    sizes: dict[str, int]  # of the data
    metadata: dict[str, Any]  # how the model is to read data
    dev: tuple[Any, Any] | None
    score: Callable[[Any, Any], dict[str, float | None]]  # of the gold and the predicted outputs of dev
    fit_options: dict[str, Any] = field(default_factory=dict)


class Model(ABC):
    """A trained model that knows how to read data: what `predict` and `evaluate` apply."""

    does: ClassVar[str]  # in a few words
    options: ClassVar[tuple[str, ...]] = ()  # of `predict` and `evaluate` that are its own

    def own(self, path: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options that were given, if all belong to this model; `path` is where it is from."""
        given = {name: value for name, value in options.items() if value}
        for name in given:
            if name not in self.options:
                raise DataError(path, None, f"--{name} is of {_SUBJECTS[name]}, and this model {self.does}.")
        return given

    @abstractmethod
    def predicted_lines(self, path: str, marginals: bool, **options: Any) -> Iterator[list[str]]:
        """The lines to write, batch by batch; `marginals` asks for the probability of each prediction."""

    @abstractmethod
    def evaluation(self, path: str, **options: Any) -> dict[str, Any]:
        """The scores on labelled data, as JSON can hold them."""

    @abstractmethod
    def evaluation_summary(self, report: Mapping[str, Any]) -> str:
        """The same as people read it."""


# what the options of models are about
_SUBJECTS = {"scheme": "tags", "references": "hypotheses", "lowercase": "hypotheses", "scores": "candidates"}


@dataclass(frozen=True)
class Task(ABC):
    """A kind of model to train; its fields are the options of `margrave train` that belong to it.

    Options that cannot be are refused when it is made, before any data are read.
    """

    name: ClassVar[str]
    trained: ClassVar[str]  # the class of its estimator
    default_loss: ClassVar[str]

    @classmethod
    def options(cls) -> tuple[str, ...]:
        """The names of its own options."""
        return tuple(each.name for each in fields(cls))

    @classmethod
    def chosen(cls, options: Mapping[str, Any]) -> Self:
        """The task with its own among the options, as far as they were given."""
        return cls(**{name: value for name in cls.options() if (value := options[name]) is not None})

    def inputs(self) -> list[str | None]:
        """The files that its options name."""
        return []

    def loss_settings(self) -> dict[str, Any]:
        """Its options that belong to the loss."""
        return {}

    @abstractmethod
    def job(self, data: str, dev: str | None, loss: "str | LossFamily", settings: dict[str, Any]) -> Job:
        """Reads the data and sets up the estimator; `settings` are those that every estimator takes."""

    @staticmethod
    @abstractmethod
    def dev_summary(scores: Mapping[str, Any]) -> str:
        """The scores on dev, in one line."""

    @staticmethod
    @abstractmethod
    def model(path: str, estimator: Any) -> Model:
        """How to apply a trained estimator, by what its file says about reading data."""

    # Of any trained estimator, also of one that no task trains:

    @staticmethod
    def cost_of(estimator: Any) -> Any:
        """What its wrong outputs cost."""
        from margrave.losses import loss_named

        return getattr(estimator, "cost", loss_named(estimator.loss).cost)

    @staticmethod
    def sizes(estimator: Any) -> dict[str, Any]:
        """How large it is."""
        return {
            "n_classes": len(estimator.classes_),
            "n_features": estimator.features_.tokens.attributes,
            "n_weights": estimator.n_weights_,
        }

    @staticmethod
    def inspection(path: str, estimator: Any, top: int) -> dict[str, Any]:
        """What else there is to say of it; `top`: how many of its heaviest features, if any."""
        if top:
            raise DataError(
                path, None, "--top is for taxonomies of texts and for rerankers, and this model is another."
            )
        return {"labels": estimator.classes_.tolist()}

    @staticmethod
    def inspection_summary(report: Mapping[str, Any]) -> str:
        """The same as people read it, below the table of all models."""
        return ""
