"""How much of a checkpoint was read."""

from __future__ import annotations

from pathlib import Path

import pytest

from inspector import api
from inspector.render.report import Part
from tests.cli.support import COMMANDS, checkpoint_of, run

JOIN = checkpoint_of("join_left_outer")
FILES = ("*.delta", "*.snapshot")


def part_of(path: Path, **options: object) -> Part | None:
    return api.files(str(path), api.Options(**options)).part  # type: ignore[arg-type]


def bytes_in(*folders: Path) -> int:
    """What lies there in deltas and snapshots."""
    return sum(
        file.stat().st_size
        for folder in folders
        for pattern in FILES
        for file in folder.rglob(pattern)
    )


def test_the_whole_is_no_part() -> None:
    assert part_of(JOIN) is None
    assert part_of(JOIN / "state") is None


def test_a_partition_has_all_its_stores() -> None:
    part = part_of(JOIN / "state/0/1")
    assert part is not None
    assert (part.operator_id, part.store_name, part.partition_id) == (0, None, 1)
    assert (part.stores, part.of_stores) == (4, 4)
    assert (part.partitions, part.of_partitions) == (1, 2)
    assert part.file_bytes == bytes_in(JOIN / "state/0/1") < part.of_file_bytes
    assert part.of_file_bytes == bytes_in(JOIN / "state")


def test_options_select_as_the_path_does() -> None:
    assert part_of(JOIN, operator_id=0, partition_id=1) == part_of(JOIN / "state/0/1")


def test_a_store_lies_in_every_partition() -> None:
    part = part_of(JOIN, store_name="left-keyToNumValues")
    assert part is not None
    assert (part.stores, part.of_stores, part.partitions, part.of_partitions) == (1, 4, 2, 2)
    folders = [JOIN / "state/0" / str(n) / "left-keyToNumValues" for n in (0, 1)]
    assert part.file_bytes == bytes_in(*folders)


def test_an_operator_has_its_own_partitions() -> None:
    path = checkpoint_of("agg_after_dedup")
    part = part_of(path / "state/1")
    assert part is not None
    assert (part.operator_id, part.stores, part.of_stores) == (1, 1, 2)
    assert part.of_partitions == 2 * part.partitions
    assert part.file_bytes == bytes_in(path / "state/1")


def test_a_file_says_which_version_it_judges() -> None:
    path = checkpoint_of("fmgws_event_ignore") / "state/0/1/7.delta"
    part = part_of(path)
    assert part is not None
    assert (part.version, part.store_name, part.partition_id) == (7, "default", 1)
    told = run("audit", path)
    assert "at state version 7 (batch 6) of the file named" in told.out.splitlines()[0]


def test_forms_without_a_header_say_it_beside_the_data() -> None:
    path = checkpoint_of("fmgws_event_ignore") / "state/0/1"
    for output in ("ndjson", "csv"):
        assert run("sizes", path, "-o", output).err.startswith("note: This is a part of the check")
        assert run("sizes", path, "-o", output, "-q").err == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_calls_a_part_a_part(command: str) -> None:
    path = checkpoint_of("fmgws_event_ignore")
    for arguments in ((path / "state/0/1",), (path, "--operator", "0", "--partition", "1")):
        told = run(command, *arguments)
        assert told.out.splitlines()[0].startswith(
            "This is a part of the checkpoint: partition 1 of operator 0. It has 1 of 2 partitions"
        )
        part = run(command, *arguments, "-o", "json").json["part"]
        assert (part["operator_id"], part["partition_id"], part["of_partitions"]) == (0, 1, 2)
    assert run(command, path, "-o", "json").json["part"] is None
