"""Good candidates of translation lists by smoothed sentence BLEU, and costs of the others.

References that are not in the lists cannot be learned. The candidates that are most similar to them are used instead,
as "pseudo-references" (Liang et al. 2006; Wang and Shawe-Taylor 2009).
"""

from collections.abc import Collection, Sequence
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from margrave.checks import real, whole
from margrave.errors import MargraveError
from margrave.metrics.translation import BleuStatistics, References, bleu_of_statistics, split

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


def _sentence_bleus(
    hypotheses: Sequence[Sequence[str]], references: References, lowercase: bool
) -> list[NDArray[np.float64]]:
    statistics = BleuStatistics(references, lowercase=lowercase).lists(hypotheses)
    return [bleu_of_statistics(rows, smooth="add-one") for rows in statistics]


def _is_margin(number: float) -> bool:
    return number >= 0 and isfinite(number)
