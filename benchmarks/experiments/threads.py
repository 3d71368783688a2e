"""Seconds of the sequential learners with one thread and with two."""

from typing import Any

from benchmarks.corpora.problems import Tagging, chunking, ocr_words
from benchmarks.experiments.brown import sentences
from benchmarks.experiments.ocr import OCR_C
from benchmarks.tables import markdown
from margrave import _core
from margrave.learners import BCFW, EG, MIRA, Learner, Objective
from margrave.losses import Hinge, Log, LossFamily

Result = dict[str, Any]

CORPORA = ("conll2000", "ocr-letters", "brown-pos")
RESULT = "threads"
THREADS_REPEATS = 3  # one thread and two in turn; the fastest of each counts


def measure() -> Result:
    """Seconds of the sequential learners with one thread and with two; to the same gap where there is one."""
    chunks = chunking().bind(True)
    words = ocr_words(all_but_one_fold=True).bind(True)
    tags = Tagging(*sentences()).bind(True)
    runs: dict[str, tuple[Learner, _core.Problem, LossFamily, float, float, int | None]] = {
        "eg, CoNLL-2000, log, to 1e-4": (EG(), chunks, Log(), 0.5, 1e-4, None),
        "eg single, CoNLL-2000, log, to 1e-4": (EG(single=True), chunks, Log(), 0.5, 1e-4, None),
        "bcfw, OCR letters, hinge, to 1e-2": (BCFW(), words, Hinge(), OCR_C, 1e-2, None),
        "mira (DCA), CoNLL-2000, log, 10 passes": (MIRA(), chunks, Log(), 0.5, 0.0, 10),
        "mira, OCR letters, hinge, 20 passes": (MIRA(), words, Hinge(), OCR_C, 0.0, 20),
        "eg, Brown, log, to 1e-3": (EG(), tags, Log(), 0.5, 1e-3, None),
        "bcfw, Brown, hinge, to 1e-1": (BCFW(), tags, Hinge(), 0.1, 1e-1, None),
        "mira (DCA), Brown, log, 3 passes": (MIRA(), tags, Log(), 0.5, 0.0, 3),
    }
    result: Result = {}
    for name, (learner, problem, loss, C, tol, most) in runs.items():
        solved = [
            (number, learner.solve(Objective(problem, loss, C=C, tol=tol, max_iter=most, n_jobs=number)).certificate)
            for _ in range(THREADS_REPEATS)
            for number in (1, 2)
        ]
        result[name] = {}
        for number in (1, 2):
            best = min((record for by, record in solved if by == number), key=lambda record: record.seconds or 0.0)
            result[name][str(number)] = {
                "seconds": best.seconds,
                "passes": best.passes,
                "P": best.primal,
                "relative_gap": best.relative_gap,
            }
        result[name]["speed-up"] = result[name]["1"]["seconds"] / result[name]["2"]["seconds"]
    return {"repeats": THREADS_REPEATS, "runs": result}


def table(result: Result) -> str:
    """Seconds with one thread and with two."""
    rows = (
        [name, f"{run['1']['seconds']:.2f}", f"{run['2']['seconds']:.2f}", f"{run['speed-up']:.2f}"]
        for name, run in result["runs"].items()
    )
    busy = result.get("second_core_shared", [])  # Such a speed-up is too low.
    note = f"\n\nwhile other processes used the second core: {'; '.join(busy)}" if busy else ""
    return markdown(["learner and data", "1 thread, s", "2 threads, s", "speed-up"], rows) + note


def plot(result: Result) -> None:
    """There is none."""
