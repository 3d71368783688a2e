"""Grammars by definition: all derivations of a sentence, as bags of parts, and grammars as hypergraphs."""

import warnings
from dataclasses import dataclass
from functools import cache

import numpy as np

from margrave.data.constituents import Tree
from margrave.structures.grammar import Compiled, Grammar
from margrave.testing.enumeration import Parts
from tests.references.enumeration import Graph


def random_grammar(rng: np.random.Generator, symbols: int = 4, terminals: int = 3) -> Grammar:
    """Ambiguous rules with unary chains; some symbols are unreachable or never end."""
    names = ["S", *"ABCDEFGH"[: symbols - 1]]
    words = list("xyz")[:terminals]
    rules: list[tuple[str, tuple[str, ...] | str]] = []
    for left in names:
        for _ in range(int(rng.integers(1, 4))):
            rules.append((left, (str(rng.choice(names)), str(rng.choice(names)))))
        rules += [(left, word) for word in words if rng.random() < 0.4]
    rules += [(a, (b,)) for k, a in enumerate(names) for b in names[k + 1 :] if rng.random() < 0.3]
    rules += [("S", ("S", "S")), ("S", words[0])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Grammar.of_rules(dict.fromkeys(rules), "S")


@dataclass(frozen=True)
class PartNumbers:
    """The numbers of the parts of a sentence of n words, as engines/grammar.h documents them."""

    compiled: Compiled
    n: int
    tied: bool = True
    splits: bool = False
    anchors: tuple[str, ...] = ()

    @property
    def cells(self) -> list[tuple[int, int]]:
        return [(s, e) for s in range(self.n) for e in range(s + 1, self.n + 1)]

    @property
    def triples(self) -> list[tuple[int, int, int]]:
        return [(s, m, e) for s, e in self.cells for m in range(s + 1, e)]

    def _offsets(self) -> list[int]:
        c, triples, cells = self.compiled, len(self.triples), len(self.cells)
        sizes = [len(c.binary), len(c.lexical), len(c.unary)]
        if not self.tied:
            sizes = [sizes[0] * triples, sizes[1] * self.n, sizes[2] * cells]
        sizes += [len(c.roots), cells * len(c.spans), triples if self.splits else 0]
        sizes += [len(c.binary) * self.n if anchor in self.anchors else 0 for anchor in ("begin", "split", "end")]
        return np.concatenate([[0], np.cumsum(sizes)]).tolist()

    @property
    def count(self) -> int:
        return self._offsets()[-1]

    def binary(self, rule: int, s: int, m: int, e: int) -> list[int]:
        at = self._offsets()
        found = [rule if self.tied else rule * len(self.triples) + self.triples.index((s, m, e))]
        if self.splits:
            found.append(at[5] + self.triples.index((s, m, e)))
        for k, (anchor, place) in enumerate((("begin", s), ("split", m), ("end", e - 1))):
            if anchor in self.anchors:
                found.append(at[6 + k] + rule * self.n + place)
        return found

    def lexical(self, rule: int, s: int) -> list[int]:
        return [self._offsets()[1] + (rule if self.tied else rule * self.n + s)]

    def label(self, number: int, s: int, e: int) -> list[int]:
        at, cell = self._offsets(), self.cells.index((s, e))
        label = list(self.compiled.labels)[number]
        pairs = zip(label.path, label.path[1:], strict=False)
        rules = [self.compiled.unary[pair] for pair in pairs if pair in self.compiled.unary]
        found = [at[2] + (rule if self.tied else rule * len(self.cells) + cell) for rule in rules]
        if label.span is not None:
            found.append(at[4] + cell * len(self.compiled.spans) + self.compiled.spans.index(label.span))
        return found

    def root(self, number: int) -> int:
        return self._offsets()[3] + number


def derivations(
    numbers: PartNumbers, sentence: list[int], pieces: bool = False, left: set[tuple[int, int]] | None = None
) -> list[Parts]:
    """All derivations of a sentence of terminals, each as its sorted parts; longer spans must be among those left."""
    c, kept = numbers.compiled, left
    labels = [(k, label) for k, label in enumerate(c.labels) if pieces or not label.path[0].startswith("* ")]

    @cache
    def tops(symbol: str, s: int, e: int) -> list[Parts]:
        return [
            (*below, *numbers.label(k, s, e))
            for k, label in labels
            if label.path[0] == symbol and label.leaf == (e - s == 1)
            for below in bottoms(label.path[-1], s, e)
        ]

    @cache
    def bottoms(symbol: str, s: int, e: int) -> list[Parts]:
        if e - s == 1:
            names = list(c.terminals)
            return [
                tuple(numbers.lexical(k, s))
                for (left, terminal), k in c.lexical.items()
                if left == symbol and sentence[s] >= 0 and names[sentence[s]] == terminal
            ]
        if kept is not None and (s, e) not in kept:
            return []
        return [
            (*left, *right, *numbers.binary(k, s, m, e))
            for (a, b, d), k in c.binary.items()
            if a == symbol
            for m in range(s + 1, e)
            for left in tops(b, s, m)
            for right in tops(d, m, e)
        ]

    n = len(sentence)
    return [tuple(sorted((*y, numbers.root(k)))) for root, k in c.roots.items() for y in tops(root, 0, n)]


def derivation_graph(numbers: PartNumbers, sentence: list[int]) -> Graph:
    """The derivations as a hypergraph."""
    c, n = numbers.compiled, len(sentence)
    names = list(c.terminals)
    node: dict[tuple[object, ...], int] = {}
    edges: list[tuple[int, Parts, Parts]] = []

    def add(item: tuple[object, ...], ways: list[tuple[list[tuple[object, ...]], list[int]]]) -> None:
        node[item] = len(node)
        for tails, parts in ways:
            if all(tail in node for tail in tails):
                edges.append((node[item], tuple(node[tail] for tail in tails), tuple(parts)))

    for s, e in sorted(numbers.cells, key=lambda cell: cell[1] - cell[0]):
        for symbol in c.symbols:
            ways: list[tuple[list[tuple[object, ...]], list[int]]] = []
            if e - s == 1:
                ways += [([], numbers.lexical(k, s)) for (a, t), k in c.lexical.items()
                         if a == symbol and t == names[sentence[s]]]  # fmt: skip
            for (a, b, d), k in c.binary.items():
                if a == symbol:
                    ways += [([("top", b, s, m), ("top", d, m, e)], numbers.binary(k, s, m, e))
                             for m in range(s + 1, e)]  # fmt: skip
            add(("bottom", symbol, s, e), ways)
        for symbol in c.symbols:
            add(
                ("top", symbol, s, e),
                [
                    ([("bottom", label.path[-1], s, e)], numbers.label(k, s, e))
                    for k, label in enumerate(c.labels)
                    if label.path[0] == symbol and label.leaf == (e - s == 1)
                ],
            )
    add(("root",), [([("top", root, 0, n)], [numbers.root(k)]) for root, k in c.roots.items()])
    return Graph(len(node), edges)


def trees_of(grammar: Grammar, words: list[str]) -> list[Tree]:
    """All trees over words under a grammar of given rules, by definition, as trees with the grammar's symbols."""
    unary = {pair for label in grammar.labels for pair in zip(label.path, label.path[1:], strict=False)}

    def trees(symbol: str, s: int, e: int) -> list[Tree]:
        found = []
        if e - s == 1 and (symbol, words[s]) in grammar.lexical:
            found.append(Tree(symbol, (words[s],)))
        for a, b, c in grammar.binary:
            if a == symbol:
                for m in range(s + 1, e):
                    found += [Tree(symbol, (x, y)) for x in trees(b, s, m) for y in trees(c, m, e)]
        for a, b in unary:
            if a == symbol:
                found += [Tree(symbol, (x,)) for x in trees(b, s, e)]
        return found

    (start,) = grammar.roots
    return trees(start, 0, len(words))
