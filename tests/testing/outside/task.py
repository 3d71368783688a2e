"""A task from outside of the package: a program that is the command `margrave` with one more task."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import tests.testing.outside.estimator  # noqa: F401 (a model file names the classes that this defines)
from margrave.cli import main
from margrave.cli.reports import percent, table
from margrave.cli.streams import source
from margrave.cli.tasks.base import Job, Model, Task
from margrave.datasets.opening import read_lines
from margrave.options import option


@dataclass(eq=False, repr=False)
class SegmentTask(Task):
    """Learns where the segments of a text begin."""

    name = "segment"
    summary = "the segments of each text"
    estimator = "tests.testing.outside.estimator:Segmenter"
    data = "Files have one text per line, with | between its segments."
    sample = "    New York | is | big"
    examples = ("margrave train --task segment train.txt -o segments.margrave",)
    predicts = "the text with | between its segments."
    measures = "the share of texts whose segments are all right."

    fold_case: bool = option(False, "Read all words in lower case.")

    def job(self, data: str, dev: str | None) -> Job:
        X, y = _read(data, self.fold_case)
        dev_pair = None if dev is None else _read(dev, self.fold_case)
        segmenter = self.estimator_class()(**self.parameters())
        metadata = {"fold_case": self.fold_case}
        return Job(segmenter, X, y, {"n_texts": len(y)}, metadata, dev_pair, _scores, {"dev": dev_pair})

    @staticmethod
    def dev_summary(scores: Mapping[str, Any]) -> str:
        return f"whole texts {percent(scores['whole_texts'])}"

    @staticmethod
    def model(path: str, estimator: Any) -> "SegmentModel":
        return SegmentModel(estimator, bool(estimator.metadata_.get("fold_case")))


@dataclass
class SegmentModel(Model):
    """A segmenter of files."""

    does: ClassVar[str] = "divides texts into segments"

    segmenter: Any
    fold_case: bool

    def predicted_lines(self, path: str, marginals: bool, **options: Any) -> Iterator[list[str]]:
        X, _ = _read(path, self.fold_case)
        for text, division in zip(X, self.segmenter.predict(X), strict=True):
            words = text.split()
            yield [" | ".join(" ".join(words[begin:end]) for begin, end in division)]

    def evaluation(self, path: str, **options: Any) -> dict[str, Any]:
        X, y = _read(path, self.fold_case)
        return {"n_texts": len(y), **_scores(y, self.segmenter.predict(X))}

    def evaluation_summary(self, report: Mapping[str, Any]) -> str:
        return table([("texts", f"{report['n_texts']:,}"), ("whole texts", percent(report["whole_texts"]))], 20)


def _read(path: str, fold_case: bool) -> tuple[list[str], list[list[tuple[int, int]]]]:
    X, y = [], []
    for _, line in read_lines(source(path), "utf-8"):
        division, words = [], list[str]()
        for segment in (line.lower() if fold_case else line).split("|"):
            begin = len(words)
            words += segment.split()
            division.append((begin, len(words)))
        X.append(" ".join(words))
        y.append(division)
    return X, y


def _scores(gold: Any, predicted: Any) -> dict[str, float | None]:
    right = [list(y) == best for y, best in zip(gold, predicted, strict=True)]
    return {"whole_texts": sum(right) / len(right)}


if __name__ == "__main__":
    main()
