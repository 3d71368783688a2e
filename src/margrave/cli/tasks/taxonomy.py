"""Classification in a taxonomy: one example a line, a class and its features or its text."""

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from margrave.cli.reports import percent, table
from margrave.cli.streams import first_line, shown_name, source
from margrave.cli.tasks.base import Job, Model, Task
from margrave.errors import DataError, MargraveError

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from sklearn.feature_extraction.text import TfidfVectorizer

    from margrave.datasets.opening import TextSource
    from margrave.estimators import TaxonomyClassifier
    from margrave.labels.taxonomy import Taxonomy
    from margrave.losses import LossFamily


@dataclass(frozen=True)
class TaxonomyTask(Task):
    """Learns one class of a taxonomy for every example."""

    name: ClassVar[str] = "taxonomy"
    trained: ClassVar[str] = "TaxonomyClassifier"
    default_loss: ClassVar[str] = "hinge"

    taxonomy: str | None = None
    descriptions: str | None = None
    cost: str | None = None  # the estimator's, not the loss's

    def inputs(self) -> list[str | None]:
        """The taxonomy and the descriptions."""
        return [self.taxonomy, self.descriptions]

    def job(self, data: str, dev: str | None, loss: "str | LossFamily", settings: dict[str, Any]) -> Job:
        """Rows of features or of tf-idf, and the taxonomy of their classes."""
        from margrave.datasets import read_descriptions

        tree = None if self.taxonomy is None else _read_taxonomy(self.taxonomy)
        described = None if self.descriptions is None else read_descriptions(self.descriptions)
        inputs, X, y = _training_examples(data)
        dev_pair = None if dev is None else inputs.read(dev)
        if tree is None:
            tree = _taxonomy_of_names(sorted({*y, *(described or ())}))
        _check_classes(data, y, tree)
        if dev_pair is not None:
            _check_classes(str(dev), dev_pair[1], tree)
        own: dict[str, Any] = {"taxonomy": tree, "descriptions": described}
        if described is not None:
            # a description makes a class of what no example has, but of a node above other classes only the examples do
            own["classes"] = sorted({*y, *(set(described) & set(tree.leaves))})
        if self.cost is not None:
            own["cost"] = self.cost

        from margrave.estimators import TaxonomyClassifier

        classifier = TaxonomyClassifier(loss, **own, **settings)
        sizes = {"n_examples": len(y)}
        return Job(classifier, X, y, sizes, inputs.metadata(), dev_pair, lambda gold, of: _class_scores(gold, of, tree))

    @staticmethod
    def dev_summary(scores: Mapping[str, Any]) -> str:
        """Accuracy and tree loss."""
        tree_loss = _with_error(scores["tree_loss"], scores["standard_error"])
        return f"accuracy {percent(scores['accuracy'])}, tree loss {tree_loss}"

    @staticmethod
    def model(path: str, estimator: "TaxonomyClassifier") -> "TaxonomyModel":
        """The classifier, with the columns or the words of its training."""
        inputs = _inputs_from(estimator.metadata_)
        if inputs is None:
            raise DataError(path, None, "it does not say how to read examples: train it with 'margrave train'.")
        return TaxonomyModel(estimator, inputs)

    @staticmethod
    def sizes(estimator: Any) -> dict[str, Any]:
        """Classes, nodes, features and weights."""
        return {
            "n_classes": len(estimator.classes_),
            "n_nodes": len(_taxonomy_of(estimator)),
            "n_features": estimator.features_.tokens.attributes,
            "n_weights": estimator.n_weights_,
        }

    @staticmethod
    def inspection(path: str, estimator: "TaxonomyClassifier", top: int) -> dict[str, Any]:
        """The words with the largest weights for each node of a taxonomy of texts, the largest first."""
        words = estimator.metadata_.get("words")
        if top == 0 or not isinstance(words, list) or estimator.coef_.ndim != 2:
            return Task.inspection(path, estimator, top)
        nodes = _taxonomy_of(estimator)
        heaviest: dict[str, list[str]] = {}
        for node, weights in zip(estimator.output_features_, estimator.coef_, strict=True):
            if node in nodes and node not in heaviest:  # words of descriptions come after the nodes
                heaviest[node] = [words[k] for k in (-weights).argsort(kind="stable")[:top] if weights[k] > 0]
        return {**Task.inspection(path, estimator, 0), "words": heaviest}

    @staticmethod
    def inspection_summary(report: Mapping[str, Any]) -> str:
        """The words, node by node."""
        if "words" not in report:
            return ""
        rows = [(f"{node}  ", ", ".join(of)) for node, of in sorted(report["words"].items())]
        return table(rows, max(len(node) for node, _ in rows))


@dataclass(frozen=True)
class TaxonomyModel(Model):
    """A classifier, and how it makes rows from examples."""

    does: ClassVar[str] = "classifies in a taxonomy"

    classifier: "TaxonomyClassifier"
    inputs: "_Inputs"

    def predicted_lines(self, path: str, marginals: bool, **options: Any) -> Iterator[list[str]]:
        """One class an example."""
        rows, _ = self.inputs.read(path, labelled=False)
        predicted = [str(label) for label in self.classifier.predict(rows)]
        if not marginals:
            yield predicted
            return
        best = self.classifier.predict_proba(rows).max(axis=1)
        yield [f"{label}\t{probability:.4f}" for label, probability in zip(predicted, best, strict=True)]

    def evaluation(self, path: str, **options: Any) -> dict[str, Any]:
        """Accuracy, tree loss and hierarchical F1."""
        X, y = self.inputs.read(path)
        taxonomy = _taxonomy_of(self.classifier)
        _check_classes(path, y, taxonomy)
        return {"n_examples": len(y), **_class_scores(y, self.classifier.predict(X).tolist(), taxonomy)}

    def evaluation_summary(self, report: Mapping[str, Any]) -> str:
        """The same, a line each."""
        rows = [
            ("examples", f"{report['n_examples']:,}"),
            ("accuracy", percent(report["accuracy"])),
            ("tree loss", _with_error(report["tree_loss"], report["standard_error"])),
            ("hierarchical F1", percent(report["hierarchical_f1"])),
        ]
        return table(rows, 20)


# ---- data ------------------------------------------------------------------------------------------------------------


class _Inputs(NamedTuple):
    """How examples become rows of a matrix: features as they are, or the tf-idf of the words of a text."""

    n_features: int
    vectorizer: "TfidfVectorizer | None" = None

    def rows(self, examples: Any) -> "csr_array":
        """The rows of a matrix of features or of a list of texts, with the columns of the training."""
        from scipy.sparse import csr_array

        if self.vectorizer is not None:
            return csr_array(self.vectorizer.transform(examples))
        examples.resize(examples.shape[0], self.n_features)  # features that the training did not have weigh nothing
        return examples

    def read(self, path: str, *, labelled: bool = True) -> tuple["csr_array", list[Any]]:
        """The rows of a file, and their classes."""
        examples, classes = _examples(source(path), shown_name(path), self.vectorizer is not None, labelled)
        return self.rows(examples), classes

    def metadata(self) -> dict[str, Any]:
        """All of it, as JSON can hold it: no object is ever stored."""
        if self.vectorizer is None:
            return {"input": "svmlight", "n_features": self.n_features}
        words = self.vectorizer.get_feature_names_out().tolist()
        return {"input": "text", "words": words, "idf": self.vectorizer.idf_.tolist()}


def _inputs_from(metadata: Mapping[str, Any]) -> _Inputs | None:
    """What `_Inputs.metadata` made, or None if it is something else."""
    match metadata:
        case {"input": "svmlight", "n_features": int(n_features)}:
            return _Inputs(n_features)
        case {"input": "text", "words": [str(), *_] as words, "idf": [*idf]}:
            import numpy as np
            from sklearn.feature_extraction.text import TfidfVectorizer

            vectorizer = TfidfVectorizer(vocabulary=words)
            try:
                vectorizer.idf_ = np.array(idf, dtype=np.float64)
            except (TypeError, ValueError):
                return None
            return _Inputs(len(words), vectorizer)
    return None


def _training_examples(path: str) -> tuple[_Inputs, "csr_array", list[str]]:
    """How the examples of a file become rows, these rows, and the class of each."""
    first, data = first_line(path, "examples")
    text = _is_text(first)
    if text and "\t" not in first:
        raise DataError(
            shown_name(path),
            None,
            "its first line is neither a class with features (4/6/2 1:0.5) nor a class, a tab and a text.",
        )
    examples, classes = _examples(data, shown_name(path), text, True)
    if not text:
        return _Inputs(examples.shape[1]), examples, classes

    from scipy.sparse import csr_array
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer()
    try:
        rows = csr_array(vectorizer.fit_transform(examples))
    except ValueError:
        raise DataError(shown_name(path), None, "there are no words of two letters or more in its texts.") from None
    return _Inputs(rows.shape[1], vectorizer), rows, classes


def _examples(data: "TextSource", name: str, text: bool, labelled: bool) -> tuple[Any, list[Any]]:
    """A matrix of features or a list of texts, and their classes; at least one example."""
    from margrave.datasets import read_svmlight_paths, read_texts

    examples: Any
    classes: list[Any]
    if text:
        pairs = list(read_texts(data) if labelled else read_texts(data, multilabel=True))
        classes, examples = [of for of, _ in pairs], [content for _, content in pairs]
    else:
        examples, classes = read_svmlight_paths(data) if labelled else read_svmlight_paths(data, multilabel=True)
    if not classes:
        raise DataError(name, None, "it holds no examples.")
    return examples, classes


def _is_text(line: str) -> bool:
    """Whether a line is not of features, index:value, behind the class."""
    _, *pairs = line.partition("#")[0].split()
    return not pairs or not all(re.fullmatch(r"(qid|[0-9]+):\S+", pair) for pair in pairs)


# ---- the taxonomy and its scores -------------------------------------------------------------------------------------


def _taxonomy_of(estimator: Any) -> "Taxonomy":
    """The taxonomy of a fitted estimator that has one."""
    from margrave.labels.taxonomy import as_taxonomy

    return as_taxonomy(estimator.taxonomy, estimator.classes_.tolist())


def _read_taxonomy(path: str) -> "Taxonomy":
    from margrave.datasets import read_hierarchy
    from margrave.labels.taxonomy import Taxonomy

    pairs = read_hierarchy(source(path))
    try:
        return Taxonomy.from_pairs(pairs)
    except MargraveError as error:  # a cycle, which no line shows
        raise DataError(shown_name(path), None, str(error)) from error


def _taxonomy_of_names(names: Sequence[str]) -> "Taxonomy":
    """The taxonomy that names with slashes, or else with dots, are paths in; a flat one, with a warning, without."""
    from margrave.labels.taxonomy import Taxonomy

    for mark in "/.":
        if any(mark in name for name in names):
            return Taxonomy.from_names(names, mark)
    warnings.warn("the classes are no paths, and there is no --taxonomy: each stands alone.", stacklevel=2)
    return Taxonomy(dict.fromkeys(names))


def _check_classes(path: str, names: Iterable[str], taxonomy: "Taxonomy") -> None:
    for name in names:
        if name not in taxonomy:
            raise DataError(shown_name(path), None, f"the taxonomy has no class {name!r}.")


def _class_scores(gold: Sequence[str], predicted: Sequence[str], taxonomy: "Taxonomy") -> dict[str, float | None]:
    from margrave.metrics import hierarchical_scores, tree_scores

    scores = tree_scores(gold, predicted, taxonomy)
    hierarchical = hierarchical_scores([{name} for name in gold], [{name} for name in predicted], taxonomy)
    return {
        "accuracy": scores.accuracy,
        "tree_loss": scores.tree_loss,
        "standard_error": scores.standard_error if scores.examples > 1 else None,
        "hierarchical_f1": hierarchical.f1,
    }


def _with_error(mean: float, standard_error: float | None) -> str:
    return f"{mean:.4f}" + ("" if standard_error is None else f" (standard error {standard_error:.4f})")
