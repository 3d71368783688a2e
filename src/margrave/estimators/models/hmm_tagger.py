"""Hidden Markov models: chains whose weights are log probabilities."""

from collections.abc import Mapping
from itertools import chain as flatten
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from margrave.binding import bind
from margrave.checks import has_length, is_list
from margrave.errors import MargraveError
from margrave.estimators.model import Origin
from margrave.estimators.models.sequence_tagger import TokenModel
from margrave.examples import Examples
from margrave.maps import ChainMap, FeatureTable
from margrave.metrics import token_accuracy
from margrave.settings.hmm_tagger import HMMSettings
from margrave.structures import Chain
from margrave.structures.base import Labels

Floats = NDArray[np.float64]

ANY_WORD = "any word"  # the most general class of words


class HMMModel(HMMSettings, TokenModel, saved_as="HMMTagger"):
    """Predicts a tag for every word of a sentence: what `load` makes of the file of an `HMMTagger`."""

    features = None
    n_jobs = None
    _more: ClassVar[tuple[str, ...]] = ("emissions_", "transitions_")

    map_: ChainMap
    emissions_: Floats
    transitions_: Floats

    @property
    def symbols_(self) -> list[str]:
        """The known words and suffixes."""
        self._check_fitted()
        return list(self.map_.tokens.encoder.names())

    def _structure(self, examples: Examples) -> Chain:
        return Chain(self.order)

    def _inputs(self, X: Any) -> list[list[list[str]]]:
        """One attribute per word: the symbol of the word if it is known, otherwise that of its longest known suffix."""
        vocabulary = self.map_.tokens.encoder.vocabulary
        assert vocabulary is not None
        check_sentences(X)
        symbol_of = {
            word: next(symbol for symbol in symbols_of(word, self.suffix_length) if vocabulary.find(symbol) >= 0)
            for word in set(flatten.from_iterable(X))
        }
        return [[[symbol_of[word]] for word in words] for words in X]

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        return float(token_accuracy([list(labels) for labels in Y], predicted))

    def _set_probabilities(self, outputs: Labels, symbols: list[str], emissions: Floats, transitions: Floats) -> None:
        """Become a chain with the log probabilities as weights."""
        feature_map = ChainMap(FeatureTable("all"), start=True)
        # One sentence of all symbols, with arbitrary labels, decides which weights exist.
        words = Examples([[[symbol] for symbol in symbols]], [outputs.names[:1] * len(symbols)])
        bind(Chain(self.order), feature_map, words, outputs=outputs)
        self.emissions_, self.transitions_ = emissions, transitions
        self._set_origin(Origin("tags are counted"))
        self._set_model(outputs, feature_map, None, _weights(emissions, transitions))

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        model = super()._from_file(header, arrays)
        width, symbols = len(model.classes_), model.symbols_
        if ANY_WORD not in symbols:
            raise MargraveError("one of its symbols must stand for any word.")
        shapes = {"emissions": (len(symbols), width), "transitions": (*model.order * [width + 1], width)}
        for name, shape in shapes.items():
            array = getattr(model, f"{name}_")
            if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != np.float64:
                raise MargraveError(f"its {name} must be real numbers of shape {shape}.")
            if not ((array > 0) & (array <= 1)).all():
                raise MargraveError(f"its {name} must be probabilities.")
        # The logarithms of another machine may differ in their last bit.
        if not np.allclose(model.coef_, _weights(model.emissions_, model.transitions_), rtol=1e-12, atol=1e-12):
            raise MargraveError("its weights are not the logarithms of its probabilities.")
        return model


def _weights(emissions: Floats, transitions: Floats) -> Floats:
    return np.concatenate([np.log(emissions).ravel(), *_transition_weights(np.log(transitions))])


def _transition_weights(transitions: Floats) -> list[Floats]:
    """Scores of label pairs, triples, ... up to the order of the chain, and of the first label.

    A chain of order m scores the label at position t by all tuples of 2 to min(t, m) + 1 labels that end there. The
    score of a tuple is therefore the log probability of its last label at the beginning of a sentence (or, for m + 1
    labels, anywhere), minus the scores of the shorter tuples with the same end.
    """
    order, width = transitions.ndim - 1, transitions.shape[-1]
    start = transitions[(width,) * order]
    weights: list[Floats] = []
    shorter = np.zeros((width, width))
    for m in range(1, order + 1):  # the number of tags that are known
        context = (width,) * (order - m) + (slice(width),) * m
        weights.append((transitions[context] - shorter).ravel())
        shorter = np.broadcast_to(transitions[context], (width, *transitions[context].shape))
    return [*weights, start]


def word_symbol(word: str) -> str:
    """The symbol of a known word; symbols of classes begin differently."""
    return f"word {word}"


def classes_of(word: str, suffix_length: int) -> list[str]:
    """The classes of an unknown word, most specific first: its suffixes with its shape, its shape, any word."""
    shape, end = _shape(word), word.lower()
    longest = min(suffix_length, len(end))
    return [*(f"{shape} {end[len(end) - k :]}" for k in range(longest, -1, -1)), ANY_WORD]


def symbols_of(word: str, suffix_length: int) -> list[str]:
    """All symbols that can represent a word, most specific first."""
    return [word_symbol(word), *classes_of(word, suffix_length)]


def _shape(word: str) -> str:
    if not any(c.isalnum() for c in word):
        return "punctuation"
    if any(c.isdigit() for c in word):
        return "digits"
    if word.isupper() and len(word) > 1:
        return "capitals"
    return "capitalized" if word[0].isupper() else "lower"


def check_sentences(X: Any) -> None:
    """Refuse anything that is not a list of sentences, each of which is a list of words."""
    if not has_length(X):
        raise MargraveError(f"X must be a list of sentences, each a list of words, not {type(X).__name__}.")
    for i, words in enumerate(X):
        if not isinstance(words, list | tuple | np.ndarray) or not is_list(words):
            raise MargraveError(
                f"example {i}: a sentence must be a list of words, not {type(words).__name__}: did you mean [X]?"
            )
        for t, word in enumerate(words):
            if not isinstance(word, str):
                raise MargraveError(f"example {i}, position {t}: a word must be a string, not {type(word).__name__}.")
