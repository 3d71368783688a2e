"""Parsers of constituents: grammars and spans, losses and decoding, sentences without a derivation, and PCFGs."""

from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose

from margrave import PCFG, ConstituencyParser, GenerativeAligner, Hinge, HMMTagger, MargraveError, PathCV, load
from margrave.data.constituents import Constituent, Tree
from margrave.datasets import load_quay
from margrave.learners import EG, BatchEG
from margrave.metrics import bracket_scores

TREES = [
    "(TOP (S (NP-SBJ (DT the) (NN dog)) (VP (VBZ barks)) (. .)))",
    "(TOP (S (NP (PRP we)) (VP (VBP see) (NP (NP (DT a) (NN dog)) (PP (IN in) (NP (NN rain))))) (. .)))",
    "(TOP (S (NP (PRP we)) (VP (VBP see) (NP (DT a) (NN cat)) (ADVP (RB often))) (. .)))",
    "(TOP (NP (NN rain) (. .)))",
]


AMBIGUOUS = [tree for tree in load_quay("train") if len(tree.words) <= 9][:20]  # under their own rules


def f1(parser: ConstituencyParser, trees: list[str]) -> float:
    return parser.score(parser.sentences_of(trees), trees)


@pytest.mark.parametrize("settings", [{}, {"binarize": "head", "vertical": 2}, {"terminals": "words", "rare": 0}])
@pytest.mark.parametrize("loss", ["log", "hinge", "softmax-margin"])
def test_grammars_learn_their_trees(settings: dict, loss: str) -> None:
    parser = ConstituencyParser(loss, grammar="rules", C=100.0, **settings).fit(None, TREES)
    assert f1(parser, TREES) == 1.0
    assert parser.predict(parser.sentences_of(TREES))[0].tags == ["DT", "NN", "VBZ", "."]


@pytest.mark.parametrize("cost", ["hamming", "zero-one", "f1"])
@pytest.mark.parametrize("rescale", ["margin", "slack"])
def test_cutting_planes_take_every_cost(cost: str, rescale: str) -> None:
    loss = Hinge(cost=cost, rescale=rescale, slack=2)
    settings = {"C": 10.0, "learner": "cutting-plane", "tol": 1e-6}
    parser = ConstituencyParser(loss, grammar="rules", **settings).fit(None, TREES)
    assert parser.certificate_.exact and f1(parser, TREES) == 1.0


def test_spans_need_no_grammar(tmp_path) -> None:
    parser = ConstituencyParser(C=10.0, weights="hash:12").fit(None, TREES)
    assert f1(parser, TREES) == 1.0
    X = parser.sentences_of(TREES)
    parser.save(tmp_path / "spans.model")
    again = load(tmp_path / "spans.model")
    assert [str(tree) for tree in again.predict(X)] == [str(tree) for tree in parser.predict(X)]
    new = [("a", "DT"), ("bird", "NN"), ("sings", "VBZ")]
    assert parser.predict([new])[0].words == ["a", "bird", "sings"]
    assert parser.n_partial_ == 0


RULES = {"grammar": "rules"}
FEW_RULES = {**RULES, "horizontal": 0}


@pytest.mark.parametrize("settings", [RULES, {**RULES, "binarize": "head"}, {"grammar": "spans", "weights": "hash:10"}])
def test_pruning_leaves_the_gold_trees_and_is_saved(tmp_path, settings: dict) -> None:
    trees = TREES * 4
    parser = ConstituencyParser(C=10.0, prune=1e-3, tol=1e-2, **settings).fit(None, trees)
    assert f1(parser, TREES) == 1.0
    assert 0 <= parser.lost_spans_ < 1
    parser.save(tmp_path / "pruned.model")
    again = load(tmp_path / "pruned.model")
    X = [*parser.sentences_of(TREES), [("?", "unseen"), ("dog", "NN")]]
    assert [str(tree) for tree in again.predict(X)] == [str(tree) for tree in parser.predict(X)]
    assert again.lost_spans_ == parser.lost_spans_


def test_pruning_changes_nothing_but_the_spans_considered() -> None:
    trees = [tree for tree in load_quay("train") if len(tree.words) <= 12][:60]
    parser = ConstituencyParser("perceptron", learner="perceptron", max_iter=1, prune=0.2, **FEW_RULES)
    X = parser.fit(None, trees).sentences_of(trees)
    narrow = parser.predict_kbest(X, 100)
    parser.pruner_ = None
    fewer = 0
    for some, wide in zip(narrow, parser.predict_kbest(X, 100), strict=True):
        every = {str(tree): value for value, tree in wide}
        assert 0 < len(some) <= len(every)
        fewer += len(some) < len(every)
        for value, tree in some:
            assert_allclose(value, every[str(tree)], rtol=1e-9)
    assert fewer > 5


@pytest.mark.parametrize("prune", [0, 1.0, -1.0, float("nan"), "much"])
def test_a_beam_must_be_a_probability(prune) -> None:
    with pytest.raises(MargraveError, match=r"^prune must"):
        ConstituencyParser(prune=prune).fit(None, TREES)


@pytest.mark.parametrize("settings", [FEW_RULES, {"grammar": "spans", "weights": "hash:8"}])
def test_learners_of_the_dual_agree_on_grammars(settings: dict) -> None:
    """Online EG over the tied parts, batch EG in both forms, and L-BFGS reach the same optimum."""
    trees = AMBIGUOUS if settings == FEW_RULES else TREES
    best = ConstituencyParser(learner="lbfgs", C=1.0, tol=1e-8, **settings).fit(None, trees)
    assert best.certificate_.primal > 0.1
    for learner in (EG(), BatchEG(), BatchEG(form="weights")):
        found = ConstituencyParser(learner=learner, C=1.0, tol=1e-4, max_iter=3000, **settings).fit(None, trees)
        assert found.converged_ and found.certificate_.exact
        assert_allclose(found.certificate_.primal, best.certificate_.primal, rtol=2e-4)
        assert_allclose(found.coef_, best.coef_, atol=0.02)


def test_probabilities_are_those_of_the_k_best_trees() -> None:
    parser = ConstituencyParser(grammar="rules", C=0.1).fit(None, TREES)
    (x,) = parser.sentences_of(TREES[1:2])
    every = parser.predict_kbest([x], 1000)[0]
    assert len({str(tree) for _, tree in every}) == len(every) < 1000
    weights = np.exp([value for value, _ in every])
    weights /= weights.sum()
    expected: dict[Constituent, float] = {}
    for weight, (_, tree) in zip(weights, every, strict=True):
        for constituent in tree.children[0].constituents():
            expected[constituent] = expected.get(constituent, 0.0) + weight
    for constituent, probability in parser.predict_proba([x])[0].items():
        assert_allclose(probability, expected[constituent], rtol=1e-9)


def test_minimum_risk_maximizes_the_sum_of_probabilities_above_the_threshold() -> None:
    parser = ConstituencyParser(grammar="rules", C=0.1, decode="mbr", threshold=0.4).fit(None, TREES)
    (x,) = parser.sentences_of(TREES[1:2])
    probability = parser.predict_proba([x])[0]

    def gain(tree: Tree) -> float:
        return sum(probability.get(each, 0.0) - 0.4 for each in tree.children[0].constituents())

    best = max(gain(tree) for _, tree in parser.predict_kbest([x], 1000)[0])
    assert_allclose(gain(parser.predict([x])[0]), best, atol=1e-4)


@pytest.mark.parametrize("grammar", ["rules", "spans"])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_the_default_decoding_is_of_minimum_risk_where_the_loss_has_probabilities(grammar: str, C: float) -> None:
    """It differs from the best tree on sentences that are not those of the training."""
    settings = {"grammar": grammar, "C": C, "max_iter": 5, "tol": 1.0}
    X = [sentence[:-1] for sentence in ConstituencyParser().sentences_of(TREES + AMBIGUOUS)]
    for loss, decode in (("log", "mbr"), ("softmax-margin", "mbr"), ("hinge", "best"), ("perceptron", "best")):
        parser = ConstituencyParser(loss, **settings).fit(None, TREES + AMBIGUOUS)
        found = {}
        for parser.decode in ("auto", "best", "mbr"):
            found[parser.decode] = [str(tree) for tree in parser.predict(X)]
        assert found["auto"] == found[decode]
        assert loss != "log" or found["best"] != found["mbr"]


@pytest.mark.parametrize(
    "settings", [{"terminals": "words"}, {"binarize": "left"}, {"horizontal": None}, {"vertical": 2}, {"rare": 3}]
)
def test_settings_of_rules_are_refused_where_there_are_none(settings: dict) -> None:
    (name,) = settings
    with pytest.raises(MargraveError, match=f"{name} is a setting of rules: use grammar='rules'."):
        ConstituencyParser(**settings).fit(None, TREES)
    assert ConstituencyParser(grammar="rules", **settings).fit(None, TREES).n_long_ == 0


def test_a_label_twice_over_a_span_is_one_constituent_with_a_probability() -> None:
    trees = ["(S (X (X (a w))) (c w))", "(S (Y (a w)) (c w))", "(S (Y (a w)) (c w))"]
    model = PCFG().fit(None, trees)
    values, every = zip(*model.predict_kbest([["a", "c"]], 10)[0], strict=True)
    shares = np.exp(np.array(values) - max(values))
    shares /= shares.sum()
    for label in ("X", "Y"):
        share = sum(p for p, tree in zip(shares, every, strict=True) if Constituent(label, 0, 1) in tree.constituents())
        assert_allclose(model.predict_proba([["a", "c"]])[0][Constituent(label, 0, 1)], share, rtol=1e-12)
    for threshold in (0.05, 0.5):
        decoder = PCFG(decode="mbr", threshold=threshold).fit(None, trees)
        counted = [Counter(tree.constituents()) for tree in every]

        def gain(tree: Tree, least: float = threshold, counted: list = counted) -> float:
            """The k-th constituent with one label over one span has the probability that there are k of them."""
            return sum(
                sum(p for p, other in zip(shares, counted, strict=True) if other[each] >= k) - least
                for each, n in Counter(tree.constituents()).items()
                for k in range(1, n + 1)
            )

        assert_allclose(gain(decoder.predict([["a", "c"]])[0]), max(map(gain, every)), rtol=1e-12)


def test_any_label_may_be_inside_a_tree_without_a_grammar() -> None:
    """Also one that names nodes above a sentence elsewhere."""
    trees = ["(S (S1 (a w)) (b w))", "(ROOT (A (a w)) (B (ROOT (a w) (b w))))"]
    parser = ConstituencyParser(grammar="spans", C=100).fit(None, trees)
    assert [str(tree) for tree in parser.predict(parser.sentences_of(trees))] == trees


def test_words_never_seen_have_the_tags_of_their_classes() -> None:
    trees = [
        "(S (NP (NNS dogs)) (VP (VBD barked)))",
        "(S (NP (NNS cats)) (VP (VBD jumped)))",
        "(S (NP (NNP Anna)) (VP (VBD slept)))",
    ]
    parser = ConstituencyParser(grammar="rules", terminals="words", rare=1).fit(None, trees)
    (tree,) = parser.predict([["hens", "worked"]])
    assert str(tree) == "(S (NP (NNS hens)) (VP (VBD worked)))" and parser.n_partial_ == 0
    assert parser.predict([["Emma", "slept"]])[0].tags == ["NNP", "VBD"]


def test_a_tag_never_seen_gives_a_partial_tree_that_is_counted() -> None:
    parser = ConstituencyParser(grammar="rules", C=1.0, decode="best").fit(None, TREES)
    trees = parser.predict([["DT", "NN", "FOO"], ["NN", "."]])
    assert parser.n_partial_ == 1
    assert trees[0].tags == ["DT", "NN", "FOO"] and "(NP (DT DT) (NN NN))" in str(trees[0])
    assert str(trees[1]) == "(TOP (NP (NN NN) (. .)))"
    assert len(parser.predict_kbest([["DT", "NN", "FOO"]], 3)[0]) == 3
    assert len(parser.sample([["DT", "NN", "FOO"]], 2)[0]) == 2
    assert parser.predict_proba([["DT", "NN", "FOO"]])[0]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (None, ["(S (A a)"], "example 0: unbalanced brackets: the tree that begins here is not closed."),
        (None, ["(S (-NONE- *))"], "example 0: an empty tree: it has no words besides traces."),
        ([["A"]], ["(S (A a) (B b))"], "example 0 has 1 words, but its tree has 2"),
        ([["A", "C"]], ["(S (A a) (B b))"], "example 0, word 1: the sentence has 'A' and its tree 'a'"),
        ([["A"], ["A"]], ["(S (A a))"], "there are 2 sentences and 1 trees."),
        ([[]], ["(S (A a))"], "example 0 has no words."),
    ],
)
def test_wrong_data_are_refused_in_one_sentence(X, y, message: str) -> None:
    with pytest.raises(MargraveError) as error:
        ConstituencyParser().fit(X, y)
    assert str(error.value).startswith(message)


def test_a_pcfg_has_relative_frequencies() -> None:
    grammar = PCFG().fit(None, TREES)
    names, w = grammar.grammar_.compiled.rule_names(), grammar.coef_
    probability = {name: np.exp(value) for name, value in zip(names, w, strict=True) if "*" not in name}
    assert_allclose(probability["TOP -> S"], 3 / 4)
    assert_allclose(probability["VP -> /VBZ"], 1 / 3)
    for left in ("NP", "VP", "S", "PP"):
        assert_allclose(sum(p for name, p in probability.items() if name.startswith(f"{left} -> ")), 1.0)
    smooth = PCFG(smoothing=2.0).fit(None, TREES)
    at = names.index("TOP -> S")
    assert_allclose(np.exp(smooth.coef_[at]), 5 / 8)


def test_the_score_of_a_pcfg_is_the_log_probability_of_the_tree() -> None:
    grammar = PCFG().fit(None, TREES)
    value, tree = grammar.predict_kbest(grammar.sentences_of(TREES[3:]), 1)[0][0]
    # TOP -> NP is one of four roots, and NP -> NN . one of the eight expansions of NP; tags are certain.
    counts = [name for name in grammar.grammar_.labels if name.nodes[:1] == ("NP",)]
    assert counts and str(tree) == "(TOP (NP (NN rain) (. .)))"
    assert_allclose(np.exp(value), 1 / 4 * 1 / 8)


def test_pcfgs_can_be_saved(tmp_path) -> None:
    grammar = PCFG(smoothing=0.5, horizontal=1).fit(None, TREES)
    grammar.save(tmp_path / "pcfg.model")
    X = grammar.sentences_of(TREES)
    assert (
        bracket_scores(TREES, load(tmp_path / "pcfg.model").predict(X)).f1
        == bracket_scores(TREES, grammar.predict(X)).f1
    )


@pytest.mark.parametrize("Cs", [[1.0], [0.1, 1.0]])
@pytest.mark.parametrize("settings", [{}, {"grammar": "rules", "prune": 0.01, "horizontal": 0}])
def test_trees_without_sentences_have_paths_and_folds(settings: dict, Cs: list[float]) -> None:
    trees = AMBIGUOUS[:6]
    parser = ConstituencyParser(tol=1e-3, **settings)
    X = parser.sentences_of(trees)
    for one, other in zip(parser.fit_path(None, trees, Cs), parser.fit_path(X, trees, Cs), strict=True):
        assert np.array_equal(one.coef_, other.coef_)
    one, other = PathCV(parser, Cs=Cs, cv=2).fit(None, trees), PathCV(parser, Cs=Cs, cv=2).fit(X, trees)
    assert np.array_equal(one.scores_, other.scores_) and one.score(None, trees) == other.score(X, trees)


@pytest.mark.parametrize("counting", [PCFG(), GenerativeAligner(), HMMTagger()], ids=repr)
def test_what_counts_has_neither_c_nor_a_path(counting) -> None:
    assert not hasattr(counting, "fit_path")
    with pytest.raises(MargraveError, match=r"^unknown .* parameter 'C'"):
        counting.set_params(C=1.0)
    with pytest.raises(MargraveError, match="needs an estimator that has a C and fit_path"):
        PathCV(counting, Cs=[1.0], cv=2).fit(TREES, TREES)
