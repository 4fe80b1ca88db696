"""Make tests/golden/real_time.tar.xz: queries in real-time mode, whose batches run for a time.

    python scripts/make_real_time.py

Spark 4.3 writes them, and says in ``truth.jsonl.gz`` what they hold. Their times are those of the
clock: each run of this makes others.
"""

from __future__ import annotations

import tarfile
import tempfile
from pathlib import Path

from fixtures.sparks import Spark
from make_fixtures import CACHE

HOME = Path(__file__).resolve().parents[1]
MAIN_CLASS = "org.apache.spark.sql.execution.streaming.state.RealTime"
CASES = ("aggregation", "deduplication", "timers", "ttl")
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
STATE = "spark.sql.streaming.stateStore"
CONF = {
    f"{STATE}.providerClass": ROCKSDB,
    f"{STATE}.rocksdb.changelogCheckpointing.enabled": "true",
    f"{STATE}.checkpointFormatVersion": "2",  # which this mode demands
    "spark.sql.streaming.realTimeMode.minBatchDuration": "1000",
}


def main() -> None:
    """Run them, and pack what they leave, without Hadoop's checksums."""
    with tempfile.TemporaryDirectory() as folder:
        build, out = Path(folder, "build"), Path(folder, "out")
        build.mkdir()
        spark = Spark("4.3.0", CACHE, build)
        spark.compile(Path(__file__).parent / "real_time")
        spark.conf |= CONF
        spark.submit(
            "--master", "local[8]", "--class", MAIN_CLASS, str(spark.jar), str(out), *CASES
        )
        for path in (*out.rglob(".*.crc"), *out.rglob("raw.jsonl.gz")):
            path.unlink()
        with tarfile.open(HOME / "tests" / "golden" / "real_time.tar.xz", "w:xz") as archive:
            for name in CASES:
                archive.add(out / name, name)


if __name__ == "__main__":
    main()
