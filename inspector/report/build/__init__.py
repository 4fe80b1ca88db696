"""Facts and findings to reports, one function per command."""

from inspector.report.build.judged import AUDIT_KEYS, audit, verify
from inspector.report.build.leftovers import leftovers
from inspector.report.build.listing import files, info
from inspector.report.build.measured import sharing, sizes
from inspector.report.build.rows import RowsWanted, rows
from inspector.report.build.timeline import timeline

__all__ = [
    "AUDIT_KEYS",
    "RowsWanted",
    "audit",
    "files",
    "info",
    "leftovers",
    "rows",
    "sharing",
    "sizes",
    "timeline",
    "verify",
]
