"""The built-in treebank: valid trees in Universal Dependencies."""

import re
from importlib.resources import as_file, files

import pytest

from margrave.data import Sentence
from margrave.data.heads import is_projective
from margrave.datasets import conllu_lines, load_harbor, read_conllu
from margrave.datasets.builtin import Part
from margrave.errors import MargraveError

PARTS: list[Part] = ["train", "dev", "test"]
SENTENCES = {part: load_harbor(part) for part in PARTS}
ALL = [sentence for part in PARTS for sentence in SENTENCES[part]]

UPOS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ VERB"
RELATIONS = (
    "acl acl:relcl advcl advmod amod appos aux aux:pass case cc ccomp compound compound:prt conj cop csubj det "
    "discourse expl fixed flat iobj mark nmod nmod:poss nsubj nsubj:pass nummod obj obl obl:agent obl:tmod punct root "
    "vocative xcomp"
)


def text(sentence: Sentence) -> str:
    return sentence.comments[1].removeprefix("# text = ")


def test_every_tree_has_one_root_and_no_cycle() -> None:
    for sentence in ALL:
        heads = sentence.heads
        assert heads.count(0) == 1
        for word in range(1, len(heads) + 1):
            path = [word]
            while path[-1]:
                path.append(heads[path[-1] - 1])
                assert len(path) <= len(heads) + 1, text(sentence)


def test_words_have_lemmas_tags_features_and_relations() -> None:
    assert {word.upos for sentence in ALL for word in sentence.words} == set(UPOS.split())
    assert {word.deprel for sentence in ALL for word in sentence.words} == set(RELATIONS.split())
    for sentence in ALL:
        for word in sentence.words:
            assert word.lemma != "_" and (word.deprel == "root") == (word.head == 0)
            assert (word.upos == "PUNCT") == (word.deprel == "punct")
            names = [feature.partition("=")[0] for feature in word.feats.split("|")]
            assert word.feats == "_" or names == sorted(set(names), key=str.lower)


def test_leaves_are_leaves() -> None:
    for sentence in ALL:
        for word in sentence.words:
            if word.head and sentence.words[word.head - 1].deprel in {"punct", "det", "cc", "mark", "aux", "cop"}:
                raise AssertionError(f"{text(sentence)}: {word.form}")


def test_the_texts_are_those_of_the_words() -> None:
    for sentence in ALL:
        ranges = {int(row[0].partition("-")[0]): row for row in sentence.multiword}
        written, at = "", 1
        while at <= len(sentence.words):
            form, misc, end = sentence.words[at - 1].form, sentence.words[at - 1].misc, at
            if at in ranges:
                form, misc, end = ranges[at][1], ranges[at][9], int(ranges[at][0].partition("-")[2])
            written += form + ("" if misc == "SpaceAfter=No" else " ")
            at = end + 1
        assert written.rstrip() == text(sentence)
        assert re.fullmatch(r'["A-Z].*[.?!]', text(sentence))


def test_no_sentence_occurs_twice() -> None:
    assert len({text(sentence) for sentence in ALL}) == len(ALL) == 450


def test_few_trees_are_not_projective() -> None:
    crossing = [sentence for sentence in ALL if not is_projective(sentence.heads)]
    assert 0.01 <= len(crossing) / len(ALL) <= 0.02
    assert all(any(not is_projective(sentence.heads) for sentence in SENTENCES[part]) for part in PARTS)


def test_there_are_short_and_long_sentences() -> None:
    lengths = [len(sentence.words) for sentence in ALL]
    assert min(lengths) <= 5 and max(lengths) >= 40
    assert sum(length >= 30 for length in lengths) >= 40


def test_the_table_of_the_readme_is_right() -> None:
    readme = (files("margrave.datasets") / "harbor" / "README.md").read_text(encoding="utf-8")
    for part in PARTS:
        lengths = [len(sentence.words) for sentence in SENTENCES[part]]
        crossing = sum(not is_projective(sentence.heads) for sentence in SENTENCES[part])
        long = sum(length >= 30 for length in lengths)
        assert f"| `{part}.conllu` | {len(lengths)} | {sum(lengths)} | {long} | {crossing} |" in readme
    known = {word.form for sentence in SENTENCES["train"] for word in sentence.words}
    forms = [word.form for sentence in SENTENCES["test"] for word in sentence.words]
    assert sum(form not in known for form in forms) / len(forms) == pytest.approx(1 / 20, abs=0.01)


def test_what_is_read_is_written_as_it_was() -> None:
    for part in PARTS:
        with as_file(files("margrave.datasets") / "harbor" / f"{part}.conllu") as path:
            assert "".join(f"{line}\n" for line in conllu_lines(read_conllu(path))).encode() == path.read_bytes()


def test_a_part_that_the_treebank_does_not_have_is_refused() -> None:
    with pytest.raises(MargraveError, match=r"^unknown part 'tset'; did you mean 'test'\?"):
        load_harbor("tset")  # type: ignore[arg-type]
