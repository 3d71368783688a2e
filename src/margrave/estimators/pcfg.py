"""Probabilistic context-free grammars, estimated by counting: a generative baseline."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave.binding import bind
from margrave.estimators.counted import CountedEstimator
from margrave.estimators.model import Origin
from margrave.estimators.models.pcfg import PCFGModel
from margrave.estimators.weighting import weighted
from margrave.maps import SpanMap
from margrave.structures.grammar import Grammar


class PCFG(CountedEstimator, PCFGModel):
    """A probabilistic context-free grammar: the probability of a rule is its share among the rules of its symbol.

    It is decoded like the grammars of `ConstituencyParser`, whose weights are then log probabilities. Only the unary
    chains of the training data occur. Counting minimizes no objective, so it has neither a `C` nor `fit_path`.

    Attributes
    ----------
    coef_ : the log probabilities of the rules.
    grammar_ : the grammar.
    n_long_ : the number of training sentences that were left out because of `max_words`.
    n_partial_ : as in `ConstituencyParser`.

    >>> trees = ["(S (NP (N dogs)) (VP (V bark)))", "(S (NP (N dogs)) (VP (V see) (NP (N cats))))"]
    >>> grammar = PCFG(smoothing=0).fit(None, trees)
    >>> print(grammar.predict([["N", "V", "N"]])[0])
    (S (NP (N N)) (VP (V V) (NP (N N))))
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count the rules of trees.

        Parameters
        ----------
        X : the sentences; None takes them from the trees.
        y : a tree for each sentence.
        sample_weight : one factor per tree on its counts.
        """
        self._check_parameters()
        examples = weighted(replace(self._given(X, y), training=True), sample_weight)
        X, y = examples.X, examples.Y
        sentences, trees, short = self._short_trees(self.sentences_of(y) if X is None else X, y)
        examples = replace(examples, X=sentences, Y=trees).some(short)
        structure, weights = self._structure(examples), examples.extra("sample_weight")
        outputs = structure.learn(examples.Y) if weights is None else structure.learn_weighted(examples.Y, weights)
        outputs.check()
        rules = SpanMap(0, outputs.compiled.rule_names())
        bind(structure, rules, examples, outputs=outputs)
        self.n_long_ = len(trees) - len(short)
        self._set_origin(Origin("rules are counted"))
        self._set_model(outputs, rules, None, log_probabilities(outputs, self.smoothing))
        return self


def log_probabilities(grammar: Grammar, smoothing: float) -> NDArray[np.float64]:
    """The log probabilities of all rules, in the order of their parts; of rules that join pieces, 0."""
    compiled = grammar.compiled
    unary: dict[tuple[str, ...], float] = {}
    for label, times in grammar.labels.items():
        for pair in zip(label.path[:-1], label.path[1:], strict=True):
            unary[pair] = unary.get(pair, 0) + times
    counts: list[tuple[str | None, float | None]] = [
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
