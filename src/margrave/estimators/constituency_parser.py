"""Constituent trees for sentences: weighted grammars and span parsing."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.data.constituents import Tree
from margrave.estimators.base import StructuredEstimator, Training
from margrave.estimators.models.constituency_parser import ParsingModel, joined, spans_left
from margrave.estimators.pcfg import PCFG
from margrave.estimators.pruning import cross_pruned
from margrave.examples import Examples
from margrave.features import Features
from margrave.maps import SpanKernel, SpanMap, table_named
from margrave.structures.grammar import Grammar

_FOLDS = 5  # of pruners


class ConstituencyParser(ParsingModel, StructuredEstimator):
    """Predicts the constituent tree of a sentence; minimizes 1/2 |w|^2 + C sum_i L_i(w) over trees.

    A sentence of X is a list of rows (word, tag), of words, or of tags, as `terminals` says; if X is None in `fit`, the
    sentences are those of the trees. Trees of y are Penn brackets, nested lists [label, child, ...], nltk trees or
    `margrave.data.Tree`; predictions are `margrave.data.Tree`. Function tags and traces are left out.

    Attributes
    ----------
    coef_ : the weights of the rules, and of the attributes of spans.
    grammar_ : the grammar.
    n_long_ : the number of training sentences that were left out because of `max_words`.
    pruner_ : the grammar that prunes, or None.
    lost_spans_ : the share of the spans of the training trees that pruning would have lost, or None; in training they
        are kept.
    n_partial_ : the number of sentences of the latest prediction that have no derivation; their trees join a
        few pieces, each join at a score of -1000.

    >>> trees = ["(S (NP (D the) (N dog)) (VP (V barks)))", "(S (NP (N cats)) (VP (V sleep) (A well)))"]
    >>> parser = ConstituencyParser().fit([Tree.of(tree).tags for tree in trees], trees)
    >>> print(parser.predict([["D", "N", "V", "A"]])[0])
    (S (NP (D D) (N N)) (VP (V V) (A A)))
    """

    def _map(self, outputs: Any) -> SpanMap | SpanKernel:
        if self.kernel is not None:
            compiled = outputs.compiled
            return SpanKernel(self.kernel.fresh(), len(compiled.span_nodes), compiled.rule_names())
        bits = 0 if self._chosen_features() is None else table_named(self.weights).hash_bits
        return SpanMap(bits, outputs.compiled.rule_names())

    def _chosen_features(self) -> Features | None:
        return self._span_templates()

    def _prepared(self, examples: Examples) -> tuple[Examples, dict[str, Any]]:
        X = self.sentences_of(examples.Y) if examples.X is None else examples.X
        sentences, trees, short = self._short_trees(X, examples.Y)
        learned: dict[str, Any] = {"n_long_": len(trees) - len(short), "pruner_": None, "lost_spans_": None}
        examples = replace(examples, X=sentences, Y=trees)
        if len(short) < len(trees):
            examples = examples.some(short)
        if self.prune is None:
            return examples, learned
        weights = examples.extra("sample_weight")
        pruner, left = self._pruned(examples.X, examples.Y, weights, self.prune)
        learned |= {"pruner_": pruner, "lost_spans_": lost_spans(pruner.grammar_, examples.Y, left, weights)}
        return examples.having(left=joined(left)), learned

    def _pruned(self, X: Any, Y: Any, weights: Any, least: float) -> tuple[PCFG, list[NDArray[np.bool_]]]:
        """A grammar that prunes, and what it leaves of the training sentences."""
        blank = PCFG(
            terminals=self.terminals,
            binarize="right" if self.grammar == "spans" else self.binarize,
            horizontal=0,
            rare=self.rare,
            n_jobs=self.n_jobs,
        )
        return cross_pruned(blank, X, Y, weights, _FOLDS, lambda pruner, some: spans_left(pruner, some, least))

    def _decoder(self, training: Training) -> Callable[[int, NDArray[np.int32]], Any]:
        return lambda i, parts: training.bound.decode_one(i, parts).tree(training.examples.X[i])


def lost_spans(
    grammar: Grammar, trees: Sequence[Tree], left: Sequence[NDArray[np.bool_]], weights: Sequence[float] | None = None
) -> float:
    """The share of the nodes of gold derivations, words aside, that pruning would not have left."""
    lost = total = 0.0
    for tree, mask, weight in zip(trees, left, [1.0] * len(trees) if weights is None else weights, strict=True):
        n = len(tree.words)
        for node in grammar.derive(tree):
            if node.end - node.begin > 1:
                total += weight
                lost += weight * (
                    not mask[node.begin * n - node.begin * (node.begin - 1) // 2 + node.end - node.begin - 1]
                )
    return lost / total if total else 0.0
