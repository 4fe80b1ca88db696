"""What the fuzzers call with any bytes, and what has to be true of all of them.

Each target takes the bytes of one input and returns; what it raises is a fault. The bytes give a
value or one of the errors that the function says, and the same whatever way they are read: in one
piece or in many, by the C kernel or by its Python twin.

The harnesses of the kernel's C files, which see memory itself, are in ``tests/fuzz/kernel``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from inspector.arrays import Int64s
from inspector.checkpoint.log_entries import (
    OffsetEntry,
    parse_commit,
    parse_offsets,
    source_offsets,
)
from inspector.checkpoint.metadata import parse_operator_metadata
from inspector.checkpoint.state_schema import parse_state_schema
from inspector.decode.field_sizes import measure_rows
from inspector.decode.frames import inflate
from inspector.decode.records import RecordBlock, read_records
from inspector.decode.row_columns import Int64Path, RowDecoder
from inspector.decode.row_programs import KeyOrder, RowCheck, RowHash
from inspector.decode.side_sums import HadoopSum, SparkSum
from inspector.decode.variant import variant_value
from inspector.exceptions import DecodeError
from inspector.kernel.loader import load
from inspector.model import Limits
from inspector.sparktypes import StructType
from inspector.sparktypes.ddl import parse_ddl
from inspector.sparktypes.schema_json import parse_schema_json
from tests.attributes import attributes

Target = Callable[[bytes], None]
ReadT = TypeVar("ReadT")

SMALL = Limits(
    frame_bytes=1 << 16, record_bytes=1 << 16, block_bytes=1 << 10, ratio_from_bytes=1 << 18
)
"""Limits that an input of a few bytes can reach."""

SEEDS = Path(__file__).parent / "seeds"
"""Inputs to begin with, for each target a file with one of them a line, in hexadecimal."""


def seeds_of(name: str) -> list[bytes]:
    """The inputs that a target begins with; each was new to it when it was kept."""
    path = SEEDS / f"{name}.hex"
    return [bytes.fromhex(line) for line in path.read_text("ascii").splitlines()]


def outcome(read: Callable[[], ReadT]) -> ReadT | tuple[str, str]:
    """What a call returns; the type and the words of the error that it may raise."""
    try:
        return read()
    except DecodeError as error:
        return type(error).__name__, str(error)


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    """The same bytes in pieces."""
    return (data[at : at + size] for at in range(0, len(data), size))


def first_byte(data: bytes) -> int:
    """Return the first byte of an input, and 0 for an empty input."""
    return int.from_bytes(data[:1], "big")


# --- framings --------------------------------------------------------------------------------


def framing(codec: str) -> Target:
    """Files of a codec."""

    def read(data: bytes) -> None:
        complete = outcome(lambda: b"".join(inflate([data], codec, SMALL)))
        parts = outcome(lambda: b"".join(inflate(pieces(data, 3), codec, SMALL)))
        if codec == "zstd" and isinstance(complete, tuple):
            # Where it sees the damage, or that a limit is passed before, depends on the pieces.
            assert isinstance(parts, tuple)
        else:
            assert complete == parts

    return read


def records(data: bytes) -> None:
    """The records of a decompressed file; the first byte chooses what kind of file it is."""
    head, body = first_byte(data), data[1:]
    arguments: dict[str, Any] = {"snapshot": bool(head & 1), "row_checksum": bool(head & 2)}

    def found(size: int) -> list[tuple[int, int, bytes, bytes | None]]:
        blocks = read_records(pieces(body, size), limits=SMALL, **arguments)
        return [content for block in blocks for content in contents(block)]

    assert outcome(lambda: found(7)) == outcome(lambda: found(1 << 20))


def contents(block: RecordBlock) -> Iterator[tuple[int, int, bytes, bytes | None]]:
    """The records of a block: ordinal, place in the file, key, value."""
    spans = (block.key_offset, block.key_length, block.value_offset, block.value_length)
    for index, span in enumerate(np.array(spans).T.tolist()):
        key, size, value, value_size = span
        assert 0 <= key <= key + size <= value <= value + max(value_size, 0) <= len(block.buffer)
        used = None if value_size < 0 else block.buffer[value : value + value_size]
        yield (
            block.first_record + index,
            block.raw_place(index),
            block.buffer[key : key + size],
            used,
        )


def side_sums(data: bytes) -> None:
    """Checksum files of both kinds, held against some bytes of the same input."""
    for kind in (HadoopSum, SparkSum):
        with suppress(DecodeError):
            first, second = kind(data), kind(data)
            first.update(data)
            for piece in pieces(data, 5):
                second.update(piece)
            assert first.finish() == second.finish()


# --- rows ------------------------------------------------------------------------------------

SCHEMAS = (
    "a bigint, b string, c boolean",
    "w struct<start: timestamp, end: timestamp>, k string",
    "d decimal(38,18), n decimal(9,2), i interval, f float, g double",
    "l array<int>, m map<string, array<double>>",
    "state struct<x: string, l: array<struct<y: tinyint, z: binary>>>, timeoutTimestamp bigint",
    "v variant, nt timestamp_ntz, dt date, s smallint, nul void",
    ", ".join(f"f{n} bigint" for n in range(70)),
)
"""Of every kind of layout one; with 70 fields there are two words of null bits."""


@cache
def schema_of(number: int) -> StructType:
    """One of the schemas."""
    return parse_ddl(SCHEMAS[number % len(SCHEMAS)])


def typed_rows(data: bytes) -> None:
    """Rows of a schema that the first byte chooses, each as long as a byte before it says."""
    schema, (buffer, offsets, lengths) = schema_of(first_byte(data)), rows_in(data[1:])
    decoded = RowDecoder(schema).decode(buffer, offsets, lengths)
    decoded.array.validate(full=True)
    assert RowCheck(schema).misfits(buffer, offsets, lengths) == decoded.misfits
    measured = measure_rows(schema, buffer, offsets, lengths)
    accounted = sum(attributes(measured.fields, "bytes"))
    total = measured.null_bit_bytes + accounted + measured.other_bytes
    assert total == int(lengths.sum())
    nothing = np.zeros(len(offsets), np.int64)
    block = RecordBlock(buffer, 0, 0, offsets, lengths, offsets, nothing)
    KeyOrder(schema).descends(block)
    for path in ((0,), (0, 1), (1,)):
        with suppress(DecodeError):  # the schema has no such field
            Int64Path(schema, path).read(buffer, offsets, lengths)
    hashed = RowHash.of(schema, 2)
    if hashed is not None:
        partitions, result = hashed.partitions(buffer, offsets, lengths, 5)
        assert bool(((partitions >= 0) & (partitions < 5)).all())
        assert not bool((partitions[~result] != 0).any())


def rows_in(data: bytes) -> tuple[bytes, Int64s, Int64s]:
    """Rows one after the other, in words; the last may be cut."""
    result, lengths = bytearray(), list[int]()
    while data:
        size = data[0] if data[0] & 1 else 8 * (data[0] >> 1)
        result += data[1 : 1 + size]
        lengths.append(len(data[1 : 1 + size]))
        data = data[1 + size :]
    sizes = np.array(lengths, np.int64)
    return bytes(result), np.cumsum(sizes) - sizes, sizes


def variant(data: bytes) -> None:
    """A variant: the metadata, as long as the first byte says, and the value."""
    size = first_byte(data)
    with suppress(DecodeError):
        variant_value(data[1 : 1 + size], data[1 + size :])


# --- small files -----------------------------------------------------------------------------


def state_schema(data: bytes) -> None:
    """A schema file of any format, and what makes use of the schemas in it."""
    with suppress(DecodeError):
        result = parse_state_schema(data)
        with suppress(DecodeError):  # a type whose layout is unknown
            RowDecoder(result.key)
            RowCheck(result.key)
        with suppress(DecodeError):
            RowDecoder(result.value)
            RowCheck(result.value)


def logs(data: bytes) -> None:
    """Entries of the logs of offsets and commits, and operator metadata."""
    with suppress(DecodeError):
        entry = parse_offsets(data)
        source_offsets(entry, OffsetEntry(sources=dict.fromkeys(entry.sources, "{}")))
    with suppress(DecodeError):
        parse_commit(data)
    with suppress(DecodeError):
        parse_operator_metadata(data)


def types(data: bytes) -> None:
    """Schemas as Spark's JSON and as DDL."""
    with suppress(DecodeError):
        parse_schema_json(data.decode("utf-8", "replace"))
    with suppress(DecodeError):
        parse_ddl(data.decode("utf-8", "replace"))


# --- both kernels ----------------------------------------------------------------------------


def kernels(data: bytes) -> None:
    """Functions of the C kernel and of its Python twin, with the same arguments of any kind."""
    name, arguments = arguments_in(data)
    in_c = called(load("c"), name, arguments)
    assert called(load("python"), name, arguments) == in_c, name


def called(kernel: Any, name: str, arguments: list[Any]) -> Any:
    """What a function returns, and what it left in the arrays that it was given."""
    actual = deepcopy(arguments)
    result: Any
    try:
        result = getattr(kernel, name)(*actual)
    except (TypeError, ValueError, BufferError):
        return "refused"
    return result, [item.tolist() for item in actual if isinstance(item, np.ndarray)]


KINDS = (np.int64, np.uint64, np.uint8, np.int32)
FUNCTIONS = ("check_rows", "read_slots", "descents", "row_hashes", "hash64", "gather", "scan")


def arguments_in(data: bytes) -> tuple[str, list[Any]]:
    """A function of the kernel and arguments for it: sound ones, of which one may be another."""
    head = [*data[:8], *bytes(8)][:8]
    name = FUNCTIONS[head[0] % len(FUNCTIONS)]
    numbers = [n if n < 0xF0 else n - 0x100 for n in data[8 : 8 + head[1] % 32]]
    buffer, offsets, lengths = rows_in(data[8 + len(numbers) :])
    count, program = len(offsets), np.array(numbers, np.int64)
    spans: list[Any] = [buffer, offsets, lengths]
    arguments: list[Any] = {
        "check_rows": [*spans, program, np.zeros(count, np.uint8)],
        "descents": [*spans, program, np.zeros(count, np.uint8)],
        "read_slots": [*spans, program, np.zeros(count, np.int64), np.zeros(count, np.uint8)],
        "row_hashes": [*spans, program, np.zeros(count, np.int64), np.zeros(count, np.uint8)],
        "hash64": [*spans, head[2] - 8, np.zeros(count, np.uint64)],
        "gather": spans,
        "scan": [buffer, head[2], np.zeros((head[3], 4), np.int64), 100],
    }[name]
    if head[4] & 3 == 3:  # one of the arguments is wrong
        wrong = (None, 7, b"bytes", "text", np.zeros(head[5], KINDS[head[6] % 4]))
        arguments[head[7] % len(arguments)] = wrong[head[5] % len(wrong)]
    return name, arguments


TARGETS: dict[str, Target] = {
    "lz4": framing("lz4"),
    "lzf": framing("lzf"),
    "snappy": framing("snappy"),
    "zstd": framing("zstd"),
    "records": records,
    "side_sums": side_sums,
    "typed_rows": typed_rows,
    "variant": variant,
    "state_schema": state_schema,
    "logs": logs,
    "types": types,
    "kernels": kernels,
}
"""Name -> target: see :mod:`tests.fuzz.run`."""
