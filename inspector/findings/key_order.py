"""Order in which a ``Set`` of Scala gives column names, for the keys of ``dropDuplicates``.

Spark up to 4.2 makes the key of a deduplication of ``colNames.toSet.toSeq``
(``Dataset.groupColsFromDropDuplicates``, SPARK-57489). A set of up to four names keeps their order.
A larger one is a ``HashSet``, a trie over the mixed hash of each name, which branches by the five
lowest bits first. That of Scala 2.12 lists all branches by these bits; that of Scala 2.13 lists the
names that are alone in their branch before the branches with several. The orders differ only if the
hashes of two names begin alike [seen in 3.5.9, 4.0.5 and 4.3.0].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

_MASK = 0xFFFFFFFF  # mask that cuts a number to 32 unsigned bits
_BITS = 5  # number of bits of the hash by which a node of the trie branches
_LEAST = 5  # number of names from which a Set of Scala is a trie of hashes
_HASH_BITS = 32  # number of bits of a hash


def set_order(names: Sequence[str], *, scala_2_13: bool) -> list[str]:
    """Return the distinct names in the order in which a ``Set`` of Scala gives them.

    The set is that of Scala 2.13 if ``scala_2_13`` is True, and that of Scala 2.12 otherwise. Fewer
    than five names keep their order.
    """
    distinct = list(dict.fromkeys(names))
    if len(distinct) < _LEAST:
        return distinct
    hashes = {name: _improve(_string_hash(name)) for name in distinct}
    if scala_2_13:
        return list(_champ_order(distinct, hashes, 0))
    return sorted(distinct, key=lambda name: list(_levels(hashes[name])))


def _string_hash(text: str) -> int:
    """Return Java's ``String.hashCode`` of a text as an unsigned number of 32 bits."""
    units, value = text.encode("utf-16-be"), 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & _MASK
    return value


def _improve(value: int) -> int:
    """Return a hash mixed by ``Hashing.improve`` of Scala 2.12 and 2.13, as 32 unsigned bits."""
    value = (value + (~(value << 9) & _MASK)) & _MASK
    value ^= value >> 14
    value = (value + (value << 4)) & _MASK
    return value ^ (value >> 10)


def _levels(value: int) -> Iterator[int]:
    """Yield the number of the branch, 0 to 31, at each level of the trie on the way to a hash.

    The lowest five bits of ``value`` are the first branch.
    """
    for shift in range(0, _HASH_BITS, _BITS):
        yield (value >> shift) & ((1 << _BITS) - 1)


def _champ_order(names: Iterable[str], hashes: dict[str, int], shift: int) -> Iterator[str]:
    """Yield the names of a node of the trie in the order of Scala 2.13.

    Names that are alone in their branch come first, by branch; then the names of the other
    branches. ``hashes`` are the mixed hashes by name. ``shift`` is the number of hash bits that the
    node's ancestors used.
    """
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
