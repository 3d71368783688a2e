"""Ten thousand seeded cases end in an answer or in one sentence, and so does every case that once failed."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz.campaign import KEPT, read_case
from tests.fuzz.reached import used_lines
from tests.fuzz.seeded import open_seeds, per_target, ranges
from tests.fuzz.shrinking import smaller
from tests.fuzz.targets import KINDS, targets
from tests.fuzz.workers import Worker
from tests.sanitized import SANITIZED

CHUNKS = 4  # of each kind, so that processes can share them


@pytest.fixture(scope="session")
def worker() -> Iterator[Worker]:
    """One process for all cases of this process of pytest."""
    with Worker() as one:
        yield one


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("kind", KINDS)
def test_seeded_cases_end_in_an_answer_or_in_one_sentence(kind: str, chunk: int, worker: Worker) -> None:
    names = worker.targets(kind)
    each = per_target(kind, names)
    first, last = (len(names) * each * number // CHUNKS for number in (chunk, chunk + 1))
    wrong = []
    for number, name in enumerate(names):
        begin, end = max(first - number * each, 0), min(last - number * each, each)
        for seed, count in ranges(begin, end, open_seeds().get(name, set())):
            wrong += [f"{name} {seed}: {of.what}\n{of.trace}" for seed, of in worker.seeds(name, seed, count).failures]
    assert not wrong, "\n\n".join(wrong)


# What makes objects from a state that nothing but a pickle has, and what needs data that no small model has.
NEVER = {
    *("core:Inputs.__setstate__", "core:Pairs.__setstate__", "core:Vocabulary.__setstate__"),
    *("core:given_kernel_features", "core:TreeMap.explain", "core:PhraseTable.__len__"),
}


def test_nearly_every_target_of_the_core_reaches_an_answer(worker: Worker) -> None:
    """A case that is refused at once tries nothing that comes after the first check."""
    waiting, first = worker.targets("core"), 0
    for count in (4, 16, 40):
        waiting = [name for name in waiting if not worker.seeds(name, first, count).counts["answer"]]
        first += count
    assert set(waiting) <= NEVER


@pytest.mark.parametrize("path", sorted(KEPT.glob("*.json")), ids=lambda path: path.stem)
def test_a_case_that_failed_once_does_so_no_more(path: Path, worker: Worker) -> None:
    outcome = worker.case(*read_case(path))
    assert not outcome.failed, f"{outcome.what}\n{outcome.trace}"


# ---- what watches ----------------------------------------------------------------------------------------------------

WAYS = {
    "crash": "crash: SIGABRT",
    "hang": "hang: more than 1 s",
    "sleep": "hang: more than 1 s",
    "memory": "memory: ",
    "too-much": "memory: ",
    "raw": "KeyError: 3",
    "lines": "several lines",
    "long": "a sentence of 3000 characters",
}


@pytest.mark.parametrize("way", [way for way in WAYS if not (SANITIZED and WAYS[way].startswith("memory"))])
def test_every_way_to_fail_is_found_and_the_other_cases_go_on(way: str) -> None:
    with Worker(seconds=1.0, wall_seconds=5.0) as one:
        found = one.seeds(f"broken:{way}", 0, 4 if way == "raw" else 6)
        assert [seed for seed, _ in found.failures] == [3]
        assert found.failures[0][1].what.startswith(WAYS[way])
        tried = found.counts["answer"] + found.counts["refusal"] + found.counts["failure"]
        assert tried == (4 if way == "raw" else 6) and found.counts["failure"] == 1
        assert not one.case(f"broken:{way}", {"seed": 0, "list": []}).failed


def test_a_case_that_fails_becomes_as_small_as_it_can(worker: Worker) -> None:
    case = {"seed": 9, "list": [1, 2, 3, 4, 5, 6, 7], "text": "a" * 100}
    found = smaller(case, lambda each: worker.case("broken:raw", each).what == "KeyError: 3")
    assert found["list"] == [3] and not found.get("text")


def test_the_case_of_a_seed_is_always_the_same_and_survives_json(worker: Worker) -> None:
    for target in targets("readers").values():
        assert [target.case(seed) for seed in range(20)] == [target.case(seed) for seed in range(20)]


def test_the_lines_of_a_reader_are_those_of_what_it_uses() -> None:
    source = (
        "def read(path):\n    return list(of(path))\n\ndef of(path):\n    yield Row(path).text()\n\n"
        "def write(path):\n    return path\n\nclass Row:\n    def __init__(self, text):\n        self.of = text\n\n"
        "    def text(self):\n        return self.of\n\n    def other(self):\n        return 3\n"
    )
    assert used_lines(source, "read") == {2, 5, 12, 15}
    assert used_lines(source, "Row.other") == {18}


def test_the_cases_run_most_lines_of_the_readers() -> None:
    script = "from tests.fuzz import reached; print(reached.shares(reached.measure(20)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    shares = [int(line.split("|")[4].strip(" %")) for line in done.stdout.splitlines()[2:]]
    assert len(shares) == len(targets("readers")) and min(shares) > 20 and sum(shares) > 60 * len(shares)
