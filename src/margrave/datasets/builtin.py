"""Small data sets for trying things out, from this package or from scikit-learn."""

from importlib.resources import files
from typing import IO, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from margrave.data.constituents import Tree
from margrave.data.sentences import Sentence
from margrave.datasets.brackets import read_brackets
from margrave.datasets.columns import read_columns
from margrave.datasets.conllu import read_conllu
from margrave.errors import unknown

Part = Literal["train", "dev", "test"]


def load_town(part: Part) -> list[list[tuple[str, str, str]]]:
    """Load sentences about a town; each token is a tuple of word, part of speech and entity tag in IOB2.

    Parameters
    ----------
    part : which part of the data to load: "train", "dev" or "test".
    """
    with _opened("town", part, "conll") as stream:
        return [[(word, pos, tag) for word, pos, tag in sentence] for sentence in read_columns(stream)]


def load_harbor(part: Part) -> list[Sentence]:
    """Load sentences about a harbor with their dependency trees.

    Parameters
    ----------
    part : which part of the data to load: "train", "dev" or "test".

    >>> sentence = load_harbor("test")[0]
    >>> [word.form for word in sentence.words][-3:], sentence.heads[-3:]
    (['Mrs', 'Quill', '.'], [5, 7, 5])
    """
    with _opened("harbor", part, "conllu") as stream:
        return list(read_conllu(stream))


def load_quay(part: Part) -> list[Tree]:
    """Load sentences about a quay with their constituent trees.

    Parameters
    ----------
    part : which part of the data to load: "train", "dev" or "test".

    >>> tree = load_quay("dev")[0]
    >>> tree.label, tree.children[0].label, len(tree.words) == len(tree.tags)
    ('TOP', 'S', True)
    """
    with _opened("quay", part, "mrg") as stream:
        return list(read_brackets(stream))


def load_digits() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Load scikit-learn's handwritten digits.

    Returns one image per row, with 8 by 8 pixels between 0 and 1, and the digit that each image shows.
    """
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    return images / 16.0, digits


def _opened(name: str, part: str, extension: str) -> IO[str]:
    """A file of a data set in this package."""
    if part not in get_args(Part):
        raise unknown("part", part, get_args(Part))
    return (files("margrave.datasets") / name / f"{part}.{extension}").open(encoding="utf-8")
