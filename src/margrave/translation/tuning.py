"""Learning the weights of a translation system: decode, learn from the lists so far, and decode again.

The lists of several decodings are merged, so that what was learned is not forgotten, and weights are carried from round
to round. Learners of lists are minimum error rate training (Och 2003), k-best MIRA with hope and fear (Chiang 2012;
Cherry and Foster 2012), and all losses and learners of the library on pseudo-references.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave.checks import whole
from margrave.errors import MargraveError
from margrave.estimators.reranker import Reranker
from margrave.learners import Ended
from margrave.metrics.translation import BleuStatistics, References, bleu_of_statistics
from margrave.translation.decoding import Candidates, Decoder, Edges, Found, Weights, each_of
from margrave.translation.mert import deviations, mert

_OF_BLEU = 0.3  # the deviation of scores within lists at the beginning of k-best MIRA, relative to that of BLEU+1


class MergedLists:
    """The candidates of several decodings, each text and feature vector once, with their BLEU statistics.

    Parameters
    ----------
    references : the reference of each sentence, or a list of references.
    """

    def __init__(self, references: References) -> None:
        self._statistics = BleuStatistics(references)
        self.size = len(references)
        self._seen: list[set[tuple[str, bytes]]] = [set() for _ in range(self.size)]
        self._rows_of_text: list[dict[str, NDArray[Any]]] = [{} for _ in range(self.size)]
        self.index: list[list[NDArray[np.int32]]] = [[] for _ in range(self.size)]  # of each candidate
        self.value: list[list[NDArray[np.float64]]] = [[] for _ in range(self.size)]
        self.statistics: list[list[NDArray[Any]]] = [[] for _ in range(self.size)]
        self.bleu: list[list[float]] = [[] for _ in range(self.size)]  # BLEU+1 of each candidate
        self.texts: list[list[str]] = [[] for _ in range(self.size)]
        self.graphs: list[list[Edges]] = [[] for _ in range(self.size)]  # if the learner needs them

    def add(self, i: int, found: Candidates, best: int | None = None) -> int:
        """Add the candidates of sentence i, or only those of the best texts by BLEU+1; the number of new ones.

        Parameters
        ----------
        i : the sentence.
        found : the candidates.
        best : if given, add only this many texts, each with its first candidate.
        """
        known = self._rows_of_text[i]
        missing = list(dict.fromkeys(text for text in found.texts if text not in known))
        known.update((text, self._statistics.row(i, text)) for text in missing)
        chosen: Sequence[int] = range(len(found.texts))
        if best is not None:
            scores = bleu_of_statistics(np.array([known[text] for text in found.texts]), smooth="add-one")
            order = np.argsort(-scores.round(12), kind="stable").tolist()
            first: dict[str, int] = {}  # the first candidate of each text, the best text first
            for k in order:
                first.setdefault(found.texts[k], k)
            chosen = list(first.values())[:best]
        before = len(self.bleu[i])
        for k in chosen:
            index = found.index[found.begin[k] : found.begin[k + 1]]
            value = found.value[found.begin[k] : found.begin[k + 1]]
            key = found.texts[k], index.tobytes() + value.round(9).tobytes()
            if key in self._seen[i]:
                continue
            self._seen[i].add(key)
            self.index[i].append(index.copy())
            self.value[i].append(value.copy())
            self.statistics[i].append(known[found.texts[k]])
            self.texts[i].append(found.texts[k])
        new = self.statistics[i][before:]
        if new:
            self.bleu[i] += bleu_of_statistics(np.array(new), smooth="add-one").tolist()
        return len(new)

    def best(self, i: int, n: int) -> list[int]:
        """The best candidates of sentence i by BLEU+1, with distinct texts: n, or half of all texts, if that is less.

        Parameters
        ----------
        i : the sentence.
        n : how many.
        """
        order = np.argsort(-np.array(self.bleu[i]).round(12), kind="stable").tolist()
        first = {self.texts[i][k]: k for k in reversed(order)}
        distinct = [k for k in order if first[self.texts[i][k]] == k]
        return distinct[: max(1, min(n, len(distinct) // 2))]

    def statistics_of(self, i: int, text: str) -> NDArray[Any]:
        """The BLEU statistics of a translation of sentence i."""
        return self._rows_of_text[i][text] if text in self._rows_of_text[i] else self._statistics.row(i, text)

    def dense(self, i: int, d: int) -> NDArray[np.float64]:
        """The first d features of the candidates of sentence i, as an array with d columns."""
        rows = np.zeros((len(self.index[i]), d))
        for row, index, value in zip(rows, self.index[i], self.value[i], strict=True):
            row[index[index < d]] = value[index < d]
        return rows

    def sparse(self, i: int, d: int, kept: Sequence[int], scales: Weights) -> Any:
        """Some candidates of sentence i as a sparse matrix, with features divided by their scales."""
        from scipy.sparse import csr_array

        index = [self.index[i][k] for k in kept]
        begin = np.concatenate([[0], np.cumsum([len(each) for each in index])])
        columns = np.concatenate(index)
        values = np.concatenate([self.value[i][k] for k in kept]) / scales[columns]
        return csr_array((values, columns, begin), shape=(len(kept), d))

    def deviations(self, d: int, dense: int) -> Weights:
        """The deviation of each dense feature within the lists, and 1 for the others."""
        return np.concatenate([deviations(self.dense(i, dense) for i in range(self.size)), np.ones(d - dense)])


@dataclass(frozen=True)
class Outcome:
    """How the last problem of a tuning was solved.

    Parameters
    ----------
    learner : the learner.
    certificate, history, converged : what it knows of the optimum.
    nonzero : whether the optimum has a weight that is not zero.
    interrupted : whether Ctrl-C ended the learning.
    """

    learner: Any
    certificate: Any
    history: list[Any]
    converged: bool
    nonzero: bool
    interrupted: bool = False


@dataclass
class ListLearner(ABC):
    """Learns weights from merged lists, or from merged search graphs if `needs_graphs`."""

    needs_graphs: ClassVar[bool] = False

    outcome: Outcome | None = field(default=None, init=False, repr=False, compare=False)  # of the last round

    def pruned(self, graph: Edges) -> Edges:
        """What is kept of a search graph.

        Parameters
        ----------
        graph : the graph.
        """
        return graph

    @abstractmethod
    def learn(self, lists: MergedLists, start: Weights, dense: int) -> Weights:
        """New weights.

        Parameters
        ----------
        lists : the candidates so far.
        start : the weights of the round before.
        dense : how many of the features, which come first, are dense.
        """


@dataclass
class Mert(ListLearner):
    """Minimum error rate training on corpus BLEU; for few features only."""

    restarts: int = 10
    random_state: int = 0

    def learn(self, lists: MergedLists, start: Weights, dense: int) -> Weights:
        """Line searches from the weights of the round before, and from random ones."""
        if len(start) > dense:
            raise MargraveError("minimum error rate training is for dense features only: pass sparse=False.")
        features = [lists.dense(i, dense) for i in range(lists.size)]
        statistics = [np.array(rows) for rows in lists.statistics]
        return mert(features, statistics, start=start, restarts=self.restarts, random_state=self.random_state)[0]


@dataclass
class HopeFearMIRA(ListLearner):
    """k-best MIRA: moves from the fear, which scores high and has a low BLEU, to the hope, which has both high.

    Parameters
    ----------
    step : the largest step.
    passes : over all lists; the weights are averaged over all steps.
    random_state : the seed of the order of sentences.
    """

    step: float = 0.01
    passes: int = 20
    random_state: int = 0

    def learn(self, lists: MergedLists, start: Weights, dense: int) -> Weights:
        """Steps of one sentence at a time, from the weights of the round before."""
        scales = lists.deviations(len(start), dense)
        rows = [lists.sparse(i, len(start), range(len(lists.index[i])), scales) for i in range(lists.size)]
        if len(start) == dense:
            rows = [each.toarray() for each in rows]
        gains = [np.array(each) for each in lists.bleu]
        w = start * scales
        # Hope and fear add BLEU+1 to scores. If scores are too large, both are what the weights prefer already.
        spread = sum(float(np.var(each @ w)) for each in rows)
        w *= _OF_BLEU * np.sqrt(sum(float(np.var(each)) for each in gains) / spread) if spread > 0 else 1.0
        # The average of the weights after all steps: a change counts as often as there are steps from it on.
        average, left = w.copy(), self.passes * lists.size
        share = 1 / max(left, 1)
        rng = np.random.default_rng(self.random_state)
        for _ in range(self.passes):
            for i in rng.permutation(lists.size):
                scores = rows[i] @ w
                hope, fear = int(np.argmax(scores + gains[i])), int(np.argmax(scores - gains[i]))
                loss = (gains[i][hope] - gains[i][fear]) - (scores[hope] - scores[fear])
                if loss > 0 and hope != fear:
                    columns, change = _difference(rows[i], hope, fear)
                    square = float(change @ change)
                    if square > 0:
                        change *= min(self.step, loss / square)
                        w[columns] += change
                        average[columns] += left * share * change
                left -= 1
        return average / scales


@dataclass
class ObjectiveLearner(ListLearner):
    """Any loss and learner of the library on pseudo-references, the best candidates by BLEU+1.

    Parameters
    ----------
    loss, learner, C, tol, random_state, max_iter : as in `Reranker`.
    good : how many candidates are pseudo-references; at most half of those of a sentence.
    """

    loss: Any = "hinge"
    learner: Any = "lp"
    C: float = 1.0
    tol: float = 1e-2
    good: int = 1
    random_state: int = 0
    max_iter: int | None = None

    def __post_init__(self) -> None:
        self.good = whole("good", self.good, 1, 10**9)

    def settings(self) -> dict[str, Any]:
        """What a run of the learner is told."""
        return {name: getattr(self, name) for name in ("C", "tol", "random_state", "max_iter")}


@dataclass
class PseudoReferences(ObjectiveLearner):
    """Separates pseudo-references from worse candidates; the cost of a candidate is what it loses in BLEU+1.

    `learner=LP(program="closest")` places the closest pseudo-reference above a wrong candidate, and
    `LP(program="all")` all of them.

    Parameters
    ----------
    wrong : how many of the worst others are wrong; None means all. With dense features alone, separating all others is
        usually hopeless, and the optimum of the linear programs is then w = 0.
    """

    # The linear programs are (7) and (8) of 004.

    wrong: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.wrong is not None:
            self.wrong = whole("wrong", self.wrong, 1, 10**9)

    def learn(self, lists: MergedLists, start: Weights, dense: int) -> Weights:
        """The optimum; the weights of the round before if it is zero, which would make all translations equal."""
        scales = lists.deviations(len(start), dense)
        X, good, costs = [], [], []
        for i in range(lists.size):
            kept, right, of_kept = self._ends(np.array(lists.bleu[i]))
            if len(kept) > right:
                X.append(lists.sparse(i, len(start), kept, scales))
                good.append(list(range(right)))
                costs.append(of_kept)
        if not X:
            return start
        model = Reranker(self.loss, learner=self.learner, n_jobs=1, **self.settings()).fit(X, good, costs=costs)
        w: Weights = model.coef_ / scales
        self.outcome = Outcome(
            model.learner_,
            model.certificate_,
            model.history_,
            model.converged_,
            bool(w.any()),
            model.ended_ is Ended.INTERRUPTED,
        )
        return w if w.any() else start

    def _ends(self, bleu: Weights) -> tuple[list[int], int, Weights]:
        """The candidates to learn from, the best first, how many of them are good, and what they cost."""
        order = np.argsort(-bleu.round(12), kind="stable")
        good = max(1, min(self.good, len(order) // 2))
        worse = order[bleu[order] < bleu[order[good - 1]] - 1e-12]
        if self.wrong is not None:
            worse = worse[-self.wrong :]
        kept = np.concatenate([order[:good], worse])
        costs = np.where(np.arange(len(kept)) < good, 0.0, bleu[order[0]] - bleu[kept])
        return kept.tolist(), good, costs


def _difference(rows: Any, a: int, b: int) -> tuple[Any, Weights]:
    """Row a minus row b of a dense or sparse matrix: the columns that may differ, and the differences there."""
    if isinstance(rows, np.ndarray):
        return slice(None), rows[a] - rows[b]
    first, second = (slice(rows.indptr[k], rows.indptr[k + 1]) for k in (a, b))
    columns, place = np.unique(np.concatenate([rows.indices[first], rows.indices[second]]), return_inverse=True)
    values = np.concatenate([rows.data[first], -rows.data[second]])
    return columns, np.bincount(place, weights=values, minlength=len(columns)).astype(np.float64)


@dataclass(frozen=True)
class Round:
    """What one round of tuning did.

    Parameters
    ----------
    bleu : of the best translations by the weights that the round began with.
    candidates : in the merged lists, after the decoding.
    added : how many of them are new.
    interrupted : whether Ctrl-C ended the tuning after it.
    outcome : how the weights were learned that it began with; None if they were not, or by a learner without an
        objective.
    chosen : whether these weights are the result.
    """

    bleu: float
    candidates: int
    added: int
    interrupted: bool = False
    outcome: Outcome | None = None
    chosen: bool = False


Decode = Callable[[Weights | None], tuple[Weights, list[Found]]]


def tune(
    decode: Decode,
    references: References,
    learner: ListLearner,
    *,
    rounds: int,
    dense: int,
    good: int = 5,
    keep_start: bool = True,
) -> tuple[Weights, list[Round]]:
    """Decode and learn in turn; return the weights whose translations had the best BLEU, and what the rounds did.

    Ctrl-C after the first decoding ends the tuning with the best weights so far.

    Parameters
    ----------
    decode : a function from weights (None at first) to the weights that it used, which are longer if there are new
        features, and what it found for each sentence.
    references : the reference of each sentence, or a list of references.
    learner : how weights are learned from lists.
    rounds : how often to learn; the sentences are decoded once more in the end.
    dense : the number of dense features, which come first.
    good : how many of the candidates in the last stacks are added to the lists, the best by BLEU+1.
    keep_start : whether the weights that were not learned are returned if no learned ones have a better BLEU.
    """
    lists = MergedLists(references)
    history: list[Round] = []
    weights: Weights | None = None
    best: tuple[int, Weights] | None = None  # the round that began with the best weights, and these
    rounds = whole("rounds", rounds, 0, 10**6)
    try:
        for k in range(rounds + 1):
            weights, found = decode(weights)
            if len(found) != lists.size:
                raise MargraveError(f"there are {len(found)} sentences, but references of {lists.size}.")
            chosen = np.array([lists.statistics_of(i, of.best.texts[0]) for i, of in enumerate(found)])
            score = float(bleu_of_statistics(chosen.sum(axis=0)))
            if best is None or score > history[best[0]].bleu or (k == 1 and not keep_start):
                best = k, weights
            added = _add(lists, found, learner, good) if k < rounds else 0
            solved = learner.outcome if k and learner.outcome is not None and learner.outcome.nonzero else None
            history.append(Round(score, sum(map(len, lists.bleu)), added, outcome=solved))
            if k == rounds or not added:
                break
            weights = learner.learn(lists, weights, dense)
            if learner.outcome is not None and learner.outcome.interrupted:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        if best is None:
            raise  # there are no weights yet
        history[-1] = replace(history[-1], interrupted=True)
    assert best is not None
    history[best[0]] = replace(history[best[0]], chosen=True)
    return best[1], history


def _add(lists: MergedLists, found: Sequence[Found], learner: ListLearner, good: int) -> int:
    """Add what a decoding found to the lists; the number of new candidates."""
    added = 0
    for i, of in enumerate(found):
        added += lists.add(i, of.best)
        if of.stack is not None:
            added += lists.add(i, of.stack, good)
        if learner.needs_graphs and of.graph is not None:
            lists.graphs[i].append(learner.pruned(of.graph))
    return added


def tune_decoders(
    decoders: Sequence[Decoder],
    source: Sequence[str],
    references: References,
    learner: ListLearner,
    *,
    start: Weights | None = None,
    rounds: int = 5,
    k: int = 100,
    good: int = 5,
    keep_start: bool = True,
    threads: int = 1,
) -> tuple[Weights, list[Round]]:
    """Tune the weights of decoders, which share their features; return them, and what the rounds did.

    Parameters
    ----------
    decoders : the decoder of each sentence, for example one that was made without it.
    source : the sentences.
    references : the reference of each sentence, or a list of references.
    learner, rounds, good, keep_start : as in `tune`.
    start : the weights to begin with; None for those of the decoders.
    k : the number of candidates of each sentence and round.
    threads : how many sentences are decoded at a time. Decoders that find new features decode one at a time.
    """
    first, pairs = decoders[0], list(zip(decoders, source, strict=True))
    if any(decoder.grows for decoder in decoders):
        threads = 1

    def decode(weights: Weights | None) -> tuple[Weights, list[Found]]:
        used = (first.start() if start is None else start) if weights is None else first.held(weights)
        found = each_of(lambda each: each[0].find(each[1], used, k, graph=learner.needs_graphs), pairs, threads)
        return np.concatenate([used, np.zeros(first.n_features - len(used))]), found

    return tune(decode, references, learner, rounds=rounds, dense=first.n_dense, good=good, keep_start=keep_start)
