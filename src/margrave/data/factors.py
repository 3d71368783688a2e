"""Factor graphs as users write them: soft factors, and hard ones, which are rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from margrave.data.rules import Rule
from margrave.errors import counted, the_first


@dataclass(frozen=True)
class Factor:
    """A soft factor: variables, and a part for each tuple of their labels or for some of them.

    Parameters
    ----------
    variables : the numbers of the variables.
    tuples : the tuples of labels that have a part; None: all of them.
    others : whether tuples that are not listed are "forbidden", or score "zero" and have no part.
    """

    variables: Sequence[int]
    tuples: Sequence[Sequence[Any]] | None = None
    others: str = "forbidden"

    def __repr__(self) -> str:
        tuples = "all tuples" if self.tuples is None else f"{counted(len(self.tuples), 'tuple')}, others {self.others}"
        return f"<Factor of variables {the_first(self.variables)}: {tuples}>"


@dataclass(frozen=True)
class Factors:
    """The factor graph of one example.

    Parameters
    ----------
    variables : the number of variables or, if there are several sets of labels, the name of the set of each variable.
    soft : the soft factors; a tuple of variables stands for a factor with a part for each tuple of their labels. Their
        parts follow one another in this order, with the labels of the last variable varying fastest. Scores of single
        labels are factors with one variable.
    hard : the hard factors.

    >>> Factors(2, [(0,), (1,), (0, 1)]).variables
    2
    """

    variables: Any
    soft: Sequence[Any]
    hard: Sequence[Rule] = ()

    def __repr__(self) -> str:
        variables = self.variables if isinstance(self.variables, int) else len(self.variables)
        factors = f"{len(self.soft)} soft and {len(self.hard)} hard factors"
        return f"<Factors of {counted(variables, 'variable')}: {factors}>"
