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

# values of the option ``--io``, the way to read files: each worker itself by fsspec, or through
# Spark's file systems
FSSPEC, HADOOP = "fsspec", "hadoop"
# Cost of opening a file, in bytes: reading this number of bytes takes as long, that is 0.3 ms at
# 3 ns for a byte.
FILE_COST = 100_000


@dataclass(frozen=True)
class Work:
    """One task as an engine sees it."""

    # task as JSON, or a short name that is valid only in this process; the JSON may hold
    # credentials, so it is never shown
    spec: str
    weight: int = 0  # bytes of the files that the task reads; 0 if not known
    # id of the partition that the task reads; None if it reads several, or if not known
    partition_id: int | None = None
    # True if the task is mostly work of the Python interpreter, for which threads take turns
    in_python: bool = False
    files: int = 0  # number of the files that the task reads; 0 if not known
    # task whose short name is in ``spec``; the reference keeps the task alive; None if spec is JSON
    kept: object = None

    @property
    def cost(self) -> int:
        """Cost of the task in bytes: ``weight``, and FILE_COST for each file.

        The engine on Spark starts the most expensive tasks first.
        """
        return self.weight + self.files * FILE_COST


@dataclass(frozen=True)
class Merge:
    """Function that reduces the number of results by merging them."""

    # names of columns; all results with the same values in them must be passed to the same call
    keys: tuple[str, ...]
    function: BatchFunction  # function from batches of results to batches of the same schema


@dataclass(frozen=True)
class Job:
    """Tasks, and the function that an engine runs on them."""

    function: BatchFunction  # function from batches of tasks to batches of results
    schema: pa.Schema  # schema of the results
    work: Sequence[Work]  # the tasks
    # merge of the results, run where they are made; None to yield the results as they are
    merge: Merge | None = None


# units in which :class:`Measure` counts progress
BYTES, TASKS, CHECKPOINTS = "bytes", "tasks", "checkpoints"


@dataclass(frozen=True)
class Measure:
    """Progress of a run: units done, the total (0: unknown), and the unit as a plural noun."""

    done: int  # units done
    total: int  # units in total; 0 if not known
    unit: str  # BYTES, TASKS or CHECKPOINTS


# Function that returns the context which is entered while tasks run. Its argument is a function
# that returns the progress of these tasks at the time of the call.
Watch = Callable[[Callable[[], Measure]], AbstractContextManager[object]]


class Reader(ABC):
    """Base of readers, by which an engine reads the files of a checkpoint in place of fsspec."""

    @abstractmethod
    def open(self, path: str) -> tuple[Storage, Selection]:
        """Find the checkpoint that ``path`` is, or is in.

        Return a storage with the checkpoint's listing, and the part of the checkpoint that ``path``
        names, such as an operator. NotACheckpointError: the path is in no checkpoint. EngineError:
        the checkpoint cannot be listed.
        """

    @abstractmethod
    def files_of(self, spec: str) -> AbstractContextManager[None]:
        """Return a context inside which the files of one task are on the local disk.

        ``spec`` is the task as JSON. EngineError: the files cannot be read.
        """


class Engine(ABC):
    """Base of engines, which run the tasks of a job."""

    in_process: ClassVar[bool] = False  # True if threads of this process run the tasks
    cores: int | None = None  # number of tasks that run at the same time; None if not known
    reader: Reader | None = None  # reader of the files; None if fsspec reads them

    def measure(self) -> Measure | None:
        """Return the progress of the running tasks; None if the engine does not count them."""
        return None

    @abstractmethod
    def run(self, job: Job) -> Iterator[pa.RecordBatch]:
        """Run the function of ``job`` on its tasks, and yield the results in this process.

        If the job has a merge, the results are merged first. A file that cannot be read is a row of
        the results. EngineError: the engine fails. An engine in this process raises errors of the
        function unchanged.
        """


Receiver = Callable[[str, "Iterable[tuple[int, bytes]]"], "Iterator[Any]"]
"""Function that runs one receiver of an :class:`Exchange` and yields batches of its results.

Its arguments are the receiver's spec, and (rank, content) of each parcel that it gets, in order.
"""


@dataclass(frozen=True)
class Exchange:
    """Senders, that is tasks that send parcels of bytes to other tasks, the receivers.

    Batches of parcels have the columns of :data:`PARCEL_COLUMNS`. A receiver gets its parcels
    sorted by these columns; it runs without parcels too. All other batches of senders are results.
    There is at least one sender.
    """

    send: BatchFunction  # function from batches of senders to batches of parcels and of results
    senders: Sequence[Work]  # tasks that ``send`` runs
    receive: Receiver  # function that takes the parcels of one receiver and yields results
    receivers: Sequence[Work]  # tasks that ``receive`` runs
    schema: pa.Schema  # schema of the results of senders and receivers


# names of the columns of a parcel: position of its receiver among the receivers, three numbers by
# which the parcels of a receiver are sorted, and content of at least one byte; no two parcels of a
# receiver have the same three numbers
PARCEL_COLUMNS = ("receiver", "rank", "sender", "number", "content")


class Exchanged(NamedTuple):
    """One result of a task of an exchange."""

    is_of_sender: bool  # True for a result of a sender, False for one of a receiver
    batch: pa.RecordBatch  # the result


class ShufflingEngine(Engine):
    """Base of engines that can move data between tasks."""

    @abstractmethod
    def exchange(self, job: Exchange) -> Iterator[Exchanged]:
        """Run the senders and then the receivers of ``job``, and yield the results of both.

        A task that is lost runs again. EngineError: the engine fails.
        """
