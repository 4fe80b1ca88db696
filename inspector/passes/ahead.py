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

MOST_AHEAD = 2  # blocks that a thread makes before they are requested; a block has about a megabyte
LARGE = 1 << 20  # bytes of a file from which on decoding it is worth a thread of its own
# seconds after which a thread that waits for room checks if its items are still wanted
_PATIENCE_S = 0.1


def is_large(file: StoreFile) -> bool:
    """Return True if a file has at least LARGE bytes, so that decoding it is worth a thread."""
    return file.size >= LARGE


# seconds to wait for the thread's end; a block takes milliseconds, and only a slow storage takes
# longer
_LONGEST_BLOCK_S = 1.0


class _End:
    """End of the items in the queue, with the error that ended them, if any."""

    def __init__(self, error: BaseException | None = None) -> None:
        """Mark the end of the items.

        ``error`` is the exception that ended them, None for a normal end.
        """
        self.error = error


def make_ahead(items: Iterable[T], max_items: int = MOST_AHEAD) -> Iterator[T]:
    """Yield ``items`` in their order while another thread produces them.

    Decoding and replaying both release the GIL, so that they use two cores. An error of ``items``
    is raised at its position. The thread ends when this iterator ends or is closed; a thread that
    waits for a storage ends when it has its answer, or with the process. At most ``max_items``
    items and one more are produced before they are requested. Only that thread may use ``items``.
    """
    queue: Queue[T | _End] = Queue(max_items)
    unwanted = Event()

    def give(item: T | _End) -> bool:
        """Put an item into the queue; return False if nobody wants items any more."""
        while not unwanted.is_set():
            with suppress(Full):
                queue.put(item, timeout=_PATIENCE_S)
                return True
        return False

    def make() -> None:
        """Put all items into the queue, then an :class:`_End` with the error, if one was raised."""
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
    """Return one iterator for each source; another thread makes their items, one of each in turn.

    The iterators must be consumed in turns too: an item that was made for one of them waits in
    memory until it is consumed. An error is raised by the iterator of its source, and the other
    sources continue.
    """
    turns = make_ahead(_turns(sources), MOST_AHEAD * len(sources))
    waiting: list[deque[T | _End]] = [deque() for _ in sources]

    def of(own: deque[T | _End]) -> Iterator[T]:
        """Yield the items of one source; items of the other sources go to their own deques."""
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
    """Yield (index of the source, item) for each source in turn, until every source has ended.

    The last item of a source is an :class:`_End`, with the error if the source raised one.
    """
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
