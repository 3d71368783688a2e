"""The candidates of a native sequence, among which a ranker finds its homologs."""

from typing import Any

from margrave.errors import counted


class Candidates(tuple[Any, ...]):
    """The candidates of a native sequence."""

    def __repr__(self) -> str:
        return f"<Candidates: {counted(len(self), 'sequence')}>"
