"""A structure, a learner, an estimator and a task from outside of the package work and keep all contracts."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from margrave import SequenceTagger, load
from margrave.learners import learner_named
from margrave.structures import Structure
from margrave.testing import check_estimator, check_learner, check_structure
from tests.testing.outside.estimator import Segmenter, SegmentWords
from tests.testing.outside.learner import FrankWolfe
from tests.testing.outside.structure import Segments, divisions

ROOT = Path(__file__).resolve().parents[2]
TEXTS = ["York", "New York", "New York is big", "I like New York"]
DIVISIONS = [[(0, 1)], [(0, 2)], [(0, 2), (2, 3), (3, 4)], [(0, 1), (1, 2), (2, 4)]]


def wrong_segments(y: Any, other: Any) -> float:
    return float(len(set(other) - set(y)))


def test_a_structure() -> None:
    X = SegmentWords().transform(TEXTS)
    every = [divisions(len(text.split())) for text in TEXTS]
    check_structure(Segments(), X, DIVISIONS, every, cost=wrong_segments)
    assert Structure.registered["outside-segments"] is Segments


def test_a_learner(tmp_path: Path) -> None:
    check_learner(FrankWolfe(), dual_rises=True)
    assert learner_named("outside-frank-wolfe") == FrankWolfe()
    tagger = SequenceTagger(learner=FrankWolfe(), tol=0.1).fit([[["a"], ["b"]]], [["A", "B"]])
    tagger.save(tmp_path / "model")
    assert load(tmp_path / "model").learner == FrankWolfe()


def test_an_estimator() -> None:
    check_estimator(Segmenter(C=10.0), TEXTS, DIVISIONS, min_score=1.0)


def test_a_task(tmp_path: Path) -> None:
    """In processes of their own, because a task that is registered here would be one for all tests of the command."""
    data, model = tmp_path / "texts.txt", tmp_path / "segments.margrave"
    data.write_text("York\nNew York\nNew York | is | big\nI | like | New York\n")
    train = ("train", "--task", "segment", data, "-o", model, "-C", "10", "--dev", data, "--json")
    report = json.loads(python("-m", "tests.testing.outside.task", *train))
    assert report["n_texts"] == 4 and report["dev"] == {"whole_texts": 1.0}

    predicted, evaluated, shown, inspected, own_help, help_text, refused = commands(
        ["predict", model, data],
        ["evaluate", model, data, "--json"],
        ["evaluate", model, data],
        ["inspect", model, "--top", "2", "--json"],
        ["train", "--task", "segment", "--help"],
        ["train", "--help"],
        ["train", "--task", "tagging", data, "-o", model, "--fold-case"],
    )
    assert predicted == data.read_text()
    assert json.loads(evaluated)["whole_texts"] == 1.0 and "100.00 %" in shown
    assert json.loads(inspected)["top"]["segment"]
    assert "--fold-case" in own_help and "the segments of each text" in help_text
    assert refused == "margrave: --fold-case applies to --task segment only, and this is --task tagging.\n"


def commands(*calls: list[Any]) -> list[str]:
    """What each command prints, in one process that has defined the task."""
    script = (
        "import json, sys, tests.testing.outside.task\n"
        "from typer.testing import CliRunner\n"
        "from margrave.cli import app\n"
        "print(json.dumps([CliRunner().invoke(app, call).output for call in json.loads(sys.argv[1])]))\n"
    )
    found: list[str] = json.loads(python("-c", script, json.dumps(calls, default=str)))
    return found


def python(*arguments: Any) -> str:
    """What a Python process prints."""
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    call, environment = [sys.executable, *map(str, arguments)], {**os.environ, "PYTHONPATH": path}
    return subprocess.run(call, capture_output=True, text=True, check=True, env=environment).stdout
