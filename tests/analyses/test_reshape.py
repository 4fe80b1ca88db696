"""``copy --partitions``: the same rows, each in the partition that Spark's hash gives it."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from inspector import api
from inspector.analyses.copy import reshaping
from inspector.api import CheckpointError, Options
from inspector.engines.local import LocalEngine
from inspector.exceptions import InspectorError, SourceNotWholeError
from inspector.model import Redact
from tests import cases
from tests.analyses.test_copy import checkpoint, severe, tree
from tests.cli.support import run
from tests.profiles import sampled

RELEASES = ("3.5.9", "4.1.4", "4.3.0")


def every_checkpoint() -> list[Path]:
    """A checkpoint of each case of releases that record how rows are placed."""
    return [
        case / "checkpoint"
        for release in RELEASES
        for case in (*cases.hdfs_cases(release), *cases.rocksdb_cases(release))
    ]


def live_rows(root: Path | str) -> Counter[tuple[Any, ...]]:
    """The live rows of all partitions with their bytes."""
    report = api.rows(str(root), Options(redact=Redact.NONE), raw=True)
    assert report.complete
    columns = ("operator_id", "store_name", "key_hex", "value_hex")
    return Counter(tuple(row[name] for name in columns) for row in report.primary.rows)


def recorded_partitions(root: Path) -> set[str]:
    """Numbers of partitions in all entries of the offset log."""
    entries = [path.read_text() for path in (root / "offsets").glob("[0-9]*")]
    return {json.loads(e.split("\n")[1])["conf"]["spark.sql.shuffle.partitions"] for e in entries}


@pytest.mark.parametrize(
    ("root", "partitions"),
    # Each checkpoint gets one of the numbers, in turn.
    sampled(list(zip(every_checkpoint(), cycle((1, 3, 7)), strict=False)), every=10),
)
def test_reshaped_copy_has_the_rows_of_its_source(
    root: Path, partitions: int, tmp_path: Path
) -> None:
    before, dest = tree(root), tmp_path / "copy"
    try:
        report = api.copy(str(root), str(dest), partitions=partitions, stopped=True)
    except (CheckpointError, SourceNotWholeError):
        assert not dest.exists()
    else:
        assert report.summary["partitions"] == partitions
        assert live_rows(dest) == live_rows(root)
        assert recorded_partitions(dest) == {str(partitions)}
        assert severe(dest) == []
    assert tree(root) == before
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".")] == []


PLACED = [
    *("agg_update", "dedup_event_time", "fmgws_event_remove", "join_left_outer", "session_window"),
    *("rocksdb_agg_update", "rocksdb_agg_update_snapshots", "rocksdb_join_left_outer_v4"),
    "rocksdb_tws_event",
]


@pytest.mark.parametrize("case", PLACED)
def test_reshaped_copy_has_every_partition(case: str, tmp_path: Path) -> None:
    root, dest = checkpoint(case), tmp_path / "copy"
    report = api.copy(str(root), str(dest), partitions=5)
    assert report.summary["written"] is True
    assert report.summary["partitions_before"] == 2
    assert live_rows(dest) == live_rows(root)
    assert sum(live_rows(root).values()) == report.summary["rows"] > 0
    folders = {path.name for path in (dest / "state/0").iterdir() if path.name.isdigit()}
    assert folders == set("01234")
    metadata = [*dest.glob("state/0/_metadata/metadata"), *dest.glob("state/0/_metadata/v2/[0-9]*")]
    assert metadata
    for path in metadata:
        stores = json.loads(path.read_text().split("\n", 1)[1])["stateStoreInfo"]
        assert {store["numPartitions"] for store in stores} == {5}
    assert severe(dest) == []


@pytest.mark.parametrize("case", ["agg_update", "rocksdb_tws_event", "rocksdb_join_left_outer_v4"])
def test_reshaping_back_restores_the_partitions(case: str, tmp_path: Path) -> None:
    def by_partition(root: Path) -> Counter[tuple[Any, ...]]:
        rows = api.rows(str(root), Options(redact=Redact.NONE), raw=True).primary.rows
        columns = ("store_name", "partition_id", "key_hex", "value_hex")
        return Counter(tuple(row[name] for name in columns) for row in rows)

    root = checkpoint(case)
    api.copy(str(root), str(tmp_path / "more"), partitions=7)
    api.copy(str(tmp_path / "more"), str(tmp_path / "back"), partitions=2)
    assert by_partition(tmp_path / "back") == by_partition(root)


def test_plan_of_new_partitions_writes_nothing(tmp_path: Path) -> None:
    root, dest = checkpoint("agg_update"), tmp_path / "copy"
    planned = api.copy(str(root), str(dest), partitions=3, plan=True)
    assert not dest.exists()
    assert planned.summary["written"] is False
    assert any("--partitions 3" in (step.command or "") for step in planned.steps)
    made = api.copy(str(root), str(dest), partitions=3)
    sizes = [report.summary["copy_state_bytes"] for report in (planned, made)]
    assert sizes[0] == sizes[1]


def test_earlier_batch_is_reshaped(tmp_path: Path) -> None:
    root = checkpoint("agg_update")
    options = Options(batch=4)
    api.copy(str(root), str(tmp_path / "plain"), options, sink_has_no_batch_ids=True)
    api.copy(str(root), str(tmp_path / "copy"), options, sink_has_no_batch_ids=True, partitions=3)
    assert live_rows(tmp_path / "copy") == live_rows(tmp_path / "plain")


# --- refusals ------------------------------------------------------------------------------------


def refusal(root: Path, tmp_path: Path, **words: Any) -> str:
    """The message with which a copy is refused; nothing is written."""
    with pytest.raises(InspectorError) as caught:
        api.copy(str(root), str(tmp_path / "copy"), **words)
    assert not (tmp_path / "copy").exists()
    assert isinstance(caught.value, CheckpointError)
    return caught.value.message


def test_equal_number_of_partitions_is_refused(tmp_path: Path) -> None:
    message = refusal(checkpoint("agg_update"), tmp_path, partitions=2)
    assert "has 2 partitions already: leave out --partitions" in message


def test_too_many_partitions_are_refused(tmp_path: Path) -> None:
    message = refusal(checkpoint("agg_update"), tmp_path, partitions=100_001)
    assert "expected at most 100,000" in message


def test_zero_partitions_are_a_usage_error(tmp_path: Path) -> None:
    outcome = run("copy", checkpoint("agg_update"), tmp_path / "copy", "--partitions", "0")
    assert outcome.code == 2
    assert not (tmp_path / "copy").exists()


def test_query_of_an_old_release_is_refused(tmp_path: Path) -> None:
    root = checkpoint("agg_update", "3.1.3")
    message = refusal(root, tmp_path, partitions=3)
    assert "began before Spark 3.3" in message


def test_spark_engine_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalEngine, "in_process", False)
    outcome = run("copy", checkpoint("agg_update"), tmp_path / "copy", "--partitions", "3")
    assert outcome.code == 2
    assert "--partitions works in this process: add --engine local" in outcome.err
    assert not (tmp_path / "copy").exists()


def test_uncommitted_batch_is_not_reshaped(tmp_path: Path) -> None:
    root = Path(shutil.copytree(checkpoint("agg_update"), tmp_path / "checkpoint"))
    newest = max(int(path.name) for path in (root / "commits").glob("[0-9]*"))
    for path in (root / f"commits/{newest}", root / f"commits/.{newest}.crc"):
        path.unlink(missing_ok=True)
    message = refusal(root, tmp_path, partitions=3, stopped=True)
    assert f"batch {newest} was planned and not committed" in message
    assert "let the query run it" in message


def test_row_without_a_known_partition_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reshaping, "partition_key", lambda *_: None)
    message = refusal(checkpoint("agg_update"), tmp_path, partitions=3)
    assert "operator 0, store default, partition 0" in message
    assert "the row with the key {" in message
    assert "Copy it without --partitions" in message


def test_row_in_the_wrong_partition_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The audit before checks other stores than those of timers by time."""
    root = Path(shutil.copytree(checkpoint("rocksdb_tws_event"), tmp_path / "checkpoint"))
    folders = [root / "state/0" / name for name in ("0", "1", "spare")]
    for old, new in ((0, 2), (1, 0), (2, 1)):
        folders[old].rename(folders[new])
    with pytest.raises(InspectorError):
        api.copy(str(root), str(tmp_path / "copy"), partitions=3)
    monkeypatch.setattr("inspector.analyses.copy._Copy._check_whole", lambda *_: None)
    message = refusal(root, tmp_path, partitions=3)
    assert "Spark's hash puts the row with the key" in message
    assert "in partition 1" in message or "in partition 0" in message


def test_source_with_missing_files_is_not_reshaped(tmp_path: Path) -> None:
    root = Path(shutil.copytree(checkpoint("agg_update"), tmp_path / "checkpoint"))
    for path in (root / "state/0/1").iterdir():
        if path.is_file():
            path.unlink()
    with pytest.raises(InspectorError):
        api.copy(str(root), str(tmp_path / "copy"), partitions=3)
    assert not (tmp_path / "copy").exists()
