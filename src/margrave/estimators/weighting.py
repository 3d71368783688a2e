"""Weights of examples: a weight of 2 is two copies of an example, and a weight of 0 is its absence."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from margrave.examples import Examples, count
from margrave.learners.checks import example_weights


def weighted(examples: Examples, sample_weight: Any) -> Examples:
    """The examples with their weights; those of weight 0 are left out, with all that could be learned from them.

    Parameters
    ----------
    examples : examples and their outputs, as `fit` was given them.
    sample_weight : one factor per example; None for none.
    """
    n = count(examples.Y)
    if sample_weight is None or n is None:  # A later check refuses outputs that cannot be counted.
        return examples
    weights = example_weights(sample_weight, n)
    present = np.flatnonzero(weights).tolist()
    examples = examples.having(sample_weight=weights)
    if len(present) == n:
        return examples
    if count(examples.X) is None and isinstance(examples.X, Iterable):
        examples = replace(examples, X=list(examples.X))
    # If there are more or fewer inputs than outputs, a later check says so.
    return examples.some(present) if count(examples.X) in (None, n) else examples
