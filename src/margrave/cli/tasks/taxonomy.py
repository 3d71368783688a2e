"""Classification in a taxonomy: one example per line, its class and its features or its text."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from margrave.cli.examples import (
    check_classes,
    examples_like,
    predicted_classes,
    read_taxonomy,
    taxonomy_of_names,
    training_examples,
)
from margrave.cli.kernels import KernelOptions
from margrave.cli.label_costs import LabelCostOptions
from margrave.cli.reports import percent, table
from margrave.cli.tasks.base import Job, Model, Task
from margrave.errors import DataError
from margrave.options import option
from margrave.settings.classifiers import TaxonomySettings

if TYPE_CHECKING:
    from margrave import TaxonomyClassifier
    from margrave.data.taxonomy import Taxonomy


@dataclass(eq=False, repr=False)
class TaxonomyTask(KernelOptions, LabelCostOptions, Task):
    """Learns one class of a taxonomy for every example."""

    name = "taxonomy"
    summary = "one class of a taxonomy for each example"
    estimator = "margrave.estimators:TaxonomyClassifier"
    settings = TaxonomySettings
    own_cost = True
    data = (
        "Taxonomy files have one example per line: the class and its features (svmlight), or the class, a tab and the "
        "text, whose words are weighted by tf-idf. Classes are paths (4/6/2), have dots (comp.sys.mac), or are names "
        "of the --taxonomy. A wrong class costs the height of the first common ancestor of both classes."
    )
    sample = "    4/6/2  1:0.5 7:2 12:1\n    comp.sys.mac<TAB>The drive spins up, and then nothing happens."
    examples = (
        "margrave train --task taxonomy train.svm -o images.margrave --taxonomy hierarchy.txt",
        "margrave train --task taxonomy posts.txt -o posts.margrave --dev dev.txt -C 10",
        "margrave train --task taxonomy posts.txt -o posts.margrave --rescale slack --slack 2",
        "margrave train --task taxonomy posts.txt -o posts.margrave --cost-matrix costs.tsv",
    )
    predicts = (
        "one class per line. The class may be missing from the input: features alone, or a text without a tab. "
        "Features and words that the training data did not contain are ignored."
    )
    measures = (
        "accuracy, the mean tree loss (the height of the first common ancestor of the correct and the predicted class) "
        "and the hierarchical F1, that of the nodes on the paths to both classes."
    )

    chosen: TaxonomySettings
    taxonomy: str | None = option(
        None,
        "The taxonomy: lines with a parent, a tab and a child, or with one node each.",
        if_none="the names of the classes are paths",
        metavar="FILE",
    )
    descriptions: str | None = option(
        None,
        "Texts that describe classes, including new ones: one class per line, a tab, and the text.",
        metavar="FILE",
    )
    cost: str | None = option(
        None,
        "Cost of a wrong class, in a loss with a cost: tree or zero-one.",
        if_none="tree, or zero-one with --learner lp",
    )

    def __post_init__(self) -> None:
        self.chosen_kernel()

    def given_cost(self) -> Any:
        """The cost by name or by classes."""
        return self.chosen_cost(self.cost)

    def job(self, data: str, dev: str | None) -> Job:
        """Features or texts, and the taxonomy of their classes."""
        from margrave.data.taxonomy import Taxonomy
        from margrave.datasets import read_descriptions

        tree = None if self.taxonomy is None else read_taxonomy(self.taxonomy)
        described = None if self.descriptions is None else read_descriptions(self.descriptions)
        features, X, y = training_examples(data, multilabel=False)
        dev_pair = None if dev is None else examples_like(features, dev, multilabel=False)
        if tree is None:
            names = sorted({*y, *(described or ())})
            tree = taxonomy_of_names(names)
            if tree is None:
                warnings.warn(
                    "the names of the classes are not paths, and there is no --taxonomy: classes are unrelated.",
                    stacklevel=2,
                )
                tree = Taxonomy(dict.fromkeys(names))
        check_classes(data, y, tree)
        if dev is not None and dev_pair is not None:
            check_classes(dev, dev_pair[1], tree)
        own: dict[str, Any] = {"taxonomy": tree, "descriptions": described, "features": features}
        if described is not None:
            # A description alone makes a class of a leaf; nodes above other classes are classes only by their examples.
            own["classes"] = sorted({*y, *(set(described) & set(tree.leaves))})
        cost = self.given_cost()
        if cost is not None:
            own["cost"] = cost
        kernel = self.chosen_kernel()
        if kernel is not None:
            own["kernel"] = kernel
        classifier = self.estimator_class()(**self.parameters(), **own)
        sizes = {"n_examples": len(y)}
        return Job(classifier, X, y, sizes, {}, dev_pair, lambda gold, found: _class_scores(gold, found.tolist(), tree))

    @staticmethod
    def dev_summary(scores: Mapping[str, Any]) -> str:
        """Accuracy and tree loss."""
        tree_loss = _with_error(scores["tree_loss"], scores["standard_error"])
        return f"accuracy {percent(scores['accuracy'])}, tree loss {tree_loss}"

    @staticmethod
    def model(path: str, estimator: "TaxonomyClassifier") -> "TaxonomyModel":
        """The classifier with its inputs."""
        if estimator.features_ is None:
            raise DataError(path, None, "it does not say how to read examples: train it with 'margrave train'.")
        return TaxonomyModel(estimator)

    @staticmethod
    def sizes(estimator: Any) -> dict[str, Any]:
        """Classes, nodes, features and weights."""
        classes, *rest = Task.sizes(estimator).items()
        return dict([classes, ("n_nodes", len(_taxonomy_of(estimator))), *rest])

    @staticmethod
    def inspection(estimator: "TaxonomyClassifier", top: int, sign: str | None = None) -> dict[str, Any]:
        """The top features of each node; for texts, also the words alone."""
        from margrave.features import TfIdf

        report = Task.inspection(estimator, top, sign)
        if top and isinstance(estimator.features_, TfIdf):
            nodes = _taxonomy_of(estimator)  # words of descriptions are output features, too
            report["words"] = {node: [word for word, _ in of] for node, of in report["top"].items() if node in nodes}
        return report

    @staticmethod
    def inspection_summary(report: Mapping[str, Any]) -> str:
        """The words, node by node."""
        if "words" not in report:
            return Task.inspection_summary(report)
        rows = [(f"{node}  ", ", ".join(of)) for node, of in sorted(report["words"].items())]
        return table(rows, max(len(node) for node, _ in rows))


@dataclass(eq=False, repr=False)
class TaxonomyModel(Model):
    """A classifier of files."""

    does: ClassVar[str] = "classifies in a taxonomy"

    classifier: "TaxonomyClassifier"

    def predicted_lines(self, path: str, marginals: bool, **options: Any) -> Iterator[list[str]]:
        """One class per example."""
        yield predicted_classes(self.classifier, path, marginals)

    def evaluation(self, path: str, **options: Any) -> dict[str, Any]:
        """Accuracy, tree loss and hierarchical F1."""
        X, y = examples_like(self.classifier.features_, path, multilabel=False)
        taxonomy = _taxonomy_of(self.classifier)
        check_classes(path, y, taxonomy)
        return {"n_examples": len(y), **_class_scores(y, self.classifier.predict(X).tolist(), taxonomy)}

    def evaluation_summary(self, report: Mapping[str, Any]) -> str:
        """The same, one score per line."""
        rows = [
            ("examples", f"{report['n_examples']:,}"),
            ("accuracy", percent(report["accuracy"])),
            ("tree loss", _with_error(report["tree_loss"], report["standard_error"])),
            ("hierarchical F1", percent(report["hierarchical_f1"])),
        ]
        return table(rows, 20)


def _taxonomy_of(estimator: Any) -> "Taxonomy":
    """The taxonomy of a fitted estimator that has one."""
    from margrave.data.taxonomy import as_taxonomy

    return as_taxonomy(estimator.taxonomy, estimator.classes_.tolist())


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
