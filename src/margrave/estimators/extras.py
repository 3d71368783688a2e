"""Extras: what methods of a model take besides X and y, declared once per model.

A model lists its extras, and the methods of the base accept them as keywords. Signatures and docstrings say which, so
that help, completion and scikit-learn's metadata routing see them.
"""

import inspect
from dataclasses import dataclass
from functools import update_wrapper
from types import FunctionType
from typing import Any

LEARNING = ("fit", "fit_path")
PREDICTION = ("predict", "predict_marginals", "predict_kbest", "sample", "log_probability")


@dataclass(frozen=True)
class Extra:
    """Something that methods take besides X and y.

    Parameters
    ----------
    name : the keyword.
    methods : the methods that take it.
    help : what it is, as docstrings say it.
    """

    name: str
    methods: tuple[str, ...]
    help: str


def declare(cls: Any) -> None:
    """Give the methods of a class that can take extras signatures and docstrings with those that they take, if any."""
    for method in sorted({*LEARNING, *PREDICTION, "score", *(name for extra in cls.extras for name in extra.methods)}):
        function = getattr(cls, method, None)
        plain = getattr(function, "without_extras", function)
        if not isinstance(plain, FunctionType) or not plain.__code__.co_flags & inspect.CO_VARKEYWORDS:
            continue
        mine = [extra for extra in cls.extras if method in extra.methods]
        if method not in vars(cls) and mine == getattr(function, "extras", None):
            continue  # The base has the same.
        setattr(cls, method, _named(plain, mine))


def _named(plain: FunctionType, extras: list[Extra]) -> Any:
    """A copy of a method that names its extras."""
    copied: Any = FunctionType(plain.__code__, plain.__globals__, plain.__name__, plain.__defaults__, plain.__closure__)
    update_wrapper(copied, plain)
    del copied.__wrapped__  # which signatures would follow
    copied.__kwdefaults__ = plain.__kwdefaults__
    signature = inspect.signature(plain)
    parameters = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    parameters += [inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=None) for each in extras]
    copied.__signature__ = signature.replace(parameters=parameters)
    copied.__doc__ = _described(inspect.cleandoc(plain.__doc__ or ""), extras)
    copied.without_extras, copied.extras = plain, extras
    return copied


def _described(doc: str, extras: list[Extra]) -> str:
    """A docstring whose list of parameters has the extras, too."""
    head, rule, rest = doc.partition("Parameters\n----------\n")
    if not rule:
        return doc
    listed, gap, after = rest.partition("\n\n")
    entries = [f"{each.name} : {each.help}" for each in extras]
    return "\n".join([f"{head}{rule}{listed}", *entries]) + gap + after
