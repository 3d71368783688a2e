"""Sentences with their dependency trees: words with the ten fields of CoNLL-U."""

from dataclasses import dataclass, field

from margrave.errors import MargraveError, counted, quoted, shortened


@dataclass(slots=True)
class Word:
    """A word with its ten fields. A head of 0 is the root; None means that the head is not annotated.

    In CoNLL-X, the fields upos, xpos, deps and misc are called CPOSTAG, POSTAG, PHEAD and PDEPREL.
    """

    id: int
    form: str
    lemma: str = "_"
    upos: str = "_"
    xpos: str = "_"
    feats: str = "_"
    head: int | None = None
    deprel: str = "_"
    deps: str = "_"
    misc: str = "_"

    def __repr__(self) -> str:
        return shortened(f"<Word {self.id} {self.form!r}, head {self.head}>")


@dataclass(slots=True)
class Sentence:
    """A sentence with its dependency tree.

    Parameters
    ----------
    comments : the comment lines, each with its leading #.
    words : the words, in order.
    multiword, empty : the multiword tokens and the empty nodes, as tuples of their ten fields, unchanged.
    """

    comments: list[str] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    multiword: list[tuple[str, ...]] = field(default_factory=list)
    empty: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def heads(self) -> list[int]:
        """The head of every word: 0 for the root, otherwise the id of a word."""
        heads = [word.head for word in self.words if word.head is not None]
        if len(heads) != len(self.words):
            bare = next(word for word in self.words if word.head is None)
            raise MargraveError(f"word {bare.id} ({quoted(bare.form)}) has no head.")
        return heads

    def __repr__(self) -> str:
        words = " ".join(word.form for word in self.words)
        return f"<Sentence of {counted(len(self.words), 'word')}: {shortened(words)}>"
