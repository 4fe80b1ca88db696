"""Compare a checkpoint with that of a changed query, and judge each difference.

OLD is the checkpoint that the query continues from. NEW is a checkpoint that the changed query made
of a few rows, in a rehearsal. A change of the logic, such as a filter, is not recorded in a
checkpoint. It shows in the state that the old and the changed query make of the same rows.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from inspector.checkpoint.confs import (
    PROVIDER_CLASS,
    SHUFFLE_PARTITIONS,
    SOURCE_EVOLUTION,
    default_of,
    full_key,
)
from inspector.checkpoint.metadata import LOST_METADATA
from inspector.checkpoint.roots import STATE
from inspector.checkpoint.state_schema import StateSchema
from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.discovery.lost_files import LOST_SCHEMA
from inspector.discovery.query_sources import FILES
from inspector.discovery.restart import REPAIRS, Obstacle, Restart, restart_of
from inspector.discovery.restart_conditions import (
    ASYNC_PROGRESS,
    LOST_PARTITION_COUNT,
    SCHEMA_PATHS,
    SCHEMA_PATHS_ELSEWHERE,
)
from inspector.discovery.restart_reasons import Doubt
from inspector.findings.restart_line import Line as Line
from inspector.findings.restart_line import LineMaker
from inspector.findings.restart_rules import RELEASES, Restarts, rule_of
from inspector.findings.restart_side import (
    CHECKPOINT_FORMAT,
    OFFSET_FORMAT,
    STREAMING,
)
from inspector.findings.restart_side import Side as Side
from inspector.findings.source_judgement import Sources, unlike_sources
from inspector.findings.upgrade_judgement import ANSI, SCALA_2_13, Upgrade
from inspector.light_dataclasses import dataclass, field, replace
from inspector.model import Problem
from inspector.operators.aggregation import UNNAMED
from inspector.operators.rule import WATERMARK_KEY
from inspector.operators.transform_with_state import TTL_FIELD, Properties
from inspector.sparktypes import ArrayType, DataType, MapType, StructField, StructType, storage_type
from inspector.sparktypes.ddl import to_ddl
from inspector.sums import group_by

SCHEMA_CHECK = f"{STREAMING}stateStore.stateSchemaCheck"  # conf of Spark's check of state schemas
ENCODING = f"{STREAMING}stateStore.encodingFormat"  # conf of the encoding of rows
# conf: all output columns of stateful operators are nullable
_NULLABLE = f"{STREAMING}statefulOperator.alwaysNullableOutput.enabled"
_FORMATS = {
    "stateStoreSave": f"{STREAMING}aggregation.stateFormatVersion",
    "symmetricHashJoin": f"{STREAMING}join.stateFormatVersion",
    "flatMapGroupsWithState": f"{STREAMING}flatMapGroupsWithState.stateFormatVersion",
    "applyInPandasWithState": f"{STREAMING}flatMapGroupsWithState.stateFormatVersion",
}
"""Name of an operator -> the conf that chooses the form of its rows."""
_OF_CONF = {
    SHUFFLE_PARTITIONS: "partitions",
    PROVIDER_CLASS: "provider",
    OFFSET_FORMAT: "offset-log-format",
    CHECKPOINT_FORMAT: "checkpoint-format",
    SCHEMA_CHECK: "schema-check",
}
"""Conf -> the restart rule about another value of it than the log records."""
_FREE = (
    *("minBatchesToRetain", "noDataMicroBatches.", "pollingDelay", "numRecentProgressUpdates"),
    *("maxBatchesToRetainInMemory", "checkpoint.fileChecksum.", "stopTimeout", "ui."),
    *("stateStore.minDeltasForSnapshot", "stateStore.maintenanceInterval", "metricsEnabled"),
    *("stateStore.rocksdb.changelogCheckpointing.", "stateStore.numStateStoreMaintenanceThreads"),
)
"""Confs on which state does not depend: beginnings of names behind ``spark.sql.streaming.``."""
_ITEMS = {
    SCHEMA_PATHS: "paths of state schemas",
    SCHEMA_PATHS_ELSEWHERE: "paths of state schemas",
    LOST_PARTITION_COUNT: "number of partitions",
}
"""Restart rule about something that is in no file of state -> what its line says is compared."""
_AGGREGATIONS = ("stateStoreSave", "sessionWindowStateStoreSaveExec")
"""Names of operators whose values are buffers, with fields that functions name and not users."""
_DEDUPLICATIONS = ("dedupe", "dedupeWithinWatermark")  # names of the operators that drop duplicates
_BY_STATE = (
    *("key-renamed", "key-expression", "key-case", "key-alike"),
    *("value-renamed", "value-alike", "value-buffer"),
)
"""Names of restart rules whose lines the state of both queries can decide.

The schemas alone leave these lines open or in doubt. ``state-same`` replaces such a line if both
queries made equal state of the same rows.
"""
_DOUBTS = {
    "value-overwritten": "The values differ, as first and last keep others.",
    "value-buffer": "The bytes of the buffers differ, which another order in a set does too.",
}
"""Restart rule about a value -> sentence on why different values may not mean other logic."""
# sentence of a line on the state of both queries, if timers differ and their clock is unknown
_UNKNOWN_CLOCK = (
    "The timers differ, and the files do not show whether they follow event time or processing "
    "time. Rehearse with event times that are years before today."
)
# sentence of a line on the state of both queries, if timers by processing time differ
_OTHER_DURATION = (
    "Timers by processing time lie at another distance from the clock of their batch: the timeout "
    "is another one, or the function reads a clock itself."
)
# advice for a rehearsal in which no timer by processing time fired
_BY_CLOCK = (
    "The timers follow processing time: for the rehearsal, give both queries a timeout that is "
    "shorter than the time between two inputs."
)
_OVERWRITTEN = {"first": "last"}
"""Name of a buffer of the old query -> name of the new query's buffer that overwrites its value.

``last`` replaces what ``first`` kept at the next row of a key. Until then the old value is used.
"""

AVRO = "avro"  # value of the conf ENCODING for rows encoded by Avro
_PROMOTIONS: Mapping[str, tuple[str, ...]] = {
    "integer": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
}
"""Spark's name of a number type -> the types that Avro can read its values as."""


@dataclass(frozen=True)
class StateCounts:
    """Numbers of rows and differences of one operator, summed over its stores.

    The differences are those between the states that the old and the new query made of the same
    rows.
    """

    rows: int  # number of rows that the old query made
    differing: int  # number of keys that only one state has, or that have different values
    has_keys: bool  # True if a key is only in one of the states
    # number of keys with another timer, if the files do not show which clock the timers follow
    moved_timers: int
    # True if timers by processing time have another distance from the clock of their batch
    has_clock_timers: bool


@dataclass(frozen=True)
class SameRows:
    """Differences between the states that the old and the new query made of the same rows."""

    old: Side  # checkpoint of the old query's rehearsal
    # number of rows that the old query made, by operator and store
    rows: Mapping[tuple[int, str], int]
    # number of keys that only one state has, by operator and store
    keys: Mapping[tuple[int, str], int]
    # number of keys that both have with different values, by operator and store
    values: Mapping[tuple[int, str], int]
    # operators and stores with fields of equal name and type that no row has different values for
    indistinct: Collection[tuple[int, str]]
    unread: str = ""  # sentence on why the states could not be read; "" if they could
    # number of keys with another timer, by operator and store, if the files do not show the clock
    # that the timers follow
    timers: Mapping[tuple[int, str], int] = field(default_factory=dict)
    # ids of operators that run the user's code, where no batch changed a key of an earlier batch
    unread_operators: Collection[int] = ()
    # ids of operators with timers or a watermark where nothing fired and nothing was evicted ->
    # True if the timers follow processing time
    unfired_operators: Mapping[int, bool] = field(default_factory=dict)
    # ids of joins whose time range the rows do not show -> a sentence on rows that would show it
    open_ranges: Mapping[int, str] = field(default_factory=dict)
    # ids of operators whose timers by processing time have another distance from the batch clock
    clock_timer_operators: Collection[int] = ()

    def obstacle(self, production: Side, new: Side) -> str:
        """Return a sentence on why the states of both queries cannot be compared; "" if they can.

        ``production`` is the checkpoint in production, ``new`` that of the changed query. Reasons
        are states that could not be read, another query, other sources or rows, or no state.
        """
        if self.unread:
            return self.unread
        if not _is_same_query(self.old.checkpoint, production.checkpoint):
            return "The query of the third checkpoint is not that of the one in production."
        unlike = unlike_sources(production.sources, self.old.sources)
        if unlike and production.confs[OFFSET_FORMAT] == self.old.confs[OFFSET_FORMAT]:
            return unlike
        rows = [{s.rows for s in side.sources if s.stands_in} for side in (self.old, new)]
        # A new query that reads fewer sources, or one of them twice, still has the same rows.
        if not rows[1] <= rows[0] or bool(rows[0]) != bool(rows[1]):
            return "The rehearsals were made of other rows."
        return "" if any(self.rows.values()) else "The rows made no state."

    def counts_of(self, operator_id: int) -> StateCounts:
        """Return the rows and differences of an operator, summed over its stores."""
        stores = [store for store in self.rows if store[0] == operator_id]
        keys = sum(self.keys[store] for store in stores)
        return StateCounts(
            rows=sum(self.rows[store] for store in stores),
            differing=keys + sum(self.values[store] for store in stores),
            has_keys=keys > 0,
            moved_timers=sum(self.timers.get(store, 0) for store in stores),
            has_clock_timers=operator_id in self.clock_timer_operators,
        )

    def decides(self, line: Line) -> bool:
        """Return True if equal state of both queries decides what the line leaves open.

        The line must have a rule in ``_BY_STATE`` and a store without differences. A line on alike
        fields also needs a row that distinguishes the fields.
        """
        store = (line.operator_id or 0, line.store_name or "")
        shown = not line.rule.about.endswith("alike") or store not in self.indistinct
        is_same = not self.keys.get(store, 1) and not self.values.get(store, 1)
        return line.rule.about in _BY_STATE and is_same and shown


def _is_same_query(*sides: Checkpoint) -> bool:
    """Return True if two checkpoints have the same operators, stores and schemas.

    Nullability is ignored; the names of fields are compared.
    """
    old, new = (
        {
            (o.operator_id, o.name, store): StructType((*schema.key.fields, *schema.value.fields))
            for o in side.query
            for store, schema in o.schemas.items()
        }
        for side in sides
    )
    return old.keys() == new.keys() and all(
        _names(old[store]) == _names(new[store]) and _accepts(old[store], new[store], nulls=False)
        for store in old
    )


@dataclass(frozen=True)
class Target:
    """Release of Spark, confs of the session, and mode with which the query is restarted."""

    release: str  # one of :data:`inspector.findings.restart_rules.RELEASES`
    # confs of the session, by name; they replace those of the new checkpoint
    conf: Mapping[str, str] = field(default_factory=dict)
    mode: str | None = None  # word of ``--mode`` such as ``real-time``; None for the mode as it was
    version: str = ""  # the release with its patch number, as ``4.2.1``; "" if it is not known

    @property
    def has_partition_fix(self) -> bool:
        """True if the exact release is 4.2.1 or a later patch of 4.2, which has SPARK-59919.

        False if the patch number is not known.
        """
        return bool(re.fullmatch(r"4\.2\.[1-9]\d{0,3}", self.version))


class Preflight:
    """Comparison of the checkpoints of an old and a changed query, by the rules of one release."""

    def __init__(
        self,
        old: Side,  # checkpoint in production
        # checkpoint that the changed query made; None to judge confs and release alone
        new: Side | None,
        target: Target,  # release, confs and mode that restart the query
        problems: Sequence[Problem] = (),  # problems of ``old``
        # state that both queries made of the same rows, compared; None if it is not known
        states: SameRows | None = None,
    ) -> None:
        """Make the comparison of two checkpoints, and judge the restart of the old one."""
        self._old, self._new = old, new
        self._release, self._mode = target.release, target.mode
        self._line = LineMaker(target.release)
        self._has_partition_fix = target.has_partition_fix
        self._conf = {full_key(key): value for key, value in target.conf.items()}
        self._problems, self._states = problems, states
        self._restart = restart_of(old.checkpoint, problems)
        self._asked = {**(new.confs if new else {}), **self._conf}
        formats = (OFFSET_FORMAT, CHECKPOINT_FORMAT)
        recorded = {key: value for key, value in old.confs.items() if key not in formats}
        self._upgrade = Upgrade(old.checkpoint, old.sources, recorded, self._asked, self._line)

    def lines(self) -> list[Line]:
        """Return a line on each thing that the restart depends on, in the order of Spark's checks.

        Lines that equal state decides have the rule ``state-same``. Lines on refused schemas have
        the rule ``schema-check`` if the session turns off Spark's check of schemas.
        """
        lines = [*self._upgrade.downgrade_lines(), *self._own(), *self._confs()]
        if self._new is None:
            lines += self._upgrade.upgrade_lines()
            if self._lacks_partitions and self._release == "4.2" and not self._has_partition_fix:
                lines.append(self._of_metadata(None))
        if self._mode is not None:
            lines += self._upgrade.mode_lines(self._mode)
        if self._new is not None:
            same, states = rule_of("state-same", self._release), self._states
            rehearsal = states.old if states is not None else None
            lines += Sources(self._old, self._new, rehearsal, self._line).lines()
            lines += self._operators(self._new)
            logic = self._logic(self._new, lines)
            decided = [replace(f, rule=same) if states and states.decides(f) else f for f in lines]
            lines = [*decided, *logic]
        if self._conf.get(SCHEMA_CHECK) == "false":
            unchecked = rule_of("schema-check", self._release)
            checked = ("key-schema", "value-schema")
            lines = [replace(f, rule=unchecked) if f.rule.about in checked else f for f in lines]
        return lines

    @property
    def _lacks_partitions(self) -> bool:
        """True if offset log format 2 has no number of partitions, and no session conf sets one.

        False if all operators run in a single partition.
        """
        confs = self._old.confs
        is_lost = confs[OFFSET_FORMAT] == "2" and SHUFFLE_PARTITIONS not in {**confs, **self._asked}
        return is_lost and any(not o.single_partition for o in self._old.checkpoint.query)

    def _own(self) -> Iterator[Line]:
        """Yield the lines on the old checkpoint itself: its files, formats, logs and metadata."""
        restart = self._restart
        yield self._files_line(restart)
        refuses_v2 = RELEASES.index(self._release) >= RELEASES.index("4.1")
        if refuses_v2 and self._old.checkpoint.newest_snapshot_format > 1:
            yield self._line("format of snapshots", "snapshot-format", "v2", "v1")
        if restart.again:
            offsets = "; ".join(s.offset or "-" for s in self._old.sources)[:200]
            detail = f"Batch {restart.batch} runs again, up to the offsets {offsets}."
            without = f"batch {restart.batch} has no commit"
            yield self._line("last batch", "runs-again", without, detail=detail)
        yield from self._lost_metadata()
        for source in self._old.sources:
            if source.kind == FILES and source.place is None and restart.possible is False:
                yield self._line(f"log of source {source.name}", "source-log-lost", "not there")
        yield from self._of_restart(restart)

    def _files_line(self, restart: Restart) -> Line:
        """Return the line on whether a restart can read the files that it needs."""
        # What only some releases mind has lines of its own.
        obstacles = [o for o in (*restart.obstacles, *restart.later) if not o.about]
        stop = next((o for o in obstacles if not o.since or o.since not in RELEASES), None)
        item = "files that a restart reads"
        if stop is not None:
            detail = f"Batch {restart.batch} does not run: {stop}."
            return self._line(item, "not-restorable", stop.name, detail=detail)
        if restart.needs_repair and RELEASES.index(self._release) < RELEASES.index(REPAIRS):
            file = restart.needs_repair[0].skipped
            return self._line(item, "not-restorable", file, detail=restart.sentence)
        of_files = _of_files(restart)
        about = "restorable-unknown" if of_files.possible is None else "restorable"
        return self._line(item, about, of_files.sentence)

    def _lost_metadata(self) -> Iterator[Line]:
        """Yield the lines on lost metadata of the query and its operators, and on lost schemas."""
        if self._old.checkpoint.logs.query_id is None:
            yield self._line("metadata of the query", "metadata-lost", "not there")
        problems = {(problem.slug, problem.path or "") for problem in self._problems}
        for path in sorted(path for slug, path in problems if slug == LOST_METADATA):
            if STATE in path:
                yield self._line("metadata of an operator", "operator-metadata-lost", path)
        for path in sorted(path for slug, path in problems if slug == LOST_SCHEMA):
            if path:
                yield self._line("state schema", "schema-lost", path)

    def _of_restart(self, restart: Restart) -> Iterator[Line]:
        """Yield the lines on refusals, doubts and required options that have a restart rule.

        Obstacles and doubts about files of state have none; their line is that of ``_files_line``.
        """
        reasons: tuple[Obstacle | Doubt, ...] = (*restart.obstacles, *restart.doubts)
        for reason in reasons:
            if reason.about in _ITEMS:
                item, sides = _ITEMS[reason.about], (text or None for text in reason.details)
                yield self._line(item, reason.about, *sides, store=(reason.operator_id, None))
        for condition in restart.conditions:
            if condition.option == ASYNC_PROGRESS and self._mode is not None:
                continue  # the lines of the mode have it
            value = self._asked.get(condition.option) if condition.is_conf else None
            # A conf that the log records is compared with the other recorded confs.
            if value is None or condition.option not in self._old.confs:
                item, about = condition.option, condition.about
                if value == condition.value:
                    about = "free-conf"
                elif value is not None:
                    about = f"{about}-off"
                yield self._line(item, about, condition.value, value)

    def _confs(self) -> Iterator[Line]:
        """Yield a line for the number of equal confs, then one for each conf that differs.

        The confs that NEW and the session set are compared with those that the offset log records.
        """
        recorded, asked = self._old.confs, self._asked
        options = [condition.option for condition in self._restart.conditions]
        judged = {option for option in options if option not in recorded}
        matches = sum(recorded.get(key) == value for key, value in asked.items())
        if matches:
            yield self._line("recorded confs", "same-confs", f"{matches} of {len(asked)}")
        for key, value in sorted(asked.items()):
            if recorded.get(key) != value and key not in judged:
                yield self._of_conf(key, recorded.get(key), value)

    def _of_metadata(self, value: str | None) -> Line:
        """Return the line on a partition count that the log lacks, so that metadata decides it.

        ``value`` is the number that the session sets; None if it sets none.
        """
        about = "partitions-of-metadata"
        release = RELEASES[-1] if self._has_partition_fix else self._release
        return replace(
            self._line(SHUFFLE_PARTITIONS, about, "not recorded", value),
            rule=rule_of(about, release),
        )

    def _of_conf(self, key: str, recorded: str | None, value: str) -> Line:
        """Return the line on a conf that has another value for the restart than in the offset log.

        ``recorded`` is the value in the log; None if the log has none. ``value`` is that of the
        session, or else that of NEW.
        """
        if key == SOURCE_EVOLUTION and (recorded or "false") != value:
            about = "evolution-on" if value == "true" else "evolution-off"
            return self._line(key, about, recorded or "false", value)
        if key == SCHEMA_CHECK and value == "true":
            return self._line(key, "free-conf", None, value)
        if key == SHUFFLE_PARTITIONS and recorded is None and self._old.confs[OFFSET_FORMAT] == "2":
            return self._of_metadata(value)
        if key in _OF_CONF and (recorded is not None or key == SCHEMA_CHECK):
            return self._line(key, _OF_CONF[key], recorded, value)
        if recorded is not None:
            return self._line(key, "recorded-conf", recorded, value)
        return self._of_unrecorded_conf(key, value)

    def _of_unrecorded_conf(self, key: str, value: str) -> Line:
        """Return the line on a conf that the log does not record and that has no rule of its own.

        Its rule is ``assumed-conf`` if Spark takes another value for old checkpoints. It is
        ``free-conf`` if state does not depend on the conf, and ``unknown-conf`` otherwise.
        """
        if key == ANSI and value == "false" and self._upgrade.ran_before(SCALA_2_13):
            return self._line(key, "free-conf", None, value)
        taken = default_of(key)
        if taken is not None and taken != value:
            return self._line(key, "assumed-conf", taken, value)
        name = key.removeprefix(STREAMING)
        free = taken is not None or (self._new is not None and key in self._new.confs)
        free |= key.startswith(STREAMING) and name.startswith(_FREE)
        return self._line(key, "free-conf" if free else "unknown-conf", taken, value)

    def _logic(self, new: Side, lines: Sequence[Line]) -> Iterator[Line]:
        """Yield the lines on whether both queries make equal state of the same rows.

        ``lines`` are the other lines. Yields nothing if one of these is a refusal, or if no
        operator is in both queries. Yields one line if the states are not known or cannot be
        compared.
        """
        both = self._in_both(new)
        if not both or any(line.rule.verdict is Restarts.REFUSED for line in lines):
            return
        states, item = self._states, "logic of the query"
        obstacle = "" if states is None else states.obstacle(self._old, new)
        if states is None or obstacle:
            about = "state-unclear" if obstacle else "logic-unseen"
            yield self._line(item, about, detail=obstacle)
            return
        delays = {f.operator_id for f in lines if f.rule.about.startswith("watermark-")}
        abouts = {line.rule.about for line in lines}
        is_later = states.old.watermark_ms != new.watermark_ms
        if is_later and not delays:
            detail = "The watermarks differ: by another delay, or by another event time."
            yield self._line("watermark of the same rows", "state-unclear", detail=detail)
        for operator, _ in both:
            number, name = operator.operator_id, operator.name
            counts, is_late = states.counts_of(number), number in delays or is_later
            of_operator = [f for f in lines if f.operator_id == number]
            has_keys = counts.has_keys
            doubt = self._doubt(new, name, of_operator, abouts, is_late=is_late, has_keys=has_keys)
            line = self._state_line(f"state of operator {number} ({name})", number, counts, doubt)
            yield line
            if line.rule.about == "state-same":
                yield from self._rehearsal_gaps(states, number, name)

    def _state_line(self, item: str, number: int, counts: StateCounts, doubt: str) -> Line:
        """Return the line on equal or different state that both queries make of the same rows.

        ``item`` is what was compared, and ``number`` is the operator's id. ``doubt`` is the reason
        why different state may come from something other than the logic; "" if there is none.
        """
        store, differing, moved = (number, None), counts.differing, counts.moved_timers
        if not differing and not moved and counts.has_clock_timers:
            moved, doubt = 1, _OTHER_DURATION
        elif not differing and moved:
            doubt = _UNKNOWN_CLOCK
        sides = f"{counts.rows} rows", f"{differing or moved} keys differ"
        if not differing and not moved:
            return self._line(item, "state-same", *sides, store=store)
        about = "state-unclear" if doubt else "state-other"
        return self._line(item, about, *sides, detail=doubt, store=store)

    def _doubt(
        self,
        new: Side,
        name: str,
        of_operator: Sequence[Line],
        abouts: Collection[str],
        *,
        is_late: bool,
        has_keys: bool,
    ) -> str:
        """Return a sentence on why different state of an operator may not mean other logic.

        ``name`` is the operator's name and ``of_operator`` its lines. ``abouts`` are the rules of
        all lines. ``is_late`` is True if the watermarks differ, and ``has_keys`` if a key is only
        in one state. Returns "" if the difference does mean other logic.
        """
        conf, confs = _FORMATS.get(name, ""), self._states.old.confs if self._states else {}
        if confs.get(conf) != new.confs.get(conf):
            return f"NEW was made with another {conf}."
        if {"source-added", "source-removed"} & set(abouts) == {"source-added"}:
            return "The source that was added brings rows of its own."
        if is_late:
            return "Another delay of the watermark may be why."
        if has_keys:
            return ""
        return next(filter(None, (_DOUBTS.get(line.rule.about) for line in of_operator)), "")

    def _rehearsal_gaps(self, states: SameRows, number: int, name: str) -> Iterator[Line]:
        """Yield a line for each part of an operator's logic that the rehearsals did not run.

        These are changes of existing keys, the time range of a join, and timers or eviction.
        """
        of_operator, subject = f"operator {number} ({name})", (number, None)
        if number in states.unread_operators:
            yield self._line(
                f"existing state of {of_operator}",
                "rehearsal-unread",
                detail="No batch after the first changed a key that was there.",
                store=subject,
            )
        if number in states.open_ranges:
            detail = states.open_ranges[number]
            item = f"time range of {of_operator}"
            yield self._line(item, "rehearsal-range", detail=detail, store=subject)
        if number in states.unfired_operators:
            is_by_clock = states.unfired_operators[number]
            yield self._line(
                f"timers and eviction of {of_operator}",
                "rehearsal-unfired",
                detail=_BY_CLOCK if is_by_clock else "",
                store=subject,
            )

    def _in_both(self, new: Side) -> list[tuple[Operator, Operator]]:
        """Return the (old, new) pairs of operators with equal numbers and equal names."""
        before, after = self._old.operators, new.operators
        pairs = ((before[number], after[number]) for number in before if number in after)
        return [(old, changed) for old, changed in pairs if old.name == changed.name]

    def _operators(self, new: Side) -> Iterator[Line]:
        """Yield a line on the stateful operators of both queries, then the lines on their state."""
        before, after = self._old.operators, new.operators
        names = [
            ", ".join(f"{number} {operator.name}" for number, operator in side.items()) or "none"
            for side in (before, after)
        ]
        is_known = any(operator.metadata is not None for operator in before.values())
        about = "operators" if is_known else "operators-unnamed" if before else "first-operator"
        is_same = names[0] == names[1]
        yield self._line("stateful operators", "operators-same" if is_same else about, *names)
        for pair in self._in_both(new):
            yield from self._operator(*pair, new)

    def _operator(self, old: Operator, new: Operator, side: Side) -> Iterator[Line]:
        """Yield the lines on modes, variables and schemas of an operator that both queries have.

        ``side`` is the checkpoint of ``new``. If the form of rows differs by a conf, one line on
        that replaces those on schemas.
        """
        if old.processor is not None and new.processor is not None:
            yield from self._processor(old, old.processor, new.processor)
        subject, conf = (old.operator_id, None), _FORMATS.get(old.name, "")
        formats = [part.confs.get(conf) or default_of(conf) for part in (self._old, side)]
        version_1 = conf == _FORMATS["stateStoreSave"] and "1" in formats
        if conf and formats[0] != formats[1] and not version_1:
            item, detail = (
                f"schemas of operator {old.operator_id}",
                f"NEW was made with another {conf}.",
            )
            yield self._line(item, "other-format", *formats, detail=detail, store=subject)
            return
        for store in sorted(old.schemas.keys() & new.schemas.keys()):
            family = old.family(store)
            if family is not None and not family.is_variable:
                continue
            pair = old.schemas[store], new.schemas[store]
            if version_1:
                pair = (_without_key(pair[0], formats[0]), _without_key(pair[1], formats[1]))
            yield from self._schemas(old, store, pair)
        if old.schemas.keys() != new.schemas.keys() and old.processor is None:
            names = (", ".join(sorted(operator.schemas)) or "none" for operator in (old, new))
            yield self._line(
                f"stores of operator {old.operator_id}", "stores", *names, store=subject
            )

    def _schemas(
        self, operator: Operator, store: str, pair: tuple[StateSchema, StateSchema]
    ) -> Iterator[Line]:
        """Yield the lines on key, value and watermark delay of one store.

        ``pair`` is its old and its new schema. The line on delays is left out if they are equal.
        """
        of_store = "" if store == "default" else f", store {store}"
        title = f"operator {operator.operator_id} ({operator.name}){of_store}"
        subject = operator.operator_id, store
        keys, values = [schema.key for schema in pair], [schema.value for schema in pair]
        about = self._about_key(*keys)
        yield self._line(f"key of {title}", about, *map(to_ddl, keys), store=subject)
        about = self._about_value(operator, *values)
        yield self._line(f"value of {title}", about, *map(to_ddl, values), store=subject)
        delays = list(map(_delays, pair))
        if delays[0] != delays[1]:
            kinds = [bool(side_delays) for side_delays in delays]
            about = "watermark-delay" if all(kinds) else f"watermark-{'off' if kinds[0] else 'on'}"
            texts = [", ".join(f"{delay} ms" for delay in s) or "none" for s in delays]
            yield self._line(f"watermark delay of {title}", about, *texts, store=subject)

    def _about_key(self, old: StructType, new: StructType) -> str:
        """Return the name of the restart rule about a change of a store's key schema.

        ``old`` and ``new`` are the key schemas of the two queries. The name is ``key-schema`` if
        Spark refuses the types. It is ``key-case``, ``key-order`` or ``key-renamed`` if names
        differ. For equal names it is ``key-same``, or ``key-expression`` or ``key-alike`` in doubt.
        """
        if not _accepts(new, old):
            return "key-schema"
        if _names(old) != _names(new):
            if [*map(str.lower, _names(old))] == [*map(str.lower, _names(new))]:
                return "key-case"
            return "key-order" if sorted(_names(old)) == sorted(_names(new)) else "key-renamed"
        if any(field.name.startswith(UNNAMED) for field in old.fields):
            return "key-expression"
        return "key-alike" if alike_fields(old) else "key-same"

    def _about_refused_value(self, old: StructType, new: StructType) -> str:
        """Return the name of the restart rule about a value schema that Spark refuses.

        The name is ``nullability`` if the conf of nullable columns differs and Spark refuses
        nothing else, ``ttl`` if only one schema has a TTL field, and ``value-schema`` otherwise.
        """
        sides = (self._old, self._new or self._old)
        nullable = {side.confs.get(_NULLABLE, "false") for side in sides}
        if len(nullable) > 1 and _accepts(new, old, nulls=False):
            return "nullability"
        has_ttl = [TTL_FIELD in _names(schema) for schema in (old, new)]
        return "ttl" if has_ttl[0] != has_ttl[1] else "value-schema"

    def _about_value(self, operator: Operator, old: StructType, new: StructType) -> str:
        """Return the name of the restart rule about a change of a store's value schema.

        ``old`` and ``new`` are the value schemas of the two queries. The name is such as
        ``value-same``, ``value-renamed`` or ``value-order``. For types that Spark refuses it is
        that of ``_about_refused_value``, and for values in Avro that of ``_about_avro``.
        """
        if self._old.confs.get(ENCODING) == AVRO and operator.processor is not None:
            return _about_avro(old, new)
        if not _accepts(new, old):
            return self._about_refused_value(old, new)
        if operator.name in _DEDUPLICATIONS:
            return "value-same"
        renamed = _names(old) != _names(new)
        if operator.name not in _AGGREGATIONS:
            return "value-renamed" if renamed else "value-same"
        if renamed:
            is_reordered = sorted(_names(old)) == sorted(_names(new))
            if _names(new) == [_OVERWRITTEN.get(name, name) for name in _names(old)]:
                return "value-overwritten"
            return "value-order" if is_reordered else "value-replaced"
        if any(field.name == "buf" for field in old.fields):
            return "value-buffer"
        return "value-alike" if alike_fields(old) else "value-same"

    def _processor(self, operator: Operator, old: Properties, new: Properties) -> Iterator[Line]:
        """Yield the lines on time mode, output mode and state variables of transformWithState.

        ``old`` and ``new`` are what the operator's metadata record in the two queries. Variables
        that both queries have with one kind have no line.
        """
        subject = operator.operator_id, None
        modes = {
            "time": (old.time_mode, new.time_mode),
            "output": (old.output_mode, new.output_mode),
        }
        for kind, sides in modes.items():
            if all(sides):
                about = "mode-same" if sides[0] == sides[1] else f"{kind}-mode"
                item = f"{kind} mode of transformWithState"
                yield self._line(item, about, *sides, store=subject)
        olds, news = (processor.variables or {} for processor in (old, new))
        added = {news[name].kind for name in news.keys() - olds.keys()}
        for name in sorted(olds.keys() | news.keys()):
            before, after = (
                f"{variables[name].kind.value}{' with a TTL' if variables[name].has_ttl else ''}"
                if name in variables
                else None
                for variables in (olds, news)
            )
            if name not in olds:
                about = "variable-added"
            elif name not in news:
                about = "variable-renamed" if olds[name].kind in added else "variable-removed"
            elif olds[name].kind is not news[name].kind:
                about = "variable-kind"
            else:
                continue
            yield self._line(f"state variable {name}", about, before, after, store=subject)


def _accepts(new: DataType, old: DataType, *, nulls: bool = True) -> bool:
    """Return True if the old type can hold values of the new one, by Spark's check of schemas.

    Names are ignored, as in Spark's ``equalsIgnoreNameAndCompatibleNullability``. Nullability is
    ignored, too, if ``nulls`` is False.
    """
    new, old = storage_type(new), storage_type(old)
    if isinstance(new, StructType) and isinstance(old, StructType):
        return len(new.fields) == len(old.fields) and all(
            (not nulls or b.nullable or not a.nullable)
            and _accepts(a.data_type, b.data_type, nulls=nulls)
            for a, b in zip(new.fields, old.fields, strict=True)
        )
    if isinstance(new, ArrayType) and isinstance(old, ArrayType):
        holds = not nulls or old.contains_null or not new.contains_null
        return holds and _accepts(new.element, old.element, nulls=nulls)
    if isinstance(new, MapType) and isinstance(old, MapType):
        holds = not nulls or old.value_contains_null or not new.value_contains_null
        pairs = ((new.key, old.key), (new.value, old.value))
        return holds and all(_accepts(*pair, nulls=nulls) for pair in pairs)
    return new == old


def _about_avro(old: StructType, new: StructType) -> str:
    """Return the name of the restart rule about value schemas that Avro resolves by field names.

    It is ``avro-schema`` if a field has a type that Avro cannot read, and ``value-same`` for equal
    schemas. It is ``avro-renamed`` if fields are gone and others are new, and ``avro-evolved``
    otherwise.
    """
    before, after = ({f.name: f.data_type for f in schema.fields} for schema in (old, new))
    for name in before.keys() & after.keys():
        kinds = [getattr(types[name], "kind", None) for types in (before, after)]
        if before[name] != after[name] and kinds[1] not in _PROMOTIONS.get(str(kinds[0]), ()):
            return "avro-schema"
    if before == after:
        return "value-same"
    gone, come = before.keys() - after.keys(), after.keys() - before.keys()
    return "avro-renamed" if gone and come else "avro-evolved"


def _without_key(schema: StateSchema, version: str | None) -> StateSchema:
    """Return the schema of an aggregation without the key columns in its value.

    Only state format 1 has them there, before the values. ``version`` is the state format; for
    another one the schema is returned unchanged.
    """
    if version != "1":
        return schema
    return replace(schema, value=StructType(schema.value.fields[len(schema.key.fields) :]))


def _fields(schema: StructType, within: str = "") -> Iterator[tuple[str, StructField]]:
    """Yield (name, field) for all fields, those inside structs too, with paths such as ``a.b``.

    ``within`` is the beginning of all names.
    """
    for column in schema.fields:
        yield within + column.name, column
        inner = storage_type(column.data_type)
        if isinstance(inner, StructType):
            yield from _fields(inner, f"{within}{column.name}.")


def _names(schema: StructType) -> list[str]:
    """Return the names of all fields, with those inside structs as paths such as ``a.b``.

    Fields of structs inside arrays and maps are left out.
    """
    return [name for name, _ in _fields(schema)]


def alike_fields(schema: StructType) -> list[list[int]]:
    """Return the groups of positions of two or more fields with equal names and types.

    Fields that equal no other field are in no group.
    """
    fields = schema.fields
    groups = group_by(range(len(fields)), lambda i: (fields[i].name, fields[i].data_type))
    return [group for group in groups.values() if len(group) > 1]


def _delays(schema: StateSchema) -> list[int]:
    """Return the distinct watermark delays of a schema's columns, in ms, the shortest first."""
    columns = [*_fields(schema.key), *_fields(schema.value)]
    delays = {column.metadata.get(WATERMARK_KEY) for _, column in columns}
    return sorted(delay for delay in delays if isinstance(delay, int))


def _of_files(restart: Restart) -> Restart:
    """Return a copy of the restart without obstacles, options, and doubts that have a rule.

    Lines of their own report what is left out.
    """
    doubts = tuple(doubt for doubt in restart.doubts if not doubt.about)
    return replace(restart, obstacles=(), doubts=doubts, conditions=())
