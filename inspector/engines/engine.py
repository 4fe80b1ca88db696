"""Interface of engines, and the work that they run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from inspector.checkpoint.roots import Selection
from inspector.checkpoint.storage import Storage
from inspector.light_dataclasses import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

BatchFunction = Callable[["Iterable[Any]"], "Iterator[Any]"]
"""Function in the form of ``mapInArrow``'s argument, from Arrow batches to Arrow batches, such as
:func:`inspector.passes.worker.run_tasks`. In this process its results may be other objects.
"""

# Ways to read files: each worker itself, or through Spark's file systems.
FSSPEC, HADOOP = "fsspec", "hadoop"
# bytes that take as long to read as it takes to open a file: 0.3 ms, at 3 ns for a byte
FILE_COST = 100_000


@dataclass(frozen=True)
class Work:
    """One task as an engine sees it."""

    spec: str  # the task as JSON, or a word for it; it may hold credentials, so it is never shown
    weight: int = 0  # bytes of its files
    partition_id: int | None = None  # partition that it reads; None if it reads several
    # True if most of its time is Python's own work, for which threads take turns
    in_python: bool = False
    files: int = 0  # number of its files
    kept: object = None  # object that the spec is a word for, if only this process can run the task

    @property
    def cost(self) -> int:
        """Cost in bytes, files included; an engine with several workers starts with the largest."""
        return self.weight + self.files * FILE_COST


@dataclass(frozen=True)
class Merge:
    """Function that reduces the number of results by merging them."""

    keys: tuple[str, ...]  # columns; results with equal values of these must come to one call
    function: BatchFunction  # function from batches of results to batches of the same schema


@dataclass(frozen=True)
class Job:
    """Tasks, and the function that is mapped over them."""

    function: BatchFunction  # the function
    schema: pa.Schema  # schema of its results
    work: Sequence[Work]  # the tasks
    # merges the results where they are made, if they are many; None if they are few
    merge: Merge | None = None


BYTES, TASKS, CHECKPOINTS = "bytes", "tasks", "checkpoints"  # Units in which progress is counted.


@dataclass(frozen=True)
class Measure:
    """Progress of a run: units done, the total (0: unknown), and the unit as a plural noun."""

    done: int  # units done
    total: int  # all units; 0 if not known
    unit: str  # the unit, as a plural noun


# Context that is entered while tasks run, made from a function that returns their progress.
Watch = Callable[[Callable[[], Measure]], AbstractContextManager[object]]


class Reader(ABC):
    """Reads the files of a checkpoint instead of fsspec."""

    @abstractmethod
    def open(self, path: str) -> tuple[Storage, Selection]:
        """Return a storage with the checkpoint's listing, and the part that the path names.

        Raises NotACheckpointError and EngineError.
        """

    @abstractmethod
    def files_of(self, spec: str) -> AbstractContextManager[None]:
        """Return a context in which this process has the files of a task. Raises EngineError."""


class Engine(ABC):
    """Base of engines, which run the tasks of a job."""

    in_process: ClassVar[bool] = False  # True if tasks run by threads of this process
    cores: int | None = None  # tasks that run at the same time; None if not known
    reader: Reader | None = None  # reads the files instead of fsspec; None if fsspec does

    def measure(self) -> Measure | None:
        """Return the progress of the running tasks; None if the engine does not count them."""
        return None

    @abstractmethod
    def run(self, job: Job) -> Iterator[pa.RecordBatch]:
        """Map the function of a job over its tasks, and yield their results in this process.

        A file that cannot be read is a row of the results. EngineError: the engine fails.
        """
        # A part that cannot be read becomes a row. In this process, an error of the function is
        # raised.


Receiver = Callable[[str, "Iterable[tuple[int, bytes]]"], "Iterator[Any]"]
"""Function from a receiver's spec, and the rank and content of each of its parcels, to results."""


@dataclass(frozen=True)
class Exchange:
    """Tasks that send parcels of bytes to other tasks.

    Batches of parcels have the columns of :data:`PARCEL_COLUMNS`. A receiver gets its parcels
    sorted by these columns; it runs without parcels too. All other batches of senders are results.
    There is at least one sender.
    """

    send: BatchFunction  # yields parcels and results
    senders: Sequence[Work]  # tasks of ``send``
    receive: Receiver  # takes the parcels of one receiver
    receivers: Sequence[Work]  # tasks of ``receive``
    schema: pa.Schema  # schema of the results


# columns of a parcel: position of its receiver among the receivers, three numbers by which parcels
# are sorted and which no two parcels of a receiver share, and content of at least one byte
PARCEL_COLUMNS = ("receiver", "rank", "sender", "number", "content")


class Exchanged(NamedTuple):
    """One result of a task of an exchange."""

    is_of_sender: bool  # True for a sender, False for a receiver
    batch: pa.RecordBatch  # the result


class ShufflingEngine(Engine):
    """Base of engines that can move data between tasks."""

    @abstractmethod
    def exchange(self, job: Exchange) -> Iterator[Exchanged]:
        """Run senders and receivers, and yield the results of both in this process.

        A task that is lost runs again. EngineError: the engine fails.
        """
