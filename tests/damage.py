"""Damages that keep every checksum true: whole records changed, files exchanged, logs edited.

Each is made from a seed alone, so that a case that failed can be made again. Checksum files of
Hadoop are removed: what is changed here could have been written so.
"""

from __future__ import annotations

import json
import random
import re
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

from inspector.decode.changelog import ChangelogHead, read_changelog
from inspector.decode.frames import inflate, sniff
from inspector.decode.records import scan_blocks
from tests import encode
from tests.attributes import objects_where
from tests.byte_damage import state_files
from tests.checkpoint_files import files_below
from tests.encode import Record
from tests.rocks import PUT, REMOVAL, changelog

WITH_KINDS = (2, 4)
"""Versions of changelogs that say the kind of each record."""

EXTREMES = (
    *(0, 1, -1, (1 << 63) - 1, -(1 << 63), 1 << 40, 0x7FFFFFFF, (8 << 32) | 0x7FFFFFF8),
    *(253_402_300_800_000_000, 253_402_300_800_000, -62_135_596_900_000_000, 1 << 62),
)
"""Words for a row: ends of the number ranges, offsets beyond the row, years 10000 and 0."""

LARGE_NAMES = ("9223372036854775807", "9223372036854775808", "9223372036854775806", "2147483648")


def damage(root: Path, seed: int) -> str:
    """Change something in a checkpoint; says what."""
    chance = random.Random(seed)
    for path in sorted(root.rglob(".*.crc")):
        path.unlink()
    done = []
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        result = chance.choice(_DAMAGES)
        done.append(f"{result.__name__.strip('_')}: {result(root, chance)}")
    return "; ".join(done)


def read_state(path: Path) -> tuple[list[Record], str]:
    """The records of a state file, and its codec; a merge of a changelog counts as a put."""
    codec, raw = _raw(path)
    head = _head(path)
    result: list[Record] = []
    for part in scan_blocks([raw[head.size :]], kinds=head.version in WITH_KINDS):
        for key, size, value, length in part.spans.T.tolist():
            used = None if length < 0 else part.buffer[value : value + length]
            result.append((part.buffer[key : key + size], used))
    return result, codec


def _raw(path: Path) -> tuple[str, bytes]:
    data = path.read_bytes()
    codec = sniff(data) or "lz4"
    return codec, b"".join(bytes(part) for part in inflate(iter([data]), codec))


def _head(path: Path) -> ChangelogHead:
    """How a changelog begins; a delta as one of version 1, which begins with nothing."""
    if path.suffix != ".changelog":
        return ChangelogHead()
    head, _ = read_changelog([_raw(path)[1]])
    return head


def _encoded(records: Sequence[Record], head: ChangelogHead, codec: str) -> bytes:
    entries = [(PUT if value is not None else REMOVAL, key, value) for key, value in records]
    lineage = [
        {"version": item.version, "checkpointUniqueId": item.unique_id} for item in head.lineage
    ]
    return encode.compress(changelog(entries, head.version, json.dumps(lineage)), codec)


def _with_records(root: Path) -> list[Path]:
    """The files that are rewritten here, record by record: all but tables and their zips."""
    return [path for path in state_files(root) if path.suffix not in (".zip", ".sst")]


def _named(root: Path, chance: random.Random, pattern: str) -> Path | None:
    result = files_below(root, pattern)
    return chance.choice(result) if result else None


def _records(root: Path, chance: random.Random) -> str:
    """Change some records of one state file, or of all of one store's."""
    files = _with_records(root)
    if not files:
        return "nothing"
    path = chance.choice(files)
    every = objects_where(files, parent=path.parent)
    change = chance.choice(_CHANGES)
    for item in every if chance.random() < 0.3 else [path]:
        records, codec = read_state(item)
        for _ in range(chance.choice((1, 2, 8))):
            if records:
                change(records, chance)
        item.write_bytes(_encoded(records, _head(item), codec if codec != "none" else "lz4"))
    return f"{change.__name__.strip('_')} in {path.relative_to(root)}"


def _word(records: list[Record], chance: random.Random) -> None:
    """Another number in an 8-byte word of a key or a value."""

    def with_other_word(row: bytes) -> bytes:
        if len(row) < 8:
            return row
        location = chance.randrange(len(row) // 8) * 8
        return row[:location] + struct.pack("<q", chance.choice(EXTREMES)) + row[location + 8 :]

    _edit_row(records, chance, 0.7, with_other_word)


def _length(records: list[Record], chance: random.Random) -> None:
    """A row that is shorter or longer."""

    def with_other_length(row: bytes) -> bytes:
        size = chance.choice((0, 1, 7, 8, max(0, len(row) - 8), len(row) + 8, len(row) + 3))
        return row[:size].ljust(size, b"\x01")

    _edit_row(records, chance, 0.5, with_other_length)


def _edit_row(
    records: list[Record],
    chance: random.Random,
    share_of_values: float,
    edit: Callable[[bytes], bytes],
) -> None:
    """Edit the value of a random record, or its key."""
    at = chance.randrange(len(records))
    key, value = records[at]
    if value is not None and chance.random() < share_of_values:
        records[at] = (key, edit(value))
    else:
        records[at] = (edit(key), value)


def _drop(records: list[Record], chance: random.Random) -> None:
    """A record that is not there any more."""
    del records[chance.randrange(len(records))]


def _again(records: list[Record], chance: random.Random) -> None:
    """A record that comes twice."""
    records.insert(chance.randrange(len(records)), chance.choice(records))


def _remove(records: list[Record], chance: random.Random) -> None:
    """A put that became a removal; in a snapshot Spark writes none."""
    at = chance.randrange(len(records))
    records[at] = (records[at][0], None)


def _exchange(root: Path, chance: random.Random) -> str:
    """Two files of one kind exchanged: state files or schemas, of whatever stores."""
    patterns = ("state/**/*.delta", "state/**/*.snapshot", "state/**/schema", "state/**/metadata")
    rocksdb = ("state/**/*.changelog", "state/**/*.zip", "state/**/*.sst")
    of_state = patterns[:2] if any(root.glob(patterns[0])) else rocksdb
    pattern = chance.choice((*of_state, *patterns[2:], "offsets/*", "commits/*"))
    first, second = _named(root, chance, pattern), _named(root, chance, pattern)
    if first is None or second is None:
        return "nothing"
    mine, theirs = first.read_bytes(), second.read_bytes()
    first.write_bytes(theirs)
    second.write_bytes(mine)
    return f"{first.relative_to(root)} and {second.relative_to(root)}"


def _stores(root: Path, chance: random.Random) -> str:
    """Two folders of stores, partitions or operators exchanged."""
    folders = sorted(path for path in root.glob("state/*/**/") if path.name[:1] not in "._")
    if len(folders) < 2:
        return "nothing"
    first, second = chance.sample(folders, 2)
    if first in second.parents or second in first.parents:
        return "nothing"
    aside = root / "aside"
    first.rename(aside)
    second.rename(first)
    aside.rename(second)
    return f"{first.relative_to(root)} and {second.relative_to(root)}"


def _name(root: Path, chance: random.Random) -> str:
    """A file of a version or batch that no query reaches, or of another one."""
    path = chance.choice([*state_files(root), *sorted(root.glob("[oc]*/[0-9]*"))])
    number = chance.choice((*LARGE_NAMES, "0", "3"))
    new = path.with_name(number + path.suffix)
    path.rename(new)
    return f"{path.relative_to(root)} to {new.name}"


def _number(root: Path, chance: random.Random) -> str:
    """Another number in a log entry, in metadata or in a schema, in one or in all of a folder."""
    pattern = chance.choice(("offsets/*", "commits/*", "state/*/_metadata/metadata"))
    path = _named(root, chance, pattern)
    if path is None:
        return "nothing"
    number = str(chance.choice(EXTREMES)).encode()
    every = files_below(path.parent, "*") if chance.random() < 0.5 else [path]
    choice = chance.choice((rb"WatermarkMs\":", rb"TimestampMs\":", rb"artitions\":\"?", rb"\":"))
    for item in every:
        content = re.sub(rb"(" + choice + rb")-?[0-9]+", rb"\g<1>" + number, item.read_bytes())
        item.write_bytes(content)
    return f"{choice!r} {number!r} in {path.relative_to(root)}"


def _type(root: Path, chance: random.Random) -> str:
    """A schema with another type of as many letters, so that it can be read."""
    path = _named(root, chance, "state/**/schema")
    if path is None:
        return "nothing"
    pairs = (
        (b"long", b"date"),
        (b"long", b"byte"),
        (b"string", b"binary"),
        (b"integer", b"boolean"),
    )
    data, changes = path.read_bytes(), []
    for old, new in (*pairs, (b"timestamp", b"timestamq"), (b"groupState", b"groupStbte")):
        if len(old) == len(new) and old in data and chance.random() < 0.5:
            data = data.replace(old, new)
            changes.append(f"{old!r} to {new!r}")
    path.write_bytes(data)
    return f"{', '.join(changes)} in {path.relative_to(root)}"


_CHANGES: tuple[Callable[[list[Record], random.Random], None], ...] = (
    *(_word, _word, _word, _length, _drop, _again, _remove),
)
KINDS: tuple[Callable[[Path, random.Random], str], ...] = (
    *(_records, _exchange, _stores, _name, _number, _type),
)
"""All of them; each says what it changed."""
_DAMAGES = (_records, _records, *KINDS)
