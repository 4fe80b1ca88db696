#!/usr/bin/env python3
"""Spark judges ``inspector copy``: twins of one checkpoint restarted on the same new input.

    python scripts/lab/judge_copies.py                                  all families and providers
    python scripts/lab/judge_copies.py --families stateful --providers hdfs,zips
    python scripts/lab/judge_copies.py --families timers,ttl --providers forced,checksums
    python scripts/lab/judge_copies.py --families left_outer-2:hdfs,timers:changelogs    these pairs
    python3.10 scripts/lab/judge_copies.py --inspector /path/to/python   with another PySpark
    python scripts/lab/judge_copies.py --starts    only how soon Spark starts from a compact copy
    python scripts/lab/judge_copies.py --moves     only copies by hand, and moved checkpoints
    python scripts/lab/judge_copies.py --partitions 1,3,7    copies with other numbers of partitions
    python scripts/lab/judge_copies.py --provider            copies for the other provider
    python scripts/lab/judge_copies.py --provider --evict --partitions 3 --state-format 2
        each alone, and all of them together; with --together not alone

For each query and provider: the query runs, is stopped, and goes on three times from the same
point on the same input: from its own checkpoint, from a plain copy, and from a copy without the
rows of some users. It prints whether the outputs are equal, batch by batch for the plain copy and
as multisets of the other users for the evicted one, whether Spark's ``statestore`` source (4.0 on)
counts the rows that the copy says it has, and what came out for the evicted users. If an evicted
user of transformWithState returns, the rows of the user are those of a query that never saw the
user before. With ``--partitions``, ``--provider`` or ``--evict`` the copies differ in their form:
the outputs have to be equal batch by batch, and the rows of Spark's ``statestore`` source as sets,
before and after the batches that follow. Those with an eviction are compared with a copy that has
this eviction alone. The checkpoint itself has another name meanwhile, so that nothing can read it.
The exit code is 1 if anything is not as it should be. Run it with
the Python of the PySpark that is to judge; ``--inspector`` is the Python that has the inspector.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from copies import starting
from copies.families import (
    AGGREGATION_FORMAT,
    BEFORE,
    CONFS,
    FAMILIES,
    GROUP_FORMAT,
    IDS,
    JOIN_FORMAT,
    PARTITIONS,
    PROVIDERS,
    SCHEMA,
    SESSION,
    STORES,
    VARIABLES,
    VICTIMS,
    Family,
    write_input,
)
from copies.families import OTHER as OTHER_SCHEMA
from restarts.runs import NO_WORKER
from restarts.sessions import OtherPython, start_session

AFTER, RETURN = 3, 2
"""Batches after the copies, and with the evicted users again."""
ATTEMPTS = 3
LAST = BEFORE + AFTER + RETURN

COPIER = """
import json, sys
from inspector import api
for line in sys.stdin:
    source, dest, where, words = json.loads(line)
    try:
        copied = api.copy(source, dest, api.Options(where=tuple(where)), **words)
        print(json.dumps({"summary": copied.summary}), flush=True)
    except api.InspectorError as error:
        print(json.dumps({"error": str(error)}), flush=True)
"""
"""What the Python of the inspector runs: a copy for each line."""

Rows = Counter[tuple[Any, ...]]
_NOW = re.compile(r"\b1(?:7[5-9]|[89]\d)\d{10}\b")
"""Times in ms since June 2025, as the machine's clock has them: they differ between twins."""


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
    returned: int = 0
    faults: list[str] = field(default_factory=list)

    def expect(self, *, holds: bool, otherwise: str) -> None:
        """Note a fault unless something holds."""
        if not holds:
            self.faults.append(otherwise)


@dataclass(frozen=True)
class Form:
    """Form of a copy.

    Attributes:
        partitions: number of its partitions; None for that of the source.
        provider: name of its state store provider; None for that of the source, ``other`` for
            the other one.
        evicts: rows of some users, or leftovers, are evicted.
        state_format: state format of aggregations and group state; None for that of the source.
    """

    partitions: int | None = None
    provider: str | None = None
    evicts: bool = False
    state_format: str | None = None

    @property
    def words(self) -> dict[str, Any]:
        """Options of ``copy``."""
        given: dict[str, Any] = {"partitions": self.partitions, "provider": self.provider}
        given["state_format"] = self.state_format
        return {name: value for name, value in given.items() if value is not None}

    @property
    def name(self) -> str:
        """Name of the copy's folder."""
        parts = (
            *(self.partitions, self.provider, "evicted" if self.evicts else None),
            "converted" if self.state_format else None,
        )
        return "-".join(["of", *(str(part) for part in parts if part is not None)])

    def of_family(self, family: Family, *, is_hdfs: bool) -> Form | None:
        """Return the form without what a query cannot have; None if nothing remains."""
        has_old_format = "1" in (family.conf.get(AGGREGATION_FORMAT), family.conf.get(GROUP_FORMAT))
        other = "rocksdb" if is_hdfs else "hdfs"
        form = replace(
            self,
            provider=other if self.provider and not family.tables else None,
            evicts=self.evicts and bool(family.evict),
            state_format=self.state_format if has_old_format else None,
        )
        return None if form == Form() else form


class Judge:
    """Runs queries in one session.

    Attributes:
        spark: the session. folder: for checkpoints and input.
        forms: of the copies that are judged; none for copies with the same form.
    """

    def __init__(self, folder: Path, inspector: str, forms: Sequence[Form] = ()) -> None:
        self.folder, self.forms = folder, forms
        self._copier = OtherPython(inspector, COPIER)
        self.spark = start_session("copies", SESSION)
        self.release = tuple(map(int, self.spark.version.split(".")[:2]))

    def run(self, family: Family, inputs: Path, checkpoint: Path) -> dict[int, Rows]:
        """Run a query until it has read its input: the rows of each batch."""
        batches: dict[int, Rows] = {}

        def collect(frame: Any, batch: int) -> None:
            rows = map(tuple, frame.collect())
            batches[batch] = Counter(rows)

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

    def copy(self, source: Path, dest: Path, *where: str, **words: Any) -> dict[str, Any]:
        """Summary of ``inspector copy``, or why it is refused; its options are in words."""
        return self._copier.ask([str(source), str(dest), where, words])

    def counts(self, checkpoint: Path, variables: Sequence[str] = ()) -> int | None:
        """Rows of all stores, or variables, by Spark's own source; None where it has none.

        That of 4.0 looks for files without unique ids.
        """
        has_ids = "format2" in checkpoint.parent.name
        if self.release < ((4, 1) if has_ids else (4, 0)):
            return None
        twin = checkpoint.with_name(f"{checkpoint.name}-counted")  # the source makes folders
        shutil.copytree(checkpoint, twin)
        metadata = self.spark.read.format("state-metadata").load(str(twin))
        stores = metadata.select("operatorId", "stateStoreName").distinct().collect()
        names = [("storeName", row[1]) for row in stores]
        if variables:
            names = [("stateVarName", name) for name in variables]
            stores *= len(names)
        count: int = sum(
            self.spark.read.format("statestore")
            .option("operatorId", row[0])
            .option(*name)
            .load(str(twin))
            .count()
            for row, name in zip(stores, names, strict=True)
        )
        return count

    def judge_moves(self, name: str) -> bool:
        """Print how a query starts from a copy by hand, with its original and without it.

        Returns True if it starts with the original alone, and from a copy by the inspector always.
        """
        family, home = FAMILIES[name], self.folder / name
        for conf, value in (STORES["changelogs"] | dict(family.conf)).items():
            self.spark.conf.set(conf, value)
        inputs, source, by_hand = home / "input", home / "source", home / "by-hand"
        self._begin(family, inputs, source)
        shutil.copytree(source, by_hand)
        self.copy(source, home / "rewritten")
        results = []
        for batch, word in enumerate(("with", "without", "rewritten"), BEFORE):
            write_input(inputs, batch, victims=False)
            if word == "without":
                source.rename(home / "elsewhere")
            checkpoint = home / "rewritten" if word == "rewritten" else by_hand
            try:
                rows = sum(map(Counter.total, self.run(family, inputs, checkpoint).values()))
            except Exception as error:  # noqa: BLE001 - any error is a result here
                results.append(False)
                print(f"{name} {word} the original: {str(error).splitlines()[0]}", flush=True)
            else:
                results.append(rows > 0)
                print(f"{name} {word} the original: {rows} rows", flush=True)
        return results == [True, False, True]

    def rows(
        self, checkpoint: Path, family: Family, *, with_partitions: bool = False
    ) -> Rows | None:
        """Keys and values of all stores by Spark's own source; None where it has none."""
        has_ids = "format2" in checkpoint.parent.name
        if self.release < ((4, 1) if has_ids else (4, 0)):
            return None
        twin = checkpoint.with_name(f"{checkpoint.name}-read")  # the source makes folders
        shutil.rmtree(twin, ignore_errors=True)
        shutil.copytree(checkpoint, twin)
        metadata = self.spark.read.format("state-metadata").load(str(twin))
        columns = "operatorId", "operatorName", "stateStoreName", "operatorProperties"
        stores = metadata.select(*columns).distinct().collect()
        frames: list[tuple[dict[str, Any], Any]] = []
        for operator, operator_name, store, properties in stores:
            options = [{"operatorId": operator, "storeName": store}]
            if "transformWithState" in operator_name:
                listed = json.loads(properties)["stateVariables"]  # of the query that ran last
                names = [item["stateName"] for item in listed if item["stateName"][0] != "$"]
                options = [{"operatorId": operator, "stateVarName": name} for name in names]
            elif family.conf.get(JOIN_FORMAT) in ("3", "4") and "Join" in operator_name:
                sides = ("left", "right")
                options = [{"operatorId": operator, "joinSide": side} for side in sides]
            for item in options:
                reader = self.spark.read.format("statestore").options(**item)
                frame = reader.load(str(twin))
                frames.append((item, frame if with_partitions else frame.drop("partition_id")))
        return Counter(
            (str(sorted(item.items())), *(_NOW.sub("now", str(part)) for part in row))
            for item, frame in frames
            for row in frame.collect()
        )

    def _judge_forms(
        self, verdict: Verdict, family: Family, inputs: Path, forms: Sequence[Form], provider: str
    ) -> None:
        """Compare copies in other forms with their source, or with an eviction alone."""
        source = inputs.with_name("source")
        twins = {False: source, True: inputs.with_name("evicted")}
        if any(form.evicts for form in forms):
            report = self.copy(source, twins[True], *family.where, evict=family.evict)
            verdict.expect(holds="summary" in report, otherwise=f"eviction: {report.get('error')}")
            verdict.called += report.get("summary", {}).get("evicted_rows", 0)
        used = {form.evicts for form in forms}
        before = {evicts: self.rows(twins[evicts], family) for evicts in used}
        copies = {form: inputs.with_name(form.name) for form in forms}
        for form, copy in copies.items():
            where = family.where if form.evicts else ()
            asked = form.words | ({"evict": family.evict} if form.evicts else {})
            report = self.copy(source, copy, *where, **asked)
            verdict.expect(
                holds="summary" in report, otherwise=f"{form.name}: no copy: {report.get('error')}"
            )
            if "summary" in report:
                if form.provider == "hdfs":
                    self.spark.conf.unset(IDS)
                # The values of another state format are other rows.
                same = bool(form.state_format) or self.rows(copy, family) == before[form.evicts]
                self._set(STORES[provider] | dict(family.conf))
                verdict.expect(holds=same, otherwise=f"{form.name}: other rows before the restart")
                if form.words.keys() == {"partitions"} and not form.evicts:
                    number = form.words["partitions"]
                    self._compare_with_spark(verdict, family, source, copy, number)
        if verdict.faults:
            return
        for batch in range(BEFORE, BEFORE + AFTER):
            write_input(inputs, batch, victims=False)
        expected = {evicts: self.run(family, inputs, twins[evicts]) for evicts in used}
        after = {evicts: self.rows(twins[evicts], family) for evicts in used}
        source.rename(inputs.with_name("elsewhere"))
        first = expected[min(used)]
        verdict.batches, verdict.rows = len(first), sum(map(Counter.total, first.values()))
        remaining = after[min(used)]
        verdict.evicted = 0 if remaining is None else remaining.total()
        verdict.expect(holds=len(first) >= AFTER, otherwise="too few batches to compare")
        for form, copy in copies.items():
            if form.provider == "hdfs":  # Spark refuses ids for it, which the session may set
                self.spark.conf.unset(IDS)
            made = self.run(family, inputs, copy)
            difference = _difference(_all(expected[form.evicts]), _all(made))
            words = f"{form.name}: other outputs: {difference}"
            verdict.expect(holds=expected[form.evicts] == made, otherwise=words)
            same = bool(form.state_format) or self.rows(copy, family) == after[form.evicts]
            verdict.expect(holds=same, otherwise=f"{form.name}: other rows after the restart")
            self._set(STORES[provider] | dict(family.conf))
            operators = [p for p in (copy / "state").iterdir() if p.name.isdigit()]
            counts = {sum(p.name.isdigit() for p in folder.iterdir()) for folder in operators}
            verdict.expect(
                holds=counts <= {1, form.partitions or int(SESSION[PARTITIONS])},
                otherwise=f"{form.name}: {counts} partitions",
            )
            ends = {path.suffix for path in copy.glob("state/**/*.*") if path.name[0].isdigit()}
            is_tables = bool(ends & {".changelog", ".zip"})
            verdict.expect(
                holds=form.provider is None or is_tables == (form.provider == "rocksdb"),
                otherwise=f"{form.name}: files end in {sorted(ends)}",
            )

    def _compare_with_spark(
        self, verdict: Verdict, family: Family, source: Path, copy: Path, number: int
    ) -> None:
        """Compare each partition with the one that Spark's own repartitioning makes (RocksDB)."""
        # Of a join in format 4 Spark 4.3.0 makes partitions that it cannot read itself ("Invalid
        # byte array backed UnsafeRow").
        # Nor can it read its own partitions of a limit, whose schema is then missing.
        # It refuses variables that the query no longer declares, which a copy keeps.
        is_unreadable = family.conf.get(JOIN_FORMAT) == "4" or not family.has_users
        is_unreadable |= family.expired
        if self.release < (4, 3) or "-hdfs" in source.parent.name or is_unreadable:
            return
        twin = copy.with_name(f"{copy.name}-by-spark")
        shutil.copytree(source, twin)
        self.spark._streamingCheckpointManager.repartition(str(twin), number)
        rows = [self.rows(path, family, with_partitions=True) for path in (twin, copy)]
        verdict.called += rows[1].total() if rows[1] is not None else 0
        words = f"{number}: other partitions than those of Spark's own repartitioning"
        verdict.expect(holds=rows[0] == rows[1], otherwise=words)

    def _set(self, confs: Mapping[str, str]) -> None:
        """Set confs of the session."""
        for conf, value in confs.items():
            self.spark.conf.set(conf, value)

    def judge_again(self, name: str, provider: str) -> Verdict:
        """Judge one query, up to three times if a loaded machine starts no Python worker."""
        for left in range(ATTEMPTS - 1, -1, -1):
            try:
                return self.judge(name, provider)
            except Exception as error:  # noqa: BLE001 - the other queries are judged too
                if not left or NO_WORKER not in str(error):
                    return Verdict(faults=[_cause(error)])
            shutil.rmtree(self.folder / f"{name}-{provider}", ignore_errors=True)
        raise AssertionError

    def judge(self, name: str, provider: str) -> Verdict:
        """One query with one provider."""
        family, verdict = FAMILIES[name], Verdict()
        for conf in {name for confs in CONFS for name in confs}:
            self.spark.conf.unset(conf)
        self._set(STORES[provider] | dict(family.conf))
        home = self.folder / f"{name}-{provider}"
        inputs, source = home / "input", home / "source"
        self._begin(family, inputs, source)
        if self.forms:
            is_hdfs = provider.startswith("hdfs")
            forms = [form.of_family(family, is_hdfs=is_hdfs) for form in self.forms]
            chosen = list(dict.fromkeys(form for form in forms if form))
            if chosen:
                self._judge_forms(verdict, family, inputs, chosen, provider)
            return verdict
        twin, plain, evicted = home / "twin", home / "plain", home / "evicted"
        shutil.copytree(source, twin)
        report = self.copy(source, plain)
        verdict.expect(holds="summary" in report, otherwise=f"no copy: {report.get('error')}")
        evictions = self._evict(family, source, evicted)
        verdict.expect(
            holds=("summary" in evictions) == family.evicts,
            otherwise=f"eviction: {evictions}",
        )
        if family.evicts and not evictions.get("summary", {}).get("written"):
            verdict.faults.append("there was nothing to evict")
        if verdict.faults:
            return verdict
        if family.evicts and not (family.expired or family.tables):
            count, messages = self.counts(evicted), evictions["summary"]["rows"]
            verdict.expect(
                holds=count in (None, messages),
                otherwise=f"Spark counts {count} rows, not {messages}",
            )
        for batch in range(BEFORE, BEFORE + AFTER):
            write_input(inputs, batch, victims=False)
        expected, copied = self.run(family, inputs, twin), self.run(family, inputs, plain)
        verdict.batches, verdict.rows = len(expected), sum(map(Counter.total, expected.values()))
        words = f"the plain copy goes on differently: {_difference(_all(expected), _all(copied))}"
        verdict.expect(holds=expected == copied, otherwise=words)
        verdict.expect(holds=len(expected) >= AFTER, otherwise="too few batches to compare")
        if family.evicts:
            self._judge_evicted(verdict, family, expected, self.run(family, inputs, evicted))
            verdict.evicted = evictions["summary"]["evicted_rows"]
            self._judge_class(verdict, family, expected, (twin, evicted))
            if family.returns:
                self._judge_return(verdict, family, inputs, evicted)
        return verdict

    def _judge_class(
        self,
        verdict: Verdict,
        family: Family,
        expected: dict[int, Rows],
        checkpoints: tuple[Path, Path],
    ) -> None:
        """Judge what only holds for leftovers, for timers that are set, or for timers that go."""
        if family.expired:
            counts = [self.counts(checkpoint, VARIABLES) for checkpoint in checkpoints]
            # 4.2 itself leaves values that expired while no query declared them.
            remaining, remainder = (0 if count is None else count for count in counts)
            holds = remaining > remainder if self.release == (4, 2) else remaining == remainder
            verdict.expect(holds=holds, otherwise=f"Spark counts {counts} rows")
        if family.by_timeout:
            verdict.expect(
                holds=verdict.called == verdict.evicted,
                otherwise=f"{verdict.called} of {verdict.evicted} keys were called",
            )
        if family.fires:
            fired = [row for row in _all(expected) if row[0] < VICTIMS]
            verdict.expect(holds=bool(fired), otherwise="no timer was there to be evicted")

    def _judge_return(self, verdict: Verdict, family: Family, inputs: Path, evicted: Path) -> None:
        """Compare the rows of evicted users who return with those of a query without their past."""
        fresh_inputs, fresh = inputs.with_name("fresh-input"), inputs.with_name("fresh")
        runs = (range(BEFORE), range(BEFORE, BEFORE + AFTER), range(BEFORE + AFTER, LAST))
        rows: Rows = Counter()
        for number, batches in enumerate(runs):
            for batch in batches:
                victims = number != 1
                write_input(fresh_inputs, batch, victims=victims, ghosts=number == 0)
                if number == 2:
                    write_input(inputs, batch, victims=True)
            rows += _all(self.run(family, fresh_inputs, fresh))
        actual = _all(self.run(family, inputs, evicted))
        pair = [Counter({r: n for r, n in of.items() if r[0] < VICTIMS}) for of in (rows, actual)]
        verdict.returned = pair[1].total()
        words = f"users who return have other results: {_difference(*pair)}"
        verdict.expect(holds=pair[0] == pair[1] and bool(pair[1]), otherwise=words)

    def _evict(self, family: Family, source: Path, dest: Path) -> dict[str, Any]:
        """What is said of a copy without leftovers, or without some users."""
        if family.expired:
            return self.copy(source, dest, evict="leftovers")
        where = f"user<{VICTIMS}"
        return self.copy(source, dest, where, evict="rows") if family.has_users else {}

    def _begin(self, family: Family, inputs: Path, checkpoint: Path) -> None:
        """What is there before the copies are made."""
        for batch in range(BEFORE):
            write_input(inputs, batch, victims=True)
            if family.before:
                self.run(replace(family, build=family.before[batch]), inputs, checkpoint)
        if not family.before:
            self.run(family, inputs, checkpoint)

    def _judge_evicted(
        self,
        verdict: Verdict,
        family: Family,
        expected: dict[int, Rows],
        batches: dict[int, Rows],
    ) -> None:
        """Compare the outputs of users that were not evicted, and look at those that were."""
        twin, mine = _all(expected), _all(batches)
        if family.expired:
            words = f"the evicted copy differs: {_difference(twin, mine)}"
            verdict.expect(holds=expected == batches, otherwise=words)
            return
        siblings = [
            Counter({row: n for row, n in rows.items() if row[0] >= VICTIMS})
            for rows in (twin, mine)
        ]
        words = f"other users have other results: {_difference(*siblings)}"
        verdict.expect(holds=siblings[0] == siblings[1], otherwise=words)
        gone = [row for row in mine.elements() if row[0] < VICTIMS]
        if family.by_timeout:
            verdict.called = sum(row[-1] == "timeout" for row in gone)
        elif gone:
            verdict.faults.append(f"{len(gone)} rows of evicted users came out")


def _all(batches: dict[int, Rows]) -> Rows:
    return sum(batches.values(), Counter())


def _difference(expected: Rows, actual: Rows) -> str:
    """How many rows only one of them has, and a row of each."""
    only = expected - actual, actual - expected
    return " against ".join(f"{rows.total()} such as {sorted(rows)[:1]}" for rows in only)


def _cause(error: Exception) -> str:
    """The lines of an error that name one."""
    lines = (line.strip() for line in str(error).splitlines())
    named = [line for line in lines if re.match(r"(Caused by: )?[\w.]*(Error|Exception)\b", line)]
    return " / ".join(named)[-900:] or str(error)[:300]


def _forms(args: argparse.Namespace) -> list[Form]:
    """Return each requested change of form alone, and all of them together."""
    numbers = [int(number) for number in args.partitions.split(",") if number]
    alone = [Form(partitions=number) for number in numbers]
    other = "other" if args.provider else None
    if args.provider:
        alone.append(Form(provider=other))
    if args.state_format:
        alone.append(Form(state_format=args.state_format))
    every: list[int | None] = [*numbers] or [None]
    together = [Form(number, other, args.evict, args.state_format) for number in every]
    every_form = together if args.together else [*alone, *together]
    return list(dict.fromkeys(form for form in every_form if form != Form()))


def main() -> None:
    """Judge what was requested, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--providers", default=",".join(PROVIDERS))
    parser.add_argument("--inspector", default=sys.executable)
    parser.add_argument("--partitions", default="")
    parser.add_argument("--provider", action="store_true")
    parser.add_argument("--evict", action="store_true")
    parser.add_argument("--state-format", choices=["2"])
    parser.add_argument("--together", action="store_true", help="no change of form alone")
    parser.add_argument("--starts", action="store_true")
    parser.add_argument("--moves", action="store_true")
    args = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="judge-copies-") as folder:
        judge = Judge(Path(folder), args.inspector, _forms(args))
        print(f"Spark {judge.spark.version}", flush=True)
        if args.moves:
            failed = not judge.judge_moves("timers")
            judge.spark.stop()
            sys.exit(failed)
        if args.starts:
            starting.measure(
                Path(folder),
                judge.spark.conf.set,
                judge.run,
                lambda source, dest: judge.copy(source, dest, compact=True),
            )
            judge.spark.stop()
            return
        print(
            f"{'query':<18}{'provider':<12}{'batches':>8}{'rows':>7}{'evicted':>9}{'called':>8}{'again':>7}"
        )
        for item in args.families.split(","):
            name, _, only = item.partition(":")
            for provider in (only or args.providers).split(","):
                if not FAMILIES[name].is_for(provider, judge.release):
                    continue
                verdict = judge.judge_again(name, provider)
                counts = (verdict.batches, verdict.rows, verdict.evicted, verdict.called)
                widths = zip((*counts, verdict.returned), (8, 7, 9, 8, 7), strict=True)
                line = "".join(f"{n:>{w}}" for n, w in widths)
                words = "; ".join(verdict.faults) or "equal"
                print(f"{name:<18}{provider:<12}{line}  {words}", flush=True)
                failed += bool(verdict.faults)
        judge.spark.stop()
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
