"""What the charts of a page draw is what the tables of the commands say."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from inspector import api
from inspector.analyses.page.charts import (
    MOST_FIELDS,
    Versions,
    age_chart,
    bytes_chart,
    churn_charts,
    ladder_chart,
    state_charts,
)
from inspector.analyses.page.of_audit import page_request
from inspector.analyses.shared.run import Run
from inspector.discovery.tasks import Request
from inspector.merge.collect import Facts
from inspector.render.page import LineChart
from inspector.sums import sum_or_none
from tests.cli.support import checkpoint_of, copy_of

LEAK, JOIN = "fmgws_event_ignore", "join_left_outer"


@cache
def opened(path: Path) -> tuple[Run, Facts]:
    run = Run.start(str(path), None)
    return run, run.facts(page_request(Request()))


def versions_of(path: Path) -> Versions:
    run, facts = opened(path)
    return Versions(run.judge(facts))


def charts_of(path: Path) -> dict[str, LineChart]:
    timeline = api.timeline(str(path)).primary
    return {chart.title: chart for chart in state_charts(versions_of(path), timeline)}


@pytest.mark.parametrize("case", [LEAK, JOIN])
def test_line_charts_equal_sums_of_timeline(case: str) -> None:
    path = checkpoint_of(case)
    charts = charts_of(path)
    table = [r for r in api.timeline(str(path)).primary.rows if r["operator_id"] is not None]
    for title, location, column in (
        ("Rows in the state", 0, "rows"),
        ("Bytes of the state", 0, "row_bytes"),
        ("Bytes of the state", 1, "heap_bytes"),
    ):
        chart = charts[title]
        sums = [sum(r[column] for r in table if r["batch_id"] == b) for b in chart.batches]
        assert chart.series[location].values == sums
    lags = {row["batch_id"]: row["lag_ms"] for row in table}
    assert charts["Watermark lag"].series[0].values == list(lags.values())
    assert not charts["Bytes of the state"].series[1].exact


def test_rocksdb_chart_has_no_heap_line() -> None:
    chart = charts_of(checkpoint_of("rocksdb_session_window"))["Bytes of the state"]
    assert [line.name for line in chart.series] == ["row bytes"]
    assert chart.about == ""


def test_few_stores_have_a_line_each() -> None:
    total, *stores = charts_of(checkpoint_of(JOIN))["Rows in the state"].series
    assert [element.name for element in stores] == [
        "left-keyToNumValues",
        "left-keyWithIndexToValue",
        "right-keyToNumValues",
        "right-keyWithIndexToValue",
    ]
    by_batch = zip(*(store.values for store in stores), strict=True)
    assert total.values == [sum_or_none(item) for item in by_batch]
    (alone,) = charts_of(checkpoint_of(LEAK))["Rows in the state"].series
    assert alone.name == "rows"


def test_store_names_have_the_operator_if_there_are_several() -> None:
    names = versions_of(checkpoint_of("dedup_after_join")).names.values()
    assert {name.split(" ")[0] for name in names} == {"0", "1"}


def test_version_missing_in_a_partition_is_a_gap(tmp_path: Path) -> None:
    path = copy_of(JOIN, tmp_path)
    (path / "state/0/0/left-keyWithIndexToValue/5.delta").unlink()
    chart = charts_of(path)["Rows in the state"]
    total = dict(zip(chart.batches, chart.series[0].values, strict=True))
    assert total[3] is not None
    assert [total[batch] for batch in range(4, 10)] == [None] * 6
    assert chart.series[1].values[-1] == 44
    assert "Gaps are versions" in chart.about


def test_churn_charts_equal_sums_of_sharing() -> None:
    path = checkpoint_of(JOIN)
    churn, shared = churn_charts(versions_of(path))
    rows = list(api.sharing(str(path)).primary.rows)
    for item, column in zip(
        churn.series, ("inserts", "updates", "same_value_puts", "removals"), strict=True
    ):
        assert item.values == [
            sum(r[column] for r in rows if r["batch_id"] == batch) for batch in churn.batches
        ]
    assert shared.series[1].values == [
        sum(r["shared_key_bytes"] + r["shared_value_bytes"] for r in rows if r["batch_id"] == batch)
        for batch in shared.batches
    ]
    assert any(churn.series[3].values)


def test_changes_before_the_oldest_version_are_unknown() -> None:
    churn, _ = churn_charts(versions_of(checkpoint_of("snapshots_cleaned")))
    assert churn.series[0].values[0] is None
    assert churn.series[0].values[-1] is not None
    assert "Unknown for versions" in churn.about


@pytest.mark.parametrize("case", [LEAK, JOIN, "agg_global", "wide_value"])
def test_field_bars_sum_to_row_bytes(case: str) -> None:
    run, facts = opened(checkpoint_of(case))
    bars = bytes_chart(run.judge(facts)).bars
    newest = [element for (_, version), element in facts.versions.items() if version == run.version]
    assert sum(bar.parts[0] for bar in bars) == sum(item.row_bytes for item in newest)
    assert len(bars) <= MOST_FIELDS + 1


def test_field_bars_equal_sizes_by_field() -> None:
    path = checkpoint_of(JOIN)
    run, facts = opened(path)
    chart = bytes_chart(run.judge(facts))
    sums = {bar.label: bar.parts[0] for bar in chart.bars}
    labels = set()
    for row in api.sizes(str(path), by="field").primary.rows:
        label = f"{row['store_name']} {row['row']}.{row['field']}"
        if label in sums:
            labels.add(label)
            assert sums[label] == row["bytes"]
    assert len(labels) > MOST_FIELDS // 2
    assert chart.bars[0].label == "left-keyWithIndexToValue value.site"
    assert chart.bars[-1].label.endswith(" others")
    assert chart.about.startswith("Of all: left-keyWithIndexToValue 61 %, ")


def test_field_bars_without_schema(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/0/_metadata/schema").unlink()
    run, facts = opened(path)
    labels = {bar.label.split(" ")[-1] for bar in bytes_chart(run.judge(facts)).bars}
    assert labels == {"key", "value"}


def test_ladder_chart_equals_memory() -> None:
    table = api.memory(str(checkpoint_of(LEAK))).primary
    bars, rungs = ladder_chart(table).bars, list(table.rows)
    assert [(bar.label, *bar.parts) for bar in bars] == [(r["rung"], r["bytes"]) for r in rungs]
    assert [bar.exact for bar in bars] == [rung["counted"] == "exact" for rung in rungs]
    assert {bar.exact for bar in bars} == {True, False}


def test_age_chart_counts_leftovers_by_class() -> None:
    report = api.leftovers(str(checkpoint_of("fmgws_event_rearm")))
    ages = next(table for table in report.tables if table.name == "leftover_ages")
    chart = age_chart(ages)
    assert sum(sum(bar.parts) for bar in chart.bars) == report.summary["leftovers"]
    assert chart.bars[0].label == "this batch"
    assert set(chart.parts) == {row["class"] for row in ages.rows}


def test_sum_with_unknown_is_unknown() -> None:
    assert sum_or_none([1, None]) is None
    assert sum_or_none([1, 2]) == 3
