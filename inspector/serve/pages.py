"""The pages of the walk, each made of the report of one command and of its navigation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

from inspector.analyses.audit import audit
from inspector.analyses.history import history
from inspector.analyses.rows import read_rows
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.run import Run
from inspector.analyses.sizes import SizeRow
from inspector.analyses.top import KEYS_BY_RANK, top_report
from inspector.checkpoint.stops import Stop
from inspector.clock import epoch_ms
from inspector.decode.row_hash import HASH, row_hash
from inspector.facts.top_keys import TopBy, TopKey
from inspector.light_dataclasses import replace
from inspector.model import Redact
from inspector.quantities import bytes_text
from inspector.render.page import LinkedTable, Section
from inspector.render.page.served import (
    Field,
    FleetEntry,
    Form,
    Frame,
    Link,
    fleet_html,
    report_html,
)
from inspector.render.report import Report
from inspector.render.tabular import Table
from inspector.serve.kept_pages import KeptPages
from inspector.serve.known_texts import KnownTexts
from inspector.serve.last_audits import Fleet
from inspector.serve.positions import ORDERS, ROW_LIMITS, Position
from inspector.serve.process_memory import process_bytes
from inspector.serve.sources import Part, Source, commit_time_ms, listing_identity

_MAX_BATCHES = 400  # batches that the selector of batches lists
_LONGEST_KEY = 80  # characters of a key in a heading
# columns of the table that leads to parts, besides operator and store
_SIZES = ("rows", "key_bytes", "value_bytes", "row_bytes", "row_bytes_p50", "row_bytes_max")


class Pages:
    """Maker of all pages."""

    def __init__(self, source: Source) -> None:
        """Prepare pages on the checkpoints of a source."""
        self.source, self.fleet = source, Fleet(source)
        self.kept = KeptPages()
        self._keys = KnownTexts()  # bytes of keys that a page has shown, by their hash

    def fleet_page(
        self, results: Sequence[FleetEntry | None] | None = None, about: str = ""
    ) -> str:
        """Return the page of all checkpoints, from their last audits.

        ``results`` are those of a service, by index, None for a checkpoint that it has not audited;
        its newest checkpoints may have none. ``about`` are sentences on it.
        """
        pairs = zip_longest(results or (), self.fleet.entries)
        entries = [entry or pending for entry, pending in pairs]
        frame = Frame("Checkpoints", about=f"{about} {self._about()}".strip())
        command = self.source.command("audit", None, Part())
        return fleet_html(frame, entries, epoch_ms(), command)

    def page(self, position: Position, stop: Stop) -> str:
        """Return the page at a position. Raises the errors of opening and reading."""
        if position.key:
            return self._key_page(position, stop)
        return (self._rows_page if position.lists_rows else self._audit_page)(position, stop)

    def _audit_page(self, position: Position, stop: Stop) -> str:
        """Return the page of an audit of a part, with links to the parts in it."""
        redact = _redaction(position)
        opened = self.source.open(position.index, position.part, stop, redact=redact)

        def make() -> tuple[str, bool]:
            report = audit(opened, page=True)
            if position.part == Part():
                committed = commit_time_ms(opened.checkpoint)
                self.fleet.keep(position.index, report, committed)
            command = self._command("audit", position, "-o", "html")
            frame = self._frame(position, opened, command)
            parts = self._parts(position, opened, report)
            return report_html(frame, report, list(parts)), _is_lasting(report)

        return self._cache_page(position, opened, make)

    def _rows_page(self, position: Position, stop: Stop) -> str:
        """Return the page of rows: those that are searched, or the first ones in an order."""
        search, redact = position.search, _redaction(position)
        filters: dict[str, Any] = {"key": (search.key,) if search.key else ()}
        filters["where"] = (search.where,) if search.where else ()
        opened = self.source.open(position.index, position.part, stop, redact=redact, **filters)

        def make() -> tuple[str, bool]:
            is_ranked = bool(position.order) and not search
            report = (self._top_report if is_ranked else self._rows_report)(position, opened)
            limit = "--limit", str(position.limit)
            if is_ranked:
                command = self._command("top", position, *limit, "--by", position.order)
            else:
                command = self._command("rows", position, *limit, *search.words)
            frame = self._frame(position, opened, command)
            page = report_html(frame, report)
            return page, _is_lasting(report)

        return self._cache_page(position, opened, make)

    def _rows_report(self, position: Position, opened: Opened) -> Report:
        """Return the report of ``rows`` with links to the keys."""
        keys: list[bytes] = []
        report = read_rows(Run.start(opened, None), position.limit, keys=keys)
        rows = list(report.primary.rows)
        hashes = [row_hash(key) for key in keys[: len(rows)]]
        return self._with_key_links(
            position, report, rows, dict(zip(hashes, keys, strict=False)), hashes
        )

    def _top_report(self, position: Position, opened: Opened) -> Report:
        """Return the report of ``top`` by one ranking, with links to the keys."""
        run = Run.start(opened, None)
        judged = run.judge(run.facts(replace(KEYS_BY_RANK, top=position.limit)))
        report = top_report(judged, position.limit, TopBy(position.order))
        keys = {row_hash(fact.fact.key): fact.fact.key for fact in judged.facts.of(TopKey)}
        rows = list(report.primary.rows)
        hashes = [
            row_hash(bytes.fromhex(row["key_hex"])) if position.is_clear else row["key"]
            for row in rows
        ]
        return self._with_key_links(position, report, rows, keys, hashes)

    def _with_key_links(
        self,
        position: Position,
        report: Report,
        rows: Sequence[Any],
        keys: dict[str, bytes],
        hashes: Sequence[str],
    ) -> Report:
        """Return a report on rows whose keys lead to their histories; ``hashes`` are theirs."""
        for name in hashes:
            self._keys.keep(name, keys[name])
        urls = [_key_url(position, row, name) for row, name in zip(rows, hashes, strict=True)]
        part = position.part
        fixed = {
            "operator_id": part.operator_id,
            "store_name": part.store_name,
            "partition_id": part.partition_id,
        }
        table = replace(report.primary, rows=rows)
        table = table.with_wide(*(name for name, value in fixed.items() if value is not None))
        further = tuple(t for t in report.visible_tables if t.name != table.name)
        linked = LinkedTable(table, {"key": urls})
        section = Section("rows", "Rows", (linked, *further))
        return replace(report, tables=[table, *report.tables[1:]], page=(section,))

    def _key_page(self, position: Position, stop: Stop) -> str:
        """Return the page of the history of a key."""
        name = HASH + position.key
        key_bytes = self._keys.find(name)
        # All bytes of a key are compared much faster than hashes of all keys are made.
        key = name if key_bytes is None else f"hex:{key_bytes.hex()}"
        redact = _redaction(position)
        opened = self.source.open(position.index, position.part, stop, redact=redact, key=(key,))

        def make() -> tuple[str, bool]:
            report = history(opened)
            section = Section("history", "History", report.visible_tables)
            report = replace(report, page=(section,))
            command = self._command("history", position, "--key", name)
            text = name
            for row in list(report.primary.rows)[:1] if position.is_clear else ():
                text = json.dumps(row["key"], ensure_ascii=False)
            short = text if len(text) <= _LONGEST_KEY else f"{text[:_LONGEST_KEY]}..."
            frame = self._frame(position, opened, command, short)
            return report_html(frame, report), _is_lasting(report)

        return self._cache_page(position, opened, make)

    def _cache_page(
        self, position: Position, opened: Opened, make: Callable[[], tuple[str, bool]]
    ) -> str:
        """Return a page that was made before of the same files, or make it."""
        key = position, opened.version, listing_identity(opened.checkpoint)
        return self.kept.get(key, make)

    def _command(self, name: str, position: Position, *words: str) -> str:
        """Return the command line that shows the same as a page."""
        redact = "--redact", _redaction(position).value
        return self.source.command(name, position.index, position.part, *words, *redact)

    def _parts(self, position: Position, opened: Opened, report: Report) -> Iterator[Section]:
        """Yield the section with the parts below, each with its size and a link."""
        part = position.part
        if part.store_name is not None:
            command = self._sizes_command(position, "partition")
            sizes_by_partition = _sizes_by_partition(report)
            rows = [
                sizes_by_partition.get(p, {"partition_id": p}) for p in _partitions(opened, part)
            ]
            urls = [position.at_part(partition_id=row["partition_id"]).url for row in rows]
            columns = SizeRow.columns(
                without=_left_out("operator_id", "store_name", "operator_name")
            )
            table = Table("parts", "partitions of the store", columns, rows, "no partitions")
            links = {"partition_id": urls}
            yield Section("parts", "Partitions", (LinkedTable(table, links),), command)
            return
        sizes = {(r["operator_id"], r["store_name"]): r for r in _table(report, "sizes")}
        rows, operators, stores = [], [], []
        for operator in opened.checkpoint.operators:
            number = operator.operator_id
            for store in operator.layout.store_names:
                names = {"operator_id": number, "operator_name": operator.name}
                rows.append(names | {"store_name": store} | sizes.get((number, store), {}))
                operators.append(position.at_part(operator_id=number).url)
                stores.append(position.at_part(operator_id=number, store_name=store).url)
        columns = SizeRow.columns(without=_left_out("partition_id"))
        table = Table("parts", "operators and their stores", columns, rows, "no state")
        links = {"operator_name": operators, "store_name": stores}
        command = self._sizes_command(position, "store")
        yield Section("parts", "Operators and stores", (LinkedTable(table, links),), command)

    def _sizes_command(self, position: Position, by: str) -> str:
        """Return the command line of ``sizes`` for the parts of a position."""
        return self.source.command("sizes", position.index, position.part, "--by", by)

    def _frame(self, position: Position, opened: Opened, command: str, key: str = "") -> Frame:
        """Return the navigation of a page; ``key`` is the text of its key, if it is about one."""
        trail = list(_trail(position, opened, key))
        links = [*self._links(position), *_row_links(position)]
        forms = [_batches(position, opened), _search_form(position)]
        if position.lists_rows and not position.search:
            forms.append(_order_form(position))
        return Frame(
            trail[-1].text,
            opened.checkpoint.root,
            trail=[*trail[:-1], replace(trail[-1], url="")],
            forms=forms,
            links=links,
            command=command,
        )

    def _links(self, position: Position) -> Iterator[Link]:
        """Yield the link that shows or hides keys and values, if the command allows it."""
        # A search in clear stays in no URL of a page that hides keys.
        switched = replace(position, is_clear=not position.is_clear, search=type(position.search)())
        if self.source.may_show:
            verb = "Hide" if position.is_clear else "Show"
            yield Link(f"{verb} keys and values", switched.url)

    def _about(self) -> str:
        """Return a sentence on the memory of the server."""
        text = f"{len(self.kept)} pages are kept in {bytes_text(self.kept.bytes)} of "
        text += f"{bytes_text(self.kept.max_bytes)}."
        size = process_bytes()
        return text if size is None else f"The server uses {bytes_text(size)} of memory; {text}"


def _redaction(position: Position) -> Redact:
    """Return how keys and values appear on a page."""
    return Redact.NONE if position.is_clear else Redact.HASH


def _key_url(position: Position, row: Any, name: str) -> str:
    """Return the URL of a key's history; ``row`` is its row, ``name`` its hash."""
    part = {name: row[name] for name in ("operator_id", "store_name", "partition_id")}
    target = position.at_part(**part)
    return replace(target, key=name.removeprefix(HASH)).url


def _left_out(*names: str) -> list[str]:
    """Return the columns of sizes that a table of parts does not have, ``names`` among them."""
    names_of_parts = {*_SIZES, "operator_id", "operator_name", "store_name", "partition_id"} - {
        *names
    }
    return [column.name for column in SizeRow.columns() if column.name not in names_of_parts]


def _table(report: Report, name: str) -> list[Any]:
    """Return the rows of a table of a report; empty if it has no such table."""
    return next((list(table.rows) for table in report.tables if table.name == name), [])


def _sizes_by_partition(report: Report) -> dict[int, Any]:
    """Return the rows of the page's table of sizes by partition, by partition."""
    blocks = [block for section in report.page or () for block in section.blocks]
    tables = [b for b in blocks if isinstance(b, Table) and b.name == "sizes"]
    rows = [row for table in tables for row in table.rows]
    return {row["partition_id"]: row for row in rows if row.get("partition_id") is not None}


def _partitions(opened: Opened, part: Part) -> Sequence[int]:
    """Return the partitions of a store, in order."""
    ids = [store.store for store in opened.checkpoint.layout.stores]
    return sorted({i.partition_id for i in ids if i.operator_id == part.operator_id})


def _is_lasting(report: Report) -> bool:
    """True if the page of a report stays true until a file changes."""
    restart = None if report.verdict is None else report.verdict.restart
    return report.complete and (restart is None or not restart.again)


# --- navigation ------------------------------------------------------------------------------


def _trail(position: Position, opened: Opened, key: str) -> Iterator[Link]:
    """Yield the links from the fleet down to the page itself, which comes last."""
    part, path = position.part, opened.checkpoint.root
    top = Position(position.index, Part(batch=part.batch), position.is_clear)
    yield Link("Checkpoints", "/")
    yield Link("/".join(path.rstrip("/").split("/")[-2:]) or path, top.url)
    if part.operator_id is not None:
        operators = {o.operator_id: o.name for o in opened.checkpoint.operators}
        name = f"operator {part.operator_id}: {operators.get(part.operator_id, '')}"
        yield Link(name, top.at_part(operator_id=part.operator_id).url)
        top = top.at_part(operator_id=part.operator_id)
    if part.store_name is not None:
        top = top.at_part(store_name=part.store_name)
        yield Link(f"store {part.store_name}", top.url)
    if part.partition_id is not None:
        top = top.at_part(partition_id=part.partition_id)
        yield Link(f"partition {part.partition_id}", top.url)
    if key:
        yield Link(f"key {key}", position.url)
    elif position.lists_rows and part.partition_id is None:
        yield Link("rows", position.url)


def _row_links(position: Position) -> Iterator[Link]:
    """Yield the link to the rows of the part."""
    if not position.lists_rows and not position.key:
        yield Link("List rows", replace(position, lists_rows=True).url)


def _batches(position: Position, opened: Opened) -> Form:
    """Return the selector of the batches whose state can be restored, newest first."""
    checkpoint = opened.checkpoint
    newest = checkpoint.newest_version
    versions = {version for version in checkpoint.restorable_versions if version <= newest}
    listed = sorted(versions, reverse=True)[:_MAX_BATCHES]
    choices = [("", "newest"), *((str(v - 1), str(v - 1)) for v in listed if v)]
    value = "" if position.part.batch is None else str(position.part.batch)
    if value not in dict(choices):
        choices.append((value, value))
    hidden = _without(position.query, "batch")
    field = Field("batch", "Batch", value, choices)
    return Form("Batch", position.path, (field,), "Go", hidden)


def _search_form(position: Position) -> Form:
    """Return the search for keys and rows of the part; that of a key's page is in its store.

    What was searched is repeated only in clear.
    """
    search = replace(position, lists_rows=True)
    if position.key:
        search = replace(search, key="", part=replace(position.part, partition_id=None))
    key, where = (position.search.key, position.search.where) if position.is_clear else ("", "")
    fields = (
        Field("key", "Key", key, hint="user=a or sha256:..."),
        Field("where", "Where", where, hint="value.count=10"),
    )
    return Form(
        "Search the store" if position.key else "Search",
        search.path,
        fields,
        "Search",
        tuple(position.general_query.items()),
    )


def _order_form(position: Position) -> Form:
    """Return the selector of the order and number of rows."""
    numbers = [(str(number), str(number)) for number in ROW_LIMITS]
    fields = (
        Field("order", "Order", position.order, tuple(ORDERS.items())),
        Field("limit", "Rows", str(position.limit), numbers),
    )
    hidden = tuple(position.general_query.items())
    return Form("Order of the rows", position.path, fields, "Sort", hidden)


def _without(query: dict[str, str], *names: str) -> Sequence[tuple[str, str]]:
    """Return the parameters of a URL without some of them."""
    return [pair for pair in query.items() if pair[0] not in names]
