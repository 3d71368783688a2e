"""Loaders of the benchmark corpora, each in its own format, from the folder that MARGRAVE_DATA points to."""

import gzip
import os
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.datasets import Sentence, Word, convert_tags, read_columns, read_conllu, read_conllx
from margrave.datasets.nbest import NBestList, read_nbest, read_references
from margrave.datasets.opening import read_lines

Rows = list[tuple[str, ...]]  # a sentence: one tuple of columns a token
Bytes = NDArray[np.uint8]

DEFAULT = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"


class MissingData(Exception):  # noqa: N818 (it says what is missing, not that something broke)
    """The corpora, or a part of one, are not where MARGRAVE_DATA says."""


def corpus(name: str) -> Path:
    """The folder of a corpus."""
    root = Path(os.environ.get("MARGRAVE_DATA") or DEFAULT)
    if not (root / name).is_dir():
        raise MissingData(f"benchmark data not found: set MARGRAVE_DATA to the folder that holds {name}/ (now {root}).")
    return root / name


def mnist() -> tuple[Bytes, Bytes, Bytes, Bytes]:
    """Training images (60000, 784) and labels, test images (10000, 784) and labels."""
    train, test = "train-{}-ubyte", "t10k-{}-ubyte"
    return (
        _idx(train.format("images-idx3"), (60_000, 28, 28)).reshape(60_000, 784),
        _idx(train.format("labels-idx1"), (60_000,)),
        _idx(test.format("images-idx3"), (10_000, 28, 28)).reshape(10_000, 784),
        _idx(test.format("labels-idx1"), (10_000,)),
    )


def letters() -> tuple[list[Bytes], list[list[str]], NDArray[np.int64]]:
    """Handwritten words: images (T, 128) of 0 and 1, letters, and the fold (0-9) of each word."""
    lines = (line.split("\t") for _, line in read_lines(data_file("ocr-letters", "letters.tsv")))
    words = [list(word) for _, word in groupby(lines, key=lambda fields: fields[3])]
    images = [np.array([[c == "1" for c in f[6]] for f in word], dtype=np.uint8) for word in words]
    labels = [[f[1] for f in word] for word in words]
    return images, labels, np.array([int(word[0][5]) for word in words])


def brown() -> list[tuple[str, Rows]]:
    """Sentences of (word, tag) with their document, whose second letter is the genre."""
    split = (line.split("\t") for _, line in read_lines(data_file("brown-pos", "brown.tagged.tsv")))
    # The tag follows the last slash: words may hold slashes of their own.
    return [(document, [tuple(token.rsplit("/", 1)) for token in text.split(" ")]) for document, text in split]


def brown_short() -> list[Rows]:
    """Sentences of (word, tag) with tags cut at -, + and *: 92 of 472 are left, one of them empty (* and --)."""
    return [[(word, re.split(r"[-+*]", tag, maxsplit=1)[0]) for word, tag in rows] for _, rows in brown()]


def genia_all() -> list[Rows]:
    """The sentences of all parts of genia_pos."""
    return [rows for part in ("train", "dev", "test", "extra") for rows in genia_pos(part)]


def genia_pos(part: str) -> list[Rows]:
    """Sentences of (word, tag); part is train, dev, test or extra."""
    return list(read_columns(data_file("genia-treebank", f"genia.{part}.pos.tsv")))


def conll2000(part: str) -> list[Rows]:
    """Sentences of (word, tag, chunk); part is train or test."""
    return list(conll2000_stream(part))


def conll2000_stream(part: str) -> Iterator[Rows]:
    """The sentences of conll2000 one at a time, for drivers whose memory is measured."""
    yield from read_columns(data_file("conll2000", f"{part}.txt"))


def conll2003(part: str) -> list[Rows]:
    """Sentences of (word, tag, chunk, entity) with entities in IOB2; part is train, testa or testb."""
    sentences = read_columns(data_file("conll2003-en", f"eng.{part}"), skip_docstart=True)
    return [
        [(*row[:-1], tag) for row, tag in zip(rows, convert_tags([r[-1] for r in rows], "IOB1", "IOB2"), strict=True)]
        for rows in sentences
    ]


def conll2002_es(part: str) -> list[Rows]:
    """Sentences of (word, tag, entity); part is train, testa or testb."""
    return list(read_columns(data_file("conll2002-es", f"esp.{part}")))


def genetag(part: str) -> list[Rows]:
    """Sentences of (word, label); part is train, devtest or test."""
    # The corpus's own tag column is left out: it is '_' on gene tokens, so it gives the answer away.
    sentences = _commented(data_file("genetag", f"genetag.{part}.tsv"))
    return [[(word, label) for word, _, label in rows] for _, rows in sentences]


def treebank(name: str, part: str) -> list[Sentence]:
    """Dependency trees of a corpus folder: ud-*, ptb-sample (train, dev, test) or conll2007-eu-es (esp.train, ...)."""
    if name == "ptb-sample":
        if part not in ("train", "dev", "test"):
            raise MissingData(f"benchmark data not found: {name} has the parts train, dev and test, not {part!r}.")
        return [
            Sentence(words=[Word(i, form, xpos=tag, head=int(head)) for i, (form, tag, head) in enumerate(rows, 1)])
            for comment, rows in _commented(data_file(name, "wsj-sample.dep.tsv"))
            if _ptb_part(comment) == part
        ]
    if name == "conll2007-eu-es":
        return list(read_conllx(data_file(name, part), encoding="latin-1" if part.startswith("eus") else "utf-8"))
    return list(read_conllu(_only(name, f"*-ud-{part}.conllu*")))


def moses_lists() -> tuple[list[NBestList], list[list[str]]]:
    """Lists of 100 translations with 15 scores each, and one reference, in the lower case of the lists."""
    references = read_references(data_file("mt-nbest-moses", "reference.txt"))
    lists = list(read_nbest(data_file("mt-nbest-moses", "nbest.txt")))
    return lists, [[text.lower() for text in texts] for texts in references]


def hiero_lists() -> tuple[list[NBestList], list[list[str]]]:
    """Lists of at most 10 translations with 21 scores each, and four references."""
    references = read_references(*(data_file("mt-bn-en-hiero", f"reference.en.{k}") for k in range(4)))
    return list(read_nbest(data_file("mt-bn-en-hiero", "nbest.txt"))), references


class Attributes(Sequence[Any]):
    """The attributes of sentences, made as they are asked for: Python never holds them all."""

    def __init__(self, sentences: Sequence[Any], of: Callable[[Any], list[list[str]]]) -> None:
        self.sentences = sentences
        self.of = of

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, i: Any) -> Any:
        return self.of(self.sentences[i])


def conll2000_attributes(rows: Sequence[tuple[str, ...]]) -> list[list[str]]:
    """The usual chunking attributes of one sentence: words, tags, their n-grams, and marks at both ends."""
    columns = {"w": [row[0] for row in rows], "pos": [row[1] for row in rows]}
    names = [(c, offsets, "|".join(f"{c}[{o}]" for o in offsets)) for c, offsets in CONLL2000_TEMPLATES]
    attributes = [
        [
            f"{name}={'|'.join(columns[c][t + o] for o in offsets)}"
            for c, offsets, name in names
            if t + offsets[0] >= 0 and t + offsets[-1] < len(rows)
        ]
        for t in range(len(rows))
    ]
    attributes[0].append("__BOS__")
    attributes[-1].append("__EOS__")
    return attributes


CONLL2000_TEMPLATES: list[tuple[str, tuple[int, ...]]] = [
    *(("w", (o,)) for o in range(-2, 3)),
    *(("w", (o, o + 1)) for o in (-1, 0)),
    *(("pos", (o,)) for o in range(-2, 3)),
    *(("pos", (o, o + 1)) for o in range(-2, 2)),
    *(("pos", (o, o + 1, o + 2)) for o in (-2, -1, 0)),
]


def arc_attributes(sentence: Sentence) -> list[list[str]]:
    """Attributes of the n * n arcs of a sentence, word by word and head by head.

    They are the forms and tags of both ends, pairs of these, and all of them with the arc's direction and length.
    """
    words = [("ROOT", "ROOT"), *((word.form.lower(), word.upos) for word in sentence.words)]
    return [
        _arc(*words[head], *words[word], _way(word - head))
        for word in range(1, len(words))
        for head in range(len(words))
        if head != word
    ]


def _arc(head: str, head_tag: str, word: str, tag: str, way: str) -> list[str]:
    plain = [f"h={head}", f"H={head_tag}", f"w={word}", f"W={tag}"]
    plain += [f"hW={head} {tag}", f"Hw={head_tag} {word}", f"hw={head} {word}", f"HW={head_tag} {tag}"]
    return [way, *plain, *(attribute + way for attribute in plain)]


def _way(distance: int) -> str:
    """Direction and length, in the buckets 1, 2, 3, 4, 5 to 10, and more."""
    length = abs(distance)
    return f"{'<' if distance < 0 else '>'}{length if length < 5 else 5 if length <= 10 else 11}"


def data_file(name: str, file: str) -> Path:
    """A file of a corpus, plain or packed."""
    folder = corpus(name)
    for path in (folder / file, folder / f"{file}.gz"):
        if path.is_file():
            return path
    raise MissingData(f"benchmark data not found: {folder} holds no {file} or {file}.gz.")


def _only(name: str, pattern: str) -> Path:
    found = sorted(corpus(name).glob(pattern))
    if len(found) != 1:
        raise MissingData(f"benchmark data not found: {corpus(name)} holds {len(found)} files {pattern}, expected one.")
    return found[0]


def _commented(path: Path) -> Iterator[tuple[str, Rows]]:
    """The comment line that opens each sentence, and its tab-separated rows."""
    comment = ""
    rows: Rows = []
    for _, line in read_lines(path):
        if not line:
            yield comment, rows
            comment, rows = "", []
        elif not comment:
            comment = line
        else:
            rows.append(tuple(line.split("\t")))
    if rows:
        yield comment, rows


def _ptb_part(comment: str) -> str:
    document = int(comment.rsplit("_", 1)[1])
    return "train" if document < 150 else "dev" if document < 170 else "test"


def _idx(file: str, shape: tuple[int, ...]) -> Bytes:
    path = data_file("mnist", file)
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    expected = struct.pack(f">{1 + len(shape)}i", 2048 + len(shape), *shape)  # magic 2051 or 2049, then the sizes
    if data[: len(expected)] != expected or len(data) != len(expected) + int(np.prod(shape)):
        raise MissingData(f"benchmark data not usable: {path} is not an idx file of bytes with sizes {shape}.")
    return np.frombuffer(data, dtype=np.uint8, offset=len(expected)).reshape(shape)
