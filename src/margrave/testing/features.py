"""The contracts of features and of feature maps."""

from typing import Any

import numpy as np

from margrave.binding import bind, bind_shards
from margrave.examples import Examples
from margrave.features.base import Features
from margrave.maps.base import FeatureMap
from margrave.structures.base import Structure
from margrave.testing.failures import contract, plain, quoted, require, require_bits, require_close
from margrave.testing.problems import assert_adjoint
from margrave.testing.structures import check_stored, packed, unpacked


def check_features(features: Features, X: Any) -> None:
    """Check features of your own: what they learn, that they can be stored, and that examples do not depend on others.

    Parameters
    ----------
    features : the features, which have not learned anything; `transform` returns lists or a matrix.
    X : a few raw examples, which can be sliced.

    >>> from margrave.features import TfIdf
    >>> check_features(TfIdf(), ["the dog", "a cat"])
    """
    before, _ = packed(features)
    check_stored(features)
    with contract(features, "learn returns features, and does not change those that it was called on"):
        learned = features.learn(X)
        require(isinstance(learned, type(features)), f"it returns a {type(learned).__name__}")
        require(packed(features)[0] == before, "they have changed")
    with contract(features, "transform returns the features of every example"):
        together = _listed(learned.transform(X))
        require(len(together) == len(X), f"there are those of {len(together)} examples, and {len(X)} examples")
    with contract(features, "the features of an example do not depend on other examples"):
        for i in range(len(X)):
            alone = _listed(learned.transform(X[i : i + 1]))
            require(alone == together[i : i + 1], f"example {i}: alone {quoted(alone[0])}, not {quoted(together[i])}")
    check_stored(learned)
    with contract(features, "features from a file are the same"):
        again = _listed(unpacked(learned).transform(X))
        for i, (one, other) in enumerate(zip(again, together, strict=True)):
            require(one == other, f"example {i}: {quoted(one)}, not {quoted(other)}")


def _listed(examples: Any) -> list[Any]:
    """Features of examples, which can be lazy or arrays, as lists."""
    if hasattr(examples, "toarray"):
        examples = examples.toarray()
    return [plain(list(each)) if hasattr(each, "__iter__") else plain(each) for each in examples]


def check_feature_map(feature_map: FeatureMap[Any, Any], structure: Structure[Any, Any], X: Any, Y: Any) -> None:
    """Check a feature map of your own, bound to a structure.

    Parameters
    ----------
    feature_map : the feature map, which has not learned anything.
    structure : a structure that it serves.
    X : a few examples, in a form that it can encode.
    Y : their outputs.

    >>> from margrave.maps import SparseMap
    >>> from margrave.structures import CandidateLists
    >>> check_feature_map(SparseMap(), CandidateLists(), [[["a"], ["b"]], [["a"]]], [1, 0])
    """
    rng = np.random.default_rng(0)
    check_stored(feature_map)
    with contract(feature_map, "fresh returns a map that has not learned anything"):
        fresh = feature_map.fresh()
        require(type(fresh) is type(feature_map) and not fresh.learned, "it has learned")
    with contract(feature_map, "it learns which weights exist"):
        bound = bind(structure, fresh, Examples(X, Y))
        require(fresh.learned, "it has not learned")
    problem = bound.problem
    w = rng.standard_normal(problem.dim)
    for i in sorted(range(problem.size), key=problem.parts):
        with contract(feature_map, "scatter, row and move are the adjoint of score", f"example {i}: {quoted(X[i])}"):
            assert_adjoint(problem, i, rng.standard_normal(problem.parts(i)), w)
    with contract(feature_map, "examples that were seen in training have the same scores afterwards"):
        again = bind(structure, fresh, Examples(X), outputs=bound.outputs).problem
        require(again.dim == problem.dim, f"there are {again.dim} weights, and there were {problem.dim}")
        for i in range(problem.size):
            require_bits(f"a score of example {i}", again.score(i, w), problem.score(i, w))
    check_stored(fresh)
    for verb in ("compact", "without_zeros"):
        with contract(feature_map, f"{verb} changes no score"):
            sparse = np.where(rng.random(problem.dim) < 0.5, 0.0, w)
            smaller, kept = getattr(fresh, verb)(sparse)
            less = bind(structure, smaller, Examples(X), outputs=bound.outputs).problem
            for i in range(problem.size):
                require_close(f"a score of example {i}", less.score(i, kept), problem.score(i, sparse))
    for cut in range(1, len(Y)):
        with contract(feature_map, "shards have the same bits as all examples at once", f"{cut} and {len(Y) - cut}"):
            shards = bind_shards(
                structure, feature_map.fresh(), [Examples(X[:cut], Y[:cut]), Examples(X[cut:], Y[cut:])]
            )
            scores = [shard.problem.score(i, w) for shard in shards for i in range(shard.problem.size)]
            for i, theta in enumerate(scores):
                require_bits(f"a score of example {i}", theta, problem.score(i, w))
