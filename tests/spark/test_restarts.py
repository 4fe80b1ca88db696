"""Queries that are changed and really restarted: what preflight says is what Spark does.

The changes, and the record of all, are those of ``scripts/judge_restarts.py``.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import judge_restarts
import pytest
from documentation.restarts import RECORDS
from restarts.changes import CHANGES

import inspector.spark
from inspector import api
from inspector.findings.restart_rules import RELEASES
from tests.profiles import sampled
from tests.spark.support import spark_release
from tests.spark_support import WITH_SPARK

pytestmark = WITH_SPARK
EVERY, EVERY_PLAIN = 24, 48
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
        told_now = judge_restarts.said_of(tmp_path / provider, change, RELEASES[-1], outcome)
        assert told_now == expected


def start(events: Any, checkpoint: str, value: str = "sum", where: str = "true") -> Any:
    totals = events.where(where).groupBy("user").agg({"amount": value})
    writer = totals.writeStream.outputMode("update").format("noop")
    return writer.option("checkpointLocation", checkpoint).start()


def test_a_rehearsal_makes_a_checkpoint_to_compare(spark: Any, tmp_path: Path) -> None:
    rows = spark.createDataFrame([("a", 1), ("b", 2)], "user string, amount long")
    old = inspector.spark.rehearse(start, rows, tmp_path / "old")
    same = inspector.spark.rehearse(start, {"events": rows}, tmp_path / "same")
    new = inspector.spark.rehearse(partial(start, value="min"), rows, tmp_path / "new")
    assert api.preflight(old, same).summary["verdict"] == "unknown"
    assert api.preflight(old, same, before=old).summary["verdict"] == "ok"
    report = api.preflight(old, new)
    assert report.summary["verdict"] == "silent"
    assert {row["rule"] for row in report.primary.rows} >= {"SS419", "SS442"}


def test_a_rehearsal_of_the_old_query_shows_a_filter(spark: Any, tmp_path: Path) -> None:
    rows = spark.createDataFrame([("a", 1), ("a", 9)], "user string, amount long")
    fewer = partial(start, where="amount > 1")
    old = inspector.spark.rehearse(start, rows, tmp_path / "old")
    new = inspector.spark.rehearse(fewer, rows, tmp_path / "new")
    report = api.preflight(old, new, before=old)
    assert report.summary["verdict"] == "silent"
    assert "SS497" in {row["rule"] for row in report.primary.rows}
    others = inspector.spark.rehearse(fewer, rows.limit(1), tmp_path / "others")
    (line,) = [
        row for row in api.preflight(old, others, before=old).primary.rows if row["rule"] == "SS498"
    ]
    assert "other rows" in str(line["spark"])


def test_rehearsed_inputs_that_change_places_are_seen(spark: Any, tmp_path: Path) -> None:
    def start_union(checkpoint: str, *, first: str, **events: Any) -> Any:
        second = next(name for name in events if name != first)
        return start(events[first].union(events[second]), checkpoint)

    inputs = {
        name: spark.createDataFrame([("a", amount)], "user string, amount long")
        for name, amount in (("clicks", 1), ("views", 9))
    }
    clicks, views = (partial(start_union, first=name) for name in inputs)
    old = inspector.spark.rehearse(clicks, inputs, tmp_path / "old")
    swapped = inspector.spark.rehearse(views, inputs, tmp_path / "swapped")
    assert api.preflight(old, old, before=old).summary["verdict"] == "ok"
    assert api.preflight(old, swapped).summary["verdict"] == "unknown"
    rows = api.preflight(old, swapped, before=old).primary.rows
    assert "SS413" in {row["rule"] for row in rows}
