"""Trains a conditional random field on the entities of the built-in corpus, and shows what it has learned.

Prints test sentences with their entities, F1 by type of entity, the largest weights, and the certificate: how far the
weights are from the optimum at most. Run it with `make demo`; it draws the learning curve in demo/learning-curve.png.
"""

from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import TypeVar

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from margrave import SequenceTagger
from margrave.data.tags import Span, spans
from margrave.datasets import load_town
from margrave.features import Templates
from margrave.learners import Observer, Record, Weights
from margrave.metrics import SpanScores, span_scores

PICTURE = Path("demo/learning-curve.png")
TOLERANCE = 1e-6  # of the relative gap at which training stops
COLORS = {"PER": "cyan", "ORG": "magenta", "LOC": "green", "MISC": "yellow"}
SHOWN = 3  # test sentences with errors, and as many without

T = TypeVar("T")


class Curve(Observer):
    """Collects the records of a run, which the learner passes on after every iteration."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def note(self, record: Record, w: Weights) -> None:
        self.records.append(record)


def main() -> None:
    console = Console(highlight=False)
    X, y = words_and_tags(load_town("train"))
    X_test, y_test = words_and_tags(load_town("test"))
    curve = Curve()
    # L-BFGS computes P at every iteration, which the learning curve needs. eg computes it only near the end.
    tagger = SequenceTagger(loss="log", C=1.0, learner="lbfgs", features=Templates(), tol=TOLERANCE, verbose=True)
    tagger.fit(X, y, observers=[curve])
    predicted = tagger.predict(X_test)

    last = tagger.certificate_
    show_sentences(console, [[word for word, _ in rows] for rows in X_test], y_test, predicted)
    show_scores(console, span_scores(y_test, predicted))
    show_weights(console, tagger)
    heading(console, "The certificate")
    console.print(f"{len(X)} sentences, {len(tagger.coef_)} weights, {last.passes:g} passes, {last.seconds:.2f} s")
    show_certificate(console, last)
    draw(curve.records)
    console.print(f"\nThe learning curve is in {PICTURE}.", soft_wrap=True)


def words_and_tags(
    sentences: Sequence[Sequence[tuple[str, str, T]]],
) -> tuple[list[list[tuple[str, str]]], list[list[T]]]:
    """What a tagger sees of each sentence, words and their parts of speech, and the tags that it predicts."""
    X = [[(word, part_of_speech) for word, part_of_speech, _ in rows] for rows in sentences]
    return X, [[tag for _, _, tag in rows] for rows in sentences]


def heading(console: Console, text: str) -> None:
    console.print(Text(f"\n{text}", style="bold"))


def show_sentences(
    console: Console,
    sentences: Sequence[Sequence[str]],
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
) -> None:
    """Prints the first sentences without errors, of those with several entities, and the first with errors."""
    pairs = [(words, spans(true), spans(found)) for words, true, found in zip(sentences, gold, predicted, strict=True)]
    wrong = [pair for pair in pairs if set(pair[1]) != set(pair[2])]
    right = [pair for pair in pairs if set(pair[1]) == set(pair[2]) and len(pair[1]) > 1]
    heading(console, f"Test sentences: {len(wrong)} of {len(pairs)} have an error")
    marks = "✗ on the left: missed. ✗ on the right: wrong."
    console.print(f"Entities are {'in color' if in_color(console) else 'in brackets'}. {marks}")
    table = Table(box=box.SIMPLE_HEAD, expand=True, show_lines=False, padding=(0, 1, 1, 1))
    table.add_column("gold", ratio=1)
    table.add_column("predicted", ratio=1)
    for words, true, found in right[:SHOWN] + wrong[:SHOWN]:
        table.add_row(marked(console, words, true, found), marked(console, words, found, true))
    console.print(table)


def marked(console: Console, words: Sequence[str], entities: Sequence[Span], others: Sequence[Span]) -> Text:
    """A sentence with its entities marked; those that are not among the others too have a cross."""
    text = Text()
    at = 0
    for span in [*entities, None]:
        begin = len(words) if span is None else span.start
        text.append("".join(f"{word} " for word in words[at:begin]))
        if span is not None:
            name = " ".join(words[span.start : span.stop])
            cross = "" if span in others else "✗"
            color = COLORS.get(span.label, "blue")
            if in_color(console):
                text.append(name, style=f"bold {color}" + (" underline" if cross else ""))
                text.append(f" {span.label}", style=color)
                text.append(f"{cross} ", style="bold red")
            else:
                text.append(f"[{name} {span.label}]{cross} ")
            at = span.stop
    text.rstrip()
    return text


def in_color(console: Console) -> bool:
    """Whether the console is a terminal with colors and the user wants them (NO_COLOR is not set)."""
    return console.color_system is not None and not console.no_color


def show_scores(console: Console, scores: SpanScores) -> None:
    """Prints how many entities were found, by type and of all types together."""
    heading(console, "Entities found in the test sentences")
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("type")
    for name in ("gold", "predicted", "correct", "precision", "recall", "F1"):
        table.add_column(name, justify="right")
    for name, of in [*scores.by_label.items(), ("all", scores)]:
        ratios = (f"{100 * ratio:.1f}" for ratio in (of.precision, of.recall, of.f1))
        style = COLORS.get(name, "bold") if in_color(console) else ""
        table.add_row(Text(name, style=style), str(of.gold), str(of.predicted), str(of.correct), *ratios)
    console.print(table)
    console.print(f"test F1 {100 * scores.f1:.2f}")


def show_weights(console: Console, tagger: SequenceTagger) -> None:
    """Prints the attributes that speak most for the beginning of each entity, and the largest pairs of tags."""
    heading(console, "The largest weights")
    features = tagger.top_features(4)
    for kind in COLORS:
        names = "  ".join(f"{name} {weight:+.2f}" for name, weight in features[f"B-{kind}"])
        console.print(f"B-{kind:<5} {names}", soft_wrap=True, markup=False)
    pairs = "  ".join(f"{before} {after} {weight:+.2f}" for (before, after), weight in tagger.top_transitions(4))
    console.print(f"pairs   {pairs}", soft_wrap=True, markup=False)


def show_certificate(console: Console, record: Record) -> None:
    """Prints P, D, the gap between them, and what it means."""
    assert record.primal is not None and record.dual is not None
    console.print(f"primal P  {record.primal:14.6f}   the objective at these weights")
    console.print(f"dual D    {record.dual:14.6f}   no weights have an objective below this")
    console.print(f"gap P - D {record.gap:14.6f}")
    meaning = (
        f"Proven: no other weights can improve the objective by more than {ceil(1e6 * record.relative_gap) / 1e4:g} %."
    )
    console.print(meaning, soft_wrap=True)


def draw(records: Sequence[Record]) -> None:
    """Draws P and D, which approach the optimum from both sides, and the relative gap between them."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    passes = [record.passes for record in records]
    primal = [record.primal for record in records]
    dual = [record.dual for record in records]
    best = max(value for value in dual if value is not None)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    left.fill_between(passes, dual, primal, color="tab:blue", alpha=0.12, linewidth=0)
    left.plot(passes, primal, color="tab:blue", label="primal P, at the current weights")
    left.plot(passes, dual, color="tab:orange", label="dual D, a lower bound")
    left.set_ylim(0.4 * best, 1.8 * best)
    left.set(ylabel="objective", title="The optimum lies between P and D")
    left.legend(frameon=False)
    right.semilogy(passes, [record.relative_gap for record in records], color="tab:green", label="(P - D) / |P|")
    right.axhline(TOLERANCE, color="grey", linestyle="--", linewidth=1, label=f"tolerance, {TOLERANCE:g}")
    right.set(ylabel="relative gap", title="The certificate: how far from the optimum at most")
    right.legend(frameon=False)
    for axes in (left, right):
        axes.set(xlabel="passes over the training data", xlim=(0, passes[-1]))
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=120)


if __name__ == "__main__":
    main()
