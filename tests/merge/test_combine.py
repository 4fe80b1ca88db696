"""Facts merged before they reach the driver. Every report is equal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import field, replace
from functools import partial
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from inspector import api
from inspector.analyses.shared.run import Run
from inspector.discovery.tasks import Request
from inspector.engines.engine import Engine, Job
from inspector.engines.local import LocalEngine
from inspector.facts.registry import facts_schema
from inspector.light_dataclasses import dataclass
from inspector.merge.combine import combine
from inspector.passes.worker import run_tasks
from inspector.render.renderers import render
from inspector.render.report import Report
from inspector.schemas import batch_of
from tests.cli.support import checkpoint_of, copy_of
from tests.fixture_folder import NEWEST
from tests.profiles import crossed

CASES = (
    *("fmgws_event_ignore", "agg_append", "session_window", "join_left_outer", "join_window_key"),
    *("snapshots_cleaned", "agg_two_levels", "fmgws_snapshots_cleaned", "dedup_within_watermark"),
)
COMMANDS = (api.audit, api.verify, api.leftovers, api.sizes, api.top, api.sharing)


@dataclass
class Merging(Engine):
    """An engine that merges as Spark does. Facts with equal keys are merged in one call."""

    facts: list[int] = field(default_factory=list)

    def run(self, job: Job) -> Iterator[pa.RecordBatch]:
        merge, schema = job.merge, job.schema
        outcome = LocalEngine(1).run(replace(job, merge=None))
        rows = pa.Table.from_batches(outcome, schema).to_pylist()
        if merge is not None:
            key_of, groups = itemgetter(*merge.keys), dict[Any, list[Any]]()
            for row in reversed(rows):
                groups.setdefault(key_of(row), []).append(row)
            batches = (
                merge.function([batch_of(schema, [row]) for row in group])
                for group in groups.values()
            )
            rows = pa.Table.from_batches(chain(*batches), schema).to_pylist()
        self.facts.append(len(rows))
        yield batch_of(schema, rows)


def text(report: Report) -> str:
    """Return a report as JSON."""
    return "".join(render(report, "json"))


def merged(path: Path, command: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[str, list[int]]:
    engine = Merging()
    with monkeypatch.context() as patch:
        patch.setattr("inspector.analyses.shared.run.MANY", 0)
        patch.setattr("inspector.engines.choose.engine_by_options", lambda *_: engine)
        return text(command(str(path))), engine.facts


@pytest.mark.parametrize(("case", "command"), crossed(CASES, COMMANDS))
def test_reports_with_merged_facts_are_equal(
    case: str, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = checkpoint_of(case)
    assert merged(path, command, monkeypatch)[0] == text(command(str(path)))


@pytest.mark.parametrize(("case", "command"), crossed(CASES, COMMANDS))
def test_reports_with_facts_combined_in_the_process_are_equal(
    case: str, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(checkpoint_of(case))
    apart = text(command(path))
    monkeypatch.setattr("inspector.analyses.shared.run.MANY", 0)
    assert text(command(path)) == apart


@pytest.mark.full
def test_audit_of_every_second_fixture_with_combined_facts_is_equal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = audits_of_every_second_fixture()
    monkeypatch.setattr("inspector.analyses.shared.run.MANY", 0)
    assert audits_of_every_second_fixture() == expected


def audits_of_every_second_fixture() -> list[str]:
    paths = sorted(NEWEST.glob("*/checkpoint"))[::2]
    return [text(api.audit(str(path))) for path in paths]


@pytest.mark.parametrize("command", [api.audit, api.sharing])
def test_reports_of_unreadable_files_with_merged_facts_are_equal(
    command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/1/5.delta").write_bytes(b"junk")
    assert merged(path, command, monkeypatch)[0] == text(command(str(path)))


@pytest.mark.parametrize(
    "command", [partial(api.sharing, by="partition"), api.memory, api.timeline]
)
def test_reports_by_partition_with_merged_facts_are_equal(
    command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = checkpoint_of("agg_append")

    assert merged(path, command, monkeypatch)[0] == text(command(str(path)))


def test_merging_reduces_the_number_of_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    path = checkpoint_of("agg_append")
    _, (sample,) = merged(path, api.sizes, monkeypatch)
    run = Run.start(str(path), None)
    facts = pa.Table.from_batches(run.map(run_tasks, run.tasks(Request())))
    assert sample < facts.num_rows


@pytest.mark.parametrize("stored", [0, 1000])
def test_combining_facts_twice_changes_nothing(
    stored: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspector.merge.combine.HELD", stored)
    run = Run.start(str(checkpoint_of("agg_append")), None)
    facts = list(run.map(run_tasks, run.tasks(Request())))
    once = list(combine(run.version, facts))
    twice = list(combine(run.version, reversed(once)))
    assert sorted_rows(twice) == sorted_rows(once)


def sorted_rows(batches: list[pa.RecordBatch]) -> list[str]:
    """Return the rows of fact batches as JSON."""
    rows = pa.Table.from_batches(batches, facts_schema()).to_pylist()
    return sorted(json.dumps(row, default=repr) for row in rows)
