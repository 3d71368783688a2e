"""Dependency trees for sentences, projective and crossing, of first and second order."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from margrave.checks import has_length
from margrave.data import Arcs
from margrave.data.classes import label_numbers, labels_in
from margrave.data.heads import crossing_words, projectivize
from margrave.errors import MargraveError, quoted, setting
from margrave.estimators.arc_labeler import ArcLabeler
from margrave.estimators.base import StructuredEstimator
from margrave.estimators.models.arc_labeler import arcs_of_trees, has_tags, hash_bits
from margrave.estimators.models.dependency_parser import ParserModel, has_labels
from margrave.estimators.pruning import cross_pruned
from margrave.examples import Examples
from margrave.features import ArcTemplates, Features
from margrave.learners import Checkpoint, Ended
from margrave.maps import FeatureMap, SparseMap, TreeMap, table_named
from margrave.structures.arc_trees import flat_heads, split_labels
from margrave.structures.pruning import TagPairs

# Trees are treated as projective if fewer of their arcs cross.
_FEW_CROSSING = 0.01
_PRUNER_FOLDS, _PRUNER_TOL = 3, 1e-2
# What the models of other stages share with the parser.
_COMMON = ("loss", "C", "learner", "weights", "max_iter", "max_seconds", "n_jobs", "random_state", "verbose")


class DependencyParser(ParserModel, StructuredEstimator):
    """Predicts the head of every word, and its label; minimizes 1/2 |w|^2 + C sum_i L_i(w) over trees.

    A sentence of X has one row of columns per word: the form, the tag, and lists of morphological features such as
    Case=Nom|Number=Sing. y has the head of every word, 0 for the root and otherwise the number of a word, counted from
    1; or pairs (head, label).

    Attributes
    ----------
    coef_ : the weights of the attributes.
    projective_ : whether the trees are projective.
    n_crossing_ : the number of training sentences with crossing arcs.
    n_long_ : the number of training sentences that were left out because of `max_words`.
    lost_arcs_ : the share of gold arcs of the training data that pruning by posteriors would lose; None without it.
    labeler_, pruner_ : the models of the second stage and of the pruner, or None.

    >>> X = [[("dogs", "NOUN"), ("bark", "VERB")], [("cats", "NOUN"), ("sleep", "VERB"), ("well", "ADV")]]
    >>> parser = DependencyParser().fit(X, [[2, 0], [2, 0, 2]])
    >>> parser.predict([[("dogs", "NOUN"), ("sleep", "VERB")]])
    [[2, 0]]
    """

    n_words_: int  # of the training data; it is not saved

    def _map(self, outputs: Any) -> FeatureMap[Any, Any]:
        if self._chosen_features() is None:
            name = "all" if self.weights == "auto" else self.weights
            return SparseMap(table_named(name).hash_bits, "arc")
        labels = list(outputs.names) if self.labels == "joint" else []
        return TreeMap(hash_bits(self.weights, self.n_words_), labels)

    def _default_features(self) -> Features:
        parts = "arcs"
        if self.order == 2:
            parts = "arc-pairs" if self.projective is False else "grandparents"
        return ArcTemplates(built_in=f"{parts}+labels" if self.labels == "joint" else parts)

    # ---- preparing trees ---------------------------------------------------------------------------------------------

    def _prepared(self, examples: Examples) -> tuple[Examples, dict[str, Any]]:
        labeled = has_labels(examples.Y)
        if self.labels in (True, "joint") and not labeled:
            raise MargraveError(f"labels={quoted(self.labels)} needs a pair (head, label) for every word in y.")
        examples, n_long = self._without_long(examples)
        trees, names = split_labels(examples.Y) if labeled else (examples.Y, None)
        crossing = {i: words for i, tree in enumerate(trees) if (words := _crossing(i, tree))}
        weights = examples.extra("sample_weight")
        counts = [1.0] * len(trees) if weights is None else weights.tolist()
        arcs = sum(times * len(tree) for times, tree in zip(counts, trees, strict=True))
        crossed = sum(counts[i] * len(words) for i, words in crossing.items())
        projective = self.projective is True or (self.order == 2 and self.projective == "auto")
        if self.projective == "auto" and self.order == 1:
            projective = crossed < _FEW_CROSSING * arcs
        learned: dict[str, Any] = {
            "projective_": projective,
            "n_crossing_": len(crossing),
            "n_long_": n_long,
            "n_words_": sum(map(len, trees)),
            "lost_arcs_": None,
            "pairs_": None,
            "pruner_": None,
            "labeler_": None,
        }
        if projective and crossing:
            trees, chosen = self._projective(list(trees), list(crossing))
            names = None if names is None else [names[i] for i in chosen]
            examples = examples.some(chosen)
        examples = replace(examples, Y=trees)
        if self._prunes() == "posterior":
            examples, found = self._pruned(examples, projective)
            learned |= found
        if self.labels == "joint" and names is not None:
            pairs = [list(zip(*of, strict=True)) for of in zip(trees, names, strict=True)]
            examples = replace(examples, Y=pairs)
        return examples, learned

    def _without_long(self, examples: Examples) -> tuple[Examples, int]:
        """The sentences that are not too long, and how many are."""
        X, Y = examples.X, examples.Y
        if not has_length(Y):
            raise MargraveError(f"y must be a list of lists of heads, not {type(Y).__name__}.")
        if not has_length(X):
            raise MargraveError(f"X must be a list of sentences, not {type(X).__name__}.")
        if len(X) != len(Y):
            raise MargraveError(f"there are {len(X)} sentences and {len(Y)} trees.")
        short = [i for i, tree in enumerate(Y) if not has_length(tree) or len(tree) <= self.max_words]
        n_long = len(Y) - len(short)
        if n_long == 0:
            return examples, 0
        if not short:
            raise MargraveError(f"all sentences have more than max_words={self.max_words} words.")
        return examples.some(short), n_long

    def _projective(self, trees: list[Any], crossing: list[int]) -> tuple[list[Any], list[int]]:
        """The trees for a projective parser, and which sentences they belong to."""
        every = list(range(len(trees)))
        if self.crossing == "refuse":
            raise MargraveError(
                f"{len(crossing)} of {len(trees)} trees have crossing arcs, the first is example {crossing[0]}: use ",
                setting(projective=False),
                ", or ",
                setting(crossing=("projectivize", "drop")),
                ".",
            )
        if self.crossing == "drop":
            dropped = set(crossing)
            if len(dropped) == len(trees):
                raise MargraveError(
                    "all trees have crossing arcs, so none is left: use ", setting(projective=False), "."
                )
            kept = [i for i in every if i not in dropped]
            return [trees[i] for i in kept], kept
        for i in crossing:
            trees[i] = projectivize(trees[i])
        return trees, every

    def _pruned(self, examples: Examples, projective: bool) -> tuple[Examples, dict[str, Any]]:
        """Training data with the arcs that a simpler parser leaves, which has not seen these sentences."""
        blank = DependencyParser(
            **{name: getattr(self, name) for name in _COMMON},
            tol=_PRUNER_TOL,
            projective=projective,
            single_root=self.single_root,
            max_words=2**31 - 1,
            labels=False,
            prune="lengths",
            features=ArcTemplates(built_in="pruning"),
        )
        weights = examples.extra("sample_weight")
        pruner, left = cross_pruned(
            blank, examples.X, examples.Y, weights, _PRUNER_FOLDS, lambda model, some: model.arcs_left(some, {})
        )
        words = np.array([len(tree) for tree in examples.Y], dtype=np.int64)
        gold = arcs_of_trees(words, flat_heads(words, examples.Y)).left
        assert gold is not None
        found = np.concatenate(left)
        of_sentence = np.ones(len(words)) if weights is None else weights
        lost = float((gold & ~found) @ np.repeat(of_sentence, words**2) / (of_sentence @ words))
        return examples.having(arcs=Arcs(words, found | gold)), {"pruner_": pruner, "lost_arcs_": lost}

    def _learned(self, examples: Examples, outputs: Any) -> dict[str, Any]:
        by_length = self._prunes() == "lengths" and has_tags(examples.X)
        if self._chosen_features() is None or not (by_length or self.labels == "joint"):
            return {}
        trees, names = split_labels(examples.Y) if self.labels == "joint" else (examples.Y, None)
        labels = None if names is None else label_numbers([each for of in names for each in of], outputs.names)
        pairs, X = TagPairs(), examples.encoded
        pairs.learn(X, flat_heads(X.words, trees), labels)
        return {"pairs_": pairs}

    # ---- labels ------------------------------------------------------------------------------------------------------

    def _fit(
        self, examples: Examples, dev: Examples | None, checkpoint: Checkpoint | None, observers: Sequence[Any]
    ) -> Self:
        super()._fit(replace(examples), dev, checkpoint, observers)
        if self.ended_ is not Ended.INTERRUPTED:
            self._fit_labels(examples, checkpoint)
        return self

    def _fit_path(self, examples: Examples, Cs: Any) -> list[Any]:
        models = super()._fit_path(replace(examples), Cs)
        for model in models:
            model._fit_labels(examples)
        return models

    def _fit_labels(self, examples: Examples, checkpoint: Checkpoint | None = None) -> None:
        """Learn the labels of the arcs of gold trees, for the second stage, which has a checkpoint of its own."""
        if self.labels in (False, "joint") or not has_labels(examples.Y) or self._chosen_features() is None:
            return
        if self.labels == "auto" and len(labels_in(split_labels(examples.Y)[1])) < 2:
            return
        shorter, _ = self._without_long(examples)
        heads, labels = split_labels(shorter.Y)
        labeler = ArcLabeler(**{name: getattr(self, name) for name in _COMMON}, tol=self.tol)
        kept = None
        if checkpoint is not None:
            kept = Checkpoint(checkpoint.path.with_name(checkpoint.path.name + ".labels"), checkpoint.every)
        weight = shorter.extra("sample_weight")
        try:
            self.labeler_ = labeler.fit(shorter.X, labels, weight, heads=heads, checkpoint=kept)
        except KeyboardInterrupt:  # The trees are learned: a parser without labels is better than none.
            self.ended_, self.stop_reason_ = Ended.INTERRUPTED, "interrupted before labels were learned"
            return
        if labeler.ended_ is Ended.INTERRUPTED:
            self.ended_, self.stop_reason_ = Ended.INTERRUPTED, "interrupted while labels were learned"


def _crossing(example: int, tree: Any) -> list[int]:
    try:
        return crossing_words(tree)
    except MargraveError as error:
        raise MargraveError(f"example {example}, {error}") from None
