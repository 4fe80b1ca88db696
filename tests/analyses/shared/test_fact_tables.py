"""Tables of leftovers and versions, made by partition and compared with those of the driver."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from operator import itemgetter
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
from tests.attributes import attributes
from tests.cases import hdfs_cases
from tests.cli.support import checkpoint_of, copy_of
from tests.reports import cell_values, rows_where

Row = dict[str, Any]
NOTHING = Resolution()
HOME = {"leftovers": "leftovers", "versions": "sharing"}
"""The analysis that declares each table."""


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


def sorted_texts(rows: Iterable[Row]) -> list[str]:
    return sorted(map(repr, rows))


def leftovers_of(run: Run, facts: Facts) -> list[Row]:
    """Return the rows of leftovers that the driver makes from the facts of all partitions."""
    rows = LeftoverWords.of(run.checkpoint, Redact.NONE).rows(facts.leftovers, LeftoverRow)
    schema = LEFTOVERS.batch_schema(ProblemMode.PERMISSIVE)
    return list(record_batch_of(schema, LeftoverRow.columns(), map(values, rows)).to_pylist())


@pytest.mark.parametrize(("release", "leftovers"), [("3.5.9", 264), ("4.3.0", 1027)])
def test_leftovers_by_partition_equal_those_of_all_partitions(release: str, leftovers: int) -> None:
    result = 0
    for path in hdfs_cases(release):
        run = Run.start(str(path / "checkpoint"), None)
        facts = run.facts(Request(leftover_limit=0))
        expected = sorted_texts(leftovers_of(run, facts))
        assert sorted_texts(read(tasks_of(run, "leftovers", facts.resolution))) == expected, path
        result += len(expected)
    assert result == leftovers


def test_version_rows_have_facts_and_clocks() -> None:
    """Versions 8 and 9 have no entry in the offset log; version 8 is read from a snapshot."""
    run = Run.start(str(checkpoint_of("fmgws_snapshots_cleaned")), None)
    rows = read(tasks_of(run, "versions"))
    assert len(rows) == 14
    partition = sorted(rows_where(rows, partition_id=0), key=itemgetter("version"))
    counts = ("version", "from_snapshot", "rows", "key_bytes", "value_bytes", "delta_bytes", "puts")
    assert cell_values(partition, *counts) == [
        (8, True, 54, 1408, 4000, 573, None),
        (9, False, 54, 1408, 4000, 133, 2),
        (10, False, 59, 1528, 4360, 350, 8),
        (11, False, 62, 1600, 4576, 643, 18),
        (12, False, 65, 1672, 4792, 425, 11),
        (13, False, 65, 1672, 4792, 247, 7),
    ]
    assert cell_values(partition, "raw_bytes", "shared_rows", "two_versions_bytes") == [
        (5844, None, None),
        (212, 52, 5552),
        (884, 51, 6128),
        (1972, 44, 7304),
        (1196, 54, 7064),
        (732, 58, 6968),
    ]
    assert cell_values(partition, "batch_timestamp", "watermark") == [
        (None, None),
        (None, None),
        (utc(1, 30), utc(0, 59)),
        (utc(1, 40), utc(1, 9)),
        (utc(1, 50), utc(1, 19)),
        (utc(2, 0), utc(1, 29)),
    ]


def utc(minute: int, second: int) -> datetime:
    """Return a time in the first hour of the year of the fixtures."""
    return datetime(2024, 1, 1, 0, minute, second, tzinfo=timezone.utc)


def test_version_rows_of_a_join_have_all_stores() -> None:
    rows = read(tasks_of(Run.start(str(checkpoint_of("join_left_outer")), None), "versions"))
    assert Counter(cell_values(rows, "store_name")) == {
        "left-keyToNumValues": 20,
        "left-keyWithIndexToValue": 20,
        "right-keyToNumValues": 20,
        "right-keyWithIndexToValue": 20,
    }


def test_every_version_count_has_a_column() -> None:
    names = attributes(VERSIONS.columns, "name")
    assert set(COUNTS) - set(names) == {"stores", "rebased", "empty_deltas"}
    assert len(set(names)) == len(names)


def test_leftover_clock_is_resolved_over_all_partitions() -> None:
    run = Run.start(str(checkpoint_of("fmgws_event_ignore")), None)
    facts = run.facts(Request(leftover_limit=0))
    result = read(tasks_of(run, "leftovers", facts.resolution))
    unknown = read(tasks_of(run, "leftovers", NOTHING))
    assert cell_values(result, "reason") == [None] * 68
    assert cell_values(unknown, "reason") == [BY_BOTH] * 68
    keys = cell_values(result, "partition_id", "key_hex")
    assert len(set(keys)) == 68
    assert cell_values(unknown, "partition_id", "key_hex") == keys


def test_leftover_keys_are_redacted() -> None:
    run = Run.start(str(checkpoint_of("fmgws_event_ignore")), None)
    resolution = run.facts().resolution
    plain = read(tasks_of(run, "leftovers", resolution))
    hidden = read(tasks_of(run, "leftovers", resolution, redact=Redact.HASH))
    assert cell_values(hidden, "key_hex") == [None] * 68
    assert (plain[0]["key"], hidden[0]["key"]) == (
        '{"value": "once-000"}',
        "sha256:2745aaf702b8b337",
    )
    assert set(cell_values(hidden, "key")).isdisjoint(cell_values(plain, "key"))


# --- what cannot be read ---------------------------------------------------------------------


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    path = copy_of("fmgws_event_ignore", tmp_path)
    (path / "state/0/1/5.delta").write_bytes(b"junk")
    return path


@pytest.mark.parametrize("table", HOME)
def test_problem_modes_of_fact_tables(damaged: Path, table: str) -> None:
    run = Run.start(str(damaged), None)
    resolution = run.facts().resolution
    listed = (Problem("gap", "m", "p", store=StoreId(0, "s", 0)),)
    result = with_first(tasks_of(run, table, resolution), listed)
    rows = read(result)
    problems = [json.loads(row["problem"]) for row in rows if row["problem"] is not None]
    assert problems[0]["slug"] == "gap"
    assert str(damaged / "state/0/1/5.delta") in cell_values(problems, "path")
    dropped = read(replace(task, mode=ProblemMode.DROPMALFORMED) for task in result)
    good = rows_where(rows, problem=None)
    assert [row | {"problem": None} for row in dropped] == good != []
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
