"""How much smaller a compact copy is than its source, and how much sooner Spark starts from it."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from copies.families import EPOCH_S, FAMILIES, PROVIDERS, Family

BATCHES, ROWS, USERS, REPEAT = 100, 5_000, 20_000, 5
_NO_MAINTENANCE = {"spark.sql.streaming.stateStore.maintenanceInterval": "3600s"}
"""So that no snapshot is written and nothing removed."""


def write_users(folder: Path, batch: int) -> None:
    """The input of one batch: each user comes again after four."""
    first = batch * ROWS
    rows = [{"user": f"user-{i % USERS:06d}", "v": i} for i in range(first, first + ROWS)]
    (folder / "left").mkdir(parents=True, exist_ok=True)
    hidden = folder / "left" / f".{batch:03d}"
    hidden.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    os.utime(hidden, (EPOCH_S + batch, EPOCH_S + batch))
    hidden.rename(hidden.with_name(f"b{batch:03d}.json"))


def measure(
    home: Path,
    conf: Callable[[str, str], Any],
    run: Callable[[Family, Path, Path], Any],
    copy: Callable[[Path, Path], dict[str, Any]],
) -> None:
    """Print bytes of state and seconds from start to the end of the first batch, of both.

    Args:
        home: a folder for it.
        conf: sets one of the session.
        run: a query on its input from a checkpoint, until it has read all.
        copy: makes a compact copy, and gives its summary.
    """
    family, inputs = FAMILIES["aggregation"], home / "input"
    source, dest, twin = home / "source", home / "copy", home / "twin"
    for name, value in (PROVIDERS["hdfs"] | _NO_MAINTENANCE).items():
        conf(name, value)
    for batch in range(BATCHES):
        write_users(inputs, batch)
    run(family, inputs, source)
    summary = copy(source, dest)["summary"]
    write_users(inputs, BATCHES)
    seconds: dict[Path, list[float]] = {source: [], dest: []}
    for _ in range(REPEAT + 1):
        for root, times in seconds.items():
            shutil.copytree(root, twin)
            start = time.perf_counter()
            run(family, inputs, twin)
            times.append(time.perf_counter() - start)
            shutil.rmtree(twin)
    sizes = summary["source_state_bytes"], summary["copy_state_bytes"]
    medians = [statistics.median(times[1:]) for times in seconds.values()]
    print(f"{BATCHES} deltas of {ROWS:,} rows, {summary['rows']:,} keys; its copy is one snapshot")
    print(f"bytes of state: {sizes[0]:,} and {sizes[1]:,}, ratio {sizes[0] / sizes[1]:.1f}")
    faster = medians[0] / medians[1]
    print(f"first batch, s: {medians[0]:.2f} and {medians[1]:.2f}, ratio {faster:.1f}")
    print({root.name: [round(t, 2) for t in times] for root, times in seconds.items()})
