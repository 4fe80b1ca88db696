"""Files of checkpoints that tests list, remove, overwrite or edit."""

from __future__ import annotations

import re
import shutil
from pathlib import Path


def paths_below(root: Path, *patterns: str) -> list[Path]:
    """Return the paths that match the glob patterns, sorted within each pattern.

    Raises:
        AssertionError: a pattern matches no path.
    """
    result: list[Path] = []
    for pattern in patterns:
        matches = sorted(root.glob(pattern))
        assert matches, f"no path in {root} matches {pattern}"
        result += matches
    return result


def files_below(root: Path, pattern: str = "**/*") -> list[Path]:
    """Return the files that match a glob pattern, sorted; folders are left out."""
    return sorted(path for path in root.glob(pattern) if path.is_file())


def contents_below(root: Path, pattern: str = "**/*") -> dict[str, bytes]:
    """Return the bytes of the files that match a glob pattern, by their path below the root."""
    return {str(path.relative_to(root)): path.read_bytes() for path in files_below(root, pattern)}


def forget_checksum(path: Path) -> Path:
    """Remove Hadoop's checksum file of a file, as on an object store, and return the file."""
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    return path


def remove_paths(root: Path, *patterns: str) -> None:
    """Remove the files and folders that match the glob patterns; each pattern has a match."""
    for path in paths_below(root, *patterns):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def overwrite_files(root: Path, pattern: str, content: bytes) -> None:
    """Give the files that match a glob pattern this content; the pattern has a match."""
    for path in paths_below(root, pattern):
        path.write_bytes(content)


def substitute(root: Path, pattern: str, expression: str, replacement: str) -> None:
    """Replace a regular expression in the text files that match a glob pattern.

    Their checksum files are removed. The pattern has a match.
    """
    for path in paths_below(root, pattern):
        path.write_text(re.sub(expression, replacement, path.read_text("utf-8")), "utf-8")
        forget_checksum(path)


def newest_number(folder: Path) -> int:
    """Return the highest number that is a file name in a folder, such as that of a log."""
    return max(int(path.name) for path in folder.iterdir() if path.name.isdecimal())
