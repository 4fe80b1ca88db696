"""Shared by the tests of the core: records as blocks, a reference map, checkpoints on disk."""

from __future__ import annotations

import json
import os
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

from inspector.decode.records import RecordBlock
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.plan import plan
from inspector.discovery.tasks import ALL_LEFTOVERS, StoreTask, Task
from inspector.engines.engine import BatchFunction
from inspector.facts.checks import ReadProblem
from inspector.facts.fact import FactT, Observed
from inspector.facts.registry import facts_in
from inspector.facts.size_distributions import LiveSizes, SizeCounts
from inspector.facts.versions import VersionFacts, measure_version
from inspector.kernel.loader import ENVIRONMENT, kernel
from inspector.model import FileKind, Problem, StoreFile, Version
from inspector.operators.rule import Clock, ExpiryField, RowPart
from inspector.passes.tracked import tracking
from inspector.passes.worker import rows_of, run_tasks, tasks_in
from inspector.schemas import TASKS, batch_of
from inspector.sparktypes import LONG, TIMESTAMP, VOID, StringType, StructField, StructType
from inspector.sparktypes.schema_json import to_json
from inspector.state.change import Change
from inspector.state.replay import StateMap, Tracking
from tests import encode
from tests.attributes import attributes
from tests.encode import Record
from tests.fixture_folder import FIXTURES

Seen = Observed[Any]

KERNELS = ["python"] if os.environ.get(ENVIRONMENT) == "python" else ["python", "c"]


def hdfs_cases(release: str = "*") -> list[Path]:
    """Return the fixtures that the HDFS-backed provider wrote, of one Spark release or of all."""
    return sorted({*_cases(f"{release}/*")} - {*rocksdb_cases(release)})


def rocksdb_cases(release: str = "*") -> list[Path]:
    """Return the fixtures of the RocksDB query tests, of one Spark release or of all.

    ``rocksdb_<query>_hdfs`` is the query of ``rocksdb_<query>`` with equal input on the
    HDFS-backed provider.
    """
    return _cases(f"{release}/rocksdb_*")


def _cases(pattern: str) -> list[Path]:
    return attributes(sorted(FIXTURES.glob(f"{pattern}/checkpoint")), "parent")


@contextmanager
def kernel_of(name: str) -> Iterator[None]:
    """One kernel by name while the block runs; C that was not built fails."""
    with mock.patch.dict(os.environ, {ENVIRONMENT: name}):
        kernel.cache_clear()
        try:
            yield
        finally:
            kernel.cache_clear()


# --- records as blocks -----------------------------------------------------------------------


def block(entries: Sequence[Record], first_record: int = 0) -> RecordBlock:
    """One block of records, as if read from a file."""
    data = bytearray(b"before")
    spans: list[tuple[int, int, int, int]] = []
    for key, value in entries:
        at = len(data)
        data += key + (value or b"")
        spans.append((at, len(key), at + len(key), -1 if value is None else len(value)))
    columns = np.array(spans, np.int64).reshape(-1, 4).T
    keys, key_sizes, values, value_sizes = map(np.ascontiguousarray, columns)
    return RecordBlock(bytes(data), first_record, 0, keys, key_sizes, values, value_sizes)


def blocks(entries: Sequence[Record], cuts: Iterable[int] = ()) -> list[RecordBlock]:
    """The records in blocks that end before the records at ``cuts``."""
    inner = {cut for cut in cuts if 0 < cut < len(entries)}
    ends = sorted({0, *inner, len(entries)})
    return [block(entries[a:b], a) for a, b in pairwise(ends)]


@dataclass(frozen=True)
class Step:
    """One version of a history: its records, where they are cut into blocks, and their order."""

    records: Sequence[Record]
    rebase: bool = False
    cuts: Sequence[int] = ()
    ordered: bool = True


def take_step(state: StateMap, version: int, step: Step) -> Change:
    """Replay one version of a history."""
    state.begin(version, rebase=step.rebase, ordered=step.ordered)
    for item in blocks(step.records, step.cuts):
        state.apply(item)
    return state.end()


def replay(
    steps: Iterable[Step], track: Tracking | None = None, first: int = 1
) -> tuple[StateMap, list[Change], list[VersionFacts]]:
    """Replay a history; the map after it, and change and facts of each version."""
    state, sizes = StateMap(track), LiveSizes()
    changes, facts = [], []
    for version, step in enumerate(steps, first):
        changes.append(take_step(state, version, step))
        facts.append(measure_version(changes[-1], state, sizes, {}))
    return state, changes, facts


def live_keys(state: StateMap) -> set[bytes]:
    """The keys that live in a map."""
    return set(state.keys(np.flatnonzero(state.live[: len(state)])))


# --- the reference map -----------------------------------------------------------------------


class Row:
    """An UnsafeRow: an object of its own, equal to any other of the same bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __len__(self) -> int:
        return len(self.data)

    def __hash__(self) -> int:
        return hash(self.data)

    def __eq__(self, operand: object) -> bool:
        return isinstance(operand, Row) and self.data == operand.data


@dataclass
class ObjectMap:
    """The maps of two versions as the executor holds them: the objects themselves, shared.

    A Python dict does what ``ConcurrentHashMap`` does: a put of a present key keeps the key object.
    """

    before: dict[Row, Row] = field(default_factory=dict)
    now: dict[Row, Row] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    rebased: bool = False

    def take(self, step: Step) -> None:
        """Make the next version."""
        self.before, self.rebased = self.now, step.rebase
        self.now = {} if step.rebase else dict(self.before)
        names = ("puts", "inserts", "updates", "same_value_puts", "same_value_put_bytes")
        self.counts = dict.fromkeys((*names, "removals", "absent_removals"), 0)
        for key, value in step.records:
            self._put(Row(key), Row(value)) if value is not None else self._remove(Row(key))

    def _put(self, key: Row, value: Row) -> None:
        met = self.now.get(key)
        self.counts["puts"] += 1
        self.counts["inserts" if met is None else "updates"] += 1
        if met == value:
            self.counts["same_value_puts"] += 1
            self.counts["same_value_put_bytes"] += len(key) + len(value)
        self.now[key] = value

    def _remove(self, key: Row) -> None:
        self.counts["removals"] += 1
        self.counts["absent_removals"] += self.now.pop(key, None) is None

    def facts(self) -> VersionFacts:
        """The facts of the version, counted over the objects."""
        return VersionFacts(
            stores=1,
            rebased=int(self.rebased),
            rows=len(self.now),
            key_bytes=_bytes(self.now),
            value_bytes=_bytes(self.now.values()),
            key_sizes=SizeCounts(Counter(map(len, self.now))),
            value_sizes=SizeCounts(Counter(map(len, self.now.values()))),
            row_sizes=SizeCounts(Counter(len(k) + len(v) for k, v in self.now.items())),
            **({} if self.rebased else self.counts | self._sharing()),
            empty_deltas=int(not (self.rebased or self.counts["puts"] or self.counts["removals"])),
        )

    def _sharing(self) -> dict[str, int]:
        pair = [(self.before[key], value) for key, value in self.now.items() if key in self.before]
        old_keys, old_values = set(map(id, self.before)), set(map(id, self.before.values()))
        is_same_value = Counter(old == new for old, new in pair if old is not new)
        keys = [key for key in self.now if id(key) in old_keys]
        values = [value for value in self.now.values() if id(value) in old_values]
        rows = [k for k, v in self.now.items() if id(k) in old_keys and id(v) in old_values]
        return {
            "new_rows": len(self.now) - len(pair),
            "changed_rows": is_same_value[False],
            "same_value_rows": is_same_value[True],
            "removed_rows": len(self.before.keys() - self.now.keys()),
            "shared_rows": len(rows),
            "shared_keys": len(keys),
            "shared_key_bytes": _bytes(keys),
            "shared_value_bytes": _bytes(values),
            "previous_row_bytes": _bytes(self.before) + _bytes(self.before.values()),
        }

    def held_bytes(self) -> int:
        """Bytes of both versions, every object once."""
        stored = (*self.before, *self.before.values(), *self.now, *self.now.values())
        return sum({id(row): len(row) for row in stored}.values())


def _bytes(rows: Iterable[Row]) -> int:
    return sum(map(len, rows))


# --- rows of known operators -----------------------------------------------------------------

STRING = StringType()
USER = StructType((StructField("value", STRING),))
"""Key of a group state, and of a deduplication."""

GROUP_STATE = StructType(
    (
        StructField("groupState", StructType((StructField("visits", LONG),))),
        StructField("timeoutTimestamp", LONG),
    )
)
TIMER = ExpiryField(Clock.TIMEOUT, RowPart.VALUE, (1,), 1, False, "timeoutTimestamp")

EVENT_TIME = StructType((StructField("ts", TIMESTAMP, metadata={"spark.watermarkDelayMs": 0}),))
"""Key of a deduplication by event time."""

KEY_TIME = ExpiryField(Clock.WATERMARK, RowPart.KEY, (0,), 1000, True, "ts")
EXPIRES_AT = StructType((StructField("expiresAtMicros", LONG),))
VALUE_TIME = ExpiryField(Clock.WATERMARK, RowPart.VALUE, (0,), 1000, True, "expiresAtMicros")


def user(name: str) -> bytes:
    """A key with one text."""
    return encode.row(USER, (name,))


def group_state(visits: int | None, timer: int | None) -> bytes:
    """A group state's value; ``None`` visits are a removed state with a timer."""
    return encode.row(GROUP_STATE, (None if visits is None else (visits,), timer))


def put(key: bytes, timer: int, visits: int = 1) -> Record:
    """A put of a group state."""
    return key, group_state(visits, timer)


def micros(value: int | None) -> bytes:
    """A row with one timestamp or long."""
    return encode.row(EXPIRES_AT, (value,))


def tracked(expiry: ExpiryField, key: StructType, value: StructType) -> Tracking:
    """What an audit reads from every record to judge it by a rule."""
    return tracking(StoreTask("default", (), to_json(key), to_json(value), expiry))


# --- checkpoints on disk ---------------------------------------------------------------------


@dataclass(frozen=True)
class Batch:
    """The log of one batch."""

    watermark_ms: int = 0
    timestamp_ms: int = 0
    source: int = 0
    committed: bool = True


def write_logs(
    root: Path, batches: Sequence[Batch], conf: Mapping[str, str] | None = None, first: int = 0
) -> Path:
    """The two logs of a query and its id."""
    (root / "offsets").mkdir(parents=True, exist_ok=True)
    (root / "commits").mkdir(exist_ok=True)
    (root / "state").mkdir(exist_ok=True)
    (root / "metadata").write_text('{"id":"4f2a0000-bb40-4fc3-855e-7fd5ef06d3d7"}')
    full = {f"spark.sql.{name}": value for name, value in (conf or {}).items()}
    for number, batch in enumerate(batches, first):
        header = {
            "batchWatermarkMs": batch.watermark_ms,
            "batchTimestampMs": batch.timestamp_ms,
            "conf": full,
        }
        entry = f"v1\n{json.dumps(header)}\n{batch.source}"
        (root / "offsets" / str(number)).write_text(entry)
        if batch.committed:
            following = batches[min(number - first + 1, len(batches) - 1)]
            done = json.dumps({"nextBatchWatermarkMs": following.watermark_ms})
            (root / "commits" / str(number)).write_text(f"v1\n{done}")
    return root


def write_store(
    folder: Path,
    deltas: Mapping[int, Sequence[Record]],
    snapshots: Mapping[int, Sequence[Record]] | None = None,
    codec: str = "lz4",
) -> None:
    """The state files of one store."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, versions in (("delta", deltas), ("snapshot", snapshots or {})):
        for version, records in versions.items():
            (folder / f"{version}.{kind}").write_bytes(encode.state_file(records, codec))


def write_schema(folder: Path, key: StructType, value: StructType) -> None:
    """The schema file of a store, into its folder in partition 0."""
    (folder / "_metadata").mkdir(parents=True, exist_ok=True)
    chunks = b"".join(struct.pack(">i", 1) + _utf(to_json(schema)) for schema in (key, value))
    (folder / "_metadata" / "schema").write_bytes(_utf("v2") + chunks)


PARTITIONS = 3


def write_operator(
    root: Path, operator: int, name: str, *stores: str, partitions: int = PARTITIONS
) -> None:
    """Spark's own metadata of an operator."""
    folder = root / "state" / str(operator) / "_metadata"
    folder.mkdir(parents=True, exist_ok=True)
    info = {"operatorId": operator, "operatorName": name}
    named = [
        {"storeName": store, "numColsPrefixKey": 0, "numPartitions": partitions} for store in stores
    ]
    content = {"operatorInfo": info, "stateStoreInfo": named}
    (folder / "metadata").write_text(f"v1\n{json.dumps(content)}")


def write_group_state(
    root: Path, batches: Sequence[Batch], deltas: Mapping[int, Sequence[Record]]
) -> None:
    """A query with a group state by user in one partition: its logs, metadata and state files.

    Args:
        root: of the checkpoint.
        batches: from batch 0 on.
        deltas: the records of each state version.
    """
    write_logs(root, batches, {"shuffle.partitions": "1"})
    write_operator(root, 0, "applyInPandasWithState", "default", partitions=1)
    folder = root / "state" / "0" / "0"
    write_store(folder, deltas)
    write_schema(folder, USER, GROUP_STATE)


def _utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


JOIN_STORES = ("left-keyToNumValues", "left-keyWithIndexToValue")


def small_checkpoint(root: Path) -> Path:
    """Four batches of a query with two operators, three partitions each.

    Operator 1 drops duplicates by event time, with rows that the watermark covered; partition 1 has
    a snapshot of version 3. Operator 0 is a join with two of its stores.
    """
    batches = [Batch(0, 1000, 1), Batch(1000, 2000, 2), Batch(3000, 3000, 2), Batch(3000, 4000, 3)]
    write_logs(root, batches, {"shuffle.partitions": str(PARTITIONS)})
    write_operator(root, 1, "dedupe", "default")
    write_operator(root, 0, "symmetricHashJoin", *JOIN_STORES)
    for partition in range(PARTITIONS):
        late = [(micros(2_000_000 + partition), b"\0" * 16), (micros(None), b"\0" * 16)]
        early = [(micros(500_000 + n), b"\0" * 16) for n in range(10 * partition)]
        folder = root / "state" / "1" / str(partition)
        deltas: dict[int, Sequence[Record]] = {}
        deltas |= {1: [*late, *early], 2: [(key, None) for key, _ in early[1:]], 3: [], 4: late[:1]}
        snapshots = {3: [*early[:1], *late]} if partition == 1 else {}
        write_store(folder, deltas, snapshots)
        for store in JOIN_STORES:
            even, odd = user(f"{store}{partition}0"), user(f"{store}{partition}1")
            rows = {
                1: [(odd, micros(1))],
                2: [(even, micros(2))],
                3: [(odd, micros(3))],
                4: [(even, micros(4))],
            }
            write_store(root / "state" / "0" / str(partition) / store, rows)
    write_schema(root / "state" / "1" / "0", EVENT_TIME, StructType((StructField("d", VOID),)))
    write_schema(root / "state" / "0" / "0" / JOIN_STORES[0], USER, EXPIRES_AT)
    write_schema(root / "state" / "0" / "0" / JOIN_STORES[1], USER, EXPIRES_AT)
    return root


def observed_in(root: Path, version: int | None = None, *, fit: bool = False) -> list[Seen]:
    """The facts that the tasks of a checkpoint emit, task by task."""
    return observed([task.to_json() for task in tasks_of(root, version, fit=fit)])


def observed(specs: Sequence[str], function: BatchFunction = run_tasks) -> list[Seen]:
    """The facts that a batch function makes of tasks."""
    batches = function([_task_batch(specs)])
    return [fact for batch in batches for fact in facts_in(batch)]


def _task_batch(specs: Sequence[str]) -> pa.RecordBatch:
    """Return a batch with the task of each spec."""
    return batch_of(TASKS, [{"task_id": n, "spec": spec} for n, spec in enumerate(specs)])


def facts_of_type(result: Iterable[Seen], kind: type[FactT]) -> list[FactT]:
    """The facts of one type."""
    return [item.fact for item in result if isinstance(item.fact, kind)]


def problems_in(result: Iterable[Seen]) -> list[Problem]:
    """The problems among some facts, but for what no operator would have written.

    The little histories here put and remove as the tests need it.
    """
    every = [
        element.fact.problem(element.store)
        for element in result
        if isinstance(element.fact, ReadProblem)
    ]
    return [item for item in every if item.slug not in ("absent-removals", "foreign-records")]


def tasks_of(root: Path, version: int | None = None, *, fit: bool = False) -> list[Task]:
    """The tasks of a checkpoint."""
    checkpoint = open_checkpoint(str(root))
    return plan(checkpoint, checkpoint.version_of(None, version), replace(ALL_LEFTOVERS, fit=fit))


def run(specs: Sequence[str], function: BatchFunction) -> list[dict[str, Any]]:
    """The rows that a batch function makes of tasks."""
    batches = function([_task_batch(specs)])
    return [row for batch in batches for row in batch.to_pylist()]


def run_rows(batches: Iterable[Any]) -> Iterator[Any]:
    """The live rows of some tasks' version, as :data:`inspector.schemas.ROWS`."""
    for task in tasks_in(batches):
        yield from rows_of(task)


def place(row: Mapping[str, Any] | Seen) -> tuple[int, str, int]:
    """The store that a row or a fact is about."""
    if isinstance(row, Observed):
        return (*row.store.name, row.store.partition_id)
    return row["operator_id"], row["store_name"], row["partition_id"]


def state_file(version: int, kind: FileKind = FileKind.DELTA, folder: str = "p") -> StoreFile:
    """A file as a listing has it."""
    return StoreFile(f"{folder}/{version}.{kind.value}", kind, Version(version), version * 10)
