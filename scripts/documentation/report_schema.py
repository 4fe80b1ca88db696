"""The JSON Schema of reports, made from what the analyses declare.

One schema for the envelope of every command; what its tables may have depends on ``command``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from inspector import analyses
from inspector.analyses.shared.declare import Analysis
from inspector.findings.finding import Severity
from inspector.findings.metrics import METRICS
from inspector.findings.verdict import Level
from inspector.model import Certainty
from inspector.render.plain import FindingRow, ProblemRow
from inspector.render.report_data import LISTED, SCHEMA_VERSION
from inspector.render.tabular import Column, Unit

PAGE = "reference/report.schema.json"
"""Where it is, below the documentation."""

Schema = dict[str, Any]

_WIDTH = 100

_TIME = {
    "type": ["string", "null"],
    "description": "RFC 3339 in UTC.",
    "pattern": r"^[+-]?\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$",
}
_TYPES: dict[Unit, Schema] = {
    Unit.TEXT: {"type": ["string", "null"]},
    Unit.COUNT: {"type": ["integer", "null"]},
    Unit.BYTES: {"type": ["integer", "null"]},
    Unit.ID: {"type": ["integer", "null"]},
    Unit.DURATION_MS: {"type": ["integer", "null"]},
    Unit.TIME_MS: {"type": ["integer", "null"]},
    Unit.PER_HOUR: {"type": ["number", "null"]},
    Unit.BYTES_PER_HOUR: {"type": ["number", "null"]},
    Unit.SHARE: {"type": ["number", "null"], "minimum": 0, "maximum": 1},
    Unit.RATIO: {"type": ["number", "null"], "minimum": 0},
    Unit.FLAG: {"type": ["boolean", "null"]},
    Unit.VALUE: {},
}
"""Unit of a column -> type of its values; null is unknown, or nothing."""

_INTEGER: Schema = {"type": "integer"}
_NUMBER: Schema = {"type": "number"}
_TEXT: Schema = {"type": "string"}
_FLAG: Schema = {"type": "boolean"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_SHARE: Schema = _TYPES[Unit.SHARE]


def report_schema() -> str:
    """The schema as text."""
    offered = [analyses.load(name) for name in analyses.names()]
    commands = [item for item in offered if item.tables]
    schema: Schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:spark-state-inspector:report:{SCHEMA_VERSION}",
        "title": "A report of spark-state-inspector",
        "description": "What `-o json` writes for one checkpoint, or for several. Bytes are "
        "integers, estimates are columns with `exact` false.",
        "if": {"required": ["fleet"]},
        "then": {"$ref": "#/$defs/fleet"},
        "else": {"$ref": "#/$defs/report"},
        "$defs": {"report": _report(commands), **_fleet(commands), **_definitions()}
        | {
            f"{command.name}.{name}": row
            for command in commands
            for name, row in _tables(command).items()
            if name not in LISTED
        },
    }
    return _text(schema) + "\n"


def _fleet(commands: Sequence[Analysis]) -> Schema:
    """The envelope about several checkpoints, and what stands for one that failed."""
    head: Schema = {
        "schema_version": {"const": SCHEMA_VERSION},
        "command": {"enum": [command.name for command in commands]},
    }
    level: Schema = {"enum": [level.value for level in Level]}
    error = {"kind": _TEXT, "message": _TEXT, "exit_code": _INTEGER}
    row = {"level": level, "checkpoint": _TEXT, "exit_code": _INTEGER}
    return {
        "fleet": _object(
            head
            | {
                "complete": _FLAG | {"description": "Whether all could be read of all of them."},
                "gone": {
                    "type": "array",
                    "description": "Checkpoints of the baseline that were not found.",
                    "items": _TEXT,
                },
                "fleet": {
                    "type": "array",
                    "description": "A row for each checkpoint, the worst first.",
                    "items": {
                        "type": "object",
                        "properties": row | {"message": {"type": ["string", "null"]}},
                        "required": [*row, "message"],
                    },
                },
                "reports": {
                    "type": "array",
                    "description": "The report of each, in the same order.",
                    "items": {
                        "if": {"required": ["error"]},
                        "then": {"$ref": "#/$defs/failure"},
                        "else": {"$ref": "#/$defs/report"},
                    },
                },
            }
        ),
        "failure": _object(head | {"checkpoint": _TEXT, "error": _object(error)}),
    }


def _report(commands: Sequence[Analysis]) -> Schema:
    """The envelope about one checkpoint."""
    values = {metric.name: {"type": ["number", "null"]} for metric in METRICS}
    return {
        **_object(
            {
                "schema_version": {"const": SCHEMA_VERSION},
                "command": {"enum": [command.name for command in commands]},
                "checkpoint": _TEXT | {"description": "Its root, as the user spelled it."},
                "part": {"anyOf": [{"$ref": "#/$defs/part"}, {"type": "null"}]},
                "verdict": {"anyOf": [{"$ref": "#/$defs/verdict"}, {"type": "null"}]},
                "metrics": _object(values),
                "summary": {"$ref": "#/$defs/summary"},
                "table": _TEXT | {"description": "The name of the command's own table."},
                "columns": {
                    "type": "object",
                    "description": "The columns of every table, by its name.",
                    "additionalProperties": {
                        "type": "array",
                        "items": {"$ref": "#/$defs/column"},
                    },
                },
                "rows": {
                    "type": "array",
                    "description": "The rows of the command's own table; absent where those are "
                    "the findings or the problems.",
                    "items": {"type": "object"},
                },
                "tables": {
                    "type": "object",
                    "description": "The rows of the other tables, by name.",
                    "additionalProperties": {"type": "array", "items": {"type": "object"}},
                },
                "findings": {"type": "array", "items": {"$ref": "#/$defs/finding"}},
                "problems": {"type": "array", "items": {"$ref": "#/$defs/problem"}},
                "complete": _FLAG | {"description": "Whether all could be read."},
                "notes": {"type": "array", "items": _TEXT},
            },
            optional=("rows", "metrics"),
        ),
        "allOf": [_of_command(item) for item in commands],
    }


def _text(value: Any, indent: str = "") -> str:
    """JSON that a person can read: what has room on a line stands on one."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(line) <= _WIDTH or not isinstance(value, (dict, list)) or not value:
        return line
    deeper = f"{indent}  "
    if isinstance(value, dict):
        lines = [f"{json.dumps(name)}: {_text(entry, deeper)}" for name, entry in value.items()]
    else:
        lines = [_text(element, deeper) for element in value]
    inside = ",\n".join(f"{deeper}{item}" for item in lines)
    opened, closed = "{}" if isinstance(value, dict) else "[]"
    return f"{opened}\n{inside}\n{indent}{closed}"


def _of_command(analysis: Analysis) -> Schema:
    """What follows from the name of a command."""
    names = dict.fromkeys(table.table_name for table in analysis.tables)
    siblings = [name for name in names if name not in LISTED]
    schema: Schema = {
        "properties": {
            "table": {"enum": list(names)},
            "columns": {"propertyNames": {"enum": list(names)}},
            "tables": {
                "properties": {name: _rows_of(analysis, name) for name in siblings},
                "additionalProperties": False,
            },
        },
        "allOf": [
            _if("table", name, {"required": ["rows"], "properties": {"rows": rows}})
            for name in siblings
            for rows in (_rows_of(analysis, name),)
        ]
        + [_if("table", name, {"not": {"required": ["rows"]}}) for name in names if name in LISTED],
    }
    return _if("command", analysis.name, schema)


def _if(name: str, value: str, then: Schema) -> Schema:
    return {"if": {"properties": {name: {"const": value}}, "required": [name]}, "then": then}


def _rows_of(analysis: Analysis, name: str) -> Schema:
    return {"type": "array", "items": {"$ref": f"#/$defs/{analysis.name}.{name}"}}


def _tables(analysis: Analysis) -> dict[str, Schema]:
    """Row by table name; two tables of one name have the columns of both."""
    result: dict[str, dict[str, Column]] = {}
    for table in analysis.tables:
        columns = result.setdefault(table.table_name, {})
        columns.update({column.name: column for column in table.columns(raw=True)})
    return {name: _row(columns.values()) for name, columns in result.items()}


def _row(columns: Iterable[Column], required: bool = False) -> Schema:
    properties: dict[str, Schema] = {}
    for column in columns:
        description = {"description": column.doc} if column.doc else {}
        properties[column.name] = _TYPES[column.unit] | description
        if column.unit is Unit.TIME_MS:
            properties[column.name.removesuffix("_ms")] = _TIME
    optional = () if required else tuple(properties)
    return _object(properties, optional=optional)


def _object(properties: dict[str, Schema], optional: Sequence[str] = ()) -> Schema:
    required = [name for name in properties if name not in optional]
    schema: Schema = {"type": "object", "properties": properties}
    return schema | ({"required": required} if required else {}) | {"additionalProperties": False}


def _or_null(schema: Schema) -> Schema:
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return schema | {"type": list(dict.fromkeys([*types, "null"]))}


def _definitions() -> dict[str, Schema]:
    finding, problem = _row(FindingRow.columns(), True), _row(ProblemRow.columns(), True)
    finding["properties"] |= {
        "id": _TEXT | {"pattern": r"^SS\d{3}$"},
        "severity": {"enum": [element.word for element in Severity]},
        "certainty": {"enum": [item.value for item in Certainty]},
    }
    return {
        "part": _part(),
        "verdict": _verdict(),
        "restart": _restart(),
        "growth": _growth(),
        "cause": _cause(),
        "summary": {
            "type": "object",
            "description": "Which checkpoint and version, and totals. A time stands there as "
            "`x_ms` and as the text `x`.",
            "properties": {"checkpoint": _TEXT, "version": _INTEGER, "committed": _FLAG},
            "patternProperties": {
                "_ms$": _TYPES[Unit.TIME_MS],
                "_bytes$": _TYPES[Unit.BYTES],
                "(^|_)(rows|versions_replayed|stores|leftovers|batch(_id)?)$": _TYPES[Unit.COUNT],
                "(_versions|^partitions)$": {
                    "type": ["integer", "array", "null"],
                    "items": _INTEGER,
                },
            },
        },
        "column": _object(
            {
                "name": _TEXT,
                "unit": {"enum": [unit.value for unit in Unit]},
                "exact": _FLAG | {"description": "False for an estimate."},
            }
        ),
        "finding": finding,
        "problem": problem,
    }


def _part() -> Schema:
    return _object(
        {
            "operator_id": _or_null(_COUNT),
            "store_name": _or_null(_TEXT),
            "partition_id": _or_null(_COUNT),
            "version": _or_null(_COUNT) | {"description": "Of the file that was named."},
            "stores": _COUNT,
            "of_stores": _COUNT,
            "partitions": _COUNT,
            "of_partitions": _COUNT,
            "file_bytes": _COUNT,
            "of_file_bytes": _COUNT,
            "subset": _or_null(_TEXT) | {"description": "Of the files by their names: 1/24."},
        }
    ) | {"description": "The part of the checkpoint that was read; null if all was."}


def _verdict() -> Schema:
    return _object(
        {
            "level": {"enum": [level.value for level in Level]},
            "errors": _COUNT,
            "warnings": _COUNT,
            "infos": _COUNT,
            "problems": _COUNT,
            "leftovers": _TYPES[Unit.COUNT] | {"description": "Rows that should be gone."},
            "restart": {"anyOf": [{"$ref": "#/$defs/restart"}, {"type": "null"}]},
            "size": {
                "anyOf": [
                    _object({"rows": _COUNT, "row_bytes": _COUNT, "heap_bytes": _COUNT}),
                    {"type": "null"},
                ],
                "description": "Of the judged version; `heap_bytes` is an estimate. Null from "
                "a command that looks at files alone.",
            },
            "growth": {"anyOf": [{"$ref": "#/$defs/growth"}, {"type": "null"}]},
            "cause": {"anyOf": [{"$ref": "#/$defs/cause"}, {"type": "null"}]},
        }
    ) | {"description": "What one has to know first; null from a command that judges nothing."}


def _restart() -> Schema:
    return _object(
        {
            "possible": _or_null(_FLAG)
            | {"description": "True with the options too; null where the files do not decide it."},
            "batch": _COUNT | {"description": "The batch that runs first."},
            "again": _FLAG | {"description": "It was planned before, and has no commit."},
            "planned_ms": _or_null(_INTEGER),
            "planned": _or_null(_TIME),
            "committed_batch": _or_null(_COUNT),
            "sentence": _TEXT,
            "obstacles": {"type": "array", "items": _TEXT},
            "options": {"type": "array", "items": _TEXT}
            | {"description": "What it needs to restart, as `name=value`; absent if nothing."},
        },
        optional=("options",),
    ) | {"description": "How the query restarts; null of a part or an older version."}


def _growth() -> Schema:
    return _object(
        {
            "growing": _FLAG,
            "rows_per_hour": _INTEGER,
            "bytes_per_hour": _INTEGER,
            "heap_bytes_per_hour": _INTEGER,
            "new_rows_per_hour": _or_null(_COUNT),
            "removed_rows_per_hour": _or_null(_COUNT),
            "since_batch": _INTEGER,
            "since_ms": _INTEGER,
            "since": _TIME,
            "since_oldest": _FLAG | {"description": "It may have begun before what can be read."},
            "versions": _COUNT,
            "judged": _FLAG | {"description": "Whether the versions are enough to tell."},
        }
    ) | {"description": "Estimates, but for the rows that came and went."}


def _cause() -> Schema:
    return _object(
        {
            "finding": _TEXT | {"pattern": r"^SS\d{3}$"},
            "operator_id": _or_null(_COUNT),
            "operator_name": _or_null(_TEXT),
            "store_name": _or_null(_TEXT),
            "sentence": _TEXT,
            "rows_share": _SHARE,
            "bytes_share": _SHARE,
            "heap_share": _SHARE | {"description": "An estimate."},
            "to_do": _TEXT,
            "command": _TEXT | {"description": "The command line that shows more."},
        }
    ) | {"description": "The finding that explains most; null if there is nothing to explain."}
