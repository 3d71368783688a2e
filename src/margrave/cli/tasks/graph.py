"""Labels for the nodes of graphs: JSON lines in, the same with labels out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from margrave.cli.illustration import DATA, PLOT
from margrave.cli.label_costs import LabelCostOptions
from margrave.cli.options import command_option
from margrave.cli.reports import percent, table
from margrave.cli.streams import batches, check_place, display_name, naming, source
from margrave.cli.tasks.base import Job, Model, Task, top_table
from margrave.errors import DataError, MargraveError
from margrave.options import option
from margrave.settings.classifiers import GraphSettings

if TYPE_CHECKING:
    from margrave import GraphLabeler
    from margrave.data.graphs import LabeledGraph

_BATCH = 256  # graphs that are predicted at once


@dataclass(eq=False, repr=False)
class GraphTask(LabelCostOptions, Task):
    """Learns a label for every node of a graph."""

    name = "graph"
    summary = "a label for each node of a graph or grid"
    estimator = "margrave.estimators:GraphLabeler"
    settings = GraphSettings
    fields = (*("pairs", "neighbors", "inference", "memory", "iterations", "decode", "states", "starts", "weights"),)
    data = """Files have one graph per line, a JSON object. "nodes" lists the features of each node: a list of names, an
object from names to numbers, or a list of numbers. "edges" lists pairs of nodes, counted from 0. "edge_features" is
optional: the features of each edge, which can depend on its direction. "labels" lists the label of each node, or null
if it is unknown. With "shape", [height, width], the nodes are the cells of a grid, row by row, and "edges" may be left
out. "rules" may list what every labeling must follow, such as {"xor": [[0, "r"], [2, "r"]]}: exactly one of nodes 0 and
2 has the label r; also at_most_one, or, implies, budget, allowed and forbidden."""
    sample = '    {"nodes": [["red"], ["blue"], []], "edges": [[0, 1], [1, 2]], "labels": ["r", "b", "b"]}'
    examples = (
        "margrave train --task graph train.jsonl -o maps.margrave --dev dev.jsonl",
        "margrave train --task graph images.jsonl -o grid.margrave --neighbors 8 --pairs symmetric",
        "margrave train --task graph train.jsonl -o svm.margrave --loss hinge -C 0.1",
        "margrave train --task graph train.jsonl -o svm.margrave --loss hinge --label-cost river=3",
    )
    predicts = (
        "the input with the predicted labels in place of its own; --marginals adds "
        'the probability of the label of each node as "probabilities".'
    )
    measures = "the share of nodes with the correct label, the share of graphs without a mistake, and F1 of each label."
    inspect_options = (
        DATA,
        PLOT,
        command_option(
            "graph", int, "Which graph of --data to draw.", at_least=1, if_none="the first", applies="graphs"
        ),
    )

    chosen: GraphSettings
    cost: str | None = option(None, "Cost of wrong labels: hamming or zero-one.", if_none="hamming")

    def __post_init__(self) -> None:
        from margrave.maps.table import hash_bits_of

        hash_bits_of(self.chosen.weights)

    def given_cost(self) -> Any:
        """The cost by name or by labels."""
        return self.chosen_cost(self.cost)

    def job(self, data: str, dev: str | None) -> Job:
        """Graphs with the labels of their nodes."""
        graphs = _labeled(data, self.chosen.neighbors)
        held = None if dev is None else _labeled(dev, self.chosen.neighbors)
        dev_pair = None if held is None else ([each.graph for each in held], [each.labels for each in held])
        X = [each.graph for each in graphs]
        return Job(
            self.estimator_class()(**self.parameters()),
            X,
            [each.labels for each in graphs],
            {"n_graphs": len(X), "n_nodes": sum(map(len, X)), "n_edges": sum(len(graph.edges) for graph in X)},
            {"format": "graphs"},
            dev_pair,
            _scores,
            {"dev": dev_pair},
        )

    @staticmethod
    def dev_summary(scores: Mapping[str, Any]) -> str:
        """Nodes and whole graphs."""
        return f"accuracy {percent(scores['accuracy'])}, exact match {percent(scores['whole_graphs'])}"

    @staticmethod
    def model(path: str, estimator: "GraphLabeler") -> "GraphModel":
        """The labeler."""
        return GraphModel(path, estimator)

    @staticmethod
    def inspection(estimator: "GraphLabeler", top: int, sign: str | None = None) -> dict[str, Any]:
        """Labels, the top features of nodes, and those of edges."""
        report = Task.inspection(estimator, top, sign)
        if top:
            found = estimator.top_pairs(top)
            shown = [
                [f"{name}: {' '.join(map(str, pair)) if isinstance(pair, tuple) else pair}", w]
                for (name, pair), w in found
            ]
            report["top_edges"] = shown
        return report

    @staticmethod
    def inspection_summary(report: Mapping[str, Any]) -> str:
        """The same as people read it."""
        tops = dict(report.get("top", {}))
        if report.get("top_edges"):
            tops["edges"] = report["top_edges"]
        return top_table(tops)


@dataclass(eq=False, repr=False)
class GraphModel(Model):
    """A labeler of files."""

    does: ClassVar[str] = "labels the nodes of graphs"
    options: ClassVar[tuple[str, ...]] = ("data", "plot", "graph")

    path: str
    labeler: "GraphLabeler"

    def predicted_lines(self, path: str, marginals: bool, **options: Any) -> Iterator[list[str]]:
        """The graphs with their predicted labels."""
        from margrave.datasets.graphs import graph_line, read_graphs

        found = False
        for batch in batches(read_graphs(source(path), neighbors=self.labeler.neighbors), _BATCH):
            lines, found = [], True
            with naming(path):
                predicted, probabilities = self._predict(batch, marginals)
            for each, labels, values in zip(batch, predicted, probabilities, strict=True):
                more = {} if values is None else {"probabilities": [round(p, 4) for p in values]}
                lines.append(graph_line({**each.fields, "labels": labels, **more}))
            yield lines
        if not found:
            raise DataError(display_name(path), None, "it contains no graphs.")

    def _predict(self, batch: Sequence["LabeledGraph"], marginals: bool) -> tuple[list[Any], list[Any]]:
        X = [each.graph for each in batch]
        predicted = self.labeler.predict(X)
        if not marginals:
            return predicted, [None] * len(X)
        number = {label: k for k, label in enumerate(self.labeler.classes_.tolist())}
        tables = self.labeler.predict_marginals(X)
        return predicted, [
            [min(max(float(row[number[label]]), 0.0), 1.0) for label, row in zip(labels, rows, strict=True)]
            for labels, rows in zip(predicted, tables, strict=True)
        ]

    def evaluation(self, path: str, **options: Any) -> dict[str, Any]:
        """The scores of nodes and graphs."""
        graphs = _labeled(path, self.labeler.neighbors)
        with naming(path):
            predicted = self.labeler.predict([each.graph for each in graphs])
        gold = [each.labels for each in graphs]
        counts = {"n_graphs": len(graphs), "n_nodes": sum(len(each.graph) for each in graphs)}
        return {**counts, **_scores(gold, predicted), "labels": _label_scores(gold, predicted)}

    def evaluation_summary(self, report: Mapping[str, Any]) -> str:
        """The same, one score per line."""
        rows = [
            ("graphs", f"{report['n_graphs']:,}"),
            ("nodes", f"{report['n_nodes']:,}"),
            ("accuracy", percent(report["accuracy"])),
            ("exact match", percent(report["whole_graphs"])),
            *((f"F1 of {label}", percent(scores["f1"])) for label, scores in report["labels"].items()),
        ]
        return table(rows, 24)

    def illustration(
        self, data: str | None = None, plot: str | None = None, graph: int | None = None, **options: Any
    ) -> dict[str, Any]:
        """Draws a graph of a file with its predicted labels."""
        if plot is None:
            raise MargraveError("--data and --graph apply to --plot only, which is not given.")
        if data is None:
            raise MargraveError("--plot needs a graph: give a file with --data.")
        from margrave.datasets.graphs import read_graphs
        from margrave.plots import graph_diagram, save_figure
        from margrave.plots.saving import check_format, require_matplotlib

        check_format(plot)
        require_matplotlib()
        check_place(plot, [data])
        wanted = graph or 1
        found = 0
        for each in read_graphs(source(data), neighbors=self.labeler.neighbors):
            found += 1
            if found < wanted:
                continue
            with naming(data):
                (labels,), (probabilities,) = self._predict([each], marginals=True)
            figure = graph_diagram(
                each.graph.edges,
                labels,
                classes=sorted({*self.labeler.classes_.tolist(), *(each.labels or ())} - {None}, key=str),
                shape=each.graph.shape,
                probabilities=probabilities,
                gold=None if None in (each.labels or (None,)) else each.labels,
            )
            save_figure(plot, figure)
            return {"plots": [plot]}
        raise DataError(display_name(data), None, f"--graph {wanted}, but it has {found} graphs.")

    def illustration_summary(self, report: Mapping[str, Any]) -> str:
        """Where the picture is."""
        return "\n".join(f"drawn in {path}" for path in report.get("plots", ()))


def _labeled(path: str, neighbors: int) -> list["LabeledGraph"]:
    """The graphs of a file, all of which must have labels."""
    from margrave.datasets.graphs import read_graphs

    graphs = list(read_graphs(source(path), neighbors=neighbors))
    if not graphs:
        raise DataError(display_name(path), None, "it contains no graphs.")
    for k, each in enumerate(graphs, 1):
        if each.labels is None:
            raise DataError(display_name(path), None, f'graph {k} has no labels: add "labels", one for each node.')
    if all(label is None for each in graphs for label in each.labels or ()):
        raise DataError(display_name(path), None, "none of its nodes has a label.")
    return graphs


def _scores(gold: Any, predicted: Any) -> dict[str, float | None]:
    """Of the nodes whose labels are known."""
    graphs = [list(_known(y, found)) for y, found in zip(gold, predicted, strict=True)]
    return {
        "accuracy": sum(a == b for pairs in graphs for a, b in pairs) / sum(map(len, graphs)),
        "whole_graphs": sum(all(a == b for a, b in pairs) for pairs in graphs) / len(graphs),
    }


def _known(gold: Any, predicted: Any) -> Iterator[tuple[Any, Any]]:
    return ((a, b) for a, b in zip(gold, predicted, strict=True) if a is not None)


def _label_scores(gold: Any, predicted: Any) -> dict[str, dict[str, float | None]]:
    pairs = [pair for y, found in zip(gold, predicted, strict=True) for pair in _known(y, found)]
    scores = {}
    for label in sorted({label for pair in pairs for label in pair}, key=str):
        both = sum(a == b == label for a, b in pairs)
        true, guessed = sum(a == label for a, _ in pairs), sum(b == label for _, b in pairs)
        scores[str(label)] = {
            "precision": both / guessed if guessed else None,
            "recall": both / true if true else None,
            "f1": 2 * both / (true + guessed),
        }
    return scores
