"""Durations of batches and real-time mode, from the modification times of log files."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from inspector.discovery.batch_times import batch_durations, is_real_time
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.restart import restart_of
from tests.cli.support import run
from tests.fixture_folder import FIXTURES, REPOSITORY
from tests.reports import cell_values

FIRST_MS = 1_700_000_000_000


def write(root: Path, durations: Sequence[int], wait_ms: int = 1_000) -> Path:
    """Write a stateless query whose log files show these durations of batches in ms."""
    clock = FIRST_MS
    (root / "offsets").mkdir(parents=True)
    (root / "commits").mkdir()
    conf = {"spark.sql.streaming.stateStore.encodingFormat": "unsaferow"}
    for batch, duration in enumerate(durations):
        header = {"batchWatermarkMs": 0, "batchTimestampMs": clock, "conf": conf}
        for log, text, at in (
            ("offsets", f"{json.dumps(header)}\n{batch}", clock + 20),
            ("commits", '{"nextBatchWatermarkMs":0}', clock + 20 + duration),
        ):
            path = root / log / str(batch)
            path.write_text(f"v1\n{text}", "utf-8")
            os.utime(path, ns=(at * 1_000_000, at * 1_000_000))
        clock += duration + wait_ms
    (root / "metadata").write_text('{"id":"3213a404-e99a-4381-a6ba-59542cfc3041"}', "utf-8")
    return root


def durations(root: Path) -> list[int]:
    return [*batch_durations(open_checkpoint(str(root)).logs).values()]


def test_batch_duration_from_offsets_to_commit(tmp_path: Path) -> None:
    took = [2_000, 2_100, 2_050, 21_000]
    root = write(tmp_path / "checkpoint", took)
    assert durations(root) == took
    assert is_real_time(open_checkpoint(str(root))) is False


def test_an_unfinished_batch_has_no_duration(tmp_path: Path) -> None:
    root = write(tmp_path / "checkpoint", [2_000, 2_000, 2_000, 9_000])
    (root / "commits/3").unlink()
    assert len(durations(root)) == 3


@pytest.mark.parametrize("step_ms", [0, 1, -1])
def test_batch_durations_of_a_copy_are_unknown(tmp_path: Path, step_ms: int) -> None:
    root = write(tmp_path / "checkpoint", [2_000] * 8)
    paths = sorted(root.glob("*/[0-9]*"), key=lambda path: (int(path.name), path.parent.name))
    for number, path in enumerate(paths):
        at = (FIRST_MS + 3_600_000 + step_ms * number) * 1_000_000
        os.utime(path, ns=(at, at))
    assert durations(root) == []
    assert is_real_time(open_checkpoint(str(root))) is None


def test_unfinished_batch_of_a_copy_has_an_unknown_mode(tmp_path: Path) -> None:
    root = write(tmp_path / "checkpoint", [2_000] * 4)
    (root / "commits/3").unlink()
    micro = restart_of(open_checkpoint(str(root)))
    assert "a restart runs it again; nothing after batch 2" in micro.unfinished_text
    for path in root.glob("*/*"):
        os.utime(path, (1_800_000_000, 1_800_000_000))
    restart = restart_of(open_checkpoint(str(root)))
    assert restart.real_time is None
    assert "runs it again, or in real-time mode removes its entry and plans it anew" in (
        restart.unfinished_text
    )


def real_time(tmp_path: Path) -> Path:
    with tarfile.open(REPOSITORY / "tests/golden/real_time.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "aggregation/checkpoint"


def test_real_time_mode_writes_the_offsets_when_the_batch_ends(tmp_path: Path) -> None:
    root = real_time(tmp_path)
    assert is_real_time(open_checkpoint(str(root))) is True
    assert durations(root) == [4565, 3361, 3250, 3261]
    (root / "commits/3").unlink()
    restart = restart_of(open_checkpoint(str(root)))
    assert restart.sentence.startswith(
        "Restarts from batch 3, which real-time mode plans anew because it has no commit"
    )
    assert "in real-time mode a restart removes its entry and plans it anew" in (
        restart.unfinished_text
    )


@pytest.mark.parametrize(
    "case", ["4.3.0/agg_update", "4.3.0/rocksdb_agg_update", "3.5.9/uncommitted"]
)
def test_checkpoint_format_1_is_not_real_time_mode(case: str) -> None:
    checkpoint = open_checkpoint(str(FIXTURES / case / "checkpoint"))
    assert is_real_time(checkpoint) is False


def test_timeline_has_batch_durations(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(FIXTURES / "4.3.0/agg_update/checkpoint", root)
    rows = run("timeline", root, "-o", "json").json["rows"]
    assert cell_values(rows, "duration_ms") == [None] * 10
    clocks = open_checkpoint(str(root)).logs.clocks
    for batch, clock in clocks.items():
        for log, later in (("offsets", 10), ("commits", 210)):
            at = ((clock.timestamp_ms or 0) + later) * 1_000_000
            os.utime(root / log / str(batch), ns=(at, at))
    rows = run("timeline", root, "-o", "json").json["rows"]
    assert cell_values(rows, "duration_ms") == [200] * 10
