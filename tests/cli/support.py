"""Runs of the command line, checkpoints to run it on, and rows of reports."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any
from unittest import mock

import click

from inspector.cli.main import commands
from inspector.cli.main import run as command_line
from inspector.sparktypes import StructType
from inspector.sparktypes.schema_json import parse_schema_json
from tests.attributes import attributes
from tests.encode import Record, state_file
from tests.fixture_folder import NEWEST
from tests.reports import json_lines

ELSEWHERE: tuple[str, ...] = (
    "history",
    "diff",
    "export",
    "explain",
    "watch",
    "copy",
    "trend",
    "simulate",
    "preflight",
    "sql",
    "serve",
)
"""Commands with other arguments or output, which are tested in their own files."""

COMMANDS = tuple(sorted({*commands()} - {*ELSEWHERE}))
"""Commands that need only a path; a new command is added automatically."""

OF_STATE = tuple(sorted({*COMMANDS} - {"offsets"}))
"""Commands of :data:`COMMANDS` that read a state version; ``offsets`` reads only the logs."""

OUTPUTS = ("table", "json", "ndjson", "csv", "markdown", "html")


@dataclass(frozen=True)
class Outcome:
    """Exit code and output of a run of the command line.

    Attributes:
        engine: the lines of stderr that say where it ran, and why. err: the others.
    """

    code: int
    out: str
    err: str
    engine: str = ""

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of the command's primary table."""
        envelope = self.json
        result: list[dict[str, Any]] = envelope["rows" if "rows" in envelope else envelope["table"]]
        return result

    @property
    def ndjson(self) -> list[dict[str, Any]]:
        return json_lines(self.out)

    @property
    def csv(self) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.out)))


def run(*args: str | Path, encoding: str = "utf-8") -> Outcome:
    """Run the command line in this process, as its console script does."""
    out = io.TextIOWrapper(io.BytesIO(), encoding, newline="\n")
    err = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n")
    code = 0
    with (
        mock.patch.object(sys, "argv", ["inspector", *map(str, args)]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            command_line()
        except SystemExit as end:
            code = int(end.code or 0)
    engine_line = re.compile("^engine: .*\n", re.MULTILINE)
    engine = "".join(engine_line.findall(_text(err)))
    return Outcome(code, _text(out), engine_line.sub("", _text(err)), engine)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode(stream.encoding)


def checkpoint_of(case: str) -> Path:
    """Return the checkpoint of a fixture, which tests only read."""
    return NEWEST / case / "checkpoint"


def copy_of(case: str, folder: Path) -> Path:
    """Return a copy of a fixture's checkpoint that a test may damage."""
    return Path(shutil.copytree(checkpoint_of(case), folder / "checkpoint"))


def schema_of(*fields: tuple[str, Any]) -> StructType:
    """Return a schema of fields with these names and types of Spark's schema JSON."""
    return parse_schema_json(schema_json(*fields))


def schema_json(*fields: tuple[str, Any]) -> str:
    """Return the schema JSON of fields with these names and types."""
    members = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in fields
    ]
    return json.dumps({"type": "struct", "fields": members})


def schema_file(key: str, value: str) -> bytes:
    """Return the bytes of a schema file of format 2."""

    def utf(text: str) -> bytes:
        return struct.pack(">H", len(text)) + text.encode("ascii")

    item = struct.pack(">i", 1)
    return utf("v2") + item + utf(key) + item + utf(value)


def replace_state(
    checkpoint: Path,
    schemas: tuple[str, str] | None,
    deltas: Mapping[tuple[int, int], Sequence[Record]],
    codec: str = "lz4",
) -> Path:
    """Replace the records in the deltas of a checkpoint, by partition and version.

    Deltas that are not named become empty.
    """
    for file in (checkpoint / "state" / "0").glob("*/*.delta"):
        location = int(file.parent.name), int(file.stem)
        file.write_bytes(state_file(deltas.get(location, ()), codec))
    if schemas is not None:
        (checkpoint / "state/0/0/_metadata/schema").write_bytes(schema_file(*schemas))
    return checkpoint


def spellings(command: click.Command) -> set[str]:
    """Return the options of a command in all spellings, as ``--output`` and ``-o``."""
    return set(chain.from_iterable(attributes(command.params, "opts")))


def change(file: Path, edit: Callable[[bytes], bytes]) -> None:
    """Rewrite a file."""
    file.write_bytes(edit(file.read_bytes()))


def flip(file: Path, offset: int) -> None:
    """Change one byte of a file."""
    data = bytearray(file.read_bytes())
    data[offset] ^= 0xFF
    file.write_bytes(data)


def tree(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return mode, modification time and content of each path below a folder."""
    return {
        str(path.relative_to(folder)): (
            path.stat().st_mode,
            path.stat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in sorted(folder.rglob("*"))
    }
