"""Settings of the documentation site, which `make docs` builds with Sphinx, MyST and autodoc."""

import re
import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # for the plots of the benchmarks

from benchmarks.experiment import experiment, names
from benchmarks.machine import read_result
from margrave.learners import Learner, learner_table
from margrave.stored import Stored
from tests import records
from tests.fuzz import reached, record

project = "Margrave"
author = "The Margrave developers"
release = version = installed_version("margrave")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
nitpicky = True
# Annotations name types of numpy and scipy, whose documentation this site cannot link to without a network, and types
# of Margrave by the module that defines them, where the site has them by the module that exports them.
nitpick_ignore_regex = [(r"py:(class|data|obj|exc)", r".*")]

myst_heading_anchors = 3  # links may point to headings down to this level, by the names that GitHub gives them

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
napoleon_google_docstring = False
napoleon_use_ivar = True  # some attributes are also properties, which have entries of their own

html_theme = "furo"
html_title = "Margrave"
html_static_path = ["_static"]
html_css_files = ["width.css"]
html_show_copyright = False
html_show_sphinx = False
toc_object_entries_show_parents = "hide"

_TABLE = re.compile(r"<!-- table: (\w+) -->")
_TABLES = {
    "learners": learner_table,
    "fuzz": record.table,
    "reader_coverage": reached.table,
    "coverage": records.coverage_table,
    "sanitizers": records.sanitizers_table,
}  # and by name those of the benchmarks
_CODE_SPAN = re.compile(r"(?<![`:])(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)


def markdown_to_rst(text: str) -> str:
    """Rewrites a paragraph with Markdown code spans so that reStructuredText shows it as it was meant.

    Code spans get the two backticks of reStructuredText. Characters that it treats specially elsewhere, such as the
    bars of `|w|` and the underscore at the end of a fitted attribute, are escaped.
    """
    parts, end = [], 0
    for span in _CODE_SPAN.finditer(text):
        parts.append(_escape(text[end : span.start()]))
        parts.append(f"``{' '.join(span[2].split())}``")
        end = span.end()
        if text[end : end + 1].isalnum():
            parts.append("\\ ")  # markup must not touch a letter, as in "`Record`s"
    return "".join([*parts, _escape(text[end:])])


def _escape(text: str) -> str:
    return re.sub(r"[*|]|_+(?!\w)", lambda found: "".join(f"\\{character}" for character in found[0]), text)


def rewrite_section(text: str) -> str:
    """A section of parameters or attributes: what stands behind the colon describes them, and is not their type."""
    heading, underline, *lines = text.split("\n")
    if heading not in ("Parameters", "Attributes"):
        return markdown_to_rst(text)
    entries: list[tuple[str, list[str]]] = []
    for line in lines:
        name, colon, description = line.partition(" : ")
        if colon and not line.startswith(" "):
            entries.append((name, [description]))
        elif entries:
            entries[-1][1].append(line.strip())
    described = [f"{_escape(name)}\n    {markdown_to_rst(' '.join(words))}" for name, words in entries]
    return "\n".join([heading, underline, *described])


def rewrite_docstring(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Converts the paragraphs of a docstring, except for doctests. Modules are introduced by the pages themselves."""
    if what == "module":
        lines.clear()
        return
    rewritten, in_section = [], False
    for text in "\n".join(lines).split("\n\n"):
        doctest = text.lstrip().startswith(">>>")
        if doctest and in_section:  # without a heading napoleon would take the doctest for one more parameter
            rewritten.append("Examples\n--------")
        in_section = (in_section and not doctest) or "\n----" in text
        rewritten.append(text if doctest else rewrite_section(text) if "\n----" in text else markdown_to_rst(text))
    lines[:] = "\n\n".join(rewritten).split("\n")


def skip_member(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leaves out what estimators inherit from scikit-learn, the protocol of learners except at `Learner`, and of files.

    The docstrings of scikit-learn refer to pages of its own site. The methods that every learner defines are called by
    `Learner.solve` alone, and those that put objects into files by `save` and `load` alone: they would bury the rest.
    """
    if (getattr(obj, "__module__", None) or "").startswith("sklearn."):
        return True
    if name in vars(Stored) and callable(getattr(Stored, name)):
        return True
    owner = getattr(obj, "__qualname__", "").rpartition(".")[0]
    in_learner = (getattr(obj, "__module__", None) or "").startswith("margrave.learners.")
    return True if in_learner and owner not in ("", "Learner") and hasattr(Learner, name) else None


def shorten_signature(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Says of arrays what a reader wants to know: the core's signatures also have their strides and devices."""
    return _shorten(signature), _shorten(returns)


def _shorten(types: str | None) -> str | None:
    if types is None:
        return None
    types = re.sub(r"~?(?:numpy\.)?ndarray\[dtype=(\w+)[^\]]*\]", r"NDArray[\1]", types)
    types = re.sub(r"~?numpy\.ndarray\[\S*tuple\[\S*Any, \.\.\.\], ~?numpy\.dtype\[(\S+?)\]\]", r"NDArray[\1]", types)
    return types.replace("(self, ", "(").replace("(self)", "()")


def draw_plots(app: Sphinx, config: Config) -> None:
    """Draws the plots that pages link to, as plots/NAME.png, from the results of the benchmarks."""
    folder = Path(app.srcdir, "plots")
    folder.mkdir(exist_ok=True)
    pages = "".join(page.read_text(encoding="utf-8") for page in Path(app.srcdir).rglob("*.md"))
    for shown in map(experiment, names()):
        if f"plots/{shown.RESULT}.png)" in pages:
            shown.plot(read_result(shown.RESULT)).savefig(folder / f"{shown.RESULT}.png", dpi=110)


def insert_tables(app: Sphinx, docname: str, source: list[str]) -> None:
    """Puts tables where pages have `<!-- table: NAME -->`: that of the learners, or that of a record."""
    source[0] = _TABLE.sub(lambda mark: _table(mark[1]), source[0])


def _table(name: str) -> str:
    if name in _TABLES:
        return _TABLES[name]()
    return experiment(name).table(read_result(experiment(name).RESULT))


def setup(app: Sphinx) -> None:
    """Converts docstrings before napoleon reads them, which has the default priority of 500."""
    app.connect("config-inited", draw_plots)
    app.connect("source-read", insert_tables)
    app.connect("autodoc-skip-member", skip_member)
    app.connect("autodoc-process-signature", shorten_signature)
    app.connect("autodoc-process-docstring", rewrite_docstring, priority=400)
