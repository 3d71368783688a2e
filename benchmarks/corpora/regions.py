"""Made-up images of regions, whose pixels alone do not tell their labels."""

from typing import Any

import numpy as np

Images = tuple[list[Any], list[Any]]

_SHOWN = 0.5  # the share of pixels whose features are sure to show their label


def regions(n: int, side: int, labels: int, seed: int) -> Images:
    """Images whose regions have one label each, and pixels that show it half of the time."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        at, of = rng.uniform(0, side, (side * side // 20 + 2, 2)), rng.integers(0, labels, side * side // 20 + 2)
        grid = np.stack(list(np.mgrid[:side, :side]), axis=-1)[:, :, None, :]
        truth = of[((grid - at) ** 2).sum(axis=-1).argmin(axis=-1)]
        seen = np.where(rng.random(truth.shape) < _SHOWN, truth, rng.integers(0, labels, truth.shape))
        X.append(np.eye(labels)[seen])
        y.append(truth)
    return X, y
