"""RocksDB's own files in a snapshot: ``CURRENT``, and the ``MANIFEST`` that it names.

Spark unpacks them, fetches the tables that the entry ``metadata`` lists, and lets RocksDB open all
of them (``RocksDB.load``). RocksDB uses the tables that the MANIFEST lists, and no others:

* It refuses the snapshot if CURRENT or MANIFEST is damaged, or if the MANIFEST lists a table that
  is missing, has another size, or is another table.
* It deletes, without a message, a table that the MANIFEST does not list.
* It hides, without a message, entries above the last sequence number of the MANIFEST.
* It opens the database without ``OPTIONS``, whatever is in it.

All of this is as Spark 4.3.0 does it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from inspector.decode.manifest import LiveTable, Manifest, read_manifest
from inspector.exceptions import DecodeError, NewerFormError, RefusedSnapshotError
from inspector.light_dataclasses import dataclass, field

CURRENT = "CURRENT"  # entry of the zip with the name of the MANIFEST
_MANIFEST = re.compile(r"MANIFEST-[0-9]+")  # names that a MANIFEST can have
_LOG = re.compile(r"[0-9]+\.log")  # names of logs of writes
_TABLE = re.compile(r"([0-9]{1,19})\.sst")  # number in the name of a table
_MOST_BYTES = 8 << 20  # most bytes of a MANIFEST that is read; Spark's have some kilobytes
_SHOWN = 60  # characters of CURRENT that a message shows
_LAST_SEQUENCE_NUMBER = (1 << 56) - 1  # the largest one of RocksDB (``kMaxSequenceNumber``)


@dataclass(frozen=True)
class Bookkeeping:
    """Findings from RocksDB's own files in a snapshot: CURRENT, MANIFEST and table properties."""

    # why RocksDB does not open the snapshot; None if it does, or if that is not known
    refusal: RefusedSnapshotError | None = None
    # sentence on rows that RocksDB hides when it opens the snapshot; empty if there are none
    hidden: str = ""
    # tables that ``metadata`` lists and that RocksDB deletes, because the MANIFEST does not list
    # them
    unlisted: frozenset[str] = frozenset()
    # unique ids that the MANIFEST records, by the tables' names on the storage
    unique_ids: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    # numbers of the tables that the MANIFEST lists, by their names on the storage
    numbers: Mapping[str, int] = field(default_factory=dict)
    manifest: str = ""  # name of the MANIFEST; empty if none was read


def manifest_name(current: bytes | None, names: Iterable[str]) -> str:
    """Return the name of the MANIFEST that CURRENT names; empty if the database is empty.

    ``current`` is the content of CURRENT, None if the zip has none (then the database is empty).
    ``names`` are the names of all entries. RefusedSnapshotError: CURRENT names no MANIFEST in the
    zip, or is missing next to a log.
    """
    if current is None:
        log = next((name for name in names if _LOG.fullmatch(name)), None)
        if log is None:
            return ""
        raise RefusedSnapshotError.of(
            f"got no entry {CURRENT} in the zip, expected one",
            f"While creating a new Db, wal_dir contains existing log file: {log}",
        )
    if not current.endswith(b"\n"):
        got = f"{len(current):,} bytes without a newline" if current else "an empty entry"
        raise RefusedSnapshotError.of(
            f"got {got} as {CURRENT}, expected the name of a MANIFEST and a newline",
            "CURRENT file does not end with newline",
        )
    name = current[:-1].decode("utf-8", "replace").lstrip("/")
    if not _MANIFEST.fullmatch(name):
        raise RefusedSnapshotError.of(
            f"got {name[:_SHOWN]!r} in {CURRENT}, expected the name of a MANIFEST and a newline",
            "CURRENT file corrupted",
        )
    if name not in names:
        raise RefusedSnapshotError.of(
            f"got {name} in {CURRENT}, which is not in the zip",
            f"While opening a file for sequentially reading: {name}: No such file or directory",
        )
    return name


def compare_tables(
    name: str, content: bytes, listed: Iterable[tuple[str, Mapping[str, Any]]]
) -> Bookkeeping:
    """Compare the tables of a MANIFEST with those of ``metadata``, and return the findings.

    ``name`` and ``content`` are those of the MANIFEST, empty if there is none. ``listed`` are pairs
    of a table's name on the storage and its entry in ``metadata``.
    """
    if len(content) > _MOST_BYTES:
        return Bookkeeping(manifest=name)
    listed_tables: dict[int, tuple[str, object]] = {}
    for path, fields in listed:
        match = _TABLE.fullmatch(str(fields.get("localFileName")).rpartition("/")[2])
        if match is None:
            return Bookkeeping(manifest=name)
        listed_tables[int(match[1])] = path, fields.get("sizeBytes")
    try:
        manifest = _manifest(name, content)
        live = manifest.tables
        for number, table in sorted(live.items()):
            _check_listed(name, number, table, listed_tables)
    except NewerFormError:
        return Bookkeeping(manifest=name)
    except RefusedSnapshotError as refusal:
        return Bookkeeping(refusal, manifest=name)
    numbers = {listed_tables[number][0]: number for number in live}
    ids = {path: live[number].unique_id for path, number in numbers.items()}
    return Bookkeeping(
        hidden=_hidden_message(name, manifest),
        unlisted=frozenset(path for path, _ in listed_tables.values() if path not in numbers),
        unique_ids={path: known for path, known in ids.items() if known is not None},
        numbers=numbers,
        manifest=name,
    )


def lost_message(bookkeeping: Bookkeeping) -> str:
    """Return the sentence on rows of a snapshot that RocksDB loses; empty if it loses none."""
    if not bookkeeping.unlisted:
        return bookkeeping.hidden
    names = sorted(bookkeeping.unlisted)
    more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
    where = f"{bookkeeping.manifest} does not list" if bookkeeping.manifest else "no MANIFEST lists"
    return (
        f"got the table {names[0]}{more} in the entry metadata, which {where}, expected the same "
        "tables in both. RocksDB deletes it when Spark loads the snapshot, and the rows that it "
        "alone has are lost"
    )


def _hidden_message(name: str, manifest: Manifest) -> str:
    """Return the sentence on rows that RocksDB hides; empty if it shows all."""
    last, largest = manifest.last_sequence, manifest.largest_sequence
    if manifest.overlap is not None:
        level, numbers = manifest.overlap
        first, second = (f"{number:06}.sst" for number in numbers)
        return (
            f"got the tables {first} and {second} with overlapping keys on level {level} of "
            f"{name}, expected one after the other. Spark 3.5 refuses the snapshot, and Spark 4 "
            "loads it without any row"
        )
    if largest <= last < _LAST_SEQUENCE_NUMBER or not manifest.tables:
        return ""
    if last >= _LAST_SEQUENCE_NUMBER:
        return (
            f"got {last} as the last sequence number in {name}, expected less than "
            f"{_LAST_SEQUENCE_NUMBER}. RocksDB finds no row when Spark loads the snapshot"
        )
    return (
        f"got {last} as the last sequence number in {name}, expected {largest} or more as in its "
        "tables. RocksDB hides newer rows when Spark loads the snapshot, and they are lost"
    )


def _manifest(name: str, content: bytes) -> Manifest:
    """Return the content of a MANIFEST. RefusedSnapshotError: RocksDB does not accept it."""
    if not name:
        return Manifest()
    try:
        manifest = read_manifest(content)
    except NewerFormError:
        raise
    except DecodeError as error:
        where = name if error.offset is None else f"byte {error.offset} of {name}"
        raise RefusedSnapshotError.of(f"{where}: {error.message}", error.message) from None
    if manifest.lacks:
        got = f"{len(content):,} bytes that end too early" if content else "an empty entry"
        lacking = ", ".join(manifest.lacks)
        raise RefusedSnapshotError.of(
            f"got {got} as {name}, expected the edits that make a database",
            f"no {lacking} entry in MANIFEST",
        )
    return manifest


def _check_listed(
    name: str, number: int, table: LiveTable, listed_tables: Mapping[int, tuple[str, object]]
) -> None:
    """Raise RefusedSnapshotError if ``metadata`` lacks a MANIFEST's table or differs in size."""
    local = f"{number:06}.sst"
    if number not in listed_tables:
        raise RefusedSnapshotError.of(
            f"{name} lists table {local}, which the entry metadata does not list",
            f"No such file or directory: While open a file for random read: {local}",
        )
    path, size = listed_tables[number]
    if isinstance(size, int) and size != table.size:
        words = f"Bad table magic number in {local}"
        if size < table.size:
            words = f"Input is too short to be an SST file in {local}"
        raise RefusedSnapshotError.of(
            f"{name} lists {table.size:,} bytes for {path}, the entry metadata {size:,}", words
        )
