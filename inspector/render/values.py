"""Decoded values as JSON values, the way Spark's own JSON has them where it has one.

Besides what the page ``reference/output`` says of values: a timestamp has microseconds, or nine
digits, and without a zone no ``Z``; a time of day no trailing zeros of its fraction; a decimal all
digits of its scale; a variant is the value it holds, and text if it is a decimal that no double is
equal to; intervals are as Spark words them.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from inspector.arrays import concatenate
from inspector.decode.row_columns import RowDecoder
from inspector.decode.row_hash import row_hash
from inspector.decode.variant import Date, LocalTimestamp, Timestamp, json_value, variant_value
from inspector.exceptions import RowError
from inspector.model import Redact
from inspector.sparktypes import ArrayType, DataType, MapType, StructType, UserDefinedType
from inspector.time_text import date_text, time_text, timestamp_text

Array = Any  # a pyarrow array: its stubs know none of a type known only at run time


def to_json_values(array: Array, data_type: DataType | None = None) -> list[Any]:
    """Return the values of an Arrow array as JSON values; null is None.

    Without a Spark type, intervals and variants become objects of their parts.
    """
    special = None if data_type is None else _SPECIAL.get(getattr(data_type, "kind", ""))
    if special is not None and data_type is not None:
        return special(array, data_type)
    if isinstance(data_type, UserDefinedType):
        return to_json_values(array, data_type.sql_type)
    nested = _NESTED.get(array.type.id)
    if nested is not None:
        return nested(array, data_type)
    return _CONVERTERS.get(array.type.id, pa.Array.to_pylist)(array)


def _words(array: Array, word: Callable[[Any], Any]) -> list[Any]:
    """Return ``word`` applied to each value; null is None."""
    return [None if v is None else word(v) for v in array.to_pylist()]


def _timestamps(array: Array) -> list[Any]:
    """Return timestamps as text, with ``Z`` if their type has a zone."""
    zone = "Z" if array.type.tz else ""
    counts = array.view(pa.int64())
    if array.type.unit == "ns":
        return _words(counts, lambda n: f"{timestamp_text(n // 1000, '')}{n % 1000:03}{zone}")
    return _words(counts, lambda micros: timestamp_text(micros, zone))


def _floats(array: Array) -> list[Any]:
    """Return floats as JSON numbers, or as texts if they are not finite."""
    single = array.type.bit_width == 32
    # A float of 32 bits widened to 64 shows digits that it never had.
    word = (lambda v: _float_word(float(str(np.float32(v))))) if single else _float_word
    return _words(array, word)


def _float_word(value: float) -> Any:
    """Return a float, or ``NaN``, ``Infinity`` or ``-Infinity`` as text."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _validity(array: Array) -> list[bool]:
    """Return for each value whether it is not null."""
    # Where nothing is null, as in most keys, Arrow's own answer would import its slow compute.
    valid: list[bool] = array.is_valid().to_pylist() if array.null_count else [True] * len(array)
    return valid


def _structs(array: Array, data_type: DataType | None) -> list[Any]:
    """Return structs as dictionaries."""
    names = [array.type.field(i).name for i in range(array.type.num_fields)]
    fields = data_type.fields if isinstance(data_type, StructType) else ()
    types: Sequence[Any] = [field.data_type for field in fields] or [None] * len(names)
    columns = [to_json_values(*part) for part in zip(array.flatten(), types, strict=True)]
    rows = zip(*columns, strict=True) if columns else iter([()] * len(array))
    pairs = zip(_validity(array), rows, strict=True)
    return [dict(zip(names, row, strict=True)) if ok else None for ok, row in pairs]


def _lists(array: Array, data_type: DataType | None) -> list[Any]:
    """Return arrays as lists of JSON values."""
    element = data_type.element if isinstance(data_type, ArrayType) else None
    return _slices(array, to_json_values(array.values, element))


def _maps(array: Array, data_type: DataType | None) -> list[Any]:
    """Return maps as dictionaries, or as lists of entries (:func:`_map`)."""
    types = (data_type.key, data_type.value) if isinstance(data_type, MapType) else (None, None)
    keys = to_json_values(array.keys, types[0])
    items = to_json_values(array.items, types[1])
    entries = _slices(array, list(zip(keys, items, strict=True)))
    return [None if pairs is None else _map(pairs) for pairs in entries]


def _map(pairs: list[tuple[Any, Any]]) -> Any:
    """Return a map as a dictionary; as a list of key and value objects if texts of keys do not do.

    Keys must be texts or integers, and differ as texts.
    """
    items = {str(key): value for key, value in pairs if type(key) in (str, int)}
    if len(items) == len(pairs):
        return items
    return [{"key": key, "value": value} for key, value in pairs]


def _slices(array: Array, items: list[Any]) -> list[Any]:
    """Return the items of each list or map; None for null.

    ``items`` are the values of the whole array, which its offsets divide.
    """
    ends = array.offsets.to_pylist()
    valid = _validity(array)
    return [items[a:b] if ok else None for ok, a, b in zip(valid, ends[:-1], ends[1:], strict=True)]


def _nanos(array: Array, _data_type: Any) -> list[Any]:
    """Return structs of microseconds and nanoseconds as timestamps with nine digits."""
    zone = "Z" if array.type.field("micros").type.tz else ""
    micros, nanos = array.flatten()
    return [
        None if us is None or ns is None else f"{timestamp_text(us, '')}{ns:03}{zone}"
        for us, ns in zip(micros.view(pa.int64()).to_pylist(), nanos.to_pylist(), strict=True)
    ]


def _interval(parts: Any) -> str:
    """Return an Arrow interval of months, days and nanoseconds as Spark words one."""
    months, days, nanos = parts
    return calendar_text(months, days, nanos // 1000)


def _base64(value: bytes) -> str:
    """Return bytes as base64 text."""
    return base64.b64encode(value).decode()


def _variant(parts: dict[str, bytes]) -> Any:
    """Return the value of a variant; the bytes of its parts, as base64, if they are not valid."""
    try:
        return json_value(variant_value(parts["metadata"], parts["value"]), _VARIANT_WORDS)
    except RowError:
        # Its row fits its schema: it is shown by its bytes.
        return {name: _base64(parts[name]) for name in ("value", "metadata")}


def _number(value: Decimal) -> Any:
    """Return a decimal as a number if a double equals it, else as text."""
    double = float(value)
    return double if math.isfinite(double) and Decimal(double) == value else f"{value:f}"


# JSON value of a variant's leaf, by its Python type
_VARIANT_WORDS: dict[type, Callable[[Any], Any]] = {
    Timestamp: timestamp_text,
    LocalTimestamp: lambda micros: timestamp_text(micros, ""),
    Date: date_text,
    Decimal: _number,
    float: _float_word,
}

_SPECIAL: dict[str, Callable[[Array, Any], list[Any]]] = {
    "year_month": lambda a, kind: _words(a, lambda v: year_month_text(v, kind.name)),
    "day_time": lambda a, kind: _words(a.view(pa.int64()), lambda v: day_time_text(v, kind.name)),
    "interval": lambda a, _: _words(
        a, lambda v: calendar_text(v["months"], v["days"], v["microseconds"])
    ),
    "variant": lambda a, _: _words(a, _variant),
    "timestamp_nanos": _nanos,
    "timestamp_ntz_nanos": _nanos,
}
"""Spark types whose words their Arrow type does not show, by :class:`AtomicType` kind."""

# converters of nested arrays, by Arrow type
_NESTED: dict[int, Callable[[Array, DataType | None], list[Any]]] = {
    pa.lib.Type_STRUCT: _structs,
    pa.lib.Type_LIST: _lists,
    pa.lib.Type_MAP: _maps,
}

# converters of other arrays, by Arrow type
_CONVERTERS: dict[int, Callable[[Array], list[Any]]] = {
    pa.lib.Type_TIMESTAMP: _timestamps,
    pa.lib.Type_DATE32: lambda a: _words(a.view(pa.int32()), date_text),
    pa.lib.Type_TIME64: lambda a: _words(a.view(pa.int64()), time_text),
    pa.lib.Type_DURATION: lambda a: a.view(pa.int64()).to_pylist(),
    pa.lib.Type_INTERVAL_MONTH_DAY_NANO: lambda a: _words(a, _interval),
    pa.lib.Type_FLOAT: _floats,
    pa.lib.Type_DOUBLE: _floats,
    pa.lib.Type_BINARY: lambda a: _words(a, _base64),
    pa.lib.Type_DECIMAL128: lambda a: _words(a, "{:f}".format),
}


_US_PER_SECOND = 1_000_000  # microseconds of a second
# microseconds of each field of an interval
_US = {"day": 86_400 * 1_000_000, "hour": 3_600 * 1_000_000, "minute": 60 * 1_000_000}
_FIELDS = ("day", "hour", "minute", "second")  # fields of a day-time interval, the largest first
_MONTHS_PER_YEAR = 12  # months of a year


def year_month_text(months: int, name: str) -> str:
    """Return ``INTERVAL '1-4' YEAR TO MONTH`` for a number of months.

    ``name`` is the type's name, such as ``interval year``, which decides on the fields.
    """
    first, last = _ends(name)
    years, months_left = divmod(abs(months), _MONTHS_PER_YEAR)
    text = f"{years}-{months_left}"
    if first == last:
        text = f"{years}" if first == "year" else f"{abs(months)}"
    return _quote(text, first, last, negative=months < 0)


def day_time_text(micros: int, name: str) -> str:
    """Return ``INTERVAL '4 01:02:03.5' DAY TO SECOND`` for a number of microseconds.

    ``name`` is the type's name, which decides on the fields.
    """
    first, last = _ends(name)
    micros_left = abs(micros)
    words: list[str] = []
    for field in _FIELDS[_FIELDS.index(first) : _FIELDS.index(last) + 1]:
        if field == "second":
            words.append(_seconds_text(micros_left, "02"))
        else:
            amount, micros_left = divmod(micros_left, _US[field])
            words.append(f"{amount}" if field == "day" else f"{amount:02}")
    text = words[0] + " " + ":".join(words[1:]) if first == "day" and words[1:] else ":".join(words)
    return _quote(text, first, last, negative=micros < 0)


def calendar_text(months: int, days: int, micros: int) -> str:
    """Return ``2 years 3 months 28 days 27 seconds``; parts that are 0 are left out."""
    years, months = _towards_zero(months, _MONTHS_PER_YEAR)
    hours, micros = _towards_zero(micros, _US["hour"])
    minutes, micros = _towards_zero(micros, _US["minute"])
    amounts = (years, "years"), (months, "months"), (days, "days"), (hours, "hours")
    parts = [f"{n} {unit}" for n, unit in (*amounts, (minutes, "minutes")) if n]
    if micros:
        sign = "-" if micros < 0 else ""
        parts.append(f"{sign}{_seconds_text(abs(micros))} seconds")
    return " ".join(parts) or "0 seconds"


def _seconds_text(micros: int, form: str = "") -> str:
    """Return seconds with their fraction, without trailing zeros.

    ``form`` is the format of the whole seconds.
    """
    seconds, fraction = divmod(micros, _US_PER_SECOND)
    return f"{seconds:{form}}" + (f".{fraction:06}".rstrip("0") if fraction else "")


def _ends(name: str) -> tuple[str, str]:
    """Return the first and the last field that an interval type's name has."""
    words = name.split()
    return words[1], words[-1]


def _quote(text: str, first: str, last: str, *, negative: bool) -> str:
    """Return an interval literal of SQL."""
    unit = first.upper() if first == last else f"{first.upper()} TO {last.upper()}"
    return f"INTERVAL '{'-' if negative else ''}{text}' {unit}"


def _towards_zero(amount: int, unit: int) -> tuple[int, int]:
    """Return quotient and remainder of a division that rounds towards 0, as Java's does."""
    quotient = abs(amount) // unit * (-1 if amount < 0 else 1)
    return quotient, amount - quotient * unit


class RowWords:
    """Decoder of UnsafeRow bytes into JSON values under one schema, or redactor of rows.

    ``hash`` gives ``sha256:`` and the first 16 hex digits of the row's SHA-256, so that equal keys
    stay equal; ``all`` gives ``***``. Both work without a schema. Otherwise a row is None if there
    is no schema, or if it does not fit the schema.
    """

    def __init__(self, schema: StructType | None, redact: Redact = Redact.NONE) -> None:
        """Prepare to decode rows of a schema; None if it is not known."""
        self._schema = schema
        self._decoder = None if schema is None or redact is not Redact.NONE else RowDecoder(schema)
        self._redact = redact
        self.misfits = 0  # rows so far that do not fit the schema

    def words(self, rows: Sequence[bytes]) -> list[Any]:
        """Return one value for each row; None for a row that does not fit the schema.

        Such rows are counted in ``misfits``.
        """
        if self._redact is Redact.HASH:
            return list(map(row_hash, rows))
        if self._redact is Redact.ALL:
            return ["***"] * len(rows)
        if self._decoder is None:
            return [None] * len(rows)
        decoded = self._decoder.decode(*concatenate(rows))
        self.misfits += len(decoded.misfits)
        return to_json_values(decoded.array, self._schema)
