"""A problem of one's own: a joint feature map, a cost and an argmax are all that it takes (003, section 3.2).

Inference here knows weights, not parts, while learners speak of parts. So the parts of an example are the outputs that
it has been seen to have, a part an output, and there come to be more of them as the argmax returns new ones. It is
asked at the weights that a learner has just scored: the best output is then among the parts, and so are its score and
its cost.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite
from numbers import Integral, Real
from threading import RLock, get_ident
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import whole
from margrave.errors import MargraveError

Weights = NDArray[np.float64]
_Row = tuple[NDArray[np.int64], Weights]  # indices in order, without repeats, and values

_GOLD = 0  # the part that is the right output
# Parts that are no outputs. Two of them tell what is asked, at scores theta = scale A_i w + gamma delta:
_GAMMA = 1  # its score is 0 and its cost 1
_SCALE = 2  # its score is 1 and its cost 0
_MEAN = 3  # the mixture of all outputs at the weights last scored, where there is a logsum
_RESERVED = 4

_FEWEST = 32  # outputs to make room for
_SPARE = 8  # outputs that no learner took into its weights, and that are remembered all the same
_ROUNDING = 1e-8  # of scores: less is no proof that an argmax is wrong
_TIE = 1e-12  # of scores: of two outputs this near the argmax has the choice


class CustomProblem(_core.Problem):
    """Examples X with right outputs Y, for all learners that need no more than the best output at their weights.

    `joint_feature(x, y)` gives a dense vector, a sparse row of scipy, or a dictionary from index to value; `cost(y,
    other)` what it costs to predict the other one, 0 for y itself; `argmax(x, w)` the output with the highest score
    <w, joint_feature(x, .)>, and `argmax(x, w, y)` that with the highest score plus cost(y, .). If given,
    `kbest(x, w, k)` and `kbest(x, w, k, y)` return the k best, best first (learner 'kbest-mira', or a hard margin), and
    `logsum(x, w)` the log of the sum of exp(score) over all outputs and the expected joint feature (loss Log with
    learner 'lbfgs', 'cg', 'sgd' or 'mira'). `dim` is the number of weights, which only dictionaries leave open. Outputs
    must be hashable, or arrays. There is room for `outputs` different ones of an example.

    In place of joint_feature, which is None then, `joint_kernel(x, y, x', y')` may give the inner products of features
    (003, section 2). Weights are then coefficients, one for every output of every example that there is room for, and
    functions get a function in place of w: with joint_kernel, `argmax(x, score, y=None)` and `kbest(x, score, k,
    y=None)`, where `score(y)` is the score of output y.

    Functions are called one at a time, from any thread. A certificate is as good as the argmax: one that misses the
    best output makes P too low; it is found out when an output seen before scores higher.

    >>> def feature(x, y):
    ...     return np.outer(np.eye(3)[y], x).ravel()
    >>> def argmax(x, w, y=None):
    ...     return int(np.argmax(w.reshape(3, 2) @ x + (0 if y is None else np.arange(3) != y)))
    >>> problem = CustomProblem(np.eye(2), [2, 1], feature, lambda y, other: float(y != other), argmax)
    >>> problem.size, problem.dim, problem.offers
    (2, 6, ['argmax'])
    """

    any_scores = False  # inference knows scores under weights, and no others

    def __new__(cls, *args: Any, **settings: Any) -> "CustomProblem":
        """Of a kernel, if there is one: only then are steps to be measured by an inner product of its own."""
        of_kernel = cls is CustomProblem and settings.get("joint_kernel") is not None
        return super().__new__(_KernelProblem if of_kernel else cls)

    def __init__(
        self,
        X: Sequence[Any],
        Y: Sequence[Any],
        joint_feature: Callable[[Any, Any], Any] | None,
        cost: Callable[[Any, Any], float],
        argmax: Callable[..., Any],
        *,
        joint_kernel: Callable[[Any, Any, Any, Any], float] | None = None,
        kbest: Callable[..., Iterable[Any]] | None = None,
        logsum: Callable[[Any, Any], tuple[float, Any]] | None = None,
        dim: int | None = None,
        outputs: int = 1000,
    ) -> None:
        if len(X) != len(Y):
            raise MargraveError(f"there are {len(X)} inputs and {len(Y)} outputs.")
        if not len(X):
            raise MargraveError("there are no examples.")
        if (joint_feature is None) == (joint_kernel is None):
            number = "neither" if joint_kernel is None else "both"
            raise MargraveError(f"either joint_feature or joint_kernel must be given, and {number} of them is.")
        if joint_kernel is not None:
            if not isinstance(self, _KernelProblem):
                raise MargraveError(f"joint_kernel is for CustomProblem itself, and {type(self).__name__} is another.")
            if logsum is not None or dim is not None:
                raise MargraveError(f"{'dim' if logsum is None else 'logsum'} cannot be given with joint_kernel.")
        self._X, self._Y = X, Y
        self._joint_feature, self._joint_kernel, self._cost = joint_feature, joint_kernel, cost
        self._argmax, self._kbest, self._logsum = argmax, kbest, logsum
        self._outputs = whole("the number of outputs", outputs, _FEWEST, 10**6)
        self._room = _RESERVED - 1 + self._outputs
        self._dim = None if dim is None else whole("dim", dim, 1, 2**31)
        if joint_kernel is not None:
            self._dim = len(X) * self._room
        self._lock = RLock()
        self._visits: dict[int, _Visit] = {}  # what each thread scored last
        first = self._feature(0, Y[0], _GOLD)
        assert self._dim is not None
        super().__init__(len(X), self._dim)
        self._seen = [_Seen(self._room) for _ in range(len(X))]
        for i, seen in enumerate(self._seen):
            y = Y[i]
            cost_of_gold = self._checked_cost(i, y)
            if cost_of_gold != 0:
                raise MargraveError(
                    f"the cost of the right output of example {i} must be 0, and it is {cost_of_gold:g}."
                )
            seen.add(_GOLD, _key(i, y), y, self._feature(i, y, _GOLD) if i else first, 0.0)

    # ---- what users ask

    def predict(self, X: Iterable[Any], w: Any) -> list[Any]:
        """The best output of each input."""
        w = np.asarray(w, dtype=np.float64)
        if w.shape != (self.dim,):
            raise MargraveError(f"w must have {self.dim} weights, and its shape is {w.shape}.")
        w = _read_only(w)
        return [_call("argmax", f"input {i}", self._argmax, x, self._scorer(i, x, w)) for i, x in enumerate(X)]

    def output(self, i: int, part: int) -> Any:
        """The output that is this part of example i."""
        if not (0 <= part < self._room and self._seen[i].used[part]):
            raise MargraveError(f"part {part} of example {i} is no output that was seen.")
        return self._seen[i].ys[part]

    # ---- what learners ask

    @property
    def offers(self) -> list[str]:
        """What it can do beyond scoring."""
        given = {"argmax": self._argmax, "logsum": self._logsum, "kbest": self._kbest}
        return [name for name, function in given.items() if function is not None]

    def parts(self, i: int) -> int:
        """The outputs that there is room for, seen or not."""
        return self._room

    def gold(self, i: int, k: int = 0) -> NDArray[np.int32]:
        """The part that is the right output, of which there is one."""
        return _part(_GOLD)

    def cost(self, i: int) -> tuple[Weights, float]:
        """The cost of every output that was seen."""
        return self._seen[i].cost.copy(), 0.0

    def radius(self, i: int) -> float:
        """The largest distance of the features of two outputs, over those seen so far: more may come."""
        rows = np.zeros((len(self._seen[i].rows), self.dim))
        for row, (index, value) in zip(rows, self._seen[i].rows.values(), strict=True):
            row[index] = value
        gram = rows @ rows.T
        squares = gram.diagonal()
        return float(np.sqrt(max(0.0, (squares[:, None] + squares[None, :] - 2 * gram).max())))

    def row(self, i: int, v: Weights) -> _Row:
        """The features of outputs, each times its entry of v."""
        with self._lock:
            seen, visit, v = self._seen[i], self._visits.get(get_ident()), np.asarray(v)
            if (v == 1).all():  # which only asks what features there are
                v = np.where(seen.used, v, 0.0)
            parts = np.flatnonzero(v)
            rows: list[_Row] = []
            for k in map(int, parts):
                if seen.used[k]:
                    rows.append(seen.rows[k])
                elif k == _MEAN and visit is not None and visit.i == i:
                    rows.append(visit.mean)
                else:
                    raise MargraveError(
                        f"part {k} of example {i} is no output that was seen: a learner that keeps distributions, or "
                        "that goes on from a checkpoint with outputs, cannot work on a CustomProblem."
                    )
            seen.held[parts] = True
            return _sum_of_rows(rows, v[parts])

    def score(self, i: int, w: Weights) -> Weights:
        """The scores of the outputs seen; -inf where there is none yet."""
        with self._lock:
            return self._scored(self._begin(i, w))

    def visit(self, i: int, w: Weights, gamma: float, k: int) -> Weights:
        """The same, after asking for what a learner goes on to step along."""
        with self._lock:
            visit = self._begin(i, w)
            if k:
                self._search(visit, gamma, 1.0, k)
            else:
                self._average(visit, 1.0)
            return self._scored(visit)

    def argmax(self, i: int, theta: Weights) -> tuple[float, NDArray[np.int32]]:
        """The best output under the weights last scored, with costs if theta has them."""
        value, y = self._best(i, theta, 1)[0]
        return value, y

    def kbest(self, i: int, theta: Weights, k: int) -> list[tuple[float, NDArray[np.int32]]]:
        """The k best outputs, best first."""
        return self._best(i, theta, k)

    def logsum(self, i: int, theta: Weights) -> tuple[float, Weights]:
        """The log partition function, and all of the mass on the mixture of all outputs."""
        with self._lock:
            visit, gamma, scale = self._question(i, theta)
            if gamma != 0:
                raise MargraveError("the logsum of a CustomProblem has no costs in it: use loss Log().")
            if scale not in visit.logsum:
                self._average(visit, scale)
            marginals = np.zeros(self._room)
            marginals[_MEAN] = 1
            return visit.logsum[scale], marginals

    # ---- the way there

    def _begin(self, i: int, w: Weights) -> "_Visit":
        if not np.isfinite(w).all():
            raise MargraveError("the weights have grown beyond all numbers: scale the features, or lower C.")
        self._seen[i].forget()
        visit = self._visits[get_ident()] = _Visit(i, _read_only(w))
        return visit

    def _scored(self, visit: "_Visit") -> Weights:
        index, value = visit.mean
        scores = self._scores(visit)
        scores[[_GAMMA, _SCALE, _MEAN]] = 0.0, 1.0, visit.w[index] @ value
        visit.scores = scores
        return scores.copy()

    def _question(self, i: int, theta: Weights) -> "tuple[_Visit, float, float]":
        """The visit that a question belongs to, and its gamma and scale."""
        visit = self._visits.get(get_ident())
        if visit is None or visit.i != i:
            raise MargraveError(f"example {i} must be scored before its best output is asked for: call score(i, w).")
        theta, cost = np.asarray(theta), self._seen[i].cost
        gamma, scale = float(theta[_GAMMA]), float(theta[_SCALE])
        known = visit.scores > -inf
        known[_MEAN] = False
        expected = scale * visit.scores[known] + gamma * cost[known]
        near = _ROUNDING * (1 + np.abs(expected).max())
        if gamma not in (0.0, 1.0) or not scale > 0 or not (np.abs(theta[known] - expected) <= near).all():
            raise MargraveError(
                "a CustomProblem finds the best output under weights, with its own cost or without, and not under "
                "other scores: use learner='bcfw', margin re-scaling, linear slack, and a cost with gamma in it."
            )
        return visit, gamma, scale

    def _best(self, i: int, theta: Weights, k: int) -> list[tuple[float, NDArray[np.int32]]]:
        with self._lock:
            visit, gamma, scale = self._question(i, theta)
            if (gamma, scale, k) not in visit.found:
                self._search(visit, gamma, scale, k)
            values = self._values(visit, gamma, scale)
            return [(float(values[slot]), _part(slot)) for slot in visit.found[gamma, scale, k]]

    def _values(self, visit: "_Visit", gamma: float, scale: float) -> Weights:
        return scale * self._scores(visit) + gamma * self._seen[visit.i].cost

    def _scores(self, visit: "_Visit") -> Weights:
        return self._seen[visit.i].scores(visit.w)

    def _scorer(self, i: int, x: Any, w: Weights) -> Any:
        """What an argmax knows scores by: weights, where there are features."""
        return w

    def _scorer_of(self, visit: "_Visit", scale: float) -> Any:
        return _read_only(scale * visit.w)

    def _search(self, visit: "_Visit", gamma: float, scale: float, k: int) -> None:
        """Asks for the k best outputs, and takes those that are new into the list."""
        i, where, w = visit.i, f"example {visit.i}", self._scorer_of(visit, scale)
        gold = (self._Y[i],) if gamma else ()
        name = "argmax" if k == 1 else "kbest"
        if k == 1:
            ys = [_call(name, where, self._argmax, self._X[i], w, *gold)]
        elif self._kbest is None:
            raise MargraveError("this problem offers no kbest.")
        else:
            ys = _call(name, where, _listed, self._kbest, self._X[i], w, k, *gold)
            if not ys:
                raise MargraveError(f"kbest of {where} returned no output.")
        slots = [self._slot(i, y) for y in ys[:k]]
        values = self._values(visit, gamma, scale)
        self._check_best(i, name, values, slots, k)
        top = int(values.argmax())
        if k == 1 and values[top] > values[slots[0]] + _TIE * (1 + abs(values[top])):
            slots = [top]  # by less than an argmax may round
        visit.found[gamma, scale, k] = slots

    def _average(self, visit: "_Visit", scale: float) -> None:
        """Asks for the log partition function and the mixture of all outputs."""
        i, where = visit.i, f"example {visit.i}"
        if self._logsum is None:
            raise MargraveError("this problem offers no logsum.")
        result = _call("logsum", where, self._logsum, self._X[i], _read_only(scale * visit.w))
        if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], Real)):
            raise MargraveError(f"logsum of {where} must return a number and the expected joint feature.")
        value, best = float(result[0]), float(self._values(visit, 0.0, scale).max())
        if not value >= best - _ROUNDING * (1 + abs(best)) or value == inf:
            raise MargraveError(f"logsum of {where} returned {value:.6g}, and a single output scores {best:.6g}.")
        visit.logsum[scale], visit.mean = value, self._checked_row("the expected joint feature", i, result[1])

    def _check_best(self, i: int, name: str, values: Weights, slots: list[int], k: int) -> None:
        """Refuses outputs that are not the best of those that are known."""
        near = _ROUNDING * (1 + np.abs(values[values > -inf]).max())
        found, others = values[slots], values.copy()
        others[slots] = -inf
        if len(set(slots)) < len(slots):
            raise MargraveError(f"kbest of example {i} returned an output twice.")
        if (np.diff(found) > near).any():
            raise MargraveError(f"kbest of example {i} returned outputs that are not in the order of their scores.")
        better = int(others.argmax())
        worst = float(found[-1]) if len(slots) == k else -inf
        if others[better] > worst + near:
            other = "the right one" if better == _GOLD else "one that it returned before"
            fault = f"an output that scores {worst:.6g}" if len(slots) == k else f"only {len(slots)} outputs"
            rule = "the best" if name == "argmax" else f"the {k} best"
            raise MargraveError(
                f"{name} of example {i} returned {fault}, and {other} scores {others[better]:.6g}: it must return "
                f"{rule}."
            )

    def _slot(self, i: int, y: Any) -> int:
        """The part that this output is, a new one if need be."""
        seen, key = self._seen[i], _key(i, y)
        if key in seen.slots:
            return seen.slots[key]
        free = _RESERVED + np.flatnonzero(~seen.used[_RESERVED:])
        if not len(free):
            raise MargraveError(
                f"example {i} has had more than {self._outputs} different outputs: make room for more of them with "
                f"outputs={10 * self._outputs}."
            )
        slot = int(free[0])
        seen.add(slot, key, y, self._feature(i, y, slot), self._checked_cost(i, y))
        return slot

    def _feature(self, i: int, y: Any, slot: int) -> _Row:
        assert self._joint_feature is not None
        vector = _call("joint_feature", f"example {i}", self._joint_feature, self._X[i], y)
        return self._checked_row("joint_feature", i, vector)

    def _checked_row(self, name: str, i: int, vector: Any) -> _Row:
        what = f"{name} of example {i}"
        index, value, length = _entries(vector, what)
        if self._dim is None:
            if length is None:
                raise MargraveError(f"{name} returns dictionaries, which leave the number of weights open: give dim.")
            self._dim = length
        if length is not None and length != self._dim:
            raise MargraveError(f"{what} has length {length}, and there are {self._dim} weights.")
        if len(index) and not 0 <= index[0] <= index[-1] < self._dim:
            wrong = index[0] if index[0] < 0 else index[-1]
            raise MargraveError(f"{what} has the index {wrong}, and there are {self._dim} weights.")
        bad = ~np.isfinite(value)
        if bad.any():
            raise MargraveError(f"{what} has the value {value[bad][0]} at index {index[bad][0]}.")
        return index, value

    def _checked_cost(self, i: int, y: Any) -> float:
        cost = _call("cost", f"example {i}", self._cost, self._Y[i], y)
        try:
            number = float(cost)
        except (TypeError, ValueError):
            raise MargraveError(f"the cost of an output of example {i} must be a number, and it is {cost!r}.") from None
        if not isfinite(number) or number < 0:
            raise MargraveError(
                f"the cost of an output of example {i} must be finite and not negative, and it is {number:g}."
            )
        return number


class _KernelProblem(CustomProblem):
    """One with a kernel: the weight of a part is its coefficient, and the feature of a part is its place in them."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        self._places: dict[int, int] = {}  # of coefficients that were not 0 once: their number
        self._support: list[tuple[int, int]] = []  # their examples and parts, by number
        self._gram = np.zeros((0, 0))  # the kernel of any two of them, NaN where nobody asked yet
        super().__init__(*args, **settings)
        # of each example, by output: the kernel with every one of them, NaN where nobody asked yet
        self._lines: list[dict[Any, Weights]] = [{} for _ in self._seen]

    @property
    def euclidean(self) -> bool:
        """Never: coefficients have the inner product of the kernel."""
        return False

    def radius(self, i: int) -> float:
        """The largest distance of two outputs, over those seen so far: more may come."""
        with self._lock:
            ys = self._seen[i].ys.values()
            gram = np.array([[self._kernel(f"example {i}", self._X[i], y, i, other) for other in ys] for y in ys])
            squares = gram.diagonal()
            return float(np.sqrt(max(0.0, (squares[:, None] + squares[None, :] - 2 * gram).max())))

    def dot(self, u: Weights, v: Weights) -> float:
        """u' K v over coefficients that are not 0."""
        with self._lock:
            (numbers, a), (others, b) = self._coefficients(u), self._coefficients(v)
            if len(self._gram) < len(self._support):
                known, size = len(self._gram), 2 * len(self._support)
                self._gram = np.pad(self._gram, (0, size - known), constant_values=np.nan)
            block = self._gram[np.ix_(numbers, others)]
            unknown = np.flatnonzero(np.isnan(block).any(axis=1))
            if len(unknown):
                for k in unknown.tolist():
                    i, slot = self._support[numbers[k]]
                    block[k] = self._line(i, self._seen[i].ys[slot], others)
                self._gram[np.ix_(numbers[unknown], others)] = block[unknown]
            return float(a @ block @ b)

    def _feature(self, i: int, y: Any, slot: int) -> _Row:
        return np.array([i * self._room + slot], np.int64), np.ones(1)

    def _scores(self, visit: "_Visit") -> Weights:
        numbers, values = self._held(visit)
        scores = np.full(self._room, -inf)
        for slot, y in self._seen[visit.i].ys.items():
            scores[slot] = self._line(visit.i, y, numbers) @ values
        return scores

    def _scorer(self, i: int, x: Any, w: Weights) -> Callable[[Any], float]:
        with self._lock:
            numbers, values = self._coefficients(w)

        def score(y: Any) -> float:
            parts = [self._support[number] for number in numbers.tolist()]
            line = [self._kernel(f"input {i}", x, y, j, self._seen[j].ys[slot]) for j, slot in parts]
            return float(np.array(line, dtype=np.float64) @ values)

        return score

    def _scorer_of(self, visit: "_Visit", scale: float) -> Callable[[Any], float]:
        numbers, values = self._held(visit)
        return lambda y: scale * float(self._line(visit.i, y, numbers) @ values)

    def _held(self, visit: "_Visit") -> tuple[NDArray[np.int64], Weights]:
        if visit.coefficients is None:
            visit.coefficients = self._coefficients(visit.w)
        return visit.coefficients

    def _coefficients(self, w: Weights) -> tuple[NDArray[np.int64], Weights]:
        """The numbers of the coefficients that are not 0, and their values; from now on nobody forgets their parts."""
        index = np.flatnonzero(w)
        for place in index.tolist():
            if place not in self._places:
                i, slot = divmod(place, self._room)
                if not self._seen[i].used[slot]:
                    raise MargraveError(
                        f"part {slot} of example {i} has a coefficient and is no output that was seen: weights of a "
                        "kernel are of use only to the CustomProblem that they were learned on."
                    )
                self._seen[i].held[slot] = True
                self._places[place] = len(self._support)
                self._support.append((i, slot))
        return np.array([self._places[place] for place in index.tolist()], np.int64), np.asarray(w)[index]

    def _line(self, i: int, y: Any, numbers: NDArray[np.int64]) -> Weights:
        """The kernel of an output, seen or not, with those of these numbers."""
        lines, key = self._lines[i], _key(i, y)
        line = lines.get(key)
        if line is None or len(line) < len(self._support):
            longer = np.full(2 * len(self._support), np.nan)
            if line is not None:
                longer[: len(line)] = line
            elif len(lines) >= self._outputs:  # an argmax may go through more than can be remembered
                del lines[next(iter(lines))]
            line = lines[key] = longer
        values: Weights = line[numbers]
        unknown = np.isnan(values)
        if unknown.any():
            for number in numbers[unknown].tolist():
                j, slot = self._support[number]
                value = self._mirrored(i, key, j, slot)
                if value is None:
                    value = self._kernel(f"example {i}", self._X[i], y, j, self._seen[j].ys[slot])
                line[number] = value
            values = line[numbers]
        return values

    def _mirrored(self, i: int, key: Any, j: int, slot: int) -> float | None:
        """The same with the two changed about, if it is known."""
        own = self._places.get(i * self._room + self._seen[i].slots.get(key, _GAMMA))  # which has no place
        line = self._lines[j].get(self._seen[j].keys[slot])
        if own is None or line is None or own >= len(line) or np.isnan(line[own]):
            return None
        return float(line[own])

    def _kernel(self, where: str, x: Any, y: Any, j: int, other: Any) -> float:
        assert self._joint_kernel is not None
        value = _call("joint_kernel", where, self._joint_kernel, x, y, self._X[j], other)
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise MargraveError(
                f"joint_kernel of {where} with example {j} must be a number, and it is {value!r}."
            ) from None
        if not isfinite(number):
            raise MargraveError(f"joint_kernel of {where} with example {j} must be finite, and it is {number:g}.")
        return number


_NOTHING: _Row = (np.zeros(0, np.int64), np.zeros(0))


@dataclass
class _Visit:
    """What a thread last scored, and what has been found out since."""

    i: int
    w: Weights
    coefficients: tuple[NDArray[np.int64], Weights] | None = None  # of a kernel: those in w that are not 0
    scores: Weights = field(default_factory=lambda: np.zeros(0))
    found: dict[tuple[float, float, int], list[int]] = field(default_factory=dict)  # best parts by gamma, scale, k
    logsum: dict[float, float] = field(default_factory=dict)  # by scale
    mean: _Row = _NOTHING  # the features of the mixture of all outputs, at the last of these


class _Seen:
    """The outputs of an example that were seen, with their features and costs."""

    def __init__(self, room: int) -> None:
        self.slots: dict[Any, int] = {}
        self.keys: dict[int, Any] = {}
        self.ys: dict[int, Any] = {}
        self.rows: dict[int, _Row] = {}
        self.cost = np.zeros(room)
        self.cost[_GAMMA] = 1.0
        self.used = np.zeros(room, bool)
        self.held = np.zeros(room, bool)  # a learner asked for the features: it may have kept the number of the part
        self._flat: tuple[NDArray[np.int64], NDArray[np.int64], Weights] | None = None  # all rows: slot, index, value

    def add(self, slot: int, key: Any, y: Any, row: _Row, cost: float) -> None:
        """Takes an output into the list; whoever returned an array may go on writing into it."""
        self.slots[key], self.keys[slot], self.rows[slot], self.cost[slot] = slot, key, row, cost
        self.ys[slot] = y.copy() if isinstance(y, np.ndarray) else y
        self.used[slot] = True
        self._flat = None

    def forget(self) -> None:
        """Drops the oldest of the outputs that nobody can refer to, but for a few."""
        spare = [slot for slot in self.ys if slot != _GOLD and not self.held[slot]]
        for slot in spare[: max(0, len(spare) - _SPARE)]:
            del self.slots[self.keys.pop(slot)], self.ys[slot], self.rows[slot]
            self.cost[slot], self.used[slot], self._flat = 0.0, False, None

    def scores(self, w: Weights) -> Weights:
        """<w, features> of each; -inf where there is none."""
        if self._flat is None:
            lengths = [len(index) for index, _ in self.rows.values()]
            self._flat = (
                np.repeat(list(self.rows), lengths),
                np.concatenate([index for index, _ in self.rows.values()]),
                np.concatenate([value for _, value in self.rows.values()]),
            )
        slot, index, value = self._flat
        scores = _sums(slot, value * w[index], len(self.used))
        scores[~self.used] = -inf
        return scores


def _call(name: str, where: str, function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except MargraveError:  # of joint_kernel, which an argmax asked for a score
        raise
    except Exception as error:
        raise MargraveError(f"{name} failed on {where}: {type(error).__name__}: {error}") from error


def _listed(function: Callable[..., Iterable[Any]], *args: Any) -> list[Any]:
    return list(function(*args))


def _key(i: int, y: Any) -> Any:
    """What tells an output from others; whole numbers are the same in every width."""
    if isinstance(y, np.ndarray) and y.dtype != object:
        same = y.astype(np.int64) if y.dtype.kind in "bui" else y
        return np.ndarray, y.shape, same.tobytes()
    try:
        hash(y)
    except TypeError:
        raise MargraveError(
            f"the output of example {i} cannot be hashed, being a {type(y).__name__}: it must be a tuple, a string, a "
            "number or an array."
        ) from None
    return y


def _entries(vector: Any, what: str) -> tuple[NDArray[np.int64], Weights, int | None]:
    """Indices in order, values, and the length where it has one."""
    length: int | None = None
    try:
        if isinstance(vector, Mapping):
            if not all(isinstance(k, Integral) for k in vector):
                raise TypeError
            index = np.fromiter(vector.keys(), np.int64, len(vector))
            value = np.fromiter(vector.values(), np.float64, len(vector))
        elif hasattr(vector, "tocoo"):
            entries = vector.tocoo()
            if entries.ndim == 2 and entries.shape[0] != 1:
                raise TypeError
            length = int(entries.shape[-1])
            index, value = np.asarray(entries.col, np.int64), np.asarray(entries.data, np.float64)
        else:
            dense = np.asarray(vector, dtype=np.float64)
            if dense.ndim != 1:
                raise TypeError
            length = len(dense)
            index = np.flatnonzero(dense)
            value = dense[index]
    except (TypeError, ValueError, OverflowError):
        shape = getattr(vector, "shape", None)
        found = f"a {type(vector).__name__}" + ("" if shape is None else f" of shape {shape}")
        raise MargraveError(
            f"{what} must be a vector of numbers, a sparse matrix of one row, or a dictionary from index to value, and "
            f"it is {found}."
        ) from None
    return *_sum_of_rows([(index, value)], np.ones(1)), length


def _sum_of_rows(rows: Sequence[_Row], factors: Weights) -> _Row:
    if not rows:
        return _NOTHING
    index, where = np.unique(np.concatenate([index for index, _ in rows]), return_inverse=True)
    value = np.concatenate([factor * value for (_, value), factor in zip(rows, factors, strict=True)])
    return index, _sums(where, value, len(index))


def _sums(where: NDArray[Any], value: Weights, n: int) -> Weights:
    sums: Weights = np.bincount(where, weights=value, minlength=n).astype(np.float64, copy=False)
    return sums


def _part(k: int) -> NDArray[np.int32]:
    return np.array([k], np.int32)


def _read_only(w: Any) -> Weights:
    view = np.asarray(w, dtype=np.float64).view()
    view.flags.writeable = False
    return view
