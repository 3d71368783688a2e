"""Good candidates of lists of translations by smoothed sentence BLEU, costs of the others, and n-gram features.

References that are not in the lists cannot be learned; the candidates nearest to them stand in for them, as
"pseudo-references" (Liang et al. 2006; 004, section 5.2).
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from margrave.checks import real, whole
from margrave.errors import MargraveError
from margrave.metrics.translation import BleuStatistics, References, bleu_of_statistics, ngrams, split

# Sentence BLEU that is equal in so many digits is equal: only its rounding differs.
_DIGITS = 12


def pseudo_references(
    hypotheses: Sequence[Sequence[str]],
    references: References,
    *,
    best: int | None = None,
    within: float | None = None,
    lowercase: bool = False,
) -> list[list[int]]:
    """The numbers of the good candidates of each list, best first by BLEU+1, equal ones in the order of the list.

    Either `best`: those with the best texts, so many different ones; or `within`: those whose BLEU+1 is less by at most
    this than the best in their list. A hypothesis that shares no word with its references is not good: a list of such
    ones has none. Copies of a text cannot be told apart by their words, so all of them are good if one is, and
    `best=m` gives more than m numbers where a good text has copies.

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
    """What each candidate loses to the best of its list in BLEU+1; candidates that are `good` cost 0.

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
    """The n-grams that some but not all hypotheses of a list have, in at least `min_lists` lists, in sorted order.

    Others cannot tell the candidates of any list apart, or only those of few. Their names are "ngram:" and the words.

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
    """For each hypothesis its `features`, such as dense scores, and 1.0 for each of the named n-grams that it has.

    Take the names from the lists that are learned from, by `varying_ngrams`, and give them for all other lists too.

    >>> ngram_indicators([["the house"]], ["ngram:house", "ngram:a"], features=[[{"lm": -2.5}]])
    [[{'lm': -2.5, 'ngram:house': 1.0}]]
    """
    kept = frozenset(names)
    for name in kept:
        if not isinstance(name, str) or not name.startswith(_PREFIX):
            raise MargraveError(f"{name!r} is no name of an n-gram, which begins with {_PREFIX!r}.")
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
    """The names of the different n-grams of a text, in the order in which they occur."""
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
