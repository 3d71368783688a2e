"""The record of a campaign, beside those of the benchmarks, for docs/reliability.md."""

from math import inf
from pathlib import Path
from typing import Any

from benchmarks.freshness import commit
from benchmarks.machine import RESULTS, described, read_result, write_result
from benchmarks.tables import markdown
from tests.fuzz.campaign import Campaign, tried
from tests.fuzz.targets import targets

NAME = "fuzz"


def write(campaign: Campaign) -> Path:
    """Writes the counts by kind, with the machine, the versions and the commit."""
    write_result(NAME, described({"measured": {"commit": commit()}, **counts(campaign)}))
    return RESULTS / f"{NAME}.json"


def counts(campaign: Campaign) -> dict[str, Any]:
    """The counts, as JSON can hold them."""
    kinds = {
        kind: {
            "targets": len(targets(kind)),
            "cases": tried(of),
            **{name: of[name] for name in ("answer", "refusal", "failure")},
            **({"past_checksum": of["checksum"], "past_header": of["header"]} if of["checksum"] else {}),
            "per_second": tried(of) / max(campaign.spent[kind], 1e-9),
        }
        for kind, of in campaign.counts.items()
    }
    ends = [(finding.outcome.what.partition(":")[0], finding.times) for finding in campaign.findings.values()]
    return {
        "first_seed": campaign.first,
        "seconds": campaign.elapsed,
        "workers": campaign.jobs,
        "asked": {"seconds": _finite(campaign.seconds), "cases": _finite(campaign.cases)},
        "cases": campaign.total,
        "crashes": sum(times for what, times in ends if what == "crash"),
        "hangs": sum(times for what, times in ends if what == "hang"),
        "memory": sum(times for what, times in ends if what == "memory"),
        "failures": sum(of["failure"] for of in campaign.counts.values()),
        "findings": len(campaign.findings),
        "kinds": kinds,
    }


def table() -> str:
    """The counts of the last campaign that was recorded, in Markdown."""
    result = read_result(NAME)
    machine, measured = result["machine"], result["measured"]
    head = ["kind", "targets", "cases", "answers", "refusals", "failures", "past the checksum", "past the header"]
    rows = [
        [
            kind,
            str(of["targets"]),
            *(f"{of[name]:,}" for name in ("cases", "answer", "refusal", "failure")),
            *(f"{of[name] / of['cases']:.1%}" if name in of else "" for name in ("past_checksum", "past_header")),
        ]
        for kind, of in result["kinds"].items()
    ]
    sums = [sum(of[name] for of in result["kinds"].values()) for name in ("targets", "cases", "answer", "refusal")]
    rows.append(["all", *(f"{each:,}" for each in [*sums, result["failures"]]), "", ""])
    tried = (
        f"{machine['date'][:10]}, commit {measured['commit']}: {result['crashes']} crashes, {result['hangs']} hangs."
    )
    return f"{markdown(head, rows)}\n\n{tried}"


def _finite(number: float) -> float | None:
    return None if number == inf else number
