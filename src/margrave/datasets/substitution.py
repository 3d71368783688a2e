"""Substitution matrices in NCBI's text format, which Biopython and BLAST read as well."""

import re
from math import log
from os import PathLike

import numpy as np

from margrave.checks import decimal
from margrave.data.substitution import SubstitutionMatrix
from margrave.datasets.opening import TextSource, read_lines, source_name, write_lines
from margrave.errors import DataError, MargraveError, quoted

# How NCBI's files state the unit of their scores: BLOSUM's "in 1/2 Bit Units", PAM's "scale = ln(2)/3 = 0.231049".
_BITS = re.compile(r"\b(?:in 1/([1-9]\d?) bit units|scale\s*=\s*ln\(2\)/([1-9]\d?))\b", re.IGNORECASE)
_SCALE = re.compile(r"\bscale\s*+=\s*+([0-9][0-9.]*+(?:e[-+]?+[0-9]++)?+)", re.IGNORECASE)


def read_matrix(path: TextSource, encoding: str = "utf-8") -> SubstitutionMatrix:
    """Read a matrix in NCBI's text format: a line of letters, then a line per letter with its scores.

    Comments may state the unit of the scores, as NCBI's do: "in 1/2 Bit Units", or "scale = 0.346574". Without this,
    scores are taken for natural logarithms. They may also state gap_open=NUMBER and gap_extend=NUMBER, which are -10
    and -1 otherwise.

    Parameters
    ----------
    path : a file or a stream.
    encoding : of the file.
    """
    name = source_name(path)
    letters: list[str] = []
    rows: list[list[float]] = []
    gaps = {"gap_open": -10.0, "gap_extend": -1.0}
    unit = 1.0
    for number, line in read_lines(path, encoding):
        if line.startswith("#"):
            unit = _stated_unit(name, number, line, unit)
            for field in line[1:].split():
                key, equals, value = field.partition("=")
                if equals and key in gaps:
                    gaps[key] = _number(name, number, value)
            continue
        fields = line.split()
        if not fields:
            continue
        if not letters:
            letters = fields
            continue
        if len(rows) >= len(letters) or fields[0] != letters[len(rows)]:
            raise DataError(name, number, "the rows of a matrix must have the letters of its first line, in order.")
        if len(fields) != len(letters) + 1:
            raise DataError(name, number, f"{len(fields) - 1} scores, but there are {len(letters)} letters.")
        rows.append([_number(name, number, field) for field in fields[1:]])
    if not letters or len(rows) != len(letters):
        raise DataError(name, None, f"a matrix of {len(letters)} letters needs as many rows, and it has {len(rows)}.")
    return SubstitutionMatrix(letters, np.array(rows), gaps["gap_open"], gaps["gap_extend"], unit)


def write_matrix(path: str | PathLike[str], matrix: SubstitutionMatrix, *, digits: int = 4) -> None:
    """Write a matrix in NCBI's text format, with the scores of gaps and the unit of all scores in comments.

    Parameters
    ----------
    path : the file.
    matrix : the matrix; its letters must have one character.
    digits : of every number after the decimal point.
    """
    for letter in matrix.letters:
        if len(letter) != 1 or letter.isspace() or letter == "#":
            raise MargraveError(f"NCBI's format has letters of one character, and {quoted(letter)} is not one.")
    width = max(len(f"{value:.{digits}f}") for value in matrix.values.ravel()) + 1
    lines = [f"# scale = {matrix.unit:.10g}"]
    lines.append(f"# gap_open={matrix.gap_open:.{digits}f} gap_extend={matrix.gap_extend:.{digits}f}")
    lines.append(" " + "".join(letter.rjust(width) for letter in matrix.letters))
    for letter, row in zip(matrix.letters, matrix.values, strict=True):
        lines.append(letter + "".join(f"{value:.{digits}f}".rjust(width) for value in row))
    write_lines(path, lines)


def _stated_unit(name: str, line: int, comment: str, otherwise: float) -> float:
    """The unit of scores that a comment states."""
    if bits := _BITS.search(comment):
        return log(2) / int(bits[1] or bits[2])
    if scale := _SCALE.search(comment):
        unit = _number(name, line, scale[1])
        if unit <= 0:
            raise DataError(name, line, f"the scale of scores must be positive, and it is {unit:g}.")
        return unit
    return otherwise


def _number(name: str, line: int, text: str) -> float:
    value = decimal(text)
    if value is None:
        raise DataError(name, line, f"{quoted(text)} is not a score.")
    return value
