"""What all decoders have in common: sentences and weights in, candidates with features out.

Tuning and `Translator` know decoders only by this protocol.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from margrave.checks import has_length, is_text, real
from margrave.errors import MargraveError, unknown

Weights = NDArray[np.float64]
S = TypeVar("S")
T = TypeVar("T")

_LISTED = 20  # features that a message lists


@dataclass(frozen=True, eq=False)
class Candidates:
    """Translations of one sentence with their features.

    Parameters
    ----------
    texts : the translations.
    begin, index, value : the features of each, as bounds, numbers and values.
    """

    texts: list[str]
    begin: NDArray[np.int64]
    index: NDArray[np.int32]
    value: NDArray[np.float64]

    @classmethod
    def copied(cls, text: str) -> "Candidates":
        """One translation without features: that of an empty sentence, or of one that cannot be translated."""
        return cls([text], np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0))


@dataclass(frozen=True, eq=False)
class Edges:
    """The edges of a search graph, whose paths are translations.

    Parameters
    ----------
    nodes : their number; the first is where translations begin, and the last is where they end.
    tails, heads : the nodes of each edge.
    words : the word of each edge; "" for none.
    scores : the score of each edge.
    begin, index, value : the features of each edge, as bounds, numbers and values.
    """

    nodes: int
    tails: NDArray[np.int32]
    heads: NDArray[np.int32]
    words: list[str]
    scores: NDArray[np.float64]
    begin: NDArray[np.int64]
    index: NDArray[np.int32]
    value: NDArray[np.float64]


class Found(NamedTuple):
    """What one decoding of a sentence gives to tuning.

    Parameters
    ----------
    best : good translations, the best one first.
    stack : the translations of the decoder's last stack, if it has one.
    graph : the search graph, if it was asked for.
    """

    best: Candidates
    stack: Candidates | None = None
    graph: Edges | None = None


class Decoder(ABC):
    """Translates sentences by weights, one per feature.

    `n_dense` is the number of dense features, which come first, and `grows` says whether decoding for tuning finds new
    features. `n_unknown` counts the source words without a translation in all sentences that were translated.
    """

    n_dense: int
    grows: bool
    n_unknown: int = 0

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of features so far."""

    @abstractmethod
    def feature_names(self) -> list[str]:
        """The names of all features, in the order of their numbers."""

    @abstractmethod
    def start(self) -> Weights:
        """Weights to begin with."""

    @abstractmethod
    def find(self, sentence: str, weights: Weights, k: int, *, graph: bool = False) -> Found:
        """What tuning learns from; new features are added.

        Parameters
        ----------
        sentence : words, separated by blanks.
        weights : one weight per feature.
        k : the number of candidates.
        graph : whether the search graph is needed.
        """

    @abstractmethod
    def best(self, sentence: str, weights: Weights) -> tuple[str, int]:
        """The best translation of a sentence, and the number of its words that have no translation.

        Parameters
        ----------
        sentence, weights : as in `find`.
        """

    @abstractmethod
    def ranked(self, sentence: str, weights: Weights, k: int) -> tuple[NDArray[np.float64], Candidates]:
        """The scores of the k best distinct translations of a sentence, and the translations.

        Parameters
        ----------
        sentence, weights, k : as in `find`.
        """

    def held(self, weights: Weights) -> Weights:
        """These weights, but those that are not tuned are as in `start`.

        Parameters
        ----------
        weights : one weight per feature.
        """
        return weights

    def translate(self, X: Sequence[str], weights: Weights | None = None, *, threads: int = 1) -> list[str]:
        """The best translation of each sentence that the search finds.

        Parameters
        ----------
        X : sentences; their words are separated by blanks.
        weights : one weight per feature; None takes those of `start`.
        threads : how many sentences are translated at a time.
        """
        w = self._weights(weights)
        found = each_of(lambda sentence: self.best(sentence, w), checked_sentences(X), threads)
        self.n_unknown += sum(unknown for _, unknown in found)
        return [text for text, _ in found]

    def kbest(
        self, X: Sequence[str], weights: Weights | None = None, k: int = 100, *, threads: int = 1
    ) -> list[tuple[NDArray[np.float64], Candidates]]:
        """The k best distinct translations of each sentence, with their scores.

        Parameters
        ----------
        X, weights, threads : as in `translate`.
        k : the number of translations.
        """
        w = self._weights(weights)
        return each_of(lambda sentence: self.ranked(sentence, w, k), checked_sentences(X), threads)

    def _weights(self, weights: Weights | None) -> Weights:
        return self.start() if weights is None else np.ascontiguousarray(weights, dtype=np.float64)


def each_of(function: Callable[[S], T], items: Sequence[S], threads: int) -> list[T]:
    """The function of each item, in their order; searches release the lock of the interpreter.

    Parameters
    ----------
    function : of one item.
    items : sentences, or what has one.
    threads : how many are worked on at a time.
    """
    if threads < 2 or len(items) < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, items))


def replaced(weights: Weights, names: Sequence[str], given: Mapping[str, float] | None) -> Weights:
    """The weights, but for those that are given by name.

    Parameters
    ----------
    weights : one weight per feature.
    names : the names of the features.
    given : weights by name.
    """
    number = {name: k for k, name in enumerate(names)}
    weights = weights.copy()
    for name, value in (given or {}).items():
        if name not in number:
            raise unknown("feature", name, names[:_LISTED])
        weights[number[name]] = real(f"the weight of {name}", value, "be finite", isfinite)
    return weights


def checked_sentences(X: Sequence[str]) -> Sequence[str]:
    """The sentences; an error if they are not texts.

    Parameters
    ----------
    X : sentences.
    """
    if isinstance(X, str):
        raise MargraveError("X must be a list of sentences, and it is a text.")
    if not has_length(X):
        raise MargraveError(f"X must be a list of sentences, not {type(X).__name__}.")
    for i, sentence in enumerate(X):
        if not isinstance(sentence, str):
            raise MargraveError(f"sentence {i} must be a text, not {type(sentence).__name__}.")
        if not is_text(sentence):
            raise MargraveError(f"sentence {i} has half of a character (a lone surrogate).")
    return X
