"""Posterior pruning of constituents: spans that a counted grammar finds improbable are not considered.

The nodes of a derivation are over the same spans whatever the labels of binarised nodes tell, so that a PCFG with few
symbols can say where a grammar with many of them, or one without rules, need not look.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.data.constituents import Tree
from margrave.estimators.pcfg import PCFG
from margrave.maps import SpanMap
from margrave.structures.constituents import ContextFreeTree, Sentence
from margrave.structures.grammar import Grammar

_FOLDS = 5
_BATCH = 50  # sentences whose probabilities are in memory together


def spans_left(pruner: PCFG, sentences: Sequence[Sentence], least: float, threads: int) -> list[NDArray[np.bool_]]:
    """Which spans of each sentence have at least this probability; all of them if it has no derivation.

    Parameters
    ----------
    pruner : the grammar.
    sentences : words with their tags.
    least : the smallest probability.
    threads : the number of threads.
    """
    grammar: Grammar = pruner.grammar_
    structure = ContextFreeTree(splits=True, grammar=grammar)
    feature_map = SpanMap(0, grammar.compiled.rule_names())
    roots, labels = list(grammar.compiled.roots), len(grammar.compiled.spans)
    joins = [k for k, root in enumerate(roots) if root not in grammar.roots]
    found = []
    for first in range(0, len(sentences), _BATCH):
        some = sentences[first : first + _BATCH]
        bound = structure.bind(grammar, np.zeros(len(some), np.int64), sentences=some)
        problem = _core.join(bound, feature_map.map(feature_map.encode(some, grow=False), bound))
        begin, _, mu = _core.marginals_all(problem, pruner.coef_, 1.0, threads)
        for n, at, offset in zip(bound.words.tolist(), begin[:-1].tolist(), bound.first_spans.tolist(), strict=True):
            after_rules = at + offset
            in_pieces = mu[[after_rules - len(roots) + k for k in joins]].sum() > 0
            starts, ends = np.triu_indices(n)
            splits = np.repeat(np.arange(len(starts)), ends - starts)
            first_split = after_rules + len(starts) * labels
            probability = np.bincount(splits, mu[first_split : first_split + len(splits)], minlength=len(starts))
            found.append((probability >= least) | (starts == ends) | in_pieces)
    return found


def pruned_training(
    blank: PCFG, sentences: Sequence[Sentence], trees: Sequence[Tree], least: float, threads: int
) -> tuple[PCFG, list[NDArray[np.bool_]]]:
    """A pruner, and what pruners that have not seen them leave of the spans of the training sentences.

    Parameters
    ----------
    blank : the pruner before it is fitted.
    sentences, trees : the training data.
    least, threads : as in `spans_left`.
    """
    from sklearn.base import clone

    pruner = clone(blank).fit(sentences, trees)
    n = len(trees)
    if n < 2 * _FOLDS:
        return pruner, spans_left(pruner, sentences, least, threads)
    left: dict[int, NDArray[np.bool_]] = {}
    for k in range(_FOLDS):
        inside = [i for i in range(n) if i % _FOLDS != k]
        model = clone(blank).fit([sentences[i] for i in inside], [trees[i] for i in inside])
        fold = range(k, n, _FOLDS)
        left.update(zip(fold, spans_left(model, [sentences[i] for i in fold], least, threads), strict=True))
    return pruner, [left[i] for i in range(n)]


def lost_spans(grammar: Grammar, trees: Sequence[Tree], left: Sequence[NDArray[np.bool_]]) -> float:
    """The share of the nodes of gold derivations, words aside, that pruning would not have left."""
    lost = total = 0
    for tree, mask in zip(trees, left, strict=True):
        n = len(tree.words)
        for node in grammar.derive(tree):
            if node.end - node.begin > 1:
                total += 1
                lost += not mask[node.begin * n - node.begin * (node.begin - 1) // 2 + node.end - node.begin - 1]
    return lost / total if total else 0.0
