"""Constituent trees: their forms, function tags and traces, and how spans make trees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from margrave import MargraveError
from margrave.data.constituents import Constituent, Tree, cleaned, head_child, nest, without_top

names = st.sampled_from(["S", "NP", "VP", "X-1", "-LRB-", "PRT|ADVP", "A+B"])
trees = st.recursive(
    st.builds(lambda tag, word: Tree(tag, (word,)), names, st.sampled_from(["a", "b", "'s", "1/2"])),
    lambda inner: st.builds(lambda label, children: Tree(label, tuple(children)), names, st.lists(inner, min_size=1)),
    max_leaves=12,
)


class NltkTree(list):
    """What nltk's Tree has: a method for its label, and children."""

    def __init__(self, label: str, children: list[object]) -> None:
        super().__init__(children)
        self._label = label

    def label(self) -> str:
        return self._label


def as_lists(tree: Tree) -> list[object]:
    return [tree.label, *(child if isinstance(child, str) else as_lists(child) for child in tree.children)]


def as_nltk(tree: Tree) -> NltkTree:
    return NltkTree(tree.label, [child if isinstance(child, str) else as_nltk(child) for child in tree.children])


@given(trees)
def test_brackets_lists_and_nltk_trees_are_the_same_tree(tree: Tree) -> None:
    assert Tree.of(str(tree)) == Tree.of(as_lists(tree)) == Tree.of(as_nltk(tree)) == tree


@given(trees)
def test_the_spans_of_a_tree_make_the_tree_again(tree: Tree) -> None:
    chains: dict[tuple[int, int], list[str]] = {}
    for label, begin, end in tree.constituents():
        chains.setdefault((begin, end), []).append(label)
    spans = [(labels, *span) for span, labels in chains.items()]
    assert nest(spans, list(tree.leaves()), None) == tree


def test_traces_function_tags_and_empty_nodes_are_removed() -> None:
    tree = Tree.of("( (S (NP-SBJ-1 (-NONE- *)) (VP=2 (VB Go) (PP-LOC (NP (-NONE- *T*-1)))) (-RRB- -RRB-)))")
    assert str(cleaned(tree)) == "( (S (VP (VB Go)) (-RRB- -RRB-)))"
    assert cleaned(Tree.of("(NP (-NONE- *))")) is None


def test_constituents_are_listed_from_the_outside_in() -> None:
    tree = Tree.of("(S (NP (N a)) (VP (V b) (NP (NP (N c)) (N d))))")
    assert tree.constituents() == [
        Constituent("S", 0, 4),
        Constituent("NP", 0, 1),
        Constituent("VP", 1, 4),
        Constituent("NP", 2, 4),
        Constituent("NP", 2, 3),
    ]


def test_a_top_node_with_one_child_is_no_part_of_the_tree() -> None:
    assert without_top(Tree.of("(ROOT (S (A a)))")) == Tree.of("(S (A a))")
    assert without_top(Tree.of("(TOP (A a) (B b))")).label == "TOP"


@pytest.mark.parametrize(
    ("label", "children", "head"),
    [("NP", "DT JJ NN", 2), ("NP", "NP PP", 0), ("VP", "MD VP", 0), ("PP", "IN NP", 0), ("S", "NP VP .", 1)],
)
def test_heads_are_those_of_the_usual_rules(label: str, children: str, head: int) -> None:
    assert head_child(label, children.split()) == head


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ("(S (A a)", "unbalanced brackets: the tree that begins here is not closed."),
        ("(S (A a)))", "unbalanced brackets: this ) closes nothing."),
        ("(S (A))", "an empty tree: (A) has no children."),
        ("(S a b)", "the word 'a' needs a tag of its own: write (TAG word)."),
        ("(S ((A) a))", "an empty tree: (A) has no children."),
        ("word", "expected a tree in brackets, and there is 'word'."),
        ("(A a) (B b)", "expected the brackets of one tree, and there are 2."),
        ("(A " * 300, "brackets nest deeper than 200."),
        (["S"], "an empty tree: 'S' has no children."),
        (["S", ["A", "a b"]], "labels and words must be strings without spaces and brackets, not 'a b'."),
        (7, "a tree must be Penn brackets, a list [label, child, ...] or an nltk Tree, not 7."),
    ],
)
def test_mistakes_are_refused_in_one_sentence(tree: object, message: str) -> None:
    with pytest.raises(MargraveError) as error:
        Tree.of(tree)
    assert str(error.value) == message


def test_spans_that_cross_are_refused() -> None:
    with pytest.raises(MargraveError, match="crosses another one"):
        nest([(["A"], 0, 2), (["B"], 1, 3)], [Tree("x", (word,)) for word in "abc"], None)
