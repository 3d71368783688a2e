"""Marginals of pairwise graphs by pgmpy's belief propagation on junction trees."""

from time import perf_counter

import numpy as np
from numpy.typing import NDArray


def seconds_of_marginals(
    nodes: int, edges: NDArray[np.int64], labels: int, theta: NDArray[np.float64]
) -> tuple[float, float]:
    """Seconds of making and calibrating the junction tree, and the log partition function."""
    from pgmpy.factors.discrete import DiscreteFactor
    from pgmpy.inference import BeliefPropagation
    from pgmpy.models import DiscreteMarkovNetwork

    network = DiscreteMarkovNetwork()
    network.add_nodes_from(range(nodes))
    network.add_edges_from(edges.tolist())
    factors = [DiscreteFactor([v], [labels], np.exp(theta[v * labels : (v + 1) * labels])) for v in range(nodes)]
    at = nodes * labels
    for a, b in edges.tolist():
        factors.append(DiscreteFactor([a, b], [labels, labels], np.exp(theta[at : at + labels * labels])))
        at += labels * labels
    network.add_factors(*factors)
    started = perf_counter()
    propagation = BeliefPropagation(network)
    propagation.calibrate()
    seconds = perf_counter() - started
    belief = next(iter(propagation.get_clique_beliefs().values()))
    return seconds, float(np.log(belief.values.sum()))
