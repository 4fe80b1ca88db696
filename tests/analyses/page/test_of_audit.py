"""The page of an audit: all its parts, from one pass, and nothing that ought to be hidden."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from inspector import api
from inspector.analyses.page.of_audit import page_request
from inspector.analyses.shared.run import Run
from inspector.discovery.tasks import Request
from inspector.merge.collect import Facts
from inspector.model import Redact
from inspector.render.cells import summary_name
from inspector.render.page import BarChart, Section, Text
from inspector.render.renderers import render
from inspector.render.tabular import Table
from tests.cli.support import checkpoint_of, copy_of

SECTIONS = [
    *("pictures", "size", "batches", "changes", "bytes", "leftovers", "schemas", "unknown"),
]


def page_of(path: Path, options: api.Options | None = None) -> Sequence[Section]:
    page = api.audit(str(path), options, page=True).page
    assert page is not None
    return page


def tables_of(page: Sequence[Section]) -> dict[str, Table]:
    return {b.name: b for item in page for b in item.blocks if isinstance(b, Table)}


@pytest.mark.parametrize("case", ["fmgws_event_ignore", "join_left_outer", "task_failed"])
def test_a_page_has_all_its_sections(case: str) -> None:
    page = page_of(checkpoint_of(case))
    assert [section.name for section in page] == SECTIONS
    assert all(section.blocks for section in page)
    assert all(column.doc for table in tables_of(page).values() for column in table.columns)


def test_page_of_rocksdb_has_sizes_and_no_heap() -> None:
    path = checkpoint_of("rocksdb_session_window")
    page = page_of(path)
    (chart,) = (b for b in page[1].blocks if isinstance(b, BarChart))
    sizes = {bar.label: bar.parts[0] for bar in chart.bars}
    total = api.sizes(str(path)).summary["row_bytes"]
    assert sizes["rows"] == sizes["keys"] + sizes["values"] == total > 0
    assert not any("heap" in label for label in sizes)
    assert {"off_heap"} == tables_of(page).keys() & {"off_heap", "what_ifs"}


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
    texts = ["".join(render(api.audit(path, page=page), "json")) for page in (False, True)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("case", ["fmgws_event_ignore", "join_left_outer"])
def test_page_numbers_equal_the_json(case: str) -> None:
    report = api.audit(str(checkpoint_of(case)), page=True)
    text = "".join(render(report, "html"))
    result = dict(re.findall(r"<dt>([^<]*)</dt><dd><data value=\"([^\"]*)\">", text))
    summary = report.to_dict()["summary"]
    for name in ("rows", "row_bytes", "leftovers", "state_file_bytes", "watermark_ms"):
        assert int(result[summary_name(name)]) == summary[name]
    (embedded,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text)
    assert json.loads(embedded) == report.to_dict()


def test_page_keys_are_hashed_by_default() -> None:
    path = checkpoint_of("fmgws_event_ignore")
    for redact, display in ((None, False), (Redact.ALL, False), (Redact.NONE, True)):
        options = api.Options(redact=redact)
        report = api.audit(str(path), options, page=True)
        assert ("once-000" in "".join(render(report, "html"))) is display
        leftovers = page_of(path, options)[5]
        texts = [line for b in leftovers.blocks if isinstance(b, Text) for line in b.lines]
        result = [line.endswith("Use --redact none to show them.") for line in texts]
        assert result == [True] * (not display)


def test_page_shows_whole_schemas() -> None:
    table = tables_of(page_of(checkpoint_of("join_left_outer")))["schemas"]
    assert not [column.name for column in table.columns if column.wide]
    rows = list(table.rows)
    assert len(rows) == 8
    assert {row["row"] for row in rows} == {"key", "value"}
    assert any("clickedAd" in row["schema"] for row in rows)


def test_unknown_section_has_undecided_keys() -> None:
    unknown = page_of(checkpoint_of("fmgws_snapshots_cleaned"))[-1]
    assert any(isinstance(block, Table) and block.name == "undecided" for block in unknown.blocks)


def test_page_of_a_damaged_checkpoint(tmp_path: Path) -> None:
    path = copy_of("join_left_outer", tmp_path)
    for file in (path / "state").rglob("*.delta"):
        file.write_bytes(b"")
    report = api.audit(str(path), page=True)
    assert not report.complete
    text = "".join(render(report, "html"))
    assert "Unreadable" in text
