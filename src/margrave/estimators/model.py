"""A model: what predicts. Outputs, features, feature map and weights, with the methods that use them, and its file.

What learns such a model is an estimator (base.py). Models whose weights are counted or given build a model directly.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf, isfinite
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.binding import BoundProblem, bind
from margrave.checks import flag, real, whole
from margrave.errors import DataError, MargraveError, Message, setting, unknown
from margrave.estimators.extras import Extra, declare
from margrave.estimators.files import SavedModel, estimator_named, model_named, model_of
from margrave.examples import Examples
from margrave.features.base import Features
from margrave.files import model as model_file
from margrave.files.stored import pack, unpack, vector
from margrave.learners.ended import Ended
from margrave.learners.record import Record
from margrave.losses import Cost, LossFamily, loss_named
from margrave.maps.base import FeatureMap, Ranked
from margrave.maps.mercer import Kernel
from margrave.maps.sparse import SparseMap
from margrave.maps.table import FeatureTable
from margrave.options import check_options
from margrave.structures.base import NoOutputs, Outputs, Structure
from margrave.threads import available_threads

Weights = NDArray[np.float64]

# Parameters that belong to a run rather than to the model are not saved.
_NOT_STORED = ("n_jobs", "verbose")

_NO_ESTIMATOR = "a model that was loaded predicts, and does not learn: use model.estimator()."


@dataclass(frozen=True)
class Origin:
    """How the weights of a model came about: by a run of a learner, by counting, or given.

    Parameters
    ----------
    reason : why learning ended, or where the weights are from.
    ended : how the run ended.
    converged : whether there is nothing to improve.
    certificate : the certificate of the weights.
    history : the records of the run.
    """

    reason: str
    ended: Ended = Ended.DONE
    converged: bool = True
    certificate: Record = field(default=Record(passes=0.0, seconds=0.0, primal=0.0))
    history: Sequence[Record] = ()


class StructuredModel(SavedModel, saved_as=""):
    """The base of all models: linear scores of the parts of structured outputs."""

    n_jobs: int | None
    features: Features | str | None
    loss: Any = None  # a loss or its name; None if the weights were not learned by minimizing one

    coef_: Weights
    history_: list[Record]  # P is None after passes for which it was not computed
    certificate_: Record  # the certificate of coef_
    n_iter_: int
    converged_: bool
    ended_: Ended
    stop_reason_: str  # `ended_` in words
    map_: Any  # the feature map with what it has learned
    features_: Features | None  # the features with what they have learned; None if X has features already
    outputs_: Any  # what the outputs have in common
    n_support_: int  # for kernels: the number of kernel evaluations that the prediction of one input takes
    metadata_: dict[str, Any]

    extras: ClassVar[tuple[Extra, ...]] = ()  # what methods take besides X and y

    # Further attributes that are saved: values that files can store, and models that this one consists of; None where
    # it has none.
    _more: ClassVar[tuple[str, ...]] = ()

    _n_left_out: int = 0  # the number of zero weights that are not in coef_ because the file left them out

    def __init_subclass__(cls, **settings: Any) -> None:
        declare(cls)
        super().__init_subclass__(**settings)

    # ---- what a model defines ----------------------------------------------------------------------------------------

    def _structure(self, examples: Examples) -> Structure[Any, Any]:
        """The structure of these examples."""
        raise MargraveError(f"{type(self).__name__} does not say which structure it has.")

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        """The score of predictions; higher is better."""
        raise MargraveError(f"{type(self).__name__} has no score.")

    def _inputs(self, X: Any) -> Any:
        """New examples in the form that the features take or, without features, the feature map."""
        return X

    def _outputs(self, Y: Any, X: Any) -> Any:
        """The outputs of such examples in the form that the structure takes."""
        return Y

    def _completed(self, examples: Examples, outputs: Any) -> Examples:
        """Examples with all that feature map and structure need of them, after the features have encoded them."""
        return examples

    def _finished(self, examples: Examples, outputs: Sequence[Any], owners: Sequence[int]) -> Any:
        """Decoded outputs as users get them; output k belongs to example owners[k]."""
        return outputs

    def _no_examples(self, feature_map: Any) -> Examples:
        """An empty list of examples for a model with this feature map."""
        return Examples([])

    def _check_parameters(self) -> Any:
        """Refuse wrong parameters, except for the learner, which prediction does not need."""
        check_options(self)
        if self.loss is not None:
            loss_named(self.loss)

    # ---- making a model ----------------------------------------------------------------------------------------------

    def _set_origin(self, origin: Origin) -> None:
        """Set what is known of the learning."""
        self.history_ = list(origin.history)
        self.certificate_ = origin.certificate
        self.n_iter_ = len(origin.history)
        self.converged_ = origin.converged
        self.ended_ = origin.ended
        self.stop_reason_ = origin.reason
        self.metadata_ = {}
        self._n_left_out = 0

    def _set_model(
        self, outputs: Outputs, feature_map: FeatureMap[Any, Any], features: Features | None, w: Weights
    ) -> None:
        """Set what was learned here or read from a file."""
        self.outputs_, self.map_, self.features_ = outputs, feature_map, features
        if hasattr(outputs, "classes"):
            self.classes_ = outputs.classes
        table = token_table(feature_map)
        if isinstance(table, Kernel):
            self.n_support_ = table.n_support
        self._set_weights(w)

    def _set_given_weights(self, weights: Mapping[str, float], unit: str, features: Features | None) -> None:
        """Become a model with one weight per name; `unit` is the word for what has features."""
        if not isinstance(weights, Mapping) or not all(isinstance(name, str) for name in weights):
            raise MargraveError("weights must be a dictionary from names to numbers.")
        w = np.array(
            [real(f"the weight of {name!r}", value, "be finite", np.isfinite) for name, value in weights.items()]
        )
        feature_map = SparseMap(unit=unit)
        feature_map.encode(Examples([[list(weights)]]), grow=True)
        at_zero = Record(0.0, 0.0, 0.5 * float(w @ w))
        self._set_origin(Origin("given weights", converged=False, certificate=at_zero))
        self._set_model(NoOutputs(), feature_map, features, w)

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

    def predict(self, X: Any, **extras: Any) -> Any:
        """Predict the best output of every example.

        Parameters
        ----------
        X : as in `fit`.
        """
        return self._predict(self._examples("predict", X, extras))

    def predict_marginals(self, X: Any, **extras: Any) -> Any:
        """Compute the probabilities of the parts of every example.

        The model is p(y) ~ exp(beta <theta, y>) with the loss's beta, or with 1 if that is infinite.

        Parameters
        ----------
        X : as in `fit`.
        """
        return self._predict_marginals(self._examples("predict_marginals", X, extras))

    def predict_kbest(self, X: Any, k: int = 10, **extras: Any) -> list[list[tuple[float, Any]]]:
        """Predict the k best outputs of every example, best first, each with its score.

        Examples with fewer than k outputs get all of them.

        Parameters
        ----------
        X : as in `fit`.
        k : the number of outputs.
        """
        return self._predict_kbest(self._examples("predict_kbest", X, extras), k)

    def sample(self, X: Any, n: int = 1, random_state: int = 0, **extras: Any) -> list[list[Any]]:
        """Draw n outputs of every example from the model.

        Parameters
        ----------
        X : as in `fit`.
        n : the number of outputs.
        random_state : the seed of the random numbers; the same seed draws the same outputs.
        """
        return self._sample(self._examples("sample", X, extras), n, random_state)

    def log_probability(self, X: Any, y: Any, **extras: Any) -> NDArray[np.float64]:
        """Compute the log probability of one given output per example, under the model of `predict_marginals`.

        Parameters
        ----------
        X, y : as in `fit`.
        """
        return self._log_probability(self._examples("log_probability", X, extras, y))

    def score(self, X: Any, y: Any, **extras: Any) -> float:
        """Compute the score of the predictions for these examples.

        Parameters
        ----------
        X, y : as in `fit`.
        """
        examples = self._examples("score", X, extras)
        predicted = self._predict(examples)
        return self._score(self._outputs(y, examples.X), predicted, self.outputs_)

    def _examples(self, method: str, X: Any, extras: Mapping[str, Any], Y: Any = None) -> Examples:
        """The arguments of a method; those that are None were not given."""
        known = {each.name for each in self.extras if method in each.methods}
        for name in extras:
            if name not in known:
                raise TypeError(f"{type(self).__name__}.{method}() got an unexpected keyword argument {name!r}")
        return Examples(X, Y, {name: value for name, value in extras.items() if value is not None})

    def _predict(self, examples: Examples) -> Any:
        bound = self._bind(examples)
        return self._finished(bound.examples, bound.best(self._weights(), self._threads()), range(bound.problem.size))

    def _predict_marginals(self, examples: Examples) -> Any:
        bound = self._bind(examples)
        _check_offer(bound, "logsum", "predict_marginals")
        begin, _, mu = _core.marginals_all(bound.problem, self._weights(), self._temperature(), self._threads())
        return bound.present(begin, mu)

    def _predict_kbest(self, examples: Examples, k: int) -> list[list[tuple[float, Any]]]:
        k = whole("k", k, 1, 2**31 - 1)
        bound = self._bind(examples)
        _check_offer(bound, "kbest", "predict_kbest")
        begin, values, part_begin, parts = _core.kbest_all(bound.problem, self._weights(), k, self._threads())
        owners = np.repeat(np.arange(bound.problem.size), begin[1:] - begin[:-1])
        outputs = self._finished(bound.examples, bound.decode(part_begin, parts, owners), owners.tolist())
        scored = list(zip(values.tolist(), outputs, strict=True))
        return [scored[first:last] for first, last in pairwise(begin.tolist())]

    def _sample(self, examples: Examples, n: int, random_state: int) -> list[list[Any]]:
        n, random_state = whole("n", n, 1, 2**31 - 1), whole("random_state", random_state, 0, 2**63 - 1)
        bound = self._bind(examples)
        _check_offer(bound, "sample", "sample")
        begin, parts = _core.sample_all(
            bound.problem, self._weights(), self._temperature(), n, random_state, self._threads()
        )
        owners = np.repeat(np.arange(bound.problem.size), n)
        outputs = self._finished(bound.examples, bound.decode(begin, parts, owners), owners.tolist())
        return [list(outputs[first : first + n]) for first in range(0, len(outputs), n)]

    def _log_probability(self, examples: Examples) -> NDArray[np.float64]:
        bound = self._bind(examples)
        _check_offer(bound, "logsum", "log_probability")
        beta = self._temperature()
        # L(beta, 0) is -log p / beta.
        family = LossFamily(beta, 0.0).core(1.0, None)
        losses, _ = _core.losses_and_gradient(bound.problem, self._weights(), family, self._threads(), False)
        return np.minimum(-beta * losses, 0.0)

    def _bind(self, examples: Examples) -> BoundProblem[Any, Any]:
        """New examples, bound with what the model has learned."""
        self._check_fitted()
        examples.X = self._inputs(examples.X)
        if examples.Y is not None:
            examples.Y = self._outputs(examples.Y, examples.X)
            self._structure(examples).count_examples(examples.X, examples.Y)
        return self._bound(examples, self.outputs_, self.map_, self.features_)

    def _bound(
        self,
        examples: Examples,
        outputs: Any,
        feature_map: FeatureMap[Any, Any],
        features: Features | None,
        costs: Cost | None = None,
    ) -> BoundProblem[Any, Any]:
        if features is not None and examples.encoded is None:
            examples.encoded = features.transform(examples.X)
        examples = self._completed(examples, outputs)
        structure = self._structure(examples)
        threads = self._threads() if examples.training else 1
        return bind(structure, feature_map, examples, outputs=outputs, costs=costs, threads=threads)

    def _threads(self) -> int:
        return available_threads(self.n_jobs)

    def _temperature(self) -> float:
        """The beta of the model's distribution: that of the loss, or 1 if that is infinite or if there is no loss."""
        beta = inf if self.loss is None else loss_named(self.loss).beta
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
        columns = self._structure(Examples([])).part_names(self.outputs_)
        found: dict[Any, Ranked] = self.map_.top(self._weights(), columns, whole("n", n, 1, 2**31 - 1))
        if self.features_ is None or not hasattr(self.features_, "column_names"):
            return found
        names = self.features_.column_names()
        return {column: [(names[k], weight) for k, weight in ranked] for column, ranked in found.items()}

    def without_features(self) -> Self:
        """The same model without its features, which takes attributes instead of raw examples."""
        self._check_fitted()
        parameters = {
            **{name: getattr(self, name) for name in inspect.signature(type(self)).parameters},
            "features": None,
        }
        model = type(self)(**parameters)
        vars(model).update({name: value for name, value in vars(self).items() if name not in parameters})
        model.features_ = None
        return model

    def estimator(self) -> Any:
        """The estimator of this model, which can also learn; it has the same weights.

        >>> from margrave import SequenceTagger, load
        >>> SequenceTagger().fit([[["a"]], [["b"]]], [["A"], ["B"]]).save("tagger.margrave")
        >>> load("tagger.margrave").estimator()
        SequenceTagger()
        """
        kind = estimator_named(self.saved_as)
        if kind is None:
            raise MargraveError(f"this Margrave has no {self.saved_as}: import the module that defines it.")
        if isinstance(self, kind):
            return self
        made: Any = kind(**{name: getattr(self, name) for name in inspect.signature(kind).parameters})
        vars(made).update(vars(self))
        return made

    def __repr__(self) -> str:
        """The estimator that learned it, and its size."""
        size = f"{self.n_weights_:,} weights" if hasattr(self, "coef_") else "not fitted"
        return f"<{self.saved_as} model, {size}>"

    # Only estimators learn. scikit-learn asks for these before it clones an estimator.

    def fit(self, X: Any, y: Any = None) -> Self:
        """Refuse: a model that was loaded does not learn."""
        raise MargraveError(_NO_ESTIMATOR)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Refuse: only estimators have parameters that scikit-learn can change."""
        raise MargraveError(_NO_ESTIMATOR)

    def __sklearn_tags__(self) -> Any:
        raise MargraveError(_NO_ESTIMATOR)

    # ---- model files -------------------------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: str | PathLike[str], *, mmap: bool = False) -> Self:
        """Load what `save` wrote as an object of this class, such as an estimator that can also learn.

        Parameters
        ----------
        path, mmap : as in `margrave.load`.
        """
        header, arrays = model_file.read(path, mapped=flag("mmap", mmap))
        if header.get("estimator") != cls.saved_as:
            raise DataError(path, None, f"it contains a {header.get('estimator')}, not a {cls.saved_as}.")
        return model_of(path, cls, header, arrays)

    def _stored_parameters(self) -> dict[str, Any]:
        """The parameters of the constructor that are saved."""
        self._check_parameters()
        names = inspect.signature(type(self)).parameters
        return {name: getattr(self, name) for name in names if name not in _NOT_STORED}

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
            "estimator": self.saved_as,
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
        if not isinstance(value, StructuredModel):
            return pack(value, arrays, name)
        header, own = value._packed()
        arrays.update({f"{name}/{place}": array for place, array in own.items()})
        return {"kind": "estimator", "header": header}

    @staticmethod
    def _unpacked_more(name: str, stored: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
        match stored:
            case {"kind": "estimator", "header": {"estimator": str(kind)} as header}:
                found = model_named(kind)
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
        known = inspect.signature(cls).parameters
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
        exact = flag("exact", header["exact"])
        record = Record(seconds=0.0, **stored, exact=exact)  # type: ignore[arg-type]
        converged, ended = bool(header["converged"]), Ended(header["ended"])
        model._set_origin(Origin(str(header["stop_reason"]), ended, converged, record, (record,)))
        model.metadata_ = dict(header["metadata"])
        weights = vector(unpack(header["weights"], arrays), np.float64, "weights")
        if not np.isfinite(weights).all():
            raise MargraveError("its weights must be finite.")
        for name in cls._more:
            setattr(model, name, cls._unpacked_more(name, header["more"][name], arrays))
        model.outputs_, model.map_, model.features_ = outputs, feature_map, features
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


def _check_offer(bound: BoundProblem[Any, Any], what: str, verb: str) -> None:
    """Refuse a method that the structure does not support."""
    if what not in bound.problem.offers:
        other = getattr(bound.structure, "inference", "exact") != "exact"
        remedy = Message(": use ", setting(inference="exact")) if other else ""
        offered = f"{verb} needs '{what}', which {type(bound.structure).__name__} does not offer"
        raise MargraveError(offered, remedy, ".")


def token_table(feature_map: Any) -> FeatureTable | None:
    """The table that scores tokens or examples; None if parts have their own features."""
    for name in ("tokens", "table", "kernel"):
        feature_map = getattr(feature_map, name, feature_map)
    return feature_map if isinstance(feature_map, FeatureTable) else None


def check_choice(name: str, value: Any, valid: Sequence[Any]) -> None:
    """Refuse a value that is not valid."""
    if value not in valid:
        raise unknown(name, value, [*map(str, valid)])
