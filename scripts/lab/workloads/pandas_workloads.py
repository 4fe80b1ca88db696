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
from datetime import datetime
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyspark import TaskContext, cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

BASE = 1_704_067_200_000
STATE = "n long, tag string"
OUTPUT = "key string, n long"
ROWS = "id int, ts timestamp, v long"
TIME_MODES = {"event": "EventTime", "processing": "ProcessingTime", "none": "None"}
KEY_COLUMNS = {"string": ["s"], "long": ["l"], "two": ["s", "l"]}
KEY_EXPRESSIONS = {
    "dec": "CAST(IF(id % 7 = 0, NULL, (id - 20) * 1.37) AS DECIMAL(10, 2))",
    "big": "CAST((id - 20) * 12345678901234567.89 AS DECIMAL(38, 10))",
    "time": "timestamp_micros((id - 20) * 86399000001)",
    "bin": "CAST(repeat(chr(65 + id % 26), id % 12) AS BINARY)",
    "arr": "transform(sequence(0, id % 4), n -> CAST(id DIV 4 * n % 5 - 1 AS INT))",
    "row": "named_struct('s', s, 'l', IF(id % 3 = 0, NULL, l))",
    "none": "CAST(NULL AS STRING)",
    "flag": "id % 2 = 0",
    "dbl": "CAST(id - 20 AS DOUBLE) / 3",
}
"""Keys of other types than columns of the input; account.py makes their rows of what is logged."""
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
    """How a function chooses and where it logs, in one run of the query.

    `op` is -1 if it is the only one with a function; `emits_rows` if its output is that of a node.
    A copy to which batches were appended counts them `shift` higher than its twin.
    """

    run: int
    op: int
    emits_rows: bool
    timeout: str
    profile: str
    seed: int
    patience: int
    fixed: int
    tick: int
    fail_in_batch: int
    retry_in_batch: int
    calls: str
    shift: int = 0


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
        if task is None:
            raise RuntimeError("this is no task")
        batch = int(task.getLocalProperty("streaming.sql.batchId") or -1) - role.shift
        name = json.dumps([_plain(value) for value in key])
        hash_ = zlib.crc32(f"{role.seed}/{name}/{batch}/{state.hasTimedOut}".encode())
        fails = batch == role.retry_in_batch and task.attemptNumber() == 0
        if (fails or batch == role.fail_in_batch) and hash_ % 3 == 0:
            raise RuntimeError(f"a failure wanted in batch {batch}")
        was = state.get if state.exists else None
        action = action_of(role, hash_ >> 1, timed=state.hasTimedOut, fresh=was is None)
        change(action[0], was, state, rows=len(rows), tag=f"t{(hash_ >> 8) % 5}")
        timer = arm(role, state, rows, hash_ >> 4) if action.endswith("T") else -1
        call = {"b": batch, "k": name, "act": action, "o": outcome(action), "set": timer}
        log(role, task, state, call | {"n": len(rows), "was": _shown(was)})
        yield output(role, rows, name, hash_ % 10)

    return act


def log(role: Role, task: TaskContext, state: GroupState, call: dict[str, Any]) -> None:
    """Add what the state and the task say to a call, and write it down."""
    attempt = task.stageId() * 100 + task.attemptNumber()
    call |= {"run": role.run, "op": role.op, "att": attempt, "p": task.partitionId()}
    call |= {"timed": state.hasTimedOut, "wm": watermark(state)}
    call |= {"pt": state.getCurrentProcessingTimeMs()}
    call |= {"st": _shown(state.get if state.exists else None) or "-"}
    file = f"{role.run:02}-{role.op + 1}-{task.partitionId()}.jsonl"
    with Path(role.calls, file).open("a") as lines:
        lines.write(json.dumps(call, separators=(",", ":")) + "\n")


def output(role: Role, rows: pd.DataFrame, key: str, number: int) -> pd.DataFrame:
    """What a call emits: its key, or a row of a plan with the newest time that it saw."""
    if not role.emits_rows:
        return pd.DataFrame({"key": [key], "n": [len(rows)]})
    times = list(rows.ts.dropna()) if len(rows) else []
    time = max(times, default=pd.Timestamp(BASE, unit="ms"))
    return pd.DataFrame({"id": [number], "ts": [time], "v": [len(rows)]})


def _plain(value: Any) -> Any:
    """A part of a key as account.py reads it."""
    if isinstance(value, (dict, tuple)):
        fields = value.values() if isinstance(value, dict) else value
        return {"row": [_plain(field) for field in fields]}
    if isinstance(value, (list, np.ndarray)):
        return {"ints": [int(item) for item in value]}
    if value is None or value is pd.NaT or value != value:
        return None
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, Decimal):
        scale = -int(value.as_tuple().exponent)
        unscaled = int(value.scaleb(scale, Context(prec=38)))
        return {"big": unscaled} if scale == 10 else unscaled
    if isinstance(value, datetime):
        return int(pd.Timestamp(value).value // 1000)
    if isinstance(value, (float, np.floating)):
        return {"double": float(value)}
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


def role_of(workload: Any, spec: dict[str, str], op: int = -1) -> Role:
    """How the function of an operator is to behave in the run that begins."""
    return Role(
        run=workload.run(),
        op=op,
        emits_rows=op >= 0,
        timeout=spec.get(f"timeout{op}", workload.timeout()),
        profile=spec.get(f"profile{op}", workload.profile()),
        seed=int(spec["seed"]),
        patience=int(spec.get("patience", 3)),
        fixed=int(spec.get("fixed", -1)),
        tick=int(spec.get("tick", 10_000)),
        fail_in_batch=workload.failInBatch(),
        retry_in_batch=workload.retryInBatch(),
        calls=workload.callLog(),
        shift=int(spec.get("shift", 0)),
    )


def grouped(rows: DataFrame, keys: list[str], role: Role, output: str, mode: str) -> DataFrame:
    """The rows through the query function."""
    timeout = TIMEOUTS[role.timeout]
    return rows.groupBy(*keys).applyInPandasWithState(
        function_of(role), output, STATE, mode, timeout
    )


def processed(
    rows: DataFrame, workload: Any, spec: dict[str, str], op: int, *, frames: bool
) -> DataFrame:
    """The rows through transformWithState, as data frames or one by one (4.1 and later)."""
    lab = Path(__file__).resolve().parents[1]
    sys.path += [str(lab), str(lab.parent)]
    from workloads import python_stages

    from fixtures import python_processors  # 3.5 has no transformWithState

    for module in (python_processors, python_stages):  # the workers do not find them
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    mode = spec.get(f"timeMode{op}", "processing")
    log = f"{workload.callLog()}/variables/{workload.run():02}-{op}"
    emits = spec.get("emit", "plain")
    processor = python_stages.Emitting(mode, log, int(spec["seed"]), emits, frames=frames)
    keys = [expr(python_stages.USER).alias("user")]
    if "keyed" in spec:
        keys.append(expr(python_stages.KEYS[spec["keyed"]]).alias("k"))
    by_user = rows.select("*", *keys).groupBy("user", *["k"] * (len(keys) - 1))
    output = rows.select("id", "ts", "v").schema if emits == "meta" else ROWS
    event_time = "ts" if emits == "column" else ""
    call = by_user.transformWithStateInPandas if frames else by_user.transformWithState
    first = None
    if maximum := int(spec.get("initial", 0)):
        names = rows.sparkSession.range(maximum).withColumnRenamed("id", "amount")
        names = names.withColumn("id", expr("CAST(amount AS INT)"))
        first = names.select(*keys, "amount").groupBy("user", *["k"] * (len(keys) - 1))
    return call(processor, output, "append", TIME_MODES[mode], first, event_time)


def unsafe(rows: DataFrame) -> DataFrame:
    """The rows in the format of Spark's own operators, some of which take no batches of columns."""
    return rows.selectExpr("id + 0 AS id", "ts", "v")


def plan(spark: SparkSession, workload: Any, spec: dict[str, str], node: Any) -> DataFrame:
    """The query of a node, with everything below it."""
    inputs = [plan(spark, workload, spec, node.input(at)) for at in range(node.size())]
    if node.name() in ("twsp", "twsr"):
        frames = node.name() == "twsp"
        return unsafe(processed(inputs[0], workload, spec, node.op(), frames=frames))
    if node.name() == "pd":
        role = role_of(workload, spec, node.op())
        return unsafe(grouped(inputs[0], ["id"], role, ROWS, spec["mode"]))
    first, second = [rows._jdf for rows in inputs] + [None] * (2 - len(inputs))
    return DataFrame(workload.stage(node, first, second), spark)


def run(spark: SparkSession, workload: Any, spec: dict[str, str]) -> None:
    """All runs of a workload's query."""
    while workload.hasNext():
        if "plan" in spec:
            query = plan(spark, workload, spec, workload.plan())
        elif spec["op"].startswith("pd"):
            rows = DataFrame(workload.input(), spark)
            keys = KEY_COLUMNS.get(spec["key"], ["key"])
            if keys == ["key"]:
                rows = rows.withColumn("key", expr(KEY_EXPRESSIONS[spec["key"]]))
            query = grouped(rows, keys, role_of(workload, spec), OUTPUT, spec["mode"])
        else:
            workload.drive(workload.query())
            continue
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
