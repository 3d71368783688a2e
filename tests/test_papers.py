"""Every file, test, experiment, name and setting that docs/papers.md mentions exists."""

import ast
import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import margrave
from benchmarks.experiment import experiment, names
from margrave.errors import MargraveError
from margrave.options import options_of

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
PACKAGE, CORE = ROOT / "src" / "margrave", ROOT / "src" / "margrave" / "_core"
SYMBOLS = {"C", "D", "P", "R", "w", "z", "C R²", "w = 1", ".h", ".cpp"}  # of formulas, and ends of names

_TOKEN = re.compile(r"`([^`\n]+)`")
_FILE = re.compile(r"[\w/]+\.(?:py|h|cpp)")
_IN_FILE = re.compile(r"((?:`[^`\n]+`(?:, | and )?)+) \(`([\w/]+\.(?:py|h|cpp))`")  # names, and the file that has them
_SECTION = re.compile(r"Tests are in `tests/([\w/.]+)` unless")
_RECORD = re.compile(r"\.\./benchmarks/results/(\w+)\.json")
_EXPERIMENT = re.compile(r"benchmarks/experiments/(\w+)\.py")
_WORD = re.compile(r"[A-Za-z_]\w*")
_NAME = re.compile(r"[\w.:]+")


class Mention(NamedTuple):
    """What the page names, and where."""

    line: int
    text: str
    file: str = ""


def named_tests() -> Iterator[Mention]:
    """The tests, each with the file that the page says it is in: that of the section, or one named in the same cell."""
    section = ""
    for number, line in enumerate(PAGE.splitlines(), 1):
        if found := _SECTION.search(line):
            section = found[1]
            continue
        for cell in re.split(r" \| |; ", line):
            file = section
            for token in _TOKEN.findall(cell):
                if token.startswith("test_") and not token.endswith(".py"):
                    yield Mention(number, token, file)
                elif token.endswith(".py"):
                    file = token


def names_with_files() -> Iterator[Mention]:
    """The names that stand before the file in parentheses that they are in."""
    for number, line in enumerate(PAGE.splitlines(), 1):
        for listed, file in _IN_FILE.findall(line):
            yield from (Mention(number, name, file) for name in _TOKEN.findall(listed) if _NAME.fullmatch(name))


def expressions() -> Iterator[Mention]:
    """Calls, such as `EG(rate=1)`, and settings, such as `rate=1`."""
    for number, line in enumerate(PAGE.splitlines(), 1):
        for token in _TOKEN.findall(line):
            if re.fullmatch(r"\w+\(.*\)|\w+=.+", token) and token not in SYMBOLS:
                yield Mention(number, token)


def single_words() -> Iterator[Mention]:
    """Names that stand alone, such as `BCFW`, `mira` and `Problem::argmax`."""
    for number, line in enumerate(PAGE.splitlines(), 1):
        for token in _TOKEN.findall(line):
            known = token.startswith("test_") or token in SYMBOLS or _FILE.fullmatch(token)
            if not known and re.fullmatch(r"[\w.:-]+", token):
                yield Mention(number, token)


def each(mentions: Iterator[Mention]) -> pytest.MarkDecorator:
    """Runs a test on everything that the page mentions, once."""
    return pytest.mark.parametrize("mention", sorted(set(mentions)), ids=lambda one: f"line {one.line}: {one.text}")


@cache
def sources(*folders: Path) -> dict[str, str]:
    """The texts of all sources below these folders, by path."""
    paths = [path for folder in folders for ending in ("py", "h", "cpp") for path in folder.rglob(f"*.{ending}")]
    return {f"/{path.relative_to(ROOT).as_posix()}": path.read_text(encoding="utf-8") for path in paths}


def text_of(file: str, *folders: Path) -> str:
    """The sources below some folders whose path ends like this."""
    found = [text for path, text in sources(*folders).items() if path.endswith(f"/{file}")]
    assert found, f"there is no file {file}"
    return "\n".join(found)


def defines(text: str, name: str) -> bool:
    """Whether a source defines a class, a function, a field or a setting of this name."""
    word = re.escape(name)
    return bool(
        re.search(rf"^\s*(?:(?:async )?def|class|struct)\s+{word}\b", text, re.MULTILINE)
        or re.search(rf"^\s*(?:self\.)?{word}\s*[:=]", text, re.MULTILINE)  # a field, a setting or a constant
        or re.search(rf"\b(?:struct|class|namespace)\s+(?:\w+::)*{word}\b", text)
        or re.search(rf'^\s*"{word}",$|\bdef\("{word}"', text, re.MULTILINE)  # a binding
        or re.search(rf"^[\w \t<>:,*&~\[\]]*[\s:*&>]{word}\s*\([^;]*", text, re.MULTILINE)  # a function in C++
    )


@cache
def objects() -> dict[str, list[Any]]:
    """Everything in the modules of the library by name; a name can stand for several things."""
    found: dict[str, list[Any]] = {}
    for module in pkgutil.walk_packages(margrave.__path__, "margrave."):
        if not module.name.endswith("__main__"):
            for name, value in vars(import_module(module.name)).items():
                if callable(value) and value not in found.setdefault(name, []):
                    found[name].append(value)
    return found


def accepts(of: Any, setting: str, value: ast.expr) -> bool:
    """Whether a class or a function has a setting, and it can have this value, if it is written out."""
    declared = options_of(of) if isinstance(of, type) and is_dataclass(of) else ()
    options = {option.name: option for option in declared}
    if setting not in options:
        try:
            return setting in inspect.signature(of.__init__ if isinstance(of, type) else of).parameters
        except (TypeError, ValueError):
            return False  # a part of the core
    try:
        given = ast.literal_eval(value)
    except ValueError:
        return True  # a variable
    if given is ...:
        return True
    try:
        options[setting].checked(given, setting)
    except MargraveError:
        return False
    return True


def has_settings(of: Any, call: ast.Call) -> bool:
    """Whether a class or a function accepts all settings of a call."""
    return all(keyword.arg and accepts(of, keyword.arg, keyword.value) for keyword in call.keywords)


@each(named_tests())
def test_the_tests_that_the_page_names_are_in_the_files_that_it_names(mention: Mention) -> None:
    assert mention.file, "no file is named"
    assert defines(text_of(mention.file, ROOT / "tests"), mention.text)


@each(names_with_files())
def test_the_names_that_the_page_gives_a_file_are_defined_there(mention: Mention) -> None:
    whole = mention.file.startswith(("benchmarks/", "references/"))
    text = text_of(mention.file, *((ROOT / "benchmarks", ROOT / "tests") if whole else (PACKAGE,)))
    for name in re.split(r"::|\.", mention.text):
        assert defines(text, name), f"{mention.file} does not define {name}"


@each(expressions())
def test_the_settings_that_the_page_names_exist_and_accept_their_values(mention: Mention) -> None:
    call = re.fullmatch(r"\w+\(.*\)", mention.text)
    tree = ast.parse(mention.text if call else f"any({mention.text})", mode="eval").body
    assert isinstance(tree, ast.Call)
    of = (
        objects().get(mention.text.partition("(")[0], [])
        if call
        else [one for all in objects().values() for one in all]
    )
    assert any(has_settings(one, tree) for one in of)


@each(single_words())
def test_the_names_on_the_page_are_those_of_the_sources(mention: Mention) -> None:
    text = "\n".join(sources(PACKAGE, ROOT / "tests" / "references").values())
    corpora = {name for each in names() for name in experiment(each).CORPORA}
    if mention.text not in corpora and f'"{mention.text}"' not in text:  # a learner, or a value of a setting
        for name in _WORD.findall(mention.text):
            assert defines(text, name), name


def test_experiments_on_the_page_exist_and_records_are_those_of_an_experiment_on_the_page() -> None:
    experiments = set(_EXPERIMENT.findall(PAGE))
    assert experiments <= set(names())
    assert set(_RECORD.findall(PAGE)) <= {experiment(name).RESULT for name in experiments}


def test_make_papers_runs_every_experiment_whose_record_the_page_cites() -> None:
    """It reads the names of the experiments' files from the page."""
    make = (ROOT / "Makefile").read_text(encoding="utf-8")
    (pattern,) = re.findall(r"^PAPERS := .*grep -o '([^']+)' docs/papers\.md", make, re.MULTILINE)
    run = {Path(file).stem for file in re.findall(pattern, PAGE)}
    assert {experiment(name).RESULT for name in run} >= set(_RECORD.findall(PAGE))


def test_the_page_does_not_say_which_figures_are_older_than_the_code() -> None:
    """That changes with the code; `--outdated` tells it."""
    assert not re.search(r"\bolder than the code\b", PAGE.replace("makes every record older than the code", ""))
