"""The table of all learners for the documentation, made from their docstrings, fields and words."""

from dataclasses import MISSING

from margrave.learners.base import Learner, all_learners
from margrave.options import Option

_CERTIFICATE = {
    "tol": "yes",
    "certificate": "yes",
    "certificate at finite beta": "at finite beta",
    "choice": "that of the learner chosen",
}


def learner_table() -> str:
    """A Markdown table of the learners that come with the library: name, class, purpose, certificate and settings."""
    rows = [("learner", "class", "what it does", "certificate", "settings and their defaults"), ("---",) * 5]
    for name, kind in sorted(all_learners().items()):
        if kind.__module__.startswith("margrave."):
            settings = ", ".join(map(_setting, kind.options()))
            rows.append((f"`{name}`", f"`{kind.__name__}`", summary(kind), certificate(kind), settings))
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows) + "\n"


def summary(kind: type[Learner]) -> str:
    """The first line of its documentation."""
    return (kind.__doc__ or "").strip().split("\n")[0]


def certificate(kind: type[Learner]) -> str:
    """Whether its records have D and the gap."""
    return next((text for word, text in _CERTIFICATE.items() if word in kind.offers), "no")


def _setting(option: Option) -> str:
    return f"`{option.name}`" if option.default is MISSING else f"`{option.name}={option.default!r}`"
