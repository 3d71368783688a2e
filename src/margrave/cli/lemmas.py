"""Lemmas of CoNLL-U, which taggers predict as rules (`margrave.data.lemmas`)."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEMMA = "lemma"


def as_rules(forms: Iterable[Sequence[str]], lemmas: Iterable[Sequence[str]]) -> list[list[str]]:
    """The rules of sentences, from their forms and lemmas."""
    from margrave.data.lemmas import lemma_rule

    return [[*map(lemma_rule, words, of)] for words, of in zip(forms, lemmas, strict=True)]


def as_lemmas(forms: Iterable[Sequence[str]], rules: Iterable[Sequence[str]]) -> list[list[str]]:
    """The lemmas of sentences, from their forms and rules."""
    from margrave.data.lemmas import apply_lemma_rule

    return [[*map(apply_lemma_rule, words, of)] for words, of in zip(forms, rules, strict=True)]


def numbered_lemmas(
    forms: Iterable[Sequence[str]], rules: Sequence[str], numbers: "NDArray[np.int32]"
) -> tuple[list[str], "NDArray[np.int32]"]:
    """The distinct lemmas, and the number of that of each word, from the numbers of the rules."""
    import numpy as np

    from margrave.data.lemmas import apply_lemma_rule

    of_words = map(apply_lemma_rule, chain.from_iterable(forms), (rules[k] for k in numbers.tolist()))
    number: dict[str, int] = {}
    found = [number.setdefault(lemma, len(number)) for lemma in of_words]
    return list(number), np.array(found, dtype=np.int32)
