"""A file makes us allocate only what it contains, or what the user allows: every bomb is refused in one sentence."""

import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from margrave import GraphLabeler, MargraveError, SequenceTagger, Taxonomy, load
from margrave.datasets import read_hierarchy, read_taxonomy
from margrave.estimators import MultiLabelClassifier
from margrave.features import Templates
from margrave.files import model as model_file
from margrave.room import VARIABLE, Room, room_of_file, take_room
from margrave.translation import SynchronousDecoder, SynchronousGrammar, Translator

SPARE = 700 << 20  # what a child may take besides what it has after its imports
LONG = "/".join(["a"] * 60_000)  # 120 kB
READ = """
import resource, sys
from margrave import MargraveError, load
from margrave.datasets import read_hierarchy
import margrave.estimators.models.sequence_tagger, margrave.estimators.models.graph_labeler, margrave.translation
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
most = used + int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_AS, (most, most))
try:
    {"load": load, "read_hierarchy": read_hierarchy}[sys.argv[1]](sys.argv[2])
except MargraveError as error:
    print(error)
"""


def read_in_child(reader: str, path: Path, **environment: str) -> str:
    """What a process with little memory says about a file."""
    done = subprocess.run(
        [sys.executable, "-c", READ, reader, str(path), str(SPARE)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def changed(model: Any, path: Path, change: Callable[[Any, dict[str, Any]], None]) -> Path:
    """A file of the model whose header and arrays were changed, with the right checksum."""
    model.save(path)
    header, views = model_file.read(path)
    arrays = {name: np.array(array) for name, array in views.items()}
    change(header, arrays)
    model_file.write(path, header, arrays)
    return path


def sparse(header: Any, arrays: dict[str, Any], length: int) -> None:
    arrays["far.place"], arrays["far.value"] = np.zeros(0, np.int64), np.zeros(0)
    header["weights"] = {"kind": "array", "length": length, "blank": 0, "sparse": "far"}


def many_times(header: Any, arrays: dict[str, Any]) -> None:
    arrays["bits.mask"], arrays["bits.value"] = np.zeros(2**17, np.uint8), np.zeros(0, np.int16)
    one = {"kind": "rounded", "step": 1.0, "multiples": {"kind": "array", "length": 2**20, "mask": "bits"}}
    header["parameters"]["features"] = [one] * 1000


def tagger() -> Any:
    return SequenceTagger(features=Templates()).fit([[("a",), ("b",)]], [["x", "y"]])


def labeler() -> Any:
    return MultiLabelClassifier().fit([["a"], ["b"]], [["x"], ["y"]])


def graphs() -> Any:
    return GraphLabeler().fit([np.eye(2)], [np.eye(2).astype(int)])


def set_state(header: Any, what: str, name: str, value: Any) -> None:
    header[what]["state"][name] = value


BOMBS: dict[str, tuple[Callable[[], Any], Callable[[Any, dict[str, Any]], None]]] = {
    "a sparse vector of 2^27 numbers": (tagger, lambda header, arrays: sparse(header, arrays, 2**27)),
    "a sparse vector of 2^62 numbers": (tagger, lambda header, arrays: sparse(header, arrays, 2**62)),
    "a sparse vector of 2^90 numbers": (tagger, lambda header, arrays: sparse(header, arrays, 2**90)),
    "one vector a thousand times": (tagger, many_times),
    "2^15 labels": (graphs, lambda header, arrays: set_state(header, "map", "labels", 2**15)),
    "2^24 edges": (labeler, lambda header, arrays: set_state(header, "map", "edges", 2**24)),
    "10^6 columns": (tagger, lambda header, arrays: set_state(header, "features", "columns", 10**6)),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_model_that_describes_too_much_is_refused_before_memory_is_taken(name: str, tmp_path: Path) -> None:
    make, change = BOMBS[name]
    path = changed(make(), tmp_path / "a.margrave", change)
    assert path.stat().st_size < 300_000
    shown = read_in_child("load", path)
    assert shown.startswith(f"{path}: ") and shown.count("\n") == 1
    assert "MemoryError" not in shown


def rules(lines: int, path: Path) -> Path:
    """A file of a translator with so many equal rules, which compress well."""
    grammar = SynchronousGrammar().add(["[X] ||| a ||| b"]).add_glue()
    Translator("none", decoder=SynchronousDecoder(grammar)).fit(["a"], ["b"]).save(path)
    header, views = model_file.read(path)
    arrays = {name: np.array(array) for name, array in views.items()}
    name = next(name for name, array in arrays.items() if array.dtype == np.uint8)
    packed = zlib.compress(b"[X] ||| a ||| b\n" * lines)
    model_file.write(path, header, arrays | {name: np.frombuffer(packed, np.uint8)})
    return path


def test_rules_that_are_much_larger_unpacked_are_refused(tmp_path: Path) -> None:
    path = rules(10_000_000, tmp_path / "a.margrave")  # 160 MB of text
    assert path.stat().st_size < 1_000_000
    shown = read_in_child("load", path)
    assert shown.startswith(f"{path}: its decoder's compressed rules would take far more memory than the file suggests")
    assert shown.count("\n") == 1
    assert load(rules(1000, tmp_path / "b.margrave")).predict(["a"]) == ["b"]


@pytest.mark.parametrize("cut", [1, 10])
def test_compressed_rules_that_end_too_early_are_refused(cut: int, tmp_path: Path) -> None:
    path = rules(1000, tmp_path / "a.margrave")
    header, views = model_file.read(path)
    arrays = {name: np.array(array) for name, array in views.items()}
    name = next(name for name, array in arrays.items() if array.dtype == np.uint8)
    for content in (arrays[name][:-cut], np.append(arrays[name], np.uint8(0))):
        model_file.write(path, header, arrays | {name: content})
        with pytest.raises(MargraveError, match="rules of its decoder are damaged"):
            load(path)


def test_a_path_with_very_many_levels_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "hierarchy.txt"
    path.write_text(f"a/b\n{LONG}\n")
    shown = read_in_child("read_hierarchy", path)
    assert shown.startswith(f"{path}, line 2: the nodes of a path with very many levels would take far more memory")
    assert shown.count("\n") == 1
    with pytest.raises(MargraveError, match="far more memory"):
        Taxonomy.from_names([LONG], "/")


def test_the_limit_can_be_raised_and_lowered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = changed(tagger(), tmp_path / "a.margrave", lambda header, arrays: sparse(header, arrays, 2**26))
    assert VARIABLE in read_in_child("load", path)
    shown = read_in_child("load", path, **{VARIABLE: str(2**30)})  # Now it is the number of weights that is wrong.
    assert VARIABLE not in shown and "weights" in shown
    monkeypatch.setenv(VARIABLE, "0")
    with pytest.raises(MargraveError, match=VARIABLE):
        load(path)
    assert load(changed(tagger(), tmp_path / "b.margrave", lambda header, arrays: None)).predict([[("a",)]])
    for wrong in ("x", "-1", "1e9", "9" * 19):
        monkeypatch.setenv(VARIABLE, wrong)
        with pytest.raises(MargraveError, match=f"environment variable {VARIABLE} must be a number of bytes"):
            load(path)


@pytest.mark.parametrize("levels", [1, 5, 200])
def test_honest_hierarchies_are_read_whatever_their_size(levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also without any memory besides what their sizes allow."""
    monkeypatch.setenv(VARIABLE, "0")
    lines = ["/".join([f"top{k}", *(f"level{depth}" for depth in range(levels - 1))]) for k in range(50)]
    if levels == 1:
        lines[0] += "/below"
    text = "\n".join(lines)
    pairs = read_hierarchy(StringIO(text))
    assert len(pairs) == len(set(pairs)) == 50 * levels + (levels == 1)
    assert [child for child, _ in pairs if child == lines[-1]] == [lines[-1]]
    assert len(read_taxonomy(StringIO(text))) == len(pairs)


def test_room_grows_with_what_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1000")
    room = Room(10)
    room.take(2000, "something")
    with pytest.raises(MargraveError, match=r"^something would take far more memory"):
        room.take(1, "something")
    with room_of_file(0):
        take_room(1000, "something")
        with pytest.raises(MargraveError):
            take_room(1, "something")
    take_room(2**62, "without a file")
