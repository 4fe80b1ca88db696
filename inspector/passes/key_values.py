"""Values of key fields as users type them: the JSON values of our own output, read back.

=========================  ==========================================================
boolean                    ``true`` ``false``
integers                   numbers
float, double              numbers, ``NaN``, ``Infinity``, ``-Infinity``
decimal                    text or number, every digit of which the type can hold
string, char, varchar      text
binary                     base64
date                       ``2024-01-01``
timestamp                  ``2024-01-01T00:00:00Z``, also with a fraction, an offset, or neither
timestamp_ntz              the same without zone
time                       ``12:34:56.123456``
interval year .. month     months, or Spark's words: ``INTERVAL '1-2' YEAR TO MONTH``
interval day .. second     microseconds, or ``INTERVAL '1 02:03:04.5' DAY TO SECOND``
array, struct              JSON arrays and objects of these
=========================  ==========================================================
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import Any

from inspector import sparktypes as types
from inspector.sparktypes.ddl import to_ddl

MICROS = 1_000_000  # microseconds in a second
_DAY = 86_400 * MICROS  # microseconds in a day
# year, month, day; optionally hour, minute, second, fraction and zone
_TIMESTAMP = re.compile(
    r"([+-]?\d{4,6})-(\d\d)-(\d\d)"
    r"(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?\s*(Z|[+-]\d\d:?\d\d)?)?"
)
# hour and minute; optionally second and fraction
_TIME = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?")
# sign, numbers, first unit and optionally last unit of an interval in Spark's words
_INTERVAL = re.compile(r"INTERVAL '([+-]?)([^']*)' (\w+)(?: TO (\w+))?", re.IGNORECASE)
# most decimal places by which a number's exponent may differ from the scale of its type
_MOST_SHIFT = 100
_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}  # bits of each integer type
# microseconds in each unit of an interval
_UNIT_MICROS = {"DAY": _DAY, "HOUR": 3600 * MICROS, "MINUTE": 60 * MICROS, "SECOND": MICROS}


def json_of(text: str) -> Any:
    """Return the value of a JSON document, its fractions as Decimal so that no digit is lost.

    ValueError: the text is not JSON, or is nested too deeply.
    """
    try:
        return json.loads(text, parse_float=Decimal)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def plain_value(data_type: types.DataType, value: Any) -> Any:
    """Return a value that :func:`json_of` read, converted to what pyarrow takes for the data type.

    None stays None. ValueError: the value is not one of the type; the message says what is
    expected.
    """
    if value is None:
        return None
    if isinstance(data_type, types.UserDefinedType):
        return plain_value(data_type.sql_type, value)
    if isinstance(data_type, types.ArrayType):
        items = _is(value, list, "a JSON array")
        return [plain_value(data_type.element, item) for item in items]
    if isinstance(data_type, types.StructType):
        return _struct(data_type, _is(value, dict, "a JSON object"))
    if isinstance(data_type, types.StringType):
        return _is(value, str, "text")
    if isinstance(data_type, types.DecimalType):
        return _decimal(data_type, value)
    if data_type == types.VOID:
        raise ValueError("expected null: the field holds nothing else")
    if not isinstance(data_type, types.AtomicType) or data_type.kind not in _READERS:
        raise ValueError(f"a {to_ddl(data_type)} cannot be looked for, give the key in hex")
    return _READERS[data_type.kind](value, data_type)


def text_value(data_type: types.DataType, text: str) -> Any:
    """Return a text of the command line as a JSON value; ``null`` is None.

    It is parsed as JSON for structs and arrays and stays text for other types. ValueError: no JSON.
    """
    if text == "null":
        return None
    if isinstance(data_type, (types.StructType, types.ArrayType)):
        return json_of(text)
    return text


def _is(value: Any, kind: type[Any], words: str) -> Any:
    """Return the value if it is a ``kind``.

    ValueError: it is not; ``words`` say what is expected.
    """
    if not isinstance(value, kind):
        raise ValueError(f"expected {words}")  # noqa: TRY004 - it is the user's value
    return value


def _struct(schema: types.StructType, value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dict of converted values by field name.

    ValueError: the value has other fields than the schema.
    """
    names = types.unique_names(schema.fields)
    if set(value) != set(names):
        raise ValueError(f"expected an object with the fields {', '.join(names)}")
    pairs = zip(names, schema.fields, strict=True)
    return {name: plain_value(field.data_type, value[name]) for name, field in pairs}


def _decimal(data_type: types.DecimalType, value: Any) -> Decimal:
    """Return a Decimal with the scale of its type. ValueError: the type cannot hold every digit."""
    number = Decimal("nan")
    with suppress(InvalidOperation):
        number = Decimal(value) if isinstance(value, (str, int, Decimal)) else number
    if not number.is_finite():
        raise ValueError("expected a decimal number")
    # In integers of the type's scale: a decimal context would round above 28 digits.
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    unscaled, shift = int("".join(map(str, digits))), exponent + data_type.scale
    if abs(shift) <= _MOST_SHIFT and (shift >= 0 or not unscaled % 10**-shift):
        digits_text = str(unscaled * 10**shift if shift >= 0 else unscaled // 10**-shift)
        if len(digits_text) <= data_type.precision:
            return Decimal((sign, tuple(map(int, digits_text)), -data_type.scale))
    raise ValueError(f"expected a number that {to_ddl(data_type)} can hold")


def _integer(value: Any, data_type: types.AtomicType) -> int:
    """Return an int. ValueError: no whole number, or too large for the type."""
    bits = _BITS[data_type.kind]
    number = _to_int(value)
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError(f"expected a whole number of {bits} bits")
    return number


def _to_int(value: Any) -> int:
    """Return an int from a number or from text of at most 30 digits. ValueError: it is neither."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,30}", value):
        return int(value)
    raise ValueError("expected a whole number")


def _boolean(value: Any, _type: types.AtomicType) -> bool:
    """Return True or False from a boolean or its name in any case. ValueError: it is no boolean."""
    if str(value).lower() not in ("true", "false"):
        raise ValueError("expected true or false")
    return str(value).lower() == "true"


def _floating(value: Any, _type: types.AtomicType) -> float:
    """Return a float from a number or its text, ``NaN`` and ``Infinity`` included.

    ValueError: the value is no number.
    """
    # Python reads "inf" and underscores too; nobody means them.
    words = isinstance(value, str) and re.fullmatch(r"NaN|-?Infinity|[-+.\deE]+", value)
    if isinstance(value, bool) or not (words or isinstance(value, (int, Decimal))):
        raise ValueError("expected a number, NaN, Infinity or -Infinity")
    return float(value)


def _binary(value: Any, _type: types.AtomicType) -> bytes:
    """Return the bytes of base64 text. ValueError: no base64."""
    try:
        return base64.b64decode(_is(value, str, "base64"), validate=True)
    except binascii.Error:
        raise ValueError("expected base64") from None


def _date(value: Any, _type: types.AtomicType) -> int:
    """Return days since 1970-01-01. ValueError: no date, or a time of day behind it."""
    match = _TIMESTAMP.fullmatch(_is(value, str, "a date such as 2024-01-01"))
    if match is None or match[4] is not None:
        raise ValueError("expected a date such as 2024-01-01")
    return _days(match)


def _timestamp(value: Any, data_type: types.AtomicType) -> int:
    """Return microseconds since the epoch; without a zone the time counts as UTC.

    ValueError: no timestamp, or a zone in a type without one.
    """
    zoned = data_type.kind == "timestamp"
    example = "2024-01-01T00:00:00.000000" + "Z" * zoned
    match = _TIMESTAMP.fullmatch(_is(value, str, f"a timestamp such as {example}"))
    if match is None or (match[8] is not None and not zoned):
        raise ValueError(f"expected a timestamp such as {example}")
    return _days(match) * _DAY + _nanos(match[4], match[5], match[6], match[7]) - _offset(match[8])


def _time(value: Any, _type: types.AtomicType) -> int:
    """Return nanoseconds since midnight. ValueError: no time of day."""
    match = _TIME.fullmatch(_is(value, str, "a time such as 12:34:56"))
    if match is None:
        raise ValueError("expected a time such as 12:34:56")
    return _nanos(match[1], match[2], match[3], match[4], digits=9)


def _days(match: re.Match[str]) -> int:
    """Return days since 1970-01-01 by days-from-civil (Hinnant), for years beyond datetime's.

    ValueError: there is no such day.
    """
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    lengths = (31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if not 1 <= month <= 12 or not 1 <= day <= lengths[month - 1]:
        raise ValueError("there is no such day")
    shifted = year - (month <= 2)
    era, year_of_era = divmod(shifted, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return (
        era * 146_097
        + year_of_era * 365
        + year_of_era // 4
        - year_of_era // 100
        + day_of_year
        - 719_468
    )


def _nanos(
    hour: str | None, minute: str | None, second: str | None, fraction: str | None, digits: int = 6
) -> int:
    """Return the time since midnight in units of ``10**-digits`` seconds: microseconds by default.

    ``fraction`` are the digits after the second's point. ValueError: there is no such time, or the
    fraction has more digits than the unit.
    """
    parts = [int(part or 0) for part in (hour, minute, second)]
    if parts[0] > 23 or parts[1] > 59 or parts[2] > 59:
        raise ValueError("there is no such time of the day")
    padded = (fraction or "").ljust(9, "0")
    if padded[digits:].strip("0"):
        raise ValueError(f"expected at most {digits} digits of a second's fraction")
    units: int = 10**digits
    return (parts[0] * 3600 + parts[1] * 60 + parts[2]) * units + int(padded[:digits])


def _offset(zone: str | None) -> int:
    """Return the offset of a zone such as ``+02:00`` in microseconds; 0 for ``Z`` or None."""
    if not zone or zone == "Z":
        return 0
    digits = zone[1:].replace(":", "")
    micros = (int(digits[:2]) * 60 + int(digits[2:])) * 60 * MICROS
    return -micros if zone[0] == "-" else micros


def _year_month(value: Any, _type: types.AtomicType) -> int:
    """Return months, from a number or from an interval in Spark's words.

    ValueError: the value is neither of them.
    """
    match = _INTERVAL.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return _to_int(value)
    sign = -1 if match[1] == "-" else 1
    numbers = [_to_int(part) for part in match[2].split("-")]
    units = {("YEAR", None): (12,), ("MONTH", None): (1,), ("YEAR", "MONTH"): (12, 1)}
    factors = units.get((match[3].upper(), match[4] and match[4].upper()), ())
    if len(numbers) != len(factors):
        raise ValueError("expected such as INTERVAL '1-2' YEAR TO MONTH")
    return sign * sum(n * factor for n, factor in zip(numbers, factors, strict=True))


def _day_time(value: Any, _type: types.AtomicType) -> int:
    """Return microseconds, from a number or from an interval in Spark's words.

    ValueError: the value is neither of them.
    """
    match = _INTERVAL.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return _to_int(value)
    units = list(_UNIT_MICROS)
    first, last = match[3].upper(), (match[4] or match[3]).upper()
    named = units[units.index(first) : units.index(last) + 1] if {first, last} <= set(units) else []
    numbers = [
        re.fullmatch(r"(\d{1,18})(?:\.(\d{1,6}))?", part) for part in re.split("[ :]", match[2])
    ]
    if len(numbers) != len(named) or None in numbers:
        raise ValueError("expected such as INTERVAL '1 02:03:04.5' DAY TO SECOND")
    sign = -1 if match[1] == "-" else 1
    micros = (int(n[1]) * MICROS + int((n[2] or "").ljust(6, "0")) for n in numbers if n)
    return sign * sum(n * _UNIT_MICROS[u] // MICROS for n, u in zip(micros, named, strict=True))


# Functions that convert a JSON value for pyarrow, by the kind of the atomic type.
_READERS: Mapping[str, Callable[[Any, types.AtomicType], Any]] = {
    **dict.fromkeys(_BITS, _integer),
    "boolean": _boolean,
    **dict.fromkeys(("float", "double"), _floating),
    **dict.fromkeys(("binary", "geometry", "geography"), _binary),
    "date": _date,
    **dict.fromkeys(("timestamp", "timestamp_ntz"), _timestamp),
    "time": _time,
    "year_month": _year_month,
    "day_time": _day_time,
}
