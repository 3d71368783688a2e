"""The base of everything that has `fit`: scikit-learn's protocol over declared settings.

It is written by hand, because importing `sklearn.base` takes longer than training a small model: everything that a fit
needs works without scikit-learn, which is imported when it asks for something itself.
"""

import inspect
from collections import defaultdict
from copy import deepcopy
from dataclasses import is_dataclass
from textwrap import fill
from typing import Any, Self

from margrave.errors import unknown
from margrave.estimators.routing import Routed
from margrave.options import Option, options_of

_WIDTH = 120  # of the lines of docstrings


class Estimator(Routed):
    """The base of all estimators: constructor and documentation of parameters come from their settings."""

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        # A class with a constructor of its own documents its parameters itself.
        if is_dataclass(cls) and "__init__" not in vars(cls) and vars(cls).get("__doc__"):
            cls.__doc__ = with_parameters(str(cls.__doc__), _own_first(cls))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor with their values.

        Parameters
        ----------
        deep : also those of parameters that are estimators themselves, as `name__parameter`.
        """
        found = {name: getattr(self, name) for name in sorted(inspect.signature(type(self)).parameters)}
        if deep:
            for name, value in [*found.items()]:
                if hasattr(value, "get_params") and not isinstance(value, type):
                    found |= {f"{name}__{key}": each for key, each in value.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the constructor, and as `name__parameter` those of parameters that are estimators.

        Parameters
        ----------
        **params : the parameters by name.
        """
        valid = inspect.signature(type(self)).parameters
        nested: dict[str, dict[str, Any]] = defaultdict(dict)
        for key, value in params.items():
            name, inside, key_inside = key.partition("__")
            if name not in valid:
                raise unknown(f"{type(self).__name__} parameter", name, valid)
            if inside:
                nested[name][key_inside] = value
            else:
                setattr(self, name, value)
        for name, values in nested.items():
            getattr(self, name).set_params(**values)
        return self

    def unfitted(self) -> Self:
        """Return a new estimator with the same parameters, as scikit-learn's `clone` does."""
        return type(self)(**deepcopy(self.get_params(deep=False)))

    def __repr__(self) -> str:
        """The call that makes this estimator: the parameters that are not the default."""
        declared = inspect.signature(type(self)).parameters.values()
        values = [(each, getattr(self, each.name)) for each in declared]
        given = [f"{each.name}={value!r}" for each, value in values if repr(value) != repr(each.default)]
        return f"{type(self).__name__}({', '.join(given)})"

    def _repr_html_(self) -> str:
        from sklearn.utils import estimator_html_repr

        return str(estimator_html_repr(self))

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator().__sklearn_tags__()


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
