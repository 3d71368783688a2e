"""Data for graphs: snakes on grids, and scenes with several labels."""

import json
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora.folder import data_file
from margrave.datasets.opening import read_lines

SCENES = ("beach", "sunset", "foliage", "field", "mountain", "urban")


@dataclass(frozen=True)
class Snake:
    """A picture: the number of the color of each cell, and its label (0: background, 1 to 10: along the snake)."""

    colors: NDArray[np.int64]  # (height, width)
    labels: NDArray[np.int64]


def snakes(part: str) -> list[Snake]:
    """The pictures of a part; colors are numbered in the order of the training data's distinct colors."""
    lines = {
        p: [json.loads(line) for _, line in read_lines(data_file("snakes", f"snakes.{p}.jsonl"))]
        for p in ("train", part)
    }
    colors = sorted({tuple(color) for each in lines["train"] for color in each["rgb"]})
    number = {color: k for k, color in enumerate(colors)}
    return [
        Snake(
            np.array([number[tuple(color)] for color in each["rgb"]]).reshape(each["h"], each["w"]),
            np.array(each["y"]).reshape(each["h"], each["w"]),
        )
        for each in lines[part]
    ]


def scenes(part: str) -> tuple[NDArray[np.float64], list[list[str]]]:
    """The features of all pictures, and their labels."""
    X, Y = [], []
    for _, line in read_lines(data_file("scene-multilabel", f"scene.{part}.tsv")):
        labels, _, numbers = line.partition("\t")
        Y.append([name for name, here in zip(SCENES, labels, strict=True) if here == "1"])
        X.append([float(x) for x in numbers.split()])
    return np.array(X), Y
