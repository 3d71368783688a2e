"""Small data sets that come with the package or with scikit-learn, to try things out."""

from importlib.resources import files
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from margrave.datasets.columns import read_columns
from margrave.errors import unknown

Part = Literal["train", "dev", "test"]


def load_town(part: Part) -> list[list[tuple[str, str, str]]]:
    """Sentences about a town, each token a word, its part of speech and its entity tag in IOB2."""
    if part not in get_args(Part):
        raise unknown("part", part, get_args(Part))
    with (files("margrave.datasets") / "town" / f"{part}.conll").open(encoding="utf-8") as stream:
        return [[(word, pos, tag) for word, pos, tag in sentence] for sentence in read_columns(stream)]


def load_digits() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Handwritten digits of 8 by 8 pixels between 0 and 1, one image a row, and the digit that each shows."""
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    return images / 16.0, digits
