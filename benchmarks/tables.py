"""What the tables of the experiments share; all are in Markdown."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

Result = dict[str, Any]


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose columns are as wide as their widest cells."""
    cells = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    return "\n".join(f"| {' | '.join(map(str.ljust, row, widths))} |" for row in cells)


def number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def when(at: dict[str, float] | None) -> str:
    return f"{at['passes']:.4g} ({at['seconds']:.2f} s)" if at else "-"


def goals_of(learners: Result) -> list[str]:
    """From far to near: JSON sorts them as text."""
    return sorted({goal for run in learners.values() for goal in run["reached"]}, key=float, reverse=True)


def times_to_goals(learners: Result) -> Iterator[list[str]]:
    """For each learner, the effective passes and seconds to each goal."""
    for name, run in learners.items():
        if "refused" not in run:
            mark = " (auto)" if run.get("auto") else "" if run.get("certified", True) else " *"
            yield [name + mark, *(when(run["reached"][goal]) for goal in goals_of(learners))]


def with_interval(of: Result, form: str, scale: float = 1) -> str:
    return f"{scale * of['mean']:{form}} ± {scale * of['interval']:{form.lstrip('+')}}"


def with_deviation(of: Result, form: str, scale: float = 1) -> str:
    return f"{scale * of['mean']:{form}} ± {scale * of['sd']:{form}}"


def along(values: Sequence[float], marks: Sequence[int]) -> Result:
    """Values after so many passes, as far as there are that many, and the highest of all."""
    return {str(n): values[n - 1] for n in marks if n <= len(values)} | {"highest": max(values)}


def along_cells(run: Result, marks: Sequence[int], scale: float = 1) -> list[str]:
    """The same as cells of a table."""
    return ["-" if at not in run else f"{scale * run[at]:.2f}" for at in (*map(str, marks), "highest")]
