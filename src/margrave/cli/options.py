"""Options of commands: settings that are declared by `margrave.options`, as the command line writes and reads them.

Tasks and commands list `CommandOption`s; `build_command` makes typer's command of them. Help shows them in sections.
"""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import typer
from typer.core import TyperCommand

from margrave.errors import MargraveError, Message, Setting, either, quoted, unknown
from margrave.options import Option, options_of
from margrave.settings.learning import JobSettings

_LARGE = 10**6  # Help does not show an upper bound from here on.


class WrongValueError(MargraveError):
    """A value that an option cannot have; the message has no full stop, and a hint at the help follows it."""


# Nothing of the command line is compared or printed as an object. Generating the methods for that takes 0.5 ms per
# class, which --help would feel.
@dataclass(eq=False, repr=False)
class CommandOption:
    """A declared setting as an option of a command. What was not given is None, also if there is a default."""

    option: Option
    name: str = ""  # on the command line, if it is not that of the setting
    short: str = ""
    required: bool = False
    applies: str = ""  # what it is for, where a command has options for some models only

    def __post_init__(self) -> None:
        self.name = self.name or self.option.name

    @property
    def flag(self) -> str:
        """How it is written: --max-iter."""
        return f"-{self.name}" if len(self.name) == 1 else "--" + self.name.replace("_", "-")

    @property
    def is_switch(self) -> bool:
        """Whether it has no value."""
        return self.option.default is False and not self.option.choices

    @property
    def is_repeated(self) -> bool:
        """Whether it may be given several times."""
        return get_origin(self.option.type) is tuple

    @property
    def metavar(self) -> str | None:
        """What help calls its value."""
        if self.is_switch or self.option.metavar:
            return self.option.metavar or None
        return {int: "N", float: "NUMBER"}.get(self.option.kinds[0], "NAME")

    @property
    def help(self) -> str:
        """The help text with choices, default and bounds; values need no quotes on a command line."""
        option = self.option
        notes = []
        if option.default is not None and option.default != () and not self.is_switch:
            notes.append(f"default: {written(option.default)}")
        elif option.default is None and option.if_none:
            notes.append(f"default: {option.if_none}")
        if bounds := _bounds(option):
            notes.append(bounds)
        text = option.described(written).replace('"', "")
        return text + (f"  [{'; '.join(notes)}]" if notes else "")

    def parameter(self, section: str, *, hidden: bool = False) -> inspect.Parameter:
        """The parameter that typer makes an option of; its values are texts."""
        info = typer.Option(
            *([self.short] if self.short else []),
            self.flag,
            help=None if hidden else self.help,
            metavar=self.metavar,
            show_default=False,
            hidden=hidden,
            rich_help_panel=section,
        )
        if self.is_switch:
            return _parameter(self.name, Annotated[bool, info], False)
        if self.is_repeated:
            return _parameter(self.name, Annotated[list[str] | None, info], None)
        if self.required:
            return _parameter(self.name, Annotated[str, info], inspect.Parameter.empty)
        return _parameter(self.name, Annotated[str | None, info], None)

    def read(self, given: Any) -> Any:
        """The value of what was given; None for an option that was not."""
        if given is None or self.is_switch:
            return given or None
        if self.is_repeated:
            return tuple(given) or None
        value = parse_value(self.option, given, self.flag)
        if self.option.choices:
            return value
        try:
            return self.option.checked(value, self.flag)
        except MargraveError as error:
            raise WrongValueError(str(error).removesuffix(".")) from error


def command_option(
    name: str,
    kind: Any,
    help: str,
    *,
    default: Any = None,
    short: str = "",
    required: bool = False,
    applies: str = "",
    **declared: Any,
) -> CommandOption:
    """An option that no settings declare; `declared` are further fields of `margrave.options.Option`."""
    option = Option(name, kind, default, help, **declared)
    return CommandOption(option, short=short, required=required, applies=applies)


def settings_options(settings: type[Any], names: Collection[str]) -> dict[str, Option]:
    """The fields with these names of a settings class, in the order of the names."""
    declared = {each.name: each for each in options_of(settings)}
    return {name: declared[name] for name in names}


THREADS = CommandOption(settings_options(JobSettings, ["n_jobs"])["n_jobs"], name="threads")


# ---- values ----------------------------------------------------------------------------------------------------------


_NO_VALUE = object()
_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}


def parse_value(option: Option, text: str, what: str) -> Any:
    """The value that a text writes, by the choices or the type of a setting; `what` names it in messages."""
    if option.choices:
        for choice in option.choices:
            if text == written(choice) or (isinstance(choice, bool) and _TRUTHS.get(text.lower()) is choice):
                return choice
        if all(type(choice) is int for choice in option.choices):
            raise WrongValueError(f"{what} must be {either([*map(written, option.choices)])}, and it is {text}")
        raise unknown(what, text, map(written, option.choices))
    for kind in sorted(option.kinds, key=lambda kind: kind is str):  # Any text is a str.
        parsed = _parsed(text, kind)
        if parsed is not _NO_VALUE:
            return parsed
    number = "number" if float in option.kinds else "whole number"
    raise WrongValueError(f"{what} must be a {number}, and it is {quoted(text)}")


def written(value: Any) -> str:
    """A value as a command line has it.

    >>> written(True), written(None), written((0.5, 1)), written("best")
    ('yes', 'none', '0.5,1', 'best')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    return ",".join(map(written, value)) if isinstance(value, tuple) else str(value)


def _parsed(text: str, kind: Any) -> Any:
    """The value of this type that a text writes, if it writes one."""
    if kind is str or kind is Any or isinstance(kind, str):  # A type that is not imported stands as a text.
        return text
    if kind is NoneType:
        return None if text.lower() == "none" else _NO_VALUE
    if kind is bool:
        return _TRUTHS.get(text.lower(), _NO_VALUE)
    if get_origin(kind) is tuple:
        parts = [_parsed(part, get_args(kind)[0]) for part in text.split(",")]
        return _NO_VALUE if _NO_VALUE in parts else tuple(parts)
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            return _NO_VALUE
    return _NO_VALUE


def _bounds(option: Option) -> str:
    """The bounds of a number, for help."""
    low, high = option.at_least, option.at_most
    if low is not None and low >= 0 and high is not None and high < _LARGE:
        return f"{low:g} to {high:g}"
    if option.above is not None and option.below is not None:
        return f"between {option.above:g} and {option.below:g}"
    if option.above is not None:
        return f"above {option.above:g}"
    return "" if low is None or low < 0 else f"at least {low:g}"


def given(values: Mapping[str, Any], options: Iterable[CommandOption]) -> dict[str, Any]:
    """Those of the options that the user gave, with their values."""
    return {each.name: value for each in options if (value := values.get(each.name)) is not None}


def in_options(message: object, options: Iterable[CommandOption]) -> str:
    """A message of the library in the words of the command line: the settings that it names become options.

    >>> from margrave.errors import setting
    >>> known = [command_option("learner", str, ""), command_option("free_sign", bool, "", default=False)]
    >>> advice = Message("use ", setting(learner=("eg", "sgd")), ", ", setting(free_sign=True), " or ", setting(k=1))
    >>> in_options(advice, known)
    'use --learner eg or sgd, --free-sign or k=1'
    """
    known = {each.option.name: each for each in options}

    def write(named: Setting) -> str:
        option = known.get(named.name)
        if option is None:
            return str(named)
        return option.flag if option.is_switch else f"{option.flag} {either([*map(written, named.values)])}"

    return message.written(write) if isinstance(message, Message) else str(message)


# ---- commands --------------------------------------------------------------------------------------------------------


def argument(name: str, metavar: str, help: str) -> inspect.Parameter:
    """A parameter that has no name on the command line."""
    info = typer.Argument(metavar=metavar, help=help, show_default=False)
    return _parameter(name, Annotated[str, info], inspect.Parameter.empty)


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


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


@dataclass(eq=False, repr=False)
class Parameters:
    """The parameters of a command: arguments, options by the headings of help, and options that help hides."""

    arguments: Sequence[inspect.Parameter] = ()
    sections: Mapping[str, Sequence[CommandOption]] | None = None
    hidden: Sequence[CommandOption] = ()

    @property
    def options(self) -> list[CommandOption]:
        """All options that help shows."""
        return [each for of in (self.sections or {}).values() for each in of]

    def signature(self) -> inspect.Signature:
        """What typer makes a command of."""
        return inspect.Signature(
            [
                *self.arguments,
                *(each.parameter(section) for section, of in (self.sections or {}).items() for each in of),
                *(each.parameter("", hidden=True) for each in self.hidden),
            ]
        )


def task_sections(options: Iterable[CommandOption]) -> dict[str, list[CommandOption]]:
    """Options that apply to some models only, by what they apply to."""
    sections: dict[str, list[CommandOption]] = {}
    for each in options:
        sections.setdefault(f"Options for {each.applies}", []).append(each)
    return sections


def build_command(
    app: typer.Typer, name: str, parameters: Parameters, body: Callable[[dict[str, Any]], None], help: str
) -> None:
    """Adds a command to the application, whose body gets the values of all parameters by name."""

    def call(**values: Any) -> None:
        for each in parameters.options:
            try:
                values[each.name] = each.read(values[each.name])
            except WrongValueError as error:
                raise MargraveError(f"{error}; see 'margrave {name} --help'.") from error
        for each in parameters.hidden:
            values[each.name] = values[each.name] or None
        body(values)

    call.__signature__ = parameters.signature()  # type: ignore[attr-defined]
    app.command(name, cls=SectionedCommand, help=help)(call)
