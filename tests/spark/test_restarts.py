"""Queries that are changed and really restarted: what preflight says is what Spark does.

The changes, and the record of all, are those of ``scripts/judge_restarts.py``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import judge_restarts
import pytest
from documentation.restarts import RECORDS
from restarts.changes import CHANGES, Change

import inspector.spark
from inspector import api
from inspector.findings.restart_rules import RELEASES
from tests.profiles import sampled
from tests.spark.support import spark_release
from tests.spark_support import WITH_SPARK

pytestmark = WITH_SPARK
EVERY, EVERY_PLAIN = 8, 40
"""Of so many changes a full run, and a plain one, restarts one: all take half an hour, which
``scripts/judge_restarts.py`` has."""


def record() -> Any:
    return json.loads((RECORDS / f"{RELEASES[-1]}.json").read_text("utf-8"))["changes"]


NAMES = list(record())


@pytest.mark.skipif(
    ".".join(map(str, spark_release()[:2])) != RELEASES[-1], reason="the record is the newest's"
)
@pytest.mark.parametrize("name", sampled(NAMES[::EVERY], EVERY_PLAIN // EVERY))
def test_spark_does_what_the_record_says(spark: Any, name: str, tmp_path: Path) -> None:
    change = next(each for each in CHANGES if each.name == name)
    told = record()[name]["on"]
    done = judge_restarts.run(spark, tmp_path, [change])
    for provider, expected in told.items():
        outcome = done[f"{provider} {name}"]
        assert (outcome["did"], outcome["error"]) == (expected["did"], expected["error"])
        assert said(tmp_path / provider, change) == expected["said"]


def said(folder: Path, change: Change) -> str:
    return str(judge_restarts.preflight(folder, change, RELEASES[-1]).summary["verdict"])


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
