"""Dependency trees for sentences: the parsers of 001, section 4, and 002, section 7.2, and those of second order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from margrave import _core
from margrave.binding import Bound
from margrave.checks import whole
from margrave.data import Arcs
from margrave.data.classes import label_numbers
from margrave.data.heads import crossing_words, projectivise
from margrave.errors import MargraveError, unknown
from margrave.estimators.approximate import ApproximateEstimator
from margrave.estimators.base import check_choice
from margrave.estimators.model import Given, Weights
from margrave.features import ArcTemplates, Features
from margrave.learners import Checkpoint, Ended
from margrave.learners.checkpoint import as_checkpoint
from margrave.losses import LossFamily
from margrave.maps import FeatureMap, SparseMap, TreeMap, table_named
from margrave.maps.base import Ranked
from margrave.options import check_options
from margrave.settings.dependency_parser import ParserSettings
from margrave.structures import ArcPairTree, NonProjectiveTree, ProjectiveTree, SecondOrderTree
from margrave.structures.arc_pair_tree import FALLBACKS
from margrave.structures.arc_trees import DependencyTree, check_entries, flat_heads, split_labels
from margrave.structures.pruning import TagPairs

# Trees are treated as projective if fewer of their arcs cross.
_FEW_CROSSING = 0.01
# With so many words in the training data, attributes are hashed by default: a table of their names would be large.
_MANY_WORDS, _HASH_BITS = 20_000, 22
# A pruner keeps the heads with so much of the posterior of the best head, and at most so many.
_PRUNER_RATIO, _PRUNER_HEADS = 1e-4, 10
_PRUNER_FOLDS, _PRUNER_TOL = 3, 1e-2


@dataclass(frozen=True)
class Explanation:
    """Why a word has its head: the attributes that speak for it and against another head, with their weights."""

    word: int
    head: int
    other: int
    difference: float  # of the scores of the two arcs
    attributes: Ranked  # with the weights in the score of the arc minus those in the score of the other one


class DependencyParser(ParserSettings, ApproximateEstimator):
    """Predicts the head of every word, and its label; minimises 1/2 |w|^2 + C sum_i L_i(w) over trees.

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
    labeller_, pruner_ : the models of the second stage and of the pruner, or None.

    >>> X = [[("dogs", "NOUN"), ("bark", "VERB")], [("cats", "NOUN"), ("sleep", "VERB"), ("well", "ADV")]]
    >>> parser = DependencyParser().fit(X, [[2, 0], [2, 0, 2]])
    >>> parser.predict([[("dogs", "NOUN"), ("sleep", "VERB")]])
    [[2, 0]]
    """

    _approximate_with = "order=2 and projective=False"
    _more: ClassVar[tuple[str, ...]] = (
        *("projective_", "n_crossing_", "n_long_", "lost_arcs_", "pairs_", "pruner_", "labeller_"),
    )

    projective_: bool
    lost_arcs_: float | None
    n_crossing_: int
    n_long_: int
    pairs_: TagPairs | None
    pruner_: "DependencyParser | None"
    labeller_: "DependencyParser | None"

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        allowed: Any = None,
        dev: tuple[Any, ...] | None = None,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
        observers: Sequence[Any] = (),
    ) -> Self:
        """Learn from sentences and their trees.

        Parameters
        ----------
        X : the sentences, each of them a list of rows.
        y : the heads of the words of each sentence, or pairs (head, label).
        sample_weight : one factor per sentence on its C.
        allowed : for each sentence None or, for each of its words, None or the heads that it may have; a single head is
            required.
        checkpoint : a file for the state of the learner; after an interruption, the same call continues from it. The
            labels of the second stage have another file, with .labels after the name. A pruner is learned again.
        dev, observers : as in `SequenceTagger`.
        """
        given = Given(X, y, to_structure=_allowed(allowed))
        return self._fit(given, sample_weight, self._dev_given(dev), checkpoint, observers)

    # ---- using a model -----------------------------------------------------------------------------------------------

    @property
    def labels_(self) -> list[Any]:
        """The labels that are predicted; none if the parser predicts heads alone."""
        if self.labeller_ is not None:
            return self.labeller_.labels_
        return list(self.outputs_.names) if self.labels == "joint" else []

    def predict_numbers(self, X: Any) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32] | None]:
        """Predict the best trees as arrays, for programs that take many sentences.

        The arrays are: where the words of each sentence begin, and their end; the heads of all words; and their labels
        as indices in `labels_`, or None without labels.

        Parameters
        ----------
        X : as in `fit`.
        """
        return self._best(Given(X))

    def predict(self, X: Any, *, allowed: Any = None) -> list[list[Any]]:
        """Predict the heads of the words of every sentence, or pairs (head, label).

        Parameters
        ----------
        X, allowed : as in `fit`.
        """
        trees: list[list[Any]] = self._predict(Given(X, to_structure=_allowed(allowed)))
        return trees

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
        tables: list[NDArray[np.float64]] = self._predict_marginals(Given(X, to_structure=_allowed(allowed)))
        if trees is None:
            return tables
        words = np.array([len(table) for table in tables], dtype=np.int64)
        heads = flat_heads(words, [[head_of(word) for word in tree] for tree in trees])
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
        bound = self._bind(Given([x]))
        if not isinstance(self.map_, TreeMap):
            raise MargraveError("explain needs a parser with inputs, because it names their templates.")
        trees = tree_structure(bound)
        _, heads, words, _ = trees.arcs()
        word = whole("word", word, 1, int(words.max()))
        candidates = dict(zip(heads[words == word].tolist(), np.flatnonzero(words == word).tolist(), strict=True))
        probability = self._predict_marginals(Given([x]))[0][word - 1]
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
        assert self.features_ is not None
        mapped = self.map_.map(self.features_.transform([x]), trees)
        difference: dict[str, float] = {}
        for sign, place in ((1.0, candidates[head]), (-1.0, candidates[other])):
            for name, weight in mapped.explain(0, place, self.coef_, names):
                difference[name] = difference.get(name, 0.0) + sign * weight
        order = sorted(difference.items(), key=lambda item: -abs(item[1]))
        return Explanation(word, head, other, sum(difference.values()), [(a, v) for a, v in order[:n] if v != 0])

    def _predict(self, given: Given) -> Any:
        begin, heads, labels = self._best(given)
        flat: list[Any] = heads.tolist()
        if labels is not None:
            names = self.labels_
            flat = list(zip(flat, [names[k] for k in labels.tolist()], strict=True))
        return [flat[first:last] for first, last in zip(begin[:-1].tolist(), begin[1:].tolist(), strict=True)]

    def _best(self, given: Given) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32] | None]:
        """The predicted trees: where the words of each sentence begin, heads, and numbers of labels, if any."""
        check_choice("decode", self.decode, ("best", "mbr"))
        bound = self._bind(given)
        parts = self._best_parts(bound)
        begin, heads, labels = tree_structure(bound).read(*parts)
        if self.labeller_ is not None:
            inner = replace(given, Y=None, to_structure={"arcs": arcs_of_trees(np.diff(begin), heads)})
            return self.labeller_._best(inner)
        return begin, heads, labels if tree_structure(bound).labels else None

    def _best_parts(self, bound: Bound) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        if self.decode == "best":
            return _core.argmax_all(bound.problem, self.coef_, self._threads())
        begin, _, mu = _core.marginals_all(bound.problem, self.coef_, self._temperature(), self._threads())
        return _core.argmax_all(bound.problem, None, self._threads(), theta=only_arcs(tree_structure(bound), begin, mu))

    def _predict_kbest(self, given: Given, k: int) -> list[list[tuple[float, Any]]]:
        found = super()._predict_kbest(given, k)
        trees = self._with_labels(given.X, [[tree for _, tree in best] for best in found])
        return [
            [(value, tree) for (value, _), tree in zip(best, of, strict=True)]
            for best, of in zip(found, trees, strict=True)
        ]

    def _sample(self, given: Given, n: int, random_state: int) -> list[list[Any]]:
        return self._with_labels(given.X, super()._sample(given, n, random_state))

    def _with_labels(self, X: Any, trees: list[list[Any]]) -> list[list[Any]]:
        """Several trees of each sentence with the labels of the second stage, if there is one."""
        if self.labeller_ is None:
            return trees
        repeated = [x for x, of in zip(X, trees, strict=True) for _ in of]
        flat = [tree for of in trees for tree in of]
        words = np.array([len(tree) for tree in flat], dtype=np.int64)
        inner = Given(repeated, to_structure={"arcs": arcs_of_trees(words, flat_heads(words, flat))})
        labelled = iter(self.labeller_._predict(inner))
        return [[next(labelled) for _ in of] for of in trees]

    # ---- what the base asks ------------------------------------------------------------------------------------------

    def _check_parameters(self) -> LossFamily:
        check_options(self)
        check_choice("fallback", self.fallback, FALLBACKS)
        if self.fallback != "none" and not (self.order == 2 and self.projective is False):
            raise MargraveError("a fallback needs order=2 and projective=False: all other inference is exact.")
        self._check_features()
        if self.features is None:
            for name, plain in (("order", 1), ("labels", False), ("prune", False)):
                if getattr(self, name) not in (plain, "auto"):
                    raise MargraveError(f"{name}={getattr(self, name)!r} needs inputs: pass ArcTemplates.")
        return super()._check_parameters()

    def _check_features(self) -> None:
        """Refuse features and templates that the parser would not use."""
        features = self._chosen_features()
        if features is None:
            if self.weights != "auto":
                table_named(self.weights)
            return
        named = isinstance(self.weights, str) and self.weights not in ("auto", "observed")
        if named and not self.weights.startswith("hash:"):
            raise unknown("weights", self.weights, ["auto", "observed", "hash:BITS"])
        if not isinstance(self.weights, str):
            raise MargraveError(f"weights of a parser must be a name, not {type(self.weights).__name__}.")
        if named:
            table_named(self.weights)
        terms = features.terms() if isinstance(features, ArcTemplates) else set()
        crossing = self.order == 2 and self.projective is False
        for term, used, needs in (
            ("s", self.order == 2 and not crossing, "order=2 and projective trees"),
            ("c", crossing, "order=2 and projective=False"),
            ("g", self.order == 2, "order=2"),
            ("label", self.labels == "joint", "labels='joint'"),
        ):
            if term in terms and not used:
                raise MargraveError(f"a template with {term} needs {needs}.")

    def _structure(self, given: Given) -> DependencyTree:
        projective = given.fitted.get("projective_", getattr(self, "projective_", False))
        joint = self.labels == "joint"
        if self.order == 2 and projective:
            return SecondOrderTree("grandparents", single_root=self.single_root, labelled=joint)
        if self.order == 2:
            return ArcPairTree(single_root=self.single_root, labelled=joint, fallback=self.fallback)
        kind = ProjectiveTree if projective else NonProjectiveTree
        return kind(single_root=self.single_root, labelled=joint)

    def _map(self, outputs: Any) -> FeatureMap:
        if self._chosen_features() is None:
            name = "all" if self.weights == "auto" else self.weights
            return SparseMap(table_named(name).hash_bits, "arc")
        if self.weights in ("auto", "observed"):
            bits = _HASH_BITS if self.weights == "auto" and self._many_words else 0
        else:
            bits = table_named(self.weights).hash_bits
        return TreeMap(bits, list(outputs.names) if self.labels == "joint" else [])

    def _default_features(self) -> Features:
        parts = "arcs"
        if self.order == 2:
            parts = "arc-pairs" if self.projective is False else "grandparents"
        return ArcTemplates(built_in=f"{parts}+labels" if self.labels == "joint" else parts)

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        """The fraction of words with the right head, and label if y has labels."""
        if list(map(len, Y)) != list(map(len, predicted)):
            raise MargraveError("y must have a tree for each sentence, with a head for each of its words.")
        words = [(a, b) for gold, found in zip(Y, predicted, strict=True) for a, b in zip(gold, found, strict=True)]
        if not (has_labels(Y) and has_labels(predicted)):
            words = [(head_of(gold), head_of(found)) for gold, found in words]
        right = sum(tuple(a) == tuple(b) if isinstance(a, list) else bool(a == b) for a, b in words)
        return right / max(len(words), 1)

    # ---- learning ----------------------------------------------------------------------------------------------------

    def _fit(
        self, given: Given, sample_weight: Any, dev: Given | None, checkpoint: Any, observers: Sequence[Any]
    ) -> Self:
        kept = as_checkpoint(checkpoint)
        super()._fit(given, sample_weight, dev, kept, observers)
        if self.ended_ is not Ended.INTERRUPTED:
            self._fit_labels(given, sample_weight, kept)
        return self

    def _fit_path(self, given: Given, Cs: Any, sample_weight: Any) -> list[Any]:
        models = super()._fit_path(given, Cs, sample_weight)
        for model in models:
            model._fit_labels(given, sample_weight)
        return models

    def _fit_labels(self, given: Given, sample_weight: Any, checkpoint: Checkpoint | None = None) -> None:
        """Learn the labels of the arcs of gold trees, for the second stage, which has a checkpoint of its own."""
        if self.labels in (False, "joint") or not has_labels(given.Y) or self._chosen_features() is None:
            return
        if self.labels == "auto" and len({label for tree in given.Y for _, label in tree}) < 2:
            return
        shorter, sample_weight, _ = self._without_long(replace(given, to_structure={}), sample_weight)
        heads, _ = split_labels(shorter.Y)
        words = np.array([len(tree) for tree in heads], dtype=np.int64)
        labeller = self._simpler(labels="joint", prune=False, features=ArcTemplates(built_in="labels"))
        trees = arcs_of_trees(words, flat_heads(words, heads))
        inner = replace(shorter, to_structure={"arcs": trees})
        kept = None
        if checkpoint is not None:
            kept = Checkpoint(checkpoint.path.with_name(checkpoint.path.name + ".labels"), checkpoint.every)
        try:
            self.labeller_ = labeller._fit(inner, sample_weight, None, kept, ())
        except KeyboardInterrupt:  # The trees are learned: a parser without labels is better than none.
            self.ended_, self.stop_reason_ = Ended.INTERRUPTED, "interrupted before labels were learned"
            return
        if labeller.ended_ is Ended.INTERRUPTED:
            self.ended_, self.stop_reason_ = Ended.INTERRUPTED, "interrupted while labels were learned"

    def _simpler(self, **settings: Any) -> "DependencyParser":
        """A parser of single arcs with the same settings but for these."""
        common = ("loss", "C", "learner", "weights", "max_iter", "tol", "n_jobs", "random_state", "verbose")
        chosen: dict[str, Any] = {name: getattr(self, name) for name in common}
        return DependencyParser(
            **{**chosen, "projective": False, "single_root": False, "max_words": 2**31 - 1, **settings}
        )

    def _checked(self, given: Given, sample_weight: Any) -> tuple[Given, Any]:
        labelled = has_labels(given.Y)
        if self.labels in (True, "joint") and not labelled:
            raise MargraveError(f"labels={self.labels!r} needs a pair (head, label) for every word in y.")
        given, sample_weight, n_long = self._without_long(given, sample_weight)
        trees, names = split_labels(given.Y) if labelled else (given.Y, None)
        crossing = {i: words for i, tree in enumerate(trees) if (words := _crossing(i, tree))}
        arcs, crossed = sum(map(len, trees)), sum(map(len, crossing.values()))
        projective = self.projective is True or (self.order == 2 and self.projective == "auto")
        if self.projective == "auto" and self.order == 1:
            projective = crossed < _FEW_CROSSING * arcs
        fitted: dict[str, Any] = {
            "projective_": projective,
            "n_crossing_": len(crossing),
            "n_long_": n_long,
            "lost_arcs_": None,
            "pairs_": None,
            "pruner_": None,
            "labeller_": None,
        }
        if projective and crossing:
            trees, chosen = self._projective(list(trees), list(crossing))
            names = None if names is None else [names[i] for i in chosen]
            given, sample_weight = _some(given, sample_weight, chosen)
        self._many_words = arcs > _MANY_WORDS
        given = replace(given, Y=trees, fitted=fitted)
        if self._prunes() == "posterior" and "arcs" not in given.to_structure:
            given = self._pruned_training(given)
        if self.labels == "joint" and names is not None:
            pairs = [list(zip(*of, strict=True)) for of in zip(trees, names, strict=True)]
            given = replace(given, Y=pairs)
        return given, sample_weight

    def _without_long(self, given: Given, sample_weight: Any) -> tuple[Given, Any, int]:
        """The sentences that are not too long, and how many are."""
        if isinstance(given.Y, str | bytes) or not hasattr(given.Y, "__len__"):
            raise MargraveError(f"y must be a list of lists of heads, not {type(given.Y).__name__}.")
        if not hasattr(given.X, "__len__"):
            raise MargraveError(f"X must be a list of sentences, not {type(given.X).__name__}.")
        if len(given.X) != len(given.Y):
            raise MargraveError(f"there are {len(given.X)} sentences and {len(given.Y)} trees.")
        short = [i for i, tree in enumerate(given.Y) if not hasattr(tree, "__len__") or len(tree) <= self.max_words]
        n_long = len(given.Y) - len(short)
        if n_long == 0:
            return given, sample_weight, 0
        if not short:
            raise MargraveError(f"all sentences have more than max_words={self.max_words} words.")
        return *_some(given, sample_weight, short), n_long

    def _projective(self, trees: list[Any], crossing: list[int]) -> tuple[list[Any], list[int]]:
        """The trees for a projective parser, and which sentences they belong to."""
        every = list(range(len(trees)))
        if self.crossing == "refuse":
            raise MargraveError(
                f"{len(crossing)} of {len(trees)} trees have crossing arcs, the first is example {crossing[0]}: use "
                "projective=False, or crossing='projectivise' or 'drop'."
            )
        if self.crossing == "drop":
            dropped = set(crossing)
            if len(dropped) == len(trees):
                raise MargraveError("all trees have crossing arcs, so that none is left: use projective=False.")
            kept = [i for i in every if i not in dropped]
            return [trees[i] for i in kept], kept
        for i in crossing:
            trees[i] = projectivise(trees[i])
        return trees, every

    def _prunes(self) -> str | bool:
        """What `prune` stands for."""
        if self._chosen_features() is None:
            return False
        if self.prune == "auto":
            return "lengths" if self.order == 1 else "posterior"
        return self.prune

    def _pruned_training(self, given: Given) -> Given:
        """Training data with the arcs that a simpler parser leaves, which has not seen these sentences."""
        settings = {
            "labels": False,
            "prune": "lengths",
            "tol": _PRUNER_TOL,
            "features": ArcTemplates(built_in="pruning"),
        }
        blank = self._simpler(projective=given.fitted["projective_"], single_root=self.single_root, **settings)
        X, trees, n = given.X, given.Y, len(given.Y)
        pruner = _uninterrupted(clone(blank).fit(X, trees))
        folds = [range(n)] if n < 2 * _PRUNER_FOLDS else [range(k, n, _PRUNER_FOLDS) for k in range(_PRUNER_FOLDS)]
        masks: dict[int, NDArray[np.bool_]] = {}
        lost = 0
        for fold in folds:
            outside = [i for i in range(n) if i % _PRUNER_FOLDS != fold[0]] if len(folds) > 1 else list(range(n))
            model = pruner
            if len(folds) > 1:
                model = _uninterrupted(clone(blank).fit([X[i] for i in outside], [trees[i] for i in outside]))
            words = np.array([len(trees[i]) for i in fold], dtype=np.int64)
            heads = flat_heads(words, [trees[i] for i in fold])
            left = model._left([X[i] for i in fold])
            gold = arcs_of_trees(words, heads).left
            assert gold is not None
            lost += int(np.count_nonzero(gold & ~left))
            ends = np.cumsum(words**2)
            masks.update(zip(fold, np.split(left | gold, ends[:-1]), strict=True))
        words = np.array([len(tree) for tree in trees], dtype=np.int64)
        arcs = Arcs(words, np.concatenate([masks[i] for i in range(n)]))
        fitted = {**given.fitted, "pruner_": pruner, "lost_arcs_": lost / int(words.sum())}
        return replace(given, to_structure={**given.to_structure, "arcs": arcs}, fitted=fitted)

    def _left(self, X: Any, to_structure: Mapping[str, Any] | None = None) -> NDArray[np.bool_]:
        """Which of the n * n arcs of each sentence this parser finds probable, with those of its minimum-risk tree."""
        bound = self._bind(Given(X, to_structure=to_structure or {}))
        begin, _, mu = _core.marginals_all(bound.problem, self.coef_, self._temperature(), self._threads())
        tree = _core.argmax_all(bound.problem, None, self._threads(), theta=only_arcs(tree_structure(bound), begin, mu))
        _, heads, _ = tree_structure(bound).read(*tree)
        return _core.pruned(tree_structure(bound), mu, _PRUNER_RATIO, _PRUNER_HEADS, heads, None)

    def _to_structure(self, given: Given, X: Any, outputs: Any) -> Mapping[str, Any]:
        if not isinstance(X, _core.TreeAttributes):
            return given.to_structure
        tags = self._has_tags(given)
        pairs = getattr(self, "pairs_", None)
        if "projective_" in given.fitted:  # in training
            pairs = None
            if tags and (self._prunes() == "lengths" or self.labels == "joint"):
                trees, names = split_labels(given.Y) if self.labels == "joint" else (given.Y, None)
                flat = None if names is None else label_numbers([each for of in names for each in of], outputs.names)
                pairs = TagPairs()
                pairs.learn(X, flat_heads(X.words, trees), flat)
            given.fitted["pairs_"] = pairs
        arcs = given.to_structure.get("arcs")
        if arcs is None:
            left = None
            if getattr(self, "pruner_", None) is not None and "projective_" not in given.fitted:
                left = self.pruner_._left(given.X, given.to_structure)  # type: ignore[union-attr]
            elif pairs is not None and self._prunes() == "lengths" and "allowed" not in given.to_structure:
                left = pairs.arcs(X)
            arcs = Arcs(X.words, left)
        found = {**given.to_structure, "arcs": arcs}
        if self.labels == "joint" and pairs is not None:
            found["labels"] = pairs.labels(X, arcs.left, len(outputs.names))
        return found

    def _has_tags(self, given: Given) -> bool:
        return (
            any(len(rows) and len(rows[0]) > 1 for rows in given.X[:1]) if isinstance(given.X, list | tuple) else True
        )


def _uninterrupted(pruner: DependencyParser) -> DependencyParser:
    """A pruner whose training was not stopped by Ctrl-C, which is meant for the whole training."""
    if pruner.ended_ is Ended.INTERRUPTED:
        raise KeyboardInterrupt
    return pruner


def _allowed(allowed: Any) -> dict[str, Any]:
    return {} if allowed is None else {"allowed": allowed}


def _some(given: Given, sample_weight: Any, chosen: Sequence[int]) -> tuple[Given, Any]:
    """Some of the sentences, with everything that belongs to them."""
    if sample_weight is not None:
        sample_weight = np.asarray(sample_weight)[chosen]
    allowed = given.to_structure.get("allowed")
    if allowed is not None:
        check_entries(allowed, len(given.X))
        allowed = [allowed[i] for i in chosen]
    some = replace(
        given, X=[given.X[i] for i in chosen], Y=[given.Y[i] for i in chosen], to_structure=_allowed(allowed)
    )
    return some, sample_weight


def has_labels(Y: Any) -> bool:
    """Whether trees have pairs (head, label) instead of heads."""
    first = next((tree[0] for tree in Y if hasattr(tree, "__len__") and len(tree)), 0) if hasattr(Y, "__len__") else 0
    return isinstance(first, tuple | list)


def head_of(word: Any) -> Any:
    """The head, from a head or a pair (head, label)."""
    return word[0] if isinstance(word, tuple | list) else word


def tree_structure(bound: Bound) -> _core.TreeStructure:
    """The core's structure of bound sentences."""
    assert isinstance(bound.core, _core.TreeStructure)
    return bound.core


def arcs_of_trees(words: NDArray[np.int64], heads: NDArray[np.int32]) -> Arcs:
    """The arcs of given trees: no other tree is left."""
    return Arcs(words, _core.arcs_of_trees(words, heads))


def only_arcs(trees: _core.TreeStructure, begin: NDArray[np.int64], mu: NDArray[np.float64]) -> Weights:
    """Marginals of the parts that are arcs, and 0 for the others: the expected number of right heads is their sum."""
    arcs = np.diff(trees.arcs()[0])
    if np.array_equal(arcs, np.diff(begin)):
        return mu
    is_arc = np.arange(len(mu)) - np.repeat(begin[:-1], np.diff(begin)) < np.repeat(arcs, np.diff(begin))
    return np.where(is_arc, mu, 0.0)


def _crossing(example: int, tree: Any) -> list[int]:
    try:
        return crossing_words(tree)
    except MargraveError as error:
        raise MargraveError(f"example {example}, {error}") from None
