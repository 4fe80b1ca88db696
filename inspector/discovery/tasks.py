"""What a worker is told: everything it needs to read one partition, as one JSON text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from inspector.model import (
    BatchClock,
    BatchId,
    Certainty,
    FileKind,
    StoreFile,
    StoreId,
    TimeoutKind,
    Version,
)
from inspector.operators.rule import Clock, ExpiryField, RowPart


@dataclass(frozen=True)
class StoreTask:
    """One store of a task.

    Attributes:
        store_name: its name.
        files: its deltas and snapshots.
        side_files: checksum files to hold them against.
        key_schema, value_schema: StructType JSON; None where there is none.
        expiry: the rule by which its rows should go, if one is known.
        certainty: of the clock that the rule sees.
        timeout_kinds: the clocks that a group state's timers may follow.
        processing_versions: versions whose batches the log shows to have used processing time.
        timers_always_clear: no timer that has run out outlives its batch (Scala and Java).
        fed_by_sources: only new data of the sources can reach the operator.
        reason: what a judgement rests on, if not on the operator's own rule alone.
        event_time: field to be followed where the rule is not known.
        by_key_time: a join's rows may go by a time in their key; only the rows tell by which.
        number: field to be followed for another store's sake (the counters of a join).
        empty_size: bytes of a group state's value that holds no state; -1 if it has no such size.
        session_fields: fields of a session window's key, by whose prefix Spark keeps a second map;
            0 for every other operator.
    """

    store_name: str
    files: tuple[StoreFile, ...]
    key_schema: str | None = None
    value_schema: str | None = None
    expiry: ExpiryField | None = None
    certainty: Certainty = Certainty.PROVEN
    timeout_kinds: tuple[TimeoutKind, ...] = ()
    timers_always_clear: bool = False
    reason: str = ""
    event_time: ExpiryField | None = None
    number: ExpiryField | None = None
    empty_size: int = -1
    session_fields: int = 0
    processing_versions: tuple[int, ...] = ()
    fed_by_sources: bool = True
    by_key_time: bool = False
    side_files: tuple[StoreFile, ...] = ()


@dataclass(frozen=True)
class Task:
    """One partition of one operator.

    Attributes:
        url, options: where the checkpoint lies and how to open it. May hold credentials: never
            shown. root: the same place as the user spelled it.
        operator_id, partition_id: which partition.
        version: the state version that is judged; nothing newer is read.
        stores: its stores. provider: name of the one that wrote them.
        clocks: the batches in the log.
        codecs: compression by version, where it is recorded; ``row_checksum``: values carry one.
        fit: hold every row against its schema.
        leftover_limit: leftover keys listed per store and class; 0 for all.
        top: keys listed by each ranking; 0 for none.
        rewrites: follow in how many versions in a row each key was put.
        matched: count the rows of a join that have found a partner.
        key, where: only these keys (:class:`inspector.passes.key_filter.KeyFilter`), where a
            task is about rows.
    """

    url: str
    root: str
    options: Mapping[str, str]
    operator_id: int
    partition_id: int
    version: int
    stores: tuple[StoreTask, ...]
    clocks: tuple[BatchClock, ...] = ()
    codecs: Mapping[int, str] = field(default_factory=dict)
    row_checksum: bool = False
    fit: bool = False
    leftover_limit: int = 0
    top: int = 0
    rewrites: bool = False
    matched: bool = False
    key: str | None = None
    where: tuple[str, ...] = ()
    provider: str = "hdfs"

    def store_id(self, store: StoreTask) -> StoreId:
        """The identity of one of its stores."""
        return StoreId(self.operator_id, store.store_name, self.partition_id)

    @property
    def file_bytes(self) -> int:
        """Bytes of its deltas and snapshots: what it takes to run it."""
        return sum(file.size for store in self.stores for file in store.files)

    def to_json(self) -> str:
        """The task as text."""
        return json.dumps(asdict(self), default=lambda value: value.value)

    @classmethod
    def from_json(cls, text: str) -> Task:
        """The inverse of :meth:`to_json`."""
        raw = json.loads(text)
        raw["stores"] = tuple(_store(store) for store in raw["stores"])
        raw["clocks"] = tuple(
            BatchClock(**(clock | {"batch_id": BatchId(clock["batch_id"])}))
            for clock in raw["clocks"]
        )
        raw["where"] = tuple(raw["where"])
        raw["codecs"] = {int(version): codec for version, codec in raw["codecs"].items()}
        return cls(**raw)


def _store(raw: dict[str, Any]) -> StoreTask:
    for name in ("files", "side_files"):
        raw[name] = tuple(map(_file, raw[name]))
    raw["expiry"] = _field(raw["expiry"])
    raw["event_time"] = _field(raw["event_time"])
    raw["number"] = _field(raw["number"])
    raw["certainty"] = Certainty(raw["certainty"])
    raw["timeout_kinds"] = tuple(TimeoutKind(kind) for kind in raw["timeout_kinds"])
    raw["processing_versions"] = tuple(raw["processing_versions"])
    return StoreTask(**raw)


def _field(raw: dict[str, Any] | None) -> ExpiryField | None:
    if raw is None:
        return None
    clock, part, path = Clock(raw["clock"]), RowPart(raw["part"]), tuple(raw["path"])
    return ExpiryField(**(raw | {"clock": clock, "part": part, "path": path}))


def _file(raw: dict[str, Any]) -> StoreFile:
    return StoreFile(
        path=raw["path"],
        kind=FileKind(raw["kind"]),
        version=None if raw["version"] is None else Version(raw["version"]),
        size=raw["size"],
        modified_ms=raw["modified_ms"],
    )
