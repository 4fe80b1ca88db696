"""The options that analyses share, declared once, and the groups in which analyses accept them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, get_type_hints

from inspector.analyses.shared.declare import Group, Option, Parameter, parameter
from inspector.engines.choose import AUTO, IO, LOCAL, NAMES, EngineOptions
from inspector.model import TimeoutKind
from inspector.render.keys import Redact

FOR_PEOPLE = 100
"""Rows in a table for people unless told otherwise; machine formats get all."""

LIMIT = Option(
    f"At most so many rows; 0: all.  [default: {FOR_PEOPLE} in table and markdown, else 0]",
    minimum=0,
    for_people=FOR_PEOPLE,
)

_SCHEMA_HELP = (
    "Schema of a store's {}s, where the checkpoint has none (Spark 3.0 and older) or another: "
    "Spark DDL, StructType JSON, or @FILE; repeatable."
)


def _schema(side: str) -> Option:
    return Option(
        _SCHEMA_HELP.format(side),
        metavar="[OP[:STORE]=]SCHEMA",
        flag=f"--{side}-schema",
        file=True,
    )


@dataclass(frozen=True)
class Options:
    """Options that analyses share; every field has the default of the command line.

    Attributes:
        storage_options: of the storage's driver; may hold credentials.
        batch, state_version: the version to judge, as batch N or as version N + 1; the newest
            committed one if neither is given.
        operator_id, store_name, partition_id: only this part.
        redact: what is shown of keys and values; None for the analysis' own default.
        workers: partitions read at the same time in this process.
        engine: where the tasks run; in this process if not said otherwise.
        timeout_kind: which clock the timers of group state follow, where the bytes do not show it.
        event_time_fields, operator_rules, join_retention: rules that are not in the checkpoint, as
            :mod:`inspector.operators.user_rules` reads them.
        key, where: only these keys, in analyses about rows: a JSON object of key fields or the
            key row in hex; ``NAME=VALUE`` each.
        key_schemas, value_schemas: state schemas in place of those in the checkpoint, each
            ``[OPERATOR[:STORE]=]DDL`` or StructType JSON.
    """

    storage_options: Annotated[
        Mapping[str, str],
        Option(
            "Option of the storage's fsspec driver; repeatable.",
            metavar="KEY=VALUE",
            flag="--storage-option",
        ),
    ] = field(default_factory=dict)
    batch: Annotated[
        int | None,
        Option(
            "Judge the state that this batch made; by default the last committed one.",
            minimum=0,
            source="batchId",
        ),
    ] = None
    state_version: Annotated[
        int | None, Option("Judge this state version (batch + 1).", minimum=0)
    ] = None
    operator_id: Annotated[
        int | None, Option("Only this operator id.", minimum=0, flag="--operator")
    ] = None
    store_name: Annotated[
        str | None, Option("Only this store, such as left-keyToNumValues.", flag="--store")
    ] = None
    partition_id: Annotated[
        int | None,
        Option("Only this partition.", minimum=0, flag="--partition", source="snapshotPartitionId"),
    ] = None
    redact: Annotated[
        Redact | None, Option("Show keys and values, their hash, or nothing of them.")
    ] = None
    workers: Annotated[
        int | None,
        Option(
            "Partitions read at the same time in this process.  [default: the number of cores]",
            minimum=1,
        ),
    ] = None
    engine: EngineOptions = field(default_factory=lambda: EngineOptions(LOCAL))
    timeout_kind: Annotated[
        TimeoutKind | None,
        Option("Clock of group-state timeouts, where the bytes do not show it."),
    ] = None
    event_time_fields: Annotated[
        tuple[str, ...],
        Option(
            "Field that carries the watermark, where the schema does not mark it: "
            "key.ts or value.ts.",
            metavar="[OP=]FIELD",
            flag="--event-time-field",
        ),
    ] = ()
    operator_rules: Annotated[
        tuple[str, ...],
        Option(
            "Rule of an operator: never, or a comparison such as 'key.ts<=watermark', "
            "'key.window<=watermark-1h' or 'value.expires<processing'.",
            metavar="OP[:STORE]=RULE",
            flag="--operator-rule",
        ),
    ] = ()
    join_retention: Annotated[
        tuple[str, ...],
        Option(
            "How far behind the watermark a join's side keeps its rows, such as left=1h.",
            metavar="[OP:]SIDE=DURATION",
        ),
    ] = ()
    key: Annotated[
        str | None,
        Option(
            "Only keys with these fields, as the output shows them: "
            '\'{"user": "a"}\'; or one key by all bytes of its row.',
            metavar="JSON|HEX",
        ),
    ] = None
    where: Annotated[
        tuple[str, ...],
        Option(
            "Only keys whose field has this value; a dot leads into a struct "
            "(window.end=2024-01-01T00:00:10Z), null is null; repeatable.",
            metavar="NAME=VALUE",
        ),
    ] = ()
    key_schemas: Annotated[tuple[str, ...], _schema("key")] = ()
    value_schemas: Annotated[tuple[str, ...], _schema("value")] = ()


def _group(*names: str) -> Group:
    hints = get_type_hints(Options, include_extras=True)
    found = (parameter(name, hints[name], getattr(Options, name, None)) for name in names)
    return tuple(each for each in found if each is not None)


PART = _group("storage_options", "operator_id", "store_name", "partition_id")
AT_VERSION = _group("batch", "state_version")
SCHEMAS = _group("key_schemas", "value_schemas")
KEYS = _group("key", "where")
RULES = _group("timeout_kind", "event_time_fields", "operator_rules", "join_retention")
ENGINE: Group = (
    Parameter(
        "engine.name",
        str,
        Option("Read in this process, or on Spark's executors.", choices=NAMES, flag="--engine"),
        AUTO,
    ),
    Parameter(
        "engine.master",
        str,
        Option(
            "Spark to run on: spark://host:7077, yarn, k8s://..., local[4], or sc://host of "
            "Spark Connect.",
            metavar="URL",
            flag="--master",
        ),
    ),
    Parameter(
        "engine.conf",
        dict,
        Option(
            "Spark conf of the session that is started; repeatable.",
            metavar="KEY=VALUE",
            flag="--conf",
        ),
        many=True,
    ),
    Parameter(
        "engine.io",
        str,
        Option(
            "How files are read: by fsspec, or by the file systems and credentials of Spark.",
            choices=IO,
            flag="--io",
        ),
        IO[0],
    ),
)
WORK: Group = (*_group("workers"), *ENGINE)


def redacting(default: Redact) -> Group:
    """For analyses that show keys; ``default`` is what they hide unless told otherwise."""
    return tuple(replace(each, default=default) for each in _group("redact"))
