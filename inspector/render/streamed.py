"""Rows of a table that come from an iterator: read while they are written, once, or kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from inspector.exceptions import InspectorError

Row = Mapping[str, Any]


class StreamedRows:
    """Rows that are too many to hold, unless somebody says so.

    Read by ``for`` they are read once: a second time is an error, for nothing would look like an
    empty table. :meth:`keep` holds them all, and they can be read as often as one likes.
    """

    def __init__(self, source: Iterator[Row], name: str) -> None:
        self._source, self._name = source, name
        self._ahead: list[Row] = []
        self._kept: list[Row] | None = None
        self._given = False

    def __iter__(self) -> Iterator[Row]:
        if self._kept is not None:
            return iter(self._kept)
        if self.gone:
            raise InspectorError(
                f"the rows of table {self._name!r} have been read and are not kept: call the "
                "analysis again, or to_arrow(), to_pandas() or to_dict() before anything else"
            )
        self._given = True
        return self._rest()

    def __repr__(self) -> str:
        kept = "read when they are needed" if self._kept is None else f"{len(self._kept):,} kept"
        return f"<rows of {self._name}: {kept}>"

    @property
    def count(self) -> int | None:
        """How many there are; None where nobody has read them to the end."""
        return None if self._kept is None else len(self._kept)

    @property
    def gone(self) -> bool:
        """Whether they have been read and are not kept."""
        return self._given and self._kept is None

    def head(self, number: int) -> list[Row]:
        """The first rows at most, which whoever reads the table still gets."""
        if self._kept is not None:
            return self._kept[:number]
        if self.gone:
            iter(self)  # raises
        self._ahead += islice(self._source, max(number - len(self._ahead), 0))
        return self._ahead[:number]

    def keep(self) -> None:
        """Read all rows and hold them."""
        if self._kept is None:
            self._kept = list(self)

    def _rest(self) -> Iterator[Row]:
        ahead, self._ahead = self._ahead, []
        yield from ahead
        yield from self._source
