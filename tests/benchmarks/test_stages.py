"""Stages of an experiment are measured once, however often it is interrupted, unless its sources change."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import machine, stages
from benchmarks.stages import Stages, forget


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(machine, "RESULTS", tmp_path)
    monkeypatch.setattr(stages, "full_name", lambda name: name)
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, sources: str | None, *, until: str = "") -> list[str]:
    """The stages that a run measures with these sources, up to one that is interrupted."""
    monkeypatch.setattr(stages, "measured_with", lambda name: {"commit": "0", "sources": sources})
    measured: list[str] = []

    def one(stage: str) -> tuple[str, np.ndarray]:
        if stage == until:
            raise KeyboardInterrupt
        measured.append(stage)
        return f"{stage} of {sources}", np.array([0.1, 0.2])

    kept = Stages("made-up")
    try:
        for stage in "abc":
            name, numbers = kept.measure(stage, lambda stage=stage: one(stage))  # type: ignore[misc]
            assert name == f"{stage} of {sources}"
            assert numbers.tolist() == [0.1, 0.2]
    except KeyboardInterrupt:
        pass
    return measured


def test_an_interrupted_run_goes_on_behind_its_last_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, "old", until="b") == ["a"]
    assert run(monkeypatch, "old", until="c") == ["b"]
    assert run(monkeypatch, "old") == ["c"]


def test_a_complete_run_starts_anew_and_leaves_no_file(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    assert run(monkeypatch, "old") == ["a", "b", "c"]
    forget("made-up")
    assert not list(folder.iterdir())
    assert run(monkeypatch, "old") == ["a", "b", "c"]


def test_a_stage_of_other_sources_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, "old", until="c") == ["a", "b"]
    assert run(monkeypatch, "new", until="b") == ["a"]
    assert run(monkeypatch, "new") == ["b", "c"]


def test_nothing_is_kept_where_the_sources_are_not_known(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    assert run(monkeypatch, None, until="c") == ["a", "b"]
    assert not list(folder.iterdir())
    assert run(monkeypatch, None) == ["a", "b", "c"]
