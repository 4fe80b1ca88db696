"""Files in chunks that are staged for a task. These tests need no Spark."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from inspector.checkpoint.storage import Storage
from inspector.checkpoint.urls import folder_of_copies, url_of_copies
from inspector.engines.staging import CHUNK_BYTES, CHUNKS, StagingFolder, on_staged_files, scratch
from inspector.exceptions import EngineError
from inspector.schemas import batch_of
from tests.decode.spans import pieces


def chunk(path: str, number: int, content: bytes, name: str = "n") -> dict[str, Any]:
    return {"name": name, "path": path, "chunk": number, "content": content}


def task(number: int, spec: str) -> dict[str, Any]:
    return {"task_id": number, "spec": spec}


def contents(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Read the files that the specs name."""
    for batch in batches:
        for spec in batch.column("spec").to_pylist():
            name, path = str(spec).split(":")
            content = Storage(url_of_copies(name), {}, "/root").read(path, 1 << 30)
            yield pa.RecordBatch.from_pydict({"spec": [spec], "content": [content]})


def test_staged_files_are_complete_for_any_order_of_chunks() -> None:
    complete = os.urandom(2 * CHUNK_BYTES + 77)
    cut = pieces(complete, CHUNK_BYTES)
    rows = [
        chunk("state/0/0/2.delta", 2, cut[2]),
        task(7, "n:state/0/0/2.delta"),
        chunk("state/0/0/2.delta", 0, cut[0]),
        chunk("state/0/0/3.delta", 0, b"of another checkpoint", name="m"),
        chunk("state/0/0/3.delta", 0, b""),
        chunk("state/0/0/2.delta", 0, cut[0]),  # a task of Spark's that ran twice
        chunk("state/0/0/2.delta", 1, cut[1]),
        task(3, "m:state/0/0/3.delta"),
        task(5, "n:state/0/0/3.delta"),
    ]
    batches = [batch_of(CHUNKS, rows[:4]), batch_of(CHUNKS, rows[4:])]
    result = pa.Table.from_batches(on_staged_files(contents, "mn")(batches)).to_pylist()
    assert result == [
        {"spec": "m:state/0/0/3.delta", "content": b"of another checkpoint"},
        {"spec": "n:state/0/0/3.delta", "content": b""},
        {"spec": "n:state/0/0/2.delta", "content": complete},
    ]


def test_staging_folder_is_private_and_removed_at_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    rows = [chunk("a", 0, b"1"), task(0, "n:a"), task(1, "n:a")]
    result = on_staged_files(contents, ["n"])([batch_of(CHUNKS, rows)])
    assert next(result).column("content")[0].as_py() == b"1"
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700, "keys and values are personal data"
    assert (folder / "n" / "a").stat().st_mode & 0o777 == 0o600
    result.close()  # type: ignore[attr-defined]
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(EngineError):
        folder_of_copies(url_of_copies("n"))


def test_missing_staged_file_has_its_original_path() -> None:
    run = on_staged_files(contents, ["n"])([batch_of(CHUNKS, [task(0, "n:state/0/0/1.delta")])])
    with pytest.raises(FileNotFoundError) as caught:
        list(run)
    assert str(caught.value).startswith("/root/state/0/0/1.delta: ")
    assert "inspector-" not in str(caught.value)


def test_staging_names_end_with_their_context(tmp_path: Path) -> None:
    with StagingFolder(str(tmp_path)).names(["x", "y"]):
        assert folder_of_copies(url_of_copies("y")) == str(tmp_path / "y")
    with pytest.raises(EngineError):
        folder_of_copies(url_of_copies("y"))


def test_scratch_is_an_existing_spark_local_dir(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    assert scratch() is None
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path / 'gone'},{tmp_path}")
    assert scratch() == str(tmp_path)
