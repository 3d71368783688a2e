"""Files of sparse models: they hold what is not zero, and the model that is read answers as the one that was saved."""

import copy
import pickle
import re
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

from margrave import Kernel, LinearClassifier, SequenceTagger, TaxonomyClassifier, load
from margrave.errors import MargraveError
from margrave.estimators import HierarchicalMultiLabelClassifier, Reranker
from margrave.estimators.model import token_table
from margrave.files import model as model_file
from margrave.learners import LP

LABELS = ["a.x", "a.y", "b.x", "b.y", "c"]


def names(rng: np.random.Generator, size: int, vocabulary: int) -> list[dict[str, float]]:
    """Tokens of four attributes, with names of one letter and of several, also beyond ASCII."""
    drawn = rng.integers(vocabulary, size=(size, 4)).tolist()
    return [{f"ä{k}" if k % 3 else str(k): 1.0 + k % 2 for k in row} for row in drawn]


def sequences(seed: int, size: int = 12, vocabulary: int = 30) -> tuple[Any, Any, Any]:
    """Sequences of named attributes, their labels, and named attributes of their transitions."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 6, size=size).tolist()
    X = [names(rng, n, vocabulary) for n in lengths]
    edges = [names(rng, n, vocabulary) for n in lengths]
    return X, [rng.choice(LABELS, size=n).tolist() for n in lengths], edges


def rows(seed: int, size: int = 40, columns: int = 30) -> Any:
    return np.random.default_rng(seed).normal(size=(size, columns)) * (np.arange(columns) % 2 + 0.5)


def tagger(size: int, vocabulary: int, *, edges: bool = False, vectors: bool = False, **settings_of: Any) -> Any:
    model = SequenceTagger("perceptron", learner="perceptron", max_iter=1, **settings_of)

    def data(seed: int, size: int = 12) -> tuple[Any, Any, dict[str, Any]]:
        X, y, of_edges = sequences(seed, size, vocabulary)
        if vectors:
            X = [rows(seed + i, len(x), vocabulary) for i, x in enumerate(X)]
        return X, y, {"edges": of_edges} if edges else {}

    X, y, more = data(0, size)

    def answers(model: Any) -> list[Any]:
        X, _, more = data(1)
        return [*model.predict(X, **more), *(mu.tolist() for mu in model.predict_marginals(X, **more))]

    return model.fit(X, y, **more), answers


def classifier(model: Any, size: int, vocabulary: int, form: str) -> Any:
    forms: dict[str, Callable[[int, int], Any]] = {
        "names": lambda seed, size: names(np.random.default_rng(seed), size, vocabulary),
        "columns": lambda seed, size: rows(seed, size, vocabulary),
        "sparse": lambda seed, size: csr_array(np.maximum(rows(seed, size, vocabulary), 0.0)),
    }
    y = np.random.default_rng(2).choice(LABELS, size=size)
    sets = isinstance(model, HierarchicalMultiLabelClassifier)
    model.fit(forms[form](0, size), [[label] for label in y] if sets else y)

    def answers(model: Any) -> list[Any]:
        X = forms[form](1, 20)
        of_all = [model.predict_proba(X).tolist(), model.decision_function(X).tolist()]
        return [list(model.predict(X)), *of_all]

    return model, answers


def reranker(size: int, vocabulary: int, form: str, weights: str = "all") -> Any:
    def lists(seed: int, size: int) -> list[Any]:
        rng = np.random.default_rng(seed)
        if form == "columns":
            return [rows(seed + i, 3, vocabulary) for i in range(size)]
        return [names(rng, 3, vocabulary) for _ in range(size)]

    model = Reranker("perceptron", learner="perceptron", max_iter=1, weights=weights)

    def answers(model: Any) -> list[Any]:
        X = lists(1, 15)
        return [model.predict(X).tolist(), *(a.tolist() for a in model.predict_proba(X) + model.decision_function(X))]

    return model.fit(lists(0, size), [k % 3 for k in range(size)]), answers


QUICK: dict[str, Any] = {"loss": "perceptron", "learner": "perceptron", "max_iter": 1}
MAKERS: dict[str, Callable[[int, int], Any]] = {
    "observed": lambda n, v: tagger(n, v),
    "all pairs": lambda n, v: tagger(n, v, weights="all"),
    "hashed": lambda n, v: tagger(n, v, weights="hash:12" if v > 100 else "hash:6"),
    "order 2": lambda n, v: tagger(n, v, order=2),
    "order 2, all pairs": lambda n, v: tagger(n, v, order=2, weights="all"),
    "start and stop": lambda n, v: tagger(n, v, start=True, stop=True, transition_scale=0.5),
    "edges": lambda n, v: tagger(n, v, edges=True, start=True, stop=True, tied=False),
    "edges, all pairs": lambda n, v: tagger(n, v, edges=True, weights="all", tied=False),
    "edges of order 2": lambda n, v: tagger(n, v, edges=True, order=2, stop=True, tied=False),
    "edges, hashed": lambda n, v: tagger(n, v, edges=True, weights="hash:6", tied=False),
    "vectors": lambda n, v: tagger(n, v, vectors=True),
    "vectors with edges": lambda n, v: tagger(n, v, vectors=True, edges=True, tied=False),
    "named classes": lambda n, v: classifier(LinearClassifier(**QUICK), n, v, "names"),
    "observed classes": lambda n, v: classifier(LinearClassifier(weights="observed", **QUICK), n, v, "names"),
    "columns": lambda n, v: classifier(LinearClassifier(**QUICK), n, v, "columns"),
    "sparse columns": lambda n, v: classifier(LinearClassifier(**QUICK), n, v, "sparse"),
    "taxonomy": lambda n, v: classifier(TaxonomyClassifier(taxonomy=".", **QUICK), n, v, "names"),
    "taxonomy of columns": lambda n, v: classifier(TaxonomyClassifier(taxonomy=".", **QUICK), n, v, "columns"),
    "sets of nodes": lambda n, v: classifier(HierarchicalMultiLabelClassifier(taxonomy=".", **QUICK), n, v, "names"),
    "candidates": lambda n, v: reranker(n, v, "names"),
    "hashed candidates": lambda n, v: reranker(n, v, "names", "hash:12" if v > 100 else "hash:6"),
    "candidates of columns": lambda n, v: reranker(n, v, "columns"),
}


@cache
def made(name: str, size: int = 40, vocabulary: int = 30) -> Any:
    return MAKERS[name](size, vocabulary)


def with_zeros(model: Any, share: float, seed: int) -> Any:
    """A copy of the model with random weights, of which about this share are zero."""
    rng = np.random.default_rng(seed)
    n = model._weights().size
    w = rng.normal(size=n)
    w[rng.permutation(n)[: round(share * n)]] = 0.0
    model = copy.deepcopy(model)
    model._set_weights(w)
    return model


def saved(model: Any, path: Path) -> bytes:
    model.save(path)
    return path.read_bytes()


# ---- what is read is what was saved ----------------------------------------------------------------------------------


def encoder(model: Any) -> Any:
    """What turns the attributes of tokens, examples or candidates into rows."""
    table = token_table(model.map_)
    return model.map_.encoder if table is None else table.encoder


@pytest.mark.parametrize("name", MAKERS)
@settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.sampled_from([0.2, 0.49, 0.51, 0.7, 0.9, 0.97, 1.0]), seed=st.integers(0, 2**32 - 1))
def test_zeros_leave_no_trace_in_the_answers(name: str, tmp_path: Path, share: float, seed: int) -> None:
    model, answers = made(name)
    model = with_zeros(model, share, seed)
    n, zeros = model._weights().size, int((model._weights() == 0).sum())
    assert (model.n_weights_, model.n_zero_weights_) == (n, zeros)
    content = saved(model, tmp_path / "model")
    assert (model._weights().size, model._weights().any()) == (n, zeros < n)  # as before
    read: Any = load(tmp_path / "model")
    assert type(read.estimator()) is type(model)
    assert (read.n_weights_, read.n_zero_weights_) == (n, zeros)
    assert answers(read) == answers(model)
    assert saved(read, tmp_path / "again") == content


@pytest.mark.parametrize("name", ["observed", "order 2", "observed classes", "candidates"])
def test_only_what_is_not_zero_is_kept(name: str, tmp_path: Path) -> None:
    model = with_zeros(made(name)[0], 0.9, 3)
    model.save(tmp_path / "model")
    read: Any = load(tmp_path / "model")
    w = model._weights()
    assert_array_equal(read._weights(), w[w != 0])
    words, pairs = encoder(model).vocabulary.names(), getattr(token_table(model.map_), "weighted", None)
    begin = pairs.arrays()[0] if pairs is not None and pairs.packed else np.arange(len(words) + 1)
    used = [word for k, word in enumerate(words) if w[begin[k] : begin[k + 1]].any()]
    assert encoder(read).vocabulary.names() == used
    assert 0 < len(used) < len(words)


def test_rows_of_a_table_of_all_pairs_leave_whole(tmp_path: Path) -> None:
    model = with_zeros(made("named classes")[0], 0.9, 4)
    kept = model.coef_.any(axis=0)
    model.save(tmp_path / "model")
    read: Any = load(tmp_path / "model")
    assert 0 < kept.sum() < len(kept)
    assert_array_equal(read.coef_, model.coef_[:, kept])


@pytest.mark.parametrize("name", MAKERS)
def test_models_of_few_zeros_are_written_as_they_are(name: str, tmp_path: Path) -> None:
    model = with_zeros(made(name)[0], 0.4, 5)
    model.save(tmp_path / "model")
    _, arrays = model_file.read(tmp_path / "model")
    assert_array_equal(arrays["weights"], model._weights())
    assert not {"weights.place", "weights.value"} & set(arrays)
    vocabulary = encoder(model).vocabulary
    if vocabulary is not None:
        offsets = next(array for name, array in arrays.items() if name.endswith(".offsets"))
        assert_array_equal(offsets, vocabulary.arrays()[1])
    assert_array_equal(load(tmp_path / "model").coef_, model.coef_)


@pytest.mark.parametrize("name", ["observed", "all pairs", "hashed", "edges", "named classes", "candidates"])
def test_a_sparse_model_with_all_its_zeros_in_the_file_is_read_too(name: str, tmp_path: Path) -> None:
    """As files were written before zeros were left out."""
    model, answers = made(name)
    dense, sparse = with_zeros(model, 0.0, 6), with_zeros(model, 0.95, 6)
    dense.save(tmp_path / "model")
    header, arrays = model_file.read(tmp_path / "model")
    model_file.write(tmp_path / "old", header, arrays | {"weights": sparse._weights()})
    read: Any = load(tmp_path / "old")
    assert_array_equal(read.coef_, sparse.coef_)
    assert (read.n_weights_, read.n_zero_weights_) == (sparse.n_weights_, sparse.n_zero_weights_)
    assert answers(read) == answers(sparse)
    assert saved(read, tmp_path / "a") == saved(sparse, tmp_path / "b")


def test_kernels_keep_their_rows(tmp_path: Path) -> None:
    X, y = rows(0, 60, 3), np.random.default_rng(0).choice(LABELS, size=60)
    model = LinearClassifier("hinge", kernel=Kernel("rbf"), C=0.1, tol=1e-2).fit(X, y)
    w = model._weights().copy()
    w[np.arange(len(w)) % 5 != 0] = 0.0
    model._set_weights(w)
    content = saved(model, tmp_path / "model")
    read: Any = load(tmp_path / "model")
    assert_array_equal(read.coef_, model.coef_)
    assert_array_equal(read.decision_function(X), model.decision_function(X))
    assert (read.n_weights_, read.n_zero_weights_) == (len(w), int((w == 0).sum()))
    assert saved(read, tmp_path / "again") == content


# ---- how large files are ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["observed", "all pairs", "hashed", "order 2", "order 2, all pairs", "start and stop", "edges",
     "named classes", "columns", "taxonomy", "sets of nodes", "candidates", "hashed candidates"],
)  # fmt: skip
def test_ninety_nine_zeros_in_a_hundred_make_the_file_a_fifth_or_less(name: str, tmp_path: Path) -> None:
    model, _ = made(name, 600, 2000)
    none = len(saved(with_zeros(model, 0.0, 7), tmp_path / "none"))
    assert none > 15_000
    assert 5 * len(saved(with_zeros(model, 0.99, 7), tmp_path / "most")) < none


@pytest.mark.parametrize("name", MAKERS)
def test_more_zeros_never_make_a_larger_file(name: str, tmp_path: Path) -> None:
    model, _ = made(name, 200, 300)
    sizes = []
    for share in (0.0, 0.45, 0.55, 0.65, 0.75, 0.9, 1.0):
        sizes.append(len(saved(with_zeros(model, share, 8), tmp_path / "model")))
    slack = 400  # the header says more
    assert all(after <= before + slack for before, after in pairwise(sizes)), sizes


# ---- models that learners make sparse --------------------------------------------------------------------------------


def test_a_linear_program_makes_a_small_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = [rng.choice(["D", "N", "V"], size=4).tolist() for _ in range(20)]
    X = [[[f"w={label}{rng.integers(3)}", f"noise={rng.integers(50)}"] for label in labels] for labels in y]
    model = SequenceTagger("hinge", learner="lp", C=10.0).fit(X, y)
    assert model.n_weights_ == len(model.coef_)
    assert model.n_zero_weights_ == int((model.coef_ == 0).sum()) > 0.7 * model.n_weights_
    model.save(tmp_path / "model")
    read: Any = load(tmp_path / "model")
    assert len(read.coef_) == np.count_nonzero(model.coef_)
    assert (read.n_weights_, read.n_zero_weights_) == (model.n_weights_, model.n_zero_weights_)
    assert read.predict(X) == model.predict(X) == y
    for mu, other in zip(read.predict_marginals(X), model.predict_marginals(X), strict=True):
        assert_array_equal(mu, other)
    again = read.estimator().fit(X, y)
    assert_array_equal(again.coef_, model.coef_)
    assert (again.n_weights_, again.n_zero_weights_) == (model.n_weights_, model.n_zero_weights_)


def test_a_sparse_reranker_keeps_its_weights_by_name(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = [[{"good": float(k == 1), "bad": float(k == 2), **each} for k, each in enumerate(names(rng, 3, 50))]
         for _ in range(30)]  # fmt: skip
    model = Reranker(learner=LP(free_sign=True)).fit(X, [1] * 30)
    model.save(tmp_path / "model")
    read: Any = load(tmp_path / "model")
    assert read.feature_weights() == model.feature_weights() != {}
    assert read.map_.encoder.attributes == len(model.feature_weights()) < model.n_weights_ / 2
    assert read.n_weights_ == model.n_weights_
    assert_array_equal(read.predict(X), model.predict(X))


def test_weights_given_by_hand_are_counted(tmp_path: Path) -> None:
    model = Reranker.of_weights({"lm": 0.5, "tm": 0.0, "oov": 0.0})
    assert (model.n_weights_, model.n_zero_weights_) == (3, 2)
    model.save(tmp_path / "model")
    read: Any = load(tmp_path / "model")
    assert (read.n_weights_, read.n_zero_weights_, len(read.coef_)) == (3, 2, 1)


def test_copies_count_the_same_and_clones_nothing(tmp_path: Path) -> None:
    model = with_zeros(made("observed")[0], 0.9, 9)
    model.save(tmp_path / "model")
    read: Any = load(tmp_path / "model")
    assert len(read.coef_) < read.n_weights_
    for copied in (copy.deepcopy(read), pickle.loads(pickle.dumps(read))):
        assert (copied.n_weights_, copied.n_zero_weights_) == (model.n_weights_, model.n_zero_weights_)
    blank = clone(read.estimator())
    assert not hasattr(blank, "n_weights_") and not hasattr(blank, "n_zero_weights_")


# ---- files that lie --------------------------------------------------------------------------------------------------


def changed(name: str, of_model: str, tmp_path: Path, change: Callable[[Any, Any], None]) -> str:
    """How the file of a sparse model is refused after the change of its header and arrays."""
    with_zeros(made(of_model)[0], 0.95, 10).save(tmp_path / "model")
    header, arrays = model_file.read(tmp_path / "model")
    assert "sparse" in of_file(header, name)
    change(header, arrays)
    model_file.write(tmp_path / "changed", header, arrays)
    with pytest.raises(MargraveError) as error:
        load(tmp_path / "changed")
    message = str(error.value)
    assert (
        re.search("not a model that Margrave wrote|MARGRAVE_FILE_MEMORY", message)
        and message.endswith(".")
        and "\n" not in message
    )
    return message


VECTORS = [("weights", "hashed candidates"), ("map_.gram_weight", "observed")]


def of_file(header: Any, name: str) -> Any:
    """What a header says of a vector."""
    return header["weights"] if name == "weights" else header["map"]["state"]["gram_weight"]


@pytest.mark.parametrize(("name", "of_model"), VECTORS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda place, n: place[::-1], "must ascend below"),
        (lambda place, n: np.repeat(place[:1], len(place)), "must ascend below"),
        (lambda place, n: np.append(place[:-1], n), "must ascend below"),
        (lambda place, n: np.append(-1, place[1:]), "must ascend below"),
        (lambda place, n: place[:-1], "as many values as places"),
        (lambda place, n: place[:0], "as many values as places"),
        (lambda place, n: place.reshape(1, -1), "one-dimensional"),
        (lambda place, n: place.astype(np.float64), "of type int64"),
    ],
)
def test_places_that_cannot_be_are_refused(
    name: str, of_model: str, tmp_path: Path, change: Callable[[Any, int], Any], message: str
) -> None:
    def alter(header: Any, arrays: Any) -> None:
        place = change(arrays[f"{name}.place"], of_file(header, name)["length"])
        arrays[f"{name}.place"] = place

    assert message in changed(name, of_model, tmp_path, alter)


@pytest.mark.parametrize(("name", "of_model"), VECTORS)
@pytest.mark.parametrize("length", [None, -1, 2.0, True, "9", [3], 2**70, "more", "less"])
def test_lengths_that_cannot_be_are_refused(name: str, of_model: str, tmp_path: Path, length: Any) -> None:
    def alter(header: Any, arrays: Any) -> None:
        stored = of_file(header, name)
        last = int(arrays[f"{name}.place"][-1])
        stored["length"] = {"more": stored["length"] + 1, "less": last}.get(str(length), length)

    changed(name, of_model, tmp_path, alter)


@pytest.mark.parametrize(("name", "of_model"), VECTORS)
def test_values_that_cannot_be_are_refused(name: str, of_model: str, tmp_path: Path) -> None:
    def value(of: Callable[[Any], Any]) -> Callable[[Any, Any], None]:
        return lambda header, arrays: arrays.update({f"{name}.value": of(arrays[f"{name}.value"])})

    def gone(array: str) -> Callable[[Any, Any], None]:
        return lambda header, arrays: arrays.pop(array)

    assert "as many values as places" in changed(name, of_model, tmp_path, value(lambda v: v[:-1]))
    assert "as many values as places" in changed(name, of_model, tmp_path, value(lambda v: v.reshape(-1, 1)))
    assert "of type" in changed(name, of_model, tmp_path, value(lambda v: v.astype(np.float32)))
    assert "it has no array" in changed(name, of_model, tmp_path, gone(f"{name}.place"))
    assert "it has no array" in changed(name, of_model, tmp_path, gone(f"{name}.value"))
    if name == "weights":
        assert "must be finite" in changed(name, of_model, tmp_path, value(lambda v: np.full_like(v, np.nan)))
    else:
        changed(name, of_model, tmp_path, value(lambda v: v + 10**6))


@pytest.mark.parametrize(("name", "of_model"), VECTORS)
@pytest.mark.parametrize("n_weights", [None, 0, -5, 1.5, True, "many", 2**64])
def test_counts_of_weights_that_cannot_be_are_refused(name: str, of_model: str, tmp_path: Path, n_weights: Any) -> None:
    def alter(header: Any, arrays: Any) -> None:
        header["n_weights"] = n_weights

    assert "the number of weights learned" in changed(name, of_model, tmp_path, alter)


def test_what_a_file_says_of_sparse_vectors_must_have_its_form(tmp_path: Path) -> None:
    def says(stored: Any) -> Callable[[Any, Any], None]:
        return lambda header, arrays: header.update({"weights": stored})

    sparse = {"kind": "array", "length": 64, "blank": 0, "sparse": "weights"}
    for stored in (
        None,
        3,
        [],
        {},
        {**sparse, "blank": "0"},
        {**sparse, "sparse": "elsewhere"},
        {**sparse, "blank": 1},
    ):
        changed("weights", "hashed candidates", tmp_path, says(stored))
