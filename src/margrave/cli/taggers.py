"""Taggers that run before a parser: training sees predicted tags, as prediction does.

In training, tags are made by jackknifing: a tagger with the same settings is trained on all parts of the treebank but
one, and tags that part. A tagger that has seen the sentences would tag them far better than it tags others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from margrave.cli import conllu
from margrave.cli.lemmas import LEMMA, as_lemmas, as_rules, numbered_lemmas
from margrave.cli.tasks.tagging import own_tagger
from margrave.errors import DataError

if TYPE_CHECKING:
    from margrave import SequenceTagger
    from margrave.datasets.opening import Block


@dataclass(eq=False, repr=False)
class Tagger:
    """A tagging model that fills in a column of words."""

    model: "SequenceTagger"
    label: str  # the column that it predicts
    columns: Sequence[str]  # that it reads

    def own(self) -> "Tagger":
        """The same tagger for one thread."""
        return replace(self, model=own_tagger(self.model))

    def tagged(self, name: str, block: "Block", format: str) -> "Block":
        """A piece of a file with predicted tags."""
        text = conllu.parse(name, block, self.columns, format)
        X: Any = text.table
        tags, numbers = self.model.classes_.tolist(), self.model.predict_numbers(X)
        if self.label == LEMMA:
            tags, numbers = numbered_lemmas(X.column(self.columns.index("form")), tags, numbers)
        lines = text.lines([(conllu.place(self.label), tags, numbers)], None)
        return block._replace(text=lines.encode())

    def jackknifed(self, name: str, block: "Block", format: str, folds: int) -> tuple["Block", float]:
        """A treebank with tags by jackknifing, and the share of them that are correct."""
        import numpy as np

        text = conllu.parse(name, block, [*self.columns, self.label], format)
        gold = text.table.column(len(self.columns))
        if all(label == conllu.MISSING for labels in gold for label in labels):
            raise DataError(name, None, f"none of its words has a label in {self.label} to train taggers on.")
        if len(gold) < folds:
            raise DataError(name, None, f"it has {len(gold)} sentences, too few for --folds {folds}.")
        forms = text.table.column(self.columns.index("form")) if self.label == LEMMA else []
        labels = as_rules(forms, gold) if self.label == LEMMA else gold
        predicted = self._predicted(text.table, labels, folds)
        if self.label == LEMMA:
            predicted = as_lemmas(forms, predicted)
        tags = np.array(list(chain.from_iterable(predicted)))
        right = float(np.mean(tags == np.array(list(chain.from_iterable(gold)))))
        names, numbers = np.unique(tags, return_inverse=True)
        lines = text.lines([(conllu.place(self.label), names.tolist(), numbers.astype(np.int32))], None)
        return block._replace(text=lines.encode()), right

    def _predicted(self, table: Any, gold: list[list[str]], folds: int) -> list[list[str]]:
        """The tags of each part by a tagger that was trained on the others."""
        X, every = table.without_column(len(self.columns)), range(len(gold))
        blank = self.model.estimator()
        tags: list[list[str]] = []
        # Parts are contiguous, since neighboring sentences often come from one text and share their names.
        for first, last in pairwise(len(X) * k // folds for k in range(folds + 1)):
            others = [*every[:first], *every[last:]]
            model = blank.unfitted().fit(X.some(others), [gold[i] for i in others])
            if model.ended_ == "interrupted":
                raise KeyboardInterrupt
            tags += model.predict(X.slice(first, last))
        return tags


def load_taggers(paths: Sequence[str], columns: Sequence[str]) -> list[Tagger]:
    """The tagging models of these files, each of which predicts another column that a parser reads."""
    from margrave.estimators import load

    taggers: list[Tagger] = []
    for path in paths:
        model: Any = load(path)
        if model.saved_as != "SequenceTagger":
            raise DataError(path, None, f"--tagger takes a tagging model, and this is a {model.saved_as}.")
        if "edges" in model.metadata_:
            raise DataError(path, None, "it was trained with --edges, which --tagger does not take: train it without.")
        match model.metadata_:
            case {"format": "conllu", "label": str(label), "columns": [str(), *_] as inputs}:
                taggers.append(Tagger(model, label, inputs))
            case _:
                raise DataError(path, None, "it does not tag CoNLL-U: train a tagger with --format conllu.")
        if label not in columns:
            reads = ", ".join(columns)
            raise DataError(path, None, f"it predicts {label}, and the parser reads only the columns {reads}.")
        if label in [other.label for other in taggers[:-1]]:
            raise DataError(path, None, f"it predicts {label}, which another --tagger predicts already.")
    return taggers


def check_taggers(path: str, remembered: Sequence[Mapping[str, Any]], taggers: Sequence[Tagger]) -> None:
    """Refuses to apply the parser of a file without the tags that it was trained on."""
    given = {tagger.label for tagger in taggers}
    for each in remembered:
        if each["label"] not in given:
            raise DataError(
                path, None, f"it was trained on predicted {each['label']}: give the tagging model with --tagger."
            )
