"""Leftovers and versions that each partition makes for itself, against those of the driver."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from inspector.analyses import data_tables
from inspector.analyses.expiry.leftover_tables import LeftoverRow, LeftoverWords
from inspector.analyses.shared.fact_tables import FactTable, FactTableTask, run_fact_table
from inspector.analyses.shared.judged import operator_names
from inspector.analyses.shared.run import Run
from inspector.discovery.tasks import Request
from inspector.exceptions import InspectorError
from inspector.facts.timed_out import BY_BOTH
from inspector.facts.versions import COUNTS
from inspector.merge.collect import Facts
from inspector.merge.resolution import Resolution
from inspector.model import Problem, ProblemMode, Redact, StoreId
from inspector.render.as_arrow import record_batch_of
from inspector.render.tabular import values
from tests import cases
from tests.cases import hdfs_cases
from tests.cli.support import checkpoint_of, copy_of

Row = dict[str, Any]
EVERY = [path / "checkpoint" for path in hdfs_cases()]
NOTHING = Resolution()
HOME = {"leftovers": "leftovers", "versions": "sharing"}
"""Table -> the analysis that declares it."""


def declared(name: str) -> FactTable:
    table = data_tables()[name]
    assert isinstance(table, FactTable)
    return table


LEFTOVERS, VERSIONS = declared("leftovers"), declared("versions")


def tasks_of(
    run: Run, table: str, resolution: Resolution = NOTHING, **options: Any
) -> list[FactTableTask]:
    names = operator_names(run.checkpoint)
    return [
        FactTableTask(HOME[table], table, task, names[task.operator_id], resolution, **options)
        for task in run.tasks(Request(leftover_limit=0))
    ]


def read(tasks: Iterable[FactTableTask]) -> list[Row]:
    return cases.run([task.to_json() for task in tasks], run_fact_table)


def in_order(rows: Iterable[Row]) -> list[str]:
    return sorted(map(repr, rows))


def leftovers_of(run: Run, facts: Facts) -> list[Row]:
    """By the driver, which has all facts at once."""
    rows = LeftoverWords.of(run.checkpoint, Redact.NONE).rows(facts.leftovers, LeftoverRow)
    schema = LEFTOVERS.batch_schema(ProblemMode.PERMISSIVE)
    return list(record_batch_of(schema, LeftoverRow.columns(), map(values, rows)).to_pylist())


def test_leftovers_by_partition_equal_those_of_all_partitions() -> None:
    result = 0
    for path in EVERY:
        run = Run.start(str(path), None)
        facts = run.facts(Request(leftover_limit=0))
        expected = leftovers_of(run, facts)
        names = operator_names(run.checkpoint)
        tasks = [
            FactTableTask("leftovers", "leftovers", task, names[task.operator_id], facts.resolution)
            for task in run.tasks(Request(leftover_limit=0))
        ]
        assert in_order(read(tasks)) == in_order(expected), path
        result += len(expected)
    assert result > 1000


def test_version_rows_have_facts_and_clocks() -> None:
    for case in ("fmgws_snapshots_cleaned", "join_left_outer"):
        run = Run.start(str(checkpoint_of(case)), None)
        facts = run.facts().versions
        rows = read(tasks_of(run, "versions"))
        assert len(rows) == len(facts)
        from_snapshot = watermarks = 0
        for row in rows:
            location = (row["operator_id"], row["store_name"], row["partition_id"])
            (item,) = (
                f for (s, v), f in facts.items() if v == row["version"] and location == key(s)
            )
            clock = run.checkpoint.clock(row["version"])
            assert ms_of(row["batch_timestamp"]) == (clock and clock.timestamp_ms)
            assert ms_of(row["watermark"]) == ((clock and clock.watermark_ms) or None)
            assert row["from_snapshot"] is bool(item.rebased)
            from_snapshot += row["from_snapshot"]
            watermarks += row["watermark"] is not None
            for name in ("rows", "key_bytes", "value_bytes", "delta_bytes", "raw_bytes"):
                assert row[name] == getattr(item, name)
            for name in ("puts", "shared_rows", "two_versions_bytes"):
                assert row[name] == (None if item.rebased else getattr(item, name))
        assert watermarks
        assert (from_snapshot > 0) is (case == "fmgws_snapshots_cleaned")


def ms_of(time: datetime | None) -> float | None:
    return None if time is None else time.timestamp() * 1000


def key(store: Any) -> tuple[int, str, int]:
    return store.operator_id, store.store_name, store.partition_id


def test_every_version_count_has_a_column() -> None:
    names = [column.name for column in VERSIONS.columns]
    assert set(COUNTS) - set(names) == {"stores", "rebased", "empty_deltas"}
    assert len(set(names)) == len(names)


def test_leftover_clock_is_resolved_over_all_partitions() -> None:
    run = Run.start(str(checkpoint_of("fmgws_event_ignore")), None)
    facts = run.facts(Request(leftover_limit=0))
    result = read(tasks_of(run, "leftovers", facts.resolution))
    unknown = read(tasks_of(run, "leftovers", NOTHING))
    assert {row["reason"] for row in result} == {None}
    assert {row["reason"] for row in unknown} == {BY_BOTH}
    keys = [(row["partition_id"], row["key_hex"]) for row in result]
    assert len(set(keys)) == len(keys) > 50
    assert {(row["partition_id"], row["key_hex"]) for row in unknown} <= set(keys)


def test_leftover_keys_are_redacted() -> None:
    run = Run.start(str(checkpoint_of("fmgws_event_ignore")), None)
    resolution = run.facts().resolution
    plain = read(tasks_of(run, "leftovers", resolution))
    hidden = read(tasks_of(run, "leftovers", resolution, redact=Redact.HASH))
    assert len(plain) == len(hidden) > 0
    assert {row["key_hex"] for row in hidden} == {None}
    assert not {row["key"] for row in hidden} & {row["key"] for row in plain}
    assert all(isinstance(json.loads(row["key"]), dict) for row in plain)


# --- what cannot be read ---------------------------------------------------------------------


@pytest.fixture
def spoilt(tmp_path: Path) -> Path:
    path = copy_of("fmgws_event_ignore", tmp_path)
    (path / "state/0/1/5.delta").write_bytes(b"junk")
    return path


@pytest.mark.parametrize("table", HOME)
def test_problem_modes_of_fact_tables(spoilt: Path, table: str) -> None:
    run = Run.start(str(spoilt), None)
    resolution = run.facts().resolution
    listed = (Problem("gap", "m", "p", store=StoreId(0, "s", 0)),)
    result = with_first(tasks_of(run, table, resolution), listed)
    rows = read(result)
    problems = [json.loads(row["problem"]) for row in rows if row["problem"] is not None]
    assert problems[0]["slug"] == "gap"
    assert str(spoilt / "state/0/1/5.delta") in {problem["path"] for problem in problems}
    dropped = read(replace(task, mode=ProblemMode.DROPMALFORMED) for task in result)
    good = [row for row in rows if row["problem"] is None]
    assert dropped == [{k: v for k, v in row.items() if k != "problem"} for row in good] != []
    strict = [replace(task, mode=ProblemMode.FAILFAST) for task in tasks_of(run, table, resolution)]
    with pytest.raises(InspectorError, match=r"5\.delta: byte 0: .*'permissive'"):
        read(strict)
    with pytest.raises(InspectorError, match=r"^p: m"):
        read(with_first(strict, listed))


def with_first(tasks: Sequence[FactTableTask], listed: tuple[Problem, ...]) -> list[FactTableTask]:
    return [replace(tasks[0], listed=listed), *tasks[1:]]


def test_fact_table_task_json_round_trip() -> None:
    run = Run.start(str(checkpoint_of("fmgws_event_ignore")), None)
    resolution = run.facts().resolution
    listed = (Problem("gap", "m", version=3),)
    for task in tasks_of(run, "leftovers", resolution, redact=Redact.HASH, listed=listed):
        for mode in ProblemMode:
            item = replace(task, mode=mode)
            assert FactTableTask.from_json(item.to_json()) == item
