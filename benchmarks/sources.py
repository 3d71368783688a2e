"""The sources that a result depends on, and their fingerprint.

They are the experiment's module, all that it imports of the benchmarks and of Margrave, directly or not, and the core,
which is one library and therefore counts as a whole. Every import statement counts, wherever it is, and so does every
string that may be the name of a module, because some modules are imported by name. Comments, docstrings and blank lines
do not count, nor does the code that writes records.
"""

import ast
import re
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from io import StringIO
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOTS = (ROOT, ROOT / "src")  # the folders of the packages
CORE = ROOT / "src" / "margrave" / "_core"
RECORDING = {
    ROOT / "benchmarks" / name for name in ("pieces.py", "stages.py")
}  # imported, but without effect on figures
DIGITS = 16  # of a fingerprint

_MODULE = re.compile(r"\w+(\.\w+)+(:\w+)?")
_CPP_COMMENT = re.compile(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])')|//[^\n]*|/\*.*?\*/""", re.DOTALL)


def fingerprint(module: str, roots: tuple[Path, ...] = ROOTS, core: Path = CORE) -> str:
    """The fingerprint of all sources of a module, which changes with the code of any of them."""
    found = sha256()
    for path in [*python_sources(module, roots), *core_sources(core)]:
        root = next(root for root in (*roots, core) if path.is_relative_to(root))
        text = path.read_text(encoding="utf-8")
        code = _python_code(text) if path.suffix == ".py" else _cpp_code(text)
        found.update(f"{path.relative_to(root).as_posix()}\0{code}\0".encode())
    return found.hexdigest()[:DIGITS]


def python_sources(module: str, roots: tuple[Path, ...] = ROOTS) -> list[Path]:
    """The file of a module, and those of all that it imports below the roots."""
    found: set[Path] = set()
    waiting = [module]
    while waiting:
        for path in _files(waiting.pop(), roots):
            if path not in found and path not in RECORDING:
                found.add(path)
                waiting += _imported(path.read_text(encoding="utf-8"))
    return sorted(found)


def core_sources(core: Path = CORE) -> list[Path]:
    """The files of the core."""
    return sorted(path for path in core.rglob("*") if path.suffix in (".h", ".cpp"))


def _files(module: str, roots: Iterable[Path]) -> Iterator[Path]:
    """The file of a module and those of the packages around it, if they are below the roots."""
    parts = module.split(".")
    for depth in range(1, len(parts) + 1):
        for root in roots:
            stem = root.joinpath(*parts[:depth])
            yield from (path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file())


@cache
def _imported(text: str) -> frozenset[str]:
    """The names that a source imports, and strings that may be names of modules."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=imported):
                names |= {each.name for each in imported}
            case ast.ImportFrom(module=str(module), names=imported):
                names |= {f"{module}.{each.name}" for each in imported}
            case ast.Constant(value=str(value)) if _MODULE.fullmatch(value):
                names.add(value.partition(":")[0])
            case ast.List(elts=words) | ast.Tuple(elts=words):  # a command with python -m NAME
                for pair in pairwise(words):
                    match pair:
                        case ast.Constant(value="-m"), ast.Constant(value=str(name)):
                            names.add(f"{name}.__main__")
    return frozenset(names)


@cache
def _python_code(text: str) -> str:
    """A source without comments, docstrings and blank lines."""
    lines = text.splitlines()
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(text)):
        match node:
            case (
                ast.Module(body=[ast.Expr(value=ast.Constant(value=str())) as docstring, *_])
                | ast.ClassDef(body=[ast.Expr(value=ast.Constant(value=str())) as docstring, *_])
                | ast.FunctionDef(body=[ast.Expr(value=ast.Constant(value=str())) as docstring, *_])
            ):
                first, end = docstring.lineno - 1, docstring.end_lineno or docstring.lineno
                lines[first] = lines[first][: docstring.col_offset]
                lines[first + 1 : end] = [""] * (end - first - 1)
    return _without_blank_lines(lines)


@cache
def _cpp_code(text: str) -> str:
    """A source of the core without comments and blank lines."""
    return _without_blank_lines(_CPP_COMMENT.sub(lambda found: found[1] or " ", text).splitlines())


def _without_blank_lines(lines: Iterable[str]) -> str:
    return "\n".join(line.rstrip() for line in lines if line.strip())
