"""Alignments of two sequences, and the choice of a homologue together with its alignment (003, section 4.4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, has_length
from margrave.errors import MargraveError, unknown
from margrave.examples import Examples
from margrave.losses.costs import F1, Cost, CostFunction, Hamming, ZeroOne
from margrave.structures.base import Bound, Core, NoOutputs, Structure

MODES = ("global", "local", "semi-global")
GAPS = ("affine", "linear")
Pairs = NDArray[np.int32]  # (matches, 2): positions in x and in y, ascending in both


class AlignmentModel(Structure[NoOutputs, Core]):
    """What alignments have in common: their mode and their gaps."""

    examples = "pairs"
    mode: str
    gaps: str

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise unknown("mode of alignments", self.mode, MODES)
        if self.gaps not in GAPS:
            raise unknown("kind of gaps", self.gaps, GAPS)

    @property
    def affine(self) -> bool:
        """Whether the first letter of a gap has its own score."""
        return self.gaps == "affine"


@dataclass
class Alignment(AlignmentModel[_core.Alignments]):
    """Alignments of two sequences x and y: sets of matched pairs that ascend in both.

    Between two matches, the unmatched letters of x come before those of y. A global alignment of n and m letters is one
    of C(n + m, n). A local alignment begins and ends with a match, or is empty and scores 0. A semi-global alignment
    has a free end in one sequence at either side: of the unmatched letters before the first match (and after the last
    one), the shorter run counts as a gap, and the longer one is free.

    Parameters
    ----------
    mode : "global", "local" or "semi-global".
    gaps : "affine", with parts for opening and extending a gap, or "linear", with one part for every unmatched letter.
    tied : whether parts belong to letters: pairs of letters, and letters in gaps. Such parts have no places, so that no
        output has a cost, and the best alignment takes linear memory. With tied=False parts belong to positions.
    edges : whether every edge of the trellis has a part of its own, which requires tied=False. The parts of cell (i, j)
        are: a match after a match, after a letter of x, after a letter of y, and at the beginning; a letter of x after
        a match and after a letter of x; a letter of y after a match, a letter of x and a letter of y; and the end. The
        last part is the empty alignment. The mode and the gaps are then a matter of the features.
    letters : the size of the alphabet, for tied parts.
    """

    name = "alignment"
    costs: ClassVar[tuple[type[Cost], ...]] = (Hamming, ZeroOne, F1, CostFunction)

    mode: str = "global"
    gaps: str = "affine"
    tied: bool = True
    edges: bool = False
    letters: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.tied, self.edges = flag("tied", self.tied), flag("edges", self.edges)
        if self.tied and self.edges:
            raise MargraveError("parts of edges are not tied: pass tied=False.")

    def learn(self, Y: Sequence[Any]) -> NoOutputs:
        """Learn nothing, since alignments have nothing in common; invalid ones are refused."""
        check_pairs(Y)
        return NoOutputs()

    def bind(self, outputs: NoOutputs, examples: Examples, costs: Cost | None = None) -> _core.Alignments:
        """Make the core's structure of some pairs of sequences.

        Parameters
        ----------
        outputs : not used.
        examples : the pairs; outputs are matched pairs of positions. Extras: `x` and `y`, the letters of the sequences,
            and `letters`, the size of the alphabet if it differs from that of the structure.
        costs : the number of gold pairs that are missed plus the number of wrong pairs, if needed.
        """
        x, y, letters, Y = (*map(examples.extra, ("x", "y", "letters")), examples.Y)
        if x is None or y is None:
            raise MargraveError("alignments need both sequences.")
        if costs is not None:
            self.check_cost(costs)
            if self.tied and isinstance(costs, ZeroOne | F1 | CostFunction):
                raise MargraveError(
                    f"the cost {costs.name!r} needs tied=False, since tied parts do not tell where letters are matched."
                )
        begin, gold = (None, None) if Y is None else flat_pairs(Y)
        if self.edges:
            return _core.alignment_edges(self.mode, self.affine, x.begin, y.begin, begin, gold, costs is not None)
        xs, ys = (x.codes, y.codes) if self.tied else (None, None)
        return _core.alignment(
            self.mode, self.affine, letters or self.letters, x.begin, y.begin, xs, ys, begin, gold, costs is not None
        )

    def decode(
        self,
        bound: Bound[NoOutputs, _core.Alignments],
        begin: NDArray[np.int64],
        parts: NDArray[np.int32],
        owners: NDArray[np.int64] | None = None,
    ) -> list[list[tuple[int, int]]]:
        """The matched pairs of every output."""
        which = range(len(begin) - 1) if owners is None else owners.tolist()
        ranges = pairwise(begin.tolist())
        found = [bound.core.matches(i, parts[a:b]).tolist() for i, (a, b) in zip(which, ranges, strict=True)]
        return [list(zip(flat[::2], flat[1::2], strict=True)) for flat in found]

    def present(
        self, bound: Bound[NoOutputs, _core.Alignments], begin: NDArray[np.int64], mu: NDArray[np.float64]
    ) -> list[NDArray[np.float64]]:
        """The posterior probability that letter i of x is matched with letter j of y, as a matrix."""
        core, ranges = bound.core, pairwise(begin.tolist())
        return [core.match_table(i, mu[a:b]).reshape(core.lengths(i)) for i, (a, b) in enumerate(ranges)]


@dataclass
class Homology(AlignmentModel[_core.HomologyStructure]):
    """The choice of the homologue of a native sequence among candidates, together with its alignment.

    Outputs are a candidate and an alignment. Where the alignment of the homologue is given, its other alignments are
    not outputs: they are neither right nor wrong. Wrong candidates cost 1.

    Parameters
    ----------
    mode, gaps : as in `Alignment`.
    letters : the size of the alphabet.
    """

    name = "homology"
    examples = "natives"
    costs: ClassVar[tuple[type[Cost], ...]] = (Hamming, ZeroOne)

    mode: str = "local"
    gaps: str = "linear"
    letters: int = 1

    def bind(self, outputs: NoOutputs, examples: Examples, costs: Cost | None = None) -> _core.HomologyStructure:
        """Make the core's structure of some native sequences.

        Parameters
        ----------
        outputs : not used.
        examples : natives with candidates; an output is the number of the homologue, and the matched pairs of their
            alignment. Extras: `x`, the native sequences; `candidates` and `first`, all candidates, of which those of
            example i are first[i] .. first[i + 1]; `letters`, as in `Alignment`.
        costs : not used: wrong candidates cost 1.
        """
        x, candidates, first, letters = map(examples.extra, ("x", "candidates", "first", "letters"))
        Y = examples.Y
        if x is None or x.codes is None or candidates is None or candidates.codes is None or first is None:
            raise MargraveError("the choice of a homologue needs native sequences and candidates.")
        if costs is not None:
            self.check_cost(costs)
        good = begin = gold = None
        if Y is not None:
            good = np.array([k for k, _ in Y], dtype=np.int32)
            begin, gold = flat_pairs([pairs for _, pairs in Y])
        return _core.homology(
            self.mode,
            self.affine,
            letters or self.letters,
            x.begin,
            x.codes,
            candidates.begin,
            candidates.codes,
            first,
            good,
            begin,
            gold,
        )

    def decode(
        self,
        bound: Bound[NoOutputs, _core.HomologyStructure],
        begin: NDArray[np.int64],
        parts: NDArray[np.int32],
        owners: NDArray[np.int64] | None = None,
    ) -> NDArray[np.int64]:
        """The number of the candidate of every output, which is its first part."""
        return parts[begin[:-1]].astype(np.int64) - bound.core.shared_parts

    def present(
        self, bound: Bound[NoOutputs, _core.HomologyStructure], begin: NDArray[np.int64], mu: NDArray[np.float64]
    ) -> list[NDArray[np.float64]]:
        """The posterior probability of every candidate."""
        return [mu[a + bound.core.shared_parts : b] for a, b in pairwise(begin.tolist())]


def check_pairs(Y: Any) -> list[Pairs]:
    """Matched pairs of every example as arrays; an error if they are something else."""
    if not has_length(Y):
        raise MargraveError(f"y must be a list with the matched pairs of each example, not {type(Y).__name__}.")
    arrays = []
    for i, pairs in enumerate(Y):
        try:
            array: NDArray[Any] = np.asarray(pairs if len(pairs) else np.zeros((0, 2)))
            whole = array.astype(np.int32)
        except (TypeError, ValueError, OverflowError):
            array, whole = np.zeros(0), np.zeros(0, dtype=np.int32)
        if array.ndim != 2 or array.shape[1] != 2 or (array != whole).any():
            raise MargraveError(f"example {i}: matched pairs must be a list of pairs of positions (i, j).")
        arrays.append(np.ascontiguousarray(whole))
    return arrays


def flat_pairs(Y: Any) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The matched pairs of all examples, and where those of each example begin."""
    arrays = check_pairs(Y)
    begin = np.concatenate([[0], np.cumsum([len(pairs) for pairs in arrays])]).astype(np.int64)
    return begin, np.concatenate([np.zeros(0, dtype=np.int32), *(pairs.ravel() for pairs in arrays)])
