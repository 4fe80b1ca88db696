"""Arrangement of RocksDB's keys, as a schema file records it for each column family.

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

_TYPE = "keyStateEncoderType"  # field with Spark's name of the encoder
_MOST_COLUMNS = 1 << 16  # ordinals of columns, and numbers of prefix columns, are below this


class KeyEncoding(enum.Enum):
    """Form in which a key's UnsafeRow is stored."""

    ROW = "row"  # the row itself
    # the row of the leading columns, by which it is scanned, then the row of the rest
    PREFIX = "prefix"
    # the columns that order it as bytes that sort like their values, then the row of the rest
    RANGE = "range"
    # the last column, a time, as 8 bytes that sort like it, then the row of the rest
    TIMESTAMP_FIRST = "timestamp_first"
    # the row without its last column, a time, then that time as 8 bytes that sort like it
    TIMESTAMP_LAST = "timestamp_last"
    UNKNOWN = "unknown"  # none of these


# arrangement by Spark's name of the encoder
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

    kind: KeyEncoding = KeyEncoding.ROW  # form of the keys
    prefix_columns: int = 0  # for PREFIX: number of leading columns that come first
    ordinals: tuple[int, ...] = ()  # for RANGE: columns that come first, in this order
    name: str = ""  # Spark's name of it, for messages

    @classmethod
    def parse(cls, fields: Mapping[str, object]) -> KeyEncoder:
        """Return the encoder that a schema file describes; UNKNOWN if it is none of Spark's."""
        # An unknown encoder is no error here: the other column families of the store can be read.
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
        """Return the encoder of a store whose keys are scanned by some columns; ROW for 0."""
        return cls(KeyEncoding.PREFIX, columns) if columns else cls()


def _column(value: object) -> int | None:
    """Return a number of columns, or an ordinal; None if it is none."""
    return value if type(value) is int and 0 <= value < _MOST_COLUMNS else None


def _ordinals(value: object) -> tuple[int, ...]:
    """Return distinct ordinals; empty if the value is anything else."""
    result = [_column(item) for item in value] if isinstance(value, list) else []
    encoders = [item for item in result if item is not None]
    return tuple(encoders) if len(encoders) == len(result) == len(set(encoders)) else ()
