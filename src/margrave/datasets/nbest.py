"""Candidate lists of translation systems: the n-best files of Moses, cdec and Joshua, and their references.

Each line has one hypothesis, `id ||| words ||| features ||| score`, and the lines with the same id form a list. The
score is optional, and anything after it (alignments) is ignored. Features are written in one of three ways, which must
be the same in the whole file:

    Moses, older   d: -1.5 0 lm: -20.1 w: -9
    Moses, newer   Distortion0= -1.5 0 LM0= -20.1 WordPenalty0= -9
    cdec, Joshua   Distortion=-1.5 LanguageModel=-20.1 WordPenalty=-9

The values of a Moses group `d` are named d_0, d_1 and so on, as in Moses' own tuning, even if there is only one. All
hypotheses of a list have the same groups. A sparse feature of Moses has a name with `_` and one value (`wt_a~b= 1`); it
is used under that name. Sparse features, and all features of cdec and Joshua, can be missing from a hypothesis.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from math import isfinite
from os import PathLike
from sys import intern
from typing import NamedTuple

from margrave.checks import decimal, natural, real, whole
from margrave.data.nbest import NBestList
from margrave.datasets.opening import TextSource, note_begin, read_lines, source_name, write_lines
from margrave.errors import DataError, MargraveError, counted, quoted

_BAR = "|||"
_BLANKS = " \t\r\f\v"
_TOKEN = re.compile(f"[^{_BLANKS}]+")  # str.split would also split at no-break spaces, which words can contain.
_LARGEST_ID = 10**18 - 1
_UNWRITABLE = re.compile(r"[\n\0]|\|\|\|")


def read_nbest(path: TextSource, encoding: str = "utf-8") -> Iterator[NBestList]:
    """Read the lists of an n-best file of Moses, cdec or Joshua, one at a time.

    Parameters
    ----------
    path : a file (plain or gzip) or an open text stream.
    encoding : the encoding of the file.
    """
    name = source_name(path)
    begins: dict[int, int] = {}  # the line at which the list of each id begins
    for id, group in groupby(_hypotheses(path, encoding), key=lambda hypothesis: hypothesis.id):
        hypotheses = list(group)
        first = hypotheses[0]
        note_begin(begins, "list", id, name, first.line)
        for hypothesis in hypotheses:
            _check_same(name, hypothesis, first)
        scores = [hypothesis.score for hypothesis in hypotheses if hypothesis.score is not None]
        words = [hypothesis.words for hypothesis in hypotheses]
        yield NBestList(id, words, [hypothesis.features for hypothesis in hypotheses], scores or None)
    if not begins:
        raise DataError(name, None, "it contains no hypotheses.")


def write_nbest(path: str | PathLike[str], lists: Iterable[NBestList]) -> None:
    """Write lists in the format of cdec and Joshua, which `read_nbest` reads.

    Parameters
    ----------
    path : the file to write; it is compressed with gzip if its name ends in .gz.
    lists : the lists.
    """
    write_lines(path, _lines(lists))


def read_references(*paths: TextSource, encoding: str = "utf-8") -> list[list[str]]:
    """Read the references of every segment; the words of a reference are separated by one blank.

    Parameters
    ----------
    paths : one file or more, each with one reference per line, all with the same number of lines.
    encoding : the encoding of the files.
    """
    if not paths:
        raise MargraveError("there are no references: pass one file or more.")
    files = [[_squeezed(line) for _, line in read_lines(path, encoding)] for path in paths]
    for path, segments in zip(paths, files, strict=True):
        if len(segments) != len(files[0]):
            message = f"{counted(len(segments), 'line')}, but {source_name(paths[0])} has {len(files[0])}."
            raise DataError(source_name(path), None, message)
    if not files[0]:
        raise DataError(source_name(paths[0]), None, "it contains no references.")
    return [list(references) for references in zip(*files, strict=True)]


class _Hypothesis(NamedTuple):
    line: int
    id: int
    words: str
    features: dict[str, float]
    groups: dict[str, int]  # the number of values of each Moses group; the same for all hypotheses of a list
    score: float | None


_Features = tuple[dict[str, float], dict[str, int]]  # features and groups of a hypothesis


def _hypotheses(path: TextSource, encoding: str) -> Iterator[_Hypothesis]:
    name = source_name(path)
    known = ""  # how the previous lines write features
    for number, line in read_lines(path, encoding):
        if not line.strip(_BLANKS):
            continue
        fields = line.split(_BAR)
        if len(fields) < 3:
            message = f"{counted(len(fields), 'field')}, but a line must be id ||| words ||| features ||| score."
            raise DataError(name, number, message)
        id = fields[0].strip(_BLANKS)
        magnitude = natural(id.removeprefix("-"))
        if magnitude is None:
            raise DataError(name, number, f"id {quoted(id)} is not a whole number of at most 18 digits.")
        features: _Features = {}, {}
        if tokens := _TOKEN.findall(fields[2]):
            way = _way_of_writing(name, number, tokens[0])
            known = known or way
            if way != known:
                raise DataError(name, number, f"features are written {way}, but {known} in the lines before.")
            features = _READERS[way](name, number, tokens)
        score = _score(name, number, fields[3]) if len(fields) > 3 else None
        signed = -magnitude if id.startswith("-") else magnitude
        yield _Hypothesis(number, signed, _squeezed(fields[1]), *features, score)


def _way_of_writing(name: str, number: int, token: str) -> str:
    """How features that begin with this token are written: a key of the readers below."""
    if token.endswith(":"):
        return "name: value value"
    if token.endswith("="):
        return "name= value value"
    if "=" in token:
        return "name=value"
    raise DataError(name, number, f"{quoted(token)} is not a feature: write name: value, name= value or name=value.")


def _read_groups(name: str, number: int, tokens: list[str], mark: str) -> _Features:
    written: dict[str, list[str]] = {}
    values: list[str] = []
    for token in tokens:
        if token.endswith(mark):
            group, values = token[:-1], []
            if not group or group in written:
                message = (
                    f"group {quoted(group)} occurs twice in this line." if group else f"no name before {quoted(mark)}."
                )
                raise DataError(name, number, message)
            written[group] = values
        else:
            values.append(token)
    features: dict[str, float] = {}
    groups: dict[str, int] = {}
    for group, values in written.items():
        if "_" in group and len(values) == 1:
            _add(name, number, features, group, values[0])
            continue
        groups[group] = len(values)
        for k, value in enumerate(values):
            _add(name, number, features, f"{group}_{k}", value)
    return features, groups


def _read_pairs(name: str, number: int, tokens: list[str]) -> _Features:
    features: dict[str, float] = {}
    for token in tokens:
        feature, _, value = token.rpartition("=")
        if not feature:
            raise DataError(name, number, f"{quoted(token)} is not a pair name=value.")
        _add(name, number, features, feature, value)
    return features, {}


_READERS: dict[str, Callable[[str, int, list[str]], _Features]] = {
    "name: value value": partial(_read_groups, mark=":"),
    "name= value value": partial(_read_groups, mark="="),
    "name=value": _read_pairs,
}


def _add(name: str, number: int, features: dict[str, float], feature: str, text: str) -> None:
    value = decimal(text)
    if value is None:
        raise DataError(name, number, f"value {quoted(text)} of feature {quoted(feature)} is not a finite number.")
    if feature in features:
        raise DataError(name, number, f"feature {quoted(feature)} occurs twice in this line.")
    features[intern(feature)] = value  # All lines share one string per name.


def _score(name: str, number: int, field: str) -> float | None:
    text = field.strip(_BLANKS)
    score = decimal(text)
    if text and score is None:
        raise DataError(name, number, f"score {quoted(text)} is not a finite number.")
    return score


def _check_same(name: str, one: _Hypothesis, first: _Hypothesis) -> None:
    """Check that a hypothesis has the same groups as the first of its list, and a score if that one has a score."""
    if one.groups == first.groups and (one.score is None) == (first.score is None):
        return
    where = f"the first hypothesis of list {first.id} (line {first.line})"
    for group in first.groups | one.groups:
        here, there = one.groups.get(group), first.groups.get(group)
        if here is None:
            raise DataError(name, one.line, f"group {quoted(group)} is missing, but {where} has it.")
        if there is None:
            raise DataError(name, one.line, f"group {quoted(group)} does not occur in {where}.")
        if here != there:
            raise DataError(
                name, one.line, f"group {quoted(group)} has {counted(here, 'value')}, but {there} in {where}."
            )
    has, other = ("no score", "one") if one.score is None else ("a score", "none")
    raise DataError(name, one.line, f"{has}, but {where} has {other}.")


def _squeezed(text: str) -> str:
    return " ".join(_TOKEN.findall(text))


def _lines(lists: Iterable[NBestList]) -> Iterator[str]:
    ids: set[int] = set()
    for one in lists:
        id = whole("the id of a list", one.id, -_LARGEST_ID, _LARGEST_ID)
        if id in ids or not one.hypotheses:
            raise MargraveError(f"list {id} occurs twice." if id in ids else f"list {id} has no hypotheses.")
        ids.add(id)
        scores = one.scores if one.scores is not None else [None] * len(one.hypotheses)
        for k, (words, features, score) in enumerate(zip(one.hypotheses, one.features, scores, strict=True)):
            where = f"hypothesis {k} of list {id}"
            if _UNWRITABLE.search(words) or _squeezed(words) != words:
                message = "must be words separated by one blank, without |||, line ends and NUL characters."
                raise MargraveError(f"{where}: {quoted(words)} {message}")
            pairs = " ".join([_pair(where, feature, value) for feature, value in features.items()])
            fields = [str(id), words, pairs]
            if score is not None:
                fields.append(_written(f"the score of {where}", score))
            yield f" {_BAR} ".join(fields)
    if not ids:
        raise MargraveError("there are no lists to write.")


def _pair(where: str, feature: str, value: float) -> str:
    if not _TOKEN.fullmatch(feature) or _UNWRITABLE.search(feature):
        message = "cannot be written: it is empty or contains a blank, |||, a line end or a NUL character."
        raise MargraveError(f"{where}: the feature name {quoted(feature)} {message}")
    return f"{feature}={_written(f'feature {feature!r} of {where}', value)}"


def _written(what: str, value: float) -> str:
    return repr(real(what, value, "be finite", isfinite))
