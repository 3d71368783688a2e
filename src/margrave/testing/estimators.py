"""The contracts of an estimator: every public method, on a small data set."""

import json
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from margrave.errors import MargraveError
from margrave.estimators import load
from margrave.learners import Observer, Record
from margrave.testing.enumeration import Array
from margrave.testing.failures import contract, plain, quoted, require, require_bits, require_close

_ROUNDING = 1e-9  # of P, relative to its size


@dataclass(frozen=True)
class Trial:
    """An estimator and a small data set to try it on."""

    estimator: Any
    X: Any
    y: Any
    without: Collection[str] = ()  # methods that its structure does not offer

    def offers(self, method: str) -> bool:
        """Whether the structure offers what the method needs."""
        return method not in self.without

    def make(self, **settings: Any) -> Any:
        """A new estimator with some settings changed; it uses one thread unless they say otherwise."""
        return clone(self.estimator).set_params(**{"n_jobs": 1, **settings})

    def fit(self, **settings: Any) -> Any:
        """The same, fitted."""
        return self.make(**settings).fit(self.X, self.y)


Check = Callable[[Trial], None]
CONTRACTS: dict[str, Check] = {}


def _contract(sentence: str) -> Callable[[Check], Check]:
    def add(check: Check) -> Check:
        CONTRACTS[sentence] = check
        return check

    return add


@_contract("parameters can be read, set and cloned, and a fit does not change them")
def keeps_parameters(trial: Trial) -> None:
    """As scikit-learn requires."""
    model = trial.make(C=0.5)
    before = model.get_params(deep=False)
    require(before["C"] == 0.5, f"C is {before['C']!r} after set_params(C=0.5)")
    again = clone(model).get_params(deep=False)
    require(again.keys() == before.keys(), "a clone has other parameters")
    for name, value in before.items():
        require(repr(again[name]) == repr(value), f"{name} of a clone is {quoted(again[name])}, not {quoted(value)}")
    require(model.fit(trial.X, trial.y) is model, "fit does not return the estimator")
    for name, value in model.get_params(deep=False).items():
        require(value is before[name], f"fit changed {name} from {quoted(before[name])} to {quoted(value)}")


@_contract("an unfitted estimator says that it is not fitted")
def refuses_unfitted(trial: Trial) -> None:
    """With scikit-learn's error, for every method that needs a model."""
    for name, call in _VERBS.items():
        try:
            call(trial.make(), trial.X)
        except NotFittedError:
            continue
        raise AssertionError(f"{name} of an unfitted estimator raises no NotFittedError")


@_contract("different numbers of examples and outputs are refused")
def refuses_lengths(trial: Trial) -> None:
    """By an error before learning."""
    try:
        trial.make().fit(trial.X, trial.y[:-1])
    except (MargraveError, ValueError):
        return
    raise AssertionError(f"fit accepts {len(trial.y)} examples with {len(trial.y) - 1} outputs")


@_contract("it predicts one output per example, with a score and a certificate")
def predicts(trial: Trial) -> None:
    """The history has one record per pass, and the gap is not negative."""
    model = trial.fit()
    predicted = model.predict(trial.X)
    require(len(predicted) == len(trial.y), f"there are {len(predicted)} predictions for {len(trial.y)} examples")
    require(np.isfinite(model.score(trial.X, trial.y)), "the score is not finite")
    certificate = model.certificate_
    require(certificate.primal > 0, f"P is {certificate.primal}")
    if certificate.gap is not None:
        require(certificate.gap >= -_ROUNDING * certificate.primal, f"the gap is {certificate.gap:.3g}")
    require(model.n_iter_ == len(model.history_) > 0, f"n_iter_ is {model.n_iter_}, with {len(model.history_)} records")
    require(model.n_weights_ >= model.n_zero_weights_, "there are more zero weights than weights")
    require(np.isfinite(model.coef_).all(), "a weight is not finite")


@_contract("a second fit gives the same bits")
def is_deterministic(trial: Trial) -> None:
    """With the same seed and one thread."""
    require_bits("coef_", trial.fit().coef_, trial.fit().coef_)


@_contract("marginals, k best and samples are of one distribution")
def has_one_distribution(trial: Trial) -> None:
    """The best of the k best is the prediction, and threads change nothing."""
    model = trial.fit()
    if trial.offers("predict_kbest"):
        _check_kbest(model, trial)
    if trial.offers("sample"):
        samples = model.sample(trial.X, n=5, random_state=7)
        require([len(each) for each in samples] == [5] * len(trial.y), "there are not 5 samples per example")
        for threads in (1, 2):
            again = model.set_params(n_jobs=threads).sample(trial.X, n=5, random_state=7)
            require(plain(again) == plain(samples), f"with {threads} threads, the same seed draws other samples")
    if trial.offers("predict_marginals"):
        for i, each in enumerate(model.predict_marginals(trial.X)):
            values = np.asarray(list(each.values()) if isinstance(each, dict) else each)
            within = ((values >= -1e-12) & (values <= 1 + 1e-12)).all()
            require(within, f"example {i}: marginals are from {values.min():.3g} to {values.max():.3g}")


def _check_kbest(model: Any, trial: Trial) -> None:
    kbest = model.predict_kbest(trial.X, k=3)
    for i, (each, best) in enumerate(zip(kbest, model.predict(trial.X), strict=True)):
        require(1 <= len(each) <= 3, f"example {i} has {len(each)} of the 3 best outputs")
        same = plain(each[0][1]) == plain(best)
        require(same, f"example {i}: the best output is {quoted(each[0][1])}, the prediction {quoted(best)}")
        scores = [score for score, _ in each]
        require(scores == sorted(scores, reverse=True), f"example {i}: the scores are {quoted(scores)}")
        different = {json.dumps(plain(output)) for _, output in each}
        require(len(different) == len(each), f"example {i}: an output occurs twice")
    again = model.set_params(n_jobs=2).predict_kbest(trial.X, k=3)
    require(plain(again) == plain(kbest), "with 2 threads, there are other outputs")
    _require_refusal(lambda: model.predict_kbest(trial.X, k=0), "k must be at least 1")


@_contract("a method that the structure does not offer is refused")
def refuses_without(trial: Trial) -> None:
    """In one sentence, as an error of Margrave."""
    model = trial.fit()
    for name in trial.without:
        _require_refusal(lambda name=name: _VERBS[name](model, trial.X), ".")  # type: ignore[misc]


@_contract("one example at a time gives the same as all at once")
def predicts_one_by_one(trial: Trial) -> None:
    """Predictions, k best and marginals."""
    model = trial.fit(n_jobs=None)
    for name in ("predict", "predict_kbest", "predict_marginals"):
        if trial.offers(name):
            together = plain(list(_VERBS[name](model, trial.X)))
            for i, expected in enumerate(together):
                alone = plain(list(_VERBS[name](model, trial.X[i : i + 1])))[0]
                require(alone == expected, f"{name} of example {i}: {quoted(alone)}, not {quoted(expected)}")


@_contract("a file gives the model back")
def survives_files(trial: Trial) -> None:
    """With the same predictions, and the same bytes if it is saved again."""
    model = trial.fit()
    with TemporaryDirectory() as folder:
        first, second = Path(folder, "first"), Path(folder, "second")
        model.save(first, {"note": 1})
        again = load(first)
        require(again.metadata_ == {"note": 1}, f"the metadata are {again.metadata_!r}")
        for name in ("predict", "predict_kbest"):
            if trial.offers(name):
                same = plain(_VERBS[name](again, trial.X)) == plain(_VERBS[name](model, trial.X))
                require(same, f"{name} differs")
        again.save(second)
        require(second.read_bytes() == first.read_bytes(), "saved again, the file has other bytes")


@_contract("the models of a path are those of their C")
def fits_paths(trial: Trial) -> None:
    """Each has the P of a model that was fitted alone."""
    path = trial.make(tol=1e-8).fit_path(trial.X, trial.y, [0.5, 1.0])
    require([model.C for model in path] == [0.5, 1.0], f"the values of C are {[model.C for model in path]}")
    for model in path:
        alone = trial.fit(tol=1e-8, C=model.C)
        require_close(f"P at C={model.C:g}", model.certificate_.primal, alone.certificate_.primal, digits=1e-6)


@_contract("a run continues from its checkpoint with the same bits")
def continues_from_checkpoints(trial: Trial) -> None:
    """With learner "eg" and the log loss."""
    settings = {"learner": "eg", "loss": "log", "tol": 1e-9}
    whole = trial.fit(**settings, max_iter=6)
    with TemporaryDirectory() as folder:
        file = Path(folder, "run")
        trial.make(**settings, max_iter=3).fit(trial.X, trial.y, checkpoint=file)
        rest = trial.make(**settings, max_iter=6).fit(trial.X, trial.y, checkpoint=file)
    require_bits("coef_", rest.coef_, whole.coef_)


@_contract("weights of examples count")
def weights_examples(trial: Trial) -> None:
    """Weights of 1 change nothing, a larger one raises P, and negative ones are refused."""
    n = len(trial.y)
    settings = {"tol": 1e-8, "loss": "log"}  # under which only an example with a single output has no loss
    same = trial.make(**settings).fit(trial.X, trial.y, sample_weight=np.ones(n)).certificate_.primal
    require_close("P with weights of 1", same, trial.fit(**settings).certificate_.primal)

    def weighted(i: int) -> float:
        weight = np.where(np.arange(n) == i, 5.0, 1.0)
        return float(trial.make(**settings).fit(trial.X, trial.y, sample_weight=weight).certificate_.primal)

    require(any(weighted(i) > same for i in range(n)), f"P is {same:.9g}, whichever example has a weight of 5")
    try:
        trial.make().fit(trial.X, trial.y, sample_weight=-np.ones(n))
    except ValueError:
        return
    raise AssertionError("fit accepts negative weights")


@_contract("observers see every pass")
def calls_observers(trial: Trial) -> None:
    """One call per iteration."""
    counting = _Counting()
    model = trial.make().fit(trial.X, trial.y, observers=[counting])
    require(counting.seen == model.n_iter_ > 0, f"there were {counting.seen} calls in {model.n_iter_} iterations")


class _Counting(Observer):
    seen = 0

    def note(self, record: Record, w: Array) -> None:
        """Counts the call."""
        self.seen += 1


@_contract("the features with the largest weights can be read")
def shows_features(trial: Trial) -> None:
    """Or one sentence says why they have no names."""
    model = trial.fit()
    try:
        top = model.top_features(3)
    except MargraveError as refusal:
        require("do not store names" in str(refusal) or "features do not have weights" in str(refusal), str(refusal))
        return
    require(top and any(top.values()), "there are none")
    for name, ranked in top.items():
        sizes = [abs(weight) for _, weight in ranked]
        require(sizes == sorted(sizes, reverse=True) and len(ranked) <= 3, f"those of {name!r} are {quoted(ranked)}")
    _require_refusal(lambda: model.top_features(0), "n must be at least 1")


_VERBS: dict[str, Callable[[Any, Any], Any]] = {
    "predict": lambda model, X: model.predict(X),
    "predict_marginals": lambda model, X: model.predict_marginals(X),
    "predict_kbest": lambda model, X: model.predict_kbest(X),
    "sample": lambda model, X: model.sample(X),
    "top_features": lambda model, X: model.top_features(),
    "save": lambda model, X: model.save("nowhere"),
}


def _require_refusal(call: Callable[[], Any], sentence: str) -> None:
    try:
        call()
    except MargraveError as refusal:
        require(sentence in str(refusal), f"the error is {str(refusal)!r}, and should say {sentence!r}")
        return
    raise AssertionError(f"there is no error that says {sentence!r}")


def check_estimator(
    estimator: Any, X: Any, y: Any, *, min_score: float | None = None, without: Collection[str] = ()
) -> None:
    """Check every public method of an estimator of your own on a small data set.

    Parameters
    ----------
    estimator : the estimator, with the parameters to try; it stays unfitted.
    X : a few small examples, which can be sliced.
    y : their outputs.
    min_score : the score that it must reach on these examples; None for any.
    without : the methods that its structure does not offer: "predict_marginals", "predict_kbest" or "sample". They must
        then be refused.

    >>> from margrave import SequenceTagger
    >>> check_estimator(SequenceTagger(), [[["the"], ["dog"]], [["dogs"]]], [["D", "N"], ["N"]], min_score=1.0)
    """
    trial = Trial(estimator, X, y, without)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # Some contracts stop a run early.
        for sentence, check in CONTRACTS.items():
            with contract(estimator, sentence):
                check(trial)
        if min_score is not None:
            with contract(estimator, f"it learns the examples with a score of {min_score:g}"):
                score = trial.fit().score(X, y)
                require(score >= min_score, f"the score is {score:.4g}")
