"""Bytes as Spark's RocksDB provider writes them: changelogs, encoded rows, arranged keys."""

from __future__ import annotations

import gzip
import json
import struct
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import google_crc32c

from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.plan import plan
from inspector.discovery.tasks import Task
from inspector.kernel.record_layout import KIND_END, KIND_MERGE, KIND_PUT, KIND_REMOVAL
from inspector.sparktypes import BINARY, StringType, StructField, StructType
from tests import encode
from tests.cases import run, run_rows

PUT, REMOVAL, MERGE = KIND_PUT, KIND_REMOVAL, KIND_MERGE
Entry = tuple[int, bytes, bytes | None]
"""Kind, key, value."""

UUID = "e21dbfc8-9f6e-4d55-a8f6-4ab2f5fbbd35"
LINEAGE = '[{"version":1,"checkpointUniqueId":"' + UUID + '"}]'


def struct_of(*types: Any) -> StructType:
    """A schema of such fields, named a, b, c ..."""
    return StructType(tuple(StructField(chr(97 + i), item) for i, item in enumerate(types)))


TEXT = StringType()


def utf(text: str) -> bytes:
    raw = text.encode()
    return struct.pack(">H", len(raw)) + raw


def changelog(entries: Iterable[Entry], version: int = 1, lineage: str = LINEAGE) -> bytes:
    """A changelog before it is compressed."""
    head = b"" if version == 1 else utf(f"v{version}")
    if version in (3, 4):
        head += utf(lineage)
    if version in (1, 3):
        return head + encode.records((key, value) for _, key, value in entries)
    body = b"".join(bytes([kind]) + encode.record(key, value) for kind, key, value in entries)
    return head + body + bytes([KIND_END])


def encoded(row: bytes) -> bytes:
    return b"\0" + row


def sized(data: bytes) -> bytes:
    return struct.pack("<i", len(data)) + data


def listed(*rows: bytes, delimiter: bytes = b"") -> bytes:
    """A value of several rows."""
    return delimiter.join(sized(encoded(row)) for row in rows)


def summed(key: bytes, value: bytes) -> bytes:
    """A value with the checksum of it and its key."""
    return struct.pack("<Ii", google_crc32c.value(key + value), len(value)) + value


def removed(key: bytes) -> bytes:
    """The key of a removal with its checksum."""
    return struct.pack("<I", google_crc32c.value(key)) + key


def prefixed(schema: StructType, values: Sequence[Any], columns: int) -> bytes:
    """A key whose first columns lie apart."""
    first = encode.row(StructType(schema.fields[:columns]), values[:columns])
    remainder = encode.row(StructType(schema.fields[columns:]), values[columns:])
    return sized(encoded(first)) + (encoded(remainder) if columns < len(schema.fields) else b"")


def ranged(
    schema: StructType, values: Sequence[Any], ordinals: Sequence[int], ordered: Sequence[bytes]
) -> bytes:
    """A key of which some columns lie in front, as these bytes."""
    first = encode.row(struct_of(*[BINARY] * len(ordered)), ordered)
    siblings = [i for i in range(len(schema.fields)) if i not in ordinals]
    remainder = encode.row(
        StructType(tuple(schema.fields[i] for i in siblings)), [values[i] for i in siblings]
    )
    return sized(encoded(first)) + (encoded(remainder) if siblings else b"")


def time_bytes(micros: int) -> bytes:
    return struct.pack(">Q", (micros ^ 1 << 63) & (1 << 64) - 1)


def family(number: int) -> bytes:
    return struct.pack("<h", number)


def write_zip(path: Path, metadata: Mapping[str, Any] | str) -> None:
    """A snapshot that says this, with a MANIFEST of the same tables."""
    text = metadata if isinstance(metadata, str) else "v1\n" + json.dumps(metadata)
    tables = {}
    with suppress(ValueError, KeyError, TypeError):
        for fields in json.loads(text.partition("\n")[2]).get("sstFiles", []):
            tables[int(fields["localFileName"].removesuffix(".sst"))] = fields["sizeBytes"]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("CURRENT", "MANIFEST-000005\n")
        archive.writestr("MANIFEST-000005", manifest([numbers_edit(), *map_tables(tables)]))
        archive.writestr("metadata", text)


def entries_of(path: Path) -> dict[str, bytes]:
    """The entries of a zip by name."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite_zip(path: Path, entries: Mapping[str, bytes]) -> None:
    """Write a zip again, and remove Hadoop's checksum file of it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def varint(value: int) -> bytes:
    """A number as RocksDB writes it, 7 bits to a byte."""
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*result, value))


def fragment(data: bytes, kind: int = 1, log_number: bytes = b"") -> bytes:
    """A fragment of a log; kinds from 5 on have the 4 bytes of a log number."""
    summed_bytes = bytes((kind,)) + log_number + data
    checksum = google_crc32c.value(summed_bytes)
    masked = ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF
    return struct.pack("<IH", masked, len(data)) + summed_bytes


def manifest(edits: Iterable[bytes]) -> bytes:
    """A log of edits, cut into fragments where a block of 32 KiB ends."""
    log = bytearray()
    for edit in edits:
        kinds = {(True, True): 1, (True, False): 2, (False, False): 3, (False, True): 4}
        remainder, first = edit, True
        while remainder or first:
            room = (1 << 15) - len(log) % (1 << 15) - 7
            if room < 0:
                log += bytes(room + 7)
                continue
            part, remainder = remainder[:room], remainder[room:]
            log += fragment(part, kinds[first, not remainder])
            first = False
    return bytes(log)


def numbers_edit() -> bytes:
    """An edit with the numbers that every database needs."""
    return b"\x02\x04" + b"\x03\x09" + b"\x04\x05"


def table_edit(
    number: int,
    size: int,
    unique_id: tuple[int, int] | None = None,
    level: int = 0,
    keys: tuple[bytes, bytes] = (b"k", b"k"),
) -> bytes:
    """An edit that adds a table, whose entries have the sequence numbers 1 and 2."""
    first, last = (varint(len(key) + 8) + key + bytes(8) for key in keys)
    result = varint(103) + varint(level) + varint(number) + varint(size) + first + last + b"\1\2"
    if unique_id is not None:
        result += varint(12) + varint(16) + struct.pack("<QQ", *unique_id)
    return result + varint(1)


def deletion_edit(level: int, number: int) -> bytes:
    """An edit that deletes a table from a level."""
    return varint(6) + varint(level) + varint(number)


def comparator_edit(name: bytes) -> bytes:
    """An edit that names the order of keys."""
    return varint(1) + varint(len(name)) + name


def map_tables(sizes: Mapping[int, int]) -> list[bytes]:
    """An edit for each table, by its number and size."""
    return [table_edit(number, size) for number, size in sizes.items()]


def as_spark_4_0(root: Path) -> None:
    """Give the newest snapshots of a checkpoint the number of Spark 4.0 (checkpoint format 2)."""
    for folder in root.glob("state/*/[0-9]*"):
        newest = max(folder.glob("*.zip"), key=lambda path: int(path.name.partition("_")[0]))
        entries = entries_of(newest)
        assert entries["metadata"].startswith(b"v1\n")
        entries["metadata"] = entries["metadata"].replace(b"v1\n", b"v2\n", 1)
        rewrite_zip(newest, entries)


# --- against Spark

Rows = dict[tuple[int, str, int], list[tuple[str, str]]]
"""By operator, store and partition: keys and values in hex."""


def truth(case: Path) -> dict[int, Rows]:
    """The rows that Spark's provider iterates, by version."""
    result: dict[int, Rows] = defaultdict(lambda: defaultdict(list))
    with gzip.open(case / "truth.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            store = row["store"] if row["cf"] == "default" else row["cf"]
            result[row["ver"]][row["op"], store, row["part"]].append((row["kx"], row["vx"]))
    return result


def read_by_spark(case: Path) -> set[tuple[int, int, int]]:
    """Operator, partition and version of what Spark could read; cleanup may have come between."""
    lines = json.loads((case / "truth_counts.json").read_text("utf-8"))
    return {(line["op"], line["part"], line["ver"]) for line in lines if "num_keys" in line}


def read(tasks: list[Task]) -> tuple[Rows, list[dict[str, Any]]]:
    result: Rows = defaultdict(list)
    problems = []
    for row in run([task.to_json() for task in tasks], run_rows):
        if row["kind"] == "problem":
            problems.append(row)
        else:
            location = row["operator_id"], row["store_name"], row["partition_id"]
            result[location].append((row["key"].hex(), row["value"].hex()))
    return result, problems


def several_values(tasks: list[Task]) -> Iterator[tuple[int, str, int]]:
    for task in tasks:
        for store in task.stores:
            if store.several_values:
                yield task.operator_id, store.store_name, task.partition_id


def assert_rows_are_those_of_spark(case: Path) -> None:
    """Each version that its provider read has its rows, and no problem."""
    checkpoint = open_checkpoint(str(case / "checkpoint"))
    assert checkpoint.problems == ()
    result = read_by_spark(case)
    for version, expected in truth(case).items():
        tasks = [
            task
            for task in plan(checkpoint, version)
            if (task.operator_id, task.partition_id, version) in result
        ]
        actual, problems = read(tasks)
        assert problems == []
        lists = set(several_values(tasks))
        for item in {*expected, *actual}:
            theirs, ours = expected.get(item, []), actual.get(item, [])
            if item in lists:  # our keys have the place of the row, too
                assert sorted(value for _, value in ours) == sorted(value for _, value in theirs)
                assert len({key for key, _ in ours}) == len(ours)
            else:
                assert sorted(ours) == sorted(theirs)
