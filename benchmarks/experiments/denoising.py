"""Digits with 15 % of their pixels flipped: grids against logistic regression on windows of 3 x 3 pixels.

A grid of 28 x 28 pixels is too wide for exact inference, so images are cut into strips of some rows. Training uses
strips that do not overlap. Each row is predicted within the strip in whose middle it is, so that the ends of strips
matter little. Pixels are predicted by their marginals. C is chosen on held-out images.
"""

from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from benchmarks.corpora.images import mnist
from benchmarks.tables import markdown
from margrave import GraphLabeler
from margrave.inputs import Graph, image_graph
from margrave.inputs.graphs import grid_edges

Result = dict[str, Any]
Images = NDArray[np.int64]

CORPORA = ("mnist",)
RESULT = "denoising"
FLIPPED = 0.15
TRAIN, HELD, TEST = 60, 30, 100
STRIP = 7
CS = (0.01, 0.1, 1.0)
TOL = 1e-2
SHOWN = 6


def measure() -> Result:
    """The share of right pixels: as they are seen, by windows, and by grids with and without windows."""
    rng = np.random.default_rng(0)
    train, _, test, _ = mnist()
    true = (train[: TRAIN + HELD].reshape(-1, 28, 28) > 127).astype(np.int64)
    true_test = (test[:TEST].reshape(-1, 28, 28) > 127).astype(np.int64)
    seen, seen_test = noisy(rng, true), noisy(rng, true_test)
    windows = np.concatenate([pixel_rows(image, 3) for image in seen[:TRAIN]])
    logistic = LogisticRegression(max_iter=1000).fit(windows, true[:TRAIN].ravel())
    by_windows = np.stack([logistic.predict(pixel_rows(x, 3)).reshape(28, 28) for x in seen_test])
    result: Result = {
        "images": [TRAIN, HELD, TEST],
        "flipped": FLIPPED,
        "strip": STRIP,
        "methods": {
            "as seen": {"accuracy": float((seen_test == true_test).mean())},
            "logistic regression, 3 x 3": {"accuracy": float((by_windows == true_test).mean())},
        },
    }
    shown = {"seen": seen_test, "logistic regression": by_windows}
    for window, neighbours in ((1, 4), (1, 8), (3, 8)):
        started = perf_counter()
        model, C = chosen(seen, true, window, neighbours)
        found = predicted(model, seen_test)
        name = f"grid, {neighbours} neighbours, {window} x {window}"
        accuracy = float((found == true_test).mean())
        result["methods"][name] = {"accuracy": accuracy, "C": C, "seconds": perf_counter() - started}
        shown[name] = found
    shown["true"] = true_test
    result["pictures"] = {name: images[:SHOWN].tolist() for name, images in shown.items()}
    return result


def noisy(rng: np.random.Generator, images: Images) -> Images:
    return np.where(rng.random(images.shape) < FLIPPED, 1 - images, images)


def pixel_rows(image: Images, window: int) -> NDArray[np.float64]:
    """The values around each pixel, as -1 and 1, with 0 outside of the image."""
    rows: NDArray[np.float64] = image_graph(2 * image - 1, window=window).nodes
    return rows


def strip(image: Images, first: int, window: int, neighbours: int) -> Graph:
    """Some rows of an image; the windows of its pixels reach beyond it."""
    rows = pixel_rows(image, window).reshape(28, 28, -1)[first : first + STRIP]
    edges, directions = grid_edges(STRIP, 28, neighbours)
    return Graph(rows.reshape(STRIP * 28, -1), edges, directions, (STRIP, 28))


def chosen(seen: Images, true: Images, window: int, neighbours: int) -> tuple[GraphLabeler, float]:
    """The model with the C that is best on held-out images."""
    X = [strip(image, first, window, neighbours) for image in seen[:TRAIN] for first in range(0, 28, STRIP)]
    y = [image[first : first + STRIP] for image in true[:TRAIN] for first in range(0, 28, STRIP)]
    models = {
        C: GraphLabeler(C=C, pairs="symmetric", window=window, neighbours=neighbours, tol=TOL, n_threads=1).fit(X, y)
        for C in CS
    }
    scores = {C: (predicted(model, seen[TRAIN:]) == true[TRAIN:]).mean() for C, model in models.items()}
    best = max(CS, key=lambda C: scores[C])
    return models[best], best


def predicted(model: GraphLabeler, images: Images) -> Images:
    """The more probable value of each pixel, by the strip in whose middle its row is."""
    firsts = [min(max(row - STRIP // 2, 0), 28 - STRIP) for row in range(28)]
    found = np.zeros_like(images)
    for i, image in enumerate(images):
        strips = {first: strip(image, first, model.window, model.neighbours) for first in set(firsts)}
        marginals = dict(zip(strips, model.predict_marginals(list(strips.values())), strict=True))
        for row, first in enumerate(firsts):
            found[i, row] = marginals[first].reshape(STRIP, 28, 2)[row - first].argmax(axis=1)
    return found


def table(result: Result) -> str:
    """One line per method."""
    rows = [
        [
            name,
            f"{run['accuracy']:.2%}",
            f"{run['C']:g}" if "C" in run else "-",
            f"{run['seconds']:.0f}" if "seconds" in run else "-",
        ]
        for name, run in result["methods"].items()
    ]
    return markdown(["method", "right pixels", "C", "seconds"], rows)


def plot(result: Result) -> Any:
    """Noisy, predicted and true digits."""
    from matplotlib.figure import Figure

    pictures = result["pictures"]
    figure = Figure(figsize=(1.2 * SHOWN, 1.35 * len(pictures)))
    axes = figure.subplots(len(pictures), SHOWN)
    for row, (name, images) in zip(axes, pictures.items(), strict=True):
        for panel, image in zip(row, images, strict=True):
            panel.imshow(image, cmap="gray_r", interpolation="nearest")
            panel.set_xticks([])
            panel.set_yticks([])
        row[0].set_title(name, fontsize=8, loc="left")
    figure.tight_layout()
    return figure
