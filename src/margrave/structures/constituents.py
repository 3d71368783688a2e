"""Constituent trees: derivations of a context-free grammar, or labeled spans without one."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, has_length, whole
from margrave.data.constituents import Constituent, Tree, cleaned, nest
from margrave.errors import MargraveError, quoted, unknown
from margrave.examples import Examples
from margrave.losses.costs import F1, Cost, CostFunction, Hamming, ZeroOne
from margrave.structures.base import Bound, Structure
from margrave.structures.grammar import Grammar

ANCHORS = ("begin", "split", "end")
Sentence = Sequence[tuple[str, str]]  # words with their tags
BoundSentences = Bound[Grammar, _core.ConstituentStructure]

_LEAST_MARGINAL = 1e-6  # constituents with a smaller probability are not listed


@dataclass
class ConstituentTree(Structure[Grammar, _core.ConstituentStructure]):
    """What grammars and labeled spans have in common; an output is a `margrave.data.Tree`.

    The cost of a tree is its number of constituents that the gold tree does not have (`"hamming"`), whether it is
    wrong (`"zero-one"`), or one minus the F1 score of its constituents (`"f1"`). Tags and the top node do not count.
    """

    examples = "sentences"
    costs: ClassVar[tuple[type[Cost], ...]] = (Hamming, ZeroOne, F1, CostFunction)

    splits: bool = False

    def __post_init__(self) -> None:
        self.splits = flag("splits", self.splits)

    def _settings(self) -> tuple[bool, int]:
        """Whether rules are tied, and the anchors, as the core takes them."""
        return True, 0

    def bind(self, outputs: Grammar, examples: Examples, costs: Cost | None = None) -> _core.ConstituentStructure:
        """Make the core's structure for some sentences.

        Parameters
        ----------
        outputs : the grammar.
        examples : for each sentence its words with their tags, or None to take them from the trees; outputs are trees.
            The extra `left` is for pruning: which spans derivations may have, for each sentence those of (0, 1),
            (0, 2), ..., (1, 2), and so on. Spans of single words and of the trees are left in any case. A sentence
            that would have no derivation is not pruned. Inference is exact over the derivations that are left.
        costs : the costs of wrong trees, if they are needed.
        """
        if costs is not None:
            self.check_cost(costs)
        if examples.extra("allowed") is not None:
            raise MargraveError("constituent trees cannot be restricted.")
        sentences, left = examples.X, examples.extra("left")
        trees = None if examples.Y is None else checked_trees(examples.Y)
        if sentences is None:
            if trees is None:
                raise MargraveError("there are neither sentences nor trees.")
            sentences = [list(zip(tree.words, tree.tags, strict=True)) for tree in trees]
        numbers = [outputs.sentence_numbers(*_columns(sentence)) for sentence in sentences]
        begin = np.concatenate([[0], np.cumsum([len(words) for words in numbers])]).astype(np.int64)
        nodes, node_begin = None, None
        if trees is not None:
            _check_leaves(sentences, trees, outputs)
            nodes, node_begin = _derivations(outputs, trees)
        tied, anchors = self._settings()
        return _core.constituents(
            outputs.compiled.core,
            begin,
            np.array([k for words in numbers for k in words], dtype=np.int32),
            node_begin,
            nodes,
            None if left is None else np.ascontiguousarray(left, dtype=np.bool_),
            tied,
            self.splits,
            anchors,
        )

    def decode(
        self,
        bound: BoundSentences,
        begin: NDArray[np.int64],
        parts: NDArray[np.int32],
        owners: NDArray[np.int64] | None = None,
    ) -> list["Spans"]:
        """The labeled spans of trees; an estimator, which knows the words, makes trees of them."""
        bounds, spans, begins, ends, pieces = bound.core.read(begin, parts, owners)
        every = list(zip(spans.tolist(), begins.tolist(), ends.tolist(), strict=True))
        return [
            Spans(bound.outputs, every[first:last], bool(joined))
            for (first, last), joined in zip(pairwise(bounds.tolist()), pieces.tolist(), strict=True)
        ]

    def present(
        self, bound: BoundSentences, begin: NDArray[np.int64], mu: NDArray[np.float64]
    ) -> list[NDArray[np.float64]]:
        """The probabilities of constituents: of each sentence an array (words, words + 1, labels), by begin and end.

        Labels are those of `constituent_labels`.
        """
        core = bound.core
        return [
            label_probabilities(bound.outputs, n, mu[first + offset :])
            for n, first, offset in zip(
                core.words.tolist(), begin[:-1].tolist(), core.first_spans.tolist(), strict=True
            )
        ]


@dataclass
class ContextFreeTree(ConstituentTree):
    """Derivations of a weighted context-free grammar, which is learned from trees.

    Parts are rules, counted over all positions, and labeled spans.

    Parameters
    ----------
    splits : whether there are also parts (begin, split, end).
    binarize, horizontal, vertical, terminals : as in `Grammar`.
    rare : with terminals="words", words that occur at most this often are replaced by their classes.
    tied : False gives rules a part for every place (rule, begin, split, end), for sentences of up to 15 words.
    anchors : which further parts there are: "begin", "split" and "end", of a rule with one of its places.
    grammar : a grammar to use instead of the one of the trees.
    """

    name = "context-free-tree"

    binarize: str = "right"
    horizontal: int | None = 2
    vertical: int = 1
    terminals: str = "tags"
    rare: int = 1
    tied: bool = True
    anchors: tuple[str, ...] = ()
    grammar: Grammar | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.tied = flag("tied", self.tied)
        self.rare = whole("rare", self.rare, 0, 2**31 - 1)
        self.anchors = tuple(self.anchors)
        for anchor in self.anchors:
            if anchor not in ANCHORS:
                raise unknown("anchor", anchor, ANCHORS)
        Grammar({}, {}, {}, {}, self.binarize, self.horizontal, self.vertical, self.terminals).check_settings()

    def _settings(self) -> tuple[bool, int]:
        return self.tied, sum(1 << k for k, anchor in enumerate(ANCHORS) if anchor in self.anchors)

    def learn(self, Y: Sequence[Any]) -> Grammar:
        """The grammar of these trees."""
        return self._learned(Y, None)

    def learn_weighted(self, Y: Sequence[Any], weights: NDArray[np.float64]) -> Grammar:
        """The grammar of trees with weights, which are added up in place of counts."""
        return self._learned(Y, weights.tolist())

    def _learned(self, Y: Sequence[Any], weights: list[float] | None) -> Grammar:
        trees = checked_trees(Y)
        if self.grammar is not None:
            return self.grammar
        vocabulary: Iterable[str] = ()
        if self.terminals == "words":
            counts: defaultdict[str, float] = defaultdict(float)
            for tree, times in zip(trees, [1.0] * len(trees) if weights is None else weights, strict=True):
                for word in tree.words:
                    counts[word] += times
            vocabulary = [word for word, n in counts.items() if n > self.rare]
        return Grammar.of_trees(
            trees,
            vocabulary=vocabulary,
            weights=weights,
            binarize=self.binarize,
            horizontal=self.horizontal,
            vertical=self.vertical,
            terminals=self.terminals,
        )


@dataclass
class SpanTree(ConstituentTree):
    """Trees without a grammar: any chain of labels of the training data may be over any span.

    Trees are binarized by spans without a label, which only a right child can be, so that every tree has exactly one
    derivation.

    Parameters
    ----------
    splits : whether there are also parts (begin, split, end).
    """

    name = "span-tree"

    def learn(self, Y: Sequence[Any]) -> Grammar:
        """The labels of these trees."""
        return Grammar.of_trees(checked_trees(Y), spans=True)

    def learn_weighted(self, Y: Sequence[Any], weights: NDArray[np.float64]) -> Grammar:
        """The labels of trees with weights, which are added up in place of counts."""
        return Grammar.of_trees(checked_trees(Y), spans=True, weights=weights.tolist())


@dataclass(frozen=True)
class Spans:
    """The labeled spans of an output, as numbers."""

    grammar: Grammar
    spans: list[tuple[int, int, int]]  # (labeled span, begin, end)
    in_pieces: bool  # the sentence has no derivation, and this is a tree of several pieces

    def tree(self, sentence: Sentence) -> Tree:
        """The tree over these words, whose tags are given or predicted."""
        compiled = self.grammar.compiled
        tags = {begin: compiled.span_tags[k] for k, begin, _ in self.spans if compiled.span_tags[k] is not None}
        leaves = [Tree(tags.get(t) or tag, (word,)) for t, (word, tag) in enumerate(sentence)]
        named = [(compiled.span_nodes[k], begin, end) for k, begin, end in self.spans]
        return nest(named, leaves, self.grammar.top)


def constituent_labels(grammar: Grammar) -> list[str]:
    """The labels of constituents, sorted."""
    return sorted({label for nodes in grammar.compiled.span_nodes for label in nodes})


def memberships(grammar: Grammar) -> NDArray[np.float64]:
    """How often each labeled span has each of the `constituent_labels`: (spans, labels)."""
    spans, names = grammar.compiled.span_nodes, constituent_labels(grammar)
    counts = [[nodes.count(name) for name in names] for nodes in spans]
    return np.array(counts, dtype=np.float64).reshape(len(spans), len(names))


def label_probabilities(grammar: Grammar, n: int, mu: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probabilities of constituents of a sentence of n words, from those of its labeled spans.

    A label that a chain has twice over one span is one constituent here.
    """
    member = memberships(grammar)
    spans = len(member)
    table = mu[: n * (n + 1) // 2 * spans].reshape(-1, spans) @ (member > 0)
    found = np.zeros((n, n + 1, table.shape[1]))
    begins, ends = np.triu_indices(n)
    found[begins, ends + 1] = np.minimum(table, 1.0)  # of rounding
    return found


def most_probable(grammar: Grammar, table: NDArray[np.float64]) -> dict[Constituent, float]:
    """The constituents of an array of probabilities, the most probable first; very small ones are left out."""
    names = constituent_labels(grammar)
    places = np.argwhere(table > _LEAST_MARGINAL)
    found = [(Constituent(names[k], int(s), int(e)), float(table[s, e, k])) for s, e, k in places]
    return dict(sorted(found, key=lambda item: -item[1]))


def checked_trees(Y: Any) -> list[Tree]:
    """The trees of a data set, without function tags and traces; an error says which tree is wrong."""
    if not has_length(Y):
        raise MargraveError(f"y must be a list of trees, not {type(Y).__name__}.")
    trees = []
    for i, given in enumerate(Y):
        try:
            tree = cleaned(Tree.of(given))
        except MargraveError as error:
            raise MargraveError(f"example {i}: {error}") from None
        if tree is None:
            raise MargraveError(f"example {i}: an empty tree: it has no words besides traces.")
        trees.append(tree)
    return trees


def _columns(sentence: Sentence) -> tuple[list[str], list[str]]:
    return [word for word, _ in sentence], [tag for _, tag in sentence]


def _check_leaves(sentences: Sequence[Sentence], trees: Sequence[Tree], grammar: Grammar) -> None:
    """Refuse trees whose leaves are not the words, or the tags, of their sentences."""
    if len(sentences) != len(trees):
        raise MargraveError(f"there are {len(sentences)} sentences and {len(trees)} trees.")
    for i, (sentence, tree) in enumerate(zip(sentences, trees, strict=True)):
        words, tags = _columns(sentence)
        for what, mine, theirs in (("words", words, tree.words), ("tags", tags, tree.tags)):
            if len(mine) != len(theirs):
                raise MargraveError(
                    f"example {i} has {len(mine)} words, but its tree has {len(theirs)}: the leaves of a tree must be "
                    "the words of its sentence."
                )
            for t, (a, b) in enumerate(zip(mine, theirs, strict=True), 1):
                if a != b and (what == "words" or not (grammar.terminals == "words" and not grammar.spans)):
                    raise MargraveError(
                        f"example {i}, word {t}: the sentence has {quoted(a)} and its tree {quoted(b)}: their {what} "
                        "must agree."
                    )


def _derivations(grammar: Grammar, trees: Sequence[Tree]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The gold derivations as rows (label, begin, end, rule, split), and where each of them begins."""
    compiled = grammar.compiled
    rows: list[tuple[int, int, int, int, int]] = []
    begin = [0]
    for i, tree in enumerate(trees):
        for node in grammar.derive(tree):
            rules = compiled.lexical if node.split < 0 else compiled.binary
            rule, label = rules.get(node.rule), compiled.labels.get(node.label)
            if rule is None or label is None:
                what = " -> ".join((node.rule[0], " ".join(map(repr, node.rule[1:])))) if rule is None else node.label
                raise MargraveError(f"example {i}: the grammar has no rule {what}.")
            rows.append((label, node.begin, node.end, rule, node.split))
        begin.append(len(rows))
    return np.array(rows, dtype=np.int32).ravel(), np.array(begin, dtype=np.int64)
