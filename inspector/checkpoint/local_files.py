"""Folders and files of this machine, read by the system's own calls: there may be 100,000.

Only regular files are opened: to open a FIFO would wait for a writer.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from inspector.checkpoint.trees import Entry
from inspector.kernel.loader import c_function

# flags with which files are opened; O_NONBLOCK never waits for a FIFO's writer
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | getattr(os, "O_BINARY", 0)


def listing(folder: str, relative: str) -> tuple[Entry, ...]:
    """Return the entries of a local folder by name; ``relative`` is its path in their paths.

    Links are followed; devices, pipes and dangling links are special. Raises OSError.
    """
    start = f"{relative}/" if relative else ""
    list_folder = c_function("list_folder")  # of what has files and folders alone
    result: list[Entry] = []
    if list_folder is not None and (items := list_folder(folder, start)) is not None:
        result = list(map(Entry._make, items))
        result.sort()  # by their names, which differ
        return tuple(result)
    # The system searches only the open folder for each name, and does not resolve the path again.
    opened = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        with os.scandir(opened) as inside:
            for item in inside:
                try:
                    status = item.stat()
                except OSError:
                    # A link that leads nowhere; a file that has gone meanwhile is left out.
                    if item.is_symlink():
                        result.append(_special(item.name, start + item.name))
                    continue
                result.append(_entry(item.name, start + item.name, status))
    finally:
        os.close(opened)
    result.sort()  # by their names, which differ
    return tuple(result)


def entry_at(path: str, relative: str) -> Entry:
    """Return the file or folder at a path as an entry named ``relative``. Raises OSError."""
    return _entry(relative.rsplit("/", 1)[-1], relative, os.stat(path))


def read_at_most(path: str, max_bytes: int) -> tuple[bytes, int]:
    """Return at most ``max_bytes`` first bytes of a file, and its size in bytes.

    OSError: the file cannot be read, or is no regular file.
    """
    file = os.open(path, _FLAGS)  # a context manager would take as long as the open
    try:
        size = _size_of(file)
        parts: list[bytes] = []
        left = min(max_bytes, size + 1)
        # One byte more than there is: if it alone is missing, that was the end.
        probe = int(left > size)
        while left > probe or (left and not parts):
            part = os.read(file, left)
            if not part:
                break
            parts.append(part)
            left -= len(part)
    finally:
        os.close(file)
    return parts[0] if len(parts) == 1 else b"".join(parts), size


def read_range(path: str, start: int, end: int) -> bytes:
    """Return the bytes of a file from ``start`` to ``end``, or to its own end.

    OSError: the file cannot be read, or is no regular file.
    """
    file = os.open(path, _FLAGS)
    try:
        end = min(end, _size_of(file))
        parts = []
        while start < end and (part := os.pread(file, end - start, start)):
            parts.append(part)
            start += len(part)
    finally:
        os.close(file)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def chunks(path: str, chunk_bytes: int) -> Iterator[bytes]:
    """Yield a file in chunks of at most ``chunk_bytes``. OSError: a chunk is unreadable."""
    file = os.open(path, _FLAGS)
    try:
        left = _size_of(file)
        while True:
            # One byte more than is left shows the end of a file without another call.
            size = min(chunk_bytes, max(left, 0) + 1)
            chunk = os.read(file, size)
            if chunk:
                yield chunk
            left -= len(chunk)
            if not chunk or (left <= 0 and len(chunk) < size):
                return
    finally:
        os.close(file)


def _size_of(descriptor: int) -> int:
    """Return the size of an open regular file in bytes. OSError: it is another thing."""
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode):
        return status.st_size
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError("it is a folder, not a file")
    raise OSError("it is neither a file nor a folder")


def _special(name: str, path: str) -> Entry:
    """Return the entry of something that is neither a file nor a folder."""
    return Entry(name, path, is_dir=False, size=0, is_special=True)


def _entry(name: str, path: str, status: os.stat_result) -> Entry:
    """Return the entry of a file or folder from its status."""
    is_dir = stat.S_ISDIR(status.st_mode)
    if not is_dir and not stat.S_ISREG(status.st_mode):
        return _special(name, path)
    size = 0 if is_dir else status.st_size
    etag = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    return Entry(name, path, is_dir, size, status.st_mtime_ns // 1_000_000, False, etag)
