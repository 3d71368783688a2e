"""Classification: one example per line, its class and its features or its text."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from margrave.cli.examples import examples_like, predicted_classes, training_examples
from margrave.cli.kernels import KernelOptions
from margrave.cli.label_costs import LabelCostOptions
from margrave.cli.reports import percent, table
from margrave.cli.tasks.base import Job, Model, Task
from margrave.errors import DataError, MargraveError
from margrave.options import option
from margrave.settings.classifiers import ClassifierSettings

if TYPE_CHECKING:
    from margrave import LinearClassifier


@dataclass(eq=False, repr=False)
class Classify(KernelOptions, LabelCostOptions, Task):
    """Learns one class for every example."""

    name = "classify"
    summary = "one class for each example"
    estimator = "margrave.estimators:LinearClassifier"
    settings = ClassifierSettings
    fields = ("weights",)
    data = (
        "Files have one example per line: the class and its features (svmlight), or the class, a tab and the text, "
        "whose words are weighted by tf-idf."
    )
    sample = "    spam  1:0.5 7:2 12:1\n    ham<TAB>Lunch at noon?"
    examples = (
        "margrave train --task classify train.svm -o digits.margrave",
        "margrave train --task classify mails.txt -o mails.margrave --dev dev.txt -C 10",
        "margrave train --task classify mails.txt -o mails.margrave --loss hinge --label-cost ham=5",
        "margrave train --task classify train.svm -o digits.margrave --loss hinge --cost-matrix costs.tsv",
    )
    predicts = (
        "one class per line. The class may be missing from the input: features alone, or a text without a tab. "
        "Features and words that the training data did not contain are ignored."
    )
    measures = "accuracy, and precision, recall and F1 of each class."

    chosen: ClassifierSettings
    cost: str | None = option(None, "Cost of a wrong class, in a loss with a cost: zero-one.", if_none="zero-one")

    def __post_init__(self) -> None:
        from margrave.maps.table import table_named

        table_named(self.chosen.weights)
        if "weights" in self.given and self.kernel is not None:
            raise MargraveError("--weights and --kernel exclude each other: give one of them.")
        self.chosen_kernel()

    def given_cost(self) -> Any:
        """The cost by name or by classes."""
        return self.chosen_cost(self.cost)

    def job(self, data: str, dev: str | None) -> Job:
        """Features or texts, and their classes."""
        features, X, y = training_examples(data, multilabel=False)
        dev_pair = None if dev is None else examples_like(features, dev, multilabel=False)
        classifier = self.estimator_class()(**self.parameters(), features=features, kernel=self.chosen_kernel())
        return Job(classifier, X, y, {"n_examples": len(y)}, {}, dev_pair, _accuracy, {"dev": dev_pair})

    @staticmethod
    def dev_summary(scores: Mapping[str, Any]) -> str:
        """Accuracy."""
        return f"accuracy {percent(scores['accuracy'])}"

    @staticmethod
    def model(path: str, estimator: "LinearClassifier") -> "ClassifyModel":
        """The classifier with its inputs."""
        if estimator.features_ is None:
            raise DataError(path, None, "it does not say how to read examples: train it with 'margrave train'.")
        return ClassifyModel(estimator)


@dataclass(eq=False, repr=False)
class ClassifyModel(Model):
    """A classifier of files."""

    does: ClassVar[str] = "classifies"

    classifier: "LinearClassifier"

    def predicted_lines(self, path: str, marginals: bool, **options: Any) -> Iterator[list[str]]:
        """One class per example."""
        yield predicted_classes(self.classifier, path, marginals)

    def evaluation(self, path: str, **options: Any) -> dict[str, Any]:
        """Accuracy, and the scores of each class."""
        from margrave.metrics import label_scores

        X, y = examples_like(self.classifier.features_, path, multilabel=False)
        predicted = self.classifier.predict(X).tolist()
        classes = {}
        for name in sorted({*y, *predicted}):
            gold, found = ([{name} & {label} for label in labels] for labels in (y, predicted))
            of = label_scores(gold, found)
            classes[name] = {"gold": y.count(name), "precision": of.precision, "recall": of.recall, "f1": of.f1}
        return {"n_examples": len(y), **_accuracy(y, predicted), "classes": classes}

    def evaluation_summary(self, report: Mapping[str, Any]) -> str:
        """Accuracy, and a table of the classes."""
        scores = table([("examples", f"{report['n_examples']:,}"), ("accuracy", percent(report["accuracy"]))], 20)
        width = max(map(len, report["classes"]))
        lines = [" " * width + "".join(f"{name:>11}" for name in ("gold", "precision", "recall", "F1"))]
        for name, of in report["classes"].items():
            ratios = "".join(f"{percent(of[each]):>11}" for each in ("precision", "recall", "f1"))
            lines.append(f"{name:<{width}}{of['gold']:>11,}{ratios}")
        return "\n".join([scores, "", *lines])


def _accuracy(gold: Any, predicted: Any) -> dict[str, float | None]:
    right = [label == found for label, found in zip(gold, predicted, strict=True)]
    return {"accuracy": sum(right) / len(right)}
