"""Head and part of every report: its version, clocks, and how much of the checkpoint was read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from inspector import api
from inspector.analyses.shared.judged import Subject
from inspector.discovery.checkpoint import open_checkpoint
from inspector.render.report_data import Part
from tests.cli.support import OF_STATE, checkpoint_of, copy_of, run
from tests.reports import finding_ids

JOIN = checkpoint_of("join_left_outer")


def part_of(path: Path, **options: object) -> Part | None:
    return api.files(str(path), api.Options(**options)).part  # type: ignore[arg-type]


def bytes_in(*folders: Path) -> int:
    """Return the bytes of the deltas; these fixtures have no snapshots."""
    return sum(file.stat().st_size for folder in folders for file in folder.rglob("*.delta"))


def test_whole_checkpoint_is_no_part() -> None:
    assert part_of(JOIN) is None
    assert part_of(JOIN / "state") is None


def test_part_of_a_partition() -> None:
    part = part_of(JOIN / "state/0/1")
    assert part is not None
    assert (part.operator_id, part.store_name, part.partition_id) == (0, None, 1)
    assert (part.stores, part.of_stores) == (4, 4)
    assert (part.partitions, part.of_partitions) == (1, 2)
    assert part.file_bytes == bytes_in(JOIN / "state/0/1") < part.of_file_bytes
    assert part.of_file_bytes == bytes_in(JOIN / "state")


def test_options_select_the_same_part_as_a_path() -> None:
    assert part_of(JOIN, operator_id=0, partition_id=1) == part_of(JOIN / "state/0/1")


def test_part_of_a_store() -> None:
    part = part_of(JOIN, store_name="left-keyToNumValues")
    assert part is not None
    assert (part.stores, part.of_stores, part.partitions, part.of_partitions) == (1, 4, 2, 2)
    name = "left-keyToNumValues"
    assert part.file_bytes == bytes_in(JOIN / "state/0/0" / name, JOIN / "state/0/1" / name)


def test_part_of_an_operator() -> None:
    path = checkpoint_of("agg_after_dedup")
    part = part_of(path / "state/1")
    assert part is not None
    assert (part.operator_id, part.stores, part.of_stores) == (1, 1, 2)
    assert part.of_partitions == 2 * part.partitions
    assert part.file_bytes == bytes_in(path / "state/1")


def test_part_of_a_file_names_its_version() -> None:
    path = checkpoint_of("fmgws_event_ignore") / "state/0/1/7.delta"
    part = part_of(path)
    assert part is not None
    assert (part.version, part.store_name, part.partition_id) == (7, "default", 1)
    outcome = run("audit", path)
    assert "at state version 7 (batch 6) of the file named" in " ".join(outcome.out.split())


@pytest.mark.parametrize("output", ["ndjson", "csv"])
def test_part_note_of_csv_and_ndjson(output: str) -> None:
    path = checkpoint_of("fmgws_event_ignore") / "state/0/1"
    assert run("sizes", path, "-o", output).err.startswith("note: This is a part of the check")
    assert run("sizes", path, "-o", output, "-q").err == ""


@pytest.mark.parametrize("command", OF_STATE)
def test_every_command_reports_its_part(command: str) -> None:
    path = checkpoint_of("fmgws_event_ignore")
    assert run(command, path / "state/0/1").out.startswith(
        "This is a part of the checkpoint: partition 1 of operator 0. It has 1 of 2 partitions"
    )
    part = run(command, path, "--operator", "0", "--partition", "1", "-o", "json").json["part"]
    assert (part["operator_id"], part["partition_id"], part["of_partitions"]) == (0, 1, 2)
    assert run(command, path, "-o", "json").json["part"] is None


def test_report_head_has_version_and_clocks() -> None:
    path = str(checkpoint_of("agg_update"))
    head = Subject(open_checkpoint(path), 4).head
    assert head == {
        "checkpoint": path,
        "query_id": "7ac53066-25d1-4fae-84b1-22a421d5a95d",
        "version": 4,
        "batch_id": 3,
        "committed": True,
        "watermark_ms": 1_704_067_217_350,
        "batch_timestamp_ms": 1_704_067_230_000,
    }


def test_watermark_of_zero_is_none() -> None:
    assert (
        Subject(open_checkpoint(str(checkpoint_of("agg_update"))), 1).head["watermark_ms"] is None
    )


def test_version_0_has_no_batch() -> None:
    head = Subject(open_checkpoint(str(checkpoint_of("agg_update"))), 0).head
    assert (head["batch_id"], head["committed"]) == (None, False)


def test_committed_is_unknown_without_a_commit_log(tmp_path: Path) -> None:
    path = copy_of("agg_update", tmp_path)
    shutil.rmtree(path / "commits")
    checkpoint = open_checkpoint(str(path))
    assert checkpoint.newest_version == 10
    head = Subject(checkpoint, 10).head
    assert (head["version"], head["committed"]) == (10, None)
    assert "batch committed       unknown" in run("info", path).out


LEAKED = {"key": '{"value": "lapsed-004"}'}


@pytest.mark.parametrize("chosen", [{}, LEAKED])
def test_leftover_findings_follow_user_thresholds(
    chosen: dict[str, str],
) -> None:
    path = str(checkpoint_of("fmgws_event_ignore"))
    report = api.leftovers(path, api.Options(**chosen))  # type: ignore[arg-type]
    assert finding_ids(report) == ["SS203", "SS201"]
    thresholds = {"SS203": 10**6, "SS201": 10**6}
    lenient = api.leftovers(path, api.Options(**chosen, thresholds=thresholds))  # type: ignore[arg-type]
    assert lenient.findings == ()


@pytest.mark.parametrize("arguments", [[], ["--key", LEAKED["key"]]])
def test_leftovers_command_follows_user_thresholds(arguments: list[str]) -> None:
    path = str(checkpoint_of("fmgws_event_ignore"))
    lenient = ["--fail-on", "info", "--threshold=SS203=1000000", "--threshold=SS201=1000000"]
    assert run("leftovers", path, *lenient, *arguments).code == 0


@pytest.mark.parametrize("chosen", [{}, LEAKED])
def test_leftovers_report_has_its_part(chosen: dict[str, str]) -> None:
    path = checkpoint_of("fmgws_event_ignore")
    options = api.Options(partition_id=0, **chosen)  # type: ignore[arg-type]
    assert api.leftovers(str(path), options).part == part_of(path, partition_id=0)
    assert part_of(path, partition_id=0) is not None
