"""What the package does, as calls: each returns a :class:`~inspector.render.report.Report`.

A report's tables hold plain rows; :func:`inspector.render.formats.render` makes text of it. Calls
are imported when they are first named: those that read state take a while, ``info`` does not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspector.api.commands import (
        audit,
        leftovers,
        memory,
        sharing,
        sizes,
        timeline,
        top,
        verify,
    )
    from inspector.api.explaining import explain
    from inspector.api.listing import files, info
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

_HOMES = {
    "Ends": "tables",
    "Options": "run",
    "Run": "run",
    "Typed": "typed",
    "audit": "commands",
    "changes": "tables",
    "diff": "tables",
    "explain": "explaining",
    "fields": "tables",
    "files": "listing",
    "history": "tables",
    "info": "listing",
    "leftovers": "commands",
    "memory": "commands",
    "report_tables": "tables",
    "rows": "tables",
    "sharing": "commands",
    "sizes": "commands",
    "timeline": "commands",
    "top": "commands",
    "typed_tables": "typed",
    "verify": "commands",
}
"""Name -> the module it is in."""


if not TYPE_CHECKING:  # else a misspelt name would be Any

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
