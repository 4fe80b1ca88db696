"""The reports of all commands under one name."""

from inspector.analyses.changes import changes, history
from inspector.analyses.diff import DiffWanted, diff
from inspector.analyses.explain import explain_class, explain_keys
from inspector.analyses.fields import fields
from inspector.analyses.judged import AUDIT_KEYS, audit, verify
from inspector.analyses.leftovers import LARGEST, leftovers
from inspector.analyses.listing import files, info
from inspector.analyses.measured import sharing, sizes
from inspector.analyses.memory import MemoryWanted, memory
from inspector.analyses.rows import RowsWanted, rows
from inspector.analyses.timeline import timeline
from inspector.analyses.top import top

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
