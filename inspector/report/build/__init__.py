"""Facts and findings to reports, one function per command."""

from inspector.report.build.changes import changes, history
from inspector.report.build.diff import DiffWanted, diff
from inspector.report.build.judged import AUDIT_KEYS, audit, verify
from inspector.report.build.leftovers import leftovers
from inspector.report.build.listing import files, info
from inspector.report.build.measured import sharing, sizes
from inspector.report.build.rows import RowsWanted, rows
from inspector.report.build.timeline import timeline
from inspector.report.build.typed import typed_table

__all__ = [
    "AUDIT_KEYS",
    "DiffWanted",
    "RowsWanted",
    "audit",
    "changes",
    "diff",
    "files",
    "history",
    "info",
    "leftovers",
    "rows",
    "sharing",
    "sizes",
    "timeline",
    "typed_table",
    "verify",
]
