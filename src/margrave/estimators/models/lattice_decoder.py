"""Models that choose the best path of a lattice."""

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import has_length, whole
from margrave.errors import MargraveError
from margrave.estimators.model import StructuredModel
from margrave.examples import Examples
from margrave.maps import SparseMap
from margrave.settings.lists import LatticeSettings
from margrave.structures import LatticePaths
from margrave.structures.lattice_paths import good_strings, without_good_path


class LatticeModel(LatticeSettings, StructuredModel, saved_as="LatticeDecoder"):
    """Predicts the best string of each lattice: what `load` makes of the file of a `LatticeDecoder`.

    `predict_marginals` has the probability of every edge: one array per lattice, in the order of its edges.
    """

    map_: SparseMap

    def predict_kbest(self, X: Any, k: int = 10) -> list[list[tuple[float, str]]]:
        """Predict the k best distinct strings of every lattice, best first; a string has the score of its best path.

        Lattices with fewer than k strings get all of them.

        Parameters
        ----------
        X : as in `fit`.
        k : the number of strings.
        """
        k = whole("k", k, 1, 2**31 - 1)
        bound = self._bind(self._given(X))
        _core.kbest_all(bound.problem, self._weights(), 1, self._threads())  # which refuses scores that overflow
        found = []
        for i in range(bound.problem.size):
            best = bound.core.kbest_strings(i, bound.problem.score(i, self._weights()), k)
            found.append([(value, bound.decode_one(i, parts)) for value, parts in best])
        return found

    def predict_kbest_paths(self, X: Any, k: int = 10) -> list[list[tuple[float, str]]]:
        """Predict the strings of the k best paths of every lattice, best first; a string may occur several times.

        Parameters
        ----------
        X : as in `fit`.
        k : the number of paths.
        """
        return self._predict_kbest(self._given(X), k)

    def log_probability(self, X: Any, y: Sequence[str]) -> NDArray[np.float64]:
        """Compute the log probability of one string per lattice: of all paths that spell it together.

        Parameters
        ----------
        X : as in `fit`.
        y : one string per lattice; the result is minus infinity if no path spells it.
        """
        raw = self._inputs(self._given(X, y).X)
        good = [good_strings(string, i) for i, string in enumerate(y)]
        if len(good) != len(raw):
            raise MargraveError(f"there are {len(raw)} lattices in X and {len(good)} strings.")
        missing = set(without_good_path(raw, good))
        kept = [i for i in range(len(raw)) if i not in missing]
        found = np.full(len(raw), -inf)
        if not kept:
            return found
        self._check_fitted()
        chosen = [raw[i] for i in kept]
        bound = self._bound(Examples(chosen, [good[i] for i in kept]), self.outputs_, self.map_, self.features_)
        problem: Any = bound.problem
        for k, i in enumerate(kept):
            theta = self._temperature() * problem.score(k, self._weights())
            found[i] = min(problem.logsum_among(True, k, theta)[0] - problem.logsum(k, theta)[0], 0.0)
        return found

    def _structure(self, examples: Examples) -> LatticePaths:
        return LatticePaths()

    def _inputs(self, X: Any) -> Any:
        if not has_length(X):
            raise MargraveError(f"X must be a list of lattices, not {type(X).__name__}.")
        return X

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        """The fraction of lattices whose string is good."""
        good = [good_strings(strings, i) for i, strings in enumerate(Y)]
        return float(np.mean([each in of for each, of in zip(predicted, good, strict=True)]))
