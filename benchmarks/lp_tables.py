"""The results of benchmarks.lp_struct as tables (004, Tables 1 and 2)."""

from collections import Counter
from typing import Any

from benchmarks.tables import markdown

Result = dict[str, Any]


def _spread(of: Result, form: str, scale: float = 1) -> str:
    return f"{scale * of['mean']:{form}} ± {scale * of['sd']:{form}}"


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
                _spread(row["error"], ".2f", 100) + (f" ({error} ± {deviation})" if error else ""),
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
