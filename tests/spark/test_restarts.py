"""Rehearsals of queries, whose checkpoints preflight compares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import inspector.spark
from inspector import api
from tests.spark_support import WITH_SPARK

pytestmark = WITH_SPARK


def test_a_rehearsal_makes_a_checkpoint_to_compare(spark: Any, tmp_path: Path) -> None:
    def start(events: Any, checkpoint: str) -> Any:
        totals = events.groupBy("user").agg({"amount": "sum"})
        writer = totals.writeStream.outputMode("update").format("noop")
        return writer.option("checkpointLocation", checkpoint).start()

    def start_changed(events: Any, checkpoint: str) -> Any:
        totals = events.groupBy("user").agg({"amount": "min"})
        writer = totals.writeStream.outputMode("update").format("noop")
        return writer.option("checkpointLocation", checkpoint).start()

    rows = spark.createDataFrame([("a", 1), ("b", 2)], "user string, amount long")
    old = inspector.spark.rehearse(start, rows, tmp_path / "old")
    same = inspector.spark.rehearse(start, {"events": rows}, tmp_path / "same")
    new = inspector.spark.rehearse(start_changed, rows, tmp_path / "new")
    assert api.preflight(old, same).summary["verdict"] == "ok"
    report = api.preflight(old, new)
    assert report.summary["verdict"] == "silent"
    assert {row["rule"] for row in report.primary.rows} >= {"SS419", "SS442"}
