"""The base of everything that has `fit`: scikit-learn's protocol over declared settings."""

import inspect
from dataclasses import is_dataclass
from textwrap import fill
from typing import Any

from sklearn.base import BaseEstimator

from margrave.options import Option, options_of

_WIDTH = 120  # of the lines of docstrings


class Estimator(BaseEstimator):  # type: ignore[misc]
    """The base of all estimators: constructor and documentation of parameters come from their settings."""

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        # A class with a constructor of its own documents its parameters itself.
        if is_dataclass(cls) and "__init__" not in vars(cls) and vars(cls).get("__doc__"):
            cls.__doc__ = with_parameters(str(cls.__doc__), _own_first(cls))


def with_parameters(doc: str, options: list[Option]) -> str:
    """A docstring with a section about the parameters, before those about attributes and examples.

    >>> print(with_parameters("Tags.", [Option("order", int, 1, "Preceding labels.")]))
    Tags.
    <BLANKLINE>
    Parameters
    ----------
    order : Preceding labels. [default: 1]
    """
    doc = inspect.cleandoc(doc)
    section = "\n".join(["Parameters", "----------", *map(_entry, options)])
    places = [place for mark in ("\n\nAttributes\n---", "\n\n>>> ") if (place := doc.find(mark)) >= 0]
    place = min(places, default=len(doc))
    return f"{doc[:place]}\n\n{section}{doc[place:]}"


def _own_first(cls: type[Any]) -> list[Option]:
    """The settings of an estimator: what it is called with, then its own, and those that all share last."""
    depth = {name: k for k, kind in reversed([*enumerate(cls.__mro__)]) for name in inspect.get_annotations(kind)}
    first = next(iter(inspect.signature(cls).parameters), None)
    return sorted(options_of(cls), key=lambda each: (each.name != first, depth[each.name]))


def _entry(option: Option) -> str:
    meaning = f", {option.if_none}" if option.default is None and option.if_none else ""
    text = " ".join(filter(None, [option.described(), option.python]))
    text = f"{option.name} : {text} [default: {option.default!r}{meaning}]"
    return fill(text, _WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
