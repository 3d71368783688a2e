"""Problems from numbered labels: what most tests have, in the terms that `margrave.binding` takes."""

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from margrave import _core
from margrave.binding import bind as bind_examples
from margrave.data.arcs import ArcLabels, Arcs
from margrave.errors import MargraveError
from margrave.examples import Examples
from margrave.losses import LossFamily
from margrave.losses.costs import GivenCosts, Hamming
from margrave.maps import ChainMap, FeatureTable, NodeMap, OutputMap, SparseMap
from margrave.maps.outputs import OutputMatrix
from margrave.structures import CandidateLists, Chain, Labels, Multiclass, NodeSets, NoOutputs
from margrave.structures.arc_trees import DependencyTree
from margrave.structures.base import Bound
from margrave.structures.node_sets import Nodes


def bind(
    structure: Any,
    X: Any,
    gold: Any = None,
    costs: Any = None,
    *,
    feature_map: Any,
    classes: Any = None,
    loss: LossFamily | None = None,
    edges: Any = None,
    allowed: Any = None,
    arcs: Arcs | None = None,
    arc_labels: ArcLabels | None = None,
    output: csr_array | None = None,
    lengths: Any = None,
    intercept: bool = True,
    start: bool = False,
    stop: bool = False,
    scale: float = 1.0,
) -> _core.Problem:
    """The problem of these examples; gold outputs are numbers of classes, those of chains one after another."""
    outputs: Any = NoOutputs() if classes is None else Labels(np.array(list(classes)))
    cost = None if loss is None else loss.costs
    Y = gold
    if isinstance(structure, Chain):
        if isinstance(feature_map, FeatureTable):
            feature_map = chained(feature_map, start=start, stop=stop, scale=scale)
        if edges is not None or feature_map.edges is not None:
            structure = Chain(structure.order, structure.forbidden, tied=False)
        if gold is not None:
            names = [classes[k] for k in np.asarray(gold).tolist()]
            ends = np.cumsum([_length(x) for x in X] if lengths is None else lengths, dtype=int).tolist()
            Y = [names[begin:end] for begin, end in pairwise([0, *ends])]
    elif isinstance(structure, Multiclass):
        if output is not None:
            feature_map = OutputMap(feature_map, OutputMatrix(output, list(range(output.shape[1]))))
        Y = None if gold is None else [classes[k] for k in np.asarray(gold).tolist()]
    elif isinstance(structure, NodeSets):
        outputs = Nodes(structure.taxonomy)
        if classes is not None and set(classes) != set(structure.taxonomy):
            raise MargraveError("the classes of sets of nodes must be the nodes of the taxonomy.")
        feature_map = feature_map if isinstance(feature_map, NodeMap) else NodeMap(feature_map, intercept)
        names = outputs.classes.tolist()
        Y = None if gold is None else [[names[k] for k in nodes] for nodes in gold]
    elif isinstance(structure, CandidateLists):
        assert isinstance(feature_map, SparseMap)
        if costs is not None:
            cost = GivenCosts(costs, cost or Hamming())
    else:
        assert isinstance(structure, DependencyTree)
    bound = bind_examples(
        structure,
        feature_map,
        Examples(
            X,
            Y,
            extras={
                "edges": edges,
                "arcs": arcs,
                "labels": arc_labels,
                "allowed": allowed if allowed is None or isinstance(allowed, list) else np.asarray(allowed),
            },
        ),
        outputs=outputs,
        costs=cost,
    )
    return bound.problem


def chained(table: FeatureTable, **settings: Any) -> ChainMap:
    """The map of a chain over this table of tokens, which stays the same from one call to the next."""
    if not hasattr(table, "chain"):
        table.chain = ChainMap(table, **settings)  # type: ignore[attr-defined]
    feature_map: ChainMap = table.chain  # type: ignore[attr-defined]
    return feature_map


def _length(x: Any) -> int:
    return int(x.shape[0]) if hasattr(x, "shape") else len(x)


def bound_of(structure: Any, outputs: Any, examples: Examples) -> Bound[Any, Any]:
    """Examples that a structure has bound, to decode its outputs without a feature map."""
    return Bound(structure, outputs, examples, structure.bind(outputs, examples))
