"""The records of the history of a run."""

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True)
class Record:
    """The objectives after a pass.

    Parameters
    ----------
    passes : the number of effective passes over the data; every inference counts.
    seconds : the time of the run so far, without that of observers; None after `load`, because files of the same run
        have the same bytes.
    primal : P; None if it was not computed.
    dual, gap : D and the gap; None if there is no certificate.
    exact : False if inference, and therefore P, D and the gap, is approximate.
    """

    passes: float
    seconds: float | None
    primal: float | None
    dual: float | None = None
    gap: float | None = None
    exact: bool = True

    @property
    def relative_gap(self) -> float:
        """The gap divided by the primal objective; infinite if there is no gap."""
        return inf if self.gap is None or self.primal is None else self.gap / max(abs(self.primal), 1e-300)
