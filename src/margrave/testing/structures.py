"""The contracts of a structure: what it learns, binds, infers, decodes and stores, compared with enumeration."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from margrave import _core
from margrave.binding import BoundProblem, bind
from margrave.examples import Examples
from margrave.files.stored import Arrays, pack, unpack
from margrave.losses.costs import Cost, Hamming
from margrave.maps import SparseMap
from margrave.maps.base import FeatureMap
from margrave.stored import Stored
from margrave.structures.base import Structure
from margrave.testing.enumeration import Array
from margrave.testing.failures import contract, plain, quoted, require, require_bits, require_close, require_same
from margrave.testing.problems import Case, case_of, check_case


def check_structure(
    structure: Structure[Any, Any],
    X: Any,
    Y: Sequence[Any],
    every: Sequence[Sequence[Any]],
    *,
    feature_map: FeatureMap[Any, Any] | None = None,
    costs: Cost | None = None,
    cost: Callable[[Any, Any], float] | None = None,
    random_state: int = 0,
    repeats: int = 3,
) -> None:
    """Check a structure of your own on a few small examples whose outputs can be enumerated.

    Inference is compared with the enumeration: argmax, log-sum, marginals, k best, best by cost and samples, as far as
    the structure offers them, under scores of many sizes and with forbidden parts. The structure must also learn the
    same from shards of the data, decode every output, and survive a model file. Include an example that is as small as
    can be, such as one with a single token.

    Parameters
    ----------
    structure : the structure.
    X : the examples, in a form that the feature map can encode.
    Y : their outputs.
    every : for each example, all of its outputs, in the form of Y.
    feature_map : a feature map that has not learned anything; None is a `SparseMap`, which takes a list of attributes
        for each part.
    costs : the costs of wrong outputs; None is the Hamming cost if the structure supports it.
    cost : a function of the right output and another one, which the costs must agree with.
    random_state : the seed of the scores that inference is tried on.
    repeats : how many random scores of each style are tried.

    >>> from margrave.structures import CandidateLists
    >>> check_structure(CandidateLists(), [[["a"], ["b"]], [["a"]]], [1, 0], [[0, 1], [0]])
    """
    name = type(structure).__name__
    check_stored(structure)
    check_learning(structure, Y)
    if costs is None and issubclass(Hamming, structure.costs):
        costs = Hamming()
    feature_map = SparseMap() if feature_map is None else feature_map.fresh()
    with contract(name, "bind makes a problem of examples and their outputs"):
        bound = bind(structure, feature_map, Examples(X, Y), costs=costs)
        n = bound.problem.size
        require(n == len(Y) == len(every), f"there are {n} examples, {len(Y)} outputs, and outputs of {len(every)}")
    case = enumerate_case(bound, feature_map, X, Y, every, costs)
    if cost is not None:
        for i in case.by_size():
            with contract(name, "costs are those of the cost function", f"example {i}: {quoted(X[i])}"):
                require_close("a cost", case.costs[i], [cost(Y[i], y) for y in every[i]])
    check_case(name, case, lambda i: quoted(X[i]), random_state=random_state, repeats=repeats)
    _check_weights(name, bound, case, every, np.random.default_rng(random_state))
    _check_unlabeled(name, bound, feature_map, X)


def enumerate_case(
    bound: BoundProblem[Any, Any],
    feature_map: FeatureMap[Any, Any],
    X: Any,
    Y: Sequence[Any],
    every: Sequence[Sequence[Any]],
    costs: Cost | None,
) -> Case:
    """The case of some bound examples: the parts of each output are those that it has as a gold output.

    Parameters
    ----------
    bound : the examples.
    feature_map : their feature map, which has learned from them.
    X, Y : the examples and their outputs.
    every : for each example, all of its outputs.
    costs : the costs of wrong outputs.
    """
    structure = bound.structure
    name = type(structure).__name__
    parts: list[list[list[int]]] = []
    for i, ys in enumerate(every):
        where = f"example {i}: {quoted(X[i])}"
        with contract(name, "every output can be bound", where):
            alone = bind(
                structure, feature_map, Examples(_repeated(X, i, len(ys)), list(ys)), outputs=bound.outputs, costs=costs
            )
            bags = [alone.problem.gold(k) for k in range(len(ys))]
        with contract(name, "different outputs have different parts", where):
            seen: dict[tuple[int, ...], Any] = {}
            for y, bag in zip(ys, bags, strict=True):
                key = tuple(sorted(bag.tolist()))
                require(key not in seen, f"{quoted(y)} and {quoted(seen.get(key))} both have the parts {list(key)}")
                seen[key] = y
        with contract(name, "the right output is among all outputs", where):
            right = tuple(sorted(bound.problem.gold(i).tolist()))
            require(right in seen, f"{quoted(Y[i])} has the parts {list(right)}, which no output has")
        begin = np.concatenate([[0], np.cumsum([len(bag) for bag in bags])]).astype(np.int64)
        flat = np.concatenate(bags).astype(np.int32)
        with contract(name, "decode returns the output that has the parts", where):
            for y, decoded in zip(ys, alone.decode(begin, flat), strict=True):
                require_same("an output", decoded, y)
            for y, bag in zip(ys, bags, strict=True):
                require_same("an output", bound.decode_one(i, bag), y)
        parts.append([bag.tolist() for bag in bags])
    return case_of(bound.problem, parts)


def _repeated(X: Any, i: int, n: int) -> Any:
    """Example i, n times."""
    return X[[i] * n] if hasattr(X, "shape") else [X[i]] * n


def _check_weights(
    name: str, bound: BoundProblem[Any, Any], case: Case, every: Sequence[Sequence[Any]], rng: np.random.Generator
) -> None:
    """Inference at weights: decoded outputs, marginals in the user's form, and any number of threads."""
    problem = bound.problem
    w = rng.standard_normal(problem.dim)
    with contract(name, "predictions are the outputs with the best scores"):
        best = bound.best(w, 1)
        require(len(best) == len(case), f"there are {len(best)} predictions for {len(case)} examples")
        for i in case.by_size():
            values = case.outputs[i].values(case.matrices[i] @ w)
            allowed = [plain(y) for y, value in zip(every[i], values, strict=True) if value >= values.max() - 1e-9]
            require(plain(best[i]) in allowed, f"example {i}: {quoted(best[i])}, and the best is {quoted(allowed[0])}")
    with contract(name, "the number of threads changes no bit"):
        (begin, parts), (begin_of_many, parts_of_many) = (_core.argmax_all(problem, w, threads) for threads in (1, 3))
        require_bits("argmax", begin, begin_of_many)
        require_bits("argmax", parts, parts_of_many)
        if "logsum" in problem.offers:
            for one, many in zip(_marginals(problem, w, 1), _marginals(problem, w, 3), strict=True):
                require_bits("a marginal", one, many)
    if "logsum" in problem.offers:
        with contract(name, "present returns the marginals of every example"):
            begin, mu = _marginals(problem, w, 1)
            require(len(bound.present(begin, mu)) == len(case), f"there are not {len(case)} of them")


def _marginals(problem: _core.Problem, w: Array, threads: int) -> tuple[Any, Any]:
    begin, _, mu = _core.marginals_all(problem, w, 1.0, threads)
    return begin, mu


def _check_unlabeled(name: str, bound: BoundProblem[Any, Any], feature_map: FeatureMap[Any, Any], X: Any) -> None:
    """Examples without outputs have the same predictions."""
    with contract(name, "examples without outputs are bound alike"):
        new = bind(bound.structure, feature_map, Examples(X), outputs=bound.outputs)
        require(not new.problem.has_gold, "it has gold outputs")
        w = np.linspace(-1.0, 1.0, new.problem.dim)
        require_same("the best outputs", new.best(w, 1), bound.best(w, 1))


def check_learning(structure: Structure[Any, Any], Y: Sequence[Any]) -> None:
    """Check that what a structure learns from shards of the outputs is what it learns from all of them.

    Parameters
    ----------
    structure : the structure.
    Y : outputs of some examples.
    """
    name = type(structure).__name__
    with contract(name, "learn says what outputs have in common"):
        whole = structure.learn(Y)
    check_stored(whole)
    for cut in range(1, len(Y)):
        with contract(name, "shards merge to what all outputs have in common", f"shards of {cut} and {len(Y) - cut}"):
            require_stored("what they have in common", structure.learn(Y[:cut]).merge(structure.learn(Y[cut:])), whole)
    if len(Y) > 2:
        with contract(name, "merging is associative", "shards of 1, 1 and the rest"):
            first, second, rest = (structure.learn(shard) for shard in (Y[:1], Y[1:2], Y[2:]))
            one, other = first.merge(second).merge(rest), first.merge(second.merge(rest))
            require_stored("what they have in common", one, other)


def check_stored(value: Stored) -> None:
    """Check that an object survives a model file.

    Parameters
    ----------
    value : a structure, learner, loss, features, or anything else that model files contain.
    """
    with contract(value, "a model file can store it"):
        again = unpacked(value)
        require(type(again) is type(value), f"it comes back as a {type(again).__name__}")
        require_stored("what comes back", again, value)


def require_stored(what: str, actual: Stored, expected: Stored) -> None:
    """Refuse objects that a model file would store differently."""
    (found, arrays), (wanted, others) = packed(actual), packed(expected)
    if found != wanted:
        raise AssertionError(f"{what} is {quoted(actual)}, and should be {quoted(expected)}")
    require(arrays.keys() == others.keys(), f"{what} has the arrays {sorted(arrays)}, and should have {sorted(others)}")
    for place, array in arrays.items():
        require_bits(f"the array {place}", array, others[place])


def unpacked(value: Stored) -> Any:
    """The object that a model file gives back."""
    stored, arrays = packed(value)
    return unpack(json.loads(json.dumps(stored)), arrays)


def packed(value: Stored) -> tuple[Any, Arrays]:
    """What a model file stores of an object: values of JSON, and arrays."""
    arrays: Arrays = {}
    return pack(value, arrays, "value"), arrays
