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


RESTORE_MISSING = "restore what is missing from a backup"

MISSING_DELTA = _of_files(
    "SS101",
    _ERROR,
    "A delta file is missing, so no state version from it on can be loaded until the next "
    "snapshot.",
    explains=("SS105",),
)
UNDECODABLE_FILE = _of_files(
    "SS102", _ERROR, "A state, log or metadata file cannot be read.", explains=("SS105",)
)
REPLAY_DEPTH = _kind("SS103", _WARNING, command="files")
SNAPSHOT_DIFFERS = _of_files(
    "SS104", _ERROR, "A snapshot holds other rows than the deltas up to its version make."
)
NOT_RESTORABLE = _of_files(
    "SS105",
    _ERROR,
    "The newest committed state version cannot be restored in every partition, so the query "
    "cannot restart from this checkpoint.",
    explains=("SS104", "SS106", "SS110"),
)
BAD_ROW = _of_files("SS106", _ERROR, "Rows in the state do not fit the schema of their store.")
WRONG_PARTITION = _of_files(
    "SS107", _ERROR, "Keys are in a partition where Spark does not look for them."
)
CHANGED_DURING_SCAN = _kind(
    "SS108",
    _WARNING,
    "The query removed old files while they were being read, so that part of this report is "
    "missing.",
    command="files",
)
PARTITION_COUNT = _of_files(
    "SS109", _ERROR, "The operators or partitions in state/ are not those that the query has."
)
BAD_CHECKSUM = _of_files(
    "SS110", _WARNING, "A checksum file does not match the state file beside it."
)
LOG_CONTRADICTION = _of_files(
    "SS111", _ERROR, "Entries of the offset and commit logs are missing or contradict each other."
)
CHANGED_FILE = _of_files(
    "SS112", _ERROR, "A log, metadata or schema file was changed after Spark wrote it."
)
ABSENT_REMOVALS = _of_files(
    "SS113",
    _ERROR,
    "State files are not of one chain: a delta removes keys that were never there.",
    concerns=Concerns.RECORDS,
)
FOREIGN_FOLDER = _of_files(
    "SS114", _INFO, "A folder in the state belongs to no store of the query, and Spark ignores it."
)
ACCESS_DENIED = _of_files(
    "SS116",
    _WARNING,
    "The storage denies access to a part of the checkpoint, which is missing from this report.",
)
STORAGE_SILENT = _of_files(
    "SS117",
    _WARNING,
    "The storage did not return a part of the checkpoint, which is missing from this report.",
)
FOREIGN_RECORDS = _of_files(
    "SS118", _ERROR, "State files are not of the batches whose numbers they have."
)
UNFINISHED_REPARTITION = _kind(
    "SS119",
    _ERROR,
    "A repartitioning of the checkpoint has not finished, and the query cannot start.",
    command="info",
)
REFUSED_RESTART = _kind("SS120", _ERROR, command="info")
STRAY_VERSIONS = _kind(
    "SS121", _WARNING, "A state file is of a version that no batch has made.", command="files"
)
UNWRITTEN_BATCH = _kind("SS124", _WARNING, command="info")
SNAPSHOT_CONTRADICTED = _of_files(
    "SS126",
    _ERROR,
    "A snapshot of RocksDB and RocksDB's own files in it are not of one version.",
    explains=("SS104", "SS105"),
)
FOREIGN_SOURCE = _of_inference(
    "SS127",
    _WARNING,
    "The log of a file source names files that its query does not read.",
    command="info",
)
OFFSET_BACK = _kind("SS128", _WARNING)

_DECLARED = tuple(kind for kind in list(vars().values()) if isinstance(kind, Kind))


@cache
def all_kinds() -> tuple[Kind, ...]:
    """Return every finding that is made, by id; imports all rules. Ids never change meaning."""
    moved = (rule.kind for rule in rules())
    return tuple(sorted((*_DECLARED, *moved), key=lambda kind: kind.id))
