"""``inspector copy --provider``: rows for the other provider, also with other options."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from inspector import api
from inspector.analyses.copy import reshaping
from inspector.api import CheckpointError, Options
from inspector.exceptions import SourceNotWholeError
from inspector.model import StoreName
from tests.analyses.test_copy import KILLS, checkpoint, severe
from tests.analyses.test_reshape import (
    every_checkpoint,
    live_rows,
    logged_confs,
    refusal,
    stores_in_metadata,
)
from tests.attributes import attributes
from tests.checkpoint_files import contents_below
from tests.cli.support import run
from tests.profiles import sampled
from tests.reports import cell_values, notes_starting_with

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
CLASSES = {"hdfs": "HDFSBackedStateStoreProvider", "rocksdb": "RocksDBStateStoreProvider"}


def file_names(root: Path, pattern: str) -> list[str]:
    """Return the names of state files that match a pattern."""
    return attributes(root.glob(f"state/**/{pattern}"), "name")


LEFT = "trouble_kept_timeouts"
TWINS = [
    "agg_update",
    "dedup_event_time",
    "join_left_outer",
    "session_window",
    "fmgws_event_ignore",
]
GOLDEN = Path(__file__).parents[1] / "golden"


def other_provider(root: Path) -> Any:
    """Return the provider that did not write a checkpoint."""
    return "hdfs" if "rocksdb" in root.parts[-2] and "hdfs" not in root.parts[-2] else "rocksdb"


@pytest.mark.parametrize(
    "root",
    sampled(every_checkpoint()[1::2], every=9),
    ids=lambda root: f"{root.parts[-3]}-{root.parts[-2]}",
)
def test_copy_for_the_other_provider_has_the_rows_of_its_source(root: Path, tmp_path: Path) -> None:
    before, dest, provider = contents_below(root), tmp_path / "copy", other_provider(root)
    try:
        report = api.copy(str(root), str(dest), provider=provider, stopped=True)
    except (CheckpointError, SourceNotWholeError):
        assert not dest.exists()
    else:
        assert report.summary["provider"] == CLASSES[provider]
        assert live_rows(dest) == live_rows(root)
        assert logged_confs(dest, PROVIDER) == {f"{PACKAGE}.{CLASSES[provider]}"}
        assert severe(dest) == []
    assert contents_below(root) == before
    assert list(tmp_path.glob(".*")) == []


def schema_files(root: Path) -> list[Path]:
    """Return the relative paths of the schema files, sorted."""
    return sorted(path.relative_to(root) for path in root.rglob("schema"))


@pytest.mark.parametrize("query", TWINS)
def test_copy_for_rocksdb_equals_the_query_on_rocksdb(query: str, tmp_path: Path) -> None:
    """Spark ran the query on both providers with equal input."""
    source, twin = checkpoint(f"rocksdb_{query}_hdfs"), checkpoint(f"rocksdb_{query}")
    dest = tmp_path / "copy"
    report = api.copy(str(source), str(dest), provider="rocksdb")
    assert report.summary["rows"] > 0
    assert live_rows(dest) == live_rows(twin)
    assert file_names(dest, "*.changelog") != []
    assert file_names(dest, "*.snapshot") + file_names(dest, "*.delta") == []
    assert schema_files(dest) == schema_files(twin)
    assert severe(dest) == []
    assert api.preflight(str(dest)).summary["verdict"] != "refused"


@pytest.mark.parametrize("query", TWINS)
def test_copy_for_hdfs_equals_the_query_on_hdfs(query: str, tmp_path: Path) -> None:
    """Spark ran the query on both providers with equal input."""
    source, twin = checkpoint(f"rocksdb_{query}"), checkpoint(f"rocksdb_{query}_hdfs")
    dest = tmp_path / "copy"
    report = api.copy(str(source), str(dest), provider="hdfs")
    assert report.summary["rows"] > 0
    assert live_rows(dest) == live_rows(twin)
    assert file_names(dest, "*.snapshot") != []
    assert file_names(dest, "*.changelog") + file_names(dest, "*.zip") == []
    assert schema_files(dest) == schema_files(twin)
    assert severe(dest) == []
    assert api.preflight(str(dest)).summary["verdict"] != "refused"


def test_copy_for_hdfs_has_no_checkpoint_ids(tmp_path: Path) -> None:
    root, dest = checkpoint("rocksdb_agg_update_snapshots_format2"), tmp_path / "copy"
    report = api.copy(str(root), str(dest), provider="hdfs")
    commits = "".join(path.read_text() for path in (dest / "commits").glob("[0-9]*"))
    assert commits.startswith("v1\n")
    assert "v2" not in commits
    assert "stateUniqueIds" not in commits
    assert "STATE_STORE_CHECKPOINT_IDS_NOT_SUPPORTED" in " ".join(report.notes)
    assert live_rows(dest) == live_rows(root)


@pytest.mark.parametrize(
    ("case", "provider"),
    [("agg_row_checksum", "rocksdb"), ("rocksdb_agg_update_snapshots_rowsum", "hdfs")],
)
def test_copy_with_row_checksums_is_written_for_the_other_provider(
    case: str, provider: Any, tmp_path: Path
) -> None:
    dest = tmp_path / "copy"
    api.copy(str(checkpoint(case)), str(dest), provider=provider)
    assert live_rows(dest) == live_rows(checkpoint(case))
    assert api.verify(str(dest)).complete
    assert severe(dest) == []


def test_query_that_began_before_spark_3_3_keeps_its_partitions(tmp_path: Path) -> None:
    root = checkpoint("join_left_outer", "3.1.3")
    api.copy(str(root), str(tmp_path / "copy"), provider="rocksdb")
    assert live_rows(tmp_path / "copy") == live_rows(root)


def test_plan_for_another_provider_writes_nothing_and_repeats_its_options(tmp_path: Path) -> None:
    root, dest = checkpoint("agg_update"), tmp_path / "copy"
    words: dict[str, Any] = {"provider": "rocksdb", "partitions": 3}
    planned = api.copy(str(root), str(dest), plan=True, **words)
    assert not dest.exists()
    commands = str(attributes(planned.steps, "command"))
    assert "--partitions 3 --provider rocksdb" in commands
    written = api.copy(str(root), str(dest), **words)
    assert planned.summary["copy_state_bytes"] == written.summary["copy_state_bytes"]
    notes = " ".join(written.notes)
    assert "one changelog for each store of a partition" in notes
    assert "How long that takes was not measured" in notes


# --- with evictions -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "where", "words"),
    [
        ("dedup_no_watermark", "amount<5", {"partitions": 3, "provider": "rocksdb"}),
        ("rocksdb_fmgws_event_ignore", "key.value<k", {"partitions": 5, "provider": "hdfs"}),
        ("rocksdb_tws_event", "value<d", {"partitions": 3}),
        ("fmgws_event_ignore", "key.value<k", {"provider": "rocksdb"}),
    ],
)
def test_eviction_with_reshaping_leaves_the_rows_of_the_eviction(
    case: str, where: str, words: dict[str, Any], tmp_path: Path
) -> None:
    root, options = str(checkpoint(case)), Options(where=(where,))
    alone = api.copy(root, str(tmp_path / "alone"), options, evict="rows", by="removal")
    both = api.copy(root, str(tmp_path / "both"), options, evict="rows", by="removal", **words)
    assert both.summary["evicted_rows"] == alone.summary["evicted_rows"] > 0
    assert both.summary["rows"] == alone.summary["rows"]
    assert live_rows(tmp_path / "both") == live_rows(tmp_path / "alone")
    assert severe(tmp_path / "both") == []


@pytest.mark.parametrize("by", ["timeout", "removal"])
def test_leftovers_are_evicted_from_a_reshaped_copy(by: Any, tmp_path: Path) -> None:
    root = str(checkpoint(LEFT))
    alone = api.copy(root, str(tmp_path / "alone"), evict="leftovers", by=by)
    words: dict[str, Any] = {"partitions": 7, "provider": "rocksdb"}
    planned = api.copy(root, str(tmp_path / "both"), evict="leftovers", by=by, plan=True, **words)
    both = api.copy(root, str(tmp_path / "both"), evict="leftovers", by=by, **words)
    summaries = [alone.summary, planned.summary, both.summary]
    assert cell_values(summaries, "evicted_rows") == [80, 80, 80]
    assert live_rows(tmp_path / "both") == live_rows(tmp_path / "alone")


def test_nothing_to_evict_writes_no_copy_for_another_provider(tmp_path: Path) -> None:
    report = api.copy(
        str(checkpoint("fmgws_event_remove")),
        str(tmp_path / "copy"),
        evict="leftovers",
        provider="rocksdb",
    )
    assert report.summary["written"] is False
    assert not (tmp_path / "copy").exists()


def test_rows_of_a_copy_for_rocksdb_are_erased(tmp_path: Path) -> None:
    options, dest = Options(where=("amount<5",)), str(tmp_path / "copy")
    report = api.copy(
        str(checkpoint("dedup_no_watermark")), dest, options, evict="rows", provider="rocksdb"
    )
    (note,) = notes_starting_with(report, "Erased (")
    assert "each partition is one new changelog" in note


def test_moved_copy_of_transform_with_state_names_only_its_own_schemas(tmp_path: Path) -> None:
    root, dest = checkpoint("rocksdb_tws_event"), tmp_path / "copy"
    api.copy(str(root), str(dest), partitions=3)
    paths = cell_values(stores_in_metadata(dest), "stateSchemaFilePaths")
    assert len(paths) > 0
    assert [p for (p,) in paths if not p.startswith(f"file:{dest}/state/")] == []


# --- refusals ------------------------------------------------------------------------------------


def test_own_provider_is_refused(tmp_path: Path) -> None:
    message = refusal(checkpoint("agg_update"), tmp_path, provider="hdfs")
    assert "is of HDFSBackedStateStoreProvider already: leave out --provider" in message


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("rocksdb_tws_event", "flatMapGroupsWithState or applyInPandasWithState"),
        ("rocksdb_join_left_outer_v3", "stateFormatVersion set to 2"),
        ("rocksdb_join_left_outer_v4", "stateFormatVersion set to 2"),
        ("rocksdb_tws_processing_avro", "encoded as avro"),
    ],
)
def test_operator_that_needs_rocksdb_is_refused_with_the_next_step(
    case: str, words: str, tmp_path: Path
) -> None:
    message = refusal(checkpoint(case), tmp_path, provider="hdfs")
    assert "operator 0" in message
    assert words in message


@pytest.mark.parametrize("name", ["aggregation", "deduplication"])
def test_query_in_real_time_mode_keeps_rocksdb(name: str, tmp_path: Path) -> None:
    with tarfile.open(GOLDEN / "real_time.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    root = tmp_path / name / "checkpoint"
    message = refusal(root, tmp_path / "copies", provider="hdfs", stopped=True)
    assert "the query runs in real-time mode, which needs RocksDB. Keep the provider" in message


def test_unknown_provider_is_a_usage_error(tmp_path: Path) -> None:
    outcome = run("copy", checkpoint("agg_update"), tmp_path / "copy", "--provider", "leveldb")
    assert outcome.code == 2


def test_damaged_source_leaves_no_copy_for_another_provider(tmp_path: Path) -> None:
    root = Path(shutil.copytree(checkpoint("agg_update"), tmp_path / "checkpoint"))
    newest = max(root.glob("state/0/1/*.delta"), key=lambda path: int(path.stem))
    newest.write_bytes(newest.read_bytes()[:-5])
    with pytest.raises(SourceNotWholeError):
        api.copy(str(root), str(tmp_path / "copy"), provider="rocksdb")
    assert not (tmp_path / "copy").exists()


def test_copy_with_checksums_that_differ_is_discarded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reshaping, "sums_differ", lambda *_: StoreName(0, "default"))
    with pytest.raises(SourceNotWholeError, match="are not those that were read"):
        api.copy(str(checkpoint("agg_update")), str(tmp_path / "copy"), provider="rocksdb")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_kill_at_any_write_leaves_no_reshaped_copy(tmp_path: Path) -> None:
    root, dest = tmp_path / "source", tmp_path / "copy"
    shutil.copytree(checkpoint(LEFT), root)
    before, old = contents_below(root), 'evict="leftovers")'
    assert old in KILLS
    program = KILLS.replace(old, 'evict="leftovers", provider="rocksdb", partitions=3)')
    command = [sys.executable, "-c", program, str(root), str(dest), "within"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) >= 10
    assert contents_below(root) == before
    assert severe(dest) == []
    assert file_names(dest, "*.snapshot") + file_names(dest, "*.delta") == []


PACKAGE = "org.apache.spark.sql.execution.streaming.state"
