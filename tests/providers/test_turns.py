"""Blocks of a file that several readers read in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from inspector.decode.records import Scanned
from inspector.providers.task_files import Turns

SPANS = np.zeros((4, 0), np.int64)
LARGE, SMALL = (Scanned(buffer, 0, 0, SPANS, None) for buffer in (b"many", b"few"))


class Files:
    """Makes the blocks of files, and counts how often each is begun."""

    def __init__(self, *, broken: str = "") -> None:
        self.begun: list[str] = []
        self._broken = broken

    def of(self, path: str) -> Callable[[], Iterator[Scanned]]:
        def make() -> Iterator[Scanned]:
            self.begun.append(path)
            yield LARGE
            if path == self._broken:
                raise OSError(path)
            yield SMALL

        return make


def test_readers_of_one_file_share_its_blocks() -> None:
    files, turns = Files(), Turns()
    for path in ("a", "b"):
        for _ in range(3):
            assert list(turns.blocks(path, files.of(path))) == [LARGE, SMALL]
    assert files.begun == ["a", "b"]


def test_readers_in_step_share_one_block_of_memory() -> None:
    files, turns = Files(), Turns(LARGE.nbytes)
    readers = [turns.blocks("a", files.of("a")) for _ in range(3)]
    assert list(zip(*readers, strict=True)) == [(LARGE,) * 3, (SMALL,) * 3]
    assert files.begun == ["a"]


def test_content_above_bound_is_read_again() -> None:
    for maximum, times in ((7, 1), (6, 2)):
        files, turns = Files(), Turns(maximum)
        for _ in range(2):
            assert list(turns.blocks("a", files.of("a"))) == [LARGE, SMALL]
        assert files.begun == ["a"] * times


def test_slow_reader_reads_the_rest_itself() -> None:
    files, turns = Files(), Turns(LARGE.nbytes)
    first, second = (turns.blocks("a", files.of("a")) for _ in range(2))
    assert (next(first), next(second), next(first)) == (LARGE, LARGE, SMALL)
    assert list(second) == [SMALL]
    assert files.begun == ["a", "a"]  # the first one has not come to the end yet


def test_reader_rereads_its_part_of_uncached_content() -> None:
    files, turns = Files(), Turns(6)
    for expected in ([LARGE, SMALL], [SMALL], [SMALL]):
        assert list(turns.blocks("a", files.of("a"), lambda: iter([SMALL]))) == expected
    assert files.begun == ["a"]


def test_abandoned_read_is_not_complete() -> None:
    files, turns = Files(), Turns()
    assert next(turns.blocks("a", files.of("a"))) == LARGE
    assert list(turns.blocks("a", files.of("a"), lambda: iter([SMALL]))) == [LARGE, SMALL]
    assert files.begun == ["a", "a"]


def test_read_error_reaches_every_reader() -> None:
    files, turns = Files(broken="a"), Turns()
    for _ in range(2):
        with pytest.raises(OSError, match="a"):
            list(turns.blocks("a", files.of("a"), lambda: iter([SMALL])))
    assert files.begun == ["a", "a"]
