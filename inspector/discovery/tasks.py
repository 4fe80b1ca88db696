"""The task of a worker: everything it needs to read one partition, as one JSON text."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from inspector.checkpoint.urls import is_local
from inspector.codec import Message
from inspector.light_dataclasses import astuple, dataclass, field, replace
from inspector.model import BatchClock, Certainty, KeyRange, StoreFile, StoreId, Subset, TimeoutKind
from inspector.operators.rule import ExpiryField, Scenario, WhatIf
from inspector.operators.transform_with_state import Family, GroupingKey
from inspector.providers.chain import replay_steps
from inspector.providers.registry import provider_by_name
from inspector.sparktypes.key_encoders import KeyEncoder

if TYPE_CHECKING:
    from inspector.facts.timers import CallBounds

# Average file size below which Python's overhead per file dominates the kernel's work.
SMALL_FILE_BYTES = 32 << 10


@dataclass(frozen=True)
class Request:
    """Facts that an analysis needs in addition to those of each version."""

    fit: bool = False  # compare all rows with their schema, and all files with their checksums
    leftover_limit: int = 1  # leftover keys listed per store and class; 0 for all
    top: int = 0  # keys listed by each ranking; 0 for none
    sampled: int = 0  # keys of all partitions, those put last, that are compared; 0 for none
    rewrites: bool = False  # count the live rows by how many versions in a row put them
    matched: bool = False  # count the rows of a join that have found a partner
    fields: bool = False  # measure what each field of the live rows takes
    expiring: bool = False  # count the live rows by when they expire
    partitions: bool = False  # facts of single partitions for older versions too, not only sums
    timeout_kind: TimeoutKind | None = None  # which clock timers follow, if the user said so
    subset: Subset | None = None  # check the files of this part alone: no version is replayed
    what_if: WhatIf | None = None  # a change of the query, whose rows are counted by version


ALL_LEFTOVERS = Request(leftover_limit=0)  # lists all leftovers, and requests no other facts


@dataclass(frozen=True)
class StoreTask:
    """The part of a task that is about one store of the partition."""

    store_name: str  # name of the store, or of a column family
    files: tuple[StoreFile, ...]  # deltas and snapshots of the store
    key_schema: str | None = None  # key schema as StructType JSON; None if unknown
    value_schema: str | None = None  # value schema as StructType JSON; None if unknown
    expiry: ExpiryField | None = None  # the rule by which its rows should go, if one is known
    certainty: Certainty = Certainty.PROVEN  # of the clock that the rule sees
    timeout_kinds: tuple[TimeoutKind, ...] = ()  # the clocks that a group state's timers may follow
    timers_always_clear: bool = False  # no timer that ran out outlives its batch (Scala, Java)
    reason: str = ""  # what a judgement rests on, if not on the operator's own rule alone
    # time field to compare with the watermark where no expiry rule is known
    event_time: ExpiryField | None = None
    # counter of a join that the facts follow; None for any other store
    number: ExpiryField | None = None
    unmarked: ExpiryField | None = None  # the only time of rows that no schema marks
    # watermarks that rose far, by version: how far behind them the batch's rows are is counted
    raised: Mapping[int, int] = field(default_factory=dict)
    empty_size: int = -1  # bytes of a group state's value without state; -1 if it has no such size
    session_fields: int = 0  # number of key fields of a session window; 0 for any other operator
    processing_versions: tuple[int, ...] = ()  # versions whose batches used processing time
    only_sources_feed: bool = True  # only new data of the sources can reach the operator
    by_key_time: bool = False  # a join's rows may go by a time in their key, which the rows show
    # of the key, by whose hash Spark chooses the partition; 0: not known, or not to be checked
    hashed_fields: int = 0
    side_files: tuple[StoreFile, ...] = ()  # checksum files that the files are compared with
    # by version, what the records of all keys show about who made them, where a task has a range of
    # the keys (the fields of :class:`inspector.facts.timers.CallBounds`)
    call_bounds: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    family: Family | None = None  # what a store of transformWithState holds; None of others
    # where the keys of such a store have the grouping key; None if it is not known, or of others
    grouping_key: GroupingKey | None = None
    written_values: Mapping[int, str] = field(default_factory=dict)  # schemas of values, by number
    column_family: str | None = None  # the part of the files that it is; None if they are its own
    counts_files: bool = True  # their bytes count here, and with no other store that shares them
    key_encoder: KeyEncoder = field(default_factory=KeyEncoder)  # how keys are arranged
    several_values: bool = False  # a value holds several rows
    cross_checks: tuple[str, ...] = ()  # names of checks for records that no batch can have written
    scenarios: tuple[Scenario, ...] = ()  # of the requested change, by each possible clock


@dataclass(frozen=True)
class Task(Message):
    """Work that reads one partition of one operator, as it is sent to a worker."""

    url: str = field(repr=False)  # where the checkpoint is; may hold credentials, so never shown
    root: str  # the checkpoint's path as the user spelled it
    # options of the storage; may hold credentials, so never shown
    options: Mapping[str, str] = field(repr=False)
    operator_id: int  # operator that is read
    partition_id: int  # partition that is read
    version: int  # the state version that is judged; nothing newer is read
    stores: tuple[StoreTask, ...]  # the stores of the partition
    # the batches in the log that are older than the judged version
    clocks: tuple[BatchClock, ...] = ()
    codecs: Mapping[int, str] = field(default_factory=dict)  # compression by version, if recorded
    row_checksum: bool = False  # values carry a checksum of their row
    merge_delimiter: bool = True  # a delimiter byte separates rows that are merged into one value
    encoding: str = "unsaferow"  # how rows are encoded: ``unsaferow`` or ``avro``
    request: Request = ALL_LEFTOVERS  # the facts that are requested of it
    # Only rows with these keys, and these conditions, are read
    # (:class:`inspector.passes.key_filter.KeyFilter`); empty for all rows.
    key: tuple[str, ...] = ()
    where: tuple[str, ...] = ()  # conditions on the fields of rows; empty for none
    # partition count of the judged version, by the offset log; 0 if it does not say
    partitions: int = 0
    # True if the judged version has this partition; False if only older versions have it
    present: bool = True
    # Tasks, as JSON, that read the older partitions whose rows the newest repartitioning divided.
    origins: tuple[str, ...] = ()
    # version that this repartitioning made; 0 if the history does not reach past it
    repartitioned: int = 0
    provider: str = "hdfs"  # name of the state store provider that wrote the files
    # True if a problem that a running query may explain
    # (:data:`inspector.checkpoint.logfile.DOUBTFUL`) ends the task as its only result. The caller
    # lists the files again and repeats the task.
    look_again: bool = False
    key_range: KeyRange | None = None  # the part of the keys that it is about; None for all of them
    key_memory: int = 0  # bytes that its keys may take; 0 for as many as they need
    # of a task about rows, ranges of keys that are read one by one; 0: memory is not limited
    # ranges of keys that a task about rows reads one by one; 0 if memory is not limited
    passes: int = 0
    decode_ahead: bool = False  # its files are decoded by a thread of their own

    def spec(self, *, here: bool = False) -> str:
        """Return the text by which an engine passes the task on.

        It is JSON; with ``here`` it is a short name, valid only in this process while it keeps the
        task.
        """
        text = f"task {id(self)}" if here else self.to_json()
        _specs[text] = self
        return text

    @staticmethod
    def of_spec(text: str) -> Task:
        """Return the task of a text that :meth:`spec` made.

        The same object if this process still has it, else one read from the JSON.
        """
        return _specs.get(text) or Task.from_json(text)

    @property
    def speaks_for_files(self) -> bool:
        """True if the task also yields facts about whole files; only the first key range does."""
        return self.key_range is None or not self.key_range.number

    @property
    def sampled_keys(self) -> int:
        """Number of keys that one store of the task adds to the sample of all partitions."""
        return -(-self.request.sampled // max(1, self.partitions))

    def store_id(self, store: StoreTask) -> StoreId:
        """Return the identity of one of the task's stores."""
        return StoreId(self.operator_id, store.store_name, self.partition_id)

    def clock(self, version: int) -> BatchClock | None:
        """Return the clock of the batch that made a version; None if the log lacks it."""
        return next((c for c in self.clocks if c.batch_id == version - 1), None)

    @cached_property
    def file_bytes(self) -> int:
        """Bytes of the task's deltas and snapshots; the measure of its work."""
        return sum(file.size for file in self._files_to_count)

    @property
    def file_count(self) -> int:
        """Number of files that the task reads."""
        return len(self._files_to_count)

    @property
    def has_small_files(self) -> bool:
        """True if the files are local and so small that Python's overhead dominates."""
        files = self._files_to_count
        return is_local(self.url) and self.file_bytes < SMALL_FILE_BYTES * len(files)

    @property
    def _files_to_count(self) -> list[StoreFile]:
        """State files of the task; files that column families share are listed once."""
        return [file for store in self.stores if store.counts_files for file in store.files]


# living tasks of this process, by the text that :meth:`Task.spec` made
_specs: WeakValueDictionary[str, Task] = WeakValueDictionary()


# --- ranges of keys: where a partition is too large for its memory or for one core ---------------

MOST_RANGES = 4096  # ranges of one partition: each reads all of its files


def split_task(task: Task, count: int, seed: int | None = None) -> list[Task]:
    """Divide a task into at most ``count`` tasks, one for each range of its keys.

    Returns the task alone if ``count`` is below 2 or its keys cannot be divided, as those of
    transformWithState. Only the first range has the checksum files. ``seed`` is of the hash that
    divides the keys; None draws it at random.
    """
    # The seed of the hash that divides them is drawn at random if it is None.
    count = min(count, MOST_RANGES)
    # The variables of a transformWithState are compared by a part of their keys, and
    # so are the rows of a list: nothing puts those that belong together into one range.
    is_indivisible = any(store.family is not None or store.several_values for store in task.stores)
    if count < 2 or is_indivisible or not task.stores:
        return [task]
    first, *further = (replace(task, key_range=part) for part in KeyRange.divide(count, seed))
    # What is not about single keys is for the first range to say.
    bare = tuple(replace(store, side_files=()) for store in task.stores)
    return [first, *(replace(item, stores=bare) for item in further)]


def needs_bounds(task: Task) -> bool:
    """Return whether a task has one of several key ranges and has timers.

    It then needs call bounds, which say by the records of all ranges which calls a timeout can have
    made.
    """
    return task.key_range is not None and any(store.timeout_kinds for store in task.stores)


def with_bounds(task: Task, call_bounds: Mapping[StoreId, Mapping[int, CallBounds]]) -> Task:
    """Return a task whose stores have the call bounds of all key ranges of the partition.

    ``call_bounds`` are by store and version.
    """

    def set_bounds(store: StoreTask) -> StoreTask:
        store_bounds = call_bounds.get(task.store_id(store), {})
        return replace(
            store, call_bounds={v: astuple(bounds) for v, bounds in store_bounds.items()}
        )

    return replace(task, stores=tuple(map(set_bounds, task.stores)))


def files_to_replay(task: Task, store: StoreTask) -> list[StoreFile]:
    """Return the files of a store whose records may be in memory together at the peak.

    They are the snapshot and the deltas after it that have the most bytes together, up to the
    task's version.
    """
    # Each record in them may have another key.
    largest: list[StoreFile] = []
    applied_files: list[StoreFile] = []
    files = provider_by_name(task.provider).files_of(store.files)
    for step in replay_steps(files, task.version):
        applied = step.base or step.delta or step.compared
        assert applied is not None  # a step has one of them
        applied_files = [applied] if step.base is not None else [*applied_files, applied]
        largest = max(largest, applied_files, key=lambda files: sum(file.size for file in files))
    return largest
