"""Readers and a writer of candidate lists: what they give back, and how they name a mistake."""

import gzip
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from margrave.data import NBestList
from margrave.datasets import read_nbest, read_ranking, read_references, read_svmlight, relevance_targets, write_nbest
from margrave.errors import DataError, MargraveError
from tests.references.refusals import refusal_of_file

File = Callable[..., Path]


# n-best lists: reading

MOSES = """\
0||| the small  house ||| d: 0 -1.5 lm: -20.25 w: -3 ||| -4.5
0||| a small house  ||| d: -1 -2.5 lm: -19 w: -3 ||| -5
1||| green ||| d: 0 0 lm: -3e-2 w: -1 ||| -.5
"""
MOSES_LISTS = [
    NBestList(
        0,
        ["the small house", "a small house"],
        [
            {"d_0": 0.0, "d_1": -1.5, "lm_0": -20.25, "w_0": -3.0},
            {"d_0": -1.0, "d_1": -2.5, "lm_0": -19.0, "w_0": -3.0},
        ],
        [-4.5, -5.0],
    ),
    NBestList(1, ["green"], [{"d_0": 0.0, "d_1": 0.0, "lm_0": -0.03, "w_0": -1.0}], [-0.5]),
]


@pytest.mark.parametrize(
    "content",
    [
        MOSES,
        MOSES.replace("0|||", "0 |||").replace("1|||", "1 |||"),
        MOSES.replace("d:", "d=").replace("lm:", "lm=").replace("w:", "w="),
        MOSES.replace("\n", " ||| 0-0 1-1 ||| and more\n"),
        MOSES.replace("\n", "\r\n\n"),
        MOSES.replace(" ", "\t"),
        "\ufeff" + MOSES.removesuffix("\n"),
        gzip.compress(MOSES.encode()),
    ],
)
def test_groups_of_moses_are_numbered_features(file: File, content: str | bytes) -> None:
    assert list(read_nbest(file(content))) == MOSES_LISTS


def test_a_stream_is_read_like_a_file() -> None:
    assert list(read_nbest(StringIO(MOSES))) == MOSES_LISTS


def test_sparse_features_of_moses_keep_their_names_and_may_be_missing(file: File) -> None:
    content = (
        "4 ||| a ||| LM0= -1 wt_x~y= 1 wt_x= 2 ||| 0\n4 ||| b ||| wt_z= 1 LM0= -2 ||| 0\n4 ||| c ||| LM0= -3 ||| 0\n"
    )
    (one,) = read_nbest(file(content))
    assert one.features == [{"LM0_0": -1, "wt_x~y": 1, "wt_x": 2}, {"wt_z": 1, "LM0_0": -2}, {"LM0_0": -3}]


def test_a_group_of_moses_with_an_underscore_and_several_values_is_a_group(file: File) -> None:
    path = file("0||| a ||| my_lm: 1 2 ||| 0\n0||| b ||| lm: 1 ||| 0\n")
    assert refusal_of_file(read_nbest, path).startswith(", line 2: group 'my_lm' is missing")
    assert next(read_nbest(StringIO("0||| a ||| my_lm: 1 2"))).features == [{"my_lm_0": 1.0, "my_lm_1": 2.0}]


def test_features_of_cdec_and_joshua_are_sparse_and_ids_are_any_whole_numbers(file: File) -> None:
    content = (
        "7 ||| a b ||| LM=-1 R_a=b=2 ||| 3\n7 ||| a ||| ||| 2\n-2 ||| ||| Glue:1=+.5 ||| 1\n03 ||| c ||| x=1e2 ||| 1\n"
    )
    assert list(read_nbest(file(content))) == [
        NBestList(7, ["a b", "a"], [{"LM": -1.0, "R_a=b": 2.0}, {}], [3.0, 2.0]),
        NBestList(-2, [""], [{"Glue:1": 0.5}], [1.0]),
        NBestList(3, ["c"], [{"x": 100.0}], [1.0]),
    ]


def test_a_score_may_be_missing_from_all_hypotheses_of_a_list(file: File) -> None:
    content = "0 ||| a ||| x=1\n0 ||| b ||| x=2\n1 ||| c ||| x=1 ||| 5\n2 ||| d ||| x=1 ||| ||| 0-0\n"
    assert [one.scores for one in read_nbest(file(content))] == [None, [5.0], None]


def test_blanks_other_than_ascii_are_part_of_words(file: File) -> None:
    (one,) = read_nbest(file("0 |||  10\u00a0000\t \u3000x  ||| a\u00a0b=1 ||| 0\n"))
    assert one.hypotheses == ["10\u00a0000 \u3000x"]
    assert one.features == [{"a\u00a0b": 1.0}]


def test_lists_come_one_at_a_time(file: File) -> None:
    lists = read_nbest(file("0 ||| a ||| x=1\n1 ||| b ||| x=1\n1 ||| c ||| x=y\n"))
    assert next(lists).hypotheses == ["a"]
    with pytest.raises(DataError, match="line 3"):
        next(lists)


def test_another_encoding_is_read_when_it_is_named(file: File) -> None:
    path = file("0 ||| caf\u00e9 ||| x=1\n".encode("latin-1"))
    assert next(read_nbest(path, encoding="latin-1")).hypotheses == ["caf\u00e9"]
    assert refusal_of_file(read_nbest, path).startswith(", line 1: not valid UTF-8 text (byte 0xE9)")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("0 ||| a", "2 fields, but a line must be id ||| words ||| features ||| score."),
        ("a b c", "1 field, but a line must be id ||| words ||| features ||| score."),
        ("x ||| a ||| d: 1 2 lm: 3 ||| 1", "id 'x' is not a whole number of at most 18 digits."),
        ("0.5 ||| a ||| d: 1 2 lm: 3 ||| 1", "id '0.5' is not a whole number of at most 18 digits."),
        ("||| a ||| d: 1 2 lm: 3 ||| 1", "id '' is not a whole number of at most 18 digits."),
        ("1 ||| a ||| d: 1 2 lm: 3", "no score, but the first hypothesis of list 1 (line 4) has one."),
        ("1 ||| a ||| d: 1 2 lm: 3 ||| high", "score 'high' is not a finite number."),
        ("1 ||| a ||| d: 1 2 lm: 3 ||| 1e999", "score '1e999' is not a finite number."),
        ("1 ||| a ||| d: 1 x lm: 3 ||| 1", "value 'x' of feature 'd_1' is not a finite number."),
        ("1 ||| a ||| d: 1 nan lm: 3 ||| 1", "value 'nan' of feature 'd_1' is not a finite number."),
        ("1 ||| a ||| d: 1 -inf lm: 3 ||| 1", "value '-inf' of feature 'd_1' is not a finite number."),
        ("1 ||| a ||| d: 1 1_0 lm: 3 ||| 1", "value '1_0' of feature 'd_1' is not a finite number."),
        ("1 ||| a ||| d: 1 2 lm: 3 d: 1 2 ||| 1", "group 'd' occurs twice in this line."),
        ("1 ||| a ||| d: 1 2 lm: 3 d_1: 7 ||| 1", "feature 'd_1' occurs twice in this line."),
        ("1 ||| a ||| d: 1 2 : 3 ||| 1", "no name before ':'."),
        (
            "1 ||| a ||| d: 1 2 lm: 3 4 ||| 1",
            "group 'lm' has 2 values, but 1 in the first hypothesis of list 1 (line 4).",
        ),
        ("1 ||| a ||| d: 1 lm: 3 ||| 1", "group 'd' has 1 value, but 2 in the first hypothesis of list 1 (line 4)."),
        ("1 ||| a ||| d: 1 2 ||| 1", "group 'lm' is missing, but the first hypothesis of list 1 (line 4) has it."),
        ("1 ||| a ||| ||| 1", "group 'd' is missing, but the first hypothesis of list 1 (line 4) has it."),
        (
            "1 ||| a ||| d: 1 2 lm: 3 w: 1 ||| 1",
            "group 'w' does not occur in the first hypothesis of list 1 (line 4).",
        ),
        (
            "1 ||| a ||| d= 1 2 lm= 3 ||| 1",
            "features are written name= value value, but name: value value in the lines",
        ),
        ("2 ||| a ||| d=1 ||| 1", "features are written name=value, but name: value value in the lines before."),
        ("1 ||| a ||| 1 2 3 ||| 1", "'1' is not a feature: write name: value, name= value or name=value."),
        ("0 ||| a ||| d: 1 2 lm: 3 ||| 1", "list 0 occurs again after list 1; it began in line 1."),
    ],
)
def test_a_mistake_in_a_line_of_moses_is_named_by_file_and_line(file: File, line: str, expected: str) -> None:
    before = "0||| a ||| d: 1 2 lm: 3 ||| 1\n0||| b ||| d: 1 2 lm: 3 ||| 1\n\n1||| c ||| d: 1 2 lm: 3 ||| 1\n"
    assert refusal_of_file(read_nbest, file(f"{before}{line}\n")).startswith(f", line 5: {expected}")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("5 ||| a ||| x=1 y", "'y' is not a pair name=value."),
        ("5 ||| a ||| =1", "'=1' is not a pair name=value."),
        ("5 ||| a ||| x=1 y=", "value '' of feature 'y' is not a finite number."),
        ("5 ||| a ||| x=1 y=z", "value 'z' of feature 'y' is not a finite number."),
        ("5 ||| a ||| x=1 y=2 x=1", "feature 'x' occurs twice in this line."),
        ("5 ||| a ||| x= 1", "features are written name= value value, but name=value in the lines before."),
        ("5 ||| a ||| x=1 ||| 1", "a score, but the first hypothesis of list 5 (line 2) has none."),
        ("9 ||| a ||| x=1", "list 9 occurs again after list 5; it began in line 1."),
    ],
)
def test_a_mistake_in_a_line_of_cdec_is_named_by_file_and_line(file: File, line: str, expected: str) -> None:
    path = file(f"9 ||| a ||| x=1\n5 ||| b ||| y=1\n{line}\n")
    assert refusal_of_file(read_nbest, path).startswith(f", line 3: {expected}")


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_a_file_without_hypotheses_is_refused(file: File, content: str) -> None:
    assert refusal_of_file(read_nbest, file(content)) == ": it contains no hypotheses."


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    for read in (read_nbest, read_references, read_ranking):
        assert refusal_of_file(read, tmp_path / "nowhere") == ": no such file."


# n-best lists: writing

FINITE = st.floats(allow_nan=False, allow_infinity=False)
LETTER = st.characters(exclude_categories=["Cs"], exclude_characters=" \t\r\f\v\n\0")
WORD = st.text(LETTER | st.sampled_from("|=:_"), min_size=1, max_size=5).filter(lambda word: "|||" not in word)
ENTRY = st.tuples(st.lists(WORD, max_size=4).map(" ".join), st.dictionaries(WORD, FINITE, max_size=4), FINITE)


@st.composite
def nbest_lists(draw: st.DrawFn) -> list[NBestList]:
    lists = []
    for id in draw(st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=1, max_size=4, unique=True)):
        words, features, scores = zip(*draw(st.lists(ENTRY, min_size=1, max_size=4)), strict=True)
        lists.append(NBestList(id, list(words), list(features), draw(st.sampled_from([None, list(scores)]))))
    return lists


@settings(deadline=None)
@given(lists=nbest_lists())
def test_what_is_written_is_read_back(folder: Path, lists: list[NBestList]) -> None:
    for name in ("nbest.txt", "nbest.txt.gz"):
        write_nbest(folder / name, iter(lists))
        assert list(read_nbest(folder / name)) == lists


@settings(deadline=None)
@given(lists=nbest_lists(), data=st.data())
def test_values_are_read_from_any_way_of_writing_features(lists: list[NBestList], data: st.DataObject) -> None:
    """Groups of Moses hold the same numbers as pairs do."""
    mark = data.draw(st.sampled_from(":="))
    sizes = data.draw(
        st.dictionaries(st.text("abz", min_size=1, max_size=2), st.integers(0, 3), min_size=1, max_size=3)
    )
    lines, expected = [], []
    for one in lists:
        for words in one.hypotheses:
            values = {group: data.draw(st.lists(FINITE, min_size=n, max_size=n)) for group, n in sizes.items()}
            written = " ".join(f"{group}{mark} {' '.join(map(repr, of))}" for group, of in values.items())
            lines.append(f"{one.id} ||| {words} ||| {written}")
            expected.append({f"{group}_{k}": value for group, of in values.items() for k, value in enumerate(of)})
    read = list(read_nbest(StringIO("\n".join(lines))))
    assert [features for one in read for features in one.features] == expected
    assert [one.hypotheses for one in read] == [one.hypotheses for one in lists]


def test_numpy_numbers_are_written_as_numbers(tmp_path: Path) -> None:
    path = tmp_path / "nbest.txt"
    write_nbest(path, [NBestList(np.int64(3), ["a"], [{"x": np.float64(0.1), "y": 2}], [np.float32(0.5)])])  # type: ignore[arg-type, list-item]
    assert path.read_text() == "3 ||| a ||| x=0.1 y=2.0 ||| 0.5\n"


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ([], "there are no lists to write."),
        ([NBestList(0, [], [])], "list 0 has no hypotheses."),
        ([NBestList(0, ["a"], [{}]), NBestList(0, ["b"], [{}])], "list 0 occurs twice."),
        ([NBestList("0", ["a"], [{}])], "the id of a list must be a whole number, and it is '0'."),  # type: ignore[arg-type]
        ([NBestList(10**18, ["a"], [{}])], "the id of a list must be at most 9"),
        (
            [NBestList(4, ["a", "b  c"], [{}, {}])],
            "hypothesis 1 of list 4: 'b  c' must be words separated by one blank",
        ),
        ([NBestList(4, ["a ||| b"], [{}])], "hypothesis 0 of list 4: 'a ||| b' must be words"),
        ([NBestList(4, ["a\nb"], [{}])], "hypothesis 0 of list 4: 'a\\nb' must be words"),
        ([NBestList(4, ["a"], [{"x y": 1.0}])], "hypothesis 0 of list 4: the feature name 'x y' cannot be written"),
        ([NBestList(4, ["a"], [{"": 1.0}])], "hypothesis 0 of list 4: the feature name '' cannot be written"),
        ([NBestList(4, ["a"], [{"x|||": 1.0}])], "hypothesis 0 of list 4: the feature name 'x|||' cannot be written"),
        (
            [NBestList(4, ["a"], [{"x": float("nan")}])],
            "feature 'x' of hypothesis 0 of list 4 must be finite, and it is",
        ),
        (
            [NBestList(4, ["a"], [{}], [float("inf")])],
            "the score of hypothesis 0 of list 4 must be finite, and it is inf",
        ),
    ],
)
def test_what_cannot_be_read_back_is_not_written(tmp_path: Path, lists: list[NBestList], expected: str) -> None:
    path = tmp_path / "nbest.txt"
    path.write_text("as it was")
    with pytest.raises(MargraveError) as error:
        write_nbest(path, lists)
    assert str(error.value).startswith(expected) and "\n" not in str(error.value)
    assert path.read_text() == "as it was"
    assert list(tmp_path.iterdir()) == [path]


def test_a_list_has_features_and_scores_for_all_its_hypotheses() -> None:
    with pytest.raises(MargraveError, match=r"^list 3: the number of hypotheses is 2, but that of features is 1\.$"):
        NBestList(3, ["a", "b"], [{}])
    with pytest.raises(MargraveError, match=r"^list 3: the number of hypotheses is 1, but that of scores is 2\.$"):
        NBestList(3, ["a"], [{}], [1.0, 2.0])


# references


def test_references_of_parallel_files_stand_together(file: File) -> None:
    one = file("the  house \n\na car\n", "one")
    two = file(gzip.compress(b"a house\nyes\ncar"), "two.gz")
    assert read_references(one, two) == [["the house", "a house"], ["", "yes"], ["a car", "car"]]
    assert read_references(one) == [["the house"], [""], ["a car"]]


def test_references_of_unequal_length_are_refused_by_both_names(file: File) -> None:
    one, two = file("a\nb\n", "one"), file("a\n", "two")
    with pytest.raises(DataError) as error:
        read_references(one, two)
    assert str(error.value) == f"{two}: 1 line, but {one} has 2."


def test_no_references_are_refused(file: File) -> None:
    assert refusal_of_file(read_references, file("")) == ": it contains no references."
    with pytest.raises(MargraveError, match="there are no references"):
        read_references()


# learning to rank

RELEVANCE = st.integers(-1, 4).map(float)
CANDIDATE = st.tuples(RELEVANCE, st.dictionaries(st.integers(1, 7), st.floats(-9, 9), max_size=4))
QUERIES = st.dictionaries(st.integers(0, 99), st.lists(CANDIDATE, min_size=1, max_size=4), min_size=1, max_size=5)


@settings(deadline=None)
@given(QUERIES)
def test_candidates_of_a_query_are_rows_of_its_matrix(queries: dict[int, list[tuple[float, dict[int, float]]]]) -> None:
    lines = [
        f"{relevance} qid:{id} " + " ".join(f"{index}:{value!r}" for index, value in sorted(features.items()))
        for id, candidates in queries.items()
        for relevance, features in candidates
    ]
    matrices, relevances, ids = read_ranking(StringIO("\n".join(lines)))
    assert ids.tolist() == list(queries)
    width = max((index for of in queries.values() for _, features in of for index in features), default=0)
    for matrix, relevance, candidates in zip(matrices, relevances, queries.values(), strict=True):
        rows = [[features.get(index, 0.0) for index in range(1, width + 1)] for _, features in candidates]
        assert_array_equal(matrix.toarray(), np.array(rows).reshape(len(rows), width))
        assert_array_equal(relevance, [one for one, _ in candidates])


def test_comments_bases_and_widths_are_those_of_svmlight(file: File) -> None:
    content = "# about\n2 qid:7 0:.5 3:1 # first\n\n0 qid:7 1:1\n1 qid:3 #\n"
    path = file(gzip.compress(content.encode()), "data.gz")
    matrices, relevances, ids = read_ranking(path, n_features=6, zero_based=True)
    assert [matrix.shape for matrix in matrices] == [(2, 6), (1, 6)]
    assert [relevance.tolist() for relevance in relevances] == [[2.0, 0.0], [1.0]]
    whole, _, queries = read_svmlight(path, n_features=6, zero_based=True)
    assert_array_equal(np.vstack([matrix.toarray() for matrix in matrices]), whole.toarray())
    assert queries is not None and ids.tolist() == [7, 3] and queries.tolist() == [7, 7, 3]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1 qid:7 1:1", "query id 7 occurs again after query id 3; it began in line 1."),
        ("1 1:1", "some examples up to here have a query id (qid:) and some have none."),
        ("1 qid:-3 1:1", "query id '-3' is not a natural number below 10^18."),
        ("qid:3 1:1", "the relevance 'qid:3' is not a finite number."),
        ("good qid:3 1:1", "the relevance 'good' is not a finite number."),
        ("nan qid:3 1:1", "the relevance 'nan' is not a finite number."),
        ("1 qid:3 2:1 1:1", "feature index 1 after 2, but they must increase."),
        ("1 qid:3 2:1 2:1", "feature index 2 after 2, but they must increase."),
        ("1 qid:3 -1:1", "feature index '-1' is not a natural number below 10^18."),
        ("1 qid:3 0:1", "feature index 0, but they start at 1"),
        ("1 qid:3 1:inf", "value 'inf' of feature 1 is not a finite number."),
        ("1 qid:3 word", "'word' is not a pair index:value."),
    ],
)
def test_a_mistake_in_a_ranking_is_named_by_file_and_line(file: File, line: str, expected: str) -> None:
    path = file(f"1 qid:7 1:1\n\n0 qid:3 1:1\n{line}\n0 qid:2 1:1\n")
    assert refusal_of_file(read_ranking, path).startswith(f", line 4: {expected}")


def test_a_ranking_without_queries_or_candidates_is_refused(file: File) -> None:
    path = file("# comment\n1 1:1\n0 1:2\n")
    assert (
        refusal_of_file(read_ranking, path)
        == ", line 2: the query id (qid:) is missing; it says to which list a candidate belongs."
    )
    assert refusal_of_file(read_ranking, file("# comment\n")) == ": it contains no candidates."
    assert ", line 2: some examples up to here" in refusal_of_file(read_ranking, file("1 1:1\n1 qid:1 1:1\n"))


@settings(deadline=None)
@given(st.lists(st.lists(RELEVANCE, min_size=1), max_size=5))
def test_the_most_relevant_candidates_are_good_and_cost_nothing(relevances: list[list[float]]) -> None:
    good, costs = relevance_targets(relevances)
    for relevance, numbers, cost in zip(relevances, good, costs, strict=True):
        best = max(relevance)
        assert numbers == ([k for k, one in enumerate(relevance) if one == best] if best > 0 else [])
        assert cost.tolist() == [best - one for one in relevance]


def test_a_list_of_nothing_relevant_has_no_good_candidate() -> None:
    good, costs = relevance_targets([[0.0, 0.0], [-1.0], []])
    assert good == [[], [], []]
    assert [cost.tolist() for cost in costs] == [[0.0, 0.0], [0.0], []]
