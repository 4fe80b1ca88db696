"""Damages copies of the fixtures, runs commands on each, and prints which damages were seen.

``python scripts/lab/inject_damage.py 5000`` takes some 40 minutes on one core. ``--first 5000``
begins with another seed, so that parallel and later runs make other damages. Each failure is
printed with its seed, and ``1 --first SEED --keep FOLDER`` makes its damage again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import top_scripts  # noqa: F401 - finds the tests

from tests.injection import CASES, ROCKSDB, Bench, Case, table

WRONG = ("unseen", "lost", "fault", "hang")


def main() -> int:
    """Run; 1 if any damage was not seen, or ended a command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, help="damages")
    parser.add_argument("--first", type=int, default=0, help="seed of the first")
    parser.add_argument("--only", default="", help="checkpoints whose name has this text")
    parser.add_argument("--every", action="store_true", help="all commands on each, not two")
    parser.add_argument("--keep", type=Path, help="folder for the copies, which are left there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        names = [name for name in (*CASES, *ROCKSDB) if options.only in name]
        bench = Bench(options.keep or Path(folder), names, every=options.every)
        cases = []
        for case in bench.run(range(options.first, options.first + options.count)):
            cases.append(case)
            if case.worst in WRONG:
                print(_line(case), flush=True)
            if len(cases) % 100 == 0:
                print(f"{len(cases):,} of {options.count:,}", flush=True)
    print(table(cases))
    print(f"\n{table([_of(case, command) for case in cases for command in case.outcomes])}")
    return int(any(case.worst in WRONG for case in cases))


def _of(case: Case, command: str) -> Case:
    return Case(
        *(case.fixture, case.sums, command, case.seed, case.changed),
        {command: case.outcomes[command]},
    )


def _line(case: Case) -> str:
    wrong = ", ".join(f"{name} {item}" for name, item in case.outcomes.items() if item in WRONG)
    files = ", ".join(case.changed[:4])
    return f"seed {case.seed}: {case.fixture} ({case.sums}), {case.kind}: {wrong}; {files}"


if __name__ == "__main__":
    sys.exit(main())
