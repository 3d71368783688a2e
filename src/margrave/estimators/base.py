"""The base of all estimators that learn by optimization: a model with a loss, C and a learner.

An estimator defines its structure, its feature map and its score (`_structure`, `_map`, `_score`); everything else is
implemented here and in model.py. A fit turns raw data into features, rows, a bound structure, a problem and weights, as
described in docs/architecture.md.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from margrave.binding import Bound, bind
from margrave.checks import real
from margrave.errors import MargraveError, unknown
from margrave.estimators.estimator import Estimator
from margrave.estimators.model import Given, Origin, StructuredModel, Weights
from margrave.features.base import Features
from margrave.learners import Checkpoint, Ended, Learner, Objective, Solution, learner_named
from margrave.learners.checkpoint import as_checkpoint
from margrave.learners.checks import check_loss
from margrave.losses import Cost, LossFamily, loss_named
from margrave.maps.base import FeatureMap
from margrave.options import check_options

_SPREAD = 0.1  # the deviation of random weights to start from


@dataclass(frozen=True)
class Training:
    """Everything that a learner needs, with what was learned from the data so far."""

    given: Given
    bound: Bound
    feature_map: FeatureMap
    features: Features | None
    sample_weight: Any


class StructuredEstimator(StructuredModel, Estimator):
    """The base of all estimators that minimize 1/2 |w|^2 + C sum_i L_i(w): a model that learns."""

    loss: str | LossFamily
    C: float
    learner: str | Learner
    max_iter: int | None
    tol: float
    random_state: int
    verbose: Any

    learner_: Learner  # the learner that ran, which "auto" chose; it is not saved
    starts_: list[dict[str, float]]  # after several starts: the objective and the norm of its gradient for each

    # ---- what an estimator defines -----------------------------------------------------------------------------------

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

    def _checked(self, given: Given, sample_weight: Any) -> tuple[Given, Any]:
        """Training data in the form that the structure and the features take; an error if they are invalid."""
        return given, sample_weight

    def _decoder(self, training: Training) -> Callable[[int, NDArray[np.int32]], Any]:
        """A function from an example and parts to an output in the form that cost functions take."""
        return training.bound.decode_one

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

        def objective() -> Objective:
            return self._objective(training, loss, dev_score=score, checkpoint=kept, observers=observers)

        if not loss.convex and starts > 1:
            found = self._best_of_starts(starts, objective)
        else:
            one = objective()
            learner = learner_named(self.learner).resolve(loss, one.problem)
            found = learner, learner.solve(one)
        self._set_fitted(training, self._set_solution(*found))
        return self

    def _n_starts(self, loss: LossFamily) -> int:
        """The number of weights to start from."""
        return 1

    def _best_of_starts(self, starts: int, objective: Callable[[], Objective]) -> tuple[Learner, Solution]:
        """The solution with the lowest objective of a loss that is not convex; the first start is the learner's own."""
        rng = np.random.default_rng(self.random_state)
        best: tuple[float, Learner, Solution] | None = None
        self.starts_ = []
        for k in range(starts):
            one = objective()
            if k > 0:
                one.start = _SPREAD * rng.standard_normal(one.problem.dim)
            learner = learner_named(self.learner).resolve(one.loss, one.problem)
            solution = learner.solve(one)
            value, slope = one.value_and_gradient(solution.w)
            self.starts_.append({"objective": value, "gradient": float(np.linalg.norm(slope))})
            if best is None or value < best[0]:
                best = value, learner, solution
            if solution.ended is Ended.INTERRUPTED:
                break
        assert best is not None
        return best[1], best[2]

    def _fit_path(self, given: Given, Cs: Any, sample_weight: Any) -> list[Any]:
        models = [self._at(C) for C in check_path(Cs)]
        loss = models[0]._settings()
        training = self._training(given, sample_weight, loss)
        learner = learner_named(self.learner).resolve(loss, training.bound.problem)
        if len(models) > 1 and type(learner).continue_with is Learner.continue_with:
            learner.continue_with(
                None, models[1]._objective(training, loss)
            )  # This raises an error before any work is done.
        path: list[Any] = []
        state = None
        for model in models:
            objective = model._objective(training, loss)
            try:
                if state is not None:
                    state = learner.continue_with(state, objective)
                solution = learner.solve(objective, state)
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

    def _objective(
        self,
        training: Training,
        loss: LossFamily,
        *,
        dev_score: Callable[[Weights], float] | None = None,
        checkpoint: Checkpoint | None = None,
        observers: Sequence[Any] = (),
    ) -> Objective:
        return Objective(
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

    def _temperature(self) -> float:
        """The beta of the model's distribution: that of the loss, or 1 if that is infinite."""
        beta = loss_named(self.loss).beta
        return beta if isfinite(beta) else 1.0

    def _set_solution(self, learner: Learner, solution: Solution) -> Weights:
        self.learner_ = learner
        self._set_origin(
            Origin(solution.reason, solution.ended, solution.converged, solution.certificate, tuple(solution.history))
        )
        if "tol" in learner.offers and not solution.converged and solution.ended is not Ended.INTERRUPTED:
            warnings.warn(
                f"stopped after {self.n_iter_} iterations ({solution.reason}) with a relative gap of "
                f"{solution.certificate.relative_gap:.2g} > tol {float(self.tol):g}.",
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
