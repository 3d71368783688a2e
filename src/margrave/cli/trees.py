"""Files of dependency trees, as parsers read and write them: CoNLL-U and CoNLL-X."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from margrave.cli import conllu
from margrave.cli.streams import display_name
from margrave.errors import DataError, MargraveError, quoted

if TYPE_CHECKING:
    from margrave import _core
    from margrave.datasets.opening import Block

Prepare = Callable[[str, "Block"], "Block"]  # what is done with a piece of a file before it is parsed, such as tagging


@dataclass(eq=False, repr=False)
class Treebank:
    """The sentences of a file with their trees."""

    table: "_core.ColumnTable"  # the columns that a parser reads
    forms: list[list[str]]
    heads: list[list[int]]  # -1: not annotated
    labels: list[list[str]]

    @property
    def labeled(self) -> bool:
        """Whether any word has a label."""
        return any(label != conllu.MISSING for labels in self.labels for label in labels)

    @property
    def sizes(self) -> dict[str, int]:
        """How large it is."""
        return {"n_sentences": len(self.heads), "n_words": sum(map(len, self.heads))}

    def rows(self) -> list[list[tuple[str, ...]]]:
        """The columns as Python has them: a row for each word."""
        columns = [self.table.column(k) for k in range(self.table.width)]
        return [list(zip(*of, strict=True)) for of in zip(*columns, strict=True)]

    def trees(self, *, labeled: bool) -> list[list[Any]]:
        """The heads, or pairs (head, label)."""
        if not labeled:
            return list(self.heads)
        return [list(zip(*of, strict=True)) for of in zip(self.heads, self.labels, strict=True)]


def read_treebank(path: str, format: str, columns: Sequence[str], prepare: Prepare) -> Treebank:
    """All sentences of a file; their words need not have heads."""
    return _treebank(*_whole(path), format, columns, prepare)


def read_gold(
    path: str, format: str, columns: Sequence[str], prepare: Prepare, *, single_root: bool = False
) -> Treebank:
    """All sentences of a file, whose words must have heads; `single_root` refuses several words on the root."""
    name, block = _whole(path)
    found = _treebank(name, block, format, columns, prepare)
    for number, (forms, heads) in enumerate(zip(found.forms, found.heads, strict=True), 1):
        if -1 in heads:
            word = heads.index(-1)
            where = f"{display_name(path)}, sentence {number}"
            raise DataError(where, None, f"word {word + 1} ({quoted(forms[word])}) has no head.")
        if single_root and heads.count(0) > 1:
            _refuse_roots(name, block, format)
    return found


def _whole(path: str) -> tuple[str, "Block"]:
    return next(conllu.read_text(path, None))


def _treebank(name: str, block: "Block", format: str, columns: Sequence[str], prepare: Prepare) -> Treebank:
    text = conllu.parse(name, prepare(name, block), [*columns, "form", "deprel"], format, trees=True)
    table, last = text.table, len(columns)
    forms, labels = table.column(last), table.column(last + 1)
    heads = text.heads.tolist()
    bounds = accumulate(map(len, forms), initial=0)
    return Treebank(
        table.without_column(last + 1).without_column(last),
        forms,
        [heads[first:end] for first, end in pairwise(bounds)],
        labels,
    )


def _refuse_roots(name: str, block: "Block", format: str) -> None:
    """Says which word is a second root, and in which line."""
    try:
        for _ in conllu.sentences(name, block, format, single_root=True):
            pass
    except DataError as error:
        raise MargraveError(f"{str(error).removesuffix('.')}: give --several-roots to allow this.") from error
