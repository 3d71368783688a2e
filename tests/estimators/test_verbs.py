"""Every verb works on every estimator; an estimator that is not registered for these tests fails them."""

import inspect
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from margrave import DependencyParser, HomologyRanker, LossFamily, MargraveError, Reranker, SequenceTagger, load
from margrave.cli.reports import certificate_report
from margrave.estimators.files import SavedModel
from margrave.features import Templates
from margrave.files.stored import import_modules
from margrave.testing.estimators import (
    Trial,
    calls_observers,
    continues_from_checkpoints,
    fits_paths,
    has_one_distribution,
    is_deterministic,
    keeps_parameters,
    predicts,
    predicts_one_by_one,
    refuses_lengths,
    refuses_unfitted,
    shows_features,
    survives_files,
    weights_examples,
)
from margrave.testing.failures import plain
from tests.estimators.registry import ENTRIES, VARIANTS, Entry

EVERY = ENTRIES | VARIANTS
every = pytest.mark.parametrize("entry", EVERY.values(), ids=EVERY)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def trial(entry: Entry) -> Trial:
    return Trial(entry.make(), entry.X, entry.y)


def fitted(entry: Entry, **settings: Any) -> Any:
    return entry.make(**{"n_jobs": 1, **settings}).fit(entry.X, entry.y)


@every
def test_log_probabilities_are_those_of_all_outputs(entry: Entry) -> None:
    """They sum to one over all outputs, which the k best are for a large k, and differ as scores do."""
    model = fitted(entry, loss=LossFamily(0.7, 0.0), C=0.5)
    given = model.log_probability(entry.X, entry.y)
    assert given.shape == (len(entry.y),) and (given <= 0).all()
    if isinstance(model, HomologyRanker):  # Its k best are candidates, each with all of its alignments.
        return
    kbest = model.predict_kbest(entry.X, k=2000)
    i = min(range(len(kbest)), key=lambda i: len(kbest[i]))
    X = entry.X[[i] * len(kbest[i])] if hasattr(entry.X, "shape") else [entry.X[i]] * len(kbest[i])
    scores = np.array([score for score, _ in kbest[i]])
    found = model.log_probability(X, [output for _, output in kbest[i]])
    assert_allclose(np.exp(found).sum(), 1.0, rtol=1e-9)
    assert_allclose(found - found[0], 0.7 * (scores - scores[0]), rtol=1e-9, atol=1e-12)


def test_the_log_probability_of_a_labeled_tree_is_that_of_heads_and_of_labels() -> None:
    X = [[("a", "D"), ("b", "N")], [("b", "N"), ("a", "D"), ("b", "N")]] * 2
    y = [[(2, "det"), (0, "root")], [(0, "root"), (3, "det"), (1, "obj")]] * 2
    parser = DependencyParser(C=0.3, labels=True).fit(X, y)
    heads = [[head for head, _ in tree] for tree in y]
    labels = [[label for _, label in tree] for tree in y]
    assert parser.labeler_ is not None
    of_labels = parser.labeler_.log_probability(X, labels, heads=heads)
    assert_allclose(parser.log_probability(X, y), parser.log_probability(X, heads) + of_labels, rtol=1e-12)
    with pytest.raises(MargraveError, match="pass heads alone"):
        DependencyParser(labels=False).fit(X, y).log_probability(X, y)


def test_every_estimator_is_registered_here() -> None:
    import_modules("margrave.estimators")  # Otherwise an estimator that no test has imported would go unnoticed.
    own = {name for name, kind in SavedModel.estimators.items() if kind.__module__.startswith("margrave.")}
    counting = {"HMMTagger", "PCFG", "GenerativeAligner"}
    need_more = {"ArcLabeler", "Translator"}  # Their fit needs heads or alignments.
    assert own - need_more == set(ENTRIES) | counting


@every
def test_it_learns_and_scores(entry: Entry) -> None:
    predicts(trial(entry))
    assert fitted(entry).score(entry.X, entry.y) >= 0.75


@every
def test_marginals_kbest_and_samples_are_of_one_distribution(entry: Entry) -> None:
    has_one_distribution(trial(entry))


@every
def test_one_example_at_a_time_gives_the_same_as_all_at_once(entry: Entry) -> None:
    predicts_one_by_one(trial(entry))


def test_samples_follow_the_marginals() -> None:
    model = fitted(ENTRIES["SequenceTagger"], C=0.1)
    X = ENTRIES["SequenceTagger"].X[:1]
    drawn = np.array([[model.classes_.tolist().index(label) for label in y] for y in model.sample(X, 4000, 1)[0]])
    shares = np.stack([(drawn == k).mean(axis=0) for k in range(len(model.classes_))], axis=1)
    assert_allclose(shares, model.predict_marginals(X)[0], atol=0.04)


@every
def test_files_give_back_the_model(entry: Entry) -> None:
    survives_files(trial(entry))


@every
def test_a_path_is_its_models_one_by_one(entry: Entry) -> None:
    fits_paths(trial(entry))


@every
def test_a_checkpoint_takes_up_the_run(entry: Entry) -> None:
    continues_from_checkpoints(trial(entry))


@every
def test_weights_of_examples_count(entry: Entry) -> None:
    weights_examples(trial(entry))


@every
def test_development_data_choose_the_rate_of_sgd(entry: Entry) -> None:
    if "dev" not in inspect.signature(type(entry.make()).fit).parameters:
        pytest.skip("cross-validation needs a learner with a path, which sgd is not")
    if entry in (VARIANTS["a kernel"],):
        pytest.skip("sgd needs Euclidean weights")
    model = entry.make(learner="sgd", loss="log", max_iter=3).fit(entry.X, entry.y, dev=(entry.X, entry.y))
    assert model.score(entry.X, entry.y) > 0.4
    with pytest.raises(MargraveError, match="dev"):
        entry.make(learner="sgd", loss="log").fit(entry.X, entry.y, dev=5)


@every
def test_observers_see_every_pass(entry: Entry) -> None:
    calls_observers(trial(entry))


@every
def test_features_can_be_read(entry: Entry) -> None:
    shows_features(trial(entry))
    if entry.names:
        assert any(fitted(entry).top_features(3).values())
    else:
        with pytest.raises(MargraveError, match=r"do not store names|features do not have weights"):
            fitted(entry).top_features(3)


@every
@pytest.mark.parametrize("contract", [keeps_parameters, refuses_unfitted, refuses_lengths, is_deterministic])
def test_it_follows_the_protocol_of_scikit_learn(entry: Entry, contract: Callable[[Trial], None]) -> None:
    contract(trial(entry))


RAW = {name: entry for name, entry in EVERY.items() if entry.raw is not None}


@pytest.mark.parametrize("entry", RAW.values(), ids=RAW)
def test_inputs_travel_with_the_model(entry: Entry, tmp_path: Path) -> None:
    assert entry.features is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = entry.make(features=entry.features(), n_jobs=1).fit(entry.raw, entry.y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert plain(again.predict(entry.raw)) == plain(model.predict(entry.raw))
    assert model.score(entry.raw, entry.y) >= 0.75
    bare = again.without_features()
    attributes = model.features_.transform(entry.raw)
    assert plain(bare.predict(attributes)) == plain(model.predict(entry.raw))
    assert again.features_ is not None and bare.features_ is None  # the model itself keeps them
    assert repr(load(tmp_path / "model")) == repr(again)


def test_a_model_with_inputs_takes_exactly_its_columns() -> None:
    entry = ENTRIES["SequenceTagger"]
    assert entry.features is not None
    model = entry.make(features=entry.features()).fit(entry.raw, entry.y)
    labeled = [[(*row, "?") for row in rows] for rows in entry.raw]
    assert model.predict(labeled) == model.predict(entry.raw)
    for wrong in ([[()]], [[("a", "b", "c")]]):
        with pytest.raises(MargraveError, match=r"columns?, but the model takes 1, or 2 with the label"):
            model.predict(wrong)
    with pytest.raises(MargraveError, match="a token is a sequence of columns"):
        model.predict([["dog"]])


def test_the_transitions_of_a_tagger_can_be_read() -> None:
    model = fitted(ENTRIES["SequenceTagger"], C=10.0)
    assert model.top_transitions(1)[0][0] in {("D", "N"), ("N", "V")}
    second = fitted(ENTRIES["SequenceTagger"], order=2, C=10.0)
    assert {len(labels) for labels, _ in second.top_transitions(20)} == {2, 3}


def test_the_heads_of_a_parser_have_probabilities() -> None:
    entry = ENTRIES["DependencyParser"]
    model = fitted(entry)
    for table, heads in zip(model.predict_proba(entry.X), entry.y, strict=True):
        assert table.shape == (len(heads), len(heads) + 1)
        assert_allclose(table.sum(axis=1), 1.0, atol=1e-9)
        assert (table[range(len(heads)), range(1, len(heads) + 1)] == 0).all()  # no word is its own head


@pytest.mark.parametrize("size", [1e150, 1e300, 1e308])
@pytest.mark.parametrize("verb", ["predict", "predict_marginals", "predict_kbest", "sample"])
@every
def test_scores_that_overflow_are_an_error_or_every_example_has_an_answer(entry: Entry, verb: str, size: float) -> None:
    model = fitted(entry)
    rng = np.random.default_rng(0)
    for sign in (1, -1):
        model.coef_ = sign * size * rng.choice([-1.0, 1.0], size=model.coef_.shape)
        try:
            answers = getattr(model, verb)(entry.X)
        except MargraveError as error:
            assert re.match(r"example \d+: ", str(error))
            continue
        assert len(answers) == len(entry.y)
        for answer in answers:
            if verb == "predict_marginals":
                values = list(answer.values()) if isinstance(answer, dict) else answer
                assert np.isfinite(np.asarray(values, dtype=np.float64)).all()
            if verb == "predict_kbest":
                assert answer
                assert all(np.isfinite(score) for score, _ in answer)


def test_candidates_without_a_score_do_not_shift_the_answers_of_later_lists() -> None:
    model = Reranker().fit([[{"a": 1.0}, {"b": 1.0}]] * 2, [0, 1])
    model.coef_ = np.full(len(model.coef_), 4.0)
    good = [{"a": 0.0}, {"a": 1.0}]
    with pytest.raises(MargraveError, match=r"^example 1: a score is infinite or close to it"):
        model.predict([good, [{"a": 1e308, "b": -1e308}] * 2, good])


def test_sequences_need_no_length_that_is_right() -> None:
    class Longer(list[Any]):
        def __len__(self) -> int:
            return 1 + super().__len__()

    model = SequenceTagger().fit([[["a"], ["b"]], [["b"]]], [["A", "B"], ["B"]])
    rows = SequenceTagger(features=Templates()).fit([[("a",), ("b",)], [("b",)]], [["A", "B"], ["B"]])
    for tagger, sentence in ((model, [["a"], ["b"]]), (rows, [("a",), ("b",)])):
        for made in (iter, Longer, tuple, lambda tokens: (token for token in tokens)):
            try:
                answers = tagger.predict([made(sentence), made(sentence)])
            except MargraveError as error:
                assert str(error).startswith("example 0: ")
                continue
            assert answers == [["A", "B"]] * 2


@every
def test_a_loaded_model_knows_the_learner_but_no_time(entry: Entry, tmp_path: Path) -> None:
    """The learner that "auto" chose; a time would give files of the same run other bytes."""
    model = fitted(entry)
    assert model.learned_by_ == model.learner_.name != "auto" and model.certificate_.seconds is not None
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.learned_by_ == model.learned_by_ and loaded.certificate_.seconds is None
    assert certificate_report(loaded, None)["learner"] == model.learned_by_
