"""Small data sets for trying things out, from this package or from scikit-learn."""

from importlib.resources import files
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from margrave.datasets.columns import read_columns
from margrave.errors import unknown

Part = Literal["train", "dev", "test"]


def load_town(part: Part) -> list[list[tuple[str, str, str]]]:
    """Load sentences about a town; each token is a tuple of word, part of speech and entity tag in IOB2.

    Parameters
    ----------
    part : which part of the data to load: "train", "dev" or "test".
    """
    if part not in get_args(Part):
        raise unknown("part", part, get_args(Part))
    with (files("margrave.datasets") / "town" / f"{part}.conll").open(encoding="utf-8") as stream:
        return [[(word, pos, tag) for word, pos, tag in sentence] for sentence in read_columns(stream)]


def load_digits() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Load scikit-learn's handwritten digits.

    Returns one image per row, with 8 by 8 pixels between 0 and 1, and the digit that each image shows.
    """
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    return images / 16.0, digits
