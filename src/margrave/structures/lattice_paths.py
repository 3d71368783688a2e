"""Paths of lattices; parts are edges. The good paths are those that spell one of the good strings of their lattice."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.data.lattices import Lattice
from margrave.errors import MargraveError, Message, quoted, setting, the_first
from margrave.examples import Examples
from margrave.losses.costs import Cost, Hamming, ZeroOne
from margrave.structures.base import Bound, NoOutputs, Structure
from margrave.structures.edges import bounds, check_graphs, edge_graphs, ragged

_LISTED = 5  # lattices that a message lists

Strings = Sequence[str] | str  # the good strings of a lattice, best first, or the only one


@dataclass
class LatticePaths(Structure[NoOutputs, _core.LatticeStructure]):
    """The paths of lattices, given and predicted as their strings: the words of their edges, separated by blanks.

    Learners that need one good output use a path that spells the first good string. The cost "hamming" is the number of
    edges that no good path has; "zero-one" is 1 for every path that is not good, and where a lattice has several good
    paths, only `lp` supports it.
    """

    name = "lattice-paths"
    examples = "lattices"
    costs = (Hamming, ZeroOne)

    def learn(self, Y: Sequence[Any]) -> NoOutputs:
        """Check the good strings."""
        for i, strings in enumerate(Y):
            good_strings(strings, i)
        return NoOutputs()

    def bind(self, outputs: NoOutputs, examples: Examples, costs: Cost | None = None) -> _core.LatticeStructure:
        """Make the core's structure of these lattices, with a row for each edge.

        Parameters
        ----------
        outputs : not used.
        examples : the lattices; outputs are their good strings.
        costs : the costs of wrong paths, if they are needed.
        """
        lattices = edge_graphs(self, Lattice, examples, costs)
        number: dict[str, int] = {}
        arrays = lattice_arrays(lattices, number)
        good = None if examples.Y is None else good_arrays(examples.Y, number)
        if good is not None:
            missing = _core.without_good_path(*arrays, good)
            if len(missing):
                raise MargraveError(unreachable(lattices, missing.tolist()))
        return _core.lattices(*arrays, vocabulary_of(number), good, costs is not None)

    def join(self, core: _core.LatticeStructure, features: _core.Features) -> _core.Problem:
        """The problem, which can be asked for its good paths and for the others if good strings are known."""
        return _core.divide(core, features) if core.has_gold else _core.join(core, features)

    def decode(
        self,
        bound: Bound[NoOutputs, _core.LatticeStructure],
        begin: NDArray[np.int64],
        parts: NDArray[np.int32],
        owners: NDArray[np.int64] | None = None,
    ) -> list[str]:
        """The strings of the paths."""
        return list(bound.core.spelled(owners, begin, parts))


def vocabulary_of(number: dict[str, int]) -> _core.Vocabulary:
    """The words, in the order of their numbers."""
    texts = [word.encode() for word in number]
    return _core.Vocabulary(np.frombuffer(b"".join(texts), dtype=np.uint8), bounds(texts))


def good_strings(strings: Any, example: int) -> list[str]:
    """The good strings of one lattice, with their words separated by one blank."""
    listed = [strings] if isinstance(strings, str) else strings
    if not isinstance(listed, list | tuple) or not listed or not all(isinstance(each, str) for each in listed):
        raise MargraveError(
            f"example {example}: the good strings of a lattice must be a text or a list of texts, not "
            f"{quoted(strings)}."
        )
    return [" ".join(each.split()) for each in listed]


def unreachable(
    lattices: Sequence[Lattice],
    missing: Sequence[int],
    remedy: str = Message("leave them out, or use ", setting(unreachable="skip")),
) -> Message:
    """The message for lattices of which no path spells a good string."""
    named = [f"id {lattices[i].id}" if lattices[i].id else f"example {i}" for i in missing[: _LISTED + 1]]
    return Message(
        f"{len(missing)} of {len(lattices)} lattices have no path that spells a good string "
        f"({the_first(named, _LISTED)}): ",
        remedy,
        ".",
    )


def without_good_path(lattices: Sequence[Lattice], Y: Sequence[Any]) -> list[int]:
    """The numbers of the lattices of which no path spells a good string."""
    number: dict[str, int] = {}
    missing: list[int] = _core.without_good_path(*lattice_arrays(lattices, number), good_arrays(Y, number)).tolist()
    return missing


def lattice_arrays(lattices: Sequence[Lattice], number: dict[str, int]) -> tuple[Any, Any, Any, Any, Any]:
    """The number of nodes, where edges begin, their tails, heads and words: what the core takes."""
    edges = [edge for lattice in check_graphs(Lattice, lattices) for edge in lattice.edges]
    return (
        np.array([lattice.nodes for lattice in lattices], dtype=np.int64),
        bounds([lattice.edges for lattice in lattices]),
        np.array([edge.tail for edge in edges], dtype=np.int32),
        np.array([edge.head for edge in edges], dtype=np.int32),
        np.array([number.setdefault(edge.word, len(number)) if edge.word else -1 for edge in edges], dtype=np.int32),
    )


def good_arrays(Y: Sequence[Any], number: dict[str, int]) -> tuple[Any, Any, Any]:
    """Where the good strings of each lattice begin, where the words of each string begin, and the words."""
    listed = [good_strings(strings, i) for i, strings in enumerate(Y)]
    words = [string.split() for strings in listed for string in strings]
    return bounds(listed), *ragged([[number.setdefault(word, len(number)) for word in each] for each in words])
