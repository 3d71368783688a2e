"""The base of all estimators: their public methods, the attributes after `fit`, and model files.

An estimator defines its structure, its features and its score (`_structure`, `_features`, `_score`); everything else is
implemented here. A fit turns raw data into inputs, rows, a bound structure, a problem and weights, as described in
docs/design.md, section 5.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf, isfinite
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from margrave import _core
from margrave.binding import Bound, bind
from margrave.checks import flag, real, whole
from margrave.errors import MargraveError, unknown
from margrave.estimators.estimator import Estimator
from margrave.estimators.files import SavedEstimator
from margrave.features.base import Features
from margrave.files import model as model_file
from margrave.files.stored import pack, unpack, vector
from margrave.learners import Checkpoint, Ended, Learner, Record, Solution, Task, learner_named
from margrave.learners.checkpoint import as_checkpoint
from margrave.learners.checks import check_loss
from margrave.learners.task import available_threads
from margrave.losses import Cost, LossFamily, loss_named
from margrave.maps.base import FeatureMap, Ranked
from margrave.maps.mercer import Kernel
from margrave.maps.table import FeatureTable
from margrave.options import check_options
from margrave.structures.base import Outputs, Structure

Weights = NDArray[np.float64]

# Parameters that belong to a run rather than to the model are not saved.
_NOT_STORED = ("n_jobs", "verbose")

_SPREAD = 0.1  # the deviation of random weights to start from


@dataclass  # not frozen: every prediction makes one, which would take three times as long
class Given:
    """The arguments of a method: examples, their outputs if known, and further arguments of features and structure."""

    X: Any
    Y: Any = None
    to_map: Mapping[str, Any] = field(default_factory=dict)  # attributes of transitions
    to_structure: Mapping[str, Any] = field(default_factory=dict)  # allowed labels
    costs: Any = None  # the costs of the outputs of each example
    original: Any = None  # X before it was converted, which can have column names
    fitted: dict[str, Any] = field(default_factory=dict)  # attributes that a fit on these data sets


@dataclass(frozen=True)
class Training:
    """Everything that a learner needs, with what was learned from the data so far."""

    given: Given
    bound: Bound
    feature_map: FeatureMap
    features: Features | None
    sample_weight: Any


class StructuredEstimator(SavedEstimator, Estimator):
    """The base of all estimators that minimise 1/2 |w|^2 + C sum_i L_i(w)."""

    loss: str | LossFamily
    C: float
    learner: str | Learner
    feature_map: Any
    features: Features | str | None
    max_iter: int | None
    tol: float
    n_jobs: int | None
    random_state: int
    verbose: bool

    coef_: Weights
    learner_: Learner  # the learner that ran, which "auto" chose; it is not saved
    history_: list[Record]  # P is None after passes for which it was not computed
    certificate_: Record  # the certificate of coef_, which always has P
    n_iter_: int
    converged_: bool
    ended_: Ended
    stop_reason_: str  # `ended_` in words
    map_: Any  # the features with what they have learned
    features_: Features | None  # the inputs with what they have learned; None if X has attributes
    outputs_: Any  # what the outputs have in common
    starts_: list[dict[str, float]]  # after several starts: the objective and the norm of its gradient for each
    n_support_: int  # for kernels: the number of kernel evaluations that the prediction of one input takes
    metadata_: dict[str, Any]

    # Further attributes after `fit` that are saved: values that files can store, and estimators that this one consists
    # of; None where it has none.
    _more: ClassVar[tuple[str, ...]] = ()

    _n_left_out: int = 0  # the number of zero weights that are not in coef_ because the file left them out

    # ---- what an estimator defines -----------------------------------------------------------------------------------

    def _structure(self, given: Given) -> Structure:
        """The structure of these examples."""
        raise MargraveError(f"{type(self).__name__} does not say which structure it has.")

    def _map(self, outputs: Any) -> FeatureMap:
        """New features for such outputs."""
        raise MargraveError(f"{type(self).__name__} does not say which features it has.")

    def _default_features(self) -> Features:
        """The inputs that `features="default"` stands for."""
        raise MargraveError(
            f"a {type(self).__name__} has no default inputs: pass an object of margrave.features, or None."
        )

    def _costs(self, loss: LossFamily, outputs: Any, given: Given) -> Cost:
        """The costs of wrong outputs: by default those of the loss."""
        return loss.costs

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        """The score of predictions; higher is better."""
        raise MargraveError(f"{type(self).__name__} has no score.")

    def _checked(self, given: Given, sample_weight: Any) -> tuple[Given, Any]:
        """Training data in the form that the structure and the features take; an error if they are invalid."""
        return given, sample_weight

    def _raw(self, X: Any) -> Any:
        """New examples in the form that the inputs take or, without inputs, the features."""
        return X

    def _to_map(self, given: Given, features: Features | None) -> Mapping[str, Any]:
        """Further arguments of `FeatureMap.encode`."""
        return given.to_map

    def _to_structure(self, given: Given, X: Any, outputs: Any) -> Mapping[str, Any]:
        """Further arguments of `Structure.bind`; X is what the inputs made of the examples."""
        return given.to_structure

    def _decoder(self, training: Training) -> Callable[[int, NDArray[np.int32]], Any]:
        """A function from an example and parts to an output in the form that cost functions take."""
        return training.bound.decode_one

    def _no_examples(self, feature_map: Any) -> Given:
        """An empty list of examples for a model with these features."""
        return Given([])

    # ---- learning ----------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        dev: tuple[Any, ...] | None = None,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
        observers: Sequence[Any] = (),
    ) -> Self:
        """Learn from examples and their outputs.

        Parameters
        ----------
        X : the examples.
        y : their outputs.
        sample_weight : one factor per example on its C.
        dev : development data (X, y), by which sgd chooses its rate.
        checkpoint : a file for the state of the learner; after an interruption, the same call continues from it.
        observers : objects that are called after every pass (`margrave.learners.Observer`).
        """
        return self._fit(Given(X, y), sample_weight, self._dev_given(dev), checkpoint, observers)

    def fit_path(self, X: Any, y: Any, Cs: Sequence[float], *, sample_weight: Any = None) -> list[Self]:
        """Fit one model per C, in the given order, each starting from the solution of the previous one.

        Ascending values of C are the fastest. Ctrl-C ends the path with the models so far.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`.
        Cs : the values of C.
        """
        return self._fit_path(Given(X, y), Cs, sample_weight)

    def _fit(
        self, given: Given, sample_weight: Any, dev: Given | None, checkpoint: Any, observers: Sequence[Any]
    ) -> Self:
        loss = self._settings()
        kept = as_checkpoint(checkpoint)
        starts = self._n_starts(loss)
        if starts > 1 and kept is not None:
            raise MargraveError("a checkpoint holds one run: pass starts=1.")
        training = self._training(given, sample_weight, loss)
        score = None if dev is None else self._dev_score(dev, training)

        def task() -> Task:
            return self._task(training, loss, dev_score=score, checkpoint=kept, observers=observers)

        if not loss.convex and starts > 1:
            found = self._best_of_starts(starts, task)
        else:
            one = task()
            learner = learner_named(self.learner).resolve(loss, one.problem)
            found = learner, learner.solve(one)
        self._set_fitted(training, self._set_solution(*found))
        return self

    def _n_starts(self, loss: LossFamily) -> int:
        """The number of weights to start from."""
        return 1

    def _best_of_starts(self, starts: int, task: Callable[[], Task]) -> tuple[Learner, Solution]:
        """The solution with the lowest objective of a loss that is not convex; the first start is the learner's own."""
        rng = np.random.default_rng(self.random_state)
        best: tuple[float, Learner, Solution] | None = None
        self.starts_ = []
        for k in range(starts):
            one = task()
            if k > 0:
                one.start = _SPREAD * rng.standard_normal(one.problem.dim)
            learner = learner_named(self.learner).resolve(one.loss, one.problem)
            solution = learner.solve(one)
            objective, slope = one.objective(solution.w)
            self.starts_.append({"objective": objective, "gradient": float(np.linalg.norm(slope))})
            if best is None or objective < best[0]:
                best = objective, learner, solution
            if solution.ended is Ended.INTERRUPTED:
                break
        assert best is not None
        return best[1], best[2]

    def _fit_path(self, given: Given, Cs: Any, sample_weight: Any) -> list[Any]:
        models = [self._at(C) for C in check_path(Cs)]
        loss = models[0]._settings()
        training = self._training(given, sample_weight, loss)
        learner = learner_named(self.learner).resolve(loss, training.bound.problem)
        if len(models) > 1 and type(learner).carry is Learner.carry:
            learner.carry(None, models[1]._task(training, loss))  # This raises an error before any work is done.
        path: list[Any] = []
        state = None
        for model in models:
            task = model._task(training, loss)
            try:
                if state is not None:
                    state = learner.carry(state, task)
                solution = learner.solve(task, state)
            except KeyboardInterrupt:
                if not path:
                    raise  # there is no model yet
                break
            state = solution.state
            model._set_fitted(training, model._set_solution(learner, solution))
            path.append(model)
            if solution.ended is Ended.INTERRUPTED:
                break
        return path

    def _at(self, C: float) -> Any:
        """An unfitted estimator with this C."""
        return clone(self).set_params(C=C)

    def _settings(self) -> LossFamily:
        """The loss; wrong parameters are an error before any data are read."""
        loss = self._check_parameters()
        learner = learner_named(self.learner)
        check_loss(learner, loss)
        learner.check_packages()
        return loss

    def _check_parameters(self) -> LossFamily:
        """The loss; wrong parameters are an error, except for the learner, which prediction does not need."""
        check_options(self)
        loss = loss_named(self.loss)
        self._chosen_features()
        return loss

    def _chosen_features(self) -> Features | None:
        if isinstance(self.features, str) and self.features == "default":
            return self._default_features()
        if self.features is not None and not isinstance(self.features, Features):
            raise MargraveError(f"features must be an object of margrave.features, not {type(self.features).__name__}.")
        return self.features

    def _training(self, given: Given, sample_weight: Any, loss: LossFamily) -> Training:
        """The problem of examples with their outputs."""
        given, sample_weight = self._checked(given, sample_weight)
        structure = self._structure(given)
        outputs: Any = structure.learn(given.Y)
        structure.count_examples(given.X, given.Y)
        outputs.check()
        feature_map = self._map(outputs)
        chosen = self._chosen_features()
        features = None if chosen is None else chosen.learn(given.X)
        X = given.X if features is None else features.transform(given.X)
        bound = bind(
            structure,
            feature_map,
            X,
            given.Y,
            outputs=outputs,
            costs=self._costs(loss, outputs, given),
            to_map=self._to_map(given, features),
            to_structure=self._to_structure(given, X, outputs),
            threads=self._threads(),
        )
        return Training(given, bound, feature_map, features, sample_weight)

    def _task(
        self,
        training: Training,
        loss: LossFamily,
        *,
        dev_score: Callable[[Weights], float] | None = None,
        checkpoint: Checkpoint | None = None,
        observers: Sequence[Any] = (),
    ) -> Task:
        return Task(
            training.bound.problem,
            loss,
            C=self.C,
            sample_weight=training.sample_weight,
            max_iter=self.max_iter,
            tol=self.tol,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            verbose=bool(self.verbose),
            dev_score=dev_score,
            checkpoint=checkpoint,
            observers=tuple(observers),
            decode=self._decoder(training),
            approximate=training.bound.approximate,
        )

    def _dev_given(self, dev: Any) -> Given | None:
        """Development data as they were passed."""
        if dev is None:
            return None
        if not isinstance(dev, tuple | list) or len(dev) != 2:
            raise MargraveError("dev must be a pair (X, y).")
        return Given(*dev)

    def _dev_score(self, given: Given, training: Training) -> Callable[[Weights], float]:
        """The score on other data, as a function of the weights."""
        try:
            training.bound.structure.learn(given.Y)
            training.bound.structure.count_examples(given.X, given.Y)
            bound = self._bound(given, training.bound.outputs, training.feature_map, training.features)
            bound.structure.check_sizes(bound.units, given.Y)
        except MargraveError as error:
            raise MargraveError(f"dev: {error}") from None
        return lambda w: self._score(given.Y, bound.best(w, self._threads()), bound.outputs)

    def _set_solution(self, learner: Learner, solution: Solution) -> Weights:
        self.learner_ = learner
        self.history_ = solution.history
        self.certificate_ = solution.kept
        self.n_iter_ = len(solution.history)
        self.converged_ = solution.converged
        self.ended_ = solution.ended
        self.stop_reason_ = solution.reason
        self.metadata_ = {}
        self._n_left_out = 0
        if "tol" in learner.offers and not solution.converged and solution.ended is not Ended.INTERRUPTED:
            warnings.warn(
                f"stopped after {self.n_iter_} iterations ({solution.reason}) with a relative gap of "
                f"{solution.kept.relative_gap:.2g} > tol {float(self.tol):g}.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return solution.w

    def _set_fitted(self, training: Training, w: Weights) -> None:
        """Set the attributes that `fit` documents."""
        for name, value in training.given.fitted.items():
            setattr(self, name, value)
        feature_map, w = training.feature_map.compact(w)
        self._set_model(training.bound.outputs, feature_map, training.features, w)

    def _set_model(self, outputs: Outputs, feature_map: FeatureMap, features: Features | None, w: Weights) -> None:
        """Set what was learned here or read from a file."""
        self.outputs_, self.map_, self.features_ = outputs, feature_map, features
        if hasattr(outputs, "classes"):
            self.classes_ = outputs.classes
        table = token_table(feature_map)
        if isinstance(table, Kernel):
            self.n_support_ = table.n_support
        self._set_weights(w)

    def _weights(self) -> Weights:
        return self.coef_

    def _set_weights(self, w: Weights) -> None:
        self.coef_ = w

    @property
    def n_weights_(self) -> int:
        """The number of weights learned; `coef_` has fewer if `save` left out zeros."""
        self._check_fitted()
        return self._weights().size + self._n_left_out

    @property
    def n_zero_weights_(self) -> int:
        """The number of weights that are exactly zero."""
        return self.n_weights_ - int(np.count_nonzero(self._weights()))

    # ---- using a model -----------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """Predict the best output of every example.

        Parameters
        ----------
        X : as in `fit`.
        """
        return self._predict(Given(X))

    def predict_marginals(self, X: Any) -> Any:
        """Compute the probabilities of the parts of every example.

        The model is p(y) ~ exp(beta <theta, y>) with the loss's beta, or with 1 if that is infinite.

        Parameters
        ----------
        X : as in `fit`.
        """
        return self._predict_marginals(Given(X))

    def predict_kbest(self, X: Any, k: int = 10) -> list[list[tuple[float, Any]]]:
        """Predict the k best outputs of every example, best first, each with its score.

        Examples with fewer than k outputs get all of them.

        Parameters
        ----------
        X : as in `fit`.
        k : the number of outputs.
        """
        return self._predict_kbest(Given(X), k)

    def sample(self, X: Any, n: int = 1, random_state: int = 0) -> list[list[Any]]:
        """Draw n outputs of every example from the model.

        Parameters
        ----------
        X : as in `fit`.
        n : the number of outputs.
        random_state : the seed of the random numbers; the same seed draws the same outputs.
        """
        return self._sample(Given(X), n, random_state)

    def score(self, X: Any, y: Any) -> float:
        """Compute the score of the predictions for these examples.

        Parameters
        ----------
        X, y : as in `fit`.
        """
        return self._score(y, self.predict(X), self.outputs_)

    def _predict(self, given: Given) -> Any:
        return self._bind(given).best(self._weights(), self._threads())

    def _predict_marginals(self, given: Given) -> Any:
        bound = self._bind(given)
        _check_offer(bound, "logsum", "predict_marginals")
        begin, _, mu = _core.marginals_all(bound.problem, self._weights(), self._temperature(), self._threads())
        return bound.present(begin, mu)

    def _predict_kbest(self, given: Given, k: int) -> list[list[tuple[float, Any]]]:
        k = whole("k", k, 1, 2**31 - 1)
        bound = self._bind(given)
        _check_offer(bound, "kbest", "predict_kbest")
        begin, values, part_begin, parts = _core.kbest_all(bound.problem, self._weights(), k, self._threads())
        outputs = bound.decode(part_begin, parts, np.repeat(np.arange(bound.problem.size), begin[1:] - begin[:-1]))
        scored = list(zip(values.tolist(), outputs, strict=True))
        return [scored[first:last] for first, last in pairwise(begin.tolist())]

    def _sample(self, given: Given, n: int, random_state: int) -> list[list[Any]]:
        n, random_state = whole("n", n, 1, 2**31 - 1), whole("random_state", random_state, 0, 2**63 - 1)
        bound = self._bind(given)
        _check_offer(bound, "sample", "sample")
        begin, parts = _core.sample_all(
            bound.problem, self._weights(), self._temperature(), n, random_state, self._threads()
        )
        outputs = bound.decode(begin, parts, np.repeat(np.arange(bound.problem.size), n))
        return [list(outputs[first : first + n]) for first in range(0, len(outputs), n)]

    def _bind(self, given: Given) -> Bound:
        """New examples, bound with what the model has learned."""
        self._check_fitted()
        raw = self._raw(given.X)
        if raw is not given.X:
            given = replace(given, X=raw)
        return self._bound(given, self.outputs_, self.map_, self.features_)

    def _bound(self, given: Given, outputs: Any, feature_map: FeatureMap, features: Features | None) -> Bound:
        X = given.X if features is None else features.transform(given.X)
        return bind(
            self._structure(given),
            feature_map,
            X,
            outputs=outputs,
            to_map=self._to_map(given, features),
            to_structure=self._to_structure(given, X, outputs),
        )

    def _threads(self) -> int:
        return available_threads(self.n_jobs)

    def _temperature(self) -> float:
        """The beta of the model's distribution: that of the loss, or 1 if that is infinite."""
        beta = loss_named(self.loss).beta
        return beta if isfinite(beta) else 1.0

    def top_features(self, n: int = 10) -> dict[Any, Ranked]:
        """The n features with the largest weights, with these weights.

        If features have one weight per label (or node), the result has the largest positive weights of each; if parts
        share their weights, it has the largest absolute weights. Kernels and hashed features have no names, so that
        this is an error for them.

        Parameters
        ----------
        n : the number of features.
        """
        self._check_fitted()
        columns = self._structure(Given([])).part_names(self.outputs_)
        found: dict[Any, Ranked] = self.map_.top(self._weights(), columns, whole("n", n, 1, 2**31 - 1))
        if self.features_ is None or not hasattr(self.features_, "column_names"):
            return found
        names = self.features_.column_names()
        return {column: [(names[k], weight) for k, weight in ranked] for column, ranked in found.items()}

    def without_features(self) -> Self:
        """The same model without its inputs, which takes attributes instead of raw examples."""
        self._check_fitted()
        model = copy(self)
        model.features = model.features_ = None
        return model

    # ---- model files -------------------------------------------------------------------------------------------------

    def _stored_parameters(self) -> dict[str, Any]:
        """The parameters of the constructor that are saved."""
        parameters = self.get_params(deep=False)
        check_options(self)
        return {name: value for name, value in parameters.items() if name not in _NOT_STORED}

    def save(self, path: str | PathLike[str], metadata: Mapping[str, Any] | None = None) -> None:
        """Write the model to one file; an existing file is replaced only if this succeeds.

        If most weights are zero, they are left out, and so are attributes that have no other weights. The model that
        `load` returns then makes the same predictions with a shorter `coef_`.

        Parameters
        ----------
        path : the file.
        metadata : further information by name, in any form that JSON can store.
        """
        header, arrays = self._packed(metadata)
        model_file.write(path, header, arrays)

    def _packed(self, metadata: Mapping[str, Any] | None = None) -> tuple[dict[str, object], dict[str, NDArray[Any]]]:
        """The header and the arrays of a file."""
        self._check_fitted()
        kept = self.certificate_
        # A bound that is infinite or NaN says nothing.
        dual, gap = (None if each is None or not isfinite(each) else each for each in (kept.dual, kept.gap))
        if metadata is None:
            metadata = self.metadata_
        elif not isinstance(metadata, Mapping):
            raise MargraveError(f"metadata must be a dictionary, not {type(metadata).__name__}.")
        feature_map, weights = self.map_, self._weights()
        if 2 * self.n_zero_weights_ > self.n_weights_:
            feature_map, weights = feature_map.without_zeros(weights)
        arrays: dict[str, NDArray[Any]] = {}
        header: dict[str, object] = {
            "estimator": type(self).__name__,
            "parameters": {name: pack(value, arrays, name) for name, value in self._stored_parameters().items()},
            "features": pack(self.features_, arrays, "features_"),
            "outputs": pack(self.outputs_, arrays, "outputs_"),
            "map": pack(feature_map, arrays, "map_"),
            "weights": pack(weights, arrays, "weights"),
            "n_weights": self.n_weights_,
            "certificate": {"passes": kept.passes, "primal": kept.primal, "dual": dual, "gap": gap},
            "exact": kept.exact,
            "converged": self.converged_,
            "ended": self.ended_.value,
            "stop_reason": self.stop_reason_,
            "metadata": dict(metadata),
        }
        if self._more:
            header["more"] = {name: self._packed_more(name, arrays) for name in self._more}
        return header, arrays

    def _packed_more(self, name: str, arrays: dict[str, NDArray[Any]]) -> object:
        value = getattr(self, name)
        if not isinstance(value, StructuredEstimator):
            return pack(value, arrays, name)
        header, own = value._packed()
        arrays.update({f"{name}/{place}": array for place, array in own.items()})
        return {"kind": "estimator", "header": header}

    @staticmethod
    def _unpacked_more(name: str, stored: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
        match stored:
            case {"kind": "estimator", "header": {"estimator": str(kind)} as header}:
                found = SavedEstimator.registered.get(kind)
                if found is None:
                    raise MargraveError(f"it contains a {kind}, which is unknown here.")
                own = {
                    place.removeprefix(f"{name}/"): array
                    for place, array in arrays.items()
                    if place.startswith(f"{name}/")
                }
                return found._from_file(header, own)
        return unpack(stored, arrays)

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The model of a file. Files are not trusted: inconsistent contents raise an error."""
        known = set(cls._get_param_names())
        for name in header["parameters"]:
            if name not in known:
                raise MargraveError(f"a {cls.__name__} has no parameter {name!r}.")
        model = cls(**{name: unpack(value, arrays) for name, value in header["parameters"].items()})
        model._check_parameters()
        features, outputs, feature_map = (unpack(header[name], arrays) for name in ("features", "outputs", "map"))
        if features is not None and not isinstance(features, Features):
            raise MargraveError("its features are not an object of margrave.features.")
        if not isinstance(outputs, Outputs) or not isinstance(feature_map, FeatureMap):
            raise MargraveError("it has no outputs or no feature map.")
        stored = {
            name: None if value is None and name != "passes" else real(name, value, "be finite", isfinite)
            for name, value in header["certificate"].items()
        }
        exact = flag("exact", header.get("exact", True))  # which files of Margrave 0.1 do not say
        model.certificate_ = Record(seconds=0.0, **stored, exact=exact)  # type: ignore[arg-type]
        model.history_ = [model.certificate_]
        model.n_iter_ = 1
        model.converged_ = bool(header["converged"])
        model.ended_ = Ended(header["ended"])
        model.stop_reason_ = str(header["stop_reason"])
        model.metadata_ = dict(header["metadata"])
        weights = vector(unpack(header["weights"], arrays), np.float64, "weights")
        if not np.isfinite(weights).all():
            raise MargraveError("its weights must be finite.")
        for name in cls._more:
            setattr(model, name, cls._unpacked_more(name, header["more"][name], arrays))
        empty = model._bound(model._no_examples(feature_map), outputs, feature_map, None)
        if len(weights) != empty.problem.dim:
            raise MargraveError(f"it has {len(weights)} weights, and needs {empty.problem.dim}.")
        model._set_model(outputs, feature_map, features, weights)
        learned = whole("the number of weights learned", header["n_weights"], len(weights), 2**63)
        model._n_left_out = learned - len(weights)
        return model

    def _check_fitted(self) -> None:
        if not hasattr(self, "coef_"):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(self, "coef_")


def _check_offer(bound: Bound, what: str, verb: str) -> None:
    """Refuse a method that the structure does not support."""
    if what not in bound.problem.offers:
        other = getattr(bound.structure, "inference", "exact") != "exact"
        remedy = ": use inference='exact'" if other else ""
        raise MargraveError(f"{verb} needs '{what}', which {type(bound.structure).__name__} does not offer{remedy}.")


def token_table(feature_map: Any) -> FeatureTable | None:
    """The table that scores tokens or examples; None if parts have their own features."""
    for name in ("tokens", "table", "kernel"):
        feature_map = getattr(feature_map, name, feature_map)
    return feature_map if isinstance(feature_map, FeatureTable) else None


def check_path(Cs: Any) -> list[float]:
    """The values of a regularisation path; an error if there are none."""
    if isinstance(Cs, str | bytes) or not isinstance(Cs, Iterable):
        raise MargraveError(f"Cs must be a list of numbers, and it is {Cs!r}.")
    values = [real("every C of Cs", C, "be positive and finite", lambda C: 0 < C < inf) for C in Cs]
    if not values:
        raise MargraveError("Cs must have at least one C, and it is empty.")
    return values


def check_choice(name: str, value: Any, valid: Sequence[Any]) -> None:
    """Refuse a value that is not valid."""
    if value not in valid:
        raise unknown(name, value, [*map(str, valid)])
