"""Files to records, and what goes wrong on the way."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from inspector.checkpoint.storage import Storage
from inspector.decode.records import RecordBlock
from inspector.discovery.tasks import StoreTask, Task
from inspector.exceptions import DecodeError, FrameError, TruncatedError
from inspector.model import FileKind, Problem, StoreFile, StoreId, Version
from inspector.passes.store_reader import StoreReader
from tests import encode
from tests.attributes import attributes

STORE = StoreTask("default", ())
ROWS: list[encode.Record] = [(b"k" * 8, b"v" * 16), (b"l" * 8, b"v" * 8)]


def reader_of(root: Path, **task: Any) -> StoreReader:
    arguments = {"codecs": {3: "lz4"}} | task
    return StoreReader(
        Task(str(root), str(root), {}, 2, 5, 9, (), **arguments), Storage(str(root)), STORE
    )


def write(root: Path, data: bytes, kind: FileKind = FileKind.DELTA) -> StoreFile:
    path = root / f"3.{kind.value}"
    path.write_bytes(data)
    return StoreFile(str(path), kind, Version(3), len(data))


def count_records(blocks: Iterable[RecordBlock]) -> int:
    return sum(attributes(blocks, "count"))


@pytest.mark.parametrize("codec", ["lz4", "lzf", "snappy", "zstd"])
def test_the_records_of_a_file_and_its_raw_size(tmp_path: Path, codec: str) -> None:
    reader = reader_of(tmp_path, codecs={3: codec})
    file = write(tmp_path, encode.state_file(ROWS, codec))
    assert count_records(reader.blocks(file)) == 2
    assert reader.files.raw_bytes == len(encode.records(ROWS))
    # The size is that of one file, not a sum.
    assert count_records(reader.blocks(file)) == 2
    assert reader.files.raw_bytes == len(encode.records(ROWS))
    assert reader.problems == []


@pytest.mark.parametrize("recorded", ["zstd", "org.apache.spark.io.SnappyCompressionCodec"])
def test_bytes_of_another_codec_are_read_as_what_they_are(tmp_path: Path, recorded: str) -> None:
    reader = reader_of(tmp_path, codecs={3: recorded})
    assert count_records(reader.blocks(write(tmp_path, encode.state_file(ROWS, "lz4")))) == 2
    (problem,) = reader.problems
    assert (problem.slug, problem.offset) == ("codec-mismatch", 0)
    assert "the bytes are lz4" in problem.message


def test_unrecorded_codec_defaults_to_lz4(tmp_path: Path) -> None:
    reader = reader_of(tmp_path, codecs={})
    assert list(reader.blocks(write(tmp_path, encode.state_file(ROWS))))
    assert reader.problems == []


def test_an_error_carries_the_path_and_the_offset(tmp_path: Path) -> None:
    file = write(tmp_path, encode.state_file(ROWS)[:30])
    with pytest.raises(TruncatedError) as raised:
        list(reader_of(tmp_path).blocks(file))
    assert raised.value.path == file.path
    assert raised.value.offset is not None


@pytest.mark.parametrize("codec", ["", "com.example.MyCodec"])
def test_codec_of_foreign_class_is_read_from_bytes(tmp_path: Path, codec: str) -> None:
    reader = reader_of(tmp_path, codecs={3: codec})
    assert count_records(reader.blocks(write(tmp_path, encode.state_file(ROWS)))) == 2
    assert reader.problems == []
    file = write(tmp_path, b"nothing that any codec of Spark writes")
    with pytest.raises(DecodeError, match="unknown codec") as raised:
        list(reader.blocks(file))
    assert raised.value.path == file.path


def test_a_missing_file_is_an_error_of_the_storage(tmp_path: Path) -> None:
    file = write(tmp_path, b"")
    (tmp_path / "3.delta").unlink()
    with pytest.raises(FileNotFoundError):
        list(reader_of(tmp_path).blocks(file))


def test_a_removal_in_a_snapshot_is_an_error(tmp_path: Path) -> None:
    data = encode.state_file([*ROWS, (b"m" * 8, None)])
    assert list(reader_of(tmp_path).blocks(write(tmp_path, data)))
    with pytest.raises(DecodeError):
        list(reader_of(tmp_path).blocks(write(tmp_path, data, FileKind.SNAPSHOT)))


def test_rows_with_wrong_checksums_are_counted_and_handed_on(tmp_path: Path) -> None:
    raw = bytearray(encode.records([*ROWS, *ROWS], row_checksum=True))
    item = len(encode.record(*ROWS[0], row_checksum=True))
    raw[item - 1] ^= 1
    raw[-5] ^= 1
    reader = reader_of(tmp_path, row_checksum=True)
    file = write(tmp_path, encode.compress(bytes(raw), "lz4"))
    assert count_records(reader.blocks(file)) == 4
    (problem,) = reader.problems
    assert (problem.slug, problem.path, problem.version) == ("row-checksum", file.path, 3)
    assert "of their bytes: 2, the" in problem.message
    assert "the first is record 0" in problem.message


def test_read_failures_have_path_and_offset(tmp_path: Path) -> None:
    reader = reader_of(tmp_path)
    file = write(tmp_path, b"")
    reader.note_failure(FrameError("got 1", offset=7), file)
    reader.note_failure(OSError(f"{file.path}: no answer"), file)
    store = StoreId(2, "default", 5)
    assert reader.problems == [
        Problem("bad-frame", "got 1", file.path, 7, store, 3),
        Problem("storage", "no answer", file.path, None, store, 3),
    ]


def test_a_problem_may_be_about_the_store_as_a_whole(tmp_path: Path) -> None:
    reader = reader_of(tmp_path)
    reader.report("missing-version", "none")
    (problem,) = reader.problems
    assert (problem.version, problem.path, problem.offset) == (None, None, None)
