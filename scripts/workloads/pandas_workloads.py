"""The workloads whose function is Python's.

    spark-submit --jars JAR pandas_workloads.py OUT FILE

Input, clock and recording are Scala's (Workload.scala); only the function, and the choice of its
actions and timers (as in Actor.scala), is Python.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

BASE = 1_704_067_200_000
STATE = "n long, tag string"
OUTPUT = "key string, n long"
KEY_COLUMNS = {"string": ["s"], "long": ["l"], "two": ["s", "l"]}
TIMEOUTS = {
    "event": GroupStateTimeout.EventTimeTimeout,
    "processing": GroupStateTimeout.ProcessingTimeTimeout,
    "none": GroupStateTimeout.NoTimeout,
}

ODD = ["U", "UT", "N", "NT", "R", "RT", "S", "ST", "X", "XT", "Y", "YT"]
MOSTLY = ["UT", "UT", "UT", "UT", "U", "R", "N", *ODD]
ON_DATA = {
    "mixed": MOSTLY,
    "datamix": MOSTLY,
    "lapse": ["UT", "UT", "U", "S", "N", "NT"],
    "lapseN": ["UT", "UT", "U", "N", "N", "R"],
}
ON_TIMEOUT = {
    "mixed": MOSTLY,
    "arm": ["UT", "UT", "NT", "RT", "ST"],
    "keep": ["U", "S", "U", "Y"],
    "ignore": ["N"],
}

Function = Callable[[Any, Iterator[pd.DataFrame], GroupState], Iterator[pd.DataFrame]]


@dataclass(frozen=True)
class Role:
    """How a function chooses and where it logs, in one run of the query."""

    run: int
    timeout: str
    profile: str
    seed: int
    patience: int
    fixed: int
    tick: int
    fail_in_batch: int
    calls: str


def action_of(role: Role, hash_: int, *, timed: bool, fresh: bool) -> str:
    """The letters of Actor.scala for a call; `fresh`: the key has no state yet."""
    choices = (ON_TIMEOUT if timed else ON_DATA).get(role.profile, ["R" if timed else "UT"])
    if role.profile == "rare" and hash_ % 23 == 0:
        choices = ODD
    if role.profile == "once" and not timed:
        choices = ["UT" if fresh else "U"]
    action = choices[hash_ % len(choices)]
    return action[:1] if role.timeout == "none" else action


def function_of(role: Role) -> Function:
    """Make the query function of a run."""

    def act(key: Any, frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        rows = pd.concat(list(frames)) if not state.hasTimedOut else pd.DataFrame()
        task = TaskContext.get()
        if task is None or task.attemptNumber() > 0:
            raise RuntimeError("calls are logged by the first attempt of a task only")
        batch = int(task.getLocalProperty("streaming.sql.batchId") or -1)
        name = json.dumps([_plain(value) for value in key])
        hash_ = zlib.crc32(f"{role.seed}/{name}/{batch}/{state.hasTimedOut}".encode())
        if batch == role.fail_in_batch and hash_ % 3 == 0:
            raise RuntimeError(f"a failure wanted in batch {batch}")
        was = state.get if state.exists else None
        action = action_of(role, hash_ >> 1, timed=state.hasTimedOut, fresh=was is None)
        change(action[0], was, state, rows=len(rows), tag=f"t{(hash_ >> 8) % 5}")
        timer = arm(role, state, rows, hash_ >> 4) if action.endswith("T") else -1
        call = {"run": role.run, "op": -1, "b": batch, "p": task.partitionId(), "k": name}
        call |= {"timed": state.hasTimedOut, "act": action, "o": outcome(action), "set": timer}
        call |= {"wm": watermark(state), "pt": state.getCurrentProcessingTimeMs(), "n": len(rows)}
        call |= {"was": _shown(was), "st": _shown(state.get if state.exists else None) or "-"}
        with Path(role.calls, f"{role.run:02}-{task.partitionId()}.jsonl").open("a") as log:
            log.write(json.dumps(call, separators=(",", ":")) + "\n")
        yield pd.DataFrame({"key": [name], "n": [len(rows)]})

    return act


def _plain(value: Any) -> str | int | None:
    if value is None or value != value:
        return None
    return value if isinstance(value, str) else int(value)


def _shown(state: tuple[int, str] | None) -> str | None:
    return None if state is None else f"{state[0]}|{state[1]}"


def outcome(action: str) -> str:
    """What the letters come to: U, R or N."""
    return {"X": "R", "Y": "U", "S": "U"}.get(action[0], action[0])


def change(letter: str, was: Any, state: GroupState, *, rows: int, tag: str) -> None:
    """Do to the state what a letter says."""
    updated = ((was[0] if was else 0) + max(rows, 1), tag)
    if letter in "RY":
        state.remove()
    if letter == "S" and was:
        state.update(tuple(was))
    elif letter in "USXY":
        state.update(updated)
    if letter == "X":
        state.remove()


def watermark(state: GroupState) -> int:
    """The watermark, -2 where the query has none."""
    try:
        return state.getCurrentWatermarkMs()
    except (PySparkException, RuntimeError):  # in 3.5 it is no exception of PySpark
        return -2


def arm(role: Role, state: GroupState, rows: pd.DataFrame, hash_: int) -> int:
    """Set a timer, and return it."""
    ahead = role.fixed if role.fixed >= 0 else 1 + hash_ % (role.patience * role.tick * 2)
    if role.timeout == "processing":
        state.setTimeoutDuration(ahead)
        return state.getCurrentProcessingTimeMs() + ahead
    times = [] if state.hasTimedOut else [int(ts.timestamp() * 1000) for ts in rows.ts.dropna()]
    newest = max([*times, watermark(state), BASE])
    time = max(newest + ahead, watermark(state) + 1)
    state.setTimeoutTimestamp(time)
    return time


def run(spark: SparkSession, workload: Any, spec: dict[str, str]) -> None:
    """All runs of a workload's query."""
    while workload.hasNext():
        if not spec["op"].startswith("pd"):
            workload.drive(workload.query())
            continue
        role = Role(
            run=workload.run(),
            timeout=workload.timeout(),
            profile=spec["profile"],
            seed=int(spec["seed"]),
            patience=int(spec.get("patience", 3)),
            fixed=int(spec.get("fixed", -1)),
            tick=int(spec.get("tick", 10_000)),
            fail_in_batch=workload.failInBatch(),
            calls=workload.callLog(),
        )
        query = (
            DataFrame(workload.input(), spark)
            .groupBy(*KEY_COLUMNS[spec["key"]])
            .applyInPandasWithState(
                function_of(role), OUTPUT, STATE, spec["mode"], TIMEOUTS[role.timeout]
            )
        )
        workload.drive(query._jdf)


def main(root: str, file: str) -> None:
    """Make the workloads of a file, one a line."""
    spark = SparkSession.builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    package = spark.sparkContext._jvm.org.apache.spark.sql.execution.streaming.state  # type: ignore[union-attr]
    for line in Path(file).read_text(encoding="utf-8").splitlines():
        spec = dict(word.split("=", 1) for word in line.split()[1:])
        workload = package.Workload(spark._jsparkSession, root, line)
        problem = ""
        try:
            run(spark, workload, spec)
        except Exception as e:  # noqa: BLE001 - the others should run
            problem = " ".join(f"{type(e).__name__}: {e}".split())[:2000]
        workload.finish(problem)
        print(f"### {line} # {problem or 'ok'}", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
