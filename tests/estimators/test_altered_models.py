"""Models whose checksum is right and whose fields are not: `load` refuses them in one sentence, or what it loads works.

The fields are those of a saved model of every estimator. Each is replaced by values of every type that JSON has.
"""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from margrave import MargraveError, load
from margrave.estimators.files import SavedModel
from margrave.files import model as model_file
from margrave.files.stored import import_modules
from tests.estimators.options import cases
from tests.references.headers import VALUES, altered, places

DEFAULTS = {name.removesuffix("()"): case for name, case in cases().items() if name.endswith("()")}


def test_every_estimator_has_a_case() -> None:
    import_modules("margrave.estimators")
    own = {name for name, kind in SavedModel.estimators.items() if kind.__module__.startswith("margrave.")}
    assert own <= set(DEFAULTS)


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_field_of_another_type_is_refused_in_one_sentence_or_does_no_harm(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda file: None)
    case, path = DEFAULTS[name], tmp_path / "model"
    heads = {key: value for key, value in case.more.items() if key == "heads"}
    wrong = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        case.fit().save(path, {"by": ["me"]})
        header, arrays = model_file.read(path)
        for at in places(header):
            for value in VALUES:
                if not at and not isinstance(value, dict):
                    continue  # A header is an object, or there is none.
                where = f"{'.'.join(map(str, at))} = {str(value)[:40]}"
                model_file.write(path, altered(header, at, value), arrays)
                try:
                    model = load(path)
                    model.predict(case.X, **heads)
                    model.save(tmp_path / "again")
                    repr(model.estimator())
                except MargraveError as error:
                    said = str(error)
                    if "\n" in said or not said.endswith((".", ")")) or len(said) > 600:
                        wrong.append(f"{where}: {said}")
                except Exception as error:
                    wrong.append(f"{where}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)
