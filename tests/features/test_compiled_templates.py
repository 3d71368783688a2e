"""Compiled templates give the attributes, the numbers and the rows that strings made in Python give."""

import copy
import gc
import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from weakref import WeakSet

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margrave import SequenceTagger, _core
from margrave.errors import MargraveError
from margrave.features import templates as module
from margrave.features.templates import Templates
from margrave.maps.rows import RowEncoder

Rows = list[list[str]]

FUNCTIONS = ["", ".lower", ".digits", ".shape", ".short_shape", ".prefix1", ".prefix4", ".suffix2", ".suffix9"]
terms = st.builds("{}[{}]{}".format, st.integers(0, 2), st.integers(-4, 4), st.sampled_from(FUNCTIONS))
templates = st.sampled_from(["begin", "end"]) | st.lists(terms, min_size=1, max_size=4).map("|".join)
template_lists = st.lists(templates, min_size=1, max_size=8, unique=True)
# Few letters, so that values meet again; bars, which make different tuples spell the same name; and letters whose case
# depends on what is around them, or whose lower case has another length.
values = st.text(alphabet="ab|Σς2٣İß=é", max_size=4)
sentences = st.lists(st.lists(st.lists(values, min_size=3, max_size=3), max_size=6), max_size=6)


def in_python(features: Templates, X: Sequence[Rows]) -> list[list[list[str]]]:
    """The attributes as strings, sentence by sentence."""
    return [features.attributes(rows) for rows in X]


def arrays(tokens: _core.Tokens) -> list[Any]:
    """The rows of tokens as lists."""
    return [None if each is None else each.tolist() for each in tokens.arrays()]


def learned(texts: Sequence[str]) -> Templates:
    return Templates(texts).learn([[["", "", ""]]])


@settings(deadline=None)
@given(texts=template_lists, X=sentences)
def test_attributes_are_those_of_the_strings(texts: list[str], X: list[Rows]) -> None:
    features = learned(texts)
    for _ in range(2):  # Values have numbers already when they are met again.
        found = features.transform(X)
        assert isinstance(found, _core.KeyedAttributes)
        assert list(found) == in_python(features, X)


@settings(deadline=None)
@given(texts=template_lists, X=sentences, new=sentences, bits=st.sampled_from([0, 3, 18]))
def test_rows_and_the_vocabulary_are_those_of_the_strings(
    texts: list[str], X: list[Rows], new: list[Rows], bits: int
) -> None:
    features, encoder, reference = learned(texts), RowEncoder(bits), RowEncoder(bits)
    for data, grow in ((X, True), (new, False), (X, False), (new, True), (X, False)):
        found = encoder.encode(features.transform(data), single=False, grow=grow)
        expected = reference.encode(in_python(features, data), single=False, grow=grow)
        assert arrays(found) == arrays(expected)
        if bits == 0:
            assert list(encoder.names()) == list(reference.names())


@settings(deadline=None)
@given(texts=template_lists, X=sentences, label=st.integers(0, 3))
def test_a_label_among_the_columns_is_passed_over(texts: list[str], X: list[Rows], label: int) -> None:
    features = Templates(texts, label=label).learn([[["", "", ""]]])
    labeled = [[[*row[:label], "LABEL", *row[label:]] for row in rows] for rows in X]
    assert list(features.transform(labeled)) == in_python(features, X)
    table = _core.table_of_rows(labeled, 4, -1)
    assert table is not None and len(table) == len(X)
    assert list(features.transform(table)) == in_python(features, X)


@settings(deadline=None)
@given(values=st.lists(st.text(max_size=12) | st.text(alphabet=st.characters(max_codepoint=127), max_size=12)))
def test_functions_give_what_python_gives(values: list[str]) -> None:
    features = Templates([f"0[0].{name}" for name in module.FUNCTIONS]).learn([[[""]]])
    X = [[[value] for value in [*map(chr, range(128)), *values]]]
    assert list(features.transform(X)) == in_python(features, X)


def test_names_that_another_path_added_are_found() -> None:
    features, encoder = learned(["0[0]"]), RowEncoder()
    encoder.encode([[["0[0]=a"]]], single=False, grow=True)
    X = [[["b", "", ""]]]
    assert encoder.encode(features.transform(X), single=False, grow=False).entries == 0
    encoder.encode([[["0[0]=b"]]], single=False, grow=True)
    assert encoder.encode(features.transform(X), single=False, grow=False).arrays()[2].tolist() == [1]


def test_numbering_starts_anew_when_there_are_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_VALUES", 3)
    features, encoder, reference = learned(["0[0]", "0[-1]|0[0].lower"]), RowEncoder(), RowEncoder()
    for k in range(5):
        X = [[[f"W{k}", "", ""], [f"w{k + 1}", "", ""]]]
        found = encoder.encode(features.transform(X), single=False, grow=True)
        assert arrays(found) == arrays(reference.encode(in_python(features, X), single=False, grow=True))


def test_numbers_made_anew_leave_nothing_of_the_old_ones_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a model that predicts for ever would grow for ever."""
    monkeypatch.setattr(module, "MOST_VALUES", 3)
    features, encoder = learned(["0[0]"]), RowEncoder()
    made: WeakSet[_core.TemplateNames] = WeakSet()
    for k in range(20):
        encoder.encode(features.transform([[[f"w{k}", "", ""]]]), single=False, grow=k == 0)
        made.add(features._names)
    gc.collect()
    assert len(made) == 1


def test_rows_of_other_types_take_the_general_way() -> None:
    features = learned(["0[0]", "1[0]"])

    class Text(str):
        __slots__ = ()

    for row in ([Text("a"), "b", "c"], np.array(["a", "b", "c"]), ["a", "b", None]):
        found = features.transform([[row]])
        assert not isinstance(found, _core.KeyedAttributes)
        assert list(found[0]) == [["0[0]=a", "1[0]=b"]]
    with pytest.raises(MargraveError, match="example 0, token 0: an attribute must be a string of valid characters"):
        RowEncoder().encode(features.transform([[["\ud800", "", ""]]]), single=False, grow=True)


def test_tables_of_the_wrong_width_are_refused() -> None:
    table = _core.table_of_rows([[["a"]]], 1, -1)
    with pytest.raises(MargraveError, match="a row has 1 column, but the model takes 3, or 4 with the label"):
        learned(["0[0]"]).transform(table)


def test_keys_belong_to_their_names() -> None:
    one, other = learned(["0[0]"]), learned(["0[0]"])
    X = [[["a", "", ""]]]
    table = _core.KeyTable(one.transform(X).names, _core.Vocabulary(), 0)
    with pytest.raises(MargraveError, match="belong to other names"):
        table.encode(other.transform(X), True)
    with pytest.raises(MargraveError, match="needs names"):
        _core.KeyTable(one.transform(X).names, None, 0)


def test_a_model_is_the_same_from_rows_and_from_attributes() -> None:
    X = [[["Der", "a|b"], ["ΟΔΟΣ", "c"]], [["Hund", "c"], ["ΟΔΟΣ", "a|b"], ["x1", "_"]]]
    y = [["D", "N"], ["N", "N", "D"]]
    features = Templates().learn(X)
    raw = SequenceTagger(features=Templates(), C=10.0).fit(X, y)
    plain = SequenceTagger(C=10.0).fit(in_python(features, X), y)
    assert raw.coef_.tobytes() == plain.coef_.tobytes()
    assert list(raw.map_.tokens.encoder.names()) == list(plain.map_.tokens.encoder.names())
    assert raw.predict(X) == plain.predict(in_python(features, X)) == y
    for again in (pickle.loads(pickle.dumps(raw)), copy.deepcopy(raw)):
        assert again.predict(X) == y


def test_one_model_serves_several_threads() -> None:
    X = [[[f"w{i * j % 97}", f"t{j % 5}"] for j in range(1, 9)] for i in range(400)]
    y = [[str(j % 3) for j in range(1, 9)] for _ in X]
    tagger = SequenceTagger(features=Templates(), C=0.1).fit(X, y)
    expected = tagger.predict(X)
    fresh = pickle.loads(pickle.dumps(tagger))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda i: fresh.predict(X[i : i + 7]), range(0, len(X), 7)))
    assert [labels for batch in found for labels in batch] == expected
