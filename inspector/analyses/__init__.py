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

# names of the packages in this folder that are no analyses; they have code that analyses share
ROOMS = ("expiry", "page", "shared")


def names() -> list[str]:
    """Return the names of all analyses, sorted; no analysis is imported.

    They are the names of the modules and packages in this folder, without :data:`ROOMS`.
    """
    return sorted(module.name for module in iter_modules(__path__) if module.name not in ROOMS)


def load(name: str) -> Analysis:
    """Import the module of the analysis ``name``, and return the declaration of the analysis.

    Raises ModuleNotFoundError if there is no such module.
    """
    result: Analysis = getattr(import_module(f"{__name__}.{name}"), name).analysis
    return result


def data_tables() -> dict[str, DataTable]:
    """Return the tables of data of all analyses, by the name of the table.

    They are the tables that programs on Spark and SQL can read. Imports all analyses.
    """
    return {table.name: table for name in names() for table in load(name).data_tables}
