"""All fixtures of the repository as folders, unpacked into pytest's cache."""

from __future__ import annotations

from pathlib import Path

from fixtures.archives import unpack

REPOSITORY = Path(__file__).resolve().parents[1]
"""Root of the repository."""

FIXTURES = unpack(REPOSITORY / ".pytest_cache" / "d" / "fixtures")
"""Folder with ``<Spark release>/<case>/``. Tests read it and never write there."""

NEWEST = FIXTURES / "4.3.0"
"""Folder of the fixtures of the newest Spark release, with ``<case>/``."""
