"""Pictures of the state show the numbers of sizes, top, timeline and findings."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest

from inspector import api
from inspector.analyses.audit import FACTS
from inspector.analyses.page import state_pictures as pictures
from inspector.analyses.page.of_audit import page_request
from inspector.analyses.shared.conclusion import findings_of, verdict_of
from inspector.analyses.shared.judged import Judged
from inspector.analyses.shared.run import Run
from inspector.discovery.tasks import Request
from inspector.facts.top_keys import TopBy
from inspector.model import Redact, StoreName
from inspector.render.page.pictures import Treemap, picture_view
from tests.attributes import attributes, objects_where
from tests.cli.support import checkpoint_of
from tests.reports import cell_values, rows_of_table, rows_where

LEAK, JOIN, SESSIONS = "fmgws_event_ignore", "join_left_outer", "rocksdb_session_window"
SKEW, TIMERS, WIDE = "trouble_skew", "rocksdb_tws_event", "agg_append"


def judged(path: Path, request: Request | None = None) -> Judged:
    run = Run.start(str(path), None)
    return run.judge(run.facts(request or page_request(FACTS)))


def amounts_by_tile(treemap: Treemap) -> dict[str, int]:
    """Return the amount of each tile that is not empty; it is the sum of its parts."""
    sums = {tile.label: sum(attributes(tile.parts, "amount")) for tile in treemap.tiles}
    assert sums == {tile.label: tile.amount for tile in treemap.tiles}
    return {label: amount for label, amount in sums.items() if amount}


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (LEAK, {"flatMapGroupsWithState": 12_704}),
        (
            JOIN,
            {
                "left-keyToNumValues": 1408,
                "left-keyWithIndexToValue": 4392,
                "right-keyToNumValues": 384,
                "right-keyWithIndexToValue": 960,
            },
        ),
        (
            TIMERS,
            {
                "$eventTimers_keyToTimestamp": 856,
                "$eventTimers_timestampToKey": 856,
                "$rowCounter_amounts": 416,
                "amounts": 1216,
                "pages": 2672,
                "total": 640,
            },
        ),
        ("empty_partitions", {"stateStoreSave": 120}),
        ("agg_two_levels", {"0 stateStoreSave": 64, "1 stateStoreSave": 7200}),
    ],
)
def test_treemap_amounts_are_the_bytes_of_stores(case: str, expected: dict[str, int]) -> None:
    path = checkpoint_of(case)
    facts = judged(path)
    fields, keys = pictures.field_treemap(facts), pictures.key_treemap(facts)
    assert keys is not None
    assert amounts_by_tile(fields) == amounts_by_tile(keys) == expected
    total = api.sizes(str(path)).summary["row_bytes"]
    assert sum(cell_values(picture_view(fields).numbers.rows, "amount")) == total
    assert sum(cell_values(picture_view(keys).numbers.rows, "amount")) == total


def test_key_treemap_equals_top() -> None:
    path = checkpoint_of(WIDE)
    treemap = pictures.key_treemap(judged(path, Request(top=4)), redact=Redact.NONE)
    assert treemap is not None
    (tile,) = treemap.tiles
    start = '{"window": {"start": "2024-01-01T00:01:00.000000Z", "end": "2024-01-01T00:01:20…'
    assert attributes(tile.parts, "label", "amount") == [
        *[(start, 88)] * 4,
        ("all 96 other keys", 8448),
    ]
    top = api.top(str(path), by=TopBy.ROW_BYTES, limit=4).primary.rows
    assert cell_values(top, "row_bytes") == [88] * 4


def test_field_treemap_has_largest_keys_as_parts() -> None:
    treemap = pictures.field_treemap(judged(checkpoint_of(TIMERS)), redact=Redact.NONE)
    (counters,) = objects_where(treemap.tiles, label="$rowCounter_amounts")
    field = counters.parts[0]
    assert (field.label, field.amount) == ("key.value", 176)
    assert attributes(field.parts, "label", "amount") == [
        ('{"value": "grower-000"}', 24),
        ('{"value": "steady-000"}', 24),
        ("all other keys", 128),
    ]
    numbers = picture_view(treemap).numbers
    assert attributes(numbers.columns, "title")[:3] == ["store", "field", "key"]
    assert {"", "all other keys", '{"value": "grower-000"}'} <= set(
        cell_values(numbers.rows, "leaf")
    )


def labels_of_largest_keys(redact: Redact | None) -> list[str]:
    """Return the labels of the keys of a checkpoint in its treemap of keys."""
    facts = judged(checkpoint_of(LEAK))
    treemap = pictures.key_treemap(facts, redact=redact)
    assert treemap is not None
    return attributes(treemap.tiles[0].parts, "label")


def test_key_treemap_hashes_keys_by_default() -> None:
    assert labels_of_largest_keys(None) == [
        "sha256:7569133d3494c557",
        "sha256:c724e424861bec83",
        "sha256:1e61a2a99750ff2c",
        "sha256:3686872845a69071",
        "all 124 other keys",
    ]
    assert labels_of_largest_keys(Redact.ALL) == [*["***"] * 4, "all 124 other keys"]


def test_no_key_treemap_without_ranking() -> None:
    assert pictures.key_treemap(judged(checkpoint_of(LEAK), Request())) is None


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (LEAK, {"/0/0": (65, 6464), "/0/1": (63, 6240)}),
        (
            SKEW,
            {
                "/0/0": (134, 9384),
                "/0/1": (6, 296),
                "/0/2": (2, 96),
                "/0/3": (8, 392),
                "/0/4": (16, 800),
            },
        ),
        (
            "empty_partitions",
            {"/0/0": (1, 40), "/0/1": (1, 40), "/0/2": (0, 0), "/0/3": (1, 40), "/0/4": (0, 0)},
        ),
        (
            "agg_two_levels",
            {"/0/0": (0, 0), "/0/1": (1, 64), "/1/0": (54, 3888), "/1/1": (46, 3312)},
        ),
    ],
)
def test_partition_strips_have_rows_and_bytes(
    case: str, expected: dict[str, tuple[int, int]]
) -> None:
    facts = judged(checkpoint_of(case))
    strips = pictures.partition_strips(facts, lambda *ids: f"/{ids[0]}/{ids[1]}")
    cells = chain.from_iterable(attributes(strips, "cells"))
    assert {cell.link: tuple(cell.amounts[:2]) for cell in cells} == expected


def test_partition_strip_of_one_store() -> None:
    facts = judged(checkpoint_of(JOIN))
    (strip,) = pictures.partition_strips(facts, store=StoreName(0, "left-keyToNumValues"))
    assert [tuple(cell.amounts[:2]) for cell in strip.cells] == [(21, 672), (23, 736)]
    assert strip.title == "Partitions of left-keyToNumValues"


@pytest.mark.parametrize(
    ("case", "expired", "expiring"),
    [
        (LEAK, 0, [1, 8, 12, 8, 1, 4, 8, 2, 1]),
        (JOIN, 0, []),
        (SESSIONS, 0, [7, 7, 14, 2]),
        (TIMERS, 3, [7, 3]),
        ("agg_two_levels", 0, [50, 50, 1]),
    ],
)
def test_expiry_histograms_have_the_rows_of_timeline(
    case: str, expired: int, expiring: list[int]
) -> None:
    path = checkpoint_of(case)
    drawn = pictures.expiry_histograms(judged(path))
    bars = chain.from_iterable(attributes(drawn, "bars"))
    assert [rows for _, rows in bars] == expiring
    assert sum(dict(picture.remainder)["expired"] for picture in drawn) == expired
    table = rows_of_table(api.timeline(str(path)), "expiring")
    listed = cell_values(rows_where(table, fate="expires"), "rows")
    assert sorted(listed) == sorted(expiring)


def test_expiry_histogram_starts_at_the_watermark() -> None:
    (histogram,) = pictures.expiry_histograms(judged(checkpoint_of(LEAK)))
    assert histogram.now_ms == 1_704_067_289_000
    assert histogram.remainder == (("expired", 0), ("never", 83))


def test_growth_line_marks_findings() -> None:
    facts = judged(checkpoint_of(LEAK))
    findings = findings_of(facts)
    line = pictures.growth_line(facts, findings, verdict_of(facts, findings))
    assert attributes(line.marks, "label", "batch") == [
        ("SS203, since batch 4: timeout fired and key kept", 4),
        ("SS201, found at the judged batch: rows can never expire", 12),
        ("The state has grown since batch 0", 0),
    ]
    assert line.values[-1] == 12_704


def test_duration_chart_from_log_file_times(monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = judged(checkpoint_of(LEAK)).checkpoint
    assert pictures.duration_chart(checkpoint) is None  # the fixture is a copy
    monkeypatch.setattr(pictures, "batch_durations", lambda _: {3: 500, 1: 200})
    chart = pictures.duration_chart(checkpoint)
    assert chart is not None
    assert (chart.batches, chart.series[0].values) == ([1, 3], [200, 500])
