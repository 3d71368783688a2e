"""Examples that show what a model does: pictures of trees, lattices and alignments, and why a word has its head."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from margrave.cli.options import command_option
from margrave.cli.streams import check_place
from margrave.cli.trees import Treebank
from margrave.errors import DataError, MargraveError, quoted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from margrave import ConstituencyParser, DependencyParser, LatticeDecoder, SequenceAligner
    from margrave.data import Lattice
    from margrave.data.constituents import Tree
    from margrave.estimators.models.dependency_parser import Explanation
    from margrave.translation.translator import Translator

_MOST = 100  # pictures that are drawn at once
_IMPROBABLE = 0.02  # edges of search graphs below this probability are left out


def _check_word(what: str, text: str) -> str:
    _numbers("explain", text, "([1-9][0-9]{0,8}):([1-9][0-9]{0,8})", "SENTENCE:WORD such as 3:7")
    return text


def _check_sentences(what: str, text: str) -> str:
    _range(text)
    return text


# What parsers, labelers of graphs and decoders of lattices share.
DATA = command_option(
    "data",
    str,
    "CoNLL-U sentences for --plot and --explain, or constituent trees, graphs, lattices, sentences to translate or "
    "pairs of sequences for --plot.",
    metavar="FILE",
    applies="parsing, constituency, graphs, lattices, translation and alignments",
)
PLOT = command_option(
    "plot",
    str,
    "Draw what is predicted for --data in this file, .svg or .png. The predicted tree is drawn below the words of a "
    "sentence, and the tree of the file, if it has heads, above them. If there are several --sentences, their numbers "
    "are added to the name. The nodes of a graph are colored by their predicted labels. Colors show probabilities, "
    "also of constituents and of the edges of lattices. Constituents that the trees of the file do not contain are "
    "red. Without --data, the learned substitution matrix of an aligner is drawn, for proteins beside BLOSUM62.",
    metavar="PICTURE",
    applies="parsing, constituency, graphs, lattices, translation and alignments",
)
SENTENCES = command_option(
    "sentences",
    str,
    "Which sentences, lattices or pairs to draw: 3, or 1-5.",
    if_none="the first",
    metavar="NUMBERS",
    applies="parsing, constituency, lattices, translation and alignments",
    check=_check_sentences,
)
OPTIONS = (
    DATA,
    PLOT,
    SENTENCES,
    command_option(
        "explain",
        str,
        "Show which features favor the predicted head of a word of --data over the most probable other head; for "
        "example 3:7 for word 7 of sentence 3.",
        metavar="SENTENCE:WORD",
        applies="parsing",
        check=_check_word,
    ),
)


def check_options(data: str | None, plot: str | None, sentences: str | None, explain: str | None) -> str:
    """The file of sentences, if the options fit each other."""
    if plot is not None:
        from margrave.plots.saving import check_format, require_matplotlib

        check_format(plot)
        require_matplotlib()
        check_place(plot, [data])
    elif sentences is not None:
        raise MargraveError("--sentences applies to --plot only, which is not given.")
    if plot is None and explain is None:
        raise MargraveError("--data applies to --plot and --explain only: give one of them.")
    if data is None:
        raise MargraveError(f"{'--explain' if plot is None else '--plot'} needs sentences: give a file with --data.")
    return data


def draw(parser: "DependencyParser", data: str, bank: Treebank, plot: str, sentences: str | None) -> list[str]:
    """Draws dependency trees, and gives the names of the pictures."""
    from margrave.plots import arc_diagram

    def figure(k: int) -> "Figure":
        X = bank.table.slice(k, k + 1)
        (tree,) = parser.predict(X)
        (probabilities,) = parser.predict_proba(X, [tree])
        gold = -1 not in bank.heads[k]
        labeled = bool(parser.labels_)
        return arc_diagram(
            bank.forms[k],
            [head for head, _ in tree] if labeled else tree,
            [label for _, label in tree] if labeled else None,
            tags=bank.table.slice(k, k + 1).column(1)[0] if bank.table.width > 1 else None,
            gold_heads=bank.heads[k] if gold else None,
            gold_labels=bank.labels[k] if gold and labeled and bank.labeled else None,
            probabilities=[min(max(float(p), 0.0), 1.0) for p in probabilities],
        )

    return _pictures(data, len(bank.heads), "sentences", plot, sentences, figure)


def draw_constituents(
    parser: "ConstituencyParser", data: str, trees: Sequence["Tree"], plot: str, sentences: str | None
) -> list[str]:
    """Draws constituent trees, and gives the names of the pictures."""
    from margrave.data.constituents import without_top
    from margrave.plots import constituent_diagram

    def figure(k: int) -> "Figure":
        X = parser.sentences_of([trees[k]])
        (tree,), (probabilities,) = parser.predict(X), parser.predict_proba(X)
        gold = None if without_top(trees[k]).label == "X" else trees[k]  # (X (DT the) ...) says nothing.
        return constituent_diagram(tree, probabilities=probabilities, gold=gold)

    return _pictures(data, len(trees), "sentences", plot, sentences, figure)


def draw_lattices(
    decoder: "LatticeDecoder", data: str, lattices: Sequence["Lattice"], plot: str, sentences: str | None
) -> list[str]:
    """Draws lattices, and gives the names of the pictures."""
    from margrave.plots import lattice_diagram

    def figure(k: int) -> "Figure":
        (probabilities,) = decoder.predict_marginals(lattices[k : k + 1])
        return lattice_diagram(lattices[k], probabilities.clip(0.0, 1.0).tolist(), title=lattices[k].id)

    return _pictures(data, len(lattices), "lattices", plot, sentences, figure)


def draw_search_graphs(
    translator: "Translator", data: str, X: Sequence[str], plot: str, sentences: str | None
) -> list[str]:
    """Draws the search graphs of sentences without improbable edges, and gives the names of the pictures."""
    from margrave.plots import lattice_diagram

    def figure(k: int) -> "Figure":
        (lattice,), (probabilities,) = translator.lattices([X[k]]), translator.predict_marginals([X[k]])
        shown = probabilities[probabilities >= _IMPROBABLE].clip(0.0, 1.0).tolist()
        return lattice_diagram(lattice.without(probabilities < _IMPROBABLE), shown, title=X[k])

    return _pictures(data, len(X), "sentences", plot, sentences, figure)


def draw_alignments(
    aligner: "SequenceAligner",
    data: str,
    X: Sequence[tuple[str, str]],
    gold: Sequence[Any] | None,
    plot: str,
    sentences: str | None,
) -> list[str]:
    """Draws the posterior probabilities of pairs of sequences, and gives the names of the pictures."""
    from margrave.plots import posterior_diagram

    def figure(k: int) -> "Figure":
        (table,) = aligner.predict_marginals(X[k : k + 1])
        (predicted,) = aligner.predict(X[k : k + 1])
        known = None if gold is None else gold[k]
        return posterior_diagram(table, *X[k], predicted, gold=known, title=f"pair {k + 1}")

    return _pictures(data, len(X), "pairs", plot, sentences, figure)


def _pictures(
    data: str, count: int, what: str, plot: str, sentences: str | None, figure: Callable[[int], "Figure"]
) -> list[str]:
    """Saves the figures of the chosen examples, and gives the names of the pictures."""
    from margrave.plots import save_figure

    first, last = _range(sentences or "1")
    if last > count:
        raise DataError(data, None, f"--sentences {sentences or 1}, but it has {count} {what}.")
    if last - first >= _MOST:
        raise MargraveError(f"--sentences {sentences} are more than {_MOST} pictures: give a smaller range.")
    stem, extension = os.path.splitext(plot)
    paths = []
    for k in range(first - 1, last):
        paths.append(plot if first == last else f"{stem}-{k + 1}{extension}")
        save_figure(paths[-1], figure(k))
    return paths


def explain(parser: "DependencyParser", data: str, bank: Treebank, place: str) -> dict[str, Any]:
    """What speaks for the head of a word, as JSON can hold it."""
    sentence, word = map(int, place.split(":"))
    if sentence > len(bank.heads):
        raise DataError(data, None, f"--explain {place}, but it has {len(bank.heads)} sentences.")
    forms = bank.forms[sentence - 1]
    if word > len(forms):
        raise DataError(data, None, f"--explain {place}, but sentence {sentence} has {len(forms)} words.")
    found: Explanation = parser.explain(bank.rows()[sentence - 1], word)
    named = ["root", *forms]
    return {
        "sentence": sentence,
        "word": [word, named[word]],
        "head": [found.head, named[found.head]],
        "other": [found.other, named[found.other]],
        "difference": found.difference,
        "attributes": [[name, weight] for name, weight in found.attributes],
    }


def explanation_table(of: Mapping[str, Any]) -> str:
    """The same as people read it."""
    names = {key: f"{of[key][0]} ({of[key][1]})" for key in ("word", "head", "other")}
    more = f"scores {of['difference']:+.6g} more than head {names['other']}"
    lines = [f"sentence {of['sentence']}, word {names['word']}: head {names['head']} {more}"]
    width = max((len(name) for name, _ in of["attributes"]), default=0)
    return "\n".join([*lines, *(f"    {name:<{width}}  {weight:+.6g}" for name, weight in of["attributes"])])


def _range(text: str) -> tuple[int, int]:
    numbers = _numbers("sentences", text, "([1-9][0-9]{0,8})(?:-([1-9][0-9]{0,8}))?", "a number or a range such as 1-5")
    first, last = int(numbers[0]), int(numbers[1] or numbers[0])
    if last < first:
        raise MargraveError(f"--sentences {text}: the range ends before it begins.")
    return first, last


def _numbers(option: str, text: str, pattern: str, takes: str) -> Sequence[str]:
    match = re.fullmatch(pattern, text)
    if match is None:
        raise MargraveError(f"--{option} takes {takes}, not {quoted(text)}.")
    return match.groups()
