"""Damage checkpoints, restart them on Spark, and compare with what ``inspector`` says of them.

    python scripts/lab/judge_damage.py run FOLDER [--only REGEX] [--each N] [--changes REGEX]
    python scripts/lab/judge_damage.py copy FOLDER [--only REGEX] [--each N] [--changes REGEX]
    python scripts/lab/judge_damage.py judge FOLDER...

``run`` starts every query of ``restarts/shapes.py`` over real sources and sinks, stops it, damages
a copy of its checkpoint in the ways of ``restarts/damages.py``, and restarts it with new input. It
keeps the damaged checkpoints and what Spark did. It needs PySpark (3.5 or later) alone, and
continues where an earlier run of the same folder ended.

``copy`` copies each damaged checkpoint of a run with ``inspector copy``, restarts Spark on the
copy, and keeps the reason of a refusal or what Spark did. It needs the folder where ``run`` left
it, as a checkpoint has paths of its sources.

``judge`` asks ``info``, ``audit`` and ``preflight`` about each damaged checkpoint, compares the
answers with what Spark did, prints those that were wrong, and writes the counts to
``restarts/records/damage/counts.json``, of which ``refresh_docs.py`` makes tables. If Spark's
message names files, the file that ``audit`` names must be one of them. ``judge`` also asks about
the lines of Kafka and Delta Lake of ``restarts/hand_made.py``, which no Spark has restarted. It
ends with 1 if an answer was wrong.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from zlib import crc32

import top_scripts  # noqa: F401 - finds the folder above
from restarts.damages import DAMAGES, NotThere
from restarts.hand_made import SOURCE_EDITS, hand_made_cases
from restarts.named_files import message_of, named_files
from restarts.runs import error_text
from restarts.sessions import start_session
from restarts.shapes import OPERATORS, PROVIDERS, SHAPES, SINK_EVOLUTION, Shape, write_input

BATCHES = 6  # input files before the query is stopped
MORE = 2  # input files after the restart
PARALLEL = 3  # queries that run at the same time: much of a small one is waiting
PATIENCE_S = 300  # seconds to wait for a query that has all its input
RECORD = "outcomes.json"
COPIES = "copies.json"  # what became of the copies of damaged checkpoints
COPIED = "copied"  # name of such a copy
COMMANDS = ("audit", "preflight")  # commands whose answers are scored
MOVED = "moved"  # the undamaged checkpoint is restarted in another folder
HARMLESS = ("sound", "age", "lose-checksum-files", "add-strangers", MOVED)  # nothing is damaged
CONFS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
}


SESSION = {
    "spark.driver.memory": "2g",
    "spark.sql.streaming.numRecentProgressUpdates": "1",
    # Snapshots are written by the maintenance, which small queries would not live to see.
    "spark.sql.streaming.stateStore.maintenanceInterval": "250ms",
    "spark.sql.streaming.statefulOperator.checkCorrectness.enabled": "false",
}


class Runs:
    """Runs and restarts of the queries in one folder."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self._spark, self._folder = spark, folder
        self.release: tuple[int, ...] = tuple(map(int, spark.version.split(".")[:2]))

    def begin(self, shape: Shape) -> None:
        """Run a query over its first input, and keep its folders as ``base``."""
        home = self._folder / shape.name
        if (home / "base").exists():
            return
        shutil.rmtree(home, ignore_errors=True)
        items = shape.source.startswith("rate")  # each start of the query runs one batch
        for number in range(BATCHES):
            write_input(home / "inputs", number)
            if items:
                self._run(shape, home / "live", "checkpoint", shape.confs)
                time.sleep(0.3 if shape.is_timed else 0)
        if not items:
            self._run(shape, home / "live", "checkpoint", shape.confs)
        time.sleep(1)  # the last maintenance ends
        for number in range(BATCHES, BATCHES + MORE):
            write_input(home / "inputs", number)
        (home / "live").rename(home / "kept")
        (home / "kept").rename(home / "base")

    def restart(self, shape: Shape, damage: str) -> dict[str, Any]:
        """Restart a query from a damaged copy, and return what Spark did.

        The keys are ``restarted``, ``error`` (innermost error class or first line; None without),
        ``files`` (that Spark's message names), ``rows`` (of each batch, sorted; None if the sink
        does not keep them) and ``newest`` (number of the newest committed batch, or None).
        """
        live, name = self._damaged(shape, damage)
        case = live.parent / "cases" / damage
        shutil.rmtree(case, ignore_errors=True)
        shutil.copytree(live / name, case)
        return self._restarted(shape, live, name)

    def restart_copy(self, shape: Shape, damage: str) -> dict[str, Any]:
        """Copy a damaged checkpoint, restart the query from the copy, and return what Spark did.

        The keys are those of :meth:`restart`, and ``conditional``: True if the copy restarts only
        a query without state. If ``copy`` refuses, ``refusal`` is its reason and the only key.
        """
        from inspector import api

        live, name = self._damaged(shape, damage)
        try:
            report = api.copy(str(live / name), str(live / COPIED), stopped=True)
        except api.InspectorError as error:
            shutil.rmtree(live, ignore_errors=True)
            return {"refusal": f"{type(error).__name__}: {error}".replace(str(live), "")}
        needs_no_state = any("yes if the query keeps no state" in note for note in report.notes)
        return {**self._restarted(shape, live, COPIED), "conditional": needs_no_state}

    def _damaged(self, shape: Shape, damage: str) -> tuple[Path, str]:
        """Make a damaged copy of the first run; return its folder, and the checkpoint's name."""
        home = self._folder / shape.name
        live = home / "live"
        shutil.rmtree(live, ignore_errors=True)
        shutil.copytree(home / "base", live)
        name = "checkpoint"
        if damage == MOVED:
            (live / name).rename(live / MOVED)
            return live, MOVED
        DAMAGES[damage](live / name)
        return live, name

    def _restarted(self, shape: Shape, live: Path, name: str) -> dict[str, Any]:
        """Restart a query from a checkpoint of ``live``, and return what Spark did."""
        confs = shape.confs if shape.restart_confs is None else shape.restart_confs
        before = _newest_commit(live / name)
        for _ in range(MORE if shape.source.startswith("rate") else 1):
            rows, error, files = self._try(shape, live, name, confs)
            if error is not None:
                break
        newest = _newest_commit(live / name)
        shutil.rmtree(live, ignore_errors=True)
        progress = newest is not None and (before is None or newest > before)
        if error is None and not progress:
            error = "no batch was committed"
        return {
            "restarted": error is None,
            "error": error,
            "files": files,
            "rows": rows,
            "newest": newest,
        }

    def _try(
        self, shape: Shape, live: Path, name: str, confs: Mapping[str, str]
    ) -> tuple[list[list[Any]] | None, str | None, list[str]]:
        """Run a query; return the rows of ``foreachBatch``, the error, and the files in it."""
        try:
            return self._run(shape, live, name, confs), None, []
        except Exception as failure:  # noqa: BLE001 - what Spark refuses with is the result
            files = sorted(named_files(message_of(failure)))
            return None, error_text(str(failure)), files

    def _run(
        self, shape: Shape, live: Path, name: str, confs: Mapping[str, str]
    ) -> list[list[Any]] | None:
        """Run a query until it has read its input; return the rows of ``foreachBatch``."""
        session = self._spark.newSession()
        for key, value in {**CONFS, **PROVIDERS[shape.provider], **confs}.items():
            session.conf.set(key, value)
        arguments: list[list[Any]] = []

        def keep(rows: Any, batch: int) -> None:
            texts = sorted(json.dumps(list(row), default=str) for row in rows.collect())
            arguments.append([batch, texts])

        writer = shape.frame(session, live.parent / "inputs").writeStream.outputMode(shape.mode)
        if shape.sink == "foreachBatch":
            writer = writer.foreachBatch(keep)
        elif shape.sink == "file":
            writer = writer.format("json").option("path", str(live / "out"))
        else:
            writer = writer.format(shape.sink).queryName(f"q{uuid.uuid4().hex}")
        if confs.get(SINK_EVOLUTION) == "true":  # PySpark 4.3 itself cannot name a sink
            writer._jwrite = writer._jwrite.name("sink_0")
        writer = writer.option("checkpointLocation", (live / name).as_uri())
        query = writer.trigger(availableNow=True).start()
        if not query.awaitTermination(PATIENCE_S):
            query.stop()
            raise RuntimeError("the query does not end")
        return arguments if shape.sink == "foreachBatch" else None


def _save(path: Path, record: Mapping[str, Any]) -> None:
    """Write a record, which is never seen half written."""
    partial = path.with_suffix(f".{uuid.uuid4().hex}")
    partial.write_text(json.dumps(record, indent=1))
    partial.rename(path)


def _newest_commit(checkpoint: Path) -> int | None:
    numbers = [int(path.name) for path in checkpoint.glob("commits/[0-9]*")]
    return max(numbers, default=None)


def chosen_damages(shape: Shape, item: int) -> list[str]:
    """Return ``each`` of the changes for a shape, others for the next one, and always ``sound``."""
    names = [*DAMAGES, MOVED]
    start = crc32(shape.name.encode()) % len(names)
    turned = names[start:] + names[:start]
    return list(dict.fromkeys(["sound", *turned]))[:item] if item else names


def run(folder: Path, only: str, item: int, changes: str = "") -> None:
    """Run all shapes, and write what Spark did to the record of the folder."""
    spark = start_session("damage", SESSION)
    runs = Runs(spark, folder)
    record = folder / RECORD
    outcomes: dict[str, Any] = {}
    if record.exists():
        outcomes = json.loads(record.read_text())["outcomes"]

    def run_shape(shape: Shape) -> None:
        try:
            runs.begin(shape)
        except Exception as error:  # noqa: BLE001 - a shape that this Spark does not run
            print(f"{shape.name}: does not run: {error_text(str(error))}", flush=True)
            return
        for damage in chosen_damages(shape, item):
            if not re.search(changes, damage):
                continue
            key = f"{shape.name} {damage}"
            if key in outcomes:
                continue
            try:
                outcomes[key] = runs.restart(shape, damage)
            except (NotThere, FileNotFoundError) as lacking:
                outcomes[key] = {"lacks": str(lacking)}
            _save(record, {"spark": spark.version, "outcomes": dict(outcomes)})

    able = [s for s in SHAPES if s.can_run(runs.release) and re.search(only, s.name)]
    begin = time.monotonic()
    with ThreadPoolExecutor(PARALLEL) as pool:
        list(pool.map(run_shape, able))
    done = [outcome for outcome in outcomes.values() if "lacks" not in outcome]
    print(f"Spark {spark.version}: {len(done)} restarts in {time.monotonic() - begin:.0f} s")
    spark.stop()


def copy(folder: Path, only: str, item: int, changes: str = "") -> None:
    """Copy the damaged checkpoints of a run, restart the copies, and write the record."""
    spark = start_session("copies", SESSION)
    runs = Runs(spark, folder)
    record = folder / COPIES
    copies: dict[str, Any] = json.loads(record.read_text()) if record.exists() else {}
    cases: dict[str, list[tuple[Shape, str]]] = {}
    for shape, damage, _ in _cases(folder):
        # A rate source has the rows of all the time since the run, which a join multiplies.
        if re.search(only, shape.name) and re.search(changes, damage) and not shape.is_timed:
            cases.setdefault(shape.name, []).append((shape, damage))

    def copy_shape(name: str) -> None:
        chosen = cases[name]
        start = crc32(name.encode()) % len(chosen)
        for shape, damage in [*chosen[start:], *chosen[:start]][: item or None]:
            key = f"{shape.name} {damage}"
            if key not in copies:
                copies[key] = runs.restart_copy(shape, damage)
                _save(record, dict(copies))

    with ThreadPoolExecutor(PARALLEL) as pool:
        list(pool.map(copy_shape, cases))
    print(f"Spark {spark.version}: {len(copies)} copies")
    spark.stop()


# --- what is said --------------------------------------------------------------------------------


def answers(
    checkpoint: Path, release: tuple[int, ...], confs: Mapping[str, str], *, has_state: bool
) -> dict[str, Any]:
    """Ask ``audit``, ``info`` and ``preflight`` whether a query restarts.

    Args:
        checkpoint: the damaged checkpoint, in the place where the query would restart.
        release: of the Spark that restarts it.
        confs: of the session that restarts it.
        has_state: True if the query keeps state, which decides a conditional answer.

    Returns:
        ``audit`` and ``preflight``, each ``yes``, ``no`` or ``unknown``; ``sentence`` of ``audit``
        and ``info``; ``file`` that is named as missing, or ""; ``findings`` that name damage.
    """
    from inspector import api
    from inspector.model import Certainty

    report = api.audit(str(checkpoint))
    restart = report.verdict.restart if report.verdict else None
    damage = [
        finding.kind.id
        for finding in report.findings
        if finding.kind.id < "SS2" and finding.certainty is Certainty.PROVEN
    ]
    return {
        "audit": _answer(restart, release, confs, has_state=has_state),
        "preflight": _preflight_answer(checkpoint, release, confs, restart),
        "sentence": restart.sentence if restart else "",
        "info": str(api.info(str(checkpoint)).summary.get("restart", "")),
        "file": restart.obstacles[0].name if restart and restart.obstacles else "",
        "sources": sorted({f.kind.id for f in report.findings if f.kind.id in ("SS127", "SS128")}),
        "findings": sorted(set(damage)),
        "level": report.verdict.level.name if report.verdict else "",
    }


def _preflight_answer(
    checkpoint: Path, release: tuple[int, ...], confs: Mapping[str, str], restart: Any
) -> str:
    """Return what ``preflight`` says of a checkpoint and itself: yes, no or unknown.

    It reads no rows, and says so. Its yes leaves open what only reading shows. For a checkpoint
    without state its yes holds for a query without state.
    """
    from inspector import api

    try:
        report = api.preflight(
            str(checkpoint),
            str(checkpoint),
            conf=dict(confs),
            to_spark=".".join(map(str, release)),
        )
    except api.InspectorError:
        return "unknown"  # it says that there is nothing to compare
    rows = report.primary.rows
    if any(row["verdict"] in ("refused", "option") for row in rows):
        return "no"  # the confs of the restart were given, so that an option is one they lack
    by_names = restart is not None and (
        restart.possible is None or any(not obstacle.missing for obstacle in restart.obstacles)
    )
    is_open = by_names or (restart is not None and not restart.has_state)
    return "unknown" if is_open or any(row["rule"] in _OPEN for row in rows) else "yes"


_OPEN = ("SS482",)
"""Rules of ``preflight`` that leave open whether the checkpoint itself restarts."""


def _answer(
    restart: Any, release: tuple[int, ...], confs: Mapping[str, str], *, has_state: bool
) -> str:
    """Reduce a verdict on a restart to yes, no or unknown for one release and its confs."""
    if restart is None:
        return "unknown"
    if restart.possible is False:
        return "no"
    if restart.possible is None:
        return "unknown"
    if not restart.has_state and has_state:
        return "no"  # "yes if the query keeps no state; else no"
    conditions = getattr(restart, "conditions", ())
    if any(confs.get(condition.option) != condition.value for condition in conditions):
        return "no"
    if restart.needs_repair and release < (4, 2):
        return "no"
    for obstacle in restart.later:
        if release >= tuple(map(int, obstacle.since.split("."))):
            return "no"
    return "yes"


def _score(answer: str, restarted: bool) -> str:
    if answer == "unknown":
        return "open"
    return "right" if (answer == "yes") == restarted else "wrong"


def _score_file(message: Mapping[str, Any], outcome: Mapping[str, Any]) -> str:
    """Score the file that stands in the way, by those that Spark's message names; "" for none."""
    named = set(outcome.get("files") or ())
    own = named_files(message["file"])
    if outcome["restarted"] or message["audit"] != "no" or not named or not own:
        return ""
    return "right" if own & named else "other"


def _has_other_rows(
    shape: Shape, outcome: Mapping[str, Any], sound: Mapping[str, Any] | None
) -> bool:
    """True if a restart gave other rows in its last batch than the undamaged query did."""
    rows, expected = outcome["rows"], sound and sound["rows"]
    return bool(rows and expected and not shape.is_timed and rows[-1] != expected[-1])


def _cases(folder: Path) -> Iterator[tuple[Shape, str, dict[str, Any]]]:
    outcomes = json.loads((folder / RECORD).read_text())["outcomes"]
    for shape in SHAPES:
        for damage in [*DAMAGES, MOVED]:
            outcome = outcomes.get(f"{shape.name} {damage}")
            if outcome is not None and "lacks" not in outcome:
                yield shape, damage, outcome


def judge_case(
    folder: Path, shape: Shape, damage: str, outcome: Mapping[str, Any], release: tuple[int, ...]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Put a damaged checkpoint in its place, ask about it, and score the answers.

    Args:
        folder: of the runs.
        shape: the query.
        damage: name of what was done to its checkpoint.
        outcome: what Spark did.
        release: of that Spark.

    Returns:
        The answers, and the score of each command: ``right``, ``open`` or ``wrong``.
    """
    home = folder / shape.name
    location = home / "live" / (MOVED if damage == MOVED else "checkpoint")
    shutil.rmtree(home / "live", ignore_errors=True)
    shutil.copytree(home / "cases" / damage, location)
    confs = shape.confs if shape.restart_confs is None else shape.restart_confs
    try:
        has_state = OPERATORS[shape.operator].has_state
        result = answers(location, release, confs, has_state=has_state)
    finally:
        shutil.rmtree(home / "live", ignore_errors=True)
    return result, {command: _score(result[command], outcome["restarted"]) for command in COMMANDS}


def judge(folders: Sequence[Path], only: str) -> int:
    """Compare all answers with what Spark did, and write the record; 1 if an answer was wrong."""
    from documentation.restarts import DAMAGE_RECORD

    record: dict[str, Any] = {}
    if DAMAGE_RECORD.exists():
        record = json.loads(DAMAGE_RECORD.read_text())
    wrong = 0
    for folder in folders:
        spark = json.loads((folder / RECORD).read_text())["spark"]
        release = tuple(map(int, spark.split(".")[:2]))
        cases = [case for case in _cases(folder) if re.search(only, case[0].name)]
        sound = {shape.name: outcome for shape, damage, outcome in cases if damage == "sound"}
        table: dict[str, Counter[str]] = {}
        for shape, damage, outcome in cases:
            result, scores = judge_case(folder, shape, damage, outcome, release)
            loses_rows = _has_other_rows(shape, outcome, sound.get(shape.name))
            if loses_rows and scores["audit"] == "right" and not result["findings"]:
                scores["audit"] = "wrong"  # it restarts without some rows, and nothing says so
            row = table.setdefault(damage, Counter())
            row["restarted" if outcome["restarted"] else "refused"] += 1
            row.update(f"{command} {score}" for command, score in scores.items())
            file = _score_file(result, outcome)
            if file:
                row[f"file {file}"] += 1
            if file == "other":
                print(f"{spark} {shape.name} {damage}: Spark names {outcome['files']}")
                print(f"   said: {result['sentence']}")
            false_damage = damage in HARMLESS and outcome["restarted"] and bool(result["findings"])
            row["false damage"] += false_damage
            if "wrong" in scores.values() or false_damage:
                print(f"{spark} {shape.name} {damage}: restarted {outcome['restarted']}")
                print(f"   Spark: {outcome['error']}")
                print(f"   said: {json.dumps(result)}")
        record[spark] = {
            "shapes": len({shape.name for shape, _, _ in cases}),
            "changes": {damage: dict(row) for damage, row in table.items()},
            "copies": judge_copies(folder, only),
        }
        wrong += record[spark]["copies"].get("wrong", 0)
        total = sum(table.values(), Counter())
        wrong += total["false damage"] + sum(total[f"{command} wrong"] for command in COMMANDS)
        print(f"Spark {spark}: {json.dumps(total, sort_keys=True)}")
    shapes = [s for s in SHAPES if s.source == "files" and s.provider != "format2" and not s.confs]
    # A moved checkpoint of transformWithState does not restart, and the edits are made on copies.
    operators = {
        name for name, item in OPERATORS.items() if item.has_state and not item.needs_rocksdb
    }
    names = [shape.name for shape in shapes if shape.operator in operators]
    paths = [folder / name / "base/checkpoint" for folder in folders for name in names]
    bases = [path for path in paths if path.exists()]
    by_hand = judge_hand_made(bases)
    if by_hand:
        record["by hand"] = by_hand
        wrong += sum(counts.get("wrong", 0) for counts in by_hand.values())
    if not only:
        DAMAGE_RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
    return int(wrong > 0)


def score_copy(
    shape: Shape,
    answer: Mapping[str, Any],
    damaged: Mapping[str, Any],
    sound: Mapping[str, Any] | None,
) -> str:
    """Return how a copy of a damaged checkpoint compares with what Spark did.

    Args:
        shape: the query.
        answer: the reason of a refusal, or what Spark did with the copy.
        damaged: what Spark did with the damaged checkpoint.
        sound: what Spark did with the undamaged one, or None.

    Returns:
        ``refused`` if Spark refuses the damaged checkpoint, too, and ``strict`` if it does not. A
        copy for a query without state refuses a query with state.
        ``equal`` if the copy restarts with the rows of the undamaged or the damaged checkpoint, or
        stops as the undamaged one does. Else ``wrong``.
    """
    says_no = answer.get("conditional") and OPERATORS[shape.operator].has_state
    if "refusal" in answer or says_no:
        return "strict" if damaged["restarted"] else "refused"
    if not answer["restarted"]:
        return "wrong" if sound is None or sound["restarted"] else "equal"
    differs = _has_other_rows(shape, answer, sound) and _has_other_rows(shape, answer, damaged)
    return "wrong" if differs else "equal"


def judge_copies(folder: Path, only: str) -> dict[str, int]:
    """Score the copies of a folder, print those that are wrong, and return the counts."""
    path = folder / COPIES
    copies = json.loads(path.read_text()) if path.exists() else {}
    cases = [case for case in _cases(folder) if re.search(only, case[0].name)]
    sound = {shape.name: outcome for shape, damage, outcome in cases if damage == "sound"}
    counts: Counter[str] = Counter()
    for shape, damage, outcome in cases:
        result = copies.get(f"{shape.name} {damage}")
        if result is None:
            continue
        score = score_copy(shape, result, outcome, sound.get(shape.name))
        counts[score] += 1
        if score in ("strict", "wrong"):
            print(f"copy of {shape.name} {damage}: {score}: {result.get('refusal')}")
            print(
                f"   Spark: of the damaged one {outcome['error']}, "
                f"of the copy {result.get('error')}"
            )
    return dict(counts)


def judge_hand_made(bases: Sequence[Path]) -> dict[str, dict[str, int]]:
    """Ask about checkpoints with lines of Kafka and Delta Lake, and count the answers by edit."""
    table: dict[str, Counter[str]] = {name: Counter() for name in SOURCE_EDITS}
    with tempfile.TemporaryDirectory() as folder:
        for name, checkpoint in hand_made_cases(bases, Path(folder)):
            edit = SOURCE_EDITS[name]
            result = answers(checkpoint, (4, 3), {}, has_state=True)
            is_right = result["audit"] == edit.answer and result["sources"] == list(edit.findings)
            table[name]["right" if is_right else "wrong"] += 1
            if not is_right:
                print(f"by hand {name}: {json.dumps(result)}")
    return {name: dict(counts) for name, counts in table.items() if counts}


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("verb", choices=("run", "copy", "judge"))
    parser.add_argument("folders", metavar="FOLDER", type=Path, nargs="+")
    parser.add_argument("--only", default="", help="shapes whose name matches this pattern")
    parser.add_argument("--each", type=int, default=0, help="number of changes for each shape")
    parser.add_argument("--changes", default="", help="changes whose name matches this pattern")
    args = parser.parse_args()
    folders = [folder.resolve() for folder in args.folders]
    if args.verb == "judge":
        return judge(folders, args.only)
    (folder,) = folders
    folder.mkdir(parents=True, exist_ok=True)
    verb = copy if args.verb == "copy" else run
    verb(folder, args.only, args.each, args.changes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
