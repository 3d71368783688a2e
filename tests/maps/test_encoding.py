"""Encoding on two threads: names are looked up while those that follow are read, and the rows are the same."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from margrave import MargraveError, SequenceTagger, _core

# More names than three batches have (kBatch in rows/encode.h), of which many occur again.
N = 1500
SENTENCES = [
    [[f"{t}:{(i * 31 + t * 7 + k * k) % 5000}" for k in range(13)] for t in range(i % 11)] + [[f"only {i}"]]
    for i in range(N)
]
NUMBERS = [
    [
        {f"a{(i + t + k) % 3000}": 1.0 if i < N // 2 else k - 2.5 for k in range(12)} | {"s": f"é{i % 7}"}
        for t in range(7)
    ]
    for i in range(N)
]
LONG = [[["a"]], [[f"name {k % 70_000}" for k in range(100_000)], []], [], [["b", "a"]]]


def forms() -> dict[str, Callable[[], Any]]:
    """Examples in every form that is encoded by names; generators are new in every call."""
    return {
        "lists": lambda: SENTENCES,
        "tuples": lambda: tuple(tuple(map(tuple, tokens)) for tokens in SENTENCES),
        "dictionaries": lambda: NUMBERS,
        "values of foreign types": lambda: [
            [{"a": np.float32(i), f"b{i % 900}": 1} for _ in range(30)] for i in range(N)
        ],
        "generators": lambda: ((["".join(name) for name in token] for token in tokens) for tokens in SENTENCES),
        "sets of one": lambda: [[{f"{i}-{t}"} for t in range(40)] for i in range(N)],
        "no attributes": lambda: [[[] for _ in range(3)] for _ in range(N)],
        "an example that is longer than a batch": lambda: LONG,
        "few": lambda: SENTENCES[:3],
        "no examples": list,
        "no examples from a generator": lambda: iter(()),
    }


def encoded(X: Any, threads: int, vocabulary: Any, *, grow: bool = True, bits: int = 0, single: bool = False) -> Any:
    """All arrays of the rows."""
    rows = _core.encode(X, vocabulary, grow, bits, single, "token", threads)
    return [None if array is None else array.tolist() for array in rows.arrays()]


@pytest.mark.parametrize("form", forms())
@pytest.mark.parametrize("threads", [2, 5])
def test_rows_and_vocabularies_do_not_depend_on_the_threads(form: str, threads: int) -> None:
    one, many = _core.Vocabulary(), _core.Vocabulary()
    expected = encoded(forms()[form](), 1, one)
    assert encoded(forms()[form](), threads, many) == expected
    assert many.names() == one.names()
    # A vocabulary that does not grow, one that goes on growing, and hashing.
    few = [_core.Vocabulary(), _core.Vocabulary()]
    for each in few:
        encoded(SENTENCES[: N // 3], 1, each)
    fixed, growing = (
        [encoded(forms()[form](), n, of, grow=grow) for n, of in zip((1, threads), few, strict=True)]
        for grow in (False, True)
    )
    assert fixed[0] == fixed[1]
    assert growing[0] == growing[1]
    assert few[0].names() == few[1].names()
    assert encoded(forms()[form](), threads, None, bits=9) == encoded(forms()[form](), 1, None, bits=9)


def test_the_rows_of_single_tokens_do_not_depend_on_the_threads() -> None:
    X = [token for tokens in SENTENCES for token in tokens]
    one, two = _core.Vocabulary(), _core.Vocabulary()
    assert encoded(X, 2, two, single=True) == encoded(X, 1, one, single=True)
    assert two.names() == one.names()


def test_rows_are_those_of_a_dictionary_that_numbers_names_as_they_occur() -> None:
    numbers: dict[str, int] = {}
    expected = [numbers.setdefault(name, len(numbers)) for tokens in SENTENCES for token in tokens for name in token]
    vocabulary = _core.Vocabulary()
    assert encoded(SENTENCES, 2, vocabulary)[2] == expected
    assert vocabulary.names() == list(numbers)


MISTAKES: dict[str, Any] = {
    "a number among the names": ["a", 3],
    "a lone surrogate": ["\ud800"],
    "a text for a token": "text",
    "a number for a token": 5,
    "a value that is not finite": {"a": float("nan")},
    "a value that is too large": {"a": 10**400},
    "a value that is not a number": {"a": []},
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("at", [0, 2, N - 1])
def test_a_mistake_is_described_by_the_same_sentence(mistake: str, at: int) -> None:
    bad = [*SENTENCES]
    bad[at] = [["fine"], MISTAKES[mistake], *SENTENCES[at]]
    sentences = []
    for threads in (1, 2):
        with pytest.raises(MargraveError, match=f"^example {at}, token 1: ") as caught:
            encoded(bad, threads, _core.Vocabulary())
        sentences.append(str(caught.value))
    assert sentences[0] == sentences[1]


def test_an_example_that_is_not_a_list_is_described_by_the_same_sentence() -> None:
    for threads in (1, 2):
        with pytest.raises(MargraveError, match=f"^example {N}: a sequence must be a list of tokens, not int"):
            encoded([*SENTENCES, 7], threads, _core.Vocabulary())


def test_what_a_generator_raises_goes_on_up() -> None:
    def broken() -> Iterator[Any]:
        yield from SENTENCES
        raise KeyError("mine")

    for threads in (1, 2):
        with pytest.raises(KeyError, match="mine"):
            encoded(broken(), threads, _core.Vocabulary())


def test_ctrl_c_ends_the_encoding() -> None:
    def interrupted() -> Iterator[Any]:
        yield from SENTENCES
        signal.raise_signal(signal.SIGINT)
        while True:
            yield SENTENCES[0]

    for threads in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            encoded(interrupted(), threads, _core.Vocabulary())


def test_lists_that_change_after_they_were_read_do_no_harm() -> None:
    """Nobody but the encoder owns a name that its list has lost, and it may not have been looked up yet."""

    def forgetting() -> Iterator[Any]:
        for tokens in SENTENCES:
            copies = [["".join(list(name)) for name in token] for token in tokens]
            yield copies
            for token in copies:
                token.clear()
            copies.clear()

    one, two = _core.Vocabulary(), _core.Vocabulary()
    assert encoded(forgetting(), 2, two) == encoded(SENTENCES, 1, one)
    assert two.names() == one.names()


def test_no_reference_is_left_behind() -> None:
    name, key = "".join(["shared ", "name"]), "".join(["shared ", "key"])
    X = [[[name] * 50, {key: 2.0, "s": name}] for _ in range(N)]
    wrong = [*X, [[name, None]]]
    before = sys.getrefcount(name), sys.getrefcount(key), sys.getrefcount(None)
    for threads in (1, 2):
        encoded(X, threads, _core.Vocabulary())
        with pytest.raises(MargraveError):
            encoded(wrong, threads, _core.Vocabulary())
    assert (sys.getrefcount(name), sys.getrefcount(key)) == before[:2]


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="the threads of a process are listed on Linux only")
@pytest.mark.parametrize(("threads", "n"), [(1, N), (8, 20)])
def test_no_thread_is_started_for_one_thread_or_for_few_names(threads: int, n: int) -> None:
    numbers = set()

    def watching() -> Iterator[Any]:
        for tokens in SENTENCES[:n]:
            numbers.add(len(os.listdir("/proc/self/task")))
            yield tokens

    before = len(os.listdir("/proc/self/task"))
    encoded(watching(), threads, _core.Vocabulary())
    assert numbers == {before}


def test_a_number_of_threads_that_makes_no_sense_is_refused() -> None:
    for threads in (0, -1, 5000):
        with pytest.raises(MargraveError, match="n_jobs must be from 1 to 1024"):
            encoded([], threads, _core.Vocabulary())


@pytest.mark.parametrize("X", [SENTENCES, NUMBERS], ids=["lists", "dictionaries"])
def test_a_fit_has_the_same_bits_for_any_number_of_threads(X: Any) -> None:
    y = [[f"{(i + t) % 3}" for t in range(len(tokens))] for i, tokens in enumerate(X)]
    one, two = (
        SequenceTagger(learner="lbfgs", tol=0.5, n_jobs=threads).fit(X, y, edges=[[["e"]] * len(of) for of in y])
        for threads in (1, 2)
    )
    assert two.coef_.tobytes() == one.coef_.tobytes()
    assert two.map_.tokens.encoder.names() == one.map_.tokens.encoder.names()


def test_lengths_and_bounds_are_each_others_inverse() -> None:
    for lengths in ([], [3], [0, 2, 0, 5]):
        bounds = _core.bounds(np.array(lengths, dtype=np.int64))
        assert bounds.tolist() == np.cumsum([0, *lengths]).tolist()
        assert _core.lengths(bounds).tolist() == lengths
    assert _core.lengths(np.zeros(0, dtype=np.int64)).tolist() == []


class Forgetful(int):
    """A value of 2 that empties the dictionary it is in when it is asked for its number, and takes the free memory."""

    owner: dict[str, Any]

    def __float__(self) -> float:
        self.owner.clear()
        self.others = ["?" * n for n in range(1, 80) for _ in range(40)]
        return 2.0


class Lazy:
    """Attributes that empty another token when they are asked for, and take the free memory."""

    def __init__(self, other: list[str]) -> None:
        self.other = other

    def __iter__(self) -> Iterator[str]:
        self.other.clear()
        self.others = ["?" * n for n in range(1, 80) for _ in range(40)]
        return iter(["lazy"])


def fresh(count: int) -> list[str]:
    """Names that nobody else owns."""
    return ["".join(["name ", str(k)]) for k in range(count)]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_value_may_empty_its_dictionary(threads: int) -> None:
    value = Forgetful()
    token: dict[str, Any] = dict.fromkeys(fresh(20), 1.0)
    token["".join(["the ", "last"])] = value
    value.owner = token
    vocabulary = _core.Vocabulary()
    rows = encoded([[token]], threads, vocabulary)
    assert vocabulary.names() == [*fresh(20), "the last"]
    assert rows[2] == list(range(21))
    assert rows[3] == [1.0] * 20 + [2.0]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_token_may_empty_an_earlier_one(threads: int) -> None:
    token = fresh(20)
    vocabulary = _core.Vocabulary()
    rows = encoded([[token, Lazy(token)]], threads, vocabulary)
    assert vocabulary.names() == [*fresh(20), "lazy"]
    assert rows[2] == list(range(21))


def test_long_names_that_wait_take_little_memory(child: Callable[[str], str]) -> None:
    """400 mentions of half a megabyte, in one token and in many examples, whose copies would take 200 MB."""
    child(
        """
name = "x" * (1 << 19)
if "libasan" not in os.environ.get("LD_PRELOAD", "") and os.path.exists("/proc/self/statm"):
    now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + (160 << 20), 4 << 30))
for X in ([[[name] * 400]], [[[name]]] * 400):
    rows = _core.encode(X, _core.Vocabulary(), True, 0, False, "token", 2)
    assert rows.arrays()[2].tolist() == [0] * 400
"""
    )
