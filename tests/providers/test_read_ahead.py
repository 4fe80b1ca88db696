"""Small files of a remote storage are requested ahead of use."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from inspector.checkpoint.storage import SMALL_BYTES, Storage
from inspector.exceptions import LimitError
from inspector.model import LIMITS, FileKind, StoreFile, Version
from inspector.providers.task_files import AHEAD, ReadAhead


class Remote(Storage):
    """A storage that records requests. The content of each file is its name."""

    def __init__(self, url: str = "memory://remote") -> None:
        super().__init__(url)
        self.requested: list[str] = []
        self.streamed: list[str] = []
        self.fail: dict[str, Exception] = {}

    def request(
        self, relative: str, limit: int = LIMITS.small_file_bytes, *, size: int | None = None
    ) -> Callable[[], bytes]:
        self.requested.append(relative)

        def answer() -> bytes:
            if relative in self.fail:
                raise self.fail[relative]
            assert (limit, size) == (SMALL_BYTES, 10)
            return relative.encode()

        return answer

    def stream(
        self, relative: str, chunk_bytes: int = LIMITS.chunk_bytes, *, size: int | None = None
    ) -> Iterator[bytes]:
        del chunk_bytes, size
        self.streamed.append(relative)
        yield relative.encode()

    def read(
        self, relative: str, limit: int = LIMITS.small_file_bytes, *, size: int | None = None
    ) -> bytes:
        del limit, size
        return b"all of " + relative.encode()


def files(storage: Storage, count: int, size: int = 10) -> list[StoreFile]:
    """Return the deltas of the versions 1 to ``count``."""
    return [
        StoreFile(storage.full_path(f"{v}.delta"), FileKind.DELTA, Version(v), size)
        for v in range(1, count + 1)
    ]


def contents(ahead: ReadAhead, expected: list[StoreFile]) -> list[bytes]:
    """Return the content of each file."""
    return [b"".join(ahead.chunks(file)) for file in expected]


def test_read_ahead_returns_files_in_order() -> None:
    remote = Remote()
    expected = files(remote, 3)
    ahead = ReadAhead(remote, expected)
    names = ["1.delta", "2.delta", "3.delta"]
    assert contents(ahead, expected[:1]) == [b"1.delta"]
    assert remote.requested == names  # before the content of the first file arrived
    assert contents(ahead, expected[1:]) == [b"2.delta", b"3.delta"]
    assert (remote.requested, remote.streamed) == (names, [])


def test_read_ahead_is_bounded() -> None:
    remote = Remote()
    expected = files(remote, 3 * AHEAD)
    ahead = ReadAhead(remote, expected)
    next(ahead.chunks(expected[0]))
    assert len(remote.requested) == AHEAD
    assert contents(ahead, expected[1:])[-1] == f"{3 * AHEAD}.delta".encode()
    assert len(remote.requested) == 3 * AHEAD


def test_large_files_are_streamed_and_unexpected_ones_read() -> None:
    remote = Remote()
    large = files(remote, 2, SMALL_BYTES + 1)
    assert contents(ReadAhead(remote, large), large) == [b"1.delta", b"2.delta"]
    assert (remote.requested, remote.streamed) == ([], ["1.delta", "2.delta"])
    assert contents(ReadAhead(remote), files(remote, 1)) == [b"1.delta"]
    assert remote.requested == ["1.delta"]


def test_local_files_are_not_read_ahead(tmp_path: object) -> None:
    remote = Remote(str(tmp_path))
    expected = files(remote, 2)
    ahead = ReadAhead(remote, expected)
    assert contents(ahead, expected[:1]) == [b"1.delta"]
    assert remote.requested == ["1.delta"]
    assert contents(ahead, expected[1:]) == [b"2.delta"]


def test_large_checksum_file_is_read_ahead_as_a_whole() -> None:
    remote = Remote()
    (side,) = files(remote, 1)
    assert ReadAhead(remote, [side]).whole(side) == b"1.delta"
    remote.fail["1.delta"] = LimitError("file has more")
    assert ReadAhead(remote, [side]).whole(side) == b"all of 1.delta"


def test_read_ahead_error_is_raised_at_its_file() -> None:
    remote = Remote()
    remote.fail["2.delta"] = PermissionError("no")
    expected = files(remote, 3)
    ahead = ReadAhead(remote, expected)
    assert contents(ahead, expected[:1]) == [b"1.delta"]
    with pytest.raises(PermissionError):
        contents(ahead, expected[1:2])
    assert contents(ahead, expected[2:]) == [b"3.delta"]


def test_grown_file_is_streamed() -> None:
    remote = Remote()
    remote.fail["1.delta"] = LimitError("file has more")
    expected = files(remote, 1)
    assert contents(ReadAhead(remote, expected), expected) == [b"1.delta"]
    assert remote.streamed == ["1.delta"]
