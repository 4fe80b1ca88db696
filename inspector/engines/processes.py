"""Other processes of this machine, for what is Python's own work: threads would take turns at it.

One is started as a program of its own, and by nothing of ``multiprocessing``: that runs once more,
or forks with all its threads, the program that calls the functions of :mod:`inspector.api`. Tasks
and results go through its pipes, as Arrow streams. One that fails, for whatever reason, is done
without: this process runs its tasks, and has the error if it is one of theirs.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from itertools import islice, takewhile
from typing import Any

import pyarrow as pa

from inspector.checkpoint.storage import READ
from inspector.engines.engine import BatchFunction, Merge, Work
from inspector.schemas import task_batch

_PROGRAM = (
    "import sys; names, *sys.path = sys.argv[1:]; "
    "from inspector.engines.processes import serve; serve(names)"
)


def by_processes(
    function: BatchFunction, shares: Sequence[Sequence[Work]], merge: Merge | None
) -> Iterator[pa.RecordBatch]:
    """Map a function over shares of tasks: this process has the first, others have one each.

    Args:
        function: of tasks. Where another process cannot import it, this one runs all of them.
        shares: of the tasks, in their order.
        merge: of the results of another process.

    Yields:
        The results in the order of the tasks.
    """
    numbered = enumerate(item.spec for share in shares for item in share)
    tasks = [[task_batch(spec, i) for i, spec in islice(numbered, len(share))] for share in shares]
    names = [_name_of(part) for part in (function, *([] if merge is None else [merge.function]))]
    helpers: list[_Helper | None] = [None] * len(shares)
    try:
        for i in range(1, len(shares) if all(names) else 1):
            with suppress(OSError):  # it cannot be started
                helpers[i] = _Helper([*map(str, names)], tasks[i])
        for helper, of_share, share in zip(helpers, tasks, shares, strict=True):
            results = None if helper is None else helper.results()
            if results is None:
                yield from function(of_share)
            else:
                READ.add(sum(item.weight for item in share))
                yield from results
    finally:
        for helper in filter(None, helpers):
            helper.end()


def _name_of(function: Callable[..., Any]) -> str:
    """What another process knows a function by; nothing of one that it cannot import."""
    arguments = getattr(function, "args", ())  # of a partial, which has no name
    function = getattr(function, "func", function)
    is_local = "<locals>" in function.__qualname__
    return "" if is_local else json.dumps([function.__module__, function.__qualname__, *arguments])


class _Helper:
    """A process that runs some tasks while this one runs others.

    Args:
        names: of the functions that are called one after the other.
        tasks: batches of :data:`inspector.schemas.TASKS`.
    """

    def __init__(self, names: Sequence[str], tasks: Sequence[pa.RecordBatch]) -> None:
        sink = pa.BufferOutputStream()
        _write(sink, tasks)
        command = [sys.executable, "-c", _PROGRAM, json.dumps(names), *sys.path]
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere)
        # By a thread: it would wait as soon as nobody takes what it writes.
        pool = ThreadPoolExecutor(1, thread_name_prefix="inspector")
        self._written: Future[Any] = pool.submit(self._process.communicate, bytes(sink.getvalue()))
        pool.shutdown(wait=False)

    def results(self) -> Iterable[pa.RecordBatch] | None:
        """The results of its tasks; None if it failed."""
        written, _ = self._written.result()
        if self._process.returncode:
            return None
        return pa.ipc.open_stream(written) if written else ()

    def end(self) -> None:
        """End it, whether or not it is done."""
        self._process.kill()


def serve(names: str) -> None:
    """Run the tasks of standard input and write the results: what a helper's process does."""
    gc.set_threshold(100_000)  # as the command line has it
    parent, tasks = os.getppid(), pa.ipc.open_stream(sys.stdin.buffer.read())
    # Whoever was killed takes no results any more.
    batches: Iterable[pa.RecordBatch] = takewhile(lambda _: os.getppid() == parent, tasks)
    for text in json.loads(names):
        module, name, *arguments = json.loads(text)
        batches = getattr(import_module(module), name)(*arguments, batches)
    _write(sys.stdout.buffer, batches)


def _write(sink: Any, batches: Iterable[pa.RecordBatch]) -> None:
    # Columns of facts of other kinds are written with all their zeros.
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    stream = None
    for batch in batches:
        stream = stream or pa.ipc.new_stream(sink, batch.schema, options=options)
        stream.write_batch(batch)
    if stream is not None:
        stream.close()
