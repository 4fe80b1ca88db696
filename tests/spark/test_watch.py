"""``watch`` beside a query that runs: each batch once, with the rows that Spark counts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from inspector import api
from tests.reports import cell_values
from tests.spark_support import PATIENCE, WITH_SPARK

pytestmark = WITH_SPARK

LAST = 11
"""The batch at which the query is stopped."""


@pytest.fixture
def query(spark: Any, tmp_path: Path) -> Iterator[Any]:
    """Counts by window and user of rows that every trigger brings, as fast as they can be made."""
    from pyspark.sql import functions as f

    rows = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", 40)
        .option("advanceMillisPerBatch", 5000)
        .option("startTimestamp", 1_704_067_200_000)
        .load()
    )
    counts = (
        rows.withWatermark("timestamp", "10 seconds")
        .groupBy(f.window("timestamp", "10 seconds"), f.expr("value % 13 AS user"))
        .count()
    )
    result = (
        counts.writeStream.format("noop")
        .outputMode("update")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(processingTime="300 milliseconds")
        .start()
    )
    yield result
    result.stop()


def test_watch_sees_each_batch_once(query: Any, tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    wait_for((root / "commits").is_dir)

    def watched() -> list[dict[str, Any]]:
        reports = api.watch(str(root), interval=0.05, until=LAST, duration="300s", last=LAST)
        actual = []
        for report in reports:
            assert not report.problems
            actual += [dict(row) for row in report.primary.rows]
        return actual

    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(watched)
        wait_for(lambda: (root / f"commits/{LAST}").is_file() or query.exception())
        query.stop()
        seen = watching.result(PATIENCE)
    assert query.exception() is None
    assert cell_values(seen, "batch_id") == list(range(LAST + 1))
    progress = [item for item in query.recentProgress if of_batch(item)][: LAST + 1]
    assert cell_values(progress, "batchId") == list(range(len(progress)))
    # The query was stopped: there may be no progress of the last batch.
    assert len(progress) >= LAST
    operators = [item["stateOperators"][0] for item in progress]
    counted = cell_values(operators, "numRowsTotal", "numRowsUpdated", "numRowsRemoved")
    assert cell_values(seen, "rows", "puts", "removals")[: len(progress)] == counted
    assert any(cell_values(seen, "removals"))


def of_batch(progress: Any) -> bool:
    """Whether a progress is about a batch that ran; a trigger without one tells of the next."""
    return "addBatch" in progress["durationMs"]


def wait_for(holds: Any) -> None:
    """Wait until something holds."""
    ends = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.02)
