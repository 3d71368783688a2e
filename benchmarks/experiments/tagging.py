"""CoNLL-2000 chunking: CRFsuite's L-BFGS beside Margrave's L-BFGS and online EG, on the same objective.

The same attributes, pairs and objective as benchmarks.rivals.crfsuite: log loss, C = 0.5 (CRFsuite's c2 = 1).
"""

import resource
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import margrave
from benchmarks.corpora.columns import conll2000, conll2000_attributes
from benchmarks.corpora.lines import Attributes
from benchmarks.corpora.problems import chunking
from benchmarks.curves import Point, View, near, reached, thinned
from benchmarks.machine import in_new_process
from benchmarks.plots import nearness
from benchmarks.tables import markdown, number, when
from margrave import _core
from margrave.learners import Observer, Solution
from margrave.learners.gibbs import GibbsState
from margrave.metrics import span_scores, token_accuracy

Result = dict[str, Any]

CORPORA = ("conll2000",)
RESULT = "conll2000"
NEAR = (1e-3, 1e-5)  # of the optimum, relatively
TOL = 1e-5
LEARNERS: dict[str, tuple[str, tuple[float, ...]]] = {  # and looser gaps, each in a run of its own
    "margrave": ("lbfgs", ()),
    "margrave_eg": ("eg", (0.1, 0.01, 0.005, 0.003, 0.001, 0.0001)),
}
C = 0.5
OPTIMUM = 13139.27  # of P / C
EVALUATIONS = 15


def measure() -> Result:
    """Ours with one thread and with two, and CRFsuite if it is installed, each in a process of its own."""
    result: Result = {}
    curves: dict[str, list[Point]] = {}
    for name, (learner, looser) in LEARNERS.items():
        for suffix, threads in (("", 1), ("_2_threads", 2)):
            result[name + suffix], points = in_new_process(one_run, learner, threads, looser)
            curves[f"{learner}, {threads} thread{'s' if threads > 1 else ''}"] = points
    if _core.instruction_set() == "avx512":
        result["margrave_eg_avx2"], points = in_new_process(one_run_with_avx2, *LEARNERS["margrave_eg"])
        curves["eg, 1 thread, AVX2"] = points
    if find_spec("pycrfsuite"):
        from benchmarks.rivals import crfsuite

        result["crfsuite"], steps = in_new_process(crfsuite.measure, 1.0, 300)
        curves["crfsuite"] = [{"passes": n, "seconds": s, "above": loss / OPTIMUM - 1} for n, s, loss in steps]
    result["near"] = {name: {"reached": reached(points, NEAR, near)} for name, points in curves.items()}
    result["curves"] = {name: thinned(points, View("seconds", "above", low=1e-6)) for name, points in curves.items()}
    if "crfsuite" in result:
        result["ratios"] = ratios_to_crfsuite(result)
    return result


def one_run(learner: str, threads: int, looser: Sequence[float]) -> tuple[Result, list[Point]]:
    """Training, one gradient, and tagging."""
    tagger, points, trained = train(learner, threads, TOL, looser)
    gradient = [evaluate_gradient(tagger, number) for number in (1, 2)]
    return {"train": trained, "gradient": gradient, "tag": tag(tagger)}, points


def one_run_with_avx2(learner: str, looser: Sequence[float]) -> tuple[Result, list[Point]]:
    """The same with one thread, as on a processor without AVX-512."""
    _core.choose_instruction_set("avx2")
    return one_run(learner, 1, looser)


class Trials(Observer):
    """Keeps how many rates a visit of online EG tried on average; None for other learners."""

    per_visit: float | None = None

    def end(self, solution: Solution | None) -> None:
        if solution is not None and isinstance(solution.state, GibbsState):
            self.per_visit = solution.state.trials / solution.state.visited


def train(
    learner: str, threads: int, tol: float, looser: Sequence[float]
) -> tuple[margrave.SequenceTagger, list[Point], Result]:
    """To a certified relative gap; memory is that of this process, data and all.

    Dual learners compute P only where they expect to be done. Runs to looser gaps show how soon they were there.
    """
    sentences = conll2000("train")
    X, y = Attributes(sentences, conll2000_attributes), [[row[2] for row in rows] for rows in sentences]
    started = perf_counter()
    trials = Trials()
    tagger = margrave.SequenceTagger(C=C, learner=learner, tol=tol, n_jobs=threads)
    tagger.fit(X, y, observers=[trials])
    seconds = perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    last = tagger.certificate_
    assert last.primal is not None
    early = [
        margrave.SequenceTagger(C=C, learner=learner, tol=each, n_jobs=threads).fit(X, y).certificate_
        for each in sorted(looser, reverse=True)
    ]
    history = [[at.passes, at.seconds, at.primal / C] for at in (*early, *tagger.history_) if at.primal is not None]
    points = [{"passes": n, "seconds": s, "above": P / OPTIMUM - 1} for n, s, P in history]
    return (
        tagger,
        points,
        {
            "learner": learner,
            "threads": threads,
            "weights": len(tagger.coef_),
            "attributes": tagger.map_.tokens.encoder.attributes,
            "transitions": tagger.map_.gram_weights,
            "P_over_C": last.primal / C,
            "D_over_C": (last.dual or 0.0) / C,
            "relative_gap": last.relative_gap,
            "evaluations": last.passes,
            "seconds": last.seconds,
            "seconds_with_encoding": seconds,
            "seconds_per_evaluation_with_learner": last.seconds / last.passes,
            "stop_reason": tagger.stop_reason_,
            "iterations": tagger.n_iter_,
            "trials_per_visit": trials.per_visit,
            "peak_mb": peak,
        },
    )


def evaluate_gradient(tagger: margrave.SequenceTagger, threads: int) -> dict[str, Any]:
    """Seconds for one loss and gradient over the training data at the optimum."""
    problem = chunking().bind(True)
    family = margrave.Log().core(C)
    seconds = []
    for _ in range(EVALUATIONS):
        started = perf_counter()
        _core.losses_and_gradient(problem, tagger.coef_, family, threads, True)
        seconds.append(perf_counter() - started)
    return {"threads": threads, "seconds": median(seconds), "fastest": min(seconds), "evaluations": EVALUATIONS}


def tag(tagger: margrave.SequenceTagger) -> dict[str, Any]:
    """Tag the test file from lists of attribute strings, with one thread; making the strings is not timed."""
    sentences = conll2000("test")
    X = [conll2000_attributes(rows) for rows in sentences]
    y = [[row[2] for row in rows] for rows in sentences]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.margrave"
        tagger.save(path)
        size = path.stat().st_size / 2**20
        started = perf_counter()
        loaded = margrave.load(path)
        opened = perf_counter() - started
        assert isinstance(loaded, margrave.SequenceTagger)
        loaded.set_params(n_jobs=1)
        seconds = []
        for _ in range(5):
            started = perf_counter()
            labels = loaded.predict(X)
            seconds.append(perf_counter() - started)
    tokens = sum(map(len, y))
    return {
        "model_mb": size,
        "seconds_to_open": opened,
        "seconds": median(seconds),
        "tokens": tokens,
        "tokens_per_second": tokens / median(seconds),
        "accuracy": token_accuracy(y, labels),
        "chunk_f1": span_scores(y, labels).f1,
    }


def ratios_to_crfsuite(result: Result) -> dict[str, float]:
    """How many times faster, or smaller, Margrave is than CRFsuite."""
    ours, two, rival = result["margrave"], result["margrave_2_threads"], result["crfsuite"]
    one_thread, two_threads = (entry["seconds"] for entry in ours["gradient"])
    theirs = rival["train"]["seconds_per_evaluation"]
    ratios = {
        "loss_and_gradient_1_thread": theirs / one_thread,
        "loss_and_gradient_2_threads": theirs / two_threads,
        "training_1_thread": rival["train"]["seconds"] / ours["train"]["seconds"],
        "training_2_threads": rival["train"]["seconds"] / two["train"]["seconds"],
        "tagging": ours["tag"]["tokens_per_second"] / rival["tag"]["tokens_per_second"],
        "peak_memory": rival["train"]["peak_mb"] / ours["train"]["peak_mb"],
    }
    if "margrave_eg_avx2" in result:
        ratios["loss_and_gradient_avx2"] = theirs / result["margrave_eg_avx2"]["gradient"][0]["seconds"]
    others = {name: entry["reached"] for name, entry in result["near"].items()}
    rivals = others.pop("crfsuite")
    for name, times in others.items():
        for goal, at in times.items():
            if at and rivals[goal]:
                ratios[f"{name}, {goal}"] = rivals[goal]["seconds"] / at["seconds"]
    return ratios


def table(result: Result) -> str:
    """Margrave beside CRFsuite."""
    ours, rival, ratios = result["margrave"], result.get("crfsuite", {}), result.get("ratios", {})
    (train, tag), (their_train, their_tag) = ((run.get("train", {}), run.get("tag", {})) for run in (ours, rival))
    rows: list[list[str]] = []

    def row(what: str, form: str, mine: float | None, theirs: float | None = None, ratio: str = "") -> None:
        rows.append([what, number(mine, form), number(theirs, form), number(ratios.get(ratio), ".2f")])

    one, two = (entry["seconds"] for entry in ours["gradient"])
    theirs = their_train.get("seconds_per_evaluation")
    row("loss and gradient, 1 thread, s", ".3f", one, theirs, "loss_and_gradient_1_thread")
    row("loss and gradient, 2 threads, s", ".3f", two, theirs, "loss_and_gradient_2_threads")
    if "margrave_eg_avx2" in result:
        avx2 = result["margrave_eg_avx2"]["gradient"][0]["seconds"]
        row("loss and gradient, 1 thread, AVX2, s", ".3f", avx2, theirs, "loss_and_gradient_avx2")
    row("training, 1 thread, s", ".1f", train["seconds"], their_train.get("seconds"), "training_1_thread")
    row("P / C", ".6g", train["P_over_C"], their_train.get("loss"))
    row("certified relative gap", ".1e", train["relative_gap"])
    row("tagging, tokens/s", ",.0f", tag["tokens_per_second"], their_tag.get("tokens_per_second"), "tagging")
    row("token accuracy", ".2%", tag["accuracy"], their_tag.get("accuracy"))
    row("chunk F1", ".2%", tag["chunk_f1"], their_tag.get("chunk_f1"))
    row("peak memory, MB", ".0f", train["peak_mb"], their_train.get("peak_mb"), "peak_memory")
    near = {name: entry["reached"] for name, entry in result["near"].items()}
    rivals = near.pop("crfsuite", {})
    for name, times in near.items():
        for goal in sorted(times, key=float, reverse=True):
            cells = [when(times[goal]), when(rivals.get(goal)), number(ratios.get(f"{name}, {goal}"), ".2f")]
            rows.append([f"P within {float(goal):g} of the optimum, {name}", *cells])
    eg = result["margrave_eg"]["train"]
    row("relative gap of 1e-5 certified by eg, 1 thread, s", ".2f", eg["seconds"])
    row("trials per visit of eg", ".3f", eg["trials_per_visit"])
    row("peak memory of eg, MB", ".0f", eg["peak_mb"])
    return markdown(["CoNLL-2000 chunking", "margrave", "crfsuite", "ratio"], rows)


def plot(result: Result) -> Any:
    """How fast each gets near the optimum."""
    return nearness("CoNLL-2000 chunking, conditional random field", result["curves"])
