"""Alignments by enumeration: all sets of matched pairs, and the parts of each by their documented order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import exp, inf, log

from margrave.testing.enumeration import Parts

Match = tuple[int, int]


def alignments(n: int, m: int) -> Iterator[tuple[Match, ...]]:
    """All sets of pairs that ascend in both sequences; there are C(n + m, n)."""
    for k in range(min(n, m) + 1):
        for xs in combinations(range(n), k):
            for ys in combinations(range(m), k):
                yield tuple(zip(xs, ys, strict=True))


@dataclass
class AlignmentParts:
    """The numbering of the parts of two sequences of numbers."""

    x: Sequence[int]
    y: Sequence[int]
    mode: str
    affine: bool
    tied: bool
    letters: int
    begins: bool = True  # whether tied parts tell where an alignment begins

    def __post_init__(self) -> None:
        n, m = len(self.x), len(self.y)
        names: list[tuple[object, ...]] = []
        xs, ys = (range(self.letters),) * 2 if self.tied else (range(n), range(m))
        names += [("pair", a, b) for a in xs for b in ys]
        kinds = ("open", "extend") if self.affine else ("gap",)
        for place in ("inside",) if self.mode == "local" else ("inside", "end"):
            names += [(place, "x", kind, a) for kind in kinds for a in xs]
            names += [(place, "y", kind, b) for kind in kinds for b in ys]
        if self.tied and self.begins and self.mode != "global":
            names += [("begin", "x", i) for i in range(n)] + [("begin", "y", j) for j in range(m)]
        self.number = {name: k for k, name in enumerate(names)}

    def _run(self, place: str, which: str, positions: Sequence[int]) -> list[tuple[object, ...]]:
        """The parts of one gap."""
        sequence = self.x if which == "x" else self.y
        return [
            (place, which, "gap" if not self.affine else "extend" if k else "open", sequence[p] if self.tied else p)
            for k, p in enumerate(positions)
        ]

    def of(self, matches: Sequence[Match]) -> Parts:
        n, m = len(self.x), len(self.y)
        found: list[tuple[object, ...]] = []
        found += [("pair", self.x[i], self.y[j]) if self.tied else ("pair", i, j) for i, j in matches]
        for (i, j), (k, h) in pairwise(matches):
            found += self._run("inside", "x", range(i + 1, k)) + self._run("inside", "y", range(j + 1, h))
        if matches:
            (i, j), (k, h) = matches[0], matches[-1]
            if self.mode == "global" or (self.mode == "semi-global" and i <= j):
                found += self._run("end", "x", range(i))
            if self.mode == "global" or (self.mode == "semi-global" and i > j):
                found += self._run("end", "y", range(j))
            if self.mode == "global" or (self.mode == "semi-global" and n - k <= m - h):
                found += self._run("end", "x", range(k + 1, n))
            if self.mode == "global" or (self.mode == "semi-global" and n - k > m - h):
                found += self._run("end", "y", range(h + 1, m))
            if ("begin", "x", 0) in self.number:
                found += [("begin", "x", i), ("begin", "y", j)]
        elif self.mode == "global":
            found += self._run("end", "x", range(n)) + self._run("end", "y", range(m))
        return tuple(sorted(self.number[name] for name in found))


def edge_parts(n: int, m: int, matches: Sequence[Match]) -> Parts:
    """The parts of the edges of the trellis."""
    if not matches:
        return (10 * n * m,)
    path: list[tuple[int, int, int]] = []  # (state, i, j)
    for k, (i, j) in enumerate(matches):
        if k:
            a, b = matches[k - 1]
            path += [(1, p, b) for p in range(a + 1, i)] + [(2, i - 1, p) for p in range(b + 1, j)]
        path.append((0, i, j))
    found, before = [], 3
    for state, i, j in path:
        found.append(10 * (i * m + j) + (0, 4, 6)[state] + before)
        before = state
    found.append(10 * (path[-1][1] * m + path[-1][2]) + 9)
    return tuple(sorted(found))


def edge_scores(parts: AlignmentParts, theta: Sequence[float]) -> list[float]:
    """The scores of the edges of the trellis that give every alignment the score of its parts."""
    n, m = len(parts.x), len(parts.y)

    def score(names: Sequence[tuple[object, ...]]) -> float:
        return sum(theta[parts.number[name]] for name in names)

    def gap(which: str, k: int, first: bool) -> float:
        return score(parts._run("inside", which, [k] if first else [k - 1, k])[-1:])

    def outer(which: str, positions: Sequence[int]) -> float:
        return score(parts._run("end", which, positions))

    scores = []
    for i in range(n):
        for j in range(m):
            pair = score([("pair", parts.x[i], parts.y[j]) if parts.tied else ("pair", i, j)])
            begin = end = 0.0
            if parts.mode == "global" or (parts.mode == "semi-global" and i <= j):
                begin += outer("x", range(i))
            if parts.mode == "global" or (parts.mode == "semi-global" and i > j):
                begin += outer("y", range(j))
            if parts.mode == "global" or (parts.mode == "semi-global" and n - i <= m - j):
                end += outer("x", range(i + 1, n))
            if parts.mode == "global" or (parts.mode == "semi-global" and n - i > m - j):
                end += outer("y", range(j + 1, m))
            if ("begin", "x", 0) in parts.number:
                begin += score([("begin", "x", i), ("begin", "y", j)])
            open_x, open_y = gap("x", i, True), gap("y", j, True)
            extend_x, extend_y = gap("x", i, False) if i else open_x, gap("y", j, False) if j else open_y
            scores += [pair, pair, pair, pair + begin, open_x, extend_x, open_y, open_y, extend_y, end]
    empty = outer("x", range(n)) + outer("y", range(m)) if parts.mode == "global" else 0.0
    return [*scores, empty]


def log_sums(n: int, m: int, scores: Sequence[float]) -> tuple[float, list[list[float]]]:
    """The log partition by the scores of the edges of the trellis, and the posterior probabilities of all matches."""

    def total(*logs: float) -> float:
        top = max(logs)
        return top if top == -inf else top + log(sum(exp(each - top) for each in logs))

    def edge(i: int, j: int, k: int) -> float:
        return scores[10 * (i * m + j) + k]

    ahead: dict[tuple[int, int, int], float] = {}
    for i in range(n):
        for j in range(m):
            above, left, before = [
                [ahead.get((state, i - a, j - b), -inf) for state in range(3)] for a, b in ((1, 0), (0, 1), (1, 1))
            ]
            ahead[0, i, j] = total(edge(i, j, 3), *(edge(i, j, k) + before[k] for k in range(3)))
            ahead[1, i, j] = total(*(edge(i, j, 4 + k) + above[k] for k in range(2)))
            ahead[2, i, j] = total(*(edge(i, j, 6 + k) + left[k] for k in range(3)))
    ends = [ahead[0, i, j] + edge(i, j, 9) for i in range(n) for j in range(m)]
    log_z = total(scores[-1], *ends)
    behind: dict[tuple[int, int, int], float] = {}
    for i in reversed(range(n)):
        for j in reversed(range(m)):
            for state in range(3):
                ways = [edge(i, j, 9) if state == 0 else -inf]
                if i + 1 < n and j + 1 < m:
                    ways.append(edge(i + 1, j + 1, state) + behind[0, i + 1, j + 1])
                if i + 1 < n and state < 2:
                    ways.append(edge(i + 1, j, 4 + state) + behind[1, i + 1, j])
                if j + 1 < m:
                    ways.append(edge(i, j + 1, 6 + state) + behind[2, i, j + 1])
                behind[state, i, j] = total(*ways)
    return log_z, [[exp(ahead[0, i, j] + behind[0, i, j] - log_z) for j in range(m)] for i in range(n)]
