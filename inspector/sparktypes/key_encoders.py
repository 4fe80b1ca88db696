"""Arrangement of RocksDB's keys, as a schema file gives it for each column family.

``KeyStateEncoderSpec`` of Spark 4.0 to 4.3, as JSON in a schema file of format 3::

    {"keyStateEncoderType": "NoPrefixKeyStateEncoderSpec"}
    {"keyStateEncoderType": "PrefixKeyScanStateEncoderSpec", "numColsPrefixKey": 1}
    {"keyStateEncoderType": "RangeKeyScanStateEncoderSpec", "orderingOrdinals": [0]}
    {"keyStateEncoderType": "TimestampAsPrefixKeyStateEncoderSpec"}       4.2 on, joins of format 4
    {"keyStateEncoderType": "TimestampAsPostfixKeyStateEncoderSpec"}
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

from inspector.light_dataclasses import dataclass

_TYPE = "keyStateEncoderType"
_MOST_COLUMNS = 1 << 16


class KeyEncoding(enum.Enum):
    """Encoding that replaces a key's UnsafeRow."""

    ROW = "row"  # the row itself
    PREFIX = "prefix"  # the row of the leading columns, to be scanned by, then the rest
    RANGE = "range"  # the columns that are scanned by as bytes in their order, then the rest
    # the row without its last column, which is a time, and that time as 8 bytes in their order
    # before or behind it
    TIMESTAMP_FIRST = "timestamp_first"
    TIMESTAMP_LAST = "timestamp_last"
    UNKNOWN = "unknown"  # none of these


_KINDS = {
    "NoPrefixKeyStateEncoderSpec": KeyEncoding.ROW,
    "PrefixKeyScanStateEncoderSpec": KeyEncoding.PREFIX,
    "RangeKeyScanStateEncoderSpec": KeyEncoding.RANGE,
    "TimestampAsPrefixKeyStateEncoderSpec": KeyEncoding.TIMESTAMP_FIRST,
    "TimestampAsPostfixKeyStateEncoderSpec": KeyEncoding.TIMESTAMP_LAST,
}


@dataclass(frozen=True)
class KeyEncoder:
    """Arrangement of the keys of a store."""

    kind: KeyEncoding = KeyEncoding.ROW  # which arrangement
    prefix_columns: int = 0  # prefix: leading columns of the key that come first
    ordinals: tuple[int, ...] = ()  # range: which columns of the key come first, in this order
    name: str = ""  # what Spark calls it; for messages

    @classmethod
    def parse(cls, fields: Mapping[str, object]) -> KeyEncoder:
        """The encoder that a schema file describes; of an unknown kind if it is none of Spark's."""
        # That is no error here: the other column families of the store can be read.
        name = str(fields.get(_TYPE, ""))[:80]
        kind = _KINDS.get(name, KeyEncoding.UNKNOWN)
        columns = _column(fields.get("numColsPrefixKey")) or 0
        ordinals = _ordinals(fields.get("orderingOrdinals"))
        if kind is KeyEncoding.PREFIX:
            return cls(kind if columns else KeyEncoding.UNKNOWN, columns, name=name)
        if kind is KeyEncoding.RANGE:
            return cls(kind if ordinals else KeyEncoding.UNKNOWN, ordinals=ordinals, name=name)
        return cls(kind, name=name)

    @classmethod
    def of_prefix(cls, columns: int) -> KeyEncoder:
        """The encoder of a store whose metadata says by how many columns it is scanned."""
        return cls(KeyEncoding.PREFIX, columns) if columns else cls()


def _column(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < _MOST_COLUMNS else None


def _ordinals(value: object) -> tuple[int, ...]:
    """Distinct ordinals; empty if it is anything else."""
    result = [_column(item) for item in value] if isinstance(value, list) else []
    encoders = [item for item in result if item is not None]
    return tuple(encoders) if len(encoders) == len(result) == len(set(encoders)) else ()
