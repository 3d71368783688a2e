"""What crosses into the core is checked: state of another problem and numbers that would overflow are refused."""

import resource
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from margrave import LatticeDecoder, MargraveError, Problem, SequenceTagger, _core
from margrave.binding import bind
from margrave.data import Lattice
from margrave.examples import Examples
from margrave.features import ArcTemplates
from margrave.losses import Hinge, Log
from margrave.maps import ChainMap
from margrave.structures import Chain
from tests.registry import APPROXIMATE, KINDS

X = [[["a"], ["b"]], [["b"], ["a"], ["c"]], [["c"]]]
Y = [["x", "y"], ["y", "x", "y"], ["x"]]


def problem_of(n: int = 3) -> _core.Problem:
    return bind(Chain(), ChainMap(), Examples(X[:n], Y[:n]), costs=Hinge().costs).problem


def hinge(problem: _core.Problem) -> Any:
    return Hinge().core(1.0, np.ones(problem.size))


def weights(problem: _core.Problem) -> np.ndarray:
    return np.zeros(problem.dim)


def order(problem: _core.Problem) -> np.ndarray:
    return np.arange(problem.size)


# How each kind of state is made, and how it is used with a problem.
STATE: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {
    "Cuts": (_core.Cuts, lambda p, cuts: cuts.weights(p)),
    "Cuts of arrays": (
        lambda p: _core.Cuts.from_arrays(p, *_core.Cuts(p).arrays()),
        lambda p, cuts: cuts.dual(p, weights(p), hinge(p), "margin", 1, "parts"),
    ),
    "OutputCache": (
        lambda p: _core.OutputCache(p, 3),
        lambda p, cache: _core.one_cut(p, weights(p), hinge(p), "margin", "parts", cache, False, [], 1),
    ),
    "Blocks": (_core.Blocks, lambda p, blocks: blocks.weights(p, hinge(p), 1)),
    "Blocks of arrays": (
        lambda p: _core.Blocks.from_arrays(p, *_core.Blocks(p).arrays()),
        lambda p, blocks: _core.pairwise_pass(
            p, weights(p), hinge(p), order(p), 1, None, blocks, np.zeros(p.size), 1, 10, 0.0
        ),
    ),
    "StoredParts": (
        lambda p: _core.StoredParts(p, Log().core(1.0, np.ones(p.size)), 1),
        lambda p, stored: _core.weights_of(p, Log().core(1.0, np.ones(p.size)), 1, np.zeros(stored.size), stored),
    ),
    "Sharing": (
        lambda p: _core.Sharing(p, 2),
        lambda p, sharing: _core.pairwise_pass(
            p, weights(p), hinge(p), order(p), 2, sharing, _core.Blocks(p), np.zeros(p.size), 1, 10, 0.0
        ),
    ),
}


@pytest.mark.parametrize("name", STATE)
def test_state_of_another_problem_is_refused(name: str) -> None:
    make, use = STATE[name]
    problem, same, shorter = problem_of(), problem_of(), problem_of(2)
    use(problem, make(problem))
    for other in (same, shorter):
        with pytest.raises(MargraveError, match="belongs to another problem"):
            use(other, make(problem))


@pytest.mark.parametrize("level", [-1, -128, 41, 127])
def test_levels_that_no_pass_has_are_refused(level: int) -> None:
    problem = problem_of()
    family = Log().core(1.0, np.ones(problem.size))
    levels = _core.drift_levels(problem, family)
    levels[0] = level
    zeros = np.zeros(problem.dim)
    with pytest.raises(MargraveError, match="levels must be those of drift_levels"):
        _core.svrg_pass(problem, zeros.copy(), family, order(problem), levels, zeros, zeros, 0.1)


@pytest.mark.parametrize("nodes", [2**63 - 1, 2**62, 2**31, -1, 0])
def test_lattices_of_more_nodes_than_can_be_are_refused(nodes: int) -> None:
    one = Lattice.of([(0, 1, "x", {"a": 1.0})])
    with pytest.raises(MargraveError, match="nodes"):
        LatticeDecoder.of_weights({"a": 1.0}).predict([Lattice(nodes, one.edges)])


HUGE: dict[str, Callable[[int], Any]] = {
    "Hypergraph": lambda n: _core.Hypergraph(n, *(np.zeros(k, t) for k, t in HYPERGRAPH)),
    "Pairs": lambda n: _core.Pairs(n, 2),
    "Pairs, labels": lambda n: _core.Pairs(2, n),
    "multiclass": lambda n: _core.multiclass(n, np.array([0, 1]), None, None, None),
    "chain": lambda n: chain(n, [0, 1]),
    "own_rule": lambda n: _core.own_rule("a rule", n, 2),
    "node_sets": lambda n: _core.node_sets(np.array([-1], np.int32), n, None, None, False),
    "matrix_cost": lambda n: _core.matrix_cost(n, np.zeros(1)),
    "Problem, examples": lambda n: Problem(n, 2),
    "OutputCache": lambda n: _core.OutputCache(problem_of(), n),
    "Question": lambda n: _core.Question("kbest", k=n),
    "kbest": lambda n: problem_of().kbest(2, np.zeros(problem_of().parts(2)), n),
    "kbest_all": lambda n: _core.kbest_all(problem_of(), weights(problem_of()), n, 1),
    "sample_all": lambda n: _core.sample_all(problem_of(), weights(problem_of()), 1.0, n, 0, 1),
}
HYPERGRAPH = [(0, np.int32), (1, np.int64), (0, np.int32), (1, np.int64), (0, np.int32)]


@pytest.mark.parametrize("name", HUGE)
@pytest.mark.parametrize("n", [2**63 - 1, 2**62, 2**32, 2**31, -1, -(2**63)])
def test_numbers_that_would_overflow_are_refused(name: str, n: int) -> None:
    with pytest.raises(MargraveError, match="must be from"):
        HUGE[name](n)


def chain(labels: int, begin: list[int], order: int = 1) -> Any:
    return _core.chain(labels, np.array(begin, dtype=np.int64), None, None, None, order, True, None)


@pytest.mark.parametrize("labels", [2**31 - 1, 10**6, 4473])
def test_more_label_tuples_than_can_be_are_refused_before_they_are_made(labels: int) -> None:
    with pytest.raises(MargraveError, match="too many label tuples"):
        chain(labels, [0, 1])


@pytest.mark.parametrize("end", [2**63 - 1, 2**62, 2**32, 2**31])
def test_tokens_that_cannot_be_numbered_are_refused(end: int) -> None:
    """Without gold labels nothing else says how many tokens there are."""
    with pytest.raises(MargraveError, match="tokens"):
        chain(3, [0, end])
    with pytest.raises(MargraveError, match="tokens"):
        _core.multiclass(3, np.array([0, end]), None, None, None)
    with pytest.raises(MargraveError, match="tokens"):
        segments(first=[0, 1], begin=[0, end])


def segments(first: list[int], begin: list[int], longest: list[int] | None = None) -> Any:
    """A structure of segments of two labels, whose inside has no tags."""
    sizes = np.array(longest or [1, 1], dtype=np.int32)
    inside, outside = np.array([-1, -1], dtype=np.int32), np.zeros(2, dtype=np.bool_)
    bounds = np.array(begin, dtype=np.int64)
    return _core.semi_markov(
        sizes, 3, np.array(first, dtype=np.int32), inside, bounds, None, None, outside, False, None, None, True
    )


@pytest.mark.parametrize("tag", [-1, -(2**31), 3, 2**31 - 1])
def test_first_tags_of_segments_that_do_not_exist_are_refused(tag: int) -> None:
    """A tag of -1 wrote before the beginning of an array."""
    assert segments(first=[0, 1], begin=[0, 2]).size == 1
    for first in ([tag, 1], [0, tag]):
        with pytest.raises(MargraveError, match="tags must be distinct, and from 0 on"):
            segments(first=first, begin=[0, 2])


@pytest.mark.parametrize("columns", [-1, -2, 2**31, 2**63 - 1, -(2**63)])
def test_tables_with_a_number_of_columns_that_cannot_be_are_refused(columns: int) -> None:
    """With -1 columns, rows without cells were read beyond the end of an array."""
    with pytest.raises(MargraveError, match="number of columns must be from"):
        _core.table_of_rows([[[], []]], columns, -1)
    assert len(_core.table_of_rows([[[], []]], 0, -1)) == 1


@pytest.mark.parametrize("sites", [[0, 2**63 - 1, 2], [0, 2**40, 2**41], [0, 2, 2], [1, 2], [0, -1, 2]])
def test_sites_that_are_not_in_order_are_refused_before_they_are_listed(sites: list[int]) -> None:
    one = np.zeros(1, dtype=np.int32)
    with pytest.raises(MargraveError, match=r"must have a site|sites must begin"):
        _core.lp_slacks(np.array(sites, dtype=np.int64), one, one, np.ones(1))


def test_constraints_across_examples_are_refused() -> None:
    sites = np.array([0, 2, 3])

    def slacks(first: int, last: int) -> Any:
        return _core.lp_slacks(sites, np.array([first], np.int32), np.array([last], np.int32), np.ones(1))

    assert slacks(0, 1).sum() == slacks(2, 2).sum() == 1.0
    for first, last in ((1, 2), (0, 2), (2, 3), (-1, 0), (1, 0)):
        with pytest.raises(MargraveError, match="a constraint belongs to no example"):
            slacks(first, last)


@pytest.mark.parametrize("n", [2**31 - 1, 2**24 + 1, -1])
@pytest.mark.parametrize("name", ["symbols", "terminals", "spans"])
def test_grammars_with_more_of_something_than_can_be_are_refused(name: str, n: int) -> None:
    """The number of terminals plus one overflowed."""
    none, bounds = np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64)
    symbols, terminals, spans = ({"symbols": 1, "terminals": 1, "spans": 0} | {name: n}).values()
    with pytest.raises(MargraveError, match="must be from"):
        _core.Grammar(symbols, terminals, spans, none, none, 0, np.zeros(1, np.int32), none, bounds, none, none, -1, -1)


@pytest.mark.parametrize("words", [[2**62], [2**40], [-1], [-2, 3], [2], [0]])
def test_arcs_of_trees_are_those_of_the_heads_that_are_there(words: list[int]) -> None:
    with pytest.raises(MargraveError, match="one head per word"):
        _core.arcs_of_trees(np.array(words), np.zeros(1, dtype=np.int32))


@pytest.mark.parametrize("size", [2**62, -1])
def test_sets_of_nodes_have_a_size_that_fits(size: int) -> None:
    with pytest.raises(MargraveError, match="the number of examples"):
        _core.node_sets(np.array([-1, 0], dtype=np.int32), size, None, None, False)


@pytest.mark.parametrize("labels", [2**31 - 1, 2**21, 0, -1])
def test_arcs_have_a_number_of_labels_that_fits(labels: int) -> None:
    rows = ArcTemplates().learn([[("a", "N")]]).transform([[("a", "N")]])
    with pytest.raises(MargraveError, match="the number of labels"):
        _core.TagPairs().labels(rows, None, labels)


@pytest.mark.parametrize("p", [1e44, 1e64, 1.7e308, -1.7e308, 5e-324, np.inf, np.nan])
def test_whatever_number_stands_for_a_probability_is_written(p: float) -> None:
    table = _core.parse_columns(b"a b\n", None, 0, False)[0]
    written = table.lines(" ", ["x"], np.zeros(1, dtype=np.int32), np.array([p]))
    assert written.split() == ["a", "b", "x", f"{p:.4f}"]


def test_more_samples_than_fit_into_memory_are_refused() -> None:
    model = SequenceTagger(loss="log").fit(X, Y)
    with pytest.raises(MargraveError, match=r"2147483647 samples of each example would take .* lower n\.$"):
        model.sample(X, n=2**31 - 1)


DAEMONS = """
import threading, margrave
from margrave import SequenceTagger, _core
model = SequenceTagger().fit([[["a"]], [["b"]]], [["A"], ["B"]])
begun = threading.Barrier({threads} + 1)

def serve():
    begun.wait()
    while {daemons}:
        model.predict([[["a"]]] * 1000)

for _ in range({threads}):
    threading.Thread(target=serve, daemon={daemons}).start()
begun.wait()
{last}
"""


@pytest.mark.parametrize(("threads", "daemons", "last"), [(2, True, ""), (2, False, "_core.report_leaks(True)")])
def test_a_process_ends_without_a_word(threads: int, daemons: bool, last: str) -> None:
    """Daemon threads are stopped where they are; where there are none, nothing is left at exit."""
    program = DAEMONS.format(threads=threads, daemons=daemons, last=last)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# ---- numbers that no pass can use ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ((-1, 10, 0.0), "steps per known output must be from"),
        ((2**62, 10, 0.0), "steps per known output must be from"),
        ((1, -10, 0.0), "outputs without mass in a block must be from"),
        ((1, -(2**63), 0.0), "outputs without mass in a block must be from"),
        ((1, 2**63 - 1, 0.0), "outputs without mass in a block must be from"),
        ((1, 10, np.nan), "enough must not be negative"),
        ((1, 10, -0.5), "enough must not be negative"),
    ],
)
def test_pairwise_steps_remember_a_number_of_outputs_that_can_be(wrong: Any, message: str) -> None:
    """With a negative memory, outputs beyond the end of a block were removed."""
    problem = problem_of()
    blocks, gaps = _core.Blocks(problem), np.zeros(problem.size)
    with pytest.raises(MargraveError, match=message):
        _core.pairwise_pass(problem, weights(problem), hinge(problem), order(problem), 1, None, blocks, gaps, *wrong)
    for fewest in ((0, 0, 0.0), (1, 0, 0.1)):
        _core.pairwise_pass(problem, weights(problem), hinge(problem), order(problem), 1, None, blocks, gaps, *fewest)
    assert np.allclose(blocks.arrays()[3].sum(), problem.size)


@pytest.mark.parametrize("bounds", [(2**63 - 1, -(2**63)), (2, 1), (3, 0), (-1, 1), (0, 4), (0, 2**63 - 1)])
def test_slices_are_ranges_of_examples(bounds: tuple[int, int]) -> None:
    """The difference of the bounds overflowed before they were checked."""
    problem = problem_of()
    with pytest.raises(MargraveError, match=r"slice .* is out of range: there are 3 examples"):
        problem.slice(*bounds)
    assert [problem.slice(*each).size for each in ((0, 3), (1, 2), (3, 3))] == [3, 1, 0]


def sgd(problem: _core.Problem, step: int) -> Any:
    return _core.sgd_pass(problem, weights(problem), hinge(problem), order(problem), 0.1, step)


def perceptron(problem: _core.Problem, step: int) -> Any:
    return _core.perceptron_pass(problem, weights(problem), hinge(problem), order(problem), weights(problem), step)


def mira(problem: _core.Problem, step: int) -> Any:
    w, sums = weights(problem), weights(problem)
    return _core.mira_pass(
        problem, w, hinge(problem), order(problem), 1, None, sums, step, False, False, np.zeros(problem.size)
    )


def kbest_mira(problem: _core.Problem, step: int, k: int = 2) -> Any:
    w, sums = weights(problem), weights(problem)
    return _core.kbest_mira_pass(problem, w, hinge(problem), order(problem), 1, None, sums, step, k)


@pytest.mark.parametrize("steps", [sgd, perceptron, mira, kbest_mira])
@pytest.mark.parametrize("step", [2**63 - 1, 2**53 + 1, -1, -(2**63)])
def test_steps_are_counted_from_a_number_that_can_be(steps: Callable[..., Any], step: int) -> None:
    problem = problem_of()
    with pytest.raises(MargraveError, match="number of steps must be from"):
        steps(problem, step)
    steps(problem, 2**53)


@pytest.mark.parametrize("k", [0, -1, 2**31, 2**63 - 1])
def test_k_best_outputs_are_some(k: int) -> None:
    with pytest.raises(MargraveError, match="number of outputs per example must be from"):
        kbest_mira(problem_of(), 0, k)


@pytest.mark.parametrize("lengths", [[2**63 - 1] * 2, [-5, 3], [2**63 - 1, 1], [-(2**63)]])
def test_numbers_of_units_are_added_without_overflow(lengths: list[int]) -> None:
    with pytest.raises(MargraveError, match="must not be negative, and their sum must not overflow"):
        _core.bounds(np.array(lengths))
    assert _core.bounds(np.array([2**63 - 1])).tolist() == [0, 2**63 - 1]


@pytest.mark.parametrize("bounds", [[-(2**63), 2**63 - 1], [3, 1], [-1, 2], [0, 5, 4]])
def test_units_begin_one_after_another(bounds: list[int]) -> None:
    with pytest.raises(MargraveError, match="must ascend"):
        _core.lengths(np.array(bounds))
    assert _core.lengths(np.array([0, 2, 2])).tolist() == [2, 0]
    assert _core.lengths(np.zeros(0, np.int64)).size == _core.lengths(np.array([1])).size == 0


@pytest.mark.parametrize("bounds", [[0, 2**63 - 1, -(2**63)], [0, -(2**63), 2**63 - 1], [1, 2], []])
def test_sequences_to_align_begin_one_after_another(bounds: list[int]) -> None:
    begin, good = np.array(bounds, dtype=np.int64), np.array([0, 1])
    for x, y in ((begin, good), (good, begin)):
        with pytest.raises(MargraveError, match="the bounds of sequences must ascend from 0"):
            _core.alignment_edges("global", False, x, y, None, None, False)
        with pytest.raises(MargraveError, match="the bounds of sequences must ascend from 0"):
            _core.alignment("global", False, 1, x, y, None, None, None, None, False)


@pytest.mark.parametrize("offset", [2**63 - 1, -(2**63), 2**31])
def test_terms_of_templates_look_only_so_far(offset: int) -> None:
    with pytest.raises(MargraveError, match="the offset of a term must be from"):
        _core.TemplateNames(["a"], [[(0, offset, "")]])
    with pytest.raises(MargraveError, match="the offset of a term must be from"):
        _core.TreeTemplates(["a"], [[("w", 0, offset, "")]], -1)
    with pytest.raises(MargraveError, match="a table has no column"):
        _core.TemplateNames(["a"], [[(2**63 - 1, 0, "")]]).attributes(
            _core.table_of_rows([[["a"]]], 1, -1), 0, lambda name, values: values
        )


@pytest.mark.parametrize("first", [-(2**63), 2**63 - 1])
def test_marginals_of_labels_come_from_parts_that_are_there(first: int) -> None:
    structure = graphs("graph, relaxed").bound
    begin = np.zeros(structure.size + 1, dtype=np.int64)
    for bounds in ([first, -first - 1], [0, first]):
        begin[:2] = bounds
        with pytest.raises(MargraveError, match="begin must ascend"):
            structure.label_marginals(begin, np.zeros(3))


def graphs(name: str) -> Any:
    """A problem of graphs with approximate inference, by its name."""
    return next(kind for kind in APPROXIMATE if kind.name == name)(0, size=3)


WEIGHT_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "drift_levels": _core.drift_levels,
    "lp_sites": _core.lp_sites,
    "slacks": lambda p, family: _core.Blocks(p).slacks(p, weights(p), family, 1),
    "weights": lambda p, family: _core.Blocks(p).weights(p, family, 1),
    "losses": lambda p, family: _core.losses_and_gradient(p, weights(p), family, 1, True),
    "sgd_pass": lambda p, family: _core.sgd_pass(p, weights(p), family, order(p), 0.1, 0),
    "take_joint_steps": lambda p, family: _core.take_joint_steps(p, weights(p), family, _core.Blocks(p), 0.1),
}


@pytest.mark.parametrize("name", WEIGHT_NUMBERS)
def test_there_is_a_sample_weight_for_every_example(name: str) -> None:
    problem = problem_of()
    WEIGHT_NUMBERS[name](problem, Hinge().core(1.0, np.ones(3)))
    for n in (1, 2, 4):
        with pytest.raises(MargraveError, match=f"sample_weight must have length 3, not {n}"):
            WEIGHT_NUMBERS[name](problem, Hinge().core(1.0, np.ones(n)))


@pytest.mark.parametrize("value", [-np.inf, np.inf, np.nan])
def test_steps_on_all_blocks_begin_at_finite_weights(value: float) -> None:
    """From infinite ones, they never ended."""
    problem = problem_of()
    w = np.full(problem.dim, value)
    blocks, cuts, family = _core.Blocks(problem), _core.Cuts(problem), hinge(problem)
    with pytest.raises(MargraveError, match="w must be finite"):
        _core.take_joint_steps(problem, w, family, blocks, 0.1)
    with pytest.raises(MargraveError, match="w must be finite"):
        cuts.optimize(problem, w, family, "margin", 1, "parts", 0.1, 10)
    with pytest.raises(MargraveError, match="w must be finite"):
        cuts.one_pass(problem, w, family, "margin", 1, "parts", order(problem), 0.1, 10, False, 0.1)


@pytest.mark.parametrize("name", ["graph, relaxed", "graph, relaxed, hard factors"])
@pytest.mark.parametrize("score", [-1e308, 1e308, -1e300, -1e150])
def test_scores_whose_sums_overflow_are_refused(name: str, score: float) -> None:
    """A bound of minus infinity counted as reached, and the missing best labeling was read."""
    problem = graphs(name).problem
    for i in range(problem.size):
        for k in range(problem.parts(i)):
            theta = np.zeros(problem.parts(i))
            theta[k::2] = score
            try:
                found = problem.relaxed_argmax(i, theta)
            except MargraveError as error:
                assert "sums of its scores would be infinite" in str(error)
                assert abs(score) == 1e308
            else:
                assert not np.isnan(found[0]) and np.isfinite(found[1]).all()
    family = Hinge().core(1.0, np.ones(problem.size))
    with pytest.raises(MargraveError, match=r"infinite; scale the features, or lower C\.$"):
        problem.oracle(0, np.full(problem.dim, -1e308), family)


def test_attributes_of_trees_of_other_lengths_are_refused() -> None:
    """They were read beyond their end, or gave names that no template makes."""
    templates = ArcTemplates()
    sentences = [[("a", "N"), ("b", "V")]]
    rows = templates.learn(sentences).transform(sentences)

    def trees(*lengths: int) -> Any:
        words = np.array(lengths, dtype=np.int64)
        heads = np.concatenate([np.arange(n, dtype=np.int32) for n in lengths])
        return _core.projective_tree(words, heads, None, True, None)

    table = _core.FingerprintTable()
    for lengths, message in (
        ((3,), "attributes for 2 words, and a tree of 3"),
        ((1,), "attributes for 2 words, and a tree of 1"),
        ((2, 2), "attributes for 1 sentences, and 2 trees"),
    ):
        with pytest.raises(MargraveError, match=message):
            table.observe(rows, trees(*lengths), [])
        with pytest.raises(MargraveError, match=message):
            _core.tree_map(rows, trees(*lengths), 4, None, 0)
    assert len(table) == 0
    table.observe(rows, trees(2), [])
    assert len(table) > 0


# ---- memory from a few numbers ---------------------------------------------------------------------------------------


def lattices(nodes: list[int]) -> Any:
    """Lattices of one edge each."""
    n = len(nodes)
    begin, one = np.arange(n + 1), np.zeros(n, dtype=np.int32)
    return _core.lattices(
        np.array(nodes), begin, one, np.array(nodes, np.int32) - 1, one - 1, _core.Vocabulary(), None, False
    )


LARGE: dict[str, Callable[[], Any]] = {
    "lattice": lambda: LatticeDecoder.of_weights({"a": 1.0}).predict([Lattice(10**8, Lattice.of([(0, 1, "x")]).edges)]),
    "lattices": lambda: lattices([10**6] * 100),
    "without_good_path": lambda: _core.without_good_path(
        np.array([2**31 - 1]), np.array([0, 1]), EDGE[0], EDGE[1], EDGE[2], NO_STRING
    ),
    "Hypergraph": lambda: HUGE["Hypergraph"](2**31 - 1),
    "forests": lambda: _core.forests(
        np.array([2**31 - 1]),
        np.zeros(2, dtype=np.int64),
        *(np.zeros(k, t) for k, t in HYPERGRAPH),
        None,
        False,  # type: ignore[call-arg]
    ),
    "hypergraphs": lambda: _core.hypergraphs([HUGE["Hypergraph"](1)], np.array([2**31 - 1]), None, None, None),
    "multiclass": lambda: HUGE["multiclass"](2**31 - 1),
    "node_sets": lambda: HUGE["node_sets"](2**31 - 1),
    "observed_pairs": lambda: _core.observed_pairs(
        TOKENS, 2**31 - 1, 2, np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32)
    ),
    "Inputs": lambda: _core.Inputs(
        _core.Tokens(np.array([0, 1]), np.array([0, 1]), np.array([2**31 - 1], dtype=np.int32), None)
    ),
    "sample_all": lambda: _core.sample_all(problem_of(), weights(problem_of()), 1.0, 2**31 - 1, 0, 1),
    "table": lambda: _core.table(
        TOKENS, _core.Pairs(1, 1), np.zeros(1, dtype=np.int64), 2**31 - 1, 1, True, 1.0, False, False, None, None
    ),
}
EDGE = [np.array([k], dtype=np.int32) for k in (0, 1, -1)]  # its tail, its head and its word
NO_STRING = np.array([0, 0]), np.array([0]), np.zeros(0, dtype=np.int32)
TOKENS = _core.Tokens(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), None)


@pytest.mark.parametrize("name", LARGE)
def test_a_few_numbers_describe_nothing_that_is_much_larger(name: str) -> None:
    before = peak()
    with pytest.raises(MargraveError, match=r"hardly any of them are used|must be from .* to 16777216"):
        LARGE[name]()
    assert peak() - before < 64 << 20


def test_what_is_hardly_larger_than_its_parts_is_accepted() -> None:
    lattices([10**6])
    assert _core.multiclass(10**6, np.array([0, 1]), None, None, None).parts(0) == 10**6


def peak() -> int:
    """The largest resident memory of this process so far, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_names_that_are_no_text_are_refused_in_one_sentence() -> None:
    """As in a corrupt file."""
    bytes_, offsets = np.array([0xFF], dtype=np.uint8), np.array([0, 1])
    words = _core.Vocabulary(bytes_, offsets)
    one = np.zeros(1, dtype=np.int32)
    lattice = _core.lattices(np.array([2]), offsets, one, one + 1, one, words, None, False)
    for ask in (
        words.names,
        _core.FingerprintTable(np.array([1], dtype=np.uint64), bytes_, offsets).names,
        lambda: lattice.spelled(None, offsets, one),
    ):
        with pytest.raises(MargraveError, match="is not valid UTF-8"):
            ask()


@pytest.mark.parametrize("score", [np.inf, np.nan, 1e308])
def test_graphs_rank_outputs_by_scores_that_can_be_compared(score: float) -> None:
    """Weights may give infinite scores, of which the search for the k best labelings read what is not there."""
    for name in ("graph, loops", "graph, triples", "graph, hard factors", "graph, listed tuples"):
        problem = next(kind for kind in KINDS if kind.name == name)(0, size=3).problem
        w = np.full(problem.dim, score)
        w[1::2] = -score
        with pytest.raises(MargraveError, match=r"sums of its scores would be infinite"):
            _core.kbest_all(problem, w, 3, 1)


def test_a_problem_in_python_may_have_many_examples() -> None:
    """Only the examples that were asked about have a place in memory."""

    class Large(Problem):
        def parts(self, i: int) -> int:
            return i + 1

    before = peak()
    large = Large(2**31 - 1, 1)
    assert [large.parts(i) for i in (0, 5, 3, 5)] == [1, 6, 4, 6]
    with pytest.raises(MargraveError, match="offers no parts"):
        _core.Problem(2**31 - 1, 1).parts(0)
    assert peak() - before < 64 << 20
