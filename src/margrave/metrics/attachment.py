"""Attachment scores of dependency trees, as the scorers of CoNLL-X (eval.pl) and CoNLL 2018 count them.

Heads are counted as in CoNLL files: the words of a sentence are numbered from 1, and 0 is the root.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from margrave.errors import MargraveError
from margrave.metrics.counting import Counts, listed, side_by_side

Heads = Collection[Collection[int]]
Labels = Collection[Collection[str]]

# The names of the bins, with the longest distance of each.
_DISTANCES = {"root": 0, "1": 1, "2": 2, "3-6": 6}
_FAR = "7+"
_DIRECTIONS = ("root", "left", "right")

# The relations that CLAS scores in the CoNLL 2018 shared task: all except those of function words and punctuation.
_CONTENT = {
    "nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp", "obl", "vocative", "expl", "dislocated", "advcl", "advmod",
    "discourse", "nmod", "appos", "nummod", "acl", "amod", "conj", "fixed", "flat", "compound", "list", "parataxis",
    "orphan", "goeswith", "reparandum", "root", "dep",
}  # fmt: skip


@dataclass(frozen=True)
class AttachmentScores:
    """The fractions of words with the right head (UAS) and with the right head and label (LAS, None without labels)."""

    words: int
    uas: float
    las: float | None


@dataclass(frozen=True)
class AttachmentReport(AttachmentScores):
    """Attachment scores, and where they come from.

    The words of each class are counted separately in the gold trees and in the predicted ones. The recall of a class is
    thus the fraction of its gold words that are right, and the precision is the fraction of its predicted words that
    are right. A word is right if its head is; in `by_label`, if its head and its label are.

    Parameters
    ----------
    sentences : the number of sentences.
    whole_trees : the fraction of sentences in which the heads of all words that count are right.
    whole_labeled_trees : the same with labels; None without labels.
    by_distance : counts by the distance between word and head: "root" for words on the root, "1", "2", "3-6", "7+".
    by_direction : counts of words on the "root", before their heads ("left" arcs) and behind them ("right" arcs).
    by_label : counts by label, in alphabetical order; empty without labels.
    """

    sentences: int
    whole_trees: float
    whole_labeled_trees: float | None
    by_distance: Mapping[str, Counts]
    by_direction: Mapping[str, Counts]
    by_label: Mapping[str, Counts]


@dataclass(frozen=True)
class UniversalScores:
    """The attachment scores of the CoNLL 2018 shared task.

    UAS and LAS are fractions of all words, with punctuation. `clas` counts the words whose relations are neither
    function words nor punctuation; its `f1` is what the shared task reports as CLAS.
    """

    words: int
    uas: float
    las: float
    clas: Counts


def attachment_scores(
    gold_heads: Heads,
    predicted_heads: Heads,
    gold_labels: Labels | None = None,
    predicted_labels: Labels | None = None,
    ignore: Collection[Collection[bool]] | None = None,
) -> AttachmentScores:
    """Compute the unlabeled and the labeled attachment score over the words of all sentences.

    With `ignore=punctuation(forms)` these are the scores of eval.pl, the scorer of CoNLL-X; without `ignore` they are
    those of its option -p.

    Parameters
    ----------
    gold_heads, predicted_heads : the right and the predicted head of every word of each sentence.
    gold_labels, predicted_labels : the right and the predicted label of every arc; None for the unlabeled score alone.
    ignore : for each sentence, True for every word that does not count, such as punctuation.

    >>> attachment_scores([[2, 0, 2]], [[2, 0, 1]], [["det", "root", "obj"]], [["nmod", "root", "obj"]])
    AttachmentScores(words=3, uas=0.6666666666666666, las=0.3333333333333333)
    """
    statistics = attachment_statistics(gold_heads, predicted_heads, gold_labels, predicted_labels, ignore)
    words, *right = statistics.sum(axis=0).tolist()
    if not words:
        raise MargraveError("there are no words to score.")
    return AttachmentScores(words, right[0] / words, right[1] / words if len(right) > 1 else None)


def attachment_report(
    gold_heads: Heads,
    predicted_heads: Heads,
    gold_labels: Labels | None = None,
    predicted_labels: Labels | None = None,
    ignore: Collection[Collection[bool]] | None = None,
) -> AttachmentReport:
    """Compute attachment scores and whole trees, and scores by distance, direction and label.

    Parameters
    ----------
    gold_heads, predicted_heads : the right and the predicted head of every word of each sentence.
    gold_labels, predicted_labels : the right and the predicted label of every arc; None for unlabeled scores alone.
    ignore : for each sentence, True for every word that does not count, such as punctuation.

    >>> report = attachment_report([[2, 0, 2]], [[2, 0, 1]], [["det", "root", "obj"]], [["nmod", "root", "obj"]])
    >>> report.uas, report.whole_trees, report.by_distance["1"]
    (0.6666666666666666, 0.0, Counts(gold=2, predicted=1, correct=1))
    >>> report.by_direction["right"].recall, report.by_label["root"].f1
    (0.0, 1.0)
    """
    scores = attachment_scores(gold_heads, predicted_heads, gold_labels, predicted_labels, ignore)
    sentences = [
        [word for word in words if not word.ignored]
        for words in _sentences(gold_heads, predicted_heads, gold_labels, predicted_labels, ignore)
    ]
    words = [word for sentence in sentences for word in sentence]
    labeled = scores.las is not None
    attached = [all(word.attached for word in sentence) for sentence in sentences]
    whole = [all(word.right for word in sentence) for sentence in sentences]
    by_label = _counts(((w.gold_label, w.predicted_label, w.right) for w in words), ()) if labeled else {}
    return AttachmentReport(
        scores.words,
        scores.uas,
        scores.las,
        len(sentences),
        sum(attached) / len(sentences),
        sum(whole) / len(sentences) if labeled else None,
        _counts(((_distance(w.id, w.gold), _distance(w.id, w.predicted), w.attached) for w in words), _BINS),
        _counts(((_direction(w.id, w.gold), _direction(w.id, w.predicted), w.attached) for w in words), _DIRECTIONS),
        dict(sorted(by_label.items())),
    )


def conll18_scores(
    gold_heads: Heads, predicted_heads: Heads, gold_labels: Labels, predicted_labels: Labels
) -> UniversalScores:
    """Compute UAS, LAS and CLAS as the scorer of the CoNLL 2018 shared task does for words that are given.

    Labels are universal relations with optional subtypes, which do not count: `nsubj:pass` equals `nsubj`.

    Parameters
    ----------
    gold_heads, predicted_heads : the right and the predicted head of every word of each sentence.
    gold_labels, predicted_labels : the right and the predicted label of every arc.

    >>> scores = conll18_scores([[2, 0, 2]], [[2, 0, 2]], [["nsubj:pass", "root", "punct"]], [["nsubj", "root", "dep"]])
    >>> scores.las, scores.clas
    (0.6666666666666666, Counts(gold=2, predicted=3, correct=2))
    """
    universal = universal_labels(gold_labels), universal_labels(predicted_labels)
    scores = attachment_scores(gold_heads, predicted_heads, *universal)
    words = [word for sentence in _sentences(gold_heads, predicted_heads, *universal, None) for word in sentence]
    clas = Counts(
        sum(word.gold_label in _CONTENT for word in words),
        sum(word.predicted_label in _CONTENT for word in words),
        sum(word.right and word.gold_label in _CONTENT for word in words),
    )
    return UniversalScores(scores.words, scores.uas, scores.las or 0.0, clas)


def punctuation(forms: Iterable[Iterable[str]]) -> list[list[bool]]:
    """Tell which words eval.pl, the scorer of CoNLL-X, takes for punctuation.

    These are words that consist of characters of the Unicode categories P, so that `...` is punctuation and `$` is not.

    Parameters
    ----------
    forms : the words of each sentence.

    >>> punctuation([["What", "'s", "that", "?!"], ["$", "5"]])
    [[False, False, False, True], [False, False]]
    """
    return [[form != "" and all(category(c).startswith("P") for c in form) for form in words] for words in forms]


def universal_labels(labels: Iterable[Iterable[str]]) -> list[list[str]]:
    """Remove the subtypes of universal relations.

    Parameters
    ----------
    labels : the labels of each sentence.

    >>> universal_labels([["nsubj:pass", "root"]])
    [['nsubj', 'root']]
    """
    return [[label.partition(":")[0] for label in sentence] for sentence in labels]


def attachment_statistics(
    gold_heads: Heads,
    predicted_heads: Heads,
    gold_labels: Labels | None = None,
    predicted_labels: Labels | None = None,
    ignore: Collection[Collection[bool]] | None = None,
) -> NDArray[np.int64]:
    """Count for each sentence its words, those with the right head, and, given labels, those with both right.

    `bootstrap_interval` and `approximate_randomization` take these numbers, together with `uas_of_statistics` or
    `las_of_statistics`.

    Parameters
    ----------
    gold_heads, predicted_heads : the right and the predicted head of every word of each sentence.
    gold_labels, predicted_labels : the right and the predicted label of every arc; None for unlabeled scores alone.
    ignore : for each sentence, True for every word that does not count, such as punctuation.

    >>> attachment_statistics([[2, 0], [0]], [[2, 0], [1]]).tolist()
    [[2, 2], [1, 0]]
    """
    columns = 2 if gold_labels is None else 3
    sentences = _sentences(gold_heads, predicted_heads, gold_labels, predicted_labels, ignore)
    rows = [
        [sum(flags) for flags in zip(*((True, w.attached, w.right) for w in words if not w.ignored), strict=True)]
        or [0, 0, 0]
        for words in sentences
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)[:, :columns]


def uas_of_statistics(statistics: NDArray[Any]) -> NDArray[np.float64]:
    """Compute UAS from statistics in the last axis, which are usually sums over sentences; 0 without words.

    Parameters
    ----------
    statistics : an array (..., k) of the numbers of `attachment_statistics`.
    """
    return _ratio(statistics, 1, "UAS")


def las_of_statistics(statistics: NDArray[Any]) -> NDArray[np.float64]:
    """Compute LAS from statistics in the last axis, which are usually sums over sentences; 0 without words.

    Parameters
    ----------
    statistics : an array (..., 3) of the numbers of `attachment_statistics`.
    """
    return _ratio(statistics, 2, "LAS")


def _ratio(statistics: NDArray[Any], column: int, what: str) -> NDArray[np.float64]:
    sums = np.asarray(statistics, np.float64)
    if sums.ndim == 0 or not column < sums.shape[-1] <= 3:
        raise MargraveError(
            f"{what} needs the numbers of attachment_statistics{' with labels' if column == 2 else ''} in the last "
            f"axis, and the shape is {sums.shape}."
        )
    return np.asarray(sums[..., column] / np.maximum(sums[..., 0], 1.0))


class _Word(NamedTuple):
    """What is compared of a word."""

    id: int
    gold: int
    predicted: int
    gold_label: str
    predicted_label: str
    ignored: bool

    @property
    def attached(self) -> bool:
        return self.gold == self.predicted

    @property
    def right(self) -> bool:
        return self.attached and self.gold_label == self.predicted_label


def _sentences(
    gold_heads: Heads,
    predicted_heads: Heads,
    gold_labels: Labels | None,
    predicted_labels: Labels | None,
    ignore: Collection[Collection[bool]] | None,
) -> Iterator[list[_Word]]:
    """The words of each sentence, after a check that everything has the same length. Words without labels have ''."""
    side_by_side(gold_heads, predicted_heads, "gold_heads", "predicted_heads")
    if (gold_labels is None) != (predicted_labels is None):
        raise MargraveError("labeled attachment needs both gold_labels and predicted_labels.")
    if gold_labels is not None and predicted_labels is not None:
        side_by_side(gold_heads, gold_labels, "gold_heads", "gold_labels")
        side_by_side(gold_labels, predicted_labels, "gold_labels", "predicted_labels")
    if ignore is not None:
        side_by_side(gold_heads, ignore, "gold_heads", "ignore")
    blank = [[""] * len(heads) for heads in gold_heads]
    counted = [[False] * len(heads) for heads in gold_heads]
    given = ((gold_labels, blank), (predicted_labels, blank), (ignore, counted))
    columns = (default if column is None else column for column, default in given)
    for sentence in zip(gold_heads, predicted_heads, *columns, strict=True):
        lists = [range(1, len(sentence[0]) + 1), *map(listed, sentence)]
        yield [_Word(*word) for word in zip(*lists, strict=True)]


_BINS = (*_DISTANCES, _FAR)


def _distance(word: int, head: int) -> str:
    distance = abs(word - head) if head else 0
    return next((name for name, longest in _DISTANCES.items() if distance <= longest), _FAR)


def _direction(word: int, head: int) -> str:
    return "root" if head == 0 else "left" if word < head else "right"


def _counts(words: Iterable[tuple[str, str, bool]], names: Iterable[str]) -> dict[str, Counts]:
    """The counts of classes, from the gold class and the predicted class of every word and whether it is right."""
    gold, predicted, correct = Counter[str](), Counter[str](), Counter[str]()
    for true, guess, right in words:
        gold[true] += 1
        predicted[guess] += 1
        correct[true] += right
    found = dict.fromkeys([*names, *gold, *predicted])
    return {name: Counts(gold[name], predicted[name], correct[name]) for name in found}
