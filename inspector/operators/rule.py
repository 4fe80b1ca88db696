"""Terms in which an operator's module says when a row should be removed."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from inspector.light_dataclasses import dataclass, field, replace
from inspector.model import BatchClock, TimeoutKind
from inspector.sparktypes import StructField, StructType

WATERMARK_KEY = "spark.watermarkDelayMs"
"""Metadata key of a column that carries the event time (``EventTimeWatermark.delayKey``)."""

MICROS_PER_MS = 1000  # microseconds in a millisecond


class Clock(enum.Enum):
    """Clock of a batch that a rule compares with.

    It is the watermark or time in ``offsets/N`` for batch N, never the watermark that the batch
    makes.
    """

    WATERMARK = "watermark"  # ``batchWatermarkMs``
    PROCESSING_TIME = "processing_time"  # ``batchTimestampMs``
    TIMEOUT = "timeout"  # one of the two, whichever the timers of a group state follow

    def time_ms(self, batch: BatchClock, kind: TimeoutKind | None = None) -> int | None:
        """Return the clock in a batch, in epoch ms; ``kind`` is the clock that timers follow.

        Returns None if the batch did not record it.
        """
        if self is Clock.TIMEOUT and kind is not None:
            return batch.time_ms(kind)
        return batch.watermark_ms if self is Clock.WATERMARK else batch.timestamp_ms


class RowPart(enum.Enum):
    """Key or value of a row, each an UnsafeRow."""

    KEY = "key"
    VALUE = "value"


@dataclass(frozen=True)
class ExpiryField:
    """Field whose comparison with a clock decides when a row is removed."""

    clock: Clock  # clock that it is compared with
    part: RowPart  # row that has it
    path: tuple[int, ...]  # its ordinals, from that row inwards
    per_ms: int  # units of the field in one millisecond (1000 for Spark timestamps, else 1)
    # True if removed at ``field <= clock`` (watermarks), False at ``field < clock`` (timeouts)
    inclusive: bool
    name: str  # its name for reports
    delay_ms: int = 0  # ms by which the rule is behind the clock (the retention of a join's side)
    # True if the batch may evict by the previous batch's watermark, so that only rows which that
    # one covers are sure to be removed
    previous_bound: bool = False
    # True if the batch that puts a row may leave it, whatever its clock, so that only later batches
    # are sure to remove it (timers of transformWithState)
    after_put: bool = False


class RowKind(enum.Enum):
    """Meaning of a rule's rows for the user."""

    ROW = "row"
    TTL_VALUE = "value with TTL"
    TIMER = "timer"


@dataclass(frozen=True)
class StoreRule:
    """Expiry rule of one store's rows. At most one of the first three fields is set."""

    expiry: ExpiryField | None = None  # field by which rows are removed
    # why Spark never removes a row, by design and as the schema proves
    never: str | None = None
    unknown: str | None = None  # why the checkpoint does not show when rows are removed
    advice: str = ""  # what the user can do about rows that stay
    source: str = ""  # Spark class that has the rule, or the option that gave it
    # why a row may rightly stay although the rule covers it; leftovers are then inferred
    doubt: str = ""
    event_time: ExpiryField | None = None  # field with the rows' event time, if no rule is known
    user_supplied: bool = False  # True if the user gave the rule
    # True if no rule is needed: the rows are few, or are removed with another store's
    needs_none: bool = False
    # fields of the key one of which may carry the watermark, if only the rows can show which. If
    # one does, no row outlives it, so that it never makes a leftover
    key_times: tuple[ExpiryField, ...] = ()
    row_kind: RowKind = RowKind.ROW  # meaning of the rows

    def by_key_time(self, path: tuple[int, ...] | None) -> StoreRule:
        """Return the rule if the rows show that the ``key_times`` field at ``path`` applies.

        The rule is returned unchanged if there is no such field (``path`` None: no field applies),
        or if the user gave the rule.
        """
        key_time = next((item for item in self.key_times if item.path == path), None)
        if key_time is None or self.user_supplied:
            return self
        source = f"{self.source}; the rows tell which field of the key"
        return replace(self, expiry=key_time, unknown=None, source=source)


@dataclass(frozen=True)
class OperatorShape:
    """Stateful operator as its metadata, schemas and confs describe it."""

    name: str  # name in Spark's operator metadata
    # key and value schema by store name; a store without schema file is absent
    schemas: Mapping[str, tuple[StructType, StructType]]
    # properties in operator metadata v2
    properties: Mapping[str, object] = field(default_factory=dict)


def event_time_field(schema: StructType) -> tuple[int, StructField] | None:
    """Return ordinal and column of the first one with an event-time watermark, or None."""
    for ordinal, column in enumerate(schema.fields):
        if WATERMARK_KEY in column.metadata:
            return ordinal, column
    return None


def watermark_field(schema: StructType, part: RowPart) -> ExpiryField | None:
    """Return the rule of the column with a watermark, or of its window's end; None without one.

    It is removed at ``<=`` the watermark (``WatermarkSupport.watermarkExpression``). ``part`` says
    if the schema is of keys or of values.
    """
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
    """A change of the query to simulate; None for each part that stays."""

    watermark_delay_ms: int | None = None  # new delay of ``withWatermark`` in ms
    old_delay_ms: int | None = None  # present delay in ms, if the schemas do not show it
    timeout_ms: int | None = None  # ms from the last call for a key of group state to its timeout
    # ms from the last write of a state variable of transformWithState to its expiry
    ttl_ms: int | None = None
    # delay of ``dropDuplicatesWithinWatermark`` in ms, instead of the present deduplication
    dedup_within_ms: int | None = None


@dataclass(frozen=True)
class Scenario:
    """Effect of a simulated change on the rows of one store."""

    clock: Clock  # clock by which the rows are removed
    kind: TimeoutKind | None = None  # clock that timers follow; None without timers
    clock_shift_ms: int = 0  # ms by which the clock of every batch is later
    field_shift_ms: int = 0  # ms by which each row's own deadline is later
    # ms from the clock of the batch that put a row to its deadline; None to keep the row's own
    after_put_ms: int | None = None
    premise: str = ""  # assumption, in words; empty if the numbers follow from the bytes
    # True if a key that still exists is not put again; what came meanwhile is in no file
    first_put: bool = False
    moved: bool = False  # True if a row takes the key of a removed row, as in a join by its index
    # ms from a row's event to its real deadline, if the event decides whether the row is late; None
    # if the deadline decides
    event_before_ms: int | None = None
    # True if the watermark of a batch is the clock of the last earlier batch that put rows, as if
    # events came when they happen
    behind: bool = False
    more_bytes: int = 0  # bytes by which each value grows
    # True if an operator above drops more events as late with a shorter delay
    fed_less: bool = False


class Unknown(str):
    """Reason why the effect of a change on a store is unknown, in words."""

    __slots__ = ()
