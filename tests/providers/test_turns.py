"""Blocks of a file that several readers read in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from inspector.decode.records import Scanned
from inspector.providers.task_files import Turns

SPANS = np.zeros((4, 0), np.int64)
LARGE = Scanned(b"many", 0, 0, SPANS, None)
SMALL = Scanned(b"few", 0, 0, SPANS, None)


class Files:
    """Yields the blocks of files and records the start of each read."""

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
    assert list(turns.blocks("a", files.of("a"))) == [LARGE, SMALL]
    assert list(turns.blocks("a", files.of("a"))) == [LARGE, SMALL]
    assert list(turns.blocks("b", files.of("b"))) == [LARGE, SMALL]
    assert list(turns.blocks("b", files.of("b"))) == [LARGE, SMALL]
    assert files.begun == ["a", "b"]


def test_readers_in_step_share_one_block_of_memory() -> None:
    files, turns = Files(), Turns(LARGE.nbytes)
    first, second = turns.blocks("a", files.of("a")), turns.blocks("a", files.of("a"))
    assert list(zip(first, second, strict=True)) == [(LARGE, LARGE), (SMALL, SMALL)]
    assert files.begun == ["a"]


@pytest.mark.parametrize(("maximum", "begun"), [(7, ["a"]), (6, ["a", "a"])])
def test_content_above_bound_is_read_again(maximum: int, begun: list[str]) -> None:
    files, turns = Files(), Turns(maximum)
    assert list(turns.blocks("a", files.of("a"))) == [LARGE, SMALL]
    assert list(turns.blocks("a", files.of("a"))) == [LARGE, SMALL]
    assert files.begun == begun


def test_slow_reader_reads_the_rest_itself() -> None:
    files, turns = Files(), Turns(LARGE.nbytes)
    first, second = turns.blocks("a", files.of("a")), turns.blocks("a", files.of("a"))
    assert (next(first), next(second), next(first)) == (LARGE, LARGE, SMALL)
    assert list(second) == [SMALL]
    assert files.begun == ["a", "a"]  # the first reader has not reached the end


def test_reader_rereads_its_part_of_uncached_content() -> None:
    files, turns = Files(), Turns(6)
    assert list(turns.blocks("a", files.of("a"), lambda: iter([SMALL]))) == [LARGE, SMALL]
    assert list(turns.blocks("a", files.of("a"), lambda: iter([SMALL]))) == [SMALL]
    assert list(turns.blocks("a", files.of("a"), lambda: iter([SMALL]))) == [SMALL]
    assert files.begun == ["a"]


def test_abandoned_read_is_not_complete() -> None:
    files, turns = Files(), Turns()
    assert next(turns.blocks("a", files.of("a"))) == LARGE
    assert list(turns.blocks("a", files.of("a"), lambda: iter([SMALL]))) == [LARGE, SMALL]
    assert files.begun == ["a", "a"]


def test_read_error_reaches_every_reader() -> None:
    files, turns = Files(broken="a"), Turns()
    with pytest.raises(OSError, match="a"):
        list(turns.blocks("a", files.of("a"), lambda: iter([SMALL])))
    with pytest.raises(OSError, match="a"):
        list(turns.blocks("a", files.of("a"), lambda: iter([SMALL])))
    assert files.begun == ["a", "a"]
