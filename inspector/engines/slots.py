"""Keys that Spark's own hashing puts into one partition each.

``repartition(n, key)`` puts a row where the hash of its key says, so that of n keys chosen freely
some would share a partition and a third of the partitions had none. These keys are chosen by the
same hash: the n-th goes to partition n. Should a Spark hash otherwise, tasks only share partitions.
"""

from __future__ import annotations

from itertools import count

_MASK = 0xFFFFFFFF
_SEED = 42


def keys_of_slots(slots: int) -> list[int]:
    """For each of so many partitions, in order, an ``int`` that Spark puts into it."""
    found: dict[int, int] = {}
    for key in count():
        found.setdefault(slot_of(key, slots), key)
        if len(found) == slots:
            break
    return [found[slot] for slot in range(slots)]


def slot_of(key: int, slots: int) -> int:
    """``pmod(hash(key), slots)`` of an ``int``: Murmur3 with seed 42 (``HashPartitioning``)."""
    mixed = (_rotated(key * 0xCC9E2D51 & _MASK, 15) * 0x1B873593) & _MASK
    hashed = (_rotated(_SEED ^ mixed, 13) * 5 + 0xE6546B64) & _MASK
    hashed ^= 4  # bytes of an int
    hashed = ((hashed ^ hashed >> 16) * 0x85EBCA6B) & _MASK
    hashed = ((hashed ^ hashed >> 13) * 0xC2B2AE35) & _MASK
    hashed ^= hashed >> 16
    return (hashed - (1 << 32) if hashed >> 31 else hashed) % slots


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & _MASK
