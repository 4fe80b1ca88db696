"""``inspector memory``: its report from the API and its printed output."""

from __future__ import annotations

import re
from typing import Any

import pytest

from inspector import api
from inspector.analyses.shared.store_heaps import spark_of
from inspector.exceptions import CheckpointError
from inspector.render.report import Report
from tests.attributes import attributes
from tests.cli.support import checkpoint_of, run
from tests.fixture_folder import FIXTURES
from tests.reports import cell_values, row_where, rows_of_table


def memory(case: str, **options: Any) -> Report:
    """Return the memory report of a fixture of Spark 4.3."""
    return api.memory(str(FIXTURES / "4.3.0" / case / "checkpoint"), None, **options)


def test_exact_rungs_equal_the_bytes_recorded_by_spark() -> None:
    """Spark recorded keys of 5600 bytes and values of 8000 bytes in version 10."""
    ladder = rows_of_table(memory("agg_v1"), "ladder")
    assert cell_values(ladder, "rung", "bytes", "counted") == [
        ("delta files", 16_114, "exact"),
        ("snapshot files", 0, "exact"),
        ("raw bytes", 87_312, "exact"),
        ("keys", 5600, "exact"),
        ("values", 8000, "exact"),
        ("rows", 13_600, "exact"),
        ("heap of 1 version", 33_904, "estimate"),
        ("heap of 2 versions", 68_960, "estimate"),
        ("heap of 2 versions without sharing", 95_360, "estimate"),
        ("peak heap in a batch", 93_488, "estimate"),
    ]


@pytest.mark.parametrize(("retained", "heap_bytes"), [(1, 33_904), (2, 68_960), (5, 124_736)])
def test_retained_versions_change_the_heap(retained: int, heap_bytes: int) -> None:
    assert memory("agg_v1", retain=retained).summary["heap_estimate_bytes"] == heap_bytes


def test_memory_report_without_options() -> None:
    report = memory("agg_v1")
    summary = report.summary
    assert summary["partitions"] == 2
    assert summary["heap_estimate_bytes"] == 68_960
    assert summary["largest_partition_estimate_bytes"] == 34_968
    assert summary["heap_peak_estimate_bytes"] == 93_488
    assert summary["largest_partition_peak_estimate_bytes"] == 47_408
    assert "fits_at_worst" not in summary
    result = " ".join(report.footnotes)
    assert "2 versions of the state take about 67.3 KiB of heap, all executors together" in result
    assert "About 1 executor of 8.0 GiB with 4 cores would hold all of it." in result
    shapes = rows_of_table(report, "shapes")
    assert cell_values(shapes, "executor_heap_bytes", "executors", "executor_bytes") == [
        (2 << 30, 1, 81_400),
        (4 << 30, 1, 93_488),
        (8 << 30, 1, 93_488),
        (16 << 30, 1, 93_488),
        # From 32 GiB on the JVM makes larger objects.
        (32 << 30, 1, 115_824),
        (64 << 30, 1, 115_824),
    ]


def test_heap_option_computes_the_number_of_executors() -> None:
    """A room of 47 KiB beside Spark's reserve holds one of two partitions of 46.3 KiB at work."""
    heap = (300 << 20) + (47 << 10) * 100 // 40
    report = memory("agg_v1", heap=heap)
    (row,) = rows_of_table(report, "shapes")
    assert row["executor_heap_bytes"] == heap
    assert row["executors"] == report.summary["executors_needed"] == 2
    assert row["executor_bytes"] <= row["room_bytes"]
    assert (report.summary["fits_if_even"], report.summary["fits_at_worst"]) == (True, True)
    assert "About 2 executors of 300.1 MiB with 1 core would hold it." in report.footnotes
    nothing = memory("agg_v1", heap=300 << 20)
    assert cell_values(rows_of_table(nothing, "shapes"), "executors") == [None]
    assert nothing.summary["fits_at_worst"] is False
    assert "executors_needed" not in nothing.summary
    assert "No number of executors of 300.0 MiB would hold it" in nothing.footnotes[1]


def test_executors_are_compared_with_their_heap() -> None:
    fits = memory("agg_v1", executors=2, heap=1 << 30)
    assert fits.summary["fits_if_even"] is fits.summary["fits_at_worst"] is True
    assert fits.footnotes[1].endswith(": that fits into a heap of 1.0 GiB.")
    even, worst = rows_of_table(fits, "executors")
    assert even["bytes"] <= worst["bytes"]
    assert even["fits"] is worst["fits"] is True
    assert even["share_of_heap"] == even["bytes"] / (1 << 30)
    small = memory("agg_v1", executors=1, heap=1 << 10)
    assert small.summary["fits_if_even"] is small.summary["fits_at_worst"] is False
    assert small.footnotes[1].endswith(
        "that does not fit into a heap of 1.0 KiB, however it is spread."
    )
    assert "shapes" not in attributes(small.tables, "name")


def test_executors_option_computes_the_needed_heap() -> None:
    report = memory("agg_v1", executors=1)
    needed = report.summary["heap_needed_estimate_bytes"]
    even, worst = rows_of_table(report, "executors")
    assert worst["heap_needed_bytes"] == needed
    assert even["fits"] is even["share_of_heap"] is None
    assert memory("agg_v1", executors=1, heap=needed).summary["fits_at_worst"] is True
    assert memory("agg_v1", executors=1, heap=needed - 8).summary["fits_at_worst"] is False


def test_state_percent_option_limits_the_room_for_state() -> None:
    usual, middle = memory("agg_v1", heap=8 << 30), memory("agg_v1", heap=8 << 30, state_percent=50)
    assert cell_values(rows_of_table(middle, "shapes"), "room_bytes") == [4 << 30]
    expected = ((8 << 30) - (300 << 20)) * 40 // 100
    assert cell_values(rows_of_table(usual, "shapes"), "room_bytes") == [expected]
    assert "at most 50 %" in middle.footnotes[2]


def test_what_ifs_have_saved_bytes() -> None:
    changes = rows_of_table(memory("agg_v1"), "what_ifs")
    assert cell_values(changes, "change", "heap_bytes", "saved_bytes") == [
        ("1 version retained", 33_904, 35_056),
        ("state format 2", 59_376, 9584),
        ("keys 8 bytes shorter", 67_360, 1600),
        ("RocksDB state store", 0, 68_960),
    ]
    assert "136.0 MiB for each of 2 stores, 272.0 MiB in all" in changes[3]["how"]
    format_2 = rows_of_table(memory("agg_update"), "what_ifs")
    assert "state format 2" not in cell_values(format_2, "change")


@pytest.mark.parametrize(
    ("case", "change", "saved_bytes", "how"),
    [
        (
            "fmgws_event_ignore",
            "68 leftover rows removed",
            19_584,
            "inspector leftovers lists them",
        ),
        (
            "trouble_complete_mode",
            "85 leftover rows removed",
            23_160,
            "inspector leftovers lists them; that they are leftovers is inferred",
        ),
    ],
)
def test_what_if_of_removed_leftovers(case: str, change: str, saved_bytes: int, how: str) -> None:
    row = row_where(rows_of_table(memory(case), "what_ifs"), change=change)
    assert (row["saved_bytes"], row["how"]) == (saved_bytes, how)
    classes = rows_of_table(api.leftovers(str(checkpoint_of(case))), "classes")
    assert cell_values(classes, "heap_bytes") == [saved_bytes]


HEAP = ("unsafe_rows", "byte_arrays", "wrappers", "nodes", "tables", "maps", "prefixes", "total")


@pytest.mark.parametrize(
    ("case", "spark", "heap"),
    [
        ("session_window", "4.3.0", (15_960, 23_408, 2128, 15_104, 6272, 640, 32_096, 95_608)),
        ("agg_update", "4.3.0", (16_000, 24_000, 3200, 9600, 6208, 352, 0, 59_360)),
        ("agg_update", "3.5.9", (16_000, 24_000, 0, 9600, 6208, 352, 0, 56_160)),
    ],
)
def test_heap_by_kind_of_object(case: str, spark: str, heap: tuple[int, ...]) -> None:
    """Only a session window has prefixes, and Spark 3.5 wraps no values."""
    assert cell_values(rows_of_table(memory(case, spark=spark), "heap"), *HEAP) == [heap]


def test_heap_of_32_gib_has_larger_objects() -> None:
    small, large = memory("agg_update", heap=31 << 30), memory("agg_update", heap=33 << 30)
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
    of_one = run("memory", checkpoint_of("agg_update"), "--executors", "1").out
    assert not re.search("1 versions|1 executors|say --heap|a row more|unshared", out + of_one)
