"""Queries that continue from printed starting offsets, without the first checkpoint."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest

from inspector import api
from tests.reports import cell_values
from tests.spark_support import WITH_SPARK

pytestmark = WITH_SPARK

Rows = list[tuple[Any, ...]]


class _StoppedError(RuntimeError):
    """Stops a query in the middle of a batch, so that the batch is not committed."""


ONCE, AVAILABLE_NOW = {"once": True}, {"availableNow": True}


def _run(
    stream: Any, checkpoint: Path, stop_at: int | None, trigger: Mapping[str, Any] = AVAILABLE_NOW
) -> Rows:
    """Run a query until its batch ``stop_at`` fails, and return the rows that its sink has."""
    rows: Rows = []

    def sink(batch: Any, number: int) -> None:
        if number == stop_at:
            raise _StoppedError(f"stopped in batch {number}")
        rows.extend(tuple(row) for row in batch.collect())

    query = stream.writeStream.foreachBatch(sink).option("checkpointLocation", str(checkpoint))
    running = query.trigger(**trigger).start()
    try:
        running.awaitTermination()
    except Exception as error:
        if stop_at is None or "stopped in batch" not in str(error):
            raise
    finally:
        running.stop()
    return rows


def _write(folder: Path, number: int) -> None:
    lines = [json.dumps({"v": 10 * number + line}) for line in range(3)]
    (folder / f"a b-{number}.json").write_text("\n".join(lines), "utf-8")


@pytest.mark.parametrize("batches", [2, 13])
def test_files_that_were_not_committed_are_read_once(
    spark: Any, tmp_path: Path, batches: int
) -> None:
    """With 13 batches the log of the source is compacted, and one file of two is planned."""
    source, used = tmp_path / "in", tmp_path / "used"
    source.mkdir()
    used.mkdir()
    for number in range(batches + 2):
        _write(source, number)

    def stream() -> Any:
        return spark.readStream.schema("v long").option("maxFilesPerTrigger", 1).json(str(source))

    first = tmp_path / "first"
    committed = _run(stream(), first, batches)
    report = api.offsets(str(first), form="starting-offsets")
    (start,) = report.primary.rows
    assert (start["kind"], start["option"], start["delivery"]) == ("files", None, "at least once")
    assert start["last_batch"] == batches - 1
    read = cell_values(report.tables[1].rows, "path")
    assert len(read) == batches
    shutil.rmtree(first)
    for path in read:
        shutil.move(unquote(urlparse(path).path), used)
    later = _run(stream(), tmp_path / "second", None)
    everything = [10 * number + line for number in range(batches + 2) for line in range(3)]
    assert len(committed) == 3 * batches
    assert sorted(chain.from_iterable(committed + later)) == everything


def test_rate_micro_batch_continues_with_the_next_timestamp(spark: Any, tmp_path: Path) -> None:
    def stream(start_ms: int) -> Any:
        source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 7)
        source = source.option("startTimestamp", start_ms).option("advanceMillisPerBatch", 500)
        return source.load().selectExpr("unix_millis(timestamp)", "value")

    first = tmp_path / "first"
    committed = _run(stream(1000), first, None, ONCE)
    committed += _run(stream(1000), first, None, ONCE)
    committed += _run(stream(1000), first, None, ONCE)
    assert _run(stream(1000), first, 3, ONCE) == []
    report = api.offsets(str(first), form="starting-offsets")
    (start,) = report.primary.rows
    assert (start["option"], start["value"]) == ("startTimestamp", "2500")
    assert start["delivery"] == "at least once"
    assert "add 21 to it" in start["note"]
    assert "Batch 3 is planned and not committed" in "\n".join(report.notes)
    (after,) = api.offsets(str(first), form="starting-offsets", batch=3).primary.rows
    assert (after["value"], after["delivery"]) == ("3000", "at most once")
    # The original query runs the batch again, and shows which rows it would have read.
    missing = _run(stream(1000), first, None, ONCE)
    shutil.rmtree(first)
    later = _run(stream(int(start["value"])), tmp_path / "second", None, ONCE)
    assert len(committed) == 21
    assert sorted((time, value + 21) for time, value in later) == sorted(missing)


def test_records_and_files_are_those_of_the_progress(spark: Any, tmp_path: Path) -> None:
    """Batches of a real query read as many records as its progress says."""
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
    checkpoint = tmp_path / "checkpoint"
    read: dict[int, int] = {}
    for _ in range(3):
        query = source.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
        running = query.trigger(once=True).start()
        running.awaitTermination()
        read |= dict(cell_values(running.recentProgress, "batchId", "numInputRows"))
    rows = api.offsets(str(checkpoint)).primary.rows
    assert dict(cell_values(rows, "batch_id", "records")) == read
