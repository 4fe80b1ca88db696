"""A change of a query that was not made: another watermark delay, timeout or TTL."""

from __future__ import annotations

from dataclasses import dataclass

from inspector.model import TimeoutKind
from inspector.operators.rule import Clock


@dataclass(frozen=True)
class WhatIf:
    """A change of the query; ms, None for what stays.

    Attributes:
        watermark_delay_ms: of ``withWatermark``. old_delay_ms: that of the query, where its
            schemas do not say it.
        timeout_ms: of group state, after the last call for a key.
        ttl_ms: of the state variables of transformWithState, after the last write.
        dedup_within_ms: the delay of ``dropDuplicatesWithinWatermark`` in place of what the
            deduplication has.
    """

    watermark_delay_ms: int | None = None
    old_delay_ms: int | None = None
    timeout_ms: int | None = None
    ttl_ms: int | None = None
    dedup_within_ms: int | None = None


@dataclass(frozen=True)
class Scenario:
    """What a change is to the rows of one store.

    Attributes:
        clock: which one they go by. kind: of timers, the clock that they follow.
        clock_shift_ms: the clock of every batch is so much later.
        field_shift_ms: the row's own deadline is so much later.
        after_put_ms: the deadline is so long after the clock of the batch that put the row; None
            for the row's own.
        premise: what is assumed, in words; empty where the numbers follow from the bytes.
    """

    clock: Clock
    kind: TimeoutKind | None = None
    clock_shift_ms: int = 0
    field_shift_ms: int = 0
    after_put_ms: int | None = None
    premise: str = ""
