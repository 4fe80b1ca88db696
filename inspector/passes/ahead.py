"""The blocks of a file made by a second thread, while the first one replays those before."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import TypeVar

from inspector.model import StoreFile

T = TypeVar("T")

MOST_AHEAD = 2  # blocks that are made before their turn; each is a megabyte or so
LARGE = 1 << 20  # bytes of a file whose decoding is worth a thread, where there is a core for it
_PATIENCE_S = 0.1  # after so long a thread that waits looks whether anybody still wants its item


def is_large(file: StoreFile) -> bool:
    """Return whether decoding a file takes much longer than starting a thread."""
    return file.size >= LARGE


_LONGEST_BLOCK_S = 1.0  # a block takes milliseconds; a thread that takes longer waits for a storage


class _End:
    """End of the items in the queue, with the error that ended them, if any."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def make_ahead(items: Iterable[T], max_items: int = MOST_AHEAD) -> Iterator[T]:
    """Yield ``items`` in their order while another thread produces them.

    Decoding and replaying both release the GIL, so that they use two cores. An error of ``items``
    is raised at its position. The thread ends when this iterator ends or is closed; a thread that
    waits for a storage ends when it has its answer, or with the process. At most ``max_items``
    items are produced before they are requested. Only that thread may use ``items``.
    """
    queue: Queue[T | _End] = Queue(max_items)
    unwanted = Event()

    def give(item: T | _End) -> bool:
        while not unwanted.is_set():
            with suppress(Full):
                queue.put(item, timeout=_PATIENCE_S)
                return True
        return False

    def make() -> None:
        try:
            for item in items:
                if not give(item):
                    return
        except BaseException as error:  # noqa: BLE001 - raised where the items are taken
            give(_End(error))
        else:
            give(_End())

    thread = Thread(target=make, name="inspector-ahead", daemon=True)
    thread.start()
    try:
        while not isinstance(item := queue.get(), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        unwanted.set()
        with suppress(Empty):
            queue.get_nowait()  # the thread may wait for room
        thread.join(_LONGEST_BLOCK_S)  # who interrupts waits for no storage with it


def make_rounds_ahead(sources: Sequence[Iterator[T]]) -> list[Iterator[T]]:
    """Several iterators, of each of which one item is made in turn, all by one other thread.

    They are to be taken in turns too: what is made for one of them waits for the others.
    An error comes in the iterator that raised it, and the others go on.
    """
    turns = make_ahead(_turns(sources), MOST_AHEAD * len(sources))
    waiting: list[deque[T | _End]] = [deque() for _ in sources]

    def of(own: deque[T | _End]) -> Iterator[T]:
        while True:
            while not own:
                number, made = next(turns)
                waiting[number].append(made)
            item = own.popleft()
            if not isinstance(item, _End):
                yield item
            elif item.error is not None:
                raise item.error
            else:
                return

    return list(map(of, waiting))


def _turns(sources: Sequence[Iterator[T]]) -> Iterator[tuple[int, T | _End]]:
    going = dict(enumerate(sources))
    while going:
        for number, source in [*going.items()]:
            item: T | _End
            try:
                item = next(source, _End())
            except BaseException as error:  # noqa: BLE001 - raised where the items are taken
                item = _End(error)
            if isinstance(item, _End):
                del going[number]
            yield number, item
