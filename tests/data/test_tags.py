"""Tag schemes: the spans that tags stand for, and the way from one scheme to another."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margrave.data import Span, convert_tags, spans
from margrave.errors import MargraveError

SCHEMES = {"IOB1": "BI", "IOB2": "BI", "BIOES": "BIES"}

# The same spans as the schemes define their tags; some of one label stand side by side, some apart.
EXAMPLE = [Span("X", 0, 2), Span("Y", 2, 3), Span("Y", 3, 6), Span("A-B", 7, 8), Span("X", 8, 9), Span("X", 10, 12)]
WRITTEN = {
    "IOB1": "I-X I-X I-Y B-Y I-Y I-Y O I-A-B I-X O I-X I-X",
    "IOB2": "B-X I-X B-Y B-Y I-Y I-Y O B-A-B B-X O B-X I-X",
    "BIOES": "B-X E-X S-Y B-Y I-Y E-Y O S-A-B S-X O B-X E-X",
}

schemes = st.sampled_from(sorted(SCHEMES))


@st.composite
def labeled_stretches(draw: st.DrawFn) -> tuple[list[Span], int]:
    """Spans in order, side by side or apart, and the length of the sequence."""
    found: list[Span] = []
    position = 0
    for label, gap, length in draw(
        st.lists(st.tuples(st.sampled_from(["X", "Y", "Z-Z"]), st.integers(0, 2), st.integers(1, 3)), max_size=6)
    ):
        found.append(Span(label, position + gap, position + gap + length))
        position += gap + length
    return found, position + draw(st.integers(0, 2))


def random_tags(scheme: str) -> st.SearchStrategy[list[str]]:
    """Any tags of the scheme, mostly ill-formed."""
    return st.lists(st.sampled_from(["O"] + [f"{prefix}-{label}" for prefix in SCHEMES[scheme] for label in "XY"]))


def iob2(found: list[Span], length: int) -> list[str]:
    """By definition."""
    tags = ["O"] * length
    for label, start, stop in found:
        tags[start:stop] = [f"B-{label}"] + [f"I-{label}"] * (stop - start - 1)
    return tags


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_schemes_write_spans_as_they_are_defined(scheme: str) -> None:
    tags = WRITTEN[scheme].split()
    assert spans(tags, scheme) == EXAMPLE
    for target in SCHEMES:
        assert convert_tags(tags, scheme, target) == WRITTEN[target].split()


@settings(deadline=None)
@given(labeled_stretches(), schemes)
def test_spans_survive_any_scheme(stretches: tuple[list[Span], int], scheme: str) -> None:
    found, length = stretches
    tags = convert_tags(iob2(found, length), "IOB2", scheme)
    assert len(tags) == length
    assert spans(tags, scheme) == found


@settings(deadline=None)
@given(labeled_stretches(), schemes, schemes)
def test_well_formed_tags_survive_the_way_there_and_back(
    stretches: tuple[list[Span], int], source: str, target: str
) -> None:
    tags = convert_tags(iob2(*stretches), "IOB2", source)
    assert convert_tags(tags, source, source) == tags
    assert convert_tags(convert_tags(tags, source, target), target, source) == tags


@settings(deadline=None)
@given(st.data(), schemes, schemes)
def test_ill_formed_tags_become_well_formed_ones_of_the_same_spans(
    data: st.DataObject, source: str, target: str
) -> None:
    tags = data.draw(random_tags(source))
    converted = convert_tags(tags, source, target)
    assert spans(converted, target) == spans(tags, source)
    assert convert_tags(converted, target, target) == converted


@settings(deadline=None)
@given(st.data(), schemes)
def test_spans_cover_the_tags_that_are_not_o_once_and_bear_their_labels(data: st.DataObject, scheme: str) -> None:
    tags = data.draw(random_tags(scheme))
    covered = [(position, label) for label, start, stop in spans(tags, scheme) for position in range(start, stop)]
    assert covered == [(position, tag[2:]) for position, tag in enumerate(tags) if tag != "O"]


@pytest.mark.parametrize(
    ("scheme", "tags", "expected"),
    [
        ("IOB2", "O I-X", [("X", 1, 2)]),
        ("IOB2", "B-X I-Y I-Y", [("X", 0, 1), ("Y", 1, 3)]),
        ("IOB1", "O B-X I-X", [("X", 1, 3)]),
        ("BIOES", "B-X B-X", [("X", 0, 1), ("X", 1, 2)]),
        ("BIOES", "I-X I-X O", [("X", 0, 2)]),
        ("BIOES", "B-X E-X E-X", [("X", 0, 2), ("X", 2, 3)]),
        ("BIOES", "S-X I-X E-X", [("X", 0, 1), ("X", 1, 3)]),
        ("BIOES", "B-X S-X", [("X", 0, 1), ("X", 1, 2)]),
        ("BIOES", "B-X E-Y", [("X", 0, 1), ("Y", 1, 2)]),
        ("BIOES", "B-X I-X", [("X", 0, 2)]),
    ],
)
def test_ill_formed_tags_start_a_span_where_they_cannot_continue_one(
    scheme: str, tags: str, expected: list[tuple[str, int, int]]
) -> None:
    assert spans(tags.split(), scheme) == expected


def test_no_tags_have_no_spans() -> None:
    for scheme in SCHEMES:
        assert spans([], scheme) == []
        assert spans(["O", "O"], scheme) == []


@pytest.mark.parametrize(
    "tag", ["B-", "B", "", "-PER", "Q-PER", "b-PER", "o", "BPER", "BI-PER", "B_PER", " O", "E-PER"]
)
def test_malformed_tags_are_refused_with_their_position(tag: str) -> None:
    expected = f"tags[2] is {tag!r}, but tags of IOB2 are O, B-label or I-label."
    with pytest.raises(MargraveError, match=f"^{re.escape(expected)}$"):
        spans(["O", "B-PER", tag])
    with pytest.raises(MargraveError, match=f"^{re.escape(expected)}$"):
        convert_tags(["O", "B-PER", tag], "IOB2", "BIOES")


def test_the_refusal_names_all_tags_of_the_scheme() -> None:
    with pytest.raises(MargraveError, match="tags of BIOES are O, B-label, I-label, E-label or S-label"):
        spans(["Q-PER"], "BIOES")


@pytest.mark.parametrize("scheme", ["BIO", "iob2", "IOBES", ""])
def test_unknown_schemes_are_refused(scheme: str) -> None:
    for attempt in (
        lambda: spans(["O"], scheme),
        lambda: convert_tags(["O"], scheme, "IOB2"),
        lambda: convert_tags(["O"], "IOB2", scheme),
    ):
        with pytest.raises(MargraveError, match=f"^unknown tag scheme '{scheme}'"):
            attempt()
