"""The option --decode of predict and evaluate, for all models that can decode in several ways."""

from typing import Any

from margrave.cli.options import WrongValueError, command_option, parse_value, settings_options
from margrave.errors import MargraveError

DECODE = command_option(
    "decode",
    str,
    "How outputs are decoded. Parsers: best or mbr, the tree with the highest expected number of correct heads. "
    "Aligners: score, or accuracy, the alignment with the highest expected accuracy.",
    if_none="as in training",
    applies="parsing and alignments",
)


def checked_decode(settings: type[Any], decode: str | None, default: str) -> str:
    """The way to decode that was given, if models with these settings have it, or else the default."""
    if decode is None:
        return default
    try:
        return str(parse_value(settings_options(settings, ["decode"])["decode"], decode, DECODE.flag))
    except WrongValueError as error:
        raise MargraveError(f"{error}.") from error
