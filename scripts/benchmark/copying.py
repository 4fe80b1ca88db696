"""The copy of a checkpoint of which a tenth of the keys is evicted, against its audit."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from benchmark.checkpoint import Size, kept
from benchmark.processes import AUDIT, Runs
from benchmark.shapes import GROUP_STATE
from benchmark.tables import table

from inspector import api


def measure(folder: Path, size: Size, runs: Runs) -> dict[str, Any]:
    """Seconds of both processes, and how many times the audit's the copy takes.

    The rows are named by a condition, so that all keys are decoded, and go by their timers.
    """
    sample, dest = kept(folder / "copied", size, GROUP_STATE), folder / "copy"
    users = sorted(
        row["key"]["value"] for row in api.rows(str(sample.path), limit=10_000).primary.rows
    )
    condition = f"value<{users[len(users) // 10]}"
    command = [
        sys.executable,
        "-c",
        AUDIT,
        "copy",
        str(sample.path),
        str(dest),
        "--where",
        condition,
    ]
    audit = runs.audit(sample.path)
    copies = []
    for _ in range(runs.repeat):
        shutil.rmtree(dest, ignore_errors=True)
        copies.append(runs._replace(repeat=1).best(command))
    wall, cpu = min(run.wall_s for run in copies), min(run.cpu_s for run in copies)
    result = {
        "audit_s": round(audit.wall_s, 2),
        "copy_s": round(wall, 2),
        "copy_per_audit": round(wall / audit.wall_s, 2),
    }
    table(
        f"copy, {size.keys:,} keys of group state of which a tenth is evicted",
        ("process", "wall s", "cpu s", "x audit"),
        [
            ("audit", f"{audit.wall_s:.2f}", f"{audit.cpu_s:.2f}", ""),
            ("copy", f"{wall:.2f}", f"{cpu:.2f}", f"{result['copy_per_audit']}"),
        ],
    )
    return result
