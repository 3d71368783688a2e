"""Projective trees: the test and the lifting of arcs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margrave.data.heads import is_projective, projectivize
from margrave.errors import MargraveError
from tests.references.enumeration import crosses, trees


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_a_tree_is_projective_if_no_two_arcs_cross(n: int, single_root: bool) -> None:
    for heads in trees(n, single_root):
        assert is_projective(heads) == (not crosses(heads))


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_lifting_makes_projective_trees_of_all_and_changes_no_projective_one(n: int, single_root: bool) -> None:
    for heads in trees(n, single_root):
        lifted = projectivize(heads)
        assert not crosses(lifted)
        assert lifted == list(heads) or crosses(heads)
        assert all(head in _ancestors(heads, word) for word, head in enumerate(lifted, 1))
        if single_root:
            assert lifted.count(0) == 1


def _ancestors(heads, word: int) -> set[int]:
    found = set()
    while word:
        word = heads[word - 1]
        found.add(word)
    return found


def test_the_example_of_the_paper() -> None:
    """Nivre and Nilsson (2005), Fig. 1 and 2: "Z nich je jen jedna na kvalitu .": Z (1) is a child of jedna (5)."""
    heads = [5, 1, 0, 5, 3, 3, 6, 0]
    assert not is_projective(heads)
    assert projectivize(heads) == [3, 1, 0, 5, 3, 3, 6, 0]


def test_the_deepest_arc_at_fault_is_lifted_first() -> None:
    """2 -> 4 covers word 3, whose head is the root; 5 -> 1 covers it too, and is one deeper: it moves first, to 2."""
    heads = [5, 0, 0, 2, 2]
    assert projectivize(heads) == [2, 0, 0, 0, 0]
    assert projectivize([4, 0, 2, 2, 3]) == [2, 0, 2, 2, 2]


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("n", [3, 4, 5])
def test_every_step_lifts_the_deepest_arc_at_fault(n: int, single_root: bool) -> None:
    """Ties go to the shortest arc, then to the leftmost; an arc is at fault if its head is not above all it covers."""
    for heads in trees(n, single_root):
        lifted = list(heads)
        while crosses(lifted):
            covered = {m: range(min(m, h) + 1, max(m, h)) for m, h in enumerate(lifted, 1)}
            at_fault = [
                m
                for m, h in enumerate(lifted, 1)
                if any(h not in _ancestors(lifted, between) for between in covered[m])
            ]
            deepest = max(len(_ancestors(lifted, m)) for m in at_fault)
            chosen = [m for m in at_fault if len(_ancestors(lifted, m)) == deepest]
            shortest = min(len(covered[m]) for m in chosen)
            word = min((m for m in chosen if len(covered[m]) == shortest), key=lambda m: min(m, lifted[m - 1]))
            lifted[word - 1] = lifted[lifted[word - 1] - 1]
        assert projectivize(heads) == lifted


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(6, 40))
@settings(max_examples=30, deadline=None)
def test_large_trees_become_projective(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    order = rng.permutation(n) + 1
    heads = [0] * n
    for k in range(1, n):
        heads[order[k] - 1] = int(order[rng.integers(k)])
    lifted = projectivize(heads)
    assert not crosses(lifted) and lifted.count(0) == 1


@pytest.mark.parametrize("function", [is_projective, projectivize])
def test_heads_that_make_no_tree_are_refused(function) -> None:
    for heads, message in (
        ([2, 1], "word 2 is on a cycle"),
        ([1], "word 1 is on a cycle"),
        ([3, 0], "word 1: its head must be 0 or the number of a word, not 3"),
        ([-1], "word 1"),
        (["0"], "not '0'"),
        ([True], "not True"),
    ):
        with pytest.raises(MargraveError, match=message):
            function(heads)
    assert projectivize([]) == [] and is_projective([])
