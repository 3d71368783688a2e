"""How many images approximate inference needs to learn from: grids against pixels alone, by labels and images.

The images are made up, as those of `defaults`, and so are the new ones to label, which are larger. Belief propagation
has the default learner, and so has its tree-reweighted form.
"""

from typing import Any

import numpy as np

from benchmarks.corpora.regions import regions
from benchmarks.experiments.defaults import HELD_OUT, as_graphs, cell_accuracy, fit_labeler, labeled
from benchmarks.tables import markdown

Result = dict[str, Any]

CORPORA = ()
RESULT = "few_images"
LABELS, IMAGES, SIDE = (3, 5, 8, 14), (2, 4, 8), 8
SEEDS = range(4)
MODELS: dict[str, dict[str, Any]] = {"pixels": {"edges": False}, "bp": {"inference": "bp"}, "trw": {"inference": "trw"}}


def measure() -> Result:
    """The accuracy of every model for each number of labels and of images, over several data sets."""
    return {
        "side": SIDE,
        "rows": [
            {"labels": labels, "images": n, "accuracy": {name: accuracies(n, labels, name) for name in MODELS}}
            for labels in LABELS
            for n in IMAGES
        ],
    }


def accuracies(n: int, labels: int, name: str) -> list[float]:
    """The accuracy on new images for each data set."""
    found = []
    for seed in SEEDS:
        model = fit_labeler(as_graphs(*regions(n, SIDE, labels, seed)), MODELS[name])
        new = as_graphs(*regions(*HELD_OUT, labels, 99 + seed))
        found.append(round(cell_accuracy(new, labeled(model, new))["accuracy"], 5))
    return found


def table(result: Result) -> str:
    """The mean accuracies, and on how many data sets edges help."""
    rows = []
    for row in result["rows"]:
        of = {name: np.array(each) for name, each in row["accuracy"].items()}
        better = [f"{int((of[name] > of['pixels']).sum())} of {len(of[name])}" for name in ("bp", "trw")]
        rows.append(
            [str(row["labels"]), str(row["images"]), *(f"{100 * each.mean():.1f}" for each in of.values()), *better]
        )
    return markdown(["labels", "images", *MODELS, "bp is ahead of pixels", "trw is ahead of pixels"], rows)


def plot(result: Result) -> None:
    """There is none."""
