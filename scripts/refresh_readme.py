#!/usr/bin/env python3
"""Put into README.md what its commands print today.

    python scripts/refresh_readme.py

A block between ``<!-- NAME -->`` and ``<!-- /NAME -->`` whose first line is ``$ inspector ...``
gets the output of that command. A test holds the README against the same.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"(<!-- (\w+) -->\n```text\n\$ )([^\n]+)\n.*?(```\n<!-- /\2 -->)", re.DOTALL)


def printed(command: str) -> str:
    """What a command of the README prints on stdout, run from the project's root."""
    program, *arguments = shlex.split(command)
    if program != "inspector":
        raise SystemExit(f"got the command {program!r}, expected inspector")
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "80", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "inspector", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.rstrip("\n")


def main() -> None:
    """Rewrite the blocks."""
    readme = ROOT / "README.md"
    text = readme.read_text("utf-8")
    fresh = BLOCK.sub(lambda m: f"{m[1]}{m[3]}\n{printed(m[3])}\n{m[4]}", text)
    readme.write_text(fresh, "utf-8")
    print(f"{len(BLOCK.findall(text))} blocks, {'changed' if fresh != text else 'as they were'}")


if __name__ == "__main__":
    main()
