"""What all estimators share: solving, the attributes after `fit`, and model files."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from math import inf
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from margrave import _core, model_file
from margrave.errors import MargraveError
from margrave.features.table import AttributeTable, RowEncoder, features_named
from margrave.learners import Learner, Record, Task, learner_named
from margrave.losses import LossFamily, loss_named


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
    history_: list[Record]
    certificate_: Record  # of the weights in coef_
    n_iter_: int
    converged_: bool
    stop_reason_: str
    features_: AttributeTable
    metadata_: dict[str, Any]

    def _solve(
        self,
        problem: _core.Problem,
        loss: LossFamily,
        sample_weight: Any,
        dev_score: Callable[[NDArray[np.float64]], float] | None = None,
    ) -> NDArray[np.float64]:
        """Runs the learner, sets what `fit` promises, and returns the weights."""
        learner = learner_named(self.learner)
        task = Task(
            problem,
            loss,
            C=self.C,
            sample_weight=sample_weight,
            max_iter=self.max_iter,
            tol=self.tol,
            n_threads=self.n_threads,
            seed=self.seed,
            verbose=self.verbose,
            dev_score=dev_score,
        )
        solution = learner.solve(task)
        self.history_ = solution.history
        self.certificate_ = solution.kept
        self.n_iter_ = len(solution.history)
        self.converged_ = solution.converged
        self.stop_reason_ = solution.reason
        self.metadata_ = {}
        if learner.reaches_tol and not solution.converged and solution.reason == "max_iter":
            warnings.warn(
                f"stopped after {self.n_iter_} iterations with a relative gap of "
                f"{solution.history[-1].relative_gap:.2g} > tol {self.tol:g}: raise max_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return solution.w

    # ---- model files -------------------------------------------------------------------------------------------------

    def _structure_settings(self) -> dict[str, Any]:
        """What the structure needs beside the weights, for the model file."""
        return {}

    def save(self, path: str | PathLike[str], metadata: Mapping[str, Any] | None = None) -> None:
        """Writes the model as one file, whole or not at all; `metadata` is anything JSON can hold."""
        self._check_fitted()
        loss = loss_named(self.loss)
        classes = self.classes_.tolist()
        if not all(isinstance(label, str | int | float | bool) for label in classes):
            raise MargraveError("only models whose labels are strings or numbers can be saved.")
        kept = self.certificate_
        header: dict[str, object] = {
            "estimator": type(self).__name__,
            "structure": self._structure_settings(),
            "loss": {"beta": None if loss.beta == inf else loss.beta, "gamma": loss.gamma},
            "learner": learner_named(self.learner).name,
            "C": self.C,
            "labels": classes,
            "features": {"pairs": self.features_.pairs, "hash_bits": self.features_.hash_bits},
            "certificate": {"passes": kept.passes, "primal": kept.primal, "dual": kept.dual, "gap": kept.gap},
            "converged": self.converged_,
            "stop_reason": self.stop_reason_,
            "metadata": dict(metadata or self.metadata_),
        }
        arrays: dict[str, NDArray[Any]] = {"weights": self._weights(), "gram_weight": self.features_.gram_weight}
        header["encoders"] = {
            name: _encoder_to_file(getattr(self.features_, name), name, arrays) for name in ("tokens", "edges")
        }
        header["pairs"] = {
            name: _pairs_to_file(getattr(self.features_, name), name, arrays) for name in ("token_pairs", "edge_pairs")
        }
        model_file.write(path, header, arrays)

    def _weights(self) -> NDArray[np.float64]:
        return self.coef_

    def _set_weights(self, w: NDArray[np.float64]) -> None:
        self.coef_ = w

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        beta = header["loss"]["beta"]
        loss = LossFamily(beta=inf if beta is None else beta, gamma=header["loss"]["gamma"])
        table = features_named(AttributeTable(header["features"]["pairs"], header["features"]["hash_bits"]))
        table.gram_weight = np.array(arrays["gram_weight"])
        for name, settings in header["encoders"].items():
            setattr(table, name, _encoder_from_file(settings, name, arrays))
        for name, settings in header["pairs"].items():
            setattr(table, name, _pairs_from_file(settings, name, arrays))
        named = loss.name if loss.name in ("log", "hinge", "softmax-margin", "perceptron") else loss
        model = cls(loss=named, C=header["C"], learner=header["learner"], features=table, **header["structure"])
        model.features_ = table
        model.classes_ = np.array(header["labels"])
        certificate = header["certificate"]
        model.certificate_ = Record(
            certificate["passes"], 0.0, certificate["primal"], certificate["dual"], certificate["gap"]
        )
        model.history_ = [model.certificate_]
        model.n_iter_ = 1
        model.converged_ = header["converged"]
        model.stop_reason_ = header["stop_reason"]
        model.metadata_ = header["metadata"]
        model._set_weights(np.asarray(arrays["weights"]))
        return model

    def _check_fitted(self) -> None:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "classes_")


def _encoder_to_file(encoder: RowEncoder, name: str, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    if encoder.vocabulary is not None:
        for part, array in zip(("bytes", "offsets", "slots"), encoder.vocabulary.arrays(), strict=True):
            arrays[f"{name}.{part}"] = np.asarray(array)
    return {"kind": encoder.kind, "hash_bits": encoder.hash_bits, "columns": encoder.columns}


def _encoder_from_file(settings: dict[str, Any], name: str, arrays: dict[str, NDArray[Any]]) -> RowEncoder:
    vocabulary = None
    if settings["kind"] == "names":
        vocabulary = _core.Vocabulary(arrays[f"{name}.bytes"], arrays[f"{name}.offsets"], arrays[f"{name}.slots"])
    return RowEncoder(settings["hash_bits"], settings["kind"], vocabulary, settings["columns"])


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
        return _core.Pairs(settings["labels"], arrays[f"{name}.begin"], arrays[f"{name}.column"])
    return _core.Pairs(settings["attributes"], settings["labels"])


def check_classes(labels: Sequence[Any]) -> NDArray[Any]:
    """The sorted distinct labels; refuses a single one, for then there is nothing to learn."""
    try:
        distinct = sorted(set(labels))
    except TypeError:
        raise MargraveError("labels must be strings or numbers, all of one kind.") from None
    if len(distinct) < 2:
        raise MargraveError(f"there is only one class, {distinct[0]!r}: at least two are needed to learn from.")
    return np.array(distinct)
