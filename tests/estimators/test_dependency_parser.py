"""The dependency parser: labels in two stages and jointly, second order, pruning, crossing trees, explanations."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from margrave import DependencyParser, Kernel, MargraveError, load
from margrave.data.heads import is_projective
from margrave.datasets import load_harbor
from margrave.examples import Examples
from margrave.features import ArcTemplates
from margrave.learners import Checkpoint
from margrave.structures.pruning import TagPairs


def harbor(part: str, sentences: int) -> tuple[list[Any], list[Any]]:
    found = [sentence for sentence in load_harbor(part) if len(sentence.words) <= 14][:sentences]
    X = [[[word.form, word.upos, word.feats] for word in sentence.words] for sentence in found]
    return X, [list(zip(sentence.heads, [w.deprel for w in sentence.words], strict=True)) for sentence in found]


def heads_of(Y: list[Any]) -> list[list[int]]:
    return [[head for head, _ in tree] for tree in Y]


X, Y = harbor("train", 60)
NEW, NEW_Y = harbor("test", 12)
KINDS: dict[str, dict[str, Any]] = {
    "first order": {},
    "not projective": {"projective": False},
    "second order": {"order": 2},
    "second order, not projective": {"order": 2, "projective": False},
    "jointly labeled": {"labels": "joint"},
    "second order, jointly labeled": {"order": 2, "labels": "joint"},
    "hashed": {"weights": "hash:16"},
    "pruned by posteriors": {"prune": "posterior", "weights": "hash:16"},
    "not pruned": {"prune": False},
    "minimum risk": {"decode": "mbr"},
}
APPROXIMATE = "second order, not projective"  # it offers neither the k best nor samples
every_kind = pytest.mark.parametrize("kind", KINDS)
every_exact_kind = pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != APPROXIMATE])


@pytest.fixture(scope="module")
def parsers() -> dict[str, DependencyParser]:
    return {}


def parser(parsers: dict[str, DependencyParser], kind: str) -> DependencyParser:
    if kind not in parsers:
        with warnings.catch_warnings():  # A few sentences are not enough for MIRA's few passes.
            warnings.filterwarnings("ignore", "learner 'mira' ended far", ConvergenceWarning)
            parsers[kind] = DependencyParser(**{"decode": "best", **KINDS[kind]}).fit(X, Y)
    return parsers[kind]


@every_kind
def test_every_kind_of_parser_learns_heads_and_labels_and_comes_back_from_its_file(
    parsers: dict[str, DependencyParser], kind: str, tmp_path: Any
) -> None:
    model = parser(parsers, kind)
    assert model.score(X, Y) > 0.9
    assert model.score(NEW, NEW_Y) > 0.5
    assert model.score(NEW, heads_of(NEW_Y)) >= model.score(NEW, NEW_Y)
    model.save(tmp_path / "parser")
    again = load(tmp_path / "parser")
    assert again.predict(NEW) == model.predict(NEW)
    assert (again.projective_, again.n_crossing_, again.n_long_) == (model.projective_, model.n_crossing_, 0)
    for tree, table in zip(model.predict(NEW), again.predict_proba(NEW), strict=True):
        assert_allclose(table.sum(axis=1), 1.0, rtol=1e-9)
        assert len(tree) == len(table)


@every_exact_kind
def test_the_k_best_and_samples_have_labels_and_are_trees(parsers: dict[str, DependencyParser], kind: str) -> None:
    model = parser(parsers, kind)
    for best, drawn, x in zip(model.predict_kbest(NEW, 3), model.sample(NEW, 2), NEW, strict=True):
        assert len({tuple(tree) for _, tree in best}) == len(best)
        values = [value for value, _ in best]
        assert values == sorted(values, reverse=True)
        for tree in [*(tree for _, tree in best), *drawn]:
            heads = [head for head, _ in tree]
            assert len(heads) == len(x)
            assert heads.count(0) == 1
            assert is_projective(heads) or not model.projective_
    if model.decode == "best":
        assert [best[0][1] for best in model.predict_kbest(NEW, 1)] == model.predict(NEW)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("loss", ["log", "softmax-margin", "hinge", "perceptron"])
@pytest.mark.parametrize("settings", [{}, {"projective": False}, {"order": 2}, {"order": 2, "projective": False}])
def test_the_default_decoding_is_of_minimum_risk_where_probabilities_are_exact(loss: str, settings: dict) -> None:
    model = DependencyParser(loss, labels=False, max_iter=1, tol=1.0, **settings).fit(X[:20], heads_of(Y[:20]))
    found = {}
    for model.decode in ("auto", "best", "mbr"):
        found[model.decode] = model.predict(NEW)
    exact = settings != {"order": 2, "projective": False}
    assert found["auto"] == found["mbr" if exact and loss in ("log", "softmax-margin") else "best"]


def test_the_minimum_risk_tree_has_the_most_expected_heads(parsers: dict[str, DependencyParser]) -> None:
    best, risk = parser(parsers, "first order"), parser(parsers, "minimum risk")
    assert_allclose(best.coef_, risk.coef_)

    def expected(model: DependencyParser) -> list[float]:
        return [float(each.sum()) for each in best.predict_proba(NEW, model.predict(NEW))]

    assert all(a >= b - 1e-9 for a, b in zip(expected(risk), expected(best), strict=True))


def test_pruning_leaves_a_tree_and_the_gold_arcs_of_the_training_data(parsers: dict[str, DependencyParser]) -> None:
    model = parser(parsers, "second order")
    assert model.pruner_ is not None
    assert model.lost_arcs_ is not None
    assert 0 <= model.lost_arcs_ < 0.1
    left = model.pruner_.arcs_left(NEW, {})
    of_word = np.concatenate([mask.reshape(len(x), len(x)).sum(axis=1) for mask, x in zip(left, NEW, strict=True)])
    assert of_word.min() >= 1
    assert of_word.max() <= 11  # ten heads, and that of the pruner's tree
    # Words that were never seen, in sentences of all lengths, still have a tree.
    strange = [[["?", "X", "_"]] * n for n in (1, 2, 40)]
    assert [len(tree) for tree in model.predict(strange)] == [1, 2, 40]
    assert [len(tree) for tree in parser(parsers, "first order").predict(strange)] == [1, 2, 40]


def test_pruning_by_lengths_leaves_fewer_parts(parsers: dict[str, DependencyParser]) -> None:
    all_arcs, some = parser(parsers, "not pruned"), parser(parsers, "first order")
    assert some.pairs_ is not None
    assert all_arcs.pairs_ is None
    few, every = some._bind(Examples(NEW)).problem, all_arcs._bind(Examples(NEW)).problem
    assert sum(map(few.parts, range(few.size))) < sum(map(every.parts, range(every.size)))


def test_required_and_forbidden_arcs_hold_in_training_and_prediction(parsers: dict[str, DependencyParser]) -> None:
    for kind in ("first order", "second order", "not projective"):
        model = parser(parsers, kind)
        n = len(NEW[0])
        required = [[None] * (n - 1) + [[0]], *[None] * (len(NEW) - 1)]
        assert model.predict(NEW, allowed=required)[0][-1][0] == 0
        first = model.predict(NEW)[0][0][0]
        forbidden = [[[h for h in range(n + 1) if h not in (1, first)], *[None] * (n - 1)], *[None] * (len(NEW) - 1)]
        assert model.predict(NEW, allowed=forbidden)[0][0][0] != first
    allowed = [[[head] for head in tree] for tree in heads_of(Y)]
    certain = DependencyParser(labels=False, projective=False).fit(X, Y, allowed=allowed)
    assert certain.certificate_.primal == 0.0
    with pytest.raises(MargraveError, match="not allowed"):
        DependencyParser(labels=False).fit(X[:1], Y[:1], allowed=[[[0 if h else 1] for h in heads_of(Y)[0]]])


CROSSING = [[3, 4, 0, 3], [2, 0, 2, 2]]
ROWS = [[(form, form.upper()) for form in "abcd"]] * 2


def test_crossing_trees_are_projectivized_dropped_or_refused() -> None:
    settings: dict[str, Any] = {"projective": True, "labels": False}
    lifted = DependencyParser(**settings).fit(ROWS, CROSSING)
    assert (lifted.projective_, lifted.n_crossing_) == (True, 1)
    dropped = DependencyParser(crossing="drop", **settings).fit(ROWS, CROSSING, [1.0, 2.0])
    assert dropped.predict(ROWS[:1]) == CROSSING[1:]
    with pytest.raises(MargraveError, match="1 of 2 trees have crossing arcs, the first is example 0"):
        DependencyParser(crossing="refuse", **settings).fit(ROWS, CROSSING)
    with pytest.raises(MargraveError, match="all trees have crossing arcs"):
        DependencyParser(crossing="drop", **settings).fit(ROWS[:1], CROSSING[:1])
    assert DependencyParser(labels=False).fit(ROWS, CROSSING).projective_ is False
    assert DependencyParser(labels=False).fit(X, Y).projective_ is True
    assert all(map(is_projective, lifted.predict(ROWS)))


def test_long_sentences_are_left_out_of_the_training_only() -> None:
    model = DependencyParser(max_words=8, labels=False, tol=1e-1).fit(X, Y)
    assert model.n_long_ == sum(len(x) > 8 for x in X)
    assert max(map(len, model.predict(X))) > 8
    with pytest.raises(MargraveError, match="max_words=1 words"):
        DependencyParser(max_words=1).fit(X, Y)


def test_an_explanation_adds_up_to_the_difference_of_the_scores(parsers: dict[str, DependencyParser]) -> None:
    for kind in ("first order", "hashed", "not projective"):
        model = parser(parsers, kind)
        found = model.explain(NEW[0], 2, n=10**6)
        assert found.head == model.predict(NEW[:1])[0][1][0]
        assert found.difference == pytest.approx(sum(weight for _, weight in found.attributes))
        assert_allclose(
            found.difference, arc_score(model, NEW[0], found.head, 2) - arc_score(model, NEW[0], found.other, 2)
        )
        assert any(name.startswith("h[1]|w[1]=") for name, _ in found.attributes)
    with pytest.raises(MargraveError, match="word must be"):
        model.explain(NEW[0], 0)
    with pytest.raises(MargraveError, match="not a possible head"):
        model.explain(NEW[0], 1, 1)


def arc_score(model: DependencyParser, x: Any, head: int, word: int) -> float:
    bound = model._bind(Examples([x]))
    _, heads, words, _ = bound.core.arcs()  # type: ignore[attr-defined]
    theta = bound.problem.score(0, model.coef_)
    return float(theta[np.flatnonzero((heads == head) & (words == word))[0]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"order": 3}, "order must be"),
        (
            {"order": 2, "projective": False, "features": ArcTemplates(["h[1]|s[1]"])},
            "a template with s needs order=2 and projective trees",
        ),
        ({"order": 2, "features": ArcTemplates(["h[1]|c[1]"])}, "a template with c needs order=2 and projective=False"),
        ({"labels": "both"}, "labels"),
        ({"prune": "hard"}, "prune"),
        ({"crossing": "ignore"}, "crossing"),
        ({"decode": "worst"}, "decode"),
        ({"features": None, "order": 2}, "order=2 needs features"),
        ({"features": "templates"}, "features"),
        ({"weights": "all"}, "weights"),
        ({"weights": Kernel("rbf")}, "weights of a parser must be a name, not Kernel"),
        ({"features": ArcTemplates(["h[1]|s[1]"])}, "a template with s needs order=2"),
        ({"features": ArcTemplates(["h[1]|label"])}, "a template with label needs labels='joint'"),
    ],
)
def test_wrong_settings_are_refused_in_one_sentence(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(MargraveError, match=message):
        DependencyParser(**settings).fit(X, Y)


def test_second_order_with_crossing_arcs_is_approximate_and_says_so(parsers: dict[str, DependencyParser]) -> None:
    model = parser(parsers, APPROXIMATE)
    assert not model.projective_
    assert "approximate" in model.stop_reason_
    assert not model.certificate_.exact
    report = model.inference_report(NEW)
    assert report.examples == len(NEW)
    assert report.converged > 0.9 and report.sweeps >= 1
    assert report.certified > 0.5
    assert model.score(X, Y) > 0.9
    with pytest.raises(MargraveError, match="kbest"):
        model.predict_kbest(NEW, 2)
    with pytest.raises(MargraveError, match="inference is exact"):
        parser(parsers, "first order").inference_report(NEW)


@pytest.mark.parametrize(
    ("loss", "learner"), [("log", "mira"), ("softmax-margin", "sgd"), ("hinge", "bcfw"), ("hinge", "mira")]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_learners_go_on_with_approximate_inference(loss: str, learner: str) -> None:
    settings = {
        "order": 2,
        "projective": False,
        "labels": False,
        "max_iter": 8,
        "weights": "hash:16",
        "prune": "lengths",
    }
    model = DependencyParser(loss, learner=learner, C=0.1, **settings).fit(X[:25], heads_of(Y[:25]))
    assert model.score(X[:25], heads_of(Y[:25])) > 0.85
    assert "approximate" in model.stop_reason_


def test_a_fallback_is_refused_where_inference_is_exact() -> None:
    with pytest.raises(MargraveError, match="a fallback needs order=2 and projective=False"):
        DependencyParser(fallback="reweighted").fit(X, Y)


def test_labels_that_are_not_there_are_refused() -> None:
    with pytest.raises(MargraveError, match="needs a pair"):
        DependencyParser(labels=True).fit(X, heads_of(Y))
    with pytest.raises(MargraveError, match="example 0, word 1"):
        DependencyParser().fit(ROWS[:1], [[9, 0, 1, 1]])


def test_what_is_not_a_list_of_sentences_or_trees_is_refused_in_one_sentence(
    parsers: dict[str, DependencyParser],
) -> None:
    model = parser(parsers, "first order")
    for call in (model.predict, model.predict_proba, model.predict_kbest, model.sample):
        with pytest.raises(MargraveError, match="X must be a sequence of examples, not NoneType"):
            call(None)
    with pytest.raises(MargraveError, match="X must be a sequence of examples, not NoneType"):
        DependencyParser().fit(None, Y)
    with pytest.raises(MargraveError, match="there are 12 sentences in X and 11 in y"):
        model.score(NEW, NEW_Y[:-1])
    with pytest.raises(MargraveError, match="word 1: its head is not 0 or the number of another word"):
        model.predict_proba(NEW[:1], [[99] * len(NEW[0])])
    begin, heads, labels = model.predict_numbers([])
    assert labels is not None
    assert (begin.tolist(), len(heads), len(labels)) == ([0], 0, 0)


def test_a_single_label_is_not_predicted() -> None:
    same = [[(head, "dep") for head, _ in tree] for tree in Y]
    assert DependencyParser(tol=1e-1).fit(X, same).labeler_ is None


def test_second_order_has_a_lower_optimum_than_first_order() -> None:
    first = DependencyParser(C=0.01, labels=False, tol=1e-3).fit(X, Y)
    second = DependencyParser(C=0.01, labels=False, order=2, tol=1e-3).fit(X, Y)
    assert second.certificate_.primal < first.certificate_.primal


@pytest.mark.parametrize("order", [1, 2])
def test_a_fit_that_is_interrupted_in_the_label_stage_goes_on_from_its_checkpoints(
    order: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = DependencyParser(C=0.1, order=order, tol=1e-3, n_jobs=1, learner="eg")
    whole = model.fit(X, Y)
    file, of_labels = tmp_path / "run", tmp_path / "run.labels"
    real, written = Checkpoint.write, []

    def write(self: Checkpoint, *arguments: Any) -> None:
        real(self, *arguments)
        written.append(self.path)
        if written.count(of_labels) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "write", write)
        first = clone(model).fit(X, Y, checkpoint=Checkpoint(file, every=0))
    assert first.stop_reason_ == "interrupted while labels were learned" and file.exists() and of_labels.exists()
    passes: list[int] = []
    learner, real_pass = type(whole.learner_), type(whole.learner_).one_pass

    def one_pass(self: Any, *arguments: Any) -> Any:
        passes.append(1)
        return real_pass(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(learner, "one_pass", one_pass)
        again = clone(model).fit(X, Y, checkpoint=file)
    if order == 1:  # There is no pruner, which would be learned again.
        assert 0 < len(passes) < whole.labeler_.n_iter_
    assert_array_equal(again.coef_, whole.coef_)
    assert_array_equal(again.labeler_.coef_, whole.labeler_.coef_)
    assert [record.passes for record in again.labeler_.history_] == [
        record.passes for record in whole.labeler_.history_
    ]


# ---- labels of arcs from the root ------------------------------------------------------------------------------------


def trees_with_roots(seed: int, root: list[str], others: list[str], size: int = 25) -> tuple[list[Any], list[Any]]:
    """Random trees whose arcs from the root have labels of `root`; only words of the first two tags are roots."""
    rng = np.random.default_rng(seed)
    rows, trees = [], []
    for _ in range(size):
        n = int(rng.integers(1, 6))
        top = int(rng.integers(n))
        tags = [f"T{rng.integers(2) if word == top else rng.integers(2, 6)}" for word in range(n)]
        heads = [0 if word == top else top + 1 for word in range(n)]
        labels = [str(rng.choice(root if word == top else others)) for word in range(n)]
        rows.append([(f"w{rng.integers(9)}", tag) for tag in tags])
        trees.append(list(zip(heads, labels, strict=True)))
    return rows, trees


def unseen(seed: int) -> list[Any]:
    """Sentences of tags that are never roots, or never occur, in the trees above."""
    rng = np.random.default_rng(seed)
    return [[(f"w{rng.integers(9)}", f"T{rng.integers(2, 12)}") for _ in range(rng.integers(1, 6))] for _ in range(40)]


@pytest.mark.parametrize("tags", [True, False], ids=["tags", "no tags"])
@pytest.mark.parametrize("stage", [{"labels": True}, {"labels": "joint"}, {"labels": "joint", "prune": False}], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_arcs_from_the_root_have_the_only_label_that_they_had(seed: int, stage: dict[str, Any], tags: bool) -> None:
    rows, trees = trees_with_roots(seed, ["root"], ["a", "b", "c"])
    new = unseen(seed)
    if not tags:
        rows, new = ([[row[:1] for row in sentence] for sentence in each] for each in (rows, new))
    parser = DependencyParser(C=0.03, decode="best", single_root=False, max_iter=8, **stage).fit(rows, trees)
    for predicted in (parser.predict(new), [tree for each in parser.predict_kbest(new, 4) for _, tree in each]):
        assert all((head == 0) == (label == "root") for tree in predicted for head, label in tree)
    assert any(len({head for head, _ in tree}) > 1 for tree in parser.predict(new))


@pytest.mark.parametrize("root, others", [(["root", "top"], ["a", "b"]), (["root"], ["a", "root"]), (["a"], ["a"])])
@pytest.mark.parametrize("seed", range(3))
def test_labels_of_arcs_are_restricted_by_what_all_arcs_have(seed: int, root: list[str], others: list[str]) -> None:
    """The sets of labels, by their definition."""
    rows, trees = trees_with_roots(seed, root, others)
    names = sorted({label for tree in trees for _, label in tree})
    features = ArcTemplates().learn(rows)
    pairs = TagPairs()
    flat = [word for tree in trees for word in tree]
    heads = np.array([head for head, _ in flat], dtype=np.int32)
    pairs.learn(features.transform(rows), heads, np.array([names.index(of) for _, of in flat], dtype=np.int32))
    seen: dict[Any, set[str]] = {}
    for sentence, tree in zip(rows, trees, strict=True):
        for (_, tag), (head, label) in zip(sentence, tree, strict=True):
            for key in ((None if head == 0 else sentence[head - 1][1], tag), head == 0):
                seen.setdefault(key, set()).add(label)
    only = seen[True] if len(seen[True]) == 1 else set(names)
    rest = set(names) - seen[True] if len(seen[True]) == 1 and not seen[True] & seen[False] else set(names)
    new = unseen(seed) + rows
    restored = TagPairs()
    restored.restore(pairs.state())
    for each in (pairs, restored):
        found = each.labels(features.transform(new), None, len(names))
        arcs = iter(found.of_arc.tolist())
        for sentence in new:
            for word, (_, tag) in enumerate(sentence, 1):
                for head in (h for h in range(len(sentence) + 1) if h != word):
                    of_tags = seen.get((None if head == 0 else sentence[head - 1][1], tag))
                    expected = of_tags or (only if head == 0 else rest)
                    k = next(arcs)
                    members = found.members[found.begin[k] : found.begin[k + 1]]
                    assert {names[label] for label in members} == expected


@pytest.mark.parametrize("bits", [10, 14, 20])
@pytest.mark.parametrize("order", [1, 2])
def test_a_file_of_hashed_weights_is_as_large_as_the_cells_that_are_not_empty(
    order: int, bits: int, tmp_path: Path
) -> None:
    model = DependencyParser(C=0.1, tol=1e-2, order=order, weights=f"hash:{bits}").fit(X[:20], Y[:20])
    stages = [each for each in (model, model.labeler_, model.pruner_) if each is not None]
    assert [each.weight_bits_ for each in stages] == [16] * len(stages)
    named = DependencyParser(C=0.1, tol=1e-2, order=order, weights="observed").fit(X[:5], Y[:5])
    assert named.weight_bits_ == 64

    path = tmp_path / "parser"
    model.save(path)
    filled = sum(np.count_nonzero(each.coef_) for each in stages)
    cells = sum(len(each.coef_) for each in stages)
    assert path.stat().st_size <= 2 * filled + cells / 8 + 200_000  # templates, labels and the words of pruning
    again = load(path)
    assert_array_equal(again.coef_, model.coef_)
    assert again.predict_kbest(NEW, 3) == model.predict_kbest(NEW, 3)


@pytest.mark.parametrize("bits", [6, 16])
def test_the_certificate_is_that_of_the_rounded_weights(bits: int) -> None:
    settings: dict[str, Any] = {"C": 0.3, "tol": 1e-8, "labels": False, "prune": False, "weights": f"hash:{bits}"}
    model = DependencyParser(learner="lbfgs", **settings).fit(X[:10], heads_of(Y[:10]))
    primal = 0.5 * model.coef_ @ model.coef_ - 0.3 * model.log_probability(X[:10], heads_of(Y[:10])).sum()
    found = model.certificate_
    assert_allclose(found.primal, primal, rtol=1e-13)
    assert found.dual is not None
    assert_allclose(found.gap, primal - found.dual, rtol=1e-6, atol=1e-12 * primal)
    assert found.gap > 0
