"""Charts of an audit page have the numbers of the tables of the commands."""

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
from tests.attributes import attributes, objects_where
from tests.cli.support import checkpoint_of, copy_of
from tests.reports import cell_values

LEAK, JOIN = "fmgws_event_ignore", "join_left_outer"


@cache
def opened(path: Path) -> tuple[Run, Facts]:
    run = Run.start(str(path), None)
    return run, run.facts(page_request(Request()))


def versions_of(path: Path) -> Versions:
    run, facts = opened(path)
    return Versions(run.judge(facts))


def values_by_name(chart: LineChart) -> dict[str, list[float | None]]:
    """Return the values of each line of a chart."""
    return {line.name: list(line.values) for line in chart.series}


def charts_of(path: Path) -> dict[str, LineChart]:
    timeline = api.timeline(str(path)).primary
    return {chart.title: chart for chart in state_charts(versions_of(path), timeline)}


def test_line_charts_equal_sums_of_timeline() -> None:
    path = checkpoint_of(LEAK)
    charts = charts_of(path)
    table = api.timeline(str(path)).primary.rows
    assert charts["Rows in the state"].series[0].values == cell_values(table, "rows")
    row_bytes, heap = charts["Bytes of the state"].series
    assert row_bytes.values == cell_values(table, "row_bytes")
    assert (heap.values, heap.exact) == (cell_values(table, "heap_bytes"), False)
    lag = charts["Watermark lag"]
    assert lag.batches == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    assert lag.series[0].values == cell_values(table, "lag_ms")


def test_line_charts_of_a_join_sum_its_stores() -> None:
    charts = charts_of(checkpoint_of(JOIN))
    assert values_by_name(charts["Rows in the state"]) == {
        "all stores": [64, 114, 149, 181, 182, 132, 182, 182, 182, 132],
        "left-keyToNumValues": [20, 32, 44, 56, 56, 44, 56, 56, 56, 44],
        "left-keyWithIndexToValue": [20, 40, 60, 80, 81, 61, 81, 81, 81, 61],
        "right-keyToNumValues": [12, 18, 18, 18, 18, 12, 18, 18, 18, 12],
        "right-keyWithIndexToValue": [12, 24, 27, 27, 27, 15, 27, 27, 27, 15],
    }
    assert charts["Bytes of the state"].series[0].values == [
        *(3232, 6016, 8032, 9856, 9928, 7144, 9928, 9928, 9928, 7144),
    ]
    assert values_by_name(charts["Watermark lag"]) == {
        "lag": [None, 12400, 12400, 12400, 12400, 12400, 22400, 22400, 22400, 22400]
    }


def test_rocksdb_chart_has_no_heap_line() -> None:
    chart = charts_of(checkpoint_of("rocksdb_session_window"))["Bytes of the state"]
    assert [*values_by_name(chart)] == ["row bytes"]
    assert chart.about == ""


def test_single_store_has_one_line() -> None:
    assert [*values_by_name(charts_of(checkpoint_of(LEAK))["Rows in the state"])] == ["rows"]


def test_store_names_have_the_operator_if_there_are_several() -> None:
    names = versions_of(checkpoint_of("dedup_after_join")).names
    assert [*names.values()] == [
        "0 dedupe",
        "1 symmetricHashJoin left-keyToNumValues",
        "1 symmetricHashJoin left-keyWithIndexToValue",
        "1 symmetricHashJoin right-keyToNumValues",
        "1 symmetricHashJoin right-keyWithIndexToValue",
    ]


def test_version_missing_in_a_partition_is_a_gap(tmp_path: Path) -> None:
    path = copy_of(JOIN, tmp_path)
    (path / "state/0/0/left-keyWithIndexToValue/5.delta").unlink()
    chart = charts_of(path)["Rows in the state"]
    assert chart.batches == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert chart.series[0].values == [64, 114, 149, 181, *[None] * 6]
    assert chart.series[1].values[-1] == 44
    assert "Gaps are versions" in chart.about


def test_churn_charts_equal_sums_of_sharing() -> None:
    churn, shared = churn_charts(versions_of(checkpoint_of(JOIN)))
    assert churn.batches == shared.batches == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert values_by_name(churn) == {
        "inserts": [64, 50, 50, 50, 50, 0, 50, 50, 50, 0],
        "updates": [10, 24, 30, 33, 47, 24, 24, 48, 48, 24],
        "puts of the same value": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        "removals": [0, 0, 15, 18, 49, 50, 0, 50, 50, 50],
    }
    assert values_by_name(shared) == {
        "row bytes": [3232, 6016, 8032, 9856, 9928, 7144, 9928, 9928, 9928, 7144],
        "shared": [0, 3008, 4856, 6680, 6304, 6528, 6920, 6304, 6304, 6528],
    }


def test_changes_before_the_oldest_version_are_unknown() -> None:
    churn, _ = churn_charts(versions_of(checkpoint_of("snapshots_cleaned")))
    assert churn.series[0].values == [None, None, None, 50, 0, 50, 50, 50, 50]
    assert "Unknown for versions" in churn.about


def field_bars(path: Path) -> dict[str, int]:
    """Return the bytes of each field that the chart of fields shows."""
    run, facts = opened(path)
    return {bar.label: bar.parts[0] for bar in bytes_chart(run.judge(facts)).bars}


@pytest.mark.parametrize(
    ("case", "row_bytes"),
    [(LEAK, 12_704), (JOIN, 7144), ("agg_global", 24), ("wide_value", 24_136)],
)
def test_field_bars_sum_to_row_bytes(case: str, row_bytes: int) -> None:
    bars = field_bars(checkpoint_of(case))
    assert sum(bars.values()) == row_bytes
    assert len(bars) <= MOST_FIELDS + 1


def test_field_bars_equal_sizes_by_field() -> None:
    path = checkpoint_of(JOIN)
    assert field_bars(path) == {
        "left-keyWithIndexToValue value.site": 976,
        "left-keyWithIndexToValue key null bits": 488,
        "left-keyWithIndexToValue key.field0": 488,
        "left-keyWithIndexToValue key.index": 488,
        "left-keyWithIndexToValue value null bits": 488,
        "left-keyWithIndexToValue value.ad": 488,
        "left-keyWithIndexToValue value.matched": 488,
        "left-keyWithIndexToValue value.shownAt": 488,
        "left-keyToNumValues key null bits": 352,
        "left-keyToNumValues key.field0": 352,
        "left-keyToNumValues value null bits": 352,
        "left-keyToNumValues value.value": 352,
        "12 others": 1344,
    }
    sizes = api.sizes(str(path), by="field").primary.rows
    assert cell_values(sizes, "store_name", "row", "field", "bytes")[8:10] == [
        ("left-keyWithIndexToValue", "value", "shownAt", 488),
        ("left-keyWithIndexToValue", "value", "site", 976),
    ]
    run, facts = opened(path)
    about = bytes_chart(run.judge(facts)).about
    assert about.startswith("Of all: left-keyWithIndexToValue 61 %, ")


def test_field_bars_without_schema(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/0/_metadata/schema").unlink()
    assert [*field_bars(path)] == ["stateStoreSave key", "stateStoreSave value"]


def test_ladder_chart_equals_memory() -> None:
    table = api.memory(str(checkpoint_of(LEAK))).primary
    bars = ladder_chart(table).bars
    assert [(bar.label, *bar.parts) for bar in bars] == cell_values(table.rows, "rung", "bytes")
    assert attributes(bars, "exact") == [True] * 6 + [False] * 4
    assert cell_values(table.rows, "counted") == ["exact"] * 6 + ["estimate"] * 4


def test_age_chart_counts_leftovers_by_class() -> None:
    report = api.leftovers(str(checkpoint_of("fmgws_event_rearm")))
    (ages,) = objects_where(report.tables, name="leftover_ages")
    chart = age_chart(ages)
    assert chart.parts == ["rearmed"]
    assert attributes(chart.bars, "label", "parts") == [
        ("this batch", [32]),
        ("1-9 batches", [36]),
    ]
    assert report.summary["leftovers"] == 68


def test_sum_with_unknown_is_unknown() -> None:
    assert sum_or_none([1, None]) is None
    assert sum_or_none([1, 2]) == 3
