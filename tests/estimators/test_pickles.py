"""Every model, with every option at other values than the default, can be pickled and copied."""

import copy
import pickle
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import margrave
from margrave import PathCV, Translator, load
from margrave.estimators.files import SavedModel
from margrave.estimators.model import StructuredModel
from margrave.files.stored import import_modules
from margrave.options import options_of
from margrave.testing.failures import plain
from tests.estimators.options import NOT_HERE, OF_RUNS, SETTINGS, SOURCES, cases, values_of

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

NAMES = [*cases()]
OF_PREDICTIONS = {"_last", "n_partial_", "n_unknown_"}  # which a prediction sets
FITTED = ("pruner_", "labeler_")  # models that are a part of others


@cache
def fitted(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cases()[name].fit()


def answers(name: str, model: Any) -> Any:
    more = {key: value for key, value in cases()[name].more.items() if key == "heads"}
    return plain(list(model.predict(cases()[name].X, **more)))


def assert_same(name: str, copied: Any, model: Any, folder: Path) -> None:
    """All attributes, predictions, and the bytes of the file."""
    assert type(copied) is type(model)
    assert vars(copied).keys() - OF_PREDICTIONS == vars(model).keys() - OF_PREDICTIONS
    assert np.array_equal(copied.coef_, model.coef_) and copied.coef_.dtype == model.coef_.dtype
    for attribute in ("history_", "certificate_", "stop_reason_", "n_iter_", "n_weights_", "metadata_"):
        assert getattr(copied, attribute) == getattr(model, attribute), attribute
    for attribute in FITTED:
        assert type(getattr(copied, attribute, None)) is type(getattr(model, attribute, None)), attribute
    assert answers(name, copied) == answers(name, model)
    for each, file in ((copied, "copied"), (model, "model")):
        each.save(folder / file)
    assert (folder / "copied").read_bytes() == (folder / "model").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_pickles_and_deep_copies_are_the_same_model(name: str, tmp_path: Path) -> None:
    model = fitted(name)
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), pickle.loads(pickle.dumps(model, 2))):
        assert_same(name, copied, model, tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_estimators_and_loaded_models_can_be_pickled(name: str, tmp_path: Path) -> None:
    """Before `fit`, as parallel searches do, and after `load`."""
    estimator = cases()[name].estimator
    for copied in (pickle.loads(pickle.dumps(estimator)), copy.deepcopy(estimator)):
        assert type(copied) is type(estimator) and not hasattr(copied, "coef_")
        assert copied.get_params(deep=False).keys() == estimator.get_params(deep=False).keys()
    fitted(name).save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    for copied in (pickle.loads(pickle.dumps(loaded)), copy.deepcopy(loaded)):
        assert_same(name, copied, loaded, tmp_path)


def test_every_option_of_every_estimator_has_a_case() -> None:
    import_modules("margrave.estimators")
    own = {name: kind for name, kind in SavedModel.estimators.items() if kind.__module__.startswith("margrave.")}
    assert own.keys() == SETTINGS.keys()
    for name, kind in own.items():
        for option in options_of(kind):
            if option.name in OF_RUNS or (name, option.name) in NOT_HERE:
                continue
            values = values_of(name, option.name)
            if option.name not in ("loss", "learner"):
                assert any(value is not option.default for value in values), f"{name}: {option.name}"
            for choice in option.choices:
                assert any(type(value) is type(choice) and value == choice for value in values), (name, option, choice)


def test_a_copy_shares_nothing_that_can_be_written_to() -> None:
    model = fitted("SequenceTagger()")
    copied = copy.deepcopy(model)
    before = model.coef_.copy()
    copied.coef_[:] = 7.0
    assert np.array_equal(model.coef_, before)


def test_models_with_functions_among_their_settings_can_be_copied() -> None:
    """Files refuse them, because prediction does not need them."""
    from margrave import Hinge

    case = cases()["ConstituencyParser()"]
    model = case.estimator.unfitted().set_params(loss=Hinge(cost=_sizes), learner="cutting-plane", max_iter=3)
    model.fit(case.X, case.y)
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert plain(copied.predict(case.X)) == plain(model.predict(case.X))


def _sizes(one: Any, other: Any) -> float:
    return float(one != other)


def test_a_search_can_be_pickled() -> None:
    case = cases()["ConstituencyParser()"]
    search = PathCV(case.estimator, Cs=[0.5, 1.0], cv=2).fit(case.X, case.y)
    assert plain(pickle.loads(pickle.dumps(search)).predict(case.X)) == plain(search.predict(case.X))


def test_a_translator_that_has_translated_can_be_pickled() -> None:
    model = fitted("Translator()")
    before = model.predict(SOURCES)
    copied: Translator = pickle.loads(pickle.dumps(model))
    assert copied.predict(SOURCES) == before


IMPORTS = ("pass", *(f"from margrave import {name}" for name in ("PCFG", "ConstituencyParser", "DependencyParser")))
IMPORTS += tuple(f"from margrave.estimators.models.{name} import *" for name in ("pcfg", "constituency_parser"))


@pytest.mark.parametrize("imports", IMPORTS)
def test_models_within_models_are_loaded_in_a_new_process(imports: str, tmp_path: Path) -> None:
    """Whatever was imported before."""
    names = [name for name in NAMES if any(isinstance(getattr(fitted(name), a, None), StructuredModel) for a in FITTED)]
    assert len(names) > 5
    for k, name in enumerate(names):
        fitted(name).save(tmp_path / f"{k}.margrave")
        (tmp_path / f"{k}.pickle").write_bytes(pickle.dumps(fitted(name)))
    script = f"""
{imports}
import pickle, sys
from pathlib import Path
for k in range({len(names)}):
    import margrave
    model = margrave.load(Path(sys.argv[1], f"{{k}}.margrave"))
    same = pickle.loads(Path(sys.argv[1], f"{{k}}.pickle").read_bytes())
    assert type(model.estimator()) is type(same), k
"""
    run = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert margrave.load(tmp_path / "0.margrave").saved_as
