"""The HTML page of an audit: its sections, made in one pass, without keys by default."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import pytest

from inspector import api
from inspector.analyses.page.of_audit import page_request
from inspector.analyses.shared.run import Run
from inspector.discovery.tasks import Request
from inspector.merge.collect import Facts
from inspector.model import Redact
from inspector.render.cells import summary_name
from inspector.render.page import BarChart, Section
from inspector.render.renderers import render
from inspector.render.tabular import Table
from tests.attributes import attributes
from tests.checkpoint_files import overwrite_files
from tests.cli.support import checkpoint_of, copy_of
from tests.reports import blocks_of, cell_values

SECTIONS = ["pictures", "size", "batches", "changes", "bytes", "leftovers", "schemas", "unknown"]


def page_of(path: Path, options: api.Options | None = None) -> Sequence[Section]:
    page = api.audit(str(path), options, page=True).page
    assert page is not None
    return page


def tables_of(page: Sequence[Section]) -> dict[str, Table]:
    return {table.name: table for table in blocks_of(page, Table)}


@pytest.mark.parametrize("case", ["fmgws_event_ignore", "join_left_outer", "task_failed"])
def test_a_page_has_all_its_sections(case: str) -> None:
    page = page_of(checkpoint_of(case))
    assert attributes(page, "name") == SECTIONS
    assert all(attributes(page, "blocks"))
    columns_of_all = chain.from_iterable(attributes(blocks_of(page, Table), "columns"))
    assert all(attributes(columns_of_all, "doc"))


def test_page_of_rocksdb_has_sizes_and_no_heap() -> None:
    page = page_of(checkpoint_of("rocksdb_session_window"))
    (chart,) = blocks_of(page[1:2], BarChart)
    assert [(bar.label, bar.parts[0]) for bar in chart.bars] == [
        ("delta files", 5369),
        ("snapshot files", 0),
        ("raw bytes", 14_130),
        ("keys", 960),
        ("values", 2160),
        ("rows", 3120),
    ]
    assert "off_heap" in tables_of(page)
    assert "what_ifs" not in tables_of(page)


def test_audit_has_no_page_by_default() -> None:
    assert api.audit(str(checkpoint_of("agg_append"))).page is None


def test_a_page_replays_the_state_once(monkeypatch: pytest.MonkeyPatch) -> None:
    questions: list[Request] = []
    facts = Run.facts

    def recorded(run: Run, request: Request) -> Facts:
        questions.append(request)
        return facts(run, request)

    monkeypatch.setattr(Run, "facts", recorded)
    page_of(checkpoint_of("fmgws_event_ignore"))
    assert len(questions) == 1
    assert questions[0] == page_request(questions[0])
    assert questions[0].fields
    assert questions[0].partitions


def test_report_is_equal_with_and_without_a_page() -> None:
    path = str(checkpoint_of("fmgws_event_ignore"))
    assert api.audit(path, page=True).to_dict() == api.audit(path).to_dict()


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (
            "fmgws_event_ignore",
            {
                "rows": "128",
                "row_bytes": "12704",
                "leftovers": "68",
                "state_file_bytes": "11307",
                "watermark_ms": "1704067289000",
            },
        ),
        (
            "join_left_outer",
            {
                "rows": "132",
                "row_bytes": "7144",
                "leftovers": "0",
                "state_file_bytes": "20836",
                "watermark_ms": "1704067267600",
            },
        ),
    ],
)
def test_page_numbers_equal_the_json(case: str, expected: dict[str, str]) -> None:
    report = api.audit(str(checkpoint_of(case)), page=True)
    text = "".join(render(report, "html"))
    result = dict(re.findall(r"<dt>([^<]*)</dt><dd><data value=\"([^\"]*)\">", text))
    assert {name: result[summary_name(name)] for name in expected} == expected
    (embedded,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text)
    assert json.loads(embedded) == report.to_dict()


HINT = "Use --redact none to show them."


@pytest.mark.parametrize(
    ("redact", "is_shown"), [(None, False), (Redact.ALL, False), (Redact.NONE, True)]
)
def test_page_keys_are_hashed_by_default(redact: Redact | None, *, is_shown: bool) -> None:
    path = checkpoint_of("fmgws_event_ignore")
    report = api.audit(str(path), api.Options(redact=redact), page=True)
    text = "".join(render(report, "html"))
    assert ("once-000" in text) is is_shown
    assert (HINT in text) is not is_shown


def test_page_shows_whole_schemas() -> None:
    table = tables_of(page_of(checkpoint_of("join_left_outer")))["schemas"]
    assert attributes(table.columns, "wide") == [False] * len(table.columns)
    assert cell_values(table.rows, "store_name", "row", "schema") == [
        ("left-keyToNumValues", "key", "field0 bigint"),
        ("left-keyToNumValues", "value", "value bigint"),
        ("left-keyWithIndexToValue", "key", "field0 bigint, index bigint"),
        (
            "left-keyWithIndexToValue",
            "value",
            "ad bigint, shownAt timestamp, site string, matched boolean",
        ),
        ("right-keyToNumValues", "key", "field0 bigint"),
        ("right-keyToNumValues", "value", "value bigint"),
        ("right-keyWithIndexToValue", "key", "field0 bigint, index bigint"),
        (
            "right-keyWithIndexToValue",
            "value",
            "clickedAd bigint, clickedAt timestamp, cost double, matched boolean",
        ),
    ]


def test_unknown_section_has_undecided_keys() -> None:
    *_, unknown = page_of(checkpoint_of("fmgws_snapshots_cleaned"))
    assert "undecided" in tables_of([unknown])


def test_page_of_a_damaged_checkpoint(tmp_path: Path) -> None:
    path = copy_of("join_left_outer", tmp_path)
    overwrite_files(path, "state/**/*.delta", b"")
    report = api.audit(str(path), page=True)
    assert not report.complete
    text = "".join(render(report, "html"))
    assert "Unreadable" in text
