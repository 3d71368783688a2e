"""The options of tasks whose labels may differ in cost: a number per label, or a matrix in a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from margrave.checks import decimal
from margrave.cli.streams import display_name, source
from margrave.errors import DataError, MargraveError, counted, quoted
from margrave.options import option


@dataclass(eq=False, repr=False, kw_only=True)
class LabelCostOptions:
    """What a wrong label costs, if that depends on the labels."""

    label_cost: tuple[str, ...] = option(
        (),
        "Cost of missing a label, in a loss with a cost, such as B-PER=3; labels without one cost 1. May be repeated.",
        metavar="LABEL=NUMBER",
    )
    cost_matrix: str | None = option(
        None,
        "Cost of each wrong label, in a loss with a cost: the first line has the predicted labels, and each line after "
        "it a correct label and its costs. Pairs that are missing cost 1.",
        metavar="FILE",
    )

    def chosen_cost(self, cost: str | None) -> Any:
        """The cost that was asked for, by name or by labels; None if none was."""
        given = {"--cost": cost, "--label-cost": self.label_cost, "--cost-matrix": self.cost_matrix}
        flags = [flag for flag, value in given.items() if value]
        if len(flags) > 1:
            raise MargraveError(f"{flags[0]} and {flags[1]} exclude each other: give one of them.")
        if self.cost_matrix is not None:
            return read_cost_matrix(self.cost_matrix)
        return dict(map(_label_cost, self.label_cost)) if self.label_cost else cost


def _label_cost(text: str) -> tuple[str, float]:
    label, equals, value = text.rpartition("=")
    if not equals or not label:
        raise MargraveError(f"--label-cost takes LABEL=NUMBER, not {quoted(text)}.")
    number = _cost(value)
    if number is None:
        raise MargraveError(f"--label-cost {text}: a cost must be a number from 0 on, not {quoted(value)}.")
    return label, number


def _cost(text: str) -> float | None:
    """The cost that a text writes; None if it writes none."""
    number = decimal(text)
    return number if number is not None and number >= 0 else None


def read_cost_matrix(path: str) -> Mapping[str, Mapping[str, float]]:
    """The costs of a file: for each correct label those of the predicted ones."""
    from margrave.datasets.opening import read_lines

    name = display_name(path)
    labels: list[str] = []
    costs: dict[str, dict[str, float]] = {}
    for number, line in read_lines(source(path)):
        if not line.strip():
            continue
        fields = line.split("\t") if "\t" in line else line.split()
        if not labels:
            labels = fields[1:] if not fields[0].strip() else fields
            if len(set(labels)) < len(labels):
                raise DataError(name, number, "a label stands twice in the first line.")
            continue
        label, *values = fields
        if label in costs:
            raise DataError(name, number, f"the label {quoted(label)} has a line already.")
        if len(values) != len(labels):
            wanted = counted(len(labels), "label")
            raise DataError(name, number, f"{counted(len(values), 'cost')}, but the first line has {wanted}.")
        row = [_cost(value) for value in values]
        costs[label] = {other: cost for other, cost in zip(labels, row, strict=True) if cost is not None}
        if len(costs[label]) < len(row):
            wrong = values[row.index(None)]
            raise DataError(name, number, f"a cost must be a number from 0 on, not {quoted(wrong)}.")
        if costs[label].get(label):
            raise DataError(name, number, f"the cost of the correct label {quoted(label)} itself must be 0.")
    if not costs:
        raise DataError(name, None, "it contains no costs.")
    return costs
