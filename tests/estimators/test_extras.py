"""What methods take besides X and y: declared once per model, in signatures, help and scikit-learn's routing."""

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import KFold, cross_validate

from margrave import DependencyParser, LinearClassifier, Reranker, SegmentTagger, SequenceTagger

X = [[["a"], ["b"]], [["b"], ["a"]]] * 4
Y = [["x", "y"], ["y", "x"]] * 4
EDGES = [[["e"], ["f"]], [["f"], ["e"]]] * 4

TAKEN: dict[tuple[Any, str], set[str]] = {
    (SequenceTagger, "fit"): {"edges"},
    (SequenceTagger, "predict"): {"edges", "allowed"},
    (SequenceTagger, "score"): {"edges"},
    (SegmentTagger, "fit"): set(),
    (SegmentTagger, "predict"): {"allowed"},
    (DependencyParser, "fit"): {"allowed"},
    (Reranker, "fit"): {"costs"},
    (Reranker, "predict"): set(),
    (LinearClassifier, "predict"): set(),
}
_SHARED = {"self", "X", "y", "sample_weight", "dev", "checkpoint", "observers"}


@pytest.mark.parametrize(("kind", "method"), TAKEN)
def test_signatures_and_help_name_what_a_method_takes(kind: Any, method: str) -> None:
    function = getattr(kind, method)
    parameters = inspect.signature(function).parameters
    assert set(parameters) - _SHARED == TAKEN[kind, method]
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in TAKEN[kind, method])
    assert all(f"{name} : " in function.__doc__ for name in TAKEN[kind, method])


def test_what_a_method_does_not_take_is_refused_by_name() -> None:
    tagger = SequenceTagger().fit(X, Y)
    with pytest.raises(TypeError, match=r"SequenceTagger.predict\(\) got an unexpected keyword argument 'edge'"):
        tagger.predict(X, edge=EDGES)
    with pytest.raises(TypeError, match=r"SequenceTagger.fit\(\) got an unexpected keyword argument 'allowed'"):
        SequenceTagger().fit(X, Y, allowed=[None] * len(X))


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_scikit_learn_routes_extras() -> None:
    """Edges alone tell the labels here, so a score of 1 says that both methods got them."""
    plain = [[["same"], ["same"]]] * len(X)
    tagger = SequenceTagger(C=10.0).set_fit_request(edges=True, sample_weight=True).set_score_request(edges=True)
    params = {"edges": EDGES, "sample_weight": np.ones(len(X))}
    assert cross_validate(tagger, plain, Y, cv=KFold(2), params=params)["test_score"].tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="edge"):
        SequenceTagger().set_fit_request(edge=True)
