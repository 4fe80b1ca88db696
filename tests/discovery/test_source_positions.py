"""Logs of file sources, and offset ranges of batches."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.checkpoint.storage import Storage
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.source_positions import SourceLog, SourcePositions
from tests.attributes import attributes

LINE = json.dumps({"path": "file:///in/a", "timestamp": 5, "batchId": 0}).encode()


def log_of(folder: Path, entries: dict[str, bytes]) -> SourceLog:
    """Write and return a source log with these entries."""
    path = folder / "sources" / "0"
    path.mkdir(parents=True)
    for name, data in entries.items():
        (path / name).write_bytes(data)
    return SourceLog(Storage(str(folder)), "sources/0")


def test_compact_entry_contains_older_entries(tmp_path: Path) -> None:
    entries = {"0": b"v1\n" + LINE, "1.compact": b"v1\n" + LINE + b"\n", "2": b"v1\n" + LINE}
    log = log_of(tmp_path, entries)
    # The line of entry 2 has batch id 0, as in a copied entry.
    assert attributes(log.files(), "path") == ["file:///in/a"] * 2
    assert log.count(None, 0) == 2
    assert log.count(0, 1) is None
    assert log.count(None, 10**18) is None
    assert log.problems == []


def test_missing_source_log_counts_nothing(tmp_path: Path) -> None:
    log = SourceLog(Storage(str(tmp_path)), "sources/0")
    assert list(log.files()) == []
    assert log.count(None, 0) is None


@pytest.mark.parametrize(("gone", "problems"), [((0, 1), 0), ((1,), 1)])
def test_purge_while_the_log_is_read(tmp_path: Path, gone: tuple[int, ...], problems: int) -> None:
    root = tmp_path / "checkpoint"
    for log in ("offsets", "commits"):
        (root / log).mkdir(parents=True)
        for batch in range(4):
            (root / log / str(batch)).write_text("v1\n{}" + "\n7" * (log == "offsets"), "utf-8")
    positions = SourcePositions(open_checkpoint(str(root)))
    assert len(positions.entries) == 4
    for batch in gone:
        (root / "offsets" / str(batch)).unlink()
    left = [batch for batch in (3, 2, 1, 0) if batch not in gone]
    assert attributes(positions.ranges(), "batch_id") == left
    assert len(positions.problems) == problems


@given(
    st.dictionaries(
        st.sampled_from(["0", "1", "1.compact", "x", ".2.crc", "02", "9" * 30]),
        st.one_of(
            st.binary(max_size=60),
            st.lists(
                st.sampled_from(
                    [LINE, b"", b"{", b"[]", b'{"path":1}', b'{"path":"a","batchId":-1}']
                )
            ).map(lambda lines: b"v1\n" + b"\n".join(lines)),
        ),
    )
)
def test_any_bytes_give_files_or_problems(entries: dict[str, bytes]) -> None:
    with TemporaryDirectory() as folder:
        log = log_of(Path(folder), entries)
        for file in log.files():
            assert isinstance(file.path, str)
        first = list(log.problems)
        log.count(None, 3)
        assert log.problems == first
