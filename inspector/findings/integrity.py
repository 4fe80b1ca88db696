"""Findings about files, SS1xx, and about what they waste, SS3xx."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from inspector.facts.versions import VersionFacts
from inspector.findings.finding import (
    BAD_CHECKSUM,
    BAD_ROW,
    FORMAT_V1,
    MISSING_DELTA,
    NOT_RESTORABLE,
    PARTITION_COUNT,
    SAME_VALUE,
    SNAPSHOT_DIFFERS,
    UNDECODABLE_FILE,
    Finding,
    Kind,
)
from inspector.model import Certainty, Problem

SAME_VALUE_SHARE = 0.5
"""Share of same-value puts among all from which they are worth a word."""

_KINDS: dict[str, Kind] = {
    "missing-delta": MISSING_DELTA,
    "missing-version": NOT_RESTORABLE,
    "snapshot-differs": SNAPSHOT_DIFFERS,
    "bad-row": BAD_ROW,
    "missing-partition": PARTITION_COUNT,
    "file-checksum": BAD_CHECKSUM,
}
_STEPS = {
    MISSING_DELTA: "restore the file from a backup or an earlier object version; without it the "
    "versions after it cannot be loaded",
    NOT_RESTORABLE: "restart from the newest version that every partition can restore, "
    "or from a copy of the checkpoint",
    UNDECODABLE_FILE: "restore the file from a backup or an earlier object version",
    SNAPSHOT_DIFFERS: "find out what else writes to the checkpoint: Spark loads the snapshot, "
    "whatever its deltas say",
    BAD_ROW: "check that the schema in state/<operator>/0/_metadata/schema belongs to this query",
    BAD_CHECKSUM: "compare the file with a backup; where the file is as it should be, "
    "the checksum file is stale and can go",
    PARTITION_COUNT: "restore the folders: Spark silently reads a missing partition as empty",
}


def judge_problems(problems: Iterable[Problem]) -> Iterator[Finding]:
    """One finding for each kind of problem in each operator."""
    grouped: dict[tuple[Kind, int | None], list[Problem]] = {}
    for problem in problems:
        kind = _KINDS.get(problem.slug, UNDECODABLE_FILE)
        if problem.slug in ("codec-mismatch", "uncommitted"):
            continue
        operator = problem.store.operator_id if problem.store else None
        grouped.setdefault((kind, operator), []).append(problem)
    for (kind, operator), of_kind in grouped.items():
        first = of_kind[0]
        more = f" (and {len(of_kind) - 1} more, see problems)" if len(of_kind) > 1 else ""
        place = f"{first.path}: " if first.path else ""
        yield Finding(
            kind, Certainty.PROVEN, f"{place}{first.message}{more}", _STEPS[kind], operator
        )


def judge_format(operator_id: int, formats: dict[str, str]) -> Iterator[Finding]:
    """State format 1 of an aggregation: the value repeats the key's columns."""
    if formats.get("aggregation") == "1":
        yield Finding(
            FORMAT_V1,
            Certainty.PROVEN,
            "by the offset log the aggregation has state format 1 (as where none is recorded): "
            "each value repeats its key",
            "a new query (new checkpoint) uses format 2",
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
            "call update() only when the value has changed",
            operator_id,
            store_name,
            total.same_value_puts,
            total.same_value_put_bytes,
        )
