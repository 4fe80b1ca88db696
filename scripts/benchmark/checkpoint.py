"""A big checkpoint, written without Spark: vectorised, seeded, read by Spark.

The metadata are those of a fixture that Spark wrote (``benchmark/shapes.py``); rows and frames
follow the format as ``tests/encode.py`` does, whole deltas at a time. Two fifths of the keys come
in the first version, the others evenly in the later ones, each of which also updates
1.2 / (versions - 1) of the keys: 2.2 records per key, where the operator updates its keys. Keys
stand in the order of a hash map.
"""

from __future__ import annotations

import json
import re
import shutil
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import xxhash
from benchmark.shapes import BASE_US, BATCH_US, WINDOWED_COUNT, Shape, Store

from inspector.arrays import Int64s, UInt8s
from inspector.decode.row_programs import RowHash
from inspector.sparktypes.ddl import parse_ddl

BLOCK = 32 << 10  # spark.io.compression.lz4.blockSize
SEED = 0x9747B28C
LEVEL = 5  # of a block of 32 KiB
ROW_BYTES = 96
"""Bytes of a row of the windowed count: its key and its value."""
UPDATES = 1.2
IDS_AT_ONCE = 1 << 17


class Size(NamedTuple):
    """How big a checkpoint is.

    Attributes:
        keys: rows of the newest version in all stores of all partitions together.
        versions: deltas of each store.
        partitions: of the operator.
        updates: how often a key is put again, on average.
        snapshots: each so many versions have a snapshot too; 0 for none.
    """

    keys: int
    versions: int
    partitions: int
    updates: float = UPDATES
    snapshots: int = 0


class Made(NamedTuple):
    """A checkpoint that was made; records and bytes are those of all its state files."""

    path: Path
    size: Size
    shape: Shape
    records: int
    raw_bytes: int
    file_bytes: int

    @property
    def keys_of_a_store(self) -> int:
        """Rows of the newest version in one store, all partitions together."""
        return _share(self.size, self.shape) * self.size.partitions

    @property
    def keys_of_a_partition(self) -> int:
        """Rows of the newest version in one partition, all its stores together."""
        return _share(self.size, self.shape) * len(self.shape.stores)


class Written(NamedTuple):
    """A file that was written."""

    records: int
    raw_bytes: int
    file_bytes: int


def make(path: Path, size: Size, shape: Shape = WINDOWED_COUNT, seed: int = 1) -> Made:
    """Write a checkpoint into a folder that does not exist yet."""
    _metadata(path, size, shape)
    put = size if shape.updated else size._replace(updates=0)
    chance = np.random.default_rng(seed)
    files: list[Written] = []
    for partition, mine in enumerate(_placed(size, shape)):
        for store in shape.stores:
            folder = path / "state" / "0" / str(partition) / store.folder
            folder.mkdir(parents=True, exist_ok=True)
            files += _files(folder, store, mine, put, chance)
    return Made(path, size, shape, *(sum(column) for column in zip(*files, strict=True)))


def kept(path: Path, size: Size, shape: Shape = WINDOWED_COUNT) -> Made:
    """The checkpoint of a size and shape, made unless an earlier run left it."""
    note = path.with_name(f"{path.name}.json")
    if note.is_file():
        document = json.loads(note.read_text())
        if (document["size"], document.get("shape")) == ([*size], shape.name):
            return Made(path, size, shape, **document["made"])
        sys.exit(f"{path} holds a checkpoint of another size or shape")
    result = make(path, size, shape)
    numbers = {name: getattr(result, name) for name in Written._fields}
    note.write_text(json.dumps({"size": size, "shape": shape.name, "made": numbers}))
    return result


# --- metadata --------------------------------------------------------------------------------


def _metadata(path: Path, size: Size, shape: Shape) -> None:
    source = shape.fixture
    schemas = [item.relative_to(source) for item in source.glob("state/0/0/**/_metadata/schema")]
    for name in (Path("metadata"), *schemas):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, path / name)
    operator = (source / "state/0/_metadata/metadata").read_text()
    operator = re.sub(r'"numPartitions":\d+', f'"numPartitions":{size.partitions}', operator)
    (path / "state/0/_metadata").mkdir()
    (path / "state/0/_metadata/metadata").write_text(operator)
    _logs(path, size, source)


def _logs(path: Path, size: Size, source: Path) -> None:
    """What was planned and committed: 10 seconds a batch, the watermark a batch behind."""
    for folder in ("offsets", "commits"):
        (path / folder).mkdir()
    version, batch, *sources = _newest(source / "offsets")
    offsets: dict[str, Any] = json.loads(batch)
    offsets["conf"]["spark.sql.shuffle.partitions"] = str(size.partitions)
    form, done = _newest(source / "commits")
    commit: dict[str, Any] = json.loads(done)
    start, step = BASE_US // 1000, BATCH_US // 1000
    for number in range(size.versions):
        offsets["batchTimestampMs"] = start + step * (number + 1)
        offsets["batchWatermarkMs"] = start + step * number
        commit["nextBatchWatermarkMs"] = start + step * (number + 1)
        lines = [version, json.dumps(offsets), *(str(number) for _ in sources)]
        (path / "offsets" / str(number)).write_text("\n".join(lines))
        (path / "commits" / str(number)).write_text(f"{form}\n{json.dumps(commit)}")


def _newest(log: Path) -> list[str]:
    """Lines of the newest entry."""
    names = [item.name for item in log.iterdir() if item.name.isdigit()]
    return (log / max(names, key=int)).read_text().splitlines()


# --- which rows ------------------------------------------------------------------------------


def _share(size: Size, shape: Shape) -> int:
    """Keys of one store of one partition."""
    return size.keys // len(shape.stores) // size.partitions


def _placed(size: Size, shape: Shape) -> list[Int64s]:
    """The ids of each partition's keys, as many for each: where Spark's hash sends them."""
    item = _share(size, shape)
    row_hash = RowHash.of(parse_ddl(shape.key), shape.hashed)
    assert row_hash is not None
    result: list[list[Int64s]] = [[] for _ in range(size.partitions)]
    start = 0
    while min(sum(map(len, parts)) for parts in result) < item:
        ids = np.arange(start, start + IDS_AT_ONCE)
        keys = shape.stores[0].key(ids)
        length = keys.shape[1]
        lengths, offsets = np.full(len(ids), length, np.int64), np.arange(len(ids)) * length
        where, _ = row_hash.partitions(keys.tobytes(), offsets, lengths, size.partitions)
        for partition, parts in enumerate(result):
            parts.append(ids[where == partition])
        start += IDS_AT_ONCE
    return [np.concatenate(parts)[:item] for parts in result]


def _touched(keys: int, size: Size, chance: np.random.Generator) -> list[Int64s]:
    """Which of a store's keys each version puts, in the order of its delta."""
    later = max(size.versions - 1, 1)
    first = keys * 2 // 5 if size.versions > 1 else keys
    ends = np.linspace(first, keys, later + 1).astype(np.int64)
    versions = [chance.permutation(first)]
    for live, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        count = min(live, int(keys * size.updates / later))
        updated = chance.choice(live, size=count, replace=False)
        versions.append(chance.permutation(np.concatenate([np.arange(live, end), updated])))
    return versions[: size.versions]


class _Live:
    """The live rows of a store, each with the value it was put with last.

    They stand in an order of their own, by a seed of their own: deltas with snapshots beside them
    are those without.
    """

    def __init__(self, mine: Int64s) -> None:
        self._mine = mine
        self._order = np.random.default_rng(SEED).permutation(len(mine))
        self._put = np.zeros(len(mine), np.bool_)
        self._values: UInt8s | None = None

    def put(self, choice: Int64s, values: UInt8s) -> None:
        """Note what a version puts."""
        if self._values is None:
            self._values = np.zeros((len(self._mine), values.shape[1]), np.uint8)
        self._values[choice] = values
        self._put[choice] = True

    def rows(self) -> tuple[Int64s, UInt8s]:
        """Ids and values."""
        assert self._values is not None
        live = self._order[self._put[self._order]]
        return self._mine[live], self._values[live]


# --- files -----------------------------------------------------------------------------------


def _files(
    folder: Path, store: Store, mine: Int64s, size: Size, chance: np.random.Generator
) -> Iterator[Written]:
    """Write the files of one store of one partition."""
    live = _Live(mine) if size.snapshots else None
    for version, choice in enumerate(_touched(len(mine), size, chance), 1):
        ids = mine[choice]
        values = store.value(ids, version, chance)
        yield _write(folder / f"{version}.delta", store.key(ids), values)
        if live is None:
            continue
        live.put(choice, values)
        if version % size.snapshots == 0:
            ids, values = live.rows()
            yield _write(folder / f"{version}.snapshot", store.key(ids), values)


def _write(file: Path, keys: UInt8s, values: UInt8s) -> Written:
    """Records that put some keys, and the mark of the end."""
    raw = _records(keys, values) + b"\xff\xff\xff\xff"
    data = _lz4_blocks(raw)
    file.write_bytes(data)
    return Written(len(keys), len(raw), len(data))


def _records(keys: UInt8s, values: UInt8s) -> bytes:
    (count, key), value = keys.shape, values.shape[1]
    record = np.empty((count, 4 + key + 4 + value), np.uint8)
    record[:, :4] = np.frombuffer(struct.pack(">i", key), np.uint8)
    record[:, 4 : 4 + key] = keys
    record[:, 4 + key : 8 + key] = np.frombuffer(struct.pack(">i", value), np.uint8)
    record[:, 8 + key :] = values
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
