"""A supervised hidden Markov model, a generative baseline.

It is decoded like a conditional random field: a chain whose weights are log probabilities.

All probabilities are smoothed by one formula. It interpolates an estimate with the next more general one, as if the
latter had been observed `smoothing` times (a Dirichlet prior; MacKay and Peto, 1995):

    p(tag | h) = (n(h, tag) + smoothing p(tag | h')) / (n(h) + smoothing)

* Transitions: h is the last `order` tags, and h' is h without the oldest tag; without any tag, p is uniform.
* Emissions: h is a word, then shorter and shorter suffixes with the word's shape, then the shape alone, and then any
  word, as in TnT (Brants, 2000). Bayes' theorem turns p(tag | h) n(h) into p(h | tag). A word that does not occur in
  the training data is emitted as the longest of its suffixes that a rare training word has. The probability that a tag
  emits such a word is the fraction of its tokens whose word occurs once (Good and Turing), smoothed in the same way.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain as flatten
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave.data.classes import label_numbers
from margrave.errors import MargraveError
from margrave.estimators.counted import CountedEstimator
from margrave.estimators.models.hmm_tagger import ANY_WORD, Floats, HMMModel, check_sentences, classes_of, word_symbol
from margrave.estimators.models.sequences import as_lists, check_any, not_empty, numbered, without_empty
from margrave.estimators.weighting import weighted
from margrave.examples import Examples
from margrave.learners.checks import example_weights
from margrave.options import check_options
from margrave.structures.base import Labels
from margrave.structures.chain import check_labels


class HMMTagger(CountedEstimator, HMMModel):
    """Predicts a tag for every word of a sentence by a hidden Markov model, which is estimated by counting.

    A sentence is a list of strings.

    Attributes
    ----------
    classes_ : the tags, sorted.
    symbols_ : the known words and suffixes.
    emissions_ : (symbols, classes), the probability of each symbol given the tag; columns sum to one.
    transitions_ : (classes + 1, ..., classes), with order + 1 axes, the probability of each tag given the preceding
        ones, oldest first; the last axis sums to one. The last index of the other axes means that the sentence had not
        begun.

    >>> X = [["the", "dog", "barks"], ["the", "cat", "sleeps"]]
    >>> tagger = HMMTagger().fit(X, [["D", "N", "V"], ["D", "N", "V"]])
    >>> tagger.predict([["the", "bird", "sleeps"]])
    [['D', 'N', 'V']]
    """

    def fit(self, X: Sequence[Sequence[str]], y: Sequence[Sequence[Any]], sample_weight: Any = None) -> Self:
        """Learn from sentences and their tags.

        Parameters
        ----------
        X : the sentences, each a list of words.
        y : a list of tags for each.
        sample_weight : one factor per sentence on its counts.
        """
        examples = weighted(as_lists(self._given(X, y)), sample_weight)
        kept = not_empty(examples)
        if kept is None:
            return self._count(examples)
        check_any(kept)
        with numbered(kept):
            return self._count(without_empty(examples, kept))

    def _count(self, examples: Examples) -> Self:
        order, smoothing, suffix_length, rare = check_options(self).values()
        X, y = examples.X, examples.Y
        lengths = check_labels(y)
        check_sentences(X)
        if len(X) != len(y):
            raise MargraveError(f"there are {len(X)} sequences in X and {len(y)} in y.")
        for i, (words, n) in enumerate(zip(X, lengths, strict=True)):
            if len(words) != n:
                raise MargraveError(f"example {i} has {len(words)} tokens and {n} labels.")
        labels = list(flatten.from_iterable(y))
        outputs = Labels.of(labels)
        outputs.check()
        classes = outputs.classes
        tags = label_numbers(labels, classes.tolist())
        words = list(flatten.from_iterable(X))
        given = examples.extra("sample_weight")
        weights = np.ones(len(X)) if given is None else example_weights(given, len(X))
        times = np.repeat(weights, lengths)
        symbols, emissions = _emissions(words, tags, times, len(classes), smoothing, suffix_length, rare)
        sentences = np.split(tags, np.cumsum(lengths)[:-1])
        transitions = _transitions(sentences, weights, len(classes), order, smoothing)
        self._set_probabilities(outputs, symbols, emissions, transitions)
        return self


def _smoothed(counts: Floats, general: Floats | float, smoothing: float) -> Floats:
    """Distributions over the last axis: counts, smoothed by the more general distribution."""
    smoothed: Floats = (counts + smoothing * general) / (counts.sum(axis=-1, keepdims=True) + smoothing)
    return smoothed


def _transitions(
    sentences: Sequence[NDArray[np.int32]], weights: Floats, width: int, order: int, smoothing: float
) -> Floats:
    """p(tag | preceding tags): (width + 1, ..., width), where tag `width` precedes every sentence."""
    counts = np.zeros((*order * [width + 1], width))
    for tags, times in zip(sentences, weights, strict=True):
        padded = np.concatenate([np.full(order, width, dtype=np.int32), tags])
        np.add.at(counts, tuple(padded[k : k + len(tags)] for k in range(order + 1)), times)
    general: Floats | float = 1.0 / width
    for known in range(order + 1):  # the number of preceding tags that are known
        general = _smoothed(counts.sum(axis=tuple(range(order - known))), general, smoothing)
    assert isinstance(general, np.ndarray)
    return general


def _emissions(
    words: Sequence[str],
    tags: NDArray[np.int32],
    times: Floats,
    width: int,
    smoothing: float,
    suffix_length: int,
    rare: int,
) -> tuple[list[str], Floats]:
    """Known words and the classes of unknown ones, and p(symbol | tag): (symbols, width)."""
    number = {word: k for k, word in enumerate(dict.fromkeys(words))}
    by_word = np.zeros((len(number), width))  # the number of occurrences of each word with each tag
    np.add.at(by_word, (np.fromiter((number[word] for word in words), np.int64, len(words)), tags), times)
    occurrences = by_word.sum(axis=1)
    share = _smoothed(by_word.sum(axis=0), 1.0 / width, smoothing)

    teachers = [word for word, n in zip(number, occurrences, strict=True) if n <= rare] or list(number)
    by_class: dict[str, Floats] = defaultdict(lambda: np.zeros(width))
    for word in teachers:
        for symbol in classes_of(word, suffix_length):
            by_class[symbol] += by_word[number[word]]
    given = {ANY_WORD: _smoothed(by_class[ANY_WORD], share, smoothing)}  # p(tag | class), most general first
    for word in teachers:
        for general, symbol in pairwise(reversed(classes_of(word, suffix_length))):
            if symbol not in given:
                given[symbol] = _smoothed(by_class[symbol], given[general], smoothing)

    nearest = [next(s for s in classes_of(word, suffix_length) if s in given) for word in number]
    given_word = _smoothed(by_word, np.array([given[symbol] for symbol in nearest]), smoothing)
    class_occurrences = np.array([by_class[symbol].sum() for symbol in given])
    unknown = _unknown_share(by_word, smoothing)
    known_words = (1 - unknown) * _columns_to_one(given_word * occurrences[:, None])
    classes = unknown * _columns_to_one(np.array(list(given.values())) * class_occurrences[:, None])
    return [*(word_symbol(word) for word in number), *given], np.concatenate([known_words, classes])


def _unknown_share(by_word: Floats, smoothing: float) -> Floats:
    """p(unknown word | tag): the fraction of the tag's tokens whose word occurs once."""
    counts = by_word.sum(axis=0)
    once = by_word[by_word.sum(axis=1) == 1].sum(axis=0)
    overall = (once.sum() + smoothing / 2) / (counts.sum() + smoothing)
    share: Floats = (once + smoothing * overall) / (counts + smoothing)
    return share


def _columns_to_one(table: Floats) -> Floats:
    scaled: Floats = table / table.sum(axis=0)
    return scaled
