"""A reader so slow that the query commits batches, and removes old ones, between its requests.

Nothing is damaged: no command may say so, or end as if it were. Each request moves the query on by
a share of a batch, so that every run is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from inspector.analyses import watch as following
from inspector.analyses.shared.opening import OUTPACED
from inspector.checkpoint.storage import Storage
from inspector.model import NO_FAULT
from tests.cli.support import run
from tests.faults import before_each_read
from tests.growing import Endless
from tests.profiles import crossed
from tests.reports import cell_values

CASES: dict[str, Callable[[Path], Endless]] = {
    "deltas": lambda root: Endless("snapshots_cleaned", 12, root),
    "changelogs": lambda root: Endless("rocksdb_agg_update_snapshots", 3, root),
    "unique ids": lambda root: Endless("rocksdb_agg_update_snapshots_format2", 3, root),
    "zips": lambda root: Endless("rocksdb_agg_update_zips_one", 8, root, deltas=False),
    "transformWithState": lambda root: Endless(
        "rocksdb_tws_processing_snapshots", 1, root, deltas=False
    ),
}
REPORTS = (
    *("audit", "verify", "info", "files", "sizes", "sharing", "memory", "leftovers"),
    *("timeline", "top", "rows", "diff"),
)
SLOW = Fraction(1, 80)
"""Batches that pass with each request: most commands meet a few."""
TOO_SLOW = Fraction(3, 1)
"""More than are retained: what was listed is gone before the first file is read."""


def slowed(query: Endless, batches: Fraction) -> Callable[[Storage, str], None]:
    """What moves a query on before each read."""
    passed = Fraction(0)

    def act(_storage: Storage, _path: str) -> None:
        nonlocal passed
        passed += batches
        while passed >= 1:
            passed -= 1
            query.go_on()

    return act


def begun(case: str, folder: Path) -> Endless:
    query = CASES[case](folder / "checkpoint")
    for _ in range(6):
        query.go_on()
    return query


def faults(report: dict[str, Any]) -> list[Any]:
    """What a report says of files that is not so."""
    problems = [row for row in report["problems"] if row["problem"] not in (*NO_FAULT, "outpaced")]
    findings = report.get("findings", ())
    # SS120 of information: the state schemas of a copied fixture are where its query ran.
    moved = [f for f in findings if f["id"] == "SS120" and f["severity"] == "info"]
    damage = [f for f in findings if f["id"] < "SS2" and f["id"] != "SS108" and f not in moved]
    return problems + damage


@pytest.mark.parametrize(
    ("case", "command", "batches"), crossed(tuple(CASES), REPORTS, (SLOW, TOO_SLOW))
)
def test_running_query_is_not_reported_as_damage(
    case: str, command: str, batches: Fraction, tmp_path: Path
) -> None:
    query = begun(case, tmp_path)
    quiet = run(command, query.root, "-o", "json")
    with before_each_read(slowed(query, batches)):
        outcome = run(command, query.root, "-o", "json")
    if outcome.code == 4:
        assert batches is TOO_SLOW
        assert OUTPACED in outcome.out + outcome.err
    else:
        assert outcome.code == quiet.code
    if outcome.out:
        assert faults(outcome.json) == []


@pytest.mark.parametrize(
    ("case", "subject", "form"), crossed(tuple(CASES), ("rows", "changes"), ("parquet", "csv"))
)
@pytest.mark.parametrize("batches", [SLOW, TOO_SLOW])
def test_export_of_running_query_is_one_batch_or_absent(
    case: str, subject: str, form: str, batches: Fraction, tmp_path: Path
) -> None:
    query = begun(case, tmp_path)
    with before_each_read(slowed(query, batches)):
        outcome = run("export", subject, query.root, "-O", f"{tmp_path}/out/", "--format", form)
    assert "problem: " not in outcome.err
    # The changes of each of its stores are read from all the files that they share.
    too_slow = batches is TOO_SLOW or (case, subject) == ("transformWithState", "changes")
    assert outcome.code == 0 or (outcome.code == 4 and too_slow)
    assert (tmp_path / "out").exists() == (outcome.code == 0)
    assert (OUTPACED in outcome.err) == (outcome.code == 4)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("command", ["rows", "audit"])
def test_named_batch_that_was_purged_is_error(case: str, command: str, tmp_path: Path) -> None:
    query = begun(case, tmp_path)
    with before_each_read(slowed(query, TOO_SLOW)):
        outcome = run(command, query.root, "--batch", str(query.batch), "-o", "json")
    assert outcome.code == 4
    assert "is no longer there: the query removed its files" in outcome.out + outcome.err


@pytest.mark.parametrize("case", CASES)
def test_watch_skips_purged_batches(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = begun(case, tmp_path)
    monkeypatch.setattr(following, "sleep", lambda _seconds: query.go_on())
    last = query.batch + 12
    # A look at transformWithState reads all files of many stores; it has to keep up here.
    with before_each_read(slowed(query, SLOW / 8 if case == "transformWithState" else SLOW)):
        outcome = run(
            "watch", query.root, "--interval", "0.001", "--until", str(last), "-o", "ndjson"
        )
    assert (outcome.code, "problem: " in outcome.err) == (0, False)
    result = cell_values(outcome.ndjson, "batch_id")
    assert result == sorted(set(result))
    assert result[-1] >= last
    assert set(cell_values(outcome.ndjson, "level")) <= {"ok", "info", "warning"}


@pytest.mark.parametrize("case", CASES)
def test_watch_reports_falling_behind(case: str, tmp_path: Path) -> None:
    query = begun(case, tmp_path)
    with before_each_read(slowed(query, TOO_SLOW)):
        outcome = run("watch", query.root, "--interval", "0.001", "-o", "ndjson")
    assert (outcome.code, outcome.ndjson) == (4, [])
    assert OUTPACED in outcome.err
    assert "problem: " not in outcome.err


@pytest.mark.parametrize("case", ["deltas", "changelogs", "unique ids", "zips"])
def test_history_of_running_query_is_one_batch_or_absent(case: str, tmp_path: Path) -> None:
    query = begun(case, tmp_path)
    key = run("rows", query.root, "-o", "json", "--raw", "--limit", "1").json["rows"][0]
    words = ("history", query.root, "--key", f"hex:{key['key_hex']}", "-o", "json")
    with before_each_read(slowed(query, SLOW)):
        outcome = run(*words)
    assert (outcome.code, faults(outcome.json)) == (0, [])
    assert outcome.rows
    with before_each_read(slowed(query, TOO_SLOW)):
        outcome = run(*words)
    assert outcome.code == 4
    assert OUTPACED in outcome.out + outcome.err
