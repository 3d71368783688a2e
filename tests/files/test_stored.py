"""Objects that write themselves into files: what goes in comes out, and a file can name registered classes only."""

import json
import subprocess
import sys
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from margrave import Hinge, Kernel, LossFamily, MargraveError, Taxonomy, load
from margrave.features.base import Features
from margrave.files.stored import pack, unpack
from margrave.learners import BCFW, CCCP, EG, Learner
from margrave.losses import Cost
from margrave.maps.base import FeatureMap
from margrave.stored import Stored
from margrave.structures import Structure


class Shape(Stored, kind="test shape"):
    """A kind of its own, for these tests."""


@dataclass
class Circle(Shape):
    name = "circle"

    radius: float = 1.0
    inner: Any = None


class Unnamed(Circle):
    """A class without a name in its own body is not registered."""


def there_and_back(value: Any) -> Any:
    arrays: dict[str, Any] = {}
    stored = json.loads(json.dumps(pack(value, arrays, "place"), allow_nan=False))
    return unpack(stored, arrays)


scalars = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text()
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(value=values)
def test_plain_values_come_back(value: Any) -> None:
    assert there_and_back(value) == value
    assert repr(there_and_back(value)) == repr(value)


@given(length=st.integers(0, 40), seed=st.integers(0, 2**32 - 1), share=st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_arrays_come_back_whatever_their_blanks(length: int, seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    for blank, dtype in ((0, np.float64), (-1, np.int64), (0, np.int64)):
        array = np.where(rng.random(length) < share, rng.integers(-9, 9, length), blank).astype(dtype)
        found = there_and_back({"a": array, 0: array, "0": array})
        for back in found.values():
            assert back.dtype == array.dtype
            assert_array_equal(back, array)


@pytest.mark.parametrize(
    "value",
    [
        Circle(inf, Circle(2.0)),
        LossFamily(2.0, 0.5),
        Hinge(cost={"a": 2.0}, rescale="slack", slack=2),
        EG(rate=0.25),
        CCCP(inner=BCFW()),
        Kernel("rbf", gamma=0.5),
        Taxonomy({"a": "b", "c": ["b", "d"]}),
        {("a", "b"), ("c", "d")},
    ],
    ids=lambda value: type(value).__name__,
)
def test_objects_come_back(value: Any) -> None:
    back = there_and_back(value)
    assert type(back) is type(value)
    assert repr(back) == repr(value)


def test_a_name_belongs_to_one_class() -> None:
    with pytest.raises(TypeError, match=r"the test shape 'circle' is already .*Circle: give Other another name"):
        type("Other", (Shape,), {"name": "circle"})
    with pytest.raises(TypeError, match="two kinds"):

        class Again(Stored, kind="test shape"):
            pass

    assert Shape.registered == {"circle": Circle}


def test_a_definition_that_runs_again_replaces_itself() -> None:
    def define() -> type:
        class Square(Shape):
            name = "square"

        return Square

    first, second = define(), define()
    assert Shape.registered.pop("square") is second is not first


def test_what_a_file_cannot_name_is_refused() -> None:
    for value, message in (
        (Unnamed(), "place is a Unnamed, which a file cannot name: define `name`"),
        (print, r"a function cannot be stored in a file \(place\)"),
        ([object()], "object, which a file cannot store"),
    ):
        with pytest.raises(MargraveError, match=message):
            there_and_back(value)


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({"kind": "test shape", "name": "os.system", "settings": {}, "state": {}}, "does not know"),
        ({"kind": "os", "name": "system", "settings": {}, "state": {}}, "not valid in a model file"),
        ({"kind": "test shape", "name": "circle", "settings": {"color": 1}, "state": {}}, "no setting 'color'"),
        ({"kind": "test shape", "name": "circle", "settings": {"__class__": 1}, "state": {}}, "no setting"),
        ({"kind": "test shape", "name": "circle", "settings": {}, "state": {"more": 1}}, "has no learned state"),
        ({"kind": "number", "value": "__import__('os')"}, "not valid in a model file"),
        ({"unknown": 1}, "not valid in a model file"),
    ],
)
def test_a_file_can_say_nothing_else(stored: Any, message: str) -> None:
    with pytest.raises(MargraveError, match=message):
        unpack(stored, {})


def test_every_kind_has_classes_that_are_found_without_a_table() -> None:
    for kind, few in (
        (Learner, "eg"),
        (LossFamily, "log"),
        (Structure, "chain"),
        (FeatureMap, "table"),
        (Features, "tf-idf"),
        (Cost, "tree"),
    ):
        assert few in kind.registered
        for name, found in kind.registered.items():
            assert vars(found)["name"] == name


def test_loading_imports_no_module_that_a_file_names(tmp_path: Path) -> None:
    """A learner of the user's own leaves its name; reading the file elsewhere imports nothing of theirs."""
    (tmp_path / "theirs.py").write_text(
        "from dataclasses import dataclass\nfrom margrave.learners import LBFGS\n"
        "print('imported')\n\n@dataclass\nclass Theirs(LBFGS):\n    name = 'theirs'\n"
    )
    make = (
        "from theirs import Theirs\nfrom margrave import SequenceTagger\n"
        "SequenceTagger(learner=Theirs()).fit([[['a'], ['b']]], [['x', 'y']]).save('model')"
    )
    subprocess.run([sys.executable, "-c", make], cwd=tmp_path, check=True, capture_output=True)
    read = "import margrave\nm = margrave.load('model')\nprint(m.learner, m.predict([[['a']]]))"
    done = subprocess.run([sys.executable, "-c", read], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout == "theirs [['x']]\n"
    assert load(tmp_path / "model").learner == "theirs"
