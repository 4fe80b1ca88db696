"""Operators whose state a copy converts from format 1 to format 2, and their new schema files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from inspector.checkpoint.logfile import json_object
from inspector.checkpoint.state_schema import schema_path, schema_texts
from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.discovery.user_schemas import GIVEN
from inspector.encode.schema_file import schema_file
from inspector.exceptions import CheckpointError
from inspector.light_dataclasses import dataclass
from inspector.model import DEFAULT_STORE
from inspector.operators.aggregation import NAMES as AGGREGATION
from inspector.operators.group_state import (
    NAMES as GROUP_STATE,
)
from inspector.operators.group_state import (
    PANDAS,
    STATE_FIELD,
    timeout_ordinal,
)
from inspector.operators.join import NAMES as JOIN
from inspector.passes.state_formats import FormatOne

# state format from which, and to which, a copy converts values, as in confs
OLD, NEW = "1", "2"
_CONF = "spark.sql.streaming."  # prefix of the names in _CONFS
# name, without the prefix, of the conf with the state format of each kind of operator
_CONFS = {
    FormatOne.AGGREGATION: "aggregation.stateFormatVersion",
    FormatOne.GROUP_STATE: "flatMapGroupsWithState.stateFormatVersion",
}
# message of the error if no operator has state in format 1
_NOTHING = (
    "no aggregation and no group state is in format 1 by the offset log: leave out --state-format"
)
# end of the message _NOTHING if the checkpoint has a join in format 1
_JOIN_STAYS = (
    "; a join in format 1 does not record which rows have found a partner, so start a new query "
    "for another format of it"
)


@dataclass(frozen=True)
class Conversion:
    """Conversion of the state of one operator to format 2."""

    operator_id: int  # number of the operator
    conf: str  # full name of the conf by which the offset log records its state format
    kind: FormatOne  # kind of the operator: aggregation or group state
    schema_path: str  # path of the operator's schema file, below the root
    schema: bytes  # new content of the schema file


def conversions_of(checkpoint: Checkpoint, version: int) -> list[Conversion]:
    """Return a conversion for each aggregation and group state in format 1.

    The offset log shows the format at ``version``, the state version that is copied. Joins are not
    converted. CheckpointError: there is no such operator, or one of them cannot be converted.
    """
    result = list(_conversions(checkpoint, version))
    if not result:
        is_old_join = checkpoint.conf(version, "join.stateFormatVersion") == OLD
        has_join = any(operator.name in JOIN for operator in checkpoint.operators)
        text = _NOTHING + (_JOIN_STAYS if has_join and is_old_join else "")
        raise CheckpointError(text, checkpoint.root)
    return result


def _conversions(checkpoint: Checkpoint, version: int) -> Iterator[Conversion]:
    """Yield the conversion of each aggregation and group state in format 1 at ``version``.

    CheckpointError: an operator cannot be converted.
    """
    for operator in checkpoint.operators:
        kind = _kind_of(operator)
        if kind is None or checkpoint.conf(version, _CONFS[kind]) != OLD:
            continue
        yield _conversion(checkpoint, operator, kind)


def _kind_of(operator: Operator) -> FormatOne | None:
    """Return the kind of an operator whose state may be in format 1.

    Return None for other operators, and for group state of a function in Python that has format 2
    by its schema.
    """
    if operator.name in AGGREGATION:
        return FormatOne.AGGREGATION
    schema = operator.schemas.get(DEFAULT_STORE)
    # Spark runs functions in Python with format 2 only, and ignores the conf.
    is_new = schema is not None and schema.value.fields[:1] and operator.name == PANDAS
    if operator.name in GROUP_STATE and not (
        is_new and schema is not None and schema.value.fields[0].name == STATE_FIELD
    ):
        return FormatOne.GROUP_STATE
    return None


def _conversion(checkpoint: Checkpoint, operator: Operator, kind: FormatOne) -> Conversion:
    """Return the conversion of ``operator``, which is of the kind ``kind`` and in format 1.

    CheckpointError: it has no schema file, or the values of an aggregation do not begin with the
    grouping columns.
    """
    number, schema = operator.operator_id, operator.schemas.get(DEFAULT_STORE)
    where = f"operator {number} ({operator.name})"
    if schema is None or schema.version == GIVEN:
        raise CheckpointError(
            f"{where} has no schema file, without which its values cannot be converted: let Spark "
            "3.1 or later run one batch, and copy then",
            checkpoint.root,
        )
    key_types = [field.data_type for field in schema.key.fields]
    types = [field.data_type for field in schema.value.fields]
    if kind is FormatOne.AGGREGATION and types[: len(key_types)] != key_types:
        raise CheckpointError(
            f"{where}: the offset log records format {OLD}, and values do not begin with the "
            "grouping columns. Copy it without --state-format",
            checkpoint.root,
        )
    has_timer = kind is FormatOne.GROUP_STATE and timeout_ordinal(schema.value) is not None
    path = schema_path(number, DEFAULT_STORE)
    key, value = schema_texts(checkpoint.storage.read(path))
    fields: Any = json_object(value)["fields"]
    if kind is FormatOne.AGGREGATION:
        changed = fields[len(key_types) :]
    else:
        changed = [_struct_field(fields[:-1] if has_timer else fields)]
        # In format 1 the timer's type in the schema is integer, although rows hold a long.
        changed += [{**fields[-1], "type": "long"}] if has_timer else []
    text = json.dumps(_struct(changed), separators=(",", ":"), ensure_ascii=False)
    return Conversion(number, _CONF + _CONFS[kind], kind, path, schema_file(key, text))


def _struct_field(fields: list[Any]) -> Mapping[str, Any]:
    """Return the JSON of the one field of values in format 2: a struct of ``fields``.

    ``fields`` are the fields of the state as JSON of a schema.
    """
    return _field(STATE_FIELD, _struct(fields), nullable=True)


def _struct(fields: list[Any]) -> Mapping[str, Any]:
    """Return the JSON of a struct type with ``fields``, which are JSON of a schema."""
    return {"type": "struct", "fields": fields}


def _field(name: str, data_type: Any, *, nullable: bool) -> Mapping[str, Any]:
    """Return the JSON of a field of a schema, without metadata; ``data_type`` is JSON, too."""
    return {"name": name, "type": data_type, "nullable": nullable, "metadata": {}}
