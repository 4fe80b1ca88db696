"""Time and memory of ``inspector offsets`` on a long log of a topic with many partitions.

    python scripts/lab/measure_offsets.py [--batches 10000] [--partitions 1000]

Makes the checkpoint in a temporary folder, runs the command once to fill the page cache, and prints
the best of three runs of the whole process. Exit code 1 above 3 seconds or 200 MB.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MOST_SECONDS, MOST_MB = 3.0, 200.0
RUNS = 3


def make(root: Path, batches: int, partitions: int) -> None:
    """Make the logs of a query without state that reads one topic."""
    for log in ("offsets", "commits"):
        (root / log).mkdir()
    (root / "metadata").write_text('{"id":"6b9eae53-51a4-46f7-8a4b-f0d2b1a6d6d4"}', "utf-8")
    conf = {"spark.sql.shuffle.partitions": "200"}
    for batch in range(batches):
        time_ms = 1_700_000_000_000 + 1000 * batch
        head = {"batchWatermarkMs": 0, "batchTimestampMs": time_ms, "conf": conf}
        offsets = {str(n): 1_000_000 + batch * (10 + n % 7) for n in range(partitions)}
        lines = [json.dumps(line, separators=(",", ":")) for line in (head, {"orders": offsets})]
        (root / "offsets" / str(batch)).write_text("\n".join(["v1", *lines]), "utf-8")
        (root / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}', "utf-8")


def measure(root: Path) -> tuple[float, float, int]:
    """Return the seconds, peak MB and rows of one run."""
    command = [sys.executable, "-m", "inspector", "offsets", str(root), "-o", "ndjson"]
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        rows = sum(1 for _ in process.stdout)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"the command ended with {process.returncode}")
    return time.perf_counter() - started, usage.ru_maxrss / 1024, rows


def main() -> int:
    """Measure, print, and compare with the limits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=10_000)
    parser.add_argument("--partitions", type=int, default=1_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make(root, options.batches, options.partitions)
        measure(root)
        runs = [measure(root) for _ in range(RUNS)]
    seconds, peak_mb = min(run[0] for run in runs), max(run[1] for run in runs)
    print(f"{runs[0][2]:,} rows: {seconds:.2f} s, {peak_mb:.0f} MB")
    return int(seconds > MOST_SECONDS or peak_mb > MOST_MB)


if __name__ == "__main__":
    sys.exit(main())
