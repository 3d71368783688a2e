"""Grammars in the form that the core parses with, and derivations of trees (000, example 2; 003, section 4.5).

A derivation has binary rules A -> B C and lexical rules A -> a. Each of its nodes carries a **label**: the chain of
unary rules from the symbol that the node above sees down to the symbol that its own rule expands. Chains are collapsed
to one step, so that unary rules can make no cycle and every tree has exactly one derivation. Nodes with more than two
children are binarized: the symbols in between tell which node is being built, and how much of it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, repeat
from math import inf
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import real, whole
from margrave.data.constituents import TOPS, Tree, head_child, nest, without_top
from margrave.errors import MargraveError, quoted, the_first, unknown
from margrave.structures.base import Outputs

BINARIZATIONS = ("right", "left", "head")
TERMINALS = ("tags", "words")
UNKNOWN = ""  # the terminal of everything that the training data do not have

# Symbols that join the pieces of a sentence without a derivation: a piece, and several of them.
_PIECE, _PIECES = "* piece", "* pieces"
_UNKNOWN_TAG = "/ unknown"
# Symbols of trees without a grammar: a labeled node, one without a label, what is below a label, a word, and a top
# node that joins several trees.
_LABELED, _BARE, _BODY, _WORD, _JOINED = "+ labeled", "+ bare", "+ body", "+ word", "+ joined"


class Label(NamedTuple):
    """A step from the symbol that a node has above to the symbol that its rule expands."""

    leaf: bool  # it is over a word
    path: tuple[str, ...]  # the symbols from top to bottom
    nodes: tuple[str, ...]  # the labels of the constituents on the path, outermost first
    span: str | None  # the name of its labeled span; None if it has none, because the others determine it


class Node(NamedTuple):
    """A node of a derivation, with its binary or lexical rule; a leaf has split = -1."""

    label: Label
    begin: int
    end: int
    rule: tuple[str, ...]
    split: int


class Compiled(NamedTuple):
    """A grammar in numbers."""

    core: _core.Grammar
    symbols: list[str]
    binary: dict[tuple[str, ...], int]
    lexical: dict[tuple[str, ...], int]
    unary: dict[tuple[str, ...], int]
    roots: dict[str, int]
    labels: dict[Label, int]
    terminals: dict[str, int]
    spans: list[str]
    span_nodes: list[tuple[str, ...]]  # the constituents of each labeled span
    span_tags: list[str | None]  # the tag of each labeled span, where it tells one

    def rule_names(self) -> list[str]:
        """The names of the rules, in the order of their parts."""
        arrows = [
            *(f"{a} -> {b} {c}" for a, b, c in self.binary),
            *(f"{a} -> {terminal or 'unknown'!r}" for a, terminal in self.lexical),
            *(f"{a} -> {b}" for a, b in self.unary),
        ]
        return [*arrows, *(f"TOP -> {a}" for a in self.roots)]


@dataclass(frozen=True, eq=False)
class Grammar(Outputs):
    """The rules of a treebank with their counts; or any rules (`Grammar.of_rules`).

    Parameters
    ----------
    binary, lexical, roots : the counts of the rules A -> B C, of the rules A -> a, and of the symbols at the top.
    labels : the counts of labels.
    binarize : "right" splits off the first child of a node, "left" the last one, and "head" the outermost child on
        either side of the head.
    horizontal : how many of the siblings that are split off a symbol in between tells; None: all.
    vertical : vertical markovization: 1 label, 2 adds the parent's label (parent annotation).
    terminals : "tags": sentences consist of tags; "words": of words.
    vocabulary : the words that are terminals; others are classes of words.
    top : the label of the node above trees, or None.
    spans : whether this is a grammar of labeled spans, in which any label may be over any span.
    given : whether the rules were given instead of a treebank.
    """

    name = "grammar"

    binary: Mapping[tuple[str, ...], float]
    lexical: Mapping[tuple[str, ...], float]
    roots: Mapping[str, float]
    labels: Mapping[Label, float]
    binarize: str = "right"
    horizontal: int | None = 2
    vertical: int = 1
    terminals: str = "tags"
    vocabulary: frozenset[str] = frozenset()
    top: str | None = None
    spans: bool = False
    given: bool = False

    # ---- where grammars come from ------------------------------------------------------------------------------------

    @classmethod
    def of_trees(
        cls,
        trees: Iterable[Tree],
        *,
        vocabulary: Iterable[str] = (),
        weights: Iterable[float] | None = None,
        **settings: Any,
    ) -> Self:
        """The grammar of a treebank: all rules that its trees have, with their counts.

        Parameters
        ----------
        trees : the trees, without function tags and traces.
        vocabulary : the words that are terminals, if terminals are words.
        weights : how often each tree counts; None: once.
        settings : binarize, horizontal, vertical, terminals and spans.

        >>> tree = Tree.of("(S (NP (DT the) (JJ old) (NN dog)) (VP (VBZ barks)))")
        >>> sorted(Grammar.of_trees([tree]).binary)
        [('NP', '/DT', 'NP | DT'), ('NP | DT', '/JJ', '/NN'), ('S', 'NP', 'VP')]
        """
        blank = cls({}, {}, {}, {}, vocabulary=frozenset(vocabulary), **settings)
        blank.check_settings()
        binary: defaultdict[tuple[str, ...], float] = defaultdict(int)
        lexical: defaultdict[tuple[str, ...], float] = defaultdict(int)
        roots: defaultdict[str, float] = defaultdict(int)
        labels: defaultdict[Label, float] = defaultdict(int)
        tops: defaultdict[str | None, float] = defaultdict(int)
        for tree, times in zip(trees, repeat(1) if weights is None else map(_plain, weights), strict=False):
            nodes = blank.derive(tree)
            tops[tree.label if without_top(tree) is not tree else None] += times
            roots[nodes[0].label.path[0]] += times
            for node in nodes:
                labels[node.label] += times
                (lexical if node.split < 0 else binary)[node.rule] += times
        top = max(tops, key=lambda each: (tops[each], each or "")) if tops else None
        return blank._with(_sorted(binary), _sorted(lexical), _sorted(roots), _sorted(labels), top)

    @classmethod
    def of_rules(cls, rules: Iterable[tuple[str, Sequence[str] | str]], start: str) -> Self:
        """A grammar of these rules, for trees whose labels are its symbols.

        Parameters
        ----------
        rules : pairs (A, (B, C)), (A, (B,)) and (A, "a"): binary, unary and lexical rules.
        start : the symbol at the top of every tree.

        >>> rules = [("S", ("NP", "VP")), ("NP", "we"), ("VP", ("V",)), ("V", "sing")]
        >>> sorted(label.path for label in Grammar.of_rules(rules, "S").labels)
        [('NP',), ('S',), ('V',), ('VP', 'V')]
        """
        binary: Counter[tuple[str, ...]] = Counter()
        lexical: Counter[tuple[str, ...]] = Counter()
        below: dict[str, list[str]] = {}
        for left, right in rules:
            if isinstance(right, str):
                lexical[left, right] += 1
            elif len(right) == 2:
                binary[left, right[0], right[1]] += 1
            elif len(right) == 1:
                below.setdefault(left, []).append(right[0])
            else:
                raise MargraveError(f"the rule {left} -> {' '.join(right)} must have one or two symbols on its right.")
        symbols = {rule[0] for rule in (*binary, *lexical)} | set(below)
        if start not in symbols:
            raise MargraveError(f"the grammar has no rule for its start symbol {quoted(start)}.")
        labels: Counter[Label] = Counter()
        for path in _chains(symbols, below):
            if any(rule[0] == path[-1] for rule in binary):
                labels[Label(False, path, path, " ".join(path))] += 1
            if any(rule[0] == path[-1] for rule in lexical):
                labels[Label(True, path, path[:-1], " ".join((*path[:-1], "/" + path[-1])))] += 1
        roots = Counter([start])
        made = cls(_sorted(binary), _sorted(lexical), roots, _sorted(labels), terminals="words", given=True)
        made.warn_useless()
        return made

    def _with(self, binary: Any, lexical: Any, roots: Any, labels: Any, top: str | None) -> Self:
        return type(self)(
            binary,
            lexical,
            roots,
            labels,
            *(self.binarize, self.horizontal, self.vertical, self.terminals, self.vocabulary, top),
            *(self.spans, self.given),
        )

    def merge(self, other: Self) -> Self:
        """The rules of both, with the sums of their counts."""
        if self.settings() != other.settings():
            raise MargraveError("grammars can be merged only if they binarize trees in the same way.")
        sums = [
            _sorted(Counter(mine) + Counter(theirs))
            for mine, theirs in (
                (self.binary, other.binary),
                (self.lexical, other.lexical),
                (self.roots, other.roots),
                (self.labels, other.labels),
            )
        ]
        return self._with(sums[0], sums[1], sums[2], sums[3], self.top if self.top is not None else other.top)

    def check(self) -> None:
        """Refuse a grammar without rules."""
        if not self.roots:
            raise MargraveError("there are no trees, so that the grammar has no start symbol.")

    def settings(self) -> tuple[Any, ...]:
        """How trees become derivations."""
        return (self.binarize, self.horizontal, self.vertical, self.terminals, self.vocabulary, self.spans, self.given)

    def check_settings(self) -> None:
        """Refuse settings that mean nothing."""
        for what, value, valid in (
            ("binarization", self.binarize, BINARIZATIONS),
            ("kind of terminals", self.terminals, TERMINALS),
        ):
            if value not in valid:
                raise unknown(what, value, valid)
        if self.horizontal is not None:
            whole("horizontal", self.horizontal, 0, 1000)
        whole("vertical", self.vertical, 1, 1000)

    # ---- derivations -------------------------------------------------------------------------------------------------

    def derive(self, tree: Tree) -> list[Node]:
        """The derivation of a tree, from the top down and from left to right.

        Parameters
        ----------
        tree : the tree, without function tags and traces.
        """
        nodes: list[Node] = []
        inner = without_top(tree)
        (self._place_spans if self.spans else self._place)(inner, 0, (), nodes)
        return nodes

    def tree_of(self, labels: Sequence[tuple[Label, int, int]], leaves: Sequence[Tree]) -> Tree:
        """The tree of a derivation, whose labels and spans determine it.

        Parameters
        ----------
        labels : the labels of the nodes with their spans.
        leaves : the words with their tags.
        """
        return nest([(label.nodes, begin, end) for label, begin, end in labels], leaves, self.top)

    def terminal(self, word: str, tag: str) -> str:
        """What a sentence has in place of a word."""
        if self.spans:
            return UNKNOWN
        if self.terminals == "tags":
            return tag
        return word if self.given or word in self.vocabulary else word_class(word)

    def _symbol(self, label: str, above: tuple[str, ...]) -> str:
        return "^".join((label, *above[: self.vertical - 1]))

    def _tag(self, tag: str) -> str:
        return tag if self.given else f"/{tag}"

    def _top(self, tree: Tree, above: tuple[str, ...]) -> str:
        """The symbol that the node above sees."""
        return self._tag(tree.label) if tree.is_leaf else self._symbol(tree.label, above)

    def _place(self, tree: Tree, begin: int, above: tuple[str, ...], nodes: list[Node]) -> int:
        """Append the nodes of a tree; return where it ends."""
        path: list[str] = []
        chain: list[str] = []
        while not tree.is_leaf:
            path.append(self._symbol(tree.label, above))
            chain.append(tree.label)
            above = (tree.label, *above)
            if len(tree.children) > 1:
                break
            tree = tree.inner[0]
        if tree.is_leaf:
            tag = self._tag(tree.label)
            named = self.terminals == "words"
            span = " ".join((*chain, *(["/" + tree.label] if named else []))) or None
            label = Label(True, (*path, tag), tuple(chain), span)
            nodes.append(Node(label, begin, begin + 1, (tag, self.terminal(str(tree.children[0]), tree.label)), -1))
            return begin + 1
        label = Label(False, tuple(path), tuple(chain), " ".join(chain))
        return self._expand(label, tree.label, list(tree.inner), (), begin, above, nodes)

    def _expand(
        self,
        label: Label,
        node: str,
        children: list[Tree],
        split_off: tuple[str, ...],
        begin: int,
        above: tuple[str, ...],
        nodes: list[Node],
    ) -> int:
        """Append a node with these children, of which the ones split off are no longer; return where it ends."""
        symbol, place = label.path[-1], len(nodes)
        nodes.append(Node(label, begin, -1, (), -1))
        if len(children) == 2:
            middle = self._place(children[0], begin, above, nodes)
            end = self._place(children[1], middle, above, nodes)
            rule = (symbol, self._top(children[0], above), self._top(children[1], above))
        else:
            names = [child.label for child in children]
            head = head_child(node, names) if self.binarize == "head" else 0
            first = self.binarize == "right" or (self.binarize == "head" and head == len(children) - 1)
            outer = children[0] if first else children[-1]
            split_off = (*split_off, outer.label)
            told = split_off if self.horizontal is None else split_off[len(split_off) - self.horizontal :]
            if self.binarize == "head":
                told = (names[head], "<" if first else ">", *told)
            base = self._symbol(node, above[1:])
            rest = " ".join((base, "|", *told))
            # Left and right, the spans of the children determine those in between.
            between = Label(False, (rest,), (), f"{node} |" if self.binarize == "head" else None)
            if first:
                middle = self._place(outer, begin, above, nodes)
                end = self._expand(between, node, children[1:], split_off, middle, above, nodes)
                rule = (symbol, self._top(outer, above), rest)
            else:
                middle = self._expand(between, node, children[:-1], split_off, begin, above, nodes)
                end = self._place(outer, middle, above, nodes)
                rule = (symbol, rest, self._top(outer, above))
        nodes[place] = Node(label, begin, end, rule, middle)
        return end

    def _place_spans(self, tree: Tree, begin: int, above: tuple[str, ...], nodes: list[Node]) -> int:
        """As `_place`, without a grammar: a label, or none, over each span."""
        chain: list[str] = []
        while not tree.is_leaf:
            chain.append(tree.label)
            if len(tree.children) > 1:
                break
            tree = tree.inner[0]
        if tree.is_leaf:
            nodes.append(Node(_span_label(True, tuple(chain)), begin, begin + 1, (_WORD, UNKNOWN), -1))
            return begin + 1
        joins = not nodes and chain[0] in TOPS  # The top of the sentence joins several trees.
        return self._expand_spans(_span_label(False, tuple(chain), joins), list(tree.inner), begin, nodes)

    def _expand_spans(self, label: Label, children: list[Tree], begin: int, nodes: list[Node]) -> int:
        place = len(nodes)
        nodes.append(Node(label, begin, -1, (), -1))
        middle = self._place_spans(children[0], begin, (), nodes)
        if len(children) == 2:
            end = self._place_spans(children[1], middle, (), nodes)
            rule = (_BODY, _LABELED, _LABELED)
        else:
            end = self._expand_spans(Label(False, (_BARE, _BODY), (), None), children[1:], middle, nodes)
            rule = (_BODY, _LABELED, _BARE)
        nodes[place] = Node(label, begin, end, rule, middle)
        return end

    # ---- numbers for the core ----------------------------------------------------------------------------------------

    @cached_property
    def compiled(self) -> Compiled:
        """The grammar in numbers, with the symbols that join the pieces of sentences without a derivation."""
        binary, lexical, labels, roots = list(self.binary), list(self.lexical), list(self.labels), list(self.roots)
        if self.spans:
            chains = dict.fromkeys((label.nodes, label.path[0] == _JOINED) for label in labels if label.nodes)
            labels = [
                *(
                    _span_label(leaf, nodes, joins)
                    for nodes, joins in chains
                    for leaf in (False, True)
                    if not (leaf and joins)
                ),
                _span_label(True, ()),
                Label(False, (_BARE, _BODY), (), None),
            ]
            binary = [(_BODY, _LABELED, _LABELED), (_BODY, _LABELED, _BARE)]
            lexical = [(_WORD, UNKNOWN)]
            roots = [_LABELED, _JOINED]
        unary = list(dict.fromkeys(pair for label in labels for pair in pairwise(label.path) if not self.spans))
        pieces = not self.spans and not self.given
        if pieces:
            labels += [label._replace(path=(_PIECE, *label.path)) for label in labels if label.nodes or label.leaf]
            labels.append(Label(True, (_PIECE, _UNKNOWN_TAG), (), None))
            lexical.append((_UNKNOWN_TAG, UNKNOWN))
            binary += [(_PIECES, _PIECE, _PIECE), (_PIECES, _PIECE, _PIECES)]
            labels.append(Label(False, (_PIECES,), (), None))
            roots += [_PIECE, _PIECES]
        return self._numbers(binary, lexical, unary, roots, labels)

    def _numbers(self, binary: Any, lexical: Any, unary: Any, roots: Any, labels: list[Label]) -> Compiled:
        names = [*(s for rule in binary for s in rule), *(rule[0] for rule in lexical), *roots]
        symbols = list(dict.fromkeys([*names, *(s for label in labels for s in (label.path[0], label.path[-1]))]))
        number = {symbol: k for k, symbol in enumerate(symbols)}
        terminals = {t: k for k, t in enumerate(dict.fromkeys(rule[1] for rule in lexical))}
        spans = list(dict.fromkeys(label.span for label in labels if label.span is not None))
        span_number: dict[str | None, int] = {span: k for k, span in enumerate(spans)}
        span_number[None] = -1
        nodes: dict[int, tuple[str, ...]] = {}
        tags: dict[int, str | None] = {}
        for label in labels:
            if label.span is not None:
                nodes[span_number[label.span]] = label.nodes
                last = label.span.rsplit(" ", 1)[-1]
                tags[span_number[label.span]] = last[1:] if self.terminals == "words" and label.leaf else None
        span_nodes = [nodes[k] for k in range(len(spans))]
        unary_number = {pair: k for k, pair in enumerate(unary)}
        paths = [[unary_number[pair] for pair in pairwise(label.path) if pair in unary_number] for label in labels]
        core = _core.Grammar(
            len(symbols),
            len(terminals),
            len(spans),
            np.array([number[s] for rule in binary for s in rule], dtype=np.int32),
            np.array([(number[a], terminals[t]) for a, t in lexical], dtype=np.int32).ravel(),
            len(unary),
            np.array([number[a] for a in roots], dtype=np.int32),
            np.array(
                [(number[x.path[0]], number[x.path[-1]], span_number[x.span], x.leaf) for x in labels], dtype=np.int32
            ).ravel(),
            np.concatenate([[0], np.cumsum([len(path) for path in paths])]).astype(np.int64),
            np.array([k for path in paths for k in path], dtype=np.int32),
            _overlaps(span_nodes),
            number.get(_PIECE, -1),
            number.get(_PIECES, -1),
        )
        return Compiled(
            core,
            symbols,
            {rule: k for k, rule in enumerate(binary)},
            {rule: k for k, rule in enumerate(lexical)},
            unary_number,
            {root: k for k, root in enumerate(roots)},
            {label: k for k, label in enumerate(labels)},
            terminals,
            spans,
            span_nodes,
            [tags[k] for k in range(len(spans))],
        )

    def sentence_numbers(self, words: Sequence[str], tags: Sequence[str]) -> list[int]:
        """The terminals of a sentence as numbers; those that are unknown have none of their own."""
        terminals = self.compiled.terminals
        missing = terminals.get(UNKNOWN, -1)
        return [terminals.get(self.terminal(word, tag), missing) for word, tag in zip(words, tags, strict=True)]

    # ---- useless symbols ---------------------------------------------------------------------------------------------

    def useless(self) -> tuple[list[str], list[str]]:
        """The symbols that cannot be reached from the top, and those that never end in words."""
        rules = [(rule[0], rule[1:]) for rule in self.binary]
        rules += [(label.path[0], (label.path[-1],)) for label in self.labels if len(label.path) > 1]
        symbols = {s for left, right in rules for s in (left, *right)} | {left for left, _ in self.lexical}
        ends = {left for left, _ in self.lexical}
        reached = set(self.roots)
        for _ in range(len(symbols) + 1):
            more = {left for left, right in rules if left not in ends and all(s in ends for s in right)}
            ends |= more
            if not more:
                break
        for _ in range(len(symbols) + 1):
            more = {s for left, right in rules if left in reached for s in right} - reached
            reached |= more
            if not more:
                break
        return sorted(symbols - reached), sorted(symbols - ends)

    def warn_useless(self) -> None:
        """Warn about symbols that no tree can have."""
        import warnings

        kinds = ("cannot be reached from the start symbol", "never end in words")
        for what, found in zip(kinds, self.useless(), strict=True):
            if found:
                warnings.warn(f"these symbols of the grammar {what}: {the_first(found)}.", stacklevel=3)

    # ---- files -------------------------------------------------------------------------------------------------------

    def stored_settings(self) -> dict[str, Any]:
        """The rules as lists, which files store in readable form."""
        return {
            "binary": [[*rule, n] for rule, n in self.binary.items()],
            "lexical": [[*rule, n] for rule, n in self.lexical.items()],
            "roots": [[root, n] for root, n in self.roots.items()],
            "labels": [[x.leaf, list(x.path), list(x.nodes), x.span, n] for x, n in self.labels.items()],
            **{name: getattr(self, name) for name in ("binarize", "horizontal", "vertical", "terminals", "top")},
            "vocabulary": sorted(self.vocabulary),
            "spans": self.spans,
            "given": self.given,
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """The grammar of a file."""
        tables: list[Any] = []
        for name, length in (("binary", 3), ("lexical", 2), ("roots", 1)):
            table: dict[Any, float] = {}
            for *rule, count in settings[name]:
                if len(rule) != length or not all(isinstance(s, str) for s in rule):
                    raise MargraveError(f"its {name} rules must have {length} symbols.")
                table[tuple(rule) if length > 1 else rule[0]] = _checked_count("a rule", count)
            tables.append(table)
        labels: dict[Label, float] = {}
        for leaf, path, nodes, span, count in settings["labels"]:
            if not path or not all(isinstance(s, str) for s in (*path, *nodes, span or "")):
                raise MargraveError("its labels must be symbols.")
            labels[Label(bool(leaf), tuple(path), tuple(nodes), span)] = _checked_count("a label", count)
        made = cls(
            binary=tables[0],
            lexical=tables[1],
            roots=tables[2],
            labels=labels,
            binarize=settings["binarize"],
            horizontal=settings["horizontal"],
            vertical=settings["vertical"],
            terminals=settings["terminals"],
            vocabulary=frozenset(str(word) for word in settings["vocabulary"]),
            top=settings["top"],
            spans=bool(settings["spans"]),
            given=bool(settings["given"]),
        )
        made.check_settings()
        return made


def word_class(word: str) -> str:
    """The class of a rare or unknown word: its capitals, digits, hyphens, and its ending.

    >>> word_class("Walking"), word_class("1,234"), word_class("re-dubbed")
    ('* Xx ing', '* 0', '* x - bed')
    """
    if any(c.isdigit() for c in word):
        return "* 0" if not any(c.isalpha() for c in word) else "* 0x"
    shape = "XX" if word.isupper() and len(word) > 1 else "Xx" if word[:1].isupper() else "x"
    if not any(c.isalpha() for c in word):
        shape = "."
    ending = word[-3:].lower() if (len(word) > 4 and word.isalpha()) or "-" in word else ""
    return " ".join(part for part in ("*", shape, "-" if "-" in word else "", ending) if part)


def _span_label(leaf: bool, nodes: tuple[str, ...], joins: bool = False) -> Label:
    path = (_JOINED if joins else _LABELED, _WORD if leaf else _BODY)
    return Label(leaf, path, nodes, " ".join(nodes) if nodes else None)


def _plain(weight: float) -> float:
    """A weight as a whole number if it is one, so that counts are those of copies."""
    return int(weight) if weight == int(weight) else float(weight)


def _checked_count(of: str, n: Any) -> float:
    """A count of a file, which is a sum of weights if examples had them."""
    if isinstance(n, float):
        return real(f"the count of {of}", n, "be finite and not negative", lambda n: 0 <= n < inf)
    return whole(f"the count of {of}", n, 0, 2**62)


def _sorted(counts: Mapping[Any, float]) -> dict[Any, float]:
    return {key: counts[key] for key in sorted(counts, key=repr)}


def _overlaps(span_nodes: Sequence[tuple[str, ...]]) -> NDArray[np.int32]:
    """How many constituents two labels over the same span have in common, row by row; tops do not count."""
    counts = [Counter(node for node in nodes if node not in TOPS) for nodes in span_nodes]
    names = list(dict.fromkeys(name for each in counts for name in each))
    table = np.zeros((len(counts), len(counts)), dtype=np.int32)
    for name in names:
        column = np.array([each[name] for each in counts], dtype=np.int32)
        some = np.flatnonzero(column)
        table[np.ix_(some, some)] += np.minimum.outer(column[some], column[some])
    return table.ravel()


def _chains(symbols: Iterable[str], below: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """All chains of unary rules; a cycle is an error."""
    chains: list[tuple[str, ...]] = []
    waiting: list[tuple[str, ...]] = [(symbol,) for symbol in sorted(symbols)]
    while waiting:
        path = waiting.pop()
        chains.append(path)
        for symbol in below.get(path[-1], ()):
            if symbol in path:
                cycle = " -> ".join((*path[path.index(symbol) :], symbol))
                raise MargraveError(f"the unary rules {cycle} are a cycle, so that trees would have no end.")
            waiting.append((*path, symbol))
    return chains
