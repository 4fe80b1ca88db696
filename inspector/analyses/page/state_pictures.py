"""Pictures of a checkpoint's state, from the facts of one pass: who holds the bytes, and when.

Each function takes judged facts, and reads nothing. It returns None or no pictures if the facts
do not have the numbers. ``link`` arguments give the URL that a part of a picture leads to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from inspector.analyses.page.charts import Versions, byte_amounts, field_names, store_labels
from inspector.analyses.shared.judged import Judged
from inspector.analyses.shared.words import StoreWords
from inspector.analyses.timeline import expiring_forecasts
from inspector.discovery.batch_times import batch_durations
from inspector.discovery.checkpoint import Checkpoint
from inspector.facts.largest_fields import LargestField, largest_rows
from inspector.facts.top_keys import TopBy, TopKey, merge_top
from inspector.findings.finding import Finding, Severity
from inspector.findings.verdict import Verdict
from inspector.model import Redact, StoreName
from inspector.render.cells import cell_text
from inspector.render.page import LineChart, Series
from inspector.render.page.pictures import (
    HeatCell,
    HeatStrip,
    Mark,
    MarkedLine,
    Tile,
    TimeHistogram,
    Treemap,
)
from inspector.render.tabular import Column, Unit
from inspector.sums import group_by, sum_known

# number of keys of a store, or of a field, that have a rectangle each by default; an audit ranks
# that number in each partition, so that the first ones of a store are exact
MOST_KEYS = 4
MOST_STRIPS = 6  # number of operators that have a strip each, at most
MOST_HISTOGRAMS = 6  # number of histograms of stores, at most

_LONGEST_NAME = 80  # characters of a key's name in a picture; a longer name is cut

# returns the URL of a part of a picture, from the part's names or ids; "" for no URL
Link = Callable[..., str]


def no_link(*_names: Any) -> str:
    """Return "", whatever part of a picture is given: the picture leads nowhere."""
    return ""


def field_treemap(
    judged: Judged, link: Link = no_link, redact: Redact | None = None, limit: int = MOST_KEYS
) -> Treemap:
    """Return a treemap of the judged version's row bytes by store, then by field, then by key.

    Of each field at most ``limit`` keys are named, those with the most bytes of it; keys with equal
    bytes are all named or none. ``link`` gets a :class:`StoreName`. Keys are redacted by
    ``redact``, or else by the options, and hashed if these do not say how. Needs facts by field;
    without them a store has two parts, its keys and its values.
    """
    checkpoint = judged.checkpoint
    labels, rows = store_labels(checkpoint), _largest_rows(judged, limit)
    words = StoreWords(checkpoint, redact or judged.options.redact or Redact.HASH)
    groups = group_by(byte_amounts(judged), lambda amount: amount[0])
    tiles = []
    for store, amounts in groups.items():
        parts = []
        for _, name, size in amounts:
            first = rows.get((store, name), [])
            keys = words.keys(store, [one.key for one in first])
            sizes = [one.size for one in first]
            named = [Tile(_name(key), part) for key, part in zip(keys, sizes, strict=True)]
            if named and size > sum(sizes):
                named.append(Tile("all other keys", size - sum(sizes)))
            parts.append(Tile(name, size, named))
        tiles.append(Tile(labels[store], sum(p.amount for p in parts), parts, link(store)))
    about = "Area is UnsafeRow bytes of the judged version, exact. Keys with the most bytes of a "
    about += "field are named."
    title = "Bytes by store, field and key"
    return Treemap(title, Unit.BYTES, "store", "field", tiles, about, leaf="key")


def _largest_rows(judged: Judged, limit: int) -> dict[tuple[StoreName, str], list[LargestField]]:
    """Return the rows with the most bytes of each field, by store and name of the field.

    They are at most ``limit`` for each field, the largest first. Rows that tie with the first one
    left out are left out, too.
    """
    by_field = group_by(
        judged.facts.of(LargestField),
        lambda seen: (seen.store.name, seen.fact.side, seen.fact.ordinal),
    )
    names = field_names(judged.checkpoint)
    result = {}
    for (store, side, ordinal), seen in by_field.items():
        rows = largest_rows([one.fact for one in seen], limit)
        result[store, names[store, side][ordinal]] = [one for one in rows if not one.is_of_others]
    return result


def key_treemap(
    judged: Judged, link: Link = no_link, redact: Redact | None = None, limit: int = MOST_KEYS
) -> Treemap | None:
    """Return a treemap of the judged version's row bytes by store, then by ``limit`` largest keys.

    ``link`` gets a :class:`StoreName`. Keys are redacted by ``redact``, or else by the options,
    and hashed if these do not say how. The largest keys are those by row bytes, or by value bytes
    if keys were not ranked by row bytes. Returns None if they were not ranked at all.
    """
    checkpoint, facts = judged.checkpoint, judged.facts
    words = StoreWords(checkpoint, redact or judged.options.redact or Redact.HASH)
    labels = store_labels(checkpoint)
    tops = facts.of(TopKey)
    has_rows = any(top.fact.by is TopBy.ROW_BYTES for top in tops)
    ranking = TopBy.ROW_BYTES if has_rows else TopBy.VALUE_BYTES
    ranked = group_by((top for top in tops if top.fact.by is ranking), lambda top: top.store.name)
    if not ranked:
        return None
    tiles = []
    for store, versions in facts.by_store(judged.version).items():
        total = versions[judged.version].row_bytes
        first = merge_top(ranked.get(store, []), limit)
        keys = words.keys(store, [top.fact.key for top in first])
        sizes = [top.fact.key_bytes + top.fact.value_bytes for top in first]
        parts = [Tile(_name(key), size) for key, size in zip(keys, sizes, strict=True)]
        remainder_bytes = total - sum(sizes)
        remainder = versions[judged.version].rows - len(first)
        parts += (
            [Tile(f"all {remainder:,} other keys", remainder_bytes)] if remainder_bytes > 0 else []
        )
        tiles.append(Tile(labels[store], sum(p.amount for p in parts), parts, link(store)))
    about = "Area is UnsafeRow bytes of a key with its value, exact."
    about += "" if has_rows else " Named are the keys with the largest values."
    return Treemap("Bytes by store and largest keys", Unit.BYTES, "store", "key", tiles, about)


def _name(key: Any) -> str:
    """Return a decoded key as a text of at most ``_LONGEST_NAME`` characters.

    It is ``-`` for None: a key that could not be decoded.
    """
    text = cell_text(Column("key", Unit.VALUE), key)
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"


def partition_strips(
    judged: Judged, link: Link = no_link, store: StoreName | None = None
) -> list[HeatStrip]:
    """Return a strip for each operator, with rows, row bytes and puts of each partition.

    The stores of an operator are added up; ``store`` selects one store instead. Rows and bytes are
    of the judged version; puts are of all versions whose changes are known. ``link`` gets the
    operator id and the partition id. Needs the facts of single partitions for older versions.
    Returns at most MOST_STRIPS strips, those with most bytes.
    """
    sums: dict[int, dict[int, list[Any]]] = {}
    for (store_id, version), facts in judged.facts.versions.items():
        if store is not None and store_id.name != store:
            continue
        numbers = sums.setdefault(store_id.operator_id, {}).setdefault(
            store_id.partition_id, [None, None, None]
        )
        if version == judged.version:
            numbers[0] = (numbers[0] or 0) + facts.rows
            numbers[1] = (numbers[1] or 0) + facts.row_bytes
        numbers[2] = sum_known((numbers[2], None if facts.rebased else facts.puts))
    names = {operator.operator_id: operator.name for operator in judged.checkpoint.operators}
    ordered = sorted(sums, key=lambda o: (-sum(n[1] or 0 for n in sums[o].values()), o))
    strips = []
    for operator in ordered[:MOST_STRIPS]:
        cells = [
            HeatCell(f"partition {partition}", numbers, link(operator, partition))
            for partition, numbers in sorted(sums[operator].items())
        ]
        title = f"Partitions of operator {operator} ({names[operator]})"
        title = title if store is None else f"Partitions of {store.store_name}"
        measures = (("rows", Unit.COUNT), ("row bytes", Unit.BYTES), ("puts", Unit.COUNT))
        strips.append(HeatStrip(title, "partition", measures, cells, _STRIP_NOTE))
    return strips


# note below each strip
_STRIP_NOTE = "Exact. Puts are those of all versions whose changes can be read."


def expiry_histograms(judged: Judged, store: StoreName | None = None) -> list[TimeHistogram]:
    """Return a histogram for each store of the times when its rows expire, and the judged clock.

    There are two histograms for timers whose clock is not known, and none for a store whose rows
    never expire. ``store`` selects one store. Needs facts on expiry. Returns at most
    MOST_HISTOGRAMS, those with most rows.
    """
    labels = store_labels(judged.checkpoint)
    clock = judged.checkpoint.clock(judged.version)
    pictures = []
    for name, clock_name, time_of, expiring in expiring_forecasts(judged):
        if store not in (None, name):
            continue
        now = (None if clock is None else time_of(clock)) or None  # 0 before the first event
        bars = [(number * int(expiring.width), rows) for number, rows in expiring.rows.items()]
        remainder = (("expired", expiring.due_rows), ("never", expiring.endless_rows))
        title = f"Rows of {labels[name]} by when they expire"
        title += f", by {clock_name}" if clock_name != "watermark" else ""
        count = expiring.due_rows + sum(expiring.rows.values())
        picture = TimeHistogram(
            title,
            Unit.COUNT,
            "rows",
            int(expiring.width),
            bars,
            clock_name,
            now,
            remainder,
            "A forecast by the clocks of the rows, exact if nothing leaks.",
        )
        pictures.append((count, picture))
    ordered = sorted((p for p in pictures if p[0]), key=lambda pair: -pair[0])
    return [picture for _, picture in ordered[:MOST_HISTOGRAMS]]


def growth_line(
    judged: Judged, findings: Sequence[Finding], verdict: Verdict | None = None
) -> MarkedLine:
    """Return a line chart of the row bytes of all stores over batches, with marks on the line.

    Marks are errors and warnings, and the growth of ``verdict``. A finding about leftover rows is
    marked where the oldest of them expired, growth where it begins, any other finding at the
    judged batch. A value is None for a version that not every partition can restore.
    """
    versions = Versions(judged)
    batches = [version - 1 for version in versions.versions]
    begins = _first_expiries(judged)
    marks = []
    for finding in findings:
        if finding.severity is Severity.INFO:
            continue
        batch = begins.get(finding.store) if finding.kind.command.startswith(_LEFTOVERS) else None
        where = "found at the judged batch" if batch is None else f"since batch {batch}"
        batch = judged.version - 1 if batch is None else batch
        label = f"{finding.kind.id}, {where}: {finding.kind.title}"
        marks.append(Mark(batch, label, finding.severity.word))
    growth = None if verdict is None else verdict.growth
    if growth is not None and growth.growing:
        begin = " or earlier" if growth.since_oldest else ""
        label = f"The state has grown since batch {growth.since_batch}{begin}"
        marks.append(Mark(growth.since_batch, label, Severity.INFO.word))
    values = versions.total("row_bytes")
    about = "Bytes are exact. Marks are errors and warnings, and where growth begins."
    return MarkedLine(
        "Growth and findings",
        Unit.BYTES,
        "row bytes",
        batches,
        versions.times_ms,
        values,
        marks,
        about,
    )


_LEFTOVERS = "leftovers"  # beginning of the command that findings about leftover rows advise


def _first_expiries(judged: Judged) -> Mapping[tuple[int | None, str | None], int]:
    """Return the batch in which a store's oldest leftover expired, by operator id and store name.

    Stores without leftovers are absent.
    """
    begins: dict[tuple[int | None, str | None], int] = {}
    for total in judged.facts.totals:
        store = total.store.operator_id, total.store.store_name
        batch = (total.fact.first_expired_version or total.fact.expired_version) - 1
        begins[store] = min(batch, begins.get(store, batch))
    return begins


def duration_chart(checkpoint: Checkpoint) -> LineChart | None:
    """Return a line chart of how long each batch took, by the times of the files of the logs.

    None if fewer than two batches show it, as in a copy.
    """
    durations = batch_durations(checkpoint.logs)
    if len(durations) < 2:
        return None
    batches = sorted(durations)
    clocks = checkpoint.logs.clocks
    times = [clocks[batch].timestamp_ms for batch in batches]
    lines = [Series("took", [durations[batch] for batch in batches])]
    about = "By the times of the files in offsets and commits."
    return LineChart("Batch durations", Unit.DURATION_MS, batches, times, lines, about)


def pictures_of_audit(
    judged: Judged, findings: Sequence[Finding], verdict: Verdict | None
) -> Iterator[Any]:
    """Yield the pictures of an audit's page: growth, bytes, partitions and expiry.

    The picture of the largest keys is left out if keys were not ranked. ``findings`` and
    ``verdict`` are those of the audit.
    """
    yield growth_line(judged, findings, verdict)
    yield field_treemap(judged)
    keys = key_treemap(judged)
    if keys is not None:
        yield keys
    yield from partition_strips(judged)
    yield from expiry_histograms(judged)
