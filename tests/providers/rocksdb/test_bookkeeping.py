"""RocksDB's own files in snapshots: commands and Spark agree on the effect of each damage."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector import api
from inspector.checkpoint.storage import Storage
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.loaded_snapshots import snapshot_problems
from inspector.discovery.restart import restart_of
from inspector.exceptions import REFUSES, DecodeError, RefusedSnapshotError
from inspector.model import UNLISTED, FileKind, StoreFile, Version
from inspector.providers.rocksdb.bookkeeping import compare_tables, lost_message, manifest_name
from inspector.providers.rocksdb.snapshot import read_snapshot
from tests.attributes import attributes
from tests.fixture_folder import FIXTURES
from tests.reports import findings_with_id, slugs
from tests.rocks import entries_of, manifest, numbers_edit, rewrite_zip, table_edit
from tests.rocks_damage import DAMAGES, Damage, change_entry, newest_zip, restart_in

ZIPS = FIXTURES / "4.3.0/rocksdb_agg_update_zips_one/checkpoint"
CHANGELOGS = FIXTURES / "4.3.0/rocksdb_agg_update_snapshots/checkpoint"
STORE = Path("state/0/0")


@pytest.fixture
def zips(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ZIPS, tmp_path / "ck"))


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_commands_agree_on_damaged_bookkeeping(zips: Path, damage: Damage) -> None:
    change_entry(zips / STORE, damage.prefix, damage.change)
    verified, checkpoint = api.verify(str(zips)), open_checkpoint(str(zips))
    restart = restart_in(verified)
    assert restart.possible is (not damage.words)
    assert damage.words in restart.sentence
    of_listing = restart_of(checkpoint, snapshot_problems(checkpoint))
    assert of_listing.possible is restart.possible
    assert str(of_listing.obstacles[:1]) == str(restart.obstacles[:1])
    assert damage.words in api.info(str(zips)).summary["restart"]
    preflight = api.preflight(str(zips)).summary["verdict"]
    assert (preflight == "refused") is bool(damage.words)
    result = attributes(verified.findings, "kind.id", "severity.word")
    assert (("SS126", "error") in result) is (damage.loses or bool(damage.words))
    assert (UNLISTED in slugs(verified.problems)) is damage.loses


def test_rows_of_unlisted_table_are_not_counted(zips: Path) -> None:
    before = api.verify(str(zips)).summary["rows"]
    change_entry(zips / STORE, "MANIFEST", DAMAGES["MANIFEST lacks tables"].change)
    assert api.verify(str(zips)).summary["rows"] < before


def test_refused_snapshot_with_changelogs_is_a_warning(tmp_path: Path) -> None:
    root = Path(shutil.copytree(CHANGELOGS, tmp_path / "ck"))
    change_entry(root / STORE, "CURRENT", lambda _: b"")
    report = api.verify(str(root))
    (finding,) = findings_with_id(report, "SS126")
    assert finding.severity.word == "warning"
    assert restart_in(report).possible
    assert restart_in(report).loads[0].skipped == newest_zip(root / STORE).name
    assert api.preflight(str(root)).summary["verdict"] != "refused"


def test_table_of_another_session_is_named(zips: Path) -> None:
    """The unique id of a table in the MANIFEST differs from the id in the table's properties."""
    change_entry(zips / STORE, "MANIFEST", DAMAGES["MANIFEST has other unique ids"].change)
    problems = {problem.slug: problem for problem in api.verify(str(zips)).problems}
    problem = problems["refused-snapshot"]
    assert (problem.path or "").endswith(".sst")
    number = int(Path(problem.path or "").name.partition("-")[0])
    assert problem.message.endswith(f"{REFUSES}Mismatch in unique ID on table file {number}")


def test_missing_table_is_named_from_listing(zips: Path) -> None:
    metadata = json.loads(entries_of(newest_zip(zips / STORE))["metadata"].partition(b"\n")[2])
    name = metadata["sstFiles"][0]["dfsSstFileName"]
    (zips / STORE / "SSTs" / name).unlink()
    sentence = api.info(str(zips)).summary["restart"]
    assert f"partition 0 lacks SSTs/{name} of" in sentence


def test_damaged_zip_entry_stops_spark(zips: Path) -> None:
    """Spark unpacks every entry and fails if a checksum is wrong."""
    path = newest_zip(zips / STORE)
    entries = entries_of(path)
    name = next(name for name in entries if name.startswith("OPTIONS"))
    rewrite_zip(path, entries)
    data = bytearray(path.read_bytes())
    start = data.index(name.encode()) + len(name)
    data[start + 50] ^= 4
    path.write_bytes(data)
    assert not restart_in(api.verify(str(zips))).possible


@pytest.mark.parametrize(
    ("current", "names", "expected"),
    [
        (b"MANIFEST-000005\n", {"MANIFEST-000005"}, "MANIFEST-000005"),
        (b"/MANIFEST-000005\n", {"MANIFEST-000005"}, "MANIFEST-000005"),
        (None, {"metadata"}, ""),
        (None, {"metadata", "000004.log"}, "While creating a new Db"),
        (b"", set(), "newline"),
        (b"MANIFEST-000005\r\n", {"MANIFEST-000005"}, "corrupted"),
        (b"MANIFEST-5\n", {"MANIFEST-000005"}, "MANIFEST-5: No such file"),
    ],
)
def test_manifest_named_in_current_file(
    current: bytes | None, names: set[str], expected: str
) -> None:
    try:
        result = manifest_name(current, names)
    except RefusedSnapshotError as error:
        result = error.message.partition(REFUSES)[2]
    assert expected in result


def listed(number: int, size: int) -> tuple[str, dict[str, object]]:
    return f"SSTs/{number}-u.sst", {"localFileName": f"{number:06}.sst", "sizeBytes": size}


def test_tables_of_metadata_and_manifest_are_compared() -> None:
    log = manifest([numbers_edit(), table_edit(8, 50), table_edit(9, 60)])
    sound = compare_tables("M", log, [listed(8, 50), listed(9, 60)])
    assert (sound.refusal, sound.unlisted) == (None, frozenset())
    further = compare_tables("M", log, [listed(8, 50), listed(9, 60), listed(10, 70)])
    assert further.unlisted == {"SSTs/10-u.sst"}


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ([(8, 50)], "No such file or directory: While open a file for random read: 000009"),
        ([(8, 50), (9, 61)], "Bad table magic number"),
        ([(8, 50), (9, 59)], "Input is too short to be an SST file"),
    ],
)
def test_missing_table_or_table_of_wrong_size_is_refused(
    tables: list[tuple[int, int]], words: str
) -> None:
    log = manifest([numbers_edit(), table_edit(8, 50), table_edit(9, 60)])
    refusal = compare_tables("M", log, [listed(*table) for table in tables]).refusal
    assert refusal is not None
    assert words in refusal.message


def test_overlapping_tables_of_level_lose_rows() -> None:
    """RocksDB 8.3.2 refuses such a database, and 9.8.4 opens it without any row."""
    tables = [table_edit(8, 50, level=6), table_edit(9, 50, level=6)]
    pair = [listed(8, 50), listed(9, 50)]
    result = compare_tables("M", manifest([numbers_edit(), *tables]), pair)
    assert result.refusal is None
    assert "000008.sst and 000009.sst with overlapping keys on level 6" in lost_message(result)
    apart = [table_edit(8, 50), table_edit(9, 50, level=6)]
    assert not lost_message(compare_tables("M", manifest([numbers_edit(), *apart]), pair))


def test_zip_without_rocksdb_files_has_no_problem(zips: Path) -> None:
    path = newest_zip(zips / STORE)
    rewrite_zip(path, {"metadata": entries_of(path)["metadata"]})
    report = api.verify(str(zips))
    assert restart_in(report).possible
    assert findings_with_id(report, "SS126") == []


def test_zip_without_current_file_and_wal_loses_all_rows(zips: Path) -> None:
    """RocksDB begins an empty database, as Spark 4.3.0 did."""
    path = newest_zip(zips / STORE)
    entries = entries_of(path)
    del entries["CURRENT"]
    del entries[next(name for name in entries if name.endswith(".log"))]
    rewrite_zip(path, entries)
    report = api.verify(str(zips))
    assert restart_in(report).possible
    assert UNLISTED in slugs(report.problems)


@pytest.mark.parametrize(
    ("log", "tables"),
    [
        pytest.param(manifest([numbers_edit(), b"\xff\x1f"]), [listed(8, 50)], id="unknown edit"),
        pytest.param(
            manifest([numbers_edit()]),
            [("SSTs/a.sst", {"localFileName": "a.sst"})],
            id="unknown table name",
        ),
    ],
)
def test_bookkeeping_without_counterpart_has_no_problem(
    log: bytes, tables: list[tuple[str, dict[str, object]]]
) -> None:
    result = compare_tables("M", log, tables)
    assert (result.refusal, result.unlisted, result.unique_ids) == (None, frozenset(), {})


@given(
    current=st.none() | st.binary(max_size=20) | st.just(b"MANIFEST-000005\n"),
    log=st.none() | st.binary(max_size=60) | st.lists(st.binary(max_size=20)).map(manifest),
)
def test_any_zip_entries_are_read_or_raise_typed_error(
    tmp_path_factory: pytest.TempPathFactory, current: bytes | None, log: bytes | None
) -> None:
    path = tmp_path_factory.mktemp("zip") / "1.zip"
    entries = {"metadata": b"v1\n{}", "CURRENT": current, "MANIFEST-000005": log}
    rewrite_zip(path, {name: content for name, content in entries.items() if content is not None})
    storage = Storage(str(path.parent))
    file = StoreFile(
        storage.full_path(path.name), FileKind.SNAPSHOT, Version(1), path.stat().st_size
    )
    with suppress(DecodeError):
        read_snapshot(storage, file)


def test_manifest_above_size_limit_has_no_problem() -> None:
    large = b"\xff\x7f" + b"\x80\x80\x80\x05" + bytes(5 << 21)
    result = compare_tables("M", manifest([large]), [listed(8, 50)])
    assert (result.refusal, result.unlisted) == (None, frozenset())
