"""Labels of graphs: nodes without a label, and pixels against a plain classifier."""

from itertools import pairwise, product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from margrave import GraphLabeler, MargraveError
from margrave.data import Allowed, AtMostOne, Budget, Forbidden, Graph, Implies, Or, Xor
from margrave.data.rules import Rule
from tests.estimators.registry import COLORS, color_maps


def observed_loss(model: GraphLabeler, graph, labels: list) -> float:
    """-log of the probability of the labels that are known, by looking at all labelings."""
    every = model.predict_kbest([graph], k=10**6)[0]
    assert len(every) == len(model.classes_) ** len(labels)
    scores = np.array([score for score, _ in every])
    agree = [all(a in (None, b) for a, b in zip(labels, y, strict=True)) for _, y in every]
    top = scores.max()
    return float(np.log(np.exp(scores - top).sum()) - np.log(np.exp(scores[agree] - top).sum()))


def test_unknown_labels_are_summed_out() -> None:
    partly = [["r", None, "r", "b"], ["b", None, None], ["r"], [None, None, None]]
    model = GraphLabeler(C=3.0, tol=1e-12, n_jobs=1).fit(color_maps(), partly)

    def objective(w: np.ndarray) -> float:
        other = GraphLabeler(C=3.0).fit(color_maps(), partly)
        other.coef_ = w
        losses = (observed_loss(other, graph, y) for graph, y in zip(color_maps(), partly, strict=True))
        return 0.5 * float(w @ w) + 3.0 * sum(losses)

    value = objective(model.coef_)
    assert_allclose(model.certificate_.primal, value, rtol=1e-9)
    step = np.random.default_rng(0).normal(size=model.coef_.size)
    for direction in (step, *np.eye(len(step))[:4]):  # a stationary point
        slope = (objective(model.coef_ + 1e-4 * direction) - objective(model.coef_ - 1e-4 * direction)) / 2e-4
        assert abs(slope) < 1e-3 * np.linalg.norm(direction)
    values = [record.primal for record in model.history_]
    assert all(b <= a + 1e-9 for a, b in pairwise(values))


def follows(y: list, rule: Rule) -> bool:
    """Whether a labeling follows a rule, by its definition."""
    true = [
        (y[v] == label) == (not negated or negated[0]) for v, label, *negated in rule.literals() if label is not None
    ]
    match rule:
        case Xor():
            return sum(true) == 1
        case AtMostOne():
            return sum(true) <= 1
        case Or():
            return any(true)
        case Implies():
            return true[-1] or not all(true[:-1])
        case Budget():
            return sum(true) <= rule.most
        case Allowed() | Forbidden():
            return ([y[v] for v in rule.variables] in [list(each) for each in rule.tuples]) == isinstance(rule, Allowed)
    raise AssertionError(rule)


def random_rule(rng: np.random.Generator, nodes: int, labels: str) -> Rule:
    """A rule about some nodes."""
    chosen = rng.permutation(nodes)[: rng.integers(2, 4)].tolist()
    literals = [(v, str(rng.choice(list(labels))), *([False] if rng.random() < 0.4 else [])) for v in chosen]
    tuples = [list(each) for each in product(labels, repeat=len(chosen)) if rng.random() < 0.5] or [
        [labels[0]] * len(chosen)
    ]
    rules = [Xor(literals), AtMostOne(literals), Or(literals), Implies(literals[:-1], literals[-1])]
    return [*rules, Budget(literals, 1), Allowed(chosen, tuples), Forbidden(chosen, tuples[:3])][rng.integers(7)]


@pytest.mark.parametrize("seed", range(12))
def test_rules_restrict_graphs_to_the_labelings_that_follow_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = "abc"[: rng.integers(2, 4)]
    graphs, y = [], []
    while len(graphs) < 6:
        n = int(rng.integers(3, 5))
        edges = [(a, b) for a in range(n) for b in range(a) if rng.random() < 0.6]
        rules = [random_rule(rng, n, labels) for _ in range(rng.integers(0, 3))]
        possible = [list(each) for each in product(labels, repeat=n) if all(follows(list(each), r) for r in rules)]
        if possible:
            graphs.append(Graph(rng.normal(size=(n, 2)), edges, rules=rules))
            y.append(possible[rng.integers(len(possible))])
    if {label for of in y for label in of} != set(labels):
        return
    model = GraphLabeler(C=3.0, tol=1e-8, n_jobs=1).fit(graphs, y)
    bare = [Graph(graph.nodes, graph.edges) for graph in graphs]
    total = 0.0
    for graph, plain, gold in zip(graphs, bare, y, strict=True):
        every = model.predict_kbest([plain], k=10**4)[0]
        kept = [(score, each) for score, each in every if all(follows(each, rule) for rule in graph.rules)]
        assert model.predict([graph])[0] == kept[0][1]
        assert [each for _, each in model.predict_kbest([graph], k=10**4)[0]] == [each for _, each in kept]
        scores = np.array([score for score, _ in kept])
        mass = np.exp(scores - scores[0]) / np.exp(scores - scores[0]).sum()
        expected = [
            [sum(m for m, (_, of) in zip(mass, kept, strict=True) if of[v] == label) for label in labels]
            for v in range(len(gold))
        ]
        assert_allclose(model.predict_marginals([graph])[0], expected, atol=1e-9)
        probability = float(np.log(mass[[of for _, of in kept].index(gold)]))
        assert_allclose(model.log_probability([graph], [gold])[0], probability, atol=1e-9)
        total -= probability
    assert_allclose(model.certificate_.primal, 0.5 * model.coef_ @ model.coef_ + 3.0 * total, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("inference", ["exact", "bp", "trw"])
@pytest.mark.parametrize("loss", ["log", "softmax-margin", "hinge"])
def test_graphs_are_decoded_by_marginals_if_they_are_approximate(inference: str, loss: str) -> None:
    rng = np.random.default_rng(1)
    y = [rng.integers(0, 3, (3, 4)) for _ in range(20)]
    X = [each + rng.standard_normal(each.shape) for each in y]
    settings = {"inference": inference, "C": 10.0, "max_iter": 20}
    learner = "sgd" if loss == "hinge" else "auto"
    model, *ways = (
        GraphLabeler(loss, learner=learner, decode=decode, **settings).fit(X, y)
        for decode in ("auto", "best", "marginals")
    )
    best, marginals = (each.predict(X) for each in ways)
    assert any((a != b).any() for a, b in zip(best, marginals, strict=True))
    expected = best if inference == "exact" or loss == "hinge" else marginals
    for found, each in zip(model.predict(X), expected, strict=True):
        assert_array_equal(found, each)
    assert GraphLabeler().decode == "auto"


def test_graphs_with_rules_are_decoded_by_their_best_labeling() -> None:
    """The most probable label of each node may break a rule."""
    nodes = [[["x"], ["x"], ["y"]]] * 8
    model = GraphLabeler(inference="bp", C=10.0).fit(
        [Graph(each, [(0, 1), (1, 2)]) for each in nodes], [["r", "r", "b"], ["b", "r", "b"]] * 4
    )
    rules = [[], [Xor([(0, "r"), (1, "r"), (2, "r")])], [], [Xor([(0, "r"), (1, "r"), (2, "r")])]]
    new = [Graph(each, [(0, 1), (1, 2)], rules=rule) for each, rule in zip(nodes, rules, strict=False)]
    allowed = [None, None, [{"b"}, None, None], [{"b"}, None, None]]
    labels = model.predict(new, allowed=allowed)
    assert [each.count("r") for each in labels][1::2] == [1, 1]
    assert labels[3] == ["b", "r", "b"]
    assert labels[::2] == model.set_params(decode="marginals").predict(new[::2], allowed=allowed[::2])


def test_rules_that_cannot_hold_are_refused_with_the_example() -> None:
    nodes, edges = [["a"], ["b"]], [(0, 1)]
    xor = Xor([(0, "r"), (1, "r")])
    model = GraphLabeler().fit([Graph(nodes, edges, rules=[xor])], [["r", "b"]])
    both = [(nodes, edges), Graph(nodes, edges, rules=[xor, Or([(0, "b")]), Or([(1, "b")])])]
    with pytest.raises(
        MargraveError, match=r"^graph 1: hard factors 0 \(Xor\), 1 \(Or\) and 2 \(Or\) together leave no"
    ):
        model.predict(both)
    with pytest.raises(MargraveError, match="example 0, rule 0: variable 1 has no label 'g'"):
        model.predict([Graph(nodes, edges, rules=[Or([(1, "g")])])])
    with pytest.raises(MargraveError, match="example 1, rule 0: there is no variable 2; the graph has 2"):
        model.predict([(nodes, edges), Graph(nodes, edges, rules=[Or([(2, "b")])])])
    with pytest.raises(MargraveError, match="rules are about labels, and not about their hidden states: states=1"):
        GraphLabeler(states=2).fit([Graph(nodes, edges, rules=[xor])], [["r", "b"]])
    with pytest.raises(MargraveError, match="hard factor 0"):
        GraphLabeler().fit([Graph(nodes, edges, rules=[xor]), (nodes, edges)], [["r", "r"], ["b", "b"]])


@pytest.mark.parametrize("inference", ["exact", "bp"])
@pytest.mark.parametrize("noise", [0.5, 1.0, 2.0])
def test_labels_by_marginals_are_the_most_probable_ones(inference: str, noise: float) -> None:
    rng = np.random.default_rng(0)
    y = [rng.integers(0, 3, (3, 4)) for _ in range(30)]
    X = [each + noise * rng.standard_normal(each.shape) for each in y]
    best = GraphLabeler(C=10.0, inference=inference, learner="lbfgs", tol=0.5, decode="best").fit(X, y)
    model = GraphLabeler(decode="marginals", inference=inference)
    model.__dict__.update({name: value for name, value in vars(best).items() if name not in ("decode", "inference")})
    predicted, tables = model.predict(X), model.predict_marginals(X)
    for found, table in zip(predicted, tables, strict=True):
        assert found.shape == (3, 4)
        assert_array_equal(found, model.classes_[table.argmax(axis=2)])
    assert any((a != b).any() for a, b in zip(predicted, best.predict(X), strict=True))
    allowed = [[{0, 2}] * 12] * len(X)
    assert all((found != 1).all() for found in model.predict(X, allowed=allowed))
    for wrong in (model.set_params(decode="viterbi"), GraphLabeler(decode="mbr")):
        with pytest.raises(MargraveError, match="unknown way to decode"):
            wrong.predict(X) if hasattr(wrong, "coef_") else wrong.fit(X, y)


def test_without_unknown_labels_it_is_the_log_loss() -> None:
    """One label that is unknown in an example of its own adds nothing, since all its labelings agree."""
    X, y = color_maps(), COLORS
    whole = GraphLabeler(C=2.0, tol=1e-9, n_jobs=1).fit(X, y)
    more = GraphLabeler(C=2.0, tol=1e-11, n_jobs=1).fit([*X, X[2]], [*y, [None]])
    assert more.learner_.name == "lbfgs"
    assert_allclose(more.certificate_.primal, whole.certificate_.primal, rtol=1e-6)
    assert_allclose(more.coef_, whole.coef_, atol=1e-3)
    assert more.score([*X, X[2]], [*y, [None]]) == whole.score(X, y)


def test_a_score_needs_a_known_label() -> None:
    X, y = color_maps(), COLORS
    model = GraphLabeler().fit(X, y)
    with pytest.raises(MargraveError, match="no node has a known label, so there is nothing to score"):
        model.score(X, [[None] * len(each) for each in y])


def test_a_small_limit_of_memory_is_said_as_it_is() -> None:
    with pytest.raises(MargraveError, match=r"tables of 0\.\d+ MB, and the limit is 1e-05 MB"):
        GraphLabeler(memory=1e-5).fit(color_maps(), COLORS)


def test_unknown_labels_need_the_log_loss() -> None:
    X, partly = color_maps(), [[None, *y[1:]] for y in COLORS]
    for loss in ("hinge", "softmax-margin", "ramp"):
        with pytest.raises(MargraveError, match="need the log loss"):
            GraphLabeler(loss).fit(X, partly)
    with pytest.raises(MargraveError, match="a path of C needs all labels"):
        GraphLabeler().fit_path(X, partly, [1.0])
    with pytest.raises(MargraveError, match="no node has a label"):
        GraphLabeler().fit(X, [[None] * len(y) for y in COLORS])
    image = np.array([[1, None], [0, 1]], dtype=object)
    assert GraphLabeler().fit([np.eye(2)], [image]).predict([np.eye(2)])[0].shape == (2, 2)


def test_neighbors_help_where_pixels_are_noisy() -> None:
    rng = np.random.default_rng(0)
    truth = [np.repeat(rng.integers(0, 2, (1, 8)), 3, axis=0) for _ in range(40)]
    seen = [np.where(rng.random(y.shape) < 0.25, 1 - y, y).astype(float) for y in truth]
    grid = GraphLabeler().fit(seen[:30], truth[:30])
    pixels = GraphLabeler().fit([(x.reshape(-1, 1), []) for x in seen[:30]], [y.ravel() for y in truth[:30]])
    alone = pixels.score([(x.reshape(-1, 1), []) for x in seen[30:]], [y.ravel() for y in truth[30:]])
    assert grid.score(seen[30:], truth[30:]) > alone + 0.05


@pytest.mark.parametrize("neighbors", [4, 8])
def test_marginals_of_images_are_those_of_all_labelings(neighbors: int) -> None:
    rng = np.random.default_rng(1)
    X, y = [rng.normal(size=(2, 3))] * 4, [rng.integers(0, 2, (2, 3)) for _ in range(4)]
    model = GraphLabeler(neighbors=neighbors).fit(X, y)
    every = model.predict_kbest(X[:1], k=64)[0]
    assert len({found.tobytes() for _, found in every}) == len(list(product(range(2), repeat=6)))
    mass = np.exp([score for score, _ in every])
    expected = sum(m * (found == 1) for m, (_, found) in zip(mass, every, strict=True)) / mass.sum()
    assert_allclose(model.predict_marginals(X[:1])[0][:, :, 1], expected, atol=1e-9)


@pytest.mark.parametrize("inference", ["bp", "trw", "relaxed", "lp"])
def test_approximate_inference_says_how_it_went(inference: str) -> None:
    X, y = color_maps(), COLORS
    model = GraphLabeler(inference=inference, C=10.0, learner="lbfgs", max_iter=20).fit(X, y)
    assert "approximate" in model.stop_reason_ and not model.certificate_.exact
    report = model.inference_report(X)
    assert report.examples == len(X) and report.converged == 1 and report.sweeps >= 1
    assert report.certified == 1  # these graphs are trees and one cycle
    assert model.score(X, y) == 1
    for verb in (model.predict_kbest, model.sample):
        with pytest.raises(MargraveError, match="use inference='exact'"):
            verb(X)
    with pytest.raises(MargraveError, match="inference is exact, and there is nothing to report"):
        GraphLabeler().fit(X, y).inference_report(X)
