"""Results of long experiments by pieces, of which some can be measured anew."""

import os
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.experiment import full_name
from benchmarks.freshness import measured_with
from benchmarks.machine import describe, has_result, read_result

Result = dict[str, Any]

OUTDATED = "outdated"


class Pieces:
    """The pieces of a result by name.

    The variable MARGRAVE_PIECES names the pieces to measure, separated by commas; the record keeps the others as they
    are. "outdated" stands for all that are missing or were measured with other sources. Without the variable, all are
    measured.
    """

    def __init__(self, name: str) -> None:
        self.wanted = [piece for piece in os.environ.get("MARGRAVE_PIECES", "").split(",") if piece]
        self._with = measured_with(full_name(name) or name)
        known = read_result(name) if self.wanted and has_result(name) else {}
        self.found: dict[str, Any] = known.get("pieces", {})
        self._measured: dict[str, Any] = known.get("measured", {}) if self.found else {}
        self._finished = True

    def measure(self, piece: str, measured: Callable[[], Any]) -> Iterator[Result]:
        """Measures a piece if it is wanted, and gives all that are there, to be written."""
        if self._wants(piece):
            self.found[piece] = measured()
            machine = describe()
            self._measured[piece] = self._with | {"cpu": machine["cpu"], "date": machine["date"]}
            print(f"  {piece} is measured", flush=True)
        self._finished &= piece in self.found
        yield self.result

    @property
    def result(self) -> Result:
        """All pieces that are there."""
        return {"pieces": self.found, "measured": self._measured, "finished": self._finished}

    def _wants(self, piece: str) -> bool:
        if not self.wanted or piece in self.wanted:
            return True
        old = self._measured.get(piece, {}).get("sources") != self._with["sources"]
        return OUTDATED in self.wanted and (old or piece not in self.found)
