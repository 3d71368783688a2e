"""Hard factors of factor graphs: rules that say which labelings of some variables are allowed (001, section 2.2).

A literal is a pair (variable, label), true if the variable has the label, or a triple (variable, label, False), true if
it does not have it. The variables of a rule must be different.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave.checks import whole
from margrave.errors import MargraveError, counted

Literal = tuple[Any, ...]
Tables = list[NDArray[np.float64]]  # the scores or the marginals of the labels of each variable


class Rule:
    """The base of all hard factors."""

    kind: ClassVar[int]  # the number of the rule in the core

    def literals(self) -> list[Literal]:
        """Its literals; the label is None if the rule is about whole labelings."""
        raise MargraveError(f"the rule {type(self).__name__} does not say which variables it has.")

    def data(self) -> list[int]:
        """The numbers that the core needs besides the literals."""
        return []

    def __repr__(self) -> str:
        literals = self.literals()
        what = "variable" if literals and literals[0][1] is None else "literal"
        return f"<{type(self).__name__} of {counted(len(literals), what)}>"


@dataclass(frozen=True, repr=False)
class Xor(Rule):
    """Exactly one literal is true."""

    kind = 0
    of: Sequence[Literal]

    def literals(self) -> list[Literal]:
        """Its literals."""
        return list(self.of)


@dataclass(frozen=True, repr=False)
class AtMostOne(Rule):
    """At most one literal is true."""

    kind = 1
    of: Sequence[Literal]

    def literals(self) -> list[Literal]:
        """Its literals."""
        return list(self.of)


@dataclass(frozen=True, repr=False)
class Or(Rule):
    """At least one literal is true."""

    kind = 2
    of: Sequence[Literal]

    def literals(self) -> list[Literal]:
        """Its literals."""
        return list(self.of)


@dataclass(frozen=True, repr=False)
class Implies(Rule):
    """If all literals of `premises` are true, then so is `conclusion`."""

    kind = 3
    premises: Sequence[Literal]
    conclusion: Literal

    def literals(self) -> list[Literal]:
        """The premises, and then the conclusion."""
        return [*self.premises, self.conclusion]


@dataclass(frozen=True, repr=False)
class Budget(Rule):
    """At most `most` literals are true."""

    kind = 4
    of: Sequence[Literal]
    most: int

    def literals(self) -> list[Literal]:
        """Its literals."""
        return list(self.of)

    def data(self) -> list[int]:
        """The budget."""
        return [whole("a budget", self.most, 0, 2**31 - 1)]


@dataclass(frozen=True, repr=False)
class TreeRule(Rule):
    """The true literals are the arcs of a dependency tree of the words 1..n with the root 0.

    Parameters
    ----------
    words : n.
    arcs : for each literal its head and its modifier: (head, modifier, variable, label).
    single_root : whether the root has exactly one child.
    """

    kind = 5
    words: int
    arcs: Sequence[tuple[int, int, int, Any]]
    single_root: bool = True

    def literals(self) -> list[Literal]:
        """One literal per arc."""
        return [(variable, label) for _, _, variable, label in self.arcs]

    def data(self) -> list[int]:
        """The number of words, whether the root has one child, and the arcs."""
        return [self.words, int(self.single_root), *(end for arc in self.arcs for end in arc[:2])]


@dataclass(frozen=True, repr=False)
class Allowed(Rule):
    """The variables have one of these tuples of labels."""

    kind = 6
    variables: Sequence[int]
    tuples: Sequence[Sequence[Any]]

    def literals(self) -> list[Literal]:
        """The variables."""
        return [(v, None) for v in self.variables]


@dataclass(frozen=True, repr=False)
class Forbidden(Rule):
    """The variables have none of these tuples of labels."""

    kind = 7
    variables: Sequence[int]
    tuples: Sequence[Sequence[Any]]

    def literals(self) -> list[Literal]:
        """The variables."""
        return [(v, None) for v in self.variables]


class OwnRule(Rule):
    """The base of rules that users write: define `allows`, or `maximum` and `sum`, which may be much faster.

    Labels are numbers here, in the order of the labels of each variable.

    >>> class Even(OwnRule):
    ...     def allows(self, labels):
    ...         return sum(labels) % 2 == 0
    >>> Even([4, 7]).maximum([np.array([0.0, 2.0]), np.array([1.0, 0.0])])
    (2.0, [1, 1])
    """

    kind = 8

    def __init__(self, variables: Sequence[int]) -> None:
        self.variables = list(variables)

    def literals(self) -> list[Literal]:
        """The variables."""
        return [(v, None) for v in self.variables]

    def allows(self, labels: Sequence[int]) -> bool:
        """Whether the variables may have these labels together."""
        raise MargraveError(f"the rule {type(self).__name__} defines neither allows nor maximum and sum.")

    def maximum(self, scores: Tables) -> tuple[float, list[int]]:
        """The score of the best allowed labeling, and its labels; -inf if nothing is allowed."""
        best, found = -inf, [0] * len(scores)
        for labels in product(*(range(len(row)) for row in scores)):
            value = float(sum(row[k] for row, k in zip(scores, labels, strict=True)))
            if value > best and self.allows(labels):
                best, found = value, list(labels)
        return best, found

    def sum(self, scores: Tables) -> tuple[float, Tables]:
        """The log of the sum of exp(score) over allowed labelings, and the marginals of the labels."""
        top, _ = self.maximum(scores)
        totals = [np.zeros(len(row)) for row in scores]
        if top == -inf:
            return top, totals
        for labels in product(*(range(len(row)) for row in scores)):
            if self.allows(labels):
                mass = np.exp(sum(row[k] for row, k in zip(scores, labels, strict=True)) - top)
                for total, k in zip(totals, labels, strict=True):
                    total[k] += mass
        z = totals[0].sum()
        return float(top + np.log(z)), [total / z for total in totals]
