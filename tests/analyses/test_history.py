"""``inspector history``: its report from the API and its printed output."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inspector import api
from inspector.analyses.history import history_report
from inspector.analyses.shared.judged import Subject
from inspector.analyses.shared.words import EventRow, change_rows
from inspector.discovery.checkpoint import Checkpoint
from inspector.exceptions import CheckpointError
from inspector.model import Redact
from inspector.schemas import CHANGES, batch_of
from tests.analyses.change_cases import change, checkpoint
from tests.attributes import attributes
from tests.cases import group_state
from tests.cli.support import OUTPUTS, checkpoint_of, run, tree
from tests.reports import cell_values, rows_where

GROUPS = str(checkpoint_of("fmgws_event_ignore"))
UNCOMMITTED = str(checkpoint_of("uncommitted"))


def wide_columns(report: api.Report) -> set[str]:
    """Return the names of the columns that only ``--wide`` shows."""
    return {column.name for column in report.primary.columns if column.wide}


def history(result: Checkpoint, *changes: dict[str, Any], raw: bool = False) -> list[EventRow]:
    """Return the rows of a history with these changes."""
    batches = [batch_of(CHANGES, [change]) for change in changes]
    return list(change_rows(Subject(result, 0), batches, Redact.NONE, raw=raw))


def test_history_is_sorted_and_has_the_batch_clocks(tmp_path: Path) -> None:
    result = checkpoint(tmp_path)
    rows = history(
        result,
        change(3, "removal", old_value_bytes=48),
        change(2, "in_snapshot", group_state(1, 5000)),
        change(2, "put", group_state(1, -1), partition_id=1),
    )
    report = history_report(Subject(result, 3), rows)
    clocks = ("timeout_ms", "watermark_ms", "batch_timestamp_ms", "committed")
    assert cell_values(report.primary.rows, "version", "event", *clocks) == [
        (2, "put", None, 2000, 3000, True),
        (2, "in_snapshot", 5000, 2000, 3000, True),
        (3, "removal", None, 2000, 4000, False),
    ]
    removal = list(report.primary.rows)[2]
    assert removal["value"] is removal["value_bytes"] is None
    assert report.summary["partitions"] == [0, 1]
    assert report.summary["keys"] == 1
    assert report.summary["oldest_version"] == 1
    assert "lies in the partitions 0, 1" in report.notes[0]
    assert "partition_id" not in wide_columns(report)


def test_limit_shows_the_newest_changes(tmp_path: Path) -> None:
    result = checkpoint(tmp_path)
    old, new = change(1, "update", group_state(1, -1)), change(2, "update", group_state(2, -1))
    rows = history(result, old, new, raw=True)
    report = history_report(Subject(result, 2), rows, limit=1, raw=True)
    assert cell_values(report.primary.rows, "version") == [2]
    assert report.primary.title == "changes of the key, oldest first, the newest 1 of 2"
    assert {"key", "partition_id", "timeout_ms"} <= wide_columns(report)
    assert cell_values(map(vars, report.primary.columns[-2:]), "name") == ["key_hex", "value_hex"]


def test_empty_history_has_no_rows_or_notes(tmp_path: Path) -> None:
    report = history_report(Subject(checkpoint(tmp_path), 2), [])
    assert list(report.primary.rows) == []
    assert report.summary["partitions"] == []
    assert report.notes == []


def test_operator_without_timers_has_no_timeouts(tmp_path: Path) -> None:
    result = checkpoint(tmp_path)
    (operator,) = result.operators
    rules = {"default": replace(operator.rules["default"], expiry=None)}
    result = replace(result, operators=(replace(operator, rules=rules),))
    rows = history(result, change(1, "insert", group_state(1, 5000)))
    (row,) = history_report(Subject(result, 2), rows).primary.rows
    assert row["timeout_ms"] is None


def test_history_covers_all_versions() -> None:
    report = api.history(GROUPS, api.Options(where=("value=lapsed-004",)))
    names = ("batch_id", "event", "timeout_ms", "old_value_bytes", "value_bytes", "record")
    assert cell_values(report.primary.rows, *names) == [
        (0, "insert", 1_704_067_220_400, None, 80, 7),
        (4, "update", None, 80, 80, 3),
    ]
    assert not {"key_hex", "value_hex"} & set(attributes(report.primary.columns, "name"))
    assert list(report.primary.rows)[1]["file"] == f"{GROUPS}/state/0/0/5.delta"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (api.Options(), "--key"),
        (api.Options(key="hex:lapsed"), "the bytes of the key row in hex"),
        (api.Options(where=("user=a",)), "no field 'user'"),
        (api.Options(where=("value",)), "NAME=VALUE"),
        (api.Options(key="value=a", batch=99), "does not exist"),
    ],
)
def test_invalid_history_options_are_errors(options: api.Options, words: str) -> None:
    with pytest.raises(CheckpointError, match=words):
        api.history(GROUPS, options)


def test_uncommitted_option_adds_the_uncommitted_version() -> None:
    options = api.Options(key="{}")
    committed = list(api.history(UNCOMMITTED, options).primary.rows)
    every = list(api.history(UNCOMMITTED, options, uncommitted=True).primary.rows)
    assert every[: len(committed)] == committed
    assert set(cell_values(committed, "version")) == {1, 2, 3, 4}
    assert set(cell_values(every[len(committed) :], "version", "committed")) == {(5, False)}


def test_snapshot_history_lists_removals_last() -> None:
    path = str(checkpoint_of("rocksdb_agg_update_zips_one"))
    report = api.history(path, api.Options(where=("user!=nobody",)))
    rows = rows_where(report.primary.rows, version=5)
    removals = rows_where(rows, event="removal")
    assert rows[-len(removals) :] == removals
    assert set(cell_values(rows, "event")) == {"insert", "update", "removal"}
    assert set(cell_values(removals, "record")) == {None}
    records = cell_values(rows[: -len(removals)], "record")
    assert records == sorted(records)


# --- command line --------------------------------------------------------------------------------


CASE = checkpoint_of("fmgws_event_ignore")
KEY = '{"value": "lapsed-004"}'


def test_table_shows_the_history_of_a_key() -> None:
    outcome = run("history", CASE, "--key", KEY, "--wide")
    assert outcome.code == 0
    assert re.search(r"^ +1 +0 +yes .* insert ", outcome.out, re.M)
    assert re.search(r"^ +5 +4 +yes .* update ", outcome.out, re.M)
    assert "2024-01-01T00:00:20.400Z" in outcome.out


@pytest.mark.parametrize("output", OUTPUTS)
def test_every_format_shows_a_history(output: str) -> None:
    before = tree(CASE)
    outcome = run("history", CASE, "--where", "value=lapsed-004", "-o", output, "--raw")
    assert outcome.code == 0
    assert outcome.out
    assert tree(CASE) == before


def test_redacted_history_finds_the_key() -> None:
    rows = run("history", CASE, "--key", KEY, "-o", "json", "--redact", "all", "--raw").rows
    assert cell_values(rows, "key", "key_hex") == [("***", None), ("***", None)]


def test_invalid_history_option_is_exit_code_2() -> None:
    outcome = run("history", CASE)
    assert (outcome.code, outcome.out) == (2, "")
    assert "use --key" in outcome.err
