"""Interface of engines, and the work that they run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar

from inspector.checkpoint.roots import Selection
from inspector.checkpoint.storage import Storage
from inspector.light_dataclasses import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

BatchFunction = Callable[["Iterable[Any]"], "Iterator[Any]"]
"""The form of ``mapInArrow``'s argument, such as :func:`inspector.passes.worker.run_tasks`: from
batches to batches of Arrow, or in this process to whatever the caller takes."""

FSSPEC, HADOOP = "fsspec", "hadoop"  # what reads files, where they are needed: or Spark
FILE_COST = 100_000  # bytes that take as long as to open a file: 0.3 ms, at 3 ns for a byte


@dataclass(frozen=True)
class Work:
    """One task as an engine sees it."""

    spec: str  # the task as JSON, or a word for it. It may hold credentials: never shown.
    weight: int = 0  # bytes of its files
    partition_id: int | None = None  # the partition that it reads, if it reads one
    in_python: bool = False  # most is Python's own work, for which threads take turns
    files: int = 0
    kept: object = None  # what the spec is a word for, if only this process can run it

    @property
    def cost(self) -> int:
        """Cost in bytes; an engine with several workers starts with the largest."""
        return self.weight + self.files * FILE_COST


@dataclass(frozen=True)
class Merge:
    """Function that reduces the number of results."""

    keys: tuple[str, ...]  # results with the same of these columns must come to one call
    function: BatchFunction  # from batches of the results' schema to batches of the same


@dataclass(frozen=True)
class Job:
    """Tasks, and what is mapped over them."""

    function: BatchFunction
    schema: pa.Schema
    work: Sequence[Work]
    merge: Merge | None = None  # makes fewer of the results, where they come from, if they are many


BYTES, TASKS, CHECKPOINTS = "bytes", "tasks", "checkpoints"  # what progress is counted in


@dataclass(frozen=True)
class Measure:
    """Progress of a run: units done, the total (0: unknown), and the unit as a plural noun."""

    done: int
    total: int
    unit: str


Watch = Callable[[Callable[[], Measure]], AbstractContextManager[object]]  # while tasks run


class Reader(ABC):
    """Reads the files of a checkpoint in place of fsspec."""

    @abstractmethod
    def open(self, path: str) -> tuple[Storage, Selection]:
        """A checkpoint's listing, and the part that is meant (NotACheckpointError, EngineError)."""

    @abstractmethod
    def files_of(self, spec: str) -> AbstractContextManager[None]:
        """The files of a task in this process, as long as the context is entered (EngineError)."""


class Engine(ABC):
    """Something that runs tasks, by one verb."""

    in_process: ClassVar[bool] = False  # by threads of this process
    cores: int | None = None  # tasks that run at the same time; None if that is not known
    reader: Reader | None = None  # what reads the files; None where fsspec does

    def measure(self) -> Measure | None:
        """Return the progress of the running tasks; None if the engine does not count them."""
        return None

    @abstractmethod
    def run(self, job: Job) -> Iterator[pa.RecordBatch]:
        """Map a batch function over tasks and bring their results to this process (EngineError)."""
        # What cannot be read is a row. One in this process lets through what the function raises.
