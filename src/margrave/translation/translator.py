"""Translation by phrases of word-aligned sentences, or by a grammar, with weights that are tuned (004, section 5.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from margrave.checks import flag, real, whole
from margrave.data.lattices import Lattice
from margrave.errors import MargraveError, counted, unknown
from margrave.estimators.lattice_decoder import LatticeDecoder
from margrave.estimators.model import Given
from margrave.features.lattices import EdgeFeatures
from margrave.learners import Checkpoint, Ended, Learner, Record, learner_named
from margrave.learners.checks import check_loss, check_settings
from margrave.losses import LossFamily, loss_named
from margrave.maps import SparseMap
from margrave.maps.rows import RowEncoder
from margrave.metrics.translation import References, bleu
from margrave.structures.base import NoOutputs
from margrave.translation.decoding import Decoder, Weights, checked_sentences, each_of, replaced
from margrave.translation.grammar_decoder import GrammarDecoder
from margrave.translation.graph_tuning import GraphMargins
from margrave.translation.language_model import NGramModel, StoredModel
from margrave.translation.phrase_decoder import FeatureNames, PhraseDecoder
from margrave.translation.phrases import AlignedText, PhraseTable
from margrave.translation.synchronous import BEAM, SynchronousDecoder
from margrave.translation.tuning import HopeFearMIRA, ListLearner, Mert, PseudoReferences, Round, tune_decoders

TUNINGS = ("mert", "mira", "learner", "none")
PHRASES = "phrases"
_PHRASE_BEAM = 50  # see benchmarks/experiments/phrase_speed.py


class Translator(LatticeDecoder):
    """Translates sentences by phrases or by a grammar; weights are tuned by decoding and learning in turn.

    With phrases, `fit` extracts them from word-aligned sentence pairs, estimates a language model of the target, and
    tunes the weights: on development data if there are any, and else on some of the training sentences, each decoded
    with phrases and a language model of the other folds only. With a synchronous grammar, `fit` tunes the weights on
    the sentence pairs that it is given. The lists of candidates of all rounds are merged. Decoding is a beam search, so
    that nothing here is certified to be exact.

    Parameters
    ----------
    tuning : "mert" (minimum error rate training), "mira" (k-best MIRA with hope and fear), "learner" (the given loss
        and learner on pseudo-references, the best candidates by BLEU+1; `LP(program="closest")` and `LP(program="all")`
        are the programs 7 and 8 of 004), or "none" (the weights to begin with).
    decoder : "phrases", or a `margrave.translation.synchronous.SynchronousDecoder`, which has a grammar and perhaps a
        language model. It is saved with the model.
    start : the weights to begin with, by the names of features. Others are those that Moses begins with or, for a
        grammar, 1, and -100 for words that pass through, whose weight is not tuned.
    loss, C, learner, tol, max_iter : for tuning="learner", as in `Reranker`.
    step : the largest step of "mira".
    sparse : whether target trigrams, phrase pairs and their orientations are features, besides the 14 dense ones; for
        phrases only.
    rounds : how often to decode and learn.
    k : the number of candidates of each sentence and round.
    good : how many candidates of a sentence are pseudo-references.
    wrong : how many of its worst candidates are wrong; None means all that are not good.
    graphs : whether tuning="learner" learns from search graphs instead of lists: all their other paths are wrong. Only
        phrases have them.
    n_edges : how many edges of each search graph are kept, those on its best paths.
    n_tuning : on how many of the training sentences weights are tuned, evenly spaced; None means all.
    folds, longest, order : how many folds the training sentences have, the most words of a phrase, and the order of the
        language model; for phrases only.
    beam : as in `margrave.translation.phrase_decoder.PhraseDecoder` (None means 50) or, for a grammar, in
        `margrave.translation.grammar_decoder.GrammarDecoder` (None means 200).
    options, reach : as in `PhraseDecoder`.
    features : how search graphs become features of edges; it is not meant to be changed.
    n_jobs : how many sentences are decoded at a time; None means as many as there are processors. With sparse
        features, tuning decodes one at a time.
    seed, verbose : as in `SequenceTagger`.

    Attributes
    ----------
    coef_ : one weight per feature.
    phrases_ : the phrase table; None for a grammar.
    language_model_ : the language model of phrases; None for a grammar, whose decoder has its own.
    certificate_ : for tuning="learner", P, D and the gap of the lists that `coef_` was learned from. There are none if
        the weights were not learned by minimising an objective, or if no learned weights were better than the start.
    rounds_ : what each round of the tuning did: BLEU, and the number of candidates; it is not saved.
    n_unknown_ : the number of words without a translation in the sentences of the last prediction; it is not saved.

    >>> X, y = ["la maison bleue", "la fleur", "une maison"], ["the blue house", "the flower", "a house"]
    >>> model = Translator(tuning="none").fit(X, y, ["0-0 1-2 2-1", "0-0 1-1", "0-0 1-1"])
    >>> model.predict(["une fleur bleue"])
    ['a flower blue']
    """

    phrases_: PhraseTable | None
    language_model_: StoredModel | None
    rounds_: list[Round]
    n_unknown_: int
    _ready: tuple[tuple[Any, ...], Decoder, Weights] | None = None  # the decoder of the last prediction

    _more: ClassVar[tuple[str, ...]] = ("phrases_", "language_model_")

    def __init__(
        self,
        tuning: str = "mert",
        *,
        decoder: str | SynchronousDecoder = PHRASES,
        start: Mapping[str, float] | None = None,
        loss: str | LossFamily = "hinge",
        C: float = 1.0,
        learner: str | Learner = "lp",
        step: float = 0.01,
        sparse: bool = False,
        rounds: int = 5,
        k: int = 100,
        good: int = 5,
        wrong: int | None = 5,
        graphs: bool = False,
        n_edges: int = 1000,
        n_tuning: int | None = 1000,
        folds: int = 5,
        longest: int = 5,
        order: int = 3,
        beam: int | None = None,
        options: int = 10,
        reach: int = 6,
        features: Any = "default",
        max_iter: int | None = None,
        tol: float = 1e-2,
        n_jobs: int | None = None,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.tuning = tuning
        self.decoder = decoder
        self.start = start
        self.loss = loss
        self.C = C
        self.learner = learner
        self.step = step
        self.sparse = sparse
        self.rounds = rounds
        self.k = k
        self.good = good
        self.wrong = wrong
        self.graphs = graphs
        self.n_edges = n_edges
        self.n_tuning = n_tuning
        self.folds = folds
        self.longest = longest
        self.order = order
        self.beam = beam
        self.options = options
        self.reach = reach
        self.features = features
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ---- learning ----------------------------------------------------------------------------------------------------

    def fit(  # type: ignore[override]
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
        self._check_parameters()
        if checkpoint is not None:
            raise MargraveError("the training of a Translator keeps no checkpoint.")
        if isinstance(self.decoder, SynchronousDecoder):
            if alignments is not None or language_model is not None:
                raise MargraveError("a grammar needs no alignments, and its decoder has the language model.")
            self.phrases_ = self.language_model_ = None
            return self._tuned(self._grammar_decoder(), *self._checked_tuning((X, y) if tune is None else tune))
        if alignments is None:
            raise MargraveError("phrases are learned from alignments, and there are none: pass them, or a decoder.")
        text = AlignedText(X, y, alignments)
        if not text.size:
            raise MargraveError("there are no sentence pairs to learn from.")
        phrases, model = self._training(text, y, language_model)
        self.phrases_, self.language_model_ = phrases, StoredModel(model)
        decoder = self._decoder_of(phrases, model, FeatureNames())
        if self.tuning != "none" and tune is None:
            return self._tuned(decoder, *self._on_other_folds(text, X, y, decoder.features, language_model))
        source, references = ([], []) if tune is None else self._checked_tuning(tune)
        return self._tuned(decoder, source, references)

    def fit_path(self, X: Any, y: Any, Cs: Sequence[float], *, sample_weight: Any = None) -> list[Self]:
        """Not supported: what is learned from depends on the weights of the round before.

        Parameters
        ----------
        X, y, Cs, sample_weight : as for other estimators.
        """
        raise MargraveError("a Translator has no path of C, because every round decodes anew: fit one model per C.")

    def _tuned(
        self,
        decoder: Decoder,
        source: Sequence[str],
        references: References,
        decoders: Sequence[Decoder] | None = None,
    ) -> Self:
        """Tune the weights on these sentences, each with its decoder, or all with one."""
        learner = self._list_learner()
        weights, rounds = replaced(decoder.start(), decoder.feature_names(), self.start), list[Round]()
        if learner is not None:
            weights, rounds = tune_decoders(
                [decoder] * len(source) if decoders is None else decoders,
                source,
                references,
                learner,
                start=weights,
                rounds=self.rounds,
                k=self.k,
                good=self.good,
                threads=self._threads(),
            )
        weights = np.concatenate([weights, np.zeros(decoder.n_features - len(weights))])
        self._set_tuned(rounds)
        feature_map = SparseMap(unit="edge" if isinstance(decoder, PhraseDecoder) else "rule")
        feature_map.encode([[decoder.feature_names()]], grow=True)
        self._set_model(NoOutputs(), feature_map, EdgeFeatures(), weights)
        return self

    def _training(  # type: ignore[override]
        self, text: AlignedText, y: Sequence[str], given: NGramModel | None, used: NDArray[np.bool_] | None = None
    ) -> tuple[PhraseTable, NGramModel]:
        """The phrases of some sentence pairs, and their language model unless one is given."""
        # The search chooses among more translations of a source phrase than it tries.
        phrases = text.phrases(self.longest, 2 * self.options if self.options else 10**9, used)
        if given is not None:
            return phrases, given
        chosen = y if used is None else [each for each, use in zip(y, used, strict=True) if use]
        return phrases, NGramModel.estimate(chosen, self.order)

    def _on_other_folds(
        self, text: AlignedText, X: Sequence[str], y: Sequence[str], names: FeatureNames, given: NGramModel | None
    ) -> tuple[list[str], list[str], list[PhraseDecoder]]:
        """Training sentences, their references, and for each a decoder that was made without its fold."""
        folds = min(self.folds, text.size)
        if folds < 2:
            raise MargraveError("a training sentence is decoded with phrases of others: there must be two or more.")
        fold = np.arange(text.size) * folds // text.size
        decoders = []
        for f in range(folds):
            decoders.append(self._decoder_of(*self._training(text, y, given, fold != f), names))
        size = text.size if self.n_tuning is None else min(self.n_tuning, text.size)
        chosen = (np.arange(size) * text.size // size).tolist()
        return [X[i] for i in chosen], [y[i] for i in chosen], [decoders[fold[i]] for i in chosen]

    def _list_learner(self) -> ListLearner | None:
        if self.tuning == "mert":
            return Mert(random_state=self.random_state)
        if self.tuning == "mira":
            return HopeFearMIRA(self.step, random_state=self.random_state)
        if self.tuning == "learner":
            numbers: dict[str, Any] = {"good": self.good, "random_state": self.random_state, "max_iter": self.max_iter}
            if self.graphs:
                return GraphMargins(self.loss, self.learner, self.C, self.tol, n_edges=self.n_edges, **numbers)
            return PseudoReferences(self.loss, self.learner, self.C, self.tol, wrong=self.wrong, **numbers)
        return None

    def _set_tuned(self, rounds: list[Round]) -> None:
        """Set what is known of the training."""
        outcome = next((each.outcome for each in rounds if each.chosen), None)
        if outcome is not None:
            # It is a certificate for the lists of its round, and not for all translations: the search prunes.
            self.history_ = [replace(record, exact=False) for record in outcome.history]
            self.certificate_ = replace(outcome.certificate, exact=False)
            self.learner_, self.converged_ = outcome.learner, outcome.converged
        else:
            self.certificate_ = Record(0.0, 0.0, None, exact=False)  # These weights minimise no objective.
            self.history_ = [self.certificate_]
            self.learner_ = SimpleNamespace(name=self.tuning)  # type: ignore[assignment]
            self.converged_ = True
        self.rounds_ = rounds
        self.n_iter_ = max(len(rounds) - 1, 0)
        interrupted = bool(rounds) and rounds[-1].interrupted
        self.ended_ = Ended.INTERRUPTED if interrupted else Ended.DONE
        self.stop_reason_ = f"{'interrupted after ' if interrupted else ''}{counted(self.n_iter_, 'round')}"
        self.converged_ = self.converged_ and not interrupted
        self.metadata_ = {}
        self.n_unknown_ = 0
        self._n_left_out = 0

    def _checked_tuning(self, tune: Any) -> tuple[list[str], Any]:
        if not isinstance(tune, tuple | list) or len(tune) != 2:
            raise MargraveError("tune must be a pair: source sentences and their references.")
        source, references = list(checked_sentences(tune[0])), list(tune[1])
        if len(source) != len(references):
            raise MargraveError(f"there are {len(source)} sentences to tune on, but references of {len(references)}.")
        if not source:
            raise MargraveError("there are no sentences to tune on.")
        return source, references

    # ---- using a model -----------------------------------------------------------------------------------------------

    def predict(self, X: Sequence[str]) -> list[str]:
        """Translate sentences; words that no phrase has are copied.

        Parameters
        ----------
        X : source sentences; their words are separated by blanks.
        """
        decoder, weights = self._trained()
        before = decoder.n_unknown
        found = decoder.translate(X, weights, threads=self._threads())
        self.n_unknown_ = decoder.n_unknown - before
        return found

    def predict_kbest(self, X: Sequence[str], k: int = 10) -> list[list[tuple[float, str]]]:
        """The k best distinct translations of each sentence, with their scores, as far as the search has found them.

        Parameters
        ----------
        X : as in `predict`.
        k : the number of translations.
        """
        decoder, weights = self._trained()
        return [
            list(zip(scores.tolist(), found.texts, strict=True))
            for scores, found in decoder.kbest(X, weights, whole("k", k, 1, 2**31 - 1), threads=self._threads())
        ]

    def lattices(self, X: Sequence[str]) -> list[Lattice]:
        """The search graph of each sentence as a lattice, to which its best translation and marginals belong.

        Parameters
        ----------
        X : as in `predict`.
        """
        decoder, weights = self._trained()
        if not isinstance(decoder, PhraseDecoder):
            raise MargraveError("the derivations of a grammar form forests and not lattices: use decoder.forest.")
        names = decoder.feature_names()
        return each_of(
            lambda sentence: decoder.lattice(sentence, weights, names), checked_sentences(X), self._threads()
        )

    def score(self, X: Sequence[str], y: References) -> float:
        """Compute the BLEU of the translations.

        Parameters
        ----------
        X : as in `predict`.
        y : the reference of each sentence, or a list of references.
        """
        return bleu(self.predict(X), y)

    def _trained(self) -> tuple[Decoder, Weights]:
        """The decoder and its weights, which are made anew only if the model or its settings have changed."""
        self._check_fitted()
        learned = (self.coef_, self.phrases_, self.language_model_)
        made_of = (*learned, self.decoder, self.start, self.beam, self.options, self.reach, self.sparse)
        if self._ready is None or any(a is not b for a, b in zip(made_of, self._ready[0], strict=True)):
            names = list(self.map_.encoder.names())
            if self.phrases_ is None or self.language_model_ is None:
                decoder: Decoder = self._grammar_decoder()
                number = {name: k for k, name in enumerate(decoder.feature_names())}
                numbers = np.array([number[name] for name in names], dtype=np.intp)
            else:
                known, numbers = FeatureNames.of_names(names, self.phrases_)
                decoder = self._decoder_of(self.phrases_, self.language_model_.model, known)
            weights = np.zeros(decoder.n_features)
            weights[numbers] = self.coef_
            self._ready = made_of, decoder, weights
        return self._ready[1:]

    def _raw(self, X: Any) -> Any:
        return self.lattices(X)

    # ---- settings ----------------------------------------------------------------------------------------------------

    def _decoder_of(self, phrases: PhraseTable, model: NGramModel, names: FeatureNames) -> PhraseDecoder:
        beam = _PHRASE_BEAM if self.beam is None else self.beam
        limits: dict[str, Any] = {"beam": beam, "options": self.options, "reach": self.reach}
        return PhraseDecoder(phrases, model, names, sparse=bool(self.sparse), **limits)

    def _grammar_decoder(self) -> GrammarDecoder:
        assert isinstance(self.decoder, SynchronousDecoder)
        return GrammarDecoder(self.decoder, beam=BEAM if self.beam is None else self.beam, start=self.start)

    def _check_parameters(self) -> LossFamily:
        loss = loss_named(self.loss)
        if self.tuning not in TUNINGS:
            raise unknown("tuning", self.tuning, TUNINGS)
        if not isinstance(self.decoder, SynchronousDecoder) and self.decoder != PHRASES:
            raise unknown("decoder", self.decoder, (PHRASES, "a SynchronousDecoder"))
        if self.start is not None and not isinstance(self.start, Mapping):
            raise MargraveError("start must be a dictionary from the names of features to weights.")
        if self.tuning == "learner":
            check_loss(learner_named(self.learner), loss)
        if self.decoder != PHRASES and (self.sparse or self.graphs):
            raise MargraveError("only phrases have sparse features and search graphs: leave out sparse and graphs.")
        if flag("graphs", self.graphs) and self.tuning != "learner":
            raise MargraveError("graphs=True is for tuning='learner'.")
        if flag("sparse", self.sparse) and self.tuning == "mert":
            raise MargraveError("minimum error rate training is for few features: pass sparse=False, or other tuning.")
        for name, low in (
            ("rounds", 0),
            ("k", 1),
            ("good", 1),
            ("folds", 2),
            ("longest", 1),
            ("order", 1),
            ("n_edges", 1),
        ):
            setattr(self, name, whole(name, getattr(self, name), low, 10**6))
        real("step", self.step, "be positive and finite", lambda step: 0 < step < np.inf)
        check_settings(self.C, self.tol, self.max_iter, self.n_jobs, self.random_state)
        for name in ("wrong", "n_tuning"):
            if getattr(self, name) is not None:
                setattr(self, name, whole(name, getattr(self, name), 1, 10**9))
        for name in ("beam", "options", "reach"):
            if name != "beam" or self.beam is not None:
                setattr(self, name, whole(name, getattr(self, name), 0, 10**9))
        return loss

    def _no_examples(self, feature_map: Any) -> Given:
        if not isinstance(feature_map, SparseMap) or not isinstance(feature_map.encoder, RowEncoder):
            raise MargraveError("its features have no names.")
        self.n_unknown_ = 0
        names = list(feature_map.encoder.names())
        if isinstance(self.decoder, SynchronousDecoder) and self.phrases_ is None:
            if not set(names) <= set(self.decoder.features):
                raise MargraveError("its weights do not belong to the features of its grammar.")
            return Given([])
        if not isinstance(self.phrases_, PhraseTable) or not isinstance(self.language_model_, StoredModel):
            raise MargraveError("it has no phrases or no language model.")
        FeatureNames.of_names(names, self.phrases_)
        return Given([])
