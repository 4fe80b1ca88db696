"""The blocks of files that several readers read in turns, made once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, Protocol, TypeVar

MOST_BYTES = 4 << 20
"""Bytes of one file's last blocks that are kept: who is as far behind makes them for itself."""


class Block(Protocol):
    """A part of a file's records."""

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""


T = TypeVar("T", bound=Block)


@dataclass
class _Made(Generic[T]):
    """The last blocks of a file, as far as its first reader has come.

    Attributes:
        last: these blocks. nbytes: of them. count: of all blocks so far.
        whole: the first reader has come to the end.
    """

    last: deque[T] = field(default_factory=deque)
    nbytes: int = 0
    count: int = 0
    whole: bool = False

    def add(self, block: T, most_bytes: int) -> None:
        """Keep one more, and forget the oldest ones for it."""
        self.last.append(block)
        self.count += 1
        self.nbytes += block.nbytes
        while self.nbytes > most_bytes:
            self.nbytes -= self.last.popleft().nbytes

    def since(self, index: int) -> Iterator[T]:
        """The blocks from one on, as long as they are there."""
        while self.count - len(self.last) <= index < self.count:
            yield self.last[index - self.count]
            index += 1


class Turns(Generic[T]):
    """Gives the readers of a file the blocks that the first one of them has made.

    They may take turns by the block or by the file. The first one decides where a block ends; who
    comes to a block that is not there reads the file for itself from there on.

    Args:
        most_bytes: of each file's blocks that are kept.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._files: dict[str, _Made[T]] = {}

    def blocks(
        self,
        path: str,
        make: Callable[[], Iterator[T]],
        again: Callable[[], Iterator[T]] | None = None,
    ) -> Iterator[T]:
        """The blocks of a file.

        Args:
            path: of the file.
            make: reads it.
            again: reads what this reader needs of it, if another one has read all of it without an
                error and its first blocks are not there any more; by default as ``make`` does.
        """
        made = self._files.get(path)
        if made is None:
            made = self._files[path] = _Made()
            for block in make():
                made.add(block, self._most)
                yield block
            made.whole = True
            return
        index = 0
        for block in made.since(0):
            index += 1
            yield block
        if made.whole and index == made.count:
            return
        if made.whole and not index and again is not None:
            yield from again()
        else:
            yield from islice(make(), index, None)
