"""The file that a rehearsal adds to its checkpoint: ``_rehearsal.json``.

It has the distance behind the watermark from which each side of a join evicts rows, in
microseconds, by operator id. No state file shows it exactly, but Spark's plan of a batch does::

    StreamingSymmetricHashJoin ... opId = 0, ... 1704063603000, 1704063606000, state cleanup
    [ left value predicate: (ts#6-T3600000ms <= 1704060005999000), right ... ]

The second number is the watermark in milliseconds by which the batch evicts, and the predicate
compares event times in microseconds. Spark 3.5 to 4.3 print it so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from inspector.checkpoint.logfile import json_object
from inspector.checkpoint.storage import Storage
from inspector.exceptions import DecodeError

REHEARSAL = "_rehearsal.json"  # name of the file, at the root of the checkpoint
_MOST_BYTES = 1 << 16  # most bytes of the file that are read
# key of the file's only JSON field: operator id -> side of a join -> distance behind the watermark
# at which the side evicts rows, in microseconds
_JOINS = "join_evictions_us"
# operator id, watermark in ms and eviction predicates of a join in Spark's plan
_JOIN = re.compile(
    r"StreamingSymmetricHashJoin [^\n]{0,20000}?opId = (\d{1,9}),[^\n]{0,2000}?, "
    r"(\d{1,15}), state cleanup \[ ([^\n\]]{0,2000}) \]"
)
# side of a join, and the time in microseconds up to which it evicts
_PREDICATE = re.compile(
    r"\b(left|right) (?:key|value) predicate: \(?[^<>=,]*<= (-?\d{1,19})(?:L)?\)"
)

Evictions = Mapping[str, int]  # side of a join -> distance from which it evicts, in microseconds


def join_evictions(plan: str) -> dict[int, dict[str, int]]:
    """Return how far behind the watermark the sides of each join in a plan evict rows, in us.

    Operator id -> ``left``, ``right`` -> distance. A join with other text is left out.
    """
    found: dict[int, dict[str, int]] = {}
    for operator, watermark_ms, cleanup in _JOIN.findall(plan):
        sides = {
            side: int(watermark_ms) * 1000 - int(us) for side, us in _PREDICATE.findall(cleanup)
        }
        if len(sides) == cleanup.count("predicate:"):
            found[int(operator)] = sides
    return found


def record_text(joins: Mapping[int, Evictions]) -> str:
    """Return the JSON content of the file for these distances, by operator id."""
    return json.dumps({_JOINS: {str(number): dict(sides) for number, sides in joins.items()}})


def read_joins(storage: Storage) -> dict[int, dict[str, int]]:
    """Return the distances in a checkpoint's rehearsal record, by operator id and side, in us.

    Empty without a readable file.
    """
    try:
        text = storage.read(REHEARSAL, _MOST_BYTES).decode("utf-8", "replace")
        joins = json_object(text).get(_JOINS)
    except (DecodeError, OSError):
        return {}
    return _joins(joins) if isinstance(joins, dict) else {}


def _joins(joins: Mapping[object, object]) -> dict[int, dict[str, int]]:
    """Return the valid entries of the file's JSON field: operator id -> side -> distance in us."""
    found = {}
    for number, sides in joins.items():
        is_number = isinstance(number, str) and re.fullmatch(r"\d{1,9}", number)
        if is_number and isinstance(sides, dict):
            found[int(str(number))] = {
                str(side): us for side, us in sides.items() if isinstance(us, int)
            }
    return found
