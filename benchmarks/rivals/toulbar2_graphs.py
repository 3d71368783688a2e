"""The best labeling of pairwise graphs by toulbar2, which proves it to be best."""

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_DECIMALS = 6  # toulbar2 works with whole numbers
_LIMIT = 30  # seconds


def best_labeling(unary: Array, edges: NDArray[np.int64], pairs: Array) -> tuple[float, float] | None:
    """Seconds of the search, and the value of the labeling; None if it was not proved to be best in time.

    unary: (nodes, labels); pairs: (edges, labels, labels). What making the network takes is not counted.
    """
    from pytoulbar2 import CFN

    network = CFN(resolution=_DECIMALS)
    for v, scores in enumerate(unary):
        network.AddVariable(f"v{v}", range(unary.shape[1]))
        network.AddFunction([v], (-scores).tolist())
    for (a, b), table in zip(edges.tolist(), pairs, strict=True):
        network.AddFunction([a, b], (-table).ravel().tolist())
    started = perf_counter()
    found = network.Solve(timeLimit=_LIMIT)
    seconds = perf_counter() - started
    if found is None or seconds >= _LIMIT:
        return None
    labels = np.array(found[0])
    return seconds, float(
        unary[np.arange(len(unary)), labels].sum()
        + pairs[np.arange(len(edges)), labels[edges[:, 0]], labels[edges[:, 1]]].sum()
    )
