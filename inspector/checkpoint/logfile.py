"""The small text files of Spark's metadata logs: a version line, then JSON lines.

(``HDFSMetadataLog``, ``OperatorStateMetadata``; no line ends the last one.)
"""

from __future__ import annotations

import json
import re
from typing import NoReturn

from inspector.checkpoint.names import MAX_LONG
from inspector.exceptions import DecodeError, InspectorError
from inspector.model import Problem

# Slugs of problems:
STORAGE_SLUG = "storage"  # it did not answer, or broke off, which says nothing of what lies there
DENIED_SLUG = "denied"  # the storage refuses: no permission, or credentials that ran out
VANISHED_SLUG = "vanished"  # a file that a listing had is gone when it is read
MOVED_SLUG = "moved"  # no fault: the query went on, and was looked at again
OUTPACED_SLUG = "outpaced"  # the query removes versions faster than they can be read
DOUBTFUL = frozenset(
    {
        *(VANISHED_SLUG, "missing-delta", "missing-version"),
        *("missing-partition", "missing-operator"),
        *("undecodable", "truncated", "bad-frame", "bad-record"),
        *("log-contradiction", "log-entry-lost", "sources-changed"),
    }
)
"""Slugs of what a query that runs, and Spark's cleanup, can make look like damage for a moment: a
listing takes its time, and cleanup removes files one by one. A second look has to say the same."""

UNSEEN = (DENIED_SLUG, STORAGE_SLUG)  # there or not, sound or not: the storage did not show it

_OF_STORAGE: tuple[tuple[type[OSError], str], ...] = (
    (FileNotFoundError, VANISHED_SLUG),
    (PermissionError, DENIED_SLUG),
)
_VERSION = re.compile(r"v([0-9]{1,9})")


def problem(error: InspectorError | OSError, path: str) -> Problem:
    """The problem that an error at a path is, for reads that go on without the file."""
    if isinstance(error, InspectorError):
        return Problem(error.slug, error.message, error.path or path, error.offset)
    slug = next((slug for kind, slug in _OF_STORAGE if isinstance(error, kind)), STORAGE_SLUG)
    return Problem(slug, str(error).removeprefix(f"{path}: "), path)


def text_of(data: bytes) -> str:
    """The UTF-8 text of a file; DecodeError has the offset of the first byte that is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"got byte 0x{data[error.start]:02x}, expected UTF-8 text"
        raise DecodeError(message, offset=error.start) from None


def split_log(data: bytes, newest: int) -> tuple[int, list[str]]:
    """The version in the first line, at most ``newest``, and the lines after it, or DecodeError."""
    # Spark refuses what has no version or a later one too (MetadataVersionUtil.validateVersion).
    lines = [line.removesuffix("\r") for line in text_of(data).split("\n")]
    got = "an empty file" if not data else repr(lines[0][:40])
    return format_of(lines[0].strip(), newest, got, "a version line such as 'v1'"), lines[1:]


def format_of(text: str, newest: int, got: str, expected: str) -> int:
    """The format that a file begins with, ``v1`` to ``newest`` (DecodeError: another, or none)."""
    match = _VERSION.fullmatch(text)
    if match is None:
        raise DecodeError(f"got {got}, expected {expected}", offset=0)
    version = int(match[1])
    if not 1 <= version <= newest:
        raise DecodeError(f"got format v{version}, expected v1 to v{newest}", offset=0)
    return version


def json_object(text: str) -> dict[str, object]:
    """The JSON object that a text is; DecodeError: another value, no JSON, or nested too deeply."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise DecodeError(f"got no JSON ({reason}), expected a JSON object") from None
    if not isinstance(value, dict):
        raise DecodeError(f"got a JSON {type(value).__name__}, expected a JSON object")
    return value


def long_field(fields: dict[str, object], name: str) -> int | None:
    """A field that Spark writes as a long; None if absent (DecodeError: it is something else)."""
    value = fields.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > MAX_LONG:
        raise DecodeError(f"got {str(value)[:40]!r} as {name}, expected a 64-bit integer")
    return value


def text_field(fields: dict[str, object], name: str) -> str:
    """A field that Spark writes as a string (DecodeError: it is absent or something else)."""
    value = fields.get(name)
    if not isinstance(value, str):
        raise DecodeError(f"got {str(value)[:40]!r} as {name}, expected a string")
    return printable(value)


def object_field(fields: dict[str, object], name: str) -> dict[str, object]:
    """A field that is a JSON object; empty if absent (DecodeError: it is something else)."""
    value = fields.get(name, {})
    if not isinstance(value, dict):
        raise DecodeError(f"got {str(value)[:40]!r} as {name}, expected a JSON object")
    return value


def printable(text: str) -> str:
    """The text with lone surrogates replaced, which no output could encode."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
