"""Several classes per example, of a hierarchy or unrelated: one example per line, its classes and features or text."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from margrave.cli.examples import (
    check_classes,
    examples_like,
    read_taxonomy,
    taxonomy_of_names,
    training_examples,
)
from margrave.cli.kernels import KernelOptions
from margrave.cli.reports import percent, table
from margrave.cli.streams import display_name, naming, source
from margrave.cli.tasks.base import Job, Model, Task
from margrave.errors import DataError, MargraveError, quoted
from margrave.options import option
from margrave.settings.classifiers import HierarchySettings, MultiLabelSettings

if TYPE_CHECKING:
    from margrave import HierarchicalMultiLabelClassifier, MultiLabelClassifier
    from margrave.data.taxonomy import Taxonomy
    from margrave.features.base import Features

_BETWEEN = ";"  # separates the classes of one example


_OF_GRAPHS = ("pair_attributes", "inference", "memory")  # settings of classifiers with a label graph


@dataclass(eq=False, repr=False, kw_only=True)
class SetSettings(HierarchySettings, MultiLabelSettings):
    """The settings of both kinds of classifiers, and which of them it is."""

    graph: str | None = option(
        None,
        "Which pairs of classes depend on each other.",
        choices={
            "independent": "none",
            "tree": "the tree with the highest mutual information in the training data",
            "full": "all",
        },
        if_none="those of the hierarchy",
    )


@dataclass(eq=False, repr=False)
class Multilabel(KernelOptions, Task):
    """Learns a set of classes for every example."""

    name = "multilabel"
    summary = "a set of classes for each example"
    estimator = "margrave.estimators:HierarchicalMultiLabelClassifier"
    also = ("MultiLabelClassifier",)
    settings = SetSettings
    fields = ("weights", "graph", *_OF_GRAPHS)
    flags: ClassVar[Mapping[str, str]] = {"graph": "label_graph", "pair_attributes": "pair_features"}
    data = (
        "Files have one example per line: its classes, separated by ;, and its features (svmlight), or its classes, a "
        "tab and a text, whose words are weighted by tf-idf. Classes may be nodes of a hierarchy: an example with a "
        "class also has all classes above it."
    )
    sample = "    1/1/7;2/13  8:1 13:0.5\n    sports;politics<TAB>The minister kicked off."
    examples = (
        "margrave train --task multilabel mails.svm -o mails.margrave --taxonomy hierarchy.txt",
        "margrave train --task multilabel news.txt -o news.margrave --dev dev.txt -C 10",
        "margrave train --task multilabel scenes.svm -o scenes.margrave --kernel rbf --learner bcfw",
        "margrave train --task multilabel scenes.svm -o scenes.margrave --label-graph tree",
        "margrave train --task multilabel scenes.svm -o scenes.margrave --label-pairs pairs.txt --pair-features",
    )
    predicts = (
        "the classes of each example, one line per example, separated by ;. In a hierarchy, only the most specific "
        "classes are written. The line is empty if there are none."
    )
    measures = (
        "micro-averaged precision, recall and F1 of the most specific classes, the same with all classes above them "
        "(hierarchical), and exact matches."
    )

    chosen: SetSettings
    label_pairs: str | None = option(
        None, "The pairs of classes that depend on each other: two classes and a tab between them.", metavar="FILE"
    )
    taxonomy: str | None = option(
        None,
        "The hierarchy: lines with a parent, a tab and a child, or with one node each.",
        if_none="classes that are paths (4/6/2) or have dots (comp.sys) form one",
        metavar="FILE",
    )
    cost: str | None = option(
        None, "Cost of a wrong set, in a loss with a cost: hamming or zero-one.", if_none="hamming"
    )

    def __post_init__(self) -> None:
        from margrave.maps.table import table_named

        if self._has_graph():
            self._check_graph()
            return
        for name in (self.flags.get(each, each) for each in _OF_GRAPHS):
            if name in self.given:
                flag = name.replace("_", "-")
                raise MargraveError(f"--{flag} applies to label graphs only: give --label-graph or --label-pairs.")
        table_named(self.chosen.weights)
        if "weights" in self.given and self.kernel is not None:
            raise MargraveError("--weights and --kernel exclude each other: give one of them.")
        self.chosen_kernel()

    def _has_graph(self) -> bool:
        """Whether pairs of classes depend on each other, rather than nodes of a hierarchy."""
        return self.chosen.graph is not None or self.label_pairs is not None

    def _check_graph(self) -> None:
        from margrave.maps.table import hash_bits_of

        given = {
            "--label-graph": self.chosen.graph,
            "--label-pairs": self.label_pairs,
            "--taxonomy": self.taxonomy,
            "--kernel": self.kernel,
        }
        flags = [flag for flag, value in given.items() if value is not None]
        if len(flags) > 1:
            raise MargraveError(f"{flags[0]} and {flags[1]} exclude each other: give one of them.")
        if "weights" not in self.given:
            self.chosen.weights = MultiLabelSettings.weights
        if "loss" not in self.given:
            self.chosen.loss = MultiLabelSettings.loss
        hash_bits_of(str(self.chosen.weights))

    def _classifier(self, features: "Features", tree: "Taxonomy", names: Sequence[str]) -> Any:
        parameters = self.parameters()
        of_graphs = {name: parameters.pop(name) for name in ("graph", *_OF_GRAPHS)}
        if not self._has_graph():
            kernel = self.chosen_kernel()
            return self.estimator_class()(**parameters, taxonomy=tree, features=features, kernel=kernel)
        from margrave import MultiLabelClassifier

        if self.label_pairs is not None:
            of_graphs["graph"] = _read_pairs(self.label_pairs, names)
        return MultiLabelClassifier(**parameters, **of_graphs, features=features)

    def job(self, data: str, dev: str | None) -> Job:
        """Features or texts, and the hierarchy of their classes."""
        from margrave.data.taxonomy import Taxonomy

        tree = None if self.taxonomy is None else read_taxonomy(self.taxonomy)
        features, X, y = training_examples(data, multilabel=True)
        names = sorted({name for classes in y for name in classes})
        if not names:
            raise DataError(display_name(data), None, "none of its examples has a class.")
        dev_pair = None if dev is None else examples_like(features, dev, multilabel=True)
        if tree is None:
            tree = (None if self._has_graph() else taxonomy_of_names(names)) or Taxonomy(dict.fromkeys(names))
        check_classes(data, names, tree)
        if dev is not None and dev_pair is not None:
            _check_scored(dev, dev_pair[1], tree)
        return Job(
            self._classifier(features, tree, names),
            X,
            y,
            {"n_examples": len(y)},
            {},
            dev_pair,
            lambda gold, predicted: _set_scores(gold, predicted, tree),
            {"dev": dev_pair},
        )

    @staticmethod
    def dev_summary(scores: Mapping[str, Any]) -> str:
        """F1 of classes, and that of all nodes."""
        return f"F1 {percent(scores['f1'])}, hierarchical F1 {percent(scores['hierarchical_f1'])}"

    @staticmethod
    def model(path: str, estimator: "HierarchicalMultiLabelClassifier | MultiLabelClassifier") -> "MultilabelModel":
        """The classifier with its inputs."""
        from margrave.data.taxonomy import Taxonomy

        if estimator.features_ is None:
            raise DataError(path, None, "it does not say how to read examples: train it with 'margrave train'.")
        taxonomy = getattr(estimator, "taxonomy_", None)  # A label graph has none.
        return MultilabelModel(estimator, taxonomy or Taxonomy(dict.fromkeys(estimator.classes_.tolist())))

    @staticmethod
    def inspection(estimator: Any, top: int, sign: str | None = None) -> dict[str, Any]:
        """Classes, their top features, and the pairs of a label graph."""
        report = Task.inspection(estimator, top, sign)
        if hasattr(estimator, "edges_"):
            report["label_graph"] = [list(pair) for pair in estimator.edges_]
        return report

    @staticmethod
    def inspection_summary(report: Mapping[str, Any]) -> str:
        """The same as people read it."""
        pairs = [f"    {first} - {second}" for first, second in report.get("label_graph", ())]
        graph = "\n".join(["label graph", *pairs]) if pairs else ""
        return "\n\n".join(filter(None, [graph, Task.inspection_summary(report)]))


@dataclass(eq=False, repr=False)
class MultilabelModel(Model):
    """A classifier of files."""

    does: ClassVar[str] = "predicts sets of classes"

    classifier: "HierarchicalMultiLabelClassifier | MultiLabelClassifier"
    taxonomy: "Taxonomy"

    def predicted_lines(self, path: str, marginals: bool, **options: Any) -> Iterator[list[str]]:
        """The most specific classes of each example."""
        X, _ = examples_like(self.classifier.features_, path, multilabel=True)
        predicted = [_lowest(nodes, self.taxonomy) for nodes in self.classifier.predict(X)]
        lines = [_BETWEEN.join(nodes) for nodes in predicted]
        if marginals:
            number = {name: k for k, name in enumerate(self.classifier.classes_.tolist())}
            rows = self.classifier.predict_proba(X)
            probabilities = (
                _BETWEEN.join(f"{row[number[name]]:.4f}" for name in nodes)
                for nodes, row in zip(predicted, rows, strict=True)
            )
            lines = ["\t".join(pair) for pair in zip(lines, probabilities, strict=True)]
        yield lines

    def evaluation(self, path: str, **options: Any) -> dict[str, Any]:
        """Scores of the most specific classes, and of all nodes."""
        X, y = examples_like(self.classifier.features_, path, multilabel=True)
        _check_scored(path, y, self.taxonomy)
        with naming(path):
            return {"n_examples": len(y), **_set_scores(y, self.classifier.predict(X), self.taxonomy)}

    def evaluation_summary(self, report: Mapping[str, Any]) -> str:
        """The same, one score per line."""
        rows = [("examples", f"{report['n_examples']:,}")]
        for kind in ("", "hierarchical "):
            for name in ("precision", "recall", "f1"):
                text = "F1" if name == "f1" else name
                rows.append((f"{kind}{text}", percent(report[f"{kind}{name}".replace(" ", "_")])))
        rows.append(("exact match", percent(report["exact"])))
        return table(rows, 24)


def _read_pairs(path: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs of classes of a file."""
    from margrave.datasets.opening import read_lines

    name, pairs = display_name(path), dict[frozenset[str], tuple[str, str]]()
    for number, line in read_lines(source(path)):
        if not line.strip():
            continue
        first, tab, second = line.partition("\t")
        if not tab or "\t" in second:
            raise DataError(name, number, "a line must have two classes and a tab between them.")
        for label in (first, second):
            if label not in names:
                raise DataError(name, number, f"no example has the class {quoted(label)}.")
        if first == second or frozenset((first, second)) in pairs:
            what = "is one class twice" if first == second else "has a line already"
            raise DataError(name, number, f"the pair of {quoted(first)} and {quoted(second)} {what}.")
        pairs[frozenset((first, second))] = (first, second)
    if not pairs:
        raise DataError(name, None, "it contains no pairs of classes.")
    return list(pairs.values())


def _check_scored(path: str, y: Sequence[Collection[str]], taxonomy: "Taxonomy") -> None:
    """Refuses classes that the taxonomy does not have, and data without any."""
    check_classes(path, (name for classes in y for name in classes), taxonomy)
    if not any(y):
        raise DataError(display_name(path), None, "none of its examples has a class.")


def _lowest(nodes: Collection[str], taxonomy: "Taxonomy") -> list[str]:
    """The most specific nodes of the set."""
    above = {parent for node in nodes for parent in taxonomy.ancestors(node) if parent != node}
    return sorted(set(nodes) - above)


def _set_scores(
    gold: Sequence[Collection[str]], predicted: Sequence[Collection[str]], taxonomy: "Taxonomy"
) -> dict[str, float | None]:
    from margrave.metrics import hierarchical_scores, label_scores

    true, guessed = ([_lowest(nodes, taxonomy) for nodes in sets] for sets in (gold, predicted))
    scores, of_nodes = label_scores(true, guessed), hierarchical_scores(true, guessed, taxonomy)
    return {
        "precision": scores.precision,
        "recall": scores.recall,
        "f1": scores.f1,
        "hierarchical_precision": of_nodes.precision,
        "hierarchical_recall": of_nodes.recall,
        "hierarchical_f1": of_nodes.f1,
        "exact": sum(a == b for a, b in zip(true, guessed, strict=True)) / len(true),
    }
