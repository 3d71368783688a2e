"""Heads of words: whether a dependency tree is projective, and the closest projective tree.

A tree is a list with the head of every word: 0 for the root, otherwise the number of a word, counted from 1. It is
projective if its arcs do not cross when they are drawn above the sentence, with the root on its left.
"""

from collections.abc import Sequence
from numbers import Integral

import numpy as np

from margrave.checks import has_length
from margrave.errors import MargraveError, quoted


def is_projective(heads: Sequence[int]) -> bool:
    """Tell whether no two arcs of a tree cross.

    Parameters
    ----------
    heads : the head of every word.

    >>> is_projective([2, 0, 2]), is_projective([3, 0, 2])
    (True, False)
    """
    checked = _checked(heads)
    return not _crossing(checked, _ancestors(checked))


def crossing_words(heads: Sequence[int]) -> list[int]:
    """List the words whose arcs make a tree non-projective: a word under the arc does not descend from its head.

    Parameters
    ----------
    heads : the head of every word.

    >>> crossing_words([3, 0, 2])
    [1]
    """
    checked = _checked(heads)
    ends = np.sort(np.stack([np.arange(1, len(checked) + 1), checked]), axis=0)
    (low, high), others = ends[:, :, None], ends[:, None, :]
    # Most trees have no arcs that cross, which is quick to see.
    crosses = (low < others[0]) & (others[0] < high) & (high < others[1])
    return _crossing(checked, _ancestors(checked)) if crosses.any() else []


def projectivize(heads: Sequence[int]) -> list[int]:
    """Make a tree projective by lifting arcs, as Nivre and Nilsson (2005) do.

    As long as the tree is not projective, the deepest of the arcs at fault moves to the head of its head. The depth of
    an arc is that of its word: the number of arcs from the root to the word. Of arcs with the same depth the shortest
    moves, and of these the leftmost. An arc is at fault if there is a word under it that does not descend from its
    head. The child of a single root stays the only one. Nivre and Nilsson lift the shortest arc first, whatever its
    depth.

    Parameters
    ----------
    heads : the head of every word.

    >>> projectivize([3, 0, 2])
    [2, 0, 2]
    """
    lifted = _checked(heads)
    while crossing := _crossing(lifted, above := _ancestors(lifted)):
        *_, word = min(
            (-len(above[word]), abs(word - lifted[word - 1]), min(word, lifted[word - 1]), word) for word in crossing
        )
        lifted[word - 1] = lifted[lifted[word - 1] - 1]
    return lifted


def _crossing(heads: Sequence[int], below: Sequence[set[int]]) -> list[int]:
    """The words whose arc covers a word that does not descend from its head; below: the ancestors of every word."""
    spans = ((word, min(word, head), max(word, head), head) for word, head in enumerate(heads, 1))
    return [word for word, low, high, head in spans if any(head not in below[k] for k in range(low + 1, high))]


def _ancestors(heads: Sequence[int]) -> list[set[int]]:
    """The ancestors of every position, with the root at position 0."""
    above: list[set[int]] = [set() for _ in range(len(heads) + 1)]
    for word in range(1, len(heads) + 1):
        at = word
        while at:
            at = heads[at - 1]
            if at in above[word]:
                raise MargraveError(f"word {at} is on a cycle.")
            above[word].add(at)
    return above


def _checked(heads: Sequence[int]) -> list[int]:
    """The heads as a list, if they are in range."""
    if not has_length(heads):
        raise MargraveError(f"heads must be a list of numbers, not {type(heads).__name__}.")
    for word, head in enumerate(heads, 1):
        if not isinstance(head, Integral) or isinstance(head, bool) or not 0 <= head <= len(heads):
            raise MargraveError(f"word {word}: its head must be 0 or the number of a word, not {quoted(head)}.")
    return [int(head) for head in heads]
