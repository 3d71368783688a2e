"""Loaders of the corpora whose classes lie in a taxonomy, each in its own format."""

import gzip
import json
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora.folder import data_file
from margrave.data import Taxonomy
from margrave.datasets import read_svmlight_paths, read_taxonomy

MOST_WORDS = 20_000  # the most frequent, of a text corpus
FEWEST_BOOKS = 8  # of a genre as a class: with four to learn from, as many are left to test on


class Corpus(NamedTuple):
    """Examples as rows of numbers (csr, or word counts if `text`), their class or classes, and where these lie."""

    X: Any
    y: list[Any]
    taxonomy: Taxonomy
    text: bool

    def scaled(self, train: NDArray[np.int64], test: NDArray[np.int64]) -> tuple[Any, Any]:
        """Rows of unit length for learning and for testing, scaled by what the former are like."""
        from sklearn.feature_extraction.text import TfidfTransformer
        from sklearn.preprocessing import StandardScaler, normalize

        scaler = TfidfTransformer(sublinear_tf=True) if self.text else StandardScaler()
        learnt = scaler.fit_transform(self.X[train])
        return normalize(learnt), normalize(scaler.transform(self.X[test]))


def images(name: str) -> Corpus:
    """X-ray images of taxonomy-imclef07a or d: 80 numbers each, and a leaf at depth 3; training and test together."""
    folder = f"taxonomy-{name}"
    parts = [
        read_svmlight_paths(data_file(folder, f"{name}.{part}.svmtax"), n_features=80) for part in ("train", "test")
    ]
    X = np.concatenate([matrix.toarray() for matrix, _ in parts])
    return Corpus(X, [label for _, labels in parts for label in labels], _hierarchy(folder), False)


def newsgroups() -> Corpus:
    """Training posts of 20 newsgroups: counts of words in subject and body, and groups such as comp.graphics."""
    posts = list(_json_lines("20newsgroups", "20news-bydate-train.jsonl"))
    groups = [post["group"] for post in posts]
    counts = _word_counts([f"{post['subject']}\n{post['body']}" for post in posts], "english")
    return Corpus(counts, groups, Taxonomy.from_names(sorted(set(groups)), "."), True)


def mails() -> Corpus:
    """Enron mail: presence of 1,001 words, and the leaves that each belongs to; training and test together."""
    from scipy.sparse import csr_array, vstack

    folder = "taxonomy-enron-corr"
    files = [data_file(folder, f"enron-corr.{part}.svmtax") for part in ("train", "test")]
    parts = [read_svmlight_paths(file, n_features=1001, multilabel=True) for file in files]
    X = csr_array(vstack([matrix for matrix, _ in parts]))
    return Corpus(X, [labels for _, of in parts for labels in of], _hierarchy(folder), True)


def blurbs() -> Corpus:
    """German book blurbs: counts of words in title and body, and all genres of each book."""
    books = list(_json_lines("taxonomy-blurbs-de", "blurbs-dev.jsonl"))
    counts = _word_counts([f"{book['title']}\n{book['body']}" for book in books], None)
    return Corpus(counts, [tuple(book["labels"]) for book in books], _hierarchy("taxonomy-blurbs-de"), True)


def books() -> Corpus:
    """The blurbs of books whose genres are one path from the top; the class is the lowest genre, if it has enough."""
    corpus = blurbs()
    lowest = [_end_of_path(corpus.taxonomy, labels) for labels in corpus.y]
    sizes = Counter(lowest)
    kept = [i for i, genre in enumerate(lowest) if genre is not None and sizes[genre] >= FEWEST_BOOKS]
    return Corpus(corpus.X[kept], [lowest[i] for i in kept], corpus.taxonomy, True)


def _end_of_path(taxonomy: Taxonomy, labels: Collection[str]) -> str | None:
    """The lowest of these nodes if they are one path from the top, else None."""
    lowest = max(labels, key=lambda node: len(taxonomy.ancestors(node)))
    return lowest if set(labels) == set(taxonomy.ancestors(lowest)) else None


def _hierarchy(name: str) -> Taxonomy:
    return read_taxonomy(data_file(name, "hierarchy.txt"))


def _word_counts(texts: list[str], stop_words: str | None) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(min_df=3, stop_words=stop_words, max_features=MOST_WORDS, dtype=np.float64)
    return counter.fit_transform(texts)


def _json_lines(name: str, file: str) -> Iterator[dict[str, Any]]:
    path = data_file(name, file)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)
