"""Which learner for what: every learner that minimizes P, on four kinds of problems."""

from collections.abc import Callable
from typing import Any

from benchmarks.corpora.problems import Parsing, chunking, digits_problem, ocr_words
from benchmarks.corpora.trees import treebank
from benchmarks.curves import compare, regularized_learners
from benchmarks.experiments.mnist import DIGITS_C
from benchmarks.experiments.ocr import OCR_C, plot, table
from benchmarks.experiments.trees import TREES_C
from margrave import _core
from margrave.losses import Hinge, Log, LossFamily

Result = dict[str, Any]

__all__ = ["CORPORA", "RESULT", "measure", "plot", "table"]

CORPORA = ("conll2000", "ocr-letters", "mnist", "ud-greek-gdt")
RESULT = "choosing"
SECONDS = 15.0  # after which a learner makes no further pass
CHOOSING_GOALS = (1e-2, 1e-3, 1e-4)


def measure() -> Result:
    """Passes and seconds of every learner that minimizes P, on four kinds of problems."""
    words = ocr_words(all_but_one_fold=False)
    problems: dict[str, tuple[Callable[[bool], _core.Problem], LossFamily, float]] = {
        "CoNLL-2000 chunking": (chunking().bind, Log(), 0.5),
        "OCR letters, 704 words": (words.bind, Hinge(), OCR_C),
        "MNIST, 7,000 images": (lambda tied: digits_problem(), Log(), DIGITS_C),
        "UD Greek, 500 trees": (lambda tied: Parsing(treebank("ud-greek-gdt", "train")[:500]).problem, Log(), TREES_C),
    }
    learners = regularized_learners()
    result = {
        f"{name}, {loss.name}, C = {C:g}": {"learners": compare(learners, bind, loss, C, CHOOSING_GOALS, SECONDS)}
        for name, (bind, loss, C) in problems.items()
    }
    return {"seconds": SECONDS, "data": result}
