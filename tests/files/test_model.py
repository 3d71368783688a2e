"""Model files: what is written is read back, exactly; anything else is refused in one sentence."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from margrave import memory
from margrave.errors import MargraveError
from margrave.files import model as model_file
from margrave.files.disk import Disk

HEADER: dict[str, object] = {"estimator": "SequenceTagger", "C": 0.5, "labels": ["B", "I", "O"], "unicode": "é\ud800"}
DTYPES = ("f8", "i8", "u8", "f4", "i4", "u4", "f2", "i2", "u2", "i1", "u1", "?")

in_one_folder = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def small_arrays() -> dict[str, NDArray[Any]]:
    return {
        "flags": np.array([True, False, True]),
        "weights": np.arange(6.0).reshape(2, 3),
        "counts": np.array([7, -7], np.int32),
        "empty": np.zeros((0, 4), np.float32),
        "scalar": np.array(2.5),
    }


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "small.margrave"
    model_file.write(path, HEADER, small_arrays())
    return path


def assert_same(read: dict[str, NDArray[Any]], written: dict[str, NDArray[Any]]) -> None:
    assert list(read) == list(written)
    for name, array in written.items():
        assert read[name].dtype == array.dtype.newbyteorder("<")
        assert read[name].shape == array.shape
        assert_array_equal(read[name], array)


def forbid(path: Path, mode: int) -> None:
    path.chmod(mode)
    if os.access(path, os.W_OK):
        pytest.skip("permissions do not bind this user")


def refusal(path: Path) -> str:
    """The message with which the file is refused, one sentence after the path."""
    with pytest.raises(MargraveError) as error:
        model_file.read(path)
    message = str(error.value)
    assert message.startswith(f"{path}: ")
    assert message.endswith(".")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


def split(content: bytes) -> tuple[dict[str, Any], bytes]:
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def signed(table: dict[str, Any], tensors: bytes) -> bytes:
    """A file of this table, true or not, with a checksum that is right, from the description of the format alone."""
    metadata = {"checksum": "0" * 64, "margrave": table["__metadata__"]["margrave"]}
    text = json.dumps({"__metadata__": metadata} | {k: v for k, v in table.items() if k != "__metadata__"}).encode()
    content = len(text).to_bytes(8, "little") + text + tensors
    return content.replace(b"0" * 64, hashlib.sha256(content).hexdigest().encode(), 1)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
any_array = hnp.arrays(
    dtype=st.sampled_from(DTYPES).map(np.dtype), shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
)


@in_one_folder
@given(
    header=st.dictionaries(st.text(), json_values, max_size=4),
    arrays=st.dictionaries(st.text().filter(lambda name: name != "__metadata__"), any_array, max_size=5),
)
def test_what_is_written_is_read_back(
    tmp_path: Path, header: dict[str, object], arrays: dict[str, NDArray[Any]]
) -> None:
    path = tmp_path / "model.margrave"
    model_file.write(path, header, arrays)
    read_header, read_arrays = model_file.read(path)
    assert read_header == header
    assert_same(read_arrays, arrays)


def test_the_safetensors_library_reads_the_same_arrays(model: Path) -> None:
    safetensors = pytest.importorskip("safetensors")
    with safetensors.safe_open(model, framework="np") as file:
        assert json.loads(file.metadata()["margrave"]) == {"format": 4, "header": HEADER}
        for name, array in small_arrays().items():
            assert file.get_tensor(name).dtype == array.dtype
            assert_array_equal(file.get_tensor(name), array)


@pytest.mark.parametrize("mapped", [False, True], ids=["copied", "mapped"])
def test_arrays_are_read_only_and_aligned_parts_of_one_block(tmp_path: Path, mapped: bool) -> None:
    path = tmp_path / "model.margrave"
    rng = np.random.default_rng(0)
    model_file.write(path, {}, {dtype: rng.integers(0, 2, size=(3, 5)).astype(dtype) for dtype in reversed(DTYPES)})
    _, arrays = model_file.read(path, mapped=mapped)
    starts = {name: array.__array_interface__["data"][0] for name, array in arrays.items()}
    assert min(starts.values()) % 64 == 0
    for name, array in arrays.items():
        assert not array.flags.writeable
        assert not array.flags.owndata
        assert starts[name] % array.itemsize == 0
    assert max(starts.values()) - min(starts.values()) < path.stat().st_size


def overwritten_in_place(path: Path, content: bytes) -> None:
    """As `cp` does it: the same file with other bytes."""
    with open(path, "r+b") as file:
        file.write(content)
        file.truncate()


@pytest.mark.parametrize("shorter", [False, True], ids=["same size", "shorter"])
def test_a_loaded_model_does_not_change_with_its_file(tmp_path: Path, shorter: bool) -> None:
    path, other = tmp_path / "served.margrave", tmp_path / "new.margrave"
    model_file.write(path, {}, {"w": np.arange(1e5)})
    model_file.write(other, {}, {"w": np.arange(1e1 if shorter else 1e5) + 1})
    # A process that reads a page of a map that its file does not have any more is ended by a signal.
    program = (
        "import sys\nfrom margrave.files.model import read\nw = read(sys.argv[1])[1]['w']\nprint(flush=True)\n"
        "input()\nassert w.tolist() == list(range(100_000))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as serving:
        assert serving.stdout is not None
        serving.stdout.readline()  # The file is open now.
        overwritten_in_place(path, other.read_bytes())
        serving.communicate("go on\n")
    assert serving.returncode == 0


def test_a_mapped_model_shares_the_bytes_of_its_file(tmp_path: Path) -> None:
    path, other = tmp_path / "served.margrave", tmp_path / "new.margrave"
    model_file.write(path, {}, {"w": np.arange(9.0)})
    model_file.write(other, {}, {"w": np.arange(9.0) + 1})
    w = model_file.read(path, mapped=True)[1]["w"]
    overwritten_in_place(path, other.read_bytes())
    assert_array_equal(w, np.arange(9.0) + 1)


@pytest.mark.parametrize(
    "array",
    [np.arange(6, dtype=">i4"), np.arange(6.0).reshape(2, 3).T, np.arange(10)[::3], np.asfortranarray(np.eye(3)[:2])],
    ids=["big-endian", "transposed", "strided", "column-major"],
)
def test_any_memory_layout_is_stored_row_major_and_little_endian(tmp_path: Path, array: NDArray[Any]) -> None:
    path = tmp_path / "model.margrave"
    model_file.write(path, {}, {"a": array})
    _, arrays = model_file.read(path)
    assert_same(arrays, {"a": array})
    assert split(path.read_bytes())[1] == array.astype(array.dtype.newbyteorder("<")).tobytes(order="C")


def test_the_checksum_is_the_sha256_of_the_file_with_its_own_digits_as_zeros(model: Path) -> None:
    content = model.read_bytes()
    checksum = split(content)[0]["__metadata__"]["checksum"]
    assert content.count(checksum.encode()) == 1
    assert hashlib.sha256(content.replace(checksum.encode(), b"0" * 64)).hexdigest() == checksum


def test_a_header_full_of_zeros_does_not_confuse_the_checksum(tmp_path: Path) -> None:
    path = tmp_path / "model.margrave"
    arrays = {"0" * 64: np.zeros(64, np.uint8), "bytes": np.full(64, ord("0"), np.uint8)}
    model_file.write(path, {"0" * 64: "0" * 200}, arrays)
    header, read_arrays = model_file.read(path)
    assert header == {"0" * 64: "0" * 200}
    assert_same(read_arrays, arrays)


def test_the_same_model_gives_the_same_bytes(model: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.margrave"
    model_file.write(again, HEADER, small_arrays())
    assert again.read_bytes() == model.read_bytes()


@in_one_folder
@given(data=st.data())
def test_a_change_of_any_single_byte_is_refused(model: Path, tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(model.read_bytes())
    where = data.draw(st.integers(0, len(content) - 1))
    content[where] ^= data.draw(st.integers(1, 255))
    altered = tmp_path / "altered.margrave"
    altered.write_bytes(content)
    refusal(altered)


def test_a_flip_of_the_lowest_bit_of_every_byte_is_refused(model: Path, tmp_path: Path) -> None:
    content = bytearray(model.read_bytes())
    altered = tmp_path / "altered.margrave"
    for where in range(len(content)):
        content[where] ^= 1
        altered.write_bytes(content)
        refusal(altered)
        content[where] ^= 1


def test_a_file_cut_at_any_length_is_refused(model: Path, tmp_path: Path) -> None:
    content = model.read_bytes()
    cut = tmp_path / "cut.margrave"
    for length in range(len(content)):
        cut.write_bytes(content[:length])
        refusal(cut)


@in_one_folder
@given(content=st.binary(max_size=200))
def test_arbitrary_bytes_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "arbitrary.margrave"
    path.write_bytes(content)
    refusal(path)


@in_one_folder
@given(table=json_values)
def test_arbitrary_json_tables_are_refused(tmp_path: Path, table: object) -> None:
    path = tmp_path / "arbitrary.margrave"
    text = json.dumps(table).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text)
    refusal(path)


def test_a_cut_file_is_called_truncated(model: Path) -> None:
    content = model.read_bytes()
    model.write_bytes(content[:-1])
    assert refusal(model) == f"truncated: {len(content) - 1} of {len(content)} bytes."
    model.write_bytes(content[:100])
    assert refusal(model).startswith("truncated: 100 bytes")


def test_an_altered_weight_does_not_match_the_checksum(model: Path) -> None:
    content = bytearray(model.read_bytes())
    content[-1] ^= 1
    model.write_bytes(content)
    assert refusal(model) == "damaged: its content does not match its checksum."


def test_bytes_after_the_last_array_are_refused(model: Path) -> None:
    model.write_bytes(model.read_bytes() + b"xyz")
    assert refusal(model) == "damaged: 3 bytes follow the last array."


def test_a_newer_format_is_refused_whatever_else_it_holds(model: Path) -> None:
    table, tensors = split(model.read_bytes())
    table["__metadata__"]["margrave"] = json.dumps({"format": 5, "other": "things"})
    model.write_bytes(signed(table | {"new": "kind of entry"}, tensors))
    expected = "written by a newer Margrave (format 5, this one reads 4): upgrade Margrave."
    assert refusal(model) == expected


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_older_format_is_refused_whatever_it_holds(model: Path, version: int) -> None:
    table, tensors = split(model.read_bytes())
    table["__metadata__"]["margrave"] = json.dumps({"format": version, "structure": {}})
    model.write_bytes(signed(table | {"old": "kind of entry"}, tensors))
    why = f"written by an older Margrave (format {version}, the oldest that is read is 4)"
    assert refusal(model) == f"{why}: train it again."


def test_the_tests_own_signature_is_accepted(model: Path) -> None:
    """Otherwise the refusals of signed files below would prove nothing."""
    model.write_bytes(signed(*split(model.read_bytes())))
    header, arrays = model_file.read(model)
    assert header == HEADER
    assert_same(arrays, small_arrays())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"flags": {"dtype": "BOOL", "shape": [3], "data_offsets": [63, 66]}}, "'flags' overlaps the one before it"),
        ({"flags": {"dtype": "BOOL", "shape": [3], "data_offsets": [65, 68]}}, "'flags' leaves a gap"),
        ({"flags": {"dtype": "BOOL", "shape": [99], "data_offsets": [64, 163]}}, "truncated"),
        ({"flags": {"dtype": "BOOL", "shape": [3], "data_offsets": [64, 68]}}, "'flags' has no valid"),
        ({"flags": {"dtype": "BOOL", "shape": [-3], "data_offsets": [67, 64]}}, "'flags' has no valid"),
        ({"flags": {"dtype": "BOOL", "shape": [3.0], "data_offsets": [64, 67]}}, "'flags' has no valid"),
        ({"flags": {"dtype": "BOOL", "shape": "3", "data_offsets": [64, 67]}}, "'flags' has no valid"),
        ({"flags": {"dtype": "BF16", "shape": [3], "data_offsets": [64, 70]}}, "'flags' has no valid"),
        ({"flags": {"dtype": "BOOL", "shape": [3]}}, "'flags' has no valid"),
        ({"flags": None}, "'flags' has no valid"),
        ({"empty": {"dtype": "F32", "shape": [0, 2**70], "data_offsets": [64, 64]}}, "impossible shape"),
        ({"empty": {"dtype": "F32", "shape": [0] * 99, "data_offsets": [64, 64]}}, "impossible shape"),
    ],
)
def test_a_signed_table_that_lies_about_its_arrays_is_refused(
    model: Path, change: dict[str, object], message: str
) -> None:
    table, tensors = split(model.read_bytes())
    model.write_bytes(signed(table | change, tensors))
    assert message in refusal(model)


@pytest.mark.parametrize(
    "margrave", ["", "[]", "{}", '{"format":true}', '{"format":0}', '{"format":"3"}', '{"format":4}', "[" * 100_000]
)
def test_a_signed_header_of_another_form_is_refused(model: Path, margrave: str) -> None:
    table, tensors = split(model.read_bytes())
    table["__metadata__"]["margrave"] = margrave
    model.write_bytes(signed(table, tensors))
    assert refusal(model).startswith("damaged: Margrave's header")


@pytest.mark.parametrize("checksum", [None, "", "é", 7])
def test_a_file_without_a_proper_checksum_is_refused(model: Path, checksum: object) -> None:
    table, tensors = split(model.read_bytes())
    table["__metadata__"]["checksum"] = checksum
    text = json.dumps(table).encode()
    model.write_bytes(len(text).to_bytes(8, "little") + text + tensors)
    assert "checksum" in refusal(model)


@pytest.mark.parametrize("metadata", [{}, {"__metadata__": {"format": "pt"}}, {"__metadata__": {"margrave": 1}}])
def test_a_foreign_safetensors_file_is_refused(tmp_path: Path, metadata: dict[str, object]) -> None:
    path = tmp_path / "foreign.safetensors"
    text = json.dumps(metadata | {"a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}}).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"ab")
    assert refusal(path) == "a safetensors file, but not a model written by Margrave."


@pytest.mark.parametrize("length", [0, 1, 10**8 + 1, 2**62, 2**64 - 1])
def test_an_unreasonable_header_length_is_refused(tmp_path: Path, length: int) -> None:
    path = tmp_path / "long.margrave"
    path.write_bytes(length.to_bytes(8, "little") + b"{}" + bytes(100))
    assert refusal(path).startswith("not a model file")


def test_a_large_file_of_another_kind_is_refused_by_its_first_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "large"
    with open(path, "wb") as file:
        file.write(b"the dog barks")
        file.truncate(2**30)  # The disk stores no zeros.
    monkeypatch.setattr(model_file, "_copied", None)
    assert refusal(path) == "not a model file: it does not begin like a safetensors file."


def test_a_file_larger_than_the_memory_is_refused_before_it_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "large.margrave"
    model_file.write(path, HEADER, {"weights": np.zeros(2**18)})
    monkeypatch.setattr(memory, "available_memory", lambda: 2.0**20)
    with monkeypatch.context() as patch:
        patch.setattr(model_file, "_copied", None)
        with pytest.raises(
            MargraveError, match=r"large\.margrave: a copy would take 0\.00195 GiB of memory, and 0\.000977"
        ):
            model_file.read(path)
    assert_array_equal(model_file.read(path, mapped=True)[1]["weights"], np.zeros(2**18))


def test_a_text_file_an_empty_file_a_directory_and_nothing_are_refused(tmp_path: Path) -> None:
    text, empty = tmp_path / "words.txt", tmp_path / "empty"
    text.write_text("the dog barks\n")
    empty.touch()
    assert refusal(text) == "not a model file: it does not begin like a safetensors file."
    assert refusal(empty) == "an empty file, not a model."
    assert refusal(tmp_path) == "a directory, not a model file."
    assert refusal(tmp_path / "missing") == "cannot be read: no such file or directory."


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe") == "not a regular file."


@pytest.mark.parametrize("step", ["create", "write", "sync", "replace"])
@pytest.mark.parametrize("kind", [OSError, KeyboardInterrupt])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    model: Path, monkeypatch: pytest.MonkeyPatch, step: str, kind: type[BaseException]
) -> None:
    before = model.read_bytes()

    def fail(*args: object, **named: object) -> None:
        raise OSError(28, "No space left on device") if kind is OSError else kind()

    monkeypatch.setattr(Disk, step, fail)
    with pytest.raises(MargraveError if kind is OSError else kind) as error:
        model_file.write(model, {"new": True}, {})
    if kind is OSError:
        assert str(error.value) == f"{model}: cannot be written: no space left on device."
    monkeypatch.undo()
    assert model.read_bytes() == before
    assert os.listdir(model.parent) == [model.name]


def test_a_model_can_be_overwritten_while_its_arrays_are_in_use(model: Path) -> None:
    _, old = model_file.read(model)
    model_file.write(model, {"new": True}, {"weights": np.zeros(3)})
    assert_same(old, small_arrays())
    assert model_file.read(model)[0] == {"new": True}
    assert os.listdir(model.parent) == [model.name]


def test_a_symbolic_link_stays_one_and_its_file_is_written(model: Path, tmp_path: Path) -> None:
    link = tmp_path / "latest.margrave"
    try:
        link.symlink_to(model.name)
    except OSError:
        pytest.skip("symbolic links cannot be made here")
    model_file.write(link, {"new": True}, {})
    assert link.is_symlink()
    assert model_file.read(model)[0] == {"new": True}


def test_a_directory_and_a_missing_directory_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(MargraveError, match=r": cannot be written: it is a directory\.$"):
        model_file.write(tmp_path, {}, {})
    with pytest.raises(MargraveError, match=r": cannot be written: its directory does not exist\.$"):
        model_file.write(tmp_path / "missing" / "model.margrave", {}, {})
    assert os.listdir(tmp_path) == []


def test_a_read_only_file_is_not_overwritten(model: Path) -> None:
    before = model.read_bytes()
    forbid(model, 0o444)
    with pytest.raises(MargraveError, match=r": cannot be written: the file is read-only\.$"):
        model_file.write(model, {"new": True}, {})
    assert model.read_bytes() == before
    assert os.listdir(model.parent) == [model.name]


def test_nothing_is_written_into_a_read_only_directory(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    forbid(folder, 0o555)
    with pytest.raises(MargraveError, match=r": cannot be written: permission denied\.$"):
        model_file.write(folder / "model.margrave", {}, {})
    assert os.listdir(folder) == []


def test_an_unreadable_file_is_refused(model: Path) -> None:
    forbid(model, 0o000)
    assert refusal(model) == "cannot be read: permission denied."


@pytest.mark.parametrize(
    ("header", "arrays", "message"),
    [
        ({"C": float("inf")}, {}, "the header is not JSON"),
        ({"learner": object()}, {}, "the header is not JSON"),
        ({}, {"words": np.array(["a", "b"])}, "array 'words' of <U1 cannot be stored"),
        ({}, {"objects": np.array([None])}, "array 'objects' of object cannot be stored"),
        ({}, {"complex": np.array([1j])}, "array 'complex' of complex128 cannot be stored"),
        ({}, {"__metadata__": np.zeros(1)}, "no array can be named '__metadata__'"),
    ],
)
def test_what_the_format_cannot_hold_is_refused_before_anything_is_written(
    tmp_path: Path, header: dict[str, object], arrays: dict[str, NDArray[Any]], message: str
) -> None:
    path = tmp_path / "model.margrave"
    with pytest.raises(MargraveError) as error:
        model_file.write(path, header, arrays)
    assert str(error.value).startswith(f"{path}: {message}")
    assert os.listdir(tmp_path) == []


def test_a_table_too_long_for_safetensors_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_file, "_MAX_TABLE", 1000)
    with pytest.raises(MargraveError, match=r"is too long: pass long lists as arrays\.$"):
        model_file.write(tmp_path / "model.margrave", {"words": ["word"] * 1000}, {})
    assert os.listdir(tmp_path) == []


@settings(deadline=None)
@given(strings=st.lists(st.text(st.characters(codec=None, exclude_categories=()))))
def test_strings_survive_as_arrays(strings: list[str]) -> None:
    blob, offsets = model_file.encode_strings(strings)
    assert blob.dtype == np.uint8
    assert offsets.dtype == np.int64
    assert model_file.decode_strings(blob, offsets) == strings


def test_strings_survive_in_a_file(tmp_path: Path) -> None:
    strings = ["", "dog", "naïve", "日本", "\ud800", "a\0b", ""]
    blob, offsets = model_file.encode_strings(strings)
    model_file.write(tmp_path / "model.margrave", {}, {"blob": blob, "offsets": offsets})
    _, arrays = model_file.read(tmp_path / "model.margrave")
    assert model_file.decode_strings(arrays["blob"], arrays["offsets"]) == strings


@pytest.mark.parametrize(
    ("blob", "offsets"),
    [
        (b"dog", []),
        (b"dog", [1, 3]),
        (b"dog", [0, 2]),
        (b"dog", [0, 4]),
        (b"dog", [0, 2, 1, 3]),
        (b"dog", [0, -1, 3]),
        ("é".encode(), [0, 1, 2]),
        (b"\xff", [0, 1]),
    ],
)
def test_damaged_strings_are_refused(blob: bytes, offsets: list[int]) -> None:
    with pytest.raises(MargraveError, match=r"^damaged strings: .*\.$"):
        model_file.decode_strings(np.frombuffer(blob, np.uint8), np.array(offsets, np.int64))


def test_strings_of_other_dtypes_or_shapes_are_refused() -> None:
    blob, offsets = model_file.encode_strings(["dog"])
    for bad_blob, bad_offsets in [
        (blob.astype(np.int64), offsets),
        (blob, offsets.astype(np.float64)),
        (blob.reshape(1, -1), offsets),
        (blob, offsets.reshape(1, -1)),
    ]:
        with pytest.raises(MargraveError, match=r"^damaged strings: expected"):
            model_file.decode_strings(bad_blob, bad_offsets)  # type: ignore[arg-type]
