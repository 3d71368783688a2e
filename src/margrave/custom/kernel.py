"""Custom problems that are given by a joint kernel instead of joint features (003, section 2)."""

from collections.abc import Callable
from math import inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.custom.outputs import Row, Weights, output_key
from margrave.custom.problem import CustomProblem, Point, call_function
from margrave.errors import MargraveError, quoted


class KernelProblem(CustomProblem, of_kernel=True):
    """A weight is the coefficient of one part, and the only feature of a part is its place among the weights."""

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

    def _feature(self, i: int, y: Any, slot: int) -> Row:
        return np.array([i * self._room + slot], np.int64), np.ones(1)

    def _scores(self, at: Point) -> Weights:
        numbers, values = self._coefficients_at(at)
        scores = np.full(self._room, -inf)
        for slot, y in self._seen[at.i].ys.items():
            scores[slot] = self._line(at.i, y, numbers) @ values
        return scores

    def _scorer(self, i: int, x: Any, w: Weights) -> Callable[[Any], float]:
        with self._lock:
            numbers, values = self._coefficients(w)

        def score(y: Any) -> float:
            parts = [self._support[number] for number in numbers.tolist()]
            line = [self._kernel(f"input {i}", x, y, j, self._seen[j].ys[slot]) for j, slot in parts]
            return float(np.array(line, dtype=np.float64) @ values)

        return score

    def _scorer_at(self, at: Point) -> Callable[[Any], float]:
        numbers, values = self._coefficients_at(at)
        return lambda y: float(self._line(at.i, y, numbers) @ values)

    def _coefficients_at(self, at: Point) -> tuple[NDArray[np.int64], Weights]:
        if at.coefficients is None:
            at.coefficients = self._coefficients(at.w)
        return at.coefficients

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
        lines, key = self._lines[i], output_key(i, y)
        line = lines.get(key)
        if line is None or len(line) < len(self._support):
            longer = np.full(2 * len(self._support), np.nan)
            if line is not None:
                longer[: len(line)] = line
            elif len(lines) >= self._room:  # an argmax may go through more than can be remembered
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
        """The same value with the two outputs exchanged, if it is known."""
        slot_of_key = self._seen[i].slots.get(key)
        own = None if slot_of_key is None else self._places.get(i * self._room + slot_of_key)
        line = self._lines[j].get(self._seen[j].keys[slot])
        if own is None or line is None or own >= len(line) or np.isnan(line[own]):
            return None
        return float(line[own])

    def _kernel(self, where: str, x: Any, y: Any, j: int, other: Any) -> float:
        assert self._joint_kernel is not None
        value = call_function("joint_kernel", where, self._joint_kernel, x, y, self._X[j], other)
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise MargraveError(
                f"joint_kernel of {where} with example {j} must be a number, and it is {quoted(value)}."
            ) from None
        if not isfinite(number):
            raise MargraveError(f"joint_kernel of {where} with example {j} must be finite, and it is {number:g}.")
        return number
