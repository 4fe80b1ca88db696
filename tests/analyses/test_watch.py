"""``inspector watch``: its report through the API, and what the command line prints."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from inspector import api
from inspector.analyses import watch as following
from inspector.analyses.shared.declare import Analysis
from inspector.analyses.watch import watch
from inspector.cli.exits import Exit
from inspector.exceptions import NotACheckpointError
from inspector.findings.verdict import Level, Verdict
from inspector.render.report import Report
from tests.cli.support import checkpoint_of, run
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
def test_watch_rows_equal_timeline_and_audit(case: str) -> None:
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


def test_watch_reports_new_and_gone_findings(
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


def test_gone_finding_is_reported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_store_with_a_damaged_delta_is_not_counted_as_read(tmp_path: Path) -> None:
    query = Growing("healthy_kept_timeouts", tmp_path)
    for batch in range(4):
        query.run(batch)
    (query.root / "state/0/1/3.delta").write_bytes(b"nonsense")
    (report,) = watch(str(query.root), **NO_WAIT, until=3)
    (row,) = report.primary.rows
    assert (row["stores_read"], row["stores"], row["level"]) == (1, 2, "unreadable")
    assert 0 < row["rows"] < 33
    assert not report.complete


def test_changes_of_a_batch_with_a_snapshot_are_unknown() -> None:
    rows = rows_of(of("snapshots_cleaned"), last=100, until=13)
    # The oldest that both partitions can restore; one of them by a snapshot alone.
    assert [row["batch_id"] for row in rows] == [7, 8, 9, 10, 11, 12, 13]
    assert rows[0]["rows"] > 0
    assert [row["puts"] is None for row in rows] == [True, *[False] * 6]
    assert {row["level"] for row in rows} <= {"ok", "info"}


def test_checkpoint_without_a_committed_batch_has_no_report(tmp_path: Path) -> None:
    query = Growing("agg_append", tmp_path)
    query.plan(0)
    assert rows_of(query.root, duration="5ms") == []


def test_wait_option_waits_for_the_checkpoint(
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


def test_invalid_duration_is_a_value_error() -> None:
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
def test_interval_and_duration_are_checked(parsed: dict[str, Any], message: str | None) -> None:
    declared: Analysis = watch.analysis  # type: ignore[attr-defined]
    assert declared.check(parsed) == message
    assert str(declared.check({"interval": 1.0, "for": "soon"})).startswith("--for: ")


# --- command line --------------------------------------------------------------------------------


CASE = "trouble_kept_timeouts"


def test_watch_prints_a_line_for_each_batch() -> None:
    outcome = run("watch", checkpoint_of(CASE), "--last", "100", "--until", "13")
    assert (outcome.code, outcome.err) == (Exit.OK, "")
    head, *lines = outcome.out.splitlines()
    assert head.split()[:3] == ["BATCH", "TIME", "ROWS"]
    batches = [line.split() for line in lines if line.split()[0].isdecimal()]
    assert [int(cells[0]) for cells in batches] == list(range(14))
    assert (batches[-1][2], batches[-1][-1]) == ("113", "80")
    (finding,) = (line.split() for line in lines if not line.split()[0].isdecimal())
    assert finding[:3] == ["+", "SS203", "error"]
    assert lines.index(next(line for line in lines if "SS203" in line)) == 5


def test_ndjson_has_an_object_for_each_batch() -> None:
    outcome = run("watch", checkpoint_of(CASE), "--last", "3", "--until", "13", "-o", "ndjson")
    assert [row["batch_id"] for row in outcome.ndjson] == [11, 12, 13]
    assert outcome.ndjson[0]["findings_new"][0]["id"] == "SS203"
    assert outcome.ndjson[1]["findings_new"] == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--interval", "0"), "--interval has to be more than 0"),
        (("--for", "soon"), "--for: "),
        (("-o", "csv"), "csv"),
        (("--batch", "1"), "--batch"),
    ],
)
def test_invalid_watch_options_are_usage_errors(options: tuple[str, ...], message: str) -> None:
    outcome = run("watch", checkpoint_of(CASE), *options)
    assert outcome.code == Exit.USAGE
    assert message in outcome.err


def test_folder_without_a_checkpoint_is_exit_code_3(tmp_path: Path) -> None:
    assert run("watch", tmp_path).code == Exit.NOT_A_CHECKPOINT
    assert run("watch", tmp_path / "nothing").code == Exit.NOT_A_CHECKPOINT


def test_unreadable_delta_is_reported_once(tmp_path: Path) -> None:
    query = Growing(CASE, tmp_path)
    for batch in range(4):
        query.run(batch)
    (query.root / "state/0/1/2.delta").write_bytes(b"nonsense")
    outcome = run("watch", query.root, "--last", "3", "--until", "3")
    assert outcome.code == Exit.INCOMPLETE
    assert outcome.err.count("state/0/1/2.delta") == 1
    assert len([line for line in outcome.out.splitlines() if ">" in line]) == 3


def test_prometheus_file_has_the_metrics_of_the_newest_batch(tmp_path: Path) -> None:
    location = tmp_path / "metrics.prom"
    location.write_text("of yesterday")
    options = ("--last", "3", "--until", "13", "--prometheus", location)
    assert run("watch", checkpoint_of(CASE), *options).code == Exit.OK
    families = text_string_to_metric_families(location.read_text())
    values = {sample.name: sample.value for family in families for sample in family.samples}
    audit = api.audit(str(checkpoint_of(CASE)))
    assert values["spark_state_batch_id"] == 13
    assert values["spark_state_rows"] == audit.metrics["state.rows"] == 113
    assert values["spark_state_leftover_rows"] == audit.metrics["leftovers.rows"] == 80
    assert values["spark_state_level"] == 3
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.prom"]


def test_prometheus_file_is_rewritten_with_each_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, location = Growing(CASE, tmp_path), tmp_path / "metrics.prom"
    query.run(0)
    batches = iter(range(1, 5))
    result: list[float] = []

    def next_batch(_: float) -> None:
        families = text_string_to_metric_families(location.read_text())
        rows = (
            sample.value for f in families for sample in f.samples if f.name == "spark_state_rows"
        )
        result.extend(rows)
        query.run(next(batches))

    monkeypatch.setattr(following, "sleep", next_batch)
    assert run("watch", query.root, "--until", "4", "--prometheus", location).code == Exit.OK
    assert result == [9, 17, 25, 33]


def test_prometheus_file_inside_the_checkpoint_is_refused(tmp_path: Path) -> None:
    query = Growing(CASE, tmp_path)
    query.run(0)
    outcome = run("watch", query.root, "--until", "0", "--prometheus", query.root / "m.prom")
    assert outcome.code == Exit.USAGE
    assert "never written to" in outcome.err
    assert outcome.out == ""
    part = run("watch", query.root / "state/0/0", "--prometheus", query.root / "m.prom")
    assert (part.code, part.out) == (Exit.USAGE, "")
    assert not (query.root / "m.prom").exists()


class Live:
    """A query that grows while the command, a process of its own, follows it."""

    def __init__(self, folder: Path) -> None:
        self.query = Growing(CASE, folder)
        self.query.run(0)
        command = [sys.executable, "-m", "inspector", "watch", str(self.query.root)]
        self.process = subprocess.Popen(
            [*command, "--interval", "0.05", "-o", "ndjson"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": ""},
        )

    def line(self) -> dict[str, object]:
        """The next line; waits for it."""
        assert self.process.stdout is not None
        document: dict[str, object] = json.loads(self.process.stdout.readline())
        return document

    def end(self) -> tuple[int, str]:
        """The exit code and stderr."""
        _, result = self.process.communicate(timeout=300)
        return self.process.returncode, result


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    result = Live(tmp_path)
    yield result
    with result.process:
        result.process.kill()


def test_line_is_printed_before_the_next_batch(live: Live) -> None:
    assert live.line()["batch_id"] == 0
    for batch in (1, 2, 3):
        live.query.run(batch)
        assert live.line()["batch_id"] == batch
    live.process.send_signal(signal.SIGINT)
    code, result = live.end()
    assert (code, "Traceback" in result) == (Exit.INTERRUPTED, False)


def test_deleted_checkpoint_ends_the_watch(live: Live) -> None:
    assert live.line()["batch_id"] == 0
    shutil.rmtree(live.query.root)
    code, result = live.end()
    assert code == Exit.NOT_A_CHECKPOINT
    assert result.startswith("error: ")


def test_closed_pipe_ends_the_watch_without_an_error(live: Live) -> None:
    assert live.line()["batch_id"] == 0
    assert live.process.stdout is not None
    live.process.stdout.close()
    live.query.run(1)
    live.process.wait(20)
    assert live.process.stderr is not None
    assert live.process.stderr.read() == ""
    assert live.process.returncode == Exit.OK
