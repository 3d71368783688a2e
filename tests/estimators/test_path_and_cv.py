"""Fits that go on from others: regularization paths, the cross-validation along them, and checkpoints."""

import pickle
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from math import inf, isfinite, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit

from margrave import (
    PCFG,
    GenerativeAligner,
    Hinge,
    HMMTagger,
    LinearClassifier,
    LossFamily,
    MargraveError,
    PathCV,
    SequenceTagger,
    load,
)
from margrave.datasets import load_digits, load_town
from margrave.features.templates import default_templates
from margrave.learners import (
    BCFW,
    EG,
    LBFGS,
    LEARNERS,
    MIRA,
    SGD,
    SMO,
    SMOEG,
    BatchEG,
    Checkpoint,
    Ended,
    KBestMIRA,
    Learner,
    Objective,
)
from margrave.learners.objective import Step
from margrave.metrics import span_scores
from tests.estimators.registry import ENTRIES
from tests.registry import BUILT_IN_LEARNERS

CS = [0.03, 0.1, 0.3, 1.0, 3.0]


@cache
def town(n: int) -> tuple[list[Any], list[list[str]]]:
    sentences = load_town("train")[:n]
    templates = default_templates(2)
    return [templates.attributes(rows) for rows in sentences], [[row[-1] for row in rows] for rows in sentences]


@cache
def digits(n: int) -> tuple[Any, Any]:
    images, labels = load_digits()
    return images[:n], labels[:n]


def tagger(loss: str, learner: str, **settings: Any) -> SequenceTagger:
    tied = "untied" not in LEARNERS[learner].needs
    return SequenceTagger(loss, learner=learner, tied=tied, n_jobs=1, **settings)


def assert_near(one: Any, other: Any) -> None:
    """P grows by at least 1/2 |w - w*|^2 away from w*, so that two certified models are as near as their gaps say."""
    assert one.converged_ and other.converged_
    distance = np.linalg.norm(one.coef_ - other.coef_)
    assert distance <= sqrt(2 * one.certificate_.gap) + sqrt(2 * other.certificate_.gap)


# ---- paths -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["tagger", "classifier"])
def test_a_cost_function_gets_the_same_outputs_along_a_path(kind: str) -> None:
    seen: list[tuple[Any, Any]] = []

    def cost(gold: Any, other: Any) -> float:
        seen.append((gold, other))
        return float(np.mean(np.array(gold) != np.array(other)))

    loss = Hinge(cost, rescale="slack")
    if kind == "tagger":
        SequenceTagger(loss, max_iter=3).fit_path([[["a"], ["b"]], [["b"]]], [["A", "B"], ["B"]], [1.0])
        assert all(set(gold) | set(other) <= {"A", "B"} for gold, other in seen)
    else:
        LinearClassifier(loss, max_iter=3).fit_path([["a"], ["b"]], ["A", "B"], [1.0])
        assert all({gold, other} <= {"A", "B"} for gold, other in seen)
    assert seen


@pytest.mark.parametrize(
    ("loss", "learner", "tol"),
    [
        ("log", "auto", 1e-6),
        ("log", "lbfgs", 1e-6),
        ("log", "cg", 1e-6),
        ("softmax-margin", "bcfw", 1e-5),
        ("hinge", "auto", 1e-4),
        ("hinge", "smo", 0.03),
    ],
)
def test_a_path_has_the_models_of_separate_fits(loss: str, learner: str, tol: float) -> None:
    X, y = town(25)
    model = tagger(loss, learner, tol=tol, C=77.0)
    path = model.fit_path(X, y, CS)
    assert [each.C for each in path] == CS
    for each in path:
        assert type(each) is SequenceTagger and each.get_params() == {**model.get_params(), "C": each.C}
        alone = clone(each).fit(X, y)
        assert_near(each, alone)
        assert each.certificate_.relative_gap <= tol
        assert_array_equal(each.classes_, alone.classes_)
        assert each.n_iter_ == len(each.history_) and each.stop_reason_.startswith("relative gap")
        assert each.ended_ is Ended.GAP
    assert model.C == 77.0 and not hasattr(model, "coef_")


@pytest.mark.parametrize("learner", ["lbfgs", "cg", "eg"])
def test_a_path_takes_fewer_passes_than_separate_fits(learner: str) -> None:
    X, y = town(60)
    model = tagger("log", learner, tol=1e-3)
    path = model.fit_path(X, y, CS)
    alone = [clone(each).fit(X, y) for each in path]
    passes, separate = (sum(each.history_[-1].passes for each in models) for models in (path, alone))
    assert passes < 0.95 * separate


@pytest.mark.parametrize("learner", ["lbfgs", "cg"])
def test_each_history_of_a_path_counts_its_own_passes(learner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count()
    losses = Objective.losses

    def counted(*arguments: Any, **named: Any) -> Any:
        next(calls)
        return losses(*arguments, **named)

    monkeypatch.setattr(Objective, "losses", counted)
    path = tagger("log", learner).fit_path(*town(20), CS)
    assert sum(each.history_[-1].passes for each in path) == next(calls)
    assert all(each.history_[0].passes < 10 and isfinite(each.history_[0].seconds) for each in path)


def test_a_path_goes_in_the_order_given() -> None:
    X, y = town(20)
    Cs = np.array([1.0, 0.1, 0.1, 3.0])
    path = tagger("log", "lbfgs", tol=1e-5).fit_path(X, y, Cs)
    assert [each.C for each in path] == Cs.tolist()
    assert path[2].n_iter_ == 1  # it begins at its optimum
    for each in path:
        assert_near(each, clone(each).fit(X, y))


def test_the_models_of_a_path_are_models(tmp_path: Path) -> None:
    X, y = town(20)
    path = tagger("log", "eg", tol=1e-3).fit_path(X, y, CS)
    scores = [each.score(X, y) for each in path]
    assert scores[-1] > scores[0]
    path[1].save(tmp_path / "model")
    path[2].fit(X[:5], y[:5])  # changes none of the others
    assert [path[k].score(X, y) for k in (0, 1, 3, 4)] == [scores[k] for k in (0, 1, 3, 4)]
    loaded: Any = load(tmp_path / "model")
    assert loaded.C == path[1].C and loaded.predict(X) == path[1].predict(X)


def test_weights_and_edges_are_those_of_fit() -> None:
    X, y = town(16)
    edges = [[[f"e{len(token) % 3}"] for token in x] for x in X]
    weight = np.linspace(0, 2, len(X))
    model = tagger("log", "lbfgs", tol=1e-6)
    for each in model.fit_path(X, y, [0.1, 1.0], sample_weight=weight, edges=edges):
        assert_near(each, clone(each).fit(X, y, sample_weight=weight, edges=edges))
    with pytest.raises(MargraveError, match="sample_weight must have one number per example: 16 of them"):
        model.fit_path(X, y, [1.0], sample_weight=[1.0])


@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_a_path_of_classifiers(loss: str) -> None:
    X, y = digits(120)
    model = LinearClassifier(loss, learner="auto", tol=1e-5, n_jobs=1)
    for weight in (None, 2.0, np.arange(len(y)) % 3):
        path = model.fit_path(X, y, [0.01, 0.1], sample_weight=weight)
        assert [each.C for each in path] == [0.01, 0.1]
        for each in path:
            assert each.n_features_in_ == 64 and each.coef_.shape == (10, 64)
            alone = clone(each).fit(X, y, weight)
            assert_near(each, alone)
            assert_allclose(each.predict_proba(X), alone.predict_proba(X), atol=0.05)


def test_columns_keep_their_names_along_a_path() -> None:
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [1.0, 0.0, 1.0, 0.0]})
    for each in LinearClassifier().fit_path(X, [0, 0, 1, 1], [0.1, 1.0]):
        assert each.feature_names_in_.tolist() == ["a", "b"]


BAD_CS = [
    ([], "Cs must have at least one C, and it is empty."),
    ([1.0, 0.0], "every C of Cs must be positive and finite, and it is 0.0."),
    ([-1], "every C of Cs must be positive and finite, and it is -1."),
    ([inf], "every C of Cs must be positive and finite, and it is inf."),
    ([float("nan")], "every C of Cs must be positive and finite, and it is nan."),
    (["1"], "every C of Cs must be a number, and it is '1'."),
    ("1.0", "Cs must be a list of numbers, and it is '1.0'."),
    (1.0, "Cs must be a list of numbers, and it is 1.0."),
]


@pytest.mark.parametrize(("Cs", "expected"), BAD_CS)
def test_wrong_values_of_c_are_refused(Cs: Any, expected: str) -> None:
    for refused in (
        lambda: SequenceTagger().fit_path(*town(5), Cs),
        lambda: LinearClassifier().fit_path(*digits(20), Cs),
        lambda: PathCV(SequenceTagger(), Cs=Cs, cv=2).fit(*town(5)),
    ):
        with pytest.raises(MargraveError, match=f"^{re.escape(expected)}$"):
            refused()


def test_a_learner_that_cannot_go_on_says_so_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = town(10)
    model = SequenceTagger("hinge", learner=SGD(rate=0.1), max_iter=2)
    assert len(model.fit_path(X, y, [1.0])) == 1  # one C needs no other
    monkeypatch.setattr(SGD, "one_pass", lambda *_: pytest.fail("there was work"))
    expected = r"learner 'sgd' cannot continue from one C to the next: use learner='eg', 'bcfw' or 'lbfgs'\.$"
    with pytest.raises(MargraveError, match="^" + expected):
        model.fit_path(X, y, [1.0, 2.0])
    with pytest.raises(MargraveError, match="^fold 0: " + expected):
        PathCV(SequenceTagger("hinge", learner="sgd"), cv=2).fit(X, y)


def interrupting(monkeypatch: pytest.MonkeyPatch, kind: type[Learner], after: int, error: type[BaseException]) -> None:
    """Ctrl-C, or worse, in the pass after so many."""
    passes, one_pass = count(1), kind.one_pass

    def counted(self: Learner, state: Any) -> Step:
        if next(passes) == after + 1:
            raise error
        return one_pass(self, state)

    monkeypatch.setattr(kind, "one_pass", counted)


def test_ctrl_c_ends_a_path_with_the_models_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = town(20)
    model = tagger("log", "lbfgs", tol=1e-3)
    whole = model.fit_path(X, y, CS)
    first = whole[0].n_iter_
    for passes, models in ((first + 2, 2), (first, 1)):  # within the second, and before its first pass
        with monkeypatch.context() as patch:
            interrupting(patch, LBFGS, passes, KeyboardInterrupt)
            path = model.fit_path(X, y, CS)
        assert len(path) == models
        assert_array_equal(path[0].coef_, whole[0].coef_)
        assert path[-1].stop_reason_ == ("interrupted" if models == 2 else whole[0].stop_reason_)
        assert path[-1].predict(X)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        interrupting(patch, LBFGS, 0, KeyboardInterrupt)
        model.fit_path(X, y, CS)


# ---- cross-validation ------------------------------------------------------------------------------------------------


def f1(model: Any, X: Any, y: Any) -> float:
    return span_scores(y, model.predict(X)).f1


@pytest.mark.parametrize("learner", ["lbfgs", "eg"])
@pytest.mark.parametrize(("scoring", "same"), [(None, None), ("f1", f1), (f1, f1)])
@pytest.mark.parametrize("cv", [3, ShuffleSplit(2, test_size=0.3, random_state=1)])
def test_the_c_found_is_that_of_a_grid_search(learner: str, scoring: Any, same: Any, cv: Any) -> None:
    X, y = town(48)
    Cs = [10.0, 0.01, 1.0]
    found = PathCV(tagger("log", learner, tol=1e-8), Cs=Cs, cv=cv, scoring=scoring).fit(X, y)
    search = GridSearchCV(tagger("log", learner, tol=1e-8), {"C": sorted(Cs)}, cv=cv, scoring=same).fit(X, y)
    results = search.cv_results_
    folds = found.scores_.shape[0]
    assert found.Cs_.tolist() == sorted(Cs)
    assert_allclose(found.scores_, [results[f"split{k}_test_score"] for k in range(folds)], rtol=1e-12)
    assert found.C_ == found.C == search.best_params_["C"]
    assert_array_equal(found.coef_, search.best_estimator_.coef_)
    assert found.predict(X) == search.predict(X)


def test_of_equal_scores_the_smallest_c_wins() -> None:
    X, y = town(12)
    same = PathCV(SequenceTagger(), Cs=(1.0, 0.1, 10.0, 0.1), cv=3, scoring=lambda *_: 0.5).fit(X, y)
    assert same.C_ == 0.1 and same.Cs_.tolist() == [0.1, 1.0, 10.0] and same.scores_.tolist() == [[0.5] * 3] * 3
    points = {0.1: iter((0.3, 0.2, 0.1)), 1.0: iter((0.1, 0.2, 0.3)), 10.0: iter((0.0, 0.0, 0.0))}
    # 0.1 + 0.2 + 0.3 is more than 0.3 + 0.2 + 0.1
    by_points = PathCV(SequenceTagger(), Cs=points, cv=3, scoring=lambda model, *_: next(points[model.C]))
    assert by_points.fit(X, y).C_ == 0.1


def test_a_fold_is_scored_by_models_that_have_not_seen_it() -> None:
    X, y = town(12)
    seen: list[tuple[float, list[int]]] = []

    def score(model: Any, X_test: Any, y_test: Any) -> float:
        numbers = [next(i for i, x in enumerate(X) if x is of_test) for of_test in X_test]
        assert [y[i] for i in numbers] == y_test
        rest = [i for i in range(len(X)) if i not in numbers]
        assert_near(model, clone(model).fit([X[i] for i in rest], [y[i] for i in rest]))
        seen.append((model.C, numbers))
        return -model.C

    model = PathCV(SequenceTagger(), Cs=[0.1, 1.0], cv=KFold(2), scoring=score).fit(X, y)
    assert seen == [(C, list(fold)) for fold in (range(6), range(6, 12)) for C in (0.1, 1.0)]
    assert model.C_ == 0.1


def test_weights_and_edges_go_with_their_sequences() -> None:
    X, y = town(18)
    edges = [[[f"e{len(token) % 3}"] for token in x] for x in X]
    weight = np.arange(len(X)) % 3
    model = PathCV(SequenceTagger(tol=1e-6), Cs=[0.3], cv=2).fit(X, y, sample_weight=weight, edges=edges)
    for k, (train, test) in enumerate(KFold(2).split(X)):
        rows = [[column[i] for i in train] for column in (X, y, weight, edges)]
        alone = SequenceTagger(C=0.3, tol=1e-6).fit(rows[0], rows[1], sample_weight=rows[2], edges=rows[3])
        held = [[column[i] for i in test] for column in (X, y, edges)]
        assert model.scores_[k, 0] == alone.score(held[0], held[1], edges=held[2])
    whole = SequenceTagger(C=0.3, tol=1e-6).fit(X, y, sample_weight=weight, edges=edges)
    assert_array_equal(model.coef_, whole.coef_)


def test_it_answers_as_its_best_estimator(tmp_path: Path) -> None:
    X, y = town(16)
    unfitted = SequenceTagger("softmax-margin", order=2, start=True, learner=EG(rate=0.5))
    model = PathCV(unfitted, Cs=[0.1, 1.0], cv=2)
    for use in (lambda: model.predict(X), lambda: model.predict_kbest(X, k=2), lambda: model.save(tmp_path / "model")):
        with pytest.raises(NotFittedError):
            use()
    model.fit(X, y)
    alone = SequenceTagger("softmax-margin", C=model.C_, order=2, start=True, learner=EG(rate=0.5)).fit(X, y)
    assert type(model.best_estimator_) is SequenceTagger and not hasattr(unfitted, "coef_")
    assert model.predict_kbest(X, k=2) == alone.predict_kbest(X, k=2) and not hasattr(model, "transform")
    assert model.predict(X) == alone.predict(X) and model.score(X, y) == alone.score(X, y)
    assert model.certificate_.gap == alone.certificate_.gap and model.history_[-1].passes == alone.history_[-1].passes
    model.save(tmp_path / "model", {"a": 1})
    alone.save(tmp_path / "alone", {"a": 1})
    assert (tmp_path / "model").read_bytes() == (tmp_path / "alone").read_bytes()
    loaded: Any = load(tmp_path / "model")
    assert type(loaded.estimator()) is SequenceTagger and loaded.C == model.C_ and loaded.predict(X) == model.predict(X)
    copied = pickle.loads(pickle.dumps(model))
    assert type(copied) is PathCV and copied.C == model.C and copied.predict(X) == model.predict(X)
    assert [type(each) for each in model.fit_path(X, y, [0.1])] == [SequenceTagger]


def test_parameters_are_got_set_cloned_and_shown() -> None:
    tagger = SequenceTagger(learner=BCFW(order="cyclic"), tol=0.1)
    model = PathCV(tagger, Cs=[0.1, 2.0], cv=KFold(4), scoring="f1")
    params = model.get_params()
    assert {"Cs": [0.1, 2.0], "scoring": "f1", "estimator__tol": 0.1}.items() <= params.items() and "C" not in params
    own = {name for name in params if not name.startswith("estimator__")}
    assert own == {"estimator", "Cs", "cv", "scoring"}
    assert set(params) - own == {f"estimator__{name}" for name in SequenceTagger().get_params()}
    twin = clone(model)
    assert twin.Cs == [0.1, 2.0] and twin.cv.n_splits == 4
    assert twin.estimator is not tagger and twin.estimator.learner == tagger.learner
    assert not hasattr(twin, "C_") and not hasattr(twin, "C")
    shown = " ".join(repr(model).split())
    assert shown.startswith("PathCV(Cs=[0.1, 2.0], cv=KFold(n_splits=4, ") and "scoring='f1'" in shown
    assert repr(PathCV(SequenceTagger())) == "PathCV(estimator=SequenceTagger())"
    with pytest.raises(ValueError, match="Invalid parameter 'C'"):
        model.set_params(C=1.0)
    assert model.set_params(cv=2, estimator__C=3.0).cv == 2 and tagger.C == 3.0


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"cv": 1}, "cv must be at least 2, and it is 1."),
        ({"cv": 9}, "cv must be at most 8, and it is 9."),
        ({"cv": "5"}, "cv must be a whole number, and it is '5'."),
        ({"cv": None}, "cv must be a whole number, and it is None."),
        ({"scoring": "F1"}, "unknown scoring 'F1'; did you mean 'f1'? (valid: f1, None, a function)"),
        ({"scoring": lambda *_: float("nan")}, "fold 0: a score must be finite, and it is nan."),
        ({"scoring": lambda *_: None}, "fold 0: a score must be a number, and it is None."),
        ({"tol": -1}, "tol must be finite and not negative, and it is -1."),
        ({"tol": float("inf")}, "tol must be finite and not negative, and it is inf."),
        (
            {"loss": "hing"},
            "unknown loss 'hing'; did you mean 'hinge'? (valid: log, hinge, softmax-margin, perceptron, ramp, "
            "expected-cost, latent-log, latent-hinge)",
        ),
    ],
)
def test_wrong_settings_are_refused_in_a_sentence(settings: dict[str, Any], expected: str) -> None:
    with pytest.raises(MargraveError, match=f"^{re.escape(expected)}$"):
        own = {name: value for name, value in settings.items() if name in ("cv", "scoring")}
        rest = {name: value for name, value in settings.items() if name not in own}
        PathCV(SequenceTagger(**rest), **{"Cs": [1.0], "cv": 2} | own).fit(*town(8))


class NoFolds:
    def split(self, X: Any) -> Sequence[Any]:
        return []


def test_data_that_do_not_fit_are_refused_in_a_sentence() -> None:
    X, y = town(8)
    model = PathCV(SequenceTagger(), Cs=[1.0], cv=2)
    words = [["N"] * len(labels) for labels in y]
    edges = [[["e"]] * len(x) for x in X]
    refused: list[tuple[Callable[[], Any], str]] = [
        (lambda: model.fit(X[:-1], y), "X must be a list with an entry for each of the 8 examples."),
        (lambda: model.fit(iter(X), y), "X must be a list with an entry for each of the 8 examples."),
        (lambda: model.fit(X, []), "there are no examples."),
        (lambda: model.fit(X, y, sample_weight=[1]),
         "sample_weight must be a list with an entry for each of the 8 examples."),
        (lambda: model.fit(X, y, edges=edges[1:]), "edges must be a list with an entry for each of the 8 examples."),
        (lambda: model.fit(X, [*words[:4], *y[4:]]),
         "fold 1: there is only one class, 'N': at least two are needed to learn from."),
        (lambda: clone(model).set_params(scoring="f1").fit(X, [*words[:4], *y[4:]]),
         "scoring='f1' needs labels that are tags of spans, but 'N' is not."),
        (lambda: clone(model).set_params(scoring="f1").fit(X, ["N"] * 8),
         "scoring='f1' needs one list of tags per example."),
        (lambda: clone(model).set_params(estimator=HMMTagger()).fit(X, y),
         "PathCV needs an estimator that has a C and fit_path, and HMMTagger is not one."),
        (lambda: clone(model).set_params(scoring=f1).fit(X, y, edges=edges),
         "a scoring function is called with X and y only, but there are edges: use scoring=None or 'f1'."),
        (lambda: clone(model).set_params(cv=NoFolds()).fit(X, y), "cv must have at least one fold."),
    ]  # fmt: skip
    for fit, expected in refused:
        with pytest.raises(MargraveError, match=f"^{re.escape(expected)}$"):
            fit()


def test_spans_in_every_scheme_have_an_f1() -> None:
    X = [[["a"], ["b"], ["c"]], [["b"], ["a"]]] * 3
    iob, bioes = [["B-X", "I-X", "O"], ["O", "B-X"]] * 3, [["B-X", "E-X", "O"], ["O", "S-X"]] * 3
    for y in (iob, bioes):
        model = PathCV(SequenceTagger(start=True, stop=True), Cs=[100.0], cv=3, scoring="f1").fit(X, y)
        assert model.scores_.tolist() == [[1.0]] * 3


def test_every_estimator_with_paths_gets_its_c() -> None:
    for name, entry in ENTRIES.items():
        X, y = [*entry.X, *entry.X], [*entry.y, *entry.y]  # Both folds have every class.
        estimator = entry.make(n_jobs=1, tol=1e-2)
        model = PathCV(estimator, Cs=[0.5, 5.0], cv=2).fit(X, y)
        half = len(X) // 2
        alone = entry.make(n_jobs=1, tol=1e-2).set_params(C=0.5).fit(X[half:], y[half:])
        assert type(model.best_estimator_) is type(estimator), name
        assert model.scores_[0, 0] == alone.score(X[:half], y[:half]), name
        assert model.best_estimator_.C == model.C_, name
        best = entry.make(n_jobs=1, tol=1e-2).set_params(C=model.C_).fit(X, y)
        assert_array_equal(model.coef_, best.coef_, err_msg=name)


def test_a_grid_search_searches_in_it() -> None:
    X, y = town(16)
    search = GridSearchCV(PathCV(SequenceTagger(), Cs=[0.1, 1.0], cv=2), {"estimator__order": [1, 2]}, cv=2).fit(X, y)
    assert search.best_estimator_.C_ in (0.1, 1.0)
    assert search.best_params_["estimator__order"] == search.best_estimator_.best_estimator_.order


def test_arrays_and_sparse_arrays_are_split_by_rows() -> None:
    X, y = digits(120)
    dense = PathCV(LinearClassifier(tol=1e-3), Cs=[0.01, 0.1], cv=3).fit(X, y)
    sparse = PathCV(LinearClassifier(tol=1e-3), Cs=[0.01, 0.1], cv=3).fit(csr_array(X), y)
    assert is_classifier(dense) and dense.scores_.shape == (3, 2) and dense.scores_.min() > 0.5
    assert_allclose(sparse.scores_, dense.scores_, atol=0.03)


def test_ctrl_c_while_c_is_sought_leaves_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = town(12)
    model = PathCV(SequenceTagger(learner="lbfgs"), Cs=[0.1, 1.0], cv=2)
    passes = sum(each.n_iter_ for each in SequenceTagger(learner="lbfgs").fit_path(X[6:], y[6:], [0.1, 1.0]))
    for after in (passes - 1, passes, passes + 2):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            interrupting(patch, LBFGS, after, KeyboardInterrupt)
            model.fit(X, y)
        assert not hasattr(model, "coef_") and not hasattr(model, "C_")


# ---- checkpoints -----------------------------------------------------------------------------------------------------


class Killed(BaseException):
    pass


@pytest.mark.parametrize(
    ("loss", "learner"),
    [("log", "auto"), ("log", "lbfgs"), ("log", "cg"), ("log", "sgd"), ("log", "eg"), ("log", "eg-batch"),
     ("log", "mira"), ("hinge", "auto"), ("hinge", "smo"), ("hinge", "smo-eg"), ("hinge", "kbest-mira"),
     ("perceptron", "auto")],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_killed_fit_goes_on_from_its_checkpoint(
    loss: str, learner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = town(30)
    file = tmp_path / "checkpoint"
    model = tagger(loss, learner, C=0.3, max_iter=6, tol=1e-9)
    whole = clone(model).fit(X, y)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        interrupting(patch, type(whole.learner_), whole.n_iter_ // 2, Killed)
        model.fit(X, y, checkpoint=Checkpoint(file, every=0))
    assert not hasattr(model, "coef_") and file.exists()
    model.fit(X, y, checkpoint=file)
    assert_array_equal(model.coef_, whole.coef_)
    assert [record.passes for record in model.history_] == [record.passes for record in whole.history_]
    assert model.certificate_.primal == whole.certificate_.primal
    assert file.exists()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_that_used_up_its_iterations_goes_on_when_it_gets_more(tmp_path: Path) -> None:
    X, y = town(20)
    file = str(tmp_path / "checkpoint")
    first = tagger("log", "eg", max_iter=3, tol=1e-9).fit(X, y, checkpoint=file)
    again = clone(first).fit(X, y, checkpoint=file)  # there is nothing left to do
    assert again.n_iter_ == 3 and again.certificate_.gap == first.certificate_.gap
    assert_array_equal(again.coef_, first.coef_)
    more = clone(first).set_params(max_iter=1000).fit(X, y, checkpoint=file)
    assert more.converged_ and more.n_iter_ > 3
    assert more.history_[:2] == first.history_[:2]
    assert more.history_[2].dual == pytest.approx(first.history_[2].dual, rel=1e-12)  # P was for the model alone


def test_an_interrupted_fit_goes_on_from_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = digits(150)
    file = tmp_path / "checkpoint"
    model = LinearClassifier(learner="lbfgs", tol=1e-6, n_jobs=1)
    whole = clone(model).fit(X, y)
    with monkeypatch.context() as patch:
        interrupting(patch, LBFGS, 7, KeyboardInterrupt)
        model.fit(X, y, checkpoint=file)
    assert model.stop_reason_ == "interrupted" and model.n_iter_ == 7 and model.ended_ is Ended.INTERRUPTED
    assert model.predict(X).shape == y.shape  # a model already
    model.fit(X, y, checkpoint=file)
    assert model.converged_ and model.n_iter_ == whole.n_iter_ and file.exists()
    assert_array_equal(model.coef_, whole.coef_)


def test_a_wrong_checkpoint_is_refused_in_a_sentence(tmp_path: Path) -> None:
    X, y = town(8)
    file, other = tmp_path / "checkpoint", tmp_path / "other"
    SequenceTagger(learner="lbfgs").fit(X, y, checkpoint=file).save(other)
    for model, data, path, expected in [
        (SequenceTagger(learner="lbfgs", C=2.0), (X, y), file, "its C is 1.0, and not 2.0"),
        (SequenceTagger(learner="eg"), (X, y), file, "its learner is 'lbfgs', and not 'eg'"),
        (SequenceTagger(learner="lbfgs"), (X[:7], y[:7]), file, "its examples is 8, and not 7"),
        (SequenceTagger(learner="lbfgs"), (X, y), other, "this is not a checkpoint."),
        (SequenceTagger(learner="lbfgs"), (X, y), 3, "checkpoint must be a path or a Checkpoint, not int."),
        (LinearClassifier(learner="lbfgs"), digits(20), file, "this checkpoint is of another run"),
        (LinearClassifier(learner="lbfgs"), digits(20), 3, "checkpoint must be a path or a Checkpoint, not int."),
    ]:  # fmt: skip
        content = file.read_bytes()
        with pytest.raises(MargraveError, match=re.escape(expected)) as refused:
            model.fit(*data, checkpoint=path)  # type: ignore[attr-defined]
        assert str(refused.value).count("\n") == 0 and file.read_bytes() == content


# ---- what every learner leaves behind --------------------------------------------------------------------------------

CONFIGURED: list[tuple[str, Any]] = [
    *(
        ("hinge" if "infinite beta" in kind.needs else "log", name)
        for name, kind in BUILT_IN_LEARNERS.items()
        if "difference" not in kind.needs
    ),
    ("ramp", "cccp"),
    ("log", EG(rate=np.float64(0.5), order="gap", single=True)),
    ("log", BatchEG(rate=0.01, form="weights")),
    ("hinge", SMOEG(smo_passes=np.int64(2), mixed=0.1)),
    ("hinge", SMO(order="cyclic")),
    ("hinge", KBestMIRA(k=3, average=False)),
    ("log", MIRA(exact=np.bool_(True))),
    ("hinge", BCFW(pairwise=False, averaging=True)),
    ("log", SGD(rates=[0.1, 0.2])),
]  # fmt: skip


@pytest.mark.parametrize(("loss", "learner"), CONFIGURED)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_learner_leaves_an_objective_and_a_file(loss: str, learner: Any, tmp_path: Path) -> None:
    X, y = town(10)
    model = SequenceTagger(loss, learner=learner, tied=loss == "log", max_iter=4).fit(X, y)
    assert model.certificate_.primal is not None
    assert model.certificate_ in model.history_
    assert model.n_iter_ == len(model.history_) <= 4
    if learner == "auto":
        assert model.learner_.name in LEARNERS and model.learner_.name != "auto"
    model.save(tmp_path / "model")
    loaded: Any = load(tmp_path / "model")
    assert loaded.learner == learner or loaded.learner == SGD(rates=(0.1, 0.2))
    assert loaded.certificate_.primal == model.certificate_.primal and loaded.predict(X) == model.predict(X)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


@dataclass
class Own(LBFGS):
    """A learner of the user's, with settings that no file can hold."""

    name = "own"
    hooks: list[Any] = field(default_factory=list)


def test_a_learner_that_files_cannot_name_leaves_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(LEARNERS, "own")  # as where its definition has not been run
    X, y = town(8)
    model = SequenceTagger(LossFamily(2.0, 0.5), learner=Own(hooks=[print])).fit(X, y)
    model.save(tmp_path / "model")
    loaded: Any = load(tmp_path / "model")
    assert loaded.learner == "own" and loaded.predict(X) == model.predict(X)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    with pytest.raises(MargraveError, match="unknown learner 'own'"):
        loaded.estimator().fit(X, y)


@pytest.mark.parametrize("kind", [PCFG, GenerativeAligner, HMMTagger])
def test_counted_models_say_that_they_have_no_path(kind: Any) -> None:
    for model in (kind(), clone(kind()), pickle.loads(pickle.dumps(kind()))):
        assert not hasattr(model, "fit_path")
        with pytest.raises(MargraveError, match=rf"^{kind.__name__} counts and .* no path of C: use fit\.$") as raised:
            model.fit_path([], [], [1.0])
        assert isinstance(raised.value, AttributeError)
        with pytest.raises(AttributeError, match="has no attribute 'anything'"):
            print(model.anything)
    with pytest.raises(MargraveError, match="needs an estimator that has a C and fit_path"):
        PathCV(kind()).fit([["a"]], [["b"]])
