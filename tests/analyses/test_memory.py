"""``memory``, on what Spark wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inspector import api
from inspector.analyses.shared.heap import spark_of
from inspector.render.report import Report
from scripts.compare_with_spark import truth

FIXTURES = Path(__file__).parents[2] / "fixtures"


def memory(case: str, **options: Any) -> Report:
    """The report on a fixture of Spark 4.3."""
    return api.memory(str(FIXTURES / "4.3.0" / case / "checkpoint"), None, **options)


def table(report: Report, name: str) -> list[dict[str, Any]]:
    """A table's rows by its name."""
    return [dict(row) for each in report.tables if each.name == name for row in each.rows]


def rungs(report: Report) -> dict[str, int]:
    """Rung -> bytes."""
    return {row["rung"]: row["bytes"] for row in table(report, "ladder")}


def test_the_exact_rungs_are_sums_of_sparks_own_bytes() -> None:
    case = FIXTURES / "4.3.0" / "agg_v1"
    ladder = rungs(memory("agg_v1"))
    recorded = truth(case)
    newest = recorded[max(recorded)]
    assert ladder["keys"] == sum(len(row["kx"]) // 2 for row in newest)
    assert ladder["values"] == sum(len(row["vx"]) // 2 for row in newest)
    deltas = (case / "checkpoint" / "state").rglob("*.delta")
    assert ladder["delta files"] == sum(file.stat().st_size for file in deltas)


def test_every_rung_says_whether_it_is_exact() -> None:
    counted = {row["rung"]: row["counted"] for row in table(memory("agg_v1"), "ladder")}
    assert {rung for rung, how in counted.items() if how == "estimate"} == {
        rung for rung in counted if rung.startswith(("heap", "peak"))
    }


def test_more_versions_take_more_and_sharing_takes_less() -> None:
    one, two, five = (memory("agg_v1", retain=n) for n in (1, 2, 5))
    heaps = [report.summary["heap_estimate_bytes"] for report in (one, two, five)]
    assert heaps == sorted(set(heaps))
    ladder = rungs(two)
    assert ladder["heap of 1 version"] == heaps[0]
    assert ladder["rows"] < ladder["heap of 2 versions"] < ladder["heap of 2 versions unshared"]


def test_executors_are_held_against_their_heap() -> None:
    fits = memory("agg_v1", executors=2, heap=1 << 30)
    assert str(fits.summary["verdict"]).startswith("state fits into 1.0 GiB;")
    even, worst = table(fits, "executors")
    assert even["bytes"] <= worst["bytes"]
    small = memory("agg_v1", executors=1, heap=1 << 10)
    assert small.summary["verdict"] == "state does not fit into 1.0 KiB, however it is spread"
    open_question = memory("agg_v1", executors=1)
    assert "--heap" in str(open_question.summary["verdict"])
    assert "verdict" not in memory("agg_v1").summary


def test_what_ifs_say_what_they_save() -> None:
    report = memory("agg_v1")
    heap = report.summary["heap_estimate_bytes"]
    changes = {row["change"]: row for row in table(report, "what_ifs")}
    assert set(changes) == {
        "1 versions retained",
        "100 versions retained",
        "keys 8 bytes shorter",
        "state format 2",
    }
    for row in changes.values():
        assert row["heap_bytes"] + row["saved_bytes"] == heap
    # 100 rows in both versions: a key object each, and as many values that repeat the key.
    assert changes["keys 8 bytes shorter"]["saved_bytes"] > 0
    assert "state format 2" not in {
        row["change"] for row in table(memory("agg_update"), "what_ifs")
    }


def test_a_session_window_has_prefixes() -> None:
    (row,) = table(memory("session_window"), "heap")
    assert row["prefixes"] > 0
    (row,) = table(memory("agg_update"), "heap")
    assert row["prefixes"] == 0
    parts = ("unsafe_rows", "byte_arrays", "wrappers", "nodes", "tables", "maps", "prefixes")
    assert row["total"] == sum(row[part] for part in parts)


def test_larger_heaps_have_larger_objects() -> None:
    small, large = (memory("agg_update", heap=gib << 30) for gib in (31, 33))
    assert small.summary["heap_estimate_bytes"] < large.summary["heap_estimate_bytes"]


@pytest.mark.parametrize(
    ("release", "told"),
    [("4.3.0", "4.2.0"), ("4.1.4", "4.0.0"), ("3.5.9", "3.2.0"), ("3.0.3", "3.0.0")],
)
def test_spark_is_told_from_what_it_records(release: str, told: str) -> None:
    from inspector.discovery.checkpoint import open_checkpoint

    checkpoint = open_checkpoint(str(FIXTURES / release / "agg_update" / "checkpoint"))
    assert spark_of(checkpoint, checkpoint.newest_version) == told


def test_without_wrappers_values_are_smaller() -> None:
    old, new = (memory("agg_update", spark=spark) for spark in ("3.5.9", "4.3.0"))
    (before,), (after,) = table(old, "heap"), table(new, "heap")
    assert (before["wrappers"], after["wrappers"] % 16) == (0, 0)
    assert after["wrappers"] > 0
