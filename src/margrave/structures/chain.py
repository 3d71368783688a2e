"""Label sequences; parts are (position, label) and tuples of neighboring labels."""

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from itertools import chain as flatten
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, has_length, is_list
from margrave.data.classes import label_numbers, labels_in
from margrave.errors import MargraveError, quoted, setting, unknown
from margrave.examples import Examples
from margrave.losses.costs import Cost
from margrave.structures.base import Bound, Labels, Structure, check_lengths

BoundChain = Bound[Labels, _core.ChainStructure]


@dataclass
class Chain(Structure[Labels, _core.ChainStructure]):
    """A chain of labels of order 0, 1, 2 or 3.

    Parameters
    ----------
    order : the number of preceding labels on which a label depends: 0, 1, 2 or 3.
    forbidden : pairs of neighboring labels that no output may contain; not at order 0.
    tied : share one transition table among all positions; attributes of transitions and some learners need False.
    """

    name = "chain"
    examples = "sequences"
    costs = (Cost,)

    order: int = 1
    forbidden: Collection[tuple[Any, Any]] = ()
    tied: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.order, Integral) or isinstance(self.order, bool) or self.order not in (0, 1, 2, 3):
            raise MargraveError(f"the order of a chain must be 0, 1, 2 or 3, and it is {quoted(self.order)}.")
        self.order = int(self.order)
        self.tied = flag("tied", self.tied)
        self.forbidden = _pairs_of(self.forbidden)
        if self.forbidden and self.order == 0:
            raise MargraveError(
                "forbidden transitions need a chain whose labels depend on one another: ", setting(order=1), "."
            )

    def learn(self, Y: Sequence[Sequence[Any]]) -> Labels:
        """The labels that occur."""
        check_labels(Y)
        labels = labels_in(Y)
        if not len(labels):
            raise MargraveError("example 0 is an empty sequence; every sequence needs a token.")
        return Labels(labels)

    def bind(self, outputs: Labels, examples: Examples, costs: Cost | None = None) -> _core.ChainStructure:
        """Make the core's structure for some sequences, with a row for each token.

        Parameters
        ----------
        outputs : the labels.
        examples : the sequences. Extras: `allowed`, for each position of each sequence None or the labels that are
            allowed there; or a boolean array (tokens, labels) for all sequences, concatenated.
        costs : the costs of wrong labels, if they are needed.
        """
        classes = outputs.names
        check_lengths(examples)
        Y, allowed = examples.Y, examples.extra("allowed")
        gold = None if Y is None else label_numbers(list(flatten.from_iterable(Y)), classes)
        if costs is not None:
            self.check_cost(costs)
        mask = None if allowed is None else allowed_mask(allowed, examples.sizes.tolist(), classes)
        return _core.chain(
            len(classes),
            examples.begin,
            gold,
            None if costs is None else costs.label_cost(classes),
            None if mask is None else mask.ravel(),
            self.order,
            self.tied,
            self._forbidden_matrix(classes),
        )

    def check_sizes(self, examples: Examples) -> None:
        """Check that every sequence has as many labels as tokens."""
        check_lengths(examples)

    def decode(
        self,
        bound: BoundChain,
        begin: NDArray[np.int64],
        parts: NDArray[np.int32],
        owners: NDArray[np.int64] | None = None,
    ) -> list[list[Any]]:
        """The labels of every sequence; the parts of positions come first in an output, in order."""
        sizes = bound.examples.sizes
        return _core.decode_labels(bound.outputs.names, sizes if owners is None else sizes[owners], begin, parts)

    def decode_numbers(
        self, bound: BoundChain, begin: NDArray[np.int64], parts: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """The indices of the labels of all sequences, concatenated."""
        first, sizes = bound.examples.begin, bound.examples.sizes
        places = np.repeat(begin[:-1] - first[:-1], sizes) + np.arange(int(first[-1]))
        return parts[places] % np.int32(len(bound.outputs.classes))

    def present(
        self, bound: BoundChain, begin: NDArray[np.int64], mu: NDArray[np.float64]
    ) -> list[NDArray[np.float64]]:
        """The probability of every label at every position: one (tokens, labels) array per sequence."""
        width, sizes = len(bound.outputs.classes), bound.examples.sizes.tolist()
        return [mu[at : at + n * width].reshape(n, width) for at, n in zip(begin[:-1].tolist(), sizes, strict=True)]

    def part_names(self, outputs: Labels) -> list[Any]:
        """The labels."""
        return list(outputs.names)

    def tuples(self, outputs: Labels) -> list[tuple[Any, ...]]:
        """The tuples of neighboring labels that have a part at each position, in the order of these parts."""
        labels, forbidden = self.part_names(outputs), set(self.forbidden) if self.order > 1 else set()
        found: list[tuple[Any, ...]] = []
        level: list[tuple[Any, ...]] = [(label,) for label in labels]
        for _ in range(self.order):
            level = [(*before, label) for before in level for label in labels if (before[-1], label) not in forbidden]
            found += level
        return found

    def _forbidden_matrix(self, classes: Sequence[Any]) -> NDArray[np.bool_] | None:
        if not self.forbidden:
            return None
        number = {label: k for k, label in enumerate(classes)}
        matrix = np.zeros((len(classes), len(classes)), dtype=np.bool_)
        for before, after in self.forbidden:
            for label in (before, after):
                if label not in number:
                    raise unknown("label in the forbidden transitions", label, map(str, classes))
            matrix[number[before], number[after]] = True
        return matrix.ravel()


def check_labels(Y: Sequence[Sequence[Any]]) -> list[int]:
    """The number of labels of every sequence; an error if there are no sequences, or if labels are not lists."""
    if not has_length(Y):
        raise MargraveError(f"y must be a list of lists of labels, not {type(Y).__name__}.")
    if len(Y) == 0:
        raise MargraveError("there are no sequences.")
    for i, labels in enumerate(Y):
        if not is_list(labels):
            raise MargraveError(f"example {i}: y must have a list of labels per sentence, not {type(labels).__name__}.")
    return [len(labels) for labels in Y]


def _pairs_of(forbidden: Any) -> list[tuple[Any, Any]]:
    """The forbidden transitions as a list of pairs of labels."""
    if isinstance(forbidden, tuple | list) and not forbidden:
        return []
    try:
        if isinstance(forbidden, str | bytes | dict):
            raise TypeError
        pairs = [tuple(pair) if isinstance(pair, list | tuple) else () for pair in forbidden]
        hash(tuple(pairs))
    except TypeError:
        raise MargraveError(f"forbidden must be a list of pairs of labels, not {quoted(forbidden)}.") from None
    for pair in pairs:
        if len(pair) != 2:
            raise MargraveError(f"forbidden must be a list of pairs of labels, not {quoted(forbidden)}.")
    return [(before, after) for before, after in pairs]


def allowed_mask(allowed: Any, lengths: Sequence[int], classes: list[Any]) -> NDArray[np.bool_]:
    """Whether a label is allowed at a position: (tokens, classes)."""
    if isinstance(allowed, np.ndarray) and allowed.dtype == np.bool_:
        if allowed.shape != (sum(lengths), len(classes)):
            raise MargraveError(
                f"allowed labels must have shape ({sum(lengths)}, {len(classes)}), not {np.shape(allowed)}."
            )
        return np.ascontiguousarray(allowed)
    if not is_list(allowed):
        raise MargraveError(f"allowed must be a list with an entry for each sequence, not {type(allowed).__name__}.")
    if len(allowed) != len(lengths):
        raise MargraveError(f"there are {len(lengths)} sequences, but allowed labels for {len(allowed)}.")
    number = {label: k for k, label in enumerate(classes)}
    mask = np.ones((sum(lengths), len(classes)), dtype=np.bool_)
    row = 0
    for i, (positions, n) in enumerate(zip(allowed, lengths, strict=True)):
        if positions is not None and not is_list(positions):
            raise MargraveError(f"example {i}: its allowed labels must be a list, not {type(positions).__name__}.")
        if positions is not None and len(positions) != n:
            raise MargraveError(f"example {i} has {n} tokens, but allowed labels for {len(positions)}.")
        for t in range(n):
            labels = None if positions is None else positions[t]
            if labels is not None:
                if isinstance(labels, str | bytes) or not hasattr(labels, "__iter__"):
                    raise MargraveError(
                        f"example {i}, position {t}: allowed labels must be a set, not {type(labels).__name__}."
                    )
                mask[row] = False
                for label in labels:
                    if not isinstance(label, Hashable) or label not in number:
                        raise unknown("label among the allowed ones", label, map(str, classes))
                    mask[row, number[label]] = True
            row += 1
    return mask
