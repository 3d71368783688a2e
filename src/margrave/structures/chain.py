"""Label sequences; parts are (position, label) and tuples of neighbouring labels."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, real
from margrave.errors import MargraveError, unknown
from margrave.features.mercer import Kernel
from margrave.features.table import AttributeTable
from margrave.losses import LossFamily


@dataclass
class Chain:
    """A chain of labels of order 1, 2 or 3.

    `forbidden` lists pairs of neighbouring labels that no output has; `start` and `stop` give the first and last
    position scores of their own; `scale` multiplies the features of transitions (003, Eq. 13: eta); `tied` shares one
    transition table among all positions (transition attributes and some learners need `tied=False`).
    """

    order: int = 1
    forbidden: Collection[tuple[Any, Any]] = ()
    start: bool = False
    stop: bool = False
    scale: float = 1.0
    tied: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.order, Integral) or self.order not in (1, 2, 3):
            raise MargraveError(f"the order of a chain must be 1, 2 or 3, and it is {self.order!r}.")
        self.order = int(self.order)
        rule = "be finite and not negative"
        self.scale = real("the scale of transitions", self.scale, rule, lambda scale: 0 <= scale < np.inf)
        self.start, self.stop, self.tied = flag("start", self.start), flag("stop", self.stop), flag("tied", self.tied)
        self.forbidden = _pairs_of(self.forbidden)

    def bind(
        self,
        X: Any,
        labels: NDArray[np.int32] | None = None,
        *,
        features: AttributeTable,
        classes: Sequence[Any],
        lengths: Sequence[int] | None = None,
        loss: LossFamily | None = None,
        edges: Any = None,
        allowed: NDArray[np.bool_] | None = None,
    ) -> _core.Problem:
        """The problem of these sequences; the first bind with labels learns the features.

        X may make its sequences as they are iterated over. labels: (tokens,), numbers of classes, all sequences one
        after another, `lengths` of each. edges: like X, the attributes of the transition into each token (the first
        token's are ignored). allowed: (tokens, classes).
        """
        learn = not features.learned
        if learn and labels is None:
            raise MargraveError("features are learned from labelled sequences, and there are no labels.")
        if isinstance(features, Kernel) and features.name == "precomputed":
            raise MargraveError("a precomputed kernel is for classes, and these are sequences: name another kernel.")
        tied = self.tied and edges is None
        width = len(classes)
        rows = features.tokens.encode(X, single=False, learn=learn)
        begin = rows.example_begin
        found = np.diff(begin)
        _check_lengths(found, labels, lengths)
        if allowed is not None and np.shape(allowed) != (rows.tokens, width):
            raise MargraveError(f"allowed labels must have shape ({rows.tokens}, {width}), not {np.shape(allowed)}.")
        structure = _core.chain(
            width,
            begin,
            labels,
            None if loss is None else _core.matrix_cost(width, loss.cost_matrix(classes).ravel()),
            None if allowed is None else np.ascontiguousarray(allowed, dtype=np.bool_).ravel(),
            self.order,
            tied,
            self._forbidden_matrix(classes),
        )
        edge_rows = None
        if edges is not None:
            if not learn and features.edge_pairs is None:
                raise MargraveError("the model was trained without transition attributes: do not pass edges=.")
            edge_rows = features.edges.encode(edges, single=False, learn=learn)
            if not np.array_equal(edge_rows.example_begin, begin):
                raise MargraveError("there must be transition attributes for every token.")
        elif features.edge_pairs is not None:
            raise MargraveError("the model was trained with transition attributes: pass edges=.")
        if learn:
            assert labels is not None
            self._learn(features, structure, rows, edge_rows, begin, labels, width)
        features.check_fit(width, structure.gram_parts)
        bound = features.map(
            rows,
            training=learn,
            order=self.order,
            tied=tied,
            scale=float(self.scale),
            start=self.start,
            stop=self.stop,
            edges=edge_rows,
        )
        return _core.join(structure, bound)

    def decode(self, begin: NDArray[np.int64], parts: NDArray[np.int32], lengths: NDArray[np.int64], width: int) -> Any:
        """Label numbers of all tokens, from the outputs' parts: the position parts come first, in order."""
        places = np.repeat(begin[:-1] - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
        return parts[places + np.arange(int(lengths.sum()))] % width

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

    def _learn(
        self,
        features: AttributeTable,
        structure: _core.ChainStructure,
        rows: _core.Tokens,
        edge_rows: _core.Tokens | None,
        begin: NDArray[np.int64],
        labels: NDArray[np.int32],
        width: int,
    ) -> None:
        """Which pairs and tuples get weights. Gold parts are asked of the structure, which alone can number tuples."""
        tokens = int(begin[-1])
        features.learn_tokens(rows, width, np.arange(tokens + 1, dtype=np.int64), labels)
        grams = structure.gram_parts
        if self.order == 1:  # the tuple of labels a and b is number a * width + b
            inside = np.ones(tokens, dtype=bool)
            inside[begin[:-1]] = False
            before = np.roll(labels, 1)
            seen = (before.astype(np.int32) * width + labels)[inside]
            counts = inside.astype(np.int64)
        else:
            nothing = np.zeros(0, dtype=np.int64)
            seen_lists = [(structure.gold(i)[n:] - n * width) % grams for i, n in enumerate(np.diff(begin))]
            seen = np.concatenate([nothing, *seen_lists]).astype(np.int32)
            counts = np.concatenate([nothing, *(np.minimum(np.arange(n), self.order) for n in np.diff(begin))])
        features.learn_grams(grams, seen)
        if edge_rows is not None:
            seen_begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            features.edge_pairs = features.learn_pairs(edge_rows, features.edges, grams, seen_begin, seen)


def _pairs_of(forbidden: Any) -> list[tuple[Any, Any]]:
    """The forbidden transitions as a list of pairs of labels."""
    try:
        if isinstance(forbidden, str | bytes | dict):
            raise TypeError
        pairs = [tuple(pair) if isinstance(pair, list | tuple) else () for pair in forbidden]
        hash(tuple(pairs))
    except TypeError:
        raise MargraveError(f"forbidden must be a list of pairs of labels, not {forbidden!r}.") from None
    for pair in pairs:
        if len(pair) != 2:
            raise MargraveError(f"forbidden must be a list of pairs of labels, not {forbidden!r}.")
    return [(before, after) for before, after in pairs]


def _check_lengths(found: NDArray[np.int64], labels: NDArray[np.int32] | None, lengths: Sequence[int] | None) -> None:
    """Every sequence has tokens, and as many of them as labels."""
    if lengths is not None:
        if len(lengths) != len(found):
            raise MargraveError(f"there are {len(found)} sequences in X and {len(lengths)} in y.")
        for i in np.flatnonzero(found != np.asarray(lengths)):
            raise MargraveError(f"example {i} has {found[i]} tokens and {lengths[int(i)]} labels.")
    if (found == 0).any():
        raise MargraveError(f"example {int(np.argmin(found))} is an empty sequence; every sequence needs a token.")
    if labels is not None and len(labels) != int(found.sum()):
        raise MargraveError(f"there are {int(found.sum())} tokens and {len(labels)} labels.")
