"""Substitution matrices: scores of pairs of letters and of gaps, among them BLOSUM62."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.checks import real
from margrave.errors import MargraveError, counted, quoted
from margrave.stored import Stored

# Henikoff and Henikoff (1992), as NCBI prints it: half-bits.
_BLOSUM62 = """
   A  R  N  D  C  Q  E  G  H  I  L  K  M  F  P  S  T  W  Y  V  B  Z  X  *
A  4 -1 -2 -2  0 -1 -1  0 -2 -1 -1 -1 -1 -2 -1  1  0 -3 -2  0 -2 -1  0 -4
R -1  5  0 -2 -3  1  0 -2  0 -3 -2  2 -1 -3 -2 -1 -1 -3 -2 -3 -1  0 -1 -4
N -2  0  6  1 -3  0  0  0  1 -3 -3  0 -2 -3 -2  1  0 -4 -2 -3  3  0 -1 -4
D -2 -2  1  6 -3  0  2 -1 -1 -3 -4 -1 -3 -3 -1  0 -1 -4 -3 -3  4  1 -1 -4
C  0 -3 -3 -3  9 -3 -4 -3 -3 -1 -1 -3 -1 -2 -3 -1 -1 -2 -2 -1 -3 -3 -2 -4
Q -1  1  0  0 -3  5  2 -2  0 -3 -2  1  0 -3 -1  0 -1 -2 -1 -2  0  3 -1 -4
E -1  0  0  2 -4  2  5 -2  0 -3 -3  1 -2 -3 -1  0 -1 -3 -2 -2  1  4 -1 -4
G  0 -2  0 -1 -3 -2 -2  6 -2 -4 -4 -2 -3 -3 -2  0 -2 -2 -3 -3 -1 -2 -1 -4
H -2  0  1 -1 -3  0  0 -2  8 -3 -3 -1 -2 -1 -2 -1 -2 -2  2 -3  0  0 -1 -4
I -1 -3 -3 -3 -1 -3 -3 -4 -3  4  2 -3  1  0 -3 -2 -1 -3 -1  3 -3 -3 -1 -4
L -1 -2 -3 -4 -1 -2 -3 -4 -3  2  4 -2  2  0 -3 -2 -1 -2 -1  1 -4 -3 -1 -4
K -1  2  0 -1 -3  1  1 -2 -1 -3 -2  5 -1 -3 -1  0 -1 -3 -2 -2  0  1 -1 -4
M -1 -1 -2 -3 -1  0 -2 -3 -2  1  2 -1  5  0 -2 -1 -1 -1 -1  1 -3 -1 -1 -4
F -2 -3 -3 -3 -2 -3 -3 -3 -1  0  0 -3  0  6 -4 -2 -2  1  3 -1 -3 -3 -1 -4
P -1 -2 -2 -1 -3 -1 -1 -2 -2 -3 -3 -1 -2 -4  7 -1 -1 -4 -3 -2 -2 -1 -2 -4
S  1 -1  1  0 -1  0  0  0 -1 -2 -2  0 -1 -2 -1  4  1 -3 -2 -2  0  0  0 -4
T  0 -1  0 -1 -1 -1 -1 -2 -2 -1 -1 -1 -1 -2 -1  1  5 -2 -2  0 -1 -1  0 -4
W -3 -3 -4 -4 -2 -2 -3 -2 -2 -3 -2 -3 -1  1 -4 -3 -2 11  2 -3 -4 -3 -2 -4
Y -2 -2 -2 -3 -2 -1 -2 -3  2 -1 -1 -2 -1  3 -3 -2 -2  2  7 -1 -3 -2 -1 -4
V  0 -3 -3 -3 -1 -2 -2 -3 -3  3  1 -2  1 -1 -2 -2  0 -3 -1  4 -3 -2 -1 -4
B -2 -1  3  4 -3  0  1 -1  0 -3 -4  0 -3 -3 -2  0 -1 -4 -3 -3  4  1 -1 -4
Z -1  0  0  1 -3  3  4 -2  0 -3 -3  1 -1 -3 -1  0 -1 -3 -2 -2  1  4 -1 -4
X  0 -1 -1 -1 -2 -1 -1 -1 -1 -1 -1 -1 -1 -1 -2  0  0 -2 -1 -1 -1 -1 -1 -4
* -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4  1
"""

HALF_BIT = log(2) / 2  # as a natural logarithm


@dataclass(frozen=True, eq=False)
class SubstitutionMatrix(Stored, kind="substitution"):
    """Scores of pairs of letters, and of gaps.

    Parameters
    ----------
    letters : the letters of the rows and columns.
    values : (letters, letters) scores.
    gap_open, gap_extend : the scores of the first letter of a gap and of each further one.
    unit : the unit of all scores, as a natural logarithm: 1 for natural logarithms, as in learned matrices, and
        log(2) / 2 for the half-bits of BLOSUM62. Aligners that start from a matrix convert it to natural logarithms.

    >>> BLOSUM62.score("W", "W"), BLOSUM62.score("A", "R")
    (11.0, -1.0)
    """

    name = "matrix"

    letters: str | Sequence[str]
    values: NDArray[np.float64]
    gap_open: float = -10.0
    gap_extend: float = -1.0
    unit: float = 1.0

    def __post_init__(self) -> None:
        real("unit", self.unit, "be positive", lambda value: 0 < value < np.inf)
        object.__setattr__(self, "letters", tuple(self.letters))
        values = np.asarray(self.values, dtype=np.float64)
        if values.shape != (len(self.letters),) * 2 or not np.isfinite(values).all():
            raise MargraveError(f"a matrix of {len(self.letters)} letters needs as many rows and columns of numbers.")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "number", {letter: k for k, letter in enumerate(self.letters)})

    def score(self, a: str, b: str) -> float:
        """The score of a pair of letters; 0 for letters that the matrix does not have."""
        number: dict[str, int] = self.number  # type: ignore[attr-defined]
        return float(self.values[number[a], number[b]]) if a in number and b in number else 0.0

    def table(self, alphabet: Sequence[str]) -> NDArray[np.float64]:
        """The scores of these letters."""
        return np.array([[self.score(a, b) for b in alphabet] for a in alphabet])

    def scaled(self, factor: float, unit: float = 1.0) -> "SubstitutionMatrix":
        """The scores times a factor; what they are then measured in is natural logarithms, unless a unit is given."""
        gaps = factor * self.gap_open, factor * self.gap_extend
        return SubstitutionMatrix(self.letters, factor * self.values, *gaps, unit)

    def measured_in(self, unit: float) -> "SubstitutionMatrix":
        """The same scores in another unit, such as 1 for natural logarithms.

        >>> round(BLOSUM62.measured_in(1.0).score("W", "W"), 3)
        3.812
        """
        return self.scaled(self.unit / unit, unit)

    def __repr__(self) -> str:
        gaps = f"gaps {self.gap_open:g} and {self.gap_extend:g}"
        return f"<SubstitutionMatrix of {counted(len(self.letters), 'letter')}, {gaps}>"


def _built_in() -> SubstitutionMatrix:
    letters, *lines = _BLOSUM62.strip("\n").splitlines()
    values = np.array([[float(v) for v in line.split()[1:]] for line in lines])
    return SubstitutionMatrix(letters.split(), values, unit=HALF_BIT)


BLOSUM62 = _built_in()
# The amino acids whose letters stand for no nucleotides, not even as a code for several of them (IUPAC).
_ONLY_AMINO_ACIDS = frozenset("EFILPQ")


def are_amino_acids(letters: Collection[str]) -> bool:
    """Whether these are letters of proteins, and not of DNA or RNA.

    Parameters
    ----------
    letters : the distinct letters of some sequences.

    >>> are_amino_acids("ACDEFGHIKLMNPQRSTVWY"), are_amino_acids("ACGTN"), are_amino_acids("abc")
    (True, False, False)
    """
    return set(letters) <= set(BLOSUM62.letters) and not _ONLY_AMINO_ACIDS.isdisjoint(letters)


def matrix_named(matrix: Any) -> SubstitutionMatrix:
    """The matrix that a user's value stands for: "BLOSUM62", or a matrix.

    Parameters
    ----------
    matrix : a name or a `SubstitutionMatrix`.
    """
    if isinstance(matrix, SubstitutionMatrix):
        return matrix
    if isinstance(matrix, str) and matrix.upper() == "BLOSUM62":
        return BLOSUM62
    raise MargraveError(f"a substitution matrix is 'BLOSUM62' or a SubstitutionMatrix, not {quoted(matrix)}.")
