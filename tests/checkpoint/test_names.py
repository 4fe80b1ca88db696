"""Files are told apart by their names, as Spark does it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.checkpoint.names import MAX_INT, MAX_LONG, classify, number
from inspector.model import FileKind

UUID = "e21dbfc8-9f6e-4d55-a8f6-4ab2f5fbbd35"


@pytest.mark.parametrize(
    ("name", "kind", "version"),
    [
        ("7.delta", FileKind.DELTA, 7),
        ("7.snapshot", FileKind.SNAPSHOT, 7),
        ("7.DELTA", FileKind.DELTA, 7),
        ("7.Snapshot", FileKind.SNAPSHOT, 7),
        ("0.delta", FileKind.DELTA, 0),
        ("9223372036854775807.delta", FileKind.DELTA, MAX_LONG),
        ("9223372036854775808.delta", FileKind.OTHER, None),
        (f"{'9' * 5000}.delta", FileKind.OTHER, None),
        ("07.delta", FileKind.OTHER, None),
        ("-7.delta", FileKind.OTHER, None),
        ("\u0667.delta", FileKind.OTHER, None),
        ("7.delta\n", FileKind.OTHER, None),
        ("7.changes", FileKind.OTHER, None),
        ("7.delta.gz", FileKind.OTHER, None),
        ("delta", FileKind.OTHER, None),
        (".DS_Store", FileKind.OTHER, None),
        (f".1.delta.{UUID}.TID439.tmp", FileKind.TEMPORARY, 1),
        (f".12.snapshot.{UUID}.tmp", FileKind.TEMPORARY, 12),
        ("temp-3145523245234534", FileKind.TEMPORARY, None),
        ("temp--3145523245234534", FileKind.TEMPORARY, None),
        (".temp-3145523245234534", FileKind.TEMPORARY, None),
        (f".{UUID}.tmp", FileKind.TEMPORARY, None),
        ("temporary", FileKind.OTHER, None),
        (".7.delta.crc", FileKind.HADOOP_CHECKSUM, 7),
        (".7.delta.crc.crc", FileKind.HADOOP_CHECKSUM, 7),
        (f"..1.delta.{UUID}.TID439.tmp.crc", FileKind.HADOOP_CHECKSUM, 1),
        ("7.delta.crc", FileKind.SPARK_CHECKSUM, 7),
        ("7.snapshot.crc", FileKind.SPARK_CHECKSUM, 7),
        (f"2_{UUID}.changelog.crc", FileKind.SPARK_CHECKSUM, 2),
        ("7.zip", FileKind.ROCKSDB, 7),
        ("7.changelog", FileKind.ROCKSDB, 7),
        (f"7_{UUID}.zip", FileKind.ROCKSDB, 7),
        (f"7_{UUID}.changelog", FileKind.ROCKSDB, 7),
    ],
)
def test_a_name_tells_kind_and_version(name: str, kind: FileKind, version: int | None) -> None:
    assert classify(name) == (kind, version)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("SSTs", FileKind.ROCKSDB),
        ("logs", FileKind.ROCKSDB),
        ("7.delta", FileKind.OTHER),
        ("left-keyToNumValues", FileKind.OTHER),
    ],
)
def test_a_folder_is_of_a_kind_only_if_rocksdb_makes_it(name: str, kind: FileKind) -> None:
    assert classify(name, is_dir=True) == (kind, None)


@given(st.text())
def test_any_name_is_of_some_kind(name: str) -> None:
    kind, version = classify(name)
    assert kind in FileKind
    assert version is None or 0 <= version <= MAX_LONG


@given(st.integers(0, MAX_LONG))
def test_a_version_is_read_as_it_is_written(version: int) -> None:
    assert classify(f"{version}.delta") == (FileKind.DELTA, version)
    assert number(str(version)) == version
    assert number(f"0{version}") is None
    assert number(str(version), MAX_INT) == (version if version <= MAX_INT else None)
