"""Calls of public methods of models: which there are, and their arguments, from their signatures."""

import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Any

# Methods that are no question to a model: they set it up, or write files.
_OTHERS = {"get_metadata_routing", "get_params", "set_params", "load", "save", "unfitted", "write_matrix", "of_weights"}
_ITEMS = 10_000


@cache
def verbs(kind: type[Any]) -> dict[str, tuple[inspect.Parameter, ...]]:
    """The public methods of a class, with their parameters."""
    found = {}
    for name, method in inspect.getmembers(kind, callable):
        if not name.startswith("_") and name not in _OTHERS and not name.endswith("_request"):
            parameters = tuple(inspect.signature(method).parameters.values())
            if parameters and parameters[0].name == "self":
                found[name] = parameters[1:]
    return found


def call(model: Any, name: str, known: Mapping[str, Any], more: Mapping[str, Any] | None = None) -> Any:
    """What a method answers to these arguments: those of `known` that it needs or that are extras, and `more`."""
    arguments = dict(more or {})
    for each in inspect.signature(getattr(model, name)).parameters.values():
        key = {"Y": "y", "examples": "X", "x": "X"}.get(each.name, each.name)
        needed = each.default is each.empty and each.kind is not each.VAR_KEYWORD
        if each.name not in arguments and key in known and (needed or key not in ("X", "y")):
            arguments[each.name] = known[key]
        elif each.name not in arguments and needed:
            arguments[each.name] = 1
    found = getattr(model, name)(**arguments)
    return list(islice(found, _ITEMS)) if isinstance(found, Iterator) else found
