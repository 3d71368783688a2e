"""Tf-idf vectors of texts, normalized to length 1 (scikit-learn's TfidfVectorizer)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave.checks import has_length
from margrave.errors import MargraveError
from margrave.features.base import Features
from margrave.files.stored import vector

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from sklearn.feature_extraction.text import TfidfVectorizer


class TfIdf(Features):
    """Words of two letters or more, weighted by their frequency in the text and by their inverse document frequency.

    >>> TfIdf().learn(["the cat", "the dog"]).words
    ['cat', 'dog', 'the']
    """

    name = "tf-idf"

    def __init__(self) -> None:
        self.words: list[str] = []
        self.idf: NDArray[np.float64] = np.zeros(0)
        self._learned: tuple[Any, csr_array] | None = None  # texts and their rows, until these are asked for

    def learn(self, X: Any) -> Self:
        """Learn the words of these texts and their inverse document frequencies."""
        from scipy.sparse import csr_array
        from sklearn.feature_extraction.text import TfidfVectorizer

        _check_texts(X)
        vectorizer = TfidfVectorizer()
        try:
            rows = vectorizer.fit_transform(X)
        except ValueError:
            raise MargraveError("there are no words of two letters or more in the texts.") from None
        learned = type(self)()
        learned.words, learned.idf = vectorizer.get_feature_names_out().tolist(), vectorizer.idf_
        learned._learned = X, csr_array(rows)
        return learned

    def learn_weighted(self, X: Any, weights: NDArray[np.float64]) -> Self:
        """The same, where a text of weight 2 counts as two documents."""
        learned = self.learn(X)
        assert learned._learned is not None
        used, learned._learned = learned._learned[1] != 0, None
        learned.idf = np.log((1 + weights.sum()) / (1 + used.T @ weights)) + 1
        return learned

    def transform(self, X: Any) -> "csr_array":
        """Compute one row per text; words that do not occur in the training texts are ignored."""
        from scipy.sparse import csr_array

        learned, self._learned = self._learned, None
        if learned is not None and learned[0] is X:  # a fit asks for these rows next: they are made only once
            return learned[1]
        _check_texts(X)
        return csr_array(self._vectorizer().transform(X))

    def column_names(self) -> list[str]:
        """The names of the columns, which are the words."""
        return self.words

    def _vectorizer(self) -> "TfidfVectorizer":
        from sklearn.feature_extraction.text import TfidfVectorizer

        if not self.words:
            raise MargraveError("these features have not learned any words: call learn(X) first.")
        vectorizer = TfidfVectorizer(vocabulary=self.words)
        vectorizer.idf_ = np.array(self.idf, dtype=np.float64)
        return vectorizer

    def state(self) -> dict[str, Any]:
        """The words and their inverse document frequencies."""
        return {"words": self.words, "idf": self.idf}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores what `state` returned."""
        self.words, self.idf = list(state["words"]), vector(state["idf"], np.float64, "idf")
        if len(self.words) != len(self.idf) or not all(isinstance(word, str) for word in self.words):
            raise MargraveError("its words must be texts, with one number per word.")
        if len(set(self.words)) != len(self.words):
            raise MargraveError("its words must be distinct.")
        if not np.isfinite(self.idf).all():
            raise MargraveError("the numbers of its words must be finite.")


def _check_texts(X: Any) -> None:
    if not has_length(X):
        raise MargraveError(f"X must be a list of texts, not {type(X).__name__}.")
    for i, text in enumerate(X):
        if not isinstance(text, str):
            raise MargraveError(f"example {i}: a text must be a string, not {type(text).__name__}.")
