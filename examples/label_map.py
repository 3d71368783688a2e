"""Finds land, sea and ice on noisy maps: pixels alone, and pixels that know their neighbors.

The maps are generated: islands in a sea, with ice in the north. Every pixel of a picture shows a color, which is wrong
more often than not. Run it with `python examples/label_map.py`; it draws demo/map.png.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from margrave import GraphLabeler

PICTURE = Path("demo/map.png")
HEIGHT, WIDTH = 4, 20
KINDS = np.array(["ice", "land", "sea"])
COLORS = np.array([[0.92, 0.95, 1.0], [0.45, 0.65, 0.3], [0.25, 0.45, 0.75]])

Map = NDArray[np.str_]


def draw_map(rng: np.random.Generator) -> tuple[NDArray[np.float64], Map]:
    """Returns what is seen of a map, three numbers per pixel, and what is there."""
    row, column = np.mgrid[:HEIGHT, :WIDTH]
    kind = np.full((HEIGHT, WIDTH), "sea", dtype=KINDS.dtype)
    for _ in range(4):
        middle, size = rng.uniform((1, 2), (HEIGHT, WIDTH - 2)), rng.uniform((1.2, 2), (2.5, 5))
        kind[((row - middle[0]) / size[0]) ** 2 + ((column - middle[1]) / size[1]) ** 2 < 1] = "land"
    kind[row < 0.8 + np.sin(column / 5 + rng.uniform(0, 6))] = "ice"
    true = (kind[:, :, None] == KINDS).astype(float)
    return true + rng.normal(scale=1.1, size=true.shape), kind


def main() -> None:
    rng = np.random.default_rng(0)
    X, y = zip(*(draw_map(rng) for _ in range(20)), strict=True)
    X_test, y_test = zip(*(draw_map(rng) for _ in range(10)), strict=True)
    # Pixels without edges are a plain classifier; with them, labels that lie side by side depend on each other.
    alone = [(image.reshape(-1, 3), []) for image in X_test]
    pixels = GraphLabeler(C=1.0).fit([(image.reshape(-1, 3), []) for image in X], [kind.ravel() for kind in y])
    grid = GraphLabeler(C=1.0, neighbors=4, tol=1e-2).fit(X, y)
    print(f"trained on {len(X)} maps of {HEIGHT} x {WIDTH} pixels, tested on {len(X_test)}: right pixels")
    print(f"  each pixel alone             {pixels.score(alone, [kind.ravel() for kind in y_test]):7.1%}")
    print(f"  with its four neighbors     {grid.score(X_test, y_test):7.1%}")
    print(f"certificate: {grid.stop_reason_}")
    found = np.reshape(pixels.predict(alone[:1])[0], (HEIGHT, WIDTH))
    certain = grid.predict_marginals(X_test[:1])[0].max(axis=2)
    draw(
        {"seen": X_test[0], "pixels alone": found, "with neighbors": grid.predict(X_test[:1])[0], "true": y_test[0]},
        certain,
    )
    print(f"picture of a map: {PICTURE}")


def draw(maps: dict[str, NDArray[np.float64] | Map], certain: NDArray[np.float64]) -> None:
    """Draws maps below each other, and how certain the labels with neighbors are."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(len(maps) + 1, 1, figsize=(5, 8))
    for panel, (name, shown) in zip(axes, maps.items(), strict=False):
        if shown.dtype.kind == "f":  # mixtures of the colors
            weights = np.exp(2 * shown)
            colors = weights / weights.sum(axis=2, keepdims=True) @ COLORS
        else:
            colors = COLORS[np.searchsorted(KINDS, shown)]
        panel.imshow(colors, interpolation="nearest")
        panel.set_title(name, fontsize=8)
    axes[-1].imshow(certain, cmap="gray", vmin=1 / 3, vmax=1, interpolation="nearest")
    axes[-1].set_title("probability of the labels with neighbors (white: 1)", fontsize=8)
    for panel in axes:
        panel.set_axis_off()
    figure.tight_layout()
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=150)


if __name__ == "__main__":
    main()
