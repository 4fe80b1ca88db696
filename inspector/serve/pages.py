"""The pages of the walk, each made of the report of one command and of its navigation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from urllib.parse import urlencode

from inspector.analyses.audit import audit
from inspector.analyses.shared.opening import Opened
from inspector.checkpoint.stops import Stop
from inspector.light_dataclasses import dataclass
from inspector.quantities import bytes_text
from inspector.render.page.served import (
    Field,
    FleetEntry,
    Form,
    Frame,
    Link,
    fleet_html,
    report_html,
)
from inspector.render.report_data import ReportData
from inspector.serve.kept_pages import KeptPages
from inspector.serve.last_audits import Fleet, url_of
from inspector.serve.process_memory import process_bytes
from inspector.serve.sources import Part, Source, commit_time_ms, listing_identity, redaction

_MOST_BATCHES = 400  # batches that the selector of batches lists


@dataclass(frozen=True)
class Position:
    """Page of the walk, as its URL names it."""

    index: int  # number of the checkpoint
    part: Part = Part()  # part of the checkpoint, and batch
    shown: bool = False  # True if keys and values are in clear

    @property
    def query(self) -> dict[str, str]:
        """Parameters of the URL that all links of the page pass on."""
        query = {} if self.part.batch is None else {"batch": str(self.part.batch)}
        return query | ({"values": "shown"} if self.shown else {})

    def url(self, **changes: str | None) -> str:
        """Return the URL of the page with changed parameters; None removes one."""
        return _with_query(url_of(self.index), self.query, changes)


def _with_query(path: str, query: dict[str, str], changes: dict[str, str | None]) -> str:
    """Return a URL with parameters; a value of None is left out."""
    chosen = {name: value for name, value in (query | changes).items() if value is not None}
    return f"{path}?{urlencode(chosen)}" if chosen else path


class Pages:
    """Maker of all pages."""

    def __init__(self, source: Source) -> None:
        """Prepare pages on the checkpoints of a source."""
        self.source, self.fleet = source, Fleet(source)
        self.kept = KeptPages()

    def fleet_page(
        self, results: Sequence[FleetEntry | None] | None = None, about: str = ""
    ) -> str:
        """Return the page of all checkpoints, from their last audits.

        ``results`` are those of a service, by index, None for a checkpoint that it has not audited;
        ``about`` are sentences on it.
        """
        waiting = self.fleet.entries
        pairs = zip(waiting if results is None else results, waiting, strict=True)
        entries = [entry or pending for entry, pending in pairs]
        frame = Frame("Checkpoints", about=f"{about} {self._about()}".strip())
        command = self.source.command("audit", None, Part())
        return fleet_html(frame, entries, time.time_ns() // 1_000_000, command)

    def audit_page(self, position: Position, stop: Stop) -> str:
        """Return the page of an audit. Raises the errors of opening and reading."""
        redact = redaction(shown=position.shown)
        opened = self.source.open(position.index, position.part, stop, redact=redact)

        def make() -> tuple[str, bool]:
            report = audit(opened, page=True)
            if position.part == Part():
                self.fleet.keep(position.index, report, commit_time_ms(opened.checkpoint))
            return report_html(self._frame(position, opened), report), _is_lasting(report)

        return self.kept.get((position, listing_identity(opened.checkpoint)), make)

    def _frame(self, position: Position, opened: Opened) -> Frame:
        """Return the navigation of a page of a checkpoint."""
        path = opened.checkpoint.root
        name = "/".join(path.rstrip("/").split("/")[-2:])
        return Frame(
            name,
            path,
            trail=(Link("Checkpoints", "/"), Link(name)),
            forms=(_batches(position, opened),),
            links=self._links(position),
        )

    def _links(self, position: Position) -> tuple[Link, ...]:
        """Return the link that shows or hides keys and values, if the command allows it."""
        if not self.source.may_show:
            return ()
        if position.shown:
            return (Link("Hide keys and values", position.url(values=None)),)
        return (Link("Show keys and values", position.url(values="shown")),)

    def _about(self) -> str:
        """Return a sentence on the memory of the server."""
        kept = f"{len(self.kept)} pages are kept in {bytes_text(self.kept.bytes)} of "
        kept += f"{bytes_text(self.kept.most_bytes)}."
        size = process_bytes()
        return kept if size is None else f"The server uses {bytes_text(size)} of memory; {kept}"


def _batches(position: Position, opened: Opened) -> Form:
    """Return the selector of the batches whose state can be restored, newest first."""
    checkpoint = opened.checkpoint
    newest = checkpoint.newest_version
    versions = {version for version in checkpoint.restorable_versions if version <= newest}
    listed = sorted(versions | {opened.version}, reverse=True)[:_MOST_BATCHES]
    choices = [("", "newest"), *((str(v - 1), str(v - 1)) for v in listed)]
    value = "" if position.part.batch is None else str(position.part.batch)
    if value not in dict(choices):
        choices.append((value, value))
    kept = [pair for pair in position.query.items() if pair[0] != "batch"]
    field = Field("batch", "Batch", value, choices)
    return Form("Batch", url_of(position.index), (field,), "Show", kept)


def _is_lasting(report: ReportData) -> bool:
    """True if the page of a report stays true until a file changes."""
    restart = None if report.verdict is None else report.verdict.restart
    return report.complete and (restart is None or not restart.again)
