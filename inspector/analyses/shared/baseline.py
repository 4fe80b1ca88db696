"""The baseline of an audit: a JSON report of an earlier run, of one checkpoint or of a fleet."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from inspector.findings.baseline import Earlier, earlier_of
from inspector.render.report import SCHEMA_VERSION

LARGEST_BYTES = 64 << 20
"""Of a baseline; an audit of a checkpoint has some ten KB."""

_COMMAND = "audit"


@dataclass(frozen=True)
class Baseline:
    """What an earlier run found, by what its checkpoints are recognised by.

    Attributes:
        by_query: query id -> checkpoint. A checkpoint may move, and its copy has the same id.
        by_path: path -> checkpoint.
    """

    by_query: Mapping[str, tuple[Earlier, ...]]
    by_path: Mapping[str, Earlier]

    def earlier(self, checkpoint: str, query_id: str | None) -> Earlier | None:
        """What is known of a checkpoint: by its query id, then by its path; None if nothing is."""
        same_query = self.by_query.get(query_id or "", ())
        here = self.by_path.get(_path(checkpoint))
        if len(same_query) == 1 or (same_query and here not in same_query):
            return same_query[0]
        return here

    def __iter__(self) -> Iterator[Earlier]:
        """All checkpoints, in the order of the file."""
        return iter(self.by_path.values())


def read_baseline(file: str) -> Baseline:
    """A baseline from a file of this machine.

    Raises:
        ValueError: it cannot be read, is too large, no JSON, or no report of an audit of this
            ``schema_version``.
    """
    try:
        stat = os.stat(file)
        return _read(file, stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        raise ValueError(f"the baseline {file} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"the baseline {file} cannot be used: {error}") from None


@lru_cache(maxsize=1)
def _read(file: str, _changed_ns: int, _size: int) -> Baseline:
    """Parsed once for all checkpoints of a fleet, as long as the file stays as it is."""
    with open(file, "rb") as source:
        text = source.read(LARGEST_BYTES + 1)
    if len(text) > LARGEST_BYTES:
        raise ValueError(f"it has more than {LARGEST_BYTES:,} bytes")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is no JSON ({error})") from None
    return _baseline(document)


def _baseline(document: Any) -> Baseline:
    if not isinstance(document, dict) or "schema_version" not in document:
        raise ValueError("got something else than a report, expected that of audit -o json")
    if document["schema_version"] != SCHEMA_VERSION:
        got = str(document["schema_version"])[:20]
        raise ValueError(
            f"got schema_version {got}, expected {SCHEMA_VERSION}: make it again with this version"
        )
    if document.get("command") != _COMMAND:
        got = str(document.get("command"))[:40]
        raise ValueError(f"got a report of {got!r}, expected one of {_COMMAND!r}")
    reports = document.get("reports", [document])
    if not isinstance(reports, list):
        raise ValueError("its reports are no list")  # noqa: TRY004 - a value of the file
    # What could not be read at all then says nothing of what was there.
    found = [earlier_of(one) for one in reports if not _failed(one)]
    by_query: dict[str, tuple[Earlier, ...]] = {}
    for one in found:
        if one.query_id is not None:
            by_query[one.query_id] = (*by_query.get(one.query_id, ()), one)
    return Baseline(by_query, {_path(one.checkpoint): one for one in found})


def _failed(report: Any) -> bool:
    return isinstance(report, dict) and "error" in report


def _path(checkpoint: str) -> str:
    return checkpoint.rstrip("/")
