"""The base of all estimators that learn by optimization: a model with a loss, C and a learner.

An estimator defines its structure, its feature map and its score (`_structure`, `_map`, `_score`); everything else is
implemented here and in model.py. A fit turns raw data into features, rows, a bound structure, a problem and weights, as
described in docs/architecture.md.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from math import inf, sqrt
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave.binding import BoundProblem
from margrave.checks import real
from margrave.errors import MargraveError, quoted, setting
from margrave.estimators.estimator import Estimator
from margrave.estimators.extras import declare
from margrave.estimators.model import Origin, StructuredModel, Weights
from margrave.estimators.weighting import weighted
from margrave.examples import Examples
from margrave.features.base import Features
from margrave.learners import Checkpoint, Ended, Learner, Objective, Solution, learner_named
from margrave.learners.checkpoint import as_checkpoint
from margrave.learners.checks import check_loss
from margrave.learners.observers import as_observers
from margrave.learners.record import Record
from margrave.losses import Cost, LossFamily, loss_named
from margrave.maps.base import FeatureMap
from margrave.memory import within_memory

SPREAD = 0.1  # the deviation of random weights to start from
_FAR = 0.1  # of the norm of the gradient at w = 0: learners that end with more are far from a stationary point
_AGREE = 10  # times tol of the lowest objective: starts that end this close to it agree


@dataclass(frozen=True)
class Training:
    """Everything that a learner needs, with what was learned from the data so far.

    Parameters
    ----------
    model : the estimator with `learned`; the estimator itself changes only after its learner has succeeded.
    bound : the training examples, bound to a problem.
    feature_map, features : with what they have learned.
    learned : further attributes that a fit on these data sets.
    """

    model: Any
    bound: BoundProblem[Any, Any]
    feature_map: FeatureMap[Any, Any]
    features: Features | None
    learned: dict[str, Any] = field(default_factory=dict)

    @property
    def examples(self) -> Examples:
        """The training examples."""
        return self.bound.examples


class StructuredEstimator(Estimator, StructuredModel, saved_as=""):
    """The base of all estimators that minimize 1/2 |w|^2 + C sum_i L_i(w): a model that learns."""

    loss: str | LossFamily
    C: float
    learner: str | Learner
    max_iter: int | None
    max_seconds: float | None
    tol: float
    random_state: int
    verbose: Any

    learner_: Learner  # the learner that ran, which "auto" chose; it is not saved
    starts_: list[dict[str, float]]  # after several starts: the objective and the norm of its gradient for each

    def __init_subclass__(cls, **settings: Any) -> None:
        declare(cls)  # before scikit-learn reads the signatures
        super().__init_subclass__(**settings)

    # ---- what an estimator defines -----------------------------------------------------------------------------------

    def _map(self, outputs: Any) -> FeatureMap[Any, Any]:
        """A new feature map for such outputs."""
        raise MargraveError(f"{type(self).__name__} does not say which features it has.")

    def _default_features(self) -> Features:
        """The features that `features="default"` stands for."""
        raise MargraveError(
            f"a {type(self).__name__} has no default features: pass an object of margrave.features, or None."
        )

    def _costs(self, loss: LossFamily, outputs: Any, examples: Examples) -> Cost | None:
        """The costs of wrong outputs: by default those of the loss."""
        return loss.costs

    def _prepared(self, examples: Examples) -> tuple[Examples, dict[str, Any]]:
        """Training examples in the form that structure and features take, and attributes that a fit on them sets.

        Invalid examples are an error.
        """
        return examples, {}

    def _learned(self, examples: Examples, outputs: Any) -> dict[str, Any]:
        """Further attributes that a fit sets, from what the features have made of the examples."""
        return {}

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
        **extras: Any,
    ) -> Self:
        """Learn from examples and their outputs.

        Parameters
        ----------
        X : the examples.
        y : their outputs.
        sample_weight : one factor per example on its C: 2 is two copies of an example, and 0 leaves it out.
        dev : development data, by which sgd chooses its rate: (X, y), and whatever else `score` takes.
        checkpoint : a file for the state of the learner; after an interruption, the same call continues from it.
        observers : objects that are called after every pass (`margrave.learners.Observer`).
        """
        with within_memory("the fit"):
            examples = self._training_examples("fit", X, y, sample_weight, extras)
            return self._fit(examples, self._dev_examples(dev), as_checkpoint(checkpoint), observers)

    def fit_path(self, X: Any, y: Any, Cs: Sequence[float], *, sample_weight: Any = None, **extras: Any) -> list[Self]:
        """Fit one model per C, in the given order, each starting from the solution of the previous one.

        Ascending values of C are the fastest. Ctrl-C ends the path with the models so far.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`.
        Cs : the values of C.
        """
        with within_memory("the fit"):
            return self._fit_path(self._training_examples("fit_path", X, y, sample_weight, extras), Cs)

    def _training_examples(self, method: str, X: Any, y: Any, sample_weight: Any, extras: Any) -> Examples:
        examples = self._examples(method, X, extras, y)
        examples.training = True
        return weighted(examples, sample_weight)

    def _dev_examples(self, dev: Any) -> Examples | None:
        """Development data as they were passed."""
        if dev is None:
            return None
        names = [each.name for each in self.extras if "score" in each.methods]
        if not isinstance(dev, tuple | list) or not 2 <= len(dev) <= 2 + len(names):
            more = f", or (X, y, {', '.join(names)})" if names else ""
            raise MargraveError(f"dev must be a pair (X, y){more}.")
        return self._examples("score", dev[0], dict(zip(names, dev[2:], strict=False)), dev[1])

    def _fit(
        self, examples: Examples, dev: Examples | None, checkpoint: Checkpoint | None, observers: Sequence[Any]
    ) -> Self:
        loss = self._settings(examples)
        observing = as_observers(observers)
        starts = self._n_starts(loss)
        if starts > 1 and checkpoint is not None:
            raise MargraveError("a checkpoint follows one run: use ", setting(starts=1), ".")
        training = self._training(examples, loss)
        score = None if dev is None else self._dev_score(dev, training)

        def objective() -> Objective:
            return self._objective(training, loss, dev_score=score, checkpoint=checkpoint, observers=observing)

        one = objective()
        if not loss.convex and starts > 1:
            found = self._best_of_starts(starts, objective)
        else:
            learner = self._chosen_learner(one)
            found = learner, learner.solve(one)
            _warn_if_far(one, *found)
        self._set_solution(training, *found, one)
        return self

    def _chosen_learner(self, objective: Objective) -> Learner:
        chosen = learner_named(self.learner)
        return chosen.resolve(objective.loss, objective.problem, objective.largest_weight, objective.tol)

    def _n_starts(self, loss: LossFamily) -> int:
        """The number of weights to start from."""
        return 1

    def _best_of_starts(self, starts: int, objective: Callable[[], Objective]) -> tuple[Learner, Solution]:
        """The solution with the lowest objective of a loss that is not convex, from its own start and from others."""
        rng = np.random.default_rng(self.random_state)
        best: tuple[float, Learner, Solution] | None = None
        self.starts_ = []
        for k in range(starts):
            one = objective()
            if k > 0:
                one.start = SPREAD * rng.standard_normal(one.problem.dim)
            learner = self._chosen_learner(one)
            solution = learner.solve(one)
            value, slope = one.value_and_gradient(solution.w)
            self.starts_.append({"objective": value, "gradient": float(np.linalg.norm(slope))})
            if best is None or value < best[0]:
                best = value, learner, solution
            if solution.ended in (Ended.INTERRUPTED, Ended.MAX_SECONDS):
                break
        assert best is not None
        lowest, learner, solution = best
        near = lowest + _AGREE * self.tol * abs(lowest)
        agree = sum(each["objective"] <= near for each in self.starts_)
        return learner, replace(solution, reason=f"{solution.reason} ({agree} of {len(self.starts_)} starts agree)")

    def _fit_path(self, examples: Examples, Cs: Any) -> list[Any]:
        models = [self._at(C) for C in check_path(Cs)]
        loss = models[0]._settings(examples)
        training = self._training(examples, loss)
        largest = max(models, key=lambda model: model.C)
        learner = largest._chosen_learner(largest._objective(training, loss))
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
            model._set_solution(training, learner, solution, objective)
            path.append(model)
            if solution.ended is Ended.INTERRUPTED:
                break
        return path

    def _at(self, C: float) -> Any:
        """An unfitted estimator with this C."""
        return self.unfitted().set_params(C=C)

    def _settings(self, examples: Examples) -> LossFamily:
        """The loss for these examples; wrong parameters are an error before any data are read."""
        loss = self._check_parameters()
        learner = learner_named(self.learner)
        check_loss(learner, loss)
        learner.check_packages()
        return loss

    def _check_parameters(self) -> LossFamily:
        """The loss; wrong parameters are an error, except for the learner, which prediction does not need."""
        super()._check_parameters()
        self._chosen_features()
        return loss_named(self.loss)

    def _chosen_features(self) -> Features | None:
        if isinstance(self.features, str) and self.features == "default":
            return self._default_features()
        if self.features is not None and not isinstance(self.features, Features):
            raise MargraveError(f"features must be an object of margrave.features, not {type(self.features).__name__}.")
        return self.features

    def _training(self, examples: Examples, loss: LossFamily) -> Training:
        """The problem of examples with their outputs."""
        examples, learned = self._prepared(examples)
        model = copy(self)
        model.__dict__.update(learned)
        structure = model._structure(examples)
        weights = examples.extra("sample_weight")
        outputs: Any = structure.learn(examples.Y) if weights is None else structure.learn_weighted(examples.Y, weights)
        structure.count_examples(examples.X, examples.Y)
        outputs.check()
        feature_map = model._map(outputs)
        chosen = model._chosen_features()
        features = chosen
        if chosen is not None:
            features = chosen.learn(examples.X) if weights is None else chosen.learn_weighted(examples.X, weights)
        if features is not None:
            examples.encoded = features.transform(examples.X)
        model.outputs_, model.map_, model.features_ = outputs, feature_map, features
        learned |= model._learned(examples, outputs)
        model.__dict__.update(learned)
        bound = model._bound(examples, outputs, feature_map, features, model._costs(loss, outputs, examples))
        return Training(model, bound, feature_map, features, learned)

    def _objective(
        self, training: Training, loss: LossFamily, kind: type[Objective] = Objective, **more: Any
    ) -> Objective:
        return kind(
            training.bound.problem,
            loss,
            C=self._used_C(training),
            sample_weight=training.examples.extra("sample_weight"),
            max_iter=self.max_iter,
            max_seconds=self.max_seconds,
            tol=self.tol,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            verbose=bool(self.verbose),
            decode=self._decoder(training),
            approximate=training.bound.approximate,
            **more,
        )

    def _used_C(self, training: Training) -> float:  # noqa: N802
        """The C of the objective."""
        return self.C

    def _dev_score(self, examples: Examples, training: Training) -> Callable[[Weights], float]:
        """The score on other data, as a function of the weights."""
        model, bound = training.model, training.bound
        try:
            examples.X = model._inputs(examples.X)
            Y, examples.Y = model._outputs(examples.Y, examples.X), None
            bound.structure.learn(Y)
            bound.structure.count_examples(examples.X, Y)
            dev = model._bound(examples, bound.outputs, training.feature_map, training.features)
            bound.structure.check_sizes(replace(dev.examples, Y=Y))
        except MargraveError as error:
            raise MargraveError("dev: ", error.message) from None

        def score(w: Weights) -> float:
            predicted = model._finished(dev.examples, dev.best(w, self._threads()), range(dev.problem.size))
            return float(model._score(Y, predicted, dev.outputs))

        return score

    def _set_solution(self, training: Training, learner: Learner, solution: Solution, objective: Objective) -> None:
        self.learner_ = learner
        w, certificate = training.feature_map.rounded(solution.w), solution.certificate
        if (w != solution.w).any():
            certificate = _of_rounded(certificate, w, objective, learner, solution)
        self._set_origin(
            Origin(
                solution.reason,
                solution.ended,
                solution.converged,
                certificate,
                tuple(solution.history),
                learner.name,
            )
        )
        if "tol" in learner.offers and not solution.converged and solution.ended is not Ended.INTERRUPTED:
            from sklearn.exceptions import ConvergenceWarning  # slow to import

            warnings.warn(
                f"stopped after {self.n_iter_} iterations ({solution.reason}) with a relative gap of "
                f"{solution.certificate.relative_gap:.2g} > tol {float(self.tol):g}.",
                ConvergenceWarning,
                stacklevel=4,
            )
        self._set_fitted(training, w)

    def _set_fitted(self, training: Training, w: Weights) -> None:
        """Set the attributes that `fit` documents."""
        self.__dict__.update(training.learned)
        feature_map, w = training.feature_map.compact(w)
        self._set_model(training.bound.outputs, feature_map, training.features, w)


def _of_rounded(found: Record, w: Weights, objective: Objective, learner: Learner, solution: Solution) -> Record:
    """The certificate with the P of rounded weights, which takes one pass, and the same D."""
    if found.primal is None:
        return found
    primal = objective.primal(w)
    if not solution.exact:  # A search may miss outputs that are known, which D counts.
        primal = max(primal, learner.known_primal(solution.state, w))
    return replace(
        found, passes=found.passes + 1, primal=primal, gap=None if found.dual is None else primal - found.dual
    )


def _warn_if_far(objective: Objective, learner: Learner, solution: Solution) -> None:
    """Warn if the gradient is still large, where neither learner nor inference tell when to stop; two passes."""
    minimizes = not {"tol", "another objective", "perceptron loss"} & set(learner.offers)
    if objective.problem.exact or not minimizes or not objective.loss.smooth or solution.converged:
        return
    if solution.ended is Ended.INTERRUPTED:
        return
    at_zero, here = (
        sqrt(objective.problem.dot(slope, slope))
        for _, slope in map(objective.value_and_gradient, (np.zeros_like(solution.w), solution.w))
    )
    if here <= _FAR * at_zero:
        return
    from sklearn.exceptions import ConvergenceWarning  # slow to import

    warnings.warn(
        f"learner '{learner.name}' ended far from the optimum ({solution.reason}): the norm of the gradient is "
        f"{here:.2g}, and at w = 0 it was {at_zero:.2g}. Raise max_iter, or lower C; on graphs, inference='trw' has no "
        "jumps.",
        ConvergenceWarning,
        stacklevel=4,
    )


def check_path(Cs: Any) -> list[float]:
    """The values of a regularization path; an error if there are none."""
    if isinstance(Cs, str | bytes) or not isinstance(Cs, Iterable) or getattr(Cs, "shape", None) == ():
        raise MargraveError(f"Cs must be a list of numbers, and it is {quoted(Cs)}.")
    values = [real("every C of Cs", C, "be positive and finite", lambda C: 0 < C < inf) for C in Cs]
    if not values:
        raise MargraveError("Cs must have at least one C, and it is empty.")
    return values
