"""The reports of all commands under one name."""

from inspector.report.build.changes import changes, history
from inspector.report.build.diff import DiffWanted, diff
from inspector.report.build.explain import explain_class, explain_keys
from inspector.report.build.fields import fields
from inspector.report.build.judged import AUDIT_KEYS, audit, verify
from inspector.report.build.leftovers import LARGEST, leftovers
from inspector.report.build.listing import files, info
from inspector.report.build.measured import sharing, sizes
from inspector.report.build.memory import MemoryWanted, memory
from inspector.report.build.rows import RowsWanted, rows
from inspector.report.build.timeline import timeline
from inspector.report.build.top import top

__all__ = [
    "AUDIT_KEYS",
    "LARGEST",
    "DiffWanted",
    "MemoryWanted",
    "RowsWanted",
    "audit",
    "changes",
    "diff",
    "explain_class",
    "explain_keys",
    "fields",
    "files",
    "history",
    "info",
    "leftovers",
    "memory",
    "rows",
    "sharing",
    "sizes",
    "timeline",
    "top",
    "verify",
]
