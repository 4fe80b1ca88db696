"""Reports to stdout or to a file: whole or not at all, and never over one that is there."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import click


@contextmanager
def destination(path: str | None, *, force: bool) -> Iterator[TextIO]:
    """Where to write: stdout, or a file that appears when the block has ended well.

    Raises:
        click.UsageError: the file is there and ``force`` is not given.
        OSError: it cannot be written.
    """
    if path is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    target = Path(path)
    if target.exists() and not force:
        raise click.UsageError(f"{path} exists; --force overwrites it")
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", text=True)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            yield file
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def write(pieces: Iterable[str], file: TextIO) -> None:
    """Write text piece by piece; what the stream's encoding lacks is escaped."""
    encoding = getattr(file, "encoding", None) or "utf-8"
    for piece in pieces:
        file.write(piece.encode(encoding, "backslashreplace").decode(encoding))
