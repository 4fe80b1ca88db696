"""The page of an audit, from the facts of its one pass over the state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from inspector.analyses.info import info_report
from inspector.analyses.memory import MemoryOptions, memory_report
from inspector.analyses.page.charts import (
    Versions,
    age_chart,
    churn_charts,
    ladder_chart,
    state_charts,
    treemap,
)
from inspector.analyses.page.oldest import oldest_story
from inspector.analyses.page.unknown import NEVER_KNOWN, unknown_here
from inspector.analyses.shared.age_tables import leftover_ages
from inspector.analyses.shared.judged import Judged
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.size_table import size_table
from inspector.analyses.sharing import sharing_report
from inspector.analyses.sizes import fields_report
from inspector.analyses.timeline import timeline_report
from inspector.discovery.formats import see_bytes
from inspector.discovery.tasks import Request
from inspector.model import Redact
from inspector.render import tabular as t
from inspector.render.page.model import Block, Page, Section, Text
from inspector.render.report import Report
from inspector.render.tabular import Column, Table, Unit

_HIDDEN = {
    Redact.HASH: (Text(("Keys are shown as hashes. Use --redact none to show them.",)),),
    Redact.ALL: (Text(("Keys are hidden. Use --redact none to show them.",)),),
}


def page_request(request: Request) -> Request:
    """The facts that a page shows, besides those of a request."""
    return replace(request, rewrites=True, partitions=True, fields=True, expiring=True)


def page_of(run: Run, judged: Judged, report: Report) -> Page:
    """What the page of an audit shows below its first screen."""
    tables = {table.name: table for table in report.tables}
    versions = Versions.of(judged)
    sections = (
        Section("size", "Size of the state", list(_sizes(judged))),
        Section("batches", "Batch by batch", list(_batches(judged, versions))),
        Section("changes", "Changes and sharing", list(_changes(judged, versions))),
        Section("bytes", "Size by operator, partition and field", list(_bytes(judged))),
        Section("leftovers", "Leftovers", list(_leftovers(run, judged, tables))),
        Section("schemas", "Schemas and rules", list(_schemas(judged))),
        Section("unknown", "What the checkpoint does not show", list(_unknowns(judged, tables))),
    )
    return Page(sections)


def _schemas(judged: Judged) -> Iterator[Block]:
    info = info_report(judged, see_bytes(judged.checkpoint))
    tables = {table.name: table for table in info.tables}
    stores = list(tables["stores"].rows)
    yield replace(tables["stores"].with_wide(*_SCHEMAS.values()), rows=stores)
    rows = [
        dict(row) | {"row": side, "schema": row[name]}
        for row in stores
        for side, name in _SCHEMAS.items()
    ]
    columns = [replace(column, wide=False) for column in t.StoreRow.columns()]
    columns += _SCHEMA_COLUMNS
    yield Table("schemas", "schemas", columns, rows, tables["stores"].empty)
    yield tables["formats"]
    yield tables["confs"]


_SCHEMAS = {"key": "key_schema", "value": "value_schema"}
"""Part of a row -> the column of ``info`` that has its schema."""
_SCHEMA_COLUMNS = (
    Column("row", doc="The key or the value."),
    Column("schema", Unit.VALUE, doc="Its fields in Spark's words; - where it is not known."),
)


def _sizes(judged: Judged) -> Iterator[Block]:
    memory = memory_report(judged, MemoryOptions())
    tables = {table.name: table for table in memory.tables}
    yield ladder_chart(tables["ladder"])
    yield size_table(judged)
    yield tables["what_ifs"]
    yield Text(memory.footnotes)


def _batches(judged: Judged, versions: Versions) -> Iterator[Block]:
    timeline = timeline_report(judged)
    tables = {table.name: table for table in timeline.tables}
    yield from state_charts(versions, tables["batches"])
    yield tables["growth"].with_wide("row_bytes")  # a line of bars, which is drawn above
    yield tables["expiring"]
    yield tables["batches"]
    yield Text(timeline.footnotes)


def _changes(judged: Judged, versions: Versions) -> Iterator[Block]:
    sharing = sharing_report(judged, "store")
    yield from churn_charts(versions)
    yield from sharing.tables
    yield Text(sharing.footnotes)


def _bytes(judged: Judged) -> Iterator[Block]:
    yield treemap(judged)
    yield size_table(judged, "partition")
    fields = fields_report(judged)
    yield fields.primary
    yield Text(fields.footnotes)


def _leftovers(run: Run, judged: Judged, tables: dict[str, Table]) -> Iterator[Block]:
    yield tables["classes"]
    if judged.facts.totals:
        ages = leftover_ages(judged)
        yield age_chart(ages)
        yield ages
    redact = run.options.redact or Redact.HASH
    story = oldest_story(run, judged, redact)
    if story is not None:
        yield story
        yield tables["leftovers"]
        yield from _HIDDEN.get(redact, ())


def _unknowns(judged: Judged, tables: dict[str, Table]) -> Iterator[Block]:
    if "undecided" in tables:
        yield tables["undecided"]
    missing = list(unknown_here(judged))
    yield Text((*missing, *NEVER_KNOWN), points=True)
