"""Synchronous grammars as decoders that can be tuned: weights are vectors, and words that pass through have a price."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from margrave.checks import whole
from margrave.translation.decoding import Candidates, Decoder, Found, Weights, replaced
from margrave.translation.parallel import split_words
from margrave.translation.synchronous import BEAM, SynchronousDecoder

UNKNOWN = -100.0  # the weight of words that pass through, as Joshua has it


class GrammarDecoder(Decoder):
    """Translates by a synchronous grammar with one weight per feature.

    The weight of words that pass through is not tuned: there may be no other translation of them, and with one that is
    learned from few sentences all words might pass through. A sentence that has no derivation, which glue rules
    prevent, is copied, and all its words are counted as unknown.

    Parameters
    ----------
    decoder : the grammar with its language model.
    beam : as in `SynchronousDecoder.decode`; 0 for all combinations.
    start : the weights to begin with, by name; features without one have weight 1, and words that pass through -100.

    >>> from margrave.translation.synchronous import SynchronousGrammar
    >>> grammar = SynchronousGrammar().add(["[X] ||| haus ||| house", "[X] ||| das [X,1] ||| the [1]"]).add_glue()
    >>> GrammarDecoder(SynchronousDecoder(grammar)).translate(["das haus am see"])
    ['the house am see']
    """

    grows = False

    def __init__(
        self, decoder: SynchronousDecoder, *, beam: int = BEAM, start: Mapping[str, float] | None = None
    ) -> None:
        self.decoder, self.beam = decoder, whole("beam", beam, 0, 2**31 - 1)
        self.n_dense = len(decoder.features)
        first = np.ones(self.n_dense)
        self._unknown = decoder.features.index(decoder.unknown_feature) if decoder.unknown_feature else -1
        if self._unknown >= 0:
            first[self._unknown] = UNKNOWN
        self._start = replaced(first, decoder.features, start)

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.n_dense

    def feature_names(self) -> list[str]:
        """The names of all features, in the order of their numbers."""
        return list(self.decoder.features)

    def start(self) -> Weights:
        """Weights to begin with."""
        return self._start.copy()

    def held(self, weights: Weights) -> Weights:
        """These weights, but that of words that pass through is as in `start`.

        Parameters
        ----------
        weights : one weight per feature.
        """
        weights = weights.copy()
        if self._unknown >= 0:
            weights[self._unknown] = self._start[self._unknown]
        return weights

    def find(self, sentence: str, weights: Weights, k: int, *, graph: bool = False) -> Found:
        """The k best distinct translations.

        Parameters
        ----------
        sentence, weights, k : as in `ranked`.
        graph : not used, because derivations form a forest and not a lattice.
        """
        _, found = self.ranked(sentence, weights, k)
        tuned = found.index != self._unknown
        kept = np.concatenate([[0], np.cumsum(tuned)])[found.begin].astype(np.int64)
        return Found(Candidates(found.texts, kept, found.index[tuned], found.value[tuned]))

    def best(self, sentence: str, weights: Weights) -> tuple[str, int]:
        """The best translation of a sentence, and the number of its words that no rule has.

        Parameters
        ----------
        sentence, weights : as in `ranked`.
        """
        words = split_words(sentence)
        found = self.decoder.core.decode(words, weights, 1, self.beam, True) if words else []
        if found:
            return found[0][1], len(self.decoder.core.unknown(words))
        return " ".join(words), len(words)

    def ranked(self, sentence: str, weights: Weights, k: int) -> tuple[NDArray[np.float64], Candidates]:
        """The scores of the k best distinct translations of a sentence, and the translations.

        Parameters
        ----------
        sentence : words, separated by blanks.
        weights : one weight per feature.
        k : the number of translations.
        """
        words = split_words(sentence)
        found = self.decoder.core.decode(words, weights, k, self.beam, True) if words else []
        if not found:
            return np.zeros(1), Candidates.copied(" ".join(words))
        entries = [entry for _, _, features in found for entry in features]
        return np.array([score for score, _, _ in found]), Candidates(
            [text for _, text, _ in found],
            np.concatenate([[0], np.cumsum([len(features) for _, _, features in found])]).astype(np.int64),
            np.array([number for number, _ in entries], dtype=np.int32),
            np.array([value for _, value in entries], dtype=np.float64),
        )
