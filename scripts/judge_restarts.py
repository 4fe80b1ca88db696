"""Change queries between two runs, and hold what ``inspector preflight`` says against Spark.

    python scripts/judge_restarts.py run FOLDER [--only REGEX]      with any PySpark from 3.5 on
    python scripts/judge_restarts.py judge FOLDER                   what is said of what was run

``run`` really restarts every change of ``restarts/changes.py`` on both providers with the PySpark
that is installed (it needs nothing else), and writes ``done.json`` beside the checkpoints.
``judge`` inspects the checkpoints, compares, and writes what was said and done to
``restarts/records/RELEASE.json``, from which ``refresh_docs.py`` makes the page
``reference/restarts``; it ends with 1 where something was said that Spark did not do.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from restarts.changes import CHANGES, Change
from restarts.queries import PROVIDERS, QUERIES
from restarts.runs import EQUAL, OTHER, REFUSED, Outcome, Runs, compare, write_input

DONE = "done.json"
RIGHT = {EQUAL: ("ok", "ignored"), OTHER: ("silent",), REFUSED: ("refused",)}
AT_ONCE = 3
"""Queries that run at the same time: much of a small one is waiting."""


def session() -> SparkSession:
    """A small session, quick for many small queries."""
    builder = SparkSession.builder.master("local[2]").appName("restarts")
    for key, value in {
        "spark.ui.enabled": "false",
        # Many small queries: what Spark spends is the time to compile.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.streaming.numRecentProgressUpdates": "1",
        "spark.sql.streaming.pollingDelay": "1ms",
        "spark.python.worker.reuse": "true",
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def run(spark: SparkSession, folder: Path, changes: list[Change]) -> dict[str, Any]:
    """Run all queries of some changes, then change them; what Spark did, by provider and change."""
    runs = Runs(spark, folder)
    for number in ("1", "2"):
        write_input(runs.inputs, number)
    pairs = [
        (provider, change)
        for provider in PROVIDERS
        for change in changes
        if all(runs.can_run(QUERIES[name], provider) for name in (change.old, change.new))
    ]
    names = list(dict.fromkeys((p, n) for p, change in pairs for n in (change.old, change.new)))

    def begin(place: tuple[str, str]) -> Outcome:
        path = runs.path_of(*place)
        outcome = runs.run(place[1], place[0], path)
        if path.exists():
            shutil.copytree(path, path.with_name(f"{path.name}.right"))
        return outcome

    def go_on(place: tuple[str, str]) -> Outcome:
        return runs.run(place[1], place[0], runs.path_of(place[0], f"{place[1]}.right"))

    def restart(group: list[tuple[str, Change]]) -> list[Outcome]:
        return [runs.restart(change, provider) for provider, change in group]

    with ThreadPoolExecutor(AT_ONCE) as pool:
        began = dict(zip(names, pool.map(begin, names), strict=True))
        write_input(runs.inputs, "3")
        names = [place for place in names if began[place].error is None]
        right = dict(zip(names, pool.map(go_on, names), strict=True))
        able = [(p, c) for p, c in pairs if {(p, c.old), (p, c.new)} <= set(names)]
        able.sort(key=lambda pair: (pair[0], pair[1].old))
        # A checkpoint stays where it is, so that those of one are changed one after the other.
        groups = [list(group) for _, group in groupby(able, lambda pair: (pair[0], pair[1].old))]
        outcomes = [each for of_group in pool.map(restart, groups) for each in of_group]
    restarted = dict(zip(able, outcomes, strict=True))
    done: dict[str, Any] = {}
    for provider, change in pairs:
        outcome = restarted.get((provider, change))
        if outcome is None:
            failed = (began[provider, name].error for name in (change.old, change.new))
            done[f"{provider} {change.name}"] = {
                "did": "not run",
                "error": next(filter(None, failed)),
            }
            continue
        best = right[provider, change.new]
        done[f"{provider} {change.name}"] = {
            "did": compare(best, outcome), "error": outcome.error,
            "right": _list(best), "rows": _list(outcome),
        }  # fmt: skip
    return done


def judge(folder: Path) -> int:
    """Say of every change what preflight says, compare, and write the record of the release."""
    from documentation.restarts import RECORDS

    told = json.loads((folder / DONE).read_text())
    release = ".".join(told["spark"].split(".")[:2])
    record: dict[str, Any] = {"spark": told["spark"], "score": {}, "changes": {}}
    bad = 0
    for change in CHANGES:
        on = {}
        for provider in PROVIDERS:
            done = told["done"].get(f"{provider} {change.name}")
            if done is None or done["did"] == "not run":
                continue
            report = preflight(folder / provider, change, release)
            said = report.summary["verdict"]
            score = score_of(said, done["did"], traceless=change.traceless)
            record["score"][score] = record["score"].get(score, 0) + 1
            rows = [row for row in report.primary.rows if row["verdict"] == said != "ok"]
            rules = sorted({row["rule"] for row in rows})
            on[provider] = {**{k: done[k] for k in ("did", "error")}, "said": said, "rules": rules}
            if score in ("wrong", "alarm"):
                bad += score == "wrong"
                did = f"{done['did']} {done['error'] or ''}"
                print(f"{score}: {provider} {change.name}: said {said} {rules}, {did}")
        if on:
            record["changes"][change.name] = {"group": change.group, "says": change.says, "on": on}
    RECORDS.mkdir(exist_ok=True)
    (RECORDS / f"{release}.json").write_text(json.dumps(record, indent=1) + "\n")
    print(f"Spark {told['spark']}: {record['score']}")
    return int(bad > 0)


def preflight(folder: Path, change: Change, release: str) -> Any:
    """The report on a change.

    Args:
        folder: of the checkpoints of a provider, as ``run`` left them.
        change: what was changed.
        release: of Spark.
    """
    from inspector import api

    damaged = change.damage is not None or change.moved
    old = folder / (f"{change.name}.damaged" if damaged else change.old)
    conf = {key: value for key, value in QUERIES[change.new].conf.items() if "." in key}
    return api.preflight(str(old), str(folder / change.new), conf=conf, to_spark=release)


def score_of(said: str, did: str, *, traceless: bool) -> str:
    """How what was said compares with what Spark did.

    Returns:
        ``right``; ``open`` where it was said that files do not decide it; ``alarm`` where results
        that were doubted are equal; ``traceless`` where nothing shows the change; else ``wrong``.
    """
    if said == "unknown":
        return "open"
    if said in RIGHT[did]:
        return "right"
    if did == EQUAL and said == "silent":
        return "alarm"
    return "traceless" if traceless and did == OTHER and said == "ok" else "wrong"


def _list(outcome: Outcome) -> list[str] | None:
    return None if outcome.rows is None else list(outcome.rows)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("verb", choices=("run", "judge"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="changes whose name has this pattern")
    given = parser.parse_args()
    chosen = [change for change in CHANGES if re.search(given.only, change.name)]
    start = time.monotonic()
    if given.verb == "judge":
        return judge(given.folder.resolve())
    if given.verb == "run":
        spark = session()
        done = run(spark, given.folder.resolve(), chosen)
        text = json.dumps({"spark": spark.version, "done": done}, indent=1)
        (given.folder / DONE).write_text(text)
        print(f"{len(done)} restarts on Spark {spark.version} in {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
