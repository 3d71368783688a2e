"""Messages: as text they name parameters of Python, and their parts say which settings these are."""

import pickle

import pytest

from margrave.errors import DataError, MargraveError, Message, Setting, quoted, setting, shortened, unknown


def as_options(named: Setting) -> str:
    """A setting as a command line might write it."""
    return f"--{named.name} {'|'.join(map(str, named.values))}"


def test_a_message_is_the_text_that_names_parameters() -> None:
    error = MargraveError("use ", setting(learner=("eg", "sgd")), ", or ", setting(slack=1), ".")
    assert str(error) == error.message == "use learner='eg' or 'sgd', or slack=1."
    assert error.message.written(as_options) == "use --learner eg|sgd, or --slack 1."


def test_settings_survive_where_an_error_is_told_again() -> None:
    inner = MargraveError("use ", setting(loss="hinge"), ".")
    outer = DataError("a.conll", 3, "in short: ", inner.message)
    assert str(outer) == "a.conll, line 3: in short: use loss='hinge'."
    assert outer.message.written(as_options) == "a.conll, line 3: in short: use --loss hinge."


def test_a_message_without_settings_stays_as_it_is() -> None:
    assert Message("no settings: x=1").written(as_options) == "no settings: x=1"


def test_a_message_can_be_sent_to_another_process() -> None:
    error = pickle.loads(pickle.dumps(MargraveError("use ", setting(loss="hinge"), ".")))
    assert error.message.written(as_options) == "use --loss hinge."


@pytest.mark.parametrize("length", [80, 81, 10**6])
def test_a_quote_is_cut_after_eighty_characters(length: int) -> None:
    text = "a" * length
    assert quoted(text) == (f"'{text}'" if length <= 80 else f"'{'a' * 80}...'")
    assert len(str(unknown("learner", text, ["eg"]))) < 130


@pytest.mark.parametrize("text", ["a\nb", "a\r\x1b[31m", "\u2028" * 100, "\ud800", "\x85" * 10**6])
def test_what_is_shortened_is_one_line_of_bounded_length(text: str) -> None:
    assert shortened(text).isprintable() and len(shortened(text)) <= 80
