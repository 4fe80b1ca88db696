"""Small files of a remote storage are asked for before their turn."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest

from inspector.checkpoint.storage import Storage
from inspector.exceptions import LimitError
from inspector.model import LIMITS, FileKind, StoreFile, Version
from inspector.providers.read_ahead import AHEAD, SMALL_BYTES, ReadAhead


class Remote(Storage):
    """A storage that counts what is asked of it; each file holds its own name."""

    def __init__(self, url: str = "memory://remote", together: int = 1) -> None:
        super().__init__(url)
        self.read_paths: list[str] = []
        self.streamed: list[str] = []
        self.barrier = threading.Barrier(together)
        self.fail: dict[str, Exception] = {}

    def read(
        self, relative: str, limit: int = LIMITS.small_file_bytes, *, size: int | None = None
    ) -> bytes:
        self.read_paths.append(relative)
        self.barrier.wait(timeout=20)
        if relative in self.fail:
            raise self.fail[relative]
        assert (limit, size) == (SMALL_BYTES, 10)
        return relative.encode()

    def stream(self, relative: str, chunk_bytes: int = LIMITS.chunk_bytes) -> Iterator[bytes]:
        del chunk_bytes
        self.streamed.append(relative)
        yield relative.encode()


def files(storage: Storage, count: int, size: int = 10) -> list[StoreFile]:
    """Deltas of a store, by version."""
    return [
        StoreFile(storage.full_path(f"{v}.delta"), FileKind.DELTA, Version(v), size)
        for v in range(1, count + 1)
    ]


def contents(ahead: ReadAhead, wanted: list[StoreFile]) -> list[bytes]:
    """What is read of each."""
    return [b"".join(ahead.chunks(file)) for file in wanted]


def test_files_are_handed_out_in_their_order_while_others_are_under_way() -> None:
    # Each read waits for three others: read one by one they would never end.
    remote = Remote(together=4)
    wanted = files(remote, 8)
    assert contents(ReadAhead(remote, wanted), wanted) == [
        f"{v}.delta".encode() for v in range(1, 9)
    ]
    assert (sorted(remote.read_paths), remote.streamed) == (
        [f"{v}.delta" for v in range(1, 9)],
        [],
    )


def test_no_more_than_a_few_are_under_way() -> None:
    remote = Remote()
    wanted = files(remote, 3 * AHEAD)
    ahead = ReadAhead(remote, wanted)
    next(ahead.chunks(wanted[0]))
    assert len(remote.read_paths) <= AHEAD
    assert contents(ahead, wanted[1:])[-1] == f"{3 * AHEAD}.delta".encode()


def test_large_and_unexpected_files_are_streamed() -> None:
    remote = Remote()
    large = files(remote, 2, SMALL_BYTES + 1)
    assert contents(ReadAhead(remote, large), large) == [b"1.delta", b"2.delta"]
    assert contents(ReadAhead(remote), files(remote, 1)) == [b"1.delta"]
    assert (remote.read_paths, remote.streamed) == ([], ["1.delta", "2.delta", "1.delta"])


def test_local_files_are_not_asked_for_before_their_turn(tmp_path: object) -> None:
    remote = Remote(str(tmp_path))
    wanted = files(remote, 2)
    assert contents(ReadAhead(remote, wanted), wanted) == [b"1.delta", b"2.delta"]
    assert (remote.read_paths, remote.streamed) == ([], ["1.delta", "2.delta"])


def test_an_error_comes_when_its_file_is_read() -> None:
    remote = Remote()
    remote.fail["2.delta"] = PermissionError("no")
    wanted = files(remote, 3)
    ahead = ReadAhead(remote, wanted)
    assert contents(ahead, wanted[:1]) == [b"1.delta"]
    with pytest.raises(PermissionError):
        contents(ahead, wanted[1:2])
    assert contents(ahead, wanted[2:]) == [b"3.delta"]


def test_a_file_that_has_grown_is_streamed() -> None:
    remote = Remote()
    remote.fail["1.delta"] = LimitError("file has more")
    wanted = files(remote, 1)
    assert contents(ReadAhead(remote, wanted), wanted) == [b"1.delta"]
    assert remote.streamed == ["1.delta"]


def test_its_threads_go_with_it() -> None:
    def running() -> set[threading.Thread]:
        return {each for each in threading.enumerate() if each.name.startswith("read-ahead")}

    before, remote = running(), Remote()
    ahead = ReadAhead(remote, files(remote, 3))
    assert len(contents(ahead, files(remote, 3))) == 3
    mine = running() - before
    assert mine
    del ahead
    gc.collect()
    for thread in mine:
        thread.join(timeout=60)
        assert not thread.is_alive()
