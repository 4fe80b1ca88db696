"""Findings about files, SS1xx, and about what they waste, SS3xx."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from inspector.facts.versions import VersionFacts
from inspector.findings.catalogue import (
    ABSENT_REMOVALS,
    BAD_CHECKSUM,
    BAD_ROW,
    CHANGED_FILE,
    FORMAT_V1,
    LOG_CONTRADICTION,
    MISSING_DELTA,
    NOT_RESTORABLE,
    PARTITION_COUNT,
    SAME_VALUE,
    SAME_VALUE_SHARE,
    SNAPSHOT_DIFFERS,
    UNDECODABLE_FILE,
)
from inspector.findings.finding import Finding, Kind
from inspector.model import Certainty, Problem

KIND_OF_PROBLEM: dict[str, Kind] = {
    "missing-delta": MISSING_DELTA,
    "missing-version": NOT_RESTORABLE,
    "snapshot-differs": SNAPSHOT_DIFFERS,
    "bad-row": BAD_ROW,
    "missing-partition": PARTITION_COUNT,
    "file-checksum": BAD_CHECKSUM,
    "log-contradiction": LOG_CONTRADICTION,
    "log-entry-lost": LOG_CONTRADICTION,
    "bad-checksum": CHANGED_FILE,
}


def judge_problems(problems: Iterable[Problem]) -> Iterator[Finding]:
    """One finding for each kind of problem in each operator."""
    grouped: dict[tuple[Kind, int | None], list[Problem]] = {}
    for problem in problems:
        kind = KIND_OF_PROBLEM.get(problem.slug, UNDECODABLE_FILE)
        if problem.slug in ("codec-mismatch", "uncommitted"):
            continue
        operator = problem.store.operator_id if problem.store else None
        grouped.setdefault((kind, operator), []).append(problem)
    for (kind, operator), of_kind in grouped.items():
        first = of_kind[0]
        more = f" (and {len(of_kind) - 1} more, see problems)" if len(of_kind) > 1 else ""
        place = f"{first.path}: " if first.path else ""
        yield Finding(kind, Certainty.PROVEN, f"{place}{first.message}{more}", kind.to_do, operator)


def judge_format(operator_id: int, formats: dict[str, str]) -> Iterator[Finding]:
    """State format 1 of an aggregation: the value repeats the key's columns."""
    if formats.get("aggregation") == "1":
        yield Finding(
            FORMAT_V1,
            Certainty.PROVEN,
            "by the offset log the aggregation has state format 1 (as where none is recorded): "
            "each value repeats its key",
            FORMAT_V1.to_do,
            operator_id,
        )


def judge_rewrites(
    operator_id: int, store_name: str, versions: Iterable[VersionFacts]
) -> Iterator[Finding]:
    """Puts that wrote what was there already."""
    total = sum(versions, VersionFacts())
    if total.updates and total.same_value_puts >= SAME_VALUE_SHARE * total.updates:
        yield Finding(
            SAME_VALUE,
            Certainty.PROVEN,
            f"{total.same_value_puts:,} of {total.updates:,} updates wrote the value that was "
            "there already",
            SAME_VALUE.to_do,
            operator_id,
            store_name,
            total.same_value_puts,
            total.same_value_put_bytes,
        )


def judge_removals(
    operator_id: int, store_name: str, versions: Mapping[int, VersionFacts]
) -> Iterator[Finding]:
    """Removals that Spark cannot have written after the version before."""
    wrong = {version: one.absent_removals for version, one in versions.items()}
    wrong = {version: count for version, count in wrong.items() if count}
    if wrong:
        total, first = sum(wrong.values()), min(wrong)
        yield Finding(
            ABSENT_REMOVALS,
            Certainty.PROVEN,
            f"{total:,} removals of keys that are not there, the first in version {first} "
            f"(batch {first - 1})",
            ABSENT_REMOVALS.to_do,
            operator_id,
            store_name,
            total,
        )
