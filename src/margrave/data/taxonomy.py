"""Classes in a tree or a directed acyclic graph (003, section 4.2), and the tree loss between them (section 5.1)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave.checks import has_length
from margrave.errors import MargraveError, quoted
from margrave.room import Room
from margrave.stored import Stored

Node = Any  # a string or a number


class Taxonomy(Stored, kind="labels"):
    """A tree or a directed acyclic graph of classes; nodes without parents are children of one root without a name.

    Parameters
    ----------
    parents : a mapping from every node to its parent, to a list of its parents, or to None; nodes that occur only as
        parents have no parents themselves. Alternatively a list with the parents of the nodes 0, 1, ..., where -1 means
        no parent. If no node has a parent, the taxonomy is flat.

    >>> animals = Taxonomy({"cat": "mammal", "dog": "mammal", "carp": "fish"})
    >>> animals.ancestors("cat")
    ('cat', 'mammal')
    >>> animals.tree_loss("cat", "dog"), animals.tree_loss("cat", "carp")
    (1, 2)
    """

    name = "taxonomy"

    def __init__(self, parents: Mapping[Node, Any] | Sequence[Any]) -> None:
        if isinstance(parents, Mapping):
            items: Iterable[tuple[Node, Any]] = parents.items()
        elif isinstance(parents, Sequence | np.ndarray) and has_length(parents):
            items = ((k, None if isinstance(p, Real) and p == -1 else p) for k, p in enumerate(parents))
        else:
            raise MargraveError(f"a taxonomy is made of a mapping from nodes to parents, not {type(parents).__name__}.")
        given = {_checked(node): tuple(dict.fromkeys(map(_checked, _as_parents(of)))) for node, of in items}
        if not given:
            raise MargraveError("a taxonomy needs at least one node.")
        for parent in chain.from_iterable(list(given.values())):
            given.setdefault(parent, ())
        try:
            order = list(TopologicalSorter(given).static_order())
        except CycleError as error:
            way = " below ".join(repr(node) for node in reversed(error.args[1]))
            raise MargraveError(f"a taxonomy must not have cycles, and this one has {way}.") from None
        self._parents: dict[Node, tuple[Node, ...]] = {node: given[node] for node in order}
        self._children: dict[Node, list[Node]] = {node: [] for node in order}
        for node, above in self._parents.items():
            for parent in above:
                self._children[parent].append(node)
        self._heights: dict[Node, int] = {}
        for node in reversed(order):
            self._heights[node] = max((1 + self._heights[child] for child in self._children[node]), default=0)

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[Node, Node | None]]) -> Self:
        """Make a taxonomy from pairs (child, parent).

        Parameters
        ----------
        pairs : the pairs; None as the parent adds a node at the top, and a node with several parents has several pairs.
        """
        parents: dict[Node, list[Node]] = {}
        for pair in pairs:
            if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
                raise MargraveError(f"a taxonomy is made of pairs (child, parent), and one is {quoted(pair)}.")
            child, parent = pair
            above = parents.setdefault(_checked(child), [])
            if parent is not None:
                above.append(parent)
        return cls(parents)

    @classmethod
    def from_names(cls, names: Iterable[str], separator: str = ".") -> Self:
        """Make a taxonomy from names that are paths, such as comp.sys.mac or 4/6/2.

        The parent of a node is its name without the last part.

        Parameters
        ----------
        names : the names.
        separator : the string that separates the parts of a name.

        >>> Taxonomy.from_names(["comp.sys.mac", "comp.graphics"]).ancestors("comp.sys.mac")
        ('comp.sys.mac', 'comp.sys', 'comp')
        """
        if not isinstance(separator, str) or not separator:
            raise MargraveError(
                f"the separator of names must be a string such as '.' or '/', and it is {quoted(separator)}."
            )
        parents: dict[str, str | None] = {}
        room = Room()
        for name in names:
            if not isinstance(name, str):
                raise MargraveError(
                    f"names with the separator {quoted(separator)} must be strings, and one is {quoted(name)}."
                )
            if "" in name.split(separator):
                raise MargraveError(f"the name {quoted(name)} has an empty part before or after {quoted(separator)}.")
            room.add(len(name))
            parents.update(nodes_of_path(name, separator, room))
        return cls(parents)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes, parents before children."""
        return tuple(self._parents)

    @property
    def leaves(self) -> tuple[Node, ...]:
        """The nodes without children."""
        return tuple(node for node, below in self._children.items() if not below)

    @property
    def is_forest(self) -> bool:
        """Whether no node has more than one parent."""
        return all(len(above) < 2 for above in self._parents.values())

    def parents(self, node: Node) -> tuple[Node, ...]:
        """The parents of the node."""
        return self._parents[self._known(node)]

    def children(self, node: Node) -> tuple[Node, ...]:
        """The children of the node."""
        return tuple(self._children[self._known(node)])

    def ancestors(self, node: Node) -> tuple[Node, ...]:
        """The node itself and all its ancestors, nearest first."""
        found = {self._known(node): None}
        queue = [node]
        for below in queue:  # The queue grows during the loop.
            for parent in self._parents[below]:
                if parent not in found:
                    found[parent] = None
                    queue.append(parent)
        return tuple(found)

    @property
    def depth(self) -> int:
        """The height of the highest node."""
        return max(self._heights.values())

    def height(self, node: Node) -> int:
        """The length of the longest path from the node down to a leaf."""
        return self._heights[self._known(node)]

    def tree_loss(self, a: Node, b: Node) -> int:
        """The height of the lowest common ancestor of a and b; 0 if they are the same node.

        The root without a name is an ancestor of all nodes, and its height is one more than that of the highest node.
        If paths differ in length, the height is that of the longest path (`height`), even if neither a nor b is on it.
        """
        if self._known(a) == self._known(b):
            return 0
        above = set(self.ancestors(a))
        root = 1 + self.depth
        return min((self._heights[node] for node in self.ancestors(b) if node in above), default=root)

    def tree_losses(self, classes: Sequence[Node]) -> NDArray[np.float64]:
        """The tree losses between all pairs of these nodes: (classes, classes)."""
        below: dict[Node, list[int]] = {}
        for k, name in enumerate(classes):
            for node in self.ancestors(name):
                below.setdefault(node, []).append(k)
        losses = np.full((len(classes), len(classes)), 1.0 + self.depth)
        for node in sorted(below, key=self._heights.__getitem__, reverse=True):  # The lowest node is written last.
            losses[np.ix_(below[node], below[node])] = self._heights[node]
        np.fill_diagonal(losses, 0.0)
        return losses

    def stored_settings(self) -> dict[str, Any]:
        """Every node with its parents."""
        return {"parents": {node: list(above) for node, above in self._parents.items()}}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """The taxonomy with these parents."""
        return cls(settings["parents"])

    def _known(self, node: Node) -> Node:
        try:
            if node in self._parents:
                return node
        except TypeError:
            pass
        raise MargraveError(f"the taxonomy has no node {quoted(node)}.")

    def __contains__(self, node: object) -> bool:
        return node in self._parents

    def __iter__(self) -> Iterator[Node]:
        return iter(self._parents)

    def __len__(self) -> int:
        return len(self._parents)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Taxonomy):
            return NotImplemented
        return {n: set(p) for n, p in self._parents.items()} == {n: set(p) for n, p in other._parents.items()}

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Taxonomy of {len(self)} nodes, {len(self.leaves)} of them leaves>"


def nodes_of_path(path: str, separator: str, room: Room) -> Iterator[tuple[str, str | None]]:
    """The nodes on a path, from the top, each with its parent; the names of nodes that are new take room.

    Every node is named by the path to it, so that a long path has names whose length grows with its square.
    """
    parent, end = None, path.find(separator)
    while parent != path:
        node = path if end < 0 else path[:end]
        room.take(len(node), "the nodes of a path with very many levels")
        yield node, parent
        parent, end = node, path.find(separator, end + len(separator))


def as_taxonomy(taxonomy: Any, classes: Sequence[Node]) -> Taxonomy:
    """A taxonomy that contains these classes.

    `taxonomy` is a `Taxonomy`, the parents of its nodes, the separator of the classes' names, or None for a flat one.
    """
    if taxonomy is None:
        return Taxonomy(dict.fromkeys(classes))
    if isinstance(taxonomy, str):
        return Taxonomy.from_names(classes, taxonomy)
    known = taxonomy if isinstance(taxonomy, Taxonomy) else Taxonomy(taxonomy)
    for name in classes:
        known._known(name)
    return known


def _checked(node: Any) -> Node:
    if isinstance(node, str):
        if not node.strip():
            raise MargraveError("a node of a taxonomy must not have an empty name.")
        return str(node)
    if not isinstance(node, Real) or node != node:  # which only NaN is
        raise MargraveError(f"a node of a taxonomy must be a string or a number, and one is {quoted(node)}.")
    return node.item() if isinstance(node, np.generic) else node


def _as_parents(parents: Any) -> Iterable[Any]:
    if parents is None:
        return ()
    if isinstance(parents, list | tuple | set | frozenset):
        return sorted(parents, key=repr) if isinstance(parents, set | frozenset) else parents
    return (parents,)
