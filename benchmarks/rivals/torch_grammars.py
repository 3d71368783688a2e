"""Context-free grammars in PyTorch, by torch-struct: inside-outside in one batch on one thread."""

from collections.abc import Callable

import numpy as np
import torch
import torch_struct
from numpy.typing import NDArray
from torch.distributions import Distribution

Array = NDArray[np.float64]


def torch_struct_marginals(
    rules: Array, words: Array, roots: Array, batch: int
) -> tuple[Callable[[], object], Callable[[], float]]:
    """A call that computes the marginals of a batch of equal sentences, and one for their log partition function.

    rules (n, n + t, n + t): scores of rules over non-terminals, then tags. words (length, t): scores of the tags of
    each word. roots (n): scores of non-terminals at the top.
    """
    torch.set_num_threads(1)
    Distribution.set_default_validate_args(False)

    def repeated(scores: Array) -> torch.Tensor:
        one = torch.tensor(scores, dtype=torch.float32)
        return one.expand(batch, *one.shape).clone().requires_grad_()

    def crf() -> torch_struct.SentCFG:
        return torch_struct.SentCFG((repeated(words), repeated(rules), repeated(roots)))

    return lambda: crf().marginals, lambda: float(crf().partition[0].detach())
