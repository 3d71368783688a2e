"""Features turn raw examples into attributes, learn what the training data add, and refuse what is of another form."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer

from margrave import MargraveError
from margrave.data import NBestList
from margrave.features import ArcTemplates, Columns, NGrams, Templates, TfIdf
from tests.files.test_stored import there_and_back

ROWS = [[("the", "D"), ("dog", "N")], [("cats", "N")]]


def test_templates_learn_their_columns() -> None:
    learned = Templates().learn(ROWS)
    assert learned.columns == 2
    assert [list(sentence) for sentence in learned.transform(ROWS)] == [learned.attributes(rows) for rows in ROWS]
    assert list(learned.transform([[("a", "b", "label")]])[0]) == learned.attributes([("a", "b")])
    again = there_and_back(learned)
    assert again.templates == learned.templates and again.columns == 2
    with pytest.raises(MargraveError, match="call learn"):
        Templates(["0[0]"]).transform(ROWS)
    with pytest.raises(MargraveError, match="asks for column 3, but the rows have only columns 0 to 1"):
        Templates(["3[0]"]).learn(ROWS)
    with pytest.raises(MargraveError, match="no tokens"):
        Templates().learn([])


def test_a_label_between_the_columns_is_left_out() -> None:
    learned = Templates(["0[0]|1[0]"], label=1).learn(ROWS)
    assert list(learned.transform([[("dog", "label", "N")]])[0]) == [["0[0]|1[0]=dog|N"]]


def test_arc_templates_describe_every_arc() -> None:
    arcs = ArcTemplates(["h[0]|w[1]", "way", "w[0].suffix3|way"]).learn(ROWS)
    first, second = map(arcs.attributes, ROWS)
    assert (len(first), len(second)) == (4, 1)
    assert arcs.transform(ROWS).example_begin.tolist() == [0, 4, 5]
    assert first == [
        ["h[0]|w[1]=ROOT|D", "way=>1", "w[0].suffix3|way=the|>1"],  # the root above "the"
        ["h[0]|w[1]=dog|D", "way=<1", "w[0].suffix3|way=the|<1"],
        ["h[0]|w[1]=ROOT|N", "way=>2", "w[0].suffix3|way=dog|>2"],
        ["h[0]|w[1]=the|N", "way=>1", "w[0].suffix3|way=dog|>1"],
    ]
    assert there_and_back(arcs).attributes(ROWS[0]) == first
    built_in = ArcTemplates().learn(ROWS)
    assert "h[1]|w[1]|way" in built_in.templates
    assert len(ArcTemplates().learn([[("dog",)]]).templates) < len(built_in.templates)
    for wrong in (["x[0]"], ["h[-1]"], ["h[0].upside"], ["h[0]", "h[0]"], []):
        with pytest.raises(MargraveError, match="template"):
            ArcTemplates(wrong)


def test_tf_idf_is_that_of_scikit_learn() -> None:
    texts, new = ["the cat purrs", "the dog", "a cat and a dog and a cat"], ["dog cat zebra", ""]
    learned = TfIdf().learn(texts)
    reference = TfidfVectorizer().fit(texts)
    assert_allclose(learned.transform(new).toarray(), reference.transform(new).toarray(), rtol=1e-15)
    assert_allclose(there_and_back(learned).transform(new).toarray(), reference.transform(new).toarray(), rtol=1e-15)
    with pytest.raises(MargraveError, match="no words of two letters"):
        TfIdf().learn(["a", "b"])
    with pytest.raises(MargraveError, match="example 1: a text must be a string"):
        learned.transform(["cat", 3])
    with pytest.raises(MargraveError, match="call learn"):
        TfIdf().transform(texts)


def test_columns_that_training_did_not_have_play_no_part() -> None:
    learned = Columns().learn(csr_array(np.eye(3)))
    wider, narrower = csr_array(np.ones((2, 5))), csr_array(np.ones((1, 2)))
    assert learned.transform(wider).shape == (2, 3) and wider.shape == (2, 5)
    assert there_and_back(learned).transform(narrower).toarray().tolist() == [[1.0, 1.0, 0.0]]
    assert [each.shape for each in Columns().learn([np.eye(2)]).transform([np.ones((3, 4))])] == [(3, 2)]
    with pytest.raises(MargraveError, match="must be matrices"):
        learned.transform([["a"]])


def test_n_grams_are_those_that_tell_hypotheses_apart() -> None:
    lists: list[Any] = [NBestList(0, ["a B c", "a b d"], [{"lm": 1.0}, {}])]
    assert NGrams().transform(lists) == [[{"lm": 1.0}, {}]]
    found = NGrams(2, lowercase=True).transform(lists)[0]
    assert set(found[0]) == {"lm", "ngram:c", "ngram:b c"} and set(found[1]) == {"ngram:d", "ngram:b d"}
    assert there_and_back(NGrams(2, True)) == NGrams(2, True)
    with pytest.raises(MargraveError, match="without_features"):
        NGrams(1).transform([[{"lm": 1.0}]])
