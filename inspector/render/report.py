"""A report that converts itself: to plain Python, Arrow and pandas, for notebooks and programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from inspector.exceptions import EngineError
from inspector.render.as_json import render_json
from inspector.render.report_data import ReportData
from inspector.render.tabular import StreamedRows

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class Report(ReportData):
    """Report of a command on one checkpoint. Streamed rows are kept once it is converted."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of ``-o json`` as Python values; streamed rows are kept."""
        self._keep()
        document: dict[str, Any] = json.loads("".join(render_json(self)))
        return document

    def to_arrow(self, table: str | None = None) -> pa.Table:
        """Return one table as Arrow, by its name; by default the command's own.

        Numbers have 64 bits, and ``x_ms`` becomes the timestamp ``x``. Keys and values of the state
        have their types if all rows are of stores with one schema; otherwise they are JSON texts.
        Raises KeyError for an unknown name.
        """
        from inspector.render.as_arrow import arrow_table  # noqa: PLC0415 - pyarrow: not for `info`

        names = [item.name for item in self.tables]
        if table is not None and table not in names:
            raise KeyError(f"no table {table!r} in this report, it has {', '.join(names)}")
        self._keep()
        return arrow_table(self, table)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        """Iterate over the rows of the command's own table."""
        return iter(self.primary.rows)

    def to_pandas(self, table: str | None = None) -> pd.DataFrame:
        """Return a table as a DataFrame of pandas.

        KeyError: there is no such table. EngineError: pandas is not installed.
        """
        try:
            frame: pd.DataFrame = self.to_arrow(table).to_pandas()
        except ModuleNotFoundError as error:
            message = f"to_pandas() needs {error.name}, which is not installed: pip install pandas"
            raise EngineError(f"{message}; to_arrow() and to_dict() do without") from None
        return frame

    def _keep(self) -> None:
        """Read all streamed rows and keep them."""
        for table in self.tables:
            if isinstance(table.rows, StreamedRows):
                table.rows.keep()

    def _repr_html_(self) -> str:
        """Return the report as a short piece of HTML, for notebooks."""
        from inspector.render.notebook import html_head  # noqa: PLC0415 - draws, for notebooks alone

        return html_head(self)
