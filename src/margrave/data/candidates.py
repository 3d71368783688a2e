"""The candidates of a native sequence, among which a ranker finds its homologs."""

from typing import Any


class Candidates(tuple[Any, ...]):
    """The candidates of a native sequence."""
