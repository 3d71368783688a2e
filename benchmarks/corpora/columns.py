"""Corpora in columns: chunks, entities, genes and parts of speech."""

import re
from collections.abc import Iterator, Sequence

from benchmarks.corpora.folder import data_file
from benchmarks.corpora.lines import Rows, commented
from margrave.data import Answers, convert_tags
from margrave.datasets import read_columns
from margrave.datasets.opening import read_lines


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
    sentences = commented(data_file("genetag", f"genetag.{part}.tsv"))
    return [[(word, label) for word, _, label in rows] for _, rows in sentences]


def genetag_answers(part: str) -> list[tuple[list[tuple[str]], Answers]]:
    """Sentences as rows of a word, with their gold mentions as tags and the other answers that count as right.

    Mentions are those of the gold file, which differ from the tags in 51 sentences of train and in one of devtest. A
    mention that overlaps the one before it, which happens once, in train, becomes an alternative.
    """
    gold, others = (_mentions(part, kind) for kind in ("gold", "alternatives"))
    found = []
    for comment, rows in commented(data_file("genetag", f"genetag.{part}.tsv")):
        name = comment.rpartition("= ")[2]
        tags, alternatives = ["O"] * len(rows), others.get(name, [])
        for first, last in sorted(gold.get(name, [])):
            if any(tag != "O" for tag in tags[first : last + 1]):
                alternatives = [*alternatives, (first, last)]
                continue
            tags[first : last + 1] = ["B-GENE"] + ["I-GENE"] * (last - first)
        spans = [("GENE", first, last + 1) for first, last in alternatives]
        found.append(([(row[0],) for row in rows], Answers(tags, spans)))
    return found


def _mentions(part: str, kind: str) -> dict[str, list[tuple[int, int]]]:
    """The first and the last token of the mentions of each sentence."""
    found: dict[str, list[tuple[int, int]]] = {}
    for number, line in read_lines(data_file("genetag", f"genetag.{part}.{kind}.txt")):
        match = re.match(r"@@(\d+)\|(\d+) (\d+)", line)
        if match is None:
            raise ValueError(f"genetag.{part}.{kind}.txt, line {number}: expected @@id|first last|text.")
        found.setdefault(match[1], []).append((int(match[2]), int(match[3])))
    return found


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


def last_column(sentences: Sequence[Rows]) -> list[list[str]]:
    """The labels of sentences in columns."""
    return [[row[-1] for row in rows] for rows in sentences]
