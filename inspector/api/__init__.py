"""What the package does, as calls: each returns a finished :class:`~inspector.report.model.Report`.

A report's tables hold plain rows; hand it to :func:`inspector.report.render.render` for text.
"""

from inspector.api.commands import (
    audit,
    files,
    info,
    leftovers,
    sharing,
    sizes,
    timeline,
    verify,
)
from inspector.api.run import Options
from inspector.api.tables import Ends, changes, diff, history, report_tables, rows, typed_tables

__all__ = [
    "Ends",
    "Options",
    "audit",
    "changes",
    "diff",
    "files",
    "history",
    "info",
    "leftovers",
    "report_tables",
    "rows",
    "sharing",
    "sizes",
    "timeline",
    "typed_tables",
    "verify",
]
