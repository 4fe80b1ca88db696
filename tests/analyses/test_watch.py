"""``inspector watch``: its report from the API and its printed output."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
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
from inspector.findings.verdict import Verdict
from tests.attributes import attributes
from tests.cli.support import checkpoint_of, run
from tests.growing import Growing
from tests.reports import cell_values, finding_ids, rows_of_table

NO_WAIT: dict[str, Any] = {"interval": 0.001}


def without_columns(verdict: Verdict | None) -> Verdict | None:
    """Return a verdict without columns of new keys, which a watch does not compare."""
    if verdict is None or verdict.growth is None:
        return verdict
    return replace(verdict, growth=replace(verdict.growth, new_columns=()))


def watch_rows(path: str | Path, **options: Any) -> list[dict[str, Any]]:
    """Return the row of each report of a watch that does not wait between batches."""
    reports = watch(str(path), **NO_WAIT, **options)
    return [dict(row) for report in reports for row in report.primary.rows]


@pytest.mark.parametrize(
    ("case", "newest", "row", "leftovers"),
    [
        ("trouble_rearmed_timeouts", 13, (13, 113, 10_864, 41, 33, 0, 1187), 80),
        ("join_left_outer", 9, (9, 132, 7144, 24, 24, 50, 1428), 0),
        ("agg_complete", 7, (7, 401, 35_288, 62, 12, 0, 1272), 201),
    ],
)
def test_watch_rows_equal_timeline_and_audit(
    case: str, newest: int, row: tuple[int, ...], leftovers: int
) -> None:
    path = str(checkpoint_of(case))
    reports = list(watch(path, **NO_WAIT, until=newest, last=newest + 1))
    assert cell_values(attributes(reports, "summary"), "batch_id") == list(range(newest + 1))
    assert cell_values(reports[-1].primary.rows, *WATCHED) == [row]
    assert cell_values(reports[-1].primary.rows, "leftovers") == [leftovers]
    totals = rows_of_table(api.timeline(path), "totals")
    assert cell_values(watch_rows(path, until=newest, last=newest + 1), "rows") == cell_values(
        totals, "rows"
    )
    audit = api.audit(path, api.Options(batch=4))
    assert list(reports[4].findings) == list(audit.findings)
    assert reports[4].verdict == without_columns(audit.verdict)
    audit = api.audit(path)
    assert list(reports[-1].findings) == list(audit.findings)
    assert reports[-1].verdict == without_columns(audit.verdict)


def findings_of(rows: list[dict[str, Any]]) -> list[tuple[int, list[str], list[str]]]:
    """Return batch id, ids of new findings and ids of gone findings of rows that have any."""
    return [
        (
            row["batch_id"],
            cell_values(row["findings_new"], "id"),
            cell_values(row["findings_gone"], "id"),
        )
        for row in rows
        if row["findings_new"] or row["findings_gone"]
    ]


def test_watch_reports_new_and_gone_findings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SS211 is reported as new again in batch 10, in which it becomes an error."""
    query = Growing("trouble_future_watermark", tmp_path)
    query.run(0)
    batches = iter(range(1, 14))
    monkeypatch.setattr(following, "sleep", lambda _: query.run(next(batches)))
    rows = watch_rows(query.root, until=13)
    assert cell_values(rows, "batch_id") == list(range(14))
    assert findings_of(rows) == [
        (6, ["SS211", "SS218", "SS226"], []),
        (7, [], ["SS218", "SS226"]),
        (10, ["SS211"], []),
    ]
    path = str(checkpoint_of("trouble_future_watermark"))
    assert finding_ids(api.audit(path, api.Options(batch=6))) == ["SS211", "SS218", "SS226"]
    assert finding_ids(api.audit(path, api.Options(batch=7))) == ["SS211"]
    assert finding_ids(api.audit(path)) == ["SS211"]


def test_gone_finding_is_reported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After batch 5 the query continues on a checkpoint without leftovers."""
    query = Growing("trouble_kept_timeouts", tmp_path)
    query.run(*range(6))
    healthy = Growing("healthy_kept_timeouts", tmp_path / "healthy")
    (healthy.root / "metadata").write_text('{"id":"22963bf4-bb40-4fc3-855e-7fd5ef06d3d7"}')
    watched = watch(str(query.root), **NO_WAIT)
    reports = [next(watched)]
    query.root.rename(tmp_path / "before")
    healthy.root.rename(query.root)
    healthy.root = query.root
    steps = iter(range(6))
    monkeypatch.setattr(following, "sleep", lambda _: healthy.run(next(steps)))
    reports += islice(watched, 6)
    rows = [dict(next(iter(report.primary.rows))) for report in reports]
    assert cell_values(rows, "batch_id") == [5, 0, 1, 2, 3, 4, 5]
    assert findings_of(rows) == [(5, ["SS203"], []), (0, [], ["SS203"])]
    assert cell_values(rows, "level")[0] == "error"
    assert cell_values(rows, "level")[-1] == "ok"


def test_store_with_a_damaged_delta_is_not_counted_as_read(tmp_path: Path) -> None:
    query = Growing("healthy_kept_timeouts", tmp_path)
    query.run(0, 1, 2, 3)
    (query.root / "state/0/1/3.delta").write_bytes(b"nonsense")
    (report,) = watch(str(query.root), **NO_WAIT, until=3)
    (row,) = report.primary.rows
    assert (row["stores_read"], row["stores"], row["level"]) == (1, 2, "unreadable")
    assert 0 < row["rows"] < 33
    assert not report.complete


def test_changes_of_a_batch_with_a_snapshot_are_unknown() -> None:
    """Batch 7 is the oldest that both partitions can restore, one of them by a snapshot alone."""
    rows = watch_rows(checkpoint_of("snapshots_cleaned"), last=100, until=13)
    assert cell_values(rows, "batch_id", "rows", "puts") == [
        (7, 150, None),
        (8, 200, 60),
        (9, 100, 0),
        (10, 150, 60),
        (11, 200, 60),
        (12, 150, 60),
        (13, 200, 60),
    ]
    assert cell_values(rows, "level") == ["ok"] * 7


def test_checkpoint_without_a_committed_batch_has_no_report(tmp_path: Path) -> None:
    query = Growing("agg_append", tmp_path)
    query.plan(0)
    assert watch_rows(query.root, duration="5ms") == []


def test_wait_option_waits_for_the_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, existed = tmp_path / "checkpoint", []

    def create_at_the_second_wait(_: float) -> None:
        existed.append(path.exists())
        if len(existed) == 2:
            Growing("agg_append", tmp_path).run(0)

    monkeypatch.setattr(following, "sleep", create_at_the_second_wait)
    assert cell_values(watch_rows(path, wait=True, until=0), "batch_id") == [0]
    assert existed == [False, False]
    assert watch_rows(tmp_path / "none", wait=True, duration="5ms") == []
    with pytest.raises(NotACheckpointError):
        watch_rows(tmp_path / "none")


def test_invalid_duration_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="expected"):
        list(watch(str(checkpoint_of("agg_update")), duration="soon"))


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
    assert [line.split()[0] for line in lines] == [
        *("0", "1", "2", "3", "4", "+", "5", "6", "7", "8", "9", "10", "11", "12", "13")
    ]
    assert lines[5].split()[:3] == ["+", "SS203", "error"]
    assert (lines[-1].split()[2], lines[-1].split()[-1]) == ("113", "80")


def test_ndjson_has_an_object_for_each_batch() -> None:
    outcome = run("watch", checkpoint_of(CASE), "--last", "3", "--until", "13", "-o", "ndjson")
    assert cell_values(outcome.ndjson, "batch_id") == [11, 12, 13]
    assert findings_of(outcome.ndjson) == [(11, ["SS203"], [])]


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
    query.run(0, 1, 2, 3)
    (query.root / "state/0/1/2.delta").write_bytes(b"nonsense")
    outcome = run("watch", query.root, "--last", "3", "--until", "3")
    assert outcome.code == Exit.INCOMPLETE
    assert outcome.err.count("state/0/1/2.delta") == 1
    assert len(re.findall("^.*>.*$", outcome.out, re.MULTILINE)) == 3


def samples(file: Path) -> dict[str, float]:
    """Return the value of each metric in a file for Prometheus."""
    families = text_string_to_metric_families(file.read_text())
    return dict(attributes(chain.from_iterable(attributes(families, "samples")), "name", "value"))


def test_prometheus_file_has_the_metrics_of_the_newest_batch(tmp_path: Path) -> None:
    location = tmp_path / "metrics.prom"
    location.write_text("of yesterday")
    options = ("--last", "3", "--until", "13", "--prometheus", location)
    assert run("watch", checkpoint_of(CASE), *options).code == Exit.OK
    expected = {
        "spark_state_batch_id": 13,
        "spark_state_rows": 113,
        "spark_state_leftover_rows": 80,
        "spark_state_level": 3,
    }
    assert samples(location).items() >= expected.items()
    audit = api.audit(str(checkpoint_of(CASE))).metrics
    assert (audit["state.rows"], audit["leftovers.rows"]) == (113, 80)
    assert list(tmp_path.iterdir()) == [location]


def test_prometheus_file_is_rewritten_with_each_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, location = Growing(CASE, tmp_path), tmp_path / "metrics.prom"
    query.run(0)
    batches = iter(range(1, 5))
    rows: list[float] = []

    def record_and_run(_: float) -> None:
        rows.append(samples(location)["spark_state_rows"])
        query.run(next(batches))

    monkeypatch.setattr(following, "sleep", record_and_run)
    assert run("watch", query.root, "--until", "4", "--prometheus", location).code == Exit.OK
    assert rows == [9, 17, 25, 33]


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
    """A query that runs batches while ``inspector watch`` follows it in another process."""

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
        """Wait for the next line and return it."""
        assert self.process.stdout is not None
        document: dict[str, object] = json.loads(self.process.stdout.readline())
        return document

    def end(self) -> tuple[int, str]:
        """Return the exit code and stderr."""
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


WATCHED = ("batch_id", "rows", "row_bytes", "puts", "updates", "removals", "delta_bytes")
