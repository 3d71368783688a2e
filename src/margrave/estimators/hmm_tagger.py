"""A supervised hidden Markov model, the generative baseline of 003, section 5.2.

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
from collections.abc import Mapping, Sequence
from itertools import chain as flatten
from itertools import pairwise
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave.data.classes import label_numbers
from margrave.errors import MargraveError
from margrave.estimators.estimator import Estimator
from margrave.estimators.files import SavedModel
from margrave.estimators.sequence_tagger import SequenceTagger
from margrave.files import model as model_file
from margrave.maps import ChainMap, FeatureTable
from margrave.options import check_options
from margrave.settings.hmm_tagger import HMMSettings
from margrave.structures import Chain
from margrave.structures.base import Labels
from margrave.structures.chain import check_labels

Floats = NDArray[np.float64]

ANY_WORD = "any word"  # the most general class of words


class HMMTagger(HMMSettings, SavedModel, Estimator):
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

    classes_: NDArray[Any]
    symbols_: list[str]
    emissions_: Floats
    transitions_: Floats
    metadata_: dict[str, Any]

    def fit(self, X: Sequence[Sequence[str]], y: Sequence[Sequence[Any]]) -> Self:
        """Learn from sentences and their tags.

        Parameters
        ----------
        X : the sentences, each a list of words.
        y : a list of tags for each.
        """
        order, smoothing, suffix_length, rare = check_options(self).values()
        lengths = check_labels(y)
        _check_sentences(X)
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
        symbols, emissions = _emissions(words, tags, len(classes), smoothing, suffix_length, rare)
        sentences = np.split(tags, np.cumsum(lengths)[:-1])
        transitions = _transitions(sentences, len(classes), order, smoothing)
        self._set(classes, symbols, emissions, transitions)
        self.metadata_ = {}
        return self

    def predict(self, X: Sequence[Sequence[str]]) -> list[list[Any]]:
        """Predict the most probable tags of every sentence.

        Parameters
        ----------
        X : as in `fit`.
        """
        return self._fitted().predict(self._symbols_of(X))

    def predict_marginals(self, X: Sequence[Sequence[str]]) -> list[Floats]:
        """Compute the probability of every tag at every position: one (words, classes) array per sentence.

        Parameters
        ----------
        X : as in `fit`.
        """
        return self._fitted().predict_marginals(self._symbols_of(X))

    def score(self, X: Sequence[Sequence[str]], y: Sequence[Sequence[Any]]) -> float:
        """Compute the fraction of words with the right tag.

        Parameters
        ----------
        X, y : as in `fit`.
        """
        return self._fitted().score(self._symbols_of(X), y)

    def _fitted(self) -> SequenceTagger:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "classes_")
        return self._tagger

    def _symbols_of(self, X: Sequence[Sequence[str]]) -> list[list[list[str]]]:
        """One attribute per word: the symbol of the word if it is known, otherwise that of its longest known suffix."""
        vocabulary = self._fitted().map_.tokens.encoder.vocabulary
        assert vocabulary is not None
        _check_sentences(X)
        symbol_of = {
            word: next(symbol for symbol in _symbols(word, self.suffix_length) if vocabulary.find(symbol) >= 0)
            for word in set(flatten.from_iterable(X))
        }
        return [[[symbol_of[word]] for word in words] for words in X]

    def _set(self, classes: NDArray[Any], symbols: list[str], emissions: Floats, transitions: Floats) -> None:
        """Set the fitted attributes, and make a conditional random field with the log probabilities as weights."""
        self.classes_, self.symbols_, self.emissions_, self.transitions_ = classes, symbols, emissions, transitions
        outputs, feature_map = Labels(classes), ChainMap(FeatureTable("all"), start=True)
        # One sentence of all symbols, with arbitrary labels, decides which weights exist.
        rows = feature_map.encode([[[symbol] for symbol in symbols]], grow=True)
        tags = [classes.tolist()[:1] * len(symbols)]
        feature_map.learn(rows, Chain(self.order).bind(outputs, np.array([len(symbols)], dtype=np.int64), tags))
        tagger = SequenceTagger(order=self.order, start=True, weights="all")
        w = np.concatenate([np.log(emissions).ravel(), *_transition_weights(np.log(transitions))])
        tagger._set_model(outputs, feature_map, None, w)
        self._tagger = tagger

    # ---- model files -------------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str], metadata: Mapping[str, Any] | None = None) -> None:
        """Write the model to one file; an existing file is replaced only if this succeeds.

        Parameters
        ----------
        path : the file.
        metadata : further information by name, in any form that JSON can store.
        """
        self._fitted()
        if metadata is None:
            metadata = self.metadata_
        elif not isinstance(metadata, Mapping):
            raise MargraveError(f"metadata must be a dictionary, not {type(metadata).__name__}.")
        header: dict[str, object] = {
            "estimator": type(self).__name__,
            "settings": check_options(self),
            "labels": self.classes_.tolist(),
            "metadata": dict(metadata),
        }
        blob, offsets = model_file.encode_strings(self.symbols_)
        arrays = {"emissions": self.emissions_, "transitions": self.transitions_}
        model_file.write(path, header, arrays | {"symbols.bytes": blob, "symbols.offsets": offsets})

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The model of a file. Files are not trusted: inconsistent contents raise an error."""
        model = cls(**header["settings"])
        order = check_options(model)["order"]
        outputs = Labels.from_settings({"classes": header["labels"]})
        outputs.check()
        classes = outputs.classes
        symbols = model_file.decode_strings(arrays["symbols.bytes"], arrays["symbols.offsets"])
        if len(set(symbols)) != len(symbols) or ANY_WORD not in symbols:
            raise MargraveError("its symbols must be distinct, and one must stand for any word.")
        width = len(classes)
        shapes = {"emissions": (len(symbols), width), "transitions": (*order * [width + 1], width)}
        for name, shape in shapes.items():
            array = arrays[name]
            if array.shape != shape or array.dtype != np.float64:
                raise MargraveError(f"its {name} must be real numbers of shape {shape}, not {array.shape}.")
            if not ((array > 0) & (array <= 1)).all():
                raise MargraveError(f"its {name} must be probabilities.")
        model._set(classes, symbols, arrays["emissions"], arrays["transitions"])
        model.metadata_ = dict(header["metadata"])
        return model


def _smoothed(counts: Floats, general: Floats | float, smoothing: float) -> Floats:
    """Distributions over the last axis: counts, smoothed by the more general distribution."""
    smoothed: Floats = (counts + smoothing * general) / (counts.sum(axis=-1, keepdims=True) + smoothing)
    return smoothed


def _transitions(sentences: Sequence[NDArray[np.int32]], width: int, order: int, smoothing: float) -> Floats:
    """p(tag | preceding tags): (width + 1, ..., width), where tag `width` precedes every sentence."""
    counts = np.zeros((*order * [width + 1], width))
    for tags in sentences:
        padded = np.concatenate([np.full(order, width, dtype=np.int32), tags])
        np.add.at(counts, tuple(padded[k : k + len(tags)] for k in range(order + 1)), 1.0)
    general: Floats | float = 1.0 / width
    for known in range(order + 1):  # the number of preceding tags that are known
        general = _smoothed(counts.sum(axis=tuple(range(order - known))), general, smoothing)
    assert isinstance(general, np.ndarray)
    return general


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


def _emissions(
    words: Sequence[str], tags: NDArray[np.int32], width: int, smoothing: float, suffix_length: int, rare: int
) -> tuple[list[str], Floats]:
    """Known words and the classes of unknown ones, and p(symbol | tag): (symbols, width)."""
    number = {word: k for k, word in enumerate(dict.fromkeys(words))}
    by_word = np.zeros((len(number), width))  # the number of occurrences of each word with each tag
    np.add.at(by_word, (np.fromiter((number[word] for word in words), np.int64, len(words)), tags), 1.0)
    occurrences = by_word.sum(axis=1)
    share = _smoothed(by_word.sum(axis=0), 1.0 / width, smoothing)

    teachers = [word for word, n in zip(number, occurrences, strict=True) if n <= rare] or list(number)
    by_class: dict[str, Floats] = defaultdict(lambda: np.zeros(width))
    for word in teachers:
        for symbol in _classes(word, suffix_length):
            by_class[symbol] += by_word[number[word]]
    given = {ANY_WORD: _smoothed(by_class[ANY_WORD], share, smoothing)}  # p(tag | class), most general first
    for word in teachers:
        for general, symbol in pairwise(reversed(_classes(word, suffix_length))):
            if symbol not in given:
                given[symbol] = _smoothed(by_class[symbol], given[general], smoothing)

    nearest = [next(s for s in _classes(word, suffix_length) if s in given) for word in number]
    given_word = _smoothed(by_word, np.array([given[symbol] for symbol in nearest]), smoothing)
    class_occurrences = np.array([by_class[symbol].sum() for symbol in given])
    unknown = _unknown_share(by_word, smoothing)
    known_words = (1 - unknown) * _columns_to_one(given_word * occurrences[:, None])
    classes = unknown * _columns_to_one(np.array(list(given.values())) * class_occurrences[:, None])
    return [*(_known(word) for word in number), *given], np.concatenate([known_words, classes])


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


def _known(word: str) -> str:
    """The symbol of a known word; symbols of classes begin differently."""
    return f"word {word}"


def _classes(word: str, suffix_length: int) -> list[str]:
    """The classes of an unknown word, most specific first: its suffixes with its shape, its shape, any word."""
    shape, end = _shape(word), word.lower()
    longest = min(suffix_length, len(end))
    return [*(f"{shape} {end[len(end) - k :]}" for k in range(longest, -1, -1)), ANY_WORD]


def _symbols(word: str, suffix_length: int) -> list[str]:
    """All symbols that can represent a word, most specific first."""
    return [_known(word), *_classes(word, suffix_length)]


def _shape(word: str) -> str:
    if not any(c.isalnum() for c in word):
        return "punctuation"
    if any(c.isdigit() for c in word):
        return "digits"
    if word.isupper() and len(word) > 1:
        return "capitals"
    return "capitalised" if word[0].isupper() else "lower"


def _check_sentences(X: Any) -> None:
    """Refuse anything that is not a list of sentences, each of which is a list of at least one word."""
    if not hasattr(X, "__len__") or isinstance(X, str | bytes):
        raise MargraveError(f"X must be a list of sentences, not {type(X).__name__}.")
    for i, words in enumerate(X):
        if not isinstance(words, list | tuple | np.ndarray):
            raise MargraveError(f"example {i}: a sentence must be a list of words, not {type(words).__name__}.")
        if len(words) == 0:
            raise MargraveError(f"example {i} is an empty sequence; every sequence needs a token.")
        for t, word in enumerate(words):
            if not isinstance(word, str):
                raise MargraveError(f"example {i}, position {t}: a word must be a string, not {type(word).__name__}.")
