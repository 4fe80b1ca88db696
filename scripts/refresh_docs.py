#!/usr/bin/env python3
"""Put into README.md and the documentation's pages what is true today.

    python scripts/refresh_docs.py

What stands between ``<!-- NAME -->`` and ``<!-- /NAME -->`` is made anew: a block whose first line
is ``$ inspector ...`` from that command's output, any other by the function of that name in
``documentation/generated.py``. A page of each command is made as a whole
(``documentation/commands.py``). A test holds the pages against the same.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts" / "lab")]

from documentation.blocks import refreshed  # noqa: E402 - the package is found only now
from documentation.commands import FOLDER, command_pages  # noqa: E402
from documentation.report_schema import PAGE, report_schema  # noqa: E402
from documentation.typed_methods import stubs  # noqa: E402

from inspector.cli.main import run  # noqa: E402
from inspector.render.display import Display  # noqa: E402

WIDTH = 90
"""Columns of the terminal that the pages show."""


def printed(arguments: list[str]) -> str:
    """What the command line prints on a terminal without colours."""
    out = io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["inspector", *arguments]),
        mock.patch.dict(os.environ, {"NO_COLOR": "1", "COLUMNS": "80"}),
        mock.patch("inspector.cli.output_files.display_of", return_value=Display(WIDTH)),
        contextlib.redirect_stdout(out),
        contextlib.suppress(SystemExit),
    ):
        run()
    return out.getvalue()


DOCS = ROOT / "inspector" / "docs"


LOG_OF_RESTARTS = ROOT / "scripts" / "lab" / "restarts" / "changes.md"


def pages() -> Iterator[Path]:
    """README.md, CONTRIBUTING.md, the log of restarts and every page."""
    yield ROOT / "README.md"
    yield ROOT / "scripts" / "CONTRIBUTING.md"
    yield LOG_OF_RESTARTS
    yield from sorted(DOCS.rglob("*.md"))


def write_command_pages() -> None:
    """A page for each analysis, and none for one that is no more."""
    result = {DOCS / f"{name}.md": text for name, text in command_pages(printed).items()}
    (DOCS / FOLDER).mkdir(exist_ok=True)
    for page in (DOCS / FOLDER).glob("*.md"):
        if page not in result:
            page.unlink()
            print(f"{page.relative_to(ROOT)}: removed")
    for page, text in result.items():
        if not page.exists() or page.read_text("utf-8") != text:
            page.write_text(text, "utf-8")
            print(f"{page.relative_to(ROOT)}: changed")


def write_report_schema() -> None:
    """The JSON Schema of reports."""
    page, text = DOCS / PAGE, report_schema()
    if not page.exists() or page.read_text("utf-8") != text:
        page.write_text(text, "utf-8")
        print(f"{page.relative_to(ROOT)}: changed")


def main() -> None:
    """Rewrite what has changed."""
    os.chdir(ROOT)
    write_command_pages()
    write_report_schema()
    for stub, text in stubs().items():
        stub.write_text(text, "utf-8")
    for page in pages():
        text = page.read_text("utf-8")
        fresh = refreshed(text, printed)
        if fresh != text:
            page.write_text(fresh, "utf-8")
            print(f"{page.relative_to(ROOT)}: changed")


if __name__ == "__main__":
    main()
