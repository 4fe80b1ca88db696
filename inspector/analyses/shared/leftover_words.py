"""Leftover keys as they are reported: decoded, with the times of their batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from inspector.analyses.shared.common import (
    operator_names,
)
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.tasks import Task
from inspector.facts.fact import Observed
from inspector.facts.leftover_facts import Leftover
from inspector.model import Redact, StoreName
from inspector.render import tabular as t
from inspector.render.keys import RowWords
from inspector.sparktypes import StructType, parse_schema_json


@dataclass(frozen=True, kw_only=True)
class LeftoverRow(t.PartitionRow, table="leftovers"):
    """An expired key that is still there, with its proof."""

    store_name: Annotated[t.StoreName, t.WIDE]
    key: Annotated[t.KeyJson, t.Rank(1)]
    key_hex: Annotated[t.KeyHex | None, t.WIDE]
    key_bytes: t.KeyBytes
    value_bytes: Annotated[t.ValueBytes, t.Rank(21)]
    row_bytes: Annotated[t.Bytes, "Key bytes and value bytes of the row.", t.WIDE]
    class_: Annotated[t.LeftoverClassName, t.Rank(2)]
    certainty: t.Certainty
    state: Annotated[
        t.Text | None,
        "`untouched`, `changed` or `empty`, by the call for the timeout; null if none fired.",
    ]
    expired_batch: Annotated[t.ExpiredBatch | None, t.Rank(3)]
    expired_version: Annotated[t.Id | None, "The state version of that batch.", t.WIDE]
    first_expired_batch: Annotated[
        t.Id | None, "The first batch that found it expired, where it did so repeatedly.", t.WIDE
    ]
    clock_ms: Annotated[t.ClockMs | None, t.Rank(4)]
    threshold_ms: Annotated[t.ThresholdMs | None, t.Rank(5)]
    margin_ms: Annotated[
        t.DurationMs | None,
        "`threshold_ms` less `clock_ms`: how long it had been expired, in ms.",
        t.WIDE,
    ]
    fired: Annotated[t.Count | None, "How often the key's timer has fired."]
    last_put_version: Annotated[t.LastPutVersion | None, t.WIDE]
    last_put_batch: Annotated[t.LastPutBatch | None, t.Rank(22)]
    last_put_ms: Annotated[t.TimeMs | None, "The processing time of the last put's batch.", t.WIDE]
    age_ms: Annotated[
        t.DurationMs | None,
        "From the last put to the judged batch, in ms of processing time.",
        t.WIDE,
    ]
    puts: Annotated[t.Count, "How often the key was put, over all versions that can be replayed."]
    unchanged_since: Annotated[
        t.Flag, "Whether the key was not put again after it expired.", t.WIDE
    ]
    reason: Annotated[t.Reason | None, t.WIDE]


L = TypeVar("L", bound=LeftoverRow)


class LeftoverWords:
    """Facts :class:`Leftover` as rows as rows.

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

    def rows(self, listed: Iterable[Observed[Leftover]], kind: type[L]) -> list[L]:
        """The rows of a kind, in the same order."""
        facts = list(listed)
        keys = self._decoded(facts)
        return [self._row(fact, keys[i], kind) for i, fact in enumerate(facts)]

    def _decoded(self, facts: Sequence[Observed[Leftover]]) -> dict[int, Any]:
        places: dict[StoreName, list[int]] = {}
        for i, fact in enumerate(facts):
            places.setdefault(fact.store.name, []).append(i)
        found: dict[int, Any] = {}
        for place, mine in places.items():
            words = self._keys.get(place, self._unknown).words([facts[i].fact.key for i in mine])
            found |= dict(zip(mine, words, strict=True))
        return found

    def _row(self, observed: Observed[Leftover], key: Any, kind: type[L]) -> L:
        store, fact = observed.store, observed.fact
        put, expired = fact.last_put_version, fact.expired_version
        # What expired before the window did so by the batch before it, at the latest.
        before = fact.before_window
        return kind(
            operator_id=store.operator_id,
            operator_name=self._names.get(store.operator_id),
            store_name=store.store_name,
            partition_id=store.partition_id,
            key=key,
            key_hex=fact.key.hex() if self._show_hex else None,
            key_bytes=fact.key_bytes,
            value_bytes=fact.value_bytes,
            row_bytes=fact.row_bytes,
            class_=fact.leftover_class.value,
            certainty=fact.certainty.value,
            state=None if fact.state_change is None else fact.state_change.word,
            expired_batch=None if before else expired - 1,
            expired_version=None if before else expired,
            first_expired_batch=_batch(fact.first_expired_version),
            clock_ms=fact.clock_ms,
            threshold_ms=fact.threshold_ms,
            margin_ms=_minus(fact.threshold_ms, fact.clock_ms),
            fired=fact.fired,
            last_put_version=put,
            last_put_batch=_batch(put),
            last_put_ms=_at(self._now, put),
            age_ms=_minus(self._now.get(observed.version), _at(self._now, put)),
            puts=fact.puts,
            unchanged_since=put is None or put <= expired,
            reason=fact.reason,
        )


def _minus(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a - b


def _batch(version: int | None) -> int | None:
    return None if version is None else version - 1


def _at(times: Mapping[int, int | None], version: int | None) -> int | None:
    return None if version is None else times.get(version)
