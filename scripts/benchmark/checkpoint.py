"""A big checkpoint of a windowed count, written without Spark: vectorised, seeded, read by Spark.

The metadata are those of ``fixtures/4.3.0/agg_update``, which Spark wrote; rows and frames follow
the format as ``tests/encode.py`` does, whole deltas at a time. Two fifths of the keys come in the
first version, the others evenly in the later ones, each of which also updates 1.2 / (versions - 1)
of the keys: 2.2 records per key. Keys stand in the order of a hash map. Users, sums and clocks vary
as real ones do, so that the data compress no better than those (about 4 to 1).
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from inspector.arrays import Int64s
from inspector.decode.spark_hash import RowHash
from inspector.sparktypes.ddl import parse_ddl

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures" / "4.3.0" / "agg_update" / "checkpoint"
BLOCK = 32 << 10  # spark.io.compression.lz4.blockSize
SEED = 0x9747B28C
LEVEL = 5  # of a block of 32 KiB
BASE_US = 1_704_067_200_000_000
WINDOW_US = 20_000_000
YEAR_US = 365 * 86_400_000_000  # the windows lie ahead of the watermark: nothing is overdue
KEY, VALUE = 64, 32
ROW_BYTES = KEY + VALUE
UPDATES = 1.2
IDS_AT_ONCE = 1 << 17

KEY_SCHEMA = parse_ddl("window struct<start: timestamp, end: timestamp>, user string")


class Size(NamedTuple):
    """How big a checkpoint is; keys of all partitions together."""

    keys: int
    versions: int
    partitions: int
    updates: float = UPDATES


class Made(NamedTuple):
    """A checkpoint that was made."""

    path: Path
    size: Size
    records: int
    raw_bytes: int
    file_bytes: int


def make(path: Path, size: Size, seed: int = 1) -> Made:
    """Write a checkpoint into a folder that does not exist yet."""
    _metadata(path, size)
    rng = np.random.default_rng(seed)
    records = raw_bytes = file_bytes = 0
    for partition, mine in enumerate(_placed(size)):
        folder = path / "state" / "0" / str(partition)
        folder.mkdir(parents=True, exist_ok=True)
        for version, ids in enumerate(_touched(size, rng), 1):
            raw = _records(mine[ids], version, rng) + b"\xff\xff\xff\xff"
            data = _lz4_blocks(raw)
            (folder / f"{version}.delta").write_bytes(data)
            records += len(ids)
            raw_bytes += len(raw)
            file_bytes += len(data)
    return Made(path, size, records, raw_bytes, file_bytes)


def kept(path: Path, size: Size) -> Made:
    """The checkpoint of a size, made unless an earlier run left it."""
    note = path.with_name(f"{path.name}.json")
    if note.is_file():
        known = json.loads(note.read_text())
        if Size(*known["size"]) == size:
            return Made(path, size, **known["made"])
        sys.exit(f"{path} holds a checkpoint of another size")
    made = make(path, size)
    numbers = {name: getattr(made, name) for name in ("records", "raw_bytes", "file_bytes")}
    note.write_text(json.dumps({"size": size, "made": numbers}))
    return made


def _metadata(path: Path, size: Size) -> None:
    for folder in ("offsets", "commits", "state/0/_metadata", "state/0/0/_metadata"):
        (path / folder).mkdir(parents=True)
    (path / "metadata").write_bytes((FIXTURE / "metadata").read_bytes())
    schema = "state/0/0/_metadata/schema"
    (path / schema).write_bytes((FIXTURE / schema).read_bytes())
    operator = (FIXTURE / "state/0/_metadata/metadata").read_text()
    operator = operator.replace('"numPartitions":2', f'"numPartitions":{size.partitions}')
    (path / "state/0/_metadata/metadata").write_text(operator)
    version, batch, _ = (FIXTURE / "offsets" / "9").read_text().splitlines()
    offsets: dict[str, Any] = json.loads(batch)
    offsets["conf"]["spark.sql.shuffle.partitions"] = str(size.partitions)
    form, done = (FIXTURE / "commits" / "9").read_text().splitlines()
    commit: dict[str, Any] = json.loads(done)
    for number in range(size.versions):
        offsets["batchTimestampMs"] = BASE_US // 1000 + 10_000 * (number + 1)
        offsets["batchWatermarkMs"] = BASE_US // 1000 + 10_000 * number
        commit["nextBatchWatermarkMs"] = BASE_US // 1000 + 10_000 * (number + 1)
        text = f"{version}\n{json.dumps(offsets)}\n{number}"
        (path / "offsets" / str(number)).write_text(text)
        (path / "commits" / str(number)).write_text(f"{form}\n{json.dumps(commit)}")


def _placed(size: Size) -> list[Int64s]:
    """The ids of each partition's keys, as many for each: where Spark's hash sends them."""
    each = size.keys // size.partitions
    row_hash = RowHash.of(KEY_SCHEMA, len(KEY_SCHEMA.fields))
    assert row_hash is not None
    found: list[list[Int64s]] = [[] for _ in range(size.partitions)]
    start = 0
    while min(sum(map(len, parts)) for parts in found) < each:
        ids = np.arange(start, start + IDS_AT_ONCE)
        keys = _keys(ids).tobytes()
        lengths = np.full(len(ids), KEY, np.int64)
        where, _ = row_hash.partitions(keys, np.arange(len(ids)) * KEY, lengths, size.partitions)
        for partition, parts in enumerate(found):
            parts.append(ids[where == partition])
        start += IDS_AT_ONCE
    return [np.concatenate(parts)[:each] for parts in found]


def _touched(size: Size, rng: np.random.Generator) -> list[Int64s]:
    """Ids within one partition that each version puts, in the order of its delta."""
    keys, later = size.keys // size.partitions, max(size.versions - 1, 1)
    first = keys * 2 // 5 if size.versions > 1 else keys
    ends = np.linspace(first, keys, later + 1).astype(np.int64)
    versions = [rng.permutation(first)]
    for live, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        count = min(live, int(keys * size.updates / later))
        updated = rng.choice(live, size=count, replace=False)
        versions.append(rng.permutation(np.concatenate([np.arange(live, end), updated])))
    return versions[: size.versions]


def _keys(ids: Int64s) -> npt.NDArray[np.uint8]:
    """The key of each id: (window, user)."""
    count = len(ids)
    key = np.zeros((count, KEY // 8), "<i8")
    key[:, 1] = 24 << 32 | 24  # the window lies at 24, of 24 bytes
    key[:, 2] = 48 << 32 | 12  # the user at 48, of 12 bytes
    key[:, 4] = BASE_US + YEAR_US + ids // 50_000 * WINDOW_US
    key[:, 5] = key[:, 4] + WINDOW_US
    user = np.char.add("u", np.char.zfill((ids * 7919 % 99_999_999_977).astype("U11"), 11))
    key.view(np.uint8)[:, 48:60] = user.astype("S12").view(np.uint8).reshape(count, 12)
    return key.view(np.uint8)


def _records(ids: Int64s, version: int, rng: np.random.Generator) -> bytes:
    """Records that put some ids: their keys -> (count, sum, max)."""
    count = len(ids)
    value = np.zeros((count, VALUE // 8), "<i8")
    value[:, 1] = version
    value[:, 2] = rng.integers(0, 5_000 * version, count)
    value[:, 3] = BASE_US + version * 10_000_000 + rng.integers(0, 10_000, count) * 1000
    record = np.empty((count, 4 + KEY + 4 + VALUE), np.uint8)
    record[:, 0:4] = np.frombuffer(struct.pack(">i", KEY), np.uint8)
    record[:, 4:68] = _keys(ids)
    record[:, 68:72] = np.frombuffer(struct.pack(">i", VALUE), np.uint8)
    record[:, 72:] = value.view(np.uint8)
    return record.tobytes()


def _lz4_blocks(raw: bytes) -> bytes:
    """The stream of lz4-java's ``LZ4BlockOutputStream``."""
    codec = pa.Codec("lz4_raw")
    parts: list[bytes] = []
    view = memoryview(raw)
    for start in range(0, len(view), BLOCK):
        block = view[start : start + BLOCK]
        check = xxhash.xxh32_intdigest(block, SEED) & 0x0FFFFFFF
        packed = codec.compress(block, asbytes=True)
        method, payload = (0x20, packed) if len(packed) < len(block) else (0x10, bytes(block))
        header = struct.pack("<BIII", method | LEVEL, len(payload), len(block), check)
        parts += (b"LZ4Block", header, payload)
    parts.append(b"LZ4Block" + struct.pack("<BIII", 0x10 | LEVEL, 0, 0, 0))
    return b"".join(parts)
