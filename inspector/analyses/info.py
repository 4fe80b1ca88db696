"""``info``: identity, from listings, small files, and RocksDB's own files in snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Annotated, Any

from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.judged import Subject, expiry_text, notes_on_appended, vouching_notes
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.options import STATE, Options
from inspector.checkpoint.logs import COMMITS, OFFSETS
from inspector.decode.frames import codec_of
from inspector.discovery.checkpoint import CONF, Checkpoint, Operator, state_file_bytes
from inspector.discovery.formats import codec_in_use, needs_rocksdb
from inspector.discovery.loaded_snapshots import snapshot_problems
from inspector.discovery.lost_files import SINCE_4_0
from inspector.discovery.placement import was_left
from inspector.discovery.user_schemas import GIVEN
from inspector.exceptions import DecodeError
from inspector.light_dataclasses import replace
from inspector.operators.transform_with_state import Family, has_ttl
from inspector.render import tabular as t
from inspector.render.report import Report
from inspector.sparktypes import StringType, StructField, StructType, UserDefinedType
from inspector.sparktypes.ddl import to_ddl

# key in the metadata of a string column whose value is the declared char or varchar type (Spark's
# ``CharVarcharUtils``)
CHAR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"


def schema_text(schema: StructType) -> str:
    """Return the fields of a schema as DDL text, such as ``id BIGINT, name STRING``.

    A user-defined type is written as the type that it stores, with its class as a comment.
    """
    return ", ".join(_field(field) for field in schema.fields)


def _field(field: StructField) -> str:
    """Return one field of a schema as DDL, with its declared char or varchar type."""
    declared = field.metadata.get(CHAR_VARCHAR)
    if isinstance(field.data_type, StringType) and isinstance(declared, str):
        field = replace(field, data_type=replace(field.data_type, declared=declared))
    text = to_ddl(StructType((field,)))
    if isinstance(field.data_type, UserDefinedType):
        definition = field.data_type.definition
        name = str(definition.get("class") or definition.get("pyClass") or "type")
        text += " COMMENT 'user-defined " + name.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return text


# end of the sentence on the restart, unless Spark refuses it: no state file was read to judge it
BY_NAMES = " (by the names of the files; `verify` reads them)"

# names of the confs, after ``spark.sql.streaming.``, whose values the report lists
_CONFS = (
    *("stateStore.providerClass", "stateStore.compression.codec", "aggregation.stateFormatVersion"),
    *("flatMapGroupsWithState.stateFormatVersion", "join.stateFormatVersion"),
    *("stateStore.rowChecksum.enabled", "multipleWatermarkPolicy"),
)


class StoreInfoRow(t.StoreRow, table="stores", empty="the query keeps no state"):
    """One store of an operator, over its partitions."""

    operator_name: Annotated[t.OperatorName | None, t.Rank(11)]
    name_from: Annotated[t.Text, "Where the operator's name is from: `metadata` or `schemas`."]
    partitions: Annotated[t.Count, "Partitions of the store.", t.Rank(21)]
    schema_from: Annotated[
        t.Text,
        "Where the store's schema comes from: `file` and its version, `given` by options, `none`.",
    ]
    prefix_columns: Annotated[
        t.Count | None, "Leading key columns by which Spark scans; null if none."
    ]
    expires: Annotated[t.Expires, t.Rank(22)]
    key_schema: Annotated[t.Text | None, "Schema of the keys as DDL.", t.Rank(23)]
    value_schema: Annotated[t.Text | None, "Schema of the values as DDL.", t.Rank(24)]


class VariableRow(t.StoreRow, table="variables"):
    """A state variable of transformWithState, its timers, or an index that Spark keeps for it."""

    operator_name: t.OperatorName | None
    holds: Annotated[t.Text, "A value, list or map, timers, or an index.", t.Rank(11)]
    variable: Annotated[
        t.Text | None, "The state variable that it belongs to; null for timers.", t.Rank(12)
    ]
    ttl: Annotated[
        bool | None,
        t.Unit.TEXT,
        "Whether its values have a TTL; null if it is not a variable.",
        t.Rank(13),
    ]
    declared: Annotated[
        bool | None,
        t.Unit.TEXT,
        "Whether the newest start of the query declares it; null if not known.",
        t.Rank(14),
    ]
    time_mode: Annotated[
        t.Text | None, "`TimeMode` of the processor, by Spark's metadata.", t.Rank(15)
    ]
    output_mode: Annotated[t.Text | None, "Output mode of the query, by Spark's metadata."]


class FormatRow(t.Row, table="formats"):
    """The format of one kind of file; `confs` has the state formats."""

    what: Annotated[t.Text, "The log or the kind of file.", t.Rank(1)]
    format: Annotated[t.Text | None, "The format and its version."]
    from_: Annotated[t.Text | None, "The file or log entry that shows it."]


class ConfRow(t.Row, table="confs"):
    """A Spark conf that the state depends on."""

    conf: Annotated[
        t.Text,
        "Its name: provider, codec, formats, watermark policy, shuffle partitions.",
        t.Rank(1),
    ]
    value: Annotated[t.Text | None, "Its value."]
    origin: Annotated[
        t.Text, "`recorded` by a batch, which is named if it is another, or Spark's `default`."
    ]


@analysis(uses=(STATE,), tables=(StoreInfoRow, VariableRow, FormatRow, ConfRow), many=True)
def info(path: str | Opened, options: Options | None = None) -> Report:
    """Overview: query, operators, stores, schemas, rules, batches, watermark, configuration.

    It reads names, logs and schemas, and no rows. The summary, printed first, has the last
    committed batch, its watermark and the newest batch in the log (planned, perhaps not committed).
    Its ``restart`` says whether the query restarts and from which batch, judged by file names;
    ``verify`` reads the state files.
    """
    run = Opened.start(path, options, whole_logs=False)
    is_newest = run.version == run.checkpoint.newest_version
    problems = snapshot_problems(run.checkpoint) if is_newest else ()
    return info_report(run.subject(problems))


def info_report(subject: Subject) -> Report:
    """Return the report on identity, operators, stores, schemas, rules, formats and confs."""
    checkpoint, version, logs = subject.checkpoint, subject.version, subject.checkpoint.logs
    batches = list(logs.clocks)
    summary: dict[str, Any] = {
        "oldest_batch_in_log": batches[0] if batches else None,
        "newest_batch_in_log": batches[-1] if batches else None,
        "last_committed_batch": logs.last_committed,
        "state_file_bytes": state_file_bytes(checkpoint),
    }
    if subject.restart is not None:
        refused = any(obstacle.words for obstacle in subject.restart.obstacles)
        premise = "" if refused else BY_NAMES
        summary["restart"] = f"{subject.restart.sentence[:-1]}{premise}."
    store_rows = [row for o in checkpoint.operators for row in _store_rows(checkpoint, o, version)]
    variable_rows = [row for operator in checkpoint.operators for row in _variable_rows(operator)]
    confs = []
    for key in (*(CONF + name for name in _CONFS), "shuffle.partitions"):
        value, origin, batch = logs.conf_for(version - 1, key)
        origin = f"recorded by batch {batch}" if origin == "nearest" else origin
        confs.append(ConfRow(conf=f"spark.sql.{key}", value=value, origin=origin))
    variables = [VariableRow.table("state variables", variable_rows)] if variable_rows else []
    tables = (
        *(StoreInfoRow.table("stores", store_rows), *variables),
        FormatRow.table("formats", list(_format_rows(checkpoint))),
        ConfRow.table("Spark confs of the judged batch", confs),
    )
    notes = [*_notes(checkpoint), *_copy_notes(checkpoint), *notes_on_appended(checkpoint)]
    return subject.report("info", tables, summary, notes=[*notes, *vouching_notes(subject)])


def _variable_rows(operator: Operator) -> Iterator[VariableRow]:
    """Yield a row for each store of a transformWithState operator; none for other operators.

    Stores that the operator does not use, and stores of an unknown kind, are left out.
    """
    processor = operator.processor
    if processor is None:
        return
    for name in operator.layout.store_names:
        family, schema = operator.family(name), operator.schemas.get(name)
        if family is None or family is Family.UNUSED:
            continue
        yield VariableRow(
            operator_id=operator.operator_id,
            operator_name=operator.name,
            store_name=name,
            holds=family.value,
            variable=operator.variable(name),
            ttl=has_ttl(schema.value) if family.is_variable and schema is not None else None,
            declared=processor.declares(name) if family.is_variable else None,
            time_mode=processor.time_mode or None,
            output_mode=processor.output_mode or None,
        )


def _format_rows(checkpoint: Checkpoint) -> Iterator[FormatRow]:
    """Yield rows on the formats of both logs, the codec of state files, and operator metadata.

    There is one row for the metadata of each operator. The format of a log or codec is None if it
    is not known.
    """
    logs = checkpoint.logs
    for name, log, batch in (
        ("offset log", OFFSETS, logs.last_offset),
        ("commit log", COMMITS, logs.last_committed),
    ):
        number, entry = logs.formats.get(log), None if batch is None else f"entry {batch}"
        yield FormatRow(what=name, format=None if number is None else f"v{number}", from_=entry)
    codec, newest = codec_in_use(checkpoint)
    yield FormatRow(
        what="codec of state files",
        format=_codec_text(checkpoint, codec, newest.version or 0) if newest else None,
        from_=checkpoint.storage.relative(newest.path) if newest else None,
    )
    # Metadata is written when a query begins. The log may show why there is none.
    absence = "none (Spark 3.5 and older)"
    if any(SINCE_4_0 in confs for confs in logs.confs.values()):
        absence = "none (the query began with Spark 3.5 or older, or it is lost)"
    for operator in checkpoint.operators:
        metadata = operator.metadata
        yield FormatRow(
            what=f"metadata of operator {operator.operator_id}",
            format=f"v{metadata.format}" if metadata else absence,
            from_=f"{operator.layout.directory}/_metadata" if metadata else None,
        )


def _codec_text(checkpoint: Checkpoint, codec: str | None, version: int) -> str | None:
    """Return the name of the codec that state files have; None if ``codec`` is None.

    ``codec`` is the codec that the newest file shows, and ``version`` the version of that file. If
    the offset log records another codec for this version, a clause says so.
    """
    if codec is None:
        return None
    recorded = checkpoint.conf(version, "stateStore.compression.codec") or codec
    try:
        is_same = codec_of(recorded) == codec
    except DecodeError:
        is_same = False
    return codec if is_same else f"{codec}, though the offset log records {recorded}"


def _notes(checkpoint: Checkpoint) -> Iterator[str]:
    """Yield a sentence if no batch was committed, and sentences on operators.

    They are about operators that cannot run on the checkpoint's state store provider, because they
    need RocksDB, and about operators without state files.
    """
    if checkpoint.logs.last_offset is not None and not checkpoint.newest_version:
        yield "No batch was committed, so there is no state to judge."
    for operator in checkpoint.operators:
        refused = needs_rocksdb(checkpoint, operator)
        if refused is not None:
            yield f"operator {operator.operator_id}: {refused}"
        if not any(store.files for store in operator.layout.stores):
            yield f"operator {operator.operator_id} ({operator.name}) has no state files"


def _store_rows(checkpoint: Checkpoint, operator: Operator, version: int) -> Iterator[StoreInfoRow]:
    """Yield a row for each store of an operator, with its schemas and its expiry rule.

    Partition folders that remain of an older partition count are not counted; ``version`` is the
    judged state version.
    """
    partitions = [p for p in operator.layout.partitions if not was_left(checkpoint, p, version)]
    # Leading key columns by which Spark scans, as its metadata has it.
    declared = operator.metadata.stores if operator.metadata else ()
    prefixes = {info.store_name: info.num_cols_prefix_key for info in declared}
    for name in operator.layout.store_names:
        schema, source = operator.schemas.get(name), "none"
        if schema is not None:
            source = "given" if schema.version == GIVEN else f"file v{schema.version}"
        yield StoreInfoRow(
            operator_id=operator.operator_id,
            operator_name=operator.name,
            store_name=name,
            name_from=operator.name_from,
            partitions=len(partitions),
            schema_from=source,
            prefix_columns=prefixes.get(name),
            expires=expiry_text(operator.rules[name]),
            key_schema=None if schema is None else schema_text(schema.key),
            value_schema=None if schema is None else schema_text(schema.value),
        )


def _copy_notes(checkpoint: Checkpoint) -> Iterator[str]:
    """Yield a sentence on how the command ``copy`` made the checkpoint; none if it did not."""
    record = checkpoint.copy_record
    if record is None:
        return
    time = datetime.fromtimestamp(record.made_ms / 1000, timezone.utc)
    evicted = f". Evicted were {'; '.join(record.evicted)}" if record.evicted else ""
    yield (
        f"It was copied from {record.source} as it was after batch {record.batch}, on "
        f"{time:%Y-%m-%d %H:%M} UTC by spark-state-inspector {record.made_by}{evicted}."
    )
