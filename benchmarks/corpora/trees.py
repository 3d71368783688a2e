"""Dependency treebanks, and the attributes of their arcs."""

from benchmarks.corpora.folder import MissingData, data_file, only_file
from benchmarks.corpora.lines import commented
from margrave.data import Sentence, Word
from margrave.datasets import read_conllu, read_conllx


def treebank(name: str, part: str) -> list[Sentence]:
    """Dependency trees of a corpus folder: ud-*, ptb-sample (train, dev, test) or conll2007-eu-es (esp.train, ...)."""
    if name == "ptb-sample":
        if part not in ("train", "dev", "test"):
            raise MissingData(f"benchmark data not found: {name} has the parts train, dev and test, not {part!r}.")
        return [
            Sentence(words=[Word(i, form, xpos=tag, head=int(head)) for i, (form, tag, head) in enumerate(rows, 1)])
            for comment, rows in commented(data_file(name, "wsj-sample.dep.tsv"))
            if ptb_part(comment) == part
        ]
    if name == "conll2007-eu-es":
        return list(read_conllx(data_file(name, part), encoding="latin-1" if part.startswith("eus") else "utf-8"))
    return list(read_conllu(only_file(name, f"*-ud-{part}.conllu*")))


def ptb_part(comment: str) -> str:
    """The part that a document belongs to, whose name ends in its number."""
    document = int(comment.rsplit("_", 1)[1])
    return "train" if document < 150 else "dev" if document < 170 else "test"


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
