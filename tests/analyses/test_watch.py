"""``watch``: what it tells of each batch is what an audit of that batch tells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inspector import api
from inspector.analyses import watch as following
from inspector.analyses.shared.declare import Analysis
from inspector.analyses.watch import watch
from inspector.exceptions import NotACheckpointError
from inspector.findings.verdict import Level, Verdict
from inspector.render.report import Report
from tests.fixture_folder import NEWEST
from tests.growing import Growing

NO_WAIT: dict[str, Any] = {"interval": 0.001}


def rows_of(path: str | Path, **options: Any) -> list[dict[str, Any]]:
    result = []
    for report in watch(str(path), **NO_WAIT, **options):
        (row,) = report.primary.rows
        result.append(dict(row))
    return result


def of(case: str) -> str:
    return str(NEWEST / case / "checkpoint")


def without_columns(verdict: Verdict | None) -> Verdict | None:
    """A verdict that names no columns of new keys: a watch compares none."""
    if verdict is None or verdict.growth is None:
        return verdict
    return replace(verdict, growth=replace(verdict.growth, new_columns=()))


@pytest.mark.parametrize("case", ["trouble_rearmed_timeouts", "join_left_outer", "agg_complete"])
def test_a_batch_has_the_numbers_of_timeline_and_the_findings_of_an_audit(case: str) -> None:
    by_batch: dict[int, dict[str, int]] = {}
    names = ("rows", "row_bytes", "puts", "updates", "same_value_puts", "removals", "delta_bytes")
    for row in api.timeline(of(case)).primary.rows:
        sums = by_batch.setdefault(row["batch_id"], dict.fromkeys(names, 0))
        for name in names:
            sums[name] += row[name]
    newest = max(by_batch)
    reports = list(watch(of(case), **NO_WAIT, until=newest, last=newest + 1))
    assert [report.summary["batch_id"] for report in reports] == list(range(newest + 1))
    for report in reports:
        (row,) = report.primary.rows
        audit = api.audit(of(case), api.Options(batch=row["batch_id"]))
        assert {name: row[name] for name in names} == by_batch[row["batch_id"]]
        assert row["leftovers"] == audit.verdict.leftovers  # type: ignore[union-attr]
        assert list(report.findings) == list(audit.findings)
        assert report.verdict == without_columns(audit.verdict)
        assert row["level"] == report.verdict.level.value  # type: ignore[union-attr]


def test_findings_are_told_when_they_come_and_when_they_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = Growing("trouble_future_watermark", tmp_path)
    query.run(0)
    batches = iter(range(1, 14))
    monkeypatch.setattr(following, "sleep", lambda _: query.run(next(batches)))
    rows = rows_of(query.root, until=13)
    assert [row["batch_id"] for row in rows] == list(range(14))
    present: dict[str, str] = {}
    for row in rows:
        for finding in row["findings_gone"]:
            del present[finding["id"]]
        for finding in row["findings_new"]:
            assert present.get(finding["id"]) != finding["severity"]
            present[finding["id"]] = finding["severity"]
        audit = api.audit(of("trouble_future_watermark"), api.Options(batch=row["batch_id"]))
        assert present == {f.kind.id: f.severity.word for f in audit.findings}
    assert present == {"SS211": "error"}


def test_a_finding_that_goes_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = Growing("trouble_kept_timeouts", tmp_path)
    for batch in range(6):
        query.run(batch)
    # The rest of the query runs without what it left behind.
    healthy = Growing("healthy_kept_timeouts", tmp_path / "healthy")
    (healthy.root / "metadata").write_text('{"id":"22963bf4-bb40-4fc3-855e-7fd5ef06d3d7"}')
    steps = iter(range(6))

    def mend(_: float) -> None:
        batch = next(steps)
        if batch == 0:
            query.root.rename(tmp_path / "before")
            healthy.root.rename(query.root)
            healthy.root = query.root
        healthy.run(batch)

    monkeypatch.setattr(following, "sleep", mend)
    reports: list[Report] = []
    for report in watch(str(query.root), **NO_WAIT):
        reports.append(report)
        if len(reports) == 7:
            break
    result = [
        (row["batch_id"], _ids(row["findings_new"]), _ids(row["findings_gone"]))
        for row in (next(iter(report.primary.rows)) for report in reports)
    ]
    assert result[:2] == [(5, ["SS203"], []), (0, [], ["SS203"])]
    assert all(new == gone == [] for _, new, gone in result[2:])
    assert reports[0].verdict
    assert reports[0].verdict.level is Level.ERROR
    assert reports[-1].verdict
    assert reports[-1].verdict.level is Level.OK


def _ids(findings: list[dict[str, Any]]) -> list[str]:
    return [finding["id"] for finding in findings]


def test_a_store_that_cannot_be_replayed_is_counted_as_missing(tmp_path: Path) -> None:
    query = Growing("healthy_kept_timeouts", tmp_path)
    for batch in range(4):
        query.run(batch)
    (query.root / "state/0/1/3.delta").write_bytes(b"nonsense")
    (report,) = watch(str(query.root), **NO_WAIT, until=3)
    (row,) = report.primary.rows
    assert (row["stores_read"], row["stores"], row["level"]) == (1, 2, "unreadable")
    assert 0 < row["rows"] < 33
    assert not report.complete


def test_what_the_batch_of_a_snapshot_changed_is_not_known() -> None:
    rows = rows_of(of("snapshots_cleaned"), last=100, until=13)
    # The oldest that both partitions can restore; one of them by a snapshot alone.
    assert [row["batch_id"] for row in rows] == [7, 8, 9, 10, 11, 12, 13]
    assert rows[0]["rows"] > 0
    assert [row["puts"] is None for row in rows] == [True, *[False] * 6]
    assert {row["level"] for row in rows} <= {"ok", "info"}


def test_no_batch_is_no_report(tmp_path: Path) -> None:
    query = Growing("agg_append", tmp_path)
    query.plan(0)
    assert rows_of(query.root, duration="5ms") == []


def test_it_waits_for_a_checkpoint_to_appear(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, looks = tmp_path / "checkpoint", []

    def appear(_: float) -> None:
        looks.append(path.exists())
        if len(looks) == 2:
            Growing("agg_append", tmp_path).run(0)

    monkeypatch.setattr(following, "sleep", appear)
    rows = rows_of(path, wait=True, until=0)
    assert [row["batch_id"] for row in rows] == [0]
    assert looks == [False, False]
    assert rows_of(tmp_path / "none", wait=True, duration="5ms") == []
    with pytest.raises(NotACheckpointError):
        rows_of(tmp_path / "none")


def test_a_duration_that_is_misspelt_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="expected"):
        list(watch(of("agg_update"), duration="soon"))


@pytest.mark.parametrize(
    ("parsed", "message"),
    [
        ({"interval": 10.0, "for": None}, None),
        ({"interval": 0.5, "for": "10m"}, None),
        ({"interval": 0.0, "for": None}, "--interval has to be more than 0"),
        ({"interval": -1.0, "for": None}, "--interval has to be more than 0"),
    ],
)
def test_options_are_checked_before_anything_is_read(
    parsed: dict[str, Any], message: str | None
) -> None:
    declared: Analysis = watch.analysis  # type: ignore[attr-defined]
    assert declared.check(parsed) == message
    assert str(declared.check({"interval": 1.0, "for": "soon"})).startswith("--for: ")
