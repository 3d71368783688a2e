"""BLEU and NIST of translations, as sums of statistics over segments; texts are words with blanks between them.

BLEU (Papineni et al. 2002) is that of sacrebleu with tokenize="none"; NIST (Doddington 2002) is that of mteval-v13a.
A segment has one reference, a text, or several, a list of texts.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.checks import flag
from margrave.errors import MargraveError, unknown

BLEU_ORDER = 4
NIST_ORDER = 5
SMOOTHINGS = ("exp", "add-one", "none")

# Doddington's penalty is 1/2 where the hypotheses have 2/3 of the references' words.
_NIST_BETA = np.log(0.5) / np.log(1.5) ** 2

References = Sequence[str | Sequence[str]]


def bleu(hypotheses: Sequence[str], references: References, *, smooth: str = "exp", lowercase: bool = False) -> float:
    """BLEU of a corpus, as a fraction of 1; the defaults are those of sacrebleu's corpus_bleu.

    >>> bleu(["the cat sat on the mat"], ["the cat sat on a mat"])
    0.537284965911771
    """
    statistics = BleuStatistics(references, lowercase=lowercase).segments(hypotheses)
    return float(bleu_of_statistics(statistics.sum(axis=0), smooth=smooth))


def sentence_bleu(hypothesis: str, references: str | Sequence[str], *, lowercase: bool = False) -> float:
    """BLEU+1 of one segment (Lin and Och 2004): one is added to the matches and totals of n = 2, 3, 4.

    The brevity penalty and the precision of words are as they are, so a hypothesis without a right word scores 0.

    >>> sentence_bleu("the dog", ["the cat", "a dog"])
    0.8408964152537145
    """
    return bleu([hypothesis], [references], smooth="add-one", lowercase=lowercase)


def nist(hypotheses: Sequence[str], references: References, *, lowercase: bool = False) -> float:
    """NIST of a corpus, up to 5-grams: the mean information of the n-grams that match, times a length penalty.

    As in mteval-v13a, an n-gram matches as often as in the reference that has it most often, and the length of a
    segment's references is their mean.

    >>> nist(["a b"], ["a b"])
    1.0
    """
    return float(nist_of_statistics(NistStatistics(references, lowercase=lowercase).segments(hypotheses).sum(axis=0)))


def bleu_of_statistics(statistics: NDArray[Any], *, smooth: str = "exp") -> NDArray[np.float64]:
    """BLEU of the statistics in the last axis, which are usually sums over segments.

    `smooth`: what becomes of a precision m / t without a match: "exp" makes the first such 1 / 2t, the next 1 / 4t and
    so on, "add-one" makes all but that of words (m + 1) / (t + 1), "none" leaves 0. Without any match BLEU is 0.
    """
    if smooth not in SMOOTHINGS:
        raise unknown("smoothing", smooth, SMOOTHINGS)
    counts = np.asarray(statistics, np.float64)
    _check_width("BLEU", counts, 2 * BLEU_ORDER + 2)
    matches, totals = counts[..., :BLEU_ORDER], counts[..., BLEU_ORDER : 2 * BLEU_ORDER]
    length, reference_length = counts[..., -2], counts[..., -1]
    some = (matches > 0).any(axis=-1)
    if smooth == "add-one":
        more = np.arange(BLEU_ORDER) > 0
        matches, totals = matches + more, totals + more
    elif smooth == "exp":
        missing = matches == 0
        matches = np.where(missing, 0.5 ** np.cumsum(missing, axis=-1), matches)
    # An order without n-grams, which only texts of few words lack, has precision 0 but for "add-one".
    precisions = np.where(totals > 0, matches / np.maximum(totals, 1), 0.0)
    some &= (precisions > 0).all(axis=-1)
    mean_log = np.log(np.where(precisions > 0, precisions, 1.0)).mean(axis=-1)
    brevity = np.minimum(0.0, 1.0 - reference_length / np.maximum(length, 1))
    return np.where(some, np.exp(brevity + mean_log), 0.0)


def nist_of_statistics(statistics: NDArray[Any]) -> NDArray[np.float64]:
    """NIST of the statistics in the last axis, which are usually sums over segments."""
    sums = np.asarray(statistics, np.float64)
    _check_width("NIST", sums, 2 * NIST_ORDER + 1)
    information, totals, reference_length = sums[..., :NIST_ORDER], sums[..., NIST_ORDER:-1], sums[..., -1]
    ratio = totals[..., 0] / np.where(reference_length > 0, reference_length, 1.0)
    penalty = np.exp(_NIST_BETA * np.log(np.clip(ratio, 1e-300, 1.0)) ** 2)
    score: NDArray[np.float64] = penalty * (information / np.maximum(totals, 1)).sum(axis=-1)
    return score


class _Statistics(ABC):
    """The counted references of a corpus, to which any number of hypotheses can be compared."""

    def __init__(self, references: References, order: int, lowercase: bool) -> None:
        self.lowercase = flag("lowercase", lowercase)
        self._order = order
        _check_sequence("references", references, "segments")
        words = [self._words(i, segment) for i, segment in enumerate(references)]
        self._lengths = [[len(text) for text in texts] for texts in words]
        self._counts = [[ngram_counts(text, order) for text in texts] for texts in words]
        # An n-gram matches as often as in the reference that has it most often.
        self._limits = [_greatest(counts) for counts in self._counts]

    def segments(self, hypotheses: Sequence[str]) -> NDArray[Any]:
        """One row of statistics for each segment's hypothesis."""
        self._check_number(hypotheses)
        return self._rows([self._row(i, text, f"hypotheses[{i}]") for i, text in enumerate(hypotheses)])

    def lists(self, hypotheses: Sequence[Sequence[str]]) -> list[NDArray[Any]]:
        """For each segment's list of hypotheses an array with one row of statistics for each."""
        self._check_number(hypotheses)
        for i, texts in enumerate(hypotheses):
            _check_sequence(f"hypotheses[{i}]", texts, "texts")
        return [
            self._rows([self._row(i, text, f"hypotheses[{i}][{k}]") for k, text in enumerate(texts)])
            for i, texts in enumerate(hypotheses)
        ]

    def _row(self, i: int, text: str, where: str) -> list[Any]:
        words = split(text, where, self.lowercase)
        matches = [0.0] * self._order
        limits = self._limits[i]
        for ngram, count in ngram_counts(words, self._order).items():
            limit = limits.get(ngram)
            if limit is not None:
                matches[len(ngram) - 1] += self._worth(ngram) * min(count, limit)
        totals = [max(0, len(words) - n) for n in range(self._order)]
        return [*matches, *totals, *self._lengths_of(i, len(words))]

    @abstractmethod
    def _worth(self, ngram: tuple[str, ...]) -> float:
        """What one match adds to the statistics."""

    @abstractmethod
    def _lengths_of(self, i: int, length: int) -> list[Any]:
        """The lengths that end the statistics of a hypothesis of segment i."""

    @abstractmethod
    def _rows(self, rows: list[list[Any]]) -> NDArray[Any]:
        """An array of the metric's type."""

    def _words(self, i: int, segment: str | Sequence[str]) -> list[list[str]]:
        if isinstance(segment, str):
            return [split(segment, f"references[{i}]", self.lowercase)]
        if not hasattr(segment, "__len__"):
            raise MargraveError(f"references[{i}] is {segment!r}, where a text or a list of texts is expected.")
        if len(segment) == 0:
            raise MargraveError(f"references[{i}] is empty, and a segment needs at least one reference.")
        return [split(text, f"references[{i}][{k}]", self.lowercase) for k, text in enumerate(segment)]

    def _check_number(self, hypotheses: Sequence[object]) -> None:
        _check_sequence("hypotheses", hypotheses, "segments")
        if len(hypotheses) != len(self._limits):
            raise MargraveError(f"hypotheses has {len(hypotheses)} segments, but references has {len(self._limits)}.")


class BleuStatistics(_Statistics):
    """What BLEU needs of each segment, in 10 whole numbers whose sums over segments give the BLEU of the corpus.

    Matches of n = 1..4, n-grams of the hypothesis of n = 1..4, its length, and that of the reference nearest in length
    (of two as near, the shorter).
    """

    def __init__(self, references: References, *, lowercase: bool = False) -> None:
        super().__init__(references, BLEU_ORDER, lowercase)

    def _worth(self, ngram: tuple[str, ...]) -> float:
        return 1

    def _lengths_of(self, i: int, length: int) -> list[Any]:
        return [length, min(self._lengths[i], key=lambda of: (abs(of - length), of))]

    def _rows(self, rows: list[list[Any]]) -> NDArray[np.int64]:
        return np.array(rows, np.int64)


class NistStatistics(_Statistics):
    """What NIST needs of each segment, in 11 numbers whose sums over segments give the NIST of the corpus.

    The information of the matches of n = 1..5, n-grams of the hypothesis of n = 1..5, and the mean length of the
    references. The information of an n-gram is log2 of how often its first n - 1 words occur in all references for
    each time that it does (for words: of all words).
    """

    def __init__(self, references: References, *, lowercase: bool = False) -> None:
        super().__init__(references, NIST_ORDER, lowercase)
        seen = Counter[tuple[str, ...]]()
        for counts in self._counts:
            for of_text in counts:
                seen.update(of_text)
        seen[()] = sum(sum(lengths) for lengths in self._lengths)
        self._information = {ngram: float(np.log2(seen[ngram[:-1]] / count)) for ngram, count in seen.items() if ngram}

    def _worth(self, ngram: tuple[str, ...]) -> float:
        return self._information[ngram]

    def _lengths_of(self, i: int, length: int) -> list[Any]:
        return [sum(self._lengths[i]) / len(self._lengths[i])]

    def _rows(self, rows: list[list[Any]]) -> NDArray[np.float64]:
        return np.array(rows, np.float64)


def ngram_counts(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    """How often each n-gram of n = 1..order occurs."""
    return Counter(ngram for n in range(1, order + 1) for ngram in ngrams(words, n))


def ngrams(words: Sequence[str], n: int) -> Iterator[tuple[str, ...]]:
    """The n words from each position."""
    return zip(*(words[k:] for k in range(n)), strict=False)


def split(text: object, where: str, lowercase: bool = False) -> list[str]:
    """The words of a text."""
    if not isinstance(text, str):
        raise MargraveError(f"{where} is {text!r}, where a text is expected.")
    return (text.lower() if lowercase else text).split()


def _greatest(counts: list[Counter[tuple[str, ...]]]) -> Counter[tuple[str, ...]]:
    greatest = counts[0].copy()
    for of_text in counts[1:]:
        greatest |= of_text
    return greatest


def _check_sequence(name: str, value: object, of_what: str) -> None:
    if isinstance(value, str) or not hasattr(value, "__len__"):
        raise MargraveError(f"{name} is {value!r}, where a sequence of {of_what} is expected.")
    if len(value) == 0:
        raise MargraveError(f"{name} is empty: there are no {of_what} to score.")


def _check_width(metric: str, statistics: NDArray[np.float64], width: int) -> None:
    if statistics.ndim == 0 or statistics.shape[-1] != width:
        raise MargraveError(f"{metric} needs {width} statistics a segment, and these have shape {statistics.shape}.")
