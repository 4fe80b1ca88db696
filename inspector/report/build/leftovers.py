"""``leftovers``: one row per expired key that is still there, with its proof."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from inspector.findings.finding import Finding
from inspector.measure.heap import RETAINED_BY_DEFAULT as RETAINED
from inspector.measure.heap import Heap, of_rows
from inspector.measure.heap_layout import Layout
from inspector.model import Problem
from inspector.pipeline.collect import Facts
from inspector.pipeline.discovery import Checkpoint
from inspector.report.build.common import (
    PARTITION_ID,
    STORE,
    count,
    identity,
    operator_names,
    size,
)
from inspector.report.build.listing import expiry_text
from inspector.report.build.lives import (
    DiskShares,
    age_table,
    leftover_ages,
    proof_window,
    retention_tables,
)
from inspector.report.build.memory import usual_layout
from inspector.report.keys import Redact, RowWords
from inspector.report.model import Column, Report, Table, Unit

_COLUMNS = (
    *STORE,
    PARTITION_ID,
    Column("key", Unit.VALUE),
    Column("key_hex"),
    size("key_bytes"),
    size("value_bytes"),
    Column("class"),
    Column("certainty"),
    Column("state"),
    Column("expired_batch", Unit.ID),
    Column("expired_version", Unit.ID),
    Column("first_expired_batch", Unit.ID),
    Column("clock_ms", Unit.TIME_MS),
    Column("threshold_ms", Unit.TIME_MS),
    Column("margin_ms", Unit.COUNT),
    count("fired"),
    Column("last_put_version", Unit.ID),
    Column("last_put_batch", Unit.ID),
    Column("last_put_ms", Unit.TIME_MS),
    Column("age_ms", Unit.COUNT),
    count("puts"),
    Column("unchanged_since"),
    Column("reason"),
)
_WIDE = frozenset(
    ("operator_name", "store_name", "key_hex", "last_put_version", "expired_version", "margin_ms")
) | {"first_expired_batch", "last_put_ms", "age_ms", "unchanged_since", "reason"}
LARGEST = 10
NOTE = (
    "A key is a leftover when a batch that has run already held its expiry field against its own "
    "clock and found it expired, and the key is still there in the judged version. clock is that "
    "field, threshold the batch's watermark or processing time. Keys that wait for the next batch "
    "are none."
)


def leftovers(  # noqa: PLR0913 - the parts of one report
    checkpoint: Checkpoint,
    version: int,
    facts: Facts,
    problems: Sequence[Problem],
    findings: Sequence[Finding],
    redact: Redact,
    limit: int,
) -> Report:
    """Leftover keys, oldest first; then their counts by class, and the rules."""
    listed = facts.leftovers[:limit] if limit else facts.leftovers
    total = sum(row["rows"] for row in facts.totals)
    more = f", {len(listed)} of {total} listed" if len(listed) < total else ""
    keys = Table(
        "leftovers",
        f"leftover keys{more}",
        _COLUMNS,
        leftover_rows(checkpoint, listed, redact),
        empty=_empty(checkpoint),
        wide=_WIDE,
    )
    summary = (
        identity(checkpoint, version)
        | proof_window(checkpoint, facts)
        | {
            "leftovers": total,
            "leftover_row_bytes": sum(r["key_bytes"] + r["value_bytes"] for r in facts.totals),
        }
    )
    return Report(
        "leftovers",
        checkpoint.root,
        summary,
        (
            keys,
            class_table(checkpoint, facts),
            *([_largest(checkpoint, facts, redact)] if total else []),
            *([leftover_ages(checkpoint, version, facts)] if total else []),
            age_table(checkpoint, version, facts),
            *retention_tables(checkpoint, facts),
            _rules(checkpoint),
        ),
        findings=findings,
        problems=problems,
        notes=notes(facts),
        footnotes=(NOTE,),
        judged=True,
    )


def _empty(checkpoint: Checkpoint) -> str:
    rules = [rule for operator in checkpoint.operators for rule in operator.rules.values()]
    if any(rule.expiry is not None for rule in rules):
        return "none: every key that has expired is gone"
    return "none can be told: no store has a rule by which its rows expire, see below"


def _largest(checkpoint: Checkpoint, facts: Facts, redact: Redact) -> Table:
    # Stable: of the same size the oldest.
    largest = sorted(facts.leftovers, key=lambda row: -(row["key_bytes"] + row["value_bytes"]))
    return Table(
        "largest",
        "largest leftovers",
        _COLUMNS,
        leftover_rows(checkpoint, largest[:LARGEST], redact),
        wide=_WIDE | {"puts", "clock_ms", "threshold_ms", "fired"},
    )


def notes(facts: Facts) -> list[str]:
    """What is needed from the user to tell more."""
    return [
        f"operator {operator} {store}: the bytes do not tell whether its timeouts follow event "
        "time or processing time, and the leftovers would differ; say --timeout-kind"
        for operator, store in facts.undecided
    ]


def leftover_rows(
    checkpoint: Checkpoint, listed: Iterable[dict[str, Any]], redact: Redact
) -> list[dict[str, Any]]:
    """Rows of kind ``leftover`` as they are reported, keys decoded."""
    rows = list(listed)
    names = operator_names(checkpoint)
    words: dict[int, Any] = {}
    for operator in checkpoint.operators:
        for store, schema in operator.schemas.items():
            mine = [
                i
                for i, row in enumerate(rows)
                if (row["operator_id"], row["store_name"]) == (operator.operator_id, store)
            ]
            decoder = RowWords(schema.key, redact)
            words |= dict(zip(mine, decoder.words([rows[i]["key"] for i in mine]), strict=True))
    show_hex = redact is Redact.NONE
    now = _timestamps(checkpoint, rows)
    return [
        {
            "operator_id": row["operator_id"],
            "operator_name": names.get(row["operator_id"]),
            "store_name": row["store_name"],
            "partition_id": row["partition_id"],
            "key": words.get(i),
            "key_hex": row["key"].hex() if show_hex else None,
            "key_bytes": row["key_bytes"],
            "value_bytes": row["value_bytes"],
            "class": row["leftover_class"],
            "certainty": row["certainty"],
            "state": row["state_change"],
            # What expired before the window did so by the batch before it, at the latest.
            "expired_batch": None if row["before_window"] else row["expired_version"] - 1,
            "expired_version": None if row["before_window"] else row["expired_version"],
            "first_expired_batch": _batch(row["first_expired_version"]),
            "clock_ms": row["clock_ms"],
            "threshold_ms": row["threshold_ms"],
            "margin_ms": _minus(row["threshold_ms"], row["clock_ms"]),
            "fired": row["fired"],
            "last_put_version": row["last_put_version"],
            "last_put_batch": _batch(row["last_put_version"]),
            "last_put_ms": now.get(row["last_put_version"]),
            "age_ms": _minus(now.get(row["version"]), now.get(row["last_put_version"])),
            "puts": row["puts"],
            "unchanged_since": row["last_put_version"] is None
            or row["last_put_version"] <= row["expired_version"],
            "reason": row["reason"],
        }
        for i, row in enumerate(rows)
    ]


def _timestamps(checkpoint: Checkpoint, rows: Iterable[dict[str, Any]]) -> dict[Any, int | None]:
    """The clock of each version's batch that the rows name."""
    named = {row[name] for row in rows for name in ("version", "last_put_version")} - {None}
    clocks = {version: checkpoint.clock(version) for version in named}
    return {version: clock.timestamp_ms for version, clock in clocks.items() if clock is not None}


def _minus(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a - b


def _batch(version: int | None) -> int | None:
    return None if version is None else version - 1


def class_table(checkpoint: Checkpoint, facts: Facts) -> Table:
    """Leftovers counted by store, class and certainty."""
    names = operator_names(checkpoint)
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in facts.totals:
        place = (row["operator_id"], row["store_name"], row["leftover_class"], row["certainty"])
        groups.setdefault((*place, row["before_window"]), []).append(row)
    disk = DiskShares(checkpoint, facts)
    layout = usual_layout(checkpoint, checkpoint.newest_version)
    return Table(
        "classes",
        "leftovers by class",
        (
            *STORE,
            Column("class"),
            Column("certainty"),
            count("keys"),
            size("row_bytes"),
            Column("disk_bytes", Unit.BYTES, exact=False),
            Column("heap_bytes", Unit.BYTES, exact=False),
            Column("oldest_expired_batch", Unit.ID),
            count("untouched"),
            count("changed"),
            count("empty"),
            count("fired_max"),
            Column("reason"),
        ),
        [
            {
                "operator_id": operator_id,
                "operator_name": names.get(operator_id),
                "store_name": store,
                "class": kind,
                "certainty": certainty,
                "keys": sum(row["rows"] for row in rows),
                "row_bytes": _row_bytes(rows),
                "disk_bytes": disk.bytes_of(_row_bytes(rows)),
                "heap_bytes": _heap(rows, layout),
                "oldest_expired_batch": None
                if before
                else min(row["expired_version"] for row in rows) - 1,
                **{word: _sum(rows, f"{word}_keys") for word in ("untouched", "changed", "empty")},
                "fired_max": max(row["fired"] for row in rows) or None,
                "reason": rows[0]["reason"],
            }
            for (operator_id, store, kind, certainty, before), rows in sorted(groups.items())
        ],
        wide=frozenset(("store_name", "reason")),
    )


def _heap(rows: Iterable[dict[str, Any]], layout: Layout) -> int:
    """What removing them saves in the two versions that Spark retains by default."""
    each = (of_rows(r["rows"], r["key_bytes"], r["value_bytes"], layout, RETAINED) for r in rows)
    return sum(each, Heap()).total


def _row_bytes(rows: Iterable[dict[str, Any]]) -> int:
    return sum(row["key_bytes"] + row["value_bytes"] for row in rows)


def _sum(rows: Iterable[dict[str, Any]], name: str) -> int | None:
    told = [row[name] for row in rows if row[name] is not None]
    return sum(told) if told else None


def _rules(checkpoint: Checkpoint) -> Table:
    return Table(
        "rules",
        "the rule by which each store's rows should go",
        (*STORE, Column("expires"), Column("source")),
        [
            {
                "operator_id": operator.operator_id,
                "operator_name": operator.name,
                "store_name": store,
                "expires": expiry_text(operator, store),
                "source": rule.source,
            }
            for operator in checkpoint.operators
            for store, rule in operator.rules.items()
        ],
    )
