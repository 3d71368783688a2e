"""The same as pos, on the Brown corpus with short tags."""

from benchmarks.corpora.columns import brown_short
from benchmarks.experiments.pos import plot, table, table1_of
from benchmarks.summaries import Result

__all__ = ["CORPORA", "RESULT", "measure", "plot", "table"]

CORPORA = ("brown-pos",)
RESULT = "pos_brown"
LIMIT = 900.0  # of CPU seconds after which LP-Struct by the simplex gives up


def measure() -> Result:
    """The table on Brown."""
    return table1_of(brown_short, LIMIT)
