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
from collections.abc import Iterator, Mapping
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
from inspector.findings.finding import Group
from inspector.model import Redact
from inspector.render.report import Report
from tests import cases
from tests.cases import Batch

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
BY_BATCH = ("batch", "version", "put", "age")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    there = tmp_path_factory.mktemp("repartitioned")
    with tarfile.open(Path(__file__).parent / "golden/repartitioned.tar.xz") as archive:
        archive.extractall(there, filter="data")
    for name in NEWEST:  # the archive is without the logs of the sources: each is one entry here
        offsets = [path.read_text() for path in (there / name / "offsets").glob("[0-9]*")]
        read = [
            int(number) for text in offsets for number in re.findall('"logOffset":(\\d+)', text)
        ]
        (there / name / "sources/0").mkdir(parents=True)
        for number in {*read}:
            (there / name / "sources/0" / f"{number}.compact").touch()
    return there


def rows_of(report: Report) -> list[dict[str, Any]]:
    return [dict(row) for row in report.primary.rows]


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
    assert [finding for finding in report.findings if finding.kind.group is Group.INTEGRITY] == []
    assert report.problems == []


@pytest.mark.parametrize("name", [name for name in NEWEST if "-to-" in name])
def test_repartitioned_version_has_rows_of_previous_version(folder: Path, name: str) -> None:
    path, checkpoint = str(folder / name), open_checkpoint(str(folder / name))
    for batch, basis in checkpoint.logs.repartitions.items():
        old, new = (
            sorted((r["key_hex"], r["value_hex"]) for r in rows_of(item))
            for item in (
                api.rows(path, replace(SHOWN, batch=basis), raw=True),
                api.rows(path, replace(SHOWN, batch=batch), raw=True),
            )
        )
        assert old == new
        assert old
        differences = api.diff(path, from_batch=basis, to_batch=batch)
        assert rows_of(differences) == []


@pytest.mark.parametrize("name", [name for name in NEWEST if "-to-" in name])
def test_reshaped_copy_equals_partitions_of_spark(folder: Path, name: str, tmp_path: Path) -> None:
    def partitions(path: Path, options: Options) -> list[tuple[Any, ...]]:
        rows = rows_of(api.rows(str(path), options, raw=True))
        return sorted((row["partition_id"], row["key_hex"], row["value_hex"]) for row in rows)

    path, checkpoint = folder / name, open_checkpoint(str(folder / name))
    for batch, basis in checkpoint.logs.repartitions.items():
        count = partition_count(checkpoint, batch + 1)
        dest = tmp_path / str(batch)
        options = replace(SHOWN, batch=basis)
        copied = api.copy(
            str(path), str(dest), options, partitions=count, sink_has_no_batch_ids=True
        )
        assert copied.summary["partitions"] == count
        by_spark = partitions(path, replace(SHOWN, batch=batch))
        assert partitions(dest, SHOWN) == by_spark
        assert by_spark


def judged(path: Path) -> dict[str, dict[str, Any]]:
    """Leftovers and undecided keys, without what the number of batches changes."""
    report = api.leftovers(str(path), SHOWN)
    tables = {table.name: table for table in report.tables}
    every = (*report.primary.rows, *tables["undecided_keys"].rows)
    return {
        row["key_hex"]: {
            name: value
            for name, value in row.items()
            if name not in ("partition_id", "disk_bytes")
            and not any(word in name for word in BY_BATCH)
        }
        for row in every
    }


@pytest.mark.parametrize("name", ["group-4-to-3", "group-4-to-6"])
def test_proofs_hold_after_repartitioning(folder: Path, name: str) -> None:
    twin = judged(folder / "group-4")
    assert [row["certainty"] for row in twin.values()].count("proven") == 30
    assert judged(folder / name) == twin


def test_coprime_repartitionings_change_no_judgement(folder: Path) -> None:
    before = judged(folder / "group-5-to-3")
    assert [row["certainty"] for row in before.values()].count("proven") == 21
    assert judged(folder / "group-5-to-3-to-4") == before


def test_task_reads_source_partitions_of_its_keys(folder: Path) -> None:
    """Those whose number is equal modulo the greatest common divisor of both counts."""
    tasks = planning.plan(open_checkpoint(str(folder / "group-4-to-6")), 10)
    origins = [[Task.from_json(origin) for origin in task.origins] for task in tasks]
    assert [[item.partition_id for item in of_task] for of_task in origins] == [[0, 2], [1, 3]] * 3
    assert {(element.version, element.origins) for of_task in origins for element in of_task} == {
        (7, ())
    }


def test_several_repartitionings_are_followed(folder: Path) -> None:
    tasks = planning.plan(open_checkpoint(str(folder / "agg-4-to-7-to-3")), 9)
    there = [task for task in tasks if task.present]
    assert [len(task.origins) for task in there] == [7] * 3
    assert [len(task.origins) for task in tasks if not task.present] == [0] * 4
    assert len(Task.from_json(there[0].origins[0]).origins) == 4


@pytest.mark.parametrize(("name", "rows"), [("agg-4-to-7", [113, 101]), ("agg-4-to-7-to-3", [214])])
def test_last_put_is_known_across_repartitionings(folder: Path, name: str, rows: list[int]) -> None:
    """The twin without has 113 rows of its last batch, and 101 older ones."""
    (ages,) = (t for t in api.leftovers(str(folder / name)).tables if t.name == "ages")
    assert [row["rows"] for row in ages.rows] == rows
    assert all(row["from_ms"] for row in ages.rows)


def test_costly_history_begins_at_repartitioning(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Less is proven then, and nothing that is not so."""
    every = judged(folder / "group-4-to-6")
    monkeypatch.setattr(planning, "MOST_READS", 1)
    monkeypatch.setattr(planning, "FEW_READS", 1)
    result = judged(folder / "group-4-to-6")
    proven = {key for key, row in result.items() if row["certainty"] == "proven"}
    assert proven < {key for key, row in every.items() if row["certainty"] == "proven"}


@pytest.mark.parametrize(
    ("name", "notes"),
    [
        ("group-4-to-3", ["Batch 7 repartitioned the state from 4 to 3 partitions"]),
        (
            "agg-4-to-7-to-3",
            [
                "Batch 5 repartitioned the state from 4 to 7 partitions",
                "Batch 8 repartitioned the state from 7 to 3 partitions",
            ],
        ),
    ],
)
def test_repartitioning_is_reported(folder: Path, name: str, notes: list[str]) -> None:
    for report in (api.info(str(folder / name)), api.timeline(str(folder / name))):
        result = [note.partition(";")[0] for note in report.notes if "repartition" in note]
        assert result == notes


def test_timeline_shows_partitions_of_each_version(folder: Path) -> None:
    rows = rows_of(api.timeline(str(folder / "agg-4-to-7-to-3")))
    counts = {row["version"]: (row["partitions"], row["of_partitions"]) for row in rows}
    expected = dict.fromkeys(range(1, 6), 4) | dict.fromkeys(range(6, 9), 7) | {9: 3}
    assert counts == {version: (n, n) for version, n in expected.items()}


def test_leftover_story_spans_repartitioning(folder: Path) -> None:
    path = str(folder / "group-4-to-3")
    key = rows_of(api.leftovers(path, SHOWN))[0]["key"]["k"]
    story = rows_of(api.leftovers(path, explain=f"k={key}"))
    assert story[-1]["what"].startswith("kept_without_timeout, proven")
    assert [row["event"] for row in story].count("judged") == 1
    report = api.history(path, replace(SHOWN, where=(f"key.k={key}",)))
    assert not any("lies in the partitions" in note for note in report.notes)


@pytest.fixture
def unfinished(folder: Path, tmp_path: Path) -> Path:
    """As a repartitioning leaves it that is broken off before its commit."""
    root = Path(shutil.copytree(folder / "agg-4-to-7-to-3", tmp_path / "unfinished"))
    (root / "commits/8").unlink()
    return root


def test_unfinished_repartitioning_is_only_note(unfinished: Path) -> None:
    report = api.audit(str(unfinished))
    assert report.summary["version"] == 8
    (result,) = (finding for finding in report.findings if finding.kind.group is Group.INTEGRITY)
    assert result.kind.id == "SS119"
    assert "batch 8 repartitions the state from 7 to 3 partitions" in result.evidence
    assert "STREAMING_UNFINISHED_REPARTITION_DETECTED" in result.evidence


def entries(root: Path, change: Mapping[str, str]) -> Iterator[Path]:
    """Entries of the offset log, with other texts in place of some."""
    for path in sorted((root / "offsets").glob("[0-9]*")):
        text = path.read_text("utf-8")
        for old, new in change.items():
            text = re.sub(old, new, text)
        path.write_text(text, "utf-8")
        yield path


def test_unexplained_partitions_are_problem(folder: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(folder / "agg-4-to-7-to-3", tmp_path / "copy"))
    assert list(entries(root, {r'(shuffle\.partitions":")\d+': r"\g<1>3"}))
    slugs = {problem.slug for problem in api.audit(str(root)).problems}
    assert "extra-partition" in slugs


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
    assert [clock.appended for clock in logs.clocks.values()] == [False] * 3 + [True, False]
    report = api.verify(str(given_up))
    assert [*report.findings, *report.problems] == []
    # It was there before the watermark of batch 4 passed it, and is there behind it.
    leftovers = rows_of(api.leftovers(str(given_up), BY_RULE))
    assert [(row["expired_batch"], row["last_put_batch"]) for row in leftovers] == [(4, 0)]


def test_row_absent_before_repartitioning_has_no_history(given_up: Path) -> None:
    """A tool changed the state on the way: then nothing is made up."""
    second = [(cases.micros(7_000_000), bytes(16))]
    cases.write_store(given_up / "state/0/0", {}, {4: second})
    leftovers = rows_of(api.leftovers(str(given_up), BY_RULE))
    assert [(row["expired_batch"], row["last_put_batch"]) for row in leftovers] == [(4, None)]
