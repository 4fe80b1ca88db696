"""Damage of RocksDB's own files in a snapshot, and what Spark 4.3.0 does with each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from inspector.decode.manifest import log_records
from inspector.discovery.restart import Restart
from inspector.render.report import Report
from tests.rocks import comparator_edit, deletion_edit, entries_of, manifest, rewrite_zip, varint


def restart_in(report: Report) -> Restart:
    """The restart that the verdict of a report is about."""
    assert report.verdict is not None
    assert report.verdict.restart is not None
    return report.verdict.restart


Change = Callable[[bytes], "bytes | None"]


def newest_zip(folder: Path) -> Path:
    """The newest snapshot in the folder of a store."""
    return max(folder.glob("*.zip"), key=lambda path: int(path.stem.partition("_")[0]))


def change_entry(folder: Path, prefix: str, change: Change) -> None:
    """Change an entry of the newest snapshot, or leave it out if the change gives None."""
    path, entries = newest_zip(folder), {}
    for name, content in entries_of(path).items():
        changed = change(content) if name.startswith(prefix) else content
        if changed is not None:
            entries[name] = changed
    rewrite_zip(path, entries)


def flip(content: bytes) -> bytes:
    """The content with one bit of the byte in its middle changed."""
    middle = len(content) // 2
    return content[:middle] + bytes((content[middle] ^ 1,)) + content[middle + 1 :]


TABLE_ID = b"\x0c\x10"
"""Tag and size before the unique id of a table in an edit."""


def edits_of(content: bytes) -> list[bytes]:
    """Return the edits of a MANIFEST."""
    return [edit for _, edit in log_records(content)]


def tables_of(content: bytes) -> list[bytes]:
    """Return the edits of a MANIFEST that add tables."""
    return [edit for edit in edits_of(content) if TABLE_ID in edit]


def other_unique_id(content: bytes) -> bytes:
    """A MANIFEST with another unique id of each table, under true checksums."""
    changed = []
    for edit in edits_of(content):
        head, tag, unique_id = edit.rpartition(TABLE_ID)
        changed.append(head + tag + flip(unique_id) if tag else edit)
    assert changed != edits_of(content)
    return manifest(changed)


def without_tables(content: bytes) -> bytes:
    """A MANIFEST without the edits that add tables to those of its beginning."""
    return manifest([edit for edit in edits_of(content) if TABLE_ID not in edit])


def with_edit(edit: bytes) -> Change:
    """A change that appends an edit to a MANIFEST, under true checksums."""
    return lambda content: manifest([*edits_of(content), edit])


def with_last_table_twice(content: bytes) -> bytes:
    """A MANIFEST that adds its last table twice, under true checksums."""
    return manifest([*edits_of(content), tables_of(content)[-1]])


class Damage(NamedTuple):
    """One damage of an entry of a snapshot."""

    prefix: str  # beginning of the entry's name
    change: Change
    # what RocksDB says of it; no text if it opens the snapshot
    words: str = ""
    loses: bool = False  # rows are gone without an error
    crashes: bool = False  # RocksDB ends the JVM, which tests share: seen in one of its own


NO_NUMBERS = "no log_file_number, next_file_number, last_sequence entry in MANIFEST"
DAMAGES = {
    "nothing": Damage("CURRENT", bytes),
    "CURRENT is empty": Damage("CURRENT", lambda _: b"", "CURRENT file does not end with newline"),
    "CURRENT has no newline": Damage(
        "CURRENT", bytes.rstrip, "CURRENT file does not end with newline"
    ),
    "CURRENT names an absent MANIFEST": Damage(
        "CURRENT",
        lambda _: b"MANIFEST-009999\n",
        "While opening a file for sequentially reading",
    ),
    "CURRENT is other text": Damage("CURRENT", lambda _: b"hello\n", "CURRENT file corrupted"),
    "CURRENT is gone": Damage("CURRENT", lambda _: None, "While creating a new Db"),
    "MANIFEST is gone": Damage(
        "MANIFEST", lambda _: None, "While opening a file for sequentially reading"
    ),
    "MANIFEST is empty": Damage("MANIFEST", lambda _: b"", NO_NUMBERS),
    "MANIFEST is cut to a few bytes": Damage("MANIFEST", lambda data: data[:100], NO_NUMBERS),
    "MANIFEST lacks its last bytes": Damage("MANIFEST", lambda data: data[:-3]),
    "MANIFEST has zeros behind it": Damage("MANIFEST", lambda data: data + bytes(99)),
    "MANIFEST has a flipped bit": Damage("MANIFEST", flip, "checksum mismatch"),
    "MANIFEST has other unique ids": Damage(
        "MANIFEST", other_unique_id, "Mismatch in unique ID on table file"
    ),
    "MANIFEST lacks tables": Damage("MANIFEST", without_tables, loses=True),
    "MANIFEST deletes an absent table": Damage(
        "MANIFEST",
        with_edit(deletion_edit(0, 999)),
        "Cannot delete table file #999 from level 0 since it is not in the LSM tree",
    ),
    "MANIFEST adds a table twice": Damage(
        "MANIFEST", with_last_table_twice, "since it is already in the LSM tree on level 0"
    ),
    "MANIFEST names another comparator": Damage(
        "MANIFEST", with_edit(comparator_edit(b"other")), "does not match existing comparator other"
    ),
    "MANIFEST drops the default column family": Damage(
        "MANIFEST",
        with_edit(varint(200) + varint(0) + varint(202)),
        "the default column family is dropped",
        crashes=True,
    ),
    "MANIFEST has a lower last sequence": Damage(
        "MANIFEST", with_edit(varint(4) + varint(0)), loses=True
    ),
    "MANIFEST has too high a last sequence": Damage(
        "MANIFEST", with_edit(varint(4) + varint(1 << 56)), loses=True
    ),
    "OPTIONS is empty": Damage("OPTIONS", lambda _: b""),
    "OPTIONS is gone": Damage("OPTIONS", lambda _: None),
}
