"""URLs for staged copies of files, which are valid in one process."""

from pathlib import Path

import pytest

from inspector.checkpoint.storage import Storage
from inspector.checkpoint.urls import (
    absolute,
    folder_of_copies,
    is_local,
    name_of_copies,
    stage_folder,
    url_of_copies,
)
from inspector.exceptions import EngineError


def test_staged_storage_reads_the_folder_and_names_the_root(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    with stage_folder("f3a9", str(tmp_path)):
        storage = Storage(url_of_copies("f3a9"), {}, "hdfs://nn/query")
    assert storage.read("file") == b"content"
    assert storage.full_path("file") == "hdfs://nn/query/file"
    with pytest.raises(FileNotFoundError) as caught:
        storage.read("other")
    assert str(caught.value).startswith("hdfs://nn/query/other: ")
    assert str(tmp_path) not in str(caught.value)


def test_staged_url_without_folder_is_an_engine_error() -> None:
    with pytest.raises(EngineError, match=r"got staged:/f3a9 .* run the task on the engine"):
        Storage(url_of_copies("f3a9"), {}, "/root")


def test_stage_folder_scopes(tmp_path: Path) -> None:
    url = url_of_copies("n")
    with stage_folder("n", "/outer"):
        with stage_folder("n", str(tmp_path)):
            assert folder_of_copies(url) == str(tmp_path)
        assert folder_of_copies(url) == "/outer"
    with pytest.raises(EngineError):
        folder_of_copies(url)


def test_staged_urls_are_absolute_and_local() -> None:
    assert name_of_copies(url_of_copies("f3a9")) == "f3a9"
    assert absolute("staged:/f3a9") == "staged:/f3a9"
    assert is_local("staged:/f3a9")
