"""``inspector memory``: its report through the API, and what the command line prints."""

from __future__ import annotations

from typing import Any

import pytest
from compare_with_spark import truth

from inspector import api
from inspector.analyses.shared.store_heaps import spark_of
from inspector.exceptions import CheckpointError
from inspector.render.report import Report
from tests.cli.support import checkpoint_of, run
from tests.fixture_folder import FIXTURES


def memory(case: str, **options: Any) -> Report:
    """The report on a fixture of Spark 4.3."""
    return api.memory(str(FIXTURES / "4.3.0" / case / "checkpoint"), None, **options)


def table(report: Report, name: str) -> list[dict[str, Any]]:
    """A table's rows by its name."""
    return [dict(row) for item in report.tables if item.name == name for row in item.rows]


def rungs(report: Report) -> dict[str, int]:
    """Rung -> bytes."""
    return {row["rung"]: row["bytes"] for row in table(report, "ladder")}


def test_exact_rungs_equal_the_bytes_recorded_by_spark() -> None:
    case = FIXTURES / "4.3.0" / "agg_v1"
    ladder = rungs(memory("agg_v1"))
    recorded = truth(case)
    newest = recorded[max(recorded)]
    assert ladder["keys"] == sum(len(row["kx"]) // 2 for row in newest)
    assert ladder["values"] == sum(len(row["vx"]) // 2 for row in newest)
    deltas = (case / "checkpoint" / "state").rglob("*.delta")
    assert ladder["delta files"] == sum(file.stat().st_size for file in deltas)


def test_heap_and_peak_rungs_are_estimates() -> None:
    counted = {row["rung"]: row["counted"] for row in table(memory("agg_v1"), "ladder")}
    assert {rung for rung, how in counted.items() if how == "estimate"} == {
        rung for rung in counted if rung.startswith(("heap", "peak"))
    }


def test_retained_versions_and_sharing_change_the_heap() -> None:
    item, two, five = (memory("agg_v1", retain=n) for n in (1, 2, 5))
    heaps = [report.summary["heap_estimate_bytes"] for report in (item, two, five)]
    assert heaps == sorted(set(heaps))
    ladder = rungs(two)
    assert ladder["heap of 1 version"] == heaps[0]
    assert (
        ladder["rows"] < ladder["heap of 2 versions"] < ladder["heap of 2 versions without sharing"]
    )


def test_memory_report_without_options() -> None:
    report = memory("agg_v1")
    summary = report.summary
    assert summary["partitions"] == 2
    for usual, of_all in (
        ("largest_partition_estimate_bytes", "heap_estimate_bytes"),
        ("largest_partition_peak_estimate_bytes", "heap_peak_estimate_bytes"),
    ):
        assert summary[of_all] / 2 <= summary[usual] < summary[of_all]
    assert "fits_at_worst" not in summary
    result = " ".join(report.footnotes)
    assert "2 versions of the state take about 67.3 KiB of heap, all executors together" in result
    assert "About 1 executor of 8.0 GiB with 4 cores would hold all of it." in result
    shapes = table(report, "shapes")
    assert [row["executor_heap_bytes"] >> 30 for row in shapes] == [2, 4, 8, 16, 32, 64]
    assert {row["executors"] for row in shapes} == {1}
    # From 32 GiB on the JVM makes larger objects.
    assert shapes[-1]["executor_bytes"] > shapes[-3]["executor_bytes"]


def test_heap_option_computes_the_number_of_executors() -> None:
    # 35 KiB and what Spark keeps: room for one of two partitions of 34 KiB at work.
    room = 47 << 10
    heap = (300 << 20) + room * 100 // 40
    report = memory("agg_v1", heap=heap)
    (row,) = table(report, "shapes")
    assert row["executor_heap_bytes"] == heap
    assert row["executors"] == report.summary["executors_needed"] == 2
    assert row["executor_bytes"] <= row["room_bytes"]
    assert (report.summary["fits_if_even"], report.summary["fits_at_worst"]) == (True, True)
    assert "About 2 executors of 300.1 MiB with 1 core would hold it." in report.footnotes
    nothing = memory("agg_v1", heap=300 << 20)
    assert table(nothing, "shapes")[0]["executors"] is None
    assert nothing.summary["fits_at_worst"] is False
    assert "executors_needed" not in nothing.summary
    assert "No number of executors of 300.0 MiB would hold it" in nothing.footnotes[1]


def test_executors_are_compared_with_their_heap() -> None:
    fits = memory("agg_v1", executors=2, heap=1 << 30)
    assert fits.summary["fits_if_even"] is fits.summary["fits_at_worst"] is True
    assert fits.footnotes[1].endswith(": that fits into a heap of 1.0 GiB.")
    even, worst = table(fits, "executors")
    assert even["bytes"] <= worst["bytes"]
    assert even["fits"] is worst["fits"] is True
    assert even["share_of_heap"] == even["bytes"] / (1 << 30)
    small = memory("agg_v1", executors=1, heap=1 << 10)
    assert small.summary["fits_if_even"] is small.summary["fits_at_worst"] is False
    assert small.footnotes[1].endswith(
        "that does not fit into a heap of 1.0 KiB, however it is spread."
    )
    assert not table(small, "shapes")


def test_executors_option_computes_the_needed_heap() -> None:
    report = memory("agg_v1", executors=1)
    needed = report.summary["heap_needed_estimate_bytes"]
    even, worst = table(report, "executors")
    assert worst["heap_needed_bytes"] == needed
    assert even["fits"] is even["share_of_heap"] is None
    assert memory("agg_v1", executors=1, heap=needed).summary["fits_at_worst"] is True
    assert memory("agg_v1", executors=1, heap=needed - 8).summary["fits_at_worst"] is False


def test_state_percent_option_limits_the_room_for_state() -> None:
    usual, middle = memory("agg_v1", heap=8 << 30), memory("agg_v1", heap=8 << 30, state_percent=50)
    assert table(middle, "shapes")[0]["room_bytes"] == 4 << 30
    assert table(usual, "shapes")[0]["room_bytes"] == ((8 << 30) - (300 << 20)) * 40 // 100
    assert "at most 50 %" in middle.footnotes[2]


def test_what_ifs_have_saved_bytes() -> None:
    report = memory("agg_v1")
    heap = report.summary["heap_estimate_bytes"]
    changes = {row["change"]: row for row in table(report, "what_ifs")}
    assert set(changes) == {
        "1 version retained",
        "keys 8 bytes shorter",
        "state format 2",
        "RocksDB state store",
    }
    for row in changes.values():
        assert row["heap_bytes"] + row["saved_bytes"] == heap
    # 100 rows in both versions: a key object each, and as many values that repeat the key.
    assert changes["keys 8 bytes shorter"]["saved_bytes"] > 0
    assert changes["RocksDB state store"]["heap_bytes"] == 0
    assert (
        "136.0 MiB for each of 2 stores, 272.0 MiB in all" in changes["RocksDB state store"]["how"]
    )
    assert "state format 2" not in {
        row["change"] for row in table(memory("agg_update"), "what_ifs")
    }


@pytest.mark.parametrize(
    ("case", "rows", "how"),
    [
        ("fmgws_event_ignore", 68, "inspector leftovers lists them"),
        ("trouble_complete_mode", 85, "that they are leftovers is inferred"),
    ],
)
def test_what_if_of_removed_leftovers(case: str, rows: int, how: str) -> None:
    (row,) = (row for row in table(memory(case), "what_ifs") if "leftover" in str(row["change"]))
    assert row["change"] == f"{rows} leftover rows removed"
    assert row["how"].endswith(how)
    classes = api.leftovers(str(FIXTURES / "4.3.0" / case / "checkpoint")).tables
    (table_of,) = (element for element in classes if element.name == "classes")
    assert row["saved_bytes"] == sum(item["heap_bytes"] for item in table_of.rows)


def test_heap_of_a_session_window_has_prefixes() -> None:
    (row,) = table(memory("session_window"), "heap")
    assert row["prefixes"] > 0
    (row,) = table(memory("agg_update"), "heap")
    assert row["prefixes"] == 0
    parts = ("unsafe_rows", "byte_arrays", "wrappers", "nodes", "tables", "maps", "prefixes")
    assert row["total"] == sum(row[part] for part in parts)


def test_heap_of_32_gib_has_larger_objects() -> None:
    small, large = (memory("agg_update", heap=gib << 30) for gib in (31, 33))
    assert small.summary["heap_estimate_bytes"] < large.summary["heap_estimate_bytes"]


@pytest.mark.parametrize(
    ("release", "messages"),
    [
        ("4.3.0", "4.3.0"),
        ("4.2.1", "4.2.0"),
        ("4.1.4", "4.0.0"),
        ("3.5.9", "3.3.0"),
        ("3.1.3", "3.1.0"),
        ("3.0.3", "3.0.0"),
        ("2.4.8", "2.4.0"),
    ],
)
def test_spark_release_is_inferred_from_the_checkpoint(release: str, messages: str) -> None:
    from inspector.discovery.checkpoint import open_checkpoint

    checkpoint = open_checkpoint(str(FIXTURES / release / "agg_update" / "checkpoint"))
    assert spark_of(checkpoint, checkpoint.newest_version) == messages
    footnote = api.memory(checkpoint.root).footnotes[-1]
    assert f"Spark {messages[:3]} or later" in footnote


def test_spark_option_is_named_in_a_footnote() -> None:
    footnote = memory("agg_update", spark="3.5.9").footnotes[-1]
    assert "Spark 3.5.9, as given" in footnote
    with pytest.raises(CheckpointError, match="Spark version 'foo', expected one such as"):
        memory("agg_update", spark="foo")


def test_value_wrappers_exist_since_spark_4() -> None:
    old, new = (memory("agg_update", spark=spark) for spark in ("3.5.9", "4.3.0"))
    (before,), (after,) = table(old, "heap"), table(new, "heap")
    assert (before["wrappers"], after["wrappers"] % 16) == (0, 0)
    assert after["wrappers"] > 0


# --- command line --------------------------------------------------------------------------------


def test_memory_options_change_the_report() -> None:
    path = checkpoint_of("agg_update")
    usual = run("memory", path, "-o", "json").json
    json = run(
        "memory", path, "--retain", "5", "--executors", "2", "--heap", "1GiB", "-o", "json"
    ).json
    assert usual["summary"]["retained_versions"] == 2
    assert json["summary"]["retained_versions"] == 5
    assert json["summary"]["heap_estimate_bytes"] > usual["summary"]["heap_estimate_bytes"]
    assert len(json["tables"]["executors"]) == 2
    large = run("memory", path, "--heap", "40GiB", "--jdk", "11", "-o", "json").json
    assert large["summary"]["heap_estimate_bytes"] > usual["summary"]["heap_estimate_bytes"]


def test_invalid_heap_size_is_a_usage_error() -> None:
    assert run("memory", checkpoint_of("agg_update"), "--heap", "lots").code == 2


def test_invalid_spark_release_is_a_usage_error() -> None:
    outcome = run("memory", checkpoint_of("agg_update"), "--spark", "foo")
    assert outcome.code == 2
    assert "Spark version 'foo', expected one such as 4.3.0" in outcome.err


def test_state_percent_above_100_is_a_usage_error() -> None:
    path = checkpoint_of("agg_update")
    assert run("memory", path, "--heap", "8GiB", "--state-percent", "101").code == 2
    assert run("memory", path, "--heap", "8GiB", "--state-percent", "100").code == 0


def test_summary_rounds_estimates_to_units() -> None:
    out = run("memory", checkpoint_of("agg_update")).out
    assert "~58.0 KiB\n" in out
    assert "bytes)" not in out.split("size ladder")[0]
    for wrong in ("1 versions", "1 executors", "say --heap", "a row more", "unshared"):
        assert wrong not in out + run("memory", checkpoint_of("agg_update"), "--executors", "1").out
