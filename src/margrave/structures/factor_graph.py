"""Labelings of factor graphs: Markov networks with soft factors of any size and with hard constraints.

(000, example 1; 001, section 2.2.)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import has_length, is_list, one_of, real, whole
from margrave.data.classes import check_several, label_numbers, labels_in
from margrave.data.factors import Factor, Factors
from margrave.data.graphs import Graph
from margrave.data.rules import OwnRule, Rule, TreeRule
from margrave.errors import MargraveError, quoted, setting, unknown
from margrave.examples import Examples
from margrave.losses.costs import Cost, CostFunction, Hamming, Matrix, Tree, ZeroOne
from margrave.structures.base import Bound, Labels, Outputs, Structure
from margrave.structures.flat_rules import FlatRule

_DENSE, _LISTED, _PARTIAL = 0, 1, 2  # as in engines/factor_graphs.h
Sets = list[tuple[Any, list[Any]]]  # sets of labels: the name and the labels


@dataclass
class GraphArrays:
    """The factor graphs of a data set as flat arrays; engines/factor_graphs.h in the core describes them.

    Examples with the same graph share it: `graph_of` has the number of the graph of each example. `set_of` has the set
    of labels of each variable of each graph.
    """

    graph_of: NDArray[np.int64]
    variable_begin: NDArray[np.int64]
    set_of: NDArray[np.int32]
    factor_begin: NDArray[np.int64]
    form: NDArray[np.uint8]
    scope_begin: NDArray[np.int64]
    scope: NDArray[np.int32]
    listed_begin: NDArray[np.int64]
    listed: NDArray[np.int64]
    hard_begin: NDArray[np.int64]
    hard_kind: NDArray[np.uint8]
    literal_begin: NDArray[np.int64]
    literal_variable: NDArray[np.int32]
    literal_value: NDArray[np.int32]
    data_begin: NDArray[np.int64]
    data: NDArray[np.int32]
    own: list[_core.OwnRule] = field(default_factory=list)

    def core(self, sizes: NDArray[np.int64]) -> _core.FactorGraphs:
        """The graphs in the core, whose sets of labels have these sizes."""
        return _core.FactorGraphs(
            graph_of=self.graph_of,
            variable_begin=self.variable_begin,
            labels=sizes[self.set_of].astype(np.int32),
            factor_begin=self.factor_begin,
            form=self.form,
            scope_begin=self.scope_begin,
            scope=self.scope,
            listed_begin=self.listed_begin,
            listed=self.listed,
            hard_begin=self.hard_begin,
            hard_kind=self.hard_kind,
            literal_begin=self.literal_begin,
            literal_variable=self.literal_variable,
            literal_value=self.literal_value,
            data_begin=self.data_begin,
            data=self.data,
            own=self.own,
        )

    @property
    def variables(self) -> NDArray[np.int64]:
        """The number of variables of each example."""
        counts: NDArray[np.int64] = np.diff(self.variable_begin)[self.graph_of]
        return counts

    def restrictions(
        self, g: int, hards: Sequence[int], *, tuples: bool, allowed: Sequence[NDArray[np.bool_]] | None = None
    ) -> Self:
        """A graph with the variables of graph g, and of its factors only these hard ones.

        Parameters
        ----------
        g : the number of the graph.
        hards : the numbers of the hard factors within the graph.
        tuples : whether soft factors that forbid what they do not list are there as well.
        allowed : which labels each variable may have; None: all.
        """
        n = int(self.variable_begin[g + 1] - self.variable_begin[g])
        soft = range(int(self.factor_begin[g]), int(self.factor_begin[g + 1])) if tuples else range(0)
        listing = [f for f in soft if self.form[f] == _LISTED]
        rules = [int(self.hard_begin[g]) + h for h in hards]
        scopes, arity = _selected(self.scope, self.scope_begin, listing)
        listed, counts = _selected(self.listed, self.listed_begin, listing)
        variables, literals = _selected(self.literal_variable, self.literal_begin, rules)
        data, data_counts = _selected(self.data, self.data_begin, rules)
        # Every variable needs a factor of its own, which lists the labels that are allowed, or forbids nothing.
        labels = [] if allowed is None else [np.flatnonzero(mask) for mask in allowed]
        form = _DENSE if allowed is None else _LISTED
        of_labels = np.array([len(each) for each in labels] or [0] * n, dtype=np.int64)
        return type(self)(
            np.zeros(1, np.int64),
            np.array([0, n]),
            self.set_of[self.variable_begin[g] : self.variable_begin[g + 1]],
            np.array([0, n + len(listing)]),
            np.repeat(np.array([form, _LISTED], np.uint8), [n, len(listing)]),
            _begin(np.concatenate([np.ones(n, np.int64), arity])),
            np.concatenate([np.arange(n, dtype=np.int32), scopes]),
            _begin(np.concatenate([of_labels, counts])),
            np.concatenate([np.zeros(0, np.int64), *labels, listed]),
            np.array([0, len(rules)]),
            self.hard_kind[rules],
            _begin(literals),
            variables,
            _selected(self.literal_value, self.literal_begin, rules)[0],
            _begin(data_counts),
            data,
            self.own,
        )

    @classmethod
    def pairwise(
        cls, graph_of: NDArray[np.int64], nodes: NDArray[np.int64], edges: Sequence[NDArray[np.int64]]
    ) -> Self:
        """Graphs with a factor for every node and one for every edge, in this order.

        Parameters
        ----------
        graph_of : the graph of each example.
        nodes : the number of nodes of each graph.
        edges : the edges of each graph: an array (edges, 2).
        """
        counts = np.array([len(pairs) for pairs in edges], dtype=np.int64)
        scopes: list[NDArray[np.int32]] = []
        arities: list[NDArray[np.int64]] = []
        for n, pairs in zip(nodes.tolist(), edges, strict=True):
            scopes += [np.arange(n, dtype=np.int32), np.asarray(pairs, dtype=np.int32).ravel()]
            arities += [np.ones(n, np.int64), np.full(len(pairs), 2, np.int64)]
        arity = np.concatenate([np.zeros(0, np.int64), *arities])
        none, no_data = np.zeros(len(nodes) + 1, np.int64), np.zeros(0, np.int32)
        return cls(
            graph_of,
            _begin(nodes),
            np.zeros(int(nodes.sum()), np.int32),
            _begin(nodes + counts),
            np.zeros(len(arity), np.uint8),
            _begin(arity),
            np.concatenate([np.zeros(0, np.int32), *scopes]),
            np.zeros(len(arity) + 1, np.int64),
            np.zeros(0, np.int64),
            none,
            np.zeros(0, np.uint8),
            np.zeros(1, np.int64),
            no_data,
            no_data,
            np.zeros(1, np.int64),
            no_data,
        )


@dataclass(frozen=True, eq=False)
class LabelSets(Outputs):
    """Several sets of labels, each with its name."""

    name = "label-sets"

    sets: Mapping[str, Sequence[Any]]

    def stored_settings(self) -> dict[str, Any]:
        """The labels of each set as a list."""
        return {"sets": {name: list(labels) for name, labels in self.sets.items()}}


BoundGraphs = Bound[Any, _core.FactorGraphStructure]


@dataclass
class FactorGraph(Structure[Any, _core.FactorGraphStructure]):
    """Labelings of the variables of factor graphs.

    Parameters
    ----------
    labels : the sets of labels, a mapping from names to lists of labels; None: all variables have the same set, which
        is learned from the outputs.
    inference : "exact", by clique trees; or approximate: "bp", belief propagation for sums and marginals; "trw", its
        tree-reweighted form for graphs with factors of one or two variables, whose log partition function is an upper
        bound; "relaxed", belief propagation, and losses with beta = inf over the linear relaxation. All three search
        the best labeling by AD3, which certifies it where the relaxation is tight. "lp" is "relaxed" with the linear
        program solved by HiGHS (the extra margrave[lp]): slower, and to the end.
    memory : exact inference is refused if the tables of a graph take more than this many MB.
    schedule : the order of messages: "sequential", "parallel", or "residual", those that change the most first.
    sweeps : the number of sweeps over all messages at most.
    tolerance : messages have converged if no log of a message changes by more.
    damping : the share of the old message in the new one, from 0 to less than 1.
    iterations : the number of iterations of AD3 at most.
    keep : how many MB of messages are kept between passes. The messages of an example then start where they ended the
        last time, so that fewer sweeps are needed once the weights settle. The first examples that fit have room; a
        checkpoint stores what is kept. 0 keeps nothing.

    Examples
    --------
    Two variables that prefer to have different labels, and one that must then be "yes":

    >>> from margrave.binding import bind
    >>> from margrave.examples import Examples
    >>> from margrave.maps import SparseMap
    >>> graph = Factors(2, [(0,), (1,), (0, 1)])
    >>> rows = [[["first"], [], [], ["second"], [], ["different"], ["different"], []]]
    >>> bound = bind(FactorGraph(), SparseMap(), Examples([graph], [["no", "yes"]], encoded=rows))
    >>> bound.best(np.array([1.0, 1.0, 1.0]), 1)
    [['no', 'yes']]
    """

    name = "factor-graph"
    examples = "graphs"
    costs: ClassVar[tuple[type[Cost], ...]] = (Hamming, Matrix, Tree, ZeroOne, CostFunction)

    labels: Mapping[str, Sequence[Any]] | None = None
    inference: str = "exact"
    memory: float = 1024.0
    schedule: str = "sequential"
    sweeps: int = 100
    tolerance: float = 1e-6
    damping: float = 0.0
    iterations: int = 500
    keep: float = 0.0

    def __post_init__(self) -> None:
        if not one_of(self.inference, INFERENCES):
            raise unknown("inference", self.inference, INFERENCES)
        self.memory = real("memory", self.memory, "be positive and finite", lambda size: 0 < size < float("inf"))
        if not one_of(self.schedule, SCHEDULES):
            raise unknown("schedule", self.schedule, SCHEDULES)
        self.sweeps = whole("sweeps", self.sweeps, 1, 10**6)
        self.iterations = whole("iterations", self.iterations, 1, 10**6)
        self.keep = real("keep", self.keep, "be finite and not negative", lambda size: 0 <= size < float("inf"))
        self.tolerance = real("tolerance", self.tolerance, "be positive and finite", lambda x: 0 < x < float("inf"))
        self.damping = real("damping", self.damping, "be at least 0 and below 1", lambda x: 0 <= x < 1)
        if self.labels is not None:
            for name, labels in self.labels.items():
                if not is_list(labels) or len(labels) == 0:
                    raise MargraveError(f"the set of labels {quoted(name)} has no labels.")
                if len(set(labels)) != len(labels):
                    raise MargraveError(f"the set of labels {quoted(name)} has a label twice.")

    def learn(self, Y: Sequence[Sequence[Any]]) -> Outputs:
        """The labels that occur, unless they are given."""
        _check_labelings(Y)
        if self.labels is not None:
            return LabelSets(self.labels)
        return Labels(check_several(labels_in(Y)))

    def bind(self, outputs: Any, examples: Examples, costs: Cost | None = None) -> _core.FactorGraphStructure:
        """Make the core's structure for some graphs.

        Parameters
        ----------
        outputs : what `learn` returned.
        examples : the graphs: a list of `Factors` or of `Graph`, or `GraphArrays`. Outputs are the labels of their
            variables. Extras: `allowed`, for each example None or, for each of its variables, None or the labels that
            it may have.
        costs : the costs of wrong labels, if they are needed.
        """
        if costs is not None:
            self.check_cost(costs)
        graphs, Y, allowed = examples.X, examples.Y, examples.extra("allowed")
        if graphs is None:
            raise MargraveError("factor graphs need the graph of each example.")
        sets = label_sets(outputs)
        arrays = graph_arrays(graphs, sets)
        if len(arrays.graph_of) != len(examples):
            raise MargraveError(f"there are {len(examples)} examples, but {len(arrays.graph_of)} graphs.")
        gold = None if Y is None else _gold(arrays, Y, sets)
        label_costs = [] if costs is None else [costs.label_cost(labels) for _, labels in sets]
        mask = None if allowed is None else _allowed(arrays, allowed, sets)
        sizes = np.array([len(labels) for _, labels in sets], dtype=np.int64)
        binding = Binding(self, arrays, sizes, arrays.core(sizes), gold, label_costs, mask)
        bound = INFERENCES[self.inference](binding)
        expect_allowed_outputs(binding)
        return bound

    def decode(
        self,
        bound: BoundGraphs,
        begin: NDArray[np.int64],
        parts: NDArray[np.int32],
        owners: NDArray[np.int64] | None = None,
    ) -> list[list[Any]]:
        """The labels of the variables of every output."""
        core = bound.core
        numbers = core.read(begin, parts, owners)
        counts = core.variables if owners is None else core.variables[owners]
        ends = [0, *np.cumsum(counts).tolist()]
        names = [labels for _, labels in label_sets(bound.outputs)]
        if len(names) == 1:
            flat = [names[0][k] for k in numbers.tolist()]
            return [flat[first:last] for first, last in pairwise(ends)]
        which = range(core.size) if owners is None else owners.tolist()
        return [
            [names[s][k] for s, k in zip(core.sets(i).tolist(), numbers[first:last].tolist(), strict=True)]
            for i, (first, last) in zip(which, pairwise(ends), strict=True)
        ]

    def present(self, bound: BoundGraphs, begin: NDArray[np.int64], mu: NDArray[np.float64]) -> list[Any]:
        """The probability of every label of every variable.

        One (variables, labels) array per example or, with several sets of labels, a list of arrays.
        """
        core = bound.core
        flat = core.label_marginals(begin, mu)
        names = [labels for _, labels in label_sets(bound.outputs)]
        found: list[Any] = []
        at = 0
        for i, n in enumerate(core.variables.tolist()):
            counts = [len(names[s]) for s in core.sets(i).tolist()] if len(names) > 1 else [len(names[0])] * n
            table = flat[at : at + sum(counts)]
            at += sum(counts)
            found.append(table.reshape(n, -1) if len(names) == 1 else np.split(table, np.cumsum(counts)[:-1]))
        return found

    def part_names(self, outputs: Any) -> list[Any]:
        """The labels, if all variables have the same ones."""
        return [] if isinstance(outputs, LabelSets) else list(outputs.names)


@dataclass
class Binding:
    """What the core's structure of some examples is made of."""

    structure: FactorGraph
    arrays: GraphArrays
    sizes: NDArray[np.int64]  # of the sets of labels
    graphs: _core.FactorGraphs
    gold: Any
    costs: Any  # of each set of labels
    allowed: Any


def _clique_trees(of: Binding) -> _core.FactorGraphStructure:
    data = of.graphs, of.gold, of.arrays.set_of, of.costs, of.allowed
    try:
        return _core.clique_trees(*data, 1e6 * of.structure.memory)
    except MargraveError:
        expect_outputs(of)
        if not _has_only_trees(of.arrays):
            raise
    return _messages("exact")(of)


def expect_outputs(of: Binding) -> None:
    """Refuses rules that leave no output, as far as this can be proved. Gold labels are an output."""
    if of.gold is not None:
        return
    from margrave.structures.graph_outputs import Restrictions

    for g in np.flatnonzero(_restricted(of.arrays)).tolist():
        Restrictions(of.arrays, of.sizes, g).check(f"graph {g}")


def _restricted(arrays: GraphArrays) -> NDArray[np.bool_]:
    """The graphs that have hard factors, or soft ones that forbid what they do not list."""
    restricted: NDArray[np.bool_] = np.diff(arrays.hard_begin) > 0
    owner = np.repeat(np.arange(len(restricted)), np.diff(arrays.factor_begin))
    restricted[owner[arrays.form == _LISTED]] = True
    return restricted


def expect_allowed_outputs(of: Binding) -> None:
    """Refuses examples of which rules and allowed labels leave no output together."""
    if of.allowed is None or of.gold is not None:
        return
    from margrave.structures.graph_outputs import Restrictions

    arrays, at = of.arrays, 0
    restricted = _restricted(arrays)
    for i, g in enumerate(arrays.graph_of.tolist()):
        labels = of.sizes[arrays.set_of[arrays.variable_begin[g] : arrays.variable_begin[g + 1]]]
        ends = at + np.cumsum(labels)
        if restricted[g]:
            masks = np.split(of.allowed[at : ends[-1]], ends[:-1] - at)
            Restrictions(arrays, of.sizes, g, masks).check(f"example {i}")
        at = int(ends[-1])


def _has_only_trees(arrays: GraphArrays) -> bool:
    """Whether every soft factor has one variable, and TREE factors without common variables are the hard factors."""
    if (
        len(arrays.hard_kind) == 0
        or (arrays.hard_kind != TreeRule.kind).any()
        or (np.diff(arrays.scope_begin) > 1).any()
    ):
        return False
    owner = np.repeat(np.arange(len(arrays.hard_kind)), np.diff(arrays.literal_begin))
    graph = np.repeat(np.arange(len(arrays.hard_begin) - 1), np.diff(arrays.hard_begin))[owner]
    variables = arrays.variable_begin[graph] + arrays.literal_variable
    return len(np.unique(variables)) == len(variables)


def _messages(kind: str) -> Callable[[Binding], _core.FactorGraphStructure]:
    def make(of: Binding) -> _core.FactorGraphStructure:
        if kind != "exact":
            expect_outputs(of)
        solver = None
        if kind == "lp":
            from margrave.structures.graph_programs import GraphPrograms

            solver = GraphPrograms(of.arrays, of.sizes)
        return _core.graph_messages(
            of.graphs,
            of.gold,
            of.arrays.set_of,
            of.costs,
            of.allowed,
            kind == "trw",
            of.structure.schedule,
            of.structure.sweeps,
            of.structure.tolerance,
            of.structure.damping,
            of.structure.iterations,
            kind in ("relaxed", "lp"),
            kind == "exact",
            1e6 * of.structure.keep,
            solver,
        )

    return make


# How each kind of inference makes the core's structure.
INFERENCES: dict[str, Callable[[Binding], _core.FactorGraphStructure]] = {
    "exact": _clique_trees,
    "bp": _messages("bp"),
    "trw": _messages("trw"),
    "relaxed": _messages("relaxed"),
    "lp": _messages("lp"),
}
SCHEDULES = ("sequential", "parallel", "residual")


def label_sets(outputs: Any) -> Sets:
    """The sets of labels of what `learn` returned, with their names."""
    if isinstance(outputs, LabelSets):
        return [(name, list(labels)) for name, labels in outputs.sets.items()]
    return [(None, list(outputs.names))]


def shared_graphs(graphs: Sequence[Graph]) -> GraphArrays:
    """The graphs of all examples; those with the same nodes and edges are one."""
    number: dict[tuple[int, bytes], int] = {}
    distinct: list[Graph] = []
    graph_of = []
    for graph in graphs:
        key = (len(graph), graph.edges.tobytes())
        if key not in number:
            number[key] = len(distinct)
            distinct.append(graph)
        graph_of.append(number[key])
    return GraphArrays.pairwise(
        np.array(graph_of, dtype=np.int64),
        np.array([len(graph) for graph in distinct], dtype=np.int64),
        [graph.edges for graph in distinct],
    )


def graph_arrays(graphs: Any, sets: Sets) -> GraphArrays:
    """The graphs of examples as arrays; an object of `Factors` that occurs several times becomes one graph."""
    if isinstance(graphs, GraphArrays):
        return graphs
    if not is_list(graphs):
        raise MargraveError(f"graphs must be a list of Factors, not {type(graphs).__name__}.")
    if all(isinstance(graph, Graph) for graph in graphs):
        return graphs_with_rules(graphs, sets) if any(graph.rules for graph in graphs) else shared_graphs(graphs)
    number: dict[int, int] = {}
    distinct: list[Factors] = []
    graph_of = []
    for i, graph in enumerate(graphs):
        if not isinstance(graph, Factors):
            raise MargraveError(f"example {i}: its graph must be an object of Factors, not {type(graph).__name__}.")
        if id(graph) not in number:
            number[id(graph)] = len(distinct)
            distinct.append(graph)
        graph_of.append(number[id(graph)])
    builder = _Builder(sets)
    for g, graph in enumerate(distinct):
        builder.add(f"graph {g}", graph)
    return builder.arrays(np.array(graph_of, dtype=np.int64))


def graphs_with_rules(graphs: Sequence[Graph], sets: Sets) -> GraphArrays:
    """The graphs of all examples, some of which have rules: factors of nodes, of edges, and the rules as hard ones."""
    if any(len(set(labels)) < len(labels) for _, labels in sets):
        raise MargraveError("rules are about labels, and not about their hidden states: ", setting(states=1), ".")
    builder = _Builder(sets)
    for i, graph in enumerate(graphs):
        soft = [*((v,) for v in range(len(graph))), *map(tuple, graph.edges.tolist())]
        builder.add(f"example {i}", Factors(len(graph), soft, graph.rules), hard="rule")
    return builder.arrays(np.arange(len(graphs), dtype=np.int64))


class _Builder:
    """Collects graphs in flat lists."""

    def __init__(self, sets: Sets) -> None:
        self.labels = [{label: k for k, label in enumerate(labels)} for _, labels in sets]
        self.number = {name: k for k, (name, _) in enumerate(sets)}
        self.set_of: list[int] = []
        self.counts: dict[str, list[int]] = {key: [] for key in ("variables", "soft", "hard", "scope", "cells", "data")}
        self.counts["literals"] = []
        self.form: list[int] = []
        self.scope: list[int] = []
        self.listed: list[int] = []
        self.kind: list[int] = []
        self.variable: list[int] = []
        self.value: list[int] = []
        self.data: list[int] = []
        self.own: list[_core.OwnRule] = []

    def add(self, where: str, graph: Factors, hard: str = "hard factor") -> None:
        """One more graph; `where` and `hard` are what messages call it and its rules."""
        if isinstance(graph.variables, int):
            if len(self.number) != 1:
                raise MargraveError(f"{where}: with several sets of labels, each variable needs the name of its set.")
            sets = [0] * graph.variables
        else:
            for name in graph.variables:
                if name not in self.number:
                    raise unknown("set of labels", name, map(str, self.number))
            sets = [self.number[name] for name in graph.variables]
        self.set_of += sets
        self.counts["variables"].append(len(sets))
        self.counts["soft"].append(len(graph.soft))
        self.counts["hard"].append(len(graph.hard))
        for f, factor in enumerate(graph.soft):
            self._soft(f"{where}, soft factor {f}", factor, sets)
        for h, rule in enumerate(graph.hard):
            self._hard(f"{where}, {hard} {h}", rule, sets)

    def _soft(self, where: str, factor: Any, sets: list[int]) -> None:
        if not isinstance(factor, Factor):
            factor = Factor(tuple(factor))
        if factor.others not in ("forbidden", "zero"):
            raise MargraveError(f'{where}: other tuples are "forbidden" or score "zero", not {quoted(factor.others)}.')
        variables = self._variables(where, factor.variables, sets)
        self.scope += variables
        self.counts["scope"].append(len(variables))
        cells: list[int] = []
        if factor.tuples is not None:
            sizes = [len(self.labels[sets[v]]) for v in variables]
            numbers = [self._tuple(where, labels, variables, sets) for labels in factor.tuples]
            cells = [int(np.ravel_multi_index(tuple(each), sizes)) for each in numbers]
            if len(set(cells)) < len(cells):
                raise MargraveError(f"{where}: a tuple is listed twice.")
            if cells != sorted(cells):
                raise MargraveError(f"{where}: tuples must be in the order of their labels.")
        self.form.append(_DENSE if factor.tuples is None else _LISTED if factor.others == "forbidden" else _PARTIAL)
        self.listed += cells
        self.counts["cells"].append(len(cells))

    def _hard(self, where: str, rule: Any, sets: list[int]) -> None:
        if not isinstance(rule, Rule):
            raise MargraveError(f"{where}: it must be a rule such as Xor or Budget, not {type(rule).__name__}.")
        literals = rule.literals()
        variables = self._variables(where, [literal[0] for literal in literals], sets)
        for v, literal in zip(variables, literals, strict=True):
            number = 0 if literal[1] is None else self._label(where, v, literal[1], sets)
            self.value.append(~number if len(literal) > 2 and not literal[2] else number)
        self.variable += variables
        self.counts["literals"].append(len(variables))
        try:
            data = rule.data()
        except MargraveError as error:
            raise MargraveError(f"{where}: {error}") from None
        if hasattr(rule, "tuples"):
            data = [k for labels in rule.tuples for k in self._tuple(where, labels, variables, sets)]
        if isinstance(rule, OwnRule):
            data = [len(self.own)]
            counts = [len(self.labels[sets[v]]) for v in variables]
            self.own.append(_core.own_rule(FlatRule(rule, counts, where), len(counts), sum(counts)))
        self.kind.append(rule.kind)
        self.data += data
        self.counts["data"].append(len(data))

    def _variables(self, where: str, variables: Sequence[int], sets: list[int]) -> list[int]:
        for v in variables:
            if isinstance(v, bool) or not isinstance(v, int | np.integer) or not 0 <= v < len(sets):
                raise MargraveError(f"{where}: there is no variable {quoted(v)}; the graph has {len(sets)}.")
        return [int(v) for v in variables]

    def _label(self, where: str, variable: int, label: Any, sets: list[int]) -> int:
        number = self.labels[sets[variable]].get(label)
        if number is None:
            raise MargraveError(f"{where}: variable {variable} has no label {quoted(label)}.")
        return number

    def _tuple(self, where: str, labels: Sequence[Any], variables: list[int], sets: list[int]) -> list[int]:
        if not is_list(labels) or len(labels) != len(variables):
            raise MargraveError(f"{where}: a tuple must have {len(variables)} labels, and one is {quoted(labels)}.")
        return [self._label(where, v, label, sets) for v, label in zip(variables, labels, strict=True)]

    def arrays(self, graph_of: NDArray[np.int64]) -> GraphArrays:
        """All graphs."""
        begin = {key: _begin(np.array(counts, dtype=np.int64)) for key, counts in self.counts.items()}
        return GraphArrays(
            graph_of,
            begin["variables"],
            np.array(self.set_of, dtype=np.int32),
            begin["soft"],
            np.array(self.form, dtype=np.uint8),
            begin["scope"],
            np.array(self.scope, dtype=np.int32),
            begin["cells"],
            np.array(self.listed, dtype=np.int64),
            begin["hard"],
            np.array(self.kind, dtype=np.uint8),
            begin["literals"],
            np.array(self.variable, dtype=np.int32),
            np.array(self.value, dtype=np.int32),
            begin["data"],
            np.array(self.data, dtype=np.int32),
            self.own,
        )


def _begin(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _selected(
    items: NDArray[Any], begin: NDArray[np.int64], lists: Sequence[int]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Some lists of a list of lists, one after another, and how many items each has."""
    chosen = [items[begin[k] : begin[k + 1]] for k in lists]
    return np.concatenate([items[:0], *chosen]), np.array([len(each) for each in chosen], dtype=np.int64)


def _check_labelings(Y: Any) -> None:
    if not has_length(Y):
        raise MargraveError(f"y must be a list of lists of labels, not {type(Y).__name__}.")
    if len(Y) == 0:
        raise MargraveError("there are no graphs.")
    for i, labels in enumerate(Y):
        if not is_list(labels):
            raise MargraveError(f"example {i}: y must have a list of labels per graph, not {type(labels).__name__}.")


def _gold(arrays: GraphArrays, Y: Sequence[Sequence[Any]], sets: Sets) -> NDArray[np.int32]:
    """The number of the label of each variable of each example."""
    _check_labelings(Y)
    counts = arrays.variables.tolist()
    if len(Y) != len(counts):
        raise MargraveError(f"there are {len(counts)} graphs and {len(Y)} lists of labels.")
    for i, (labels, n) in enumerate(zip(Y, counts, strict=True)):
        if len(labels) != n:
            raise MargraveError(f"example {i} has {n} variables and {len(labels)} labels.")
    if len(sets) == 1:
        return label_numbers(list(chain.from_iterable(Y)), sets[0][1])
    numbers = [{label: k for k, label in enumerate(labels)} for _, labels in sets]
    gold = []
    for i, labels in enumerate(Y):
        first = arrays.variable_begin[arrays.graph_of[i]]
        for v, label in enumerate(labels):
            which = int(arrays.set_of[first + v])
            if label not in numbers[which]:
                raise MargraveError(f"example {i}, variable {v}: {quoted(label)} is not in its set {sets[which][0]!r}.")
            gold.append(numbers[which][label])
    return np.array(gold, dtype=np.int32)


def _allowed(arrays: GraphArrays, allowed: Any, sets: Sets) -> NDArray[np.bool_]:
    """Whether each label of each variable of each example is allowed."""
    counts = arrays.variables.tolist()
    if not is_list(allowed) or len(allowed) != len(counts):
        raise MargraveError(f"allowed must be a list with an entry for each of the {len(counts)} graphs.")
    masks = [np.zeros(0, dtype=np.bool_)]
    for i, (entry, n) in enumerate(zip(allowed, counts, strict=True)):
        if entry is not None and (not is_list(entry) or len(entry) != n):
            raise MargraveError(f"example {i} has {n} variables, and allowed labels must be a list of so many entries.")
        first = arrays.variable_begin[arrays.graph_of[i]]
        for v in range(n):
            names = sets[int(arrays.set_of[first + v])][1]
            labels = None if entry is None else entry[v]
            if labels is None:
                masks.append(np.ones(len(names), dtype=np.bool_))
                continue
            if isinstance(labels, str | bytes) or not hasattr(labels, "__iter__"):
                raise MargraveError(
                    f"example {i}, variable {v}: allowed labels must be a set, not {type(labels).__name__}."
                )
            for label in labels:
                if label not in names:
                    raise unknown("label among the allowed ones", label, map(str, names))
            masks.append(np.array([name in labels for name in names], dtype=np.bool_))
            if not masks[-1].any():
                raise MargraveError(f"example {i}, variable {v}: no label is allowed.")
    return np.concatenate(masks)
