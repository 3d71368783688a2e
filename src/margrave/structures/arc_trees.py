"""What structures of dependency trees have in common: heads and labels of words, and the arcs that have parts."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, count, pairwise
from math import inf
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, has_length, is_list, real
from margrave.data.arcs import ArcLabels, Arcs
from margrave.data.classes import label_numbers, labels_in
from margrave.errors import MargraveError, quoted
from margrave.examples import Examples
from margrave.losses.costs import Cost, CostFunction, Hamming, ZeroOne
from margrave.structures.base import Bound, Labels, NoOutputs, Outputs, Structure


class DependencyTree(Structure[Any, _core.TreeStructure]):
    """The base of all dependency trees. Their first parts are the arcs of a sentence, or those that pruning leaves.

    With `labeled`, an output has a pair (head, label) for every word. In place of an arc there is a part for each
    label that it may have, label by label, and the other parts follow.
    """

    examples = "sentences"
    costs: ClassVar[tuple[type[Cost], ...]] = (Hamming, ZeroOne, CostFunction)

    single_root: bool
    labeled: bool
    wrong_label: float

    def __post_init__(self) -> None:
        self.single_root = flag("single_root", self.single_root)
        self.labeled = flag("labeled", self.labeled)
        self.wrong_label = real(
            "wrong_label", self.wrong_label, "be finite and not negative", lambda cost: 0 <= cost < inf
        )

    def learn(self, Y: Sequence[Sequence[Any]]) -> Outputs:
        """The labels of the words; without labels, heads have nothing in common that could be learned."""
        check_trees(Y)
        return Labels(labels_in(split_labels(Y)[1])) if self.labeled else NoOutputs()

    def bind(self, outputs: Any, examples: Examples, costs: Cost | None = None) -> _core.TreeStructure:
        """Make the core's structure for some sentences.

        A sentence has a row for each arc or, for second-order trees, for each part. Without `arcs`, numbers of words
        follow from the numbers of rows; with `arcs` there may be any number of rows.

        Parameters
        ----------
        outputs : what `learn` returned.
        examples : the sentences; outputs are the heads of their words, 0 for the root, or pairs (head, label). Extras:
            `arcs`, the words of each sentence, and which arcs have parts, by default all. `labels`, the labels that
            each arc may have, by default all. `allowed`, for each sentence None or, for each of its words, None or the
            heads that it may have; a single head is required. Or a boolean array over the n * n arcs of all sentences,
            concatenated.
        costs : the costs of wrong heads, if they are needed.
        """
        if costs is not None:
            self.check_cost(costs)
        arcs, labels, allowed = map(examples.extra, ("arcs", "labels", "allowed"))
        given, Y = arcs is not None, examples.Y
        if arcs is None:
            arcs, allowed = self._arcs(examples.sizes, allowed)
        elif not isinstance(arcs, Arcs):
            raise MargraveError(f"arcs must be an object of Arcs, not {type(arcs).__name__}.")
        if len(arcs.words) != len(examples):
            raise MargraveError(f"there are {len(examples)} sentences, but arcs of {len(arcs.words)}.")
        mask = None if allowed is None else allowed_arcs(allowed, arcs.words.tolist())
        if mask is not None and arcs.left is not None:
            mask = np.ascontiguousarray(mask[arcs.left])
        names = None
        if Y is not None and self.labeled:
            Y, names = split_labels(Y)
        heads = None if Y is None else flat_heads(arcs.words, Y)
        bound = self._of_arcs(arcs, heads, mask)
        if not given:
            self._check_rows(bound, examples.sizes)
        if self.labeled:
            return self._labeled(outputs, bound, arcs, labels, names)
        if labels is not None:
            raise MargraveError("labels of arcs need labeled=True.")
        return bound

    def _labeled(
        self, outputs: Labels, bound: _core.TreesOfArcs, arcs: Arcs, labels: ArcLabels | None, names: Any
    ) -> _core.LabeledTreeStructure:
        """The same trees with labels; by default every arc may have every label."""
        size = len(outputs.classes)
        if labels is None:
            labels = ArcLabels(
                np.zeros(int(arcs.count.sum()), np.int32), np.array([0, size]), np.arange(size, dtype=np.int32)
            )
        elif not isinstance(labels, ArcLabels):
            raise MargraveError(f"labels must be an object of ArcLabels, not {type(labels).__name__}.")
        gold = None if names is None else label_numbers(list(chain.from_iterable(names)), outputs.names)
        return _core.labeled_tree(bound, size, labels.of_arc, labels.begin, labels.members, gold, self.wrong_label)

    @abstractmethod
    def _arcs(self, sizes: NDArray[np.int64], allowed: Any) -> tuple[Arcs, Any]:
        """The arcs of sentences with so many parts, and what is allowed of them."""

    @abstractmethod
    def _of_arcs(
        self, arcs: Arcs, heads: NDArray[np.int32] | None, allowed: NDArray[np.bool_] | None
    ) -> _core.TreesOfArcs:
        """The core's structure without labels; `allowed` has an entry for each arc with a part."""

    def _check_rows(self, core: _core.TreeStructure, sizes: NDArray[np.int64]) -> None:
        for i in np.flatnonzero(core.part_counts != sizes).tolist():
            raise MargraveError(f"example {i} has attributes for {sizes[i]} parts, but its arcs have {core.parts(i)}.")

    def decode(
        self,
        bound: Bound[Any, _core.TreeStructure],
        begin: NDArray[np.int64],
        parts: NDArray[np.int32],
        owners: NDArray[np.int64] | None = None,
    ) -> list[list[Any]]:
        """The heads of the words 1..n of every output or, with labels, pairs (head, label)."""
        word_begin, heads, labels = bound.core.read(begin, parts, owners)
        flat = heads.tolist()
        if self.labeled:
            names = bound.outputs.names
            flat = list(zip(flat, [names[k] for k in labels.tolist()], strict=True))
        return [flat[first:last] for first, last in pairwise(word_begin.tolist())]

    def present(
        self, bound: Bound[Any, _core.TreeStructure], begin: NDArray[np.int64], mu: NDArray[np.float64]
    ) -> list[NDArray[np.float64]]:
        """The probability of every head of every word: one (words, words + 1) array per sentence, the root first."""
        words = bound.core.words
        tables, ends = bound.core.head_tables(begin, mu), np.cumsum(words * (words + 1)).tolist()
        return [
            tables[first:last].reshape(n, n + 1)
            for (first, last), n in zip(pairwise([0, *ends]), words.tolist(), strict=True)
        ]

    def present_labels(
        self, bound: _core.LabeledTreeStructure, begin: NDArray[np.int64], mu: NDArray[np.float64]
    ) -> list[NDArray[np.float64]]:
        """The probability of every head and label: one (words, words + 1, labels) array per sentence, the root first.

        Parameters
        ----------
        bound : what `bind` returned.
        begin, mu : the marginals of all sentences; those of sentence i begin at begin[i].
        """
        arc_begin, heads, words, labels = bound.arcs()
        tables = []
        for i, n in enumerate(bound.words.tolist()):
            arcs = slice(arc_begin[i], arc_begin[i + 1])
            table = np.zeros((n, n + 1, bound.labels))
            table[words[arcs] - 1, heads[arcs], labels[arcs]] = mu[
                begin[i] : begin[i] + arc_begin[i + 1] - arc_begin[i]
            ]
            tables.append(table)
        return tables


@dataclass
class ArcTree(DependencyTree):
    """The base of arc-factored trees: one part for each of the n * n arcs of a sentence, or for those that are left."""

    single_root: bool = True
    labeled: bool = False
    wrong_label: float = 1.0

    def _arcs(self, sizes: NDArray[np.int64], allowed: Any) -> tuple[Arcs, Any]:
        return Arcs(words_of(sizes)), allowed


class TreeOfPairs(DependencyTree):
    """The base of trees with parts of two arcs: parts exist only for the arcs that are left, or allowed."""

    def part_tuples(self, words: int, allowed: Any = None) -> NDArray[np.int32]:
        """The parts of a sentence in order, as rows (grandparent, head, sibling, word).

        -1 stands for what a part does not have. Sibling 0 stands for none: the word is the closest child of its head on
        its side. The parts of `ArcPairTree` have another child of the head in place of the sibling.

        Parameters
        ----------
        words : the number of words of the sentence.
        allowed : None or, for each word, None or the heads that it may have.
        """
        mask = allowed_heads(0, allowed, words)
        return self._of_arcs(Arcs(np.array([words]), mask.ravel()), None, None).part_tuples(0).reshape(-1, 4)

    def _arcs(self, sizes: NDArray[np.int64], allowed: Any) -> tuple[Arcs, Any]:
        """Only the arcs that are allowed have parts."""
        if allowed is None:
            allowed = [None] * len(sizes)
        check_entries(allowed, len(sizes))
        masks = [
            allowed_heads(i, heads, self._words(i, parts) if heads is None else len(heads))
            for i, (parts, heads) in enumerate(zip(sizes.tolist(), allowed, strict=True))
        ]
        left = np.concatenate([np.zeros(0, dtype=np.bool_), *(mask.ravel() for mask in masks)])
        return Arcs(np.array([len(mask) for mask in masks], dtype=np.int64), left), None

    def _words(self, example: int, parts: int) -> int:
        """The number of words of a sentence in which all arcs are allowed."""
        words = next(n for n in count() if self._count(n) >= parts)
        if self._count(words) != parts:
            raise MargraveError(f"example {example} has attributes for {parts} parts, but no sentence has that many.")
        return words

    @abstractmethod
    def _of_arcs(
        self, arcs: Arcs, heads: NDArray[np.int32] | None, allowed: NDArray[np.bool_] | None
    ) -> _core.SecondOrderTreeStructure | _core.ArcPairTreeStructure:
        """The core's structure without labels, which lists its parts."""

    @abstractmethod
    def _count(self, n: int) -> int:
        """The number of parts of n words, if all arcs are allowed."""


def check_trees(Y: Any, name: str = "y") -> None:
    """Refuse outputs that are not a list of trees; `name` is what they are called."""
    if not has_length(Y):
        raise MargraveError(f"{name} must be a list of lists of heads, not {type(Y).__name__}.")
    if len(Y) == 0:
        raise MargraveError("there are no sentences.")


def split_labels(Y: Sequence[Sequence[Any]]) -> tuple[list[list[Any]], list[list[Any]]]:
    """The heads and the labels of words that are pairs (head, label)."""
    for i, tree in enumerate(Y):
        if not is_list(tree):
            raise MargraveError(
                f"example {i}: its words must be a list of pairs (head, label), not {type(tree).__name__}."
            )
        for word, pair in enumerate(tree, 1):
            if not is_list(pair) or len(pair) != 2:
                raise MargraveError(
                    f"example {i}, word {word}: its output must be a pair (head, label), not {quoted(pair)}."
                )
    return [[head for head, _ in tree] for tree in Y], [[label for _, label in tree] for tree in Y]


def words_of(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of words of each sentence, from its number of arcs."""
    words: NDArray[np.int64] = np.sqrt(sizes).round().astype(np.int64)
    for i in np.flatnonzero(words * words != sizes):
        raise MargraveError(f"example {i} has attributes for {sizes[i]} arcs; a sentence of n words has n * n.")
    return words


def flat_heads(words: NDArray[np.int64], Y: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    """The heads of all sentences, concatenated; those that do not fit 32 bits become -1, which the core refuses."""
    if not has_length(Y):
        raise MargraveError(f"heads must be a list with those of each sentence, not {type(Y).__name__}.")
    if len(Y) != len(words):
        raise MargraveError(f"there are {len(words)} sentences and {len(Y)} lists of heads.")
    for i, (tree, n) in enumerate(zip(Y, words.tolist(), strict=True)):
        if not has_length(tree):
            raise MargraveError(f"example {i}: its heads must be a list of numbers, not {type(tree).__name__}.")
        if len(tree) != n:
            raise MargraveError(f"example {i} has arcs for {n} words and {len(tree)} heads.")
    heads = list(chain.from_iterable(Y))
    if not all(issubclass(kind, Integral) and not issubclass(kind, bool) for kind in set(map(type, heads))):
        where = ((i, head) for i, tree in enumerate(Y) for head in tree)
        i, head = next((i, head) for i, head in where if not isinstance(head, Integral) or isinstance(head, bool))
        raise MargraveError(f"example {i}: a head must be the number of a word, not {quoted(head)}.")
    return np.array([head if 0 <= head < 2**31 else -1 for head in heads], dtype=np.int32)


def allowed_arcs(allowed: Any, words: list[int]) -> NDArray[np.bool_]:
    """Whether an arc is allowed: one entry for each of the n * n arcs of all sentences."""
    arcs = sum(n * n for n in words)
    if isinstance(allowed, np.ndarray) and allowed.dtype == np.bool_:
        if allowed.shape != (arcs,):
            raise MargraveError(f"allowed arcs must have shape ({arcs},), not {np.shape(allowed)}.")
        return np.ascontiguousarray(allowed)
    check_entries(allowed, len(words))
    masks = [allowed_heads(i, heads, n).ravel() for i, (heads, n) in enumerate(zip(allowed, words, strict=True))]
    return np.concatenate([np.zeros(0, dtype=np.bool_), *masks])


def check_entries(allowed: Any, sentences: int) -> None:
    """Refuse restrictions that are not one entry per sentence, each of them None or a list."""
    if not is_list(allowed):
        raise MargraveError(f"allowed must be a list with an entry for each sentence, not {type(allowed).__name__}.")
    if len(allowed) != sentences:
        raise MargraveError(f"there are {sentences} sentences, but allowed heads for {len(allowed)}.")
    for i, heads in enumerate(allowed):
        if heads is not None and not is_list(heads):
            raise MargraveError(f"example {i}: its allowed heads must be a list, not {type(heads).__name__}.")


def allowed_heads(example: int, allowed: Any, n: int) -> NDArray[np.bool_]:
    """The mask of one sentence: (words, heads), where the index of a head skips the word."""
    mask = np.ones((n, n), dtype=np.bool_)
    if allowed is None:
        return mask
    if len(allowed) != n:
        raise MargraveError(f"example {example} has {n} words, but allowed heads for {len(allowed)}.")
    for word, heads in enumerate(allowed, 1):
        if heads is None:
            continue
        where = f"example {example}, word {word}"
        if isinstance(heads, str | bytes) or not hasattr(heads, "__iter__"):
            raise MargraveError(f"{where}: allowed heads must be a set, not {type(heads).__name__}.")
        mask[word - 1] = False
        for head in heads:
            if (
                not isinstance(head, Integral)
                or isinstance(head, bool)
                or int(head) not in range(n + 1)
                or head == word
            ):
                raise MargraveError(
                    f"{where}: an allowed head must be 0 or the number of another word, not {quoted(head)}."
                )
            mask[word - 1, int(head) - (int(head) > word)] = True
    return mask
