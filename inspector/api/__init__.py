"""What the package does, as calls: each returns a finished :class:`~inspector.report.model.Report`.

A report's tables hold plain rows; hand it to :func:`inspector.report.render.render` for text.
"""

from inspector.api.commands import (
    audit,
    files,
    info,
    leftovers,
    rows,
    sharing,
    sizes,
    timeline,
    verify,
)
from inspector.api.run import Options

__all__ = [
    "Options",
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
