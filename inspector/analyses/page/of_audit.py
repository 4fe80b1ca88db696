"""The page of an audit, from the facts of its one pass over the state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inspector.analyses.expiry import leftover_tables as lt
from inspector.analyses.expiry.story import explain_keys
from inspector.analyses.history import history_report
from inspector.analyses.info import info_report
from inspector.analyses.memory import MemoryOptions, memory_report
from inspector.analyses.page import charts, state_pictures
from inspector.analyses.shared.judged import Judged
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.stores import change_batches, selected_tasks
from inspector.analyses.shared.words import change_rows
from inspector.analyses.sharing import sharing_report
from inspector.analyses.sizes import fields_report, size_table
from inspector.analyses.timeline import timeline_report
from inspector.discovery.tasks import Request
from inspector.facts.fact import Observed
from inspector.facts.leftover_facts import Leftover
from inspector.light_dataclasses import replace
from inspector.model import Redact
from inspector.quantities import capitalise
from inspector.render import tabular as t
from inspector.render.page import Block, Section, Text
from inspector.render.report import Report

# blocks of a page with a note on redacted keys, by redaction; absent for Redact.NONE
_HIDDEN = {
    Redact.HASH: (Text(("Keys are shown as hashes. Use --redact none to show them.",)),),
    Redact.ALL: (Text(("Keys are hidden. Use --redact none to show them.",)),),
}


def page_request(request: Request) -> Request:
    """Return a copy of ``request`` that also requests the facts that an audit's page needs."""
    return replace(request, rewrites=True, partitions=True, fields=True, expiring=True)


def page_of(run: Run, judged: Judged, report: Report) -> Sequence[Section]:
    """Return the sections of an audit's page below its first screen.

    ``report`` is the report of the audit. The facts of ``judged`` must be requested by
    :func:`page_request`. The state is read only for the history of the oldest leftover, on ``run``.
    """
    tables, versions = _by_name(report), charts.Versions(judged)
    memory, sharing = memory_report(judged, MemoryOptions()), sharing_report(judged, "store")
    timeline, fields = timeline_report(judged), fields_report(judged)
    timeline_tables = _by_name(timeline)
    durations = state_pictures.duration_chart(judged.checkpoint)
    findings, verdict = report.findings, report.verdict
    drawn: list[Block] = [*state_pictures.pictures_of_audit(judged, findings, verdict)]
    sizes: list[Block] = [
        charts.ladder_chart(memory.primary),
        size_table(judged),
        memory.tables[-1],  # what would reduce the heap; of RocksDB, what is kept outside of it
    ]
    batches: list[Block] = [
        *charts.state_charts(versions, timeline_tables["batches"]),
        *([durations] if durations else []),
        timeline_tables["growth"].with_wide("row_bytes"),  # a line of bars, which is drawn above
        *(timeline_tables["expiring"], timeline_tables["batches"]),
        *(table for table in (timeline_tables["source_reads"],) if table.shown),
    ]
    changes: list[Block] = [*charts.churn_charts(versions), *sharing.tables]
    sizes_title = "Size by operator, partition and field"
    size_blocks: list[Block] = [
        charts.bytes_chart(judged),
        size_table(judged, "partition"),
        fields.primary,
    ]
    undecided = [tables["undecided"]] if "undecided" in tables else []
    unknown = Text((*unknown_here(judged), *NEVER_KNOWN), points=True)
    return (
        Section("pictures", "In pictures", drawn),
        Section("size", "Size of the state", [*sizes, Text(memory.footnotes)]),
        Section("batches", "Batch by batch", [*batches, Text(timeline.footnotes)]),
        Section("changes", "Changes and sharing", [*changes, Text(sharing.footnotes)]),
        Section("bytes", sizes_title, [*size_blocks, Text(fields.footnotes)]),
        Section("leftovers", "Leftovers", list(_leftovers(run, judged, tables))),
        Section("schemas", "Schemas and rules", list(_schemas(judged))),
        Section("unknown", "What the checkpoint does not show", [*undecided, unknown]),
    )


def _by_name(report: Report) -> dict[str, t.Table]:
    """Return the tables of a report by name."""
    return {table.name: table for table in report.tables}


def _schemas(judged: Judged) -> Iterator[Block]:
    """Yield four tables: stores, their schemas, file formats and confs.

    They are those of the command ``info``, except that each schema has a row of its own.
    """
    tables = _by_name(info_report(judged))
    stores = list(tables["stores"].rows)
    yield replace(tables["stores"].with_wide(*_SCHEMAS.values()), rows=stores)
    rows = [
        dict(row) | {"row": side, "schema": row[name]}
        for row in stores
        for side, name in _SCHEMAS.items()
    ]
    columns = [replace(column, wide=False) for column in t.StoreRow.columns()]
    columns += _SCHEMA_COLUMNS
    yield t.Table("schemas", "schemas", columns, rows, tables["stores"].empty)
    yield tables["formats"]
    yield tables["confs"]


# part of a row -> column of the command ``info`` that has its schema
_SCHEMAS = {"key": "key_schema", "value": "value_schema"}
# columns of the table of schemas, in addition to those of a store
_SCHEMA_COLUMNS = (
    t.Column("row", doc="The key or the value."),
    t.Column("schema", t.Unit.VALUE, doc="Its fields in Spark's words; - where it is not known."),
)


def _leftovers(run: Run, judged: Judged, tables: dict[str, t.Table]) -> Iterator[Block]:
    """Yield the blocks on leftovers. ``tables`` are those of the audit's report, by name.

    The first is the table of classes. A chart and a table of ages follow if there are leftovers. If
    keys of leftovers are listed, the history of the oldest and the list follow, with a note on
    redacted keys.
    """
    yield tables["classes"]
    if judged.facts.totals:
        ages = lt.leftover_ages(judged)
        yield charts.age_chart(ages)
        yield ages
    redact = run.options.redact or Redact.HASH
    story = oldest_story(run, judged, redact)
    if story is not None:
        yield story
        yield tables["leftovers"]
        yield from _HIDDEN.get(redact, ())


NEVER_KNOWN = (  # sentences of the page on what no checkpoint shows
    "A checkpoint does not hold the query's output mode and plan, the kind of its timeouts, or the "
    "time range of its joins. What depends on them is inferred where the bytes allow it.",
    "It does not say how many executors share the state, how large their heaps are, or how the "
    "partitions are spread over them: they are options of inspector memory.",
    "It holds one watermark for the query, and not that of each source.",
)


def unknown_here(judged: Judged) -> Iterator[str]:
    """Yield sentences on what this checkpoint does not show.

    They are about older batches, the clock and watermark of the judged batch, expiry rules, schemas
    and timers.
    """
    checkpoint, facts = judged.checkpoint, judged.facts
    first = lt.proof_window(judged).get("proof_from_batch")
    if first:
        yield (
            f"What happened before batch {first} is not known: files or log entries of older "
            "batches are gone. A key that was removed before then has left no trace."
        )
    clock = checkpoint.clock(judged.version)
    if clock is None or clock.timestamp_ms is None:
        yield "The clock of the judged batch is not in the offset log."
    if clock is None or clock.watermark_ms is None:
        yield "The watermark of the judged batch is not known."
    elif not clock.watermark_ms:
        yield "The judged batch has no watermark yet, so nothing has expired by event time."
    for operator in checkpoint.operators:
        for store in operator.layout.store_names:
            rule = operator.rules[store].by_key_time(facts.key_times.get(operator.operator_id))
            store_text = f"operator {operator.operator_id} ({operator.name}), store {store}"
            if rule.unknown is not None and not rule.needs_none:
                yield f"The expiry rule of {store_text} is unknown: {rule.unknown}."
            if store not in operator.schemas:
                yield (
                    f"The schema of {store_text} is unknown, so its keys are not decoded. Use "
                    f"--key-schema and --value-schema to provide it."
                )
    yield from (f"{capitalise(note)}." for note in lt.notes(facts))


def oldest_story(run: Run, judged: Judged, redact: Redact) -> t.Table | None:
    """Return the history of the leftover that expired first; None if no leftover is listed.

    The changes of its partition are read again, on ``run``. ``redact`` says how the key is shown.
    """
    if not judged.facts.leftovers:
        return None
    oldest = judged.facts.leftovers[0]
    story = explain_keys(judged, _events(run, oldest)).primary
    (row,) = lt.LeftoverWords.of(run.checkpoint, redact).rows([oldest], lt.LeftoverRow)
    rows = [line | {"key": row.key} for line in map(dict, story.rows)]
    return replace(story, title="History of the oldest leftover", rows=rows)


def _events(run: Run, oldest: Observed[Leftover]) -> Sequence[Mapping[str, Any]]:
    """Return every change of the oldest leftover, as rows of the command ``history``.

    The files of its store and partition are read again, with the engine of ``run``.
    """
    options = replace(run.options, key=f"hex:{oldest.fact.key.hex()}", where=())
    narrowed = replace(run, options=options)
    store = oldest.store
    tasks = [
        replace(task, stores=tuple(s for s in task.stores if s.store_name == store.store_name))
        for task in selected_tasks(narrowed)
        if (task.operator_id, task.partition_id) == (store.operator_id, store.partition_id)
    ]
    subject = run.subject()  # the pass over the same files has reported its problems
    batches = change_batches(narrowed, tasks, bases=True)
    events = list(change_rows(subject, batches, Redact.NONE, raw=True))
    return list(history_report(subject, events, raw=True).primary.rows)
