#!/usr/bin/env python3
"""Spark judges ``inspector copy`` on random workloads: twins that go on from the same point.

    python scripts/lab/make_workloads.py --out DIR --count 100
    python scripts/lab/judge_copied_workloads.py DIR --out FOLDER [--only REGEX]
        [--count N] [--ticks 5] [--reshape SEED [--any-batch]]

Each workload goes on three times on the same rows and the same clock: from its own checkpoint, from
a plain copy, and from a copy of which rows are evicted: its proven leftovers, or else one key of an
operator whose rows may go. Compared are the rows that come out, batch by batch, and every call of
every function, with the state and the watermark that it found. The evicted copy is compared in all
calls and rows of other keys; what was evicted by timeout is called with ``hasTimedOut``, what was
removed begins anew. With ``--reshape`` both copies get another form, which SEED chooses: other
partitions, the other provider, state format 2 where it was 1, or several of these. With
``--any-batch`` the copies are of a random batch, to which the twin is rewound by hand, and the rows
of Spark's ``statestore`` source are compared as sets after the last batch. What is in
FOLDER already is only compared again. Exit code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import top_scripts  # noqa: F401 - finds the folder above
from copies.earlier import random_batch, rewind, rows_by_spark
from copies.families import PARTITIONS, VALIDATION
from fixtures.sparks import InstalledSpark, Spark, file_manager
from make_workloads import CACHE, CONF, INSTALLED, compile_programs, submit
from restarts.sessions import start_session
from workloads.account import PANDAS, Workload, read

from inspector import api

TWIN, PLAIN, EVICTED = VARIANTS = ("twin", "plain", "evicted")
TIMERS = ("flatMapGroupsWithState", "mapGroupsWithState", PANDAS)
TIMEOUT = "timeout"
FEWEST = 3
"""Batches after the copy of an earlier batch; with fewer the case is not judged."""
PLACE = ("p", "att", "partition", "attempt")
"""Fields of a call that other partitions change: partition, and number of the task."""


@dataclass
class Case:
    """One workload and its copies.

    Attributes:
        source: as it was made. out: where its variants go on.
        operator: of which rows are evicted; None if none are. way: how. keys: in hex, and as the
            functions write them, also of other operators; own: those of this one.
        called: how many of them were called with ``hasTimedOut``.
        faults: what is not as it should be. unjudged: why Spark does not go on from its own.
        form: options of the copies that give them another form.
        batch: the batch that is copied; None for the newest.
        state_rows: rows of all stores at the end, by Spark; None if they were not compared.
        differs_by_id: rows that came out are equal without the id of a group's first row.
        refusals: why options of the form were left out; not of state format 2.
    """

    source: Workload
    out: Path
    operator: int | None = None
    way: str = ""
    keys: set[str] = field(default_factory=set)
    own: set[str] = field(default_factory=set)
    called: int = 0
    faults: list[str] = field(default_factory=list)
    unjudged: str = ""
    form: dict[str, Any] = field(default_factory=dict)
    batch: int | None = None
    state_rows: int | None = None
    differs_by_id: bool = False
    refusals: list[str] = field(default_factory=list)

    @property
    def words(self) -> dict[str, Any]:
        """Options of ``copy``."""
        # The sinks of workloads are memory, which starts empty.
        return {**self.form, "sink_has_no_batch_ids": self.batch is not None}

    def folder(self, variant: str) -> Path:
        """Where a variant goes on."""
        return self.out / variant / self.source.name

    @property
    def variants(self) -> list[str]:
        """Those that were made; nothing may be evicted of some."""
        return [name for name in VARIANTS if (self.folder(name) / "checkpoint").is_dir()]


def recall(case: Case) -> bool:
    """Fill in what an earlier run of this script evicted; whether there was one."""
    file = case.out / f"{case.source.name}.json"
    if not file.is_file():
        return False
    case.operator, case.way, keys, own, case.form, case.batch = json.loads(file.read_text("utf-8"))
    case.keys, case.own = set(keys), set(own)
    return True


def prepare(case: Case) -> None:
    """Make the checkpoints that go on."""
    checkpoint = case.source.folder / "checkpoint"
    places = {variant: case.folder(variant) / "checkpoint" for variant in VARIANTS}
    shutil.copytree(checkpoint, places[TWIN])
    if case.batch is not None:
        rewind(places[TWIN], case.batch)
    try:
        case.form = possible_form(case, checkpoint, places[PLAIN])
        evict(case, checkpoint, places[EVICTED])
    except api.InspectorError as error:
        case.faults.append(str(error))
        return
    record = [case.operator, case.way, sorted(case.keys), sorted(case.own), case.form, case.batch]
    (case.out / f"{case.source.name}.json").write_text(json.dumps(record), "utf-8")


def random_form(seed: int, name: str, partitions: int) -> dict[str, Any]:
    """Options of a copy with another number of partitions, the same for a seed and a name."""
    chance = random.Random(f"{seed} {name}")
    form: dict[str, Any] = {"provider": "other", "state_format": "2"}
    form["partitions"] = chance.choice([n for n in (1, 2, 3, 5, 7, 11) if n != partitions])
    kept = chance.choice([["provider"], ["partitions"], ["provider", "partitions"]])
    return {word: form[word] for word in (*kept, "state_format")}


def possible_form(case: Case, checkpoint: Path, dest: Path) -> dict[str, Any]:
    """Write the copy, without the options that it is refused for; return the others.

    Raises CheckpointError for a refusal that no option explains.
    """
    classes = {"hdfs": "HDFSBackedStateStoreProvider", "rocksdb": "RocksDBStateStoreProvider"}
    entry = newest_entry(checkpoint) if case.batch is None else checkpoint / f"offsets/{case.batch}"
    own = next(name for name, text in classes.items() if text in entry.read_text("utf-8"))
    words = {**case.form}
    if "provider" in words:
        words["provider"] = next(name for name in classes if name != own)
    extra: dict[str, Any] = {"sink_has_no_batch_ids": case.batch is not None}
    options = api.Options(batch=case.batch)
    for _ in [*case.form, "partitions"]:
        refusal = refusal_of(checkpoint, dest, options, words | extra)
        if not refusal:
            return words
        named = [word for word in words if f"out --{word}".replace("_", "-") in refusal]
        named += ["provider"] if "Keep the provider" in refusal else []
        for word in named[:1]:
            del words[word]
            if word != "state_format":
                case.refusals.append(refusal)
        if not words:
            words["partitions"] = int(case.source.spec["parts"]) + 2
    api.copy(str(checkpoint), str(dest), options, **words, **extra)
    return words


def newest_entry(checkpoint: Path) -> Path:
    """Return the newest entry of the offset log."""
    return max((checkpoint / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))


def refusal_of(checkpoint: Path, dest: Path, options: api.Options, words: Mapping[str, Any]) -> str:
    """Write a copy; return why it is refused, or an empty text."""
    try:
        api.copy(str(checkpoint), str(dest), options, **words)
    except api.CheckpointError as error:
        return str(error)
    return ""


def evict(case: Case, checkpoint: Path, dest: Path) -> None:
    """A copy without leftovers, or without a key of one operator."""
    text = str(checkpoint)
    try:
        options = api.Options(batch=case.batch)
        report = api.copy(text, str(dest), options, evict="leftovers", **case.words)
    except api.CheckpointError:  # leftovers whose loss would lose results
        report = None
    if report is None or not report.summary["written"]:
        report = None
        table = api.rows(text, api.Options(batch=case.batch), raw=True, limit=2000).primary
        rows = list(table.rows)
        for operator in sorted({row["operator_id"] for row in rows}):
            of_operator = [row for row in rows if row["operator_id"] == operator]
            victim = of_operator[len(of_operator) // 2]
            options = options_for(victim, case.batch)
            try:
                report = api.copy(
                    text, str(dest), options, evict="rows", operator=operator, **case.words
                )
            except api.CheckpointError:
                continue
            if report.summary["written"]:
                break
            report = None  # the row of a list is not named by the key of its group
    if report is None:
        return
    (rows_of, *_) = [table.rows for table in report.tables if table.name == "evictions"]
    evictions = list(rows_of)
    case.operator = max(row["operator_id"] for row in evictions)
    case.way = evictions[0]["way"]
    remaining, every = (
        {(row["operator_id"], row["key_hex"], row["value_hex"]): row for row in item}
        for item in (
            api.rows(str(root), api.Options(batch=batch), raw=True, limit=0).primary.rows
            for root, batch in ((dest, None), (checkpoint, case.batch))
        )
    )
    for key in every.keys() - remaining.keys():
        values = json.dumps(list((every[key]["key"] or {}).values()))
        case.keys |= {every[key]["key_hex"], values}
        if every[key]["operator_id"] == case.operator:
            case.own |= {every[key]["key_hex"], values}


def options_for(row: Mapping[str, Any], batch: int | None) -> api.Options:
    """What names the key of a row; with all smaller ones where its first field is a number."""
    name, value = next(iter((row["key"] or {"": None}).items()))
    if isinstance(value, int):
        return api.Options(batch=batch, where=(f"{name}<={value}",))
    return api.Options(batch=batch, key=f"hex:{row['key_hex']}")


def line_of(case: Case, variant: str, ticks: int) -> str:
    """What Spark is to do with a variant."""
    checkpoint = case.folder(variant) / "checkpoint"
    name, *words = (case.source.folder / "spec.txt").read_text("utf-8").splitlines()[0].split()
    newest = newest_entry(checkpoint)
    _, head, *offsets = newest.read_text("utf-8").splitlines()
    counts = [int(text) for text in offsets if re.fullmatch(r"-?\d+", text)]
    batch = max(case.source.batches) if case.batch is None else case.batch
    run = max(item["run"] for number, item in case.source.batches.items() if number <= batch)
    if case.batch is not None:  # batches that fail and repartitioned state are cases of their own
        words = [word for word in words if not re.match("fail|repart=", word)]
        words += ["rewound=true"]
    words += [f"after={ticks}", f"shift={int(newest.name) - batch}"]
    words += [f"offset={max(counts, default=-1)}", f"fromRun={run}"]
    words += [f"clock={json.loads(head)['batchTimestampMs'] + 1000}"]
    return " ".join([f"{variant}/{name}", *words])


def compare(case: Case) -> None:
    """Hold what the copies did against what their twin did."""
    result = {name: read(case.folder(name)) for name in case.variants}
    if result[TWIN].problem:
        case.unjudged = result[TWIN].problem[:200]
        return
    for variant, workload in result.items():
        if workload.problem:
            case.faults.append(f"{variant}: {workload.problem[:300]}")
    if case.faults:
        return
    twin, plain = result[TWIN], result[PLAIN]
    if calls_of(twin) != calls_of(plain):
        case.faults.append("the plain copy makes other calls")
    if emitted(twin) != emitted(plain):
        # A function emits the id of its group's first row, whose order Spark does not fix.
        case.differs_by_id = (
            bool(case.form)
            and bool(set(TIMERS) & set(twin.names().values()))
            and without_ids(emitted(twin)) == without_ids(emitted(plain))
        )
        if not case.differs_by_id:
            case.faults.append("the plain copy emits other rows")
    if case.batch is not None and len(set(twin.batches)) < FEWEST:
        case.unjudged = f"only {len(twin.batches)} batches followed"
    if EVICTED in result and case.operator is not None:
        compare_evicted(case, twin, result[EVICTED])


def compare_states(cases: list[Case]) -> None:
    """Compare the rows of Spark's own source at the end, of the twin and the plain copy."""
    # Spark refuses to read back a timer of group state 1: a long that it declares an integer.
    confs = {VALIDATION: "false", PARTITIONS: "2"}
    spark = start_session("copied-workloads", confs)
    for case in cases:
        converted = "state_format" in case.form and {"fmt", "aggFmt"} & case.source.spec.keys()
        checkpoints = [case.folder(name) / "checkpoint" for name in (TWIN, PLAIN)]
        try:
            twin, plain = (
                rows_by_spark(spark, checkpoint, keys_only=bool(converted))
                for checkpoint in checkpoints
            )
        except Exception as error:  # noqa: BLE001 - Spark cannot read all that it writes
            case.unjudged = f"rows: {str(error).splitlines()[0][:160]}"
            continue
        case.state_rows = twin.total()
        if twin != plain:
            only = [sorted((a - b).elements())[:1] for a, b in ((twin, plain), (plain, twin))]
            case.faults.append(f"other rows in the state: {only[0]} against {only[1]}")
    spark.stop()


def key_of(call: Mapping[str, Any]) -> str:
    """The key of a call; a processor names it without its brackets."""
    return str(call["k"]) if "k" in call else json.dumps([call["key"]])


def compare_evicted(case: Case, twin: Workload, evicted: Workload) -> None:
    """The same of other keys; and what becomes of those that were evicted."""
    names = twin.names()
    assert case.operator is not None
    alone = len(names) == 1
    # Operators count from the sink: those below the evicted one get the same rows as before.
    below = range(case.operator, len(names))

    (function, *_) = [op for op, name in names.items() if name in TIMERS] or [-1]

    def operator_of(call: dict[str, Any]) -> int:
        """Whose function was called; a lone function does not say it."""
        return function if call["op"] < 0 else int(call["op"])

    def others(workload: Workload) -> Counter[str]:
        return Counter(
            json.dumps(call, sort_keys=True)
            for call in calls_of(workload)
            if operator_of(call) in below and key_of(call) not in case.keys
        )

    if others(twin) != others(evicted):
        case.faults.append("functions are called otherwise for other keys")
    if names.get(case.operator, "") in TIMERS:
        victims = [call for call in evicted.calls if call["k"] in case.own]
        victims = [call for call in victims if operator_of(call) == case.operator]
        first: dict[str, Any] = {}
        for call in victims:
            first.setdefault(call["k"], call)
        case.called = sum(call["timed"] for call in first.values())
        if case.way == TIMEOUT:
            missing = len(case.own) // 2 - len(first)
            if missing and evicted.batches:
                case.faults.append(f"{missing} keys were not called")
        elif any(call["was"] is not None for call in first.values()):
            case.faults.append("a removed key still had its state")
    elif alone and other_rows(case, twin) != other_rows(case, evicted):
        case.faults.append("other keys have other rows")


def other_rows(case: Case, workload: Workload) -> Counter[str]:
    """The rows that came out of keys that were not evicted; a key's id comes first in both."""
    ids = {str(json.loads(key)[0]) for key in case.keys if key.startswith("[")}
    rows = emitted(workload)
    return Counter({text: rows[text] for text in rows if json.loads(text)[1][0] not in ids})


def calls_of(workload: Workload) -> list[dict[str, Any]]:
    """All calls of functions and processors, in an order of their own, by the twin's batches."""
    shift = int(workload.spec["shift"])
    processed = [{**call, "batch": call["batch"] - shift} for call in workload.variables]
    calls = [
        {name: value for name, value in call.items() if name not in PLACE}
        for call in (*workload.calls, *processed)
    ]
    return sorted(calls, key=lambda call: json.dumps(call, sort_keys=True))


def emitted(workload: Workload) -> Counter[str]:
    """The rows that came out, each with its batch."""
    lines = (workload.folder / "emitted.jsonl").read_text("utf-8").splitlines()
    batches = [json.loads(line) for line in lines if line.strip()]
    return Counter(json.dumps([b["b"], row]) for b in batches for row in b["rows"])


def without_ids(rows: Counter[str]) -> Counter[str]:
    """The rows without their first cell, each with its batch."""
    result: Counter[str] = Counter()
    for text, count in rows.items():
        batch, (_, *cells) = json.loads(text)
        result[json.dumps([batch, cells])] += count
    return result


def go_on(cases: list[Case], version: str, out: Path, ticks: int) -> None:
    """Let Spark run every variant, all in one JVM."""
    chosen = [
        line_of(case, variant, ticks)
        for case in cases
        for variant in case.variants
        if not case.faults
    ]
    with tempfile.TemporaryDirectory(prefix="judge-copied-") as folder:
        places = (CACHE.resolve(), Path(folder))
        spark = InstalledSpark(*places) if version == INSTALLED else Spark(version, *places)
        spark.conf |= CONF | dict([file_manager(spark.release)])
        compile_programs(spark)
        pandas = any(re.search(" op=pd| plan=.*(pd|twsp)", line) for line in chosen)
        submit(spark, chosen, out.resolve(), Path(folder, "workloads.txt"), pandas=pandas)


def chosen_cases(options: argparse.Namespace) -> list[Case]:
    """Return the workloads to judge, with a random form and batch if these are requested."""
    paths = [path.parent for folder in options.folders for path in folder.glob("*/spec.txt")]
    sources = [read(path) for path in sorted(paths) if re.search(options.only, path.name)]
    sources = [workload for workload in sources if not workload.problem and workload.batches]
    cases = [Case(workload, options.out) for workload in sources[: options.count]]
    if options.reshape is not None:
        for case in cases:
            parts = int(case.source.spec["parts"])
            case.form = random_form(options.reshape, case.source.name, parts)
            if options.any_batch:
                checkpoint = case.source.folder / "checkpoint"
                case.batch = random_batch(options.reshape, case.source.name, checkpoint)
    return cases


def main() -> int:
    """Judge the workloads of some folders, and print a table."""
    parser = argparse.ArgumentParser(description="Judge copies on random workloads.")
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default="", metavar="REGEX", help="those whose name matches")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--ticks", type=int, default=5, help="for which each goes on")
    parser.add_argument("--spark-version", default=INSTALLED)
    parser.add_argument("--reshape", type=int, metavar="SEED", help="give copies another form")
    parser.add_argument("--any-batch", action="store_true", help="copy a random batch")
    options = parser.parse_args()
    cases = chosen_cases(options)
    new = [case for case in cases if not recall(case)]
    for case in new:
        prepare(case)
    if new:
        go_on(new, options.spark_version, options.out, options.ticks)
    for case in cases:
        if not case.faults:
            compare(case)
    if options.any_batch:
        compare_states([case for case in cases if not (case.faults or case.unjudged)])
    width = max(len(case.source.name) for case in cases)
    for case in cases:
        rows = (
            sum(emitted(read(case.folder(PLAIN))).values())
            if not (case.faults or case.unjudged)
            else 0
        )
        messages = f"{rows:>6} {len(case.keys) // 2:>5} {case.way or '-':<8} {case.called:>5}"
        verdict = "; ".join(case.faults) or case.unjudged or "equal"
        verdict += " without ids of first rows" * case.differs_by_id
        form = " ".join(f"{word}={value}" for word, value in case.form.items())
        if case.batch is not None:
            form += f" batch={case.batch}/{max(case.source.batches)} rows={case.state_rows}"
            form += "".join(f" refused: {refusal}" for refusal in case.refusals)
        print(f"{case.source.name:<{width}} {messages}  {verdict} {form}".rstrip())
    bad = sum(bool(case.faults) for case in cases)
    evicted = sum(bool(case.keys) for case in cases)
    unjudged = sum(bool(case.unjudged) for case in cases)
    print(
        f"{len(cases)} workloads, {evicted} with evictions: {bad} not as they should be, "
        f"{unjudged} from which Spark itself does not go on"
    )
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
