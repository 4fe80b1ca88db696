"""Batches that a tool appended: nothing is concluded from what stands in them."""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inspector import api
from inspector.analyses.shared.options import Options
from inspector.model import Redact
from tests import cases
from tests.encode import Record
from tests.fixture_folder import NEWEST
from tests.listings import newest_batch
from tests.reports import cell_values, finding_ids, primary_rows

SHOWN = Options(redact=Redact.NONE)
KEPT = NEWEST / "trouble_kept_timeouts/checkpoint"
DEDUP = NEWEST / "dedup_event_time/checkpoint"
TIMER = slice(16, 24)
"""Where the timer stands in a value of format 2 (``FlatMapGroupsWithStateExecHelper``)."""


_TIME = re.compile(r'(?<="batchTimestampMs":)\d+')
_WATERMARK = re.compile(r'(?<="batchWatermarkMs":)\d+')


def _next_watermark(root: Path, batch: int) -> str:
    text = (root / "commits" / str(batch)).read_text("utf-8")
    (result,) = re.findall(r'"nextBatchWatermarkMs":(\d+)', text)
    return str(result)


def append(
    root: Path,
    records: Mapping[int, Sequence[Record]],
    *,
    later_ms: int = 0,
    snapshot: bool = False,
) -> Path:
    """One more batch: the logs' last entries once more, and a version of every partition.

    Args:
        root: a copy of a checkpoint of one operator with one store; it is changed.
        records: of some partitions.
        later_ms: added to the time stamp; a batch of a later one is one that a query ran.
        snapshot: the version is a snapshot, of these rows.
    """
    newest = newest_batch(root)
    for log in ("offsets", "commits"):
        entry = (root / log / str(newest)).read_text("utf-8")
        if later_ms:
            entry = _TIME.sub(lambda result: str(int(result[0]) + later_ms), entry)
            entry = _WATERMARK.sub(_next_watermark(root, newest), entry)
        (root / log / str(newest + 1)).write_text(entry, "utf-8")
    for folder in (root / "state/0").glob("[0-9]*"):
        version = {newest + 2: records.get(int(folder.name), ())}
        cases.write_store(folder, {} if snapshot else version, version if snapshot else None)
    return root


def rows(root: Path) -> list[dict[str, Any]]:
    return primary_rows(api.rows(str(root), options=SHOWN, raw=True))


def by_partition(
    result: Sequence[Mapping[str, Any]], edit: Callable[[bytes], bytes | None]
) -> dict[int, list[Record]]:
    """Return records of rows by partition, with edited values; None removes the row."""
    records: dict[int, list[Record]] = {}
    for row in result:
        record = bytes.fromhex(row["key_hex"]), edit(bytes.fromhex(row["value_hex"]))
        records.setdefault(row["partition_id"], []).append(record)
    return records


def with_timer(timer: int) -> Callable[[bytes], bytes]:
    """Return an edit of a value that sets its timer."""

    def edit(value: bytes) -> bytes:
        return value[: TIMER.start] + struct.pack("<q", timer) + value[TIMER.stop :]

    return edit


def removed(_value: bytes) -> None:
    """Remove a row."""


def copy(case: Path, folder: Path) -> Path:
    return Path(shutil.copytree(case, folder / "checkpoint"))


def without_timer(root: Path) -> list[dict[str, Any]]:
    return [row for row in rows(root) if row["value"]["timeoutTimestamp"] == -1]


def kinds(root: Path) -> set[str]:
    return set(finding_ids(api.audit(str(root))))


@pytest.mark.parametrize("empty_batches", [0, 2])
def test_timers_set_by_copy_are_due_in_next_batch(tmp_path: Path, empty_batches: int) -> None:
    """Of 80 leftovers none is proven any more; as the work of a query they could not be."""
    root = copy(KEPT, tmp_path)
    result = without_timer(root)
    assert (len(result), kinds(root) & {"SS118", "SS203"}) == (80, {"SS203"})
    append(root, by_partition(result, with_timer(1)))
    for _ in range(empty_batches):
        append(root, {})
    assert {"SS118", "SS203", "SS210"}.isdisjoint(kinds(root))
    assert list(api.leftovers(str(root)).primary.rows) == []
    assert "Batch 14 was appended by a tool" in " ".join(api.info(str(root)).notes)


def test_versions_of_query_are_judged_by_their_batch(tmp_path: Path) -> None:
    root = copy(KEPT, tmp_path)
    append(root, by_partition(without_timer(root), with_timer(1)), later_ms=10_000)
    assert "SS118" in kinds(root)


def test_rows_written_by_tool_prove_nothing_about_function(tmp_path: Path) -> None:
    """The records look like those of a function that answers timeouts by taking them away."""
    root = copy(KEPT, tmp_path)
    before = cell_values(leftovers(root), "key_hex")
    armed = [row for row in rows(root) if row["value"]["timeoutTimestamp"] != -1]
    assert armed
    append(root, by_partition(armed, with_timer(-1)))
    assert cell_values(leftovers(root), "key_hex") == before


def test_rows_removed_by_tool_leave_other_proofs(tmp_path: Path) -> None:
    root = copy(KEPT, tmp_path)
    result = without_timer(root)
    append(root, by_partition(result[:30], removed))
    assert len(list(api.leftovers(str(root)).primary.rows)) == 50
    verdict = api.audit(str(root)).verdict
    assert verdict is not None
    # What a tool took away is no sign that the query's state shrinks or stays.
    assert verdict.growth is None


def test_history_continues_through_snapshot_of_tool(tmp_path: Path) -> None:
    root = copy(KEPT, tmp_path)
    expected = cell_values(leftovers(root), "key_hex", "fired", "last_put_batch")
    append(root, by_partition(rows(root), bytes), snapshot=True)
    assert cell_values(leftovers(root), "key_hex", "fired", "last_put_batch") == expected
    assert not kinds(root) & {"SS101", "SS105"}


def leftovers(root: Path, options: Options = SHOWN) -> list[dict[str, Any]]:
    return primary_rows(api.leftovers(str(root), options))


def test_expired_row_put_by_tool_is_no_leftover_of_batch(tmp_path: Path) -> None:
    """Until a query has run a batch with it."""
    root = copy(DEDUP, tmp_path)
    by_rule = replace(SHOWN, operator_rules=("0=key.ts<=watermark",))
    assert leftovers(root, by_rule) == []
    checkpoint = api.info(str(root))
    assert checkpoint.findings == ()
    old = old_row(root)
    append(root, old)
    assert (leftovers(root, by_rule), kinds(root) & {"SS118", "SS202"}) == ([], set())
    append(root, {}, later_ms=10_000)
    assert len(leftovers(root, by_rule)) == 1


def old_row(root: Path) -> dict[int, list[Record]]:
    """A row of 1970."""
    row = rows(root)[0]
    key = bytearray.fromhex(row["key_hex"])
    names = list(row["key"])
    at = 8 * (1 + names.index("ts"))
    key[at : at + 8] = struct.pack("<q", 1_000_000)
    return {row["partition_id"]: [(bytes(key), bytes.fromhex(row["value_hex"]))]}
