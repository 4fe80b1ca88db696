"""One module for each analysis: a module or package here declares the command of its name.

:mod:`inspector.analyses.shared.declare` says how. The command line, the API, the data source and
the reference are made from these declarations. What several need is in the packages :data:`ROOMS`.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspector.analyses.shared.declare import Analysis, DataTable

ROOMS = ("expiry", "page", "shared")  # packages that are no analyses


def names() -> list[str]:
    """Return the sorted names of all analyses; none of them is imported for it."""
    return sorted(module.name for module in iter_modules(__path__) if module.name not in ROOMS)


def load(name: str) -> Analysis:
    """Return an analysis by its name; imports its module, and no other analysis."""
    result: Analysis = getattr(import_module(f"{__name__}.{name}"), name).analysis
    return result


def data_tables() -> dict[str, DataTable]:
    """Return every table that Spark's executors can compute, by name; imports all analyses."""
    return {table.name: table for name in names() for table in load(name).data_tables}
