"""Classes with features of their own: places in a taxonomy, descriptions, similarities (003, sections 4.2 and 5.1)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.errors import MargraveError, unknown
from margrave.estimators.base import check_classes, label_numbers
from margrave.estimators.structured_classifier import StructuredClassifier
from margrave.features.outputs import (
    OutputMatrix,
    arrays_of,
    class_ancestors,
    class_similarity,
    class_words,
    side_by_side,
)
from margrave.features.table import AttributeTable
from margrave.labels import Taxonomy
from margrave.labels.taxonomy import as_taxonomy
from margrave.learners import Learner
from margrave.losses import Cost, LossFamily
from margrave.structures import Multiclass

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_COSTS = ("tree", "zero-one")


class TaxonomyClassifier(StructuredClassifier):
    """Predicts a class from what it shares with others: a weight vector for each output feature instead of each class.

    `taxonomy`: a `Taxonomy`, the parents of its nodes, or the separator of class names such as a.b.c; every node above
    a class is a feature of it, of size 1 or as `node_weights` says; so is the class itself, also without a taxonomy.
    `descriptions`: a text for each class; its words' tf-idf are features, too. `similarity`: inner products of the
    features of the sorted classes, a positive semidefinite matrix; without a taxonomy it has the classes' own place.
    What is given adds up; nothing given is a `StructuredClassifier`.

    `cost`: "tree", the height of the first common ancestor (`Taxonomy.tree_loss`; without a taxonomy every mistake
    costs one), "zero-one", a number for each class or a matrix over the sorted classes. `classes`: all that may be
    predicted, also those without an example; learning compares the examples' classes only, and what it learns of shared
    features speaks for the others. Other parameters are those of `StructuredClassifier`.

    >>> model = TaxonomyClassifier(taxonomy=".")
    >>> model.fit([["meow"], ["bark"], ["swim"]], ["pet.cat", "pet.dog", "fish.carp"]).predict([["bark"]])
    array(['pet.dog'], dtype='<U9')
    """

    output_matrix_: "csr_array"  # (classes, output features)
    output_features_: list[Any]  # what they are called: nodes, words, eigenvectors

    def __init__(
        self,
        loss: str | LossFamily = "hinge",
        *,
        taxonomy: Taxonomy | Mapping[Any, Any] | Sequence[Any] | str | None = None,
        node_weights: Mapping[Any, float] | None = None,
        descriptions: Mapping[Any, str] | None = None,
        similarity: Any = None,
        cost: Cost = "tree",
        classes: Sequence[Any] | None = None,
        C: float = 1.0,
        learner: str | Learner = "auto",
        features: str | AttributeTable = "all",
        max_iter: int | None = None,
        tol: float = 1e-4,
        n_threads: int | None = None,
        seed: int = 0,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            loss,
            C=C,
            learner=learner,
            features=features,
            max_iter=max_iter,
            tol=tol,
            n_threads=n_threads,
            seed=seed,
            verbose=verbose,
        )
        self.taxonomy = taxonomy
        self.node_weights = node_weights
        self.descriptions = descriptions
        self.similarity = similarity
        self.cost = cost
        self.classes = classes

    def _settings(self) -> tuple[LossFamily, AttributeTable]:
        loss, features = super()._settings()
        if not isinstance(loss.cost, str) or loss.cost != "hamming":
            raise MargraveError(
                "the cost of a TaxonomyClassifier is its own parameter: pass cost=, and a loss without."
            )
        if isinstance(self.cost, str) and self.cost not in _COSTS:
            raise unknown("cost", self.cost, _COSTS)
        if self.node_weights is not None and self.taxonomy is None and self.similarity is not None:
            raise MargraveError("node_weights are weights of the nodes of a taxonomy: pass taxonomy= too.")
        return loss, features

    def _learning_problem(
        self, X: Any, y: Any, loss: LossFamily, features: AttributeTable
    ) -> tuple[_core.Problem, NDArray[Any]]:
        X, labels, seen = self._labelled(X, y)
        classes = self._all_classes(seen)
        names = classes.tolist()
        known = label_numbers(seen.tolist(), classes)
        problem = Multiclass().bind(
            X,
            label_numbers(labels, seen),
            features=features,
            classes=seen.tolist(),
            loss=LossFamily(cost=self._costs(names)[np.ix_(known, known)]),
            output=self._output(names).matrix[known],
        )
        return problem, classes

    def _all_classes(self, seen: NDArray[Any]) -> NDArray[Any]:
        if self.classes is None:
            return seen
        if isinstance(self.classes, str | bytes):
            raise MargraveError(f"classes must be a list of classes, and it is {self.classes!r}.")
        classes = check_classes(list(self.classes))
        for name in seen.tolist():
            if name not in classes.tolist():
                raise MargraveError(f"an example has the class {name!r}, which is not among classes=.")
        return classes

    def _costs(self, classes: list[Any]) -> NDArray[np.float64]:
        if isinstance(self.cost, str) and self.cost == "tree":
            return as_taxonomy(self.taxonomy, classes).tree_losses(classes)
        return LossFamily(cost=self.cost).cost_matrix(classes)

    def _output(self, classes: list[Any]) -> OutputMatrix:
        blocks = []
        if self.taxonomy is not None or self.similarity is None:
            blocks.append(class_ancestors(as_taxonomy(self.taxonomy, classes), classes, self.node_weights))
        if self.descriptions is not None:
            blocks.append(class_words(self.descriptions, classes))
        if self.similarity is not None:
            blocks.append(class_similarity(self.similarity, classes))
        return side_by_side(blocks)

    def _set_fitted(self, X: Any, classes: NDArray[Any], features: AttributeTable, w: NDArray[np.float64]) -> None:
        output = self._output(classes.tolist())
        self.output_matrix_, self.output_features_ = output.matrix, output.names
        super()._set_fitted(X, classes, features, w)

    def _unlabelled(self, X: Any) -> _core.Problem:
        return Multiclass().bind(X, features=self.features_, classes=self.classes_.tolist(), output=self.output_matrix_)

    # ---- model files -------------------------------------------------------------------------------------------------

    def _structure_settings(self) -> dict[str, Any]:
        return {
            "taxonomy": taxonomy_to_file(self.taxonomy),
            "node_weights": None
            if self.node_weights is None
            else [[k, float(v)] for k, v in self.node_weights.items()],
            "descriptions": None if self.descriptions is None else [list(pair) for pair in self.descriptions.items()],
            "classes": None if self.classes is None else self.classes_.tolist(),
            "cost": self.cost if isinstance(self.cost, str) else None,
            "output_features": self.output_features_,
        }

    def _structure_arrays(self) -> dict[str, NDArray[Any]]:
        arrays: dict[str, NDArray[Any]] = dict(zip(_OUTPUT, arrays_of(self.output_matrix_), strict=True))
        if self.similarity is not None:
            arrays["similarity"] = np.asarray(self.similarity, dtype=np.float64)
        if not isinstance(self.cost, str):
            arrays["cost"] = self._costs(self.classes_.tolist())
        return arrays

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        stored = header["structure"]
        names = stored.pop("output_features")
        header["structure"] = {
            "taxonomy": taxonomy_from_file(stored.pop("taxonomy")),
            "classes": stored.pop("classes"),
            "similarity": arrays.get("similarity"),
            "cost": arrays["cost"] if stored["cost"] is None else stored["cost"],
            **{name: None if stored[name] is None else dict(stored[name]) for name in ("node_weights", "descriptions")},
        }
        header["output_features"] = list(names)
        return super()._from_file(header, arrays)

    def _set_structure(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        from scipy.sparse import csr_array

        begin, column, value = (arrays[name] for name in _OUTPUT)
        self.output_features_ = header["output_features"]
        shape = (len(self.classes_), len(self.output_features_))
        self.output_matrix_ = csr_array((value, column, begin), shape=shape)
        self.output_matrix_.check_format()
        self._settings()


_OUTPUT = ("output.begin", "output.column", "output.value")


def taxonomy_to_file(taxonomy: Any) -> Any:
    """A taxonomy as a file keeps it: a separator, or nodes with their parents."""
    if taxonomy is None or isinstance(taxonomy, str):
        return taxonomy
    known = as_taxonomy(taxonomy, [])
    return [[node, list(known.parents(node))] for node in known]


def taxonomy_from_file(stored: Any) -> Any:
    """The taxonomy that `taxonomy_to_file` was given."""
    return stored if stored is None or isinstance(stored, str) else Taxonomy(dict(stored))
