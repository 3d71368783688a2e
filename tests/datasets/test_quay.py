"""The quay treebank: its trees, and what its README says."""

from importlib.resources import files

import pytest

from margrave import MargraveError
from margrave.data.constituents import cleaned, without_top
from margrave.datasets import load_quay
from margrave.datasets.builtin import Part
from margrave.structures import Grammar

PARTS: list[Part] = ["train", "dev", "test"]
TREES = {part: load_quay(part) for part in PARTS}
ALL = [tree for part in PARTS for tree in TREES[part]]

LABELS = "ADJP ADVP NP PP PRT S SBAR SQ TOP VP WHNP"
TAGS = ", . CC CD DT EX IN JJ JJR MD NN NNP NNS POS PRP PRP$ RB RP TO VB VBD VBG VBN VBP VBZ WDT WP"


def test_labels_and_tags_are_those_of_the_penn_treebank() -> None:
    assert {constituent.label for tree in ALL for constituent in tree.constituents()} == set(LABELS.split())
    assert {tag for tree in ALL for tag in tree.tags} == set(TAGS.split())
    assert all(cleaned(tree) == tree and without_top(tree).label in ("S", "SQ") for tree in ALL)


def test_sentences_begin_with_a_capital_and_occur_once() -> None:
    texts = [" ".join(tree.words) for tree in ALL]
    assert len(set(texts)) == len(ALL) == 560
    assert all(text[0].isupper() and text[-1] in ".?!" for text in texts)


def test_the_table_of_the_readme_is_right() -> None:
    readme = (files("margrave.datasets") / "quay" / "README.md").read_text(encoding="utf-8")
    for part in PARTS:
        lengths = [len(tree.words) for tree in TREES[part]]
        short, long = sum(n <= 10 for n in lengths), sum(n >= 25 for n in lengths)
        assert f"| `{part}.mrg` | {len(lengths)} | {sum(lengths)} | {short} | {long} |" in readme


@pytest.mark.parametrize("binarize", ["right", "left", "head"])
def test_every_tree_comes_back_from_its_derivation(binarize: str) -> None:
    grammar = Grammar.of_trees(ALL, binarize=binarize)
    for tree in ALL:
        nodes = [(node.label, node.begin, node.end) for node in grammar.derive(tree)]
        assert grammar.tree_of(nodes, list(tree.leaves())) == tree


def test_a_part_that_the_treebank_does_not_have_is_refused() -> None:
    with pytest.raises(MargraveError, match=r"^unknown part 'tset'; did you mean 'test'\?"):
        load_quay("tset")  # type: ignore[arg-type]
