"""Probabilistic context-free grammars, estimated by counting: the generative baseline of 003, section 5.4."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave.checks import real
from margrave.estimators.base import Given
from margrave.estimators.constituency_parser import ConstituencyParser
from margrave.learners import Ended, Record
from margrave.losses import LossFamily
from margrave.structures.grammar import Grammar


class PCFG(ConstituencyParser):
    """A probabilistic context-free grammar: the probability of a rule is its share among the rules of its symbol.

    It is decoded like the grammars of `ConstituencyParser`, whose weights are then log probabilities. Of a unary chain
    only those of the training data occur.

    Parameters
    ----------
    smoothing : what is added to the count of every rule, so that rare rules are not overrated; 0 is the maximum of the
        likelihood. Rules that do not occur in the training data have no probability.
    terminals, binarise, horizontal, vertical, rare, decode, threshold, max_words, n_jobs : as in
        `ConstituencyParser`.

    >>> trees = ["(S (NP (N dogs)) (VP (V bark)))", "(S (NP (N dogs)) (VP (V see) (NP (N cats))))"]
    >>> grammar = PCFG(smoothing=0).fit(None, trees)
    >>> print(grammar.predict([["N", "V", "N"]])[0])
    (S (NP (N N)) (VP (V V) (NP (N N))))
    """

    def __init__(
        self,
        smoothing: float = 0.0,
        *,
        terminals: str = "tags",
        binarise: str = "right",
        horizontal: int | None = None,
        vertical: int = 1,
        rare: int = 1,
        decode: str = "best",
        threshold: float = 0.3,
        max_words: int = 400,
        n_jobs: int | None = None,
    ) -> None:
        self.smoothing = smoothing
        self.terminals = terminals
        self.binarise = binarise
        self.horizontal = horizontal
        self.vertical = vertical
        self.rare = rare
        self.decode = decode
        self.threshold = threshold
        self.max_words = max_words
        self.n_jobs = n_jobs

    # What the base asks of estimators that learn by optimisation.
    loss = "log"
    C = 1.0
    learner = "auto"
    grammar = "rules"
    prune = None
    weights = "hash:20"
    kernel = None
    features = None
    max_iter = None
    tol = 1e-4
    random_state = 0
    verbose = False

    def _check_parameters(self) -> LossFamily:
        real("smoothing", self.smoothing, "be finite and not negative", lambda x: 0 <= x < float("inf"))
        return super()._check_parameters()

    def _fit(self, given: Given, sample_weight: Any, dev: Any, checkpoint: Any, observers: Any) -> Self:
        loss = self._settings()
        training = self._training(given, sample_weight, loss)
        w = log_probabilities(training.bound.outputs, self.smoothing)
        self.history_ = []
        self.certificate_ = Record(passes=0, seconds=0.0, primal=0.0, dual=None, gap=None)
        self.n_iter_, self.converged_ = 0, True
        self.ended_, self.stop_reason_ = Ended.DONE, "rules are counted"
        self.metadata_ = {}
        self._n_left_out = 0
        self._set_fitted(training, w)
        return self


def log_probabilities(grammar: Grammar, smoothing: float) -> NDArray[np.float64]:
    """The log probabilities of all rules, in the order of their parts; of rules that join pieces, 0."""
    compiled = grammar.compiled
    unary: dict[tuple[str, ...], int] = {}
    for label, times in grammar.labels.items():
        for pair in zip(label.path[:-1], label.path[1:], strict=True):
            unary[pair] = unary.get(pair, 0) + times
    counts: list[tuple[str | None, int | None]] = [
        *((rule[0], grammar.binary.get(rule)) for rule in compiled.binary),
        *((rule[0], grammar.lexical.get(rule)) for rule in compiled.lexical),
        *((rule[0], unary.get(rule)) for rule in compiled.unary),
        *((None, grammar.roots.get(root)) for root in compiled.roots),
    ]
    total: dict[Any, float] = {}
    for left, count in counts:
        if count is not None:
            total[left] = total.get(left, 0.0) + count + smoothing
    return np.array([0.0 if count is None else np.log((count + smoothing) / total[left]) for left, count in counts])
