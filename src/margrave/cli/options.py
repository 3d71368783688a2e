"""Options of commands, declared as data: what they are called, what they take, what they mean.

Tasks and commands declare `Option`s; `build_command` makes typer's command of them. Help shows them in sections.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand


# Nothing of the command line is compared or printed as an object. Generating the methods for that takes 0.5 ms per
# class, which --help would feel.
@dataclass(eq=False, repr=False)
class Option:
    """One option of a command.

    `type` is str, int, float, bool (a flag) or list (of texts: the option may be repeated). A value that is not given
    is None, also where there is a `default`, which is for help: what matters is often whether the user said it.
    """

    name: str  # of the parameter, such as max_iter for --max-iter
    help: str
    type: Any = str
    metavar: str | None = None
    default: Any = None
    low: float | None = None
    high: float | None = None
    short: str = ""
    required: bool = False
    applies: str = ""  # what it is for, where a command has options for some models only
    check: Callable[[Any], object] | None = None  # refuses a value that cannot be, before any work

    @property
    def flag(self) -> str:
        """How it is written: --max-iter."""
        return f"-{self.name}" if len(self.name) == 1 else "--" + self.name.replace("_", "-")

    def parameter(self, section: str, *, hidden: bool = False) -> inspect.Parameter:
        """The parameter that typer makes an option of."""
        names = [self.short] if self.short else []
        shown = (
            ""
            if self.default is None or self.default is False or self.default == ()
            else f"  [default: {self.default}]"
        )
        info = typer.Option(
            *names,
            self.flag,
            help=self.help + shown,
            metavar=self.metavar,
            min=None if hidden else self.low,
            max=None if hidden else self.high,
            show_default=False,
            hidden=hidden,
            rich_help_panel=section,
        )
        if self.type is bool:
            return _parameter(self.name, Annotated[bool, info], False)
        if self.type is list:
            return _parameter(self.name, Annotated[list[str] | None, info], None)
        kind = str if hidden else self.type
        if self.required:
            return _parameter(self.name, Annotated[kind, info], inspect.Parameter.empty)
        return _parameter(self.name, Annotated[kind | None, info], None)


def in_options(message: str, options: Iterable[Option]) -> str:
    """A message of the library in the words of the command line: its parameters become options.

    >>> known = [Option("learner", "", default="auto"), Option("free_sign", "", bool), Option("C", "", float)]
    >>> in_options("use learner='eg', 'sgd' or 'bcfw', free_sign=True, or C=0.5.", known)
    'use --learner eg, sgd or bcfw, --free-sign, or -C 0.5.'
    """
    flags = {option.name: option.flag for option in options}

    def written(found: re.Match[str]) -> str:
        flag, value = flags.get(found["name"]), found["value"]
        if flag is None:
            return found[0]
        return flag if value == "True" else f"{flag} {value.replace(_QUOTE, '')}"

    return _PARAMETER.sub(written, message)


_QUOTE = "'"
_PARAMETER = re.compile(r"\b(?P<name>\w+)=(?P<value>'[^']*'(?:(?:, | or )'[^']*')*|True\b|[-+.e\d]*\d)")


THREADS = Option("threads", "The number of threads; all processors if not given.", int, "N", low=1)


def argument(name: str, metavar: str, help: str) -> inspect.Parameter:
    """A parameter that has no name on the command line."""
    info = typer.Argument(metavar=metavar, help=help, show_default=False)
    return _parameter(name, Annotated[str, info], inspect.Parameter.empty)


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def option(
    default: Any,
    help: str,
    metavar: str | None = None,
    *,
    low: float | None = None,
    high: float | None = None,
) -> Any:
    """A field of a dataclass that is an option, with its help text."""
    return field(default=default, metadata={"help": help, "metavar": metavar, "low": low, "high": high})


def options_of(kind: type[Any]) -> list[Option]:
    """The options that the fields of a dataclass declare; their types are those of the fields."""
    hints = get_type_hints(kind)
    return [
        Option(each.name, type=_plain(hints[each.name]), default=_default(each.default), **each.metadata)
        for each in fields(kind)
        if "help" in each.metadata
    ]


def _plain(hint: Any) -> Any:
    """The type without None; a tuple of texts is an option that may be repeated."""
    if hint in (str, int, float, bool):
        return hint
    kinds = [kind for kind in get_args(hint) if kind in (str, int, float)]
    return list if hint == tuple[str, ...] else kinds[0]


def _default(value: Any) -> Any:
    return None if value is MISSING else value


def given(values: Mapping[str, Any], options: Iterable[Option]) -> dict[str, Any]:
    """Those of the options that the user gave, with their values."""
    found: dict[str, Any] = {}
    for each in options:
        value = values.get(each.name)
        if value is not None and value is not False and value != []:
            found[each.name] = tuple(value) if isinstance(value, list) else value
            if each.check is not None:
                each.check(value)
    return found


class SectionedCommand(TyperCommand):
    """A command whose help has its options in sections."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes a section for the arguments, and one for each heading of options."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                default = "Arguments" if parameter.param_type_name == "argument" else "Options"
                sections.setdefault(getattr(parameter, "rich_help_panel", None) or default, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def build_command(
    app: typer.Typer,
    name: str,
    parameters: Iterable[inspect.Parameter],
    body: Callable[[dict[str, Any]], None],
    help: str,
) -> None:
    """Adds a command to the application, whose body gets the values of all parameters by name."""

    def call(**values: Any) -> None:
        body(values)

    call.__signature__ = inspect.Signature(list(parameters))  # type: ignore[attr-defined]
    app.command(name, cls=SectionedCommand, help=help)(call)
