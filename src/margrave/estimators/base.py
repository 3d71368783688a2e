"""What all estimators share: solving, the attributes after `fit`, and model files."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf, isfinite
from os import PathLike
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from margrave import _core
from margrave.checks import real, whole
from margrave.errors import MargraveError
from margrave.features.mercer import Kernel
from margrave.features.table import AttributeTable, RowEncoder, features_named
from margrave.files import model as model_file
from margrave.learners import LEARNERS, Checkpoint, Learner, Record, Solution, Task, learner_named
from margrave.learners.base import available_threads, check_loss, check_settings
from margrave.losses import LOSSES, DifferenceOfLosses, LossFamily, loss_named

Show = Callable[[int, NDArray[np.int32]], Any]  # an example's output as users know it, from its parts


class StructuredEstimator(BaseEstimator):  # type: ignore[misc]
    """The base of estimators over attribute tables."""

    loss: str | LossFamily
    C: float
    learner: str | Learner
    features: str | AttributeTable
    max_iter: int | None
    tol: float
    n_threads: int | None
    seed: int
    verbose: bool

    coef_: NDArray[np.float64]
    classes_: NDArray[Any]
    learner_: Learner  # the one that ran, which "auto" chose; files do not keep it
    history_: list[Record]  # P is None after passes that it was not computed for
    certificate_: Record  # of the weights in coef_; it always has P
    n_iter_: int
    converged_: bool
    stop_reason_: str
    features_: AttributeTable
    n_support_: int  # of a kernel: how many kernels the prediction of one input takes
    metadata_: dict[str, Any]

    _n_left_out: int = 0  # weights that are not in coef_ because the model's file does not keep them: all zero

    @property
    def n_weights_(self) -> int:
        """How many weights were learned; `coef_` has fewer where `save` left zeros out."""
        self._check_fitted()
        return self._weights().size + self._n_left_out

    @property
    def n_zero_weights_(self) -> int:
        """How many of them are exactly zero."""
        return self.n_weights_ - int(np.count_nonzero(self._weights()))

    def _settings(self) -> tuple[LossFamily, AttributeTable]:
        """The loss and fresh features; refuses every wrong parameter before any data are looked at."""
        loss = loss_named(self.loss)
        learner = learner_named(self.learner)
        check_loss(learner, loss)
        learner.check_packages()
        check_settings(self.C, self.tol, self.max_iter, self.n_threads, self.seed)
        return loss, features_named(self.features)

    def _threads(self) -> int:
        return available_threads(self.n_threads)

    def _temperature(self) -> float:
        """The beta of the distribution that probabilities are of: the loss's, or 1 where that is infinite."""
        beta = loss_named(self.loss).beta
        return beta if isfinite(beta) else 1.0

    def _solve(
        self,
        problem: _core.Problem,
        loss: LossFamily,
        sample_weight: Any,
        *,
        dev_score: Callable[[NDArray[np.float64]], float] | None = None,
        checkpoint: Checkpoint | None = None,
        show: Show | None = None,
    ) -> NDArray[np.float64]:
        """Runs the learner, sets what `fit` promises, and returns the weights; `show` decodes for a cost function."""
        learner = learner_named(self.learner).resolve(loss, problem)
        task = self._task(problem, loss, sample_weight, show, dev_score, checkpoint)
        return self._set_solution(learner, learner.solve(task))

    def _task(
        self,
        problem: _core.Problem,
        loss: LossFamily,
        sample_weight: Any,
        show: Show | None,
        dev_score: Callable[[NDArray[np.float64]], float] | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Task:
        return Task(
            problem,
            loss,
            C=self.C,
            sample_weight=sample_weight,
            max_iter=self.max_iter,
            tol=self.tol,
            n_threads=self.n_threads,
            seed=self.seed,
            verbose=bool(self.verbose),
            dev_score=dev_score,
            checkpoint=checkpoint,
            show=show,
        )

    def _set_solution(self, learner: Learner, solution: Solution) -> NDArray[np.float64]:
        self.learner_ = learner
        self.history_ = solution.history
        self.certificate_ = solution.kept
        self.n_iter_ = len(solution.history)
        self.converged_ = solution.converged
        self.stop_reason_ = solution.reason
        self.metadata_ = {}
        self._n_left_out = 0
        if learner.reaches_tol and not solution.converged and solution.reason != "interrupted":
            warnings.warn(
                f"stopped after {self.n_iter_} iterations ({solution.reason}) with a relative gap of "
                f"{solution.kept.relative_gap:.2g} > tol {float(self.tol):g}.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return solution.w

    # ---- model files -------------------------------------------------------------------------------------------------

    def _kind_in_files(self) -> str:
        """The estimator that `load` is to make of a file."""
        return type(self).__name__

    def _labels(self) -> list[Any]:
        """The labels, for the model file; none where outputs have none."""
        labels: list[Any] = self.classes_.tolist()
        return labels

    def _set_labels(self, labels: Any) -> None:
        """Takes the labels from a file."""
        self.classes_ = check_classes(labels)
        if self.classes_.tolist() != labels:
            raise MargraveError("its labels are not in order.")

    def _structure_settings(self) -> dict[str, Any]:
        """The parameters of the structure, for the model file."""
        return {}

    def _structure_arrays(self) -> dict[str, NDArray[Any]]:
        """What else the structure has to say, for the model file."""
        return {}

    def _set_structure(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Takes from a file what `fit` learned of the structure."""

    def _empty_problem(self) -> _core.Problem:
        """A problem without examples, which tells how many weights there must be."""
        raise MargraveError(f"a {type(self).__name__} cannot be kept in a file.")

    def save(self, path: str | PathLike[str], metadata: Mapping[str, Any] | None = None) -> None:
        """Writes the model as one file, whole or not at all; `metadata` is anything JSON can hold, by name.

        A model most of whose weights are zero is written without these, and without attributes that have no others:
        the model that is read gives the same predictions from a shorter `coef_`.
        """
        self._check_fitted()
        kept = self.certificate_
        if metadata is None:
            metadata = self.metadata_
        elif not isinstance(metadata, Mapping):
            raise MargraveError(f"metadata must be a dictionary, not {type(metadata).__name__}.")
        C, tol, max_iter, _, seed = check_settings(self.C, self.tol, self.max_iter, self.n_threads, self.seed)
        table, weights = self.features_, self._weights()
        sparse = 2 * self.n_zero_weights_ > self.n_weights_
        if sparse:
            table, weights = table.without_zeros(weights)
        arrays: dict[str, NDArray[Any]] = {"weights": weights, "gram_weight": table.gram_weight}
        header: dict[str, object] = {
            "estimator": self._kind_in_files(),
            "structure": self._structure_settings(),
            "loss": _loss_to_file(loss_named(self.loss), self._labels()),
            "learner": _learner_to_file(self.learner),
            "settings": {"C": C, "tol": tol, "max_iter": max_iter, "seed": seed},
            "labels": self._labels(),
            "features": table.to_file(arrays),
            "certificate": {"passes": kept.passes, "primal": kept.primal, "dual": kept.dual, "gap": kept.gap},
            "converged": self.converged_,
            "stop_reason": self.stop_reason_,
            "metadata": dict(metadata),
        }
        if sparse:
            header["sparse"] = {"n_weights": self.n_weights_, "lengths": _lengths_to_file(arrays)}
        arrays |= self._structure_arrays()
        header["encoders"] = {
            name: _encoder_to_file(getattr(table, name), name, arrays) for name in ("tokens", "edges")
        }
        header["pairs"] = {
            name: _pairs_to_file(getattr(table, name), name, arrays) for name in ("token_pairs", "edge_pairs")
        }
        model_file.write(path, header, arrays)

    def _set_features(self, features: AttributeTable) -> None:
        self.features_ = features
        if isinstance(features, Kernel):
            self.n_support_ = features.n_support

    def _weights(self) -> NDArray[np.float64]:
        return self.coef_

    def _set_weights(self, w: NDArray[np.float64]) -> None:
        self.coef_ = w

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """The model of a file. A file may say anything: what does not fit together raises some error."""
        settings = header["settings"]
        kind = Kernel if "kernel" in header["features"] else AttributeTable
        table = kind.from_file(header["features"], arrays)
        if "sparse" in header:
            _fill(header["sparse"]["lengths"], arrays)
        table.gram_weight = np.array(_vector(arrays["gram_weight"], np.int64))
        for name in ("tokens", "edges"):
            setattr(table, name, _encoder_from_file(header["encoders"][name], name, arrays, table.hash_bits))
        for name in ("token_pairs", "edge_pairs"):
            setattr(table, name, _pairs_from_file(header["pairs"].pop(name), name, arrays))
        if header["pairs"]:
            raise MargraveError(f"it has pairs of {', '.join(header['pairs'])}, which no table has.")
        model = cls(
            _loss_from_file(header["loss"]),
            C=settings["C"],
            learner=_learner_from_file(header["learner"]),
            features=_named_features(table),
            tol=settings["tol"],
            max_iter=settings["max_iter"],
            seed=settings["seed"],
            **header["structure"],
        )
        check_settings(model.C, model.tol, model.max_iter, model.n_threads, model.seed)
        model._set_features(table)
        model._set_labels(header["labels"])
        stored = {
            name: None if value is None and name in ("dual", "gap") else real(name, value, "be finite", isfinite)
            for name, value in header["certificate"].items()
        }
        model.certificate_ = Record(seconds=0.0, **stored)  # type: ignore[arg-type]
        model.history_ = [model.certificate_]
        model.n_iter_ = 1
        model.converged_ = bool(header["converged"])
        model.stop_reason_ = str(header["stop_reason"])
        model.metadata_ = dict(header["metadata"])
        model._set_structure(header, arrays)
        weights = _vector(arrays["weights"], np.float64)
        wanted = model._empty_problem().dim
        if len(weights) != wanted:
            raise MargraveError(f"it has {len(weights)} weights, and needs {wanted}.")
        if not np.isfinite(weights).all():
            raise MargraveError("its weights must be finite.")
        model._set_weights(weights)
        if "sparse" in header:
            learned = whole("the number of weights learned", header["sparse"]["n_weights"], len(weights), 2**63)
            model._n_left_out = learned - len(weights)
        return model

    def _check_fitted(self) -> None:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "coef_")


E = TypeVar("E", bound=StructuredEstimator)


def check_path(Cs: Any) -> list[float]:
    """The values of a regularisation path, at least one."""
    if isinstance(Cs, str | bytes) or not isinstance(Cs, Iterable):
        raise MargraveError(f"Cs must be a list of numbers, and it is {Cs!r}.")
    values = [real("every C of Cs", C, "be positive and finite", lambda C: 0 < C < inf) for C in Cs]
    if not values:
        raise MargraveError("Cs must have at least one C, and it is empty.")
    return values


def solve_path(
    models: Sequence[E], problem: _core.Problem, loss: LossFamily, sample_weight: Any, show: Show | None = None
) -> Iterator[tuple[E, NDArray[np.float64]]]:
    """Models that differ in C alone, each solved from where the one before ended, and their weights.

    Ctrl-C ends the path with the models so far.
    """
    learner = learner_named(models[0].learner).resolve(loss, problem)
    if len(models) > 1 and type(learner).carry is Learner.carry:
        learner.carry(None, models[1]._task(problem, loss, sample_weight, show))  # refuses, before any work
    state = None
    for model in models:
        task = model._task(problem, loss, sample_weight, show)
        try:
            if state is not None:
                state = learner.carry(state, task)
            solution = learner.solve(task, state)
        except KeyboardInterrupt:
            if model is models[0]:
                raise  # there is no model yet
            return
        state = solution.state
        yield model, model._set_solution(learner, solution)
        if solution.reason == "interrupted":
            return


def _vector(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    if array.ndim != 1 or array.dtype != dtype:
        raise MargraveError(f"an array must be one-dimensional and of type {np.dtype(dtype)}.")
    return array


# What stands at the places of a vector that a file leaves out.
_BLANKS = {"weights": 0.0, "gram_weight": -1}


def _lengths_to_file(arrays: dict[str, NDArray[Any]]) -> dict[str, int]:
    """Writes vectors that are nearly all blank as places and values; their lengths.

    A place takes as much room as a value, so that a third of the values saves a third of the room.
    """
    lengths = {}
    for name, blank in _BLANKS.items():
        vector = arrays[name]
        places = np.flatnonzero(vector != blank)
        if 3 * len(places) < len(vector):
            del arrays[name]
            arrays[f"{name}.place"], arrays[f"{name}.value"] = places.astype(np.int64), vector[places]
            lengths[name] = len(vector)
    return lengths


def _fill(lengths: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Makes whole the vectors that a file has as places and values."""
    for name, length in lengths.items():
        blank = _BLANKS[name]
        place, value = _vector(arrays[f"{name}.place"], np.int64), arrays[f"{name}.value"]
        whole(f"the length of its {name}", length, 0, 2**62)
        if value.shape != place.shape:
            raise MargraveError(f"its {name} must have as many values as places.")
        if len(place) and (place[0] < 0 or place[-1] >= length or (np.diff(place) <= 0).any()):
            raise MargraveError(f"the places of its {name} must ascend below {length}.")
        arrays[name] = np.full(length, blank, dtype=value.dtype) if blank else np.zeros(length, dtype=value.dtype)
        arrays[name][place] = value


def _learner_to_file(learner: str | Learner) -> dict[str, Any]:
    """Its name, and the settings of one that files can name; a learner among them likewise."""
    if isinstance(learner, str):
        return _learner_to_file(LEARNERS[learner]()) if learner in LEARNERS else {"name": learner, "settings": {}}
    settings = vars(learner) if type(learner) is LEARNERS.get(learner.name) else {}
    if any(map(callable, settings.values())):
        raise MargraveError(
            "a metric cannot be kept in a file: prediction does not need it, so set_params(learner='lp') first."
        )
    return {
        "name": learner.name,
        "settings": {k: _learner_to_file(v) if isinstance(v, Learner) else v for k, v in settings.items()},
    }


def _learner_from_file(stored: dict[str, Any]) -> str | Learner:
    """A name where its defaults will do; a learner of the user's own is known by its name alone."""
    name = str(stored["name"])
    if name not in LEARNERS:
        return name
    learner = LEARNERS[name](**{key: _setting_from_file(value) for key, value in stored["settings"].items()})
    return name if learner == LEARNERS[name]() else learner


def _setting_from_file(value: Any) -> Any:
    if isinstance(value, dict):  # a learner inside another
        return _learner_from_file(value)
    return tuple(value) if isinstance(value, list) else value


def _named_features(table: AttributeTable) -> str | AttributeTable:
    if isinstance(table, Kernel):
        return table.fresh()
    if table.hash_bits == 0:
        return table.pairs
    return f"hash:{table.hash_bits}" if table.pairs == "all" else AttributeTable(table.pairs, table.hash_bits)


def _loss_to_file(loss: LossFamily, classes: list[Any]) -> dict[str, Any]:
    if callable(loss.cost):
        raise MargraveError(
            "a cost function cannot be kept in a file: prediction does not need it, so set_params(loss='hinge') first."
        )
    cost = loss.cost if isinstance(loss.cost, str) else loss.cost_matrix(classes).tolist()
    beta = None if loss.beta == inf else loss.beta
    return {
        "beta": beta,
        "gamma": loss.gamma,
        "cost": cost,
        "rescale": loss.rescale,
        "slack": loss.slack,
        "difference": not loss.convex,
    }


def _loss_from_file(stored: dict[str, Any]) -> str | LossFamily:
    beta = inf if stored["beta"] is None else stored["beta"]
    if stored.get("difference", False):
        loss: LossFamily = DifferenceOfLosses(beta, stored["gamma"], stored["cost"])
    else:  # files of before there was re-scaling do not speak of it
        rescale, slack = stored.get("rescale", "margin"), stored.get("slack", 1)
        loss = LossFamily(beta, stored["gamma"], stored["cost"], rescale, slack)
    return loss.name if loss.name in LOSSES and stored["cost"] == "hamming" else loss


def _encoder_to_file(encoder: RowEncoder, name: str, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    if encoder.vocabulary is not None:
        arrays[f"{name}.bytes"], arrays[f"{name}.offsets"] = encoder.vocabulary.arrays()
    return {"kind": encoder.kind, "columns": encoder.columns}


def _encoder_from_file(
    settings: dict[str, Any], name: str, arrays: dict[str, NDArray[Any]], hash_bits: int
) -> RowEncoder:
    kind, columns = settings["kind"], settings["columns"]
    kinds = (None, "columns", "hashed") if hash_bits else (None, "columns", "names")
    if kind not in kinds or not isinstance(columns, int) or not 0 <= columns < 2**31:
        raise MargraveError(f"it knows no attributes of the kind {kind!r}.")
    vocabulary = None
    if kind == "names":
        vocabulary = _core.Vocabulary(
            _vector(arrays[f"{name}.bytes"], np.uint8), _vector(arrays[f"{name}.offsets"], np.int64)
        )
    return RowEncoder(hash_bits, kind, vocabulary, columns)


def _pairs_to_file(pairs: _core.Pairs | None, name: str, arrays: dict[str, NDArray[Any]]) -> dict[str, Any] | None:
    if pairs is None:
        return None
    if pairs.packed:
        arrays[f"{name}.begin"], arrays[f"{name}.column"] = pairs.arrays()
    return {"attributes": pairs.attributes, "labels": pairs.labels, "packed": pairs.packed}


def _pairs_from_file(settings: dict[str, Any] | None, name: str, arrays: dict[str, NDArray[Any]]) -> _core.Pairs | None:
    if settings is None:
        return None
    if settings["packed"]:
        begin, column = _vector(arrays[f"{name}.begin"], np.int64), _vector(arrays[f"{name}.column"], np.uint16)
        return _core.Pairs(settings["labels"], begin, column)
    return _core.Pairs(settings["attributes"], settings["labels"])


def check_classes(labels: Iterable[Any]) -> NDArray[Any]:
    """The sorted distinct labels; refuses a single one, for then there is nothing to learn."""
    try:
        distinct = sorted(set(labels))
    except TypeError:
        raise MargraveError("labels must be strings or numbers, all of one kind.") from None
    if not distinct:
        raise MargraveError("there are no labels.")
    if any(label != label for label in distinct):
        raise MargraveError("labels must be strings or numbers, and one is nan.")
    classes = np.array(distinct)
    if classes.dtype.kind not in "Ubiuf" or classes.tolist() != distinct:
        raise MargraveError("labels must be strings or numbers, of one kind that an array can hold.")
    if len(distinct) < 2:
        raise MargraveError(f"there is only one class, {distinct[0]!r}: at least two are needed to learn from.")
    return classes


def label_numbers(labels: list[Any], classes: NDArray[Any]) -> NDArray[np.int32]:
    """The number of each label among the classes."""
    number = {label: k for k, label in enumerate(classes.tolist())}
    return np.fromiter((number[label] for label in labels), dtype=np.int32, count=len(labels))
