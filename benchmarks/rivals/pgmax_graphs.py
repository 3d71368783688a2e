"""Belief propagation on pairwise graphs by PGMax, whose sweeps JAX compiles; its numbers have single precision.

PGMax 0.6.1 does not run with JAX 0.10, and its list of requirements cannot be met: what it needs here is installed by
pip install jax==0.6.2 numba tqdm, and pip install --no-deps pgmax.
"""

from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def belief_propagation(unary: Array, edges: NDArray[np.int64], pairs: Array, sweeps: int, repeats: int) -> Any:
    """Seconds of compiling, the shortest seconds of so many parallel sweeps without damping, and the marginals.

    unary: (nodes, labels); pairs: (edges, labels, labels).
    """
    import jax
    from pgmax import fgraph, fgroup, infer, vgroup

    nodes, labels = unary.shape
    variables = vgroup.NDVarArray(num_states=labels, shape=(nodes,))
    graph = fgraph.FactorGraph(variable_groups=variables)
    scopes = [[variables[a], variables[b]] for a, b in edges.tolist()]
    graph.add_factors(fgroup.PairwiseFactorGroup(variables_for_factors=scopes, log_potential_matrix=pairs))
    propagation = infer.build_inferer(graph.bp_state, backend="bp")
    start = propagation.init(evidence_updates={variables: unary})
    run = jax.jit(lambda arrays: propagation.run(arrays, num_iters=sweeps, damping=0.0, temperature=1.0))
    seconds = []
    for _ in range(repeats + 1):
        started = perf_counter()
        arrays = jax.block_until_ready(run(start))
        seconds.append(perf_counter() - started)
    marginals = infer.get_marginals(propagation.get_beliefs(arrays))[variables]
    return seconds[0] - min(seconds[1:]), min(seconds[1:]), np.asarray(marginals, dtype=np.float64)
