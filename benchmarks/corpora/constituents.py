"""Treebanks of constituents: ptb-sample and genia-treebank, without function tags and traces."""

import gzip
from collections.abc import Iterator
from pathlib import Path

from benchmarks.corpora.folder import MissingData, data_file
from benchmarks.corpora.trees import ptb_part
from margrave.data.constituents import Tree, cleaned


def constituents(name: str, part: str, longest: int | None = None) -> list[Tree]:
    """The trees of a part (train, dev, test), or those of at most so many words."""
    if part not in ("train", "dev", "test"):
        raise MissingData(f"benchmark data not found: {name} has the parts train, dev and test, not {part!r}.")
    file = "wsj-sample.trees.tsv" if name == "ptb-sample" else f"genia.{part}.trees.tsv"
    lines = _lines(data_file(name, file))
    chosen = (text for document, text in lines if name != "ptb-sample" or ptb_part(document) == part)
    trees = (cleaned(Tree.of(text)) for text in chosen)
    return [tree for tree in trees if tree is not None and (longest is None or len(tree.words) <= longest)]


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Documents and trees."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else open(path, encoding="utf-8") as file:
        for line in file:
            document, _, tree = line.rstrip("\n").partition("\t")
            yield document, tree
