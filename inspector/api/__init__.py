"""What the package does, as calls: each returns a finished :class:`~inspector.report.model.Report`.

A report's tables hold plain rows; hand it to :func:`inspector.report.render.render` for text.
"""

from inspector.api.commands import (
    audit,
    files,
    info,
    leftovers,
    memory,
    sharing,
    sizes,
    timeline,
    top,
    verify,
)
from inspector.api.explaining import explain
from inspector.api.run import Options, Run
from inspector.api.tables import (
    Ends,
    changes,
    diff,
    fields,
    history,
    report_tables,
    rows,
)
from inspector.api.typed import Typed, typed_tables

__all__ = [
    "Ends",
    "Options",
    "Run",
    "Typed",
    "audit",
    "changes",
    "diff",
    "explain",
    "fields",
    "files",
    "history",
    "info",
    "leftovers",
    "memory",
    "report_tables",
    "rows",
    "sharing",
    "sizes",
    "timeline",
    "top",
    "typed_tables",
    "verify",
]
