"""Digits with 15 % of their pixels flipped: grids against logistic regression on windows of 3 x 3 pixels.

A grid of 28 x 28 pixels is too wide for exact inference, so images are cut into strips of some rows. Training uses
strips that do not overlap. Each row is predicted within the strip in whose middle it is, so that the ends of strips
matter little. Pixels are predicted by their marginals. C is chosen on held-out images, that of logistic regression as
well. Grids have four neighbors, since eight take exact inference several times as long.
"""

from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from benchmarks.corpora.images import mnist
from benchmarks.tables import markdown
from margrave import GraphLabeler
from margrave.data import Graph, image_graph
from margrave.data.graphs import grid_edges

Result = dict[str, Any]
Images = NDArray[np.int64]

CORPORA = ("mnist",)
RESULT = "denoising"
FLIPPED = 0.15
TRAIN, HELD, TEST = 60, 30, 100
STRIP = 7
NEIGHBORS, WINDOWS = 4, (1, 3)
CS = (0.01, 0.1, 1.0)
TOL = 1e-2
SHOWN = 6


def measure() -> Result:
    """The share of right pixels: as they are seen, by windows, and by grids with and without windows."""
    rng = np.random.default_rng(0)
    train, _, test, _ = mnist()
    true, true_test = binary(train[: TRAIN + HELD]), binary(test[:TEST])
    seen, seen_test = noisy(rng, true), noisy(rng, true_test)
    by_windows, window_C = windows_alone(seen, true, seen_test)
    result: Result = {
        "images": [TRAIN, HELD, TEST],
        "flipped": FLIPPED,
        "strip": STRIP,
        "methods": {
            "as seen": {"accuracy": float((seen_test == true_test).mean())},
            "logistic regression, 3 x 3": {"accuracy": float((by_windows == true_test).mean()), "C": window_C},
        },
    }
    shown = {"seen": seen_test, "logistic regression": by_windows}
    for window in WINDOWS:
        started = perf_counter()
        model, C = chosen(seen, true, window)
        found = predicted(model, seen_test)
        name = f"grid, {window} x {window}"
        accuracy = float((found == true_test).mean())
        result["methods"][name] = {"accuracy": accuracy, "C": C, "seconds": perf_counter() - started}
        shown[name] = found
    shown["true"] = true_test
    wrong = {name: images[:SHOWN] != true_test[:SHOWN] for name, images in shown.items()}
    result["wrong"] = {name: [np.flatnonzero(image).tolist() for image in images] for name, images in wrong.items()}
    result["black"] = [np.flatnonzero(image).tolist() for image in true_test[:SHOWN]]
    return result


def windows_alone(seen: Images, true: Images, seen_test: Images) -> tuple[Images, float]:
    """Logistic regression on the pixels around each pixel, with the C that is best on held-out images."""
    X, held = (np.concatenate([pixel_rows(image, 3) for image in of]) for of in (seen[:TRAIN], seen[TRAIN:]))
    models = {C: LogisticRegression(C=C, max_iter=1000).fit(X, true[:TRAIN].ravel()) for C in CS}
    best = max(CS, key=lambda C: float((models[C].predict(held) == true[TRAIN:].ravel()).mean()))
    return np.stack([models[best].predict(pixel_rows(x, 3)).reshape(28, 28) for x in seen_test]), best


def noisy(rng: np.random.Generator, images: Images) -> Images:
    return np.where(rng.random(images.shape) < FLIPPED, 1 - images, images)


def pixel_rows(image: Images, window: int) -> NDArray[np.float64]:
    """The values around each pixel, as -1 and 1, with 0 outside of the image."""
    rows: NDArray[np.float64] = image_graph(2 * image - 1, window=window).nodes
    return rows


def strip(image: Images, first: int, window: int) -> Graph:
    """Some rows of an image; the windows of its pixels reach beyond it."""
    rows = pixel_rows(image, window).reshape(28, 28, -1)[first : first + STRIP]
    edges, directions = grid_edges(STRIP, 28, NEIGHBORS)
    return Graph(rows.reshape(STRIP * 28, -1), edges, directions, (STRIP, 28))


def chosen(seen: Images, true: Images, window: int) -> tuple[GraphLabeler, float]:
    """The model with the C that is best on held-out images; of equal ones the smallest."""
    X = [strip(image, first, window) for image in seen[:TRAIN] for first in range(0, 28, STRIP)]
    y = [image[first : first + STRIP] for image in true[:TRAIN] for first in range(0, 28, STRIP)]
    models = {
        C: GraphLabeler(C=C, pairs="symmetric", window=window, neighbors=NEIGHBORS, tol=TOL, n_jobs=1).fit(X, y)
        for C in CS
    }
    scores = {C: (predicted(model, seen[TRAIN:]) == true[TRAIN:]).mean() for C, model in models.items()}
    best = max(CS, key=lambda C: scores[C])
    return models[best], best


def predicted(model: GraphLabeler, images: Images) -> Images:
    """The more probable value of each pixel, by the strip in whose middle its row is."""
    firsts = [min(max(row - STRIP // 2, 0), 28 - STRIP) for row in range(28)]
    every = [(i, first) for i in range(len(images)) for first in sorted(set(firsts))]
    strips = [strip(images[i], first, model.window) for i, first in every]
    marginals = dict(zip(every, model.predict_marginals(strips), strict=True))
    found = np.zeros_like(images)
    for i in range(len(images)):
        for row, first in enumerate(firsts):
            found[i, row] = marginals[i, first].reshape(STRIP, 28, 2)[row - first].argmax(axis=1)
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
    """Noisy, predicted and true digits; the result has the black pixels of the true ones and the wrong pixels."""
    from matplotlib.figure import Figure

    true = [flipped(np.zeros((28, 28), np.int64), pixels) for pixels in result["black"]]
    pictures = {
        name: np.stack([flipped(*each) for each in zip(true, of, strict=True)]) for name, of in result["wrong"].items()
    }
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


def flipped(image: Images, pixels: list[int]) -> Images:
    """The image with these pixels flipped."""
    found = image.copy()
    found.flat[pixels] = 1 - found.flat[pixels]
    return found


def binary(images: Any) -> Images:
    """Images of black and white pixels."""
    return (np.asarray(images).reshape(-1, 28, 28) > 127).astype(np.int64)
