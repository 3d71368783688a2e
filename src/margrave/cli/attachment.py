"""Reports on the trees of parsers: attachment scores by the rules of the field, by class, with intervals and tests."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from margrave.cli.reports import percent, table
from margrave.cli.trees import Treebank

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from margrave.metrics import Counts
    from margrave.metrics.significance import Interval

Trees = tuple[list[list[int]], list[list[str]] | None]  # heads, and labels if the parser predicts some

_MANY_UNSEEN = 5  # labels that are shown


def scores(gold: Treebank, predicted: Trees) -> dict[str, float | None]:
    """UAS, LAS and exact matches of trees."""
    from margrave.metrics import attachment_report

    found = attachment_report(**_sides(gold, predicted))
    return {name: getattr(found, name) for name in ("uas", "las", "whole_trees", "whole_labeled_trees")}


def report(gold: Treebank, predicted: Trees, known: Collection[str]) -> dict[str, Any]:
    """All scores, as JSON can hold them; `known` are the labels of the training data."""
    from margrave.metrics import attachment_report, attachment_scores, conll18_scores, punctuation

    sides = _sides(gold, predicted)
    found = attachment_report(**sides)
    labeled = found.las is not None
    marks = punctuation(gold.forms)
    words = None
    if not all(all(of) for of in marks):
        scored = attachment_scores(**sides, ignore=marks)
        words = {"n_words": scored.words, "uas": scored.uas, "las": scored.las}
    universal = None
    if labeled and predicted[1] is not None:
        rated = conll18_scores(gold.heads, predicted[0], gold.labels, predicted[1])
        universal = {"n_words": rated.words, "uas": rated.uas, "las": rated.las, "clas": rated.clas.f1}
    return {
        **gold.sizes,
        **scores(gold, predicted),
        "intervals": {name: [of.low, of.high] for name, of in _intervals(_statistics(gold, predicted)).items()},
        "without_punctuation": words,
        "conll18": universal,
        "by_distance": {name: _counts(of) for name, of in found.by_distance.items()},
        "by_direction": {name: _counts(of) for name, of in found.by_direction.items()},
        "by_label": {name: _counts(of) for name, of in found.by_label.items()},
        "unseen_labels": _unseen(gold, known) if labeled else {},
    }


def comparison(gold: Treebank, first: Trees, second: Trees) -> dict[str, Any]:
    """The scores of another parser, how much better the first is, and whether that could be chance."""
    from margrave.metrics import approximate_randomization

    one, other = _statistics(gold, first), _statistics(gold, second)
    columns = min(one.shape[1], other.shape[1])  # without labels, if only one of the parsers has some
    one, other = one[:, :columns], other[:, :columns]
    compared: dict[str, Any] = dict(scores(gold, second))
    for name, of in _intervals(one, other).items():
        p = approximate_randomization(one, other, _measures(columns)[name])
        compared[f"{name}_difference"] = {"score": of.score, "low": of.low, "high": of.high, "p": p}
    return compared


def summary(found: Mapping[str, Any]) -> str:
    """The report as people read it."""
    counts = [(name, f"{found[f'n_{name}']:,}") for name in ("sentences", "words")]
    parts = [table(counts, 20), _score_table(found)]
    for title, name in (("distance", "by_distance"), ("direction", "by_direction"), ("label", "by_label")):
        if found[name]:
            parts.append(_class_table(title, found[name]))
    if unseen := found["unseen_labels"]:
        first = ", ".join(list(unseen)[:_MANY_UNSEEN]) + (", ..." if len(unseen) > _MANY_UNSEEN else "")
        parts.append(
            f"{sum(unseen.values()):,} words have labels that the training data do not have and that are never "
            f"predicted: {first}"
        )
    if "compared" in found:
        parts.append(_comparison_table(found["compared"]))
    return "\n\n".join(parts)


def _sides(gold: Treebank, predicted: Trees) -> dict[str, Any]:
    """The arguments of the metrics: gold and predicted heads, and labels if both have some."""
    heads, labels = predicted
    sides = {"gold_heads": gold.heads, "predicted_heads": heads}
    if labels is None or not gold.labeled:
        return sides
    return {**sides, "gold_labels": gold.labels, "predicted_labels": labels}


def _statistics(gold: Treebank, predicted: Trees) -> "NDArray[np.int64]":
    from margrave.metrics import attachment_statistics

    return attachment_statistics(**_sides(gold, predicted))


def _measures(columns: int) -> dict[str, Any]:
    from margrave.metrics import las_of_statistics, uas_of_statistics

    return {"uas": uas_of_statistics, **({"las": las_of_statistics} if columns == 3 else {})}


def _intervals(statistics: "NDArray[np.int64]", minus: "NDArray[np.int64] | None" = None) -> dict[str, "Interval"]:
    from margrave.metrics import bootstrap_interval

    measures = _measures(statistics.shape[1])
    return {name: bootstrap_interval(statistics, score, minus=minus) for name, score in measures.items()}


def _unseen(gold: Treebank, known: Collection[str]) -> dict[str, int]:
    """How many words have each label that is not known, the most frequent first."""
    counts = Counter(label for labels in gold.labels for label in labels if label not in known)
    return dict(counts.most_common())


def _counts(of: "Counts") -> dict[str, Any]:
    ratios = {"precision": of.precision, "recall": of.recall, "f1": of.f1}
    return {"gold": of.gold, "predicted": of.predicted, "correct": of.correct, **ratios}


def _score_table(found: Mapping[str, Any]) -> str:
    """Scores by the rules of the field, one rule per line."""
    names = ["UAS", *(["LAS"] if found["las"] is not None else [])]
    lines = [_row("", ["words", *names])]
    lines.append(_row("all words", [f"{found['n_words']:,}", *(percent(found[name.lower()]) for name in names)]))
    ends = ([100 * end for end in found["intervals"][name.lower()]] for name in names)
    lines.append(_row("    95 % interval", ["", *(f"{low:.2f}-{high:.2f}" for low, high in ends)]))
    if of := found["without_punctuation"]:
        texts = [f"{of['n_words']:,}", *(percent(of[name.lower()]) for name in names)]
        lines.append(_row("without punctuation", texts))
    if of := found["conll18"]:
        texts = [f"{of['n_words']:,}", percent(of["uas"]), percent(of["las"])]
        lines.append(_row("CoNLL 2018", texts) + f"    CLAS {percent(of['clas'])}")
    whole = [found["whole_trees"], *([found["whole_labeled_trees"]] if len(names) > 1 else [])]
    lines.append(_row("exact match", ["", *map(percent, whole)]))
    return "\n".join(lines)


def _row(name: str, texts: Sequence[str]) -> str:
    return f"{name:<20}" + "".join(f"{text:>16}" for text in texts)


def _class_table(title: str, classes: Mapping[str, Mapping[str, Any]]) -> str:
    width = max(map(len, [*classes, title]))
    names = ("gold", "predicted", "correct", "precision", "recall", "f1")
    lines = [f"{title:<{width}}" + "".join(f"{name:>11}" for name in (*names[:-1], "F1"))]
    for name, of in classes.items():
        if of["gold"] == of["predicted"] == 0:
            continue
        texts = [*(f"{of[key]:,}" for key in names[:3]), *(percent(of[key]) for key in names[3:])]
        lines.append(f"{name:<{width}}" + "".join(f"{text:>11}" for text in texts))
    return "\n".join(lines)


def _comparison_table(compared: Mapping[str, Any]) -> str:
    lines = [f"compared with {compared['model']}"]
    for name in ("uas", "las"):
        if of := compared.get(f"{name}_difference"):
            ends = f"95 % interval {100 * of['low']:+.2f} to {100 * of['high']:+.2f}, p {of['p']:.2g}"
            lines.append(f"{name.upper():<20}{percent(compared[name]):>10}    {100 * of['score']:+.2f} ({ends})")
    return "\n".join(lines)
