"""Model files whose header was changed behind a right checksum: the parts of a model have their types and sizes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from margrave.errors import MargraveError
from margrave.features.sequences import Sequences
from margrave.features.tfidf import TfIdf
from margrave.files import model as model_file
from margrave.maps.chain import ChainMap
from margrave.maps.segments import SegmentMap
from margrave.room import TooLargeError, room_of_file
from tests.estimators import options


@pytest.mark.parametrize("levels", [101, 900])
@pytest.mark.parametrize("pair", ["[]", '{"a":}'], ids=["lists", "objects"])
def test_a_header_does_not_nest_deeper_than_the_stack(levels: int, pair: str, tmp_path: Path) -> None:
    deep: Any = 0
    for _ in range(levels):
        deep = [deep] if pair == "[]" else {"a": deep}
    with pytest.raises(MargraveError, match="nests deeper than 100 levels"):
        model_file.write(tmp_path / "file", {"metadata": deep}, {})
    text = '{"format":4,"header":{"a":' + pair[:-1] * levels + "0" + pair[-1] * levels + "}}"
    with pytest.raises(MargraveError, match="damaged: Margrave's header nests deeper than 100 levels"):
        model_file._header("file", text)


SEQUENCES: dict[str, Callable[[], dict[str, Any]]] = {
    "letters are missing": lambda: {"values": {"a": ("A",)}, "single": True},
    "letters are a number": lambda: {"values": {"letters": 3}, "single": True},
    "a letter is a number": lambda: {"values": {"letters": ("A", 1.5)}, "single": True},
    "a letter is a list": lambda: {"values": {"letters": ("A", [])}, "single": True},
    "a letter is there twice": lambda: {"values": {"letters": ("A", "A")}, "single": True},
    "a name is a number": lambda: {"values": {"letters": ("A",), 1: ("A",)}, "single": True},
    "there are too many numbers": lambda: {"values": {"letters": ("A",), "b": 2**40}, "single": True},
    "there are no columns": lambda: {"values": [], "single": True},
    "single is a number": lambda: {"values": {"letters": ("A",)}, "single": 1},
}


@pytest.mark.parametrize("what", SEQUENCES)
def test_the_columns_of_sequences_are_checked(what: str) -> None:
    with pytest.raises(MargraveError):
        Sequences().restore(SEQUENCES[what]())


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_the_numbers_of_words_are_finite(number: float) -> None:
    with pytest.raises(MargraveError, match="must be finite"):
        TfIdf().restore({"words": ["a", "b"], "idf": np.array([1.0, number])})


def test_the_words_of_texts_are_distinct() -> None:
    with pytest.raises(MargraveError, match="must be distinct"):
        TfIdf().restore({"words": ["a", "a"], "idf": np.ones(2)})


@pytest.mark.parametrize("numbers", [[-1, 1, 2], [0, 0, 1], [0, 2, -1], [0, -2, 1], [2**62, 0, 1]])
def test_every_number_of_a_weight_is_there_once(numbers: list[int]) -> None:
    stored = np.array(numbers, dtype=np.int64)
    with pytest.raises(MargraveError, match="in any order"):
        ChainMap().restore({"gram_weight": stored, "edges": None})
    with pytest.raises(MargraveError, match="in any order"):
        SegmentMap(templates=None).restore({"pair_weight": stored, "spans": None})
    ChainMap().restore({"gram_weight": np.array([2, -1, 0, 1]), "edges": None})


def test_an_index_of_support_inputs_takes_no_more_than_there_is_room_for() -> None:
    name = "HierarchicalMultiLabelClassifier(taxonomy='.', kernel=Kernel)"
    kernel = options.cases()[name].fit().map_.table
    state = kernel.state()
    index = state["support"]["index"].copy()
    index[-1] = 2**31 - 1
    state = {**state, "support": {**state["support"], "index": index}}
    with room_of_file(100), pytest.raises(TooLargeError, match="index of its support inputs"):
        kernel.copied().restore(state)
