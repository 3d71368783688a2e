"""Sentence pairs with word alignments: in one file, or in two files of sentences and one of links, line by line.

In one file, a line is `source ||| target ||| links`, of which the links may be missing. Words are separated by blanks,
and a link `i-j` joins source word i with target word j, both counted from 0.
"""

import re
from collections.abc import Iterable, Sequence

from margrave.data.parallel import Links, ParallelText
from margrave.datasets.opening import TextSource, read_lines, source_name
from margrave.errors import DataError, MargraveError, counted, quoted

Words = str | Sequence[str]

_BAR = "|||"
_WORD = re.compile("[^ \\t\\n\\r\\f\\v]+")
_LINK = re.compile("([0-9]{1,9})-([0-9]{1,9})")


def split_words(sentence: str) -> list[str]:
    """The words of a sentence, separated by blanks and tabs.

    Other spaces, such as those that must not break, are part of a word: word aligners count so.

    Parameters
    ----------
    sentence : the sentence.

    >>> split_words("10\\u00a0000  euros")
    ['10\\xa0000', 'euros']
    """
    return _WORD.findall(sentence)


def words_of(sentence: Words) -> list[str]:
    """The words of a sentence that may be a text; an error if it is something else.

    Parameters
    ----------
    sentence : a text, or its words.
    """
    if isinstance(sentence, str):
        return split_words(sentence)
    words = list(sentence) if isinstance(sentence, Iterable) else [sentence]
    if not all(isinstance(word, str) for word in words):
        raise MargraveError(
            f"a sentence must be a text or a list of words, all of them texts, and it is {quoted(sentence)}."
        )
    return words


def read_sentences(path: TextSource, encoding: str = "utf-8") -> list[str]:
    """Read one sentence per line; its words are separated by blanks, of which one is left between two words.

    Parameters
    ----------
    path : the file (plain or gzip), or an open stream.
    encoding : of the text.
    """
    return [" ".join(split_words(line)) for _, line in read_lines(path, encoding)]


def read_parallel(
    source: TextSource,
    target: TextSource | None = None,
    alignments: TextSource | None = None,
    encoding: str = "utf-8",
) -> ParallelText:
    """Read sentence pairs and their word alignments.

    Parameters
    ----------
    source : the file (plain or gzip) or open stream of source sentences or, if it is the only one, of all.
    target, alignments : the files of target sentences and of links, with as many lines.
    encoding : of the texts.
    """
    if target is None:
        if alignments is not None:
            raise MargraveError("a file of alignments needs a file of target sentences.")
        return _read_joined(source, encoding)
    texts = [read_sentences(source, encoding), read_sentences(target, encoding)]
    if len(texts[1]) != len(texts[0]):
        raise _unequal(target, len(texts[1]), source, len(texts[0]))
    if alignments is None:
        return ParallelText(texts[0], texts[1])
    lines = list(read_lines(alignments, encoding))
    if len(lines) != len(texts[0]):
        raise _unequal(alignments, len(lines), source, len(texts[0]))
    name, found = source_name(alignments), list[Links]()
    for (number, line), one, other in zip(lines, *texts, strict=True):
        found.append(_checked_links(name, number, line, one, other))
    return ParallelText(texts[0], texts[1], found)


def _read_joined(path: TextSource, encoding: str) -> ParallelText:
    name = source_name(path)
    found = ParallelText([], [], [])
    assert found.alignments is not None
    fields = 0
    for number, line in read_lines(path, encoding):
        if not line.strip():
            continue
        columns = [" ".join(split_words(column)) for column in line.split(_BAR)]
        if len(columns) not in (2, 3):
            raise DataError(
                name, number, f"{counted(len(columns), 'field')}, but a line must be source ||| target ||| links."
            )
        if fields and len(columns) != fields:
            raise DataError(name, number, f"{len(columns)} fields, but the lines before have {fields}.")
        fields = len(columns)
        found.source.append(columns[0])
        found.target.append(columns[1])
        if fields == 3:
            found.alignments.append(_checked_links(name, number, columns[2], columns[0], columns[1]))
    if not fields:
        raise DataError(name, None, "it holds no sentences.")
    return found if fields == 3 else ParallelText(found.source, found.target)


def _checked_links(name: str, number: int, text: str, source: str, target: str) -> Links:
    try:
        links = parse_links(text)
        check_links(links, len(split_words(source)), len(split_words(target)))
    except MargraveError as error:
        raise DataError(name, number, str(error)) from None
    return links


def parse_links(text: str) -> Links:
    """The links of one line.

    Parameters
    ----------
    text : links `i-j`, separated by blanks.

    >>> parse_links("0-0 1-2")
    [(0, 0), (1, 2)]
    """
    links = []
    for each in split_words(text):
        match = _LINK.fullmatch(each)
        if match is None:
            raise MargraveError(f"{quoted(each)} is not a link i-j between a source word i and a target word j.")
        links.append((int(match[1]), int(match[2])))
    return links


def check_links(links: Sequence[tuple[int, int]], n: int, m: int) -> None:
    """Refuse links to words that are not there.

    Parameters
    ----------
    links : the links.
    n, m : the number of source and of target words.
    """
    for i, j in links:
        if not (0 <= i < n and 0 <= j < m):
            raise MargraveError(
                f"the link {i}-{j} is out of range: words are counted from 0, and there are "
                f"{counted(n, 'source word')} and {counted(m, 'target word')}."
            )


def _unequal(one: TextSource, n: int, other: TextSource, m: int) -> DataError:
    return DataError(source_name(one), None, f"{counted(n, 'line')}, but {source_name(other)} has {m}.")
