"""Files from strangers: a reader ends in an answer or in one sentence, in time that grows with the length."""

import gc
import inspect
import io
import re
import time
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path

import pytest

from margrave import datasets
from margrave.datasets.opening import read_lines
from margrave.errors import DataError, MargraveError
from tests.registry.readers import READERS, Reader

# What a name, a number or a mark of a good file becomes, in each of its places.
SPOILED: dict[str, Callable[[int], str]] = {
    "a long number": lambda n: "1" * n,
    "a long negative number": lambda n: "-" + "9" * n,
    "a long fraction": lambda n: "0." + "1" * n,
    "almost a number": lambda n: "1" * n + "x",
    "almost a fraction": lambda n: "1" * (n // 2) + "." + "1" * (n // 2) + "..",
    "a long exponent": lambda n: "1e" + "1" * n,
    "a long word": lambda n: "a" * n,
    "a long word of letters beyond ASCII": lambda n: "é" * (n // 2),
    "blanks": lambda n: " " * n,
    "tabs": lambda n: "\t" * n,
    "line ends": lambda n: "\n" * n,
    "carriage returns": lambda n: "\r" * n,
    "many words": lambda n: "a " * (n // 2),
    "many numbers": lambda n: "1 " * (n // 2),
    "many pairs": lambda n: " ".join(f"{k}:1" for k in range(1, n // 8)),
    "many features": lambda n: " ".join(f"a{k}=1" for k in range(n // 8)),
    "many marks": lambda n: "#" * n,
    "bars": lambda n: "|||" * (n // 3),
    "hyphens": lambda n: "-" * n,
    "a list": lambda n: "[" + "1, " * (n // 3) + "1]",
    "texts in JSON": lambda n: "[" + '"a", ' * (n // 5) + '"a"]',
    "brackets": lambda n: "[" * n,
    "gaps": lambda n: " ".join(f"[{k}]" for k in range(1, n // 8)),
    "parentheses": lambda n: "(" * n,
    "parentheses with words": lambda n: "(a " * (n // 3),
    "objects": lambda n: '{"a":' * (n // 5),
    "a comment": lambda n: "#" + " a" * (n // 2) + "\n",
    "comments": lambda n: "# a\n" * (n // 4),
}
# What can stand in the place of a name or a number, when time is no question.
SMALL = [
    "", "0", "1", "-1", "00", "+1", "1.5", "1e5", "1e400", "-1e400", "1e-400", "nan", "NaN", "inf", "Infinity",
    "-Infinity", "null", "true", "[]", "[1]", '["a"]', "[[1]]", '[["a"]]', "{}", '{"a": 1}', '"a"', '""', '"\\ud800"',
    "1_000", "0x10", "\u0661", "9" * 18, "9" * 19, "9" * 20, "9" * 309, "9" * 4301, "1j", "a\tb", "a b", "\u2028",
    "|||", "x=", "x:",
]  # fmt: skip
# Names, numbers and marks: whatever a mistake can be made in.
PIECES = re.compile(r'"[^"\n]*"|-?[0-9.]+(?:e[0-9]+)?|[\w*\\-]+|[^\w\s]')


def places(text: str, most: int) -> Iterator[tuple[int, int]]:
    """Where some pieces of a text begin and end, each text of a piece once."""
    seen = set()
    for match in PIECES.finditer(text):
        if match[0] not in seen and len(seen) < most:
            seen.add(match[0])
            yield match.span()


def chain(reader: str) -> Callable[[int], str] | None:
    """A large file in which lines or objects depend on each other, forwards, backwards and in a circle."""
    return {
        "read_conllu": lambda n: _words(n, lambda k, last: k - 1),
        "read_conllx": lambda n: _words(n, lambda k, last: (k + 1) % (last + 1)),
        "CoNLL-U in the core": lambda n: _words(n, lambda k, last: k % last + 1),
        "read_hierarchy": lambda n: "".join(f"{k}\t{k + 1}\n" for k in range(n // 12)),
        "read_taxonomy": lambda n: "".join(f"{k + 1}\t{k}\n" for k in range(n // 12)),
        "read_lattices": lambda n: _lattice(n, lambda k, last: (k + 1, k)),
        "read_lattices, PLF": lambda n: "(" + "(('a', 1.0, 1),)," * (n // 17) + ")\n",
        "read_graphs": lambda n: (
            '{"nodes": [' + "[1]," * (n // 20) + f'[1]], "edges": {[[k, k + 1] for k in range(n // 20)]}}}\n'
        ),
        "read_forests": lambda n: (
            '{"features": ["p"], "edges": [{}], "node": {"in_edges": [0]}'
            + "".join(f', "edges": [{{"tail": [{k}]}}], "node": {{"in_edges": [{k + 1}]}}' for k in range(n // 55))
            + "}\n"
        ),
    }.get(reader)


def _words(n: int, head: Callable[[int, int], int]) -> str:
    last = n // 25 + 1
    rows = [f"{k}\ta\ta\ta\ta\ta\t{head(k, last)}\ta\t_\t_\n" for k in range(1, last + 1)]
    return "".join(rows) + "\n"


def _lattice(n: int, edge: Callable[[int, int], tuple[int, int]]) -> str:
    last = n // 30 + 1
    ends = [edge(k, last) for k in range(last)]
    edges = ", ".join(f'{{"from": {tail}, "to": {head}, "word": "a"}}' for tail, head in ends)
    return f'{{"edges": [{edges}]}}\n'


def hostile(name: str, most: int) -> Iterator[tuple[str, Callable[[int], str]]]:
    """Files of about n characters, with what they are."""
    sample = READERS[name].sample
    yield "again and again", lambda n: sample * (n // len(sample))
    yield "blank lines behind", lambda n: sample + "\n" * n
    yield "lines of blanks before", lambda n: "  \n" * (n // 3) + sample
    yield "one line", lambda n: " ".join(sample.split()) * (n // len(sample)) + "\n"
    if made := chain(name):
        yield "a chain", made
    for what, spoiled in SPOILED.items():
        yield what, lambda n, spoiled=spoiled: spoiled(n)  # type: ignore[misc]
        for begin, end in places(sample, most):

            def text(n: int, begin: int = begin, end: int = end, spoiled: Callable[[int], str] = spoiled) -> str:
                return sample[:begin] + spoiled(n) + sample[end:]

            yield f"{what} instead of {sample[begin:end]!r}", text


def outcome(reader: Reader, path: Path, text: str) -> str:
    """The sentence in which a reader refuses a text; empty if it takes it."""
    path.write_text(text, encoding="utf-8", newline="")
    try:
        reader(path)
    except MargraveError as error:
        return str(error)
    return ""


def seconds(reader: Reader, path: Path, text: str, trials: int) -> float:
    """The processor time that a reader takes; the best of several trials."""
    found = []
    for _ in range(trials):
        begin = time.process_time()
        outcome(reader, path, text)
        found.append(time.process_time() - begin)
    return min(found)


@pytest.fixture
def no_garbage_collection() -> Iterator[None]:
    """The time of a garbage collection depends on all objects of the process, not on a file."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def is_sentence(said: str) -> bool:
    return said == "" or ("\n" not in said and len(said) < 600 and said.endswith((".", ")")))


def test_every_reader_is_registered() -> None:
    assert {name for name in datasets.__all__ if name.startswith("read_")} <= set(READERS)


@pytest.mark.parametrize("name", READERS)
def test_a_good_file_is_read(name: str, tmp_path: Path) -> None:
    assert outcome(READERS[name], tmp_path / "file", READERS[name].sample) == ""


@pytest.mark.parametrize("name", READERS)
def test_a_file_with_anything_in_the_place_of_a_value_is_read_or_refused_in_one_sentence(
    name: str, tmp_path: Path
) -> None:
    sample = READERS[name].sample
    wrong = []
    for begin, end in places(sample, 60):
        for value in SMALL:
            try:
                said = outcome(READERS[name], tmp_path / "file", sample[:begin] + value + sample[end:])
            except Exception as error:
                said = f"{type(error).__name__}: {error}\n"
            if not is_sentence(said):
                wrong.append(f"{value[:20]!r} for {sample[begin:end]!r} at {begin}: {said[:200]!r}")
    assert not wrong, "\n".join(wrong)


MEASURABLE = 0.05  # seconds; below, the clock and the garbage collector decide about a ratio
LENGTH = 20_000
ROUNDS = 5  # of trials, since other processes can slow some of them down
LARGEST_RATIO = 8.0  # of the times of files of four times the length: linear time has 4, quadratic time has 16


@pytest.mark.usefixtures("no_garbage_collection")
@pytest.mark.parametrize("name", READERS)
def test_the_time_to_read_a_file_grows_with_its_length_and_not_with_the_square(name: str, tmp_path: Path) -> None:
    reader, path = READERS[name], tmp_path / "file"
    slow = []
    for what, made in hostile(name, 8):
        if seconds(reader, path, made(LENGTH), 1) < MEASURABLE / 16:
            continue  # Even the square of the length would leave a file of the larger size below what is measurable.
        large = seconds(reader, path, made(4 * LENGTH), 1)
        if large < MEASURABLE:
            continue
        small = inf
        for _ in range(ROUNDS):
            small = min(small, seconds(reader, path, made(LENGTH), 5))
            large = min(large, seconds(reader, path, made(4 * LENGTH), 3))
            if large <= LARGEST_RATIO * small:
                break
        else:
            slow.append(f"{what}: {large:.3g} s after {small:.3g} s")
    assert not slow, "\n".join(slow)


@pytest.mark.parametrize("name", READERS)
def test_long_lines_end_in_an_answer_or_in_a_short_sentence(name: str, tmp_path: Path) -> None:
    wrong = []
    for what, made in hostile(name, 20):
        try:
            said = outcome(READERS[name], tmp_path / "file", made(6000))
        except Exception as error:
            said = f"{type(error).__name__}: {error}\n"
        if not is_sentence(said):
            wrong.append(f"{what}: {len(said)} characters: {said[:200]!r}")
    assert not wrong, "\n".join(wrong)


def test_graphs_that_are_read_can_be_written(tmp_path: Path) -> None:
    for number in ("Infinity", "-Infinity", "NaN", "1e999", "9" * 400):
        line = '{"nodes": [["a"]], "edges": [], "more": ' + number + "}"
        with pytest.raises(MargraveError, match="is not finite, or too large"):
            list(datasets.read_graphs(io.StringIO(line)))
    for bad in (float("inf"), {1, 2}):
        with pytest.raises(MargraveError, match="cannot be written as JSON"):
            datasets.write_graphs(tmp_path / "file", [{"nodes": [], "more": bad}])


ENCODED = [name for name in datasets.__all__ if "encoding" in inspect.signature(getattr(datasets, name)).parameters]


@pytest.mark.parametrize("name", ENCODED)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-16-le", "utf-8", "ascii"])
def test_a_file_that_has_another_encoding_is_refused_in_one_sentence(name: str, encoding: str, tmp_path: Path) -> None:
    path, read = tmp_path / "file", getattr(datasets, name)
    path.write_bytes(b"\xe9)\n")
    more = {"Y": []} if "Y" in inspect.signature(read).parameters else {}
    with pytest.raises(MargraveError, match=rf"(?i)not valid {encoding}") as caught:
        list(read(path, encoding=encoding, **more))
    assert is_sentence(str(caught.value))


@pytest.mark.parametrize("n_features", [-1, 2**63, 10**400, "3", 1.5])
@pytest.mark.parametrize("name", ["read_svmlight", "read_svmlight_paths", "read_ranking"])
def test_an_impossible_number_of_columns_is_refused_in_one_sentence(name: str, n_features: object) -> None:
    with pytest.raises(MargraveError, match=r"^n_features must be .*\.$") as caught:
        getattr(datasets, name)(io.StringIO("1 qid:1 1:1\n"), n_features=n_features)
    assert is_sentence(str(caught.value))


@pytest.mark.parametrize("deep", ["(" * 190 + "1" + ")" * 190, "-" * 5000 + "1", "not " * 5000 + "1", "[" * 10**5])
def test_a_lattice_in_plf_is_not_parsed_deeper_than_it_can_be(deep: str) -> None:
    with pytest.raises(MargraveError, match="nested tuples as in PLF") as caught:
        datasets.from_plf(deep)
    assert caught.value.__context__ is None, "Python's parser ran out of memory"


def test_brackets_in_the_words_of_a_lattice_do_not_nest() -> None:
    (lattice,) = datasets.read_lattices(io.StringIO("""((('((((((', 1.0, 1), ("[['\\\\'[", -1e-5, 1,),),)"""))
    assert [edge.word for edge in lattice.edges] == ["((((((", "[['\\'["]


def test_the_id_of_a_sentence_stays_on_one_line_in_messages() -> None:
    with pytest.raises(MargraveError, match=r"sentence a\\x1b\\rb has no words") as caught:
        list(datasets.read_conllu(io.StringIO("# sent_id = a\x1b\rb\n\n", newline="\n")))
    assert str(caught.value).isprintable()


def test_a_line_without_an_end_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lines"
    monkeypatch.setenv("MARGRAVE_FILE_MEMORY", "200")
    path.write_text("a" * 98 + "\n" + "b" * 99)
    assert [len(line) for _, line in read_lines(path)] == [98, 99]
    path.write_text("a\n" + "b" * 100)
    with pytest.raises(DataError, match="lines, line 2: the line has more than 99 characters"):
        list(read_lines(path))
    if Path("/dev/zero").exists():
        with pytest.raises(DataError, match="line 1: the line has more than"):
            list(read_lines("/dev/zero"))


def test_a_byte_order_mark_that_is_part_of_a_word_is_read_again(tmp_path: Path) -> None:
    sentences = [[("\ufeff", "X"), ("a", "Y")]]
    datasets.write_columns(tmp_path / "words", sentences)
    assert [[tuple(row) for row in rows] for rows in datasets.read_columns(tmp_path / "words")] == sentences
