"""What happens to a checkpoint between two runs of a query.

Each change is a function of the checkpoint's folder. It raises :class:`NotThere` if the checkpoint
has nothing that it could change.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

STORED = re.compile(r"(\d+)(?:_[0-9a-f-]+)?\.(delta|snapshot|changelog|zip)")
"""Name of a state file: its version and its kind."""

AGE_S = 30 * 24 * 3600  # how far back all file times are set


class NotThere(Exception):  # noqa: N818 - it is no error of the program
    """The checkpoint lacks what would be changed."""


def _first(paths: list[Path], subject: str) -> Path:
    if not paths:
        raise NotThere(subject)
    return paths[0]


def _remove(path: Path) -> None:
    """Remove a file with its checksum file, or a folder."""
    if path.is_dir():
        shutil.rmtree(path)
        return
    path.unlink()
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def _write(path: Path, data: bytes) -> None:
    """Replace the content of a file, without a checksum file that would contradict it."""
    path.write_bytes(data)
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def _partition(root: Path, number: int = 1) -> Path:
    """Folder of one partition of the first operator, or of its only partition."""
    result = [root / "state/0" / str(n) for n in (number, 0)]
    return _first([path for path in result if path.is_dir()], "a partition")


def state_files(root: Path, kinds: tuple[str, ...], partition: int = 1) -> list[Path]:
    """State files of one store, the newest first.

    Args:
        root: the checkpoint.
        kinds: their kinds, such as ``delta``.
        partition: the partition of the first operator.
    """
    folder = _partition(root, partition)
    stores = sorted(path for path in folder.rglob("*") if STORED.fullmatch(path.name))
    folders = sorted({path.parent for path in stores})
    own = [path for path in stores if path.parent == folders[0]] if folders else []
    of_kind = [path for path in own if path.name.rpartition(".")[2] in kinds]
    return sorted(of_kind, key=lambda path: -int(path.name.split(".")[0].split("_")[0]))


CHANGES = ("delta", "changelog")
SNAPSHOTS = ("snapshot", "zip")


def _entries(root: Path, log: str) -> list[Path]:
    """Entries of a log, the newest first."""
    result = [path for path in (root / log).glob("[0-9]*") if path.name.isdecimal()]
    return sorted(result, key=lambda path: -int(path.name))


def _newest_entry(root: Path, log: str) -> Path:
    return _first(_entries(root, log), f"an entry of {log}")


# --- nothing of importance -----------------------------------------------------------------------


def sound(_root: Path) -> None:
    """Change nothing."""


def age(root: Path) -> None:
    """Set the times of all files back."""
    for path in root.rglob("*"):
        if path.is_file():
            time = path.stat().st_mtime - AGE_S
            os.utime(path, (time, time))


def lose_checksum_files(root: Path) -> None:
    """Remove Hadoop's checksum files, as a copy by other tools does."""
    for path in root.rglob(".*.crc"):
        path.unlink()


def add_strangers(root: Path) -> None:
    """Add files that tools leave: markers of folders and of desktops."""
    for folder in [path for path in root.rglob("*") if path.is_dir()]:
        (folder / ".DS_Store").write_bytes(b"\0\0\0\1Bud1")
        folder.with_name(f"{folder.name}_$folder$").write_bytes(b"")


# --- state files ---------------------------------------------------------------------------------


def lose_newest_change(root: Path) -> None:
    """Remove the newest delta or changelog of one store."""
    _remove(_first(state_files(root, CHANGES), "a delta"))


def lose_newest_snapshot(root: Path) -> None:
    """Remove the newest snapshot of one store."""
    _remove(_first(state_files(root, SNAPSHOTS), "a snapshot"))


def lose_newest_version(root: Path) -> None:
    """Remove all files of the newest version of one store."""
    files = state_files(root, (*CHANGES, *SNAPSHOTS))
    newest = STORED.fullmatch(_first(files, "a state file").name)
    for path in files:
        match = STORED.fullmatch(path.name)
        if match and newest and match[1] == newest[1]:
            _remove(path)


def lose_oldest_change(root: Path) -> None:
    """Remove the oldest delta or changelog of one store."""
    _remove(_first(state_files(root, CHANGES)[::-1], "a delta"))


def lose_middle_change(root: Path) -> None:
    """Remove the second newest delta or changelog of one store."""
    _remove(_first(state_files(root, CHANGES)[1:], "a second delta"))


def cut_newest_change(root: Path) -> None:
    """Keep the first half of the newest delta or changelog."""
    path = _first(state_files(root, CHANGES), "a delta")
    data = path.read_bytes()
    _write(path, data[: len(data) // 2])


def empty_newest_change(root: Path) -> None:
    """Keep no byte of the newest delta or changelog."""
    _write(_first(state_files(root, CHANGES), "a delta"), b"")


def cut_newest_snapshot(root: Path) -> None:
    """Keep the first half of the newest snapshot."""
    path = _first(state_files(root, SNAPSHOTS), "a snapshot")
    data = path.read_bytes()
    _write(path, data[: len(data) // 2])


def lengthen_newest_change(root: Path) -> None:
    """Append bytes to the newest delta or changelog."""
    path = _first(state_files(root, CHANGES), "a delta")
    _write(path, path.read_bytes() + b"\0" * 7)


def exchange_newest_change(root: Path) -> None:
    """Replace the newest delta or changelog by that of another partition."""
    path = _first(state_files(root, CHANGES, 1), "a delta")
    second = _first(state_files(root, CHANGES, 0), "a delta")
    if path == second:
        raise NotThere("a second partition")
    _write(path, second.read_bytes())


def lose_partition(root: Path) -> None:
    """Remove the folder of one partition."""
    _remove(_partition(root))


def lose_operator(root: Path) -> None:
    """Remove the folder of the first operator."""
    _remove(_first([path for path in [root / "state/0"] if path.is_dir()], "an operator"))


def lose_state(root: Path) -> None:
    """Remove the state of all operators."""
    _remove(_first([path for path in [root / "state"] if path.is_dir()], "a state"))


def lose_schema(root: Path) -> None:
    """Remove the schemas of the first operator's stores."""
    folders = [*(root / "state/0").glob("*/_metadata"), *(root / "state/0").glob("_stateSchema")]
    _first(folders, "a schema")
    for folder in folders:
        _remove(folder)


def lose_operator_metadata(root: Path) -> None:
    """Remove the metadata of the first operator."""
    result = [path for path in [root / "state/0/_metadata"] if path.is_dir()]
    _remove(_first(result, "metadata of an operator"))


# --- tables of RocksDB ---------------------------------------------------------------------------


def _tables(root: Path, partition: int = 1) -> list[Path]:
    return sorted((_partition(root, partition)).rglob("*.sst"))


def lose_table(root: Path) -> None:
    """Remove one table of RocksDB."""
    _remove(_first(_tables(root)[::-1], "a table"))


def cut_table(root: Path) -> None:
    """Keep the first half of one table of RocksDB."""
    path = _first(_tables(root)[::-1], "a table")
    data = path.read_bytes()
    _write(path, data[: len(data) // 2])


def exchange_table(root: Path) -> None:
    """Replace the tables of one partition by those of another, where the sizes are equal."""
    own, siblings = _tables(root, 1), _tables(root, 0)
    for path in own:
        for sibling in siblings:
            if sibling != path and sibling.stat().st_size == path.stat().st_size:
                _write(path, sibling.read_bytes())
                return
    raise NotThere("two tables of one size")


def _rewrite_zip(root: Path, change: Callable[[str, bytes], bytes | None]) -> None:
    """Write the newest snapshot of RocksDB again, with other contents of its entries."""
    path = _first(state_files(root, ("zip",)), "a snapshot of RocksDB")
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    changed = {name: change(name, data) for name, data in entries.items()}
    if changed == entries:
        raise NotThere("such an entry of the zip")
    temporary = path.with_name("changed")
    with zipfile.ZipFile(temporary, "w") as archive:
        for name, data in changed.items():
            if data is not None:
                archive.writestr(name, data)
    _write(path, temporary.read_bytes())
    temporary.unlink()


def empty_manifest(root: Path) -> None:
    """Keep no byte of the MANIFEST in the newest snapshot of RocksDB."""
    _rewrite_zip(root, lambda name, data: b"" if name.startswith("MANIFEST") else data)


def cut_manifest(root: Path) -> None:
    """Keep the first half of the MANIFEST in the newest snapshot of RocksDB."""
    _rewrite_zip(
        root, lambda name, data: data[: len(data) // 2] if name.startswith("MANIFEST") else data
    )


def empty_current(root: Path) -> None:
    """Keep no byte of CURRENT in the newest snapshot of RocksDB."""
    _rewrite_zip(root, lambda name, data: b"" if name == "CURRENT" else data)


def empty_options(root: Path) -> None:
    """Keep no byte of OPTIONS in the newest snapshot of RocksDB."""
    _rewrite_zip(root, lambda name, data: b"" if name.startswith("OPTIONS") else data)


def lose_manifest(root: Path) -> None:
    """Remove the MANIFEST from the newest snapshot of RocksDB."""
    _rewrite_zip(root, lambda name, data: None if name.startswith("MANIFEST") else data)


def take_older_manifest(root: Path) -> None:
    """Replace the MANIFEST of the newest snapshot by the one of the snapshot before."""
    path = _first(state_files(root, ("zip",))[1:], "a second snapshot of RocksDB")
    with zipfile.ZipFile(path) as archive:
        older = next(archive.read(n) for n in archive.namelist() if n.startswith("MANIFEST"))
    _rewrite_zip(root, lambda name, data: older if name.startswith("MANIFEST") else data)


def _append_edit(root: Path, edit: bytes) -> None:
    """Append an edit to the MANIFEST in the newest snapshot of RocksDB, under a true checksum."""
    import google_crc32c

    summed = b"\x01" + edit
    crc = google_crc32c.value(summed)
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    fragment = struct.pack("<IH", masked, len(edit)) + summed
    _rewrite_zip(root, lambda name, data: data + fragment * name.startswith("MANIFEST"))


def delete_absent_table(root: Path) -> None:
    """Let the MANIFEST of the newest snapshot delete a table that it has not."""
    _append_edit(root, b"\x06\x00\x7f")  # tag of a deletion, level, number


def name_another_comparator(root: Path) -> None:
    """Let the MANIFEST of the newest snapshot name another order of keys."""
    _append_edit(root, b"\x01\x05other")  # tag of a comparator, length, name


# --- logs ----------------------------------------------------------------------------------------


def lose_metadata(root: Path) -> None:
    """Remove the id of the query."""
    _remove(root / "metadata")


def lose_newest_commit(root: Path) -> None:
    """Interrupt the newest batch after all stores had written, and before its commit."""
    _remove(_newest_entry(root, "commits"))


def interrupt_before_state(root: Path) -> None:
    """Interrupt the newest batch before any store had written, and before the sink had."""
    _interrupt(root, "*")


def interrupt_between_partitions(root: Path) -> None:
    """Interrupt the newest batch after one partition had written, and before the sink had."""
    _interrupt(root, "1")


def _interrupt(root: Path, partition: str) -> None:
    """Remove the commit of the newest batch, its state in some partitions, and its output.

    Args:
        root: the checkpoint.
        partition: pattern of the partitions that had not written.
    """
    batch = int(_newest_entry(root, "offsets").name)
    lose_newest_commit(root)
    written = root.parent / "out/_spark_metadata" / str(batch)
    if written.exists():
        _remove(written)
    _lose_version(root, batch + 1, partition)


def _lose_version(root: Path, version: int, partition: str) -> None:
    for path in (root / "state").glob(f"*/{partition}/**/*"):
        match = STORED.fullmatch(path.name)
        if match and int(match[1]) == version:
            _remove(path)


def lose_commits(root: Path) -> None:
    """Remove all entries of the commit log."""
    for path in _entries(root, "commits"):
        _remove(path)


def lose_older_commits(root: Path) -> None:
    """Remove all entries of the commit log but the newest."""
    _first(_entries(root, "commits")[1:], "an older commit")
    for path in _entries(root, "commits")[1:]:
        _remove(path)


def empty_newest_commit(root: Path) -> None:
    """Keep no byte of the newest entry of the commit log."""
    _write(_newest_entry(root, "commits"), b"")


def lose_newest_offsets(root: Path) -> None:
    """Remove the newest entry of the offset log, whose batch has a commit."""
    _remove(_newest_entry(root, "offsets"))


def lose_previous_offsets(root: Path) -> None:
    """Remove the second newest entry of the offset log."""
    _remove(_first(_entries(root, "offsets")[1:], "a second entry"))


def empty_newest_offsets(root: Path) -> None:
    """Keep no byte of the newest entry of the offset log."""
    _write(_newest_entry(root, "offsets"), b"")


def cut_newest_offsets(root: Path) -> None:
    """Keep the first half of the newest entry of the offset log."""
    path = _newest_entry(root, "offsets")
    data = path.read_bytes()
    _write(path, data[: len(data) // 2])


def lose_offsets(root: Path) -> None:
    """Remove all entries of the offset log."""
    for path in _entries(root, "offsets"):
        _remove(path)


# --- sources -------------------------------------------------------------------------------------


def _source_entries(root: Path) -> list[Path]:
    """Entries of the log of the first source of files, the newest first."""
    entries = _entries(root, "sources/0")
    if not entries or not entries[0].read_bytes().startswith(b"v1\n{"):
        raise NotThere("a log of a source of files")
    return entries


def lose_source(root: Path) -> None:
    """Remove the log of the first source."""
    _source_entries(root)
    _remove(root / "sources/0")


def lose_newest_source_entry(root: Path) -> None:
    """Remove the newest entry of the log of the first source of files."""
    _remove(_source_entries(root)[0])


def lose_oldest_source_entry(root: Path) -> None:
    """Remove the oldest entry of the log of the first source of files."""
    _remove(_first(_source_entries(root)[1:][::-1], "an older entry"))


def name_another_folder(root: Path) -> None:
    """Add an entry to the log of the first source that names a file of another job."""
    newest = int(_source_entries(root)[0].name)
    entry = {
        "path": "file:///elsewhere/of/another/job/1.json",
        "timestamp": 1,
        "batchId": newest + 1,
    }
    path = root / "sources/0" / str(newest + 1)
    path.write_text(f"v1\n{json.dumps(entry)}")


def set_offset_back(root: Path) -> None:
    """Let the newest offsets of the sources of files be lower than those before."""
    path = _newest_entry(root, "offsets")
    text = path.read_text()
    lowered = re.sub(r'\{"logOffset":(\d+)\}', '{"logOffset":0}', text)
    if lowered == text:
        raise NotThere("an offset of a source of files that can be lower")
    _write(path, lowered.encode())


def set_first_line_back(root: Path) -> None:
    """Let the first of several lines of the newest offsets be lower than the one before."""
    path = _newest_entry(root, "offsets")
    text = path.read_text()
    if text.count('"logOffset"') < 2:
        raise NotThere("several offsets of sources of files")
    lowered = re.sub(r'\{"logOffset":(\d+)\}', '{"logOffset":0}', text, count=1)
    if lowered == text:
        raise NotThere("an offset of a source of files that can be lower")
    _write(path, lowered.encode())


DAMAGES: Mapping[str, Callable[[Path], None]] = {
    change.__name__.replace("_", "-"): change
    for change in (
        *(sound, age, lose_checksum_files, add_strangers),
        *(lose_newest_change, lose_newest_snapshot, lose_newest_version, lose_oldest_change),
        *(lose_middle_change, cut_newest_change, empty_newest_change, cut_newest_snapshot),
        *(
            lengthen_newest_change,
            exchange_newest_change,
            lose_partition,
            lose_operator,
            lose_state,
        ),
        *(lose_schema, lose_operator_metadata, lose_table, cut_table, exchange_table),
        *(empty_manifest, cut_manifest, empty_current, empty_options, lose_manifest),
        *(take_older_manifest, lose_metadata, lose_newest_commit, interrupt_before_state),
        *(interrupt_between_partitions, lose_commits, lose_older_commits, empty_newest_commit),
        *(lose_newest_offsets, lose_previous_offsets, empty_newest_offsets, cut_newest_offsets),
        *(lose_offsets, lose_source, lose_newest_source_entry, lose_oldest_source_entry),
        *(name_another_folder, set_offset_back, set_first_line_back),
        *(delete_absent_table, name_another_comparator),
    )
}
"""Name of a change -> its function."""
