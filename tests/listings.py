"""Names, sizes and contents of files that tests compare with literal values."""

from __future__ import annotations

from pathlib import Path


def files_below(folder: Path) -> list[Path]:
    """Return all files below a folder, sorted by path."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def names_in(folder: Path, pattern: str = "*") -> set[str]:
    """Return the names of the entries of a folder that match a pattern."""
    return {path.name for path in folder.glob(pattern)}


def contents_below(folder: Path) -> dict[str, bytes]:
    """Return the content of each file below a folder by its path relative to the folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files_below(folder)}


def newest_batch(checkpoint: Path, log: str = "offsets") -> int:
    """Return the largest batch id in the log of offsets or of commits."""
    return max(int(path.name) for path in (checkpoint / log).glob("[0-9]*"))


def total_bytes(folder: Path) -> int:
    """Return the sum of the sizes of all files below a folder."""
    return sum(path.stat().st_size for path in files_below(folder))
