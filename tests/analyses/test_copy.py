"""``inspector copy``: written files, evicted rows, refusals, and unfinished copies."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from inspector import api
from inspector.api import CheckpointError, Options
from inspector.checkpoint import destination
from inspector.decode.frames import inflate
from inspector.decode.row_hash import row_hash
from inspector.encode.side_sums import hadoop_sums_of
from inspector.exceptions import SourceNotWholeError
from inspector.model import Redact
from tests import cases
from tests.attributes import attributes
from tests.checkpoint_files import contents_below, files_below
from tests.cli.support import run
from tests.fixture_folder import FIXTURES
from tests.profiles import sampled
from tests.reports import cell_values, notes_starting_with, rows_where

LEFT = "trouble_kept_timeouts"
UNLIMITED = {"pages", "amounts", "total"}  # state variables of the fixtures without a TTL
RELEASES = ("2.4.8", "3.1.3", "3.5.9", "4.1.4", "4.3.0")


def checkpoint(case: str, release: str = "4.3.0") -> Path:
    return FIXTURES / release / case / "checkpoint"


def every_checkpoint() -> list[Path]:
    """Return the checkpoint of each fixture of some Spark releases."""
    return [
        case / "checkpoint"
        for release in RELEASES
        for case in (*cases.hdfs_cases(release), *cases.rocksdb_cases(release))
    ]


def rows(root: Path | str, batch: int | None = None) -> list[tuple[Any, ...]]:
    """Return the live rows with their bytes, sorted."""
    report = api.rows(str(root), Options(batch=batch, redact=Redact.NONE), raw=True)
    columns = ("operator_id", "store_name", "partition_id", "key_hex", "value_hex")
    live = sorted(cell_values(report.primary.rows, *columns))
    assert report.complete
    return live


def keys_of(live: Iterable[tuple[Any, ...]]) -> set[str]:
    """Return the keys of live rows in hex."""
    return {row[3] for row in live}


def severe(root: Path | str) -> list[str]:
    """Return the ids of findings of an audit about files (SS1nn) that are errors."""
    findings = api.audit(str(root)).findings
    return [
        f.kind.id for f in findings if f.kind.id.startswith("SS1") and f.severity.word == "error"
    ]


# --- plain copies ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "root",
    sampled(every_checkpoint()[::3], every=6),
    ids=lambda root: f"{root.parts[-3]}-{root.parts[-2]}",
)
def test_copy_has_the_rows_of_its_source(root: Path, tmp_path: Path) -> None:
    before = contents_below(root)
    try:
        report = api.copy(str(root), str(tmp_path / "copy"))
    except (CheckpointError, SourceNotWholeError):
        assert not (tmp_path / "copy").exists()
    else:
        assert report.complete
        assert not report.fails
        assert rows(tmp_path / "copy") == rows(root)
        assert severe(tmp_path / "copy") == []
    assert contents_below(root) == before
    assert list(tmp_path.glob(".*")) == []


def test_copied_state_files_have_the_bytes_of_the_newest_chain(tmp_path: Path) -> None:
    root = checkpoint("snapshots_cleaned")
    api.copy(str(root), str(tmp_path / "copy"))
    copied, source = contents_below(tmp_path / "copy"), contents_below(root)
    states = [
        *("state/0/0/12.snapshot", "state/0/0/13.delta", "state/0/0/14.delta"),
        "state/0/0/_metadata/schema",
        *("state/0/1/12.snapshot", "state/0/1/13.delta", "state/0/1/14.delta"),
        "state/0/_metadata/metadata",
    ]
    logs = ["commits/12", "commits/13", "metadata", "offsets/12", "offsets/13"]
    assert sorted(copied) == ["_inspector.json", *logs, *states]
    assert [copied[name] for name in states] == [source[name] for name in states]


@pytest.mark.parametrize("case", ["agg_update", "codec_lzf", "codec_snappy", "codec_zstd"])
def test_compact_copy_has_one_snapshot(case: str, tmp_path: Path) -> None:
    root = checkpoint(case)
    api.copy(str(root), str(tmp_path / "copy"), compact=True)
    assert len(list((tmp_path / "copy/state/0/0").glob("*.snapshot"))) == 1
    assert list((tmp_path / "copy/state/0/0").glob("*.delta")) == []
    assert rows(tmp_path / "copy") == rows(root)


def test_copy_of_an_earlier_batch_leaves_out_later_batches(tmp_path: Path) -> None:
    root, dest = checkpoint("agg_update"), tmp_path / "copy"
    report = api.copy(str(root), str(dest), Options(batch=4), sink_has_no_batch_ids=True)
    assert rows(dest) == rows(root, batch=4)
    assert (dest / "offsets/4").exists()
    assert not (dest / "offsets/5").exists()
    assert "The query resumes after batch 4" in "\n".join(report.notes)


def test_schema_paths_point_into_the_copy(tmp_path: Path) -> None:
    api.copy(str(checkpoint("rocksdb_tws_event")), str(tmp_path / "copy"))
    folder = tmp_path / "copy/state/0/_metadata/v2"
    for path in folder.glob("[0-9]*"):
        (store,) = json.loads(path.read_text("utf-8").split("\n", 1)[1])["stateStoreInfo"]
        for schema in store["stateSchemaFilePaths"]:
            assert Path(schema.removeprefix("file:")).is_file()
            assert schema.startswith(f"file:{tmp_path}/copy/state/")


# --- evictions ---------------------------------------------------------------------------------


def leftover_keys(root: Path) -> set[str]:
    """Return the proven leftover keys in hex."""
    listed = api.leftovers(str(root), Options(redact=Redact.NONE)).primary.rows
    return set(cell_values(rows_where(listed, certainty="proven"), "key_hex"))


def test_evicting_leftovers_changes_no_other_row(tmp_path: Path) -> None:
    root = checkpoint(LEFT)
    report = api.copy(str(root), str(tmp_path / "copy"), evict="leftovers", by="removal")
    assert report.summary["evicted_rows"] == 80
    before, after = set(rows(root)), set(rows(tmp_path / "copy"))
    assert after < before
    assert keys_of(before - after) == leftover_keys(root)
    assert severe(tmp_path / "copy") == []
    assert leftover_keys(tmp_path / "copy") == set()


def test_eviction_by_timeout_changes_only_the_timers(tmp_path: Path) -> None:
    """The timeout is the third word of a value; 1 is a time that has passed."""
    root = checkpoint(LEFT)
    report = api.copy(str(root), str(tmp_path / "copy"), evict="kept_without_timeout")
    assert cell_values(report.tables[1].rows, "way") == ["timeout"]
    before, after = set(rows(root)), set(rows(tmp_path / "copy"))
    expected = {
        (*row, value[:32] + "0100000000000000" + value[48:]) for *row, value in before - after
    }
    assert after - before == expected
    assert keys_of(before - after) == leftover_keys(root)


@pytest.mark.parametrize(
    "case",
    [
        *("rocksdb_fmgws_event_ignore", "rocksdb_fmgws_event_ignore_hdfs", "fmgws_row_checksum"),
        *("rocksdb_dedup_event_time", "dedup_within_watermark", "dedup_no_watermark"),
    ],
)
def test_named_key_is_evicted_with_both_providers(case: str, tmp_path: Path) -> None:
    root = checkpoint(case)
    first, *remaining = rows(root)
    report = api.copy(
        str(root), str(tmp_path / "copy"), Options(key=f"hex:{first[3]}"), by="removal"
    )
    assert report.summary["evicted_rows"] == 1
    assert rows(tmp_path / "copy") == remaining
    assert severe(tmp_path / "copy") == []


@pytest.mark.parametrize(
    ("batch", "evicted", "rows_of_variables"),
    [
        (None, 27, {"pages": 31, "amounts": 27, "total": 20}),
        (4, 6, {"pages": 25, "amounts": 21, "total": 16, "recent": 9, "visited": 8, "seen": 4}),
        (5, 16, {"pages": 25, "amounts": 23, "total": 15, "recent": 6, "visited": 3, "seen": 2}),
    ],
)
def test_expired_ttl_values_are_evicted(
    batch: int | None, evicted: int, rows_of_variables: dict[str, int], tmp_path: Path
) -> None:
    root, dest = checkpoint("rocksdb_tws_undeclared"), tmp_path / "copy"
    report = api.copy(
        str(root), str(dest), Options(batch=batch), evict="leftovers", sink_has_no_batch_ids=True
    )
    assert report.summary["evicted_rows"] == evicted
    stores = Counter(cell_values(api.rows(str(dest)).primary.rows, "store_name"))
    assert stores.items() >= rows_of_variables.items()
    assert {"recent", "visited", "seen"} & set(stores) == {*rows_of_variables} - UNLIMITED
    assert severe(dest) == []


def test_expired_ttl_values_are_evicted_with_their_index_rows(tmp_path: Path) -> None:
    """Spark keeps an index of the expiry times, and the count and earliest expiry of a list."""
    root, dest = checkpoint("rocksdb_tws_undeclared"), tmp_path / "copy"
    options = Options(batch=5)
    api.copy(str(root), str(dest), options, evict="leftovers", sink_has_no_batch_ids=True)
    live = list(api.rows(str(dest)).primary.rows)
    users = [{"value": "steady-000"}, {"value": "once-012"}, {"value": "swap-000"}]
    assert cell_values(rows_where(live, store_name="recent"), "key") == [
        {"value": "steady-000", "index": 0},
        {"value": "steady-000", "index": 1},
        {"value": "once-012", "index": 0},
        {"value": "once-012", "index": 1},
        {"value": "swap-000", "index": 0},
        {"value": "swap-000", "index": 1},
    ]
    counts = rows_where(live, store_name="$count_recent")
    assert cell_values(counts, "key", "value") == list(zip(users, [{"count": 2}] * 3, strict=True))
    expiry = {"expirationMs": 1_704_067_255_000}
    earliest = rows_where(live, store_name="$min_recent")
    assert cell_values(earliest, "key", "value") == list(zip(users, [expiry] * 3, strict=True))
    assert cell_values(rows_where(live, store_name="$ttl_recent"), "key") == [
        expiry | {"elementKey": users[0]},
        expiry | {"elementKey": users[1]},
        expiry | {"elementKey": users[2]},
    ]
    assert cell_values(rows_where(live, store_name="seen"), "key") == users[:2]
    assert cell_values(rows_where(live, store_name="$ttl_seen"), "key") == [
        expiry | {"elementKey": users[0]},
        expiry | {"elementKey": users[1]},
    ]
    visited = [
        {"key": users[0], "userKey": {"value": "p0"}},
        {"key": users[1], "userKey": {"value": "a"}},
        {"key": users[1], "userKey": {"value": "b"}},
    ]
    assert cell_values(rows_where(live, store_name="visited"), "key") == visited
    assert cell_values(rows_where(live, store_name="$ttl_visited"), "key") == [
        expiry | {"elementKey": visited[0]},
        expiry | {"elementKey": visited[1]},
        expiry | {"elementKey": visited[2]},
    ]


TRANSFORMED = [
    *sorted((FIXTURES / "4.0.5").glob("rocksdb_tws_*[!o]/checkpoint")),
    *sorted((FIXTURES / "4.3.0").glob("rocksdb_tws_*[!o]/checkpoint")),
]
"""The fixtures of transformWithState whose rows are not Avro."""


@pytest.mark.parametrize(
    "root",
    sampled(TRANSFORMED, every=4),
    ids=lambda root: f"{root.parts[-3]}-{root.parts[-2]}",
)
def test_grouping_key_of_transform_with_state_is_evicted(root: Path, tmp_path: Path) -> None:
    """Values, lists, maps, timers in both directions, and Spark's own rows of a key are evicted."""
    dest = tmp_path / "copy"
    report = api.copy(str(root), str(dest), Options(key="steady-000"))
    before, after = set(rows(root)), set(rows(dest))
    assert after < before
    evicted = before - after
    assert report.summary["evicted_rows"] == len(evicted) > 3
    steady = b"steady-000".hex()
    assert [row for row in evicted if steady not in row[3]] == []
    assert steady not in " ".join(keys_of(after))
    assert severe(dest) == []


def test_grouping_key_is_named_by_bytes_or_hash(tmp_path: Path) -> None:
    root, dest = str(checkpoint("rocksdb_tws_processing")), str(tmp_path / "c")
    live = list(api.rows(root, raw=True).primary.rows)
    total = rows_where(live, store_name="total")[0]
    by_field = api.copy(root, dest, Options(key=total["key"]["value"]), plan=True)
    by_bytes = api.copy(root, dest, Options(key=f"hex:{total['key_hex']}"), plan=True)
    by_hash = api.copy(
        root, dest, Options(key=row_hash(bytes.fromhex(total["key_hex"]))), plan=True
    )
    assert list(by_field.tables[1].rows) == list(by_bytes.tables[1].rows)
    assert list(by_field.tables[1].rows) == list(by_hash.tables[1].rows)


def test_map_entry_is_not_evicted_alone(tmp_path: Path) -> None:
    root = str(checkpoint("rocksdb_tws_processing"))
    entry = rows_where(api.rows(root, raw=True).primary.rows, store_name="pages")[0]
    options = Options(key=f"hex:{entry['key_hex']}")
    report = api.copy(root, str(tmp_path / "copy"), options)
    assert report.summary["evicted_rows"] == 0
    assert not (tmp_path / "copy").exists()


def files_with(root: Path, key: bytes) -> list[str]:
    """Return the names of state files whose records have a key, sorted."""
    return sorted(
        path.name
        for pattern in ("*.delta", "*.snapshot", "*.changelog")
        for path in (root / "state").rglob(pattern)
        if key in b"".join(inflate(iter([path.read_bytes()]), "lz4"))
    )


def test_erased_key_is_in_no_file_of_the_copy(tmp_path: Path) -> None:
    root = checkpoint(LEFT)
    victim = rows(root)[0][3]
    report = api.copy(str(root), str(tmp_path / "copy"), Options(key=f"hex:{victim}"), by="removal")
    assert files_with(root, bytes.fromhex(victim)) != []
    assert files_with(tmp_path / "copy", bytes.fromhex(victim)) == []
    assert notes_starting_with(report, "Erased (1 row)")


def test_note_names_changelogs_that_still_contain_a_removed_key(tmp_path: Path) -> None:
    root = checkpoint("rocksdb_dedup_event_time")
    victim = rows(root)[0][3]
    report = api.copy(str(root), str(tmp_path / "copy"), Options(key=f"hex:{victim}"))
    (note,) = notes_starting_with(report, "Removed, not erased (1 row)")
    assert "the changelog of version 8 names the keys once more, as removals" in note
    expected = ["7.changelog", "8.changelog"]
    assert files_with(tmp_path / "copy", bytes.fromhex(victim)) == expected
    assert report.summary["changed_version"] == 8


def test_key_evicted_by_timeout_is_not_erased(tmp_path: Path) -> None:
    options = Options(key=f"hex:{rows(checkpoint(LEFT))[0][3]}")
    report = api.copy(str(checkpoint(LEFT)), str(tmp_path / "copy"), options, plan=True)
    assert notes_starting_with(report, "Not erased (1 row by timeout)")


def test_plan_of_an_eviction_writes_nothing(tmp_path: Path) -> None:
    report = api.copy(str(checkpoint(LEFT)), str(tmp_path / "copy"), evict="leftovers", plan=True)
    _, evictions, keys = report.tables
    assert not list(tmp_path.iterdir())
    (row,) = evictions.rows
    assert row["rows"] == 80
    assert row["effect"].startswith("In the first batch Spark calls the function")
    assert f"By timeout (operator 0): {row['effect']}" in report.notes
    assert len(list(keys.rows)) == 5


def test_plan_lists_refused_rows(tmp_path: Path) -> None:
    options, dest = Options(where=("key.field0!=null",)), str(tmp_path / "copy")
    report = api.copy(str(checkpoint("join_left_outer")), dest, options, plan=True)
    assert cell_values(report.tables[1].rows, "store_name", "way", "rows") == [
        ("left-keyToNumValues", "refused", 44),
        ("left-keyWithIndexToValue", "refused", 61),
        ("right-keyToNumValues", "refused", 12),
        ("right-keyWithIndexToValue", "refused", 15),
    ]
    assert "Refused. A row of a join" in cell_values(report.tables[1].rows, "effect")[0]
    assert report.summary["evicted_rows"] == 0
    assert report.summary["refused_rows"] == 132
    assert "would refuse to write" in report.notes[-1]
    assert report.fails


def test_plan_has_the_bytes_and_keys_of_the_copy(tmp_path: Path) -> None:
    """The changed version has checksum files if the other versions have them."""
    root = tmp_path / "source"
    shutil.copytree(checkpoint(LEFT), root)
    for path in list((root / "state").rglob("*.delta")):
        path.with_name(f".{path.name}.crc").write_bytes(hadoop_sums_of(path.read_bytes()))
    plan = api.copy(str(root), str(tmp_path / "copy"), evict="leftovers", plan=True)
    report = api.copy(str(root), str(tmp_path / "copy"), evict="leftovers")
    assert files_below(tmp_path, "copy/state/0/[0-9]*/*.crc")
    stores = files_below(tmp_path, "copy/state/0/[0-9]*/*")
    assert plan.summary["copy_state_bytes"] == sum(path.stat().st_size for path in stores)
    assert [list(t.rows) for t in plan.tables] == [list(t.rows) for t in report.tables]


def test_info_describes_the_origin_of_a_copy(tmp_path: Path) -> None:
    api.copy(str(checkpoint(LEFT)), str(tmp_path / "copy"), evict="leftovers")
    notes = " ".join(api.info(str(tmp_path / "copy")).notes)
    assert re.search(r"copied from .* 80 rows \(kept_without_timeout\)", notes)


def source_of(case: str, tmp_path: Path) -> Path:
    """Return a copy of a fixture's checkpoint that a test may change."""
    return Path(shutil.copytree(checkpoint(case), tmp_path / "source"))


# --- refusals and failures ---------------------------------------------------------------------


def refusal(root: Path, dest: Path, options: Options | None = None, **own: Any) -> str:
    with pytest.raises(api.InspectorError) as caught:
        api.copy(str(root), str(dest), options, **own)
    assert not dest.exists() or not (dest / "metadata").exists()
    return str(caught.value)


@pytest.mark.parametrize(
    ("case", "condition", "words"),
    [
        ("join_left_outer", "key.field0!=null", "rows of joins are not evicted"),
        ("session_window", "key.sessionStartTime!=null", "Results would be lost"),
        ("agg_append", "key.window.end!=null", "Results would be lost"),
        ("rocksdb_tws_event", "key.key.value!=null", "name fields of the grouping key alone"),
        ("rocksdb_tws_event", "value.count>0", "name fields of the grouping key alone"),
        ("rocksdb_tws_undeclared", "key.index>=0", "store amounts: 27 rows cannot be evicted"),
        ("rocksdb_tws_processing_avro", "value=once-016", "read here and not written"),
        ("rocksdb_join_left_outer_v4", "key.field0!=null", "rows of joins are not evicted"),
    ],
)
def test_eviction_that_loses_results_is_refused(
    case: str, condition: str, words: str, tmp_path: Path
) -> None:
    options = Options(where=(condition,))
    assert words in refusal(checkpoint(case), tmp_path / "copy", options, by="removal")


def test_destination_in_use_or_inside_the_source_is_refused(tmp_path: Path) -> None:
    root = source_of("agg_update", tmp_path)
    before = contents_below(root)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("mine")
    assert "holds file, expected nothing" in refusal(root, tmp_path / "full")
    (tmp_path / "full/second").write_text("mine")
    assert "holds file and 1 more, expected nothing" in refusal(root, tmp_path / "full")
    assert "lies in the checkpoint" in refusal(root, root / "copy")
    assert contents_below(root) == before


@pytest.mark.parametrize("target", ["empty", "nowhere"])
def test_symbolic_link_as_destination_is_refused(target: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / target)
    with pytest.raises(CheckpointError, match="is a symbolic link"):
        api.copy(str(checkpoint("agg_update")), str(tmp_path / "link"))


def test_transform_with_state_without_operator_metadata_is_refused(tmp_path: Path) -> None:
    """Spark does not start transformWithState without the operator's metadata."""
    root = Path(shutil.copytree(checkpoint("rocksdb_tws_rows_event"), tmp_path / "ck"))
    shutil.rmtree(root / "state/0/_metadata")
    words = refusal(root, tmp_path / "copy")
    assert "no query would restart from a copy of it" in words
    assert "lacks state/0/_metadata/metadata" in words
    assert not (tmp_path / "copy").exists()


def test_copy_without_state_restarts_only_a_stateless_query(tmp_path: Path) -> None:
    """A query without state and one whose state is lost have the same files."""
    root = Path(shutil.copytree(checkpoint("agg_global"), tmp_path / "ck"))
    shutil.rmtree(root / "state")
    report = api.copy(str(root), str(tmp_path / "copy"))
    assert "yes if the query keeps no state; else no" in "\n".join(report.notes)
    report = api.copy(str(checkpoint("agg_global")), str(tmp_path / "whole"))
    assert "keeps no state" not in "\n".join(report.notes)


def test_newest_commit_alone_is_enough_for_a_copy(tmp_path: Path) -> None:
    """Spark restarts from the newest commit alone."""
    root = source_of("agg_update", tmp_path)
    newest = (root / "commits/9").read_bytes()
    shutil.rmtree(root / "commits")
    (root / "commits").mkdir()
    (root / "commits/9").write_bytes(newest)
    assert api.copy(str(root), str(tmp_path / "copy")).summary["written"]
    assert api.info(str(tmp_path / "copy")).summary["last_committed_batch"] == 9
    assert rows(tmp_path / "copy") == rows(root)


def test_empty_folder_is_a_valid_destination(tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    api.copy(str(checkpoint("agg_update")), str(tmp_path / "copy"))
    assert rows(tmp_path / "copy") == rows(checkpoint("agg_update"))


def test_uncommitted_batch_is_refused(tmp_path: Path) -> None:
    root, dest = checkpoint("uncommitted"), tmp_path / "copy"
    words = refusal(root, dest)
    assert "was planned and not committed" in words
    assert "add --stopped" in words
    words = refusal(root, dest, Options(batch=3), stopped=True)
    assert "CANNOT_READ_DELTA_FILE_NOT_EXISTS" in words
    assert "A copy without --batch has the planned batch" in words
    options = Options(batch=3)
    report = api.copy(str(root), str(dest), options, stopped=True, sink_has_no_batch_ids=True)
    assert report.summary["written"]
    assert not (dest / "offsets/4").exists()


def test_planned_batch_is_copied_with_its_state_files(tmp_path: Path) -> None:
    """A sink that has the batch skips it, and then Spark writes no state for it."""
    root = checkpoint("uncommitted")
    report = api.copy(str(root), str(tmp_path / "copy"), stopped=True)
    assert report.summary["planned_batch"] == 4
    source, copied = contents_below(root), contents_below(tmp_path / "copy")
    assert copied["offsets/4"] == source["offsets/4"]
    assert "commits/4" not in copied
    assert copied["state/0/0/5.delta"] == source["state/0/0/5.delta"]
    assert copied["state/0/1/5.delta"] == source["state/0/1/5.delta"]
    assert "evict then" in refusal(root, tmp_path / "other", evict="leftovers", stopped=True)


def test_planned_batch_with_incomplete_state_can_be_left_out(tmp_path: Path) -> None:
    """Spark hands a batch to the sink when every task has written its state."""
    root, dest = source_of("uncommitted", tmp_path), tmp_path / "copy"
    (root / "state/0/0/5.delta").unlink()
    assert "leave the batch out with --batch 3" in refusal(root, dest)
    assert api.copy(str(root), str(dest), Options(batch=3), stopped=True).summary["written"]
    assert not (dest / "offsets/4").exists()
    assert api.copy(str(root), str(tmp_path / "kept"), stopped=True).summary["planned_batch"] == 4


def test_state_files_of_a_running_batch_are_refused(tmp_path: Path) -> None:
    root = source_of(LEFT, tmp_path)
    shutil.copy(root / "state/0/0/14.delta", root / "state/0/0/15.delta")
    words = refusal(root, tmp_path / "copy", evict="leftovers")
    assert "state files of version 15, which no batch has committed" in words
    assert api.copy(str(root), str(tmp_path / "copy"), stopped=True).summary["written"]


def test_query_that_runs_a_batch_during_the_copy_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, write = source_of(LEFT, tmp_path), destination.Destination.write

    def run_batch_and_write(self: Any, relative: str, chunks: Iterator[bytes]) -> int:
        shutil.copy(root / "offsets/13", root / "offsets/14")
        return write(self, relative, chunks)

    monkeypatch.setattr(destination.Destination, "write", run_batch_and_write)
    assert "has run a batch while it was copied" in refusal(root, tmp_path / "copy", stopped=True)
    assert list(tmp_path.iterdir()) == [root]


FIRST_FIVE = ("0", "1", "2", "3", "4", "5")


@pytest.mark.parametrize(
    ("entries", "newest", "gone"),
    [
        (FIRST_FIVE, 5, "5"),
        (FIRST_FIVE, 5, "2"),
        (("9.compact", "10", "11"), 11, "9.compact"),
    ],
)
def test_file_source_log_with_a_gap_is_refused(
    entries: tuple[str, ...], newest: int, gone: str, tmp_path: Path
) -> None:
    root = source_of("agg_update", tmp_path)
    version, head, _ = (root / "offsets/9").read_text("utf-8").splitlines()
    (root / "offsets/.9.crc").unlink(missing_ok=True)
    (root / "offsets/9").write_text(f'{version}\n{head}\n{{"logOffset":{newest}}}')
    log = root / "sources/0"
    log.mkdir(parents=True)
    for entry in entries:
        (log / entry).write_text("v1\n")
    api.copy(str(root), str(tmp_path / "whole"))
    (log / gone).unlink()
    assert f"sources/0/{gone} is missing" in refusal(root, tmp_path / "copy")
    assert run("copy", root, tmp_path / "copy").code == 4


def test_missing_operator_metadata_of_a_group_state_is_a_note(tmp_path: Path) -> None:
    root = tmp_path / "source"
    shutil.copytree(checkpoint(LEFT), root)
    (root / "state/0/_metadata/metadata").unlink()
    report = api.copy(str(root), str(tmp_path / "copy"))
    assert report.summary["written"]
    assert report.complete
    assert "metadata is missing" in "\n".join(report.notes)


def test_copy_without_query_id_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "source"
    shutil.copytree(checkpoint(LEFT), root)
    (root / "metadata").unlink()
    words = refusal(root, tmp_path / "copy")
    assert words.startswith(f"{root}: no query would restart from a copy of it")
    assert attributes(tmp_path.iterdir(), "name") == ["source"]


def test_damaged_delta_is_refused_unless_the_batch_precedes_it(tmp_path: Path) -> None:
    root, dest = source_of("agg_update", tmp_path), tmp_path / "copy"
    delta = root / "state/0/0/5.delta"
    delta.write_bytes(delta.read_bytes()[:-9])
    (root / "state/0/0/.5.delta.crc").unlink(missing_ok=True)
    assert "nothing was written" in refusal(root, dest)
    assert run("copy", root, dest).code == 4
    report = api.copy(str(root), str(dest), Options(batch=3), sink_has_no_batch_ids=True)
    assert not report.fails


def test_copy_with_wrong_rows_is_discarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, write = checkpoint("agg_update"), destination.Destination.write

    def write_other_rows(self: Any, relative: str, chunks: Iterator[bytes]) -> int:
        replaced = {"state/0/0/10.delta": iter([(root / "state/0/0/9.delta").read_bytes()])}
        return write(self, relative, replaced.get(relative, chunks))

    monkeypatch.setattr(destination.Destination, "write", write_other_rows)
    refusal(root, tmp_path / "copy")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["metadata", "offsets/9", "state/0/0/_metadata/schema"])
def test_written_log_and_schema_files_are_verified(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = destination.Destination.write

    def changing(self: Any, relative: str, chunks: Iterator[bytes]) -> int:
        if relative == name:
            chunks = iter([b"".join(chunks).replace(b"0", b"1")])
        return write(self, relative, chunks)

    monkeypatch.setattr(destination.Destination, "write", changing)
    words = refusal(checkpoint("agg_update"), tmp_path / "copy")
    assert f"{name}: the copy does not hold what was written" in words
    assert not list(tmp_path.iterdir())


def test_nothing_to_evict_is_exit_code_1_without_a_copy(tmp_path: Path) -> None:
    outcome = run("copy", checkpoint("agg_update"), tmp_path / "copy", "--evict", "leftovers")
    assert (outcome.code, list(tmp_path.iterdir())) == (1, [])
    assert "There is nothing to evict" in outcome.out


@pytest.mark.parametrize(
    "options",
    [
        *(["--evict", "nonsense"], ["--evict", "rows"], ["--plan"], ["--by", "removal"]),
        ["--evict", "leftovers", "--operator", "7"],
    ],
)
def test_contradicting_copy_options_are_usage_errors(options: list[str], tmp_path: Path) -> None:
    assert run("copy", checkpoint(LEFT), tmp_path / "copy", *options).code == 2


KILLS = """
import itertools, os, sys
from inspector import api
from inspector.checkpoint.destination import Destination

source, dest, within = sys.argv[1], sys.argv[2], sys.argv[3] == "within"
write = Destination.write

def killed(at):
    writes = itertools.count()

    def dying(self, relative, chunks):
        if next(writes) < at:
            return write(self, relative, chunks)
        def part():
            yield from itertools.islice(chunks, int(within))
            os._exit(9)
        return write(self, relative, part())

    Destination.write = dying
    api.copy(source, dest, api.Options(workers=1), evict="leftovers")
    os._exit(0)

for at in itertools.count():
    child = os.fork() or killed(at)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        break
    assert not os.path.exists(dest), at
print(at)
"""
"""Program that ends a copy at its first write, then at its second, until one is complete."""


@pytest.mark.full
@pytest.mark.parametrize("moment", ["before", "within"])
def test_kill_at_any_write_leaves_no_copy(moment: str, tmp_path: Path) -> None:
    root, dest = tmp_path / "source", tmp_path / "copy"
    shutil.copytree(checkpoint(LEFT), root)
    before = contents_below(root)
    command = [sys.executable, "-c", KILLS, str(root), str(dest), moment]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    complete = [name for name in contents_below(dest) if not name.endswith(".crc")]
    assert int(done.stdout) >= len(complete) >= 10
    assert contents_below(root) == before
    assert leftover_keys(dest) == set()


SIGKILLS = """
import os, random, shutil, signal, sys, time
from inspector import api
from inspector.analyses import copy
from inspector.checkpoint.destination import Destination

source, dest, evict, slow, count = *sys.argv[1:3], sys.argv[3] or None, *map(float, sys.argv[4:])
write, rename = Destination.write, os.rename

def slowly(self, relative, chunks):
    def part():
        for chunk in chunks:
            time.sleep(slow)
            yield chunk[: len(chunk) // 2]
            time.sleep(slow)
            yield chunk[len(chunk) // 2 :]
    return write(self, relative, part())

def rename_slowly(*names):
    time.sleep(slow)
    rename(*names)
    time.sleep(slow)

def copy_and_leave():
    if slow:
        Destination.write, os.rename = slowly, rename_slowly
    api.copy(source, dest, api.Options(workers=1), evict=evict)
    os._exit(0)

def seconds_of(wait):
    begin, child = time.monotonic(), os.fork() or copy_and_leave()
    time.sleep(wait or 0)
    if wait is not None:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL), code
    return time.monotonic() - begin

whole = seconds_of(None)
for at in range(int(count)):
    shutil.rmtree(dest, ignore_errors=True)
    seconds_of(whole * (at + random.random()) / count)
    print(int(os.path.exists(dest)), flush=True)
    if os.path.exists(dest):  # the kill came after it got its name
        assert not api.audit(dest, api.Options(workers=1)).fails
"""
"""Program that kills copies at random moments within the time that a copy takes."""


@pytest.mark.full
@pytest.mark.parametrize(
    ("case", "evict", "slow_s"),
    [
        (LEFT, "", 0.01),
        (LEFT, "leftovers", 0),
        (LEFT, "leftovers", 0.01),
        ("rocksdb_fmgws_event_ignore", "leftovers", 0.01),
    ],
)
def test_kill_at_a_random_moment_leaves_a_complete_copy_or_none(
    case: str, evict: str, slow_s: float, tmp_path: Path
) -> None:
    root, dest = tmp_path / "source", tmp_path / "copies" / "copy"
    shutil.copytree(checkpoint(case), root)
    before = contents_below(root)
    command = [sys.executable, "-c", SIGKILLS, str(root), str(dest), evict, str(slow_s), "5"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "0" in done.stdout.split()
    assert contents_below(root) == before
    # Unfinished copies have hidden names.
    hidden = set(attributes(dest.parent.iterdir(), "name")) - {"copy"}
    assert all(name.startswith(".copy.") for name in hidden)
    assert hidden or not slow_s
    shutil.rmtree(dest, ignore_errors=True)
    report = api.copy(str(root), str(dest), evict=evict or None)
    assert report.summary["written"]
    assert not api.audit(str(dest)).fails
    assert evict or rows(dest) == rows(root)


class _PowerCutError(BaseException):
    """An exception that no code of the copy handles."""


class MemoryDestination:
    """Records the files that a copy writes, and fails after some of them.

    Attributes:
        names: relative paths of the files that were written.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, most: int = 1000) -> None:
        self.names: list[str] = []
        write = destination.Destination.write

        def record(target: Any, relative: str, chunks: Iterator[bytes]) -> int:
            if len(self.names) == most:
                raise _PowerCutError
            self.names.append(relative)
            return write(target, relative, chunks)

        monkeypatch.setattr(destination.Destination, "write", record)


def test_copy_on_an_object_store_writes_the_newest_commit_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is renamed there, so only the newest commit makes the copy a checkpoint."""
    store = MemoryDestination(monkeypatch)
    api.copy(str(checkpoint(LEFT)), "memory://copies/whole", evict="leftovers")
    assert [name for name in store.names if "/." not in name][-1] == "commits/13"
    assert len(rows("memory://copies/whole")) == 113


@pytest.mark.parametrize("most", [0, 1, 5, 8])
def test_unfinished_copy_on_an_object_store_has_no_newest_commit(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"memory://copies/{most}"
    MemoryDestination(monkeypatch, most)
    with pytest.raises(_PowerCutError):
        api.copy(str(checkpoint(LEFT)), url, evict="leftovers")
    assert f"/copies/{most}/commits/13" not in MemoryFileSystem.store
    with suppress(api.InspectorError):
        assert api.info(url).summary["last_committed_batch"] != 13


def test_copy_by_several_workers_writes_equal_state_files(tmp_path: Path) -> None:
    """The batch function is that of a cluster: tasks and results are text."""
    root = str(checkpoint(LEFT))
    first = api.copy(root, str(tmp_path / "a"), evict="leftovers")
    second = api.copy(root, str(tmp_path / "b"), Options(workers=2), evict="leftovers")
    assert contents_below(tmp_path / "a/state") == contents_below(tmp_path / "b/state")
    assert list(first.primary.rows) == list(second.primary.rows)
