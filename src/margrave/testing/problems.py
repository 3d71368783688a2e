"""The contracts of inference: what a problem answers, compared with the enumeration of its outputs.

A `Case` is a problem with all outputs of its examples. Each contract looks at one example under some scores of its
parts; `check_problem` tries all contracts on all examples, the smallest first, so that a failure shows the smallest.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.testing.enumeration import Array, Outputs, Parts, entropy_of, numerical_gradient
from margrave.testing.failures import contract, quoted, require, require_bits, require_close

# Scores of several sizes; scores for which outputs tie, exactly or but for rounding; and scores with forbidden parts.
# Around a range of 230, chains change from scaled arithmetic to logarithms.
SCORES = ("usual", "ties", "nearly ties", "forbidden", "range 230", "300", "800", "800, forbidden")


@dataclass
class Case:
    """A problem, and what it must agree with, example by example."""

    problem: _core.Problem
    outputs: list[Outputs]
    gold: list[Parts]
    costs: list[Array]  # of every output
    matrices: list[Array]  # A_i: (parts, weights)
    others: list[list[Parts]] | None = None  # which are good as well, best first; None: no others
    bound: Any = None  # the core's structure, where inference is approximate

    def __len__(self) -> int:
        return len(self.outputs)

    def gold_index(self, i: int) -> int:
        """The place of the gold output among all outputs of example i."""
        return self.outputs[i].ys.index(self.gold[i])

    def good(self, i: int) -> list[Parts]:
        """All good outputs, best first."""
        return [self.gold[i], *(self.others[i] if self.others else [])]

    def wrong(self, i: int) -> Array:
        """The zero-one cost of every output: it spares all good ones if outputs are single parts, else the first."""
        spared = self.good(i) if self.problem.zero_one_is_of_parts else self.good(i)[:1]
        return np.array([y not in spared for y in self.outputs[i].ys], dtype=float)

    def by_size(self) -> list[int]:
        """The examples, those with the fewest parts first."""
        return sorted(range(len(self)), key=lambda i: (self.outputs[i].n, len(self.outputs[i].ys)))

    def describe(self, i: int, theta: Array | None = None) -> str:
        """An example in words, for messages."""
        outputs = self.outputs[i]
        scores = "" if theta is None else f", scores {quoted(theta.tolist())}"
        return f"example {i}: {outputs.n} parts, {len(outputs.ys)} outputs{scores}"


def case_of(problem: _core.Problem, every: Sequence[Sequence[Sequence[int]]]) -> Case:
    """The case of a problem and all outputs of its examples; its costs and its linear maps are the problem's own.

    Parameters
    ----------
    problem : the problem.
    every : for each example, its outputs; an output is a list of part ids.
    """
    outputs = [Outputs(problem.parts(i), [tuple(sorted(map(int, y))) for y in ys]) for i, ys in enumerate(every)]
    gold = [
        [tuple(sorted(_ints(problem.gold(i, k) if k else problem.gold(i)))) for k in range(problem.gold_count(i))]
        for i in range(len(outputs))
    ]
    costs = []
    for i, each in enumerate(outputs):
        delta, c0 = problem.cost(i)
        costs.append(c0 + each.counts @ np.asarray(delta, dtype=np.float64))
    units = np.eye(problem.dim)
    matrices = [np.array([problem.score(i, unit) for unit in units]).T for i in range(len(outputs))]
    return Case(problem, outputs, [ys[0] for ys in gold], costs, matrices, [ys[1:] for ys in gold])


def _ints(parts: Any) -> list[int]:
    return [int(part) for part in parts]


def random_scores(rng: np.random.Generator, n: int, style: str) -> Array:
    """Scores of n parts in one of the styles of `SCORES`."""
    if style == "ties":
        return rng.integers(-1, 2, n).astype(float)
    if style == "nearly ties":
        return rng.choice(np.array([0.1, 0.2, 0.3, -0.7]), n)
    size = {"usual": 1.0, "forbidden": 1.0, "range 230": 115.0, "300": 300.0}.get(style, 800.0)
    theta = size * (rng.standard_normal(n) if size == 1 else rng.choice([-1.0, 1.0], n) * rng.uniform(0.99, 1.0, n))
    if "forbidden" in style:
        theta[rng.random(n) < 0.25] = -inf
    return np.asarray(theta, dtype=np.float64)


# ---- the contracts ---------------------------------------------------------------------------------------------------

Check = Callable[[Case, int, Array, np.random.Generator], None]


@dataclass(frozen=True)
class Contract:
    """A sentence about one example under some scores, and how it is checked."""

    sentence: str
    holds: Check
    needs: str = ""  # the operation that the problem must offer
    styles: tuple[str, ...] = SCORES  # the scores that it is tried on

    def __call__(self, case: Case, i: int, theta: Array, rng: np.random.Generator) -> None:
        """Check the example; an error says what was found."""
        self.holds(case, i, theta, rng)


CONTRACTS: list[Contract] = []


def _contract(sentence: str, needs: str = "", styles: tuple[str, ...] = SCORES) -> Callable[[Check], Contract]:
    def add(holds: Check) -> Contract:
        CONTRACTS.append(Contract(sentence, holds, needs, styles))
        return CONTRACTS[-1]

    return add


_ONCE = ("usual",)  # for contracts that do not depend on scores


@_contract("gold outputs are outputs, and costs are those of the examples", styles=_ONCE)
def gold_and_costs(case: Case, i: int, theta: Array, rng: np.random.Generator) -> None:
    """The gold outputs and their number are the case's, and so is the cost of every output; gold costs nothing."""
    problem, outputs = case.problem, case.outputs[i]
    require(problem.has_gold, "it has no gold outputs")
    require(problem.size == len(case), f"it has {problem.size} examples, and should have {len(case)}")
    require(problem.parts(i) == outputs.n, f"it has {problem.parts(i)} parts, and should have {outputs.n}")
    require(problem.gold_count(i) == len(case.good(i)), f"it has {problem.gold_count(i)} good outputs")
    for k, wanted in enumerate(case.good(i)):
        y = _sorted(problem.gold(i, k) if k else problem.gold(i))
        require(y == wanted, f"good output {k} is {y}, and should be {wanted}")
        require(y in outputs.ys, f"good output {k} is {y}, which is not among the outputs")
    delta, c0 = problem.cost(i)
    require_close("the cost", c0 + outputs.counts @ delta, case.costs[i], digits=1e-12, smallest=1e-12)
    require(case.costs[i][case.gold_index(i)] == 0, "the gold output has a cost")
    require((case.costs[i] >= 0).all(), "an output has a negative cost")


@_contract("argmax returns the best output and its score")
def best_output(case: Case, i: int, theta: Array, rng: np.random.Generator) -> None:
    """Where every output is forbidden, the score is -inf and there are no parts."""
    outputs = case.outputs[i]
    value, parts = case.problem.argmax(i, theta)
    best = float(outputs.values(theta).max())
    near = value == best or abs(value - best) <= 1e-9 * max(1.0, abs(best))
    require(near, f"it returned the score {value:.12g}, and the best output scores {best:.12g}")
    if best == -inf:
        # A problem written in Python is not asked for that directly.
        if is_native(case.problem):
            require(len(parts) == 0, "every output is forbidden, and it returned one")
        return
    y = _sorted(parts)
    require(y in outputs.ys, f"it returned {y}, which is not an output")
    require_close("the score of the output that it returned", theta[list(y)].sum(), best)


@_contract("logsum is the log partition function, and marginals are expected counts", "logsum")
def log_partition(case: Case, i: int, theta: Array, rng: np.random.Generator) -> None:
    """Where every output is forbidden, the sum is -inf and the marginals are 0."""
    outputs = case.outputs[i]
    expected, marginals = outputs.logsum(theta)
    if expected == -inf and not is_native(case.problem):
        return
    value, mu = case.problem.logsum(i, theta)
    if expected == -inf:
        require(value == -inf, f"every output is forbidden, and the sum is {value:.12g}")
        require(not mu.any(), "every output is forbidden, and a marginal is not 0")
        return
    require_close("the sum", value, expected)
    require_close("a marginal", mu, marginals, smallest=1e-30)


@_contract("marginals are the gradient of logsum", "logsum", ("usual",))
def gradient_of_logsum(case: Case, i: int, theta: Array, rng: np.random.Generator) -> None:
    """By central differences; parts that no output has have no marginal."""
    _, mu = case.problem.logsum(i, theta)
    gradient = numerical_gradient(lambda v: float(case.problem.logsum(i, v)[0]), theta)
    possible = case.outputs[i].counts.any(axis=0)
    require_close("a marginal", mu[possible], gradient[possible], smallest=1e-7, digits=1e-7)
    require(not mu[~possible].any(), "a part that no output has has a marginal")


@_contract("kbest returns the k best outputs, best first, each once", "kbest")
def k_best_outputs(case: Case, i: int, theta: Array, rng: np.random.Generator) -> None:
    """For k of 1, 2, a random number, and more than there are."""
    outputs = case.outputs[i]
    values = outputs.values(theta)
    order = np.sort(values[values > -inf])[::-1].astype(float)
    for k in (1, 2, int(rng.integers(1, len(values) + 1)), len(values) + 3):
        found = case.problem.kbest(i, theta, k)
        wanted = min(k, len(order))
        require(len(found) == wanted, f"for k={k} it returned {len(found)} outputs, and should return {wanted}")
        ys = [_sorted(parts) for _, parts in found]
        require(len(set(ys)) == len(ys), f"for k={k} it returned an output twice")
        require(set(ys) <= set(outputs.ys), f"for k={k} it returned {quoted(ys)}, not all of which are outputs")
        require_close(f"a score for k={k}", np.array([value for value, _ in found]), order[:k])
        require_close(f"the score of an output for k={k}", np.array([theta[list(y)].sum() for y in ys]), order[:k])


@_contract("argmax_by_cost returns the best output of every cost", "argmax_by_cost")
def best_by_cost(case: Case, i: int, theta: Array, rng: np.random.Generator) -> None:
    """For random costs of parts from 0 to 3."""
    outputs = case.outputs[i]
    delta = rng.integers(0, 4, outputs.n).astype(float)
    found = case.problem.argmax_by_cost(i, theta, delta)
    expected = outputs.best_by_cost(theta, delta)
    costs = [cost for cost, _, _ in found]
    require(costs == sorted(expected), f"it found the costs {costs}, and there are {sorted(expected)}")
    for cost, value, parts in found:
        y = _sorted(parts)
        require(y in outputs.ys, f"at cost {cost} it returned {y}, which is not an output")
        require(delta[list(y)].sum() == cost, f"the output at cost {cost} costs {delta[list(y)].sum():g}")
        require_close(f"the score at cost {cost}", value, expected[cost])
        require_close(f"the score of the output at cost {cost}", theta[list(y)].sum(), expected[cost])


@_contract("entropy returns scores that reproduce the marginals", "entropy", ("usual", "forbidden", "ties"))
def entropy_of_marginals(case: Case, i: int, theta: Array, rng: np.random.Generator) -> None:
    """Of the distribution with these marginals that has the largest entropy."""
    outputs = case.outputs[i]
    values = outputs.values(theta)
    if values.max() == -inf:
        return
    p = np.exp(values - values.max())
    p /= p.sum()
    mu = (p @ outputs.counts).astype(float)
    entropy, t = case.problem.entropy(i, mu)
    require_close("the entropy", entropy, entropy_of(p))  # a chain that is Markov has the largest of its marginals
    log_z, again = case.problem.logsum(i, t)
    require_close("logsum of the scores", log_z, 0.0)
    require_close("a marginal of the scores", again, mu, smallest=1e-30)
    require_close("the entropy by its scores", entropy, log_z - t[mu > 0] @ mu[mu > 0])


@_contract("forbid marks parts that no output has, and changes nothing else", styles=_ONCE)
def clamped_parts(case: Case, i: int, theta: Array, rng: np.random.Generator) -> None:
    """Scores of parts that some output has stay as they are."""
    clamped = case.problem.forbid(i, theta)
    possible = case.outputs[i].counts.any(axis=0)
    require_bits("the score of a part that some output has", clamped[possible], theta[possible])
    require(((clamped == theta) | (clamped == -inf)).all(), "a score is neither the same nor -inf")


@_contract("where only one output is allowed, it is the answer", styles=_ONCE)
def only_output(case: Case, i: int, theta: Array, rng: np.random.Generator) -> None:
    """All parts but those of one output are forbidden; outputs with fewer parts may remain and score less."""
    outputs = case.outputs[i]
    for y in outputs.ys:
        alone = np.full(outputs.n, -inf)
        alone[list(y)] = 1.0
        best_output(case, i, alone, rng)
        if "logsum" in case.problem.offers:
            log_partition(case, i, alone, rng)


@_contract("scores are A w, and scatter, row and move are the adjoint of A", styles=_ONCE)
def adjoint_map(case: Case, i: int, theta: Array, rng: np.random.Generator) -> None:
    """In the problem's own inner product."""
    w = rng.standard_normal(case.problem.dim)
    require_close("a score", case.problem.score(i, w), case.matrices[i] @ w)
    assert_adjoint(case.problem, i, theta, w)


def assert_adjoint(problem: _core.Problem, i: int, mu: Array, w: Array) -> None:
    """Scatter is the adjoint of score in the problem's own inner product, row is scatter, and move tells the change."""
    g = np.zeros(problem.dim)
    problem.scatter(i, mu, 1.0, g)
    require_close("<scatter(mu), w>", problem.dot(g, w), problem.score(i, w) @ mu)
    index, value = problem.row(i, mu)
    row = np.zeros(problem.dim)
    row[index] = value
    require_close("a value of row(mu)", row, g, digits=1e-7, smallest=1e-12)
    moved = w.copy()
    change = problem.move(i, mu, -0.7, moved)
    require_close("a weight after move", moved, w - 0.7 * g, digits=1e-7, smallest=1e-12)
    expected = 0.5 * (problem.dot(moved, moved) - problem.dot(w, w))
    require_close("the change that move returns", change, expected, smallest=1e-9 * problem.dot(w, w))


@_contract("samples have the frequencies of the distribution", "sample", ("usual", "forbidden"))
def sampled_outputs(case: Case, i: int, theta: Array, rng: np.random.Generator) -> None:
    """By 1000 samples with fixed seeds."""
    if case.outputs[i].values(theta).max() > -inf:
        frequencies_agree(case.problem, i, case.outputs[i], theta, 1000)


def frequencies_agree(problem: _core.Problem, i: int, outputs: Outputs, theta: Array, draws: int) -> None:
    """Pearson's chi-square over outputs that are expected five times or more.

    It fails by chance once in 10^6 runs, and the seeds are fixed.
    """
    from scipy.stats import chi2

    place = {y: k for k, y in enumerate(outputs.ys)}
    seen = np.zeros(len(outputs.ys))
    for seed in range(draws):
        y = _sorted(problem.sample(i, theta, seed))
        require(y in place, f"it drew {y}, which is not an output")
        seen[place[y]] += 1
    values = outputs.values(theta)
    p = np.exp(values - values.max()).astype(float)
    expected = draws * p / p.sum()
    require((seen[expected == 0] == 0).all(), "it drew an output that is forbidden")
    frequent = expected >= 5
    statistic = float(((seen - expected)[frequent] ** 2 / expected[frequent]).sum())
    rare_seen, rare_expected = seen[~frequent].sum(), expected[~frequent].sum()
    cells = int(frequent.sum())
    if rare_expected >= 5:
        statistic += (rare_seen - rare_expected) ** 2 / rare_expected
        cells += 1
    else:
        often = f"it drew rare outputs {rare_seen:g} times, and should {rare_expected:.3g} times"
        require(rare_seen <= rare_expected + 5 * (rare_expected + 4) ** 0.5, often)
    most = float(chi2.isf(1e-6, cells - 1)) if cells > 1 else 30.0
    k = int(np.argmax(np.abs(seen - expected)))
    found = f"it drew {outputs.ys[k]} {seen[k]:g} times of {draws}, and should {expected[k]:.4g} times"
    require(statistic < most, found)


def is_native(problem: _core.Problem) -> bool:
    """Whether the core checks the arguments: a problem written in Python is called directly."""
    return isinstance(problem, _core.BoundProblem | _core.SliceProblem)


def _sorted(parts: Any) -> Parts:
    return tuple(sorted(_ints(parts)))


# ---- all of them -----------------------------------------------------------------------------------------------------

_SAMPLED = 2  # Samples are drawn for this many examples, because they take long.


def check_problem(
    problem: _core.Problem, every: Sequence[Sequence[Sequence[int]]], *, random_state: int = 0, repeats: int = 3
) -> None:
    """Check a problem of your own against the enumeration of its outputs.

    Parameters
    ----------
    problem : a few small examples, with gold outputs.
    every : for each example, all of its outputs; an output is a list of part ids.
    random_state : the seed of the scores that inference is tried on.
    repeats : how many random scores of each style are tried.
    """
    name = type(problem).__name__
    with contract(name, "every example has an enumeration"):
        require(len(every) == problem.size, f"there are {problem.size} examples, and outputs of {len(every)}")
    with contract(name, "gold outputs, costs and scores can be computed"):
        case = case_of(problem, every)
    check_case(name, case, random_state=random_state, repeats=repeats)


def check_case(
    name: str,
    case: Case,
    describe: Callable[[int], str] = lambda i: "",
    *,
    random_state: int = 0,
    repeats: int = 3,
) -> None:
    """Check all contracts of inference on all examples of a case, the smallest first.

    Parameters
    ----------
    name : what is checked, for messages.
    case : a problem with all outputs of its examples.
    describe : an example in words, for messages.
    random_state : the seed of the scores that inference is tried on.
    repeats : how many random scores of each style are tried.
    """
    with contract(name, "argmax is offered"):
        require("argmax" in case.problem.offers, f"it offers {', '.join(case.problem.offers) or 'nothing'}")
    for one in CONTRACTS:
        if one.needs and one.needs not in case.problem.offers:
            continue
        examples = case.by_size()
        if one is sampled_outputs:
            examples = [i for i in examples if len(case.outputs[i].ys) > 1][:_SAMPLED]
        for i in examples:
            rng = np.random.default_rng([random_state, i])
            for theta in _scores(rng, case.outputs[i].n, one.styles, 1 if one is sampled_outputs else repeats):
                where = case.describe(i, theta)
                with contract(name, one.sentence, ", ".join(filter(None, [where, describe(i)]))):
                    one(case, i, theta, rng)


def _scores(rng: np.random.Generator, n: int, styles: Sequence[str], repeats: int) -> Iterator[NDArray[np.float64]]:
    for style in styles:
        for _ in range(repeats):
            yield random_scores(rng, n, style)
