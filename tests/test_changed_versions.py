"""Copies whose state was changed at the same version: their files, and what audits conclude."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector import api
from inspector.api import Options
from inspector.checkpoint.copy_record import RECORD, read_record
from inspector.checkpoint.storage import Storage
from inspector.decode.changelog import raw_records, read_changelog
from inspector.decode.frames import inflate, sniff
from inspector.discovery.copy_contents import with_ids_of
from inspector.encode.records import changelog
from inspector.model import Redact
from tests.cli.support import run
from tests.fixture_folder import FIXTURES
from tests.listings import names_in, newest_batch
from tests.reports import cell_values, finding_ids, findings_with_id, primary_rows

RELEASES = FIXTURES
TIMERS = RELEASES / "4.3.0/rocksdb_fmgws_event_ignore/checkpoint"
IGNORED = RELEASES / "4.3.0/trouble_ignored_timeouts/checkpoint"
SHOWN = Options(redact=Redact.NONE)
ENTRIES = st.lists(
    st.tuples(st.binary(min_size=8, max_size=24), st.none() | st.binary(max_size=24)), max_size=9
)


def rows(root: Path) -> list[dict[str, Any]]:
    return primary_rows(api.rows(str(root), SHOWN, raw=True))


def keys(root: Path) -> list[tuple[Any, ...]]:
    return sorted(cell_values(rows(root), "partition_id", "key_hex", "value_hex"))


def kinds(root: Path) -> set[str]:
    return set(finding_ids(api.audit(str(root))))


def evict_one(root: Path, dest: Path, **words: Any) -> tuple[dict[str, Any], Any]:
    """A copy without the first row; the row, and the summary."""
    row = rows(root)[0]
    # The rule permits the eviction of rows of an aggregation that no watermark removes.
    options = Options(key=f"hex:{row['key_hex']}", operator_rules=("0=never",))
    report = api.copy(str(root), str(dest), options, **words)
    assert report.summary["evicted_rows"] == 1
    return row, report.summary


def state_files(root: Path, partition: int) -> set[str]:
    return names_in(root / f"state/0/{partition}", "[0-9]*")


def newest_entry(root: Path, log: str) -> tuple[int, bytes]:
    """Return the number and the content of the newest entry of a log."""
    number = newest_batch(root, log)
    return number, (root / log / str(number)).read_bytes()


# --- files -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case",
    [
        *("4.3.0/dedup_no_watermark", "4.3.0/rocksdb_dedup_event_time"),
        *("4.3.0/rocksdb_agg_update_zips_one", "4.3.0/rocksdb_agg_update_snapshots_rowsum"),
        *("4.1.4/rocksdb_agg_update_snapshots_filesum", "3.5.9/rocksdb_agg_update_snapshots"),
        "4.3.0/rocksdb_agg_update_snapshots_format2",
    ],
)
def test_copy_with_eviction_appends_no_batch(case: str, tmp_path: Path) -> None:
    """Every sink sees the batch ids that it would have seen."""
    root, dest = RELEASES / case / "checkpoint", tmp_path / "copy"
    row, summary = evict_one(root, dest, by="removal")
    assert newest_entry(dest, "offsets") == newest_entry(root, "offsets")
    assert newest_batch(dest, "commits") == newest_batch(root, "commits")
    assert summary["changed_version"] == newest_batch(root, "commits") + 1
    evicted = (row["partition_id"], row["key_hex"], row["value_hex"])
    assert sorted([*keys(dest), evicted]) == keys(root)
    assert kinds(dest) <= kinds(root)


def test_copy_with_eviction_keeps_commit_log(tmp_path: Path) -> None:
    root = RELEASES / "4.3.0/rocksdb_dedup_event_time/checkpoint"
    evict_one(root, tmp_path / "copy", by="removal")
    assert newest_entry(tmp_path / "copy", "commits") == newest_entry(root, "commits")


def test_eviction_writes_hdfs_snapshot(tmp_path: Path) -> None:
    root = RELEASES / "4.3.0/dedup_no_watermark/checkpoint"
    row, summary = evict_one(root, tmp_path / "copy")
    assert state_files(tmp_path / "copy", row["partition_id"]) == {
        f"{summary['changed_version']}.snapshot"
    }


def test_changelog_keeps_records_before_removals(tmp_path: Path) -> None:
    root, dest = RELEASES / "4.3.0/rocksdb_dedup_event_time/checkpoint", tmp_path / "copy"
    row, summary = evict_one(root, dest)
    name = f"state/0/{row['partition_id']}/{summary['changed_version']}.changelog"
    original, copied = raw_of(root / name), raw_of(dest / name)
    assert copied.startswith(original)
    assert bytes.fromhex(row["key_hex"]) in copied[len(original) :]


def raw_of(path: Path) -> bytes:
    """The records of a changelog as bytes."""
    data = path.read_bytes()
    return b"".join(raw_records(inflate([data], sniff(data) or "lz4")))


@pytest.mark.parametrize(
    "case", ["4.3.0/rocksdb_agg_update_zips_one", "3.5.9/rocksdb_agg_update_zips_cleaned_one"]
)
def test_evicted_rocksdb_snapshot_has_previous_version(case: str, tmp_path: Path) -> None:
    root, dest = RELEASES / case / "checkpoint", tmp_path / "copy"
    row, summary = evict_one(root, dest)
    version, partition = summary["changed_version"], row["partition_id"]
    assert state_files(dest, partition) == {f"{version - 1}.zip", f"{version}.changelog"}
    copied = dest / f"state/0/{partition}/{version - 1}.zip"
    assert copied.read_bytes() == (root / f"state/0/{partition}/{version}.zip").read_bytes()
    record = read_record(Storage(str(dest)))
    assert record is not None
    assert record.changed_versions == (version - 1, version)


def test_commit_log_has_new_ids_of_changed_versions(tmp_path: Path) -> None:
    """Checkpoint format 2: of the partitions without removals they stay."""
    root = RELEASES / "4.3.0/rocksdb_agg_update_snapshots_format2/checkpoint"
    row, summary = evict_one(root, tmp_path / "copy")
    last, partition = newest_batch(root, "commits"), row["partition_id"]
    entry = root / "commits" / str(last), tmp_path / "copy/commits" / str(last)
    old, new = (json.loads(path.read_text("utf-8").split("\n")[1]) for path in entry)
    (new_id,) = new["stateUniqueIds"]["0"][partition]
    assert old["stateUniqueIds"]["0"][partition] != [new_id]
    old["stateUniqueIds"]["0"][partition] = [new_id]
    assert new == old
    name = f"{summary['changed_version']}_{new_id}.changelog"
    assert name in state_files(tmp_path / "copy", partition)
    data = (tmp_path / f"copy/state/0/{partition}/{name}").read_bytes()
    head, _ = read_changelog(inflate([data], sniff(data) or "lz4"))
    below = max(head.lineage, key=lambda item: item.version)
    assert below.version == summary["changed_version"] - 1


def test_checkpoint_ids_are_replaced_by_position() -> None:
    older = b'v2\n{"stateUniqueIds":{"0":[["a"],["b"]],"1":[["c"]]}}'
    newer = b'v2\n{"stateUniqueIds":{"0":[["d"],["e"]],"1":[["f"],["g"]]}}'
    assert with_ids_of(older, newer, {"e", "f"}) == (
        b'v2\n{"stateUniqueIds":{"0":[["a"],["e"]],"1":[["c"]]}}'
    )
    assert with_ids_of(b"v1\n{}", newer, {"e"}) == b"v1\n{}"


@given(ENTRIES, st.integers(1, 4), st.integers(1, 40))
def test_raw_changelog_records_round_trip(
    entries: list[tuple[bytes, bytes | None]], version: int, size: int
) -> None:
    data = b"".join(changelog(entries, version))
    blocks = [data[at : at + size] for at in range(0, len(data), size)]
    raw = b"".join(raw_records(blocks))
    assert b"".join(changelog([raw] * bool(raw), version)) == data


# --- audits ------------------------------------------------------------------------------------


def test_timers_set_by_copy_are_no_finding(tmp_path: Path) -> None:
    api.copy(str(TIMERS), str(tmp_path / "copy"), evict="leftovers", by="timeout")
    assert "SS118" not in kinds(tmp_path / "copy")
    assert list(api.leftovers(str(tmp_path / "copy")).primary.rows) == []
    assert "State version" in " ".join(api.info(str(tmp_path / "copy")).notes)
    # Without the record nothing says that a tool has set them.
    (tmp_path / "copy" / RECORD).unlink()
    assert "SS118" in kinds(tmp_path / "copy")


@pytest.mark.parametrize("by", ["timeout", "removal"])
def test_no_leftovers_from_snapshot_of_copy(
    by: Literal["timeout", "removal"], tmp_path: Path
) -> None:
    report = api.copy(str(IGNORED), str(tmp_path / "copy"), evict="leftovers", by=by)
    assert report.summary["evicted_rows"] > 0
    assert not kinds(tmp_path / "copy") & {"SS203", "SS118", "SS104"}
    assert list(api.leftovers(str(tmp_path / "copy")).primary.rows) == []


def test_copy_of_copy_keeps_changed_versions(tmp_path: Path) -> None:
    api.copy(str(TIMERS), str(tmp_path / "first"), evict="leftovers", by="timeout")
    api.copy(str(tmp_path / "first"), str(tmp_path / "second"))
    first = read_record(Storage(str(tmp_path / "first")))
    second = read_record(Storage(str(tmp_path / "second")))
    assert first is not None
    assert second is not None
    assert first.changed_versions == (newest_batch(TIMERS, "commits") + 1,)
    assert second.changed_versions == first.changed_versions
    assert "SS118" not in kinds(tmp_path / "second")


# --- the record --------------------------------------------------------------------------------


@given(
    st.binary(max_size=200)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["source", "query_id", "batch", "made_ms", "made_by", "changed_versions"]
                ),
                inner,
                max_size=6,
            )
        ),
        max_leaves=12,
    ).map(lambda value: json.dumps(value).encode())
)
def test_any_bytes_give_copy_record_or_none(tmp_path_factory: Any, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("record")
    (folder / RECORD).write_bytes(content)
    record = read_record(Storage(str(folder)))
    assert record is None or all(type(number) is int for number in record.changed_versions)


def test_copy_record_of_older_release_is_read(tmp_path: Path) -> None:
    older = {"source": "/a", "query_id": "b", "batch": 3, "appended_batch": 4}
    options = {"made_ms": 1_700_000_000_000, "made_by": "0.1", "evicted": ["2 rows"]}
    (tmp_path / RECORD).write_text(json.dumps({**older, **options}), "utf-8")
    record = read_record(Storage(str(tmp_path)))
    assert record is not None
    assert (record.appended_batch, record.changed_versions) == (4, ())


# --- sources -----------------------------------------------------------------------------------


def with_source_log(root: Path, dest: Path, entries: int) -> Path:
    """A copy of a checkpoint whose only source is one of files, with entries of its log."""
    shutil.copytree(root, dest)
    entry = dest / "offsets" / str(newest_batch(dest, "offsets"))
    lines = entry.read_text("utf-8").splitlines()
    entry.write_text("\n".join([*lines[:2], '{"logOffset":5}']), "utf-8")
    entry.with_name(f".{entry.name}.crc").unlink(missing_ok=True)
    (dest / "sources/0").mkdir(parents=True, exist_ok=True)
    for number in range(entries):
        (dest / f"sources/0/{number}").write_text("v1\n", "utf-8")
        (dest / f"sources/0/.{number}.crc").write_bytes(b"crc")
    return dest


def test_copy_leaves_out_later_source_log_entries(tmp_path: Path) -> None:
    """One may be of another query, whose folder Spark does not accept."""
    root = with_source_log(RELEASES / "4.3.0/agg_update/checkpoint", tmp_path / "source", 9)
    api.copy(str(root), str(tmp_path / "copy"))
    assert names_in(tmp_path / "copy/sources/0") == {
        *("0", "1", "2", "3", "4", "5"),
        *(".0.crc", ".1.crc", ".2.crc", ".3.crc", ".4.crc", ".5.crc"),
    }


def test_ambiguous_source_logs_are_copied_to_newest_offset(
    tmp_path: Path,
) -> None:
    root = with_source_log(RELEASES / "4.3.0/agg_update/checkpoint", tmp_path / "source", 5)
    (root / "sources/1").mkdir()
    for number in range(9):
        (root / f"sources/1/{number}").write_text("v1\n", "utf-8")
    (root / "sources/0/5").write_text("v1\n", "utf-8")
    api.copy(str(root), str(tmp_path / "copy"))
    assert names_in(tmp_path / "copy/sources/1") == {"0", "1", "2", "3", "4", "5"}


# --- what leads to a copy ----------------------------------------------------------------------


def test_finding_names_copy_command_for_evictable_rows(tmp_path: Path) -> None:
    root = RELEASES / "4.3.0/trouble_kept_timeouts/checkpoint"
    (result,) = findings_with_id(api.audit(str(root)), "SS203")
    assert result.next_step.endswith("inspector copy PATH NEW --evict leftovers --plan")
    outcome = run("copy", root, tmp_path / "NEW", "--evict", "leftovers", "--plan")
    assert outcome.code == 0
    screen = run("audit", root).out.splitlines()
    assert f"inspector copy {root} {root}-copy --evict leftovers --plan" in screen


def test_finding_names_no_copy_command_for_refused_rows() -> None:
    root = RELEASES / "4.3.0/agg_complete/checkpoint"
    assert "inspector copy" not in "".join(api.render(api.audit(str(root)), "json"))


def test_eviction_plan_lists_ways_steps_and_remaining_rows(tmp_path: Path) -> None:
    root, dest = RELEASES / "4.3.0/trouble_kept_timeouts/checkpoint", tmp_path / "copy"
    plan = api.copy(str(root), str(dest), evict="leftovers", plan=True)
    assert plan.summary["timed_out_rows"] == plan.summary["evicted_rows"] == 80
    assert "\nWith --by removal (operator 0): If data" in "\n".join(plan.notes)
    assert plan.steps[1].text == "Stop the query."
    cut = RELEASES / "4.3.0/fmgws_snapshots_cleaned/checkpoint"
    plan = api.copy(str(cut), str(dest), evict="leftovers", plan=True)
    condition = "value.timeoutTimestamp=-1"
    notes = " ".join(plan.notes)
    assert "41 keys of operator 0 stay, because" in notes
    assert f"--evict rows --where {condition} takes every key" in notes
    report = api.copy(str(cut), str(dest), Options(where=(condition,)), evict="rows", plan=True)
    assert report.summary["evicted_rows"] >= 41


def test_first_version_in_snapshot_with_column_families_is_refused(
    tmp_path: Path,
) -> None:
    root = RELEASES / "4.3.0/rocksdb_tws_processing_snapshots/checkpoint"
    row = next(iter(api.rows(str(root), Options(batch=0), raw=True).primary.rows))
    options = Options(key=f"hex:{row['key_hex']}", batch=0)
    with pytest.raises(api.CheckpointError, match="let it run one"):
        api.copy(str(root), str(tmp_path / "copy"), options, sink_has_no_batch_ids=True)


def test_first_version_snapshot_becomes_changelog(tmp_path: Path) -> None:
    root = RELEASES / "4.3.0/rocksdb_agg_update_zips_one/checkpoint"
    rows_of_first = list(api.rows(str(root), Options(batch=0), raw=True).primary.rows)
    options = Options(
        key=f"hex:{rows_of_first[0]['key_hex']}", batch=0, operator_rules=("0=never",)
    )
    api.copy(str(root), str(tmp_path / "copy"), options, sink_has_no_batch_ids=True)
    partition = rows_of_first[0]["partition_id"]
    assert state_files(tmp_path / "copy", partition) == {"1.changelog"}
    assert len(keys(tmp_path / "copy")) == len(rows_of_first) - 1


def test_planned_batch_of_checkpoint_format_2_is_copied(tmp_path: Path) -> None:
    """Spark fails if the sink skips the batch, from the checkpoint as from a copy."""
    root, dest = tmp_path / "source", tmp_path / "copy"
    shutil.copytree(RELEASES / "4.3.0/rocksdb_agg_update_snapshots_format2/checkpoint", root)
    batch = newest_batch(root, "commits")
    (root / f"commits/{batch}").unlink()
    with pytest.raises(api.CheckpointError, match="the sink may have it"):
        api.copy(str(root), str(dest), stopped=True)
    report = api.copy(str(root), str(dest), stopped=True, sink_has_no_batch_ids=True)
    assert report.summary["planned_batch"] == batch
