"""The order in which a ``Set`` of Scala gives column names, as ``dropDuplicates`` has them.

Spark up to 4.2 makes the key of a deduplication of ``colNames.toSet.toSeq``
(``Dataset.groupColsFromDropDuplicates``, SPARK-57489). A set of up to four names keeps their order.
A larger one is a ``HashSet``, a trie over the mixed hash of each name, which branches by the five
lowest bits first. That of Scala 2.12 lists all branches by these bits; that of Scala 2.13 lists the
names that are alone in their branch before the branches with several. The orders differ only if
the hashes of two names begin alike [seen in 3.5.9, 4.0.5 and 4.3.0].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

_MASK = 0xFFFFFFFF  # bits of an unsigned 32-bit number
_BITS = 5  # of the hash by which a node of the trie branches
_LEAST = 5  # names of the smallest set that is a trie
_HASH_BITS = 32  # bits of a hash


def set_order(names: Sequence[str], *, scala_2_13: bool) -> list[str]:
    """Return distinct names in the order in which a ``Set`` of Scala 2.12 or 2.13 gives them."""
    distinct = list(dict.fromkeys(names))
    if len(distinct) < _LEAST:
        return distinct
    hashes = {name: _improve(_string_hash(name)) for name in distinct}
    if scala_2_13:
        return list(_champ_order(distinct, hashes, 0))
    return sorted(distinct, key=lambda name: list(_levels(hashes[name])))


def _string_hash(text: str) -> int:
    """Return ``String.hashCode`` as an unsigned number of 32 bits."""
    units, value = text.encode("utf-16-be"), 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & _MASK
    return value


def _improve(value: int) -> int:
    """Return ``Hashing.improve`` of Scala, which 2.12 and 2.13 share."""
    value = (value + (~(value << 9) & _MASK)) & _MASK
    value ^= value >> 14
    value = (value + (value << 4)) & _MASK
    return value ^ (value >> 10)


def _levels(value: int) -> Iterator[int]:
    """Yield the branch at each level of the trie on the way to a hash."""
    for shift in range(0, _HASH_BITS, _BITS):
        yield (value >> shift) & ((1 << _BITS) - 1)


def _champ_order(names: Iterable[str], hashes: dict[str, int], shift: int) -> Iterator[str]:
    """Yield the names of a node: those that are alone in their branch, then the other branches."""
    branches: dict[int, list[str]] = {}
    for name in names:
        branches.setdefault((hashes[name] >> shift) & ((1 << _BITS) - 1), []).append(name)
    ordered = [branches[branch] for branch in sorted(branches)]
    yield from (branch[0] for branch in ordered if len(branch) == 1)
    for branch in ordered:
        if len(branch) > 1:
            if shift >= _HASH_BITS:  # equal hashes: a collision node keeps the order
                yield from branch
            else:
                yield from _champ_order(branch, hashes, shift + _BITS)
