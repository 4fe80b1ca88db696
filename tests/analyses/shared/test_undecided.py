"""Undecided keys: the bytes allow a leftover and a live key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from inspector import api
from inspector.analyses.expiry.leftover_tables import DECIDED_BY
from inspector.facts.timed_out import AMONG_DATA, HELD_BACK
from inspector.findings.finding import Severity
from inspector.merge.resolution import UNKNOWN_CLOCK
from inspector.model import Certainty, TimeoutKind
from inspector.render.report import Report
from tests import cases
from tests.cases import Batch, put
from tests.cli.support import run
from tests.encode import Record
from tests.queries import NO_TIMER
from tests.reports import finding_ids, findings_with_id, rows_of_table, table_names

SCALA, PANDAS = "flatMapGroupsWithState", "applyInPandasWithState"
A, B, C, D, E = (cases.user(name) for name in "abcde")
NEW, OLD = "optimizer.pruneFiltersCanPruneStreamingSubplan", "shuffle.partitions"
"""A conf that the log has since Spark 3.5, and one that every log has."""


def query(
    root: Path,
    batches: Sequence[Batch],
    *partitions: Mapping[int, Sequence[Record]],
    name: str = SCALA,
    above: str | None = None,
    conf: str = OLD,
) -> str:
    """Write a query with group state below another operator or a source."""
    partition_count = {"shuffle.partitions": str(len(partitions))}
    cases.write_logs(root, batches, {conf: "true"} | partition_count)
    cases.write_operator(root, 0, name, "default", partitions=len(partitions))
    for number, deltas in enumerate(partitions):
        cases.write_store(root / f"state/0/{number}", deltas)
        if above is not None:
            cases.write_store(root / f"state/1/{number}", dict.fromkeys(deltas, ()))
    cases.write_schema(root / "state/0/0", cases.USER, cases.GROUP_STATE)
    if above is not None:
        cases.write_operator(root, 1, above, "default", partitions=len(partitions))
        cases.write_schema(root / "state/1/0", cases.USER, cases.EXPIRES_AT)
    return str(root)


def leftovers(path: str, **options: Any) -> dict[str, tuple[str, str, int]]:
    """Return class, certainty and batch of each leftover by its key."""
    rows = api.leftovers(path, api.Options(**options)).primary.rows
    return {
        str(row["key"]["value"]): (row["class"], row["certainty"], row["expired_batch"])
        for row in rows
    }


def undecided(path: str, **options: Any) -> dict[str, tuple[str, str]]:
    """Return class and reason of each undecided key."""
    rows = rows_of_table(api.leftovers(path, api.Options(**options)), "undecided_keys")
    return {str(row["key"]["value"]): (row["class"], row["reason"]) for row in rows}


# --- below an operator that emits by the clock -----------------------------------------------

QUIET = [Batch(1000, 2000, 1), Batch(3000, 4000, 1), Batch(3500, 5000, 1)]
CLEARED = {1: [put(A, 1500), put(B, 1500)], 2: [put(A, NO_TIMER, 2), put(B, 3500)], 3: []}


def test_cleared_timer_below_an_outer_join_is_undecided(tmp_path: Path) -> None:
    """The join emits rows that it evicts. A call for these rows may have cleared the timer."""
    path = query(tmp_path, QUIET, CLEARED, above="symmetricHashJoin")
    assert leftovers(path) == {}
    assert undecided(path)["a"][0] == "kept_without_timeout"
    report = api.leftovers(path)
    assert report.primary.empty.startswith("none known, but ")
    assert "keys may be leftovers: see below" in report.primary.empty


@pytest.mark.parametrize("above", [None, "dedupe"])
def test_cleared_timer_below_a_source_is_proven(tmp_path: Path, above: str | None) -> None:
    path = query(tmp_path, QUIET, CLEARED, above=above)
    report = leftovers(path)
    assert report["a"] == ("kept_without_timeout", "proven", 1)
    assert report["b"] == ("rearmed", "proven", 1)


@pytest.mark.parametrize("above", ["stateStoreSave", "sessionWindowStateStoreSaveExec", PANDAS])
def test_cleared_timer_below_aggregation_session_or_timeout_is_undecided(
    tmp_path: Path, above: str
) -> None:
    path = query(tmp_path, QUIET, CLEARED, above=above)
    assert leftovers(path) == {}
    assert undecided(path)


def test_timers_after_the_key_order_descends_are_proven_below_a_join(tmp_path: Path) -> None:
    """A record after the point at which the key order descends is of a timer that fired."""
    deltas: dict[int, list[Record]] = {
        1: [put(B, 2500), put(C, 2500), put(D, 3500)],
        2: [put(C, 9000), put(B, NO_TIMER), put(D, NO_TIMER)],
        3: [],
    }
    path = query(tmp_path, QUIET, deltas, above="symmetricHashJoin")
    report = leftovers(path)
    assert report["b"] == ("kept_without_timeout", "proven", 1)
    assert report["d"] == ("kept_without_timeout", "proven", 1)
    assert "c" not in report


@pytest.mark.parametrize(
    ("name", "expected"), [(SCALA, {}), (PANDAS, {"a": ("ignored_timeout", HELD_BACK)})]
)
def test_kept_timer_below_a_lagging_watermark(
    tmp_path: Path, name: str, expected: dict[str, tuple[str, str]]
) -> None:
    deltas: dict[int, list[Record]] = {1: [put(A, 1600)], 2: [], 3: []}
    path = query(tmp_path, QUIET, deltas, name=name, above="symmetricHashJoin", conf=NEW)
    assert leftovers(path) == {}
    # A timer that is set before the time of its batch follows the watermark.
    assert undecided(path) == expected


# --- the clock -------------------------------------------------------------------------------

IDLE = [Batch(0, 1000 * n, n) for n in range(1, 5)]
STANDS: dict[int, Sequence[Record]] = {1: [put(A, 2500)], 2: [put(B, 9000)], 3: [], 4: []}


def test_kept_timer_of_pandas_with_an_idle_source_is_undecided(
    tmp_path: Path,
) -> None:
    path = query(tmp_path, IDLE, STANDS, name=PANDAS)
    assert leftovers(path) == {}
    assert undecided(path) == {"a": ("ignored_timeout", UNKNOWN_CLOCK)}
    assert undecided(path, timeout_kind=TimeoutKind.EVENT_TIME) == {}
    assert leftovers(path, timeout_kind=TimeoutKind.EVENT_TIME) == {}
    report = leftovers(path, timeout_kind=TimeoutKind.PROCESSING_TIME)
    assert report == {"a": ("ignored_timeout", "proven", 2)}
    assert undecided(path, timeout_kind=TimeoutKind.PROCESSING_TIME) == {}


def test_timer_before_batch_time_shows_event_time(
    tmp_path: Path,
) -> None:
    shows = {1: [], 2: [], 3: [], 4: [put(C, 3999)]}
    path = query(tmp_path, IDLE, STANDS, shows, name=PANDAS)
    assert leftovers(path) == {}
    assert undecided(path) == {}


def test_timers_change_their_clock_after_a_restart(tmp_path: Path) -> None:
    batches = [
        *(Batch(1900, 2000, 1), Batch(1910, 3000, 2), Batch(1920, 4000, 2)),  # processing time
        *(Batch(1930, 5000, 3), Batch(4500, 6000, 4)),  # event time
    ]
    deltas: dict[int, list[Record]] = {
        1: [put(A, 2500), put(B, 3500), put(C, 4800), put(D, 4400)],
        2: [put(A, NO_TIMER)],
        3: [put(B, NO_TIMER)],  # without data: behind the time, not the watermark
        4: [put(E, 4900)],  # before the time
        5: [put(cases.user("f"), 4600)],
    }
    path = query(tmp_path, batches, deltas, name=PANDAS)
    # At batch 2 by processing time; in batch 4 the watermark has passed D, and C waits for it,
    # though the processing time had passed both.
    report = leftovers(path)
    assert report["b"] == ("kept_without_timeout", "proven", 2)
    assert report["d"] == ("ignored_timeout", "proven", 4)
    assert set(report) == {"b", "d"}
    assert set(undecided(path)) <= {"a"}
    # Batches after the judged batch are ignored.
    assert leftovers(path, batch=2)["b"] == ("kept_without_timeout", "proven", 2)
    assert "d" not in leftovers(path, batch=3)


# --- how undecided keys are reported --------------------------------------------------------


def test_undecided_table_has_count_reason_and_advice(tmp_path: Path) -> None:
    path = query(tmp_path, IDLE, STANDS, name=PANDAS)
    report = api.leftovers(path)
    assert report.summary["leftovers"] == 0
    assert report.primary.empty == "none known, but 1 key may be a leftover: see below"
    (row,) = rows_of_table(report, "undecided")
    assert (row["operator_name"], row["class"], row["keys"]) == (PANDAS, "ignored_timeout", 1)
    assert row["row_bytes"] == len(A) + len(put(A, 1)[1] or b"")
    assert row["reason"] == UNKNOWN_CLOCK
    assert row["decided_by"] == DECIDED_BY[UNKNOWN_CLOCK]
    assert "--timeout-kind" in row["decided_by"]
    assert "--timeout-kind" in "\n".join(report.notes)


def test_no_undecided_tables_without_undecided_keys(tmp_path: Path) -> None:
    path = query(tmp_path, IDLE, STANDS, name=PANDAS)
    report = api.leftovers(path, api.Options(timeout_kind=TimeoutKind.EVENT_TIME))
    assert {"undecided", "undecided_keys"}.isdisjoint(table_names(report))
    assert "--timeout-kind" not in "\n".join(report.notes)
    assert report.primary.empty == "none: every expired key has been removed"


@pytest.mark.parametrize("reason", [UNKNOWN_CLOCK, HELD_BACK, AMONG_DATA])
def test_every_undecided_reason_has_advice(reason: str) -> None:
    assert DECIDED_BY[reason]


@pytest.mark.parametrize("command", [api.audit, api.leftovers])
def test_undecided_keys_are_an_info_finding(
    tmp_path: Path, command: Callable[[str], Report]
) -> None:
    report = command(query(tmp_path, IDLE, STANDS, name=PANDAS))
    (result,) = findings_with_id(report, "SS210")
    assert (result.severity, result.certainty) == (Severity.INFO, Certainty.UNDECIDED)
    assert result.rows == 1
    assert UNKNOWN_CLOCK in result.evidence
    assert {"SS202", "SS203"}.isdisjoint(finding_ids(report))


@pytest.mark.parametrize("command", ["audit", "leftovers"])
def test_command_shows_undecided_keys_with_exit_code_0(tmp_path: Path, command: str) -> None:
    path = query(tmp_path, IDLE, STANDS, name=PANDAS)
    outcome = run(command, path)
    assert outcome.code == 0
    assert "SS210" in outcome.out
    assert "undecided" in run(command, path, "--output", "json").out


def test_limit_cuts_the_list_of_undecided_keys(tmp_path: Path) -> None:
    timers = [put(A, 2500), put(B, 2500), put(C, 2500), put(D, 2500), put(E, 2500)]
    stands = {1: timers, 2: [], 3: [], 4: []}
    path = query(tmp_path, IDLE, stands, name=PANDAS)
    report = api.leftovers(path, limit=2)
    assert len(rows_of_table(report, "undecided_keys")) == 2
    (row,) = rows_of_table(report, "undecided")
    assert row["keys"] == 5
