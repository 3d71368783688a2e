"""Dependency trees in CoNLL-U (https://universaldependencies.org/format.html) and in CoNLL-X, its ancestor."""

import re
from collections.abc import Iterable, Iterator
from os import PathLike, fspath
from typing import Any

from margrave.data.sentences import Sentence, Word
from margrave.datasets.opening import TextSource, read_lines, source_name, write_lines
from margrave.errors import DataError, quoted, shortened, the_first

# No sentence has a billion words; Python refuses to read numbers of thousands of digits.
_NUMBER = re.compile("0|[1-9][0-9]{0,8}")
_RANGE = re.compile("([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_EMPTY = re.compile("(0|[1-9][0-9]{0,8})[.]([1-9][0-9]*)")
_BEFORE, _WORD, _AFTER = range(3)  # A multiword token comes before its first word, an empty node after its word.
_UNWRITABLE = re.compile("[\n\r\0]")
_SENTENCE_ID = "# sent_id = "
CONLLU_BLANKS = " \t"  # Lines of these only stand between sentences.

_Block = list[tuple[int, str]]  # the numbered lines of one sentence


def read_conllu(path: TextSource, encoding: str = "utf-8", *, single_root: bool = False) -> Iterator[Sentence]:
    """Read sentences from a CoNLL-U file, one at a time.

    A sentence without words and heads that are no tree are errors. Words may lack heads.

    Parameters
    ----------
    path : a file (plain or gzip) or an open text stream.
    encoding : the encoding of the file.
    single_root : refuse sentences in which several words hang on the root.
    """
    yield from conllu_sentences(source_name(path), read_lines(path, encoding), single_root=single_root)


def conllu_sentences(
    name: str, lines: Iterable[tuple[int, str]], *, trees: bool = True, single_root: bool = False
) -> Iterator[Sentence]:
    """The sentences of numbered lines; without `trees`, the column of heads is not read."""
    for block in _blocks(lines):
        yield _sentence(name, block, trees, single_root)


def read_conllx(path: TextSource, encoding: str = "utf-8", *, single_root: bool = False) -> Iterator[Sentence]:
    """Read sentences from a CoNLL-X file, one at a time.

    Heads that are no tree are errors. Words may lack heads.

    Parameters
    ----------
    path : a file (plain or gzip) or an open text stream.
    encoding : the encoding of the file.
    single_root : refuse sentences in which several words hang on the root.
    """
    yield from conllx_sentences(source_name(path), read_lines(path, encoding), single_root=single_root)


def conllx_sentences(
    name: str, lines: Iterable[tuple[int, str]], *, trees: bool = True, single_root: bool = False
) -> Iterator[Sentence]:
    """The sentences of numbered lines in CoNLL-X; without `trees`, the column of heads is not read."""
    for block in _blocks(lines):
        words = []
        for id, (number, line) in enumerate(block, 1):
            fields = _fields(name, number, line)
            if fields[0] != str(id):
                raise DataError(name, number, f"id {shortened(fields[0])} is out of order after word {id - 1}.")
            words.append(_word(name, number, fields, trees))
        sentence = Sentence(words=words)
        _check_tree(name, block[0][0], [number for number, _ in block], sentence, single_root)
        yield sentence


def write_conllu(path: str | PathLike[str], sentences: Iterable[Sentence]) -> None:
    """Write sentences to a CoNLL-U file.

    Sentences that `read_conllu` or `read_conllx` have read are written back byte for byte. Only deviations from the
    format are lost: other line ends, other encodings than UTF-8, and more or less than one blank line after a sentence.

    Parameters
    ----------
    path : the file to write; it is compressed with gzip if its name ends in .gz.
    sentences : the sentences.
    """
    write_lines(path, conllu_lines(sentences, fspath(path)))


def conllu_lines(sentences: Iterable[Sentence], name: str = "<output>") -> Iterator[str]:
    """The lines that `write_conllu` writes; `name` is what messages call their destination."""
    number = 1  # of the next line
    for sentence in sentences:
        if not sentence.words:
            raise DataError(name, number, "the sentence has no words.")
        rows = [*sentence.multiword, *map(_row, sentence.words), *sentence.empty]
        rows.sort(key=lambda row: _place(row[0]) or (0, 0, 0))
        lines = [*sentence.comments, *map("\t".join, rows)]
        for at, line in enumerate(lines, number):
            if _UNWRITABLE.search(line):
                raise DataError(name, at, f"{quoted(line)} contains a line break or NUL, which CoNLL-U cannot express.")
        _sentence(name, list(enumerate(lines, number)), True, False)  # Nothing is written that could not be read.
        yield from lines
        yield ""
        number += len(lines) + 1


def _blocks(lines: Iterable[tuple[int, str]]) -> Iterator[_Block]:
    block: _Block = []
    for number, line in lines:
        if line.strip(CONLLU_BLANKS):
            block.append((number, line))
        elif block:
            yield block
            block = []
    if block:
        yield block


def _sentence(name: str, block: _Block, trees: bool, single_root: bool) -> Sentence:
    sentence = Sentence()
    numbers: list[int] = []  # the line of every word
    place: tuple[int, int, Any] = (0, 0, 0)  # the place of the previous row
    covered, covered_line = 0, 0  # the last word of the last multiword token, and that token's line
    for number, line in block:
        last = len(sentence.words)
        if line.startswith("#"):
            if place > (0, 0, 0):
                raise DataError(name, number, "a comment inside a sentence: comments come before the first word.")
            sentence.comments.append(line)
            continue
        fields = _fields(name, number, line)
        row = _place(fields[0])
        if row is None:
            raise DataError(
                name, number, f"id {quoted(fields[0])} is not a number, a range (3-4) or an empty node (3.1)."
            )
        if row <= place or row[0] != (last if row[1] == _AFTER else last + 1):
            raise DataError(name, number, f"id {shortened(fields[0])} is out of order after word {last}.")
        place = row
        if place[1] == _WORD:
            sentence.words.append(_word(name, number, fields, trees))
            numbers.append(number)
        elif place[1] == _AFTER:
            sentence.empty.append(fields)
        else:
            if place[0] <= covered or place[2] <= place[0]:
                raise DataError(name, number, f"range {fields[0]} must have two words or more after the last range.")
            covered, covered_line = place[2], number
            sentence.multiword.append(fields)
    if not sentence.words:
        raise DataError(name, block[0][0], f"{_named(sentence) or 'the sentence'} has no words.")
    if covered > len(sentence.words):
        raise DataError(name, covered_line, f"the range ends at {covered}, but the last word is {len(sentence.words)}.")
    _check_tree(name, block[0][0], numbers, sentence, single_root)
    return sentence


def _named(sentence: Sentence) -> str:
    """The sentence by its id in the comments; empty if it has none."""
    ids = (line.removeprefix(_SENTENCE_ID) for line in sentence.comments if line.startswith(_SENTENCE_ID))
    return next((f"sentence {shortened(id)}" for id in ids), "")


def _place(id: str) -> tuple[int, int, Any] | None:
    """The key by which the rows of a sentence are sorted, or None if the id is invalid."""
    if _NUMBER.fullmatch(id):
        return int(id), _WORD, 0
    if match := _RANGE.fullmatch(id):
        return int(match[1]), _BEFORE, int(match[2])
    if match := _EMPTY.fullmatch(id):
        return int(match[1]), _AFTER, (len(match[2]), match[2])  # in the order of the numbers, however long
    return None


def _fields(name: str, number: int, line: str) -> tuple[str, ...]:
    fields = tuple(line.split("\t"))
    if len(fields) != 10:
        count = "1 column" if len(fields) == 1 else f"{len(fields)} columns"
        raise DataError(name, number, f"{count}, but a word has 10, separated by tabs.")
    if "" in fields:
        raise DataError(name, number, f"column {fields.index('') + 1} is empty; write _ for a missing value.")
    return fields


def _word(name: str, number: int, fields: tuple[str, ...], trees: bool) -> Word:
    id, form, lemma, upos, xpos, feats, head, deprel, deps, misc = fields
    annotated = trees and head != "_"
    if annotated and not _NUMBER.fullmatch(head):
        raise DataError(
            name, number, f"head {quoted(head)} is neither 0 nor the number of a word; write _ for a missing head."
        )
    parent = int(head) if annotated else None
    return Word(int(id), form, lemma, upos, xpos, feats, parent, deprel, deps, misc)


def _check_tree(name: str, first: int, numbers: list[int], sentence: Sentence, single_root: bool) -> None:
    """Check that all heads are words of the sentence and lead to a root; words without a head are ignored."""
    words = sentence.words
    heads = [word.head for word in words]

    def mistake(word: Word, what: str) -> DataError:
        whose = _named(sentence) or f"the sentence that starts in line {first}"
        return DataError(name, numbers[word.id - 1], f"word {word.id} ({quoted(word.form)}) of {whose} {what}")

    for word in words:
        if word.head is not None and word.head > len(words):
            raise mistake(word, f"has head {word.head}, but the last word is {len(words)}.")
    if 0 not in heads and None not in heads:
        whose = _named(sentence) or "the sentence that starts here"
        raise DataError(name, first, f"{whose} has no root, a word whose head is 0.")
    if cycle := _cycle(heads):
        arrows = the_first(cycle, between=" -> ")
        raise mistake(words[cycle[0] - 1], f"is its own ancestor, since the heads form a cycle: {arrows}.")
    roots = [word for word in words if word.head == 0]
    if single_root and len(roots) > 1:
        raise mistake(roots[1], f"is a second root besides word {roots[0].id} ({quoted(roots[0].form)}).")


def _cycle(heads: list[int | None]) -> list[int]:
    """The words of a cycle, ending with its first word again; empty if the heads have no cycle."""
    walk = [0] * (len(heads) + 1)  # the word from which each word was reached first
    for start in range(1, len(heads) + 1):
        word = start
        while word and not walk[word]:
            walk[word] = start
            word = heads[word - 1] or 0
        if word and walk[word] == start:
            cycle = [word]
            while len(cycle) == 1 or cycle[-1] != word:
                cycle.append(heads[cycle[-1] - 1] or 0)
            return cycle
    return []


def _row(word: Word) -> tuple[str, ...]:
    head = "_" if word.head is None else str(word.head)
    id, form, lemma = str(word.id), word.form, word.lemma
    return id, form, lemma, word.upos, word.xpos, word.feats, head, word.deprel, word.deps, word.misc
