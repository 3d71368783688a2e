"""Structural SVM on handwritten words: seconds and cuts to two goals, and to where all learners meet."""

from collections.abc import Mapping
from itertools import chain as flatten
from typing import Any

from benchmarks.corpora.problems import ocr_words
from benchmarks.experiments.ocr import OCR_C
from benchmarks.tables import markdown, number
from margrave import _core
from margrave.learners import BCFW, EG, CuttingPlane, Learner, Objective, OneSlack
from margrave.losses import Hinge

Result = dict[str, Any]

CORPORA = ("ocr-letters",)
RESULT = "svm_ocr"
SECONDS = 5.0  # after which a timing is not repeated
SVM_GOALS = (0.027, 1e-3)
# PyStruct 1-slack on a machine of this kind: seconds, cuts, relative gap.
PYSTRUCT = {"seconds": 32.5, "cuts": 421, "relative_gap": 0.027}
SVM_LEARNERS: Mapping[str, Learner] = {"one-slack": OneSlack(), "cutting-plane": CuttingPlane(), "bcfw": BCFW()}
AGREED = 1e-4  # the relative gap to which optima are compared
# The same optimum at leisure: optimizing over all constraints after each, and EG at beta = inf, to its own gap.
SLOW_LEARNERS: Mapping[str, tuple[Learner, float]] = {
    "cutting-plane (a)": (CuttingPlane("a"), AGREED),
    "eg": (EG(), 10 * AGREED),
}


def measure() -> Result:
    """OCR letters, one fold, hinge loss, C = 0.1: seconds and cuts to both goals, and to where all learners meet.

    Each P is held against the best D of all.
    """
    data = ocr_words(all_but_one_fold=False)
    problem = data.bind(tied=True)
    runs = {
        name: {f"{goal:g}": timed(learner, problem, goal, SECONDS) for goal in SVM_GOALS}
        for name, learner in SVM_LEARNERS.items()
    }
    agreement = {name: timed(learner, problem, AGREED, 0) for name, learner in SVM_LEARNERS.items()}
    for name, (learner, tol) in SLOW_LEARNERS.items():
        agreement[name] = timed(learner, problem, tol, 0, max_iter=10_000)
    best = max(run["D"] for run in agreement.values())
    for run in flatten(agreement.values(), *(of.values() for of in runs.values())):
        run["above"] = run["P"] / best - 1
    return {
        "words": len(data.X),
        "letters": data.tokens,
        "C": OCR_C,
        "seconds": SECONDS,
        "pystruct": PYSTRUCT,
        "learners": runs,
        "agreement": agreement,
    }


def timed(learner: Learner, problem: _core.Problem, tol: float, seconds: float, max_iter: int | None = None) -> Result:
    """The fastest of up to three runs that fit into the time."""
    runs: list[Result] = []
    while not runs or (len(runs) < 3 and sum(run["seconds"] for run in runs) < seconds):
        solution = learner.solve(Objective(problem, Hinge(), C=OCR_C, tol=tol, n_jobs=1, max_iter=max_iter))
        end = solution.certificate
        state = solution.state
        runs.append(
            {
                "seconds": end.seconds,
                "passes": end.passes,
                "cuts": state.n_constraints if hasattr(state, "n_constraints") else None,
                "P": end.primal,
                "D": end.dual,
                "relative_gap": end.relative_gap,
                "converged": solution.converged,
            }
        )
    return min(runs, key=lambda run: float(run["seconds"]))


def table(result: Result) -> str:
    """Seconds and cuts to each goal."""
    to_goals = [
        (name, goal, run)
        for name, of in result["learners"].items()
        for goal, run in sorted(of.items(), key=lambda item: -float(item[0]))
    ]
    meeting = [(name, "agreement", run) for name, run in result["agreement"].items()]
    rows = [
        [
            name,
            goal,
            f"{run['seconds']:.2f}",
            number(run["cuts"], ","),
            f"{run['passes']:.4g}",
            f"{run['relative_gap']:.1e}",
            f"{run['above']:.1e}",
        ]
        for name, goal, run in to_goals + meeting
    ]
    rival = result["pystruct"]
    rows.append(
        ["PyStruct 1-slack", f"{rival['relative_gap']:g}", f"{rival['seconds']:.2f}", str(rival["cuts"]), *"---"]
    )
    header = ["learner", "goal", "seconds", "cuts", "passes", "relative gap", "P above the best D, relative"]
    others = "".join(
        f"\n\n{name}: measured on {run['machine']['cpu']}, {run['machine']['date']}"
        for name, run in result["agreement"].items()
        if "machine" in run  # It was kept from the results of another run.
    )
    return f"OCR letters, {result['words']} words, C = {result['C']:g}\n\n{markdown(header, rows)}{others}"


def plot(result: Result) -> None:
    """There is none."""
