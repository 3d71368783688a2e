"""Phrase decoders of word-aligned sentences, and training sentences to tune their weights on."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.checks import has_length
from margrave.errors import MargraveError
from margrave.metrics.translation import References
from margrave.translation.decoding import Decoder, checked_sentences
from margrave.translation.language_model import NGramModel
from margrave.translation.phrase_decoder import FeatureNames, PhraseDecoder
from margrave.translation.phrases import AlignedText, PhraseTable
from margrave.translation.settings import TranslatorSettings

# The decoder, the source and the references of each sentence to tune on.
TuningExamples = tuple[Sequence[Decoder], Sequence[str], References]


def given_examples(pairs: Any, decoder: Decoder) -> TuningExamples:
    """Sentences of a user to tune on, and one decoder for all; an error if there are not as many references.

    Parameters
    ----------
    pairs : the sentences and their references.
    decoder : the decoder.
    """
    if not isinstance(pairs, tuple | list) or len(pairs) != 2:
        raise MargraveError("tune must be a pair: source sentences and their references.")
    if not has_length(pairs[1]):
        raise MargraveError(f"the references to tune on must be a list, not {type(pairs[1]).__name__}.")
    source, references = list(checked_sentences(pairs[0])), list(pairs[1])
    if len(source) != len(references):
        raise MargraveError(f"there are {len(source)} sentences to tune on, but references of {len(references)}.")
    if not source:
        raise MargraveError("there are no sentences to tune on.")
    return [decoder] * len(source), source, references


class PhraseTraining:
    """Word-aligned sentence pairs from which phrases and language models are made.

    Parameters
    ----------
    settings : those of the translator.
    X, y : source sentences and their translations.
    alignments : as in `AlignedText`.
    model : a language model that takes the place of those of the translations.
    """

    def __init__(
        self,
        settings: TranslatorSettings,
        X: Sequence[str],
        y: Sequence[str],
        alignments: Sequence[Any],
        model: NGramModel | None,
    ) -> None:
        if not isinstance(model, NGramModel | None):
            raise MargraveError(f"language_model must be an NGramModel, not {type(model).__name__}.")
        self.settings, self.X, self.y, self.model = settings, X, y, model
        self.text = AlignedText(X, y, alignments)
        if not self.text.size:
            raise MargraveError("there are no sentence pairs to learn from.")

    def parts(self, used: NDArray[np.bool_] | None = None) -> tuple[PhraseTable, NGramModel]:
        """The phrases of some sentence pairs, and their language model unless another one is given.

        Parameters
        ----------
        used : which sentence pairs to use; None means all.
        """
        # The search chooses among more translations of a source phrase than it tries.
        most = 2 * self.settings.options or 10**9
        phrases = self.text.phrases(self.settings.longest, most, used)
        if self.model is not None:
            return phrases, self.model
        chosen = self.y if used is None else [each for each, use in zip(self.y, used, strict=True) if use]
        return phrases, NGramModel.estimate(chosen, self.settings.order)

    def held_out(self, names: FeatureNames) -> TuningExamples:
        """Training sentences, each with a decoder that was made without its fold.

        Parameters
        ----------
        names : the features, which all decoders share.
        """
        size = self.text.size
        folds = min(self.settings.folds, size)
        if folds < 2:
            raise MargraveError("a training sentence is decoded with phrases of others: there must be two or more.")
        fold = np.arange(size) * folds // size
        decoders = [phrase_decoder(self.settings, *self.parts(fold != f), names) for f in range(folds)]
        n = min(self.settings.n_tuning or size, size)
        chosen = (np.arange(n) * size // n).tolist()
        return [decoders[fold[i]] for i in chosen], [self.X[i] for i in chosen], [self.y[i] for i in chosen]


def phrase_decoder(
    settings: TranslatorSettings, phrases: PhraseTable, model: NGramModel, names: FeatureNames
) -> PhraseDecoder:
    """The decoder of these phrases.

    Parameters
    ----------
    settings : those of the translator.
    phrases, model, names : the phrases, the language model and the features.
    """
    beam = {} if settings.beam is None else {"beam": settings.beam}
    limits: dict[str, Any] = {"options": settings.options, "reach": settings.reach, **beam}
    return PhraseDecoder(phrases, model, names, sparse=settings.sparse, **limits)
