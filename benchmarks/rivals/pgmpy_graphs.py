"""Marginals of pairwise graphs by pgmpy's belief propagation on junction trees."""

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def calibration(unary: Array, edges: NDArray[np.int64], pairs: Array) -> tuple[float, float, float]:
    """Seconds of making the junction tree and of calibrating it, and the log partition function.

    unary: (nodes, labels); pairs: (edges, labels, labels).
    """
    from pgmpy.factors.discrete import DiscreteFactor
    from pgmpy.inference import BeliefPropagation
    from pgmpy.models import DiscreteMarkovNetwork

    nodes, labels = unary.shape
    network = DiscreteMarkovNetwork()
    network.add_nodes_from(range(nodes))
    network.add_edges_from(edges.tolist())
    network.add_factors(*(DiscreteFactor([v], [labels], np.exp(scores)) for v, scores in enumerate(unary)))
    network.add_factors(
        *(
            DiscreteFactor([a, b], [labels, labels], np.exp(table))
            for (a, b), table in zip(edges.tolist(), pairs, strict=True)
        )
    )
    started = perf_counter()
    propagation = BeliefPropagation(network)
    made = perf_counter() - started
    started = perf_counter()
    propagation.calibrate()
    calibrated = perf_counter() - started
    belief = next(iter(propagation.get_clique_beliefs().values()))
    return made, calibrated, float(np.log(belief.values.sum()))
