"""Rules that users write, as the core calls them."""

import atexit
from collections.abc import Sequence
from math import inf
from typing import Any, ClassVar
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from margrave.data.rules import OwnRule
from margrave.errors import MargraveError, counted, quoted

_ROUNDING = 1e-6  # of the marginals of a user's rule


class FlatRule:
    """An own rule as the core calls it: the scores of all labels of all variables are one array.

    The core holds these objects, where the garbage collector does not see them. A rule that can reach what it is bound
    in, for instance by the globals of its methods, would therefore live for ever; at the exit of the interpreter, when
    modules are taken down, nothing must be left. So all rules are let go before.

    Parameters
    ----------
    rule : the rule.
    counts : the number of labels of each of its variables.
    where : the graph and the number of the rule, for messages.
    """

    alive: ClassVar["WeakSet[FlatRule]"] = WeakSet()

    def __init__(self, rule: OwnRule, counts: Sequence[int], where: str) -> None:
        self.rule: OwnRule | None = rule
        self.counts = list(counts)
        self.ends = np.cumsum(counts)[:-1]
        self.where = f"{where} ({type(rule).__name__})"
        self.alive.add(self)

    def maximum(self, scores: NDArray[np.float64]) -> tuple[float, NDArray[np.int32]]:
        """The best score and its labels."""
        value, labels = self._ask("maximum", scores)
        if value == -inf:
            return value, np.zeros(len(self.counts), dtype=np.int32)
        try:
            numbers = np.asarray(labels)
            valid = numbers.shape == (len(self.counts),) and numbers.dtype.kind in "iu"
        except ValueError:
            valid = False
        if not valid:
            raise MargraveError(
                f"{self.where}: maximum must return the number of a label for each of its "
                f"{counted(len(self.counts), 'variable')}, not {quoted(labels)}."
            )
        if ((numbers < 0) | (numbers >= self.counts)).any():
            raise MargraveError(
                f"{self.where}: maximum returned the labels {numbers.tolist()}, but its variables have {self.counts} "
                "labels, numbered from 0."
            )
        return value, numbers.astype(np.int32)

    def sum(self, scores: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """The log of the sum and the marginals of all labels."""
        value, marginals = self._ask("sum", scores)
        if value == -inf:
            return value, np.zeros(len(scores))
        try:
            tables = [np.asarray(table, dtype=np.float64) for table in marginals]
        except (TypeError, ValueError):
            tables = []
        if [table.shape for table in tables] != [(count,) for count in self.counts]:
            raise MargraveError(
                f"{self.where}: sum must return, for each of its variables, the marginals of its labels, which are "
                f"{self.counts}."
            )
        flat = np.concatenate(tables)
        if not ((flat >= 0) & (flat <= 1 + _ROUNDING)).all():
            raise MargraveError(f"{self.where}: sum must return marginals from 0 to 1, and one is not.")
        return value, flat

    def _ask(self, method: str, scores: NDArray[np.float64]) -> tuple[float, Any]:
        if self.rule is None:
            raise MargraveError(f"{self.where}: rules are gone at the exit of the interpreter.")
        try:
            answer = getattr(self.rule, method)(np.split(scores, self.ends))
        except Exception as error:
            said = (
                str(error) if isinstance(error, MargraveError) else f"{method} raised {type(error).__name__}: {error}"
            )
            raise MargraveError(f"{self.where}: {said}") from error
        try:
            value, rest = answer
            value = float(value)
        except (TypeError, ValueError):
            raise MargraveError(
                f"{self.where}: {method} must return a pair, and first a number, not {quoted(answer)}."
            ) from None
        if not value < inf:
            raise MargraveError(f"{self.where}: {method} must return a finite number or -inf, not {value}.")
        return value, rest


@atexit.register
def _let_rules_go() -> None:
    for rule in list(FlatRule.alive):
        rule.rule = None
