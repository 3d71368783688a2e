"""Choosing the best path of a lattice, with one or several good strings (004, sections 2.2 and 5.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.binding import bind
from margrave.checks import whole
from margrave.errors import MargraveError
from margrave.estimators.base import StructuredEstimator
from margrave.estimators.model import Given
from margrave.features.base import Features
from margrave.features.lattices import EdgeFeatures
from margrave.losses import LossFamily
from margrave.maps import SparseMap, table_named
from margrave.settings.lists import LatticeSettings
from margrave.structures import LatticePaths
from margrave.structures.lattice_paths import good_strings, without_good_path


class LatticeDecoder(LatticeSettings, StructuredEstimator):
    """Predicts the best string of each lattice; minimises 1/2 |w|^2 + C sum_i L_i(w), with one weight per feature.

    An example of X is a `margrave.data.Lattice`. y has its good string, or a list of all good ones, best first. A
    string may be spelled by many paths, all of which are good, so that good paths are never listed.

    "latent-log" maximises the probability of all good paths together, and "latent-hinge" separates the best good path
    from the others. Neither is convex: from several starts, 'lbfgs' minimises the first, and 'cccp' either of them by
    convex problems, each certified. The result has an objective and the norm of its gradient, but no gap.
    `LP(program="all")` places the worst good path above the best other one (program 8 of 004). It is a linear program
    with a certificate. "log", "hinge" and the other convex losses take one path that spells the first good string as
    the right one.

    Attributes
    ----------
    coef_ : one weight per feature.
    n_skipped_ : the number of lattices that were left out; it is not saved.
    starts_ : for losses that are not convex, the objective and the norm of its gradient for every start; not saved. For
        "latent-hinge" it is a subgradient, whose norm need not be small at an optimum.

    >>> from margrave.data import Lattice
    >>> X = [Lattice.of([(0, 1, "a", {"x": 1.0}), (0, 1, "b", {"y": 1.0}), (1, 2, "c")])]
    >>> LatticeDecoder().fit(X, [["a c"]]).predict(X)
    ['a c']
    """

    map_: SparseMap
    n_skipped_: int
    starts_: list[dict[str, float]]

    def predict_kbest(self, X: Any, k: int = 10) -> list[list[tuple[float, str]]]:
        """Predict the k best distinct strings of every lattice, best first; a string has the score of its best path.

        Lattices with fewer than k strings get all of them.

        Parameters
        ----------
        X : as in `fit`.
        k : the number of strings.
        """
        k = whole("k", k, 1, 2**31 - 1)
        bound = self._bind(Given(X))
        assert isinstance(bound.core, _core.LatticeStructure)
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
        return self._predict_kbest(Given(X), k)

    def log_probability(self, X: Any, strings: Sequence[str]) -> list[float]:
        """Compute the log probability of one string per lattice: of all paths that spell it together.

        Parameters
        ----------
        X : as in `fit`.
        strings : one string per lattice; minus infinity if no path spells it.
        """
        structure, raw = LatticePaths(), self._raw(X)
        good = [good_strings(string, i) for i, string in enumerate(strings)]
        if len(good) != len(raw):
            raise MargraveError(f"there are {len(raw)} lattices in X and {len(good)} strings.")
        missing = set(without_good_path(raw, good))
        kept = [i for i in range(len(raw)) if i not in missing]
        found = [-inf] * len(raw)
        if not kept:
            return found
        self._check_fitted()
        chosen = [raw[i] for i in kept]
        bound = bind(
            structure,
            self.map_,
            chosen if self.features_ is None else self.features_.transform(chosen),
            [good[i] for i in kept],
            outputs=self.outputs_,
            to_structure={"lattices": chosen},
        )
        problem: Any = bound.problem
        for k, i in enumerate(kept):
            theta = self._temperature() * problem.score(k, self._weights())
            found[i] = float(min(problem.logsum_among(True, k, theta)[0] - problem.logsum(k, theta)[0], 0.0))
        return found

    def predict_marginals(self, X: Any) -> list[NDArray[np.float64]]:
        """Compute the probability of every edge: one array per lattice, in the order of its edges.

        The model is p(path) ~ exp(beta <theta, path>) with the loss's beta, or with 1 if that is infinite.

        Parameters
        ----------
        X : as in `fit`.
        """
        marginals: list[NDArray[np.float64]] = self._predict_marginals(Given(X))
        return marginals

    def _n_starts(self, loss: LossFamily) -> int:
        return 1 if loss.convex else self.starts

    def _structure(self, given: Given) -> LatticePaths:
        return LatticePaths()

    def _map(self, outputs: Any) -> SparseMap:
        return SparseMap(table_named(self.weights).hash_bits, "edge")

    def _default_features(self) -> Features:
        return EdgeFeatures()

    def _to_structure(self, given: Given, X: Any, outputs: Any) -> Mapping[str, Any]:
        return {**given.to_structure, "lattices": given.X}

    def _checked(self, given: Given, sample_weight: Any) -> tuple[Given, Any]:
        X, Y = list(given.X), list(given.Y)
        if len(X) != len(Y):
            raise MargraveError(f"there are {len(X)} lattices in X and {len(Y)} in y.")
        missing = without_good_path(X, Y)
        fitted = {**given.fitted, "n_skipped_": len(missing)}
        if not missing or self.unreachable == "stop":  # `bind` refuses them
            return replace(given, X=X, Y=Y, fitted=fitted), sample_weight
        if len(missing) == len(X):
            raise MargraveError("no lattice has a path that spells a good string.")
        left = sorted(set(range(len(X))) - set(missing))
        if sample_weight is not None:
            sample_weight = np.asarray(sample_weight)[left]
        return replace(given, X=[X[i] for i in left], Y=[Y[i] for i in left], fitted=fitted), sample_weight

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        """The fraction of lattices whose string is good."""
        good = [good_strings(strings, i) for i, strings in enumerate(Y)]
        return float(np.mean([each in of for each, of in zip(predicted, good, strict=True)]))

    def _raw(self, X: Any) -> Any:
        if not hasattr(X, "__len__"):
            raise MargraveError(f"X must be a list of lattices, not {type(X).__name__}.")
        return X
