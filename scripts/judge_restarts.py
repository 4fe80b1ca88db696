"""Change queries between two runs, and hold what ``inspector preflight`` says against Spark.

    python scripts/judge_restarts.py run FOLDER [--only REGEX]      with any PySpark from 3.5 on
    python scripts/judge_restarts.py judge FOLDER...                what is said of what was run

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

from pyspark.sql import SparkSession
from restarts.changes import CHANGES, Change
from restarts.queries import PROVIDERS, QUERIES
from restarts.runs import EQUAL, NOT_THERE, OTHER, PATH, REFUSED, Runs, compare, write_input
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
) -> dict[str, Any]:
    """Run all queries of some changes, then change them; what Spark did, by provider and change.

    Args:
        spark: the session.
        folder: where inputs and checkpoints are; first runs that are there already are taken.
        changes: what is changed.
        save: gets what was done so far after each change.
    """
    runs = Runs(spark, folder)
    pairs = [
        (provider, change)
        for provider in PROVIDERS
        for change in changes
        if all(runs.can_run(QUERIES[name], provider) for name in (change.old, change.new))
    ]
    pairs.sort(key=lambda pair: (pair[0], pair[1].old))
    names = list(dict.fromkeys((p, n) for p, change in pairs for n in (change.old, change.new)))
    # Rows do not depend on the provider.
    best: dict[str, str] = {}
    for provider, name in names:
        best.setdefault(name, provider)
    done: dict[str, Any] = {}

    def restart(group: Sequence[tuple[str, Change]]) -> None:
        for provider, change in group:
            outcome = runs.restart(change, provider)
            rows = right[change.new]
            lacks = (outcome.error or "").startswith(NOT_THERE)
            done[f"{provider} {change.name}"] = {
                "did": NOT_RUN if lacks else compare(rows, outcome), "error": outcome.error,
                "right": rows.rows, "rows": outcome.rows,
            }  # fmt: skip
            save(dict(done))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for file in runs.inputs.glob("*/3.json"):
            file.unlink()  # of an earlier call: no first run may read it
        for number in ("1", "2"):
            write_input(runs.inputs, number)
        began = dict(zip(names, pool.map(lambda place: runs.begin(*place), names), strict=True))
        write_input(runs.inputs, "3")
        outcomes = pool.map(lambda name: runs.go_on(best[name], name), best)
        right = dict(zip(best, outcomes, strict=True))
        for provider, change in pairs:
            errors = (began[provider, name] for name in (change.old, change.new))
            error = next(filter(None, errors), right[change.new].error)
            if error is not None:
                done[f"{provider} {change.name}"] = {"did": NOT_RUN, "error": error}
        able = [pair for pair in pairs if f"{pair[0]} {pair[1].name}" not in done]
        # A checkpoint stays where it is, so that those of one are changed one after the other.
        groups = [list(group) for _, group in groupby(able, lambda pair: (pair[0], pair[1].old))]
        list(pool.map(restart, groups))
    return done


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
                if done["did"] != NOT_RUN:
                    on[provider] = said_of(folder / provider, change, release, done)
                    break
        for (provider, told), (asked, score) in product(on.items(), scores.items()):
            word = score_of(told[asked], told["did"])
            score[word] = score.get(word, 0) + 1
            if word in ("wrong", "alarm"):
                print(f"{word}: {provider} {change.name}: {told}")
        if on:
            told_of = {name: getattr(change, name) for name in ("group", "says", "traceless")}
            record["changes"][change.name] = {**told_of, "on": on}
    RECORDS.mkdir(exist_ok=True)
    file.write_text(json.dumps(record, indent=1) + "\n")
    print(f"Spark {version}: {scores}")
    return int(any("wrong" in score for score in scores.values()))


def said_of(folder: Path, change: Change, release: str, done: Mapping[str, Any]) -> dict[str, Any]:
    """What was said of a restart, without and with the old query's state, beside what was done."""
    error = done["error"] and shorten(PATH.sub("PATH", done["error"]), 140, placeholder="")
    told: dict[str, Any] = {"did": done["did"], "error": error}
    for suffix in ("", "_before"):
        report = preflight(folder, change, release, before=bool(suffix))
        said = report.summary["verdict"]
        rules = {row["rule"] for row in report.primary.rows if row["verdict"] == said != "ok"}
        told |= {f"said{suffix}": said, f"rules{suffix}": sorted(rules)}
    return told


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
    rehearsed = str(folder / change.old) if before else None
    return api.preflight(
        str(old), str(folder / change.new), conf=conf, to_spark=release, before=rehearsed
    )


def score_of(said: str, did: str) -> str:
    """How what was said compares with what Spark did.

    Returns:
        ``right``; ``open`` where it was said that files do not decide it; ``alarm`` where results
        that were doubted are equal; else ``wrong``.
    """
    if said == "unknown":
        return "open"
    if said in RIGHT[did]:
        return "right"
    return "alarm" if did == EQUAL and said == "silent" else "wrong"


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("verb", choices=("run", "judge"))
    parser.add_argument("folders", metavar="FOLDER", type=Path, nargs="+")
    parser.add_argument("--only", default="", help="changes whose name has this pattern")
    given = parser.parse_args()
    chosen = [change for change in CHANGES if re.search(given.only, change.name)]
    start = time.monotonic()
    if given.verb == "judge":
        return judge([folder.resolve() for folder in given.folders])
    if given.verb == "run":
        spark = session()
        (folder,) = (each.resolve() for each in given.folders)

        def save(done: Mapping[str, Any]) -> None:
            (folder / DONE).write_text(json.dumps({"spark": spark.version, "done": done}, indent=1))

        folder.mkdir(parents=True, exist_ok=True)
        done = run(spark, folder, chosen, save)
        save(done)
        print(f"{len(done)} restarts on Spark {spark.version} in {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
