"""Phrase-based translation by beam search, with 14 dense features and sparse ones."""

# The features are those of 004, section 5.2.

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, whole
from margrave.data.lattices import Edge, Lattice
from margrave.errors import MargraveError, quoted
from margrave.translation.decoding import Candidates, Decoder, Edges, Found, Weights
from margrave.translation.language_model import NGramModel
from margrave.translation.parallel import split_words
from margrave.translation.phrases import SCORES, PhraseTable

DENSE = ("language model", *SCORES, "words", "phrases", "distance")
# Those that Moses begins with. The number of words counts positively here, and the other two penalties negatively.
START = dict(zip(DENSE, (0.5, *[0.2] * 4, *[0.3] * 6, 1.0, 0.0, 0.3), strict=True))
_KINDS = ("trigram", "pair", *(f"{side} {way}" for side in ("forward", "backward") for way in ("m", "s", "d")))
_BAR = " ||| "
_END = -2  # the end of a sentence
_MARKS = {-1: "<s>", _END: "</s>"}
_COPIED = -3  # the word of source position 0; lower ones follow


class FeatureNames:
    """The features of phrase-based translation: 14 dense ones, and sparse ones that are numbered as they occur."""

    def __init__(self) -> None:
        self.core = _core.PhraseFeatures()

    def __len__(self) -> int:
        """The number of features."""
        return len(self.core)

    def names(self, table: PhraseTable) -> list[str]:
        """The names of all features, in the order of their numbers.

        Parameters
        ----------
        table : the phrase table, which knows the words.
        """
        kinds, first_begin, first, second_begin, second = (each.tolist() for each in self.core.arrays())
        found = list(DENSE)
        for k, kind in enumerate(kinds):
            words, others = first[first_begin[k] : first_begin[k + 1]], second[second_begin[k] : second_begin[k + 1]]
            if kind == 0:
                text = " ".join(_MARKS.get(word) or table.target_words[word] for word in words)
            else:
                text = " ".join(table.source_words[word] for word in words)
                text += _BAR + " ".join(table.target_words[word] for word in others)
            found.append(f"{_KINDS[kind]}: {text}")
        return found

    @classmethod
    def of_names(cls, names: Sequence[str], table: PhraseTable) -> tuple["FeatureNames", NDArray[np.intp]]:
        """The features with these names, and the number of each; dense ones need not be among them.

        Parameters
        ----------
        names : the names.
        table : the phrase table.
        """
        made = cls()
        source = {word: k for k, word in enumerate(table.source_words)}
        target = {word: k for k, word in enumerate(table.target_words)} | {word: k for k, word in _MARKS.items()}
        numbers = []
        dense = {name: k for k, name in enumerate(DENSE)}
        try:
            for name in names:
                if name in dense:
                    numbers.append(dense[name])
                    continue
                kind, _, text = name.partition(": ")
                first, _, second = text.partition(_BAR)
                number = _KINDS.index(kind)
                of = source if number else target
                words = [np.array([of[word] for word in split_words(first)], np.int32)]
                words.append(np.array([target[word] for word in split_words(second)], np.int32))
                numbers.append(made.core.add(number, *words))
        except (KeyError, ValueError):
            raise MargraveError(f"{quoted(name)} is not a feature of phrase-based translation.") from None
        return made, np.array(numbers, dtype=np.intp)


class PhraseDecoder(Decoder):
    """Translates sentences by phrases, of which only neighbors can swap; the search is not exact unless `beam` is 0.

    Parameters
    ----------
    table : the phrase table.
    model : the language model of the target.
    features : the features, which decoders can share.
    beam : the most partial translations of as many source words that are kept; 0 keeps all.
    options : the most translations of a source phrase that are tried; 0 tries all.
    reach : the most source words of two phrases that swap; 0 or 1 forbids swaps.
    sparse : whether target trigrams, phrase pairs and their orientations are features, too.

    >>> from margrave.translation.phrases import AlignedText
    >>> text = AlignedText(["chat noir", "le chat"], ["black cat", "the cat"], ["0-1 1-0", "0-0 1-1"])
    >>> decoder = PhraseDecoder(text.phrases(), NGramModel.estimate(["black cat", "the cat"]))
    >>> decoder.translate(["le chat noir"])
    ['the black cat']
    """

    def __init__(
        self,
        table: PhraseTable,
        model: NGramModel,
        features: FeatureNames | None = None,
        *,
        beam: int = 50,  # see benchmarks/experiments/phrase_speed.py
        options: int = 10,
        reach: int = 6,
        sparse: bool = False,
    ) -> None:
        if table.core is None:
            raise MargraveError("the phrase table is empty.")
        self.table, self.model = table, model
        self.features = FeatureNames() if features is None else features
        self.n_dense, self.grows = len(DENSE), flag("sparse", sparse)
        self._search = _core.PhraseSearch(
            table.core,
            model.core,
            table.target_words,
            whole("beam", beam, 0, 10**9),
            whole("options", options, 0, 10**9),
            whole("reach", reach, 0, 10**9),
            self.grows,
        )

    @property
    def n_features(self) -> int:
        """The number of features so far."""
        return len(self.features)

    def feature_names(self) -> list[str]:
        """The names of all features, in the order of their numbers."""
        return self.features.names(self.table)

    def start(self) -> Weights:
        """Weights to begin with: those of Moses, and zeros for sparse features."""
        weights = np.zeros(len(self.features))
        weights[: len(DENSE)] = list(START.values())
        return weights

    def best(self, sentence: str, weights: Weights) -> tuple[str, int]:
        """The best translation of a sentence, and the number of its words that no phrase has.

        Parameters
        ----------
        sentence, weights : as in `find`.
        """
        words = split_words(sentence)
        if not words:
            return "", 0
        graph = self.graph(words, weights)
        # The best path needs no search for distinct strings.
        return self._candidates(words, graph.kbest_of_paths(1, 1)).texts[0], graph.unknown

    def ranked(self, sentence: str, weights: Weights, k: int) -> tuple[NDArray[np.float64], Candidates]:
        """The scores of the k best distinct translations of a sentence, and the translations.

        Parameters
        ----------
        sentence, weights, k : as in `find`.
        """
        words = split_words(sentence)
        if not words:
            return np.zeros(1), Candidates.copied("")
        scores, arrays = self.graph(words, weights).kbest(k)
        return scores, self._candidates(words, arrays)

    def find(self, sentence: str, weights: Weights, k: int, *, graph: bool = False) -> Found:
        """Good translations of a sentence for tuning, and the best one that ends in each node of the last stack.

        The former are the distinct ones among the 3 k best paths, at most k. To find the k best distinct ones takes
        much longer. Sparse features that occur for the first time are added.

        Parameters
        ----------
        sentence : words, separated by blanks.
        weights : one weight per feature.
        k : the number of candidates.
        graph : whether the search graph is needed.
        """
        words = split_words(sentence)
        if not words:
            return Found(Candidates.copied(""), Candidates.copied(""))
        found = self.graph(words, weights, grow=True)
        best, stack = found.kbest_of_paths(k, 3 * k), found.complete()
        edges = self._edges(words, found) if graph else None
        return Found(self._candidates(words, best), self._candidates(words, stack), edges)

    def lattice(self, sentence: str, weights: Weights | None = None, names: Sequence[str] | None = None) -> Lattice:
        """The search graph of a sentence as a lattice: each edge has one target word and its features by name.

        Parameters
        ----------
        sentence : words, separated by blanks.
        weights : as in `translate`.
        names : the names of the features, if they are known; this is faster for many sentences.
        """
        words = split_words(sentence)
        if not words:
            return Lattice.of([(0, 1)], id=sentence)
        found = self._edges(words, self.graph(words, weights))
        known = self.feature_names() if names is None else names
        tails, heads, begin = found.tails.tolist(), found.heads.tolist(), found.begin.tolist()
        index, value = found.index.tolist(), found.value.tolist()
        edges = tuple(
            Edge(tail, head, word, {known[index[k]]: value[k] for k in range(first, last)})
            for tail, head, word, (first, last) in zip(
                tails, heads, found.words, itertools.pairwise(begin), strict=True
            )
        )
        return Lattice(found.nodes, edges, id=sentence)

    def graph(self, words: Sequence[str], weights: Weights | None = None, *, grow: bool = False) -> _core.SearchGraph:
        """The search graph of a sentence, as the core has it.

        Parameters
        ----------
        words : the words of the sentence.
        weights : as in `translate`.
        grow : whether sparse features that occur for the first time are added; otherwise they are left out.
        """
        return self._search.search(self.table.encode(words), self._weights(weights), self.features.core, grow)

    def _edges(self, words: Sequence[str], graph: _core.SearchGraph) -> Edges:
        tails, heads, spelled, scores, begin, index, value = graph.edges()
        texts = ["" if number == _END else self._word(words, number) for number in spelled.tolist()]
        return Edges(graph.nodes, tails, heads, texts, scores, begin, index, value)

    def _candidates(self, words: Sequence[str], arrays: Any) -> Candidates:
        begin, spelled, *features = arrays
        bounds, numbers = begin.tolist(), spelled.tolist()
        texts = [
            " ".join(self._word(words, number) for number in numbers[first:last])
            for first, last in itertools.pairwise(bounds)
        ]
        return Candidates(texts, *features)

    def _word(self, words: Sequence[str], number: int) -> str:
        return self.table.target_words[number] if number >= 0 else words[_COPIED - number]
