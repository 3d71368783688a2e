"""What crosses into the core is checked: state of another problem and numbers that would overflow are refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from margrave import LatticeDecoder, MargraveError, _core
from margrave.binding import bind
from margrave.data import Lattice
from margrave.examples import Examples
from margrave.losses import Hinge, Log
from margrave.maps import ChainMap
from margrave.structures import Chain

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
        lambda p, cache: _core.one_cut(p, weights(p), hinge(p), "margin", "parts", cache, False, 1),
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
    "own_rule": lambda n: _core.own_rule("a rule", n, 2),
    "node_sets": lambda n: _core.node_sets(np.array([-1], np.int32), n, None, None, False),
    "matrix_cost": lambda n: _core.matrix_cost(n, np.zeros(1)),
}
HYPERGRAPH = [(0, np.int32), (1, np.int64), (0, np.int32), (1, np.int64), (0, np.int32)]


@pytest.mark.parametrize("name", HUGE)
@pytest.mark.parametrize("n", [2**63 - 1, 2**62, 2**32, 2**31, -1, -(2**63)])
def test_numbers_that_would_overflow_are_refused(name: str, n: int) -> None:
    with pytest.raises(MargraveError, match="must be from"):
        HUGE[name](n)
