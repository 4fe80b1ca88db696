"""Effects of another release of Spark, or of another mode, on the restart of a checkpoint.

The query is taken to be unchanged. What its plan decides and no file shows is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from inspector.checkpoint.confs import ASSUMED, JOIN_FORMAT, PROVIDER_CLASS
from inspector.checkpoint.logs import COMMITS, OFFSETS
from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.discovery.query_sources import FILES, QuerySource
from inspector.discovery.restart_conditions import (
    SINK_EVOLUTION,
    WITH_SINKS,
    needs_async_progress,
)
from inspector.findings.key_order import set_order
from inspector.findings.restart_line import OLDER_SPARK, Line, LineMaker
from inspector.findings.restart_rules import RELEASES
from inspector.operators import aggregation, deduplicate, deduplicate_within_watermark, join
from inspector.sparktypes import AtomicType, DataType, StructType, storage_type

STREAMING = "spark.sql.streaming."  # prefix of the names of Spark's confs of streaming
ANSI = "spark.sql.ansi.enabled"  # conf of ANSI mode
# conf: the key of a deduplication has the order of the call
KEY_ORDER = "spark.sql.dropDuplicates.deterministicKeyOrder.enabled"
# conf of the format of state checkpoints
CHECKPOINT_FORMAT = f"{STREAMING}stateStore.checkpointFormatVersion"
# conf: all output columns of stateful operators are nullable
_NULLABLE = f"{STREAMING}statefulOperator.alwaysNullableOutput.enabled"
# conf of the form of rows that RocksDB merges
_MERGE_OPERATOR = f"{STREAMING}stateStore.rocksdb.mergeOperatorVersion"
_CHECKSUM = f"{STREAMING}stateStore.rowChecksum.enabled"  # conf of checksums in values
_ENCODING = f"{STREAMING}stateStore.encodingFormat"  # conf of the encoding of rows
# conf: rows are placed by exactly the grouping key
_STRICT = f"{STREAMING}statefulOperator.useStrictDistribution"
# conf: the optimizer may remove a streaming branch
_PRUNE = "spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan"
# conf: real-time mode checks that it can run the operators
_ALLOWLIST = f"{STREAMING}realTimeMode.allowlistCheck"
# conf: real-time mode accepts checkpoint format 1
_ALLOW_FORMAT_1 = f"{STREAMING}realTimeMode.dangerouslyAllowCheckpointV1"
_SINCE: Mapping[str, str] = {
    KEY_ORDER: "4.3",
    _NULLABLE: "4.3",
    _MERGE_OPERATOR: "4.2",
    _CHECKSUM: "4.2",
    _ENCODING: "4.0",
}
"""Conf -> the first release that records it in the offset log."""
_DEFAULTS: Mapping[str, str] = {
    KEY_ORDER: "true",
    _NULLABLE: "true",
    _MERGE_OPERATOR: "2",
    _STRICT: "true",
    _PRUNE: "false",
    f"{STREAMING}aggregation.stateFormatVersion": "2",
    f"{STREAMING}flatMapGroupsWithState.stateFormatVersion": "2",
}
"""Conf -> its default for a new query, if an old checkpoint without the conf has another value."""
_LOG_FORMATS: Mapping[str, Mapping[int, str]] = {OFFSETS: {2: "4.2"}, COMMITS: {2: "4.0", 3: "4.2"}}
"""Log -> version of its format -> the first release that reads it. All releases read version 1."""
# beginning of the class names of Spark's own state store providers
_OWN_PACKAGE = "org.apache.spark.sql.execution.streaming.state."
SCALA_2_13 = "4.0"  # the first release without Scala 2.12
_FORMAT_2 = 2  # format of the commit log with which state checkpoints have format 2
_MOST_IN_ORDER = 4  # largest number of elements whose order a Set of Scala keeps
# names of the operators that drop duplicates
_DEDUPLICATIONS = (*deduplicate.NAMES, *deduplicate_within_watermark.NAMES)
_IN_REAL_TIME = (*aggregation.NAMES, *deduplicate.NAMES, "transformWithStateExec")
"""Names of the stateful operators that real-time mode of Spark 4.3 runs."""

MICRO_BATCH, REAL_TIME, ASYNC = "micro-batch", "real-time", "async"  # words of ``--mode``


class Upgrade:
    """Judgement on a restart of a checkpoint by an unchanged query with another release or mode."""

    def __init__(
        self,
        checkpoint: Checkpoint,  # checkpoint that is restarted
        sources: tuple[QuerySource, ...],  # sources of its newest batch
        recorded: Mapping[str, str],  # confs of the newest entry of the offset log, by name
        asked: Mapping[str, str],  # confs of the session, by name
        line: LineMaker,  # maker of the lines of the release that restarts the query
    ) -> None:
        """Take the checkpoint, and the confs and release that restart the query."""
        self._checkpoint, self._sources = checkpoint, sources
        self._recorded, self._asked = recorded, asked
        self._release, self._line = line.release, line

    @property
    def writer(self) -> str:
        """First release that records the confs of the newest entry of the offset log.

        It is the oldest release that may have written the checkpoint; ``3.5`` stands for older
        ones, too.
        """
        wrote = [release for key, release in _SINCE.items() if key in self._recorded]
        return max(wrote, key=RELEASES.index, default=RELEASES[0])

    def downgrade_lines(self) -> Iterator[Line]:
        """Yield lines on what the release is too old for: the writer's release and formats of logs.

        Yields nothing if the release is not older than what wrote the checkpoint.
        """
        newest = RELEASES.index(self._release)
        if RELEASES.index(self.writer) > newest:
            yield self._line("release", OLDER_SPARK, f"{self.writer} or later", self._release)
        for log, formats in _LOG_FORMATS.items():
            version = self._checkpoint.logs.formats.get(log, 1)
            if RELEASES.index(formats.get(version, RELEASES[0])) > newest:
                yield self._line(f"format of {log}", "log-format", f"v{version}")

    def upgrade_lines(self) -> Iterator[Line]:
        """Yield the lines on a restart of the unchanged query with the given release.

        Most lines are differences between this release and the writer's that affect the checkpoint,
        such as a conf with a new default. A join of state format 1 and a provider that is not
        Spark's have a line with every release. Checkpoint format 2 has one before Spark 4.3.
        """
        yield from self._newer_spark()
        yield from self._kept_defaults()
        if self.crosses(SCALA_2_13) and self._asked.get(ANSI) != "false":
            yield self._line(ANSI, "ansi", "false", self._asked.get(ANSI) or "true")
        for operator in self._checkpoint.query:
            yield from self._key_order(operator)
            yield from self._serialized_state(operator)
            yield from self._strict_join(operator)
            is_join = operator.name in join.NAMES
            if is_join and self._recorded.get(JOIN_FORMAT, ASSUMED[JOIN_FORMAT]) == "1":
                item = f"state format of operator {operator.operator_id} ({operator.name})"
                yield self._line(item, "join-format-1", "1", store=(operator.operator_id, None))
        provider = self._recorded.get(PROVIDER_CLASS, "")
        if provider and not provider.startswith(_OWN_PACKAGE):
            yield self._line("state store provider", "provider-foreign", provider)
        yield from self._checkpoint_format()

    def mode_lines(self, mode: str) -> Iterator[Line]:
        """Yield the lines on a restart in ``mode``, a word of ``--mode`` such as ``real-time``."""
        of_mode = {MICRO_BATCH: self._micro_batch, ASYNC: self._async, REAL_TIME: self._real_time}
        yield from of_mode[mode]()

    def _is_from(self, release: str) -> bool:
        """Return True if the release that restarts the query is ``release`` or a later one."""
        return RELEASES.index(self._release) >= RELEASES.index(release)

    def ran_before(self, release: str) -> bool:
        """Return True if a release older than ``release`` wrote the checkpoint, by ``writer``."""
        return RELEASES.index(self.writer) < RELEASES.index(release)

    def crosses(self, release: str) -> bool:
        """Return True if the query ran before ``release``, and restarts with it or a later one."""
        return self.ran_before(release) and self._is_from(release)

    def _newer_spark(self) -> Iterator[Line]:
        """Yield a line if the query restarts with a newer release than wrote the checkpoint.

        Nothing is yielded if both may be one release, as 4.0 and 4.1 record the same confs.
        """
        writer, release = self.writer, self._release
        names = {"3.5": "3.5 or earlier", "4.0": "4.0 or 4.1"}
        wrote = names.get(writer, writer)
        is_same = wrote.startswith(release) or wrote.endswith(release)
        if not is_same and RELEASES.index(release) > RELEASES.index(writer):
            yield self._line("release", "newer-spark", wrote, release)

    def _kept_defaults(self) -> Iterator[Line]:
        """Yield a line for each conf for which Spark keeps an old default in this checkpoint.

        Such a conf is not recorded and not set by the session. New queries of the release have
        another default, and an operator depends on it.
        """
        for key, default in _DEFAULTS.items():
            since = _SINCE.get(key, RELEASES[0])
            assumed = ASSUMED[key]
            if key in self._recorded or key in self._asked or not self._is_from(since):
                continue
            if any(self._depends_on(key, operator) for operator in self._checkpoint.query):
                yield self._line(key, "default-kept", f"{assumed}, not recorded", default)

    def _depends_on(self, key: str, operator: Operator) -> bool:
        """Return True if an operator depends on the conf ``key``, one of ``_DEFAULTS``."""
        name = operator.name
        if key == KEY_ORDER:
            return name in _DEDUPLICATIONS
        if key == _MERGE_OPERATOR:
            is_listed = self._recorded.get(JOIN_FORMAT) in ("3", "4")
            return operator.processor is not None or (name in join.NAMES and is_listed)
        if key.endswith("aggregation.stateFormatVersion"):
            return name in aggregation.NAMES
        if key.endswith("flatMapGroupsWithState.stateFormatVersion"):
            return name in ("flatMapGroupsWithState", "applyInPandasWithState")
        return True

    def _key_order(self, operator: Operator) -> Iterator[Line]:
        """Yield at most one line on the order of a deduplication's key columns.

        Only keys of five or more columns have one, if the release orders columns otherwise than the
        writer's. The line says that the order stays, changes or is unknown.
        """
        schema = operator.schemas.get("default")
        if operator.name not in _DEDUPLICATIONS or schema is None:
            return
        old = [field.name for field in schema.key.fields]
        if len(old) <= _MOST_IN_ORDER or not self._changes_order():
            return
        subject = operator.operator_id, "default"
        item = f"key order of operator {operator.operator_id} ({operator.name})"
        # Scala 2.12 up to 3.5, then 2.13; from 4.3 on the order of the call, if that is recorded.
        before, after = (set_order(old, scala_2_13=late) for late in self._scala_versions())
        by_call = self._recorded.get(KEY_ORDER) == "true"
        if before != old and not by_call:
            detail = "Spark Connect, or names of another case, ordered these columns."
            yield self._line(
                item, "key-order-unknown", ", ".join(old), detail=detail, store=subject
            )
            return
        about = "key-same"
        if after != old:
            types = [schema.key.fields[old.index(name)].data_type for name in after]
            is_alike = types == [field.data_type for field in schema.key.fields]
            about = "key-order-silent" if is_alike else "key-order-refused"
        yield self._line(item, about, ", ".join(old), ", ".join(after), store=subject)

    def _scala_versions(self) -> tuple[bool, bool]:
        """Return two booleans: True if the release has Scala 2.13.

        The first one is for the writer's release, the second one for the release that restarts.
        """
        late = RELEASES.index(SCALA_2_13)
        return RELEASES.index(self.writer) >= late, RELEASES.index(self._release) >= late

    def _changes_order(self) -> bool:
        """Return True if the release may order key columns otherwise than the writer's release."""
        scalas = self._scala_versions()
        if self._recorded.get(KEY_ORDER) == "true":
            return not self._is_from(_SINCE[KEY_ORDER])
        return scalas[0] != scalas[1]

    def _strict_join(self, operator: Operator) -> Iterator[Line]:
        """Yield a line for each store of a join that has fields that are not nullable.

        The optimizer made these fields not null. Yields nothing for other operators, or unless the
        query ran before Spark 4.0 and restarts with Spark 4.0 or later.
        """
        if operator.name not in join.NAMES or not self.crosses(SCALA_2_13):
            return
        for store in join.VALUE_STORES:
            schema = operator.schemas.get(store)
            fields = schema.value.fields if schema is not None else ()
            strict = [field.name for field in fields if not field.nullable]
            if strict:
                item = f"nullable fields of operator {operator.operator_id} ({operator.name})"
                subject = operator.operator_id, store
                yield self._line(
                    item, "strict-join", f"not null: {', '.join(strict)}", store=subject
                )

    def _serialized_state(self, operator: Operator) -> Iterator[Line]:
        """Yield a line for each store of flatMapGroupsWithState that has a binary value field.

        Such a field may be state that the user's encoder serialized under Scala 2.12, and Scala
        2.13 may be unable to read it. Yields nothing for other operators, or unless the query ran
        before Spark 4.0 and restarts with Spark 4.0 or later.
        """
        if self.crosses(SCALA_2_13) and operator.name == "flatMapGroupsWithState":
            binary = [n for n, schema in operator.schemas.items() if _has_binary(schema.value)]
            for store in binary:
                item = f"serialized state of operator {operator.operator_id} ({operator.name})"
                yield self._line(item, "scala-state", store=(operator.operator_id, store))

    def _checkpoint_format(self) -> Iterator[Line]:
        """Yield a line if the session must set checkpoint format 2, and does not.

        That is for a checkpoint of format 2 and releases before 4.3.
        """
        is_told = CHECKPOINT_FORMAT in self._asked
        if self._checkpoint.logs.unique_ids and not is_told and not self._is_from("4.3"):
            yield self._line(CHECKPOINT_FORMAT, "checkpoint-format-2", "2")

    def _micro_batch(self) -> Iterator[Line]:
        """Yield the line on the change to micro-batch mode.

        It is a refusal if the query ran with asynchronous progress tracking.
        """
        if self._is_async:
            yield self._line("mode", "async-progress-off", ASYNC, MICRO_BATCH)
        else:
            yield self._line("mode", "mode-kept", None, MICRO_BATCH)

    @property
    def _is_async(self) -> bool:
        """True if the offset log shows that the query ran with asynchronous progress tracking.

        Its entry before the newest one is then missing.
        """
        planned = self._checkpoint.logs.last_offset
        return planned is not None and needs_async_progress(self._checkpoint, int(planned))

    def _async(self) -> Iterator[Line]:
        """Yield the line on the change to asynchronous progress tracking.

        It is a refusal for a query with state or sink evolution. It is ``mode-kept`` if the query
        ran so before.
        """
        operators = self._checkpoint.query
        about, old = "async-sink", None
        if operators:
            about, old = "async-state", ", ".join(o.name or "unnamed" for o in operators)
        elif self._has_sink_evolution:
            about, old = "async-sinks", f"format 3 of {COMMITS}"
        elif self._is_async:
            about, old = "mode-kept", ASYNC
        yield self._line("mode", about, old, ASYNC)

    @property
    def _has_sink_evolution(self) -> bool:
        """True if the session sets sink evolution, or the commit log has its format."""
        asked = self._asked.get(SINK_EVOLUTION)
        return asked == "true" or self._checkpoint.logs.formats.get(COMMITS) == WITH_SINKS

    def _real_time(self) -> Iterator[Line]:
        """Yield the lines on the change to real-time mode: sources, operators, formats and sink.

        Before Spark 4.1, which has no such mode, one line says so.
        """
        if not self._is_from("4.1"):
            yield self._line("mode", "real-time-absent", None, REAL_TIME)
            return
        for source in self._sources:
            kind = source.kind.casefold()
            about = "real-time-unknown"
            if "kafka" in kind:
                about = "mode-kept"
            elif source.kind == FILES or "rate" in kind:
                about = "real-time-source"
            yield self._line(f"source {source.name}", about, str(source), REAL_TIME)
        yield from self._real_time_operators()
        if self._is_from("4.3") and self._asked.get(_ALLOW_FORMAT_1) != "true":
            yield from self._real_time_format()
        yield self._line("sink and output mode", "real-time-unknown", None, REAL_TIME)

    def _real_time_operators(self) -> Iterator[Line]:
        """Yield a line for each operator on whether real-time mode of the release runs it."""
        for operator in self._checkpoint.query:
            about = "mode-kept"
            if not self._is_from("4.3") or operator.name not in _IN_REAL_TIME:
                is_checked = self._asked.get(_ALLOWLIST) != "false"
                about = "real-time-operator" if is_checked else "real-time-unknown"
            item = f"operator {operator.operator_id} ({operator.name})"
            subject = operator.operator_id, None
            yield self._line(item, about, operator.name, REAL_TIME, store=subject)

    def _real_time_format(self) -> Iterator[Line]:
        """Yield a line for each obstacle to real-time mode in the state's format or provider.

        These are: a checkpoint of format 1 with a committed batch, a session that sets a checkpoint
        format other than 2, and a session that sets a provider other than Spark's RocksDB.
        """
        # A query without state has commits of format 1 or 2, too (CheckpointVersionManager).
        logs = self._checkpoint.logs
        is_format_2 = bool(logs.unique_ids) or logs.formats.get(COMMITS) == _FORMAT_2
        if logs.last_committed is not None and not is_format_2:
            yield self._line("state store checkpoint format", "real-time-format", "1", "2")
        wanted = {CHECKPOINT_FORMAT: "2", PROVIDER_CLASS: f"{_OWN_PACKAGE}RocksDB"}
        for key, value in wanted.items():
            asked = self._asked.get(key)
            if asked is not None and not asked.startswith(value):
                yield self._line(key, "real-time-conf", None, asked)


def _has_binary(data_type: DataType) -> bool:
    """Return True if a type is binary, or a struct with a binary field at any depth."""
    inner = storage_type(data_type)
    if isinstance(inner, StructType):
        return any(_has_binary(field.data_type) for field in inner.fields)
    return isinstance(inner, AtomicType) and inner.kind == "binary"
