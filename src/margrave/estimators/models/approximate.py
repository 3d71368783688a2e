"""How approximate inference went, for the models that can have it."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from margrave import _core
from margrave.errors import MargraveError
from margrave.estimators.model import StructuredModel


@dataclass(frozen=True)
class InferenceReport:
    """How approximate inference went on some examples."""

    examples: int
    certified: float  # the share of examples whose best output is proved to be best
    converged: float  # the share of examples on which belief propagation converged
    sweeps: float  # of belief propagation, on average


class ApproximateModel(StructuredModel, saved_as=""):
    """A model some of whose settings make inference approximate."""

    _approximate_with: ClassVar[str]  # the settings, as an error names them

    def inference_report(self, X: Any) -> InferenceReport:
        """Tell how approximate inference goes on some examples: which share is certified, and which has converged.

        Parameters
        ----------
        X : as in `fit`.
        """
        bound = self._bind(self._given(X))
        status = bound.approximate
        if status is None:
            raise MargraveError(
                f"inference is exact, and there is nothing to report: it is approximate with {self._approximate_with}."
            )
        _core.argmax_all(bound.problem, self.coef_, self._threads())
        _core.marginals_all(bound.problem, self.coef_, self._temperature(), self._threads())
        n = max(len(status.sweeps), 1)
        return InferenceReport(
            len(status.sweeps),
            float(np.count_nonzero(status.certified == 1)) / n,
            float(np.count_nonzero(status.sweeps > 0)) / n,
            float(np.abs(status.sweeps).sum()) / n,
        )
