"""Reader of TOML for all supported versions of Python."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
"""Root of the repository."""


def read_pyproject() -> dict[str, Any]:
    """Return the content of the project's ``pyproject.toml``."""
    return parse_toml((ROOT / "pyproject.toml").read_text("utf-8"))


def parse_toml(text: str) -> dict[str, Any]:
    """Return the content of a text in TOML."""
    return tomllib.loads(text)
