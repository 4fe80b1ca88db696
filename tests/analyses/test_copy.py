"""``copy``: what is written, what is evicted, what is refused, and what a failure leaves behind."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from inspector import api
from inspector.api import CheckpointError, Options, Report
from inspector.checkpoint import destination
from inspector.decode.frames import inflate, sniff
from inspector.decode.row_hash import row_hash
from inspector.encode.side_sums import hadoop_sums_of
from inspector.exceptions import SourceNotWholeError
from inspector.model import Redact
from tests import cases
from tests.cli.support import run
from tests.fixture_folder import FIXTURES
from tests.profiles import sampled

LEFT = "trouble_kept_timeouts"
RELEASES = ("2.4.8", "3.1.3", "3.5.9", "4.1.4", "4.3.0")


def checkpoint(case: str, release: str = "4.3.0") -> Path:
    return FIXTURES / release / case / "checkpoint"


def every_checkpoint() -> list[Path]:
    """A committed checkpoint of each case of some releases, with or without state."""
    roots = [
        case / "checkpoint"
        for release in RELEASES
        for case in (*cases.hdfs_cases(release), *cases.rocksdb_cases(release))
    ]
    return [root for root in roots if root.is_dir()]


def tree(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def rows(root: Path | str) -> list[tuple[Any, ...]]:
    """The live rows with their bytes, in one order."""
    report = api.rows(str(root), Options(redact=Redact.NONE), raw=True)
    columns = ("operator_id", "store_name", "partition_id", "key_hex", "value_hex")
    live = sorted(tuple(row[name] for name in columns) for row in report.primary.rows)
    assert report.complete
    return live


def severe(root: Path | str) -> list[str]:
    """What an audit finds wrong with the files."""
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
    before = tree(root)
    try:
        report = api.copy(str(root), str(tmp_path / "copy"))
    except (CheckpointError, SourceNotWholeError):
        assert not (tmp_path / "copy").exists()
    else:
        assert report.complete
        assert not report.fails
        assert rows(tmp_path / "copy") == rows(root)
        assert severe(tmp_path / "copy") == []
    assert tree(root) == before
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_copied_state_files_have_the_bytes_of_the_newest_chain(tmp_path: Path) -> None:
    root = checkpoint("snapshots_cleaned")
    api.copy(str(root), str(tmp_path / "copy"))
    written = tree(tmp_path / "copy")
    assert {name for name in written if name.startswith("state/0/0/")} < set(tree(root))
    assert all(tree(root)[name] == data for name, data in written.items() if "state/" in name)
    newest = max(int(path.name) for path in (root / "commits").glob("[0-9]*"))
    entries = {str(newest - 1), str(newest)}
    for log in ("offsets", "commits"):
        assert {path.name for path in (tmp_path / "copy" / log).glob("[0-9]*")} == entries


@pytest.mark.parametrize("codec", ["lz4", "lzf", "snappy", "zstd"])
def test_compact_copy_has_one_snapshot(codec: str, tmp_path: Path) -> None:
    root = checkpoint("agg_update" if codec == "lz4" else f"codec_{codec}")
    api.copy(str(root), str(tmp_path / "copy"), compact=True)
    names = [path.suffix for path in (tmp_path / "copy/state/0/0").iterdir() if path.is_file()]
    assert [name for name in names if name != ".crc"] == [".snapshot"]
    assert rows(tmp_path / "copy") == rows(root)


def test_copy_of_an_earlier_batch_leaves_out_later_batches(tmp_path: Path) -> None:
    root = checkpoint("agg_update")
    report = api.copy(
        str(root), str(tmp_path / "copy"), Options(batch=4), sink_has_no_batch_ids=True
    )
    earlier = api.rows(str(root), Options(batch=4, redact=Redact.NONE), raw=True)
    there = sorted((r["partition_id"], r["key_hex"], r["value_hex"]) for r in earlier.primary.rows)
    assert [(p, k, v) for _, _, p, k, v in rows(tmp_path / "copy")] == there
    assert max(int(p.name) for p in (tmp_path / "copy/offsets").glob("[0-9]*")) == 4
    assert any("The query resumes after batch 4" in note for note in report.notes)


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
    listed = api.leftovers(str(root), Options(redact=Redact.NONE)).primary.rows
    return {row["key_hex"] for row in listed if row["certainty"] == "proven"}


def test_evicting_leftovers_changes_no_other_row(tmp_path: Path) -> None:
    root = checkpoint(LEFT)
    gone = leftover_keys(root)
    report = api.copy(str(root), str(tmp_path / "copy"), evict="leftovers", by="removal")
    assert len(gone) == report.summary["evicted_rows"] > 0
    assert rows(tmp_path / "copy") == [row for row in rows(root) if row[3] not in gone]
    assert severe(tmp_path / "copy") == []
    assert leftover_keys(tmp_path / "copy") == set()


def test_eviction_by_timeout_changes_only_the_timers(tmp_path: Path) -> None:
    root = checkpoint(LEFT)
    gone = leftover_keys(root)
    report = api.copy(str(root), str(tmp_path / "copy"), evict="kept_without_timeout")
    assert {row["way"] for row in report.tables[1].rows} == {"timeout"}
    for before, after in zip(rows(root), rows(tmp_path / "copy"), strict=True):
        assert before[:4] == after[:4]
        old, new = bytes.fromhex(before[4]), bytes.fromhex(after[4])
        if before[3] in gone:
            assert int.from_bytes(new[16:24], "little") == 1
            assert old[:16] + old[24:] == new[:16] + new[24:]
        else:
            assert old == new


@pytest.mark.parametrize(
    "case",
    [
        *("rocksdb_fmgws_event_ignore", "rocksdb_fmgws_event_ignore_hdfs", "fmgws_row_checksum"),
        *("rocksdb_dedup_event_time", "dedup_within_watermark", "dedup_no_watermark"),
    ],
)
def test_named_key_is_evicted_with_both_providers(case: str, tmp_path: Path) -> None:
    root = checkpoint(case)
    first = rows(root)[0]
    options = Options(key=f"hex:{first[3]}")
    report = api.copy(str(root), str(tmp_path / "copy"), options, by="removal")
    assert report.summary["evicted_rows"] == 1
    assert rows(tmp_path / "copy") == rows(root)[1:]
    assert severe(tmp_path / "copy") == []


@pytest.mark.parametrize("batch", [None, 4, 5])
def test_expired_ttl_values_are_evicted_with_their_index_rows(
    batch: int | None, tmp_path: Path
) -> None:
    root = checkpoint("rocksdb_tws_undeclared")
    options = Options(batch=batch, redact=Redact.NONE)
    gone = {
        (row["store_name"], row["key_hex"])
        for row in api.leftovers(str(root), options).primary.rows
        if row["certainty"] == "proven"
    }
    before = list(api.rows(str(root), options, raw=True).primary.rows)
    report = api.copy(
        str(root), str(tmp_path / "copy"), options, evict="leftovers", sink_has_no_batch_ids=True
    )
    after = list(api.rows(str(tmp_path / "copy"), raw=True).primary.rows)
    assert report.summary["evicted_rows"] == len(gone) > 0
    variables = {"seen", "visited", "recent"}
    result = [row for row in before if (row["store_name"], row["key_hex"]) not in gone]

    def values(rows: list[Any], names: set[str]) -> list[tuple[str, str]]:
        chosen = (row for row in rows if row["store_name"] in names)
        return sorted((row["store_name"], row["value_hex"]) for row in chosen)

    helpers = {f"{prefix}{name}" for prefix in ("$ttl_", "$min_", "$count_") for name in variables}
    siblings = {row["store_name"] for row in before} - helpers
    assert values(after, siblings) == values(result, siblings)
    assert twins(after) == twins_of(after)
    assert severe(tmp_path / "copy") == []


TRANSFORMED = [
    root
    for release in ("4.0.5", "4.1.4", "4.2.1", "4.3.0")
    for root in sorted((FIXTURES / release).glob("rocksdb_tws_*/checkpoint"))
    if not root.parent.name.endswith("avro")
]


def group_of(row: Mapping[str, Any]) -> str:
    """The grouping key of a row of transformWithState; empty if it has none."""
    key = dict(row["key"] or {})
    key.pop("index", None)
    key = key.get("elementKey", key)
    key = key.get("key", key)
    return next(iter(key.values()), "")


@pytest.mark.parametrize(
    "root",
    sampled(TRANSFORMED, every=4),
    ids=lambda root: f"{root.parts[-3]}-{root.parts[-2]}",
)
def test_grouping_key_of_transform_with_state_is_evicted(root: Path, tmp_path: Path) -> None:
    """Values, lists, maps, timers in both directions, and Spark's own rows of them."""
    before = list(api.rows(str(root), Options(redact=Redact.NONE), raw=True).primary.rows)
    stores = Counter[str]()
    for row in before:
        stores[group_of(row)] += 1
    victim = max(stores, key=lambda name: (stores[name], name))
    report = api.copy(str(root), str(tmp_path / "copy"), Options(key=victim))
    assert report.summary["evicted_rows"] == stores[victim] > 3
    expected = [row for row in rows(root) if row[3] not in keys_of_group(before, victim)]
    assert rows(tmp_path / "copy") == expected
    assert severe(tmp_path / "copy") == []
    assert list(api.rows(str(tmp_path / "copy"), Options(key=victim)).primary.rows) == []


def keys_of_group(live: list[Any], name: str) -> set[str]:
    return {row["key_hex"] for row in live if group_of(row) == name}


def test_grouping_key_is_named_by_bytes_or_hash(tmp_path: Path) -> None:
    root = checkpoint("rocksdb_tws_processing")
    victim = next(
        row for row in api.rows(str(root), raw=True).primary.rows if row["store_name"] == "total"
    )
    names = (f"hex:{victim['key_hex']}", row_hash(bytes.fromhex(victim["key_hex"])))
    by_field = api.copy(str(root), str(tmp_path / "c"), Options(key=group_of(victim)), plan=True)
    for name in names:
        plan = api.copy(str(root), str(tmp_path / "c"), Options(key=name), plan=True)
        assert list(plan.tables[1].rows) == list(by_field.tables[1].rows)
    # The bytes of a map's key name one entry, which is not evicted alone.
    entry = next(
        row for row in api.rows(str(root), raw=True).primary.rows if row["store_name"] == "pages"
    )
    report = api.copy(str(root), str(tmp_path / "c"), Options(key=f"hex:{entry['key_hex']}"))
    assert report.summary["evicted_rows"] == 0
    assert not (tmp_path / "c").exists()


def twins(rows: list[Any]) -> Counter[tuple[str, str, int]]:
    """What lies in the indexes of the TTL, and in the counters of lists."""
    counter: Counter[tuple[str, str, int]] = Counter()
    for row in rows:
        name, key, value = row["store_name"], row["key"], row["value"]
        if name.startswith("$ttl_"):
            element = json.dumps(next(v for k, v in key.items() if k != "expirationMs"))
            counter[name, element, key["expirationMs"]] += 1
        elif name.startswith(("$min_", "$count_")):
            (number,) = value.values()
            counter[name, json.dumps(key), number] += 1
    return counter


def twins_of(rows: list[Any]) -> Counter[tuple[str, str, int]]:
    """The same by the values that they are about."""
    counter: Counter[tuple[str, str, int]] = Counter()
    lists: dict[str, list[int]] = {}
    for row in rows:
        name, key = row["store_name"], dict(row["key"] or {})
        if name in ("seen", "visited"):
            counter[f"$ttl_{name}", json.dumps(key), row["value"]["ttlExpirationMs"]] += 1
        elif name == "recent":
            del key["index"]
            lists.setdefault(json.dumps(key), []).append(row["value"]["ttlExpirationMs"])
    for element, times in lists.items():
        counter["$ttl_recent", element, min(times)] += 1
        counter["$min_recent", element, min(times)] += 1
        counter["$count_recent", element, len(times)] += 1
    return counter


def test_erased_key_is_in_no_file_of_the_copy(tmp_path: Path) -> None:
    root = checkpoint(LEFT)
    victim = rows(root)[0][3]
    report = api.copy(str(root), str(tmp_path / "copy"), Options(key=f"hex:{victim}"), by="removal")
    files = [p for p in (tmp_path / "copy/state").rglob("*.*") if p.suffix != ".crc"]
    for path in files:
        data = path.read_bytes()
        raw = b"".join(inflate(iter([data]), sniff(data) or "lz4"))
        assert bytes.fromhex(victim) not in raw
    assert any(note.startswith("Erased (1 row)") for note in report.notes)


def changelogs_with(root: Path, key: bytes) -> set[int]:
    paths = (root / "state").rglob("*.changelog")
    return {
        int(path.stem)
        for path in paths
        if key in b"".join(inflate(iter([path.read_bytes()]), "lz4"))
    }


def test_note_names_changelogs_that_still_contain_a_removed_key(tmp_path: Path) -> None:
    root = checkpoint("rocksdb_dedup_event_time")
    victim = rows(root)[0][3]
    options = Options(key=f"hex:{victim}")
    report = api.copy(str(root), str(tmp_path / "copy"), options)
    (note,) = (note for note in report.notes if note.startswith("Removed, not erased (1 row)"))
    *before, changed = sorted(changelogs_with(tmp_path / "copy", bytes.fromhex(victim)))
    assert f"the changelog of version {changed} names the keys once more, as removals" in note
    assert before
    assert changed == report.summary["changed_version"]


def test_key_evicted_by_timeout_is_not_erased(tmp_path: Path) -> None:
    options = Options(key=f"hex:{rows(checkpoint(LEFT))[0][3]}")
    report = api.copy(str(checkpoint(LEFT)), str(tmp_path / "copy"), options, plan=True)
    assert any(note.startswith("Not erased (1 row by timeout)") for note in report.notes)


def test_plan_of_an_eviction_writes_nothing(tmp_path: Path) -> None:
    report = api.copy(str(checkpoint(LEFT)), str(tmp_path / "copy"), evict="leftovers", plan=True)
    _, evictions, keys = report.tables
    assert not list(tmp_path.iterdir())
    (row,) = evictions.rows
    assert row["rows"] == len(leftover_keys(checkpoint(LEFT)))
    assert row["effect"].startswith("In the first batch Spark calls the function")
    assert f"By timeout (operator 0): {row['effect']}" in report.notes
    assert len(list(keys.rows)) == 5


def test_plan_lists_refused_rows(tmp_path: Path) -> None:
    options = Options(where=("key.field0!=null",))
    report = api.copy(
        str(checkpoint("join_left_outer")), str(tmp_path / "copy"), options, plan=True
    )
    evictions = list(report.tables[1].rows)
    assert all(row["effect"].startswith("Refused. A row of a join") for row in evictions)
    assert {row["way"] for row in evictions} == {"refused"}
    assert report.summary["evicted_rows"] == 0
    assert report.summary["refused_rows"] == sum(row["rows"] for row in evictions) > 0
    assert "would refuse to write" in report.notes[-1]
    assert report.fails


def test_plan_has_the_bytes_and_keys_of_the_copy(tmp_path: Path) -> None:
    """Checksum files of the changed version too, where the others have them."""
    root = tmp_path / "source"
    shutil.copytree(checkpoint(LEFT), root)
    for path in [path for path in (root / "state").rglob("*.delta") if path.is_file()]:
        path.with_name(f".{path.name}.crc").write_bytes(hadoop_sums_of(path.read_bytes()))
    plan = api.copy(str(root), str(tmp_path / "copy"), evict="leftovers", plan=True)
    report = api.copy(str(root), str(tmp_path / "copy"), evict="leftovers")
    stores = [path for path in (tmp_path / "copy/state/0").glob("[0-9]*/*") if path.is_file()]
    assert any(path.name.endswith(".crc") for path in stores)
    assert plan.summary["copy_state_bytes"] == sum(path.stat().st_size for path in stores)
    assert [list(t.rows) for t in plan.tables] == [list(t.rows) for t in report.tables]


def test_info_describes_the_origin_of_a_copy(tmp_path: Path) -> None:
    api.copy(str(checkpoint(LEFT)), str(tmp_path / "copy"), evict="leftovers")
    notes = api.info(str(tmp_path / "copy")).notes
    (note,) = (note for note in notes if "copied from" in note)
    assert "80 rows (kept_without_timeout)" in note


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
    root = tmp_path / "source"
    shutil.copytree(checkpoint("agg_update"), root)
    before = tree(root)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("mine")
    assert "holds file" in refusal(root, tmp_path / "full")
    assert "lies in the checkpoint" in refusal(root, root / "copy")
    (tmp_path / "empty").mkdir()
    for target in ("empty", "nowhere"):
        (tmp_path / "link").symlink_to(tmp_path / target)
        with pytest.raises(CheckpointError, match="is a symbolic link"):
            api.copy(str(root), str(tmp_path / "link"))
        (tmp_path / "link").unlink()
    assert tree(root) == before


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
    assert any("yes if the query keeps no state; else no" in note for note in report.notes)
    report = api.copy(str(checkpoint("agg_global")), str(tmp_path / "whole"))
    assert not any("keeps no state" in note for note in report.notes)


def test_newest_commit_alone_is_enough_for_a_copy(tmp_path: Path) -> None:
    """Spark restarts from it."""
    root = Path(shutil.copytree(checkpoint("agg_update"), tmp_path / "ck"))
    newest = max(int(path.name) for path in (root / "commits").glob("[0-9]*"))
    for path in (root / "commits").iterdir():
        if str(newest) not in path.name:
            path.unlink()
    assert api.copy(str(root), str(tmp_path / "copy")).summary["written"]
    assert api.info(str(tmp_path / "copy")).summary["last_committed_batch"] == newest
    assert rows(tmp_path / "copy") == rows(root)


def test_empty_folder_is_a_valid_destination(tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    api.copy(str(checkpoint("agg_update")), str(tmp_path / "copy"))
    assert rows(tmp_path / "copy") == rows(checkpoint("agg_update"))


def test_uncommitted_batch_is_refused(tmp_path: Path) -> None:
    root = checkpoint("uncommitted")
    words = refusal(root, tmp_path / "copy")
    assert "was planned and not committed" in words
    assert "add --stopped" in words
    newest = max(int(path.name) for path in (root / "commits").glob("[0-9]*"))
    words = refusal(root, tmp_path / "copy", Options(batch=newest), stopped=True)
    assert "CANNOT_READ_DELTA_FILE_NOT_EXISTS" in words
    assert "A copy without --batch has the planned batch" in words
    report = api.copy(
        str(root),
        str(tmp_path / "copy"),
        Options(batch=newest),
        stopped=True,
        sink_has_no_batch_ids=True,
    )
    assert report.summary["written"]
    assert not (tmp_path / "copy/offsets" / str(newest + 1)).exists()


def test_planned_batch_is_copied_with_its_state_files(tmp_path: Path) -> None:
    """A sink that has the batch skips it, and then Spark writes no state for it."""
    root = checkpoint("uncommitted")
    newest = max(int(path.name) for path in (root / "commits").glob("[0-9]*"))
    report = api.copy(str(root), str(tmp_path / "copy"), stopped=True)
    assert report.summary["planned_batch"] == newest + 1
    source, copied = tree(root), tree(tmp_path / "copy")
    assert copied[f"offsets/{newest + 1}"] == source[f"offsets/{newest + 1}"]
    assert f"commits/{newest + 1}" not in copied
    planned = {name for name in source if name.endswith(f"/{newest + 2}.delta")}
    assert planned
    assert all(copied[name] == source[name] for name in planned)
    assert "evict then" in refusal(root, tmp_path / "other", evict="leftovers", stopped=True)


def test_planned_batch_with_incomplete_state_can_be_left_out(tmp_path: Path) -> None:
    """Spark hands a batch to the sink when every task has written its state."""
    root = tmp_path / "source"
    shutil.copytree(checkpoint("uncommitted"), root)
    newest = max(int(path.name) for path in (root / "commits").glob("[0-9]*"))
    for path in (root / "state/0/0").glob(f"*{newest + 2}.delta*"):
        path.unlink()
    assert f"leave the batch out with --batch {newest}" in refusal(root, tmp_path / "copy")
    options = Options(batch=newest)
    assert api.copy(str(root), str(tmp_path / "copy"), options, stopped=True).summary["written"]
    assert not (tmp_path / "copy/offsets" / str(newest + 1)).exists()
    assert api.copy(str(root), str(tmp_path / "kept"), stopped=True).summary["planned_batch"]


def test_state_files_of_a_running_batch_are_refused(tmp_path: Path) -> None:
    root = tmp_path / "source"
    shutil.copytree(checkpoint(LEFT), root)
    newest = max(int(path.stem) for path in (root / "state/0/0").glob("*.delta"))
    shutil.copy(root / f"state/0/0/{newest}.delta", root / f"state/0/0/{newest + 1}.delta")
    words = refusal(root, tmp_path / "copy", evict="leftovers")
    assert f"state files of version {newest + 1}, which no batch has committed" in words
    assert api.copy(str(root), str(tmp_path / "copy"), stopped=True).summary["written"]


def test_query_that_runs_a_batch_during_the_copy_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, write = tmp_path / "source", destination.Destination.write
    shutil.copytree(checkpoint(LEFT), root)
    newest = max(int(path.name) for path in (root / "offsets").glob("[0-9]*"))

    def beside(self: Any, relative: str, chunks: Iterator[bytes]) -> int:
        shutil.copy(root / f"offsets/{newest}", root / f"offsets/{newest + 1}")
        return write(self, relative, chunks)

    monkeypatch.setattr(destination.Destination, "write", beside)
    assert "has run a batch while it was copied" in refusal(root, tmp_path / "copy", stopped=True)
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


@pytest.mark.parametrize(("newest", "gone"), [(5, "5"), (5, "2"), (11, "9.compact")])
def test_file_source_log_with_a_gap_is_refused(newest: int, gone: str, tmp_path: Path) -> None:
    root = tmp_path / "source"
    shutil.copytree(checkpoint("agg_update"), root)
    entry = max((root / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    entry.with_name(f".{entry.name}.crc").unlink(missing_ok=True)
    lines = entry.read_text("utf-8").splitlines()
    entry.write_text(
        "\n".join([*lines[:2], json.dumps({"logOffset": newest}, separators=(",", ":"))])
    )
    log = root / "sources/0"
    log.mkdir(parents=True, exist_ok=True)
    for number in range(9 if newest > 9 else 0, newest + 1):
        (log / ("9.compact" if number == 9 else str(number))).write_text("v1\n")
    api.copy(str(root), str(tmp_path / "whole"))
    (log / gone).unlink()
    words = refusal(root, tmp_path / "copy")
    assert f"sources/0/{gone} is missing" in words
    assert run("copy", root, tmp_path / "copy").code == 4


def test_missing_operator_metadata_of_a_group_state_is_a_note(tmp_path: Path) -> None:
    root = tmp_path / "source"
    shutil.copytree(checkpoint(LEFT), root)
    (root / "state/0/_metadata/metadata").unlink()
    report = api.copy(str(root), str(tmp_path / "copy"))
    assert report.summary["written"]
    assert report.complete
    assert any("metadata is missing" in note for note in report.notes)


def test_copy_without_query_id_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "source"
    shutil.copytree(checkpoint(LEFT), root)
    (root / "metadata").unlink()
    words = refusal(root, tmp_path / "copy")
    assert words.startswith(f"{root}: no query would restart from a copy of it")
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def test_damaged_delta_is_refused_unless_the_batch_precedes_it(tmp_path: Path) -> None:
    root = tmp_path / "source"
    shutil.copytree(checkpoint("agg_update"), root)
    delta = root / "state/0/0/5.delta"
    delta.write_bytes(delta.read_bytes()[:-9])
    (root / "state/0/0/.5.delta.crc").unlink(missing_ok=True)
    assert "nothing was written" in refusal(root, tmp_path / "copy")
    outcome = run("copy", root, tmp_path / "copy")
    assert outcome.code == 4
    report = api.copy(
        str(root), str(tmp_path / "copy"), Options(batch=3), sink_has_no_batch_ids=True
    )
    assert not report.fails


def test_copy_with_wrong_rows_is_discarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = destination.Destination.write

    def losing(self: Any, relative: str, chunks: Iterator[bytes]) -> int:
        if relative.endswith("/10.delta"):
            chunks = iter([(checkpoint("agg_update") / "state/0/0/9.delta").read_bytes()])
        return write(self, relative, chunks)

    monkeypatch.setattr(destination.Destination, "write", losing)
    refusal(checkpoint("agg_update"), tmp_path / "copy")
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
"""Copies that die at their first write, at their second, and so on, until one does not."""


@pytest.mark.full
@pytest.mark.parametrize("moment", ["before", "within"])
def test_kill_at_any_write_leaves_no_copy(moment: str, tmp_path: Path) -> None:
    root, dest = tmp_path / "source", tmp_path / "copy"
    shutil.copytree(checkpoint(LEFT), root)
    before = tree(root)
    command = [sys.executable, "-c", KILLS, str(root), str(dest), moment]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    complete = [name for name in tree(dest) if not name.endswith(".crc")]
    assert int(done.stdout) >= len(complete) >= 10
    assert tree(root) == before
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
"""Copies that are killed at random moments, spread over all of the time that one takes."""


@pytest.mark.full
@pytest.mark.parametrize("slow_s", [0, 0.03])
@pytest.mark.parametrize("evict", ["", "leftovers"])
@pytest.mark.parametrize("case", [LEFT, "rocksdb_fmgws_event_ignore"])
def test_kill_at_a_random_moment_leaves_a_complete_copy_or_none(
    case: str, evict: str, slow_s: float, tmp_path: Path
) -> None:
    root, dest = tmp_path / "source", tmp_path / "copies" / "copy"
    shutil.copytree(checkpoint(case), root)
    before = tree(root)
    command = [sys.executable, "-c", SIGKILLS, str(root), str(dest), evict, str(slow_s), "8"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "0" in done.stdout.split()
    assert tree(root) == before
    # What the dead have left beside it is hidden.
    hidden = {path.name for path in dest.parent.iterdir()} - {"copy"}
    assert all(name.startswith(".copy.") for name in hidden)
    assert hidden or not slow_s
    shutil.rmtree(dest, ignore_errors=True)
    report = api.copy(str(root), str(dest), evict=evict or None)
    assert report.summary["written"]
    assert not api.audit(str(dest)).fails
    assert evict or rows(dest) == rows(root)


class _PowerCutError(BaseException):
    """What no code of the copy handles."""


def test_unfinished_copy_on_an_object_store_has_no_newest_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There nothing is renamed: what is missing last is the newest commit."""
    root, write = checkpoint(LEFT), destination.Destination.write
    api.copy(str(root), str(tmp_path / "whole"), evict="leftovers")
    newest = max(int(path.name) for path in (tmp_path / "whole/commits").glob("[0-9]*"))
    names: list[str] = []
    left = 0

    def failing(self: Any, relative: str, chunks: Iterator[bytes]) -> int:
        names.append(relative)
        if len(names) > left:
            raise _PowerCutError
        return write(self, relative, chunks)

    monkeypatch.setattr(destination.Destination, "write", failing)
    for left in range(1000):
        names.clear()
        location = f"memory://copies/{left}"
        try:
            api.copy(str(root), location, evict="leftovers")
        except _PowerCutError:
            entries = {path.removeprefix(f"/copies/{left}/") for path in MemoryFileSystem.store}
            assert f"commits/{newest}" not in entries
            with suppress(api.InspectorError):
                assert api.info(location).summary["last_committed_batch"] != newest
        else:
            break
    assert len(names) == left
    assert [name for name in names if not name.rpartition("/")[2].startswith(".")][-1:] == [
        f"commits/{newest}"
    ]
    assert rows(location) == rows(tmp_path / "whole")


def test_copy_by_several_workers_writes_equal_state_files(tmp_path: Path) -> None:
    """By a batch function that a cluster would get: what travels is text."""
    first: Report = api.copy(str(checkpoint(LEFT)), str(tmp_path / "a"), evict="leftovers")
    second = api.copy(
        str(checkpoint(LEFT)), str(tmp_path / "b"), Options(workers=2), evict="leftovers"
    )
    states = [
        {name: data for name, data in tree(tmp_path / name_of).items() if "state/" in name}
        for name_of in ("a", "b")
    ]
    assert states[0] == states[1]
    assert list(first.primary.rows) == list(second.primary.rows)
