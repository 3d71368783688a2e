"""Results of long experiments by pieces, of which some can be measured anew."""

import os
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.machine import has_result, read_result

Result = dict[str, Any]


class Pieces:
    """The pieces of a result by name.

    The variable MARGRAVE_PIECES names the pieces to measure, separated by commas; the record keeps the others as they
    are. Without it, all are measured.
    """

    def __init__(self, name: str) -> None:
        self.wanted = [piece for piece in os.environ.get("MARGRAVE_PIECES", "").split(",") if piece]
        self.found: dict[str, Any] = read_result(name).get("pieces", {}) if self.wanted and has_result(name) else {}

    def measure(self, piece: str, measured: Callable[[], Any]) -> Iterator[Result]:
        """Measures a piece if it is wanted, and gives all that are there, to be written."""
        if not self.wanted or piece in self.wanted:
            self.found[piece] = measured()
            print(f"  {piece} is measured", flush=True)
        yield self.result

    @property
    def result(self) -> Result:
        """All pieces that are there."""
        return {"pieces": self.found}
