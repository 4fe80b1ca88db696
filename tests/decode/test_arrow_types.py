"""The table of Arrow types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from inspector.decode.arrow_types import arrow_type
from inspector.exceptions import DecodeError
from inspector.sparktypes import KINDS, LONG, ArrayType, AtomicType, UserDefinedType
from inspector.sparktypes.ddl import parse_ddl


@pytest.mark.parametrize(
    ("ddl", "expected"),
    [
        ("decimal(18,2)", pa.decimal128(18, 2)),
        ("decimal(38,0)", pa.decimal128(38, 0)),
        ("string", pa.string()),
        ("varchar(3)", pa.string()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestamp_ntz", pa.timestamp("us")),
        ("time(0)", pa.time64("ns")),
        ("interval day", pa.duration("us")),
        ("array<int>", pa.list_(pa.int32())),
        ("map<string, void>", pa.map_(pa.string(), pa.null())),
        ("struct<a: int, a: date>", pa.struct([("a", pa.int32()), ("a#2", pa.date32())])),
    ],
)
def test_arrow_type_of_each_spark_type(ddl: str, expected: Any) -> None:
    assert arrow_type(parse_ddl(f"f {ddl}").fields[0].data_type) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_an_arrow_type(kind: str) -> None:
    assert arrow_type(AtomicType(kind, kind)) is not None


def test_user_defined_type_becomes_its_stored_type() -> None:
    assert arrow_type(UserDefinedType(UserDefinedType(LONG))) == pa.int64()


def test_unknown_type_is_named_in_the_error() -> None:
    with pytest.raises(DecodeError, match="type 'tensor' is unknown"):
        arrow_type(ArrayType(AtomicType("unknown", "tensor")))


def test_nesting_depth_is_limited() -> None:
    nested = ArrayType(ArrayType(LONG))
    assert arrow_type(nested, depth=2) == pa.list_(pa.list_(pa.int64()))
    with pytest.raises(DecodeError, match="nested too deeply"):
        arrow_type(nested, depth=1)
