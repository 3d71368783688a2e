"""Phrase tables: phrase pairs of word-aligned sentences, with their probabilities."""

# The probabilities are those of 004, section 5.2.

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import has_length, whole
from margrave.data.parallel import Links
from margrave.errors import MargraveError
from margrave.files.stored import vector
from margrave.stored import Stored
from margrave.translation.parallel import check_links, parse_links, split_words

SCORES = (
    *("p(target|source)", "p(source|target)", "lex(target|source)", "lex(source|target)"),
    *("forward monotone", "forward swap", "forward discontinuous"),
    *("backward monotone", "backward swap", "backward discontinuous"),
)
_ARRAYS = ("source_begin", "source", "pairs_begin", "target_begin", "target", "scores")


class PhraseTable(Stored, kind="phrases"):
    """Phrase pairs with log-probabilities.

    They are those of the target phrase given the source phrase and the reverse, lexical weights in both directions, and
    orientations: how the phrase that follows in the translation lies in the source ("forward"), and how the phrase
    before does ("backward"). `AlignedText.phrases` makes one.

    Parameters
    ----------
    source_words, target_words : the words of both languages; the core knows them by their numbers.
    core : the phrase pairs.
    """

    name = "pairs"

    def __init__(
        self, source_words: Sequence[str] = (), target_words: Sequence[str] = (), core: _core.PhraseTable | None = None
    ) -> None:
        self.source_words, self.target_words = list(source_words), list(target_words)
        self.core = core
        self._number = {word: k for k, word in enumerate(self.source_words)}

    def __len__(self) -> int:
        """The number of phrase pairs."""
        return 0 if self.core is None else len(self.core)

    def encode(self, words: Sequence[str]) -> NDArray[np.int32]:
        """The numbers of source words; -1 for unknown ones.

        Parameters
        ----------
        words : the words of a sentence.
        """
        return np.array([self._number.get(word, -1) for word in words], dtype=np.int32)

    def pairs(self) -> dict[tuple[str, str], dict[str, float]]:
        """All phrase pairs with their scores by name."""
        if self.core is None:
            return {}
        source_begin, source, pairs_begin, target_begin, target, scores = self.core.arrays()
        found = {}
        for s in range(len(source_begin) - 1):
            phrase = " ".join(self.source_words[k] for k in source[source_begin[s] : source_begin[s + 1]])
            for p in range(pairs_begin[s], pairs_begin[s + 1]):
                other = " ".join(self.target_words[k] for k in target[target_begin[p] : target_begin[p + 1]])
                values = scores[p * len(SCORES) : (p + 1) * len(SCORES)].tolist()
                found[phrase, other] = dict(zip(SCORES, values, strict=True))
        return found

    def stored_settings(self) -> dict[str, Any]:
        """It has none."""
        return {}

    def state(self) -> dict[str, Any]:
        """The words and the arrays."""
        assert self.core is not None
        arrays = dict(zip(_ARRAYS, self.core.arrays(), strict=True))
        return {"source_words": self.source_words, "target_words": self.target_words, **arrays}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores what `state` returned."""
        types = (np.int64, np.int32, np.int64, np.int64, np.int32, np.float32)
        arrays = [vector(state[name], kind, name) for name, kind in zip(_ARRAYS, types, strict=True)]
        words = [state["source_words"], state["target_words"]]
        for of, numbers in zip(words, (arrays[1], arrays[4]), strict=True):
            if not isinstance(of, list) or not all(isinstance(word, str) for word in of) or len(set(of)) != len(of):
                raise MargraveError("the words of a phrase table must be distinct texts.")
            if len(numbers) and int(numbers.max()) >= len(of):
                raise MargraveError("a phrase has a word that the phrase table does not list.")
        self.__init__(*words, _core.PhraseTable(*arrays))  # type: ignore[misc]


class AlignedText:
    """Word-aligned sentence pairs, from which phrases are extracted.

    Parameters
    ----------
    source, target : sentences; their words are separated by blanks.
    alignments : for each pair the links between source and target words, as pairs of numbers or as text "0-0 1-2".

    >>> text = AlignedText(["la maison"], ["the house"], ["0-0 1-1"])
    >>> sorted(text.phrases().pairs())
    [('la', 'the'), ('la maison', 'the house'), ('maison', 'house')]
    """

    def __init__(self, source: Sequence[str], target: Sequence[str], alignments: Sequence[Links | str]) -> None:
        for what, values in (("source sentences", source), ("target sentences", target), ("alignments", alignments)):
            if not has_length(values):
                raise MargraveError(f"the {what} must be a list, not {type(values).__name__}.")
        if not len(source) == len(target) == len(alignments):
            raise MargraveError(
                f"there are {len(source)} source sentences, {len(target)} target sentences and {len(alignments)} "
                "alignments, but there must be as many of each."
            )
        self.size = len(source)
        self._source = _Numbers(source, "source")
        self._target = _Numbers(target, "target")
        links, begin = list[tuple[int, int]](), [0]
        for k, given in enumerate(alignments):
            try:
                of_pair = parse_links(given) if isinstance(given, str) else _pairs(given)
                check_links(of_pair, self._source.length(k), self._target.length(k))
            except MargraveError as error:
                raise MargraveError(f"sentence {k}: {error}") from None
            links += of_pair
            begin.append(len(links))
        flat = np.array(links, dtype=np.int32).reshape(-1, 2)
        self._links = np.array(begin, dtype=np.int64), flat[:, 0].copy(), flat[:, 1].copy()

    def phrases(
        self, longest: int = 5, most: int = 20, used: NDArray[np.bool_] | Sequence[bool] | None = None
    ) -> PhraseTable:
        """The phrase pairs that are consistent with the alignments.

        Parameters
        ----------
        longest : the most words of a phrase.
        most : the most target phrases of a source phrase; those with the highest p(target|source) are kept.
        used : which sentence pairs to use; None means all.
        """
        chosen = np.ones(self.size, np.uint8) if used is None else np.asarray(used, dtype=np.uint8)
        limits = whole("longest", longest, 1, 100), whole("most", most, 1, 10**9)
        source, target, (begin, left, right) = self._source.arrays, self._target.arrays, self._links
        core = _core.extract_phrases(*source, *target, begin, left, right, chosen, *limits)
        return PhraseTable(self._source.words, self._target.words, core)


def _pairs(links: Any) -> Links:
    """Links that are given as pairs of numbers."""
    try:
        return [(index(i), index(j)) for i, j in links]
    except (TypeError, ValueError):
        raise MargraveError('links must be pairs of numbers, or a text such as "0-0 1-2".') from None


class _Numbers:
    """Sentences as numbers of words."""

    def __init__(self, sentences: Sequence[str], side: str) -> None:
        number: dict[str, int] = {}
        flat, begin = list[int](), [0]
        for k, sentence in enumerate(sentences):
            if not isinstance(sentence, str):
                raise MargraveError(f"{side} sentence {k} must be a text, not {type(sentence).__name__}.")
            flat += [number.setdefault(word, len(number)) for word in split_words(sentence)]
            begin.append(len(flat))
        self.words = list(number)
        self.arrays = np.array(begin, dtype=np.int64), np.array(flat, dtype=np.int32)

    def length(self, k: int) -> int:
        begin = self.arrays[0]
        return int(begin[k + 1] - begin[k])
