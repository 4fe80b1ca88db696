"""Make random workloads: checkpoints of queries that nobody chose, with an account of all they did.

    python scripts/lab/make_workloads.py --out DIR [--spark-version installed|4.3.0|3.5.9]
                                     [--seed N] [--count N] [--only REGEX] [--list]
                                     [--conf KEY=VALUE ...]

Each workload is a folder:

* ``checkpoint/``: what an inspector reads.
* ``spec.txt``: one line, ``name key=value ...`` (workloads/families.py tells the words), and one
  that says ``# ok`` or what went wrong.
* ``calls.jsonl``: what the query function says of each of its calls (workloads/account.py).
* ``batches.jsonl``: by batch watermark, clock, run, and the watermark by which each operator of the
  executed plan evicts; for joins its predicates.
* ``variables.jsonl``: the same of each transformWithState (fixtures/state_from_calls.py).
* ``store.jsonl``: Spark's own rows of the newest version.

At the end the state is rebuilt from the calls and compared with Spark's rows; the exit code is 1 if
one differs. Needs what make_fixtures.py needs.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import sys
import tempfile
from pathlib import Path

import top_scripts  # noqa: F401 - finds the folder above
from fixtures.sparks import SOURCES as FIXTURES
from fixtures.sparks import InstalledSpark, Spark, file_manager
from workloads.account import check, read
from workloads.families import lines

SOURCES = Path(__file__).resolve().parent / "workloads"
MAIN_CLASS = "org.apache.spark.sql.execution.streaming.state.Workloads"
CACHE = Path.home() / ".cache" / "spark-state-inspector"

CONF = {
    # Small queries by the hundred: what Spark spends is the time to compile and to keep accounts.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.ui.retainedExecutions": "1",
    "spark.ui.retainedJobs": "1",
    "spark.ui.retainedStages": "1",
    "spark.sql.streaming.numRecentProgressUpdates": "1",
    # What would be compiled is interpreted, to the same rows.
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.lightweightPlanChangeValidation": "false",
    "spark.sql.maxPlanStringLength": "0",
    "spark.ui.liveUpdate.period": "-1",
    "spark.broadcast.compress": "false",
    "spark.shuffle.compress": "false",
}

QUICK = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m "
QUICK += "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
"""A compiler that is quick, with room for what it makes: sweeping it costs 6 % of the time. Spark's
own classes are believed."""

RETRYING = "local[2,3]"
"""A master that runs a task again, which a plain local one does not."""
INSTALLED = "installed"


def make(version: str, cache: Path, chosen: list[str], out: Path) -> None:
    """Let Spark run the workloads, all of them in one JVM."""
    out.mkdir(parents=True, exist_ok=True)
    for line in chosen:
        shutil.rmtree(out / line.split(" ", 1)[0], ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="make-workloads-") as folder:
        cache.mkdir(parents=True, exist_ok=True)
        where = (cache.resolve(), Path(folder))
        spark = InstalledSpark(*where) if version == INSTALLED else Spark(version, *where)
        spark.conf |= CONF | dict([file_manager(spark.release)])
        compile_programs(spark)
        # The program of Python runs the workloads in Scala as well.
        pandas = any(re.search(" op=pd| plan=.*(pd|tws[pr])", line) for line in chosen)
        submit(spark, chosen, out.resolve(), Path(folder, "workloads.txt"), pandas=pandas)


def compile_programs(spark: Spark) -> None:
    """Compile the Scala programs, unless the cache folder has the jar of these very sources."""
    digest = hashlib.sha256()
    for path in sorted([*SOURCES.glob("*.scala"), *FIXTURES.glob("*.scala")]):
        digest.update(path.read_bytes())
    remaining = spark.cache / f"workloads-{spark.version}-{digest.hexdigest()[:16]}.jar"
    if not remaining.is_file():
        spark.compile(SOURCES)
        shutil.copy(spark.jar, remaining)
    spark.jar = remaining


def submit(spark: Spark, chosen: list[str], out: Path, file: Path, *, pandas: bool) -> None:
    """Let Spark run some workloads, whose lines go into a file."""
    file.write_text("\n".join(chosen) + "\n", encoding="utf-8")
    options = ["--master", RETRYING]
    if pandas:
        options += ["--jars", str(spark.jar)]
        program = [str(SOURCES / "pandas_workloads.py"), str(out), str(file)]
    else:
        options += ["--class", MAIN_CLASS]
        program = [str(spark.jar), str(out), str(file)]
    spark.submit(*options, *program, pandas=pandas, java=QUICK)


def report(chosen: list[str], out: Path) -> int:
    """Say which workloads failed or differ from their calls; return their number."""
    bad = 0
    for line in chosen:
        problems = check(read(out / line.split(" ", 1)[0]))
        bad += bool(problems)
        for problem in problems[:3]:
            print(f"{line}\n    {problem}")
    print(f"{len(chosen)} workloads, {bad} of them failed or not as their calls say")
    return bad


def main() -> None:
    """Make the workloads that are asked for and check them."""
    parser = argparse.ArgumentParser(description="Make random workloads, labelled by their calls.")
    parser.add_argument("--spark-version", default=INSTALLED, help="or that which is installed")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=16)
    parser.add_argument("--only", default="", metavar="REGEX", help="those whose name matches")
    parser.add_argument("--list", action="store_true", help="only say which these are")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where downloads are kept")
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="of the session; repeatable",
    )
    options = parser.parse_args()
    CONF.update(dict(item.split("=", 1) for item in options.conf))
    chosen = lines(options.seed, options.count, options.spark_version, options.only)
    if options.list:
        print("\n".join(chosen))
        return
    make(options.spark_version, options.cache, chosen, options.out)
    sys.exit(1 if report(chosen, options.out) else 0)


if __name__ == "__main__":
    main()
