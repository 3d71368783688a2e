"""Models that predict constituent trees."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.binding import BoundProblem
from margrave.checks import has_length, is_list
from margrave.data.constituents import Constituent, Tree
from margrave.errors import MargraveError, setting, unknown
from margrave.estimators.model import StructuredModel, check_choice
from margrave.examples import Examples
from margrave.features import SpanTemplates
from margrave.maps import SpanMap, table_named
from margrave.maps.span_kernel import check_kernel
from margrave.metrics.brackets import bracket_scores
from margrave.options import options_of
from margrave.settings.constituency_parser import ConstituencySettings, GrammarSettings
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
from margrave.structures.grammar import Grammar

NO_TAG = "X"  # of words whose tags are to be predicted, where a model does not predict tags
_OF_RULES = ("terminals", "binarize", "horizontal", "vertical", "rare")  # settings without a meaning for spans
_BATCH = 50  # sentences whose probabilities are in memory together


class ConstituencyModel(StructuredModel, saved_as=""):
    """Predicts constituent trees by the weights of rules and spans."""

    terminals: Any
    decode: str
    threshold: float
    max_words: int
    grammar: str = "rules"
    prune: float | None = None

    pruner_: "ConstituencyModel | None" = None  # the grammar that prunes
    n_partial_: int = 0

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

    def score(self, X: Any, y: Any) -> float:
        """Compute the F1 score of labeled brackets, as evalb counts them.

        Parameters
        ----------
        X : the sentences; None takes them from the trees.
        y : a tree for each sentence.
        """
        return super().score(self.sentences_of(y) if X is None else X, y)

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
        return [most_probable(self.outputs_, table) for table in self._predict_marginals(self._given(X))]

    @property
    def labels_(self) -> list[str]:
        """The labels of constituents, in the order of `predict_marginals`."""
        self._check_fitted()
        return constituent_labels(self.outputs_)

    def _given(self, X: Any, *Y: Any, extras: Mapping[str, Any] | None = None) -> Examples:
        """The examples; where there are trees, X may be None."""
        given = super()._given(*Y if X is None and Y else (X,), *Y, extras=extras)
        return replace(given, X=X)

    def _predict(self, examples: Examples) -> list[Tree]:
        bound = self._bind(examples)
        if self._way_to_decode() == "best":
            parts = _core.argmax_all(bound.problem, self.coef_, self._threads())
        else:
            begin, _, mu = _core.marginals_all(bound.problem, self.coef_, self._temperature(), self._threads())
            theta = self._risk(bound, begin, mu)
            parts = _core.argmax_all(bound.problem, None, self._threads(), theta=theta)
        outputs: list[Spans] = bound.decode(*parts)
        self.n_partial_ = sum(spans.in_pieces for spans in outputs)
        return self._finished(bound.examples, outputs, range(len(outputs)))

    def _way_to_decode(self) -> str:
        """What `decode` stands for."""
        check_choice("decode", self.decode, ("auto", "best", "mbr"))
        if self.decode == "auto":
            return "mbr" if self._has_probabilities() else "best"
        return self.decode

    def _finished(self, examples: Examples, outputs: Sequence[Spans], owners: Sequence[int]) -> list[Tree]:
        return [spans.tree(examples.X[i]) for spans, i in zip(outputs, owners, strict=True)]

    def _risk(
        self, bound: BoundProblem[Any, Any], begin: NDArray[np.int64], mu: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Scores of parts: the sum of (probability - threshold) over the constituents of a labeled span.

        The second constituent with the same label over a span has the probability that there are two of them.
        """
        core = bound.core
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

    def _inputs(self, X: Any) -> list[Sentence]:
        """The words of sentences with their tags; what is not given has a name of its own."""
        if not has_length(X):
            raise MargraveError(f"X must be a list of sentences, each a list of words, not {type(X).__name__}.")
        words_only = self.terminals == "words"
        found: list[Sentence] = []
        for i, sentence in enumerate(X):
            if not has_length(sentence):
                raise MargraveError(
                    f"example {i}: a sentence must be a list of words, not {type(sentence).__name__}: did you mean [X]?"
                )
            if len(sentence) == 0:
                raise MargraveError(f"example {i} has no words.")
            rows = []
            for t, row in enumerate(sentence, 1):
                pair = (row, NO_TAG if words_only else row) if isinstance(row, str) else _columns_of(row)
                if len(pair) == 1 and words_only:
                    pair = (*pair, NO_TAG)
                if len(pair) != 2 or not all(isinstance(each, str) and each for each in pair):
                    raise MargraveError(f"example {i}, word {t}: a word must be a pair (word, tag), or a string.")
                rows.append(pair)
            found.append(rows)
        return found

    def _short_trees(self, X: Any, Y: Any) -> tuple[list[Sentence], list[Tree], list[int]]:
        """Training sentences, their trees, and the numbers of those that are not too long."""
        trees, sentences = checked_trees(Y), self._inputs(X)
        if len(sentences) != len(trees):
            raise MargraveError(f"there are {len(sentences)} sentences and {len(trees)} trees.")
        short = [i for i, sentence in enumerate(sentences) if len(sentence) <= self.max_words]
        if trees and not short:
            raise MargraveError(f"all sentences have more than max_words={self.max_words} words.")
        found = [_with_words(*of, i) for i, of in enumerate(zip(trees, sentences, strict=True))]
        return sentences, found, short

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        """The F1 score of labeled brackets, as evalb counts them; for tags in place of words, they are compared."""
        gold = checked_trees(Y)
        same = [_with_words(tree, other) for tree, other in zip(gold, predicted, strict=True)]
        return bracket_scores(gold, same).f1

    def _completed(self, examples: Examples, outputs: Any) -> Examples:
        if self.pruner_ is None or examples.extra("left") is not None:
            return examples
        return examples.having(left=joined(spans_left(self.pruner_, examples.X, float(self.prune or 0.0))))


class ParsingModel(ConstituencySettings, ConstituencyModel, saved_as="ConstituencyParser"):
    """Predicts the constituent tree of a sentence: what `load` makes of the file of a `ConstituencyParser`."""

    _more: ClassVar[tuple[str, ...]] = ("n_long_", "pruner_", "lost_spans_")

    n_long_: int
    lost_spans_: float | None

    def _check_parameters(self) -> Any:
        checked = super()._check_parameters()
        self._structure(Examples([]))
        if self.grammar == "spans":
            self._check_rules()
        if self.features is not None and not isinstance(self.features, str | SpanTemplates):
            raise MargraveError(f"features of a parser must be SpanTemplates, not {type(self.features).__name__}.")
        if self.kernel is not None:
            self._check_kernel(self.kernel)
        if not isinstance(self.weights, str) or not self.weights.startswith("hash:"):
            raise unknown("weights", self.weights, ["hash:BITS"])
        table_named(self.weights, self.kernel)
        return checked

    def _check_rules(self) -> None:
        """Refuse settings of rules where there are none."""
        for each in options_of(GrammarSettings):
            if each.name in _OF_RULES and getattr(self, each.name) != each.default:
                raise MargraveError(f"{each.name} is a setting of rules: use ", setting(grammar="rules"), ".")

    def _check_kernel(self, kernel: Any) -> None:
        table_named("all", kernel)  # which refuses what is no kernel
        check_kernel(kernel)
        if self.features is None:
            raise MargraveError("a kernel is between attributes of spans: give templates, or features='default'.")
        if isinstance(self.features, SpanTemplates) and self.features.given is not None and self.features.has_splits:
            raise MargraveError("a kernel is between spans: leave out the templates with split.")

    def _structure(self, examples: Examples) -> ConstituentTree:
        features = self._span_templates()
        splits = features is not None and (features.given is None or features.has_splits) and self.kernel is None
        if self.grammar == "spans":
            return SpanTree(splits)
        return ContextFreeTree(splits, self.binarize, self.horizontal, self.vertical, self.terminals, self.rare)

    def _span_templates(self) -> SpanTemplates | None:
        """What `features` stands for: a grammar of rules without a kernel has no templates by default."""
        if isinstance(self.features, str):
            return None if self.grammar == "rules" and self.kernel is None else SpanTemplates()
        return self.features if isinstance(self.features, SpanTemplates) else None


def spans_left(pruner: ConstituencyModel, sentences: Sequence[Sentence], least: float) -> list[NDArray[np.bool_]]:
    """Which spans of each sentence have at least this probability; all of them if it has no derivation.

    Parameters
    ----------
    pruner : the grammar.
    sentences : words with their tags.
    least : the smallest probability.
    """
    # The nodes of a derivation are over the same spans whatever the labels of binarized nodes tell, so that a grammar
    # with few symbols can say where one with many of them, or one without rules, need not look.
    grammar: Grammar = pruner.grammar_
    structure = ContextFreeTree(splits=True, grammar=grammar)
    feature_map = SpanMap(0, grammar.compiled.rule_names())
    roots, labels = list(grammar.compiled.roots), len(grammar.compiled.spans)
    joins = [k for k, root in enumerate(roots) if root not in grammar.roots]
    found = []
    for first in range(0, len(sentences), _BATCH):
        some = sentences[first : first + _BATCH]
        batch = Examples(some)
        rows = feature_map.encode(batch, grow=False)
        bound = structure.bind(grammar, batch)
        problem = _core.join(bound, feature_map.map(rows, bound))
        begin, _, mu = _core.marginals_all(problem, pruner.coef_, 1.0, pruner._threads())
        for n, at, offset in zip(bound.words.tolist(), begin[:-1].tolist(), bound.first_spans.tolist(), strict=True):
            after_rules = at + offset
            in_pieces = mu[[after_rules - len(roots) + k for k in joins]].sum() > 0
            starts, ends = np.triu_indices(n)
            splits = np.repeat(np.arange(len(starts)), ends - starts)
            first_split = after_rules + len(starts) * labels
            probability = np.bincount(splits, mu[first_split : first_split + len(splits)], minlength=len(starts))
            found.append((probability >= least) | (starts == ends) | in_pieces)
    return found


def joined(left: Sequence[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """What is left of the spans of all sentences, one after another."""
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


def _columns_of(row: Any) -> tuple[Any, ...]:
    """The columns of a word; none if it has no columns."""
    return tuple(row) if is_list(row) else ()
