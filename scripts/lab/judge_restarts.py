"""Change queries between two runs, and hold what ``inspector preflight`` says against Spark.

    python scripts/lab/judge_restarts.py run FOLDER [--only REGEX]      with any PySpark from 3.5 on
    python scripts/lab/judge_restarts.py judge FOLDER...                what is said of what was run

``run`` really restarts every change of ``restarts/changes.py`` on both providers with the PySpark
that is installed (it needs nothing else), and writes ``done.json`` beside the checkpoints.
``judge`` inspects the checkpoints, compares, and writes what was said and done to
``restarts/records/RELEASE.json``, where changes that were not run stay as they were. It asks twice:
about both checkpoints alone, and with what the old query made of the same rows (``--before``).
``refresh_docs.py`` makes ``restarts/changes.md`` of it. ``judge`` ends with 1 where
something was said that Spark did not do.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby, product
from pathlib import Path
from textwrap import shorten
from typing import Any

import top_scripts  # noqa: F401 - finds the folder above
from pyspark.sql import SparkSession
from restarts.changes import CHANGES, Change
from restarts.queries import PROVIDERS, QUERIES
from restarts.runs import (
    EQUAL,
    LATER,
    NO_WORKER,
    NOT_THERE,
    OTHER,
    PATH,
    REFUSED,
    REHEARSED,
    Outcome,
    Runs,
    compare,
    write_input,
)
from restarts.sessions import start_session

DONE = "done.json"
NOT_RUN = "not run"
RIGHT = {EQUAL: ("ok", "ignored"), OTHER: ("silent",), REFUSED: ("refused",)}
AT_ONCE = 3
"""Queries that run at the same time: much of a small one is waiting."""


def session() -> SparkSession:
    """A small session, quick for many small queries."""
    confs = {"spark.sql.streaming.numRecentProgressUpdates": "1"}
    spark: SparkSession = start_session("restarts", confs)
    return spark


def run(
    spark: SparkSession,
    folder: Path,
    changes: Sequence[Change],
    save: Callable[[Mapping[str, Any]], None] = lambda _: None,
    *,
    restarts: bool = True,
    alone: bool = False,
) -> dict[str, Any]:
    """Run all queries of some changes, then change them; what Spark did, by provider and change.

    Args:
        spark: the session.
        folder: where inputs and checkpoints are; first runs that are there already are taken.
        changes: what is changed.
        save: gets what was done so far after each change.
        restarts: False to make the first runs and the rehearsals alone.
        alone: each change on one provider alone.
    """
    work = _Work(Runs(spark, folder), save)
    runs = work.runs
    pairs = [
        (provider, change)
        for provider in PROVIDERS
        for change in changes
        if all(runs.can_run(QUERIES[name], provider) for name in (change.old, change.new))
    ]
    if alone:
        pairs = list({change.name: (provider, change) for provider, change in pairs[::-1]}.values())
    pairs.sort(key=lambda pair: (pair[1].later, pair[0], pair[1].old))
    names = list(dict.fromkeys((p, n) for p, change in pairs for n in (change.old, change.new)))
    for number in ("3", *LATER):
        for file in runs.inputs.glob(f"*/{number}.json"):
            file.unlink()  # of an earlier call: no first run may read it
    for number in ("1", "2"):
        write_input(runs.inputs, number)
    for number in REHEARSED:
        write_input(runs.rehearsal, number)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        work.began = dict(zip(names, pool.map(lambda of: runs.begin(*of), names), strict=True))
        later = [pair for pair in pairs if pair[1].later]
        rehearsed = {
            (provider, name): None
            for provider, change in pairs
            if change.is_rehearsed
            for name in (change.old, change.new)
        }
        list(pool.map(lambda of: runs.rehearse(*of), rehearsed))
        if restarts:
            write_input(runs.inputs, "3")
            work.restart(pool, [pair for pair in pairs if not pair[1].later])
            for number in LATER:
                write_input(runs.inputs, number)
            work.restart(pool, later)
    return work.done


class _Work:
    """The restarts of one session, and what Spark did so far."""

    def __init__(self, runs: Runs, save: Callable[[Mapping[str, Any]], None]) -> None:
        self.runs, self._save = runs, save
        self.done: dict[str, Any] = {}  # by provider and change
        self.began: dict[tuple[str, str], str | None] = {}  # errors, by provider and query
        self._right: dict[tuple[str, bool], Outcome] = {}  # by query, and whether rows follow

    def restart(self, pool: ThreadPoolExecutor, pairs: Sequence[tuple[str, Change]]) -> None:
        """Run the new queries from the beginning, then let them take over."""
        # Rows do not depend on the provider.
        best: dict[tuple[str, bool], str] = {}
        for provider, change in pairs:
            best.setdefault((change.new, change.later), provider)
        outcomes = pool.map(lambda of: self.runs.go_on(best[of], of[0], complete=of[1]), best)
        self._right.update(zip(best, outcomes, strict=True))
        able = []
        for provider, change in pairs:
            errors = (self.began[provider, name] for name in (change.old, change.new))
            error = next(filter(None, errors), self._right[change.new, change.later].error)
            if error is None:
                able.append((provider, change))
            else:
                self.done[f"{provider} {change.name}"] = {"did": NOT_RUN, "error": error}
        # A checkpoint stays where it is, so that those of one are changed one after the other.
        groups = [list(group) for _, group in groupby(able, lambda pair: (pair[0], pair[1].old))]
        list(pool.map(self._restart_group, groups))

    def _restart_group(self, group: Sequence[tuple[str, Change]]) -> None:
        for provider, change in group:
            outcome = self.runs.restart(change, provider)
            rows = self._right[change.new, change.later]
            lacks = (outcome.error or "").startswith((NOT_THERE, NO_WORKER))
            self.done[f"{provider} {change.name}"] = {
                "did": NOT_RUN if lacks else compare(rows, outcome), "error": outcome.error,
                "right": rows.rows, "rows": outcome.rows,
            }  # fmt: skip
            self._save(dict(self.done))


def judge(folders: Sequence[Path]) -> int:
    """Say of every change what preflight says, compare, and write the record of the release."""
    from documentation.restarts import RECORDS

    runs = {folder: json.loads((folder / DONE).read_text()) for folder in folders}
    (version,) = {run["spark"] for run in runs.values()}
    release = ".".join(version.split(".")[:2])
    file = RECORDS / f"{release}.json"
    before = json.loads(file.read_text())["changes"] if file.exists() else {}
    scores: dict[str, dict[str, int]] = {"said": {}, "said_before": {}}
    record: dict[str, Any] = {"spark": version, "scores": scores, "changes": {}}
    for change in CHANGES:
        on = dict(before.get(change.name, {}).get("on", {}))
        for provider in PROVIDERS:
            for folder, run_there in runs.items():
                done = run_there["done"].get(f"{provider} {change.name}", {"did": NOT_RUN})
                if (
                    not run_there["restarts"]
                    and provider in on
                    and can_judge(folder, provider, change)
                ):
                    done = on[provider]  # as it was restarted before
                if done["did"] != NOT_RUN:
                    on[provider] = said_of(folder / provider, change, release, done)
                    break
        for (provider, entry), (question, score) in product(on.items(), scores.items()):
            word = score_of(entry[question], entry["did"])
            score[word] = score.get(word, 0) + 1
            if word in ("wrong", "alarm"):
                print(f"{word}: {provider} {change.name}: {entry}")
        if on:
            told_of = {name: getattr(change, name) for name in ("group", "says", "traceless")}
            record["changes"][change.name] = {**told_of, "on": on}
    RECORDS.mkdir(exist_ok=True)
    file.write_text(json.dumps(record, indent=1) + "\n")
    print(f"Spark {version}: {scores}")
    return int(any("wrong" in score for score in scores.values()))


def can_judge(folder: Path, provider: str, change: Change) -> bool:
    """Whether the checkpoints of a change are there, which needs no damage and no move."""
    paths = [folder / provider / name for name in (change.old, change.new)]
    return change.damage is None and not change.moved and all(path.exists() for path in paths)


def said_of(folder: Path, change: Change, release: str, done: Mapping[str, Any]) -> dict[str, Any]:
    """What was said of a restart, without and with the old query's state, beside what was done."""
    error = done["error"] and shorten(PATH.sub("PATH", done["error"]), 140, placeholder="")
    entry: dict[str, Any] = {"did": done["did"], "error": error}
    for suffix in ("", "_before"):
        report = preflight(folder, change, release, before=bool(suffix))
        verdict = report.summary["verdict"]
        rules = {row["rule"] for row in report.primary.rows if row["verdict"] == verdict != "ok"}
        entry |= {f"said{suffix}": verdict, f"rules{suffix}": sorted(rules)}
    return entry


def preflight(folder: Path, change: Change, release: str, *, before: bool) -> Any:
    """The report on a change.

    Args:
        folder: of the checkpoints of a provider, as ``run`` left them.
        change: what was changed.
        release: of Spark.
        before: with what the old query made of the rows that the new one had, too.
    """
    from inspector import api

    damaged = change.damage is not None or change.moved
    old = folder / (f"{change.name}.damaged" if damaged else change.old)
    conf = {key: value for key, value in QUERIES[change.new].conf.items() if "." in key}
    new, rehearsed = folder / change.new, folder / change.old if before else None
    if before and change.is_rehearsed:
        pair = [folder / f"{name}.rehearsed" for name in (change.new, change.old)]
        if all(path.exists() for path in pair):  # else a query does not end on those rows
            new, rehearsed = pair
    before_path = None if rehearsed is None else str(rehearsed)
    return api.preflight(str(old), str(new), conf=conf, to_spark=release, before=before_path)


def score_of(message: str, did: str) -> str:
    """How what was said compares with what Spark did.

    Returns:
        ``right``; ``open`` where it was said that files do not decide it; ``alarm`` where results
        that were doubted are equal; else ``wrong``.
    """
    if message == "unknown":
        return "open"
    if message in RIGHT[did]:
        return "right"
    return "alarm" if did == EQUAL and message == "silent" else "wrong"


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("verb", choices=("run", "judge"))
    parser.add_argument("folders", metavar="FOLDER", type=Path, nargs="+")
    parser.add_argument("--only", default="", help="changes whose name has this pattern")
    parser.add_argument(
        "--no-restarts",
        action="store_true",
        help="make the checkpoints alone, to judge restarts that the record has",
    )
    parser.add_argument("--alone", action="store_true", help="each change on one provider alone")
    args = parser.parse_args()
    chosen = [change for change in CHANGES if re.search(args.only, change.name)]
    start = time.monotonic()
    if args.verb == "judge":
        return judge([folder.resolve() for folder in args.folders])
    if args.verb == "run":
        spark = session()
        (folder,) = (item.resolve() for item in args.folders)

        def save(done: Mapping[str, Any]) -> None:
            document = {"spark": spark.version, "restarts": not args.no_restarts, "done": done}
            (folder / DONE).write_text(json.dumps(document, indent=1))

        folder.mkdir(parents=True, exist_ok=True)
        done = run(*(spark, folder, chosen, save), restarts=not args.no_restarts, alone=args.alone)
        save(done)
        print(f"{len(done)} restarts on Spark {spark.version} in {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
