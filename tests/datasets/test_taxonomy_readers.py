"""Readers of classes in a taxonomy: what they give back, and how they name a mistake."""

import gzip
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margrave.data.taxonomy import Taxonomy
from margrave.datasets import read_descriptions, read_hierarchy, read_svmlight, read_svmlight_paths, read_texts
from margrave.errors import DataError
from tests.references.refusals import refusal_of_file

File = Callable[..., Path]

STEPS = st.text("abz019_-", min_size=1, max_size=3)
PATHS = st.lists(STEPS, min_size=1, max_size=4).map("/".join)


# svmlight


@settings(deadline=None)
@given(st.lists(st.tuples(PATHS, st.dictionaries(st.integers(1, 9), st.floats(-9, 9))), min_size=1, max_size=6))
def test_a_path_is_read_with_the_features_that_follow_it(examples: list[tuple[str, dict[int, float]]]) -> None:
    lines = [
        f"{name}\t" + " ".join(f"{index}:{value!r}" for index, value in sorted(features.items()))
        for name, features in examples
    ]
    matrix, classes = read_svmlight_paths(StringIO("\n".join(lines)), n_features=9)
    expected = [[features.get(index, 0.0) for index in range(1, 10)] for _, features in examples]
    assert classes == [name for name, _ in examples]
    np.testing.assert_array_equal(matrix.toarray(), np.array(expected))


def test_classes_stay_as_they_are_written(file: File) -> None:
    """Where `read_svmlight` would see numbers: 1.10 is not the class 1.1."""
    path = file("1.10 1:1\n1.1 1:2\n3 2:1\n")
    assert read_svmlight_paths(path)[1] == ["1.10", "1.1", "3"]
    assert list(read_svmlight(path)[1]) == [1.1, 1.1, 3.0]


def test_one_example_may_have_several_classes_or_none(file: File) -> None:
    path = file("1/1;2/5;2/13\t141:1 389:1\n1/4 190:1\n190:1 # without a class\n")
    matrix, classes = read_svmlight_paths(path, multilabel=True)
    assert classes == [("1/1", "2/5", "2/13"), ("1/4",), ()]
    assert matrix.shape == (3, 389)


def test_gzip_query_ids_comments_and_bases_are_those_of_svmlight(file: File) -> None:
    content = "# a comment\n\n4/6/2 qid:3 0:1 4:2 # another\n4/6 qid:3 1:1\n"
    path = file(gzip.compress(content.encode()), "data.svm.gz")
    matrix, classes = read_svmlight_paths(path, zero_based=True)
    assert classes == ["4/6/2", "4/6"]
    np.testing.assert_array_equal(matrix.toarray(), [[1, 0, 0, 0, 2], [0, 1, 0, 0, 0]])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1:2 2:3", "the line must begin with a class such as 4/6/2, not '1:2'."),
        ("4//2 1:1", "'4//2' is not a class, which is a name or a path such as 4/6/2."),
        ("/4 1:1", "'/4' is not a class"),
        ("4/ 1:1", "'4/' is not a class"),
        ("4/6;4/7 1:1", "'4/6;4/7' has several classes, but only one is allowed."),
        ("4/6 7", "'7' is not a pair index:value."),
        ("4/6 1:x", "value 'x' of feature 1 is not a finite number."),
        ("4/6 0:1", "feature index 0, but they start at 1"),
    ],
)
def test_a_mistake_in_svmlight_is_named_by_file_and_line(file: File, line: str, expected: str) -> None:
    path = file(f"# comment\n4/6 2:1\n{line}\n")
    assert refusal_of_file(read_svmlight_paths, path).startswith(f", line 3: {expected}")


def test_a_list_of_classes_has_no_holes(file: File) -> None:
    assert ", line 1: '' is not a class" in refusal_of_file(
        read_svmlight_paths, file("4/6;;4/7 1:1\n"), multilabel=True
    )


# texts


def test_a_text_is_what_follows_the_first_tab(file: File) -> None:
    content = "comp.sys.mac\tIt is\tbroken: 1:2 # still text\r\n\n sci/Ärzte \t\u00a0 Zürich \n"
    expected = [("comp.sys.mac", "It is\tbroken: 1:2 # still text"), ("sci/Ärzte", "\u00a0 Zürich ")]
    assert list(read_texts(file(content))) == expected
    assert list(read_texts(file(gzip.compress(content.encode()), "texts.gz"))) == expected
    assert list(read_texts(file(content.encode("latin-1"), "latin"), encoding="latin-1")) == expected


def test_a_text_may_have_several_classes_or_none(file: File) -> None:
    path = file("a;b/c\tone two\n\tthree\nfour\n")
    assert list(read_texts(path, multilabel=True)) == [(("a", "b/c"), "one two"), ((), "three"), ((), "four")]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a text alone", "there is no tab between the class and the text."),
        ("\ta text", "'' is not a class"),
        ("a//b\ta text", "'a//b' is not a class"),
        ("a;b\ta text", "'a;b' has several classes, but only one is allowed."),
    ],
)
def test_a_mistake_in_texts_is_named_by_file_and_line(file: File, line: str, expected: str) -> None:
    path = file(f"a\tright\n\n{line}\n")
    assert refusal_of_file(read_texts, path).startswith(f", line 3: {expected}")


def test_texts_come_one_at_a_time(file: File) -> None:
    texts = read_texts(file("a\tright\nwrong\n"))
    assert next(texts) == ("a", "right")
    with pytest.raises(DataError, match="line 2"):
        next(texts)


def test_descriptions_are_by_class(file: File) -> None:
    assert read_descriptions(file("a.b\tof wood\n\nc\tof stone, tall\n")) == {
        "a.b": "of wood",
        "c": "of stone, tall",
    }


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("of wood", "a line must have a class, a tab and its description."),
        ("\tof wood", "a line must have a class, a tab and its description."),
        ("c\t ", "a line must have a class, a tab and its description."),
        ("a.b\tof clay", "'a.b' is described here and in line 1."),
    ],
)
def test_a_mistake_in_descriptions_is_named_by_file_and_line(file: File, line: str, expected: str) -> None:
    assert refusal_of_file(read_descriptions, file(f"a.b\tof wood\n{line}\n")) == f", line 2: {expected}"


# the taxonomy


@settings(deadline=None)
@given(st.lists(PATHS, min_size=1, max_size=8).filter(lambda paths: any("/" in path for path in paths)))
def test_a_file_of_paths_is_the_taxonomy_of_these_names(paths: list[str]) -> None:
    pairs = read_hierarchy(StringIO("\n".join(paths)))
    assert len(pairs) == len({child for child, _ in pairs})  # one parent each
    for child, parent in pairs:
        assert (parent or "") == child.rpartition("/")[0]
    assert set(paths) <= {child for child, _ in pairs}
    assert Taxonomy.from_pairs(pairs) == Taxonomy.from_names(paths, "/")


def test_a_file_of_dotted_names_is_a_taxonomy_too(file: File) -> None:
    pairs = read_hierarchy(file("comp.sys.mac\ncomp.graphics\nalone\n"))
    assert pairs == [
        ("comp", None), ("comp.sys", "comp"), ("comp.sys.mac", "comp.sys"), ("comp.graphics", "comp"), ("alone", None)
    ]  # fmt: skip
    assert read_hierarchy(file("a/b.c\n")) == [("a", None), ("a/b.c", "a")]  # slashes come before dots


def test_a_file_of_parents_and_children_keeps_names_and_several_parents(file: File) -> None:
    content = "Art & Music\tSinging lessons\nSport\tDancing\n\nArt & Music\tDancing\nSport\tDancing\nDancing\tTango\n"
    pairs = read_hierarchy(file(gzip.compress(content.encode()), "parents.gz"))
    assert pairs == [
        ("Art & Music", None),
        ("Sport", None),
        ("Singing lessons", "Art & Music"),
        ("Dancing", "Sport"),
        ("Dancing", "Art & Music"),
        ("Tango", "Dancing"),
    ]
    taxonomy = Taxonomy.from_pairs(pairs)
    assert set(taxonomy.ancestors("Tango")) == {"Tango", "Dancing", "Sport", "Art & Music"}
    assert taxonomy.tree_loss("Tango", "Singing lessons") == taxonomy.height("Art & Music") == 2


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", ": it contains no nodes."),
        ("\n \n", ": it contains no nodes."),
        ("\n1 2\n1 3\n", ", line 2: '1 2' is neither parent TAB child nor a path such as 4/6/2."),
        ("a\tb\nc\n", ", line 2: 'c' is not parent TAB child."),
        ("a\tb\na\tb\tc\n", ", line 2: 'a\\tb\\tc' is not parent TAB child."),
        ("a\tb\n\tc\n", ", line 2: '\\tc' is not parent TAB child."),
        ("a\tb\nb\tb\n", ", line 2: 'b' is its own parent."),
        ("4\n4//6\n", ", line 2: '4//6' is not a path: something is missing before or after '/'."),
        (".a\n", ", line 1: '.a' is not a path: something is missing before or after '.'."),
        (b"a\tb\n\xe9\tc\n", ", line 2: not valid UTF-8 text (byte 0xE9)"),
    ],
)
def test_a_mistake_in_a_taxonomy_is_named_by_file_and_line(file: File, content: str | bytes, expected: str) -> None:
    assert refusal_of_file(read_hierarchy, file(content)).startswith(expected)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    for read in (read_hierarchy, read_descriptions, read_texts, read_svmlight_paths):
        assert refusal_of_file(read, tmp_path / "nowhere") == ": no such file."
