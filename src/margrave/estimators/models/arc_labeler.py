"""Models that predict the labels of the arcs of given dependency trees, and what they share with those of parsers."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import is_list
from margrave.data import Arcs
from margrave.errors import MargraveError, quoted, unknown
from margrave.estimators.extras import LEARNING, PREDICTION, Extra
from margrave.estimators.model import StructuredModel
from margrave.examples import Examples
from margrave.features import ArcTemplates
from margrave.maps import table_named
from margrave.settings.arc_labeler import ArcLabelerSettings
from margrave.structures import NonProjectiveTree
from margrave.structures.arc_trees import check_trees, flat_heads
from margrave.structures.chain import check_labels
from margrave.structures.pruning import TagPairs

# With this many words in the training data, features are hashed by default: a table of their names would be large.
_MANY_WORDS, _HASH_BITS = 20_000, 22


class LabelerModel(ArcLabelerSettings, StructuredModel, saved_as="ArcLabeler"):
    """Predicts the labels of the arcs of given trees: what a parser's second stage has learned."""

    extras = (
        Extra(
            "heads",
            (*LEARNING, *PREDICTION, "score"),
            "the heads of the words of each sentence.",
        ),
    )
    _more: ClassVar[tuple[str, ...]] = ("pairs_",)

    pairs_: TagPairs | None

    @property
    def labels_(self) -> list[Any]:
        """The labels."""
        return list(self.outputs_.names)

    def numbers(self, X: Any, words: NDArray[np.int64], heads: NDArray[np.int32]) -> NDArray[np.int32]:
        """Predict labels as indices in `labels_`: one array for the words of all sentences.

        Parameters
        ----------
        X : as in `fit`.
        words : the number of words of each sentence.
        heads : the heads of all words.
        """
        arcs = arcs_of_trees(_numbers("words", words, np.int64), _numbers("heads", heads, np.int32))
        bound = self._bind(self._given(X, extras={"arcs": arcs}))
        _, _, labels = bound.core.read(*_core.argmax_all(bound.problem, self.coef_, self._threads()))
        found: NDArray[np.int32] = labels
        return found

    def _check_parameters(self) -> Any:
        check_weights(self.weights)
        default = isinstance(self.features, str) and self.features == "default"
        if not default and not isinstance(self.features, ArcTemplates):
            raise MargraveError(f"features of a labeler must be ArcTemplates, not {type(self.features).__name__}.")
        return super()._check_parameters()

    def _structure(self, examples: Examples) -> NonProjectiveTree:
        return NonProjectiveTree(single_root=False, labeled=True)

    def _completed(self, examples: Examples, outputs: Any) -> Examples:
        arcs, X = examples.extra("arcs"), examples.encoded
        if X is None:  # no examples
            return examples
        if arcs is None:
            if examples.extra("heads") is None:
                raise MargraveError("labels belong to the arcs of trees: pass heads=.")
            arcs = arcs_of_trees(X.words, flat_heads(X.words, examples.extra("heads")))
        if self.pairs_ is None:
            return examples.having(arcs=arcs)
        return examples.having(arcs=arcs, labels=self.pairs_.labels(X, arcs.left, len(outputs.names)))

    def _outputs(self, Y: Any, X: Any) -> Any:
        check_labels(Y)
        return Y

    def _log_probability(self, examples: Examples) -> NDArray[np.float64]:
        return super()._log_probability(with_heads(examples))

    def _finished(self, examples: Examples, outputs: Any, owners: Any) -> list[list[Any]]:
        return [[label for _, label in tree] for tree in outputs]

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        """The fraction of words with the right label."""
        if list(map(len, Y)) != list(map(len, predicted)):
            raise MargraveError("y must have a list of labels for each sentence, with one for each of its words.")
        pairs = [(a, b) for gold, found in zip(Y, predicted, strict=True) for a, b in zip(gold, found, strict=True)]
        return sum(bool(a == b) for a, b in pairs) / max(len(pairs), 1)


def with_heads(examples: Examples) -> Examples:
    """Examples whose outputs are pairs (head, label), from the labels of given trees."""
    heads, labels = examples.extra("heads"), examples.Y
    if heads is None:
        raise MargraveError("labels belong to the arcs of trees: pass heads=.")
    check_trees(heads, "heads")
    check_labels(labels)
    if len(heads) != len(labels):
        raise MargraveError(f"there are {len(heads)} lists of heads and {len(labels)} lists of labels.")
    for i, (tree, names) in enumerate(zip(heads, labels, strict=True)):
        if not is_list(tree):
            raise MargraveError(f"example {i}: its heads must be a list of numbers, not {type(tree).__name__}.")
        if len(tree) != len(names):
            raise MargraveError(f"example {i} has {len(tree)} heads and {len(names)} labels.")
    return replace(examples, Y=[list(zip(*of, strict=True)) for of in zip(heads, labels, strict=True)])


def _numbers(name: str, values: Any, kind: Any) -> NDArray[Any]:
    """An array of whole numbers for the core; an error if the values are something else."""
    try:
        numbers = np.asarray(values) if is_list(values) else np.zeros((0, 0))
    except ValueError:  # Its items are lists of different lengths.
        numbers = np.zeros((0, 0))
    if numbers.ndim != 1 or (numbers.size and not np.can_cast(numbers.dtype, np.int64)):
        raise MargraveError(f"{name} must be an array of whole numbers, not {quoted(values)}.")
    if ((numbers < 0) | (numbers > np.iinfo(kind).max)).any():
        raise MargraveError(f"{name} must not be negative, or too large to be stored.")
    return np.ascontiguousarray(numbers, dtype=kind)


def check_weights(weights: Any) -> None:
    """Refuse weights that attributes of arcs cannot have."""
    if not isinstance(weights, str):
        raise MargraveError(f"weights of a parser must be a name, not {type(weights).__name__}.")
    if weights in ("auto", "observed"):
        return
    if not weights.startswith("hash:"):
        raise unknown("weights", weights, ["auto", "observed", "hash:BITS"])
    table_named(weights)


def hash_bits(weights: str, words: int) -> int:
    """The number of bits to which attributes are hashed, for training data with so many words; 0 stores names."""
    if weights in ("auto", "observed"):
        return _HASH_BITS if weights == "auto" and words > _MANY_WORDS else 0
    return table_named(weights).hash_bits


def has_tags(X: Any) -> bool:
    """Whether words have a second column, which is their tag."""
    if isinstance(X, _core.ColumnTable):
        return X.width > 1
    return any(len(rows) and len(rows[0]) > 1 for rows in X[:1]) if isinstance(X, list | tuple) else True


def arcs_of_trees(words: NDArray[np.int64], heads: NDArray[np.int32]) -> Arcs:
    """The arcs of given trees: no other tree is left."""
    return Arcs(words, _core.arcs_of_trees(words, heads))
