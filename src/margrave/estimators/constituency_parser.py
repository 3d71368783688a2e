"""Constituent trees for sentences: weighted grammars (000, example 2; 003, section 5.4) and span parsing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.binding import Bound
from margrave.data.constituents import Constituent, Tree
from margrave.errors import MargraveError, unknown
from margrave.estimators.base import StructuredEstimator, check_choice
from margrave.estimators.model import Given, StructuredModel
from margrave.features import Features, SpanTemplates
from margrave.learners import Checkpoint
from margrave.losses import LossFamily
from margrave.maps import FeatureMap, Kernel, SpanKernel, SpanMap, table_named
from margrave.maps.span_kernel import check_kernel
from margrave.metrics.brackets import bracket_scores
from margrave.options import check_options
from margrave.settings.constituency_parser import ConstituencySettings
from margrave.structures.constituents import (
    ConstituentTree,
    ContextFreeTree,
    Sentence,
    Spans,
    SpanTree,
    checked_trees,
    constituent_labels,
    memberships,
    most_probable,
)

_HASH_BITS = 20
NO_TAG = "X"  # of words whose tags are to be predicted, where a model does not predict tags


class ConstituencyModel(StructuredModel):
    """Predicts constituent trees by the weights of rules and spans."""

    terminals: Any
    decode: str
    threshold: float
    max_words: int
    grammar: str = "rules"
    prune: float | None = None

    pruner_: Any = None  # the grammar that prunes
    n_partial_: int = 0
    _new_pruner: Any = None  # while learning

    def sentences_of(self, trees: Sequence[Any]) -> list[list[Any]]:
        """The sentences of trees, in the form that this parser takes.

        Parameters
        ----------
        trees : trees in any form.
        """
        found = checked_trees(trees)
        if self.terminals == "words" and self.grammar == "rules":
            return [tree.words for tree in found]
        return [list(zip(tree.words, tree.tags, strict=True)) for tree in found]

    @property
    def grammar_(self) -> Any:
        """The grammar."""
        self._check_fitted()
        return self.outputs_

    def predict_proba(self, X: Any) -> list[dict[Constituent, float]]:
        """Compute the probabilities of constituents, the most probable first, for each sentence.

        Parameters
        ----------
        X : as in `fit`.
        """
        return [most_probable(self.outputs_, table) for table in self._predict_marginals(Given(X))]

    def predict_marginals(self, X: Any) -> list[NDArray[np.float64]]:
        """Compute the probabilities of constituents as arrays (words, words + 1, labels), by begin and end.

        Parameters
        ----------
        X : as in `fit`.
        """
        found: list[NDArray[np.float64]] = self._predict_marginals(Given(X))
        return found

    @property
    def labels_(self) -> list[str]:
        """The labels of constituents, in the order of `predict_marginals`."""
        self._check_fitted()
        return constituent_labels(self.outputs_)

    def _predict(self, given: Given) -> list[Tree]:
        check_choice("decode", self.decode, ("best", "mbr"))
        bound = self._bind(given)
        if self.decode == "best":
            parts = _core.argmax_all(bound.problem, self.coef_, self._threads())
        else:
            begin, _, mu = _core.marginals_all(bound.problem, self.coef_, self._temperature(), self._threads())
            theta = self._risk(bound, begin, mu)
            parts = _core.argmax_all(bound.problem, None, self._threads(), theta=theta)
        return self._trees(given.X, bound.decode(*parts))

    def _risk(self, bound: Bound, begin: NDArray[np.int64], mu: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores of parts: the sum of (probability - threshold) over the constituents of a labelled span.

        The second constituent with the same label over a span has the probability that there are two of them.
        """
        core = bound.core
        assert isinstance(core, _core.ConstituentStructure)
        member = memberships(self.outputs_)
        spans, most = len(member), int(member.max(initial=0.0))
        theta = np.zeros_like(mu)
        for n, first, offset in zip(core.words.tolist(), begin[:-1].tolist(), core.first_spans.tolist(), strict=True):
            place = slice(first + offset, first + offset + n * (n + 1) // 2 * spans)
            of, scores = mu[place].reshape(-1, spans), theta[place].reshape(-1, spans)
            for times in range(1, most + 1):
                has = (member >= times).astype(np.float64)
                scores += (of @ has - self.threshold) @ has.T
        return theta

    def _predict_kbest(self, given: Given, k: int) -> list[list[tuple[float, Any]]]:
        found = super()._predict_kbest(given, k)
        sentences = self._sentences(given.X)
        return [
            [(value, spans.tree(sentence)) for value, spans in best]
            for best, sentence in zip(found, sentences, strict=True)
        ]

    def _sample(self, given: Given, n: int, random_state: int) -> list[list[Any]]:
        found = super()._sample(given, n, random_state)
        sentences = self._sentences(given.X)
        return [[spans.tree(sentence) for spans in drawn] for drawn, sentence in zip(found, sentences, strict=True)]

    def _trees(self, X: Any, outputs: Sequence[Spans]) -> list[Tree]:
        self.n_partial_ = sum(spans.in_pieces for spans in outputs)
        return [spans.tree(sentence) for spans, sentence in zip(outputs, self._sentences(X), strict=True)]

    def _sentences(self, X: Any) -> list[Sentence]:
        """The words of sentences with their tags; what is not given has a name of its own."""
        if isinstance(X, str | bytes) or not hasattr(X, "__len__"):
            raise MargraveError(f"X must be a list of sentences, not {type(X).__name__}.")
        words_only = self.terminals == "words"
        found: list[Sentence] = []
        for i, sentence in enumerate(X):
            if isinstance(sentence, str | bytes) or not hasattr(sentence, "__len__"):
                raise MargraveError(f"example {i}: a sentence must be a list of words, not {type(sentence).__name__}.")
            if len(sentence) == 0:
                raise MargraveError(f"example {i} has no words.")
            rows = []
            for t, row in enumerate(sentence, 1):
                pair = (row, NO_TAG if words_only else row) if isinstance(row, str) else tuple(row)
                if len(pair) < 2 and words_only:
                    pair = (*pair, NO_TAG)
                if len(pair) < 2 or not all(isinstance(each, str) and each for each in pair):
                    raise MargraveError(f"example {i}, word {t}: a word must be a pair (word, tag), or a string.")
                rows.append(pair)
            found.append(rows)
        return found

    def _short_trees(self, X: Any, Y: Any) -> tuple[list[Sentence], list[Tree], list[int]]:
        """Training sentences, their trees, and the numbers of those that are not too long."""
        trees, sentences = checked_trees(Y), self._sentences(X)
        if len(sentences) != len(trees):
            raise MargraveError(f"there are {len(sentences)} sentences and {len(trees)} trees.")
        short = [i for i, sentence in enumerate(sentences) if len(sentence) <= self.max_words]
        if trees and not short:
            raise MargraveError(f"all sentences have more than max_words={self.max_words} words.")
        found = [_with_words(*of, i) for i, of in enumerate(zip(trees, sentences, strict=True))]
        return sentences, found, short

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        """The F1 score of labelled brackets, as evalb counts them; for tags in place of words, they are compared."""
        gold = checked_trees(Y)
        if predicted and isinstance(predicted[0], Spans):  # while learning
            predicted = [
                spans.tree(list(zip(tree.words, tree.tags, strict=True)))
                for spans, tree in zip(predicted, gold, strict=True)
            ]
        same = [_with_words(tree, other) for tree, other in zip(gold, predicted, strict=True)]
        return bracket_scores(gold, same).f1

    def _raw(self, X: Any) -> Any:
        return self._sentences(X)

    def _to_structure(self, given: Given, X: Any, outputs: Any) -> Mapping[str, Any]:
        found = {**given.to_structure, "sentences": given.X}
        pruner = self._new_pruner or self.pruner_
        if pruner is not None and "n_long_" not in given.fitted:
            from margrave.estimators.span_pruning import spans_left

            found["left"] = _joined(spans_left(pruner, given.X, float(self.prune or 0.0), self._threads()))
        return found

    def _no_examples(self, feature_map: Any) -> Given:
        return Given([])


class ConstituencyParser(ConstituencySettings, ConstituencyModel, StructuredEstimator):
    """Predicts the constituent tree of a sentence; minimises 1/2 |w|^2 + C sum_i L_i(w) over trees.

    A sentence of X is a list of rows (word, tag), of words, or of tags, which `terminals` says. Trees of y are Penn
    brackets, nested lists [label, child, ...], nltk trees or `margrave.data.Tree`, which predictions
    are. Function tags and traces are left out.

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

    _more: ClassVar[tuple[str, ...]] = ("n_long_", "pruner_", "lost_spans_")

    n_long_: int
    lost_spans_: float | None

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        dev: tuple[Any, ...] | None = None,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
        observers: Sequence[Any] = (),
    ) -> Self:
        """Learn from sentences and their trees.

        Parameters
        ----------
        X : the sentences; None takes them from the trees.
        y : a tree for each sentence.
        sample_weight : one factor per sentence on its C.
        dev, checkpoint, observers : as in `SequenceTagger`.
        """
        if X is None:
            X = self.sentences_of(y)
        try:
            return self._fit(Given(X, y), sample_weight, self._dev_given(dev), checkpoint, observers)
        finally:
            self._new_pruner = None

    # ---- what the base asks ------------------------------------------------------------------------------------------

    def _check_parameters(self) -> LossFamily:
        check_options(self)
        self._structure(Given([]))
        if self.features is not None and not isinstance(self.features, str | SpanTemplates):
            raise MargraveError(f"features of a parser must be SpanTemplates, not {type(self.features).__name__}.")
        if self.kernel is not None:
            self._check_kernel(self.kernel)
        if not isinstance(self.weights, str) or not self.weights.startswith("hash:"):
            raise unknown("weights", self.weights, ["hash:BITS"])
        table_named(self.weights, self.kernel)
        return super()._check_parameters()

    def _check_kernel(self, kernel: Kernel) -> None:
        check_kernel(kernel)
        if self.features is None:
            raise MargraveError("a kernel is between attributes of spans: give templates, or features='default'.")
        if isinstance(self.features, SpanTemplates) and self.features.given is not None and self.features.has_splits:
            raise MargraveError("a kernel is between spans: leave out the templates with split.")

    def _structure(self, given: Given) -> ConstituentTree:
        features = self._chosen_features()
        splits = isinstance(features, SpanTemplates) and (features.given is None or features.has_splits)
        splits = splits and self.kernel is None
        if self.grammar == "spans":
            return SpanTree(splits)
        return ContextFreeTree(splits, self.binarise, self.horizontal, self.vertical, self.terminals, self.rare)

    def _map(self, outputs: Any) -> FeatureMap:
        if self.kernel is not None:
            compiled = outputs.compiled
            return SpanKernel(self.kernel.fresh(), len(compiled.span_nodes), compiled.rule_names())
        bits = 0 if self._chosen_features() is None else table_named(self.weights).hash_bits
        return SpanMap(bits, outputs.compiled.rule_names())

    def _chosen_features(self) -> Features | None:
        rules_only = self.grammar == "rules" and self.kernel is None
        if isinstance(self.features, str) and self.features == "default" and rules_only:
            return None
        return super()._chosen_features()

    def _default_features(self) -> Features:
        return SpanTemplates()

    def _checked(self, given: Given, sample_weight: Any) -> tuple[Given, Any]:
        sentences, trees, short = self._short_trees(given.X, given.Y)
        fitted = {"n_long_": len(trees) - len(short), "pruner_": None, "lost_spans_": None}
        if sample_weight is not None and len(short) < len(trees):
            sample_weight = np.asarray(sample_weight)[short]
        some = replace(given, X=[sentences[i] for i in short], Y=[trees[i] for i in short], fitted=fitted)
        return some if self.prune is None else self._pruned(some, self.prune), sample_weight

    def _pruned(self, given: Given, least: float) -> Given:
        """Training data with the spans that pruning leaves."""
        from margrave.estimators.pcfg import PCFG
        from margrave.estimators.span_pruning import lost_spans, pruned_training

        spans = self.grammar == "spans"
        blank = PCFG(
            terminals=self.terminals,
            binarise="right" if spans else self.binarise,
            horizontal=0,
            rare=self.rare,
            n_jobs=self.n_jobs,
        )
        pruner, left = pruned_training(blank, given.X, given.Y, least, self._threads())
        self._new_pruner = pruner
        fitted = {**given.fitted, "pruner_": pruner, "lost_spans_": lost_spans(pruner.grammar_, given.Y, left)}
        return replace(given, to_structure={**given.to_structure, "left": _joined(left)}, fitted=fitted)

    def _dev_given(self, dev: Any) -> Given | None:
        given = super()._dev_given(dev)
        return None if given is None else replace(given, X=self._sentences(given.X))

    def _decoder(self, training: Any) -> Any:
        return lambda i, parts: training.bound.decode_one(i, parts).tree(training.given.X[i])


def _joined(left: Sequence[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    return np.concatenate(left) if left else np.zeros(0, dtype=np.bool_)


def _with_words(tree: Tree, words: Any, example: int | None = None) -> Tree:
    """The tree with the words of another one, or of a sentence, where it has as many of them.

    A parser of tags takes sentences of tags, so that its trees have tags in place of words.
    """
    names = words.words if isinstance(words, Tree) else [word for word, _ in words]
    leaves = list(tree.leaves())
    if example is None:  # the words of the tree for a predicted one
        tree, names, leaves = words, tree.words, list(words.leaves())
    if len(names) != len(leaves) or (example is not None and names not in (tree.words, tree.tags)):
        return tree  # The structure says what is wrong.
    found = iter(names)

    def visit(node: Tree) -> Tree:
        if node.is_leaf:
            return Tree(node.label, (next(found),))
        return Tree(node.label, tuple(visit(child) for child in node.inner))

    return visit(tree)
