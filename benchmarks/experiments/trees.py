"""Every learner on dependency trees of UD Greek, with the log loss, the hinge loss if it refuses that, or its own."""

from typing import Any

from benchmarks.corpora.problems import Parsing
from benchmarks.corpora.trees import treebank
from benchmarks.curves import View, certifies, follow, thinned
from benchmarks.plots import DOTS, colored, draw, finished, gap_axes, panels
from benchmarks.tables import markdown, number
from margrave.errors import MargraveError
from margrave.learners import LEARNERS, Auto, Objective
from margrave.losses import Hinge, Log, Perceptron

Result = dict[str, Any]

CORPORA = ("ud-greek-gdt",)
RESULT = "trees"
SECONDS = 20.0  # after which a learner makes no further pass
TREES_C = 0.1
AGREEMENT = 1e-4  # the relative gap to which optima are compared


def measure() -> Result:
    """Trees of UD Greek GDT: every learner, with the log loss, the hinge loss if it refuses that, or its own."""
    train, dev = (treebank("ud-greek-gdt", part) for part in ("train", "dev"))
    data = Parsing(train)
    questions = {"UAS": data.uas(dev)}
    runs: dict[str, Any] = {}
    for name, kind in LEARNERS.items():
        learner = kind()
        if isinstance(learner, Auto):  # it is one of the others
            continue
        for loss in (Log(), Hinge()) if "perceptron loss" not in learner.offers else (Perceptron(),):
            try:
                learner.check(loss, data.problem)
            except MargraveError as refusal:
                runs[name] = {"refused": str(refusal)}
                continue
            objective = Objective(data.problem, loss, C=TREES_C, n_jobs=1)
            runs[name] = follow(learner, objective, [AGREEMENT], SECONDS, questions)
            break
    primals = {
        name: point["P"]
        for name, run in runs.items()
        for point in run.get("curve", [])[-1:]
        if run["loss"] == "log" and certifies(point, AGREEMENT)
    }
    for run in runs.values():
        if "curve" in run:
            run["end"] = run["curve"][-1]
            views = View("seconds", "relative_gap", low=5e-5, high=10.0), View("passes", "UAS", log_y=False, low=0.7)
            run["curve"] = thinned(run["curve"], *views)
    spread = max(primals.values()) / min(primals.values()) - 1 if primals else None
    return {
        "sentences": len(train),
        "words": sum(len(sentence.words) for sentence in train),
        "C": TREES_C,
        "seconds": SECONDS,
        "weights": data.problem.dim,
        "learners": runs,
        "agreement": {"learners": list(primals), "relative_spread_of_P": spread},
    }


def table(result: Result) -> str:
    """Where each learner ended, and which refused."""
    rows, refused = [], []
    for name, run in result["learners"].items():
        if "refused" in run:
            refused.append(f"{name}: {run['refused']}")
            continue
        end = run["end"]
        numbers = [number(end["P"], ".6g"), number(end["relative_gap"], ".1e"), f"{100 * end['UAS']:.2f}"]
        rows.append([name, run["loss"], *numbers, f"{end['passes']:.4g}", f"{end['seconds']:.1f}"])
    table = markdown(["learner", "loss", "P", "relative gap", "UAS, %", "passes", "seconds"], rows)
    agreed = result["agreement"]
    spread = number(agreed["relative_spread_of_P"], ".1e")
    agreement = f"log loss, certified: {', '.join(agreed['learners'])}; their P differ relatively by {spread}"
    return "\n\n".join([table, agreement, *refused])


def plot(result: Result) -> Any:
    """The relative gap against time, and the attachment score against effective passes."""
    figure, (gaps, uas) = panels(2)
    gap_axes(gaps, 1e-4, "UD Greek, non-projective trees")
    uas.set(xscale="log", xlabel="effective passes", ylabel="UAS on dev")
    for name, color in colored(result["learners"]):
        run = result["learners"][name]
        if "curve" in run:
            label = f"{name}, {run['loss']}"
            draw(uas, label, run["curve"], "passes", "UAS", color=color)
            if any(gap is not None for gap in run["curve"]["relative_gap"]):
                draw(gaps, label, run["curve"], "seconds", "relative_gap", color=color, **DOTS)
    uas.set_ylim(bottom=0.7)
    return finished(figure)
