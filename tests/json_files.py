"""Readers of JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def json_lines(text: str) -> list[dict[str, Any]]:
    """Return the JSON documents of a text that has one of them in each line."""
    return [json.loads(line) for line in text.splitlines()]


def read_json(file: Path) -> Any:
    """Return the document in a JSON file."""
    return json.loads(file.read_text("utf-8"))
