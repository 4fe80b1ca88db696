"""The checkpoints that the server may read, and the part of one that a request opens."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import partial
from hashlib import blake2b
from typing import Any

from inspector.analyses.shared import options as o
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.options import Options
from inspector.checkpoint.logs import COMMITS
from inspector.checkpoint.stops import Stop, obey_stop
from inspector.credentials import redact
from inspector.discovery.checkpoint import Checkpoint
from inspector.engines.choose import LOCAL, EngineOptions, SharedEngines
from inspector.engines.engine import BatchFunction, Job
from inspector.engines.local import LocalEngine
from inspector.light_dataclasses import dataclass, field, replace

# options that the command takes from its command line, for all checkpoints
SHARED = (*o.STORAGE, *o.FORMAT, *o.SCHEMAS, *o.RULES, *o.THRESHOLDS, *o.HERE, *o.MEMORY)


@dataclass(frozen=True)
class Part:
    """A part of a checkpoint at a version, as a URL names it."""

    operator_id: int | None = None  # only this operator; None for all
    store_name: str | None = None  # only this store; None for all
    partition_id: int | None = None  # only this partition; None for all
    batch: int | None = None  # the batch that the URL names; None for the last committed one

    @property
    def words(self) -> list[str]:
        """The options of the command line that name the part."""
        options = {
            "--operator": self.operator_id,
            "--store": self.store_name,
            "--partition": self.partition_id,
            "--batch": self.batch,
        }
        pairs = [[flag, str(value)] for flag, value in options.items() if value is not None]
        return [word for pair in pairs for word in pair]


@dataclass(frozen=True)
class Source:
    """Checkpoints that the server may read, and how it reads them."""

    # paths, as the user spelled them; a URL names one by its index. A service adds those that its
    # searches find, and none is removed, so that an index stays that of its path
    paths: list[str]
    options: Options = field(default_factory=Options)  # options of all analyses
    may_show: bool = False  # True if pages may show keys and values in clear

    def open(self, index: int, part: Part, stop: Stop, **changes: Any) -> Opened:
        """Open a part of a checkpoint for one analysis, whose threads end when ``stop`` says so.

        ``changes`` are further options. Raises the errors of :meth:`Opened.start`.
        """
        options = replace(
            self.options,
            operator_id=part.operator_id,
            store_name=part.store_name,
            partition_id=part.partition_id,
            batch=part.batch,
            engine=EngineOptions(LOCAL),
            **changes,
        )
        engines = SharedEngines(options.engine, options.workers, shared=False)
        engines.requested = StoppableEngine(options.workers)
        engines.requested.stop = stop
        return Opened.start(self.paths[index], options, engines)

    def command(self, name: str, index: int | None, part: Part, *words: str) -> str:
        """Return the command line that shows the same as a page.

        ``index`` None means all checkpoints; ``words`` are further options.
        """
        paths = self.paths if index is None else (self.paths[index],)
        parts = ["inspector", name, *paths, *part.words, *words, *words_of(self.options, name)]
        return redact(shlex.join(parts))


class StoppableEngine(LocalEngine):
    """Engine in this process whose threads end when a request does."""

    stop: Stop  # order to end

    def run(self, job: Job) -> Iterator[Any]:
        """Map the function of a job over its tasks, each in a thread that can be stopped."""
        return super().run(replace(job, function=partial(_stoppable, self.stop, job.function)))


def _stoppable(stop: Stop, function: BatchFunction, batches: Any) -> Iterator[Any]:
    """Yield the results of a batch function; what it reads ends as soon as ``stop`` says so."""
    with obey_stop(stop):
        yield from function(batches)


def words_of(options: Options, command: str) -> Iterator[str]:
    """Yield the words of a command line for the options of the start that the command has."""
    from inspector import analyses  # noqa: PLC0415 - a cycle otherwise

    accepted = {item.name for item in analyses.load(command).shared}
    for item in SHARED:
        value, default = getattr(options, item.name), getattr(Options(), item.name)
        if item.name not in accepted or value == default:
            continue
        if isinstance(value, Mapping):
            values = [f"{name}={setting}" for name, setting in value.items()]
        else:
            values = list(value) if isinstance(value, tuple) else [value]
        for word in values:
            yield from (item.flag, str(word.value if isinstance(word, Enum) else word))


def listing_identity(checkpoint: Checkpoint) -> str:
    """Return a digest of what the listing shows; equal digests mean that no file has changed."""
    logs = checkpoint.logs
    seen = [
        (file.path, file.size, file.modified_ms)
        for store in checkpoint.layout.stores
        for file in store.files
    ]
    versions = logs.last_committed, logs.last_offset, logs.query_id
    text = repr((sorted(seen), versions, logs.written_ms, checkpoint.problems))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def commit_time_ms(checkpoint: Checkpoint) -> int | None:
    """Return when the newest commit was written, epoch ms; None if the storage has no times.

    Without such a time it is the clock of the newest batch.
    """
    times = checkpoint.logs.written_ms.get(COMMITS, {})
    if times:
        return max(times.values())
    clock = checkpoint.clock(checkpoint.newest_version)
    return None if clock is None else clock.timestamp_ms
