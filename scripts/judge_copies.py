#!/usr/bin/env python3
"""Spark judges ``inspector copy``: twins of one checkpoint restarted on the same new input.

    python scripts/judge_copies.py                                  all families and providers
    python scripts/judge_copies.py --families stateful --providers hdfs,zips
    python3.10 scripts/judge_copies.py --inspector /path/to/python   with another PySpark

For each query and provider: the query runs, is stopped, and goes on three times from the same
point on the same input: from its own checkpoint, from a plain copy, and from a copy without the
rows of some users. It prints whether the outputs are equal, batch by batch for the plain copy and
as multisets of the other users for the evicted one, whether Spark's ``statestore`` source (4.0 on)
counts the rows that the copy says it has, and what came out for the evicted users. The exit code is
1 if anything is not as it should be. Run it with the Python of the PySpark that is to judge;
``--inspector`` is the Python that has the inspector.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from copies.families import FAMILIES, PROVIDERS, SCHEMA, VICTIMS, Family, write_input
from copies.families import OTHER as OTHER_SCHEMA

BEFORE, AFTER = 4, 3
Rows = Counter[tuple[Any, ...]]


@dataclass
class Verdict:
    """What was seen of one query with one provider.

    Attributes:
        faults: what is not as it should be.
    """

    batches: int = 0
    rows: int = 0
    evicted: int = 0
    called: int = 0
    faults: list[str] = field(default_factory=list)

    def expect(self, *, holds: bool, otherwise: str) -> None:
        """Note a fault unless something holds."""
        if not holds:
            self.faults.append(otherwise)


class Judge:
    """Runs queries in one session.

    Attributes:
        spark: the session. folder: for checkpoints and input. inspector: the Python that has it.
    """

    def __init__(self, folder: Path, inspector: str) -> None:
        # Python workers import the queries.
        os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parent)
        from pyspark.sql import SparkSession

        self.folder, self.inspector = folder, inspector
        self.spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.driver.memory", "1g")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.streaming.statefulOperator.checkCorrectness.enabled", "false")
            .config("spark.sql.streaming.noDataMicroBatches.enabled", "true")
            .getOrCreate()
        )
        self.spark.sparkContext.setLogLevel("OFF")

    def run(self, family: Family, inputs: Path, checkpoint: Path) -> dict[int, Rows]:
        """Run a query until it has read its input: the rows of each batch."""
        batches: dict[int, Rows] = {}

        def collect(frame: Any, batch: int) -> None:
            batches[batch] = Counter(map(tuple, frame.collect()))

        def source(side: str) -> Any:
            schema = SCHEMA if side == "left" else OTHER_SCHEMA
            reader = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
            return reader.json(str(inputs / side))

        writer = family.build(source).writeStream.outputMode(family.mode)
        query = (
            writer.foreachBatch(collect)
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return batches

    def copy(self, source: Path, dest: Path, *options: str) -> tuple[int, dict[str, Any]]:
        """Exit code and report of ``inspector copy``."""
        command = [self.inspector, "-m", "inspector", "copy", str(source), str(dest), "-o", "json"]
        done = subprocess.run(
            [*command, "-q", *options],
            capture_output=True,
            text=True,
            check=False,
            cwd=Path(__file__).resolve().parents[1],
        )
        try:
            return done.returncode, json.loads(done.stdout)
        except ValueError:
            return done.returncode, {"error": done.stderr.strip()}

    def counts(self, checkpoint: Path) -> int | None:
        """Rows of all stores by Spark's own source; None where this Spark has none."""
        if int(self.spark.version.split(".")[0]) < 4:
            return None
        twin = checkpoint.with_name(f"{checkpoint.name}-counted")  # the source makes folders
        shutil.copytree(checkpoint, twin)
        metadata = self.spark.read.format("state-metadata").load(str(twin))
        total = 0
        for row in metadata.select("operatorId", "stateStoreName").distinct().collect():
            reader = self.spark.read.format("statestore").option("operatorId", row[0])
            total += reader.option("storeName", row[1]).load(str(twin)).count()
        return total

    def judge(self, name: str, provider: str) -> Verdict:
        """One query with one provider."""
        family, verdict = FAMILIES[name], Verdict()
        for conf, value in PROVIDERS[provider].items():
            self.spark.conf.set(conf, value)
        home = self.folder / f"{name}-{provider}"
        inputs, source = home / "input", home / "source"
        for batch in range(BEFORE):
            write_input(inputs, batch, victims=True)
        self.run(family, inputs, source)
        twin, plain, evicted = home / "twin", home / "plain", home / "evicted"
        shutil.copytree(source, twin)
        code, report = self.copy(source, plain)
        verdict.expect(holds=code == 0, otherwise=f"copy ended with {code}: {report.get('error')}")
        victims = ("--where", f"user<{VICTIMS}")
        code, evictions = self.copy(source, evicted, *victims)
        verdict.expect(
            holds=code == (0 if family.evicts else 2),
            otherwise=f"eviction ended with {code}: {evictions.get('error')}",
        )
        if verdict.faults:
            return verdict
        for checkpoint, summary in ((plain, report), (evicted, evictions)):
            if checkpoint.exists():
                count, said = self.counts(checkpoint), summary["summary"]["rows"]
                verdict.expect(
                    holds=count in (None, said), otherwise=f"Spark counts {count} rows, not {said}"
                )
        for batch in range(BEFORE, BEFORE + AFTER):
            write_input(inputs, batch, victims=False)
        expected, copied = self.run(family, inputs, twin), self.run(family, inputs, plain)
        verdict.batches, verdict.rows = len(expected), sum(map(Counter.total, expected.values()))
        verdict.expect(holds=expected == copied, otherwise="the plain copy goes on differently")
        verdict.expect(holds=len(expected) >= AFTER, otherwise="too few batches to compare")
        if family.evicts:
            self._judge_evicted(verdict, family, expected, self.run(family, inputs, evicted))
            verdict.evicted = evictions["summary"]["evicted_rows"]
            if family.by_timeout:
                verdict.expect(
                    holds=verdict.called == verdict.evicted,
                    otherwise=f"{verdict.called} of {verdict.evicted} keys were called",
                )
        return verdict

    def _judge_evicted(
        self,
        verdict: Verdict,
        family: Family,
        expected: dict[int, Rows],
        batches: dict[int, Rows],
    ) -> None:
        """Compare the outputs of users that were not evicted, and look at those that were."""
        twin, mine = sum(expected.values(), Counter()), sum(batches.values(), Counter())
        others = [
            Counter({row: n for row, n in rows.items() if row[0] >= VICTIMS})
            for rows in (twin, mine)
        ]
        verdict.expect(holds=others[0] == others[1], otherwise="other users have other results")
        gone = [row for row in mine.elements() if row[0] < VICTIMS]
        if family.by_timeout:
            verdict.called = sum(row[-1] == "timeout" for row in gone)
        elif gone:
            verdict.faults.append(f"{len(gone)} rows of evicted users came out")


def main() -> None:
    """Judge what was requested, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--providers", default=",".join(PROVIDERS))
    parser.add_argument("--inspector", default=sys.executable)
    given = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="judge-copies-") as folder:
        judge = Judge(Path(folder), given.inspector)
        print(f"Spark {judge.spark.version}", flush=True)
        print(f"{'query':<14}{'provider':<12}{'batches':>8}{'rows':>7}{'evicted':>9}{'called':>8}")
        for name in given.families.split(","):
            for provider in given.providers.split(","):
                try:
                    verdict = judge.judge(name, provider)
                except Exception as error:  # noqa: BLE001 - the other queries are judged too
                    verdict = Verdict(faults=[str(error)[:500]])
                numbers = (verdict.batches, verdict.rows, verdict.evicted, verdict.called)
                line = "".join(f"{n:>{w}}" for n, w in zip(numbers, (8, 7, 9, 8), strict=True))
                words = "; ".join(verdict.faults) or "equal"
                print(f"{name:<14}{provider:<12}{line}  {words}", flush=True)
                failed += bool(verdict.faults)
        judge.spark.stop()
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
