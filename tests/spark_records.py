"""Answers of Spark that are recorded next to each fixture."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from tests.reports import json_lines

STORE_VERSION = ("op", "store", "part", "ver")
"""Columns of a recorded row that name a version of a store in one partition."""


def read_json(file: Path) -> Any:
    """Return the document in a JSON file."""
    return json.loads(file.read_text("utf-8"))


def read_rows(case: Path, name: str = "truth") -> list[dict[str, Any]]:
    """Return the rows of ``<name>.jsonl.gz``, which Spark's own reader wrote."""
    return json_lines(gzip.decompress((case / f"{name}.jsonl.gz").read_bytes()).decode())


def read_calls(case: Path) -> list[dict[str, Any]]:
    """Return the calls that the state function of a query recorded."""
    return json_lines((case / "calls.jsonl").read_text("utf-8"))
