"""Decoding keys and values for people, and redaction: they are personal data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from inspector.decode.row_hash import row_hash
from inspector.decode.rows import RowDecoder
from inspector.model import Redact
from inspector.render.values import to_json_values
from inspector.sparktypes import StructType


class RowWords:
    """UnsafeRow bytes as JSON values, under one schema; or hashed, or hidden.

    Args:
        schema: of the rows; None if unknown: rows then are None and only bytes speak.
        redact: ``hash`` gives ``sha256:`` and the first 16 hex digits of the row's SHA-256, so that
            equal keys stay equal; ``all`` gives ``***``.

    Attributes:
        misfits: rows so far that do not fit the schema.
    """

    def __init__(self, schema: StructType | None, redact: Redact = Redact.NONE) -> None:
        self._schema = schema
        self._decoder = None if schema is None or redact is not Redact.NONE else RowDecoder(schema)
        self._redact = redact
        self.misfits = 0

    def words(self, rows: Sequence[bytes]) -> list[Any]:
        """One value per row; a row that does not fit the schema is None."""
        if self._redact is Redact.HASH:
            return list(map(row_hash, rows))
        if self._redact is Redact.ALL:
            return ["***"] * len(rows)
        if self._decoder is None:
            return [None] * len(rows)
        lengths = np.array([len(row) for row in rows], np.int64)
        offsets = np.zeros(len(rows), np.int64)
        np.cumsum(lengths[:-1], out=offsets[1:])
        decoded = self._decoder.decode(b"".join(rows), offsets, lengths)
        self.misfits += len(decoded.misfits)
        return to_json_values(decoded.array, self._schema)
