"""Attributes of the candidates of n-best lists: the features of their system and the n-grams of their words (004)."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from margrave.checks import flag, whole
from margrave.errors import MargraveError, quoted
from margrave.features.base import Features
from margrave.metrics.translation import ngrams, split

_PREFIX = "ngram:"


@dataclass(frozen=True)
class NGrams(Features):
    """The features of each hypothesis, and an indicator for each of its n-grams of 1 to `order` words.

    N-grams that all hypotheses of a list contain are left out, because they add the same to all scores. Examples are
    `NBestList` objects, or any objects with `hypotheses` and `features`.

    Parameters
    ----------
    order : the length of the longest n-grams; 0 for the system's features alone.
    lowercase : whether to ignore case in n-grams.

    >>> from margrave.data import NBestList
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
        texts = [[text.lower() for text in one.hypotheses] if self.lowercase else one.hypotheses]
        names = varying_ngrams(texts, orders=range(1, self.order + 1))
        return ngram_indicators(texts, names, features=[one.features])[0]


def varying_ngrams(
    hypotheses: Sequence[Sequence[str]], *, orders: Collection[int] = (1, 2, 3), min_lists: int = 1
) -> list[str]:
    """Find the n-grams that occur in some but not all hypotheses of a list, sorted.

    Other n-grams cannot distinguish the candidates of any list. The name of an n-gram is "ngram:" followed by its
    words.

    Parameters
    ----------
    hypotheses : the texts of the candidates of each list.
    orders : the lengths of the n-grams.
    min_lists : the number of lists in which the n-gram must distinguish candidates.

    >>> varying_ngrams([["the house", "the home"], ["the house", "a house"]], orders=[1, 2], min_lists=2)
    ['ngram:the house']
    """
    orders = _checked_orders(orders)
    min_lists = whole("min_lists", min_lists, 1, 2**31 - 1)
    lists = Counter[str]()
    for i, texts in enumerate(hypotheses):
        having = Counter(name for k, text in enumerate(texts) for name in _names(text, f"hypotheses[{i}][{k}]", orders))
        lists.update(name for name, number in having.items() if number < len(texts))
    return sorted(name for name, number in lists.items() if number >= min_lists)


def ngram_indicators(
    hypotheses: Sequence[Sequence[str]],
    names: Collection[str],
    *,
    features: Sequence[Sequence[Mapping[str, float]]] | None = None,
) -> list[list[dict[str, float]]]:
    """Make the features of each hypothesis: those given, and 1.0 for each of the named n-grams that it contains.

    Parameters
    ----------
    hypotheses : the texts of the candidates of each list.
    names : the names of the n-grams. Compute them by `varying_ngrams` from the training lists, and use the same names
        for all other lists.
    features : other features of each candidate, such as dense scores.

    >>> ngram_indicators([["the house"]], ["ngram:house", "ngram:a"], features=[[{"lm": -2.5}]])
    [[{'lm': -2.5, 'ngram:house': 1.0}]]
    """
    kept = frozenset(names)
    for name in kept:
        if not isinstance(name, str) or not name.startswith(_PREFIX):
            raise MargraveError(
                f"{quoted(name)} is not the name of an n-gram, which must begin with {quoted(_PREFIX)}."
            )
    orders = sorted({name.count(" ") + 1 for name in kept})
    if features is not None:
        _check_alike(hypotheses, features)
    return [
        [
            {
                **(features[i][k] if features is not None else {}),
                **{name: 1.0 for name in _names(text, f"hypotheses[{i}][{k}]", orders) if name in kept},
            }
            for k, text in enumerate(texts)
        ]
        for i, texts in enumerate(hypotheses)
    ]


def _names(text: str, where: str, orders: Collection[int]) -> dict[str, None]:
    """The names of the distinct n-grams of a text, in the order of their first occurrence."""
    words = split(text, where)
    return dict.fromkeys(_PREFIX + " ".join(ngram) for n in orders for ngram in ngrams(words, n))


def _checked_orders(orders: Collection[int]) -> list[int]:
    if not isinstance(orders, Collection) or len(orders) == 0:
        raise MargraveError(f"orders must be a collection of whole numbers, and it is {quoted(orders)}.")
    return sorted({whole("an order of n-grams", n, 1, 100) for n in orders})


def _check_alike(hypotheses: Sequence[Sequence[str]], features: Sequence[Sequence[Mapping[str, float]]]) -> None:
    if len(hypotheses) != len(features):
        raise MargraveError(f"hypotheses has {len(hypotheses)} lists, but features has {len(features)}.")
    for i, (texts, of_list) in enumerate(zip(hypotheses, features, strict=True)):
        if len(texts) != len(of_list):
            raise MargraveError(f"hypotheses[{i}] has {len(texts)} candidates, but features[{i}] has {len(of_list)}.")
