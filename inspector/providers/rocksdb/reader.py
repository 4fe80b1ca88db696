"""Reader that decodes changelogs and snapshots of one store to records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, partial

from inspector.decode.changelog import read_changelog
from inspector.decode.encoded_rows import NO_FAMILY, KeyDecoder, range_of_family
from inspector.decode.records import ROW_CHECKSUM_BYTES, RecordBlock, Scanned
from inspector.decode.sst.live import DELIMITER, live_entries
from inspector.decode.sst.table import Table
from inspector.exceptions import DecodeError, NoSchemaError
from inspector.light_dataclasses import replace
from inspector.model import UNLISTED, FileKind, StoreFile
from inspector.providers.file_reader import FileReader
from inspector.providers.reader_options import AVRO, UNSAFE_ROW
from inspector.providers.rocksdb import PIECE_BYTES
from inspector.providers.rocksdb.avro_entries import AvroEntries
from inspector.providers.rocksdb.bookkeeping import lost_message
from inspector.providers.rocksdb.snapshot import (
    Snapshot,
    StorageSource,
    check_table_file,
    check_unique_id,
    read_snapshot,
)
from inspector.providers.rocksdb.store_records import Encoding, ListLengths, decode_block
from inspector.providers.task_files import TaskFiles


class RocksDbReader(FileReader):
    """Reader of the changelogs and snapshots of one store.

    A store that is one of several column families reads the shared files and passes over the
    entries of the others. If stores take turns, each uses what another one has decompressed
    (:meth:`.TaskFiles.in_turns`). The ``raw_bytes`` of a snapshot are those of its entries.
    """

    @cached_property
    def _lists(self) -> ListLengths | None:
        """Lengths of the store's lists; None if its values have one row."""
        return ListLengths() if self._options.form.several_values else None

    def expect(self, files: Iterable[StoreFile]) -> None:
        """Announce the files that will be read next; only changelogs are requested ahead."""
        super().expect(file for file in files if file.kind is FileKind.DELTA)

    def resume_from(self, earlier: FileReader) -> None:
        """Take over the lengths of lists that another reader of the store knows."""
        if isinstance(earlier, RocksDbReader):
            self._lists = earlier._lists

    def decode(self, file: StoreFile) -> Iterator[RecordBlock]:
        """Yield the store's records in a changelog or a snapshot, in blocks."""
        snapshot = file.kind is FileKind.SNAPSHOT
        if self._lists is not None:
            self._lists.begin(file.path, file.version or 0, snapshot=snapshot)
        encoding = replace(self._encoding, family=self.family(file))
        records = 0
        for result in self._in_turn(file, encoding.family):
            block = decode_block(result, records, encoding, self._lists)
            if block is not None:
                records += block.count
                yield block
            elif self._storage.turns is not None and not snapshot:
                yield RecordBlock.empty(records)  # so that the other stores do not fall behind
        if self._lists is not None:
            self._lists.end(file.path, file.version or 0)

    def snapshot_rows(self, file: StoreFile) -> int | None:
        """Return the row count in a snapshot; None for other files.

        If Spark did not count rows, it is the number of entries in the tables, an upper bound.
        """
        if file.kind is not FileKind.SNAPSHOT:
            return None
        snapshot = self._snapshot(file)
        if snapshot.keys >= 0:
            return snapshot.keys + snapshot.internal_keys
        tables = open_tables(self._storage, file, snapshot)
        return sum(table.properties.entries for table in tables)

    # -- files -------------------------------------------------------------------------------

    def _in_turn(self, file: StoreFile, family: int | None) -> Iterator[Scanned]:
        """Yield the scanned entries of a file; stores that share the file share the scan.

        ``family`` is the number of the store's column family, None if it has none. Entries of other
        families are yielded too. The store reads the file itself if the shared blocks were dropped.
        Of a snapshot that was read to its end before, it then reads only the part around its
        family.
        """
        # The first one reads it as a whole. A snapshot that is too large to be kept is then known
        # to be sound and in order: the others read their own part of it.
        snapshot = file.kind is FileKind.SNAPSHOT
        read = partial(self._entries if snapshot else self._changelog, file)
        turns = self._storage.turns
        if turns is None or family is None:
            return read()
        again = partial(self._entries, file, family) if snapshot else None
        return turns.blocks(file.path, read, again)

    def _changelog(self, file: StoreFile) -> Iterator[Scanned]:
        """Yield the entries of a changelog. DecodeError: its lineage has a newer version."""
        head, result = read_changelog(self.raw_blocks(file))
        newest = max((item.version for item in head.lineage), default=None)
        if newest is not None and newest >= (file.version or 0):
            message = f"got version {newest} in the lineage, expected versions below {file.version}"
            raise DecodeError(message)
        yield from result

    def _entries(self, file: StoreFile, family: int | None = None) -> Iterator[Scanned]:
        """Yield the live entries of a snapshot, or only those around one column family."""
        # For a column family only if the tables were read as a whole before.
        self._summed.add(file.path)  # every part of its archive has one, and every block of a table
        snapshot = self._snapshot(file)
        tables = open_tables(self._storage, file, snapshot)
        self._report_lost_rows(file, snapshot)
        start, end = (b"", None) if family is None else range_of_family(family)
        delimiter = DELIMITER if self._options.merge_delimiter else b""
        for live_block in live_entries(tables, start=start, end=end, delimiter=delimiter):
            self.raw_bytes += int(live_block.spans[1::2].sum())
            yield Scanned(live_block.buffer, 0, 0, live_block.spans, None)

    def _report_lost_rows(self, file: StoreFile, snapshot: Snapshot) -> None:
        """Report rows that RocksDB loses, once for all stores that share the snapshot."""
        reported = f"{file.path}#{UNLISTED}"
        message = lost_message(snapshot.bookkeeping)
        if message and reported not in self._storage.known:
            self._storage.known[reported] = True
            self._report(UNLISTED, message, file, None)

    def _snapshot(self, file: StoreFile) -> Snapshot:
        """Return a snapshot's description, read once for all stores; check its checksums."""
        cache = self._storage.known
        if file.path not in cache:
            content = None
            if file.size <= PIECE_BYTES:  # as many bytes as one request of a part has
                content = b"".join(self.chunks(file))
            elif self._checks.sides_of(file):
                self.check(file)
            cache[file.path] = read_snapshot(self._storage, file, content)
        snapshot: Snapshot = cache[file.path]
        return snapshot

    # -- encoding ----------------------------------------------------------------------------

    @cached_property
    def _encoding(self) -> Encoding:
        """Encoding of the store's entries, without column family. DecodeError: not known."""
        options, form = self._options, self._options.form
        if form.key is None and self._has_families():
            raise NoSchemaError("column families cannot be read: the state schema is missing")
        keys, delimiter = KeyDecoder(form.key, form.key_encoder), int(options.merge_delimiter)
        arguments = options.row_checksum, form.several_values, delimiter, self._avro()
        return Encoding(keys, None, *arguments)

    def _avro(self) -> AvroEntries | None:
        """Return what reads Avro rows; None for UnsafeRows. DecodeError: another encoding."""
        options, form = self._options, self._options.form
        if options.encoding.lower() == UNSAFE_ROW:
            return None
        if options.encoding.lower() != AVRO:
            raise DecodeError(
                f"rows are encoded as {options.encoding[:40]!r}, expected {UNSAFE_ROW!r} or "
                f"{AVRO!r} (spark.sql.streaming.stateStore.encodingFormat)"
            )
        if form.key is None or form.value is None:
            raise NoSchemaError("Avro cannot be read: the state schema is missing")
        return AvroEntries(
            *(form.key, form.value, form.key_encoder, form.written_values),
            int(options.merge_delimiter) if form.several_values else None,
            ROW_CHECKSUM_BYTES if options.row_checksum else 0,
        )

    def _has_families(self) -> bool:
        """Return True if a snapshot names column families, which only a schema describes."""
        for file in (item for item in self._files if item.kind is FileKind.SNAPSHOT):
            with suppress(DecodeError, OSError):
                return bool(self._snapshot(file).families)
        return False

    def family(self, file: StoreFile) -> int | None:
        """Return the number of the store's column family in a file; None if the store has none.

        It is NO_FAMILY if snapshots show that the family does not exist. DecodeError, OSError: no
        snapshot shows the number.
        """
        # Spark writes a snapshot with the version that makes a family
        # (RocksDB.createColFamilyIfAbsent), and the number stays until a repartition, which begins
        # with a snapshot of its own numbers. So the newest snapshot up to the file says it; others
        # do where that one cannot be read, or where it has no such family and no number that
        # contradicts them: the family was deleted with that version (deleteIfExists).
        name, version = self._options.form.column_family, file.version or 0
        if name is None:
            return None
        snapshots = [item for item in self._files if item.kind is FileKind.SNAPSHOT]
        error: DecodeError | OSError | None = None
        nearest: Mapping[str, int] | None = None
        # Up to the file's version the newest first, then those above.
        snapshots.sort(key=lambda f: ((f.version or 0) > version, abs((f.version or 0) - version)))
        for snapshot in snapshots:
            try:
                families = self._snapshot(snapshot).families
            except (DecodeError, OSError) as failed:
                error = failed
                continue
            nearest = families if nearest is None else nearest
            if name in families and _agree(families, nearest):
                return families[name]
        if error is None and snapshots:
            # Deleted since, or never made (the row counter of a list with TTL).
            return NO_FAMILY
        message = f"no snapshot says which entries belong to the column family {name[:80]!r}"
        raise error or DecodeError(message)


def _agree(families: Mapping[str, int], numbered: Mapping[str, int]) -> bool:
    """Return True if two snapshots number column families alike: no repartitioning between."""
    numbers = {number: name for name, number in numbered.items()}
    return all(
        numbered.get(name, number) == number and numbers.get(number, name) == name
        for name, number in families.items()
    )


def open_tables(storage: TaskFiles, file: StoreFile, snapshot: Snapshot) -> list[Table]:
    """Open the table files of a snapshot that RocksDB opens, without reading a row.

    DecodeError, with the path and, within a table, the offset: a table is missing, has another size
    than the snapshot records, breaks its format, or is refused by RocksDB. Raises OSError.
    """
    folder, _, name = file.path.rpartition("/")
    listed = []
    for table in snapshot.tables:
        path = f"{folder}/{table.name}"
        if path not in storage.known:
            storage.known[path] = storage.stat(storage.relative(path))
        entry = storage.known[path]
        size = None if entry is None or entry.is_dir else entry.size
        check_table_file(table, size, path, name)
        table_file = replace(file, path=path, kind=FileKind.TABLE, version=None, size=size or 0)
        listed.append((table, table_file))
    bookkeeping = snapshot.bookkeeping
    if bookkeeping.refusal is not None:
        raise bookkeeping.refusal.at(file.path)
    tables: list[Table] = []
    for table, table_file in {
        table.name: (table, stored_file) for table, stored_file in listed
    }.values():
        if table.name not in bookkeeping.unlisted:
            opened = Table(StorageSource(storage, table_file), table_file.path)
            check_unique_id(opened.properties.stored, table, bookkeeping, table_file.path, name)
            tables.append(opened)
    return tables


READER = RocksDbReader
