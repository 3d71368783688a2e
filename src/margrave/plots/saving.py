"""Figures of matplotlib: whether there is matplotlib, fonts for all scripts, and files in SVG or PNG."""

import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from os import PathLike
from typing import TYPE_CHECKING

from margrave.errors import DataError, MargraveError
from margrave.files.output import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FORMATS = (".svg", ".png")
_NOT_IN_XML = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|\xef\xbf[\xbe\xbf]")  # and U+FFFE and U+FFFF
_DPI = 150
_MOST_PIXELS = 30_000  # of a side of a PNG file; many programs show no larger ones
_FONT = "DejaVu Sans"  # which comes with matplotlib


def require_matplotlib() -> None:
    """Raise an error that says what to install, if matplotlib is missing."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise MargraveError("drawing needs matplotlib: install it with pip install 'margrave[plots]'.") from error


def check_format(path: str | PathLike[str]) -> str:
    """The format that the name of a file asks for."""
    extension = os.path.splitext(os.fspath(path))[1].lower()
    if extension not in _FORMATS:
        raise DataError(path, None, f"a picture's name must end in {' or '.join(_FORMATS)}.")
    return extension.removeprefix(".")


def save_figure(path: str | PathLike[str], figure: "Figure") -> None:
    """Write a figure to a file; it is written completely or not at all, and equal figures give equal bytes.

    Parameters
    ----------
    path : the file to write; its name ends in .svg or .png.
    figure : a figure of matplotlib, such as one of `arc_diagram`.
    """
    format = check_format(path)
    require_matplotlib()
    from matplotlib import rc_context

    dpi = min(_DPI, _MOST_PIXELS / max(figure.get_size_inches()))
    metadata = {"Date": None} if format == "svg" else {"Software": None}
    drawn = BytesIO()
    with rc_context({"svg.hashsalt": "margrave"}), warnings.catch_warnings():
        # A character that no font has is drawn as a box; it is no reason to fail.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(drawn, format=format, dpi=dpi, metadata=metadata)
    content = drawn.getvalue()
    with replacing(path) as file:
        # In the comments of an SVG file, matplotlib names the text that it draws.
        file.write(_NOT_IN_XML.sub("\ufffd".encode(), content) if format == "svg" else content)


@contextmanager
def texts_as_they_are(fonts: Sequence[str]) -> Iterator[None]:
    """Lets matplotlib take no text for a formula, and draw a character that no font has as a box."""
    from matplotlib import rc_context

    with rc_context({"font.family": list(fonts), "text.parse_math": False}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def drawable(text: object) -> str:
    """The text with what stands for half of a character (a lone surrogate) replaced, which no font can draw."""
    return str(text).encode("utf-8", "replace").decode()


def fonts_for(texts: Iterable[str]) -> list[str]:
    """The fonts that together have the characters of the texts, as far as fonts of this machine have them."""
    from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font

    def characters(path: str) -> set[int]:
        return set(get_font(path).get_charmap())

    families = [_FONT]
    missing = {ord(c) for text in texts for c in text if not c.isspace()}
    if not max(missing, default=0) < 0x250:  # Latin letters need no search.
        missing -= characters(findfont(FontProperties(family=_FONT)))
        for font in sorted(fontManager.ttflist, key=lambda font: (font.name, font.fname)):
            if not missing:
                break
            if font.style != "normal" or font.name in families or font.name.startswith("Last Resort"):
                continue
            try:
                found = characters(font.fname) & missing
            except (OSError, RuntimeError):  # a font that was removed, or that is damaged
                continue
            if found:
                families.append(font.name)
                missing -= found
    return families
