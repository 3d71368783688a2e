"""Templates: every attribute is the one that the definition gives, at every token, and nothing else."""

import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margrave.errors import DataError, MargraveError
from margrave.features import ArcTemplates, SpanTemplates
from margrave.features.templates import Templates, default_templates, read_templates

SENTENCE = [["The", "DT"], ["dog", "NN"], ["barks", "VBZ"]]

FUNCTIONS = ["", ".lower", ".digits", ".shape", ".short_shape", ".prefix1", ".prefix4", ".suffix2", ".suffix9"]

terms = st.builds("{}[{}]{}".format, st.integers(0, 2), st.integers(-4, 4), st.sampled_from(FUNCTIONS))
templates = st.sampled_from(["begin", "end"]) | st.lists(terms, min_size=1, max_size=3).map("|".join)
sentences = st.lists(st.lists(st.text(max_size=6), min_size=3, max_size=4), max_size=6)


def one(template: str, word: str) -> list[str]:
    """The attributes of a sentence of one word."""
    return Templates([template]).attributes([[word]])[0]


def by_definition(template: str, rows: list[list[str]], t: int) -> list[str]:
    """The attribute of one template at one token, written term by term from the definition."""
    if template in ("begin", "end"):
        return [template] if t == (0 if template == "begin" else len(rows) - 1) else []
    values = []
    for term in template.split("|"):
        place, _, function = term.partition(".")
        column, offset = place.removesuffix("]").split("[")
        where = t + int(offset)
        if not 0 <= where < len(rows):
            return []
        value = rows[where][int(column)]
        if function:
            result = one(f"0[0].{function}", value)
            if not result:
                return []
            value = result[0].partition("=")[2]
        values.append(value)
    return [template + "=" + "|".join(values)]


@settings(deadline=None)
@given(texts=st.lists(templates, min_size=1, max_size=5, unique=True), rows=sentences)
def test_attributes_are_those_of_the_definition_in_the_order_of_the_templates(
    texts: list[str], rows: list[list[str]]
) -> None:
    expected = [[a for text in texts for a in by_definition(text, rows, t)] for t in range(len(rows))]
    assert Templates(texts).attributes(rows) == expected


def test_attributes_are_stored_in_models_and_never_change() -> None:
    made = Templates(["begin", "0[-1]|0[0]", "1[0]|1[1]", "0[1].suffix2", "0[2]", "0[-1].lower|1[0]", "end"])
    assert made.attributes(SENTENCE) == [
        ["begin", "1[0]|1[1]=DT|NN", "0[1].suffix2=og", "0[2]=barks"],
        ["0[-1]|0[0]=The|dog", "1[0]|1[1]=NN|VBZ", "0[1].suffix2=ks", "0[-1].lower|1[0]=the|NN"],
        ["0[-1]|0[0]=dog|barks", "0[-1].lower|1[0]=dog|VBZ", "end"],
    ]


@pytest.mark.parametrize(
    ("function", "word", "value"),
    [
        ("lower", "McDonald", "mcdonald"),
        ("lower", "ÉTÉ", "été"),
        ("digits", "1,988.5km", "0,000.0km"),
        ("digits", "dog", "dog"),
        ("shape", "McX-12.", "XxX-dd."),
        ("shape", "Été日本", "Xxxxx"),
        ("shape", "", ""),
        ("short_shape", "McDonald-12.", "XxXx-d."),
        ("short_shape", "--...", "-."),
        ("prefix1", "dog", "d"),
        ("prefix3", "dog", "dog"),
        ("prefix4", "dog", None),
        ("prefix9", "unassailable", "unassaila"),
        ("suffix1", "dog", "g"),
        ("suffix3", "dog", "dog"),
        ("suffix4", "dog", None),
        ("suffix9", "unassailable", "ssailable"),
        ("suffix1", "", None),
    ],
)
def test_functions_of_a_word(function: str, word: str, value: str | None) -> None:
    expected = [] if value is None else [f"0[0].{function}={value}"]
    assert one(f"0[0].{function}", word) == expected


def test_a_sentence_of_one_token_begins_and_ends_there() -> None:
    assert Templates(["begin", "0[0]", "end"]).attributes([["dog"]]) == [["begin", "0[0]=dog", "end"]]


def test_an_empty_sentence_has_no_tokens_and_an_empty_cell_is_a_value() -> None:
    assert Templates(["begin", "0[0]"]).attributes([]) == []
    assert one("0[0]", "") == ["0[0]="]


def test_offsets_far_outside_of_the_sentence_give_nothing() -> None:
    assert Templates(["0[-9999]", "0[9999]", "0[3]", "0[-3]"]).attributes(SENTENCE) == [[], [], []]


def test_n_columns_is_the_smallest_number_that_works() -> None:
    assert Templates(["begin", "end"]).n_columns == 0
    assert Templates(["0[0]"]).n_columns == 1
    made = Templates(["0[0]", "2[5].lower|1[0]", "end"])
    assert made.n_columns == 3
    assert made.attributes([["a", "b", "c"], ["a", "b", "c", "more"]])
    with pytest.raises(MargraveError):
        made.attributes([["a", "b"]])


def test_a_short_row_is_refused_with_the_template_and_the_token() -> None:
    with pytest.raises(MargraveError) as error:
        Templates(["0[0]", "1[-1]|1[0]"]).attributes([["The", "DT"], ["dog"], []])
    expected = "template '1[-1]|1[0]' needs 2 columns, but token 2 of the sentence, ['dog'], has 1."
    assert str(error.value) == expected


def test_words_instead_of_rows_are_refused() -> None:
    with pytest.raises(MargraveError, match=r"^a token is a sequence of columns, not a string"):
        Templates(["0[0]"]).attributes(["the", "dog"])


@pytest.mark.parametrize(
    "text",
    [
        *("", "|", "0", "0[]", "0[0", "[0]", "a[0]", "-1[0]", "0[a]", "0[+1]", "0[01]", "00[0]", "0[-0]", "0[٣]"),
        *("0[0]|", "|0[0]", "0[0]||0[1]", "0[0] ", "0[0] | 0[1]", "0[0]\n", "0[99999]", "99999[0]"),
        *("0[0].", "0[0].low-er", "0[0].lower.shape", "begin|0[0]", "Begin"),
    ],
)
def test_a_bad_template_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(MargraveError) as error:
        Templates(["0[0]", text])
    expected = f"bad template {text!r}: expected begin, end, or terms like 0[-1] or 0[0].lower joined by |."
    assert str(error.value) == expected


@pytest.mark.parametrize(("name", "near"), [("lowr", "lower"), ("prefix0", "prefix"), ("suffix10", "suffix1")])
def test_an_unknown_function_is_refused_and_the_nearest_named(name: str, near: str) -> None:
    with pytest.raises(MargraveError, match=rf"^unknown template function '{name}'; did you mean '{near}"):
        Templates([f"0[0]|0[0].{name}"])


def test_a_template_given_twice_and_no_template_are_refused() -> None:
    with pytest.raises(MargraveError, match=r"^template '0\[0\]' is given twice\.$"):
        Templates(["0[0]", "end", "0[0]"])
    with pytest.raises(MargraveError, match=r"^no templates: at least one is needed\.$"):
        Templates([])


def test_templates_survive_as_texts_and_in_pickles() -> None:
    made = default_templates(2)
    for copy in (Templates(made.templates), pickle.loads(pickle.dumps(made))):
        assert copy.templates == made.templates
        assert copy.attributes(SENTENCE) == made.attributes(SENTENCE)


def test_the_default_templates_look_at_words_and_every_other_column() -> None:
    words = [
        *("0[-2]", "0[-1]", "0[0]", "0[1]", "0[2]", "0[-1]|0[0]", "0[0]|0[1]", "0[0].lower"),
        *("0[0].prefix2", "0[0].prefix3", "0[0].prefix4"),
        *("0[0].suffix1", "0[0].suffix2", "0[0].suffix3", "0[0].suffix4"),
        *("0[-1].shape", "0[0].shape", "0[1].shape", "0[0].short_shape"),
    ]
    tags = [
        *("1[-2]", "1[-1]", "1[0]", "1[1]", "1[2]"),
        *("1[-2]|1[-1]", "1[-1]|1[0]", "1[0]|1[1]", "1[1]|1[2]"),
        *("1[-2]|1[-1]|1[0]", "1[-1]|1[0]|1[1]", "1[0]|1[1]|1[2]"),
    ]
    assert default_templates(1).templates == (*words, "begin", "end")
    assert default_templates(2).templates == (*words, *tags, "begin", "end")
    third = [tag.replace("1[", "2[") for tag in tags]
    assert default_templates(3).templates == (*words, *tags, *third, "begin", "end")
    for n_columns in (1, 2, 3):
        assert default_templates(n_columns).n_columns == n_columns


def test_default_templates_need_a_column() -> None:
    with pytest.raises(MargraveError, match=r"^templates need at least 1 column, which is the word, and not 0\.$"):
        default_templates(0)


def test_a_file_has_one_template_a_line_with_blanks_and_comments(tmp_path: Path) -> None:
    path = tmp_path / "templates.txt"
    path.write_bytes("\ufeff# words: à la carte\n\n0[-1]|0[0]\r\n  0[0].lower\t# lower case\n   \nend".encode())
    assert read_templates(path).templates == ("0[-1]|0[0]", "0[0].lower", "end")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"0[0]\n\n0[0\n", ", line 3: bad template '0[0': expected begin, end, or terms"),
        (b"# all\n0[0].lowr\n", ", line 2: unknown template function 'lowr'; did you mean 'lower'?"),
        (b"0[0]\nend\n0[0] # again\n", ", line 3: template '0[0]' is on line 1 already."),
        (b"# nothing\n\n", ": no templates: at least one is needed."),
        (b"0[0]\n\xff\n", ": not a text file in UTF-8."),
    ],
)
def test_a_bad_file_is_refused_with_its_name_and_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "templates.txt"
    path.write_bytes(content)
    with pytest.raises(DataError) as error:
        read_templates(path)
    assert str(error.value).startswith(f"{path}{message}")


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r": cannot be read: no such file or directory\.$"):
        read_templates(tmp_path / "missing")
    with pytest.raises(DataError, match=r": cannot be read: "):
        read_templates(tmp_path)


@pytest.mark.parametrize(
    "name, near",
    [
        ("istitle", None),
        ("isdigit", "digits"),
        ("capital", None),
        ("lowr", "lower"),
        ("sufix3", "suffix3"),
        ("shap", "shape"),
    ],
)
def test_only_a_function_of_a_similar_name_is_suggested(name: str, near: str | None) -> None:
    for make, template in (
        (Templates, f"0[0].{name}"),
        (SpanTemplates, f"first[0].{name}"),
        (ArcTemplates, f"h[0].{name}"),
    ):
        with pytest.raises(MargraveError, match="unknown template function") as error:
            make([template])
        assert ("did you mean" in str(error.value)) == (near is not None)
        assert near is None or f"did you mean '{near}'" in str(error.value)
