"""Translation by phrases of word-aligned sentences, or by a grammar, with weights that are tuned."""

# Phrases, their features and the linear programs of tuning="learner" are those of 004, section 5.2.

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import isfinite
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from margrave.checks import has_length, real, whole
from margrave.data.lattices import Lattice
from margrave.data.nbest import NBestList
from margrave.errors import MargraveError, counted
from margrave.estimators.estimator import Estimator
from margrave.estimators.lattice_decoder import LatticeDecoder
from margrave.estimators.model import Origin, StructuredModel
from margrave.examples import Examples
from margrave.learners import Checkpoint, Ended, Learner, Record, learner_named
from margrave.learners.checks import check_loss
from margrave.losses import loss_named
from margrave.maps import SparseMap
from margrave.metrics.translation import References, bleu
from margrave.options import check_options
from margrave.structures import CandidateLists
from margrave.structures.base import NoOutputs
from margrave.translation.decoding import Candidates, Decoder, Weights, checked_sentences, each_of, replaced
from margrave.translation.grammar_decoder import GrammarDecoder
from margrave.translation.graph_tuning import GraphMargins
from margrave.translation.language_model import NGramModel, StoredModel
from margrave.translation.phrase_decoder import FeatureNames, PhraseDecoder
from margrave.translation.phrases import PhraseTable
from margrave.translation.settings import TranslatorSettings, check_together
from margrave.translation.source_lattices import PATHS, SOURCE, source_strings
from margrave.translation.synchronous import SynchronousDecoder
from margrave.translation.training import PhraseTraining, TuningExamples, given_examples, phrase_decoder
from margrave.translation.tuning import HopeFearMIRA, ListLearner, Mert, Outcome, PseudoReferences, Round, tune_decoders


@dataclass(frozen=True, eq=False)
class _Search:
    """A decoder with its weights, and what they were made of."""

    made_of: tuple[Any, ...]
    decoder: Decoder
    weights: Weights

    @cached_property
    def names(self) -> list[str]:
        return self.decoder.feature_names()

    @cached_property
    def lattice_decoder(self) -> LatticeDecoder:
        return LatticeDecoder.of_weights(dict(zip(self.names, self.weights.tolist(), strict=True)))


class Translator(TranslatorSettings, Estimator, StructuredModel):
    """Translates sentences by phrases or by a grammar; weights are tuned by decoding and learning in turn.

    With phrases, `fit` extracts them from word-aligned sentence pairs, estimates a language model of the target, and
    tunes the weights: on development data if there are any, and else on some of the training sentences, each decoded
    with phrases and a language model of the other folds only. With a synchronous grammar, `fit` tunes the weights on
    the sentence pairs that it is given. The lists of candidates of all rounds are merged. Decoding is a beam search, so
    nothing here is certified to be exact.

    The search graph of a sentence is a lattice. `predict_marginals`, `sample`, `log_probability` and
    `predict_kbest_paths` ask a `LatticeDecoder` with the same weights; they require phrases.

    Attributes
    ----------
    coef_ : one weight per feature.
    phrases_ : the phrase table; None for a grammar.
    language_model_ : the language model of phrases; None for a grammar, whose decoder has its own.
    certificate_ : for tuning="learner", P, D and the gap of the lists that `coef_` was learned from. There are none if
        the weights were not learned by minimizing an objective, or if no learned weights were better than the start.
    learner_ : the learner of that objective; None if there is none. It is not saved.
    rounds_ : what each round of the tuning did: BLEU, and the number of candidates; it is not saved.
    n_unknown_ : the number of words without a translation in the sentences of the last prediction; it is not saved.

    >>> X, y = ["la maison bleue", "la fleur", "une maison"], ["the blue house", "the flower", "a house"]
    >>> model = Translator(tuning="none").fit(X, y, ["0-0 1-2 2-1", "0-0 1-1", "0-0 1-1"])
    >>> model.predict(["une fleur bleue"])
    ['a flower blue']
    """

    phrases_: PhraseTable | None
    language_model_: StoredModel | None
    learner_: Learner | None
    rounds_: list[Round]
    n_unknown_: int
    _last: _Search | None = None  # that of the last prediction

    _more: ClassVar[tuple[str, ...]] = ("phrases_", "language_model_")

    # ---- learning ----------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Sequence[str],
        y: Sequence[str],
        alignments: Sequence[Any] | None = None,
        *,
        tune: tuple[Sequence[str], References] | None = None,
        language_model: NGramModel | None = None,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
    ) -> Self:
        """Learn phrases, a language model and weights; or weights alone if there is a grammar.

        Parameters
        ----------
        X : source sentences; their words are separated by blanks.
        y : their translations. A grammar is tuned on them, and there may be a list of references for each.
        alignments : for each pair the links between source and target words, as pairs of numbers or as text "0-0 1-2";
            None for a grammar.
        tune : source sentences and their references (one or a list for each) to tune the weights on; None tunes them on
            training sentences.
        language_model : the language model of phrases; None estimates one from the translations.
        checkpoint : must be None, because a tuning cannot be continued. Ctrl-C ends it with the best weights so far.
        """
        settings = self._check_parameters()
        learner = _list_learner(settings)
        if checkpoint is not None:
            raise MargraveError("the training of a Translator keeps no checkpoint.")
        decoder: Decoder
        examples: TuningExamples | None = None
        if isinstance(settings.decoder, SynchronousDecoder):
            if alignments is not None or language_model is not None:
                raise MargraveError("a grammar needs no alignments, and its decoder has the language model.")
            phrases = stored = None
            decoder = _grammar_decoder(settings)
            examples = given_examples((X, y) if tune is None else tune, decoder)
        else:
            if alignments is None:
                raise MargraveError("phrases are learned from alignments, and there are none: pass them, or a decoder.")
            training = PhraseTraining(settings, X, y, alignments, language_model)
            phrases, model = training.parts()
            stored = StoredModel(model)
            names = FeatureNames()
            decoder = phrase_decoder(settings, phrases, model, names)
            if tune is not None:
                examples = given_examples(tune, decoder)
            elif learner is not None:
                examples = training.held_out(names)
        weights, rounds = replaced(decoder.start(), decoder.feature_names(), settings.start), list[Round]()
        begun = time.perf_counter()
        if learner is not None and examples is not None:
            limits: dict[str, Any] = {"rounds": settings.rounds, "k": settings.k, "good": settings.good}
            weights, rounds = tune_decoders(*examples, learner, start=weights, threads=self._threads(), **limits)
        self.phrases_, self.language_model_, self.rounds_, self.n_unknown_ = phrases, stored, rounds, 0
        outcome = next((each.outcome for each in rounds if each.chosen), None)
        self.learner_ = None if outcome is None else outcome.learner
        self._set_origin(_origin(rounds, outcome, time.perf_counter() - begun))
        feature_map = SparseMap(unit="rule" if phrases is None else "edge")
        feature_map.encode(Examples([[decoder.feature_names()]]), grow=True)
        new = np.zeros(decoder.n_features - len(weights))  # features that were found after these weights
        self._set_model(NoOutputs(), feature_map, None, np.concatenate([weights, new]))
        return self

    # ---- using a model -----------------------------------------------------------------------------------------------

    def predict(self, X: Sequence[str | Lattice], *, paths: int = PATHS, lattice_weight: float = 1.0) -> list[str]:
        """Translate sentences; words that no phrase has are copied.

        Parameters
        ----------
        X : source sentences, whose words are separated by blanks; or lattices of such, as `read_lattices` reads them.
        paths : how many strings of a lattice are translated; the best translation of any of them wins.
        lattice_weight : the factor on the weights of a lattice, which are added to the scores of translations.
        """
        search = self._search()
        strings = self._best_strings(X, paths, lattice_weight)
        before = search.decoder.n_unknown
        found = search.decoder.translate(strings, search.weights, threads=self._threads())
        self.n_unknown_ = search.decoder.n_unknown - before
        return found

    def predict_kbest(self, X: Sequence[str], k: int = 10) -> list[list[tuple[float, str]]]:
        """The k best distinct translations of each sentence, with their scores, as far as the search has found them.

        Parameters
        ----------
        X : as in `predict`.
        k : the number of translations.
        """
        search, k = self._search(), whole("k", k, 1, 2**31 - 1)
        found = search.decoder.kbest(X, search.weights, k, threads=self._threads())
        return [list(zip(scores.tolist(), ranked.texts, strict=True)) for scores, ranked in found]

    def predict_nbest(
        self, X: Sequence[str | Lattice], k: int = 10, *, paths: int = PATHS, lattice_weight: float = 1.0
    ) -> list[NBestList]:
        """The k best distinct translations of each sentence with their scores and features, so they can be reranked.

        The score of a translation is the sum of its features times their weights; the weights of a lattice are the
        feature `SourceLattice`, and `lattice_weight` is its weight.

        Parameters
        ----------
        X, paths, lattice_weight : as in `predict`.
        k : the number of translations.
        """
        search, k = self._search(), whole("k", k, 1, 2**31 - 1)
        strings = _source_strings(X, paths, lattice_weight)
        flat = [text for of in strings for _, text in of]
        found = iter(search.decoder.kbest(flat, search.weights, k, threads=self._threads()))
        names = search.decoder.feature_names()
        lists = []
        for i, (x, of) in enumerate(zip(X, strings, strict=True)):
            best: dict[str, tuple[float, dict[str, float]]] = {}
            for weight, _ in of:
                scores, candidates = next(found)
                for score, text, features in zip(
                    scores.tolist(), candidates.texts, _named_features(candidates, names), strict=True
                ):
                    if isinstance(x, Lattice):
                        features[SOURCE] = weight
                        score += lattice_weight * weight
                    if text not in best or score > best[text][0]:
                        best[text] = score, features
            ranked = sorted(best.items(), key=lambda item: -item[1][0])[:k]
            lists.append(
                NBestList(i, [text for text, _ in ranked], [own for _, (_, own) in ranked], [s for _, (s, _) in ranked])
            )
        return lists

    def _best_strings(self, X: Sequence[str | Lattice], paths: int, lattice_weight: float) -> list[str]:
        """The sentences; of a lattice the string whose best translation has the highest score."""
        search = self._search()
        strings = _source_strings(X, paths, lattice_weight)
        several = [text for of in strings if len(of) > 1 for _, text in of]
        found = iter(search.decoder.kbest(several, search.weights, 1, threads=self._threads()))
        chosen = []
        for of in strings:
            if len(of) == 1:
                chosen.append(of[0][1])
                continue
            totals = [lattice_weight * weight + float(next(found)[0][0]) for weight, _ in of]
            chosen.append(of[totals.index(max(totals))][1])
        return chosen

    def score(self, X: Sequence[str], y: References) -> float:
        """Compute the BLEU of the translations.

        Parameters
        ----------
        X : as in `predict`.
        y : the reference of each sentence, or a list of references.
        """
        return bleu(self.predict(X), y)

    def lattices(self, X: Sequence[str]) -> list[Lattice]:
        """The search graph of each sentence as a lattice, to which its best translation and marginals belong.

        Parameters
        ----------
        X : as in `predict`.
        """
        search = self._search()
        decoder, names = search.decoder, search.names
        if not isinstance(decoder, PhraseDecoder):
            raise MargraveError("the derivations of a grammar form forests and not lattices: use decoder.forest.")
        return each_of(
            lambda sentence: decoder.lattice(sentence, search.weights, names), checked_sentences(X), self._threads()
        )

    def predict_kbest_paths(self, X: Sequence[str], k: int = 10) -> list[list[tuple[float, str]]]:
        """The translations of the k best paths of each search graph, best first; one may occur several times.

        Parameters
        ----------
        X : as in `predict`.
        k : the number of paths.
        """
        return self._lattice_decoder().predict_kbest_paths(self.lattices(X), k)

    def predict_marginals(self, X: Sequence[str]) -> list[NDArray[np.float64]]:
        """Compute the probability of every edge of the `lattices`: one array per sentence.

        Parameters
        ----------
        X : as in `predict`.
        """
        marginals: list[NDArray[np.float64]] = self._lattice_decoder().predict_marginals(self.lattices(X))
        return marginals

    def sample(self, X: Sequence[str], n: int = 1, random_state: int = 0) -> list[list[str]]:
        """Draw n translations of every sentence from the paths of its search graph.

        Parameters
        ----------
        X : as in `predict`.
        n : the number of translations.
        random_state : the seed of the random numbers; the same seed draws the same translations.
        """
        return self._lattice_decoder().sample(self.lattices(X), n, random_state)

    def log_probability(self, X: Sequence[str], y: Sequence[str]) -> NDArray[np.float64]:
        """Compute the log probability of one translation per sentence: of all paths that spell it together.

        Parameters
        ----------
        X : as in `predict`.
        y : the translations; the result is minus infinity if no path of the search graph spells one.
        """
        return self._lattice_decoder().log_probability(self.lattices(X), y)

    def _lattice_decoder(self) -> LatticeDecoder:
        """The decoder of search graphs, whose distribution has the beta of the loss."""
        decoder: LatticeDecoder = self._search().lattice_decoder.set_params(loss=self.loss, n_jobs=self.n_jobs)
        return decoder

    def _search(self) -> _Search:
        """The decoder and its weights, which are made anew only if the model or its settings have changed."""
        self._check_fitted()
        learned = (self.coef_, self.phrases_, self.language_model_)
        made_of = (*learned, self.decoder, self.start, self.beam, self.options, self.reach, self.sparse)
        if self._last is None or any(a is not b for a, b in zip(made_of, self._last.made_of, strict=True)):
            decoder, numbers = self._decoder_of(list(self.map_.encoder.names()))
            weights = np.zeros(decoder.n_features)
            weights[numbers] = self.coef_
            self._last = _Search(made_of, decoder, weights)
        return self._last

    def _decoder_of(self, names: Sequence[str]) -> tuple[Decoder, NDArray[np.intp]]:
        """A decoder, and the numbers that the features with these names have there."""
        if isinstance(self.phrases_, PhraseTable) and isinstance(self.language_model_, StoredModel):
            features, numbers = FeatureNames.of_names(names, self.phrases_)
            return phrase_decoder(self, self.phrases_, self.language_model_.model, features), numbers
        if self.phrases_ is not None or not isinstance(self.decoder, SynchronousDecoder):
            raise MargraveError("it has no phrases or no language model.")
        number = {name: k for k, name in enumerate(self.decoder.features)}
        if not set(names) <= set(number):
            raise MargraveError("its weights do not belong to the features of its grammar.")
        return _grammar_decoder(self), np.array([number[name] for name in names], dtype=np.intp)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the decoder of the last prediction, which is made again when it is needed."""
        return {name: value for name, value in super().__getstate__().items() if name != "_last"}

    # ---- what a model defines ----------------------------------------------------------------------------------------

    def _structure(self, examples: Examples) -> CandidateLists:
        return CandidateLists()  # A sentence has its translations as candidates.

    def _check_parameters(self) -> TranslatorSettings:
        """The settings as plain values; an error if one is wrong, or if two exclude each other."""
        settings = TranslatorSettings(**check_options(self))
        loss_named(settings.loss)
        check_together(settings)
        return settings

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        model = super()._from_file(header, arrays)
        model.n_unknown_ = 0
        model._search()  # which refuses weights that do not belong to its phrases or its grammar
        return model


def _source_strings(X: Sequence[str | Lattice], paths: int, weight: float) -> list[list[tuple[float, str]]]:
    """The strings of each sentence, which is one for a text, with the sums of their weights."""
    paths, weight = whole("paths", paths, 1, 2**31 - 1), real("lattice_weight", weight, "be finite", isfinite)
    if not has_length(X):
        raise MargraveError(f"X must be a list of sentences, not {type(X).__name__}.")
    checked_sentences(["" if isinstance(x, Lattice) else x for x in X])
    return [source_strings(x, weight, paths) if isinstance(x, Lattice) else [(0.0, x)] for x in X]


def _named_features(candidates: Candidates, names: Sequence[str]) -> list[dict[str, float]]:
    """The features of each candidate by name; those that occur several times are added up."""
    index, value = candidates.index.tolist(), candidates.value.tolist()
    found = []
    for first, last in pairwise(candidates.begin.tolist()):
        features: dict[str, float] = {}
        for k in range(first, last):
            features[names[index[k]]] = features.get(names[index[k]], 0.0) + value[k]
        found.append(features)
    return found


def _list_learner(settings: TranslatorSettings) -> ListLearner | None:
    """What learns weights from candidates; None if they are not tuned."""
    seed = settings.random_state
    if settings.tuning == "none":
        return None
    if settings.tuning == "mert":
        return Mert(random_state=seed)
    if settings.tuning == "mira":
        return HopeFearMIRA(settings.step, random_state=seed)
    check_loss(learner_named(settings.learner), loss_named(settings.loss))
    objective = settings.loss, settings.learner, settings.C, settings.tol, settings.good
    numbers: dict[str, Any] = {"random_state": seed, "max_iter": settings.max_iter}
    if settings.graphs:
        return GraphMargins(*objective, n_edges=settings.n_edges, **numbers)
    return PseudoReferences(*objective, wrong=settings.wrong or None, **numbers)


def _origin(rounds: Sequence[Round], outcome: Outcome | None, seconds: float) -> Origin:
    """How the weights came about, by the outcome of the round that they are from."""
    reason = counted(max(len(rounds) - 1, 0), "round")
    interrupted = bool(rounds) and rounds[-1].interrupted
    if interrupted:
        reason = f"interrupted after {reason}"
    ended = Ended.INTERRUPTED if interrupted else Ended.DONE
    if outcome is None:  # These weights minimize no objective.
        tuned = Record(float(len(rounds)), seconds, None, exact=False)  # Every round translates all sentences.
        return Origin(reason, ended, not interrupted, tuned, [tuned], iterations=len(rounds))
    # It is a certificate for the lists of its round, and not for all translations: the search prunes.
    history = [replace(record, exact=False) for record in outcome.history]
    converged = outcome.converged and not interrupted
    return Origin(reason, ended, converged, replace(outcome.certificate, exact=False), history, outcome.learner.name)


def _grammar_decoder(settings: TranslatorSettings) -> GrammarDecoder:
    assert isinstance(settings.decoder, SynchronousDecoder)
    beam = {} if settings.beam is None else {"beam": settings.beam}
    return GrammarDecoder(settings.decoder, start=settings.start, **beam)
