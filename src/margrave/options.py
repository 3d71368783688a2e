"""Settings that are declared once: a field of a dataclass with its default, help text, valid values and check.

    @dataclass
    class Settings:
        rate: float = option(0.5, "The step size.", above=0)
        order: str = option("shuffled", "The order of the examples.", choices=("shuffled", "cyclic"))

`options_of(Settings)` lists what is declared, for help texts, tables and command lines, and `check_options(settings)`
refuses wrong values. This module imports neither NumPy nor scikit-learn, so declarations cost nothing at start-up.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import Field, dataclass, field, fields
from math import inf
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from margrave.checks import flag, real, whole
from margrave.errors import MargraveError, either, quoted, unknown

Check = Callable[[str, Any], Any]  # from what a setting is called and its value to its plain value


@dataclass(frozen=True)
class Option:
    """A declared setting.

    Parameters
    ----------
    name, type, default : those of the field.
    help : a sentence; empty if the field was not declared by `option`.
    choices : all valid values, if they can be listed.
    meanings : what each of the choices does; empty if the help text says it.
    at_least, at_most, above, below : bounds on numbers, with or without the bound itself.
    check : a further check, which returns the plain value or raises an error.
    what : how messages name the setting; empty for its name.
    if_none : what None stands for, in a few words.
    python : sentences about values that only Python can pass, such as objects.
    metavar : what the help of the command line calls the value, such as FILE; empty for a word by its type.
    """

    name: str
    type: Any
    default: Any
    help: str
    choices: tuple[Any, ...] = ()
    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None
    check: Check | None = None
    what: str = ""
    meanings: tuple[str, ...] = ()
    if_none: str = ""
    python: str = ""
    metavar: str = ""

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types of its values; what is imported for type checkers only is left as a text."""
        return get_args(self.type) if get_origin(self.type) in (Union, UnionType) else (self.type,)

    def described(self, written: Callable[[Any], str] = repr) -> str:
        """The help text with the choices and their meanings.

        Parameters
        ----------
        written : how a choice is written.
        """
        if not self.choices:
            return self.help
        if not self.meanings:
            return f"{self.help} Choices: {', '.join(map(written, self.choices))}."
        pairs = zip(self.choices, self.meanings, strict=True)
        return f"{self.help} {'; '.join(f'{written(choice)}: {meaning}' for choice, meaning in pairs)}."

    def checked(self, value: Any, what: str) -> Any:
        """The value as a plain bool, int, float or text where its type is one of these; an error if it is wrong.

        Parameters
        ----------
        value : the value.
        what : how messages name the setting, for example "the rate of sgd".
        """
        if value is None and NoneType in self.kinds:
            return None
        if self.choices:
            return self._chosen(value, what)
        value = self._plain(value, what, self.kinds)
        return value if self.check is None else self.check(what, value)

    def _chosen(self, value: Any, what: str) -> Any:
        """The choice that equals the value, where True is not 1 and "1" is not either."""
        for choice in self.choices:
            if _sort(choice) == _sort(value) and choice == value:
                return choice
        if all(_sort(choice) is Real for choice in self.choices):
            raise MargraveError(f"{what} must be {either([*map(str, self.choices)])}, and it is {quoted(value)}.")
        raise unknown(what.removeprefix("the "), value, map(str, self.choices))

    def _plain(self, value: Any, what: str, kinds: Collection[Any]) -> Any:
        """The value as the simple type that it has; values of other types are left to `check`."""
        sort = _sort(value)
        if sort is bool and bool in kinds:
            return flag(what, value)
        if sort is str and str in kinds:
            return value
        if not set(kinds) <= _SIMPLE and not (sort is Real and {int, float} & set(kinds)):
            return value
        if float in kinds and not (int in kinds and isinstance(value, Integral)):
            return real(what, value, self._rule(), self._holds)
        if int in kinds:
            low = self.at_least if self.above is None else self.above + 1
            high = self.at_most if self.below is None else self.below - 1
            return whole(what, value, -inf if low is None else low, inf if high is None else high)
        if bool in kinds:
            return flag(what, value)
        raise MargraveError(f"{what} must be a text, and it is {quoted(value)}.")

    def _holds(self, value: float) -> bool:
        """Whether a number is finite and within the bounds."""
        return (
            -inf < value < inf
            and (self.at_least is None or value >= self.at_least)
            and (self.at_most is None or value <= self.at_most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    def _rule(self) -> str:
        """What must be true of a number, in words."""
        match self.at_least, self.at_most, self.above, self.below:
            case None, None, None, None:
                return "be finite"
            case 0, None, None, None:
                return "be finite and not negative"
            case None, None, 0, None:
                return "be positive and finite"
        low = self.above if self.at_least is None else self.at_least
        high = self.below if self.at_most is None else self.at_most
        if low is not None and high is not None:
            return f"lie between {low:g} and {high:g}"
        bounds = {"at least": self.at_least, "above": self.above, "at most": self.at_most, "below": self.below}
        return "be " + " and ".join(f"{word} {bound:g}" for word, bound in bounds.items() if bound is not None)


def option(
    default: Any,
    help: str,
    *,
    choices: Collection[Any] | Mapping[Any, str] = (),
    at_least: float | None = None,
    at_most: float | None = None,
    above: float | None = None,
    below: float | None = None,
    check: Check | None = None,
    what: str = "",
    if_none: str = "",
    python: str = "",
    metavar: str = "",
) -> Any:
    """Declare a setting: a field of a dataclass. Its type is that of the field, and numbers must be finite.

    Parameters
    ----------
    default : the default value.
    help : the help text, which is a sentence.
    choices : all valid values, if they can be listed, or a mapping from them to what they do.
    at_least, at_most, above, below : bounds on numbers, with or without the bound itself.
    check : a further check: a function of what messages call the setting and of its value, which returns the plain
        value or raises an error.
    what : how messages name the setting; empty for its name.
    if_none : what None stands for, in a few words.
    python : sentences about values that only Python can pass, such as objects.
    metavar : what the help of the command line calls the value, such as FILE; empty for a word by its type.
    """
    declared: dict[str, Any] = {
        "help": help,
        "choices": tuple(choices),
        "meanings": tuple(choices.values()) if isinstance(choices, Mapping) else (),
        "check": check,
        "what": what,
        "if_none": if_none,
        "python": python,
        "metavar": metavar,
    }
    bounds = {"at_least": at_least, "at_most": at_most, "above": above, "below": below}
    return field(default=default, metadata=declared | bounds)


def options_of(settings: type[Any]) -> list[Option]:
    """All fields of a dataclass; those that were not declared by `option` have no help text.

    >>> @dataclass
    ... class Settings:
    ...     rate: float = option(0.5, "The step size.", above=0)
    >>> [(each.name, each.default, each.help) for each in options_of(Settings)]
    [('rate', 0.5, 'The step size.')]
    """
    hints: dict[str, Any] = {}
    if any(isinstance(each.type, str) for each in fields(settings)):  # annotations that are not evaluated yet
        with suppress(NameError):  # Types that are imported for type checkers only are not known here.
            hints = get_type_hints(settings)
    return [_option(each, hints.get(each.name, each.type)) for each in fields(settings)]


def check_options(settings: Any, of: str = "") -> dict[str, Any]:
    """The declared settings of an object as plain values; a wrong one is an error in one sentence that names it.

    The object does not change.

    Parameters
    ----------
    settings : an object of a dataclass.
    of : what the settings are those of, for messages: "the rate of sgd" instead of "rate".

    >>> @dataclass
    ... class Settings:
    ...     rate: float = option(0.5, "The step size.", above=0)
    >>> check_options(Settings(rate=2), "sgd")
    {'rate': 2.0}
    >>> check_options(Settings(rate=-1), "sgd")
    Traceback (most recent call last):
        ...
    margrave.errors.MargraveError: the rate of sgd must be positive and finite, and it is -1.
    """
    return {
        each.name: each.checked(
            getattr(settings, each.name), each.what or (f"the {each.name} of {of}" if of else each.name)
        )
        for each in options_of(type(settings))
        if each.help
    }


_SIMPLE = {bool, int, float, str, NoneType}  # the types that are checked without `Option.check`


def _sort(value: Any) -> Any:
    """Whether a value is a bool, also one of NumPy, a number or a text; None for others."""
    if type(value).__name__ in ("bool", "bool_"):
        return bool
    return Real if isinstance(value, Real) else str if isinstance(value, str) else None


def _option(declared: "Field[Any]", kind: Any) -> Option:
    return Option(declared.name, kind, declared.default, **{"help": "", **declared.metadata})
