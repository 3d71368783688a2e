"""Files that Margrave 0.1 wrote open and predict the same: one small file per estimator and kind of features.

`expected.json` has what the code that wrote them answered.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from margrave import load

FOLDER = Path(__file__).parent / "format1"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())


def plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def marginals(model: Any, X: Any, **more: Any) -> list[Any]:
    found = model.predict_marginals(X, **more)
    return [plain(each) for each in found]


@pytest.mark.parametrize("name", EXPECTED["library"])
def test_a_file_of_the_library_predicts_the_same(name: str, tmp_path: Path) -> None:
    expected = EXPECTED["library"][name]
    more = {"edges": expected["edges"]} if "edges" in expected else {}
    model = load(FOLDER / f"{name}.margrave")
    assert type(model).__name__ == expected["estimator"]
    assert plain(model.predict(expected["X"], **more)) == expected["predict"]
    for found, right in zip(marginals(model, expected["X"], **more), expected["marginals"], strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-15)
    model.save(tmp_path / "again")  # in the format of today
    again = load(tmp_path / "again")
    assert plain(again.predict(expected["X"], **more)) == expected["predict"]
    assert marginals(again, expected["X"], **more) == marginals(model, expected["X"], **more)
    assert repr(again) == repr(model)


def test_there_is_a_file_for_every_entry() -> None:
    entries = {*EXPECTED["library"], *EXPECTED["command_line"]}
    assert entries == {path.stem for path in FOLDER.glob("*.margrave")}
