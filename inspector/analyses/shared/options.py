"""The options that analyses share, and the groups of them that analyses accept."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Union

from inspector.checkpoint.urls import spell_root
from inspector.engines.choose import AUTO, IO, LOCAL, NAMES, EngineOptions
from inspector.exceptions import CheckpointError
from inspector.light_dataclasses import dataclass, field, hints_of, replace
from inspector.model import Redact, TimeoutKind
from inspector.type_hints import HintParts, hint_parts


@dataclass(frozen=True)
class Option:
    """Properties of a command line option, in the annotation of a parameter."""

    help: str = ""  # help text
    minimum: int | None = None  # least allowed value of a number; None for no limit
    # allowed values of a text; those of an enum or ``Literal`` follow from its type
    choices: tuple[str, ...] = ()
    metavar: str | None = None  # placeholder for the value in the help, such as ``KEY=VALUE``
    # spelling on the command line, such as ``--partition``; None if it follows from the name
    flag: str | None = None
    source: str | None = None  # name in Spark's data source; None for the name in camel case
    size: bool = False  # True for a number of bytes, which may be spelled ``8GiB``
    file: bool = False  # True for a text that may be read from a file, spelled ``@FILE``
    for_people: int | None = None  # default in formats for people; None if it does not differ


@dataclass(frozen=True)
class Parameter:
    """An option, or an argument, with its name and type."""

    # name of the function's parameter or of the field of ``Options``; ``engine.master`` is the
    # field ``master`` of its field ``engine``
    name: str
    kind: type  # the type of one value: int, str, bool or an enum; ``dict`` for ``KEY=VALUE`` pairs
    option: Option  # properties on the command line
    default: Any = None  # value if the option is not given
    many: bool = False  # True if the option may be repeated
    required: bool = False  # True if the argument must be given

    @property
    def flag(self) -> str:
        """Spelling on the command line, such as ``--key-schema``.

        Unless declared, it is made of the name, without a last ``s`` if the option may be repeated.
        """
        name = self.name.rpartition(".")[2].replace("_", "-")
        return self.option.flag or f"--{name.removesuffix('s') if self.many else name}"

    @property
    def source(self) -> str:
        """Name in Spark's data source: the declared one, or else the name in camel case."""
        if self.option.source is not None:
            return self.option.source
        first, *later = self.name.split("_")
        return first + "".join(map(str.capitalize, later))

    @property
    def choices(self) -> tuple[str, ...]:
        """Values that are allowed, of the enum or as declared; empty if any value is."""
        if issubclass(self.kind, enum.Enum):
            return tuple(member.value for member in self.kind)
        return self.option.choices


Group = tuple[Parameter, ...]  # options that belong together and that several analyses share


def parameter(name: str, hint: Any, default: Any) -> Parameter | None:
    """Return the parameter that the annotation ``hint`` declares; None if it has no ``Option``.

    ``name`` and ``default`` are those of the parameter or field. It is required if ``default`` is
    :data:`inspect.Parameter.empty`.
    """
    parts = hint_parts(hint)
    option = next((mark for mark in parts.marks if isinstance(mark, Option)), None)
    if option is None:
        return None
    required = default is inspect.Parameter.empty
    value_type, choices, many = _element_type(parts)
    if choices:
        option = replace(option, choices=choices)
    return Parameter(name, value_type, option, None if required else default, many, required)


def _element_type(parts: HintParts) -> tuple[type, tuple[str, ...], bool]:
    """Return the type of one value, the choices, and True if several values are allowed.

    ``parts`` are the parts of a type hint. Only a ``Literal`` has choices. Several values are
    allowed for a tuple, and for a mapping, whose type is ``dict``.
    """
    if parts.origin is Union:
        # ``str | tuple[str, ...]``: one of several values may be given without its tuple.
        forms = list(map(hint_parts, parts.arguments))
        parts = next((form for form in forms if form.origin is tuple), forms[0])
    if parts.origin is tuple:
        value_type, choices, _ = _element_type(hint_parts(parts.arguments[0]))
        return value_type, choices, True
    if parts.origin is Literal:
        return str, parts.arguments, False
    if isinstance(parts.origin, type) and issubclass(parts.origin, Mapping):
        return dict, (), True
    return parts.origin, (), False


# default number of rows in a table for people, at most; formats for machines get all rows
FOR_PEOPLE = 100

# option ``--raw`` of commands that list rows
RAW = Option("Add the columns key_hex and value_hex with the UnsafeRow bytes.")
# option ``--limit`` of commands that list rows
LIMIT = Option(
    f"Maximum rows (0 = all).  [default: {FOR_PEOPLE} in table, markdown and html, else 0]",
    minimum=0,
    for_people=FOR_PEOPLE,
)

# help of both schema options; the placeholder is ``key`` or ``value``
_HELP = {  # help texts of the shared options, by fields of :class:`Options`
    "storage_options": "Option for the fsspec driver of the storage; repeatable.",
    "provider_format": "Format of the state files, if their state store provider is none of "
    "Spark's or Databricks': that of the HDFS-backed provider (hdfs) or of RocksDB (rocksdb).",
    "batch": "Inspect the state as of this batch.  [default: the last committed batch]",
    "store_name": "Only this store, such as left-keyToNumValues, or left or right for the rows of "
    "one side of a join.",
    "state_version": "Inspect this state version (batch + 1).",
    "operator_id": "Only the operator with this id.",
    "partition_id": "Only this partition.",
    "redact": "Redact keys and values: show them (none), their hashes, or nothing (all).",
    "workers": "Number of partitions to read at the same time in this process.  [default: the "
    "number of cores]",
    "memory_limit": "Memory limit of this process, or of each Python worker on Spark, such as "
    "2GiB. A partition with too many keys is read in several passes.",
    "timeout_kind": "Type of the group-state timeouts, event time or processing time, if the "
    "files do not show it.",
    "event_time_fields": "Field that carries the watermark, if the schema does not mark it, such "
    "as key.ts or value.ts.",
    "operator_rules": "Expiry rule of an operator: never, or a comparison such as "
    "'key.ts<=watermark', 'key.window<=watermark-1h' or 'value.expires<processing'.",
    "join_retention": "How far behind the watermark a side of a join keeps its rows, such as "
    "left=1h.",
    "key": "Only this key: its value (a) where it has one column, a field and its value (user=a "
    'or window.end=2024-01-01T00:00:10Z; repeatable), a JSON object (\'{"user": "a"}\'), its bytes '
    "(hex:...), or the hash of a redacted key (sha256:...).",
    "where": "Only rows whose field has such a value: user=a for a field of the key, "
    "'value.count>10' for a field of the value. OP is one of = != < <= > >= ~= (regular "
    "expression) contains. Quote it for the shell, use a dot for a field of a struct, and null for "
    "null; repeatable.",
    "key_schemas": "Schema of a store's keys, if the checkpoint has none (Spark 3.0 and older) or "
    "a wrong one: Spark DDL, StructType JSON, or @FILE; repeatable.",
    "value_schemas": "Schema of a store's values, in the same forms; repeatable.",
    "thresholds": "Threshold of a finding, such as skew_ratio=5, heap_bytes=8GiB, or SS202=100 "
    "for at least 100 rows; repeatable. The findings page lists all of them.",
    "cache": "Cache reports in this folder, on any storage. As long as no file of a checkpoint "
    "changes, its next audits take one listing and read no files.",
}


@dataclass(frozen=True)
class Options:
    """Options that analyses share; every field has the default of the command line.

    The help of an option on the command line also describes its field here.
    """

    # options of the storage's driver, by name; they may hold credentials
    storage_options: Annotated[Mapping[str, str], Option(metavar="KEY=VALUE")] = field(
        default_factory=dict, repr=False
    )
    # format of the state files of an unknown state store provider; None if the provider is known
    provider_format: Annotated[Literal["hdfs", "rocksdb"] | None, Option()] = None
    # batch after which the state is read; None for that of ``state_version``, or without it for the
    # newest committed one
    batch: Annotated[int | None, Option(minimum=0, source="batchId")] = None
    state_version: Annotated[int | None, Option(minimum=0)] = None  # batch + 1; None as for batch
    # id of the only operator that is read; None for all
    operator_id: Annotated[int | None, Option(minimum=0, flag="--operator")] = None
    # name of the only store that is read; None for all
    store_name: Annotated[str | None, Option(flag="--store")] = None
    # id of the only partition that is read; None for all
    partition_id: Annotated[
        int | None, Option(minimum=0, flag="--partition", source="snapshotPartitionId")
    ] = None
    # redaction of keys and values; None for the default of the analysis
    redact: Annotated[Redact | None, Option()] = None
    # number of partitions read at the same time in this process; None for the number of cores
    workers: Annotated[int | None, Option(minimum=1)] = None
    # memory of this process, or of each Python worker on Spark, in bytes; None for no limit
    memory_limit: Annotated[int | None, Option(size=True)] = None
    # options of the engine, which reads the files; by default in this process
    engine: EngineOptions = field(default_factory=lambda: EngineOptions(LOCAL))
    # clock of group-state timeouts; None if the files have to show it
    timeout_kind: Annotated[TimeoutKind | None, Option()] = None
    # fields that carry the watermark where no schema marks them
    event_time_fields: Annotated[tuple[str, ...], Option(metavar="[OP=]FIELD")] = ()
    # expiry rules of operators, as texts
    operator_rules: Annotated[tuple[str, ...], Option(metavar="OP[:STORE]=RULE")] = ()
    # how long sides of joins keep their rows behind the watermark, as texts
    join_retention: Annotated[tuple[str, ...], Option(metavar="[OP:]SIDE=DURATION")] = ()
    # key, or conditions on its fields, of the only rows that are read; empty for all rows
    key: Annotated[str | tuple[str, ...], Option(metavar="VALUE|FIELD=VALUE|JSON|HEX|HASH")] = ()
    # conditions on the fields of the only rows that are read; empty for all rows
    where: Annotated[tuple[str, ...], Option(metavar="'FIELD OP VALUE'")] = ()
    # schemas of stores' keys, in place of those of the checkpoint
    key_schemas: Annotated[tuple[str, ...], Option(metavar="[OP[:STORE]=]SCHEMA", file=True)] = ()
    # schemas of stores' values, in place of those of the checkpoint
    value_schemas: Annotated[tuple[str, ...], Option(metavar="[OP[:STORE]=]SCHEMA", file=True)] = ()
    # thresholds of findings, by name; defaults for all others
    thresholds: Annotated[Mapping[str, str | float], Option(metavar="NAME=VALUE")] = field(
        default_factory=dict
    )
    cache: Annotated[str | None, Option(metavar="DIR")] = None  # folder of cached reports, or None

    @property
    def keys(self) -> tuple[str, ...]:
        """Values of ``key`` as a tuple; empty if no key is given."""
        return (self.key,) if isinstance(self.key, str) else tuple(self.key)


_HINTS = hints_of(Options)  # annotations of the fields of :class:`Options`


def _group(*names: str) -> Group:
    """Return the parameters for the fields of :class:`Options` in ``names``, with their help."""
    group = []
    for name in names:
        item = parameter(name, _HINTS[name], getattr(Options, name, None))
        assert item is not None
        group.append(replace(item, option=replace(item.option, help=_HELP[name])))
    return tuple(group)


# Groups of options that analyses accept by ``uses``, from STORAGE to SHARED.

STORAGE = _group("storage_options")  # options of the storage's driver
FORMAT = _group("provider_format")  # options on the format of the state files
# options on the storage, and on the part of the checkpoint
PART = _group("storage_options", "provider_format", "operator_id", "store_name", "partition_id")
AT_VERSION = _group("batch", "state_version")  # options on the batch or version
SCHEMAS = _group("key_schemas", "value_schemas")  # options with schemas of stores
KEYS = _group("key", "where")  # options that filter keys and values
THRESHOLDS = _group("thresholds")  # option with thresholds of findings
CACHE = _group("cache")  # option with the folder of cached reports
# options on expiry rules
RULES = _group("timeout_kind", "event_time_fields", "operator_rules", "join_retention")
# declarations of the options of the engine, by fields of ``EngineOptions``
_ENGINE = {
    "name": Option(
        "Where to read: in this process, or on Spark's executors. auto: on Spark if one is "
        "configured, or for 16 GiB of state files and more.",
        choices=NAMES,
        flag="--engine",
    ),
    "master": Option(
        "Read on the Spark with this master, such as spark://host:7077, yarn, k8s://..., local[4], "
        "or sc://host for Spark Connect.",
        metavar="URL",
    ),
    "conf": Option("Configuration of the Spark session to start; repeatable.", metavar="KEY=VALUE"),
    "io": Option(
        "How to read files: with fsspec, or with the file systems and credentials of Spark.",
        choices=IO,
    ),
}
# options of the engine
ENGINE: Group = (
    Parameter("engine.name", str, _ENGINE["name"], AUTO),
    Parameter("engine.master", str, _ENGINE["master"]),
    Parameter("engine.conf", dict, _ENGINE["conf"], many=True),
    Parameter("engine.io", str, _ENGINE["io"], IO[0]),
)
HERE = _group("workers")  # options of work in this process
MEMORY = _group("memory_limit")  # option with the memory limit
WORK: Group = (*HERE, *MEMORY, *ENGINE)  # options on the work: workers, memory and engine
STATE: Group = (*SCHEMAS, *PART, *AT_VERSION)  # which state is read, and by which schemas
REPLAY: Group = (*WORK, *STATE)  # options on the state, and on how it is read


def redacting(default: Redact) -> Group:
    """Return a group with the option ``--redact`` alone, whose default is ``default``."""
    return tuple(replace(item, default=default) for item in _group("redact"))


# every option that analyses share; each accepts some of them
SHARED: Group = (
    *(*PART, *AT_VERSION, *SCHEMAS, *KEYS, *RULES, *THRESHOLDS, *CACHE, *WORK),
    *redacting(Redact.NONE),
)


def cache_inside(folder: str) -> CheckpointError:
    """Return the error to raise for a cache ``folder`` that is inside a checkpoint."""
    message = "the folder of the cache lies in the checkpoint, which is never written to"
    return CheckpointError(message, spell_root(folder))
