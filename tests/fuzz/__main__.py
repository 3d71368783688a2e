"""`python -m tests.fuzz`: a campaign, one case of a target and a seed, or cases from files."""

import argparse
import json
import os
import sys
from math import inf
from pathlib import Path

from tests.fuzz import reached, record, seeded
from tests.fuzz.campaign import KEPT, Campaign, all_kinds, read_case, table
from tests.fuzz.targets import KINDS, Outcome, target_named, targets
from tests.fuzz.workers import Worker


def main() -> int:
    """What the arguments ask for; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument(
        "what", nargs="*", metavar="TARGET SEED | FILE", help="one case, or cases of files (default: a campaign)"
    )
    parser.add_argument("--minutes", type=float, default=inf, help="how long a campaign takes")
    parser.add_argument("--cases", type=float, default=inf, help="how many cases it tries")
    parser.add_argument(
        "--first", type=int, default=None, metavar="SEED", help="its first seed [default: a new one each time]"
    )
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=all_kinds(), help="what it tries")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="how many workers it has")
    parser.add_argument("--keep", type=Path, default=KEPT, metavar="FOLDER", help="where cases that fail are kept")
    parser.add_argument("--record", action="store_true", help="write the figures to benchmarks/results")
    parser.add_argument(
        "--coverage", type=int, metavar="N", help="show which of its lines N cases of each reader run, and exit"
    )
    parser.add_argument("--open", action="store_true", help="list failing seeds of make test in open.txt")
    parser.add_argument("--targets", action="store_true", help="list all targets, and exit")
    arguments = parser.parse_args()
    if arguments.targets:
        print("\n".join(str(each) for kind in arguments.kinds for each in targets(kind).values()))
        return 0
    if arguments.open:
        seeded.list_open()
        return 0
    if arguments.coverage:
        return _coverage(arguments.coverage, arguments.record)
    if arguments.what:
        return _some(arguments.what)
    first = int.from_bytes(os.urandom(4)) if arguments.first is None else arguments.first
    if arguments.minutes == arguments.cases == inf:
        arguments.minutes = 5.0
    campaign = Campaign(arguments.kinds, 60 * arguments.minutes, arguments.cases, first, arguments.jobs, arguments.keep)
    print(f"seeds from {first} on", flush=True)
    campaign.run()
    print(f"\n{table(campaign)}")
    for site, finding in campaign.findings.items():
        times = f"{finding.times} times" + ("" if finding.alone else ", not alone")
        print(f"\n{finding.target} {finding.seed} ({times})\n    {site}\n    {finding.outcome.what[:300]}")
    if arguments.record:
        print(f"written to {record.write(campaign)}")
    return bool(campaign.findings)


def _coverage(cases: int, recorded: bool) -> int:
    """Which of their lines readers run in some cases each, and which they do not."""
    found = reached.measure(cases)
    print(reached.shares(found))
    for name, of in found.items():
        print(f"\n{name}: not {', '.join(map(str, of['others'])) or 'a line'}")
    if recorded:
        print(f"written to {reached.write(found, cases)}")
    return 0


def _some(what: list[str]) -> int:
    """Cases of files, or of a target and seeds."""
    if Path(what[0]).suffix == ".json":
        cases = [read_case(Path(path)) for path in what]
    else:
        cases = [(what[0], target_named(what[0]).case(int(seed))) for seed in what[1:]]
    failed = False
    with Worker() as worker:
        for target, case in cases:
            print(json.dumps({"target": target, "case": case}, indent=1))
            outcome: Outcome = worker.case(target, case)
            print(f"{outcome.end}: {outcome.what}\n{outcome.trace}")
            failed |= outcome.failed
    return failed


if __name__ == "__main__":
    sys.exit(main())
