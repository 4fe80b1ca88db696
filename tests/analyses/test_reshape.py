"""``inspector copy --partitions``: rows in the partitions of Spark's hash."""

from __future__ import annotations

import json
import re
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
from tests.analyses.test_copy import checkpoint, severe
from tests.attributes import attributes
from tests.checkpoint_files import contents_below
from tests.cli.support import run
from tests.profiles import sampled
from tests.reports import cell_values

RELEASES = ("3.5.9", "4.1.4", "4.3.0")


def every_checkpoint() -> list[Path]:
    """Return the checkpoint of each fixture whose release records the partitioning."""
    return [
        case / "checkpoint"
        for release in RELEASES
        for case in (*cases.hdfs_cases(release), *cases.rocksdb_cases(release))
    ]


def live_rows(root: Path | str) -> Counter[tuple[Any, ...]]:
    """Return the live rows of all partitions with their bytes."""
    report = api.rows(str(root), Options(redact=Redact.NONE), raw=True)
    assert report.complete
    columns = ("operator_id", "store_name", "key_hex", "value_hex")
    return Counter(cell_values(report.primary.rows, *columns))


def logged_confs(root: Path, conf: str) -> set[str]:
    """Return the values of a conf in all entries of the offset log."""
    entries = [path.read_text().split("\n")[1] for path in (root / "offsets").glob("[0-9]*")]
    return set(cell_values(cell_values(map(json.loads, entries), "conf"), conf))


def stores_in_metadata(root: Path) -> list[dict[str, Any]]:
    """Return the stores in all operator metadata files of operator 0."""
    files = [*root.glob("state/0/_metadata/metadata"), *root.glob("state/0/_metadata/v2/[0-9]*")]
    contents = [json.loads(path.read_text().split("\n", 1)[1]) for path in files]
    return [store for content in contents for store in content["stateStoreInfo"]]


@pytest.mark.parametrize(
    ("root", "partitions"),
    # Each checkpoint gets one of the numbers, in turn.
    sampled(list(zip(every_checkpoint()[::2], cycle((1, 3, 7)), strict=False)), every=5),
)
def test_reshaped_copy_has_the_rows_of_its_source(
    root: Path, partitions: int, tmp_path: Path
) -> None:
    before, dest = contents_below(root), tmp_path / "copy"
    try:
        report = api.copy(str(root), str(dest), partitions=partitions, stopped=True)
    except (CheckpointError, SourceNotWholeError):
        assert not dest.exists()
    else:
        assert report.summary["partitions"] == partitions
        assert live_rows(dest) == live_rows(root)
        assert logged_confs(dest, "spark.sql.shuffle.partitions") == {str(partitions)}
        assert severe(dest) == []
    assert contents_below(root) == before
    assert list(tmp_path.glob(".*")) == []


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
    assert live_rows(root).total() == report.summary["rows"] > 0
    assert sorted(attributes((dest / "state/0").glob("[0-9]*"), "name")) == list("01234")
    assert set(cell_values(stores_in_metadata(dest), "numPartitions")) == {5}
    assert severe(dest) == []


def rows_by_partition(root: Path) -> list[tuple[Any, ...]]:
    """Return the live rows with their partition, sorted."""
    rows = api.rows(str(root), Options(redact=Redact.NONE), raw=True).primary.rows
    return sorted(cell_values(rows, "store_name", "partition_id", "key_hex", "value_hex"))


@pytest.mark.parametrize("case", ["agg_update", "rocksdb_tws_event", "rocksdb_join_left_outer_v4"])
def test_reshaping_back_restores_the_partitions(case: str, tmp_path: Path) -> None:
    root = checkpoint(case)
    api.copy(str(root), str(tmp_path / "more"), partitions=7)
    api.copy(str(tmp_path / "more"), str(tmp_path / "back"), partitions=2)
    assert rows_by_partition(tmp_path / "back") == rows_by_partition(root)


def test_plan_of_new_partitions_writes_nothing(tmp_path: Path) -> None:
    root, dest = checkpoint("agg_update"), tmp_path / "copy"
    planned = api.copy(str(root), str(dest), partitions=3, plan=True)
    assert not dest.exists()
    assert planned.summary["written"] is False
    assert "--partitions 3" in str(attributes(planned.steps, "command"))
    written = api.copy(str(root), str(dest), partitions=3)
    assert planned.summary["copy_state_bytes"] == written.summary["copy_state_bytes"]


def test_earlier_batch_is_reshaped(tmp_path: Path) -> None:
    root = checkpoint("agg_update")
    options = Options(batch=4)
    api.copy(str(root), str(tmp_path / "plain"), options, sink_has_no_batch_ids=True)
    api.copy(str(root), str(tmp_path / "copy"), options, sink_has_no_batch_ids=True, partitions=3)
    assert live_rows(tmp_path / "copy") == live_rows(tmp_path / "plain")


# --- refusals ------------------------------------------------------------------------------------


def refusal(root: Path, tmp_path: Path, **words: Any) -> str:
    """Return the message of a refused copy, and check that nothing was written."""
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
    (root / "commits/9").unlink()
    message = refusal(root, tmp_path, partitions=3)
    assert "batch 9 was planned and not committed" in message
    assert "let the query run it" in message
    assert "--stopped" not in message, "it would be refused, too"
    assert "leave the batch out" not in message, "the sink may have it"


def test_planned_batch_with_incomplete_state_is_left_out_of_a_reshaped_copy(tmp_path: Path) -> None:
    root = Path(shutil.copytree(checkpoint("agg_update"), tmp_path / "checkpoint"))
    (root / "commits/9").unlink()
    (root / "state/0/0/10.delta").unlink()
    assert "leave the batch out with --batch 8" in refusal(root, tmp_path, partitions=3)
    options, dest = Options(batch=8), tmp_path / "without"
    report = api.copy(str(root), str(dest), options, partitions=3, stopped=True)
    assert report.summary["written"]
    assert not (dest / "offsets/9").exists()


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
    """The audit before the copy checks all stores except those of timers by time."""
    root = Path(shutil.copytree(checkpoint("rocksdb_tws_event"), tmp_path / "checkpoint"))
    (root / "state/0/0").rename(root / "state/0/spare")
    (root / "state/0/1").rename(root / "state/0/0")
    (root / "state/0/spare").rename(root / "state/0/1")
    with pytest.raises(InspectorError):
        api.copy(str(root), str(tmp_path / "copy"), partitions=3)
    monkeypatch.setattr("inspector.analyses.copy._Copy._check_whole", lambda *_: None)
    message = refusal(root, tmp_path, partitions=3)
    assert re.search("Spark's hash puts the row with the key .* in partition [01]", message)


def test_source_with_missing_files_is_not_reshaped(tmp_path: Path) -> None:
    root = Path(shutil.copytree(checkpoint("agg_update"), tmp_path / "checkpoint"))
    shutil.rmtree(root / "state/0/1")
    (root / "state/0/1").mkdir()
    with pytest.raises(InspectorError):
        api.copy(str(root), str(tmp_path / "copy"), partitions=3)
    assert not (tmp_path / "copy").exists()
