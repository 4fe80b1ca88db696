"""Every finding that can be reported, as data: how much it matters, and what it explains.

Its title, what to do about it and where to look in Spark are those of the documentation's page of
findings, beside what it means, how it is proven, from when on it is reported and by which source
of Spark; ``inspector explain SS203`` prints an entry of it.
"""

from __future__ import annotations

from functools import cache, partial
from pkgutil import get_data
from typing import Any

from inspector.findings.finding import Concerns, Kind, Severity
from inspector.findings.rule import rules
from inspector.model import Certainty
from inspector.operators.inferences import INFERENCES

_PAGE = get_data("inspector", "docs/reference/findings.md") or b""
# Git on Windows may have ended its lines by CR LF.
_TEXT = _PAGE.decode().replace("\r\n", "\n")
_ENTRIES = dict(entry.split(" · ", 1) for entry in _TEXT.split("\n### ")[1:])
"""The entries of the page by id, each from its title on."""
_INFO, _WARNING, _ERROR = Severity


def _kind(id_: str, severity: Severity, cause: str = "", **more: Any) -> Kind:
    title, _, text = _ENTRIES[id_].partition("\n")
    to_do = text.partition("**What to do.** ")[2].partition(".\n")[0]
    spark = text.partition("In Spark: look for `")[2].partition("`")[0]
    return Kind(id_, severity, title, spark, to_do[0].lower() + to_do[1:], cause, **more)


_of_files = partial(_kind, command="verify")
_of_inference = partial(_kind, certainties=(Certainty.INFERRED,))
_of_proof_or_inference = partial(_kind, certainties=(Certainty.PROVEN, Certainty.INFERRED))


def _severity(inference: str) -> Severity:
    """A warning, if the inference is right often enough to be one."""
    return Severity.WARNING if INFERENCES[inference].warns else Severity.INFO


LATE_ROWS = _severity("late-rows")
"""Of findings that say which rows are dropped as late."""
NEVER_EXPIRES = _of_proof_or_inference("SS201", _WARNING, explains=("SS204",), in_store=True)
PAST_WATERMARK = _of_proof_or_inference("SS202", _WARNING, command="leftovers")
TIMEOUT_KEPT = _of_proof_or_inference(
    "SS203", _ERROR, command="leftovers", explains=("SS204", "SS210"), in_store=True
)
NO_REMOVES = _of_inference("SS204", _WARNING)
JOIN_SIDE = _of_inference("SS205", _severity("join-side"))
NO_WATERMARK = _kind(
    "SS207",
    _WARNING,
    certainties=(Certainty.PROVEN, Certainty.UNDECIDED),
    concerns=Concerns.BY_WATERMARK,
    explains=("SS202", "SS204", "SS205", "SS209"),
)
WATERMARK_AHEAD = _kind("SS211", _WARNING, explains=("SS202", "SS206", "SS218"), hides=("SS206",))
EXPIRED_TTL = _kind("SS212", _WARNING, command="leftovers")
DUE_TIMER = _of_proof_or_inference("SS213", _WARNING, command="leftovers")
TIMER_WITHOUT_STATE = _kind("SS214", _INFO, command="rows")
UNDECLARED = _kind("SS215", _WARNING, command="info")
GROWING_ENTRIES = _of_inference(
    "SS216", _WARNING, command="top", explains=("SS201", "SS204", "SS210"), in_store=True
)
UNFED = _of_proof_or_inference("SS220", _INFO)
TIMERS_GATHER = _of_inference("SS219", _INFO)
SHORT_TTL = _of_inference("SS221", _INFO)
JOIN_COUNTERS = _of_files("SS208", _WARNING)
JOIN_COPY = _of_inference("SS209", _severity("join-copy"))
NO_MATCH = _of_inference(
    "SS222",
    _INFO,
    "No row of the join has ever found a match: the keys of its two sides are never equal "
    "(spelling, type, unit), or the time range excludes those that are.",
    command="rows",
)
NEARLY_EQUAL = _of_inference(
    "SS223", _INFO, command="rows", explains=("SS217", "SS218"), in_store=True
)
OPEN_SESSIONS = _of_inference("SS224", _INFO)
WATERMARK_OF_CLOCK = _of_inference("SS225", _INFO, explains=("SS217", "SS218"))
UNDECIDED = _kind("SS210", _INFO, certainties=(Certainty.UNDECIDED,), command="leftovers")

_DECLARED = tuple(kind for kind in list(vars().values()) if isinstance(kind, Kind))


@cache
def all_kinds() -> tuple[Kind, ...]:
    """Return every finding that is made, by id; imports all rules. Ids never change meaning."""
    moved = (rule.kind for rule in rules())
    return tuple(sorted((*_DECLARED, *moved), key=lambda kind: kind.id))
