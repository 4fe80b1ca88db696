"""Moving the rows of an operator to another number of partitions.

Two kinds of tasks do it. :class:`SortTask` reads one partition of the source, checks that Spark's
hash puts every row where it is, and packs the rows into parcels by their new partition.
:class:`FillTask` writes one partition of the copy from the parcels of all source partitions. In one
process the parcels are in temporary files; on Spark the shuffle moves them.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from typing import Any, BinaryIO, Literal, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from inspector.arrays import Int64s
from inspector.codec import Message
from inspector.decode.composed_rows import columns_of
from inspector.decode.encoded_rows import NO_FAMILY
from inspector.decode.records import RecordBlock
from inspector.decode.row_programs import RowHash, partitions_of
from inspector.decode.sst.live import DELIMITER
from inspector.discovery.tasks import StoreTask, Task
from inspector.encode.records import DeltaForm, RawRecords, Record
from inspector.encode.stored_rows import Entry, StoredRows, split
from inspector.exceptions import DecodeError
from inspector.facts.checks import ReadProblem
from inspector.facts.copied import MisplacedRow, RowPrints
from inspector.facts.fact import Observed
from inspector.kernel.loader import kernel
from inspector.light_dataclasses import dataclass, field, replace
from inspector.model import StoreId
from inspector.operators.transform_with_state import GroupingKey
from inspector.passes.binary_columns import records_of
from inspector.passes.copy_partition import Choice, KeptRows, in_order
from inspector.passes.folder_writer import FolderWriter
from inspector.passes.list_rows import ListRow, lists_of
from inspector.passes.state_formats import Converter, FormatOne
from inspector.passes.store_reader import StoreReader, open_stores
from inspector.sparktypes import StructType
from inspector.sparktypes.schema_json import parse_schema_json

_CHUNK_BYTES = 8 << 20  # bytes of rows that are sorted and packed at once
_HEAD_BYTES = 3 * 8  # bytes before the content of a parcel: number of rows, size, checksum
_MAX_RATIO = 255  # most bytes that LZ4 makes of one
_CODEC: Literal["lz4_raw"] = "lz4_raw"  # compression of a parcel
_SIZE = np.dtype(">i4")  # a size in a delta or snapshot
_SIZE_BYTES = 8  # bytes of a number in a temporary file


@dataclass(frozen=True)
class SortTask(Message):
    """One partition of the source, whose rows are sorted by their new partition."""

    task: Task  # the partition, at the version that is copied
    partitions: int  # new number of partitions
    folder: str  # folder of the temporary files; empty to write none
    # part of the key that Spark hashes, by store; a store is absent if it is not known
    keys: Mapping[str, GroupingKey] = field(default_factory=dict)
    stays: bool = False  # all rows keep their partition
    # kind of an operator whose values are converted from state format 1 to 2; None to convert none
    converted: FormatOne | None = None


@dataclass(frozen=True)
class FilledFolder:
    """One folder of state files of the copy."""

    directory: str  # of the folder, below the root
    stores: tuple[str, ...]  # names of its stores
    form: DeltaForm  # the file with the rows
    base_name: str = ""  # name of the snapshot before it; empty without one
    base_hex: str = field(default="", repr=False)  # its content in hex
    # number of each column family by its name; empty if the stores have none
    families: Mapping[str, int] = field(default_factory=dict)
    hadoop_sums: bool = False  # files have checksum files of Hadoop
    spark_sums: bool = False  # files have checksum files of Spark


@dataclass(frozen=True)
class FillTask(Message):
    """One partition of the copy."""

    task: Task  # a partition of the source with the same stores; its files are not read
    partition_id: int  # number of the partition that is written
    sources: tuple[int, ...]  # partitions of the source
    folder: str  # folder of the temporary files; empty if rows are passed to the task
    folders: tuple[FilledFolder, ...]  # folders of the partition
    # url, options: the new root; an empty URL to find out what would be written. The options may
    # hold credentials: never shown.
    url: str = field(default="", repr=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def into(self, url: str, options: Mapping[str, str]) -> FillTask:
        """Return the task with the root, and its storage options, that it writes to."""
        return replace(self, url=url, options=options)


# --- reading the source ---------------------------------------------------------------------------


def sort_partition(request: SortTask, choice: Choice) -> Iterator[Observed[Any]]:
    """Sort the rows of a partition into temporary files, without those that are evicted.

    Yields:
        The facts of :func:`read_partition`. Without a folder no file is written.
    """
    with _RowFiles(request) as files:
        for item in read_partition(request, choice, packs=bool(request.folder)):
            if isinstance(item, Parcel):
                files.write(item)
            else:
                yield item


def read_partition(
    request: SortTask, choice: Choice, *, packs: bool = True
) -> Iterator[Observed[Any] | Parcel]:
    """Read a partition and pack its rows by their new partition, without those that are evicted.

    Yields:
        The parcels of each store, if ``packs``. For each store its rows after the eviction
        (:class:`RowPrints`), what was evicted, problems of reading, and the first row that the
        hash does not put there (:class:`MisplacedRow`).
    """
    task = request.task
    opened = in_order(open_stores(task))
    kept = KeptRows(task, choice, [store for store, _ in opened])
    for store, reader in opened:
        placing = _Placing.of(request, store)
        prints, packer = RowPrints(), _Packer(store.store_name, request.partitions)
        parts, converter = kept.parts(store, reader, removes=False), None
        if request.converted is not None:
            converter = Converter.of_store(request.converted, store)
        for block, live in chain.from_iterable(part.blocks() for part in parts):
            if converter is not None and len(live):
                block = converter.convert(block, live)
                live = block.ordinals
            targets, wrong = placing.targets(block, live)
            if len(wrong):
                yield _make_misplaced_row(reader, task.version, placing, block, live[wrong[:1]])
                break
            prints += RowPrints.of(block, live)
            if packs:
                yield from packer.add(block, live, targets)
        yield from packer.flush()
        yield Observed(reader.store, task.version, prints)
        yield from kept.take_facts()
        for problem in reader.problems:
            yield ReadProblem.observe(problem, reader.store, task.version)


class _Placing(NamedTuple):
    """How the partition of a store's rows is found."""

    hashed: RowHash | None  # None if it is not known
    old: int  # number of partitions of the source
    new: int  # number of partitions of the copy
    partition_id: int  # partition of the source
    stays: bool  # all rows keep their partition

    @classmethod
    def of(cls, request: SortTask, store: StoreTask) -> _Placing:
        """Return how the rows of a store are placed."""
        task, part = request.task, request.keys.get(store.store_name)
        hashed = None
        if part is not None and store.key_schema is not None:
            schema = parse_schema_json(store.key_schema)
            hashed = RowHash.of_part(schema, part.path, part.fields)
        return cls(hashed, task.partitions, request.partitions, task.partition_id, request.stays)

    def targets(self, block: RecordBlock, rows: Int64s) -> tuple[Int64s, Int64s]:
        """Return the new partition of some records, and which of them are not proven to be here.

        The second array has positions in ``rows``.
        """
        if self.stays:
            return np.full(len(rows), self.partition_id), np.empty(0, np.int64)
        if self.hashed is None:
            return np.zeros(len(rows), np.int64), np.arange(len(rows))
        spans = block.buffer, block.key_offset[rows], block.key_length[rows]
        hashes, is_known = self.hashed.hashes(*spans)
        is_proven = is_known & (partitions_of(hashes, self.old) == self.partition_id)
        return partitions_of(hashes, self.new), np.flatnonzero(~is_proven)


def _make_misplaced_row(
    reader: StoreReader, version: int, placing: _Placing, block: RecordBlock, rows: Int64s
) -> Observed[MisplacedRow]:
    """Return the fact that the first of some records is not proven to be in its partition."""
    expected = -1
    if placing.hashed is not None:
        spans = block.buffer, block.key_offset[rows], block.key_length[rows]
        where, is_known = placing.hashed.partitions(*spans, placing.old)
        expected = int(where[0]) if is_known[0] else -1
    ((key, _),) = records_of(block, rows)
    return Observed(reader.store, version, MisplacedRow(key, expected))


def _path_of_rows(folder: str, task: Task, store: str, partition_id: int) -> str:
    """Return the temporary file with the sorted rows of a store in one source partition."""
    names = [item.store_name for item in task.stores]
    return os.path.join(folder, f"{task.operator_id}-{partition_id}-{names.index(store)}")


class Parcel(NamedTuple):
    """Rows of one store that have the same new partition."""

    store_name: str  # the store
    target: int  # the new partition
    chunk: int  # number of the chunk of the store's rows that the rows are from
    data: bytes = b""  # the rows as :func:`unpack` reads them


class _Packer:
    """Packs the rows of a store by their new partition, a chunk of rows at a time."""

    def __init__(self, store_name: str, partitions: int) -> None:
        self._store_name, self._partitions = store_name, partitions
        self._keys: list[bytes] = []
        self._values: list[bytes] = []
        self._key_sizes: list[Int64s] = []
        self._value_sizes: list[Int64s] = []
        self._targets: list[Int64s] = []
        self._bytes = self._chunk = 0

    def add(self, block: RecordBlock, rows: Int64s, targets: Int64s) -> Iterator[Parcel]:
        """Add records of a block with their new partitions; yield the parcels of a full chunk."""
        sizes = block.key_length[rows], block.value_length[rows]
        self._keys.append(kernel().gather(block.buffer, block.key_offset[rows], sizes[0]))
        self._values.append(kernel().gather(block.buffer, block.value_offset[rows], sizes[1]))
        self._key_sizes.append(sizes[0])
        self._value_sizes.append(sizes[1])
        self._targets.append(targets)
        self._bytes += len(self._keys[-1]) + len(self._values[-1])
        if self._bytes >= _CHUNK_BYTES:
            yield from self.flush()

    def flush(self) -> Iterator[Parcel]:
        """Yield a parcel for each new partition of the rows that were added since the last one."""
        if not self._targets:
            return
        # Of small numbers numpy sorts each byte once.
        targets = np.concatenate(self._targets).astype(np.min_scalar_type(self._partitions))
        order = np.argsort(targets, kind="stable")
        bounds = np.searchsorted(targets[order], np.arange(self._partitions + 1))
        parts = []
        for pieces, lists in ((self._keys, self._key_sizes), (self._values, self._value_sizes)):
            sizes = np.concatenate(lists)
            data = kernel().gather(b"".join(pieces), starts_of(sizes)[order], sizes[order])
            starts = np.concatenate([[0], np.cumsum(sizes[order])])
            parts.append((sizes[order], memoryview(data), starts[bounds]))
            pieces.clear()
            lists.clear()
        self._targets.clear()
        self._bytes, chunk = 0, self._chunk
        self._chunk += 1
        for target in np.flatnonzero(np.diff(bounds)).tolist():
            rows = slice(bounds[target], bounds[target + 1])
            body = [sizes[rows].data.cast("B") for sizes, _, _ in parts]
            body += [data[starts[target] : starts[target + 1]] for _, data, starts in parts]
            yield Parcel(self._store_name, target, chunk, _pack(rows.stop - rows.start, body))


def starts_of(sizes: Int64s) -> Int64s:
    """Return where each of some byte strings starts that follow each other."""
    result = np.zeros(len(sizes), np.int64)
    np.cumsum(sizes[:-1], out=result[1:])
    return result


def _pack(count: int, parts: Sequence[memoryview]) -> bytes:
    """Return rows as bytes: their number, size and checksum, and their content compressed.

    ``parts`` are the sizes of keys, the sizes of values, the keys and the values.
    """
    body = b"".join(parts)
    data = pa.compress(body, codec=_CODEC, asbytes=True)
    return np.array([count, len(body), zlib.crc32(data)], np.int64).tobytes() + data


def unpack(data: bytes) -> RecordBlock:
    """Return the rows of a parcel. OSError: the bytes are not those of a parcel."""
    head, compressed = data[:_HEAD_BYTES], data[_HEAD_BYTES:]
    count, size, checksum = np.frombuffer(head.ljust(_HEAD_BYTES, b"\0"), np.int64).tolist()
    is_possible = 0 <= 2 * count * _SIZE_BYTES <= size <= _MAX_RATIO * len(data)
    if len(head) < _HEAD_BYTES or zlib.crc32(compressed) != checksum or not is_possible:
        raise OSError("rows that were packed before cannot be unpacked: their bytes were changed")
    body = pa.decompress(compressed, size, codec=_CODEC, asbytes=True)
    sizes = np.frombuffer(body, np.int64, 2 * count)
    keys, values = sizes[:count], sizes[count:]
    start = len(sizes) * _SIZE_BYTES
    ends = start + int(keys.sum()), len(body)
    starts = starts_of(keys) + start, starts_of(values) + ends[0]
    return RecordBlock(body, 0, 0, starts[0], keys, starts[1], values)


class _RowFiles:
    """Temporary files with the parcels of one partition of the source: two for each store.

    The second file has three numbers for each parcel: its target, position and size.
    """

    def __init__(self, request: SortTask) -> None:
        self._request, self._stack = request, ExitStack()
        self._files: dict[str, tuple[BinaryIO, BinaryIO]] = {}

    def __enter__(self) -> _RowFiles:
        """Create the files of all stores, if there is a folder for them."""
        task = self._request.task
        for store in task.stores if self._request.folder else ():
            path = _path_of_rows(self._request.folder, task, store.store_name, task.partition_id)
            file = self._stack.enter_context(open(path, "wb"))
            index = self._stack.enter_context(open(f"{path}.index", "wb"))
            self._files[store.store_name] = file, index
        return self

    def write(self, parcel: Parcel) -> None:
        """Append a parcel to the files of its store. Raises OSError."""
        file, index = self._files[parcel.store_name]
        entry = np.array([parcel.target, file.tell(), len(parcel.data)], np.int64)
        index.write(entry.tobytes())
        file.write(parcel.data)

    def __exit__(self, *error: object) -> None:
        """Close the files."""
        self._stack.close()


class Rows(Protocol):
    """Rows of one partition of the copy."""

    def blocks(self, store_name: str) -> Iterator[RecordBlock]:
        """Yield the rows of a store; each store is read once, in the order of the folders."""


class _FiledRows(NamedTuple):
    """Rows of one partition of the copy in the temporary files of all source partitions."""

    request: FillTask  # the partition

    def blocks(self, store_name: str) -> Iterator[RecordBlock]:
        """Yield the rows of a store, a block for each parcel. OSError: a file was cut."""
        request = self.request
        for source in request.sources:
            path = _path_of_rows(request.folder, request.task, store_name, source)
            with open(path, "rb") as file, open(f"{path}.index", "rb") as index:
                entries = np.frombuffer(index.read(), np.int64).reshape(-1, 3)
                for _, start, size in entries[entries[:, 0] == request.partition_id].tolist():
                    file.seek(start)
                    yield unpack(file.read(size))


class SentRows:
    """Rows of one partition of the copy that arrive in the order of its stores."""

    def __init__(self, order: Sequence[str], parcels: Iterable[tuple[int, bytes]]) -> None:
        """Keep parcels, each with the position of its store in ``order``."""
        self._order, self._parcels = order, iter(parcels)
        self._next = next(self._parcels, None)

    def blocks(self, store_name: str) -> Iterator[RecordBlock]:
        """Yield the rows of a store, a block for each parcel. Raises OSError."""
        position = self._order.index(store_name)
        while self._next is not None and self._next[0] == position:
            yield unpack(self._next[1])
            self._next = next(self._parcels, None)


# --- writing the copy -----------------------------------------------------------------------------


def stores_in_order(request: FillTask) -> list[str]:
    """Return the names of a partition's stores in the order in which they are written."""
    return [name for folder in request.folders for name in folder.stores]


def fill_partition(request: FillTask, rows: Rows | None = None) -> Iterator[Observed[Any]]:
    """Write one partition of the copy.

    ``rows`` None: the rows are in the temporary files.

    Yields:
        The rows of each store (:class:`RowPrints`) and the files of each folder.
    """
    stores = {store.store_name: store for store in request.task.stores}
    for folder in request.folders:
        writer = _Filler(request, folder, _FiledRows(request) if rows is None else rows)
        entries = (writer.records(stores[name]) for name in folder.stores)
        writer.write(chain.from_iterable(entries))
        yield from writer.facts()


class _Filler:
    """Writer of the rows of one folder of the copy."""

    def __init__(self, request: FillTask, folder: FilledFolder, rows: Rows) -> None:
        self._request, self._folder, self._rows = request, folder, rows
        sums = {"hadoop_sums": folder.hadoop_sums, "spark_sums": folder.spark_sums}
        self._writer = FolderWriter(request.url, request.options, folder.directory, **sums)
        self._prints = {name: RowPrints() for name in folder.stores}

    def facts(self) -> Iterator[Observed[Any]]:
        """Yield the rows of each store, and what was written."""
        task, partition = self._request.task, self._request.partition_id
        ids = [StoreId(task.operator_id, name, partition) for name in self._folder.stores]
        for store, prints in zip(ids, self._prints.values(), strict=True):
            yield Observed(store, task.version, prints)
        yield Observed(ids[0], task.version, self._writer.written)

    def records(self, store: StoreTask) -> Iterator[Record | RawRecords]:
        """Yield the records of a store. DecodeError: its rows cannot be written."""
        form = self._folder.form
        blocks = self._blocks(store)
        if not form.changelog and not form.row_checksum:
            yield from map(frame_puts, blocks)
        elif not form.changelog:
            for block in blocks:
                yield from records_of(block, block.ordinals)
        else:
            yield from self._encode_rows(store, blocks)

    def _blocks(self, store: StoreTask) -> Iterator[RecordBlock]:
        """Yield the rows of a store, and add them up."""
        for block in self._rows.blocks(store.store_name):
            self._prints[store.store_name] += RowPrints.of(block, block.ordinals)
            yield block

    def _encode_rows(self, store: StoreTask, blocks: Iterator[RecordBlock]) -> Iterator[Record]:
        """Yield the records of a store as RocksDB keeps them."""
        first = next(blocks, None)
        if first is None:
            return
        task, families, family = self._request.task, self._folder.families, None
        if store.column_family is not None:
            family = families.get(store.column_family, NO_FAMILY)
            if family == NO_FAMILY:
                raise DecodeError(f"no snapshot has a number for {store.column_family[:80]!r}")
        schema = None if store.key_schema is None else parse_schema_json(store.key_schema)
        if schema is not None and store.several_values:
            schema = StructType(schema.fields[:-1])
        delimiter = DELIMITER if task.merge_delimiter else b""
        stored = StoredRows(store.key_encoder, schema, family, delimiter, task.row_checksum)
        rows = chain([first], blocks)
        yield from stored.records(_lists(store, rows) if store.several_values else _pairs(rows))

    def write(self, entries: Iterable[Record | RawRecords]) -> None:
        """Write the files of the folder, with their checksum files."""
        folder = self._folder
        if folder.base_name:
            self._writer.write_with_sums(folder.base_name, [bytes.fromhex(folder.base_hex)])
        self._writer.write_with_sums(folder.form.name, folder.form.chunks(entries))


def frame_puts(block: RecordBlock) -> RawRecords:
    """Return the puts of a block as a delta or snapshot has them: sizes before keys and values."""
    keys, values = block.key_length, block.value_length
    count = len(keys)
    sizes = np.stack([keys, values], axis=1).astype(_SIZE).tobytes()
    place = np.arange(count, dtype=np.int64) * 2 * _SIZE.itemsize
    widths = np.full(count, _SIZE.itemsize, np.int64)
    start = len(sizes)
    offsets = [place, block.key_offset + start, place + _SIZE.itemsize, block.value_offset + start]
    spans = np.stack(offsets, axis=1).ravel(), np.stack([widths, keys, widths, values], 1).ravel()
    return bytes(kernel().gather(sizes + block.buffer, *spans))


def _pairs(blocks: Iterable[RecordBlock]) -> Iterator[Entry]:
    """Yield the keys and values of blocks."""
    for block in blocks:
        yield from records_of(block, block.ordinals)


def _lists(store: StoreTask, blocks: Iterable[RecordBlock]) -> Iterator[Entry]:
    """Yield the lists of a store whose values have several rows, each with its key.

    The last column of a row's key is its position in the list.
    """
    types = [column.data_type for column in parse_schema_json(store.key_schema or "").fields]

    def rows() -> Iterator[ListRow]:
        """Yield the rows of all lists."""
        for block in blocks:
            columns = columns_of(block.buffer, block.key_offset, block.key_length, types)
            keys = split(block.buffer, columns[:-1], block.count)
            positions = columns[-1].slots.tolist()
            values = (value for _, value in records_of(block, block.ordinals))
            yield from map(ListRow, keys, positions, values)

    yield from lists_of(rows())
