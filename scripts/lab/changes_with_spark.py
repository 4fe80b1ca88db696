"""Hold changes, histories and diffs against Spark's own change feed.

``statestore.jsonl.gz`` beside a checkpoint has what ``spark.read.format("statestore")`` gave, in
mode ``changefeed`` with ``readChangeFeed``: every put is an ``update``, every removal a ``delete``.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from inspector import api

HISTORIES = 3
"""Keys of each store whose history is asked for: the first, the last, one in the middle."""

Equal = Callable[[Any, Any], bool]
Store = tuple[int, str, int]
"""Operator, store, partition."""


class Feed(NamedTuple):
    """Spark's change feed of a case by store, each in Spark's order, and the batches it covers."""

    rows: Mapping[Store, Sequence[Mapping[str, Any]]]
    first_batch: int
    last_batch: int


def feed_of(case: Path, pairs: type[list[Any]]) -> Feed | None:
    """The change feed that was recorded of a case; objects as ``pairs``, since names may repeat.

    None where there is none, or where Spark could show its rows as text only (geometry).
    """
    file = case / "statestore.jsonl.gz"
    if not file.is_file():
        return None
    rows: dict[Store, list[Mapping[str, Any]]] = {}
    batches: set[tuple[int, int]] = set()
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            if '"mode":"changefeed"' not in line:
                continue
            read = dict(json.loads(line, object_pairs_hook=pairs))
            row, options = dict(read["row"]), dict(read["opts"])
            if not isinstance(row["key"], pairs):
                return None
            location = (read["op"], read["store"], row["partition_id"])
            rows.setdefault(location, []).append(row)
            ends = options["changeStartBatchId"], options["changeEndBatchId"]
            batches.add((int(ends[0]), int(ends[1])))
    if not batches:
        return None
    ((first, last),) = batches
    return Feed(rows, first, last)


def compare_changes(path: str, feed: Feed, equal: Equal) -> tuple[int, list[str]]:
    """How many changes were compared, and what differs: in changes, histories, and a diff."""
    options = api.Options(batch=feed.last_batch)
    report = api.changes(path, options, from_batch=feed.first_batch, raw=True)
    mine: dict[Store, list[Mapping[str, Any]]] = {}
    for row in report.primary.rows:
        mine.setdefault(_place(row), []).append(row)
    faults = [f"problem: {problem.message}" for problem in report.problems]
    for item in sorted({*mine, *feed.rows}):
        theirs, ours = feed.rows.get(item, ()), mine.get(item, ())
        wrong = list(_differences(theirs, ours, equal))
        faults += [f"changes of {item}: {fault}" for fault in wrong]
        if not wrong:
            faults += _histories(path, feed, item, list(zip(theirs, ours, strict=True)), equal)
    if not faults and feed.first_batch == 0:
        faults += _diffs(path, feed, mine)
    return sum(map(len, feed.rows.values())), faults


def _place(row: Mapping[str, Any]) -> Store:
    return row["operator_id"], row["store_name"], row["partition_id"]


def _differences(
    theirs: Sequence[Mapping[str, Any]], ours: Sequence[Mapping[str, Any]], equal: Equal
) -> Iterator[str]:
    if len(theirs) != len(ours):
        yield f"Spark has {len(theirs)}, found {len(ours)}"
        return
    for spark, mine in zip(theirs, ours, strict=True):
        if not _same(spark, mine, equal):
            yield f"Spark says {spark}, found {mine}"
            return


def _same(spark: Mapping[str, Any], mine: Mapping[str, Any], equal: Equal) -> bool:
    removal = mine["event"] in ("removal", "absent_removal")
    return (
        spark["batch_id"] == mine["batch_id"]
        and spark["change_type"] == ("delete" if removal else "update")
        and equal(spark["key"], mine["key"])
        and equal(spark["value"], mine["value"])
    )


def _histories(
    path: str, feed: Feed, location: Store, pair: Sequence[tuple[Any, Any]], equal: Equal
) -> Iterator[str]:
    """The history of some keys against the feed's rows of the same key."""
    keys = list(dict.fromkeys(mine["key_hex"] for _, mine in pair))
    chosen = {keys[i] for i in (0, len(keys) // 2, -1)} if keys else set()
    for key in sorted(chosen)[:HISTORIES]:
        options = api.Options(
            key=key,
            batch=feed.last_batch,
            operator_id=location[0],
            store_name=location[1],
            partition_id=location[2],
        )
        rows = [
            row
            for row in api.history(path, options).primary.rows
            if row["event"] != "in_snapshot" and row["batch_id"] >= feed.first_batch
        ]
        theirs = [spark for spark, mine in pair if mine["key_hex"] == key]
        for fault in _differences(theirs, rows, equal):
            yield f"history of {key} in {location}: {fault}"


def _diffs(path: str, feed: Feed, mine: Mapping[Store, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Diffs of a few pairs of batches against the feed, folded up to each of them."""
    faults = []
    last, middle = feed.last_batch, feed.last_batch // 2
    for first, second in {(0, last), (middle, last), (last - 1, last)}:
        if first < 0:
            continue
        old, new = (_folded(feed, mine, batch) for batch in (first, second))
        want = {
            **dict.fromkeys(new.keys() - old.keys(), "added"),
            **dict.fromkeys(old.keys() - new.keys(), "removed"),
            **{
                location: "changed"
                for location in old.keys() & new.keys()
                if old[location] != new[location]
            },
        }
        rows = api.diff(path, from_batch=first, to_batch=second, raw=True).primary.rows
        have = {(*_place(row), row["key_hex"]): row["change"] for row in rows}
        if have != want:
            odd = sorted(set(have.items()) ^ set(want.items()))
            faults.append(f"diff of batches {first} and {second}: {len(odd)} differ, {odd[0]}")
    return faults


def _folded(
    feed: Feed, mine: Mapping[Store, Sequence[Mapping[str, Any]]], batch: int
) -> dict[tuple[Any, ...], str]:
    """Store and key -> Spark's value, after a batch; keys by their bytes, which Spark hides."""
    result: dict[tuple[Any, ...], str] = {}
    for location, rows in feed.rows.items():
        for spark, row in zip(rows, mine[location], strict=True):
            if spark["batch_id"] > batch:
                continue
            key = (*location, row["key_hex"])
            if spark["change_type"] == "delete":
                result.pop(key, None)
            else:
                result[key] = json.dumps(spark["value"])
    return result
