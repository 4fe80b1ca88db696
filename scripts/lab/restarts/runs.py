"""Runs queries on one Spark session, changes them, and restarts them: what Spark does.

Of each query and provider a first run reads two files; then a third file comes. What a query says
of it that has run from the beginning is right; what one says of it that took over the checkpoint of
another is compared with that. Both folders stay as they were before the third file came, so that
they can be inspected afterwards: ``PROVIDER/QUERY``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from restarts.changes import Change
from restarts.queries import PREFIX, PROVIDERS, QUERIES, REHEARSAL, Query, table_path

EQUAL, OTHER, REFUSED = "equal", "other", "refused"
_CLASS = re.compile(r"\[([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?:\.[A-Z0-9_]+)?)\]")
_OUTER = ("STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR")
NOT_THERE = "what is damaged is not there"
NO_WORKER = "Python worker failed to connect back"
"""Spark's error if a worker needs more than ten seconds to start, as on a machine under load."""
PATH = re.compile(r"(file:)?/[\w.>/-]{8,}")
_CAUSE = "terminated with exception: "
_INNERMOST = re.compile(r"^Caused by: (?:[a-z]\w*\.)*(\w+: .*)", re.MULTILINE)
"""What came through a ``foreachBatch``, in whose message the causes are printed."""
_BASE = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    PREFIX + "stateStore.maintenanceInterval": "1h",
}
_START = datetime(2024, 1, 1, tzinfo=timezone.utc)
_DAY = 24 * 3600
_FIRST_TIME_S = 1_700_000_000  # when the first input was written, by its file
_JUMP = 200 * _DAY  # seconds from the first rows to those that are later than every timer and range

ROWS: Mapping[str, tuple[tuple[Any, ...], ...]] = {
    "1": (("a", "x", 1, 10, 1, 1.5, 1), ("A", "y", 3, 30, 3, 3.5, 2), ("b", "y", 9, 2, 9, 9.5, 3)),
    "2": (("a", "y", 9, 20, 9, 9.25, 4), ("b", "x", 2, 8, 2, 2.5, 5), ("c", "x", 4, 4, 4, 4.5, 6)),
    "3": (("a", "x", 5, 7, 5, 5.5, 7), ("A", "x", 6, 1, 6, 6.5, 8), ("b", "y", 6, 3, 6, 6.5, 9),
          ("d", "x", 8, 8, 8, 8.5, 12)),
    # After a minute, which a range of 30 seconds leaves out; then a jump.
    "4": (("a", "y", 7, 2, 7, 7.5, 67), ("b", "x", 1, 5, 1, 1.5, 69)),
    "5": (("z", "x", 1, 1, 1, 1.5, _JUMP),),
    # Of rehearsals: the watermark exactly an hour after a row of input 2, and 1 ms later.
    "6": (("y", "x", 2, 3, 2, 2.5, 2 * 3600 + 6),),
    "7": (("y", "y", 4, 9, 4, 4.5, 2 * 3600 + 6.001),),
    "8": (("z", "y", 3, 6, 3, 3.5, _JUMP + _DAY),),
}  # fmt: skip
REHEARSED = ("1", "2", "6", "7", "5", "8")
"""The inputs of a rehearsal: the same keys twice, a range of an hour, a jump, and one row after."""
NUMBERS = ("1", "2", "3", "4", "5")
"""The inputs of a query, in their order."""
LATER = NUMBERS[3:]
"""The inputs that only changes with :attr:`Change.later` get after the third one."""
_NAMES = ("k", "g", "n", "m", "i", "d", "ts")
_TABLES = {"one": 0, "two": 100, "three": 200}
"""The tables of the inputs, and what is added to their numbers."""


@dataclass(frozen=True)
class Outcome:
    """What a run did.

    Attributes:
        rows: the values that its last batch gave to its sink, sorted, as JSON; None if it failed.
        error: the innermost error class of its failure, or the first line of its message.
    """

    rows: tuple[str, ...] | None
    error: str | None = None


def write_input(inputs: Path, number: str) -> None:
    """One more file for each table."""
    for table, options in _TABLES.items():
        folder = table_path(inputs, table)
        folder.mkdir(parents=True, exist_ok=True)
        lines = []
        for k, g, n, m, i, d, second in ROWS[number]:
            time = (_START + timedelta(seconds=second)).isoformat(timespec="milliseconds")
            values = (k, g, n + options, m + options, i, d, time)
            lines.append(json.dumps(dict(zip(_NAMES, values, strict=True))))
        file = folder / f"{number}.json"
        file.write_text("\n".join(lines) + "\n")
        # Spark reads older files first.
        order = REHEARSED if "rehearsed" in folder.name else NUMBERS
        written_s = _FIRST_TIME_S + order.index(number)
        os.utime(file, (written_s, written_s))


class Runs:
    """The runs of one session.

    Args:
        spark: the session. folder: of the inputs and checkpoints.
    """

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.inputs, self.rehearsal = folder / "inputs", folder / REHEARSAL
        self.release = tuple(map(int, spark.version.split(".")[:2]))

    def can_run(self, query: Query, provider: str) -> bool:
        """Whether a query can run on a provider with this Spark."""
        return query.only in (None, provider) and query.since <= self.release

    def path_of(self, provider: str, name: str) -> Path:
        """The checkpoint of a query."""
        return self.folder / provider / name

    def begin(self, provider: str, name: str) -> str | None:
        """The first run of a query, unless it was made before; the error that it ended with."""
        path = self.path_of(provider, name)
        if not path.exists():
            error = self.run(name, provider, path).error
            if error is not None:
                return error
        entries = [len(list((path / log).glob("[0-9]*"))) for log in ("offsets", "commits")]
        return None if entries[0] == entries[1] > 0 else "its first run did not end"

    def rehearse(self, provider: str, name: str) -> str | None:
        """Run a query on the inputs of a rehearsal; the error that it ended with."""
        path = self.path_of(provider, f"{name}.rehearsed")
        if path.exists():
            return None
        inputs = self.folder / f"{REHEARSAL}-{provider}-{name}" / REHEARSAL
        if not QUERIES[name].once:
            return self.run(name, provider, path, self.rehearsal).error
        for number in REHEARSED:  # one batch in each run
            write_input(inputs, number)
            error = self.run(name, provider, path, inputs).error
            if error is not None:
                return error
        return None

    def go_on(self, provider: str, name: str, *, complete: bool = False) -> Outcome:
        """What a query says of the third file, and later ones, that has run from the beginning."""
        path = self.path_of(provider, name)
        copy = path.with_name(f"{name}.right")
        shutil.rmtree(copy, ignore_errors=True)
        if not path.exists():
            return Outcome(None, "it made no checkpoint")
        shutil.copytree(path, copy)
        return self.run(name, provider, copy, complete=complete)

    def run(
        self,
        name: str,
        provider: str,
        checkpoint: Path,
        inputs: Path | None = None,
        *,
        complete: bool = False,
        conf: Mapping[str, str] | None = None,
    ) -> Outcome:
        """Run a query over all that is there and not yet read.

        The outcome has the rows of the last batch; of all batches if ``whole``.
        """
        query = QUERIES[name]
        arguments: list[tuple[str, ...]] = []

        def keep(rows: DataFrame, _batch: int) -> None:
            of_batch = [json.dumps(list(row), default=str) for row in rows.collect()]
            arguments.extend([tuple(sorted(of_batch))] if of_batch else [])

        target = checkpoint.with_name(f"{checkpoint.name}.{query.output}")

        def append(row: Any) -> None:  # within, as workers get it by value
            target.mkdir(parents=True, exist_ok=True)
            (target / f"{uuid.uuid4()}.json").write_text(json.dumps(row.asDict()))

        before = set(target.glob("[!._]*"))
        try:
            session = self._session(query, provider, conf or {})
            rows = query.build(session, inputs or self.inputs)
            writer = rows.writeStream.outputMode(query.mode)
            if query.sink == "rows":
                writer = writer.foreachBatch(keep)
            elif query.sink == "foreach":
                writer = writer.foreach(append)
            else:
                writer = writer.format(query.sink).option("path", str(target))
            once = {"once": True} if query.once else {"availableNow": True}
            writer = writer.trigger(**once)
            running = writer.option("checkpointLocation", checkpoint.as_uri()).start()
            running.awaitTermination()
            if new := sorted(map(str, set(target.glob("[!._]*")) - before)):
                kind = "json" if query.sink == "foreach" else query.sink
                keep(session.read.schema(rows.schema).format(kind).load(new), 0)
        except Exception as error:  # noqa: BLE001 - whatever Spark refuses with is the result
            return Outcome(None, error_text(str(error)))
        return Outcome(
            tuple(row for rows in (arguments if complete else arguments[-1:]) for row in rows)
        )

    def _session(self, query: Query, provider: str, options: Mapping[str, str]) -> SparkSession:
        """A session of its own with the confs of a query, and more that go before them."""
        conf = {**_BASE, **query.conf, **options}
        if conf.pop("provider", None):
            provider = next(name for name in PROVIDERS if name != provider)
        conf.setdefault(PREFIX + "stateStore.providerClass", PROVIDERS[provider])
        session = self.spark.newSession()
        for key, value in conf.items():
            session.conf.set(key, value)
        return session

    def restart(self, change: Change, provider: str) -> Outcome:
        """Let the new query take over the checkpoint of the old one, which is as before then."""
        old = self.path_of(provider, change.old)
        result = old.with_name(f"{old.name}.kept")
        damaged = self.path_of(provider, f"{change.name}.damaged")
        # A file sink skips the batches that an earlier restart has written.
        output = old.with_name(f"{old.name}.{QUERIES[change.new].output}")
        kept_output = output.with_name(f"{output.name}.kept")
        if output.exists():
            shutil.copytree(output, kept_output)
        old.rename(result)
        try:
            target = old.with_name(f"{old.name}.moved") if change.moved else old
            shutil.copytree(result, target)
            if change.damage is not None:
                try:
                    change.damage(target)
                except FileNotFoundError as error:
                    # Older releases write no operator metadata: there is nothing to lose.
                    return Outcome(None, f"{NOT_THERE}: {error.filename}")
            if change.damage is not None or change.moved:
                shutil.rmtree(damaged, ignore_errors=True)
                shutil.copytree(target, damaged)
            return self.run(change.new, provider, target, complete=change.later, conf=change.conf)
        finally:
            shutil.rmtree(old, ignore_errors=True)
            shutil.rmtree(old.with_name(f"{old.name}.moved"), ignore_errors=True)
            result.rename(old)
            shutil.rmtree(output, ignore_errors=True)
            if kept_output.exists():
                kept_output.rename(output)


def error_text(message: str) -> str:
    """Return the innermost error class in Spark's message, or the first line of its cause."""
    classes: list[str] = [item for item in _CLASS.findall(message) if item not in _OUTER]
    if classes:
        return classes[0]
    _, _, cause = message.partition(_CAUSE)
    causes = _INNERMOST.findall(message)[-1:] or (cause or message).splitlines()
    line = next((line for line in causes if line.strip()), "no message")
    return PATH.sub("PATH", line.strip())[:160]


def compare(right: Outcome, done: Outcome) -> str:
    """What became of a restart: the rows that are right, others, or none."""
    if done.rows is None:
        return REFUSED
    return EQUAL if right.rows == done.rows else OTHER
