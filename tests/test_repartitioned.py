"""Checkpoints that Spark 4.3 repartitioned: whole at every version, and with their keys' history.

``golden/repartitioned.tar.xz`` has an aggregation (``agg-4``) and a group state (``group-4``) of
four partitions, and the same queries with the same input, repartitioned on the way; and a group
state that was repartitioned, and what another repartitioning made of that
(``scripts/fixtures/repartitioned.py``). Spark wrote all of them.
"""

from __future__ import annotations

import re
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inspector import api
from inspector.analyses.shared.options import Options
from inspector.discovery import plan as planning
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.placement import partition_count
from inspector.discovery.tasks import Task
from inspector.model import Redact
from tests import cases
from tests.attributes import attributes
from tests.cases import Batch
from tests.reports import (
    cell_values,
    damage_ids,
    findings_with_id,
    primary_rows,
    rows_of_table,
    rows_where,
    slugs,
)

SHOWN = Options(redact=Redact.NONE)
BY_RULE = replace(SHOWN, operator_rules=("0=key.ts<=watermark",))
"""By a rule of the user's: the files do not show that a deduplication sees the watermark."""
NEWEST = {"agg-4": 7, "agg-4-to-7": 8, "agg-4-to-7-to-3": 9} | {
    "group-4": 9,
    "group-4-to-3": 10,
    "group-4-to-6": 10,
    "group-5-to-3": 7,
    "group-5-to-3-to-4": 8,
}
"""Name of each checkpoint -> its newest version."""
REPARTITIONS = [
    ("agg-4-to-7", 4, 5, 7),
    ("agg-4-to-7-to-3", 4, 5, 7),
    ("agg-4-to-7-to-3", 7, 8, 3),
    ("group-4-to-3", 6, 7, 3),
    ("group-4-to-6", 6, 7, 6),
    ("group-5-to-3", 2, 3, 3),
    ("group-5-to-3-to-4", 2, 3, 3),
    ("group-5-to-3-to-4", 6, 7, 4),
]
"""Checkpoint, batch before a repartitioning, batch of it, and number of partitions after it."""
JUDGED = (
    *("key_hex", "row_bytes", "class", "certainty", "state", "clock_ms", "threshold_ms"),
    *("margin_ms", "fired", "unchanged_since", "reason"),
)
"""Columns of a judgement that do not depend on the number of batches."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    there = tmp_path_factory.mktemp("repartitioned")
    with tarfile.open(Path(__file__).parent / "golden/repartitioned.tar.xz") as archive:
        archive.extractall(there, filter="data")
    for name in NEWEST:  # the archive is without the logs of the sources: each is one entry here
        offsets = (path.read_text() for path in (there / name / "offsets").glob("[0-9]*"))
        (there / name / "sources/0").mkdir(parents=True)
        for number in set(re.findall('"logOffset":(\\d+)', "\n".join(offsets))):
            (there / name / "sources/0" / f"{number}.compact").touch()
    return there


@pytest.mark.parametrize("name", NEWEST)
def test_repartitioned_versions_have_no_problems(folder: Path, name: str) -> None:
    path = str(folder / name)
    for version in range(1, NEWEST[name] + 1):
        report = api.verify(path, Options(state_version=version))
        assert [*report.findings, *report.problems] == [], version
        assert "partition_stores_read" not in report.summary


@pytest.mark.parametrize("name", NEWEST)
def test_repartitioned_audit_has_no_integrity_finding(folder: Path, name: str) -> None:
    report = api.audit(str(folder / name))
    assert damage_ids(report) == set()
    assert report.problems == []


def raw_rows(path: Path, options: Options, *names: str) -> list[tuple[Any, ...]]:
    """Return these columns of the raw rows of a state, sorted."""
    return sorted(cell_values(api.rows(str(path), options, raw=True).primary.rows, *names))


@pytest.mark.parametrize(("name", "previous_batch", "batch", "count"), REPARTITIONS)
def test_repartitioned_version_has_rows_of_previous_version(
    folder: Path, name: str, previous_batch: int, batch: int, count: int
) -> None:
    path = folder / name
    previous = raw_rows(path, replace(SHOWN, batch=previous_batch), "key_hex", "value_hex")
    assert raw_rows(path, replace(SHOWN, batch=batch), "key_hex", "value_hex") == previous
    assert previous
    assert primary_rows(api.diff(str(path), from_batch=previous_batch, to_batch=batch)) == []
    assert partition_count(open_checkpoint(str(path)), batch + 1) == count


@pytest.mark.parametrize(("name", "previous_batch", "batch", "count"), REPARTITIONS)
def test_reshaped_copy_equals_partitions_of_spark(
    folder: Path, name: str, previous_batch: int, batch: int, count: int, tmp_path: Path
) -> None:
    path, dest, names = folder / name, tmp_path / "copy", ("partition_id", "key_hex", "value_hex")
    copied = api.copy(
        *(str(path), str(dest), replace(SHOWN, batch=previous_batch)),
        partitions=count,
        sink_has_no_batch_ids=True,
    )
    assert copied.summary["partitions"] == count
    by_spark = raw_rows(path, replace(SHOWN, batch=batch), *names)
    assert raw_rows(dest, SHOWN, *names) == by_spark
    assert by_spark


def judgements(path: Path) -> list[tuple[Any, ...]]:
    """Return the judgements of leftovers and of undecided keys, sorted by key."""
    report = api.leftovers(str(path), SHOWN)
    undecided = rows_of_table(report, "undecided_keys")
    return sorted(cell_values([*report.primary.rows, *undecided], *JUDGED))


def proven_keys(path: Path) -> set[str]:
    rows = rows_where(api.leftovers(str(path), SHOWN).primary.rows, certainty="proven")
    return set(cell_values(rows, "key_hex"))


@pytest.mark.parametrize("name", ["group-4-to-3", "group-4-to-6"])
def test_proofs_hold_after_repartitioning(folder: Path, name: str) -> None:
    assert len(proven_keys(folder / "group-4")) == 30
    assert judgements(folder / name) == judgements(folder / "group-4")


def test_coprime_repartitionings_change_no_judgement(folder: Path) -> None:
    assert len(proven_keys(folder / "group-5-to-3")) == 21
    assert judgements(folder / "group-5-to-3-to-4") == judgements(folder / "group-5-to-3")


def test_task_reads_source_partitions_of_its_keys(folder: Path) -> None:
    """Those whose number is equal modulo the greatest common divisor of both counts."""
    tasks = planning.plan(open_checkpoint(str(folder / "group-4-to-6")), 10)
    origins = [Task.from_json(origin) for task in tasks for origin in task.origins]
    assert [len(task.origins) for task in tasks] == [2] * 6
    assert attributes(origins, "partition_id") == [0, 2, 1, 3, 0, 2, 1, 3, 0, 2, 1, 3]
    assert set(attributes(origins, "version", "origins")) == {(7, ())}


def test_several_repartitionings_are_followed(folder: Path) -> None:
    tasks = planning.plan(open_checkpoint(str(folder / "agg-4-to-7-to-3")), 9)
    assert [(task.present, len(task.origins)) for task in tasks] == [
        *[(True, 7), (True, 7), (True, 7)],
        *[(False, 0), (False, 0), (False, 0), (False, 0)],
    ]
    assert len(Task.from_json(tasks[0].origins[0]).origins) == 4


@pytest.mark.parametrize(
    ("name", "ages"),
    [
        ("agg-4-to-7", [(113, 1795418066753), (101, 1795417956212)]),
        ("agg-4-to-7-to-3", [(214, 1795417956212)]),
    ],
)
def test_last_put_is_known_across_repartitionings(
    folder: Path, name: str, ages: list[tuple[int, int]]
) -> None:
    """``agg-4``, which was not repartitioned, has 113 rows of its last batch and 101 older rows."""
    rows = rows_of_table(api.leftovers(str(folder / name)), "ages")
    assert cell_values(rows, "rows", "from_ms") == ages


def test_costly_history_begins_at_repartitioning(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Less is proven then, and nothing that is not so."""
    every = proven_keys(folder / "group-4-to-6")
    monkeypatch.setattr(planning, "FEW_READS", 1)
    monkeypatch.setattr(planning, "MOST_READS", 2)  # each of the 6 has rows of 2 partitions
    assert proven_keys(folder / "group-4-to-6") == every
    monkeypatch.setattr(planning, "MOST_READS", 1)
    assert proven_keys(folder / "group-4-to-6") < every


NO_QUERY = "; no query ran it, and it shows nothing of the query."


@pytest.mark.parametrize(
    ("name", "notes"),
    [
        ("group-4-to-3", ["Batch 7 repartitioned the state from 4 to 3 partitions" + NO_QUERY]),
        (
            "agg-4-to-7-to-3",
            [
                "Batch 5 repartitioned the state from 4 to 7 partitions" + NO_QUERY,
                "Batch 8 repartitioned the state from 7 to 3 partitions" + NO_QUERY,
            ],
        ),
    ],
)
def test_repartitioning_is_reported(folder: Path, name: str, notes: list[str]) -> None:
    assert list(api.info(str(folder / name)).notes) == notes
    assert list(api.timeline(str(folder / name)).notes) == notes


def test_timeline_shows_partitions_of_each_version(folder: Path) -> None:
    rows = primary_rows(api.timeline(str(folder / "agg-4-to-7-to-3")))
    assert cell_values(rows, "version", "partitions", "of_partitions") == [
        *[(1, 4, 4), (2, 4, 4), (3, 4, 4), (4, 4, 4), (5, 4, 4)],
        *[(6, 7, 7), (7, 7, 7), (8, 7, 7), (9, 3, 3)],
    ]


def test_leftover_story_spans_repartitioning(folder: Path) -> None:
    path = str(folder / "group-4-to-3")
    story = primary_rows(api.leftovers(path, explain="k=key22"))
    assert cell_values(story, "batch_id", "event") == [(0, "insert"), (2, "update"), (9, "judged")]
    assert story[-1]["what"] == "kept_without_timeout, proven"
    report = api.history(path, replace(SHOWN, where=("key.k=key22",)))
    assert "lies in the partitions" not in " ".join(report.notes)


@pytest.fixture
def unfinished(folder: Path, tmp_path: Path) -> Path:
    """As a repartitioning leaves it that is broken off before its commit."""
    root = Path(shutil.copytree(folder / "agg-4-to-7-to-3", tmp_path / "unfinished"))
    (root / "commits/8").unlink()
    return root


def test_unfinished_repartitioning_is_only_note(unfinished: Path) -> None:
    report = api.audit(str(unfinished))
    assert report.summary["version"] == 8
    assert damage_ids(report) == {"SS119"}
    (result,) = findings_with_id(report, "SS119")
    assert "batch 8 repartitions the state from 7 to 3 partitions" in result.evidence
    assert "STREAMING_UNFINISHED_REPARTITION_DETECTED" in result.evidence


def test_unexplained_partitions_are_problem(folder: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(folder / "agg-4-to-7-to-3", tmp_path / "copy"))
    for path in (root / "offsets").glob("[0-9]*"):
        text = path.read_text("utf-8")
        path.write_text(re.sub(r'(shuffle\.partitions":")\d+', r"\g<1>3", text), "utf-8")
    assert "extra-partition" in slugs(api.audit(str(root)).problems)


PARTITIONS = "shuffle.partitions"


@pytest.fixture
def given_up(tmp_path: Path) -> Path:
    """A repartitioning that gave up a failed batch, as ``skipUncommittedBatches`` does.

    Batch 2 failed when one partition had written its version. Batch 3 has the entry of batch 1 with
    another number of partitions, and batch 2 an empty commit.
    """
    root = tmp_path / "given_up"
    before = [Batch(0, 1000, 1), Batch(5000, 2000, 2), Batch(9000, 3000, 3)]
    cases.write_logs(root, before, {PARTITIONS: "2"})
    cases.write_logs(root, [Batch(5000, 2000, 2)], {PARTITIONS: "3"}, first=3)
    cases.write_logs(root, [Batch(9000, 4000, 4)], {PARTITIONS: "3"}, first=4)
    for batch, watermark in ((0, 5000), (1, 9000), (2, 0), (3, 9000), (4, 9000)):
        (root / f"commits/{batch}").write_text(f'v1\n{{"nextBatchWatermarkMs":{watermark}}}')
    cases.write_operator(root, 0, "dedupe", "default", partitions=2)
    cases.write_schema(root / "state/0/0", cases.EVENT_TIME, cases.EXPIRES_AT)
    rows = [(cases.micros(1000 * ms), bytes(16)) for ms in (6000, 20_000, 30_000)]
    cases.write_store(root / "state/0/0", {1: rows[:1], 2: rows[1:2], 3: []})
    cases.write_store(root / "state/0/1", {1: rows[2:], 2: []})
    for partition, row in enumerate(rows):
        cases.write_store(root / f"state/0/{partition}", {5: []}, {4: [row]})
    return root


def test_batch_abandoned_by_repartitioning_made_no_version(given_up: Path) -> None:
    logs = open_checkpoint(str(given_up)).logs
    assert [*logs.repartitions.items()] == [(3, 1)]
    assert [*logs.skipped_batches] == [2]
    appended = attributes(logs.clocks.values(), "appended")
    assert appended == [False, False, False, True, False]
    report = api.verify(str(given_up))
    assert [*report.findings, *report.problems] == []
    # It was there before the watermark of batch 4 passed it, and is there behind it.
    leftovers = primary_rows(api.leftovers(str(given_up), BY_RULE))
    assert cell_values(leftovers, "expired_batch", "last_put_batch") == [(4, 0)]


def test_row_absent_before_repartitioning_has_no_history(given_up: Path) -> None:
    """A tool changed the state on the way: then nothing is made up."""
    second = [(cases.micros(7_000_000), bytes(16))]
    cases.write_store(given_up / "state/0/0", {}, {4: second})
    leftovers = primary_rows(api.leftovers(str(given_up), BY_RULE))
    assert cell_values(leftovers, "expired_batch", "last_put_batch") == [(4, None)]
