"""Reports to stdout or to a file: whole or not at all, and never over one that is there."""

from __future__ import annotations

import codecs
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import click

from inspector.checkpoint.urls import is_local, translate


def outside(checkpoint: str, output: str) -> None:
    """Nothing is ever written into a checkpoint.

    Args:
        checkpoint: its root, as the user spelled it.
        output: the file or folder to be written; a path, or a URL where Spark writes.

    Raises:
        click.UsageError: the output would lie in it.
    """
    root, target = translate(checkpoint), translate(output)
    if root.protocol != target.protocol:
        return
    if is_local(output):
        inside = Path(target.target).resolve().is_relative_to(Path(root.target).resolve())
    else:
        inside = f"{target.target}/".startswith(f"{root.target.rstrip('/')}/")
    if inside:
        raise click.UsageError(f"{output} lies in the checkpoint, which is never written to")


@contextmanager
def destination(path: str | None, *, force: bool) -> Iterator[TextIO]:
    """Where to write: stdout, or a file that appears when the block has ended well.

    Raises:
        click.UsageError: the file is there and ``force`` is not given, or none can be made there.
        OSError: it cannot be written.
    """
    if path is None:
        try:
            yield sys.stdout
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader has seen enough. Python would complain once more at its last flush.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    target = Path(path)
    if target.is_dir():
        raise click.UsageError(f"{path} is a folder, expected a file")
    if target.exists() and not force:
        raise click.UsageError(f"{path} exists; --force overwrites it")
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", text=True)
    except OSError as error:
        raise click.UsageError(f"{path} cannot be made: {error.strerror}") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            yield file
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def write(pieces: Iterable[str], file: TextIO) -> None:
    """Write text piece by piece; what the stream's encoding lacks is escaped as JSON does it."""
    encoding = getattr(file, "encoding", None) or "utf-8"
    for piece in pieces:
        file.write(piece.encode(encoding, _JSON_ESCAPES).decode(encoding))


def _json_escapes(error: UnicodeError) -> tuple[str, int]:
    """Escapes of four digits: JSON has none of two."""
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


_JSON_ESCAPES = "inspector.json_escapes"
codecs.register_error(_JSON_ESCAPES, _json_escapes)
