"""Questions to one forest under given weights: its best derivations and strings, sums, samples."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import real, whole
from margrave.data.forests import Forest
from margrave.errors import MargraveError
from margrave.examples import Examples
from margrave.structures.base import NoOutputs
from margrave.structures.forest_derivations import ForestDerivations


class Derivation(NamedTuple):
    """A derivation with its score: the numbers of its edges, depth first (`Forest.string`), and what they spell."""

    score: float
    edges: tuple[int, ...]
    text: str


class WeightedForest:
    """A forest and a weight per feature: p(derivation) is proportional to exp(score).

    Parameters
    ----------
    forest : the forest.
    weights : the weight of each feature; features without one have weight 0.

    >>> forest = Forest.of([(0, (), ("a",), {"f": 1.0}), (0, (), ("b",)), (1, (0,), ("the", 0))])
    >>> weighted = WeightedForest(forest, {"f": 2.0})
    >>> weighted.best().text, [each.text for each in weighted.kbest(2)], weighted.marginals().round(3).tolist()
    ('the a', ['the a', 'the b'], [0.881, 0.119, 1.0])
    """

    def __init__(self, forest: Forest, weights: Mapping[str, float]) -> None:
        self.forest = forest
        given = {name: real(f"the weight of {name}", value, "be finite", isfinite) for name, value in weights.items()}
        self.scores = np.array(  # theta: (edges,)
            [sum(given.get(name, 0.0) * value for name, value in edge.features.items()) for edge in forest.edges]
        )
        n = len(forest.edges)
        self._bound = ForestDerivations().bind(
            NoOutputs(), Examples.of_sizes(np.array([n], dtype=np.int64), X=[forest])
        )
        rows = _core.Tokens(np.array([0, n]), np.zeros(n + 1, dtype=np.int64), np.zeros(0, dtype=np.int32), None)
        self._problem = _core.join(self._bound, _core.sparse_parts(0, rows, self._bound.choices, self._bound.repeats))

    def best(self) -> Derivation:
        """The best derivation."""
        return self.kbest(1)[0]

    def log_partition(self) -> float:
        """The logarithm of the sum of exp(score) over all derivations."""
        value, _ = self._problem.logsum(0, self.scores)
        return value

    def marginals(self) -> NDArray[np.float64]:
        """The probability of each edge, or its expected number of occurrences if a derivation can repeat it."""
        _, mu = self._problem.logsum(0, self.scores)
        return mu

    def kbest(self, k: int) -> list[Derivation]:
        """The k best derivations, best first.

        Parameters
        ----------
        k : their number; if there are fewer, all of them.
        """
        found = self._problem.kbest(0, self.scores, whole("k", k, 1, 2**31 - 1))
        if not found:
            raise MargraveError("the forest has no derivation.")
        return [self._derivation(score, edges.tolist()) for score, edges in found]

    def kbest_strings(self, k: int) -> list[Derivation]:
        """The k best distinct strings, best first, each with its best derivation.

        Parameters
        ----------
        k : their number; if there are fewer, all of them.
        """
        found = self._bound.kbest_strings(0, self.scores, whole("k", k, 1, 2**31 - 1))
        return [self._derivation(score, edges.tolist()) for score, edges in found]

    def sample(self, n: int = 1, *, random_state: int = 0) -> list[Derivation]:
        """Derivations drawn from the distribution.

        Parameters
        ----------
        n : their number.
        random_state : the seed of the random numbers.
        """
        whole("n", n, 1, 2**31 - 1)
        drawn = [self._problem.sample(0, self.scores, random_state + k).tolist() for k in range(n)]
        return [self._derivation(float(self.scores[edges].sum()), edges) for edges in drawn]

    def best_by_cost(self, costs: Sequence[float] | NDArray[np.float64]) -> list[tuple[int, Derivation]]:
        """The best derivation at every total cost that some derivation has, by ascending cost.

        Parameters
        ----------
        costs : one whole number per edge.
        """
        delta = np.asarray(costs, dtype=np.float64)
        if delta.shape != self.scores.shape:
            raise MargraveError(f"there must be one cost for each of {len(self.scores)} edges.")
        found = self._problem.argmax_by_cost(0, self.scores, delta)
        return [(cost, self._derivation(score, edges.tolist())) for cost, score, edges in found]

    def _derivation(self, score: float, edges: list[int]) -> Derivation:
        return Derivation(score, tuple(edges), self.forest.string(edges))
