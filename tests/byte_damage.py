"""Damages of bytes and files, such as disks, networks, copies and people make them.

Each is made from a seed alone, so that a case that failed can be made again.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import socket
import struct
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

from inspector.decode.frames import sniff
from tests.checkpoint_files import files_below

_STATE = re.compile(
    r"[0-9]+\.(delta|snapshot)|[0-9]+(_[0-9a-f-]+)?\.(changelog|zip)|[0-9][0-9a-f-]*\.sst"
)
_SMALL = re.compile(r"(?!.*\.crc$)(metadata|(offsets|commits)/[0-9][^/]*|state/(.*/)?_metadata/.*)")
_PART = 512
"""Bytes that one CRC-32 of Hadoop is of (``dfs.bytes-per-checksum``)."""


def state_files(root: Path) -> list[Path]:
    """Every delta and snapshot; every changelog, zip and table of RocksDB."""
    return [path for path in files_below(root) if _STATE.fullmatch(path.name)]


def small_files(root: Path) -> list[Path]:
    """Every entry of the logs, every metadata file and schema."""
    return [path for path in files_below(root) if _SMALL.fullmatch(str(path.relative_to(root)))]


def codec_of(data: bytes) -> str | None:
    """The codec of a state file by its first bytes; None if it has none."""
    return sniff(data)


def write_sums(path: Path) -> None:
    """Lay Hadoop's checksum file beside a file, true of what it holds."""
    data = path.read_bytes()
    parts = (data[at : at + _PART] for at in range(0, len(data), _PART))
    sums = b"".join(struct.pack(">I", zlib.crc32(part)) for part in parts)
    _side(path).write_bytes(struct.pack(">4si", b"crc\0", _PART) + sums)


def with_sums(root: Path) -> None:
    """Lay one beside every file that Spark reads, as on a local disk."""
    for path in (*state_files(root), *small_files(root)):
        write_sums(path)


def without_sums(root: Path) -> None:
    """Remove them all, as on an object store; Spark's own too."""
    for path in root.rglob("*.crc"):
        path.unlink()


def renew_sums(paths: Iterable[Path]) -> None:
    """Make those checksum files of Hadoop true again that are there."""
    for path in paths:
        if _side(path).is_file() and path.is_file():
            write_sums(path)


# --- bytes -----------------------------------------------------------------------------------


def flip_state(root: Path, chance: random.Random) -> None:
    """One to three bits of a state file."""
    _change(chance.choice(state_files(root)), chance, _flip)


def flip_small(root: Path, chance: random.Random) -> None:
    """One to three bits of a log entry, of metadata or of a schema."""
    _change(chance.choice(small_files(root)), chance, _flip)


def flip_sum(root: Path, chance: random.Random) -> None:
    """One to three bits of a checksum file."""
    sums = files_below(root, "**/*.crc")
    if sums:
        _change(chance.choice(sums), chance, _flip)


def cut(root: Path, chance: random.Random) -> None:
    """A file cut off at a boundary of its records, of its frames, or anywhere."""
    path = chance.choice([*state_files(root), *small_files(root)])
    data = path.read_bytes()
    path.write_bytes(data[: chance.choice(_boundaries(path, data))])


def grow(root: Path, chance: random.Random) -> None:
    """Bytes after the end of a file: zeros, noise, or the file once more."""
    path = chance.choice([*state_files(root), *small_files(root)])
    data = path.read_bytes()
    path.write_bytes(data + chance.choice((b"\0" * 16, chance.randbytes(64), data)))


def overwrite(root: Path, chance: random.Random) -> None:
    """A part of a file zeroed or filled with noise, as by a bad sector."""
    _change(chance.choice([*state_files(root), *small_files(root)]), chance, _sector)


def splice(root: Path, chance: random.Random) -> None:
    """Some bytes of a file taken out or put in."""
    _change(chance.choice([*state_files(root), *small_files(root)]), chance, _splice)


def letter(root: Path, chance: random.Random) -> None:
    """Another letter or digit in a log entry, in metadata or in a schema: it may still parse."""
    path = chance.choice(small_files(root))
    data = bytearray(path.read_bytes())
    matches = list(re.finditer(rb"([0-9])|[A-Za-z]", data))
    if matches:
        match = chance.choice(matches)
        kind = b"0123456789" if match[1] else b"abcdefghijklmnopqrstuvwxyz"
        data[match.start()] = chance.choice(kind.replace(match[0], b""))
        path.write_bytes(data)


# --- files -----------------------------------------------------------------------------------


def swap_files(root: Path, chance: random.Random) -> None:
    """Two files of one kind exchanged, with their checksum files."""
    files = _of_a_kind(root, chance)
    if len(files) < 2:
        return
    first, second = chance.sample(files, 2)
    aside = root / "aside"
    for mine, theirs in ((first, second), (_side(first), _side(second))):
        with suppress(FileNotFoundError):
            mine.rename(aside)
        with suppress(FileNotFoundError):
            theirs.rename(mine)
        with suppress(FileNotFoundError):
            aside.rename(theirs)


def copy_file(root: Path, chance: random.Random) -> None:
    """A file laid over another one of its kind, with its checksum file."""
    files = _of_a_kind(root, chance)
    if len(files) < 2:
        return
    first, second = chance.sample(files, 2)
    shutil.copy(first, second)
    _side(second).unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        shutil.copy(_side(first), _side(second))


def rename(root: Path, chance: random.Random) -> None:
    """A state file or log entry under another number, with its checksum file or without."""
    path = chance.choice([*state_files(root), *files_below(root, "[oc]*s/[0-9]*")])
    number = str(chance.choice((0, 1, 2, 3, 7, 40, (1 << 31) - 1, (1 << 63) - 1)))
    new = path.with_name(number + path.suffix)
    with_side = _side(path).is_file() and chance.random() < 0.5
    path.rename(new)
    if with_side:
        _side(path).rename(_side(new))


def remove(root: Path, chance: random.Random) -> None:
    """A file that is gone, with its checksum file or without."""
    path = chance.choice([*state_files(root), *small_files(root)])
    path.unlink()
    if chance.random() < 0.5:
        _side(path).unlink(missing_ok=True)


def remove_folder(root: Path, chance: random.Random) -> None:
    """A folder that is gone, or empty."""
    folder = chance.choice(sorted(root.glob("*/**/")))
    shutil.rmtree(folder)
    if chance.random() < 0.5:
        folder.mkdir()


def special(root: Path, chance: random.Random) -> None:
    """Something else under a file's name: a folder, a pipe, a socket, a link, a device."""
    path = chance.choice([*state_files(root), *small_files(root)])
    path.unlink()
    makers: tuple[Callable[[], object], ...] = (
        path.mkdir,
        partial(os.mkfifo, path),
        partial(_bind, path),
        partial(path.symlink_to, path.name),
        partial(path.symlink_to, "nowhere"),
        partial(path.symlink_to, "/dev/zero"),
        partial(path.symlink_to, "/dev/null"),
        path.touch,
    )
    chance.choice(makers)()


KINDS: tuple[Callable[[Path, random.Random], None], ...] = (
    *(flip_state, flip_small, flip_sum, cut, grow, overwrite, splice, letter),
    *(swap_files, copy_file, rename, remove, remove_folder, special),
)
"""All of them; one that finds nothing to change leaves a checkpoint as it is."""


# --- parts -----------------------------------------------------------------------------------


def _side(path: Path) -> Path:
    return path.with_name(f".{path.name}.crc")


def _of_a_kind(root: Path, chance: random.Random) -> list[Path]:
    deltas, snapshots = (
        ("delta", "snapshot") if any(root.glob("state/**/*.delta")) else ("changelog", "zip")
    )
    patterns = (f"state/**/*.{deltas}", f"state/**/*.{snapshots}", "state/**/schema")
    options = ("state/**/metadata", "state/**/*.sst", "offsets/[0-9]*", "commits/[0-9]*")
    pattern = chance.choice((*patterns, *patterns[:1] * 3, *options))
    return files_below(root, pattern)


def _change(
    path: Path, chance: random.Random, change: Callable[[bytearray, random.Random], None]
) -> None:
    data = bytearray(path.read_bytes())
    if data:
        change(data, chance)
        path.write_bytes(data)


def _flip(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _sector(data: bytearray, chance: random.Random) -> None:
    at, size = chance.randrange(len(data)), chance.choice((1, 4, 16, 512))
    size = min(size, len(data) - at)
    data[at : at + size] = chance.choice((b"\0" * size, b"\xff" * size, chance.randbytes(size)))


def _splice(data: bytearray, chance: random.Random) -> None:
    at, size = chance.randrange(len(data)), chance.choice((1, 4, 8, 64))
    data[at : at + chance.choice((0, size))] = chance.randbytes(chance.choice((0, size)))


def _boundaries(path: Path, data: bytes) -> list[int]:
    """Where a file may be cut: near its ends, at powers of two, at newlines, between blocks."""
    ends = {0, 1, len(data) - 1, len(data) - 4, len(data) - 8, len(data) // 2}
    ends |= {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768}
    ends |= {newline.start() for newline in re.finditer(b"\n", data)}
    if _STATE.fullmatch(path.name):
        ends |= set(_block_ends(data))
    return sorted(end for end in ends if 0 <= end < len(data))


def _block_ends(data: bytes) -> Iterable[int]:
    """The ends of the blocks of lz4, by their own headers, and before and behind each header."""
    at, ends = 0, []
    while data[at : at + 8] == b"LZ4Block" and at + 21 <= len(data):
        (size,) = struct.unpack_from("<i", data, at + 9)
        ends += [at, at + 8, at + 20, at + 21, at + 21 + size]
        at += 21 + max(size, 0)
    return ends


def _bind(path: Path) -> None:
    # A socket's path has at most 107 bytes, so it is bound from within its folder.
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.chdir(before)
