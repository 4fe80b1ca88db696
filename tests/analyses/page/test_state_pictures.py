"""Pictures show the numbers of sizes, top, timeline and of the findings."""

from __future__ import annotations

import json
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
from inspector.findings.finding import Severity
from inspector.model import Redact, StoreName
from inspector.render.page.pictures import picture_view
from tests.cli.support import checkpoint_of

LEAK, JOIN, SESSIONS = "fmgws_event_ignore", "join_left_outer", "rocksdb_session_window"
SKEW, TIMERS, WIDE = "trouble_skew", "rocksdb_tws_event", "agg_append"
CASES = (LEAK, JOIN, SESSIONS, SKEW, TIMERS, "empty_partitions", "agg_two_levels")


def judged(path: Path, request: Request | None = None) -> Judged:
    run = Run.start(str(path), None)
    return run.judge(run.facts(request or page_request(FACTS)))


@pytest.mark.parametrize("case", CASES)
def test_treemap_amounts_equal_sizes(case: str) -> None:
    path = checkpoint_of(case)
    facts = judged(path)
    sizes = {
        (row["operator_id"], row["store_name"]): row["row_bytes"]
        for row in api.sizes(str(path)).primary.rows
    }
    keys = pictures.key_treemap(facts)
    assert keys is not None
    for treemap in (pictures.field_treemap(facts), keys):
        expected = sorted(size for size in sizes.values() if size)
        assert sorted(tile.amount for tile in treemap.tiles if tile.amount) == expected
        for tile in treemap.tiles:
            assert sum(part.amount for part in tile.parts) == tile.amount
        drawn = picture_view(treemap)
        assert sum(row["amount"] for row in drawn.numbers.rows) == sum(expected)


def test_key_treemap_equals_top() -> None:
    path = checkpoint_of(WIDE)
    treemap = pictures.key_treemap(judged(path, Request(top=4)), redact=Redact.NONE)
    assert treemap is not None
    rows = list(api.top(str(path), by=TopBy.ROW_BYTES, limit=4).primary.rows)
    (tile,) = treemap.tiles
    named = tile.parts[: len(rows)]
    assert [part.amount for part in named] == [row["row_bytes"] for row in rows]
    names = [json.dumps(row["key"]) for row in rows]
    assert [part.label.rstrip("…") for part in named] == [name[:79] for name in names]
    rest = count_rows(path) - len(rows)
    assert tile.parts[-1].label == f"all {rest:,} other keys"


def count_rows(path: Path) -> int:
    """Rows of the only store."""
    (row,) = api.sizes(str(path)).primary.rows
    return int(row["rows"])


def test_field_treemap_has_largest_keys_as_parts() -> None:
    path = checkpoint_of(TIMERS)
    treemap = pictures.field_treemap(judged(path), redact=Redact.NONE)
    fields = [part for tile in treemap.tiles for part in tile.parts if part.parts]
    assert fields
    assert all(sum(leaf.amount for leaf in part.parts) == part.amount for part in fields)
    drawn = picture_view(treemap)
    assert [column.title for column in drawn.numbers.columns][:3] == ["store", "field", "key"]
    leaves = {leaf.label for part in fields for leaf in part.parts}
    assert {row["leaf"] for row in drawn.numbers.rows} == {"", *leaves}


def test_key_treemap_hashes_keys_by_default() -> None:
    facts = judged(checkpoint_of(LEAK))
    hashed, hidden = pictures.key_treemap(facts), pictures.key_treemap(facts, redact=Redact.ALL)
    assert hashed is not None
    assert hidden is not None
    assert all(part.label.startswith("sha256:") for part in hashed.tiles[0].parts[:4])
    labels = {part.label for part in hidden.tiles[0].parts[:4]}
    assert len(labels) == 1
    assert not any("value" in label for label in labels)


def test_no_key_treemap_without_ranking() -> None:
    assert pictures.key_treemap(judged(checkpoint_of(LEAK), Request())) is None


@pytest.mark.parametrize("case", CASES)
def test_partition_strips_equal_sizes_by_partition(case: str) -> None:
    path = checkpoint_of(case)
    expected: dict[tuple[int, int], list[int]] = {}
    for row in api.sizes(str(path), by="partition").primary.rows:
        sums = expected.setdefault((row["operator_id"], row["partition_id"]), [0, 0])
        sums[0] += row["rows"]
        sums[1] += row["row_bytes"]
    strips = pictures.partition_strips(judged(path), lambda *ids: f"/{ids[0]}/{ids[1]}")
    cells = {cell.link: list(cell.amounts[:2]) for strip in strips for cell in strip.cells}
    assert cells == {f"/{op}/{part}": sums for (op, part), sums in expected.items()}


def test_partition_strip_of_one_store() -> None:
    facts = judged(checkpoint_of(JOIN))
    (strip,) = pictures.partition_strips(facts, store=StoreName(0, "left-keyToNumValues"))
    rows = facts.facts.of_version(StoreName(0, "left-keyToNumValues"), facts.version).rows
    assert sum(cell.amounts[0] or 0 for cell in strip.cells) == rows
    assert strip.title == "Partitions of left-keyToNumValues"


@pytest.mark.parametrize("case", CASES)
def test_expiry_histograms_equal_timeline(case: str) -> None:
    path = checkpoint_of(case)
    tables = {table.name: list(table.rows) for table in api.timeline(str(path)).tables}
    facts = judged(path)
    drawn = pictures.expiry_histograms(facts)
    for fate in ("expires", "expired"):
        listed = [row["rows"] for row in tables["expiring"] if row["fate"] == fate]
        labels = [amount for picture in drawn for _, amount in picture.bars]
        due = [n for picture in drawn for name, n in picture.remainder if name == "expired"]
        assert sum(labels if fate == "expires" else due) == sum(listed)
    for picture in drawn:
        clock = facts.checkpoint.clock(facts.version)
        assert clock is not None
        assert picture.now_ms in (clock.watermark_ms, clock.timestamp_ms)


def test_growth_line_marks_findings() -> None:
    facts = judged(checkpoint_of(LEAK))
    findings = findings_of(facts)
    line = pictures.growth_line(facts, findings, verdict_of(facts, findings))
    marks = {mark.label.partition(":")[0]: mark.batch for mark in line.marks}
    assert marks["SS203, since batch 4"] == 4
    assert marks["SS201, found at the judged batch"] == facts.version - 1
    grave = [finding for finding in findings if finding.severity is not Severity.INFO]
    assert len(grave) <= len(line.marks) <= len(grave) + 1
    total = facts.total.row_bytes
    assert line.values[-1] == total


def test_duration_chart_from_log_file_times(monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = judged(checkpoint_of(LEAK)).checkpoint
    assert pictures.duration_chart(checkpoint) is None  # the fixture is a copy
    monkeypatch.setattr(pictures, "batch_durations", lambda _: {3: 500, 1: 200})
    chart = pictures.duration_chart(checkpoint)
    assert chart is not None
    assert (chart.batches, chart.series[0].values) == ([1, 3], [200, 500])
