"""Files with one example per line, and the taxonomies of their classes: classes with features, or with a text.

The features of an example are numbered (svmlight, with classes that may be paths), or its text is weighted by tf-idf.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from margrave.cli.streams import display_name, first_line, naming, source
from margrave.errors import DataError, quoted

if TYPE_CHECKING:
    from margrave.data.taxonomy import Taxonomy
    from margrave.datasets.opening import TextSource
    from margrave.features.base import Features


def training_examples(path: str, *, multilabel: bool) -> tuple["Features", Any, list[Any]]:
    """The inputs that a model of these examples needs, texts or a matrix of features, and the class of each."""
    from margrave.features import Columns, TfIdf

    first, data = first_line(path, "examples")
    text = _is_text(first)
    if text and "\t" not in first and not multilabel:
        raise DataError(
            display_name(path),
            None,
            "its first line is neither a class with features (4/6/2 1:0.5) nor a class, a tab and a text.",
        )
    examples, classes = _read(data, display_name(path), text, multilabel)
    if text and not any(re.search(r"\w\w", example) for example in examples):
        raise DataError(display_name(path), None, "there are no words of two letters or more in its texts.")
    return TfIdf() if text else Columns(), examples, classes


def examples_like(features: "Features | None", path: str, *, multilabel: bool) -> tuple[Any, list[Any]]:
    """The examples of another file, which must be of the kind that the model was trained on."""
    from margrave.features import TfIdf

    return _read(source(path), display_name(path), isinstance(features, TfIdf), multilabel)


def _read(data: "TextSource", name: str, text: bool, multilabel: bool) -> tuple[Any, list[Any]]:
    """A matrix of features or a list of texts, and their classes; at least one example."""
    from margrave.datasets import read_svmlight_paths, read_texts

    examples: Any
    classes: list[Any]
    if text:
        pairs: list[tuple[Any, str]] = list(
            read_texts(data, multilabel=True) if multilabel else read_texts(data, multilabel=False)
        )
        classes, examples = [of for of, _ in pairs], [content for _, content in pairs]
    elif multilabel:
        examples, classes = read_svmlight_paths(data, multilabel=True)
    else:
        examples, classes = read_svmlight_paths(data)
    if not classes:
        raise DataError(name, None, "it contains no examples.")
    return examples, classes


def _is_text(line: str) -> bool:
    """Whether a line does not have features, index:value, after the class, or alone."""
    first, *rest = line.partition("#")[0].split()
    pairs = rest if rest else [first]
    return not all(re.fullmatch(r"(qid|[0-9]+):\S+", pair) for pair in pairs)


# ---- the taxonomy ----------------------------------------------------------------------------------------------------


def read_taxonomy(path: str) -> "Taxonomy":
    """The taxonomy of a file."""
    from margrave.data.taxonomy import Taxonomy
    from margrave.datasets import read_hierarchy

    pairs = read_hierarchy(source(path))
    with naming(path):  # a cycle, which no line shows
        return Taxonomy.from_pairs(pairs)


def taxonomy_of_names(names: Sequence[str]) -> "Taxonomy | None":
    """The taxonomy in which names with slashes, or else with dots, are paths; None if they are plain names."""
    from margrave.data.taxonomy import Taxonomy

    for mark in "/.":
        if any(mark in name for name in names):
            return Taxonomy.from_names(names, mark)
    return None


def check_classes(path: str, names: Iterable[str], taxonomy: "Taxonomy") -> None:
    """Refuses classes that the taxonomy does not have."""
    for name in names:
        if name not in taxonomy:
            raise DataError(display_name(path), None, f"the taxonomy has no class {quoted(name)}.")


def predicted_classes(classifier: Any, path: str, marginals: bool) -> list[str]:
    """The class of every example of a file, in which it may be missing; with marginals, also its probability.

    Parameters
    ----------
    classifier : a classifier with its features.
    path : a file, or - for standard input.
    marginals : whether to append the probability.
    """
    X, _ = examples_like(classifier.features_, path, multilabel=True)  # whose class may be missing
    predicted = [str(label) for label in classifier.predict(X)]
    if not marginals:
        return predicted
    best = classifier.predict_proba(X).max(axis=1)
    return [f"{label}\t{probability:.4f}" for label, probability in zip(predicted, best, strict=True)]
