"""Object sizes of several JVMs, measured with JOL and class histograms."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import pytest

from inspector.estimates.heap import Layout, table_slots
from tests.attributes import attributes

GIB = 1 << 30
COMPRESSED = Layout.of()
CLASSES_ONLY = Layout.of(32 * GIB)
PLAIN = Layout.of(64 * GIB, jdk=11)


@pytest.mark.parametrize(
    ("attribute", "sizes"),
    [
        ("unsafe_row", (40, 40, 48)),
        ("node", (32, 40, 48)),
        ("wrapper_bytes", (16, 24, 24)),
        ("concurrent_map", (64, 96, 104)),
        ("map_wrapper", (24, 32, 32)),
        ("hash_set", (32, 40, 40)),
        ("hash_set_node", (24, 32, 40)),
    ],
)
def test_object_sizes_match_jol(attribute: str, sizes: tuple[int, ...]) -> None:
    assert tuple(map(attrgetter(attribute), (COMPRESSED, CLASSES_ONLY, PLAIN))) == sizes


@pytest.mark.parametrize("n_bytes", [0, 8, 16, 1000])
def test_byte_array_size_is_header_and_bytes(n_bytes: int) -> None:
    assert COMPRESSED.arrays(1, n_bytes) == CLASSES_ONLY.arrays(1, n_bytes) == 16 + n_bytes
    assert PLAIN.arrays(1, n_bytes) == 24 + n_bytes


@pytest.mark.parametrize("layout", [COMPRESSED, CLASSES_ONLY, PLAIN])
def test_size_of_several_arrays_is_their_sum(layout: Layout) -> None:
    single = [layout.arrays(1, 0), layout.arrays(1, 8), layout.arrays(1, 24)]
    assert layout.arrays(3, 0 + 8 + 24) == sum(single)


def test_hash_table_is_an_array_of_references() -> None:
    assert (COMPRESSED.table(16), COMPRESSED.table(1), COMPRESSED.table(0)) == (80, 24, 0)
    assert (CLASSES_ONLY.table(16), PLAIN.table(16)) == (144, 152)


@pytest.mark.parametrize(
    ("arguments", "reference", "array_header"),
    [
        ({}, 4, 16),
        ({"heap_bytes": 32 * GIB - 1, "jdk": 8}, 4, 16),
        ({"heap_bytes": 32 * GIB, "jdk": 15}, 8, 16),
        ({"heap_bytes": 32 * GIB, "jdk": 14}, 8, 24),
    ],
)
def test_pointer_compression_by_heap_size_and_jdk(
    arguments: dict[str, Any], reference: int, array_header: int
) -> None:
    layout = Layout.of(**arguments)
    assert (layout.reference, layout.array_header) == (reference, array_header)


@pytest.mark.parametrize(
    ("spark", "row_checksum", "wrappers", "map_wrapper"),
    [
        ("2.4.8", False, (0, 0, 0), 0),
        ("3.1.3", False, (0, 0, 0), 0),
        ("3.2.0", False, (0, 0, 0), 24),
        ("4.1.4", True, (0, 0, 0), 24),
        ("4.2.1", False, (16, 24, 24), 24),
        ("4.3.0-SNAPSHOT", True, (24, 24, 32), 24),
        ("10.0", False, (16, 24, 24), 24),
    ],
)
def test_wrapper_sizes_by_spark_version(
    spark: str, row_checksum: bool, wrappers: tuple[int, ...], map_wrapper: int
) -> None:
    jvms: list[dict[str, int]] = [{}, {"heap_bytes": 32 * GIB}, {"heap_bytes": 32 * GIB, "jdk": 8}]
    layouts = [Layout.of(**jvm, spark=spark, row_checksum=row_checksum) for jvm in jvms]
    assert tuple(attributes(layouts, "wrapper_bytes")) == wrappers
    assert layouts[0].map_wrapper == map_wrapper


@pytest.mark.parametrize("spark", ["", "4", "4.x", "spark"])
def test_malformed_spark_version_is_refused(spark: str) -> None:
    with pytest.raises(ValueError, match="expected one such as"):
        Layout.of(spark=spark)


@pytest.mark.parametrize(
    ("rows", "slots"),
    [(0, 0), (1, 16), (11, 16), (12, 32), (767, 1024), (768, 2048), (100_000, 262_144)],
)
def test_puts_double_the_hash_table_at_three_quarters(rows: int, slots: int) -> None:
    assert table_slots(rows, built_by_put=True) == slots


@pytest.mark.parametrize(
    ("rows", "slots"),
    [
        (0, 1),
        (1, 2),
        (2, 8),
        (10, 32),
        (1000, 4096),
        (100_000, 524_288),
        (200_000, 1_048_576),
        (1_000_000, 4_194_304),
    ],
)
def test_put_all_makes_a_larger_hash_table(rows: int, slots: int) -> None:
    assert table_slots(rows, built_by_put=False) == slots


@pytest.mark.parametrize(("peak", "slots"), [(0, 4096), (3071, 4096), (3072, 8192)])
def test_batch_with_many_puts_grows_the_copied_table(peak: int, slots: int) -> None:
    assert table_slots(1000, built_by_put=False, peak=peak) == slots


def test_emptied_map_keeps_its_hash_table() -> None:
    assert table_slots(0, built_by_put=True, peak=12) == 32


@pytest.mark.parametrize(("size", "slots"), [(1, 16), (11, 16), (12, 32), (23, 32), (24, 64)])
def test_scala_set_grows_before_three_quarters_full(size: int, slots: int) -> None:
    assert table_slots(size, built_by_put=True) == slots
