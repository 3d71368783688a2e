"""Odd values as X, y, extras and parameters of any estimator: an answer, or one sentence that refuses them."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, eye_array

from margrave import MargraveError
from margrave.data import Lattice
from margrave.data.candidates import Candidates
from margrave.learners import Observer
from tests.estimators.registry import ENTRIES

NOTHING = {"None": None, "a number": 5, "a type": bool, "an object": object(), "an array without axes": np.array("")}
ODD = {
    **NOTHING,
    "a list of a list": [["a"]],
    "a dictionary": {"a": 1},
    "a sparse matrix": csr_array(([np.nan], ([0], [0])), (2, 2)),
    "a matrix of coordinates": eye_array(3, format="coo"),
    "an array": np.array([1.0, np.nan]),
    "an array of objects": np.array([None, 1], dtype=object),
    "a structured array": np.zeros(3, [("", int)]),
    "a cube": np.zeros((2, 2, 2)),
    "an empty array": np.zeros(0),
    "a number too large for a float": 10**400,
}
PREDICTIONS = ("predict", "predict_marginals", "score", "log_probability")


@pytest.fixture(autouse=True)
def few_iterations() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that two iterations are too few
        yield


def answered(work: Callable[[], Any]) -> bool:
    """Whether there was an answer; any error must be one sentence."""
    try:
        work()
    except MargraveError as error:
        assert "\n" not in str(error) and 0 < len(str(error)) < 2000
        return False
    return True


def estimator(name: str) -> Any:
    model = ENTRIES[name].make()
    return model.set_params(max_iter=2)


def put(values: Any, path: tuple[int, ...], new: Any) -> Any:
    """Lists and tuples with another value at a place."""
    if not path:
        return new
    copied = list(values)
    copied[path[0]] = put(copied[path[0]], path[1:], new)
    return Candidates(copied) if isinstance(values, Candidates) else type(values)(copied)


def places(values: Any, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """The places of examples and of what is first in each level of the second example."""
    yield path
    if isinstance(values, list | tuple) and len(values) and not isinstance(values, Lattice):
        k = 1 if len(values) > 1 and not path else 0
        yield from places(values[k], (*path, k))


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("which", ["X", "y"])
def test_odd_values_in_examples_and_outputs_are_refused_in_one_sentence(name: str, which: str) -> None:
    entry = ENTRIES[name]
    fitted = estimator(name).fit(entry.X, entry.y, **entry.more)
    for path in places(getattr(entry, which)):
        for odd in ODD.values():
            data = {"X": entry.X, "y": entry.y, which: put(getattr(entry, which), path, odd)}
            answered(lambda data=data: estimator(name).fit(data["X"], data["y"], **entry.more))  # type: ignore[misc]
            for verb in PREDICTIONS:
                given = [data["X"]] if verb.startswith("predict") else [data["X"], data["y"]]
                answered(lambda verb=verb, given=given: getattr(fitted, verb)(*given, **entry.more))  # type: ignore[misc]


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("nothing", NOTHING)
def test_what_holds_no_examples_is_refused(name: str, nothing: str) -> None:
    entry, value = ENTRIES[name], NOTHING[nothing]
    if not (value is None and name == "ConstituencyParser"):  # which takes the sentences from the trees
        assert not answered(lambda: estimator(name).fit(value, entry.y, **entry.more))
    assert not answered(lambda: estimator(name).fit(entry.X, value, **entry.more))


@pytest.mark.parametrize("name", ENTRIES)
def test_odd_values_as_parameters_are_refused_in_one_sentence(name: str) -> None:
    entry = ENTRIES[name]
    for parameter in estimator(name).get_params(deep=False):
        for odd in ODD.values():
            model = estimator(name).set_params(**{parameter: odd})
            answered(lambda model=model: model.fit(entry.X, entry.y, **entry.more))  # type: ignore[misc]


@pytest.mark.parametrize("name", ENTRIES)
def test_odd_values_as_extras_and_observers_are_refused_in_one_sentence(name: str) -> None:
    entry = ENTRIES[name]
    extras = {extra.name for extra in type(estimator(name)).extras if "fit" in extra.methods}
    for extra in sorted({*extras, "sample_weight", "observers", "dev"}):
        for odd in ODD.values():
            more = {**entry.more, extra: odd}
            answered(lambda more=more: estimator(name).fit(entry.X, entry.y, **more))  # type: ignore[misc]


@pytest.mark.parametrize("observers", [bool, object(), [None], eye_array(3, format="coo"), Observer])
def test_what_is_no_observer_is_refused_before_the_run(observers: Any) -> None:
    entry = ENTRIES["SequenceTagger"]
    with pytest.raises(MargraveError, match=r"^observers must be a list of objects of"):
        estimator("SequenceTagger").fit(entry.X, entry.y, observers=observers)


@pytest.mark.parametrize("name", ENTRIES)
def test_every_model_can_be_left_without_features(name: str) -> None:
    entry = ENTRIES[name]
    model = estimator(name).fit(entry.X, entry.y, **entry.more).without_features()
    assert model.features_ is None and model.coef_.size


@pytest.mark.parametrize("name", ["SequenceTagger", "SegmentTagger", "GraphLabeler", "MultiLabelClassifier"])
def test_a_label_that_is_neither_text_nor_number_is_named_with_its_example(name: str) -> None:
    entry = ENTRIES[name]
    with pytest.raises(MargraveError, match=r"^example 1\b.*\['odd'\]"):
        estimator(name).fit(entry.X, put(entry.y, (1, 0), ["odd"]), **entry.more)
