"""Models that the command line of Margrave 0.1 wrote are applied and described as they were then."""

import json
from pathlib import Path
from typing import Any

import pytest

import margrave
from tests.references.commands import done

FOLDER = Path(__file__).parent.parent / "files" / "format1"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())["command_line"]


@pytest.mark.parametrize("name", EXPECTED)
def test_an_old_model_predicts_the_same(name: str, tmp_path: Path) -> None:
    model = FOLDER / f"{name}.margrave"
    content = EXPECTED[name]["input"].encode()
    assert done("predict", model, "-", "--marginals", stdin=content) == EXPECTED[name]["predict"]
    margrave.load(model).save(tmp_path / "again")  # in the format of today
    assert done("predict", tmp_path / "again", "-", "--marginals", stdin=content) == EXPECTED[name]["predict"]


@pytest.mark.parametrize("name", EXPECTED)
def test_an_old_model_is_described_the_same(name: str) -> None:
    report = json.loads(done("inspect", FOLDER / f"{name}.margrave", "--json"))
    assert EXPECTED[name]["inspect"].items() <= report.items()
