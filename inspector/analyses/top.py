"""``top``: who is biggest, hottest and oldest; and how partitions share the load."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import Annotated

import numpy as np

from inspector.analyses.shared import options as o
from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.judged import Judged, store_ids
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.words import StoreWords
from inspector.arrays import median
from inspector.discovery.tasks import Request
from inspector.facts.top_keys import TopBy, TopKey, merge_top
from inspector.facts.variable_entries import EntriesPerKey, KeyEntries
from inspector.facts.versions import VersionFacts
from inspector.light_dataclasses import replace
from inspector.merge.collect import Facts
from inspector.model import Redact, StoreName
from inspector.operators.join import COUNT_STORES, VALUE_STORES
from inspector.quantities import count_text, percent_text
from inspector.render import tabular as t
from inspector.render.plain import fields_of
from inspector.render.report import Report
from inspector.sums import group_by

# words for each ranking of keys in the title of a table, after "by"
_RANKED_BY = {
    TopBy.KEY_BYTES: "key bytes",
    TopBy.VALUE_BYTES: "value bytes",
    TopBy.ROW_BYTES: "row bytes",
    TopBy.PUTS: "puts",
    TopBy.OLDEST: "age of the last put",
    TopBy.NUMBER: "rows of the join",
}

# footnote of the report: by what keys are ranked, and what a share is
FOOTNOTE = (
    "Keys are ranked by key, value and row bytes, by puts since the oldest version that can be "
    "replayed, by the batch of the last put (- means before that version), and, in joins, by the "
    "rows that have the key. The share is the key's part of all that its store has of what it is "
    "ranked by. All numbers are exact."
)

# footnote on rankings that are left out, a template for a phrase such as "3 rankings"
TIES = "Left out: {} whose keys are all equal; --by shows each."

# text of the empty table if only the ranking by rows of a join was requested, and no store has it
NO_JOIN = "no store counts the rows of the keys of a join"


class TopRow(t.Row, table="top", empty="this version has no rows"):
    """A key's rank by one measure in its store."""

    by: Annotated[t.Text, "What the keys are ranked by.", t.Rank(1)]
    rank: Annotated[t.Id, "The place in that ranking, from 1.", t.Rank(2)]
    operator_id: t.OperatorId
    operator_name: Annotated[t.OperatorName | None, t.WIDE]
    store_name: Annotated[t.StoreName, t.Rank(4)]
    partition_id: Annotated[t.PartitionId, t.Rank(7)]
    key: Annotated[t.KeyJson, t.Rank(3)]
    key_hex: Annotated[t.KeyHex | None, t.WIDE]
    key_bytes: t.KeyBytes
    value_bytes: Annotated[t.ValueBytes, t.Rank(10)]
    row_bytes: Annotated[t.Bytes, "Bytes of the UnsafeRows of key and value.", t.Rank(6)]
    puts: Annotated[
        t.Count, "How often the key was put, over all versions that can be replayed.", t.Rank(8)
    ]
    last_put_version: Annotated[t.LastPutVersion | None, t.WIDE]
    last_put_batch: Annotated[t.LastPutBatch | None, t.Rank(9)]
    join_rows: Annotated[
        t.Count | None, "Rows of the join that have the key; null in stores that do not count them."
    ]
    share: Annotated[
        t.Share | None,
        "The key's part of the store's total of this measure; by `oldest`, of the row bytes.",
        t.Rank(5),
    ]


class SkewRow(t.StoreRow, table="skew", empty="no store has rows of this version"):
    """Spread of the rows of one store over its partitions."""

    partitions: Annotated[t.Count, "Partitions of the store.", t.Rank(11)]
    empty: Annotated[t.Count, "Partitions without rows."]
    median_row_bytes: Annotated[t.Bytes, "Median of the partitions' row bytes.", t.Rank(15)]
    max_row_bytes: Annotated[t.Bytes, "Row bytes of the largest partition.", t.Rank(14)]
    max_to_median: Annotated[
        t.Ratio | None,
        "Row bytes of the largest partition, divided by the median: 1 is even. SS302 compares "
        "rows instead.",
        t.Rank(12),
    ]
    largest_partition: Annotated[t.Id, "The partition with the most row bytes.", t.Rank(13)]
    max_rows: t.MaxRows


class EntriesRow(t.StoreRow, table="entries", empty="no key has many entries"):
    """A key with a tenth or more of the entries of its list, map or sessions in a partition."""

    partition_id: Annotated[t.PartitionId, t.Rank(7)]
    key: Annotated[t.KeyJson, t.Rank(3)]
    entries: Annotated[t.Count, "Its live entries, or sessions.", t.Rank(1)]
    share: Annotated[t.Share, "Its part of the entries of the whole store.", t.Rank(5)]
    row_bytes: Annotated[t.RowBytes, t.Rank(6)]
    added: Annotated[t.Count, "Live entries added since the oldest restorable version.", t.Rank(9)]
    removed: Annotated[t.Count, "Entries removed since then.", t.Rank(11)]


# facts (results of reading state files) that the command requests of its tasks: those of each
# version, and the first keys of each ranking, 5 by default
KEYS_BY_RANK = Request(top=5)


@analysis(
    uses=(o.redacting(Redact.NONE), o.REPLAY),
    tables=(TopRow, SkewRow, EntriesRow),
    facts=KEYS_BY_RANK,
    many=True,
)
def top(
    path: str | Opened,
    options: o.Options | None = None,
    *,
    limit: Annotated[
        int, o.Option("Number of keys in each ranking.", minimum=1)
    ] = KEYS_BY_RANK.top,
    by: Annotated[TopBy | None, o.Option("Show only this ranking.  [default: all]")] = None,
) -> Report:
    """Biggest keys by bytes, hottest by puts, oldest by last put; skew of partitions.

    Each ranking has 5 keys of each store, unless --limit is set; a ranking whose keys are all equal
    is shown only by --by. ``oldest`` ranks keys by their last put; keys that no readable version
    put come first. ``inspector rows`` shows a key's value, ``inspector history`` its puts.
    """
    run = Run.start(path, options)
    return top_report(run.judge(run.facts(replace(KEYS_BY_RANK, top=limit))), limit, by)


def top_report(judged: Judged, limit: int, by: TopBy | None = None) -> Report:
    """Return the report on the first ``limit`` keys of each ranking, and on the skew of partitions.

    The facts must have that number of keys. ``by`` selects one ranking; None takes all, without
    those whose keys are all equal.
    """
    measures = tuple(TopBy) if by is None else (TopBy(by),)
    joins = any(observation.fact.by is TopBy.NUMBER for observation in judged.facts.of(TopKey))
    rankings_by_name = group_by(
        _rows(judged, limit, measures), lambda row: (row.operator_id, row.store_name, row.by)
    )
    # Rankings of the sides of a join come first, the most uneven of them before the others.
    joined = TopBy.NUMBER.value
    rankings = sorted(
        rankings_by_name.values(),
        key=lambda rows: -(rows[0].share or 0) if rows[0].by == joined else 0,
    )
    ties = _ties(rankings) if by is None else []
    shown = [rows for rows in rankings if rows not in ties]
    empty = None if joins or measures != (TopBy.NUMBER,) else NO_JOIN
    keys = TopRow.table(_title(limit, measures, shown), [*chain(*shown)], empty=empty)
    keys = keys.with_wide(*(() if joins else ("join_rows",)))
    footnotes = (FOOTNOTE, *((TIES.format(count_text(len(ties), "ranking")),) if ties else ()))
    title = f"distribution of the rows of version {judged.version} over the partitions"
    spread = SkewRow.table(title, list(_skews(judged)))
    entries = EntriesRow.table(
        "keys with most entries of a list, map or session",
        [*_entries(judged, limit)],
        shown=bool(judged.facts.sums(EntriesPerKey)),  # other stores have no entries
    )
    return judged.report("top", (keys, spread, entries), footnotes=footnotes)


def _entries(judged: Judged, limit: int) -> Iterator[EntriesRow]:
    """Yield, for each store of a list, map or session, up to ``limit`` keys with the most entries.

    Only keys with a tenth or more of the entries in their partition are in the facts.
    """
    facts, words = judged.facts, StoreWords(judged.checkpoint, judged.redact)
    for operator in judged.checkpoint.operators:
        for store in operator.schemas:
            name = StoreName(operator.operator_id, store)
            total = facts.sums(EntriesPerKey).get(name, EntriesPerKey()).entries
            listed = [item for item in facts.of(KeyEntries) if item.store.name == name]
            listed.sort(key=lambda item: (-item.fact.entries, item.fact.key))
            shown = listed[:limit]
            grouped = [item.fact.key for item in shown]
            keys = words.keys(name, grouped, operator.key_of_entries(store)) if shown else []
            for key, item in zip(keys, shown, strict=True):
                counts = vars(item.fact) | {"key": key, "share": item.fact.entries / max(1, total)}
                ids = store_ids(judged.checkpoint, name)
                yield EntriesRow(**ids, partition_id=item.store.partition_id, **counts)


def _ties(rankings: Iterable[list[TopRow]]) -> list[list[TopRow]]:
    """Return the rankings whose first and last key have equal amounts, so that they say nothing.

    A ranking is the list of its rows. The first ranking of each operator, and rankings of one key,
    are not returned.
    """
    ties, leading = [], dict[int, list[TopRow]]()
    for rows in rankings:
        ends = [row.last_put_version if row.by == TopBy.OLDEST.value else row.share for row in rows]
        leader = leading.setdefault(rows[0].operator_id, rows)
        if leader is not rows and len(rows) > 1 and ends[0] == ends[-1]:
            ties.append(rows)
    return ties


def _title(limit: int, measures: Sequence[TopBy], rankings: Sequence[Sequence[TopRow]]) -> str:
    """Return the title of the table of rankings, such as ``the first 5 keys by puts``.

    It begins with the first key of a join and its share if this ranking comes first and its keys do
    not all have one share. ``limit`` is the number of keys, ``measures`` are the rankings that were
    requested, and ``rankings`` has the rows of each.
    """
    text = "the first key" if limit == 1 else f"the first {limit} keys"
    text += " by each ranking" if len(measures) > 1 else f" by {_RANKED_BY[measures[0]]}"
    if not rankings or rankings[0][0].by != TopBy.NUMBER.value:
        return text
    row, last = rankings[0][0], rankings[0][-1]
    if row.share is None or (row is not last and row.share == last.share):
        return text
    side = row.store_name.partition("-")[0]
    key = json.dumps(row.key, ensure_ascii=False) if isinstance(row.key, dict) else str(row.key)
    return f"{key} has {percent_text(row.share)} of the rows of the {side} side; {text}"


def _rows(judged: Judged, limit: int, measures: Sequence[TopBy]) -> Iterator[TopRow]:
    """Yield a row for each of the first ``limit`` keys of each store, by each of ``measures``.

    The keys of all partitions of a store are ranked together, the largest amount first.
    """
    checkpoint, facts, redact = judged.checkpoint, judged.facts, judged.redact
    totals = _totals(facts, judged.version)
    words = StoreWords(checkpoint, redact)
    for store_name in sorted({observation.store.name for observation in facts.of(TopKey)}):
        for measure in measures:
            seen = (
                s for s in facts.of(TopKey) if s.store.name == store_name and s.fact.by is measure
            )
            ranked = merge_top(list(seen), limit)
            keys = words.keys(store_name, [top_key.fact.key for top_key in ranked])
            for rank, (key, top_key) in enumerate(zip(keys, ranked, strict=True), 1):
                rows, put = top_key.fact, top_key.fact.last_put_version
                total, size = totals.get((store_name, measure)), rows.key_bytes + rows.value_bytes
                amount = size if measure is TopBy.OLDEST else rows.amount
                yield TopRow(
                    by=measure.value,
                    rank=rank,
                    **store_ids(checkpoint, store_name),
                    partition_id=top_key.store.partition_id,
                    key=key,
                    key_hex=rows.key.hex() if redact is Redact.NONE else None,
                    **fields_of(rows, "key_bytes", "value_bytes", "puts", "last_put_version"),
                    row_bytes=size,
                    last_put_batch=None if put is None else put - 1,
                    join_rows=rows.amount if measure is TopBy.NUMBER else None,
                    share=amount / total if total else None,
                )


def _totals(facts: Facts, version: int) -> dict[tuple[StoreName, TopBy], int]:
    """Return the totals of which keys have shares, by store and ranking.

    They are bytes at ``version``, puts of all versions, or rows of the join's side for a store that
    counts them. For the ranking by age they are the row bytes. Unknown totals are absent.
    """
    totals: dict[tuple[StoreName, TopBy], int] = {}
    facts_by_store = facts.by_store()
    for store_name, versions in facts_by_store.items():
        judged = versions.get(version, VersionFacts())
        totals[store_name, TopBy.KEY_BYTES] = judged.key_bytes
        totals[store_name, TopBy.VALUE_BYTES] = judged.value_bytes
        totals[store_name, TopBy.ROW_BYTES] = totals[store_name, TopBy.OLDEST] = judged.row_bytes
        totals[store_name, TopBy.PUTS] = sum(
            version_facts.puts for version_facts in versions.values()
        )
    for counts, values in zip(COUNT_STORES, VALUE_STORES, strict=True):
        for operator_id, name in facts_by_store:
            rows = facts_by_store.get(StoreName(operator_id, values), {}).get(version)
            if name == counts and rows is not None:
                totals[StoreName(operator_id, counts), TopBy.NUMBER] = rows.rows
    return totals


def _skews(judged: Judged) -> Iterator[SkewRow]:
    """Yield a row for each store on the spread of its row bytes over partitions.

    The ratio of the largest partition to the median is None if the median is 0.
    """
    versions = sorted(judged.facts.versions.items(), key=itemgetter(0))
    store_facts = [
        (store, facts) for (store, version), facts in versions if version == judged.version
    ]
    for name, partitions in group_by(store_facts, lambda pair: pair[0].name).items():
        sizes = {store.partition_id: facts.row_bytes for store, facts in partitions}
        amounts, largest = [*sizes.values()], max(sizes, key=sizes.__getitem__)
        median_bytes = median(np.array(amounts))
        yield SkewRow(
            **store_ids(judged.checkpoint, name),
            partitions=len(sizes),
            empty=amounts.count(0),
            median_row_bytes=round(median_bytes),
            max_row_bytes=sizes[largest],
            max_to_median=sizes[largest] / median_bytes if median_bytes else None,
            largest_partition=largest,
            max_rows=max(facts.rows for _, facts in partitions),
        )
