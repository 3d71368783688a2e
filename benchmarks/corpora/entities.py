"""The named entities of CoNLL-2003 with the features of 001, section 5.1, and how to judge weights by them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora.columns import conll2003, last_column
from benchmarks.corpora.lines import Attributes
from benchmarks.corpora.problems import Tagging
from margrave.estimators import SequenceTagger
from margrave.features import Templates
from margrave.learners import Weights
from margrave.metrics import approximate_randomization, span_scores

# 001 does not print its templates: it follows Kazama and Torisawa (2007), with token shapes like those of Collins
# (2002b) and simple gazetteers. These templates are an approximation of that without gazetteers: words, lower-cased
# words, parts of speech, chunk tags, prefixes and suffixes of up to four characters, and shapes with and without
# repeated characters, each at the five positions around the token, and pairs of neighbors.
_FORMS = (
    *("0[{}]", "0[{}].lower", "1[{}]", "2[{}]", "0[{}].shape", "0[{}].short_shape"),
    *(f"0[{{}}].{end}{n}" for end in ("prefix", "suffix") for n in (1, 2, 3, 4)),
)
_PAIRED = ("0[{}].lower", "1[{}]", "0[{}].short_shape")
TEMPLATES = Templates(
    [
        *(form.format(offset) for form in _FORMS for offset in range(-2, 3)),
        *(f"{form.format(offset)}|{form.format(offset + 1)}" for form in _PAIRED for offset in range(-2, 2)),
        *("begin", "end"),
    ]
)


class Entities:
    """The training sentences as a learning problem, and F1 on the development and the test sentences."""

    def __init__(self) -> None:
        train, dev, test = (conll2003(part) for part in ("train", "testa", "testb"))
        data = Tagging(_attributes(train), last_column(train))
        self.problem = data.bind(tied=True)
        self.sizes = {"sentences": len(train), "tokens": data.tokens, "weights": self.problem.dim}
        self.dev_f1 = data.f1(_attributes(dev), last_column(dev))
        self._test_gold, self._test_tags = last_column(test), data.tags(_attributes(test))

    def test_counts(self, w: Weights) -> NDArray[np.int64]:
        """The numbers of gold, predicted and correct entities in each test sentence; shape (sentences, 3)."""
        return span_counts(self._test_gold, self._test_tags(w))


def span_counts(gold: Sequence[Any], predicted: Sequence[Any]) -> NDArray[np.int64]:
    """The numbers of gold, predicted and correct spans of each sentence; shape (sentences, 3)."""
    scores = [span_scores([right], [tags]) for right, tags in zip(gold, predicted, strict=True)]
    return np.array([(of.gold, of.predicted, of.correct) for of in scores])


@dataclass
class Chosen:
    """The tagger with the C that is best on the development part, of equal ones with the smallest."""

    C: float
    tagger: SequenceTagger
    seconds: float  # of its training
    dev_f1: dict[float, float]  # by C


def chosen_tagger(make: Callable[[float], SequenceTagger], Cs: Iterable[float], train: Any, dev: Any) -> Chosen:
    """Trains one tagger per C; `train` and `dev` are pairs of sequences and tags."""
    best: Chosen | None = None
    dev_f1 = {}
    for C in sorted(Cs):
        tagger = make(C)
        began = perf_counter()
        tagger.fit(*train)
        seconds = perf_counter() - began
        dev_f1[C] = span_scores(dev[1], tagger.predict(dev[0])).f1
        print(f"    C {C:g}: dev F1 {100 * dev_f1[C]:.2f}, {seconds:.0f} s, {tagger.stop_reason_}", flush=True)
        if best is None or dev_f1[C] > dev_f1[best.C]:
            best = Chosen(C, tagger, seconds, dev_f1)
    assert best is not None
    return best


def f1_of_counts(sums: NDArray[Any]) -> NDArray[Any]:
    """F1 by sums of gold, predicted and correct entities along the last axis."""
    return np.asarray(2 * sums[..., 2] / (sums[..., 0] + sums[..., 1]))


def test_f1(counts: NDArray[np.int64]) -> float:
    """F1 over all sentences."""
    return float(f1_of_counts(counts.sum(axis=0)))


def p_value(first: Iterable[NDArray[np.int64]], second: Iterable[NDArray[np.int64]]) -> float:
    """The two-sided p-value of the difference between two methods on the test sentences.

    A method has the counts of one or more seeds. A trial swaps a sentence in all of them at once.
    """
    return approximate_randomization(sum(first), sum(second), f1_of_counts)  # type: ignore[arg-type]


def _attributes(sentences: Sequence[Any]) -> Attributes:
    return Attributes(sentences, TEMPLATES.attributes)
