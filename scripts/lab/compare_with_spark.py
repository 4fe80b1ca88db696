#!/usr/bin/env python3
"""Hold what the inspector reads against what Spark itself said, for any folder of recorded cases.

    python scripts/lab/compare_with_spark.py FOLDER [--only REGEX] [--codec lz4] [--changes]

A case is a folder with a checkpoint (``checkpoint/`` or ``ck/``) and ``truth.jsonl.gz``: one line
per row that Spark's own provider returned, ``{"op","store","part","ver","k","v","kx","vx"}``.
Every recorded version is read with ``rows --raw`` and must equal it byte for byte, and the decoded
key and value must equal Spark's JSON. Where ``expected_leftovers.json`` lies beside it (what the
query function's own log says), the leftovers must be those keys, no more and no fewer. With
``--changes`` the rows of ``statestore.jsonl.gz`` in mode ``changefeed`` are held against changes,
histories and diffs instead.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from changes_with_spark import compare_changes, feed_of

from inspector import api
from inspector.discovery.checkpoint import open_checkpoint


class Verdict(NamedTuple):
    """What was compared in a case, and what was found to differ."""

    case: str
    versions: int
    rows: int
    leftovers: int | None
    faults: list[str]


def checkpoint_of(case: Path) -> Path:
    """The checkpoint of a case."""
    return next(path for path in (case / "checkpoint", case / "ck") if path.is_dir())


def cases(folder: Path, only: str = "") -> list[Path]:
    """The cases below a folder, at any depth."""
    result = (truth.parent for truth in folder.rglob("truth.jsonl.gz"))
    return sorted(case for case in result if re.search(only, case.name))


def truth(case: Path) -> dict[int, list[dict[str, Any]]]:
    """Spark's rows of a case by state version; objects as pairs, since names may repeat."""
    rows: dict[int, list[dict[str, Any]]] = {}
    with gzip.open(case / "truth.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = dict(json.loads(line, object_pairs_hook=Pairs))
            rows.setdefault(row["ver"], []).append(row)
    counts = case / "truth_counts.json"
    if counts.is_file():
        # A version without any row has no line in the truth.
        for entry in json.loads(counts.read_text()):
            if "error" not in entry:
                rows.setdefault(entry["ver"], [])
    return rows


class Pairs(list[Any]):
    """The members of a JSON object in order, repeated names and all."""


def compare(case: Path, *, decoded: bool = True) -> Verdict:
    """Read every recorded version of a case and say what differs from Spark's answer."""
    path = str(checkpoint_of(case))
    faults: list[str] = []
    rows = 0
    recorded = truth(case)
    stores = _stores(case)
    for version, expected in recorded.items():
        report = api.rows(path, options_of(case, version), raw=True)
        got = list(report.primary.rows)
        # Partitions stop at different versions when a query fails in the middle of a batch.
        got = [row for row in got if (_place(row), version) in stores]
        rows += len(expected)
        faults += _differences(version, expected, got)
        if decoded and not faults:
            faults += _value_differences(version, expected, got)
    result, wrong = compare_leftovers(case)
    return Verdict(case.name, len(recorded), rows, result, faults + wrong)


def options_of(case: Path, state_version: int | None = None) -> api.Options:
    """Options for a case: with the schemas that Spark had, if the checkpoint has none (3.0)."""
    if any(checkpoint_of(case).glob("state/*/*/_metadata/schema")):
        return api.Options(state_version=state_version)
    stores = json.loads((case / "schemas.json").read_text())
    keys, values = (
        tuple(f"{store['op']}:{store['store']}={json.dumps(store[subject])}" for store in stores)
        for subject in ("key", "value")
    )
    return api.Options(state_version=state_version, key_schemas=keys, value_schemas=values)


def _stores(case: Path) -> set[tuple[tuple[int, str, int], int]]:
    entries = json.loads((case / "truth_counts.json").read_text())
    return {((e["op"], e["store"], e["part"]), e["ver"]) for e in entries if "error" not in e}


def _place(row: Any) -> tuple[int, str, int]:
    return row["operator_id"], row["store_name"], row["partition_id"]


def _differences(version: int, expected: list[dict[str, Any]], got: list[Any]) -> Iterator[str]:
    want = Counter((r["op"], r["store"], r["part"], r["kx"], r["vx"]) for r in expected)
    have = Counter((*_place(r), r["key_hex"], r["value_hex"]) for r in got)
    for word, odd in (("missing", want - have), ("too many", have - want)):
        if odd:
            yield f"version {version}: {sum(odd.values())} rows {word}, first {next(iter(odd))}"


def _value_differences(
    version: int, expected: list[dict[str, Any]], got: list[Any]
) -> Iterator[str]:
    by_bytes = {(*_place(r), r["key_hex"]): r for r in got}
    for row in expected:
        mine = by_bytes[row["op"], row["store"], row["part"], row["kx"]]
        for spark, ours in (("k", "key"), ("v", "value")):
            if mine[ours] is None and row[spark]:
                yield f"version {version}: {ours} not decoded: {row[spark]}"
            elif mine[ours] is not None and not equal(row[spark], mine[ours]):
                yield f"version {version}: Spark says {row[spark]}, decoded {mine[ours]}"
                return


def equal(spark: Any, ours: Any) -> bool:
    """Whether Spark's JSON value and ours say the same.

    Spark's JSON leaves out null fields in old releases, repeats names of fields that have the same,
    and shows the timer of group state format 1 cut to 32 bits (its schema says integer).
    """
    if isinstance(spark, Pairs):
        return isinstance(ours, dict) and _equal_object(spark, list(ours.items()))
    if isinstance(spark, list):
        return isinstance(ours, list) and len(spark) == len(ours) and all(map(equal, spark, ours))
    if isinstance(spark, bool) or spark is None:
        return spark is ours
    if isinstance(spark, (int, float)) and isinstance(ours, (int, float, str)):
        return float(spark) == float(ours)
    if isinstance(spark, str) and isinstance(ours, str) and _NANOS.fullmatch(ours):
        return spark.rstrip("Z") == ours[: -3 - ours.endswith("Z")]
    return bool(spark == ours)


_NANOS = re.compile(r"\d+-\d\d-\d\dT[\d:]{8}\.\d{9}Z?")
"""A timestamp of nanoseconds, of which the recorded JSON has the microseconds only."""


def _equal_object(spark: Pairs, ours: list[tuple[str, Any]]) -> bool:
    if any(name == "__error" for name, _ in spark):
        return True
    if len(spark) < len(ours):
        ours = [(name, value) for name, value in ours if value is not None]
    return len(spark) == len(ours) and all(map(_equal_member, spark, ours))


def _equal_member(spark: tuple[str, Any], ours: tuple[str, Any]) -> bool:
    (name, value), (our_name, our_value) = spark, ours
    if name != our_name.split("#")[0]:
        return False
    if name == "timeoutTimestamp" and value is not None:
        return int(value) % (1 << 32) == int(our_value) % (1 << 32)
    return equal(value, our_value)


def compare_leftovers(case: Path) -> tuple[int | None, list[str]]:
    """The leftovers of a case against the account of the query's own function."""
    file = case / "expected_leftovers.json"
    if not file.is_file():
        return None, []
    path = str(checkpoint_of(case))
    report = api.leftovers(path, options_of(case))
    # What expired before the window of proof (the oldest clock in the log) need not be told, but
    # what is told of it has to be so; a key without a timer from its beginning is only inferred to
    # have expired (no batch is named).
    oldest = min(open_checkpoint(path).logs.clocks, default=0)
    counter = Counter(
        (str(row["key"]), row["class"], row["expired_batch"]) for row in _expected(file)
    )
    want = Counter({row: count for row, count in counter.items() if row[2] >= oldest})
    rows = [row for row in report.primary.rows if row["expired_batch"] is not None]
    have = _leftovers(rows)
    faults = [
        f"leftovers: {sum(odd.values())} {word}, such as {sorted(odd)[:3]}"
        for word, odd in (("missed", want - have), ("too many", have - counter))
        if odd
    ]
    return sum(have.values()), faults


def _leftovers(rows: Iterable[Any]) -> Counter[tuple[str, str, int]]:
    return Counter((str(_key(row["key"])), row["class"], row["expired_batch"]) for row in rows)


def _expected(file: Path) -> list[dict[str, Any]]:
    content = json.loads(file.read_text())
    rows: list[dict[str, Any]] = content["leftovers"] if isinstance(content, dict) else content
    return rows


def _key(key: Any) -> Any:
    return next(iter(key.values())) if isinstance(key, dict) and len(key) == 1 else key


def main() -> int:
    """Compare all cases of a folder; 1 if any differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="regular expression on the case's name")
    parser.add_argument("--codec", default="", help="only checkpoints whose state has this codec")
    parser.add_argument("--bytes-only", action="store_true", help="do not compare decoded values")
    parser.add_argument("--changes", action="store_true", help="hold changes against the feed")
    args = parser.parse_args()
    if args.changes:
        return compare_feeds(args.folder, args.only)
    bad = done = 0
    for case in cases(args.folder, args.only):
        if args.codec and args.codec != codec_of(case):
            continue
        verdict = compare(case, decoded=not args.bytes_only)
        done += 1
        bad += bool(verdict.faults)
        leftovers = "" if verdict.leftovers is None else f" leftovers={verdict.leftovers}"
        word = "differs" if verdict.faults else "equal"
        print(
            f"{word:8}{verdict.case:32} versions={verdict.versions} rows={verdict.rows}{leftovers}"
        )
        for fault in verdict.faults[:4]:
            print(f"        {fault[:600]}")
    print(f"{done - bad} of {done} cases equal")
    return 1 if bad or not done else 0


def compare_feeds(folder: Path, only: str) -> int:
    """Compare the changes of all cases that have a change feed; 1 if any differs."""
    bad = done = 0
    for case in cases(folder, only):
        feed = feed_of(case, Pairs)
        if feed is None:
            continue
        rows, faults = compare_changes(str(checkpoint_of(case)), feed, equal)
        done += 1
        bad += bool(faults)
        print(f"{'differs' if faults else 'equal':8}{case.name:32} changes={rows}")
        for fault in faults[:4]:
            print(f"        {fault[:600]}")
    print(f"{done - bad} of {done} change feeds equal")
    return 1 if bad or not done else 0


def codec_of(case: Path) -> str | None:
    """The codec that a case's offset log records."""
    checkpoint = open_checkpoint(str(checkpoint_of(case)))
    return checkpoint.conf(checkpoint.newest_version, "stateStore.compression.codec")


if __name__ == "__main__":
    sys.exit(main())
