"""``--history PATH``: what an audit found becomes rows of a table that later ones add to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import click

from inspector.analyses.shared.declare import Analysis
from inspector.cli.writing import outside
from inspector.credentials import redact
from inspector.render.report import Report

if TYPE_CHECKING:
    from inspector.analyses.shared.audit_history import Row


def history_options(analysis: Analysis) -> Iterator[click.Option]:
    """The option of a command whose reports are remembered."""
    if analysis.remembered:
        yield click.Option(
            ["--history"],
            metavar="PATH",
            help="Add what was found to a table of Parquet files in this folder, on any storage; "
            "inspector trend PATH says what it shows.",
        )


class History:
    """The history of a run: rows of its reports, which are added at its end as one file.

    Args:
        analysis: what makes the reports.
        parsed: what the command line has.

    Raises:
        click.UsageError: the history would lie in a checkpoint.
    """

    def __init__(self, analysis: Analysis, parsed: Mapping[str, Any]) -> None:
        self._place: str | None = parsed["history"] if analysis.remembered else None
        self._options: dict[str, str] = dict(parsed.get("storage_option") or {})
        self._command, self._subset = analysis.name, parsed.get("subset")
        self._is_newest = all(parsed.get(name) is None for name in ("batch", "state_version"))
        self._audited = datetime.now(timezone.utc)
        self._rows: list[Row] = []
        for path in parsed.get("paths", ()) if self._place else ():
            outside(path, self._place or "")

    @property
    def known(self) -> dict[str, Any]:
        """Keywords of the analysis: when the parts of each checkpoint were verified."""
        if self._place is None or self._subset is None:
            return {}
        from inspector.analyses.shared.audit_history import Proofs  # noqa: PLC0415 - for few

        return {"proofs": Proofs.in_history(self._place, self._options)}

    def add(self, report: Report) -> None:
        """Note the rows of a report."""
        if self._place is not None:
            outside(report.checkpoint, self._place)
            from inspector.analyses.shared.audit_history import rows_of  # noqa: PLC0415 - as above

            self._rows += rows_of(report, self._audited, is_newest=self._is_newest)

    def fail(self, path: str, error: Exception) -> None:
        """Note a checkpoint that could not be read at all."""
        if self._place is not None:
            message = redact(str(error) or type(error).__name__)
            from inspector.analyses.shared.audit_history import failed_row  # noqa: PLC0415 - as above

            self._rows.append(failed_row(path, message, self._command, self._audited))

    def write(self) -> None:
        """Add the rows to the history.

        Raises:
            OSError: it cannot be written.
        """
        if self._place is not None and self._rows:
            from inspector.analyses.shared.audit_history import append  # noqa: PLC0415 - as above

            append(self._place, self._rows, self._options)
