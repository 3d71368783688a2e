"""Models that predict dependency trees."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.binding import BoundProblem
from margrave.checks import has_length, is_list, whole
from margrave.data import Arcs
from margrave.data.classes import same
from margrave.errors import MargraveError, Message, quoted, setting
from margrave.estimators.extras import LEARNING, PREDICTION, Extra
from margrave.estimators.model import Weights, check_choice
from margrave.estimators.models.approximate import ApproximateModel
from margrave.estimators.models.arc_labeler import LabelerModel, check_weights, has_tags
from margrave.examples import Examples, some
from margrave.features import ArcTemplates
from margrave.maps import TreeMap, table_named
from margrave.maps.base import Ranked
from margrave.settings.dependency_parser import ParserSettings
from margrave.structures import ArcPairTree, NonProjectiveTree, ProjectiveTree, SecondOrderTree
from margrave.structures.arc_pair_tree import FALLBACKS
from margrave.structures.arc_trees import DependencyTree, flat_heads, split_labels
from margrave.structures.pruning import TagPairs

# A pruner keeps heads whose posterior is at least this fraction of the best one, and at most this many.
_PRUNER_RATIO, _PRUNER_HEADS = 1e-4, 10


@dataclass(frozen=True)
class Explanation:
    """Why a word has its head: the attributes that speak for it and against another head, with their weights."""

    word: int
    head: int
    other: int
    difference: float  # of the scores of the two arcs
    attributes: Ranked  # with the weights in the score of the arc minus those in the score of the other one


class ParserModel(ParserSettings, ApproximateModel, saved_as="DependencyParser"):
    """Predicts the head of every word, and its label: what `load` makes of the file of a `DependencyParser`."""

    extras = (
        Extra(
            "allowed",
            (*LEARNING, *PREDICTION, "predict_proba"),
            "for each sentence None or, for each of its words, None or the heads that it may have; a single head is\n"
            "    required.",
        ),
    )
    _approximate_with = "order=2 and projective=False"
    _more: ClassVar[tuple[str, ...]] = (
        *("projective_", "n_crossing_", "n_long_", "lost_arcs_", "pairs_", "pruner_", "labeler_"),
    )

    projective_: bool
    lost_arcs_: float | None
    n_crossing_: int
    n_long_: int
    pairs_: TagPairs | None
    pruner_: "ParserModel | None"
    labeler_: LabelerModel | None

    @property
    def labels_(self) -> list[Any]:
        """The labels that are predicted; none if the parser predicts heads alone."""
        if self.labeler_ is not None:
            return self.labeler_.labels_
        return list(self.outputs_.names) if self.labels == "joint" else []

    def predict_numbers(self, X: Any) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32] | None]:
        """Predict the best trees as arrays, for programs that take many sentences.

        The arrays are: where the words of each sentence begin, and their end; the heads of all words; and their labels
        as indices in `labels_`, or None without labels.

        Parameters
        ----------
        X : as in `fit`.
        """
        return self._best(self._given(X))

    def predict_proba(
        self, X: Any, trees: Sequence[Sequence[Any]] | None = None, *, allowed: Any = None
    ) -> list[NDArray[np.float64]]:
        """Compute the probability of every head of every word: one (words, words + 1) array per sentence, root first.

        Parameters
        ----------
        X, allowed : as in `fit`.
        trees : a tree for each sentence, such as the predicted ones: heads, or pairs (head, label). The result then has
            the probability of the head of every word, one array (words,) per sentence.
        """
        tables: list[NDArray[np.float64]] = self._predict_marginals(
            self._examples("predict_proba", X, {"allowed": allowed})
        )
        if trees is None:
            return tables
        words = np.array([len(table) for table in tables], dtype=np.int64)
        heads = flat_heads(words, heads_of(trees))
        found = []
        for i, (table, of) in enumerate(zip(tables, np.split(heads, np.cumsum(words)[:-1]), strict=True)):
            for word in np.flatnonzero((of < 0) | (of > len(table)) | (of == np.arange(1, len(of) + 1))):
                raise MargraveError(f"example {i}, word {word + 1}: its head is not 0 or the number of another word.")
            found.append(table[np.arange(len(of)), of])
        return found

    def explain(self, x: Any, word: int, head: int | None = None, other: int | None = None, n: int = 10) -> Explanation:
        """Tell which attributes speak for the head of a word, and against another head.

        Only attributes of single arcs are compared.

        Parameters
        ----------
        x : one sentence.
        word : the number of the word, counted from 1.
        head : the head; None: the predicted one.
        other : the head to compare it with; None: the most probable one besides.
        n : the number of attributes, those with the largest differences.
        """
        n = whole("n", n, 1, 2**31 - 1)
        bound = self._bind(self._given([x]))
        if not isinstance(self.map_, TreeMap):
            raise MargraveError("explain needs a parser with templates, which it names.")
        trees = bound.core
        _, heads, words, _ = trees.arcs()
        word = whole("word", word, 1, int(words.max()))
        candidates = dict(zip(heads[words == word].tolist(), np.flatnonzero(words == word).tolist(), strict=True))
        probability = self._predict_marginals(self._given([x]))[0][word - 1]
        if head is None:
            predicted = self.predict([x])[0][word - 1]
            head = int(head_of(predicted))
        if other is None:
            others = [h for h in candidates if h != head]
            other = max(others, key=lambda h: float(probability[h]), default=head)
        for name, given in (("head", head), ("other", other)):
            if given not in candidates:
                raise MargraveError(f"{name} {given} is not a possible head of word {word}, or it was pruned.")
        names = [str(label) for label in self.map_.labels]
        mapped = self.map_.map(bound.examples.encoded, trees)
        difference: dict[str, float] = {}
        for sign, place in ((1.0, candidates[head]), (-1.0, candidates[other])):
            for name, weight in mapped.explain(0, place, self.coef_, names):
                difference[name] = difference.get(name, 0.0) + sign * weight
        order = sorted(difference.items(), key=lambda item: -abs(item[1]))
        return Explanation(word, head, other, sum(difference.values()), [(a, v) for a, v in order[:n] if v != 0])

    def arcs_left(self, X: Any, extras: Mapping[str, Any]) -> list[NDArray[np.bool_]]:
        """Which of the n * n arcs of each sentence this parser finds probable, with those of its minimum-risk tree.

        Parameters
        ----------
        X : as in `fit`.
        extras : what else is known of the sentences, such as `allowed`.
        """
        if not isinstance(extras, Mapping):
            raise MargraveError(f"extras must be a dictionary, not {type(extras).__name__}.")
        bound = self._bind(self._given(X, extras=extras))
        begin, _, mu = _core.marginals_all(bound.problem, self.coef_, self._temperature(), self._threads())
        theta = only_arcs(bound.core, begin, mu)
        _, heads, _ = bound.core.read(*_core.argmax_all(bound.problem, None, self._threads(), theta=theta))
        left = _core.pruned(bound.core, mu, _PRUNER_RATIO, _PRUNER_HEADS, heads, None)
        return np.split(left, np.cumsum(bound.core.words**2)[:-1])

    def _predict(self, examples: Examples) -> Any:
        begin, heads, labels = self._best(examples)
        flat: list[Any] = heads.tolist()
        if labels is not None:
            names = self.labels_
            flat = list(zip(flat, [names[k] for k in labels.tolist()], strict=True))
        return [flat[first:last] for first, last in zip(begin[:-1].tolist(), begin[1:].tolist(), strict=True)]

    def _best(self, examples: Examples) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32] | None]:
        """The predicted trees: where the words of each sentence begin, heads, and numbers of labels, if any."""
        check_choice("decode", self.decode, ("auto", "best", "mbr"))
        bound = self._bind(examples)
        begin, heads, labels = bound.core.read(*self._best_parts(bound))
        if self.labeler_ is not None:
            return begin, heads, self.labeler_.numbers(examples.X, np.diff(begin), heads)
        return begin, heads, labels if bound.core.labels else None

    def _best_parts(self, bound: BoundProblem[Any, Any]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        if self._way_to_decode() == "best":
            return _core.argmax_all(bound.problem, self.coef_, self._threads())
        begin, _, mu = _core.marginals_all(bound.problem, self.coef_, self._temperature(), self._threads())
        return _core.argmax_all(bound.problem, None, self._threads(), theta=only_arcs(bound.core, begin, mu))

    def _way_to_decode(self) -> str:
        """What `decode` stands for."""
        if self.decode != "auto":
            return self.decode
        approximate = self.order == 2 and not self.projective_
        return "mbr" if self._has_probabilities() and not approximate else "best"

    def _log_probability(self, examples: Examples) -> NDArray[np.float64]:
        """That of the heads and, if y has labels, of the labels given the heads."""
        if self.labels == "joint" or not has_labels(examples.Y):
            return super()._log_probability(examples)
        self._check_fitted()
        heads, labels = split_labels(examples.Y)
        of_heads = super()._log_probability(replace(examples, Y=heads))
        if self.labeler_ is None:
            raise MargraveError("this parser predicts no labels: pass heads alone.")
        return of_heads + self.labeler_.log_probability(examples.X, labels, heads=heads)

    def _finished(self, examples: Examples, outputs: Sequence[Any], owners: Sequence[int]) -> Any:
        """Trees with the labels of the second stage, if there is one."""
        if self.labeler_ is None:
            return outputs
        words = np.array([len(tree) for tree in outputs], dtype=np.int64)
        numbers = self.labeler_.numbers(some(examples.X, owners), words, flat_heads(words, outputs)).tolist()
        names = iter([self.labels_[k] for k in numbers])
        return [[(head, next(names)) for head in tree] for tree in outputs]

    # ---- what the base asks ------------------------------------------------------------------------------------------

    def _check_parameters(self) -> Any:
        checked = super()._check_parameters()
        check_choice("fallback", self.fallback, FALLBACKS)
        if self.fallback != "none" and not (self.order == 2 and self.projective is False):
            raise MargraveError(
                "a fallback needs ",
                setting(order=2),
                " and ",
                setting(projective=False),
                ": all other inference is exact.",
            )
        if self.features is not None:
            check_weights(self.weights)
            self._check_templates()
            return checked
        if not isinstance(self.weights, str) or self.weights != "auto":
            table_named(self.weights)
        for name, plain in (("order", 1), ("labels", False), ("prune", False)):
            if getattr(self, name) not in (plain, "auto"):
                raise MargraveError(f"{name}={quoted(getattr(self, name))} needs features: pass ArcTemplates.")
        return checked

    def _check_templates(self) -> None:
        """Refuse templates that the parser would not use."""
        terms = self.features.terms() if isinstance(self.features, ArcTemplates) else set()
        crossing = self.order == 2 and self.projective is False
        for term, used, needs in (
            ("s", self.order == 2 and not crossing, Message(setting(order=2), " and projective trees")),
            ("c", crossing, Message(setting(order=2), " and ", setting(projective=False))),
            ("g", self.order == 2, setting(order=2)),
            ("label", self.labels == "joint", setting(labels="joint")),
        ):
            if term in terms and not used:
                raise MargraveError(f"a template with {term} needs ", needs, ".")

    def _structure(self, examples: Examples) -> DependencyTree:
        joint = self.labels == "joint"
        if self.order == 2 and self.projective_:
            return SecondOrderTree("grandparents", single_root=self.single_root, labeled=joint)
        if self.order == 2:
            return ArcPairTree(single_root=self.single_root, labeled=joint, fallback=self.fallback)
        kind = ProjectiveTree if self.projective_ else NonProjectiveTree
        return kind(single_root=self.single_root, labeled=joint)

    def _prunes(self) -> str | bool:
        """What `prune` stands for."""
        if self.features is None:
            return False
        if self.prune == "auto":
            return "lengths" if self.order == 1 else "posterior"
        return self.prune

    def _prunes_lengths(self, examples: Examples) -> bool:
        known = self.pairs_ is not None and self._prunes() == "lengths"
        return known and has_tags(examples.X) and examples.extra("allowed") is None

    def _completed(self, examples: Examples, outputs: Any) -> Examples:
        X, arcs = examples.encoded, examples.extra("arcs")
        if not isinstance(X, _core.TreeAttributes):
            return examples
        if arcs is None:
            left = None
            if self.pruner_ is not None:
                left = np.concatenate([np.zeros(0, np.bool_), *self.pruner_.arcs_left(examples.X, examples.extras)])
            elif self._prunes_lengths(examples):
                assert self.pairs_ is not None
                left = self.pairs_.arcs(X)
            arcs = Arcs(X.words, left)
        if self.labels != "joint" or self.pairs_ is None:
            return examples.having(arcs=arcs)
        return examples.having(arcs=arcs, labels=self.pairs_.labels(X, arcs.left, len(outputs.names)))

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        """The fraction of words with the right head, and label if y has labels."""
        if not has_length(Y) or [len(tree) if has_length(tree) else None for tree in Y] != list(map(len, predicted)):
            raise MargraveError("y must have a tree for each sentence, with a head for each of its words.")
        words = [(a, b) for gold, found in zip(Y, predicted, strict=True) for a, b in zip(gold, found, strict=True)]
        if not (has_labels(Y) and has_labels(predicted)):
            words = [(head_of(gold), head_of(found)) for gold, found in words]
        right = sum(same_head(a, b) for a, b in words)
        return right / max(len(words), 1)


def same_head(gold: Any, found: Any) -> bool:
    """Whether the head of a word, or its pair (head, label), is the predicted one."""
    if isinstance(gold, list | tuple):
        return isinstance(found, tuple) and len(gold) == len(found) and all(map(same, gold, found))
    return same(gold, found)


def has_labels(Y: Any) -> bool:
    """Whether trees have pairs (head, label) instead of heads."""
    first = next((next(iter(tree)) for tree in Y if is_list(tree) and len(tree)), 0) if has_length(Y) else 0
    return isinstance(first, tuple | list)


def head_of(word: Any) -> Any:
    """The head, from a head or a pair (head, label)."""
    return word[0] if isinstance(word, tuple | list) and word else word


def heads_of(trees: Any) -> Any:
    """The heads of each tree; anything that is not a list of trees stays as it is."""
    if not has_length(trees):
        return trees
    return [[head_of(word) for word in tree] if has_length(tree) else tree for tree in trees]


def only_arcs(trees: _core.TreeStructure, begin: NDArray[np.int64], mu: NDArray[np.float64]) -> Weights:
    """Marginals of the parts that are arcs, and 0 for the others: the expected number of right heads is their sum."""
    arcs = np.diff(trees.arcs()[0])
    if np.array_equal(arcs, np.diff(begin)):
        return mu
    is_arc = np.arange(len(mu)) - np.repeat(begin[:-1], np.diff(begin)) < np.repeat(arcs, np.diff(begin))
    return np.where(is_arc, mu, 0.0)
