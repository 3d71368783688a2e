"""Paths of lattices and derivations of forests."""

import numpy as np

from margrave import _core
from margrave.binding import bind as bind_examples
from margrave.data import Lattice
from margrave.examples import Examples
from margrave.losses import Hamming
from margrave.maps import SparseMap
from margrave.structures import (
    ForestDerivations,
    LatticePaths,
    NoOutputs,
)
from margrave.testing.enumeration import Outputs, Parts
from tests.references.enumeration import Graph, lattice_paths, random_forest, random_lattice
from tests.registry.cases import Case, register
from tests.registry.labels import Rows


@register("lattice")
@register("lattice, one good path", single=True)
@register("lattice, real values", form="real", epsilon=True)
def lattice(
    rng: np.random.Generator,
    cost: str,
    size: int,
    *,
    form: str = "names",
    single: bool = False,
    epsilon: bool = False,
) -> Case:
    lattices, outputs, gold, others, costs, strings = [], [], [], [], [], []
    for _ in range(size):
        found = random_lattice(rng, epsilon)
        paths = lattice_paths(found)
        spelled = [found.string(path) for path in paths]
        distinct = sorted(set(spelled))
        if single:
            distinct = [each for each in distinct if spelled.count(each) == 1] or distinct
        chosen = [str(each) for each in rng.permutation(distinct)[: 1 if single else int(rng.integers(1, 4))]]
        listed = _core_order(found, paths, spelled, chosen)
        lattices.append(found)
        strings.append(chosen)
        outputs.append(Outputs(len(found.edges), paths))
        gold.append(listed[0])
        others.append(listed[1:])
        free = {edge for path in listed for edge in path}
        costs.append(np.array([float(sum(edge not in free for edge in path)) for path in paths]))
    rows = Rows(rng, [len(each.edges) for each in lattices], form, 0)
    bound = bind_examples(
        LatticePaths(),
        SparseMap(unit="edge"),
        Examples(lattices, strings, encoded=rows.given),
        outputs=NoOutputs(),
        costs=Hamming(),
    )
    return Case(bound.problem, outputs, gold, costs, rows.matrices(), others)


@register("forest")
@register("forest, real values", form="real")
def forest(rng: np.random.Generator, cost: str, size: int, *, form: str = "names") -> Case:
    pairs = [random_forest(rng) for _ in range(size)]
    forests = [found for found, _ in pairs]
    every = [[edges for edges, _ in derivations] for _, derivations in pairs]
    gold = [of[rng.integers(len(of))] for of in every]
    rows = Rows(rng, [len(found.edges) for found in forests], form, 0)
    bound = bind_examples(
        ForestDerivations(),
        SparseMap(unit="edge"),
        Examples(forests, gold, encoded=rows.given),
        outputs=NoOutputs(),
        costs=Hamming(),
    )
    return Case(
        bound.problem,
        [Outputs(len(found.edges), of) for found, of in zip(forests, every, strict=True)],
        gold,
        [np.array([float(len(set(y) - set(right))) for y in of]) for right, of in zip(gold, every, strict=True)],
        rows.matrices(),
    )


def lattice_graph(found: Lattice) -> Graph:
    """A lattice as a hypergraph: node 0 has an edge without tails and parts."""
    edges: list[tuple[int, Parts, Parts]] = [(0, (), ())]
    return Graph(found.nodes, edges + [(edge.head, (edge.tail,), (k,)) for k, edge in enumerate(found.edges)])


def _core_order(found: Lattice, paths: list[Parts], spelled: list[str], chosen: list[str]) -> list[Parts]:
    """The good paths string by string; among those of a string, in the order of the core, which is arbitrary."""
    arrays = LatticePaths().bind(
        NoOutputs(), Examples.of_sizes(np.array([len(found.edges)]), [chosen], X=[found]), Hamming()
    )
    rows = _core.Tokens(np.array([0, len(found.edges)]), np.zeros(len(found.edges) + 1, dtype=np.int64),
                        np.zeros(0, dtype=np.int32), None)  # fmt: skip
    problem = _core.join(arrays, _core.sparse_parts(1, rows, arrays.choices))
    listed = [tuple(problem.gold(0, k).tolist()) for k in range(problem.gold_count(0))]
    expected = [{path for path, string in zip(paths, spelled, strict=True) if string == each} for each in chosen]
    assert [spelled[paths.index(path)] for path in listed] == [
        string for string, of in zip(chosen, expected, strict=True) for _ in of
    ]
    assert set(listed) == set().union(*expected)
    return listed
