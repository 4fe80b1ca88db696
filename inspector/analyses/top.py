"""``top``: who is biggest, hottest and oldest; and how partitions share the load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

from inspector.analyses.shared.common import (
    PARTITION_ID,
    STORE,
    count,
    identity,
    operator_names,
    size,
)
from inspector.analyses.shared.declare import FactRequest, Option, TableSpec, analysis
from inspector.analyses.shared.options import AT_VERSION, PART, SCHEMAS, WORK, Options, redacting
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.words import StoreWords
from inspector.discovery.checkpoint import Checkpoint
from inspector.estimates.skew import skew
from inspector.facts.fact import Observed
from inspector.facts.top import TopBy, TopKey, merge_top
from inspector.facts.versions import VersionFacts
from inspector.merge.collect import Facts
from inspector.model import Problem, StoreName
from inspector.render.keys import Redact
from inspector.render.report import Column, Report, Table, Unit

FOOTNOTE = (
    "Ranked by key, value and row bytes, by puts since the oldest version that can be replayed, by "
    "the batch of the last put (- means before that version), and, for joins, by rows of a join "
    "key. All exact."
)


TOP = TableSpec(
    "top",
    "a key's rank by one measure in its store",
    (
        Column("by"),
        Column("rank", Unit.ID),
        *STORE,
        PARTITION_ID,
        Column("key", Unit.VALUE),
        Column("key_hex"),
        size("key_bytes"),
        size("value_bytes"),
        size("row_bytes", "Key bytes and value bytes of the row."),
        count("puts", "How often the key was put, over all versions that can be replayed."),
        Column("last_put_version", Unit.ID),
        Column("last_put_batch", Unit.ID),
        count("join_rows"),
    ),
    empty="this version has no rows",
    wide=frozenset(("operator_name", "key_hex", "last_put_version")),
)
SKEW = TableSpec(
    "skew",
    "how evenly the partitions of one store share its rows",
    (
        *STORE,
        count("partitions", "Partitions of the store."),
        count("empty", "Partitions without rows."),
        Column("median_row_bytes", Unit.BYTES),
        Column("max_row_bytes", Unit.BYTES),
        Column("max_to_median"),
        Column("largest_partition", Unit.ID),
        count("max_rows"),
    ),
    empty="no store has rows of this version",
    wide=frozenset(("operator_name",)),
)
KEYS_BY_RANK = FactRequest(top=5)


@analysis(
    uses=(redacting(Redact.NONE), WORK, SCHEMAS, PART, AT_VERSION),
    tables=(TOP, SKEW),
    facts=KEYS_BY_RANK,
)
def top(
    path: str | Run,
    options: Options | None = None,
    *,
    limit: Annotated[int, Option("Keys by each ranking.", minimum=1)] = KEYS_BY_RANK.top,
) -> Report:
    """Biggest keys by bytes, hottest by puts, oldest by last put; skew of partitions."""
    run = Run.start(path, options)
    facts = run.facts(replace(KEYS_BY_RANK, top=limit))
    redact = run.options.redact or Redact.NONE
    return top_report(run.checkpoint, run.version, facts, run.problems(facts), limit, redact)


def top_report(
    checkpoint: Checkpoint,
    version: int,
    facts: Facts,
    problems: Sequence[Problem],
    most: int,
    redact: Redact,
) -> Report:
    """The first ``most`` keys of every store by each ranking, and the skew of every store."""
    joins = any(one.fact.by is TopBy.NUMBER for one in facts.top)
    keys = TOP.table(
        f"the first {most} keys by each ranking",
        list(_rows(checkpoint, facts, most, redact)),
        wide=TOP.wide if joins else TOP.wide | {"join_rows"},
    )
    return Report(
        "top",
        checkpoint.root,
        identity(checkpoint, version),
        (keys, skew_table(checkpoint, version, facts)),
        problems=problems,
        footnotes=(FOOTNOTE,),
    )


def _rows(
    checkpoint: Checkpoint, facts: Facts, most: int, redact: Redact
) -> Iterator[dict[str, Any]]:
    words = StoreWords(checkpoint, redact)
    names = operator_names(checkpoint)
    places = sorted({one.store.name for one in facts.top})
    for place in places:
        for by in TopBy:
            ranked = merge_top(_of(facts, place, by), most)
            keys = words.keys(place, [one.fact.key for one in ranked])
            for rank, (key, one) in enumerate(zip(keys, ranked, strict=True), 1):
                found, put = one.fact, one.fact.last_put_version
                yield {
                    "by": by.value,
                    "rank": rank,
                    "operator_id": place[0],
                    "operator_name": names.get(place[0]),
                    "store_name": place[1],
                    "partition_id": one.store.partition_id,
                    "key": key,
                    "key_hex": found.key.hex() if redact is Redact.NONE else None,
                    "key_bytes": found.key_bytes,
                    "value_bytes": found.value_bytes,
                    "row_bytes": found.key_bytes + found.value_bytes,
                    "puts": found.puts,
                    "last_put_version": put,
                    "last_put_batch": None if put is None else put - 1,
                    "join_rows": found.amount if by is TopBy.NUMBER else None,
                }


def _of(facts: Facts, place: StoreName, by: TopBy) -> list[Observed[TopKey]]:
    return [one for one in facts.top if one.store.name == place and one.fact.by is by]


def skew_table(checkpoint: Checkpoint, version: int, facts: Facts) -> Table:
    """How evenly the partitions of each store share its rows and bytes."""
    rows = list(_skews(checkpoint, version, facts))
    return SKEW.table(f"partitions of version {version}", rows)


def _skews(checkpoint: Checkpoint, version: int, facts: Facts) -> Iterator[dict[str, Any]]:
    names = operator_names(checkpoint)
    partitions: dict[StoreName, dict[int, VersionFacts]] = {}
    for (store, of_version), one in facts.versions.items():
        if of_version == version:
            partitions.setdefault(store.name, {})[store.partition_id] = one
    for (operator_id, name), by_partition in sorted(partitions.items()):
        order = sorted(by_partition)
        found = skew([by_partition[p].row_bytes for p in order])
        if found is None:
            continue
        yield {
            "operator_id": operator_id,
            "operator_name": names.get(operator_id),
            "store_name": name,
            "partitions": found.partitions,
            "empty": found.empty,
            "median_row_bytes": round(found.median),
            "max_row_bytes": found.max,
            "max_to_median": None if found.ratio is None else f"{found.ratio:.2f}",
            "largest_partition": order[found.largest],
            "max_rows": max(one.rows for one in by_partition.values()),
        }
