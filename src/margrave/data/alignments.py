"""Alignments of two sequences, as matched positions and as texts with gaps."""

from collections.abc import Iterable

from margrave.errors import MargraveError

GAP_CHARACTERS = "-."  # of aligned texts


def matched_pairs(x: str, y: str, where: str, gaps: str = GAP_CHARACTERS) -> list[tuple[int, int]]:
    """The matched positions of two aligned texts.

    Parameters
    ----------
    x, y : texts of the same length, with gaps.
    where : which pair this is, for errors; may be empty.
    gaps : the characters that stand for gaps.

    >>> matched_pairs("AC-D", "A-CD", "example 0")
    [(0, 0), (2, 2)]
    """
    where += ": " if where else ""
    if len(x) != len(y):
        raise MargraveError(f"{where}aligned sequences must have the same length, and they have {len(x)} and {len(y)}.")
    pairs = []
    i = j = 0
    for k, (a, b) in enumerate(zip(x, y, strict=True)):
        if a in gaps and b in gaps:
            raise MargraveError(f"{where}column {k + 1} has two gaps.")
        if a not in gaps and b not in gaps:
            pairs.append((i, j))
        i += a not in gaps
        j += b not in gaps
    return pairs


def gapped(x: str, y: str, pairs: Iterable[tuple[int, int]]) -> tuple[str, str]:
    """Two texts with "-" for gaps; between matches, unmatched letters of x come before those of y.

    Parameters
    ----------
    x, y : the texts.
    pairs : their matched positions.

    >>> gapped("ACD", "AED", [(0, 0), (2, 2)])
    ('AC-D', 'A-ED')
    """
    above, below = [], []
    i = j = 0
    for a, b in [*pairs, (len(x), len(y))]:
        above.append(x[i:a] + "-" * (b - j) + x[a : a + 1])
        below.append("-" * (a - i) + y[j:b] + y[b : b + 1])
        i, j = a + 1, b + 1
    return "".join(above), "".join(below)
