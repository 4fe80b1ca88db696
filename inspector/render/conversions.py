"""Reports as plain Python, Arrow and pandas: for notebooks and programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from inspector.exceptions import EngineError
from inspector.render.as_arrow import arrow_table
from inspector.render.as_json import render_json
from inspector.render.streamed import StreamedRows

if TYPE_CHECKING:
    import pyarrow as pa

    from inspector.render.report import Report


def kept(report: Report) -> Report:
    """The report, all rows of which are now held, in the order in which they have to be read."""
    for table in report.tables:
        if isinstance(table.rows, StreamedRows):
            table.rows.keep()
    return report


def as_dict(report: Report) -> dict[str, Any]:
    """The JSON of ``-o json``, to the letter, as Python values."""
    found: dict[str, Any] = json.loads("".join(render_json(kept(report))))
    return found


def as_arrow(report: Report, table: str | None = None) -> pa.Table:
    """A table of the report as Arrow.

    Raises:
        KeyError: the report has no such table; says which it has.
    """
    names = [each.name for each in report.tables]
    if table is not None and table not in names:
        raise KeyError(f"no table {table!r} in this report, it has {', '.join(names)}")
    return arrow_table(kept(report), table)


def as_pandas(report: Report, table: str | None = None) -> Any:
    """The same as a DataFrame of pandas.

    Raises:
        EngineError: pandas is not installed.
    """
    try:
        return as_arrow(report, table).to_pandas()
    except ModuleNotFoundError as error:
        raise EngineError(
            f"to_pandas() needs {error.name}, which is not installed: pip install pandas; "
            "to_arrow() and to_dict() do without"
        ) from None
