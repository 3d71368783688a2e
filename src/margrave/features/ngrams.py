"""Attributes of the candidates of n-best lists: the features of their system and the n-grams of their words (004)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from margrave.checks import flag, whole
from margrave.errors import MargraveError
from margrave.features.base import Features


@dataclass(frozen=True)
class NGrams(Features):
    """The features of each hypothesis, and an indicator for each of its n-grams of 1 to `order` words.

    N-grams that all hypotheses of a list contain are left out, because they add the same to all scores. Examples are
    `NBestList` objects, or any objects with `hypotheses` and `features`.

    Parameters
    ----------
    order : the length of the longest n-grams; 0 for the system's features alone.
    lowercase : whether to ignore case in n-grams.

    >>> from margrave.datasets import NBestList
    >>> NGrams(1).transform([NBestList(0, ["a b", "a c"], [{"lm": 1.0}, {"lm": 2.0}])])
    [[{'lm': 1.0, 'ngram:b': 1.0}, {'lm': 2.0, 'ngram:c': 1.0}]]
    """

    name = "n-grams"

    order: int = 0
    lowercase: bool = False

    def __post_init__(self) -> None:
        whole("the order of n-grams", self.order, 0, 9)
        flag("lowercase", self.lowercase)

    def transform(self, X: Iterable[Any]) -> list[list[Mapping[str, float]]]:
        """For each list, a dictionary per hypothesis."""
        lists = list(X)
        for i, one in enumerate(lists):
            if not hasattr(one, "hypotheses") or not hasattr(one, "features"):
                raise MargraveError(
                    f"example {i}: the model takes n-best lists with hypotheses and features, not "
                    f"{type(one).__name__}; without_features() takes dictionaries of features."
                )
        return [self._described(one) for one in lists]

    def _described(self, one: Any) -> Any:
        if not self.order:
            return one.features
        from margrave.translation.pseudo_references import ngram_indicators, varying_ngrams

        texts = [[text.lower() for text in one.hypotheses] if self.lowercase else one.hypotheses]
        names = varying_ngrams(texts, orders=range(1, self.order + 1))
        return ngram_indicators(texts, names, features=[one.features])[0]
