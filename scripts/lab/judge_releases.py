"""Restart checkpoints of one Spark in another one, and compare with ``preflight --to-spark``.

    python scripts/lab/judge_releases.py begin FOLDER    with the PySpark that makes the checkpoints
    python scripts/lab/judge_releases.py restart FOLDER  with the PySpark that restarts them
    python scripts/lab/judge_releases.py modes FOLDER    with PySpark 4.3: async and real-time
    python scripts/lab/judge_releases.py judge FOLDER    what is said of what was run

A checkpoint has to be judged where it was made: it names absolute paths. ``judge`` keeps the cases
of the record that FOLDER does not have.

``begin`` makes a folder for its release and notes which rows are right: those that the same query
gives of the third input without a change. ``restart`` lets its release take over each checkpoint of
each other release, which stays as it was; run it again for restarts that the load of the machine
prevented. ``judge`` writes the record
``restarts/records/releases/counts.json`` and ends with 1 where something was said that Spark did
not do. ``refresh_docs.py`` puts the counts on the page ``reference/restarts``.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import shorten
from typing import Any

import top_scripts  # noqa: F401 - finds the folder above
from judge_restarts import AT_ONCE, RIGHT, session
from restarts.changes import Change
from restarts.queries import PREFIX, PROVIDERS, QUERIES
from restarts.real_time import run_modes
from restarts.runs import EQUAL, NO_WORKER, PATH, Outcome, Runs, compare, write_input

DONE = "done.json"
NAMES = (
    *("min-max", "min-max-by-kg", "list", "median", "distinct", "decimal-10", "windows-end"),
    *("sessions-end", "once-k-ts", "once-within", "once-six", "once-mixed", "join-30"),
    *("join-left", "chain", "limit-5", "timers-15", "state", "state-list", "state-ttl", "no-state"),
    *("json-sink", "rate", "one-two", "cast", "checkpoint-v2", "offsets-v2", "row-checksums"),
    *("avro-state", "avro-state-more-fields", "state-two", "state-map", "state-event-time"),
    *("state-timers", "state-all", "state-ttl-list"),
)
"""The queries whose checkpoints change the release."""
ON_BOTH = ("min-max", "once-six", "join-30", "sessions-end", "windows-end")
"""Queries that run on both providers; the others alternate."""
PAIRS = (
    *(("3.5.9", "4.0.5"), ("3.5.9", "4.3.0"), ("4.0.5", "4.2.1"), ("4.0.5", "4.3.0")),
    ("4.2.1", "4.3.0"),
    *(("4.0.5", "3.5.9"), ("4.2.1", "4.0.5"), ("4.3.0", "4.2.1")),
)
"""The releases before and after a restart."""
CONFS: Mapping[str, Mapping[str, str]] = {
    "ansi": {"spark.sql.ansi.enabled": "false"},
    "format-1": {PREFIX + "stateStore.checkpointFormatVersion": "1"},
    "format-2": {PREFIX + "stateStore.checkpointFormatVersion": "2"},
    "partitions": {"spark.sql.shuffle.partitions": "5"},
}
"""Confs of a restart, by what they are called."""
WITH_CONF = {
    "ansi": ("min-max", "cast", "once-six"),
    "format-1": ("checkpoint-v2",),
    "format-2": ("min-max", "state"),
    "partitions": ("min-max", "offsets-v2"),
}
"""Confs of a restart -> the queries that are restarted with them, in addition to without."""


def confs_of(name: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield what the confs of a restart are called, and the confs."""
    yield "", {}
    for called, conf in CONFS.items():
        if name in WITH_CONF[called]:
            yield called, conf


def places(runs: Runs, only: str) -> list[tuple[str, str]]:
    """Return the providers and queries that a release runs, of those whose name has a pattern."""
    result = []
    for number, name in enumerate(name for name in NAMES if re.search(only, name)):
        able = [provider for provider in PROVIDERS if runs.can_run(QUERIES[name], provider)]
        result += [(p, name) for p in (able if name in ON_BOTH else able[number % 2 :][:1] or able)]
    return result


def begin(folder: Path, only: str) -> int:
    """Make the checkpoints of the installed release, and note the rows that are right."""
    spark = session()
    runs = Runs(spark, folder / spark.version)
    all_places = places(runs, only)
    done: dict[str, Any] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for number in ("1", "2"):
            write_input(runs.inputs, number)
        begun = pool.map(lambda location: runs.begin(*location), all_places)
        errors = dict(zip(all_places, begun, strict=True))
        write_input(runs.inputs, "3")
        right = pool.map(lambda location: runs.go_on(*location), all_places)
        for location, rows in zip(all_places, right, strict=True):
            error = errors[location] or rows.error
            done[" ".join(location)] = {"error": error, "right": rows.rows}
    (runs.folder / DONE).write_text(json.dumps(done, indent=1))
    print(f"{len(done)} checkpoints of Spark {spark.version}")
    return 0


def restart(folder: Path, only: str) -> int:
    """Let the installed release take over the checkpoints of every other one."""
    spark = session()
    for of_release in sorted(path.parent for path in folder.glob(f"*/{DONE}")):
        begun = json.loads((of_release / DONE).read_text())
        file = of_release / f"in-{spark.version}.json"
        if (of_release.name, spark.version) not in PAIRS:
            continue
        runs = Runs(spark, of_release)
        done: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}

        def restart_one(
            location: str, runs: Runs = runs, begun: Any = begun, done: Any = done
        ) -> None:
            provider, name = location.split(" ")
            if (
                not re.search(only, name)
                or begun[location]["error"]
                or not runs.can_run(QUERIES[name], provider)
            ):
                return
            right = Outcome(tuple(begun[location]["right"]))
            for called, conf in confs_of(name):
                case = f"{location} {called}".strip()
                if case in done:
                    continue
                change = Change(name, name, "", "", conf=conf)
                outcome = runs.restart(change, provider)
                if (outcome.error or "").startswith(NO_WORKER):
                    continue
                error = outcome.error and shorten(
                    PATH.sub("PATH", outcome.error), 140, placeholder=""
                )
                did = compare(right, outcome)
                done[case] = {"did": did, "error": error}

        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(restart_one, begun))
        file.write_text(json.dumps(done, indent=1))
        print(f"{len(done)} restarts from {of_release.name} on Spark {spark.version}", flush=True)
    return 0


def judge(folder: Path, _only: str) -> int:
    """Compare what preflight says with what Spark did, and write the counts."""
    from documentation.restarts import RELEASES_RECORD

    record: dict[str, Any] = {}
    if RELEASES_RECORD.exists():
        record = json.loads(RELEASES_RECORD.read_text())
    for file in sorted(folder.glob("*/in-*.json")):
        old, new = file.parent.name, file.stem.removeprefix("in-")
        cases = record.get(f"{old} to {new}", {}).get("cases", {})
        for name, messages in sorted(json.loads(file.read_text()).items()):
            provider, query, *called = name.split(" ")
            path = file.parent / provider / messages.get("checkpoint", query)
            conf = (
                {k: v for k, v in QUERIES[query].conf.items() if "." in k}
                if query in QUERIES
                else {}
            )
            for value in called:
                conf |= CONFS.get(value, {})
            conf |= messages.get("conf", {})
            result, rules = said_of(path, new, conf, messages.get("mode"))
            score = score_of(result, messages["did"])
            cases[name] = {**messages, "said": result, "rules": rules}
            if score in ("wrong", "alarm"):
                print(f"{score}: {old} to {new}: {name}: {result} {rules}: {messages}")
        counts: Counter[str] = Counter()
        for case in cases.values():
            counts.update((case["did"], score_of(case["said"], case["did"])))
        record[f"{old} to {new}"] = {"counts": dict(counts), "cases": cases}
    RELEASES_RECORD.parent.mkdir(parents=True, exist_ok=True)
    RELEASES_RECORD.write_text(json.dumps(record, indent=1) + "\n")
    total: Counter[str] = Counter()
    for value in record.values():
        total.update(value["counts"])
    print(dict(total))
    return int(total["wrong"] > 0)


def said_of(path: Path, release: str, conf: Mapping[str, str], mode: Any) -> tuple[str, list[str]]:
    """Return the verdict of preflight on a checkpoint alone, and the rules that gave it."""
    from inspector import api

    report = api.preflight(str(path), conf=conf, to_spark=release, mode=mode)
    result = report.summary["verdict"]
    rules = {row["rule"] for row in report.primary.rows if row["verdict"] == result != "ok"}
    return result, sorted(rules)


def score_of(message: str, did: str) -> str:
    """Compare a verdict with what Spark did: right, open, alarm or wrong."""
    if message == "unknown":
        return "open"
    if message in RIGHT[did] or (message == "option" and did != EQUAL):
        return "right"
    return "alarm" if did == EQUAL else "wrong"


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    verbs = {"begin": begin, "restart": restart, "modes": run_modes, "judge": judge}
    parser.add_argument("verbs", metavar="VERB", nargs="+", choices=verbs)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="queries whose name has this pattern")
    args = parser.parse_args()
    return max(verbs[verb](args.folder.resolve(), args.only) for verb in args.verbs)


if __name__ == "__main__":
    sys.exit(main())
