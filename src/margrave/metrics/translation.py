"""BLEU and NIST scores of translations, computed from statistics that are summed over segments.

BLEU (Papineni et al. 2002) equals sacrebleu's with tokenize="none"; NIST (Doddington 2002) equals that of mteval-v13a.
Texts are words separated by blanks. The references of a segment are one text or a list of texts.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.checks import flag, has_length
from margrave.errors import MargraveError, quoted, unknown

BLEU_ORDER = 4
NIST_ORDER = 5
SMOOTHINGS = ("exp", "add-one", "none")

# Doddington's penalty is 1/2 if the hypotheses have 2/3 as many words as the references.
_NIST_BETA = np.log(0.5) / np.log(1.5) ** 2

References = Sequence[str | Sequence[str]]


def bleu(hypotheses: Sequence[str], references: References, *, smooth: str = "exp", lowercase: bool = False) -> float:
    """Compute the BLEU score of a corpus, between 0 and 1; the defaults are those of sacrebleu's corpus_bleu.

    Parameters
    ----------
    hypotheses : the translation of each segment.
    references : the reference of each segment, or a list of references.
    smooth : how precisions without a match are smoothed; see `bleu_of_statistics`.
    lowercase : whether to ignore case.

    >>> bleu(["the cat sat on the mat"], ["the cat sat on a mat"])
    0.537284965911771
    """
    statistics = BleuStatistics(references, lowercase=lowercase).segments(hypotheses)
    return float(bleu_of_statistics(statistics.sum(axis=0), smooth=smooth))


def sentence_bleu(hypothesis: str, references: str | Sequence[str], *, lowercase: bool = False) -> float:
    """Compute BLEU+1 of one segment (Lin and Och 2004), which adds one to the matches and totals of n = 2, 3, 4.

    The brevity penalty and the precision of single words are not smoothed, so a hypothesis without a right word scores
    0.

    Parameters
    ----------
    hypothesis : the translation.
    references : one reference or a list of references.
    lowercase : whether to ignore case.

    >>> sentence_bleu("the dog", ["the cat", "a dog"])
    0.8408964152537145
    """
    return bleu([hypothesis], [references], smooth="add-one", lowercase=lowercase)


def nist(hypotheses: Sequence[str], references: References, *, lowercase: bool = False) -> float:
    """Compute the NIST score of a corpus: the mean information of matching n-grams, times a length penalty.

    As in mteval-v13a, an n-gram matches at most as often as it occurs in the reference that has it most often, and the
    reference length of a segment is the mean length of its references.

    Parameters
    ----------
    hypotheses : the translation of each segment.
    references : the reference of each segment, or a list of references.
    lowercase : whether to ignore case.

    >>> nist(["a b"], ["a b"])
    1.0
    """
    return float(nist_of_statistics(NistStatistics(references, lowercase=lowercase).segments(hypotheses).sum(axis=0)))


def bleu_of_statistics(statistics: NDArray[Any], *, smooth: str = "exp") -> NDArray[np.float64]:
    """Compute BLEU from statistics in the last axis, which are usually sums over segments.

    Parameters
    ----------
    statistics : an array (..., k) of the statistics of `BleuStatistics`.
    smooth : "exp" replaces the first precision without a match among t n-grams by 1 / 2t, the next by 1 / 4t and so on;
        "add-one" replaces every precision m / t except that of single words by (m + 1) / (t + 1); "none" changes
        nothing. Without any match, BLEU is 0.
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
    # An order without any n-grams, which happens only in very short texts, has precision 0 except with "add-one".
    precisions = np.where(totals > 0, matches / np.maximum(totals, 1), 0.0)
    some &= (precisions > 0).all(axis=-1)
    mean_log = np.log(np.where(precisions > 0, precisions, 1.0)).mean(axis=-1)
    brevity = np.minimum(0.0, 1.0 - reference_length / np.maximum(length, 1))
    return np.where(some, np.exp(brevity + mean_log), 0.0)


def nist_of_statistics(statistics: NDArray[Any]) -> NDArray[np.float64]:
    """Compute NIST from statistics in the last axis, which are usually sums over segments.

    Parameters
    ----------
    statistics : an array (..., k) of the statistics of `NistStatistics`.
    """
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
        # An n-gram matches at most as often as it occurs in the reference that has it most often.
        self._limits = [_greatest(counts) for counts in self._counts]

    def segments(self, hypotheses: Sequence[str]) -> NDArray[Any]:
        """Compute one row of statistics per segment.

        Parameters
        ----------
        hypotheses : the translation of each segment.
        """
        self._check_number(hypotheses)
        return self._rows([self._row(i, text, f"hypotheses[{i}]") for i, text in enumerate(hypotheses)])

    def lists(self, hypotheses: Sequence[Sequence[str]]) -> list[NDArray[Any]]:
        """Compute one array per segment, with one row of statistics for each of its hypotheses.

        Parameters
        ----------
        hypotheses : a list of translations for each segment.
        """
        self._check_number(hypotheses)
        for i, texts in enumerate(hypotheses):
            _check_sequence(f"hypotheses[{i}]", texts, "texts")
        return [
            self._rows([self._row(i, text, f"hypotheses[{i}][{k}]") for k, text in enumerate(texts)])
            for i, texts in enumerate(hypotheses)
        ]

    def row(self, i: int, hypothesis: str) -> NDArray[Any]:
        """Compute the statistics of one hypothesis of segment i.

        Parameters
        ----------
        i : the segment.
        hypothesis : the translation.
        """
        row: NDArray[Any] = self._rows([self._row(i, hypothesis, f"hypothesis of segment {i}")])[0]
        return row

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
        """The amount that one match adds to the statistics."""

    @abstractmethod
    def _lengths_of(self, i: int, length: int) -> list[Any]:
        """The lengths at the end of the statistics of a hypothesis of segment i."""

    @abstractmethod
    def _rows(self, rows: list[list[Any]]) -> NDArray[Any]:
        """The rows as an array of the metric's type."""

    def _words(self, i: int, segment: str | Sequence[str]) -> list[list[str]]:
        if isinstance(segment, str):
            return [split(segment, f"references[{i}]", self.lowercase)]
        if not has_length(segment):
            raise MargraveError(f"references[{i}] must be a text or a list of texts, and it is {quoted(segment)}.")
        if len(segment) == 0:
            raise MargraveError(f"references[{i}] is empty, but a segment needs at least one reference.")
        return [split(text, f"references[{i}][{k}]", self.lowercase) for k, text in enumerate(segment)]

    def _check_number(self, hypotheses: Sequence[object]) -> None:
        _check_sequence("hypotheses", hypotheses, "segments")
        if len(hypotheses) != len(self._limits):
            raise MargraveError(f"hypotheses has {len(hypotheses)} segments, but references has {len(self._limits)}.")


class BleuStatistics(_Statistics):
    """Statistics of segments whose sum over a corpus determines its BLEU score.

    For n = 1..4 they are the numbers of matching n-grams, then the numbers of n-grams of the hypothesis, then its
    length, and the length of the reference that is closest in length (the shorter of two equally close ones).

    Parameters
    ----------
    references : the reference of each segment, or a list of references.
    lowercase : whether to ignore case.
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
    """Statistics of segments whose sum over a corpus determines its NIST score.

    For n = 1..5 they are the information of the matching n-grams, then the numbers of n-grams of the hypothesis, then
    the mean length of the references. The information of an n-gram is log2(a / b), where b is the number of its
    occurrences in all references, and a that of its first n - 1 words (for n = 1, the number of all words).

    Parameters
    ----------
    references : the reference of each segment, or a list of references.
    lowercase : whether to ignore case.
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
    """The number of occurrences of each n-gram with n = 1..order."""
    return Counter(ngram for n in range(1, order + 1) for ngram in ngrams(words, n))


def ngrams(words: Sequence[str], n: int) -> Iterator[tuple[str, ...]]:
    """The n-grams of a text, from left to right."""
    return zip(*(words[k:] for k in range(n)), strict=False)


def split(text: object, where: str, lowercase: bool = False) -> list[str]:
    """The words of a text."""
    if not isinstance(text, str):
        raise MargraveError(f"{where} must be a text, and it is {quoted(text)}.")
    return (text.lower() if lowercase else text).split()


def _greatest(counts: list[Counter[tuple[str, ...]]]) -> Counter[tuple[str, ...]]:
    greatest = counts[0].copy()
    for of_text in counts[1:]:
        greatest |= of_text
    return greatest


def _check_sequence(name: str, value: Any, of_what: str) -> None:
    if not has_length(value):
        raise MargraveError(f"{name} must be a sequence of {of_what}, and it is {quoted(value)}.")
    if len(value) == 0:
        raise MargraveError(f"{name} is empty: there are no {of_what} to score.")


def _check_width(metric: str, statistics: NDArray[np.float64], width: int) -> None:
    if statistics.ndim == 0 or statistics.shape[-1] != width:
        raise MargraveError(f"{metric} needs {width} statistics per segment, and the shape is {statistics.shape}.")
