#!/usr/bin/env python3
"""Spark judges copies behind every kind of sink, with several sources, providers and ways.

    python scripts/lab/judge_sinks.py                                    everything
    python scripts/lab/judge_sinks.py --queries deduplicate --ways evict,plain --sinks file
    python3.10 scripts/lab/judge_sinks.py --inspector /path/to/python     with another PySpark

For each query, provider and sink the query runs and is stopped. Then it is restarted on the same
new input from its own checkpoint, and from a copy made in each way. The output folder of a file
sink is copied with the checkpoint, and read by Spark afterwards. A line is printed for each
restart: ``equal`` if the outputs and the state afterwards are those of the original query (without
the evicted users), ``refused`` with the reason, ``restarts`` if nothing else can be compared, or
what differs. The exit code is 1 if anything differs.

The queries ``timers`` and ``ttl`` are transformWithState with event-time timers and with values
that expire; all state of some users is evicted.

Ways: ``plain``; ``compact``; ``evict`` (rows of some users); ``rearm`` (their timers); ``planned``
(the commit of the newest batch is gone, as after a crash behind the sink); ``batch`` (an earlier
batch, which has to be refused); ``batch-told`` (the same with --sink-has-no-batch-ids, after the
later entries of a file sink's log were removed); ``foreign`` (the log of the first source has an
entry of another query, which no batch has read).
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from copies.families import FAMILIES as ALL_FAMILIES
from copies.families import OTHER, SCHEMA, SESSION, STORES, VICTIMS, write_input
from restarts.sessions import OtherPython, start_session

BEFORE, AFTER = 4, 3
ROWS_OF_RATE = 40
USERS_OF_RATE = 60

COPIER = """
import json, sys
from inspector import api
for line in sys.stdin:
    call, path, dest, where, batch, words = json.loads(line)
    options = api.Options(where=tuple(where), batch=batch)
    try:
        if call == "copy":
            found = {"summary": api.copy(path, dest, options, **words).summary}
        else:
            report = api.rows(path, raw=True)
            columns = ("operator_id", "store_name", "key_hex", "value_hex", "key")
            rows = [[json.dumps(row[name]) for name in columns] for row in report.primary.rows]
            audit = api.audit(path)
            severe = [f.kind.id for f in audit.findings if f.kind.id.startswith("SS1")]
            found = {"rows": sorted(rows), "findings": severe}
    except Exception as error:
        found = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(found), flush=True)
"""
"""Program of the inspector's Python: answers a line with a line."""


@dataclass(frozen=True)
class Query:
    """A query with what can be done to its state."""

    build: Callable[[Any], Any]  # from the runner to the streaming frame
    mode: str  # output mode
    sinks: tuple[str, ...]
    ways: tuple[str, ...]
    conf: Mapping[str, str] = field(default_factory=dict)
    files: bool = True  # it reads files; otherwise the rate source
    family: str = ""  # name of the family that says where it runs; empty if it runs everywhere
    # a batch that moves the watermark, and runs again with later input, may give other rows
    has_watermark: bool = False


def _left(runner: Any) -> Any:
    return runner.files("left").withWatermark("ts", "10 seconds")


def _rate(runner: Any) -> Any:
    from pyspark.sql import functions as sql

    source = runner.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS_OF_RATE)
    frame = source.option("startTimestamp", 1_700_000_000_000).option("numPartitions", 1).load()
    number = (sql.col("value") * 7 % USERS_OF_RATE + sql.floor(sql.col("value") / 45)).cast("int")
    return frame.select(
        sql.format_string("user-%03d", number).alias("user"),
        sql.col("timestamp").alias("ts"),
        sql.col("value").alias("v"),
    )


def _union(runner: Any) -> Any:
    right = runner.files("right").selectExpr("user2 as user", "ts2 as ts", "w as v")
    return runner.files("left").union(right).dropDuplicates(["user"]).select("user", "v")


def _stateful(runner: Any) -> Any:
    return ALL_FAMILIES["stateful"].build(runner.files)


def _of_family(name: str, runner: Any) -> Any:
    return ALL_FAMILIES[name].build(runner.files)


def _counts(runner: Any) -> Any:
    return runner.files("left").groupBy("user").count()


EVERY = ("plain", "compact", "evict", "planned", "batch", "batch-told", "foreign")
SINKS = ("file", "foreach", "noop")

QUERIES = {
    "deduplicate": Query(
        lambda runner: runner.files("left").dropDuplicates(["user"]), "append", SINKS, EVERY
    ),
    "rate": Query(
        lambda runner: _rate(runner).dropDuplicates(["user"]),
        "append",
        SINKS,
        EVERY[:-1],
        files=False,
    ),
    "two-sources": Query(_union, "append", SINKS, EVERY),
    "within": Query(
        lambda runner: ALL_FAMILIES["within"].build(runner.files),
        "append",
        SINKS,
        EVERY,
        has_watermark=True,
    ),
    "join": Query(
        lambda runner: ALL_FAMILIES["left_outer-2"].build(runner.files),
        "append",
        SINKS,
        ("plain", "compact", "planned", "batch", "batch-told", "foreign"),
        has_watermark=True,
    ),
    "counts": Query(_counts, "complete", ("memory", "foreach", "noop"), EVERY),
    **{
        name: Query(
            partial(_of_family, name),
            "append",
            SINKS,
            ("plain", "evict", "planned", "batch", "foreign"),
            conf=ALL_FAMILIES[name].conf,
            family=name,
        )
        for name in ("timers", "ttl")
    },
    "stateful": Query(
        _stateful, "update", ("foreach", "noop"), ("plain", "evict", "rearm", "planned")
    ),
}

Rows = Counter[tuple[Any, ...]]


class Runner:
    """One session of Spark, and one process of the inspector."""

    def __init__(self, folder: Path, inspector: str) -> None:
        self._inspector = OtherPython(inspector, COPIER)
        self.folder, self.inputs = folder, folder
        self.spark = start_session(
            "sinks", SESSION | {"spark.sql.warehouse.dir": str(folder / "warehouse")}
        )
        self.release = tuple(map(int, self.spark.version.split(".")[:2]))

    def files(self, side: str) -> Any:
        """A side of the input."""
        schema = SCHEMA if side == "left" else OTHER
        reader = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        return reader.json(str(self.inputs / side))

    def ask(self, *question: Any) -> dict[str, Any]:
        """What the inspector answers."""
        return self._inspector.ask(question)

    def run(self, query: Query, sink: str, home: Path) -> tuple[Rows, list[int]]:
        """Run a query until it has read its input: its rows, and the ids of its batches."""
        rows: Rows = Counter()
        writer = query.build(self).writeStream.outputMode(query.mode)
        if sink == "foreach":

            def collect(frame: Any, _batch: int) -> None:
                if query.mode == "complete":
                    rows.clear()
                rows.update(map(tuple, frame.collect()))

            writer = writer.foreachBatch(collect)
        elif sink == "file":
            writer = writer.format("json").option("path", str(home / "out"))
        elif sink == "memory":
            writer = writer.format("memory").queryName("result")
        else:
            writer = writer.format(sink)
        query_run = (
            writer.option("checkpointLocation", str(home / "ck")).trigger(availableNow=True).start()
        )
        query_run.awaitTermination()
        ids = [progress["batchId"] for progress in query_run.recentProgress]
        if sink == "memory":
            rows.update(tuple(row) for row in self.spark.table("result").collect())
        if sink == "file":
            rows.update((str(row),) for row in self.spark.read.text(str(home / "out")).collect())
        return rows, ids

    def go_on(self, query: Query, sink: str, home: Path, number: int) -> tuple[Rows, list[int]]:
        """Restart a query on its new input; the rate source makes a batch of each start."""
        if query.files:
            return self.run(query, sink, home)
        counter: Rows = Counter()
        ids: list[int] = []
        for _ in range(number):
            rows, options = self.run(query, sink, home)
            counter = rows if sink == "file" else counter + rows
            ids += options
        return counter, ids

    def judge(self, name: str, store: str, sink: str, ways: list[str]) -> list[tuple[str, str]]:
        """Judge the ways of copying one query with one provider and sink."""
        query = QUERIES[name]
        for confs in STORES.values():
            for conf in confs:
                self.spark.conf.unset(conf)
        for conf, value in (STORES[store] | dict(query.conf)).items():
            self.spark.conf.set(conf, value)
        home = self.folder / f"{name}-{store}-{sink}"
        self.inputs = home / "input"
        source = home / "source"
        for batch in range(BEFORE):
            write_input(self.inputs, batch, victims=True)
        self.go_on(query, sink, source, BEFORE)
        refusals = {way: self._copy(source, home / way, way, store) for way in ways}
        shutil.copytree(source / "ck", home / "twin/ck")
        _copy_output(source, home / "twin")
        for batch in range(BEFORE, BEFORE + AFTER):
            write_input(self.inputs, batch, victims=False)
        expected, _ = self.go_on(query, sink, home / "twin", AFTER)
        twin = Seen(
            query, sink, expected, self.ask("rows", str(home / "twin/ck"), "", [], None, {})
        )
        verdicts = []
        for way, refusal in refusals.items():
            if way == "batch":
                verdict = refusal or "DIFFERS: it was not refused"
            else:
                verdict = f"DIFFERS: {refusal}" if refusal else self._restart(way, home / way, twin)
            verdicts.append((way, verdict))
        shutil.rmtree(home, ignore_errors=True)
        return verdicts

    def _restart(self, way: str, home: Path, twin: Seen) -> str:
        """Restart a copy and compare it with its twin."""
        before = self.ask("rows", str(home / "ck"), "", [], None, {})
        try:
            options = 1 if way == "batch-told" else 0
            actual, ids = self.go_on(twin.query, twin.sink, home, AFTER + options)
        except Exception as error:  # noqa: BLE001 - the others are judged too
            return f"DIFFERS: no restart: {str(error)[:300]}"
        after = self.ask("rows", str(home / "ck"), "", [], None, {})
        if way == "batch-told" and twin.query.has_watermark:
            return "restarts" if "error" not in after else f"DIFFERS: {after['error']}"
        faults = _differences(way, twin, Seen(twin.query, twin.sink, actual, after))
        faults += [f"before: {before}"] * ("error" in before)
        result = {*before.get("findings", ()), *after.get("findings", ())}
        result -= {*twin.state.get("findings", ())}
        faults += [f"the audit finds {sorted(result)}"] * bool(result)
        faults += [f"batches {ids}"] * (ids != sorted(set(ids)))
        return f"DIFFERS: {'; '.join(faults)}" if faults else "equal"

    def _copy(self, source: Path, home: Path, way: str, store: str) -> str:
        """Make a copy with its sink's output; the reason if it is refused."""
        home.mkdir(parents=True)
        _copy_output(source, home)
        origin = home / "origin"
        shutil.copytree(source / "ck", origin)
        where, batch, words = _prepare(way, store, home)
        report = self.ask("copy", str(origin), str(home / "ck"), where, batch, words)
        if "error" in report:
            return f"refused: {report['error'].partition(': ')[2].partition(': ')[2][:90]}"
        if way in ("evict", "rearm") and not report["summary"]["evicted_rows"]:
            return "nothing was evicted"
        return ""


@dataclass(frozen=True)
class Seen:
    """What a restart of a query gave."""

    query: Query
    sink: str
    rows: Rows
    state: Mapping[str, Any]  # its rows and findings, by the inspector


def _prepare(way: str, store: str, home: Path) -> tuple[list[str], int | None, dict[str, Any]]:
    """Make of a checkpoint and its output what a way begins with; the options of its copy."""
    commits, log = home / "origin/commits", home / "origin/sources/0"
    newest = max(int(p.name) for p in commits.iterdir() if p.name.isdecimal())
    drops_output = way == "batch-told"
    where: list[str] = []
    batch: int | None = None
    words: dict[str, Any] = {}
    if way == "compact":
        words = {"compact": True}
    elif way in ("evict", "rearm"):
        where = [f"user<{VICTIMS}"]
        words = {"evict": "rows", "by": "removal" if way == "evict" else "timeout"}
    elif way == "foreign":
        last = max(int(p.name) for p in log.iterdir() if p.name.isdecimal())
        entry = {"path": "file:///another/query/a.json", "timestamp": 0, "batchId": last + 1}
        (log / str(last + 1)).write_text(f"v1\n{json.dumps(entry)}", "utf-8")
    elif way == "planned":
        for path in commits.glob(f"*{newest}*"):
            path.unlink()
        # A sink that skips the batch stops the original query too if state has ids.
        drops_output = store.startswith("format2")
        words = {"stopped": True, "sink_has_no_batch_ids": drops_output}
    elif way in ("batch", "batch-told"):
        batch, words = newest - 1, {"sink_has_no_batch_ids": drops_output}
    if drops_output:
        for path in (home / "out/_spark_metadata").glob(f"*{newest}*"):
            path.unlink()
    return where, batch, words


def _differences(way: str, expected: Seen, actual: Seen) -> list[str]:
    """Compare the output and the state of two restarts, without the users that were evicted."""
    evicts, sink = way in ("evict", "rearm"), expected.sink
    faults = []
    if sink != "noop":
        pairs = [expected.rows, actual.rows]
        if evicts and (sink != "file" or not expected.query.files or expected.query.family):
            # The users that were evicted come again from the rate source, and by their timers.
            pairs = [Counter({r: n for r, n in of.items() if not _is_victim(r)}) for of in pairs]
        if way in ("planned", "batch-told") and sink == "foreach":
            # The sink gets the rows of one batch once more.
            pairs = [pairs[0], pairs[0] & pairs[1]]
        if pairs[0] != pairs[1]:
            only = pairs[0] - pairs[1], pairs[1] - pairs[0]
            faults.append(
                f"output: {only[0].total()} missing, {only[1].total()} too many, such as "
                f"{[*only[0], *only[1]][:1]}"
            )
        if way == "rearm":
            called = sum(row[-1] == "timeout" for row in actual.rows if row[0] < VICTIMS)
            if not called:
                faults.append("no function was called with hasTimedOut")
    states = expected.state, actual.state
    if any("error" in state for state in states):
        return [*faults, f"state: {[state.get('error') for state in states]}"]
    users = [
        [
            _compared(row, expected.query)
            for row in state["rows"]
            if not evicts or _user(row) >= VICTIMS
        ]
        for state in states
    ]
    if sorted(users[0]) != sorted(users[1]):
        faults.append(f"state: {len(users[1])} rows, expected {len(users[0])}")
    returned = any(_user(row) < VICTIMS for row in states[1]["rows"])
    if evicts and returned and expected.query.files:
        faults.append("evicted users are in the state")
    return faults


def _copy_output(source: Path, home: Path) -> None:
    """Copy the folder of a file sink, whose log has the paths of its files in full."""
    if not (source / "out").exists():
        return
    shutil.copytree(source / "out", home / "out")
    for path in (home / "out/_spark_metadata").iterdir():
        if path.name.endswith(".crc"):
            path.unlink()
        else:
            text = path.read_text("utf-8")
            path.write_text(text.replace(f"{source}/out/", f"{home}/out/"), "utf-8")


def _is_victim(row: tuple[Any, ...]) -> bool:
    """True if a row of the output is of a user that was evicted."""
    return bool(re.search(r"user-00\d", str(row[0])))


def _compared(row: list[str], query: Query) -> list[str]:
    """Return the parts of a row of the state that two runs at different times have in common."""
    operator, store, *_ = row
    return [operator, store, _user(row)] if query.family == "ttl" else row


def _user(row: list[str]) -> str:
    match = re.search(r'"(user-\d+)"', row[-1])
    return "" if match is None else match[1]


def main() -> None:
    """Judge what was requested, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", default=",".join(QUERIES))
    parser.add_argument("--stores", default=",".join(STORES))
    parser.add_argument("--sinks", default="file,foreach,memory,noop")
    parser.add_argument(
        "--ways", default="plain,compact,evict,rearm,planned,batch,batch-told,foreign"
    )
    parser.add_argument("--inspector", default=sys.executable)
    args = parser.parse_args()
    differing = total = 0
    with tempfile.TemporaryDirectory(prefix="judge-sinks-") as folder:
        runner = Runner(Path(folder), args.inspector)
        print(f"Spark {runner.spark.version}", flush=True)
        print(f"{'query':<13}{'store':<16}{'sink':<9}{'way':<12}verdict")
        for name in args.queries.split(","):
            for store in args.stores.split(","):
                if store.startswith("format2") and runner.release < (4, 0):
                    continue
                if "checksums" in store and runner.release < (4, 2):
                    continue
                family = ALL_FAMILIES.get(QUERIES[name].family)
                if family is not None and not family.is_for(store, runner.release):
                    continue
                for sink in args.sinks.split(","):
                    if sink not in QUERIES[name].sinks:
                        continue
                    ways = [way for way in args.ways.split(",") if way in QUERIES[name].ways]
                    ways = [way for way in ways if way != "compact" or store.startswith("hdfs")]
                    try:
                        verdicts = runner.judge(name, store, sink, ways)
                    except Exception as error:  # noqa: BLE001 - the others are judged too
                        verdicts = [("-", f"DIFFERS: {str(error)[:400]}")]
                    for way, verdict in verdicts:
                        print(f"{name:<13}{store:<16}{sink:<9}{way:<12}{verdict}", flush=True)
                        differing += verdict.startswith("DIFFERS")
                        total += 1
        runner.spark.stop()
    print(f"{total} copies, {differing} differ", flush=True)
    sys.exit(differing > 0)


if __name__ == "__main__":
    main()
