"""The words in which an operator's module says when a row should be gone."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from inspector.light_dataclasses import dataclass, field, replace
from inspector.model import BatchClock, TimeoutKind
from inspector.sparktypes import StructField, StructType

WATERMARK_KEY = "spark.watermarkDelayMs"
"""Metadata of a column that carries the event time (``EventTimeWatermark.delayKey``)."""

MICROS_PER_MS = 1000


class Clock(enum.Enum):
    """Clock of a batch that a rule compares with: ``batchWatermarkMs`` or ``batchTimestampMs``."""

    # Of offsets/N, for batch N; never the watermark that it produced, which only the next one
    # applies.

    WATERMARK = "watermark"
    PROCESSING_TIME = "processing_time"
    TIMEOUT = "timeout"

    def time_ms(self, batch: BatchClock, kind: TimeoutKind | None = None) -> int | None:
        """Return the clock in a batch, in epoch ms; for timeouts by ``kind``.

        Returns None if the batch did not record it.
        """
        if self is Clock.TIMEOUT and kind is not None:
            return batch.time_ms(kind)
        return batch.watermark_ms if self is Clock.WATERMARK else batch.timestamp_ms


class RowPart(enum.Enum):
    """One of the two UnsafeRows of a row."""

    KEY = "key"
    VALUE = "value"


@dataclass(frozen=True)
class ExpiryField:
    """The field that says when a row should go."""

    clock: Clock
    part: RowPart
    path: tuple[int, ...]  # where it lies in that: ordinals from the row inwards
    per_ms: int  # units of the field in one millisecond (1000 for Spark timestamps, else 1)
    inclusive: bool  # gone at ``field <= clock`` (watermarks); else at ``field < clock`` (timeouts)
    name: str
    delay_ms: int = 0  # how far behind the clock the rule goes (the retention of a join's side)
    # the batch may evict by the watermark of the batch before it; only what that one covers is sure
    # to go
    previous_bound: bool = False
    # the batch that puts a row may leave it, whatever its clock: only those after it are sure to
    # remove it (timers of transformWithState)
    after_put: bool = False


class RowKind(enum.Enum):
    """Meaning of a rule's rows for the user."""

    ROW = "row"
    TTL_VALUE = "value with TTL"
    TIMER = "timer"


@dataclass(frozen=True)
class StoreRule:
    """Expiry rule of one store's rows. At most one of the first three fields is set."""

    expiry: ExpiryField | None = None  # the field and comparison by which rows go
    never: str | None = None  # why no row can ever go by itself, by design and proven by the schema
    unknown: str | None = None  # why the checkpoint does not show it
    advice: str = ""  # what its user can do about rows that stay
    source: str = ""  # the Spark class that says so, or the option that gave the rule
    doubt: str = ""  # why a row that it covers may lawfully stay; its leftovers are then inferred
    event_time: ExpiryField | None = None  # where that of the rows lies, if no rule is known
    user_supplied: bool = False
    needs_none: bool = False  # lacks no rule: its rows are few, or go with another store's
    # fields of the key one of which may carry the watermark, where nothing but the rows can show
    # which; if one does, no row outlives it, so that it never makes a leftover
    key_times: tuple[ExpiryField, ...] = ()
    row_kind: RowKind = RowKind.ROW

    def by_key_time(self, path: tuple[int, ...] | None) -> StoreRule:
        """The rule, if the rows show that this field of ``key_times`` carries the watermark."""
        key_time = next((item for item in self.key_times if item.path == path), None)
        if key_time is None or self.user_supplied:
            return self
        source = f"{self.source}; the rows tell which field of the key"
        return replace(self, expiry=key_time, unknown=None, source=source)


@dataclass(frozen=True)
class OperatorShape:
    """Stateful operator as its metadata, schemas and confs describe it."""

    name: str  # operator name as Spark's operator metadata has it
    # key and value schema by store name; a store without schema file is absent
    schemas: Mapping[str, tuple[StructType, StructType]]
    # what the operator says of itself (operator metadata v2)
    properties: Mapping[str, object] = field(default_factory=dict)


def event_time_field(schema: StructType) -> tuple[int, StructField] | None:
    """The first column that carries an event-time watermark, with its ordinal, or None."""
    for ordinal, column in enumerate(schema.fields):
        if WATERMARK_KEY in column.metadata:
            return ordinal, column
    return None


def watermark_field(schema: StructType, part: RowPart) -> ExpiryField | None:
    """``WatermarkSupport.watermarkExpression``: window end, or the column, ``<=`` the watermark."""
    result = event_time_field(schema)
    if result is None:
        return None
    ordinal, column = result
    window = isinstance(column.data_type, StructType)
    return ExpiryField(
        Clock.WATERMARK,
        part,
        (ordinal, 1) if window else (ordinal,),
        MICROS_PER_MS,
        inclusive=True,
        name=f"{column.name}.end" if window else column.name,
    )


@dataclass(frozen=True)
class WhatIf:
    """A change of the query; ms, None for what stays."""

    watermark_delay_ms: int | None = None  # of ``withWatermark``
    old_delay_ms: int | None = None  # that of the query, where its schemas do not say it
    timeout_ms: int | None = None  # of group state, after the last call for a key
    ttl_ms: int | None = None  # of the state variables of transformWithState, after the last write
    # the delay of ``dropDuplicatesWithinWatermark`` in place of what the deduplication has
    dedup_within_ms: int | None = None


@dataclass(frozen=True)
class Scenario:
    """Effect of a simulated change on the rows of one store."""

    clock: Clock  # which one they go by
    kind: TimeoutKind | None = None  # of timers, the clock that they follow
    clock_shift_ms: int = 0  # the clock of every batch is so much later
    field_shift_ms: int = 0  # the row's own deadline is so much later
    # the deadline is so long after the clock of the batch that put the row; None for the row's own
    after_put_ms: int | None = None
    premise: str = ""  # what is assumed, in words; empty where the numbers follow from the bytes
    # a key that is still there is not put again: what came meanwhile is in no file
    first_put: bool = False
    # a row takes the key of a removed one, as those of a join do by their index
    moved: bool = False
    # how long before its deadline, as it is, the event of a row is, where that decides whether the
    # row is late; None where its deadline does
    event_before_ms: int | None = None
    # as a watermark of events that come when they happen: the clock of the last batch before that
    # put rows
    behind: bool = False
    more_bytes: int = 0  # by which each value grows
    fed_less: bool = False  # with a shorter delay an operator before drops more events as late


class Unknown(str):
    """Reason why the effect of a change on a store is unknown, in words."""

    __slots__ = ()
