"""Dependency trees in PyTorch, by torch-struct and by supar: Eisner's algorithm and the matrix-tree theorem.

Each function takes scores of the arcs, an array (sentences, words, words + 1) over words and heads where the head 0 is
the root. It gives a call that computes the marginals of all arcs, in one batch on one thread, and a function that
arranges what the call returns as such an array. Arcs from a word to itself do not count. The root has one child.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.distributions import Distribution

Array = NDArray[np.float64]
Marginals = tuple[Callable[[], Any], Callable[[Any], Any]]


def torch_struct_marginals(scores: Array, projective: bool) -> Marginals:
    """Those of torch-struct, which has heads before words and the scores of the root on the diagonal."""
    import torch_struct

    _prepare()
    word = np.arange(scores.shape[1])
    by_head = scores[:, :, 1:].transpose(0, 2, 1).copy()
    by_head[:, word, word] = scores[:, :, 0]
    # Without a gradient, the projective ones fail with "a view of a leaf Variable" in recent versions of PyTorch.
    potentials = torch.tensor(by_head, dtype=torch.float32, requires_grad=projective)
    kind = torch_struct.DependencyCRF if projective else torch_struct.NonProjectiveDependencyCRF

    def arranged(mu: Any) -> Any:
        return np.concatenate([mu[:, word, word][:, :, None], mu.transpose(0, 2, 1)], axis=2)

    return lambda: kind(potentials, multiroot=False).marginals.detach().numpy(), arranged


def supar_marginals(scores: Array, projective: bool) -> Marginals:
    """Those of supar, which has a row for the root as well."""
    from supar.structs import DependencyCRF, MatrixTree

    _prepare()
    with_root = np.concatenate([np.zeros_like(scores[:, :1]), scores], axis=1)
    potentials = torch.tensor(with_root, dtype=torch.float32)
    kind = DependencyCRF if projective else MatrixTree
    return lambda: kind(potentials, multiroot=False).marginals.detach().numpy(), lambda mu: mu[:, 1:]


def _prepare() -> None:
    torch.set_num_threads(1)
    Distribution.set_default_validate_args(False)  # The distributions declare no constraints to validate.
