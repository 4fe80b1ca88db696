"""Facts of a run put together as the lifetime findings take them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.facts.expired import LeftoverClass
from inspector.facts.timer_runs import TimerCalls
from inspector.facts.versions import VersionFacts
from inspector.findings.joins import JoinLife, Retention
from inspector.findings.lifetime import LeftoverTotal, StoreLife
from inspector.merge.collect import Facts, StoreName
from inspector.merge.resolution import before_window, reasons_of
from inspector.model import Certainty, TimeoutKind
from inspector.operators.join import VALUE_STORES
from inspector.operators.rule import Clock
from inspector.passes.join_times import covered_though_timed


def store_lives(
    checkpoint: Checkpoint, operator: Operator, version: int, facts: Facts
) -> Iterator[StoreLife]:
    """What is known of the life of each store's rows."""
    clock = checkpoint.clock(version)
    merged = facts.by_store()
    for store, rule in operator.rules.items():
        name = (operator.operator_id, store)
        versions = merged.get(name, {})
        known = [one for one in versions.values() if not one.rebased]
        yield StoreLife(
            operator_id=operator.operator_id,
            operator_name=operator.name,
            store_name=store,
            rule=rule,
            newest=versions.get(version, VersionFacts()),
            removals=sum(one.removed_rows for one in known),
            puts=sum(one.puts for one in known),
            window=len(known),
            leftovers=_totals(facts, name),
            watermark_ms=None if clock is None else clock.watermark_ms or clock.next_watermark_ms,
            first=_first(versions),
            calls=_calls(facts, name),
            ages=facts.ages.get(name),
            data_batches=sum(
                c.has_new_data is not False
                for batch, c in checkpoint.logs.clocks.items()
                if batch < version
            ),
        )


def join_life(checkpoint: Checkpoint, operator: Operator, version: int, facts: Facts) -> JoinLife:
    """What is known of the two sides of a join."""
    merged = facts.by_store()
    sides: dict[str, Retention] = {}
    wrong: dict[str, dict[str, int]] = {}
    covered: dict[str, int] = {}
    for store in VALUE_STORES:
        name = (operator.operator_id, store)
        if name in facts.retention:
            sides[store] = retention(checkpoint, facts, name, version, merged.get(name, {}))
        found = {slug: n for (place, slug), n in facts.joins.items() if place == name}
        if found:
            wrong[store] = found
            covered[store] = covered_though_timed(found)
    return JoinLife(operator.operator_id, sides, wrong, covered)


def retention(
    checkpoint: Checkpoint,
    facts: Facts,
    name: StoreName,
    version: int,
    versions: dict[int, VersionFacts],
) -> Retention:
    """How far behind the watermark the rows of one side reached."""
    known = [one for one in versions.values() if not one.rebased]
    watermarks: dict[int, int] = {}
    behind: dict[int, int] = {}
    for at, oldest in facts.retention.get(name, {}).items():
        clock = checkpoint.clock(at)
        if clock is not None and clock.watermark_ms:
            watermarks[at] = clock.watermark_ms
            behind[at] = clock.watermark_ms - oldest
    return Retention(
        behind,
        watermarks,
        sum(one.removed_rows for one in known),
        versions.get(version, VersionFacts()),
        _first(versions),
        len(known),
    )


def newest_event_times(checkpoint: Checkpoint, facts: Facts) -> list[int]:
    """The newest event time in each store whose rows go by the watermark, or may."""
    found: list[int] = []
    for operator in checkpoint.operators:
        for store, rule in operator.rules.items():
            field = rule.expiry or rule.event_time
            ages = facts.ages.get((operator.operator_id, store))
            if field is None or field.clock is not Clock.WATERMARK or ages is None:
                continue
            if ages.newest_ms is not None:
                found.append(ages.newest_ms)
    return found


def _first(versions: dict[int, VersionFacts]) -> VersionFacts:
    return versions[min(versions)] if versions else VersionFacts()


def _calls(facts: Facts, name: StoreName) -> TimerCalls | None:
    usual = facts.resolution.usual_clock(name)
    kinds = (usual,) if usual else tuple(kind.value for kind in TimeoutKind)
    found = [facts.calls[name, kind] for kind in kinds if (name, kind) in facts.calls]
    return found[0] if found else None


def _totals(facts: Facts, name: StoreName) -> tuple[LeftoverTotal, ...]:
    merged: dict[tuple[str, str, bool, str], list[dict[str, Any]]] = {}
    for row in (*facts.totals, *facts.undecided_totals):
        if (row["operator_id"], row["store_name"]) == name:
            # Undecided keys are counted apart by what leaves them so.
            why = row["reason"] or "" if row["certainty"] == Certainty.UNDECIDED.value else ""
            place = (row["leftover_class"], row["certainty"], before_window(row), why)
            merged.setdefault(place, []).append(row)
    return tuple(
        LeftoverTotal(
            LeftoverClass(kind),
            Certainty(certainty),
            sum(row["rows"] for row in of_class),
            sum(row["key_bytes"] + row["value_bytes"] for row in of_class),
            min(row["expired_version"] for row in of_class),
            fired=max(row["fired"] for row in of_class),
            by_change=_by_change(of_class),
            before_window=before,
            reason=reasons_of(of_class) or "",
        )
        for (kind, certainty, before, _), of_class in sorted(merged.items())
    )


def _by_change(rows: list[dict[str, Any]]) -> dict[str, int]:
    words = ("untouched", "changed", "empty")
    return {word: sum(row[f"{word}_keys"] or 0 for row in rows) for word in words}
