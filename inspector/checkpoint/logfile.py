"""The small text files of Spark's metadata logs: a version line, then lines of JSON.

(``HDFSMetadataLog``, ``OperatorStateMetadata``; no line end follows the last line.)
"""

from __future__ import annotations

import json
import re
from typing import NoReturn

from inspector.checkpoint.names import MAX_LONG
from inspector.exceptions import DecodeError, InspectorError
from inspector.model import Problem

# slug: the storage did not answer, or broke off; nothing is known of the file
STORAGE_SLUG = "storage"
# slug: the storage refuses; permission is missing, or credentials have expired
DENIED_SLUG = "denied"
VANISHED_SLUG = "vanished"  # slug: a file that was listed is gone when it is read
MOVED_SLUG = "moved"  # slug: no fault; the query went on, and the checkpoint was read again
OUTPACED_SLUG = "outpaced"  # slug: the query removes versions faster than they can be read
DOUBTFUL = frozenset(
    {
        *(VANISHED_SLUG, "missing-delta", "missing-version"),
        *("missing-partition", "missing-operator"),
        *("undecodable", "truncated", "bad-frame", "bad-record"),
        *("log-contradiction", "log-entry-lost", "sources-changed"),
    }
)
"""Slugs of problems that a running query and Spark's cleanup can cause for a moment: a listing
takes time, and cleanup removes files one by one. A second read has to confirm them.
"""

# slugs of problems after which nothing is known of a file, because the storage did not show it
UNSEEN = (DENIED_SLUG, STORAGE_SLUG)

# slugs of errors of the storage that have their own
_OF_STORAGE: tuple[tuple[type[OSError], str], ...] = (
    (FileNotFoundError, VANISHED_SLUG),
    (PermissionError, DENIED_SLUG),
)
_VERSION = re.compile(r"v([0-9]{1,9})")  # version line of a log


def problem(error: InspectorError | OSError, path: str) -> Problem:
    """Return the problem for an error of reading a path, with the slug of its kind."""
    if isinstance(error, InspectorError):
        return Problem(error.slug, error.message, error.path or path, error.offset)
    slug = next((slug for kind, slug in _OF_STORAGE if isinstance(error, kind)), STORAGE_SLUG)
    return Problem(slug, str(error).removeprefix(f"{path}: "), path)


def text_of(data: bytes) -> str:
    """Return the UTF-8 text of a file; DecodeError has the offset of the first other byte."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"got byte 0x{data[error.start]:02x}, expected UTF-8 text"
        raise DecodeError(message, offset=error.start) from None


def split_log(data: bytes, newest: int) -> tuple[int, list[str]]:
    """Return the format in the first line, at most ``newest``, and the other lines.

    DecodeError: no format, or a newer one.
    """
    # Spark refuses what has no version or a later one too (MetadataVersionUtil.validateVersion).
    lines = [line.removesuffix("\r") for line in text_of(data).split("\n")]
    got = "an empty file" if not data else repr(lines[0][:40])
    return format_of(lines[0].strip(), newest, got, "a version line such as 'v1'"), lines[1:]


def format_of(text: str, newest: int, got: str, expected: str) -> int:
    """Return the format that a version line such as ``v1`` names.

    DecodeError: the line names none (``got`` and ``expected`` are words of the message), or a
    format above ``newest``.
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        raise DecodeError(f"got {got}, expected {expected}", offset=0)
    version = int(match[1])
    if not 1 <= version <= newest:
        raise DecodeError(f"got format v{version}, expected v1 to v{newest}", offset=0)
    return version


def json_object(text: str) -> dict[str, object]:
    """Return the JSON object of a text. DecodeError: another value, or no valid JSON."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise DecodeError(f"got no JSON ({reason}), expected a JSON object") from None
    if not isinstance(value, dict):
        raise DecodeError(f"got a JSON {type(value).__name__}, expected a JSON object")
    return value


def long_field(fields: dict[str, object], name: str) -> int | None:
    """Return a field that Spark writes as a long; None if absent. DecodeError: no long."""
    value = fields.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > MAX_LONG:
        raise DecodeError(f"got {str(value)[:40]!r} as {name}, expected a 64-bit integer")
    return value


def text_field(fields: dict[str, object], name: str) -> str:
    """Return a field that Spark writes as a string. DecodeError: it is absent, or no string."""
    value = fields.get(name)
    if not isinstance(value, str):
        raise DecodeError(f"got {str(value)[:40]!r} as {name}, expected a string")
    return printable(value)


def object_field(fields: dict[str, object], name: str) -> dict[str, object]:
    """Return a field that is a JSON object; empty if absent. DecodeError: another value."""
    value = fields.get(name, {})
    if not isinstance(value, dict):
        raise DecodeError(f"got {str(value)[:40]!r} as {name}, expected a JSON object")
    return value


def printable(text: str) -> str:
    """Return the text with lone surrogates replaced, which no output could encode."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _refuse(constant: str) -> NoReturn:
    """Raise ValueError: JSON has no such constant (NaN, Infinity)."""
    raise ValueError(f"{constant} is not JSON")
