"""Texts that are compared as a whole with files under ``tests/golden``."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

_TESTS = Path(__file__).resolve().parents[1]


class Golden:
    """Compares a text with a golden file; ``pytest --accept-golden`` rewrites the file."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._accept = bool(request.config.getoption("--accept-golden"))

    def check(self, name: str, text: str, folder: Path = _TESTS) -> None:
        """Fail with the difference if ``golden/name`` differs from ``text``."""
        golden, actual = folder / "golden" / name, folder / "actual" / name
        if self._accept:
            golden.write_text(text, encoding="utf-8", newline="\n")
        expected = golden.read_text(encoding="utf-8") if golden.exists() else ""
        if text == expected:
            return
        actual.parent.mkdir(exist_ok=True)
        actual.write_text(text, encoding="utf-8", newline="\n")
        before, after = expected.splitlines(), text.splitlines()
        lines = difflib.unified_diff(before, after, "golden", f"tests/actual/{name}", lineterm="")
        pytest.fail("\n".join(lines), pytrace=False)
