"""What an option saves, or costs: the same checkpoint with it and without, in turns.

* the second core, for a checkpoint whose only partition has all keys: wall clock;
* ``--memory-limit``, where the keys of a partition do not fit into it: peak memory against the
  limit, and the time of the passes that it takes;
* ``verify --subset``, of so many small files: processor time of a part against that of the whole;
* ``audit --history``, which appends a row for each store: processor time.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from benchmark.checkpoint import Size, kept
from benchmark.many import small_files
from benchmark.processes import AUDIT, Run, Runs
from benchmark.tables import table

from inspector.analyses.shared.key_ranges import READING_BYTES, START_BYTES

SUBSET = "1/24"
LIMIT_SHARE = 0.6
"""Of what an audit takes without a limit, unless that is too little for anything."""


def measure(folder: Path, keys: int, files: int, runs: Runs) -> dict[str, Any]:
    """Ratios of each option, with against without.

    Args:
        folder: where checkpoints are made.
        keys: of the only partition.
        files: small ones, for what goes by files.
        runs: how processes are measured.
    """
    lonely = kept(folder / "lonely", Size(keys, 10, 1)).path
    small = small_files(folder, files).path
    history = folder / "history_of_audits"
    shutil.rmtree(history, ignore_errors=True)
    item, two = runs.best_of(_audit(lonely, "--workers", "1"), _audit(lonely, "--workers", "2"))
    limit = max(int(item.peak_mb * 1e6 * LIMIT_SHARE), START_BYTES + 2 * READING_BYTES)
    limited = runs.best(_audit(lonely, "--workers", "1", "--memory-limit", str(limit)))
    verify = [sys.executable, "-c", AUDIT, "verify", "--fail-on", "never", str(small)]
    complete, part = runs.best_of(verify, [*verify, "--subset", SUBSET])
    alone, kept_in = runs.best_of(_audit(small), _audit(small, "--history", str(history)))
    ratios = {
        "second_core_wall": two.wall_s / item.wall_s,
        "memory_limit_wall": limited.wall_s / item.wall_s,
        "memory_limit_peak_per_limit": limited.peak_mb * 1e6 / limit,
        "subset_cpu": part.cpu_s / complete.cpu_s,
        "history_cpu": kept_in.cpu_s / alone.cpu_s,
    }
    table(
        f"with an option and without: {keys:,} keys in 1 partition; {files:,} small files",
        ("process", "wall s", "cpu s", "peak MB", "x wall", "x cpu"),
        [
            _row("audit --workers 1, one partition", item, item),
            _row("audit --workers 2", two, item),
            _row(f"audit --workers 1 --memory-limit {limit / 1e6:.0f}MB", limited, item),
            _row("verify, small files", complete, complete),
            _row(f"verify --subset {SUBSET}", part, complete),
            _row("audit, small files", alone, alone),
            _row("audit --history", kept_in, alone),
        ],
    )
    return {name: round(ratio, 2) for name, ratio in ratios.items()}


def _audit(path: Path, *options: str) -> list[str]:
    return [sys.executable, "-c", AUDIT, "audit", "--fail-on", "never", *options, str(path)]


def _row(name: str, run: Run, base: Run) -> tuple[str, ...]:
    ratios = (
        ("", "")
        if run is base
        else (f"{run.wall_s / base.wall_s:.2f}", f"{run.cpu_s / base.cpu_s:.2f}")
    )
    return name, f"{run.wall_s:.2f}", f"{run.cpu_s:.2f}", f"{run.peak_mb:.0f}", *ratios
