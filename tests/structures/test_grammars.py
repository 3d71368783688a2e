"""Grammars beyond what every registered structure is tested for: one derivation per tree, long sentences, pieces."""

from collections import Counter
from math import comb, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from margrave import Hinge, MargraveError, _core
from margrave.binding import bind as bind_examples
from margrave.data.constituents import Tree
from margrave.examples import Examples
from margrave.learners import Objective
from margrave.maps import SparseMap
from margrave.structures import ContextFreeTree, Grammar, SpanTree
from margrave.structures.base import Bound
from margrave.testing.problems import random_scores
from tests.core.test_simd import EVERY, instruction_set
from tests.data.test_constituents import trees as any_tree
from tests.references.grammars import PartNumbers, derivation_graph, derivations, random_grammar, trees_of
from tests.registry.grammars import labeled_spans
from tests.registry.hypergraphs import core_graph
from tests.structures.test_structures import assert_as_engine

seeds = st.integers(0, 2**32 - 1)
SETTINGS = [
    {},
    {"binarize": "left", "horizontal": None},
    {"binarize": "head", "horizontal": 1, "vertical": 2},
    {"binarize": "head", "horizontal": 0, "vertical": 3},
    {"terminals": "words", "horizontal": 0},
    {"spans": True},
]
TREES = [
    Tree.of(text)
    for text in (
        "(TOP (S (NP (DT the) (JJ old) (JJ grey) (NN dog)) (VP (VBZ barks) (ADVP (RB now))) (. .)))",
        "(TOP (S (NP (PRP we)) (VP (VBP see) (NP (NP (DT a) (NN dog)) (PP (IN in) (NP (NN rain)))))))",
        "(TOP (S (VP (VB go))))",
        "(TOP (NP (NN rain)))",
        "(TOP (S (NP (NN dog) (CC and) (NN rain)) (VP (VB go))) (. .))",
    )
]


def problem_of(structure, grammar: Grammar, terminals: list[str]) -> _core.Problem:
    """One sentence without attributes; only its scores matter."""
    count = structure.bind(
        grammar, Examples.of_sizes(np.zeros(1, np.int64), X=[[(t, t) for t in terminals]])
    ).part_counts[0]
    feature_map = SparseMap()
    feature_map.learn(rows := feature_map.encode(Examples([[[]] * int(count)]), grow=True), None)
    bound = structure.bind(grammar, Examples.of_sizes(np.array([count]), X=[[(t, t) for t in terminals]]))
    return _core.join(bound, feature_map.map(rows, bound))


@pytest.mark.parametrize("settings_of", SETTINGS)
@given(st.lists(any_tree, min_size=1, max_size=4))
@settings(max_examples=25, deadline=None)
def test_a_tree_has_one_derivation_and_comes_back_from_it(settings_of, trees: list[Tree]) -> None:
    trees = [Tree("TOP", (tree,)) for tree in trees if not tree.is_leaf] + TREES
    grammar = Grammar.of_trees(trees, **settings_of)
    for tree in trees:
        nodes = grammar.derive(tree)
        assert sum(node.split < 0 for node in nodes) == len(tree.words)
        assert len(nodes) == 2 * len(tree.words) - 1
        restored = grammar.tree_of([(node.label, node.begin, node.end) for node in nodes], list(tree.leaves()))
        assert restored == tree


@pytest.mark.parametrize("settings_of", [{}, {"binarize": "left"}, {"horizontal": 0}, {"spans": True}])
def test_derivations_are_as_many_as_trees(settings_of) -> None:
    """Different derivations give different trees, so that no tree is counted twice."""
    grammar = Grammar.of_trees(TREES, **settings_of)
    structure = SpanTree() if grammar.spans else ContextFreeTree()
    for tree in TREES[1:4] if grammar.spans else TREES:
        sentence = list(zip(tree.words, tree.tags, strict=True))[: 2 if grammar.spans else 4]
        numbers = PartNumbers(grammar.compiled, len(sentence))
        ys = derivations(numbers, grammar.sentence_numbers(*zip(*sentence, strict=True)))
        bound = structure.bind(grammar, Examples.of_sizes(np.zeros(1, np.int64), X=[sentence]))
        found = [
            Bound(structure, grammar, Examples(None), bound).decode(np.array([0, len(y)]), np.array(y, dtype=np.int32))
            for y in ys
        ]
        assert len({str(spans[0].tree(sentence)) for spans in found}) == len(ys) == len(set(ys))


@given(seeds)
@settings(max_examples=15, deadline=None)
def test_outputs_are_the_trees_of_the_grammar(seed: int) -> None:
    rng = np.random.default_rng(seed)
    grammar = random_grammar(rng)
    words = [str(word) for word in rng.choice(list("xyz"), rng.integers(1, 5))]
    ys = derivations(PartNumbers(grammar.compiled, len(words)), grammar.sentence_numbers(words, words))
    assert len(ys) == len(trees_of(grammar, words))


@pytest.mark.parametrize("more", [{}, {"splits": True, "anchors": ("begin", "split", "end")}, {"tied": False}])
@given(seeds, st.integers(1, 6))
@settings(max_examples=20, deadline=None)
def test_cky_agrees_with_the_hypergraph_engine_up_to_six_words(more, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    grammar = random_grammar(rng, symbols=5)
    words = [str(word) for word in rng.choice(list("xyz"), n)]
    structure = ContextFreeTree(grammar=grammar, **more)
    numbers = PartNumbers(grammar.compiled, n, structure.tied, structure.splits, structure.anchors)
    mine = problem_of(structure, grammar, words)
    terminals = grammar.sentence_numbers(words, words)
    if -1 in terminals:
        return
    graph = core_graph(derivation_graph(numbers, terminals))
    other = _core.hypergraphs([graph], np.array([numbers.count]), None, None, None)
    rows = _core.Tokens(
        np.array([0, numbers.count]), np.zeros(numbers.count + 1, np.int64), np.zeros(0, np.int32), None
    )
    engine = _core.join(other, _core.sparse_parts(0, rows, np.ones(1, dtype=np.int64)))
    assert mine.parts(0) == numbers.count
    for scores in ("usual", "far", "forbidden"):
        theta = random_scores(rng, numbers.count, scores) if scores != "far" else rng.normal(0, 200, numbers.count)
        assert_as_engine(mine, engine, theta, rng)


@pytest.mark.parametrize("more", [{}, {"splits": True}, {"anchors": ("split",)}])
@given(seeds)
@settings(max_examples=6, deadline=None)
def test_grammars_with_all_rules_agree_with_the_hypergraph_engine(more, seed: int) -> None:
    """The loops over vectors need pairs of symbols with many rules each; other symbols have few rules."""
    rng = np.random.default_rng(seed)
    names = list("ABCDEFGHI")
    rules: list = [(a, (b, c)) for a in names for b in names for c in names]
    rules += [("P", ("A", "Q")), ("Q", ("P", "B")), ("B", ("P", "C")), ("A", ("P", "Q"))]
    rules += [(name, "x") for name in names[::2]] + [("P", "y"), ("Q", "y"), ("C", "y")]
    grammar = Grammar.of_rules(rules, "A")
    words = [str(word) for word in rng.choice(list("xy"), rng.integers(3, 7))]
    structure = ContextFreeTree(grammar=grammar, **more)
    numbers = PartNumbers(grammar.compiled, len(words), structure.tied, structure.splits, structure.anchors)
    graph = core_graph(derivation_graph(numbers, grammar.sentence_numbers(words, words)))
    mine, theta = problem_of(structure, grammar, words), rng.normal(size=numbers.count)
    log_z, mu = mine.logsum(0, theta)
    other = _core.hypergraphs([graph], np.array([numbers.count]), None, None, None)
    rows = _core.Tokens(
        np.array([0, numbers.count]), np.zeros(numbers.count + 1, np.int64), np.zeros(0, np.int32), None
    )
    engine = _core.join(other, _core.sparse_parts(0, rows, np.ones(1, dtype=np.int64)))
    expected, marginals = engine.logsum(0, theta)
    assert_allclose(log_z, expected, rtol=1e-12)
    assert_allclose(mu, marginals, atol=1e-12)
    assert_allclose(mine.argmax(0, theta)[0], engine.argmax(0, theta)[0], rtol=1e-12)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("symbols", [7, 17, 34])
def test_grammars_with_all_rules_agree_with_plain_products_on_every_instruction_set(name: str, symbols: int) -> None:
    """Cells are handled several at a time, as many as fit into registers: widths have from one cell to nine of them.

    Left-hand sides fill less than a vector, and more than four vectors. Every third symbol has no words.
    """
    n, names = 10, [f"N{k}" for k in range(symbols)]
    rules: list = [(a, (b, c)) for a in names for b in names for c in names]
    rules += [(a, "x") for k, a in enumerate(names) if k % 3]
    grammar = Grammar.of_rules(rules, names[0])
    mine = problem_of(ContextFreeTree(grammar=grammar), grammar, ["x"] * n)
    compiled = grammar.compiled
    order = [compiled.binary[a, b, c] for a in names for b in names for c in names]
    words = [len(order) + compiled.lexical[a, "x"] for k, a in enumerate(names) if k % 3]
    theta = np.zeros(mine.parts(0))
    theta[: len(order) + len(words)] = np.random.default_rng(symbols).normal(size=len(order) + len(words))
    weights = np.exp(theta[order]).reshape(symbols, -1)

    inside = np.zeros((n + 1, n + 1, symbols))
    outside, pairs = np.zeros_like(inside), np.zeros((n + 1, n + 1, symbols, symbols))
    has_words = np.arange(symbols) % 3 > 0
    for s in range(n):
        inside[s, s + 1, has_words] = np.exp(theta[words])
    cells = [(s, s + width) for width in range(2, n + 1) for s in range(n + 1 - width)]
    for s, e in cells:
        pairs[s, e] = sum(np.outer(inside[s, m], inside[m, e]) for m in range(s + 1, e))
        inside[s, e] = weights @ pairs[s, e].ravel()
    outside[0, n, 0] = 1 / inside[0, n, 0]
    expected = np.zeros_like(weights)
    for s, e in reversed(cells):
        gradient = (outside[s, e] @ weights).reshape(symbols, symbols)
        expected += weights * np.outer(outside[s, e], pairs[s, e])
        for m in range(s + 1, e):
            outside[s, m] += gradient @ inside[m, e]
            outside[m, e] += inside[s, m] @ gradient
    with instruction_set(name):
        log_z, mu = mine.logsum(0, theta)
    assert_allclose(log_z, log(inside[0, n, 0]), rtol=1e-12)
    assert_allclose(mu[order], expected.ravel(), rtol=1e-9)
    of_words = sum(outside[s, s + 1, has_words] * inside[s, s + 1, has_words] for s in range(n))
    assert_allclose(mu[words], of_words, rtol=1e-9)


def catalan(n: int) -> int:
    return comb(2 * n, n) // (n + 1)


@pytest.mark.parametrize("n", [1, 2, 10, 60, 100])
def test_long_sentences_neither_overflow_nor_lose_digits(n: int) -> None:
    grammar = Grammar.of_rules([("S", ("S", "S")), ("S", "x")], "S")
    mine = problem_of(ContextFreeTree(grammar=grammar), grammar, ["x"] * n)
    for score in (0.0, 50.0, -300.0):
        theta = np.zeros(mine.parts(0))
        theta[0] = score
        log_z, mu = mine.logsum(0, theta)
        assert_allclose(log_z, log(catalan(n - 1)) + score * (n - 1), rtol=1e-12)
        assert_allclose(mu[:3], [n - 1, n, 1], rtol=1e-9)
    span = mu[3:].reshape(-1, len(grammar.compiled.spans)).sum(axis=1)
    ends = [(s, e) for s in range(n) for e in range(s + 1, n + 1)]
    for k in range(0, len(ends), 7):
        width = ends[k][1] - ends[k][0]
        assert_allclose(span[k], catalan(width - 1) * catalan(n - width) / catalan(n - 1), rtol=1e-9)


def test_sentences_without_a_derivation_are_taken_in_as_few_pieces_as_possible() -> None:
    grammar = Grammar.of_trees(TREES)
    structure = ContextFreeTree()
    sentence = [("dog", "NN"), ("?", "??"), ("the", "DT"), ("old", "JJ"), ("grey", "JJ"), ("dog", "NN")]
    bound = structure.bind(grammar, Examples.of_sizes(np.zeros(1, np.int64), X=[sentence]))
    problem = problem_of_bound(bound)
    theta = np.random.default_rng(0).normal(size=problem.parts(0))
    _, y = problem.argmax(0, theta)
    (found,) = Bound(structure, grammar, Examples(None), bound).decode(np.array([0, len(y)]), y)
    assert found.in_pieces
    tree = found.tree(sentence)
    assert tree.words == [word for word, _ in sentence] and tree.tags == [tag for _, tag in sentence]
    assert str(tree).endswith("(NP (DT the) (JJ old) (JJ grey) (NN dog)))")
    log_z, mu = problem.logsum(0, theta)
    assert np.isfinite(log_z) and mu.min() >= 0 and mu.max() <= 6
    assert len(problem.kbest(0, theta, 5)) == 5 and len(problem.sample(0, theta, 3)) > 0


def problem_of_bound(bound) -> _core.Problem:
    feature_map = SparseMap()
    rows = feature_map.encode(Examples([[[]] * int(bound.part_counts[0])]), grow=True)
    feature_map.learn(rows, bound)
    return _core.join(bound, feature_map.map(rows, bound))


@given(seeds)
@settings(max_examples=10, deadline=None)
def test_the_best_by_right_and_predicted_constituents_is_that_of_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    grammar = random_grammar(rng)
    words = [str(word) for word in rng.choice(list("xyz"), 4)]
    numbers = PartNumbers(grammar.compiled, 4)
    ys = derivations(numbers, grammar.sentence_numbers(words, words))
    if not ys:
        return
    mine = problem_of(ContextFreeTree(grammar=grammar), grammar, words)
    theta = rng.normal(size=numbers.count)
    delta = rng.integers(-2, 9, numbers.count).astype(float)
    best: dict[int, float] = {}
    for y in ys:
        cost = int(delta[list(y)].sum())
        best[cost] = max(best.get(cost, -np.inf), theta[list(y)].sum())
    found = mine.argmax_by_cost(0, theta, delta)
    assert [cost for cost, _, _ in found] == sorted(best)
    for cost, value, y in found:
        assert_allclose(value, best[cost], rtol=1e-9, atol=1e-9)
        assert_allclose(theta[y].sum(), value, rtol=1e-9, atol=1e-9)
        assert tuple(sorted(y.tolist())) in set(ys)  # type: ignore[attr-defined]


@pytest.mark.parametrize("spans", [False, True])
@given(seeds)
@settings(max_examples=15, deadline=None)
def test_outputs_with_scores_below_the_least_one_asked_for_may_be_missing_and_no_others(spans, seed: int) -> None:
    rng = np.random.default_rng(seed)
    structure = SpanTree(splits=True) if spans else ContextFreeTree(grammar=random_grammar(rng))
    grammar = structure.learn(TREES)
    problem = problem_of(structure, grammar, ["NN", "CC"] if spans else list(rng.choice(list("xyz"), 5)))
    theta = rng.normal(size=problem.parts(0))
    delta = rng.integers(0, 4, problem.parts(0)).astype(float)
    every = problem.argmax_by_cost(0, theta, delta)
    for least in [value for _, value, _ in every]:
        found = problem.argmax_by_cost(0, theta, delta, least - 1e-9)
        assert [(cost, value) for cost, value, _ in found if value >= least] == [
            (cost, value) for cost, value, _ in every if value >= least
        ]
        for cost, value, y in found:
            assert delta[y].sum() == cost
            assert_allclose(theta[y].sum(), value, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("spans", [False, True])
@given(seeds)
@settings(max_examples=15, deadline=None)
def test_outputs_that_are_worse_in_score_right_and_wrong_items_may_be_missing_and_no_others(spans, seed: int) -> None:
    rng = np.random.default_rng(seed)
    structure = SpanTree(splits=True) if spans else ContextFreeTree(grammar=random_grammar(rng))
    problem = problem_of(structure, structure.learn(TREES), ["NN", "CC"] if spans else list(rng.choice(list("xyz"), 5)))
    scale = rng.choice([0.0, 0.1, 10.0])  # many outputs have the same score, or few are worse
    theta, base = scale * rng.normal(size=problem.parts(0)), 50
    right, wrong = rng.integers(0, 2, (2, problem.parts(0))) * (rng.random(problem.parts(0)) < 0.5)
    every = problem.argmax_by_cost(0, theta, (right + base * wrong).astype(float))
    found = problem.argmax_by_cost(0, theta, (right + base * wrong).astype(float), base=base)
    for cost, value, y in found:
        assert (right[y].sum(), wrong[y].sum()) == (cost % base, cost // base)
        assert_allclose(theta[y].sum(), value, rtol=1e-9, atol=1e-9)

    best = {cost: value for cost, value, _ in every}
    for cost, value, _ in found:
        assert_allclose(value, best[cost], rtol=1e-9, atol=1e-9)
    for one, value in best.items():  # what is missing is worse than some output that was found
        assert any(
            value <= other + 1e-9 and one % base >= cost % base and one // base <= cost // base
            for cost, other, _ in found
        )
    for one, value, _ in found:  # and what was found is not worse than another
        assert not any(
            value < other - 1e-9 and one % base >= cost % base and one // base <= cost // base
            for cost, other, _ in found
        )


@pytest.mark.parametrize("slack", [1, 2])
@pytest.mark.parametrize("rescale", ["margin", "slack"])
@given(seeds)
@settings(max_examples=15, deadline=None)
def test_the_most_violated_tree_with_the_f1_cost_is_that_of_enumeration(rescale, slack: int, seed: int) -> None:
    """F1 over constituents, of which a collapsed chain has several (003, section 4.5.2)."""
    rng = np.random.default_rng(seed)
    grammar = random_grammar(rng)
    words = [str(word) for word in rng.choice(list("xyz"), rng.integers(2, 6))]
    trees = trees_of(grammar, words)
    if not 1 < len(trees) <= 300:
        return
    tree = trees[rng.integers(len(trees))]
    numbers = PartNumbers(grammar.compiled, len(words))
    ys = derivations(numbers, grammar.sentence_numbers(words, words))
    feature_map = SparseMap()
    attributes = [[[f"part {k}"] for k in range(numbers.count)]]
    bound = bind_examples(
        ContextFreeTree(grammar=grammar), feature_map, Examples(None, [tree], encoded=attributes), outputs=grammar
    )
    theta = rng.choice([0.1, 1.0, 3.0]) * rng.normal(size=numbers.count)  # many violations, or few
    gold = tuple(sorted(bound.problem.gold(0).tolist()))
    right = labeled_spans(numbers, gold)
    worst = 0.0
    for y in ys:
        predicted = labeled_spans(numbers, y)
        both = right.total() + predicted.total()
        cost = 1 - 2 * (right & predicted).total() / both if both else 0.0
        margin = theta[list(gold)].sum() - theta[list(y)].sum()
        root = sqrt(cost) if slack == 2 else cost
        worst = max(worst, root - margin if rescale == "margin" else root * (1 - margin))
    loss = Hinge("f1", rescale=rescale, slack=slack)
    primal = Objective(bound.problem, loss, C=1.0, n_jobs=1).primal(theta)
    expected = worst if slack == 1 else worst**2 / 2
    assert_allclose(primal - theta @ theta / 2, expected, rtol=1e-9, atol=1e-9 * (1 + theta @ theta))


def test_grammars_merge_to_the_grammar_of_all_trees() -> None:
    parts = [Grammar.of_trees(TREES[:2]), Grammar.of_trees(TREES[2:4]), Grammar.of_trees(TREES[4:])]
    whole = Grammar.of_trees(TREES)
    for merged in (parts[0].merge(parts[1]).merge(parts[2]), parts[0].merge(parts[1].merge(parts[2]))):
        assert merged.stored_settings() == whole.stored_settings()
        assert list(merged.binary) == list(whole.binary)
    assert Grammar.from_settings(whole.stored_settings()).stored_settings() == whole.stored_settings()


def test_counts_are_those_of_the_trees() -> None:
    grammar = Grammar.of_trees(TREES, horizontal=None)
    assert grammar.binary["S", "NP", "VP"] == 2
    assert grammar.roots == {"NP": 1, "S": 3, "TOP": 1}
    assert sum(grammar.lexical.values()) == sum(len(tree.words) for tree in TREES)
    assert Counter(grammar.labels).total() == sum(2 * len(tree.words) - 1 for tree in TREES)


def test_a_cycle_of_unary_rules_is_refused() -> None:
    rules = [("S", ("A",)), ("A", ("B",)), ("B", ("A",)), ("A", "x")]
    with pytest.raises(MargraveError, match=r"^the unary rules A -> B -> A are a cycle, so that trees would have no"):
        Grammar.of_rules(rules, "S")


def test_a_grammar_without_its_start_symbol_is_refused() -> None:
    with pytest.raises(MargraveError, match=r"^the grammar has no rule for its start symbol 'S'\.$"):
        Grammar.of_rules([("A", "x")], "S")


def test_useless_symbols_are_listed_in_warnings() -> None:
    rules = [("S", "x"), ("S", ("S", "E")), ("E", ("E", "S")), ("U", "x")]
    with pytest.warns(UserWarning) as found:
        Grammar.of_rules(rules, "S")
    assert [str(each.message) for each in found] == [
        "these symbols of the grammar cannot be reached from the start symbol: U.",
        "these symbols of the grammar never end in words: E.",
    ]


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"binarize": "up"}, "unknown binarization 'up'; (valid: right, left, head)"),
        ({"terminals": "letters"}, "unknown kind of terminals 'letters'; did you mean 'words'? (valid: tags, words)"),
        ({"horizontal": -1}, "horizontal must be at least 0, and it is -1."),
        ({"vertical": 0}, "vertical must be at least 1, and it is 0."),
        ({"anchors": ("middle",)}, "unknown anchor 'middle'; (valid: begin, split, end)"),
    ],
)
def test_wrong_settings_are_refused_in_one_sentence(given_, message: str) -> None:
    with pytest.raises(MargraveError) as error:
        ContextFreeTree(**given_)
    assert message.split(";")[0] in str(error.value)


def test_leaves_that_differ_from_the_sentence_are_refused() -> None:
    structure, tree = ContextFreeTree(), Tree.of("(S (A a) (B b))")
    grammar = structure.learn([tree])
    for sentence, message in (
        ([("a", "A")], "example 0 has 1 words, but its tree has 2"),
        ([("a", "A"), ("c", "B")], "example 0, word 2: the sentence has 'c' and its tree 'b'"),
        ([("a", "A"), ("b", "C")], "example 0, word 2: the sentence has 'C' and its tree 'B'"),
    ):
        with pytest.raises(MargraveError, match=message):
            structure.bind(grammar, Examples.of_sizes(np.zeros(1, np.int64), [tree], X=[sentence]))


def test_a_gold_tree_with_other_rules_is_refused() -> None:
    structure = ContextFreeTree()
    grammar = structure.learn([Tree.of("(S (A a) (B b))")])
    with pytest.raises(MargraveError, match="example 0: the grammar has no rule"):
        structure.bind(grammar, Examples.of_sizes(np.zeros(1, np.int64), [Tree.of("(S (B b) (A a))")]))


def test_untied_rules_are_for_short_sentences() -> None:
    tree = Tree("S", tuple(Tree("A", ("a",)) for _ in range(16)))
    with pytest.raises(MargraveError, match="example 0 has 16 words: at most 15 are possible with tied=False"):
        bind_examples(ContextFreeTree(tied=False), SparseMap(), Examples(None, [tree], encoded=[[[]]]))
