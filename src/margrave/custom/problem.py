"""Problems that users describe by functions: a joint feature map, a cost and an argmax (003, section 3.2).

Such a problem can only be asked for its best outputs at weights, while learners work with parts. Each distinct output
seen so far is one part; the list grows during training. `infer` asks the user's functions at the weights that a learner
names, adds the outputs that are new to the list, and returns the scores of all of them with the answer.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from numbers import Real
from threading import RLock
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, whole
from margrave.custom.outputs import GOLD, Row, SeenOutputs, Weights, output_key, sparse_entries, sum_of_rows
from margrave.errors import MargraveError, quoted

_FEWEST = 32  # the smallest number of outputs to make room for
_ROUNDING = 1e-8  # Scores that differ by less, relative to their size, do not prove that an argmax is wrong.
_TIE = 1e-12  # Between two outputs whose scores differ by less, the argmax has the choice.

_UNDER_WEIGHTS = (
    "a CustomProblem finds the best output under weights, with its own cost or without, and not under other scores: "
    "use learner='bcfw', margin re-scaling, linear slack, and a cost with gamma in it, or give most_violated for other "
    "re-scalings and slacks."
)


class CustomProblem(_core.Problem):
    """Examples X with right outputs Y, for all learners that need only the best outputs at their weights.

    Parameters
    ----------
    X, Y : sequences of inputs and of right outputs
        Outputs must be hashable, or arrays.
    joint_feature : function (x, y)
        The features of output y for input x: a dense vector, a sparse row of scipy, or a dictionary from index to
        value. None with `joint_kernel`.
    cost : function (y, other)
        What it costs to predict the other output; 0 for y itself, and never negative.
    argmax : function (x, w) and (x, w, y)
        The output with the highest score <w, joint_feature(x, .)>; with y, the one with the highest score plus
        cost(y, .).
    joint_kernel : function (x, y, x', y'), optional
        The inner products of features. Weights are then coefficients, one for every output of every
        example that there is room for, and your functions get a function in place of w: with joint_kernel,
        `argmax(x, score, y=None)`, where `score(y)` is the score of output y; the same for kbest and most_violated.
    kbest : function (x, w, k) and (x, w, k, y), optional
        The k best outputs, best first, for learners 'kbest-mira' and 'lp', zero-one costs, and a hard margin.
    logsum : function (x, w), optional
        The log of the sum of exp(score) over all outputs, and the expected joint feature, for loss Log with learner
        'lbfgs', 'cg', 'sgd' or 'mira'.
    most_violated : function (x, w, y, rescale, slack), optional
        The output that maximizes H(other), for losses with slack re-scaling or quadratic slack. With
        m(other) = <w, joint_feature(x, y) - joint_feature(x, other)> and r the cost, or its square root where slack is
        2, H(other) is r - m for rescale "margin" and r (1 - m) for "slack". If given, it is also called in place of
        argmax(x, w, y), with ("margin", 1).
    dim : int, optional
        The number of weights, which only dictionaries leave open.
    outputs : int
        The number of different outputs of an example that there is room for.
    exact : bool
        False if argmax, kbest or most_violated may miss the best output. Learners then use the best output that they
        know, whether it was just returned or remembered from an earlier call, and certificates are approximate. If
        True, an output that was seen before and is better than what was returned is an error.

    Functions are called one at a time, from any thread.

    >>> def feature(x, y):
    ...     return np.outer(np.eye(3)[y], x).ravel()
    >>> def argmax(x, w, y=None):
    ...     return int(np.argmax(w.reshape(3, 2) @ x + (0 if y is None else np.arange(3) != y)))
    >>> problem = CustomProblem(np.eye(2), [2, 1], feature, lambda y, other: float(y != other), argmax)
    >>> problem.size, problem.dim, problem.offers
    (2, 6, ['argmax'])
    """

    any_scores = False  # inference under weights only, not under other scores of parts
    _of_kernel = False
    _kernel_class: ClassVar[type["CustomProblem"]]  # which says so itself when it is defined

    def __init_subclass__(cls, *, of_kernel: bool = False, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if of_kernel:
            cls._of_kernel, CustomProblem._kernel_class = True, cls

    def __new__(cls, *args: Any, **settings: Any) -> "CustomProblem":
        """A KernelProblem if there is a kernel, which has an inner product of its own."""
        if cls is CustomProblem and settings.get("joint_kernel") is not None:
            return super().__new__(cls._kernel_class)
        return super().__new__(cls)

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
        most_violated: Callable[[Any, Any, Any, str, int], Any] | None = None,
        dim: int | None = None,
        outputs: int = 1000,
        exact: bool = True,
    ) -> None:
        if len(X) != len(Y):
            raise MargraveError(f"there are {len(X)} inputs and {len(Y)} outputs.")
        if not len(X):
            raise MargraveError("there are no examples.")
        if (joint_feature is None) == (joint_kernel is None):
            number = "neither" if joint_kernel is None else "both"
            raise MargraveError(f"either joint_feature or joint_kernel must be given, and {number} of them is.")
        if joint_kernel is not None:
            if not self._of_kernel:  # a subclass of the user's
                raise MargraveError(f"joint_kernel is for CustomProblem itself, and {type(self).__name__} is another.")
            if logsum is not None or dim is not None:
                raise MargraveError(f"{'dim' if logsum is None else 'logsum'} cannot be given with joint_kernel.")
        self._X, self._Y = X, Y
        self._joint_feature, self._joint_kernel, self._cost = joint_feature, joint_kernel, cost
        self._argmax, self._kbest, self._logsum, self._most_violated = argmax, kbest, logsum, most_violated
        self._room = whole("the number of outputs", outputs, _FEWEST, 10**6)
        self._dim = None if dim is None else whole("dim", dim, 1, 2**31)
        if joint_kernel is not None:
            self._dim = len(X) * self._room
        self._lock = RLock()
        first = self._feature(0, Y[0], GOLD)
        assert self._dim is not None
        super().__init__(len(X), self._dim)
        self.exact = flag("exact", exact)
        self._seen = [SeenOutputs(self._room) for _ in range(len(X))]
        for i, seen in enumerate(self._seen):
            y = Y[i]
            cost_of_gold = self._checked_cost(i, y)
            if cost_of_gold != 0:
                raise MargraveError(
                    f"the cost of the right output of example {i} must be 0, and it is {cost_of_gold:g}."
                )
            seen.add(GOLD, output_key(i, y), y, self._feature(i, y, GOLD) if i else first, 0.0)

    # ---- what users ask

    def predict(self, X: Iterable[Any], w: Any) -> list[Any]:
        """The best output of each input."""
        w = np.asarray(w, dtype=np.float64)
        if w.shape != (self.dim,):
            raise MargraveError(f"w must have {self.dim} weights, and its shape is {w.shape}.")
        w = _read_only(w)
        return [call_function("argmax", f"input {i}", self._argmax, x, self._scorer(i, x, w)) for i, x in enumerate(X)]

    def output(self, i: int, part: int) -> Any:
        """The output that is this part of example i."""
        if not (0 <= part < self._room and self._seen[i].used[part]):
            raise MargraveError(f"part {part} of example {i} is no output that was seen.")
        return self._seen[i].ys[part]

    # ---- what learners ask

    @property
    def offers(self) -> list[str]:
        """What it can do beyond scoring."""
        given = {
            "argmax": self._argmax,
            "logsum": self._logsum,
            "kbest": self._kbest,
            "most_violated": self._most_violated,
        }
        return [name for name, function in given.items() if function is not None]

    @property
    def remembers(self) -> bool:
        """Whether an answer may be better than an earlier one at the same weights, because more outputs are known."""
        return not self.exact

    def parts(self, i: int) -> int:
        """The number of outputs that there is room for, seen or not."""
        return self._room

    def gold(self, i: int, k: int = 0) -> NDArray[np.int32]:
        """The part that is the right output, of which there is one."""
        return _part(GOLD)

    def cost(self, i: int) -> tuple[Weights, float]:
        """The cost of every output that was seen."""
        return self._seen[i].cost.copy(), 0.0

    def radius(self, i: int) -> float:
        """The largest distance between the features of two outputs that were seen so far; more may come."""
        rows = np.zeros((len(self._seen[i].rows), self.dim))
        for row, (index, value) in zip(rows, self._seen[i].rows.values(), strict=True):
            row[index] = value
        gram = rows @ rows.T
        squares = gram.diagonal()
        return float(np.sqrt(max(0.0, (squares[:, None] + squares[None, :] - 2 * gram).max())))

    def row(self, i: int, v: Weights) -> Row:
        """The sum of the features of the outputs, each times its entry of v."""
        with self._lock:
            seen, v = self._seen[i], np.asarray(v)
            if (v == 1).all():  # This asks only which features there are.
                v = np.where(seen.used, v, 0.0)
            parts = np.flatnonzero(v)
            unseen = parts[~seen.used[parts]]
            if len(unseen):
                raise MargraveError(
                    f"part {unseen[0]} of example {i} is no output that was seen: a learner that keeps distributions, "
                    "or that goes on from a checkpoint with outputs, cannot work on a CustomProblem."
                )
            seen.held[parts] = True
            return sum_of_rows([seen.rows[part] for part in parts.tolist()], v[parts])

    def score(self, i: int, w: Weights) -> Weights:
        """The scores of the outputs that were seen; -inf for parts that are no output yet."""
        with self._lock:
            return self._scores(_point(i, w, 1.0))

    def infer(self, i: int, w: Weights, question: _core.Question) -> tuple[Weights, Any]:
        """The scores of the outputs that were seen, and the answer of the user's functions to the question.

        The answer consists of pairs (value, parts), best first; to 'logsum', of the log partition function and the
        expected features (indices and values).
        """
        with self._lock:
            at = _point(i, w, question.scale)
            self._seen[i].forget()
            if question.kind == "logsum":
                return self._scores(at), self._expected(at, question)
            slots = self._slots(at, question)
            scores = self._scores(at)
            values = self._values(i, scores, question)
            return scores, [(float(values[slot]), _part(slot)) for slot in self._best(i, values, slots, question)]

    def argmax(self, i: int, theta: Weights) -> NoReturn:
        """Refused: inference is possible under weights only."""
        raise MargraveError(_UNDER_WEIGHTS)

    def kbest(self, i: int, theta: Weights, k: int) -> NoReturn:
        """Refused: inference is possible under weights only."""
        raise MargraveError(_UNDER_WEIGHTS)

    def logsum(self, i: int, theta: Weights) -> NoReturn:
        """Refused: inference is possible under weights only."""
        raise MargraveError(_UNDER_WEIGHTS)

    # ---- how it is answered

    def _slots(self, at: "Point", question: _core.Question) -> list[int]:
        """The parts that the user's function returns; outputs that are new join the list."""
        if question.gamma not in (0.0, 1.0) or (question.zero_one and question.gamma):
            raise MargraveError(_UNDER_WEIGHTS)
        name, i, x, w = self._asked(question), at.i, self._X[at.i], self._scorer_at(at)
        gold = (self._Y[i],) if question.gamma else ()
        if name == "most_violated":
            assert self._most_violated is not None
            ys = [self._call(name, i, self._most_violated, x, w, self._Y[i], question.rescale, question.slack)]
        elif name == "argmax":
            ys = [self._call(name, i, self._argmax, x, w, *gold)]
        elif self._kbest is None:
            raise MargraveError("this problem offers no kbest.")
        else:
            ys = self._call(name, i, _listed, self._kbest, x, w, question.k, *gold)[: question.k]
            if not ys:
                raise MargraveError(f"kbest of example {i} returned no output.")
        return [self._slot(i, y) for y in ys]

    def _asked(self, question: _core.Question) -> str:
        """The function that answers the question."""
        if question.kind == "kbest" and question.k > 1:
            return "kbest"
        if question.kind == "most_violated" or (question.gamma and self._most_violated is not None):
            return "most_violated"
        return "argmax"

    def _values(self, i: int, scores: Weights, question: _core.Question) -> Weights:
        """What the outputs are ranked by: scores with costs, or H; -inf for parts that are no output yet."""
        cost = self._seen[i].cost
        if question.kind != "most_violated":
            return scores + question.gamma * cost
        used = self._seen[i].used
        values = np.full(self._room, -inf)
        m = scores[GOLD] - scores[used]
        root = np.sqrt(cost[used]) if question.slack == 2 else cost[used]
        values[used] = root * (1 - m) if question.rescale == "slack" else root - m
        return values

    def _best(self, i: int, values: Weights, slots: list[int], question: _core.Question) -> list[int]:
        """The parts to answer with: those returned, unless better outputs are remembered."""
        name = self._asked(question)
        if self.exact:
            self._check_best(i, values, slots, question)
        elif name == "kbest":
            known = dict.fromkeys([*slots, *np.flatnonzero(values > -inf).tolist()])
            return sorted(known, key=lambda slot: -values[slot])[: question.k]
        top = int(values.argmax())
        if name != "kbest" and values[top] > values[slots[0]] + _TIE * (1 + abs(values[top])):
            return [top]  # An exact argmax may miss it by rounding only.
        return slots

    def _expected(self, at: "Point", question: _core.Question) -> tuple[float, NDArray[np.int64], Weights]:
        """The log partition function and the expected features at beta times the weights."""
        if question.gamma:
            raise MargraveError("the logsum of a CustomProblem has no costs in it: use loss Log().")
        if self._logsum is None:
            raise MargraveError("this problem offers no logsum.")
        i = at.i
        result = self._call("logsum", i, self._logsum, self._X[i], _read_only(question.beta * at.w))
        if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], Real)):
            raise MargraveError(f"logsum of example {i} must return a number and the expected joint feature.")
        value, best = float(result[0]), question.beta * float(self._scores(at).max())
        if not value >= best - _ROUNDING * (1 + abs(best)) or value == inf:
            raise MargraveError(f"logsum of example {i} returned {value:.6g}, and a single output scores {best:.6g}.")
        return value, *self._checked_row("the expected joint feature", i, result[1])

    def _scores(self, at: "Point") -> Weights:
        return self._seen[at.i].scores(at.w)

    def _scorer(self, i: int, x: Any, w: Weights) -> Any:
        """What the user's functions get for the scores of input x: the weights, where there are features."""
        return w

    def _scorer_at(self, at: "Point") -> Any:
        """The same for a training example."""
        return at.w

    def _call(self, name: str, i: int, function: Callable[..., Any], *args: Any) -> Any:
        return call_function(name, f"example {i}", function, *args)

    def _check_best(self, i: int, values: Weights, slots: list[int], question: _core.Question) -> None:
        """Refuses outputs that are not the best of those that are known."""
        name = self._asked(question)
        k = question.k if name == "kbest" else 1
        near = _ROUNDING * (1 + np.abs(values[values > -inf]).max())
        found, others = values[slots], values.copy()
        others[slots] = -inf
        if len(set(slots)) < len(slots):
            raise MargraveError(f"kbest of example {i} returned an output twice.")
        if (np.diff(found) > near).any():
            raise MargraveError(
                f"kbest of example {i} returned outputs that are not in the order of their scores; pass exact=False if "
                "your kbest is approximate."
            )
        better = int(others.argmax())
        worst = float(found[-1]) if len(slots) == k else -inf
        if others[better] > worst + near:
            ranks = "has H =" if question.kind == "most_violated" else "scores"
            other = "the right one" if better == GOLD else "one that it returned before"
            fault = f"an output that {ranks} {worst:.6g}" if len(slots) == k else f"only {len(slots)} outputs"
            rule = f"the {k} best" if name == "kbest" else "the best"
            raise MargraveError(
                f"{name} of example {i} returned {fault}, and {other} {ranks} {others[better]:.6g}: it must return "
                f"{rule}; pass exact=False if your {name} is approximate."
            )

    def _slot(self, i: int, y: Any) -> int:
        """The part that this output is, a new one if need be."""
        seen, key = self._seen[i], output_key(i, y)
        if key in seen.slots:
            return seen.slots[key]
        free = np.flatnonzero(~seen.used)
        if not len(free):
            raise MargraveError(
                f"example {i} has had more than {self._room} different outputs: make room for more of them with "
                f"outputs={10 * self._room}."
            )
        slot = int(free[0])
        seen.add(slot, key, y, self._feature(i, y, slot), self._checked_cost(i, y))
        return slot

    def _feature(self, i: int, y: Any, slot: int) -> Row:
        assert self._joint_feature is not None
        vector = self._call("joint_feature", i, self._joint_feature, self._X[i], y)
        return self._checked_row("joint_feature", i, vector)

    def _checked_row(self, name: str, i: int, vector: Any) -> Row:
        what = f"{name} of example {i}"
        index, value, length = sparse_entries(vector, what)
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
        cost = self._call("cost", i, self._cost, self._Y[i], y)
        try:
            number = float(cost)
        except (TypeError, ValueError):
            raise MargraveError(
                f"the cost of an output of example {i} must be a number, and it is {quoted(cost)}."
            ) from None
        if not isfinite(number) or number < 0:
            raise MargraveError(
                f"the cost of an output of example {i} must be finite and not negative, and it is {number:g}."
            )
        return number


@dataclass
class Point:
    """An example, and the weights at which a question about it is asked."""

    i: int
    w: Weights
    coefficients: tuple[NDArray[np.int64], Weights] | None = None  # with a kernel: those that are not 0


def _point(i: int, w: Weights, scale: float) -> Point:
    if not np.isfinite(w).all():
        raise MargraveError("the weights have grown beyond all numbers: scale the features, or lower C.")
    return Point(i, _read_only(w if scale == 1 else scale * w))


def call_function(name: str, where: str, function: Callable[..., Any], *args: Any) -> Any:
    """What a function of the user's returns; its exceptions name the function and the example."""
    try:
        return function(*args)
    except MargraveError:  # from joint_kernel, which an argmax called by asking for a score
        raise
    except Exception as error:
        raise MargraveError(f"{name} failed on {where}: {type(error).__name__}: {error}") from error


def _listed(function: Callable[..., Iterable[Any]], *args: Any) -> list[Any]:
    return list(function(*args))


def _part(k: int) -> NDArray[np.int32]:
    return np.array([k], np.int32)


def _read_only(w: Any) -> Weights:
    view = np.asarray(w, dtype=np.float64).view()
    view.flags.writeable = False
    return view
