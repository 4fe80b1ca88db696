"""Logs of file sources."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from inspector.checkpoint.log_entries import SourceOffset
from inspector.checkpoint.storage import Storage
from inspector.discovery.query_sources import newest_first, times_of_entry


def write_log(root: Path, times: Sequence[Sequence[int]]) -> Storage:
    """Write an entry for each batch, the tenth compact, as ``FileStreamSourceLog`` does."""
    folder = root / "sources" / "0"
    folder.mkdir(parents=True)
    lines: list[str] = []
    for batch, of_batch in enumerate(times):
        files = [
            json.dumps({"path": f"file:///in/{batch}-{ms}.json", "timestamp": ms, "batchId": batch})
            for ms in of_batch
        ]
        lines += files
        compact = batch % 10 == 9
        name = f"{batch}.compact" if compact else str(batch)
        (folder / name).write_text("\n".join(["v1", *(lines if compact else files)]))
    return Storage(str(root))


def test_times_of_a_source_log_entry(tmp_path: Path) -> None:
    storage = write_log(tmp_path, [[n, n + 5] for n in range(12)])
    assert times_of_entry(storage, "0", 3) == [3, 8]
    assert times_of_entry(storage, "0", 9) == [9, 14]
    assert times_of_entry(storage, "0", 12) == []
    (tmp_path / "sources/0/3").write_text("v1\n{")
    assert times_of_entry(storage, "0", 3) == []
    (tmp_path / "sources/0/4").write_text("v1\n" + "x" * (1 << 20))
    assert times_of_entry(storage, "0", 4) == []


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([[9], [8], [7], [6], [5], [4], [3], [2], [1], [0]], ["source 0"]),
        ([[0], [1], [2], [3], [4], [5], [6], [7], [8], [9]], []),
        # The newest file of an entry is as old as the oldest file of the entry before.
        ([[9, 8], [8, 7], [7, 6], [6, 5], [5, 4], [4, 3], [3, 2], [2, 1], [1, 0]], []),
        ([[9], [8], [7], [6]], []),  # few entries
    ],
)
def test_newest_first_source(tmp_path: Path, times: list[list[int]], expected: list[str]) -> None:
    storage = write_log(tmp_path, times)
    last = f'{{"logOffset":{len(times) - 1}}}'
    sources = [SourceOffset("0", last, moved=True), SourceOffset("1", '{"a":{"0":5}}', moved=True)]
    assert [*newest_first(storage, sources)] == expected
