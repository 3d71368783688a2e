"""Translation by phrases that are learned from word-aligned sentences, with weights that are tuned (004, 5.2)."""

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from margrave.checks import flag, real, whole
from margrave.datasets.lattices import Lattice
from margrave.errors import MargraveError, unknown
from margrave.estimators.base import Given
from margrave.estimators.lattice_decoder import LatticeDecoder
from margrave.features import SparseFeatures
from margrave.features.rows import RowEncoder
from margrave.inputs.lattices import EdgeFeatures
from margrave.learners import Checkpoint, Learner, Record, learner_named
from margrave.learners.checks import check_loss, check_settings
from margrave.losses import LossFamily, loss_named
from margrave.metrics.translation import References, bleu
from margrave.structures.base import NoOutputs
from margrave.translation.language_model import NGramModel, StoredModel
from margrave.translation.phrase_decoder import FeatureNames, PhraseDecoder
from margrave.translation.phrases import AlignedText, PhraseTable
from margrave.translation.tuning import HopeFearMIRA, ListLearner, Mert, PseudoReferences, Round, tune_decoders

Weights = NDArray[np.float64]

TUNINGS = ("mert", "mira", "learner", "none")


class Translator(LatticeDecoder):
    """Translates sentences by phrases; the weights of their features are tuned by decoding and learning in turn.

    `fit` extracts phrases from word-aligned sentence pairs, estimates a language model of the target, and tunes the
    weights: on development data if there are any, and else on some of the training sentences, each decoded with phrases
    and a language model of the other folds only. The lists of candidates of all rounds are merged. Decoding is a beam
    search, so that nothing here is certified to be exact.

    Parameters
    ----------
    tuning : "mert" (minimum error rate training), "mira" (k-best MIRA with hope and fear), "learner" (the given loss
        and learner on pseudo-references, the best candidates by BLEU+1; `LP(program="closest")` and `LP(program="all")`
        are the programs 7 and 8 of 004), or "none" (the weights that Moses begins with).
    loss, C, learner, tol, max_iter : for tuning="learner", as in `Reranker`.
    step : the largest step of "mira".
    sparse : whether target trigrams, phrase pairs and their orientations are features, besides the 14 dense ones.
    rounds : how often to decode and learn.
    k : the number of candidates of each sentence and round.
    good : how many candidates of a sentence are pseudo-references.
    wrong : how many of its worst candidates are wrong; None means all that are not good.
    n_tuning : on how many of the training sentences weights are tuned, evenly spaced; None means all.
    folds : how many folds the training sentences have.
    longest : the most words of a phrase.
    order : that of the language model.
    beam, options, reach : as in `margrave.translation.phrase_decoder.PhraseDecoder`.
    inputs : how search graphs become features of edges; it is not meant to be changed.
    n_threads, seed, verbose : as in `SequenceTagger`.

    Attributes
    ----------
    coef_ : one weight per feature.
    phrases_ : the phrase table.
    language_model_ : the language model.
    rounds_ : what each round of the tuning did: BLEU, and the number of candidates; it is not saved.
    n_unknown_ : the number of words without a translation in the sentences of the last prediction; it is not saved.

    >>> X, y = ["la maison bleue", "la fleur", "une maison"], ["the blue house", "the flower", "a house"]
    >>> model = Translator(tuning="none").fit(X, y, ["0-0 1-2 2-1", "0-0 1-1", "0-0 1-1"])
    >>> model.predict(["une fleur bleue"])
    ['a flower blue']
    """

    phrases_: PhraseTable
    language_model_: StoredModel
    rounds_: list[Round]
    n_unknown_: int

    _more: ClassVar[tuple[str, ...]] = ("phrases_", "language_model_")

    def __init__(
        self,
        tuning: str = "mert",
        *,
        loss: str | LossFamily = "hinge",
        C: float = 1.0,
        learner: str | Learner = "lp",
        step: float = 0.01,
        sparse: bool = False,
        rounds: int = 5,
        k: int = 100,
        good: int = 5,
        wrong: int | None = 5,
        n_tuning: int | None = 1000,
        folds: int = 5,
        longest: int = 5,
        order: int = 3,
        beam: int = 50,
        options: int = 10,
        reach: int = 6,
        inputs: Any = "default",
        max_iter: int | None = None,
        tol: float = 1e-2,
        n_threads: int | None = None,
        seed: int = 0,
        verbose: bool = False,
    ) -> None:
        self.tuning = tuning
        self.loss = loss
        self.C = C
        self.learner = learner
        self.step = step
        self.sparse = sparse
        self.rounds = rounds
        self.k = k
        self.good = good
        self.wrong = wrong
        self.n_tuning = n_tuning
        self.folds = folds
        self.longest = longest
        self.order = order
        self.beam = beam
        self.options = options
        self.reach = reach
        self.inputs = inputs
        self.max_iter = max_iter
        self.tol = tol
        self.n_threads = n_threads
        self.seed = seed
        self.verbose = verbose

    # ---- learning ----------------------------------------------------------------------------------------------------

    def fit(  # type: ignore[override]
        self,
        X: Sequence[str],
        y: Sequence[str],
        alignments: Sequence[Any],
        *,
        tune: tuple[Sequence[str], References] | None = None,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
    ) -> Self:
        """Learn phrases, a language model and weights.

        Parameters
        ----------
        X : source sentences; their words are separated by blanks.
        y : their translations.
        alignments : for each pair the links between source and target words, as pairs of numbers or as text "0-0 1-2".
        tune : source sentences and their references (one or a list for each) to tune the weights on; None tunes them on
            training sentences.
        checkpoint : must be None, because the tuning cannot be interrupted and continued.
        """
        self._check_parameters()
        if checkpoint is not None:
            raise MargraveError("the training of a Translator keeps no checkpoint.")
        text = AlignedText(X, y, alignments)
        if not text.size:
            raise MargraveError("there are no sentence pairs to learn from.")
        names = FeatureNames()
        phrases, model = self._training(text, y)
        decoder = self._decoder_of(phrases, model, names)
        learner = self._list_learner()
        weights, rounds = decoder.start(), list[Round]()
        if learner is not None:
            if tune is None:
                source, references, decoders = self._on_other_folds(text, X, y, names)
            else:
                source, references = self._checked_tuning(tune)
                decoders = [decoder] * len(source)
            limits = {"rounds": self.rounds, "k": self.k, "good": self.good}
            weights, rounds = tune_decoders(decoders, source, references, learner, **limits)
        weights = np.concatenate([weights, np.zeros(len(names) - len(weights))])
        self._set_tuned(learner, weights, rounds)
        features = SparseFeatures(unit="edge")
        features.encode([[names.names(phrases)]], grow=True)
        self.phrases_, self.language_model_ = phrases, StoredModel(model)
        self._set_model(NoOutputs(), features, EdgeFeatures(), weights)
        return self

    def _training(  # type: ignore[override]
        self, text: AlignedText, y: Sequence[str], used: NDArray[np.bool_] | None = None
    ) -> tuple[PhraseTable, NGramModel]:
        """The phrases and the language model of some sentence pairs."""
        # The search chooses among more translations of a source phrase than it tries.
        phrases = text.phrases(self.longest, 2 * self.options if self.options else 10**9, used)
        chosen = y if used is None else [each for each, use in zip(y, used, strict=True) if use]
        return phrases, NGramModel.estimate(chosen, self.order)

    def _on_other_folds(
        self, text: AlignedText, X: Sequence[str], y: Sequence[str], names: FeatureNames
    ) -> tuple[list[str], list[str], list[PhraseDecoder]]:
        """Training sentences, their references, and for each a decoder that was made without its fold."""
        folds = min(self.folds, text.size)
        if folds < 2:
            raise MargraveError("a training sentence is decoded with phrases of others: there must be two or more.")
        fold = np.arange(text.size) * folds // text.size
        decoders = []
        for f in range(folds):
            decoders.append(self._decoder_of(*self._training(text, y, fold != f), names))
        size = text.size if self.n_tuning is None else min(self.n_tuning, text.size)
        chosen = (np.arange(size) * text.size // size).tolist()
        return [X[i] for i in chosen], [y[i] for i in chosen], [decoders[fold[i]] for i in chosen]

    def _list_learner(self) -> ListLearner | None:
        if self.tuning == "mert":
            return Mert(seed=self.seed)
        if self.tuning == "mira":
            return HopeFearMIRA(self.step, seed=self.seed)
        if self.tuning == "learner":
            numbers: dict[str, Any] = {"good": self.good, "wrong": self.wrong, "seed": self.seed}
            return PseudoReferences(self.loss, self.learner, self.C, self.tol, max_iter=self.max_iter, **numbers)
        return None

    def _set_tuned(self, learner: ListLearner | None, weights: Weights, rounds: list[Round]) -> None:
        """Set what is known of the training."""
        reranker = learner.reranker if isinstance(learner, PseudoReferences) else None
        if reranker is not None:
            # It is a certificate for the last lists, and not for all translations: the search prunes.
            self.history_ = [replace(record, exact=False) for record in reranker.history_]
            self.certificate_ = replace(reranker.certificate_, exact=False)
            self.learner_, self.converged_ = reranker.learner_, reranker.converged_
        else:
            self.certificate_ = Record(0.0, 0.0, 0.5 * float(weights @ weights), exact=False)
            self.history_ = [self.certificate_]
            self.learner_ = SimpleNamespace(name=self.tuning)  # type: ignore[assignment]
            self.converged_ = True
        self.rounds_ = rounds
        self.n_iter_ = max(len(rounds) - 1, 0)
        self.stop_reason_ = f"{self.n_iter_} rounds"
        self.metadata_ = {}
        self.n_unknown_ = 0
        self._n_left_out = 0

    def _checked_tuning(self, tune: Any) -> tuple[list[str], Any]:
        if not isinstance(tune, tuple | list) or len(tune) != 2:
            raise MargraveError("tune must be a pair: source sentences and their references.")
        source, references = list(tune[0]), list(tune[1])
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
        found = decoder.translate(X, weights)
        self.n_unknown_ = decoder.unknown
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
            for scores, found in decoder.kbest(X, weights, whole("k", k, 1, 2**31 - 1))
        ]

    def lattices(self, X: Sequence[str]) -> list[Lattice]:
        """The search graph of each sentence as a lattice, to which its best translation and marginals belong.

        Parameters
        ----------
        X : as in `predict`.
        """
        decoder, weights = self._trained()
        names = decoder.features.names(self.phrases_)
        return [decoder.lattice(sentence, weights, names) for sentence in X]

    def score(self, X: Sequence[str], y: References) -> float:
        """Compute the BLEU of the translations.

        Parameters
        ----------
        X : as in `predict`.
        y : the reference of each sentence, or a list of references.
        """
        return bleu(self.predict(X), y)

    def _trained(self) -> tuple[PhraseDecoder, Weights]:
        """A decoder and its weights."""
        self._check_fitted()
        names, numbers = FeatureNames.of_names(list(self.features_.encoder.names()), self.phrases_)
        weights = np.zeros(len(names))
        weights[numbers] = self.coef_
        return self._decoder_of(self.phrases_, self.language_model_.model, names), weights

    def _raw(self, X: Any) -> Any:
        return self.lattices(X)

    # ---- settings ----------------------------------------------------------------------------------------------------

    def _decoder_of(self, phrases: PhraseTable, model: NGramModel, names: FeatureNames) -> PhraseDecoder:
        limits: dict[str, Any] = {"beam": self.beam, "options": self.options, "reach": self.reach}
        return PhraseDecoder(phrases, model, names, sparse=bool(self.sparse), **limits)

    def _check_parameters(self) -> LossFamily:
        loss = loss_named(self.loss)
        if self.tuning not in TUNINGS:
            raise unknown("tuning", self.tuning, TUNINGS)
        if self.tuning == "learner":
            check_loss(learner_named(self.learner), loss)
        if flag("sparse", self.sparse) and self.tuning == "mert":
            raise MargraveError("minimum error rate training is for few features: pass sparse=False, or other tuning.")
        for name, low in (("rounds", 0), ("k", 1), ("good", 1), ("folds", 2), ("longest", 1), ("order", 1)):
            setattr(self, name, whole(name, getattr(self, name), low, 10**6))
        real("step", self.step, "be positive and finite", lambda step: 0 < step < np.inf)
        check_settings(self.C, self.tol, self.max_iter, self.n_threads, self.seed)
        for name in ("wrong", "n_tuning"):
            if getattr(self, name) is not None:
                setattr(self, name, whole(name, getattr(self, name), 1, 10**9))
        for name in ("beam", "options", "reach"):
            setattr(self, name, whole(name, getattr(self, name), 0, 10**9))
        return loss

    def _no_examples(self, features: Any) -> Given:
        if not isinstance(self.phrases_, PhraseTable) or not isinstance(self.language_model_, StoredModel):
            raise MargraveError("it has no phrases or no language model.")
        if not isinstance(features, SparseFeatures) or not isinstance(features.encoder, RowEncoder):
            raise MargraveError("its features have no names.")
        self.n_unknown_ = 0
        FeatureNames.of_names(list(features.encoder.names()), self.phrases_)
        return Given([])
