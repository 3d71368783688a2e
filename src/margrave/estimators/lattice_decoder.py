"""Choosing the best path of a lattice, with one or several good strings."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

from margrave.errors import MargraveError
from margrave.estimators.base import StructuredEstimator
from margrave.estimators.models.lattice_decoder import LatticeModel
from margrave.examples import Examples
from margrave.features.base import Features
from margrave.features.lattices import EdgeFeatures
from margrave.losses import LossFamily
from margrave.maps import SparseMap, table_named
from margrave.structures.lattice_paths import without_good_path


class LatticeDecoder(LatticeModel, StructuredEstimator):
    """Predicts the best string of each lattice; minimizes 1/2 |w|^2 + C sum_i L_i(w), with one weight per feature.

    An example of X is a `margrave.data.Lattice`. y has its good string, or a list of all good ones, best first. A
    string may be spelled by many paths, all of which are good, so that good paths are never listed.

    "latent-log" maximizes the probability of all good paths together, and "latent-hinge" separates the best good path
    from the others. Neither is convex: from several starts, 'lbfgs' minimizes the first, and 'cccp' either of them by
    convex problems, each certified. The result has an objective and the norm of its gradient, but no gap.
    `LP(program="all")` places the worst good path above the best other one. It is a linear program
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

    n_skipped_: int

    @classmethod
    def of_weights(cls, weights: Mapping[str, float]) -> Self:
        """Make a decoder with given weights of the features of edges, for example from another tuning method.

        Its certificate is that of an empty data set.

        Parameters
        ----------
        weights : the weight of each feature.

        >>> from margrave.data import Lattice
        >>> lattice = Lattice.of([(0, 1, "a", {"x": 1.0}), (0, 1, "b", {"y": 1.0}), (1, 2, "c")])
        >>> LatticeDecoder.of_weights({"x": 0.5, "y": 1.0}).predict([lattice])
        ['b c']
        """
        model = cls()
        model._set_given_weights(weights, "edge", EdgeFeatures())
        model.n_skipped_ = 0
        return model

    def _n_starts(self, loss: LossFamily) -> int:
        return 1 if loss.convex else self.starts

    def _map(self, outputs: Any) -> SparseMap:
        return SparseMap(table_named(self.weights).hash_bits, "edge")

    def _default_features(self) -> Features:
        return EdgeFeatures()

    def _prepared(self, examples: Examples) -> tuple[Examples, dict[str, Any]]:
        X, Y = list(examples.X), list(examples.Y)
        if len(X) != len(Y):
            raise MargraveError(f"there are {len(X)} lattices in X and {len(Y)} in y.")
        examples, missing = replace(examples, X=X, Y=Y), without_good_path(X, Y)
        learned = {"n_skipped_": len(missing)}
        if not missing or self.unreachable == "stop":  # `bind` refuses them
            return examples, learned
        if len(missing) == len(X):
            raise MargraveError("no lattice has a path that spells a good string.")
        return examples.some(sorted(set(range(len(X))) - set(missing))), learned
