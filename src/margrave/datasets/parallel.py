"""Sentence pairs with word alignments: two files of sentences, and one of links, line by line."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from margrave.datasets.opening import TextSource, read_lines, source_name
from margrave.errors import DataError, MargraveError, counted

Links = list[tuple[int, int]]

_LINK = re.compile("([0-9]{1,9})-([0-9]{1,9})")


class ParallelText(NamedTuple):
    """Sentence pairs, with their links if they are known: a link (i, j) joins source word i with target word j."""

    source: list[str]
    target: list[str]
    alignments: list[Links] | None = None


def read_sentences(path: TextSource, encoding: str = "utf-8") -> list[str]:
    """Read one sentence per line; its words are separated by blanks, of which one is left between two words.

    Parameters
    ----------
    path : the file (plain or gzip), or an open stream.
    encoding : of the text.
    """
    return [" ".join(line.split()) for _, line in read_lines(path, encoding)]


def read_parallel(
    source: TextSource, target: TextSource, alignments: TextSource | None = None, encoding: str = "utf-8"
) -> ParallelText:
    """Read sentence pairs and their word alignments, one per line of each file.

    A line of alignments has links `i-j`: source word i is linked with target word j, both counted from 0.

    Parameters
    ----------
    source, target, alignments : the files (plain or gzip), or open streams.
    encoding : of the texts.
    """
    texts = [read_sentences(source, encoding), read_sentences(target, encoding)]
    if len(texts[1]) != len(texts[0]):
        raise _unequal(target, len(texts[1]), source, len(texts[0]))
    for path, sentences in ((source, texts[0]), (target, texts[1])):
        for number, sentence in enumerate(sentences, 1):
            if not sentence and alignments is not None:
                raise DataError(source_name(path), number, "the sentence is empty: remove the line from all files.")
    if alignments is None:
        return ParallelText(texts[0], texts[1])
    name, found = source_name(alignments), list[Links]()
    for number, line in read_lines(alignments, encoding):
        if number > len(texts[0]):
            break
        try:
            links = parse_links(line)
            check_links(links, len(texts[0][number - 1].split()), len(texts[1][number - 1].split()))
        except MargraveError as error:
            raise DataError(name, number, str(error)) from None
        found.append(links)
    else:
        number = len(found)
    if number != len(texts[0]):
        raise _unequal(alignments, number, source, len(texts[0]))
    return ParallelText(texts[0], texts[1], found)


def parse_links(text: str) -> Links:
    """The links of one line.

    Parameters
    ----------
    text : links `i-j`, separated by blanks.

    >>> parse_links("0-0 1-2")
    [(0, 0), (1, 2)]
    """
    links = []
    for each in text.split():
        match = _LINK.fullmatch(each)
        if match is None:
            raise MargraveError(f"{each!r} is not a link i-j between a source word i and a target word j.")
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
    more = " or more" if n > m else ""
    return DataError(source_name(one), None, f"{counted(n, 'line')}{more}, but {source_name(other)} has {m}.")
