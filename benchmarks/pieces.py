"""Results of long experiments, written piece by piece, so that a run that is stopped keeps what it has measured."""

import os
from collections.abc import Callable
from typing import Any

from benchmarks.machine import described, has_result, read_result, write_result

Result = dict[str, Any]


class Pieces:
    """The pieces of a result by name: each is written as soon as it is measured.

    The variable MARGRAVE_PIECES names the pieces to measure, separated by commas; the record keeps the others as they
    are. Without it, all are measured.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.wanted = [piece for piece in os.environ.get("MARGRAVE_PIECES", "").split(",") if piece]
        self.found: dict[str, Any] = read_result(name).get("pieces", {}) if self.wanted and has_result(name) else {}

    def measure(self, piece: str, measured: Callable[[], Any]) -> None:
        """Measures a piece if it is wanted, and writes all that are there."""
        if self.wanted and piece not in self.wanted:
            return
        self.found[piece] = measured()
        write_result(self.name, described(self.result))
        print(f"  {piece} is measured", flush=True)

    @property
    def result(self) -> Result:
        """What the experiment returns."""
        return {"pieces": self.found}
