"""Precision, recall and F1 of sets of labels, flat or in a taxonomy."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from margrave.checks import has_length
from margrave.errors import MargraveError, quoted
from margrave.metrics.counting import Counts, listed

if TYPE_CHECKING:
    from margrave.data.taxonomy import Taxonomy


@dataclass(frozen=True)
class LabelScores(Counts):
    """Counts and ratios over the labels of all examples (micro-averaged), and for each label in `by_label`."""

    by_label: Mapping[Any, Counts]

    @property
    def macro_f1(self) -> float:
        """The mean of the F1 scores of all labels."""
        return sum(of.f1 for of in self.by_label.values()) / len(self.by_label)


def label_scores(
    gold: Sequence[Collection[Hashable]],
    predicted: Sequence[Collection[Hashable]],
    labels: Iterable[Hashable] | None = None,
) -> LabelScores:
    """Compute precision, recall and F1 of sets of labels.

    Parameters
    ----------
    gold, predicted : the right and the predicted labels of each example.
    labels : the labels that count; None for all that occur.

    >>> scores = label_scores([{"a", "b"}, {"b"}], [{"a"}, {"b", "c"}])
    >>> scores.f1, scores.macro_f1
    (0.6666666666666666, 0.5555555555555555)
    """
    return _label_scores(_sets(gold, "gold"), _sets(predicted, "predicted"), labels)


def hierarchical_scores(
    gold: Sequence[Collection[Hashable]],
    predicted: Sequence[Collection[Hashable]],
    taxonomy: "Taxonomy",
    labels: Iterable[Hashable] | None = None,
) -> LabelScores:
    """Compute hierarchical precision, recall and F1 (Kiritchenko, Matwin and Famili 2005).

    All ancestors except the root are added to each set of nodes, so that a prediction close to the truth shares most of
    its nodes with it. If examples have one class each, pass sets with one element.

    Parameters
    ----------
    gold, predicted : the right and the predicted nodes of each example.
    taxonomy : the taxonomy of the nodes.
    labels : the nodes that count; None for all that occur.

    >>> from margrave.data.taxonomy import Taxonomy
    >>> scores = hierarchical_scores([{"1/1"}], [{"1/2"}], Taxonomy.from_names(["1/1", "1/2", "2"], "/"))
    >>> scores.precision, scores.recall
    (0.5, 0.5)
    """
    tops = [node for node in taxonomy if not taxonomy.parents(node)]
    root = set(tops) if len(tops) == 1 and taxonomy.children(tops[0]) else set()

    def closed(sets: list[set[Hashable]], name: str) -> list[set[Hashable]]:
        return [_closed(nodes, taxonomy, f"{name}[{i}]") - root for i, nodes in enumerate(sets)]

    return _label_scores(
        closed(_sets(gold, "gold"), "gold"), closed(_sets(predicted, "predicted"), "predicted"), labels
    )


def _label_scores(
    gold: list[set[Hashable]], predicted: list[set[Hashable]], labels: Iterable[Hashable] | None
) -> LabelScores:
    if len(gold) != len(predicted):
        raise MargraveError(f"gold has {len(gold)} examples, but predicted has {len(predicted)}.")
    in_gold, in_predicted, in_both = Counter[Hashable](), Counter[Hashable](), Counter[Hashable]()
    for true, guess in zip(gold, predicted, strict=True):
        in_gold.update(true)
        in_predicted.update(guess)
        in_both.update(true & guess)
    counted = list(dict.fromkeys(in_gold | in_predicted if labels is None else labels))
    if not counted:
        raise MargraveError("there are no labels to score.")
    by_label = {label: Counts(in_gold[label], in_predicted[label], in_both[label]) for label in counted}
    return LabelScores(
        sum(of.gold for of in by_label.values()),
        sum(of.predicted for of in by_label.values()),
        sum(of.correct for of in by_label.values()),
        by_label,
    )


def _sets(examples: Sequence[Collection[Hashable]], name: str) -> list[set[Hashable]]:
    for i, labels in enumerate(examples):
        if not has_length(labels):
            raise MargraveError(f"{name}[{i}] must be a set of labels, and it is {quoted(labels)}.")
    return [set(listed(labels)) for labels in examples]


def _closed(nodes: set[Hashable], taxonomy: "Taxonomy", where: str) -> set[Hashable]:
    """The nodes and everything above them."""
    try:
        return {above for node in nodes for above in taxonomy.ancestors(node)}
    except MargraveError as error:
        raise MargraveError(f"{where}: {error}") from error
