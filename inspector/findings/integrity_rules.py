"""Findings about files, SS1xx."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from inspector.checkpoint import logfile
from inspector.checkpoint.log_checks import LOST_ENTRY
from inspector.discovery.listing import STRAY, complete_copy
from inspector.discovery.lost_files import EXCHANGED
from inspector.discovery.restart import Restart
from inspector.discovery.restart_conditions import JOIN_NULLS, SCHEMA_PATHS
from inspector.exceptions import (
    REFUSES,
    NoSchemaError,
    RefusedSnapshotError,
    TailError,
    TruncatedError,
)
from inspector.facts.join_rows import min_size
from inspector.facts.misplaced import MisplacedKeys
from inspector.findings import catalogue
from inspector.findings.finding import Finding, Kind, Severity
from inspector.findings.lifetime.ss208_join_counters import JoinCounters
from inspector.findings.thresholds import DEFAULTS, Thresholds
from inspector.model import COMPARED, LEFT, UNLISTED, Problem, StoreId, StoreName
from inspector.quantities import capitalise, count_text, duration_text
from inspector.sparktypes import StructType

KIND_OF_PROBLEM: dict[str, Kind] = {
    "missing-delta": catalogue.MISSING_DELTA,
    "missing-version": catalogue.NOT_RESTORABLE,
    "snapshot-differs": catalogue.SNAPSHOT_DIFFERS,
    "bad-row": catalogue.BAD_ROW,
    "missing-partition": catalogue.PARTITION_COUNT,
    "missing-operator": catalogue.PARTITION_COUNT,
    "extra-partition": catalogue.PARTITION_COUNT,
    "partition-counts": catalogue.PARTITION_COUNT,
    "foreign-folder": catalogue.FOREIGN_FOLDER,
    logfile.VANISHED_SLUG: catalogue.CHANGED_DURING_SCAN,
    logfile.MOVED_SLUG: catalogue.CHANGED_DURING_SCAN,
    logfile.OUTPACED_SLUG: catalogue.CHANGED_DURING_SCAN,
    logfile.DENIED_SLUG: catalogue.ACCESS_DENIED,
    logfile.STORAGE_SLUG: catalogue.STORAGE_SILENT,
    "file-checksum": catalogue.BAD_CHECKSUM,
    "log-contradiction": catalogue.LOG_CONTRADICTION,
    LOST_ENTRY: catalogue.LOG_CONTRADICTION,
    "sources-changed": catalogue.LOG_CONTRADICTION,
    "bad-checksum": catalogue.CHANGED_FILE,
    "absent-removals": catalogue.ABSENT_REMOVALS,
    "foreign-records": catalogue.FOREIGN_RECORDS,
    "unfinished-repartition": catalogue.UNFINISHED_REPARTITION,
    STRAY: catalogue.STRAY_VERSIONS,
    EXCHANGED: catalogue.WRONG_PARTITION,
    RefusedSnapshotError.slug: catalogue.SNAPSHOT_CONTRADICTED,
    UNLISTED: catalogue.SNAPSHOT_CONTRADICTED,
}


_FOREIGN_FILE = "got a file"  # first words of a problem that is a file, not a folder
PLACES_NAMED = 5  # partitions that a finding names

MOVED_CAUSE = (
    "The query went on while it was being read, and what moved was read again; nothing is missing."
)
MOVED_TO_DO = "nothing: the report is whole, and of one batch"

NO_FINDING = ("codec-mismatch", "uncommitted", COMPARED, LEFT, NoSchemaError.slug)
"""Slugs of what is only remarkable, or follows from another problem: a schema that is missing."""


_MOVE_BACK = (
    "start the query where the checkpoint was written, or make a checkpoint for this place with "
    "inspector copy, which rewrites the paths"
)
_REMEDIES = {SCHEMA_PATHS: _MOVE_BACK, JOIN_NULLS: JoinCounters.next_step}
"""What to do about obstacles to a restart, by the rule about them."""
_NOTHING_NEEDED = "nothing is needed to go on"
_FOR_A_ROLLBACK = (
    ", and Spark's cleanup removes the file in time; to roll back to a version that is lost "
    "restore it from a backup"
)
_GO_BACK = (
    "go back to batch {shown} in a copy (inspector copy PATH NEW --batch {batch} "
    "--sink-has-no-batch-ids), the newest as of which all is there. A sink that stores batch ids, "
    "such as the file sink or Delta, skips the batches after it, and the copy then does not restart"
)
_SPARED = (
    catalogue.MISSING_DELTA,
    catalogue.UNDECODABLE_FILE,
    catalogue.LOG_CONTRADICTION,
    catalogue.SNAPSHOT_CONTRADICTED,
)
"""Findings of files that a restart may do without."""
_STOPPING = (
    catalogue.MISSING_DELTA,
    catalogue.UNDECODABLE_FILE,
    catalogue.NOT_RESTORABLE,
    catalogue.SNAPSHOT_CONTRADICTED,
)
"""Findings that a copy as of an earlier batch can be free of."""
_SHORT = 80
_BY_PLACE = (
    catalogue.MISSING_DELTA,
    catalogue.UNDECODABLE_FILE,
    catalogue.PARTITION_COUNT,
    catalogue.LOG_CONTRADICTION,
    catalogue.STRAY_VERSIONS,
    catalogue.WRONG_PARTITION,
    catalogue.SNAPSHOT_CONTRADICTED,
)
"""Findings whose cause names the first place."""


def judge_problems(
    problems: Iterable[Problem],
    thresholds: Thresholds = DEFAULTS,
    restart: Restart | None = None,
    relative: Callable[[str], str] = str,
) -> Iterator[Finding]:
    """A finding for each kind of problem in each operator; a warning if a restart goes on."""
    # Causes have paths relative to the root, whose own path takes up their line.
    grouped: dict[tuple[Kind, int | None, Severity, bool], list[Problem]] = {}
    for problem in problems:
        if problem.slug in NO_FINDING:
            continue
        kind = KIND_OF_PROBLEM.get(problem.slug, catalogue.UNDECODABLE_FILE)
        operator = problem.store.operator_id if problem.store else None
        severity = Severity.INFO if problem.slug == logfile.MOVED_SLUG else kind.severity
        is_tail = problem.slug == TailError.slug
        if is_tail or (kind in _SPARED and restart and restart.loads_without(problem)):
            severity = Severity.WARNING
        grouped.setdefault((kind, operator, severity, is_tail), []).append(problem)
    for (kind, operator, severity, is_tail), of_kind in grouped.items():
        if not thresholds.reports(kind.id, len(of_kind)):
            continue
        first, further = of_kind[0], len({problem.cause for problem in of_kind}) - 1
        more = f" (and {further:,} more, see problems)" if further else ""
        path_text = f"{first.path}: " if first.path else ""
        path, harm = relative(first.path or ""), _harm(of_kind, restart)
        place = f"At {path} (and {further:,} more)" if further else f"At {path}"
        yield kind.of(
            f"{path_text}{first.message}{more}",
            operator,
            next_step=_NOTHING_NEEDED
            if is_tail
            else _to_do(kind, severity, path, first.message, restart),
            cause=_cause(kind, severity, first, place, harm),
            severity=severity,
        )


def _to_do(kind: Kind, severity: Severity, path: str, message: str, restart: Restart | None) -> str:
    if severity is not kind.severity:
        of_versions = path.startswith("state/") and "/_metadata/" not in path
        harmless = _NOTHING_NEEDED + (_FOR_A_ROLLBACK if of_versions else "")
        return MOVED_TO_DO if severity is Severity.INFO else harmless
    remedy = "" if restart is None else restart.remedy(path)
    if kind is catalogue.MISSING_DELTA and (copy := complete_copy(message)):
        return (
            f"rename {copy} to the name of the missing file while the query is stopped, and run "
            f"verify; or {kind.to_do}"
        )
    if remedy or restart is None or restart.back is None or kind not in _STOPPING:
        return remedy or kind.to_do
    restore = "" if kind is catalogue.NOT_RESTORABLE else f"{catalogue.UNDECODABLE_FILE.to_do}, or "
    return restore + _GO_BACK.format(shown=f"{restart.back:,}", batch=restart.back)


def _harm(problems: Sequence[Problem], restart: Restart | None) -> str:
    """What is lost with files that a restart does not need."""
    # Nothing with a snapshot, or a table of one, that lies within the chain that is loaded: its
    # deltas make the version, too. Of one before that chain an older snapshot may be there.
    within = []
    bases = {load.store: load.base for load in restart.loads} if restart else {}
    for problem in problems:
        version, path = problem.version or 0, problem.path or ""
        is_delta = restart is None or path.endswith(f"/{restart.names.delta.format(version)}")
        if problem.store is None:
            again = f", and runs batch {restart.batch} again" if restart and restart.again else ""
            return again if problem.slug == LOST_ENTRY else ""
        if is_delta or KIND_OF_PROBLEM.get(problem.slug) is catalogue.MISSING_DELTA:
            return ", and only earlier versions are lost"
        if version == 0:
            return ", and at most earlier versions are lost"
        within.append(bases.get(problem.store, version) < version)
    lost = "no version is lost" if all(within) else "at most earlier versions are lost"
    return f", and {lost}"


def _cause(kind: Kind, severity: Severity, first: Problem, place: str, harm: str) -> str:
    """What is the matter, with the place of the first that is: who reads it has to go there."""
    if severity is Severity.INFO and kind is catalogue.CHANGED_DURING_SCAN:
        return MOVED_CAUSE
    if kind is catalogue.FOREIGN_FOLDER and first.message.startswith(_FOREIGN_FILE):
        return "A file in the state has a name that no state store gives, and Spark ignores it."
    if first.path is None or kind not in _BY_PLACE:
        return kind.cause

    message = _short_message(first)
    if first.slug == TailError.slug:
        return f"{place}: {message}; Spark does not read so far, and no row is lost."
    if severity is Severity.WARNING and kind in _SPARED:
        return f"{place}: {message}; the query restarts without it{harm}."
    if kind is catalogue.MISSING_DELTA:
        return f"{place}: {message}, so no version that needs it can be loaded."
    return f"{place}: {message}."


def _short_message(first: Problem) -> str:
    """Return what is wrong, without what was expected if both together are long."""
    if first.slug == UNLISTED:
        return first.message
    # A comma begins what was expected instead, which the table of problems has.
    message, _, words = first.message.rstrip(".").partition(REFUSES)
    if len(message) > _SHORT:
        message = message.partition(", expected")[0]
    if first.slug == TruncatedError.slug:
        message = f"the data ends too early ({message})"
    return f"{message}; RocksDB refuses it ({words})" if words else message


def judge_restart(restart: Restart, thresholds: Thresholds = DEFAULTS) -> Iterator[Finding]:
    """What keeps Spark from the restart though all files of the checkpoint can be read."""
    obstacles = [o for o in (*restart.obstacles, *restart.later) if not o.is_listed]
    if not thresholds.reports(catalogue.REFUSED_RESTART.id, len(obstacles)):
        return
    for obstacle in obstacles[:1]:
        release = f" {obstacle.since} or later" if obstacle.since else ""
        # The files of a checkpoint that was moved, or copied as a backup, are whole.
        is_moved = obstacle.about == SCHEMA_PATHS
        to_do = _REMEDIES.get(obstacle.about, catalogue.REFUSED_RESTART.to_do)
        where = "at this path" if is_moved else "from this checkpoint"
        yield catalogue.REFUSED_RESTART.of(
            restart.sentence,
            next_step=obstacle.to_do
            or (catalogue.RESTORE_MISSING if obstacle.verb == "needs" else to_do),
            cause=f"Spark{release} does not start the query {where}: {obstacle}.",
            severity=Severity.INFO if is_moved or obstacle in restart.later else Severity.ERROR,
        )


def judge_replay(
    operator_id: int,
    depths: Mapping[StoreId, int],
    thresholds: Thresholds = DEFAULTS,
    noun: str = "delta",
    passed_ms: int = 0,
) -> Iterator[Finding]:
    """Chains of deltas that a restart has to replay, one file after the other."""
    # depths: deltas after the newest snapshot of each store, up to the judged version.
    # passed_ms: from the batch of the oldest of those deltas to that of the newest.
    slow = passed_ms >= thresholds.replay_minutes * 60_000
    least = thresholds.replay_slow if slow else thresholds.replay_noted
    deep = {store: depth for store, depth in depths.items() if depth >= least}
    if not deep:
        return
    store, most = max(deep.items(), key=lambda entry: (entry[1], entry[0]))
    partitions = len({key.partition_id for key in deep})
    of_all = len({key.partition_id for key in depths})
    # Where the others have newer snapshots it is no maintenance that stands still.
    alone = partitions == 1 < of_all
    where = f"partition {store.partition_id} (of {of_all})" if alone else "a partition"
    made = "no snapshot of it was made" if alone else "no snapshot was made"
    yield catalogue.REPLAY_DEPTH.of(
        f"{count_text(most, noun)} to replay of store {store.store_name} in partition "
        f"{store.partition_id}; {count_text(partitions, 'partition')} of {of_all} "
        f"{'has' if partitions == 1 else 'have'} {least:,} or more",
        operator_id,
        cause=f"A restart has to replay up to {count_text(most, noun)} in {where}, because "
        f"{made} {f'for {duration_text(passed_ms)}' if slow else 'for long'}.",
        severity=Severity.WARNING if most >= thresholds.replay_deltas else Severity.INFO,
    )


def judge_widths(
    subject: StoreName, side: str, sizes: Mapping[int, int], schema: StructType
) -> Iterator[Finding]:
    """Rows of fields of a fixed width that are longer than all of these together.

    Spark's own check takes such rows (``UnsafeRowUtils.validateStructuralIntegrity``).
    """
    if not schema.fields or any(field.data_type.slot_width is None for field in schema.fields):
        return
    width = min_size(schema)
    wider = {size: rows for size, rows in sizes.items() if size > width}
    rows, total = sum(wider.values()), sum(sizes.values())
    if not rows:
        return
    named = " or ".join(f"{size:,}" for size in sorted(wider)[:PLACES_NAMED])
    words = (
        f"{rows:,} of {count_text(total, side)} {'has' if rows == 1 else 'have'} {named} bytes "
        f"where their schema makes {width}"
    )
    yield catalogue.BAD_ROW.of_store(
        subject,
        words,
        rows,
        None,
        f"{capitalise(words)}: perhaps they are of another schema, as after a change of the query "
        "while the check of schemas was off (stateSchemaCheck).",
    )


def judge_placement(store: StoreName, partitions: Mapping[int, MisplacedKeys]) -> Iterator[Finding]:
    """Keys of a store that Spark would look for in another partition, by partition."""
    total = sum(partitions.values(), MisplacedKeys())
    if not total.misplaced:
        return
    where = sorted(number for number, facts in partitions.items() if facts.misplaced)
    named = ", ".join(map(str, where[:PLACES_NAMED]))
    more = f" and {len(where) - PLACES_NAMED:,} more" if len(where) > PLACES_NAMED else ""
    subject = f"partition{'s' * (len(where) > 1)} {named}{more}"
    theirs = sum(partitions[number].checked for number in where)
    yield catalogue.WRONG_PARTITION.of_store(
        store,
        f"{total.misplaced:,} of {count_text(total.checked, 'key')} belong to another partition "
        f"than the one that has them: {subject}",
        total.misplaced,
        total.misplaced_bytes,
        f"{capitalise(subject)} {'has' if len(where) == 1 else 'have'} {total.misplaced:,} of "
        f"{count_text(theirs, 'key')} that belong to another partition, where Spark looks for "
        "them: so it is after files of another one, or of a run with more or fewer, are copied.",
    )
