"""Reports on models of any task: how they were trained, how far they are from the optimum; and their tables."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from margrave.errors import counted

if TYPE_CHECKING:
    from margrave.estimators.base import StructuredEstimator

_MUCH = 10**7  # bytes; learners that take less have no row


def certificate_report(model: "StructuredEstimator", cost: Any) -> dict[str, Any]:
    """The objective, and how near its minimum the model is; `cost` is that of wrong outputs, if the loss has one."""
    from margrave.learners import Learner
    from margrave.losses import loss_named

    kept, loss = model.certificate_, loss_named(model.loss)
    learner = Learner.find(model.learner) if isinstance(model.learner, str) else model.learner
    if loss.gamma == 0 or loss.slack == 0:
        cost = None
    elif getattr(learner, "margin", "cost") == "one":  # the margin of a linear program, the same for all wrong outputs
        cost = "zero-one"
    return {
        "zero_weights": model.n_zero_weights_ / max(model.n_weights_, 1),
        "weight_bits": model.weight_bits_,
        "primal": kept.primal,
        "dual": kept.dual,
        "gap": kept.gap,
        "relative_gap": None if kept.gap is None else kept.relative_gap,
        "exact": kept.exact,
        "iterations": model.n_iter_,
        "passes": model.history_[-1].passes,
        "converged": model.converged_,
        "stop_reason": model.stop_reason_,
        "loss": loss.name,
        "cost": cost if cost is None or isinstance(cost, str) else "matrix",
        "C": getattr(model, "C_", model.C),
        "learner": _learner_name(model),
    }


def _learner_name(model: Any) -> str:
    """The learner that ran, if this is known."""
    learner = model.learned_by_ or model.learner
    return str(learner if isinstance(learner, str) else learner.name)


def training_report(model: "StructuredEstimator", cost: Any) -> dict[str, Any]:
    """The same, with what is known only after training."""
    return {**certificate_report(model, cost), "seconds": model.history_[-1].seconds}


def file_report(path: str) -> dict[str, Any]:
    """The path of the model, and the size of its file."""
    return {"model": path, "model_bytes": os.path.getsize(path)}


def training_summary(report: Mapping[str, Any], notes: Iterable[tuple[str, str]], dev: str | None) -> str:
    """The report as a table of two columns; `notes` are rows of the task, `dev` the scores on development data."""
    return _summary_table(
        [
            *size_rows(report),
            *notes,
            *_loss_rows(report),
            ("seconds", f"{report['seconds']:.1f}"),
            *_memory_rows(report),
            *certificate_rows(report),
            *([] if dev is None else [("dev", dev)]),
            _file_row(report),
        ]
    )


def _memory_rows(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """How much memory the learner took, if that is much and known."""
    size = report["learner_bytes"] or 0
    return [("memory", f"{_size(size)} besides data and weights")] if size >= _MUCH else []


def inspection_summary(report: Mapping[str, Any], more: str) -> str:
    """The report of a model file as a table of two columns, followed by what the task adds."""
    rows = [
        _file_row(report),
        ("estimator", report["estimator"]),
        *size_rows(report),
        *_loss_rows(report),
        *certificate_rows(report),
    ]
    return "\n\n".join([_summary_table(rows), *([more] if more else [])])


def _file_row(report: Mapping[str, Any]) -> tuple[str, str]:
    return "model", f"{report['model']} ({_size(report['model_bytes'])})"


def size_rows(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """All counts in the report, whose names begin with n_."""
    rows = [
        (name.removeprefix("n_").replace("_", " "), f"{count:,}")
        for name, count in report.items()
        if name.startswith("n_")
    ]
    zeros, bits = report["zero_weights"], report["weight_bits"]
    notes = [*([f"{percent(zeros)} zero"] if zeros else []), *([f"rounded to {bits} bits"] if bits < 64 else [])]
    about = f" ({', '.join(notes)})" if notes else ""
    return [(name, f"{text}{about}" if name == "weights" else text) for name, text in rows]


def _loss_rows(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    # Hamming is the usual cost, and the name of the loss says f1 itself.
    cost = "" if report["cost"] in (None, "hamming", "f1") else f", {report['cost']} cost"
    return [
        *([] if report["primal"] is None else [("loss", f"{report['loss']}{cost}, {_regularization(report['C'])}")]),
        ("learner", report["learner"]),
        ("passes", _passes(report)),
    ]


def _regularization(C: float | None) -> str:
    """The C that a model was trained with; the default of aligners depends on data that a file does not have."""
    return "the default C" if C is None else f"C {C:g}"


def _passes(report: Mapping[str, Any]) -> str:
    """The number that --max-iter limits, and how often all data were visited, if this differs."""
    own, all_of_them = report["iterations"], report["passes"]
    return f"{own}" if own == all_of_them else f"{own} ({all_of_them:g} effective)"


def certificate_rows(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """P, D, the gap, and why the training ended."""
    approximate = "" if report["exact"] else ", approximate"
    rows = [] if report["primal"] is None else [("P", f"{report['primal']:.8g}{approximate}")]
    if report["gap"] is None:
        rows.append(("gap", "no certificate"))
    else:
        gap = f"{report['gap']:.3g} (relative {report['relative_gap']:.2g}{approximate})"
        rows += [("D", f"{report['dual']:.8g}"), ("gap", gap)]
    reason = report["stop_reason"]
    for limit in ("max_iter", "max_seconds"):
        reason = reason.replace(limit, f"reached --{limit.replace('_', '-')} before converging")
    return [*rows, ("stopped", reason)]


def _summary_table(rows: Sequence[tuple[str, str]]) -> str:
    """The rows of a summary, whose names are short with few exceptions."""
    return table(rows, max([12, *(len(name) + 1 for name, _ in rows)]))


def table(rows: Iterable[tuple[str, str]], width: int) -> str:
    """Two columns: names and values."""
    return "\n".join(f"{name:<{width}}{value}" for name, value in rows)


def left_out_rows(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A row for the sentences that were too long to learn from, if there were any."""
    if not report["long_sentences"]:
        return []
    left = counted(report["long_sentences"], "sentence")
    return [("left out", f"{left} of more than {report['max_words']} words (--max-words)")]


def percent(ratio: float) -> str:
    """A ratio in percent."""
    return f"{100 * ratio:.2f} %"


def _size(n_bytes: int) -> str:
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.1f} kB"
