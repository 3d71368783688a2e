"""A campaign: cases of all kinds on several workers, and what failed, made smaller and kept."""

import json
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random

from tests.fuzz.shrinking import smaller
from tests.fuzz.targets import KINDS, Case, Outcome, Target, target_named, targets
from tests.fuzz.workers import Worker

KEPT = Path(__file__).parent / "regressions"
_JOB_SECONDS = 1.0  # roughly, of one job
_SCRATCH = re.compile(r"(/dev/shm|/tmp)/margrave-fuzz-\w+")


@dataclass
class Finding:
    """What is wrong at one place, with the smallest case that shows it."""

    target: str
    seed: int
    outcome: Outcome
    case: Case | None = None
    times: int = 1
    alone: bool = True  # whether the case fails in a process of its own


@dataclass
class Campaign:
    """Cases of some kinds until a time or a number of cases.

    Parameters
    ----------
    kinds : what is tried.
    seconds, cases : when it ends.
    first : the first seed.
    jobs : the number of workers.
    keep : the folder for cases that fail; None keeps none.
    """

    kinds: Sequence[str]
    seconds: float
    cases: float
    first: int
    jobs: int
    keep: Path | None
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    spent: Counter[str] = field(default_factory=Counter)  # seconds of workers
    findings: dict[str, Finding] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.counts = {kind: Counter() for kind in self.kinds}
        self._lock = threading.Lock()
        self._next: Counter[str] = Counter()
        self._rate = dict.fromkeys(self.kinds, 20.0)  # cases per second, as measured so far
        self._started = time.monotonic()
        self._order = self._targets()

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._started

    @property
    def total(self) -> int:
        return sum(tried(of) for of in self.counts.values())

    def run(self) -> None:
        """Runs all workers to the end."""
        threads = [threading.Thread(target=self._work) for _ in range(self.jobs)]
        for thread in threads:
            thread.start()
        shown = time.monotonic()
        for thread in threads:
            while thread.is_alive():
                thread.join(0.5)
                if time.monotonic() - shown > 15:
                    shown = time.monotonic()
                    print(f"{self.elapsed:5.0f} s  {self.total:8,} cases  {len(self.findings)} findings", flush=True)

    def _targets(self) -> Iterator[Target]:
        """Targets of all kinds in turn, so that each kind gets the same share of the time."""
        rng = Random(self.first)
        orders = {kind: list(targets(kind).values()) for kind in self.kinds}
        places: Counter[str] = Counter()
        while True:
            kind = min(self.kinds, key=lambda kind: self.spent[kind] + rng.random() * 1e-3)
            order = orders[kind]
            if places[kind] % len(order) == 0:
                rng.shuffle(order)
            places[kind] += 1
            yield order[(places[kind] - 1) % len(order)]

    def _work(self) -> None:
        # What the core is tried with takes seconds to collect, so its worker does not end with failures of others.
        with Worker() as for_core, Worker() as for_others:
            while (job := self._job()) is not None:
                target, first, count, expected = job
                worker = for_core if target.kind == "core" else for_others
                began = time.monotonic()
                found = worker.seeds(str(target), first, count)
                took = time.monotonic() - began
                with self._lock:
                    self.counts[target.kind].update(found.counts)
                    self.spent[target.kind] += took - expected
                    self._rate[target.kind] += 0.2 * (count / max(took, 1e-3) - self._rate[target.kind])
                for seed, outcome in found.failures:
                    self._add(worker, str(target), seed, outcome)

    def _job(self) -> tuple[Target, int, int, float] | None:
        """A target, its next seeds, and the seconds that they probably take; None at the end."""
        with self._lock:
            left = self.cases - self.total
            if self.elapsed > self.seconds or left <= 0:
                return None
            target = next(self._order)
            rate = self._rate[target.kind]
            count = int(min(max(2, rate * _JOB_SECONDS), 1000, max(2, left / self.jobs)))
            first = self.first + self._next[str(target)]
            self._next[str(target)] += count
            self.spent[target.kind] += count / rate  # until it is known
            return target, first, count, count / rate

    def _add(self, worker: Worker, target: str, seed: int, outcome: Outcome) -> None:
        site = f"{target.partition(':')[0]}: {outcome.site}"
        with self._lock:
            known = self.findings.get(site)
            if known is not None:
                known.times += 1
                return
            finding = self.findings[site] = Finding(target, seed, outcome)
        try:
            finding.case = target_named(target).case(seed)
        except Exception:
            finding.alone = False
            return
        again = worker.case(target, finding.case)
        finding.alone = again.failed
        if again.failed:
            slow = outcome.what.startswith(("hang", "memory"))
            finding.case = smaller(
                finding.case, lambda case: _same(worker.case(target, case), again), *((6, 90.0) if slow else ())
            )
            finding.outcome = worker.case(target, finding.case)
            if not finding.outcome.failed:
                finding.outcome = again
        print(f"       {target} {seed}: {_SCRATCH.sub('', finding.outcome.what)[:160]}", flush=True)
        if self.keep is not None and finding.alone:
            write_case(self.keep, target, finding.case, finding.outcome)


def _same(a: Outcome, b: Outcome) -> bool:
    return a.failed and a.site == b.site


def tried(counts: Counter[str]) -> int:
    """How many cases were tried."""
    return counts["answer"] + counts["refusal"] + counts["failure"]


def write_case(folder: Path, target: str, case: Case, outcome: Outcome) -> Path:
    """Keeps a case that failed, with what was wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "-", target).strip("-").lower()
    path = folder / f"{name}-{sha256(json.dumps([target, outcome.site]).encode()).hexdigest()[:8]}.json"
    found = _SCRATCH.sub("", outcome.what)[:300]
    content = {"target": target, "found": found, "case": case}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    trace = os.environ.get("MARGRAVE_FUZZ_TRACES")
    if trace:
        Path(trace).mkdir(parents=True, exist_ok=True)
        (Path(trace) / f"{path.stem}.md").write_text(
            f"# {target}\n\n{found}\n\nSite: {outcome.site}\n\nCase (`python -m tests.fuzz {path.name}`):\n\n"
            f"```json\n{json.dumps(content, indent=1)[:6000]}\n```\n\n```\n{outcome.trace[-6000:]}\n```\n",
            encoding="utf-8",
        )
    return path


def read_case(path: Path) -> tuple[str, Case]:
    """The target and the case of a kept file."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return content["target"], content["case"]


def table(campaign: Campaign) -> str:
    """What was tried, by kind, for people."""
    rows = [
        (
            "kind",
            "targets",
            "cases",
            "answers",
            "refusals",
            "failures",
            "per second",
            "past the checksum",
            "past the header",
        )
    ]
    every: Counter[str] = Counter()
    for kind, counts in campaign.counts.items():
        every.update(counts)
        rows.append(_row(kind, len(targets(kind)), counts, campaign.spent[kind]))
    rows.append(_row("all", sum(len(targets(kind)) for kind in campaign.kinds), every, campaign.elapsed))
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if k else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def _row(kind: str, number: int, counts: Counter[str], seconds: float) -> tuple[str, ...]:
    cases = tried(counts)
    checked = kind in ("models", "layouts", "checkpoints")
    shares = [f"{counts[name] / max(1, cases):.1%}" if checked else "" for name in ("checksum", "header")]
    figures = [
        f"{number:,}",
        *(f"{each:,}" for each in (cases, counts["answer"], counts["refusal"], counts["failure"])),
    ]
    return (kind, *figures, f"{cases / max(seconds, 1e-9):,.0f}", *shares)


def all_kinds() -> list[str]:
    """The names of all kinds."""
    return list(KINDS)
