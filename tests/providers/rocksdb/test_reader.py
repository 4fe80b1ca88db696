"""Whole checkpoints of Spark's RocksDB provider, compared with the rows that Spark reads."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from inspector.checkpoint.storage import Storage
from inspector.decode.sst.live import live_entries
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.plan import plan
from inspector.facts.checks import ChecksPassed
from inspector.model import FileKind, StoreFile, Version
from inspector.passes.follow import Followed
from inspector.providers import task_files
from inspector.providers.reader_options import ReadOptions, StoreForm
from inspector.providers.rocksdb import reader as reading
from inspector.providers.rocksdb.reader import RocksDbReader
from inspector.providers.task_files import TaskFiles, Turns
from tests import encode
from tests.attributes import attributes
from tests.cases import (
    facts_of_type,
    observed,
    observed_in,
    problems_in,
    rocksdb_cases,
)
from tests.cli.support import tree
from tests.fixture_folder import FIXTURES
from tests.passes.support import specs_of
from tests.profiles import sampled
from tests.reports import slugs
from tests.rocks import (
    PUT,
    TEXT,
    assert_rows_are_those_of_spark,
    changelog,
    encoded,
    family,
    read,
    struct_of,
    write_zip,
)

CASES = [case for case in rocksdb_cases() if not case.name.endswith("_hdfs")]
NAMES = [f"{case.parent.name}-{case.name}" for case in CASES]


@pytest.mark.parametrize("case", sampled(CASES, 3, 0), ids=NAMES)
def test_rocksdb_rows_equal_recorded_rows_of_spark(case: Path) -> None:
    assert_rows_are_those_of_spark(case)


@pytest.mark.parametrize("case", sampled(CASES, 3, 1), ids=NAMES)
def test_rocksdb_snapshots_equal_replayed_changelogs(case: Path) -> None:
    result = observed_in(case / "checkpoint", fit=True)
    assert set(slugs(problems_in(result))) <= {"compared"}
    passed = sum(facts_of_type(result, ChecksPassed), ChecksPassed())
    assert passed.files > 0


# --- damage ----------------------------------------------------------------------------------

FAMILIES = [case for case in CASES if "_tws_" in case.name or case.name[-3:] in ("_v3", "_v4")]
SESSIONS = FIXTURES / "3.5.9/rocksdb_session_window"
JOIN = FIXTURES / "4.1.4/rocksdb_join_left_outer_v3"
LISTS = FIXTURES / "4.3.0/rocksdb_join_left_outer_v4"


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SESSIONS / "checkpoint", tmp_path / "c"))


@pytest.fixture
def join(tmp_path: Path) -> Path:
    return Path(shutil.copytree(JOIN / "checkpoint", tmp_path / "c"))


def problem_at(root: Path, path: Path) -> Any:
    """Return the only problem of a checkpoint, which must be about this file."""
    (problem,) = problems_in(observed_in(root, fit=True))
    assert problem.path == str(path)
    return problem


def test_truncated_changelog_is_a_problem_with_offset(sessions: Path) -> None:
    path = sessions / "state/0/0/2.changelog"
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - 30])
    problem = problem_at(sessions, path)
    assert problem.slug == "truncated"
    assert problem.offset is not None


def test_changelog_with_flipped_byte_is_a_problem(sessions: Path) -> None:
    path = sessions / "state/0/0/2.changelog"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x40
    path.write_bytes(bytes(data))
    assert problem_at(sessions, path).slug == "bad-frame"


def test_damaged_file_of_several_column_families_is_one_problem(join: Path) -> None:
    path = join / "state/0/0/3.changelog"
    path.write_bytes(path.read_bytes()[:-9])
    problem_at(join, path)
    siblings = observed_in(join)
    # Partition 1 is undamaged.
    assert set(attributes(siblings, "store.partition_id")) == {0, 1}


@pytest.mark.parametrize("case", sampled(FAMILIES, 4, 1), ids=lambda case: case.name)
def test_column_families_without_cache_have_equal_facts(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first column family reads a whole snapshot, the others only their part of its tables."""
    expected = observed_in(case / "checkpoint", fit=True)
    starts = set()

    def part(*arguments: Any, start: bytes, **options: Any) -> Any:
        starts.add(start)
        return live_entries(*arguments, start=start, **options)

    monkeypatch.setattr(reading, "live_entries", part)
    monkeypatch.setattr(task_files, "Turns", partial(Turns, 0))
    assert observed_in(case / "checkpoint", fit=True) == expected
    assert len(starts) > 1


def tables_of(root: Path) -> list[Path]:
    return sorted((root / "state/0/0/SSTs").iterdir())


def test_missing_table_problem_names_snapshot(join: Path) -> None:
    table = tables_of(join)[0]
    table.unlink()
    assert re.search(r"got no table file, .* by \d+.zip", problem_at(join, table).message)


def test_table_of_wrong_size_is_a_problem(join: Path) -> None:
    table = tables_of(join)[0]
    table.write_bytes(table.read_bytes() + b"!")
    assert "expected one of" in problem_at(join, table).message


def test_table_with_flipped_byte_is_a_problem_with_offset(join: Path) -> None:
    table = tables_of(join)[0]
    data = bytearray(table.read_bytes())
    data[20] ^= 1
    table.write_bytes(bytes(data))
    problem = problem_at(join, table)
    assert problem.offset == 0  # of the block


def test_truncated_zip_is_a_problem(join: Path) -> None:
    path = next((join / "state/0/0").glob("*.zip"))
    path.write_bytes(path.read_bytes()[:100])
    problems = problems_in(observed_in(join, fit=True))
    assert str(path) in attributes(problems, "path")


def test_column_families_are_unknown_without_snapshots(join: Path) -> None:
    for path in join.rglob("*.zip"):
        path.unlink()
    problems = problems_in(observed_in(join))
    assert problems
    assert all("no snapshot says which entries belong" in p.message for p in problems)


def test_older_changelogs_keep_column_family_ids_after_repartition(
    join: Path,
) -> None:
    for store in (join / "state/0").glob("[01]"):
        with zipfile.ZipFile(store / "1.zip") as archive:
            numbers = json.loads(archive.read("metadata").split(b"\n")[1])["columnFamilyMapping"]
        moved = dict(zip(numbers, [*numbers.values()][1:] + [*numbers.values()][:1], strict=True))
        for path in [*store.glob("8.changelog"), *store.glob(".8.changelog.crc")]:
            path.unlink()
        write_zip(store / "8.zip", {"sstFiles": [], "columnFamilyMapping": moved})
    assert problems_in(observed_in(join, fit=True)) == []
    tasks = plan(open_checkpoint(str(JOIN / "checkpoint")), 7)
    assert read(plan(open_checkpoint(str(join)), 7)) == read(tasks)


def snapshot_with_families(folder: Path, version: int, ids: dict[str, int]) -> StoreFile:
    """Write a snapshot without tables that has these column family ids."""
    path = folder / f"{version}.zip"
    write_zip(path, {"sstFiles": [], "columnFamilyMapping": ids})
    return StoreFile(path.name, FileKind.SNAPSHOT, Version(version), path.stat().st_size)


@pytest.mark.parametrize(
    ("version", "keys"),
    [
        pytest.param(2, [b"two"], id="id from the previous snapshot"),
        pytest.param(3, [b"two"], id="deleted in this version"),
        pytest.param(5, [], id="created again, and the id belongs to another family"),
        pytest.param(6, [b"three"], id="after the repartition"),
    ],
)
def test_column_family_id_of_changelog_comes_from_nearest_snapshots(
    tmp_path: Path, version: int, keys: list[bytes]
) -> None:
    raw = changelog(
        [
            (PUT, family(1) + encoded(b"one"), encoded(b"")),
            (PUT, family(2) + encoded(b"two"), encoded(b"")),
            (PUT, family(3) + encoded(b"three"), encoded(b"")),
        ]
    )
    (tmp_path / f"{version}.changelog").write_bytes(encode.lz4(raw))
    files = [
        snapshot_with_families(tmp_path, 1, {"a": 1, "b": 2}),
        snapshot_with_families(tmp_path, 3, {"a": 1}),
        snapshot_with_families(tmp_path, 4, {"a": 2, "c": 1}),
        snapshot_with_families(tmp_path, 6, {"a": 1, "b": 3}),
    ]
    delta = StoreFile(f"{version}.changelog", FileKind.DELTA, Version(version), len(raw))
    options = ReadOptions(form=StoreForm("b", struct_of(TEXT)))
    storage = TaskFiles(Storage(str(tmp_path)))
    reader = RocksDbReader(storage, options, [*files, delta], (), lambda *_: None)
    reader.expect([delta])
    result = [
        block.buffer[at : at + size]
        for block in reader.blocks(delta)
        for at, size in zip(block.key_offset, block.key_length, strict=True)
    ]
    assert result == keys


def test_unknown_row_encoding_is_named_in_problem(join: Path) -> None:
    for path in (join / "offsets").iterdir():
        text = path.read_text("utf-8")
        assert 'encodingFormat":"unsaferow"' in text
        path.write_text(text.replace('encodingFormat":"unsaferow"', 'encodingFormat":"thrift"'))
    problem, *_ = problems_in(observed_in(join))
    assert "encoded as 'thrift'" in problem.message


def test_rocksdb_reader_writes_nothing(tmp_path: Path, sessions: Path) -> None:
    before = tree(sessions)
    observed_in(sessions, fit=True)
    assert tree(sessions) == before
    assert attributes(tmp_path.iterdir(), "name") == ["c"]


def test_second_read_continues_from_known_lists() -> None:
    followed = Followed()
    for version in (3, 4, 8):
        specs = specs_of(LISTS / "checkpoint", version)
        result = [element for element in observed(specs, followed) if element.version == version]
        anew = [item for item in observed(specs) if item.version == version]
        assert sorted(map(repr, result)) == sorted(map(repr, anew))
