"""Keys for partitions, one for each; tests/engines/test_hadoop.py asks Spark where they go."""

import pytest

from inspector.engines.slots import keys_of_slots, slot_of


@pytest.mark.parametrize("slots", [1, 2, 7, 200, 4096])
def test_every_partition_has_its_key(slots: int) -> None:
    keys = keys_of_slots(slots)
    assert [slot_of(key, slots) for key in keys] == list(range(slots))


def test_an_int_hashes_as_spark_s_sql_function_says() -> None:
    # SELECT hash(0), hash(1), hash(-1)
    assert [slot_of(key, 1 << 40) for key in (0, 1, -1)] == [
        hashed % (1 << 40) for hashed in (933211791, -559580957, -1604776387)
    ]
