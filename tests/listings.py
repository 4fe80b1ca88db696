"""Names and sizes of files that tests compare with literal values."""

from __future__ import annotations

from pathlib import Path

from tests.checkpoint_files import files_below, newest_number


def names_in(folder: Path, pattern: str = "*") -> set[str]:
    """Return the names of the entries of a folder that match a pattern."""
    return {path.name for path in folder.glob(pattern)}


def newest_batch(checkpoint: Path, log: str = "offsets") -> int:
    """Return the largest batch id in the log of offsets or of commits."""
    return newest_number(checkpoint / log)


def total_bytes(folder: Path) -> int:
    """Return the sum of the sizes of all files below a folder."""
    return sum(path.stat().st_size for path in files_below(folder))
