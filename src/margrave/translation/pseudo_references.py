"""Good candidates of translation lists by smoothed sentence BLEU, costs of the others, and n-gram features.

References that are not in the lists cannot be learned. The candidates that are most similar to them are used instead,
as "pseudo-references" (Liang et al. 2006; 004, section 5.2).
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from margrave.checks import real, whole
from margrave.errors import MargraveError
from margrave.metrics.translation import BleuStatistics, References, bleu_of_statistics, ngrams, split

# Sentence BLEU scores that agree in this many digits are equal except for rounding.
_DIGITS = 12


def pseudo_references(
    hypotheses: Sequence[Sequence[str]],
    references: References,
    *,
    best: int | None = None,
    within: float | None = None,
    lowercase: bool = False,
) -> list[list[int]]:
    """Find the good candidates of each list: their indices, sorted by decreasing BLEU+1, then by index.

    A hypothesis that shares no word with its references is never good, so that a list can have no good candidates.
    Copies of a text are all good or all not, so that `best=m` can return more than m indices.

    Parameters
    ----------
    hypotheses : the texts of the candidates of each list.
    references : the reference of each list, or a list of references.
    best : how many distinct texts with the best BLEU+1 are good.
    within : candidates are good if their BLEU+1 is at most this far below the best of their list. Pass either `best` or
        `within`.
    lowercase : whether to ignore case.

    >>> pseudo_references([["a c", "a b", "b a", "a  b"]], ["a b"], best=1)
    [[1, 3]]
    """
    if (best is None) == (within is None):
        raise MargraveError("pseudo_references needs best or within, and not both.")
    texts = 0 if best is None else whole("best", best, 1, 2**31 - 1)
    margin = 0.0 if within is None else real("within", within, "be at least 0 and finite", _is_margin)
    good = []
    for i, scores in enumerate(_sentence_bleus(hypotheses, references, lowercase)):
        order = [k for k in np.argsort(-scores.round(_DIGITS), kind="stable").tolist() if scores[k] > 0]
        if within is not None:
            good.append([k for k in order if scores[k] >= scores.max() - margin - 10.0**-_DIGITS])
            continue
        words = [tuple(split(text, f"hypotheses[{i}]", lowercase)) for text in hypotheses[i]]
        chosen = set(list(dict.fromkeys(words[k] for k in order))[:texts])
        good.append([k for k in order if words[k] in chosen])
    return good


def sentence_bleu_costs(
    hypotheses: Sequence[Sequence[str]],
    references: References,
    *,
    good: Sequence[Collection[int]] | None = None,
    lowercase: bool = False,
) -> list[NDArray[np.float64]]:
    """Compute the cost of each candidate: the BLEU+1 of the best candidate of its list minus its own.

    Parameters
    ----------
    hypotheses : the texts of the candidates of each list.
    references : the reference of each list, or a list of references.
    good : the indices of the good candidates of each list, which cost 0.
    lowercase : whether to ignore case.

    >>> sentence_bleu_costs([["a b", "c d"]], ["a b"])
    [array([0., 1.])]
    """
    costs = [scores.max() - scores for scores in _sentence_bleus(hypotheses, references, lowercase)]
    if good is not None:
        if len(good) != len(costs):
            raise MargraveError(f"hypotheses has {len(costs)} lists, but good has {len(good)}.")
        for i, numbers in enumerate(good):
            for k in numbers:
                costs[i][whole(f"a number in good[{i}]", k, 0, len(costs[i]) - 1)] = 0.0
    return costs


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
            raise MargraveError(f"{name!r} is not the name of an n-gram, which must begin with {_PREFIX!r}.")
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


_PREFIX = "ngram:"


def _names(text: str, where: str, orders: Collection[int]) -> dict[str, None]:
    """The names of the distinct n-grams of a text, in the order of their first occurrence."""
    words = split(text, where)
    return dict.fromkeys(_PREFIX + " ".join(ngram) for n in orders for ngram in ngrams(words, n))


def _sentence_bleus(
    hypotheses: Sequence[Sequence[str]], references: References, lowercase: bool
) -> list[NDArray[np.float64]]:
    statistics = BleuStatistics(references, lowercase=lowercase).lists(hypotheses)
    return [bleu_of_statistics(rows, smooth="add-one") for rows in statistics]


def _is_margin(number: float) -> bool:
    return number >= 0 and isfinite(number)


def _checked_orders(orders: Collection[int]) -> list[int]:
    if not isinstance(orders, Collection) or len(orders) == 0:
        raise MargraveError(f"orders must be a collection of whole numbers, and it is {orders!r}.")
    return sorted({whole("an order of n-grams", n, 1, 100) for n in orders})


def _check_alike(hypotheses: Sequence[Sequence[str]], features: Sequence[Sequence[Mapping[str, float]]]) -> None:
    if len(hypotheses) != len(features):
        raise MargraveError(f"hypotheses has {len(hypotheses)} lists, but features has {len(features)}.")
    for i, (texts, of_list) in enumerate(zip(hypotheses, features, strict=True)):
        if len(texts) != len(of_list):
            raise MargraveError(f"hypotheses[{i}] has {len(texts)} candidates, but features[{i}] has {len(of_list)}.")
