"""``inspector diff``: its report from the API and its printed output."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from inspector import api
from inspector.analyses.diff import diff_report
from inspector.analyses.shared.judged import Subject
from inspector.discovery.checkpoint import open_checkpoint
from inspector.exceptions import CheckpointError
from inspector.render.renderers import render
from inspector.schemas import DIFF, batch_of
from tests.cases import micros, small_checkpoint
from tests.cli.support import OUTPUTS, checkpoint_of, copy_of, run, tree
from tests.reports import cell_values, rows_where

GROUPS = str(checkpoint_of("fmgws_event_ignore"))
JOIN = str(checkpoint_of("join_left_outer"))
SNAPSHOTS = str(checkpoint_of("snapshots_cleaned"))

DUMMY = b"\0" * 16


def batches() -> list[Any]:
    """Return two batches of counts, one with a removed row, one with two added, and a problem."""
    counts = [
        PARTITION | {"kind": "count", "change": "added", "rows": 2, "key_bytes": 32},
        PARTITION | {"kind": "count", "change": "removed", "rows": 1, "key_bytes": 16},
        PARTITION | {"kind": "count", "change": "changed", "rows": 0, "key_bytes": 0},
    ]
    added = PARTITION | {"kind": "row", "change": "added", "key": micros(1), "value": DUMMY}
    gone = PARTITION | {"kind": "row", "change": "removed", "key": micros(2), "old_value": DUMMY}
    problem = PARTITION | {"kind": "problem", "slug": "bad-frame", "message": "bad", "path": "x"}
    return [
        batch_of(DIFF, counts),
        batch_of(DIFF, [gone]),
        batch_of(DIFF, [added, added]),
        batch_of(DIFF, counts),
        batch_of(DIFF, [problem]),
    ]


def test_diff_report_has_rows_and_counts(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(str(small_checkpoint(tmp_path)))
    ends = (Subject(checkpoint, 3), Subject(checkpoint, 4))
    report = diff_report(*ends, batches(), raw=True)
    gone, added, _ = report.primary.rows
    assert gone["old_value_bytes"] == 16
    assert gone["value"] is gone["value_bytes"] is gone["value_hex"] is None
    assert added["key_hex"] == micros(1).hex()
    assert cell_values(report.tables[1].rows, "change", "rows", "key_bytes") == [
        ("added", 4, 64),
        ("changed", 0, 0),
        ("removed", 2, 32),
    ]
    assert not report.complete
    assert report.summary["from_version"] == 3
    assert report.summary["to_batch_id"] == 3


def test_limit_does_not_change_the_counts(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(str(small_checkpoint(tmp_path)))
    ends = (Subject(checkpoint, 3), Subject(checkpoint, 4))
    report = diff_report(*ends, batches(), limit=2)
    assert len(list(report.primary.rows)) == 2
    assert cell_values(report.tables[1].rows, "rows") == [4, 0, 2]
    assert not report.complete


def test_report_names_both_checkpoints(tmp_path: Path) -> None:
    old = open_checkpoint(str(small_checkpoint(tmp_path / "old")))
    new = open_checkpoint(str(small_checkpoint(tmp_path / "new")))
    report = diff_report(Subject(old, 4), Subject(new, 4), [], notes=["only here"])
    assert report.summary["from_checkpoint"] == str(tmp_path / "old")
    assert report.summary["to_checkpoint"] == str(tmp_path / "new")
    assert "only here" in "".join(render(report))


def test_report_names_a_single_checkpoint_once() -> None:
    report = api.diff(GROUPS)
    assert report.summary["checkpoint"] == GROUPS
    assert "from_checkpoint" not in report.summary
    assert GROUPS not in report.tables[0].title


@pytest.mark.parametrize(
    ("change", "event", "count"), [("added", "insert", 50), ("changed", "update", 10)]
)
def test_default_diff_is_the_last_batch(change: str, event: str, count: int) -> None:
    differing = rows_where(api.diff(SNAPSHOTS, raw=True).primary.rows, change=change)
    last_batch = api.changes(SNAPSHOTS, from_batch=13, raw=True).primary.rows
    expected = cell_values(rows_where(last_batch, event=event), "key_hex")
    assert sorted(cell_values(differing, "key_hex")) == sorted(expected)
    assert len(expected) == count


def test_missing_version_of_a_diff_is_an_error() -> None:
    with pytest.raises(CheckpointError, match="does not exist"):
        api.diff(GROUPS, from_version=99)


@pytest.mark.parametrize(
    ("ends", "versions"),
    [
        ({}, (12, 13)),
        ({"from_batch": 3}, (4, 13)),
        ({"from_version": 3, "to_batch": 5}, (3, 6)),
        ({"to_version": 1}, (0, 1)),
    ],
)
def test_diff_range_is_given_by_batches_or_versions(
    ends: dict[str, Any], versions: tuple[int, int]
) -> None:
    summary = api.diff(GROUPS, **ends).summary
    assert (summary["from_version"], summary["to_version"]) == versions


def test_diff_of_the_first_batch_is_with_the_empty_state() -> None:
    summary = api.diff(GROUPS, to_batch=0).summary
    assert (summary["from_version"], summary["to_version"]) == (0, 1)


def test_checkpoint_and_its_copy_do_not_differ(tmp_path: Path) -> None:
    copy = str(copy_of("fmgws_event_ignore", tmp_path))
    report = api.diff(GROUPS, copy)
    assert list(report.primary.rows) == []
    assert cell_values(report.tables[1].rows, "rows") == [0, 0, 0]
    older = api.diff(GROUPS, copy, from_batch=11)
    assert len(list(older.primary.rows)) == 15
    assert "(none)" in run("diff", CASE, copy).out


def test_note_names_stores_of_only_one_checkpoint() -> None:
    report = api.diff(GROUPS, JOIN)
    assert report.notes == [
        f"operator 0, store default is only in {GROUPS}: not compared",
        f"operator 0, store left-keyToNumValues is only in {JOIN}: not compared",
        f"operator 0, store left-keyWithIndexToValue is only in {JOIN}: not compared",
        f"operator 0, store right-keyToNumValues is only in {JOIN}: not compared",
        f"operator 0, store right-keyWithIndexToValue is only in {JOIN}: not compared",
    ]
    assert list(report.primary.rows) == []


def test_rows_of_missing_partitions_are_removed(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path / "old")
    small = small_checkpoint(tmp_path / "new")
    shutil.rmtree(small / "state/1/1")
    shutil.rmtree(small / "state/1/2")
    report = api.diff(str(root), str(small), api.Options(operator_id=1))
    changes = cell_values(report.primary.rows, "change", "partition_id")
    assert set(changes) == {("removed", 1), ("removed", 2)}


# --- command line --------------------------------------------------------------------------------


CASE = checkpoint_of("fmgws_event_ignore")


@pytest.mark.parametrize("output", OUTPUTS)
def test_every_format_shows_a_diff(output: str) -> None:
    before = tree(CASE)
    outcome = run("diff", CASE, "--from-batch", "2", "--to-version", "6", "-o", output, "--raw")
    assert outcome.code == 0
    assert outcome.out
    assert tree(CASE) == before


def test_diff_rows_have_the_old_and_new_value() -> None:
    json = run("diff", CASE, "-o", "json", "--limit", "2").json
    assert len(json["rows"]) == 2
    row = json["rows"][0]
    assert (row["change"], row["value"]["timeoutTimestamp"]) == ("changed", -1)
    assert row["old_value"]["timeoutTimestamp"] > 0
    counts = cell_values(json["tables"]["counts"], "change", "rows")
    assert counts == [("added", 0), ("changed", 15), ("removed", 0)]


def test_unreadable_delta_is_exit_code_4(tmp_path: Path) -> None:
    copy = copy_of("fmgws_event_ignore", tmp_path)
    (copy / "state/0/0/12.delta").write_bytes(b"broken")
    outcome = run("diff", copy, "-o", "ndjson")
    assert outcome.code == 4
    assert "12.delta" in outcome.err
    assert set(cell_values(outcome.ndjson, "partition_id")) == {1}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--from-batch", "1", "--from-version", "1"), "exclude each other"),
        (("--to-batch", "1", "--to-version", "1"), "exclude each other"),
        (("--to-batch", "99"), "does not exist"),
        (("--where", "x=1"), "no field 'x'"),
    ],
)
def test_invalid_diff_options_are_usage_errors(options: tuple[str, ...], words: str) -> None:
    outcome = run("diff", CASE, *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err


PARTITION = {"operator_id": 1, "store_name": "default", "partition_id": 0, "version": 4}
