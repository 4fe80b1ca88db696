"""Restart a query in real-time mode whose newest batch has no commit, and print what Spark does.

    python scripts/lab/restart_real_time.py FOLDER        with PySpark 4.3

The query runs in real-time mode until it has a commit. The last commit is removed from two copies
of the checkpoint. One is restarted in real-time mode and one with micro-batches. Each change of
the names in both logs is printed with the seconds since the restart, and at the end the batch
clocks of ``offsets``. Seen with Spark 4.3.0: real-time mode removes ``offsets/0``, and writes it
again with another clock just before ``commits/0``; micro-batches keep it.

Nothing is configured but the trigger: Spark 4.3 itself sets RocksDB, checkpoint format 2 and
changelogs.
"""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from restarts.sessions import start_session

REAL_TIME, MICRO_BATCH = {"realTime": "4 seconds"}, {"processingTime": "500 milliseconds"}
PATIENCE_S = 300  # seconds until a commit
CONFS = {
    "spark.master": "local[6]",  # the tasks of all stages run at the same time
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.realTimeMode.minBatchDuration": "1000",
}


class Query:
    """A count by second over a memory stream."""

    def __init__(self, spark: Any) -> None:
        self._spark, self._jvm = spark, spark.sparkContext._jvm
        streams = self._jvm.org.apache.spark.sql.execution.streaming.sources
        encoder = self._jvm.org.apache.spark.sql.Encoders.STRING()
        self._input = streams.LowLatencyMemoryStream.singlePartition(spark._jsparkSession, encoder)

    def run(self, root: Path, trigger: Mapping[str, str]) -> None:
        """Run the query from a checkpoint until batch 0 has a commit, and print its logs."""
        from pyspark.sql import DataFrame

        rows = DataFrame(self._input.toDF(), self._spark).selectExpr("cast(value as timestamp) ts")
        counts = rows.withWatermark("ts", "2 seconds").groupBy("ts").count()
        writer: Any = counts.writeStream.outputMode("update").format("console").trigger(**trigger)
        query = writer.option("checkpointLocation", str(root)).start()
        begin, seen = time.monotonic(), ""
        while query.isActive and time.monotonic() < begin + PATIENCE_S:
            line = [time.strftime("%Y-%m-%d %H:%M:%S")]
            self._input.addData(self._jvm.PythonUtils.toSeq(line))
            names = f"offsets {entries(root, 'offsets')}, commits {entries(root, 'commits')}"
            if names != seen:
                print(f"  {time.monotonic() - begin:5.1f} s: {names}", file=sys.stderr)
            seen = names
            if 0 in entries(root, "commits"):
                break
            time.sleep(0.2)
        query.stop()
        print(f"  clocks {clocks(root)}", file=sys.stderr)


def entries(root: Path, log: str) -> list[int]:
    """Return the numbers of the entries of a log."""
    return sorted(int(path.name) for path in (root / log).glob("[0-9]*") if path.name.isdecimal())


def clocks(root: Path) -> dict[int, str]:
    """Return the clock of each entry of the offset log."""
    result = {}
    for number in entries(root, "offsets"):
        text = (root / "offsets" / str(number)).read_text("utf-8")
        match = re.search(r'"batchTimestampMs":(\d+)', text)
        result[number] = match[1] if match else "none"
    return result


def main() -> None:
    """Run the query and restart both copies."""
    folder = Path(sys.argv[1]).resolve()
    query = Query(start_session("real-time", CONFS))
    print("first run", file=sys.stderr)
    query.run(folder / "first", REAL_TIME)
    for name, trigger in (("real-time", REAL_TIME), ("micro-batch", MICRO_BATCH)):
        root = folder / name
        shutil.copytree(folder / "first", root)
        for number in entries(root, "commits"):
            (root / "commits" / str(number)).unlink()
            (root / "commits" / f".{number}.crc").unlink(missing_ok=True)
        print(f"without commits, {name}: clocks {clocks(root)}", file=sys.stderr)
        query.run(root, trigger)


if __name__ == "__main__":
    main()
