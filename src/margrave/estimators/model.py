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
from margrave.checks import Fields, declared_types, fields_of, flag, one_of, real, whole
from margrave.errors import DataError, MargraveError, Message, quoted, setting, unknown
from margrave.estimators.extras import Extra, declare
from margrave.estimators.files import SavedModel, estimator_named, model_named, model_of
from margrave.examples import Examples, check_holds, count
from margrave.features.base import Features
from margrave.files import model as model_file
from margrave.files.rounding import stored_in_16_bits
from margrave.files.stored import pack, unpack, vector
from margrave.learners.ended import Ended
from margrave.learners.record import Record
from margrave.losses import Cost, LossFamily, loss_named
from margrave.maps.base import FeatureMap, Ranked
from margrave.maps.mercer import Kernel
from margrave.maps.named import NamedWeights, column_name
from margrave.maps.sparse import SparseMap
from margrave.maps.table import FeatureTable
from margrave.memory import check_memory
from margrave.options import check_options
from margrave.structures.base import NoOutputs, Outputs, Structure
from margrave.threads import available_threads

Weights = NDArray[np.float64]

# Parameters that belong to a run rather than to the model are not saved.
_NOT_STORED = ("n_jobs", "verbose")

_OF_SAMPLE = 200  # bytes of a short output: its parts in the core and in an array, and the list that the user gets

_LEARNED = "learned"  # in the state of a pickle: the bytes of a file


SIGNS = (None, "positive", "negative", "both")  # of the features that `top_features` lists

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
    learner : the name of the learner that ran; None if there was none.
    iterations : the number of iterations; None: as many as there are records.
    """

    reason: str
    ended: Ended = Ended.DONE
    converged: bool = True
    certificate: Record = field(default=Record(passes=0.0, seconds=0.0, primal=0.0))
    history: Sequence[Record] = ()
    learner: str | None = None
    iterations: int | None = None


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
    learned_by_: str | None  # the name of the learner that ran, which "auto" chose
    map_: Any  # the feature map with what it has learned
    features_: Features | None  # the features with what they have learned; None if X has features already
    outputs_: Any  # what the outputs have in common
    n_support_: int  # for kernels: the number of kernel evaluations that the prediction of one input takes
    metadata_: dict[str, Any]

    extras: ClassVar[tuple[Extra, ...]] = ()  # what methods take besides X and y

    # Further attributes that are saved: values that files can store, and models that this one consists of; None where
    # it has none. Their annotations are the types that they may have in a file.
    _more: ClassVar[tuple[str, ...]] = ()

    # Further attributes that a pickle or a copy gets from the bytes of a model file; all others are pickled themselves.
    _in_file: ClassVar[tuple[str, ...]] = ("coef_", "map_", "outputs_", "features_", "classes_", "n_support_")

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
        self.n_iter_ = len(origin.history) if origin.iterations is None else origin.iterations
        self.converged_ = origin.converged
        self.ended_ = origin.ended
        self.stop_reason_ = origin.reason
        self.learned_by_ = origin.learner
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
            [real(f"the weight of {quoted(name)}", value, "be finite", np.isfinite) for name, value in weights.items()]
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

    @property
    def weight_bits_(self) -> int:
        """The bits that each weight takes in a file: 16 if `fit` has rounded the weights, and otherwise 64."""
        return 64 if stored_in_16_bits(self._weights()) is None else 16

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
        check_holds("y must be a list of outputs, one per example", y)
        predicted = self._predict(examples)
        Y = self._outputs(y, examples.X)
        if count(Y) not in (None, len(predicted)):
            raise MargraveError(
                f"there are {len(predicted)} {self._structure(examples).examples} in X and {count(Y)} in y."
            )
        return self._score(Y, predicted, self.outputs_)

    def _examples(self, method: str, X: Any, extras: Mapping[str, Any], *Y: Any) -> Examples:
        """The arguments of a method; extras that are None were not given."""
        known = {each.name for each in self.extras if method in each.methods}
        for name in extras:
            if name not in known:
                raise TypeError(f"{type(self).__name__}.{method}() got an unexpected keyword argument {quoted(name)}")
        return self._given(X, *Y, extras={name: value for name, value in extras.items() if value is not None})

    def _given(self, X: Any, *Y: Any, extras: Mapping[str, Any] | None = None) -> Examples:
        """Examples as they were passed: X and, where they are given, outputs."""
        return Examples.given(X, *Y, extras=extras)

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
        check_memory(_OF_SAMPLE * n * bound.problem.size, f"{n} samples of each example", "lower n")
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
        return loss_named(self.loss).beta if self._has_probabilities() else 1.0

    def _has_probabilities(self) -> bool:
        """Whether the loss is about the probabilities of outputs, as all with a finite beta are."""
        return self.loss is not None and isfinite(loss_named(self.loss).beta)

    @property
    def weights_(self) -> NamedWeights:
        """The weights by name, in the order of `coef_`; kernels and hashed features have no names.

        Where `coef_` is a matrix of classes and attributes, the order is that of its columns, and intercepts are last.

        >>> from margrave import SequenceTagger
        >>> tagger = SequenceTagger().fit([[["a"], ["b"]]], [["A", "B"]])
        >>> bool(tagger.weights_["token", "a", "A"] == tagger.coef_[0] > 0)
        True
        """
        self._check_fitted()
        structure = self._structure(Examples([]))
        blocks = self.map_.blocks(structure.part_names(self.outputs_), structure.tuples(self.outputs_))
        weights = NamedWeights(blocks, self._weights())
        if self.features_ is None or not hasattr(self.features_, "column_names"):
            return weights
        return weights.renamed(self.features_.column_names())

    def top_features(self, n: int = 10, *, sign: str | None = None) -> dict[Any, Ranked]:
        """The n features with the largest weights, with these weights.

        If features have one weight per label (or node), the result has the weights of each label. Kernels and hashed
        features have no names, so that this is an error for them.

        Parameters
        ----------
        n : the number of features.
        sign : "positive" or "negative" for the largest weights of this sign, "both" for the largest absolute weights;
            None for the positive ones of each label, or, if parts share their weights, for both.
        """
        self._check_fitted()
        columns = self._structure(Examples([])).part_names(self.outputs_)
        n = whole("n", n, 1, 2**31 - 1)
        if not one_of(sign, SIGNS):
            raise unknown("sign", sign, [*filter(None, SIGNS)])
        w = self._weights()
        found: dict[Any, Ranked] = self.map_.top(w, columns, n) if sign is None else {}
        if sign in ("positive", "both"):
            found = self.map_.top(np.maximum(w, 0.0), columns, n)
        if sign in ("negative", "both"):
            below = self.map_.top(np.maximum(-w, 0.0), columns, n)
            for column, ranked in below.items():
                both = [*found.get(column, ()), *((name, -weight) for name, weight in ranked)]
                found[column] = sorted(both, key=lambda each: -abs(each[1]))[:n]
        if self.features_ is None or not hasattr(self.features_, "column_names"):
            return found
        names = self.features_.column_names()
        return {column: [(column_name(names, k), weight) for k, weight in ranked] for column, ranked in found.items()}

    def without_features(self) -> Self:
        """The same model without its features, which takes attributes instead of raw examples."""
        self._check_fitted()
        parameters = {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}
        if "features" in parameters:  # Some models have no choice of features.
            parameters["features"] = None
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
        `load` returns then makes the same predictions with a shorter `coef_`. Nothing is rounded here: where weights
        take 16 bits (`weight_bits_`), `fit` has already rounded them.

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
            **self._packed_learned(feature_map, weights, arrays),
            "certificate": {"passes": kept.passes, "primal": kept.primal, "dual": dual, "gap": gap},
            "exact": kept.exact,
            "converged": self.converged_,
            "ended": self.ended_.value,
            "stop_reason": self.stop_reason_,
            "learner": self.learned_by_,
            "iterations": self.n_iter_,
            "metadata": dict(metadata),
        }
        if self._more:
            header["more"] = {name: self._packed_more(name, arrays) for name in self._more}
        return header, arrays

    def _packed_learned(self, feature_map: Any, weights: Weights, arrays: dict[str, NDArray[Any]]) -> dict[str, object]:
        return {
            "features": pack(self.features_, arrays, "features_"),
            "outputs": pack(self.outputs_, arrays, "outputs_"),
            "map": pack(feature_map, arrays, "map_"),
            "weights": pack(weights, arrays, "weights"),
            "n_weights": self.n_weights_,
        }

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
        header = Fields(header)
        known, parameters = inspect.signature(cls).parameters, fields_of("parameters", header["parameters"])
        for name in parameters:
            if name not in known:
                raise MargraveError(f"a {cls.__name__} has no parameter {quoted(name)}.")
        model = cls(**{name: unpack(value, arrays) for name, value in parameters.items()})
        model._check_parameters()
        model._set_origin(_origin(header))
        model.metadata_ = dict(fields_of("metadata", header["metadata"]))
        if cls._more:
            more = fields_of("more", header["more"])
            found = Fields({name: cls._unpacked_more(name, more[name], arrays) for name in cls._more})
            types = declared_types(cls)  # type: ignore[arg-type]  # A class can be a key.
            for name in cls._more:
                setattr(model, name, found.of(name, types[name]))
        model._set_learned(header, arrays)
        return model

    def _set_learned(self, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Set what `_packed_learned` stored. Files are not trusted: inconsistent contents raise an error."""
        features, outputs, feature_map = (unpack(header[name], arrays) for name in ("features", "outputs", "map"))
        if features is not None and not isinstance(features, Features):
            raise MargraveError("its features are not an object of margrave.features.")
        if not isinstance(outputs, Outputs) or not isinstance(feature_map, FeatureMap):
            raise MargraveError("it has no outputs or no feature map.")
        weights = vector(unpack(header["weights"], arrays), np.float64, "weights")
        if not np.isfinite(weights).all():
            raise MargraveError("its weights must be finite.")
        self.outputs_, self.map_, self.features_ = outputs, feature_map, features
        empty = self._bound(self._no_examples(feature_map), outputs, feature_map, None)
        if len(weights) != empty.problem.dim:
            raise MargraveError(f"it has {len(weights)} weights, and needs {empty.problem.dim}.")
        self._set_model(outputs, feature_map, features, weights)
        learned = whole("the number of weights learned", header["n_weights"], len(weights), 2**63)
        self._n_left_out = learned - len(weights)

    # ---- pickles and copies ------------------------------------------------------------------------------------------

    # Much of what was learned is objects of the core, which cannot be pickled, so it is pickled as `save` stores it:
    # what can be saved can be pickled. Parameters, and what files do not contain, such as the history, are pickled as
    # any other attributes.

    def __getstate__(self) -> dict[str, Any]:
        """All attributes; those that files contain as the bytes of a file."""
        state = dict(vars(self))
        if "coef_" not in state:
            return state
        arrays: dict[str, NDArray[Any]] = {}
        more = [name for name in self._more if not isinstance(state.get(name), StructuredModel)]
        header = self._packed_learned(self.map_, self._weights(), arrays)
        header["more"] = {name: pack(getattr(self, name), arrays, name) for name in more}
        state = {name: value for name, value in state.items() if name not in (*self._in_file, *more)}
        return {**state, _LEARNED: model_file.to_bytes(header, arrays)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what `__getstate__` returned."""
        others = {name: value for name, value in state.items() if name != _LEARNED}
        vars(self).update(others)
        if _LEARNED in state:
            header: Any
            header, arrays = model_file.from_bytes(state[_LEARNED])
            for name, value in header["more"].items():
                setattr(self, name, unpack(value, arrays))
            self._set_learned(header, arrays)
            vars(self).update(others)

    def __copy__(self) -> Self:
        """A shallow copy, which shares what was learned."""
        copied = type(self).__new__(type(self))
        vars(copied).update(vars(self))
        return copied

    def _check_fitted(self) -> None:
        if not hasattr(self, "coef_"):
            from margrave.estimators.not_fitted import NotFittedError  # which imports scikit-learn

            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first.")


def _origin(header: Fields) -> Origin:
    """What a file says of the learning."""
    certificate = fields_of("certificate", header["certificate"])
    passes = real("its number of passes", certificate["passes"], "be finite and not negative", lambda n: 0 <= n < inf)
    primal, dual, gap = (
        None if value is None else real(f"its {name}", value, "be finite", isfinite)
        for name in ("primal", "dual", "gap")
        for value in [certificate[name]]
    )
    record = Record(passes, None, primal, dual, gap, exact=header.of("exact", bool))
    ended = header.of("ended", str)
    check_choice("end of learning", ended, [each.value for each in Ended])
    learner = header.of("learner", str | None) if "learner" in header else None  # Earlier files do not name it.
    iterations = whole("its number of iterations", header.get("iterations", 0), 0, 2**53)  # Nor do they have this.
    reason, converged = header.of("stop_reason", str), header.of("converged", bool)
    return Origin(reason, Ended(ended), converged, record, (record,), learner, iterations)


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
    if not one_of(value, valid):
        raise unknown(name, value, [*map(str, valid)])
