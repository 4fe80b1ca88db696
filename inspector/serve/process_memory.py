"""Memory of this process."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_STATUS = Path("/proc/self/status")  # where Linux says it


def process_bytes() -> int | None:
    """Return the resident memory of this process in bytes; None where the system has no /proc."""
    with suppress(OSError, ValueError):
        for line in _STATUS.read_text("ascii", "replace").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) << 10
    return None
