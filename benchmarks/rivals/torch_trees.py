"""Dependency trees of torch-struct: Eisner's algorithm and the matrix-tree theorem, in batches on one thread."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch_struct
from numpy.typing import NDArray
from torch.distributions import Distribution


def marginals(scores: NDArray[np.float64], projective: bool) -> Callable[[], Any]:
    """A call that computes the marginals of all arcs; the root has one child.

    Parameters
    ----------
    scores : an array (sentences, words, words) over heads and words, with the scores of the root on the diagonal.
    projective : whether arcs must not cross.
    """
    torch.set_num_threads(1)
    Distribution.set_default_validate_args(False)  # The distributions declare no constraints to validate.
    # Without a gradient, the projective ones fail with "a view of a leaf Variable" in recent versions of PyTorch.
    potentials = torch.tensor(scores, dtype=torch.float32, requires_grad=projective)
    kind = torch_struct.DependencyCRF if projective else torch_struct.NonProjectiveDependencyCRF
    return lambda: kind(potentials, multiroot=False).marginals.detach().numpy()
