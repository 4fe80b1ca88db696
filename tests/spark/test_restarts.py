"""Queries that are changed and really restarted: what preflight says is what Spark does.

The changes, and the record of all, are those of ``scripts/lab/judge_restarts.py``.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
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
from tests.attributes import objects_where
from tests.profiles import sampled
from tests.reports import cell_values, rows_where
from tests.spark.support import spark_release
from tests.spark_support import WITH_SPARK

pytestmark = WITH_SPARK
DAY_MS = 24 * 3_600_000
EVERY, EVERY_PLAIN = 60, 120
"""Of so many changes a full run, and a plain one, restarts one: all take half an hour, which
``scripts/lab/judge_restarts.py`` has."""


def record() -> Any:
    return json.loads((RECORDS / f"{RELEASES[-1]}.json").read_text("utf-8"))["changes"]


NAMES = list(record())


@pytest.mark.skipif(
    ".".join(map(str, spark_release()[:2])) != RELEASES[-1], reason="the record is the newest's"
)
@pytest.mark.parametrize("name", sampled(NAMES[::EVERY], EVERY_PLAIN // EVERY))
def test_spark_behaves_as_recorded(spark: Any, name: str, tmp_path: Path) -> None:
    (change,) = objects_where(CHANGES, name=name)
    result = record()[name]["on"]
    done = judge_restarts.run(spark, tmp_path, [change])
    for provider, expected in result.items():
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
    assert set(cell_values(report.primary.rows, "rule")) >= {"SS419", "SS442"}


def test_a_rehearsal_of_the_old_query_shows_a_filter(spark: Any, tmp_path: Path) -> None:
    rows = spark.createDataFrame([("a", 1), ("a", 9)], "user string, amount long")
    fewer = partial(start, where="amount > 1")
    old = inspector.spark.rehearse(start, rows, tmp_path / "old")
    new = inspector.spark.rehearse(fewer, rows, tmp_path / "new")
    report = api.preflight(old, new, before=old)
    assert report.summary["verdict"] == "silent"
    assert "SS497" in cell_values(report.primary.rows, "rule")
    siblings = inspector.spark.rehearse(fewer, rows.limit(1), tmp_path / "others")
    (line,) = rows_where(api.preflight(old, siblings, before=old).primary.rows, rule="SS498")
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
    assert "SS428" in cell_values(rows, "rule")


def start_join(
    orders: Any, payments: Any, checkpoint: str, *, minutes: int, how: str = "left_outer"
) -> Any:
    """Start a join within a range of minutes around the time of an order."""
    from pyspark.sql.functions import expr

    left = orders.withWatermark("at", "10 minutes")
    right = payments.selectExpr("user as payer", "at as paid").withWatermark("paid", "10 minutes")
    within = f"paid between at - interval {minutes} minutes and at + interval {minutes} minutes"
    joined = left.join(right, expr(f"user = payer and {within}"), how)
    writer = joined.writeStream.format("noop").option("checkpointLocation", checkpoint)
    return writer.start()


def test_time_ranges_of_rehearsed_joins_are_compared_exactly(spark: Any, tmp_path: Path) -> None:
    frames = inputs_of(spark, 0, 1, 300, 301)
    inputs = {"orders": frames, "payments": frames}
    old, same, second = (
        inspector.spark.rehearse(partial(start_join, minutes=minutes), inputs, tmp_path / name)
        for name, minutes in (("old", 60), ("same", 60), ("other", 61))
    )
    assert api.preflight(old, same, before=old).summary["verdict"] == "ok"
    report = api.preflight(old, second, before=old)
    assert report.summary["verdict"] == "silent"
    assert "SS497" in cell_values(report.primary.rows, "rule")
    assert not api.audit(old).problems


def count_rows(events: Any, checkpoint: str, timeout: str, factor: int = 1, delay: int = 2) -> Any:
    """Start a query with a function that counts the rows of each user."""

    def count(_key: Any, frames: Any, state: Any) -> Any:
        if state.hasTimedOut:
            state.remove()
            return iter(())
        result = list(frames)
        rows = sum(map(len, result))
        state.update((rows + (state.get[0] * factor if state.exists else 0),))
        if timeout == "EventTimeTimeout":
            newest = max(frame["at"].max() for frame in result)
            state.setTimeoutTimestamp(int(newest.timestamp() * 1000) + delay * DAY_MS)
        else:
            state.setTimeoutDuration(delay * DAY_MS)
        return iter(())

    watermarked = events.withWatermark("at", "1 hour").groupBy("user")
    counts = watermarked.applyInPandasWithState(
        count, "user string", "rows long", "update", timeout
    )
    writer = counts.writeStream.outputMode("update").format("noop")
    return writer.option("checkpointLocation", checkpoint).start()


def inputs_of(spark: Any, *days: int) -> list[Any]:
    """One DataFrame for each day of 2024: users a and b, and another one after a time jump."""
    start = datetime(2024, 1, 1, tzinfo=timezone.utc)
    return [
        spark.createDataFrame(
            [(user, start + timedelta(days=day)) for user in ("ab" if day < 100 else "z")],
            "user string, at timestamp",
        )
        for day in days
    ]


def test_a_rehearsal_of_several_inputs_shows_existing_state_and_timers(
    spark: Any, tmp_path: Path
) -> None:
    start_old = partial(count_rows, timeout="EventTimeTimeout")
    inputs = inputs_of(spark, 0, 1, 200, 201)

    def rehearsed(name: str, frames: Any, **changes: int) -> str:
        return inspector.spark.rehearse(partial(start_old, **changes), frames, tmp_path / name)

    old = rehearsed("old", inputs)
    assert api.preflight(old, rehearsed("same", inputs), before=old).summary["verdict"] == "ok"
    for name, change in (("factor", {"factor": 10}), ("delay", {"delay": 3})):
        report = api.preflight(old, rehearsed(name, inputs, **change), before=old)
        assert report.summary["verdict"] == "silent", name
    item = [rehearsed(f"one {factor}", inputs[:1], factor=factor) for factor in (1, 10)]
    report = api.preflight(item[0], item[1], before=item[0])
    assert report.summary["verdict"] == "unknown"
    assert {"SS457", "SS458"} <= set(cell_values(report.primary.rows, "rule"))


def test_a_rehearsal_of_timers_by_processing_time_ends(spark: Any, tmp_path: Path) -> None:
    endless = partial(count_rows, timeout="ProcessingTimeTimeout")
    old = inspector.spark.rehearse(endless, inputs_of(spark, 0, 1), tmp_path / "old")
    report = api.preflight(old, old, before=old)
    assert report.summary["verdict"] == "unknown"
    assert "SS458" in cell_values(report.primary.rows, "rule")


def test_sources_need_equal_number_of_inputs(spark: Any, tmp_path: Path) -> None:
    frames = inputs_of(spark, 0, 1)
    with pytest.raises(ValueError, match="a: 2, b: 1; expected the same number"):
        inspector.spark.rehearse(start, {"a": frames, "b": frames[0]}, tmp_path)
    with pytest.raises(ValueError, match="rows: 0"):
        inspector.spark.rehearse(start, [], tmp_path)


def test_batch_reads_one_input_of_each_source(spark: Any, tmp_path: Path) -> None:
    def start_union(checkpoint: str, left: Any, right: Any) -> Any:
        users = left.union(right).groupBy("user").count()
        writer = users.writeStream.outputMode("update").format("noop")
        return writer.option("checkpointLocation", checkpoint).start()

    frames = inputs_of(spark, 0, 1, 2)
    result = inspector.spark.rehearse(start_union, {"left": frames, "right": frames}, tmp_path)
    assert len(list((Path(result) / "commits").glob("[0-9]*"))) == len(frames)
