"""Files of a cache: their content, and the limit of their size."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from inspector.checkpoint import cache_files
from inspector.checkpoint.cache_files import CacheFiles

LIMIT = 1 << 10


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CacheFiles:
    """Return a cache of an empty folder whose files have at most ``LIMIT`` bytes."""
    monkeypatch.setattr(cache_files, "MOST_FILE_BYTES", LIMIT)
    return CacheFiles(str(tmp_path), {})


def test_cache_content_is_read_as_written(cache: CacheFiles) -> None:
    content = bytes(LIMIT)
    cache.write("zeros", content)
    assert cache.read("zeros") == content
    assert cache.read("other") is None


@pytest.mark.parametrize("excess", range(-48, 2, 7))
def test_too_large_cache_content_is_not_written(
    cache: CacheFiles, tmp_path: Path, excess: int
) -> None:
    """Random bytes grow by compression, and each file has a hash in front of its content."""
    content = random.Random(1).randbytes(LIMIT + excess)
    cache.write("random", content)
    assert cache.present()("random") == (cache.read("random") == content)
    assert all(file.stat().st_size <= LIMIT for file in tmp_path.iterdir())
