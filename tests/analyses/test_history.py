"""``inspector history``: its report through the API, and what the command line prints."""

from __future__ import annotations

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
from tests.cases import group_state
from tests.cli.support import OUTPUTS, checkpoint_of, run, tree

GROUPS = str(checkpoint_of("fmgws_event_ignore"))
UNCOMMITTED = str(checkpoint_of("uncommitted"))


def rows_of(result: Checkpoint, *rows: dict[str, Any], raw: bool = False) -> list[EventRow]:
    batches = [batch_of(CHANGES, [row]) for row in rows]
    return list(change_rows(Subject(result, 0), batches, Redact.NONE, raw=raw))


def wide_of(report: api.Report) -> set[str]:
    return {column.name for column in report.primary.columns if column.wide}


def test_history_is_sorted_and_has_the_batch_clocks(tmp_path: Path) -> None:
    result = checkpoint(tmp_path)
    rows = rows_of(
        result,
        change(3, "removal", old_value_bytes=48),
        change(2, "in_snapshot", group_state(1, 5000)),
        change(2, "put", group_state(1, -1), partition_id=1),
    )
    report = history_report(Subject(result, 3), rows)
    actual = list(report.primary.rows)
    assert [(row["version"], row["event"]) for row in actual] == [
        (2, "put"),
        (2, "in_snapshot"),
        (3, "removal"),
    ]
    assert [row["timeout_ms"] for row in actual] == [None, 5000, None]
    assert [row["watermark_ms"] for row in actual] == [2000] * 3
    assert [row["batch_timestamp_ms"] for row in actual] == [3000, 3000, 4000]
    assert [row["committed"] for row in actual] == [True, True, False]
    assert actual[2]["value"] is None
    assert actual[2]["value_bytes"] is None
    assert report.summary["partitions"] == [0, 1]
    assert report.summary["keys"] == 1
    assert report.summary["oldest_version"] == 1
    assert "lies in the partitions 0, 1" in report.notes[0]
    assert "partition_id" not in wide_of(report)


def test_limit_shows_the_newest_changes(tmp_path: Path) -> None:
    result = checkpoint(tmp_path)
    rows = rows_of(result, *(change(v, "update", group_state(v, -1)) for v in (1, 2)), raw=True)
    report = history_report(Subject(result, 2), rows, limit=1, raw=True)
    assert [row["version"] for row in report.primary.rows] == [2]
    assert report.primary.title == "changes of the key, oldest first, the newest 1 of 2"
    assert {"key", "partition_id", "timeout_ms"} <= wide_of(report)
    assert [column.name for column in report.primary.columns][-2:] == ["key_hex", "value_hex"]


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
    rows = rows_of(result, change(1, "insert", group_state(1, 5000)))
    (row,) = history_report(Subject(result, 2), rows).primary.rows
    assert row["timeout_ms"] is None


def test_history_covers_all_versions() -> None:
    report = api.history(GROUPS, api.Options(where=("value=lapsed-004",)))
    assert [(row["batch_id"], row["event"]) for row in report.primary.rows] == [
        (0, "insert"),
        (4, "update"),
    ]
    with pytest.raises(CheckpointError, match="--key"):
        api.history(GROUPS)
    with pytest.raises(CheckpointError, match="no field"):
        api.history(GROUPS, api.Options(where=("user=a",)))


def test_uncommitted_option_adds_the_uncommitted_version() -> None:
    options = api.Options(key="{}")
    committed = api.history(UNCOMMITTED, options).primary.rows
    every = list(api.history(UNCOMMITTED, options, uncommitted=True).primary.rows)
    newest = [row for row in every if row["version"] == 5]
    assert newest
    assert not any(row["committed"] for row in newest)
    assert [row for row in every if row["version"] < 5] == list(committed)


def test_snapshot_history_lists_removals_last() -> None:
    path = str(checkpoint_of("rocksdb_agg_update_zips_one"))
    report = api.history(path, api.Options(where=("user!=nobody",)))
    rows = [row for row in report.primary.rows if row["version"] == 5]
    events = [row["event"] for row in rows]
    assert set(events) == {"insert", "update", "removal"}
    assert events.index("removal") == len(events) - events.count("removal")
    records = [row["record"] for row in rows if row["event"] != "removal"]
    assert records == sorted(records)
    assert {row["record"] for row in rows if row["event"] == "removal"} == {None}


# --- command line --------------------------------------------------------------------------------


CASE = checkpoint_of("fmgws_event_ignore")
KEY = '{"value": "lapsed-004"}'


def test_table_shows_the_history_of_a_key() -> None:
    outcome = run("history", CASE, "--key", KEY)
    assert outcome.code == 0
    lines = [line.split() for line in outcome.out.splitlines()]
    head = next(line for line in lines if line[:2] == ["VERSION", "BATCH_ID"])
    event = head.index("EVENT")
    told_of = [(line[0], line[1], line[event]) for line in lines if len(line) >= len(head)]
    assert {("1", "0", "insert"), ("5", "4", "update")} <= set(told_of)
    assert "2024-01-01T00:00:20.400Z" in outcome.out


@pytest.mark.parametrize("output", OUTPUTS)
def test_every_format_shows_a_history(output: str) -> None:
    before = tree(CASE)
    outcome = run("history", CASE, "--where", "value=lapsed-004", "-o", output, "--raw")
    assert outcome.code == 0
    assert outcome.out
    assert tree(CASE) == before


def test_ndjson_history_has_timeouts_sizes_and_file() -> None:
    first, second = run("history", CASE, "--key", KEY, "-o", "ndjson").ndjson
    assert first["timeout"] == "2024-01-01T00:00:20.400Z"
    assert second["timeout"] is None
    assert second["old_value_bytes"] == second["value_bytes"] == 80
    assert second["file"].endswith("state/0/0/5.delta")
    assert second["watermark_ms"] < second["batch_timestamp_ms"]


def test_redacted_history_finds_the_key() -> None:
    rows = run("history", CASE, "--key", KEY, "-o", "json", "--redact", "all", "--raw").rows
    assert [(row["key"], row["key_hex"]) for row in rows] == [("***", None)] * 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "use --key"),
        (("--key", "hex:lapsed"), "the bytes of the key row in hex"),
        (("--where", "user=a"), "no field 'user'"),
        (("--where", "value"), "NAME=VALUE"),
        (("--key", KEY, "--batch", "99"), "does not exist"),
    ],
)
def test_invalid_history_options_are_usage_errors(options: tuple[str, ...], words: str) -> None:
    outcome = run("history", CASE, *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err
