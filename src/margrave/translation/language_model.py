"""N-gram language models: ARPA files, and estimates with modified Kneser-Ney smoothing."""

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import IO, Any

import numpy as np

from margrave import _core
from margrave.checks import whole
from margrave.datasets.opening import read_line_pieces, source_name, write_lines
from margrave.errors import DataError, MargraveError
from margrave.files.stored import vector
from margrave.stored import Stored
from margrave.translation.parallel import Words, words_of

_LINES = 100_000  # that are written at once


class NGramModel:
    """An n-gram model with back-off; its scores are logarithms to base 10, as in ARPA files.

    Make one by `read_arpa` or `estimate`. Sentences and contexts are lists of words, or texts whose words are separated
    by blanks. A word that the model does not know counts as <unk>.

    >>> model = NGramModel.estimate(["the dog barks", "the cat sleeps"], order=2)
    >>> model.order, model.score("the dog barks") > model.score("dog the barks")
    (2, True)
    >>> model.state("<s> the")
    ('the',)
    """

    def __init__(self, core: _core.LanguageModel) -> None:
        self.core = core

    @classmethod
    def read_arpa(cls, path: str | PathLike[str] | IO[bytes]) -> "NGramModel":
        """Read a model in ARPA format; gzip is recognized.

        A model without <unk> gives unknown words the score -100.

        Parameters
        ----------
        path : the file, or an open binary stream.
        """
        reader = _core.ArpaReader()
        try:
            for piece in read_line_pieces(path):
                reader.feed(piece)
            return cls(reader.finish())
        except DataError:
            raise
        except MargraveError as error:
            raise DataError(source_name(path), reader.line, str(error)) from None

    @classmethod
    def estimate(cls, sentences: Iterable[Words], order: int = 3) -> "NGramModel":
        """Estimate a model with modified Kneser-Ney smoothing, interpolated (Chen and Goodman 1998).

        The probabilities of all words, </s> and <unk> behind any context sum to 1. If a text is so small that the
        discounts of an order are undefined or out of range, they are 0.5, 1 and 1.5.

        Parameters
        ----------
        sentences : the sentences, without <s> and </s>.
        order : the length of the longest n-grams.
        """
        if isinstance(sentences, str):
            raise MargraveError("sentences must be a list, and it is a text.")
        counter = _core.KneserNey(whole("order", order, 1, 100))
        for i, sentence in enumerate(sentences):
            try:
                counter.add(words_of(sentence))
            except MargraveError as error:
                raise MargraveError(f"sentence {i}: {error}") from None
        return cls(counter.estimate())

    def write_arpa(self, path: str | PathLike[str]) -> None:
        """Write the model in ARPA format; reading it gives the same numbers.

        Parameters
        ----------
        path : the file; a name that ends in .gz is compressed.
        """
        write_lines(path, self._lines())

    @property
    def order(self) -> int:
        """The length of the longest n-grams."""
        return self.core.order

    def __len__(self) -> int:
        """The number of n-grams."""
        return len(self.core)

    def __contains__(self, word: str) -> bool:
        """Whether the model knows a word."""
        return word in self.core

    def score(self, words: Words) -> float:
        """The score of a sentence between <s> and </s>.

        Parameters
        ----------
        words : the sentence.
        """
        return self.core.score(words_of(words))

    def conditional(self, word: str, context: Words = ()) -> float:
        """The score of a word behind others.

        Parameters
        ----------
        word : the word; it can be </s>.
        context : the words before it, which can begin with <s>.
        """
        return self.core.conditional(word, words_of(context))

    def state(self, words: Words) -> tuple[str, ...]:
        """The last words that can matter for the score of what follows: the longest known suffix below the order.

        Parameters
        ----------
        words : the words so far, which can begin with <s>.
        """
        return tuple(self.core.state(words_of(words)))

    def _lines(self) -> Iterator[str]:
        yield "\\data\\"
        counts = self.core.counts()
        for n, count in enumerate(counts, 1):
            yield f"ngram {n}={count}"
        for n, count in enumerate(counts, 1):
            yield f"\n\\{n}-grams:"
            for first in range(0, count, _LINES):
                yield self.core.lines(n, first, min(first + _LINES, count))
        yield "\n\\end\\"


class StoredModel(Stored, kind="language-model"):
    """A language model in a model file, where it is kept in ARPA format.

    Parameters
    ----------
    model : the language model.
    """

    name = "arpa"

    def __init__(self, model: NGramModel | None = None) -> None:
        self._model = model

    @property
    def model(self) -> NGramModel:
        """The language model."""
        if self._model is None:
            raise MargraveError("there is no language model.")
        return self._model

    def stored_settings(self) -> dict[str, Any]:
        """It has none."""
        return {}

    def state(self) -> dict[str, Any]:
        """The bytes of the file."""
        text = "".join(f"{line}\n" for line in self.model._lines())
        return {"arpa": np.frombuffer(text.encode(), dtype=np.uint8)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores what `state` returned."""
        reader = _core.ArpaReader()
        reader.feed(vector(state["arpa"], np.uint8, "arpa").tobytes())
        self._model = NGramModel(reader.finish())
