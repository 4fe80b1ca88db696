"""What readers of state files have in common, over files without a codec."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from inspector.checkpoint.storage import Storage
from inspector.decode.records import RecordBlock, read_records
from inspector.exceptions import DecodeError
from inspector.model import FileKind, StoreFile, Version
from inspector.providers.file_reader import Checked, FileReader
from inspector.providers.reader_options import ReadOptions
from inspector.providers.task_files import TaskFiles
from tests import encode
from tests.attributes import attributes

ROWS = [(b"key 0001", b"value 01"), (b"key 0002", None)]


class PlainReader(FileReader):
    """Reads a file that is not compressed."""

    other_cause = ", or the moon was full"

    def decode(self, file: StoreFile) -> Iterator[RecordBlock]:
        sums = self._options.row_checksum
        yield from read_records(self.chunks(file), snapshot=False, row_checksum=sums)


class Read:
    """A reader of one file, with the problems that it reported."""

    def __init__(self, folder: Path, content: bytes, *, row_checksum: bool) -> None:
        (folder / "1.delta").write_bytes(content)
        self.file = StoreFile("1.delta", FileKind.DELTA, Version(1), len(content))
        self.problems: list[tuple[str, str]] = []
        self.reader = PlainReader(
            TaskFiles(Storage.open(str(folder))),
            ReadOptions(row_checksum=row_checksum),
            (),
            (),
            lambda slug, message, *_: self.problems.append((slug, message)),
        )
        self.reader.expect([self.file])

    def records(self) -> int:
        return sum(attributes(self.reader.blocks(self.file), "count"))


@pytest.mark.parametrize(
    ("row_checksum", "checked", "without_sums"),
    [(False, Checked(1, 0, 0), frozenset({"1.delta"})), (True, Checked(1, 0, 2), frozenset())],
)
def test_completely_read_file_counts(
    tmp_path: Path, row_checksum: bool, checked: Checked, without_sums: frozenset[str]
) -> None:
    content = encode.records(ROWS, row_checksum=row_checksum)
    read = Read(tmp_path, content, row_checksum=row_checksum)
    assert read.reader.checks == Checked(0, 0, 0)
    assert (read.records(), read.problems) == (2, [])
    assert (read.reader.checks, read.reader.paths_without_sums) == (checked, without_sums)


def test_changed_records_are_reported_once_per_file(tmp_path: Path) -> None:
    content = encode.records(ROWS, row_checksum=True)
    read = Read(tmp_path, content.replace(b"key 000", b"key 999"), row_checksum=True)
    assert read.records() == 2
    ((slug, message),) = read.problems
    assert slug == "row-checksum"
    assert "not that of their bytes: 2, the first is record 0" in message
    assert message.endswith("after Spark wrote it, or the moon was full")
    assert read.reader.checks == Checked(1, 0, 0)


def test_file_reader_error_names_file(tmp_path: Path) -> None:
    read = Read(tmp_path, encode.records(ROWS)[:-1], row_checksum=False)
    with pytest.raises(DecodeError) as error:
        read.records()
    assert error.value.path == "1.delta"
    assert read.reader.checks == Checked(0, 0, 0)
