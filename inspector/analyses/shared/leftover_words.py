"""Leftover keys as they are reported: decoded, with the times of their batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from inspector.analyses.shared.common import (
    COMPARED_TIME,
    EXPIRY_TIME,
    PARTITION_ID,
    STORE,
    count,
    operator_names,
    size,
)
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.tasks import Task
from inspector.facts.fact import Observed
from inspector.facts.leftover_facts import Leftover
from inspector.model import Redact, StoreName
from inspector.render.keys import RowWords
from inspector.render.report import Column, Unit
from inspector.sparktypes import StructType, parse_schema_json

LEFTOVER_COLUMNS = (
    *STORE,
    PARTITION_ID,
    Column("key", Unit.VALUE),
    Column("key_hex"),
    size("key_bytes"),
    size("value_bytes"),
    size("row_bytes", "Key bytes and value bytes of the row."),
    Column("class"),
    Column("certainty"),
    Column("state"),
    Column("expired_batch", Unit.ID),
    Column("expired_version", Unit.ID),
    Column("first_expired_batch", Unit.ID),
    EXPIRY_TIME,
    COMPARED_TIME,
    Column("margin_ms", Unit.DURATION_MS),
    count("fired"),
    Column("last_put_version", Unit.ID),
    Column("last_put_batch", Unit.ID),
    Column("last_put_ms", Unit.TIME_MS),
    Column("age_ms", Unit.DURATION_MS),
    count("puts", "How often the key was put, over all versions that can be replayed."),
    Column("unchanged_since", Unit.FLAG),
    Column("reason"),
)

WIDE = frozenset(
    ("operator_name", "store_name", "key_hex", "last_put_version", "expired_version", "margin_ms")
) | {"row_bytes", "first_expired_batch", "last_put_ms", "age_ms", "unchanged_since", "reason"}
"""Columns that tables for people leave out."""


class LeftoverWords:
    """Facts :class:`Leftover` as rows under :data:`LEFTOVER_COLUMNS`.

    Args:
        names: operator id -> name.
        keys: key schema of each store that has one.
        timestamps: version -> processing time of its batch, in epoch milliseconds.
        redact: what is shown of keys.
    """

    def __init__(
        self,
        names: Mapping[int, str],
        keys: Mapping[StoreName, StructType],
        timestamps: Mapping[int, int | None],
        redact: Redact,
    ) -> None:
        self._names, self._now = names, timestamps
        self._unknown = RowWords(None, redact)
        self._keys = {place: RowWords(schema, redact) for place, schema in keys.items()}
        self._show_hex = redact is Redact.NONE

    @classmethod
    def of(cls, checkpoint: Checkpoint, redact: Redact) -> LeftoverWords:
        """For all stores of a checkpoint."""
        keys = {
            StoreName(operator.operator_id, store): schema.key
            for operator in checkpoint.operators
            for store, schema in operator.schemas.items()
        }
        times = {batch + 1: clock.timestamp_ms for batch, clock in checkpoint.logs.clocks.items()}
        return cls(operator_names(checkpoint), keys, times, redact)

    @classmethod
    def of_task(
        cls, task: Task, operator_name: str, redact: Redact, *, decoded: bool = True
    ) -> LeftoverWords:
        """For the stores of one task; without ``decoded`` keys are left to whoever has a type."""
        keys = {
            StoreName(task.operator_id, store.store_name): parse_schema_json(store.key_schema)
            for store in task.stores
            if decoded and store.key_schema is not None
        }
        times = {clock.batch_id + 1: clock.timestamp_ms for clock in task.clocks}
        return cls({task.operator_id: operator_name}, keys, times, redact)

    def rows(self, listed: Iterable[Observed[Leftover]]) -> list[dict[str, Any]]:
        """The rows, in the same order."""
        facts = list(listed)
        keys = self._decoded(facts)
        return [self._row(fact, keys[i]) for i, fact in enumerate(facts)]

    def _decoded(self, facts: Sequence[Observed[Leftover]]) -> dict[int, Any]:
        places: dict[StoreName, list[int]] = {}
        for i, fact in enumerate(facts):
            places.setdefault(fact.store.name, []).append(i)
        found: dict[int, Any] = {}
        for place, mine in places.items():
            words = self._keys.get(place, self._unknown).words([facts[i].fact.key for i in mine])
            found |= dict(zip(mine, words, strict=True))
        return found

    def _row(self, observed: Observed[Leftover], key: Any) -> dict[str, Any]:
        store, fact = observed.store, observed.fact
        put, expired = fact.last_put_version, fact.expired_version
        # What expired before the window did so by the batch before it, at the latest.
        before = fact.before_window
        return {
            "operator_id": store.operator_id,
            "operator_name": self._names.get(store.operator_id),
            "store_name": store.store_name,
            "partition_id": store.partition_id,
            "key": key,
            "key_hex": fact.key.hex() if self._show_hex else None,
            "key_bytes": fact.key_bytes,
            "value_bytes": fact.value_bytes,
            "row_bytes": fact.row_bytes,
            "class": fact.leftover_class.value,
            "certainty": fact.certainty.value,
            "state": None if fact.state_change is None else fact.state_change.word,
            "expired_batch": None if before else expired - 1,
            "expired_version": None if before else expired,
            "first_expired_batch": _batch(fact.first_expired_version),
            "clock_ms": fact.clock_ms,
            "threshold_ms": fact.threshold_ms,
            "margin_ms": _minus(fact.threshold_ms, fact.clock_ms),
            "fired": fact.fired,
            "last_put_version": put,
            "last_put_batch": _batch(put),
            "last_put_ms": _at(self._now, put),
            "age_ms": _minus(self._now.get(observed.version), _at(self._now, put)),
            "puts": fact.puts,
            "unchanged_since": put is None or put <= expired,
            "reason": fact.reason,
        }


def _minus(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a - b


def _batch(version: int | None) -> int | None:
    return None if version is None else version - 1


def _at(times: Mapping[int, int | None], version: int | None) -> int | None:
    return None if version is None else times.get(version)
