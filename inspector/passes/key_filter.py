"""Keys that are looked for: by some of their fields, or by all bytes of the key row.

A filter is what the user typed, checked against the key schema of a store by :meth:`KeyFilter.bind`
and then held against whole blocks of records. Each condition is one field; all have to hold. A null
is met by null alone. A field of a struct that is null counts as null, unless the struct is given as
a JSON object: then it has to be there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from inspector.decode.arrow_types import arrow_type
from inspector.decode.records import RecordBlock
from inspector.decode.rows import RowDecoder
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.tasks import StoreTask, Task
from inspector.exceptions import CheckpointError
from inspector.kernel.loader import kernel
from inspector.passes.key_values import json_of, plain_value, text_value
from inspector.sparktypes import (
    DataType,
    StructType,
    parse_schema_json,
    storage_type,
    to_ddl,
    unique_names,
)

Bools = npt.NDArray[np.bool_]
Int64s = npt.NDArray[np.int64]

_SHOWN = 60


@dataclass(frozen=True)
class KeyFilter:
    """What is looked for, as it was typed.

    Attributes:
        key: a JSON object of key fields, or the bytes of a whole key row in hex.
        where: ``NAME=VALUE`` each; a dot leads into a struct, the value ``null`` is null.
    """

    key: str | None = None
    where: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is any condition."""
        return self.key is not None or bool(self.where)

    def bind(self, schema: StructType | None) -> BoundFilter:
        """The filter for the keys of one store.

        Args:
            schema: its key schema; None if unknown, which leaves keys in hex.

        Raises:
            CheckpointError: not JSON, not hex, no such field, or no value of the field's type.
        """
        row = None if self.key is None or self._is_json else _hex(self.key)
        conditions: list[Condition] = []
        if self._is_json or self.where:
            if schema is None:
                raise CheckpointError(
                    "keys cannot be looked for by their fields, for there is no state schema: "
                    "give --key-schema, or the whole key row in hex"
                )
            conditions = [*self._of_key(schema), *self._of_where(schema)]
        decoder = RowDecoder(schema) if schema is not None and conditions else None
        return BoundFilter(row, tuple(conditions), decoder)

    @property
    def _is_json(self) -> bool:
        return self.key is not None and self.key.lstrip()[:1] in ("{", "[", '"')

    def _of_key(self, schema: StructType) -> Iterator[Condition]:
        if not self._is_json:
            return
        assert self.key is not None
        try:
            requested = json_of(self.key)
        except ValueError as error:
            raise CheckpointError(f"the key is not JSON: {error}") from None
        if not isinstance(requested, dict):
            raise CheckpointError(f"the key is {self.key[:_SHOWN]}, expected a JSON object")
        yield from _conditions(schema, requested, ())

    def _of_where(self, schema: StructType) -> Iterator[Condition]:
        for text in self.where:
            name, sign, value = text.partition("=")
            if not sign or not name:
                raise CheckpointError(f"got {text[:_SHOWN]!r}, expected NAME=VALUE")
            path, data_type = _find(schema, name.split("."), name)
            try:
                given = text_value(data_type, value)
            except ValueError as error:
                raise _misfit(name, value, str(error)) from None
            yield from _conditions_of(data_type, given, path, name)


@dataclass(frozen=True)
class Condition:
    """One field and its value.

    Attributes:
        path: ordinals from the key row inwards.
        value: an Arrow scalar; None looks for null.
        present: look for anything but null instead.
    """

    path: tuple[int, ...]
    value: Any = None
    present: bool = False


@dataclass(frozen=True)
class BoundFilter:
    """A filter on the keys of one store.

    Attributes:
        row: all bytes of the key, or None.
        conditions: what fields have to hold.
        decoder: of the keys, where there are conditions.
    """

    row: bytes | None = None
    conditions: tuple[Condition, ...] = ()
    decoder: RowDecoder | None = None

    def mask(self, block: RecordBlock) -> Bools:
        """Which records of a block have a key that is looked for."""
        met: Bools = np.ones(block.count, np.bool_)
        if self.row is not None:
            met &= _same_bytes(block, self.row)
        if self.decoder is None or not met.any():
            return met
        rows = np.flatnonzero(met)
        offsets, lengths = block.key_offset[rows], block.key_length[rows]
        keys = self.decoder.decode(block.buffer, offsets, lengths).array
        met[rows] &= keys.is_valid().to_numpy(zero_copy_only=False)
        for condition in self.conditions:
            met[rows] &= _holds(keys, condition)
        return met


class NothingFilter(BoundFilter):
    """The filter of a store whose keys cannot have what is looked for."""

    def mask(self, block: RecordBlock) -> Bools:
        """No record."""
        return np.zeros(block.count, np.bool_)


def bound_or_nothing(requested: KeyFilter, schema: StructType | None) -> BoundFilter:
    """The filter for one of several stores: those without the field have no such key."""
    try:
        return requested.bind(schema)
    except CheckpointError:
        return NothingFilter()


def filter_of(task: Task, store: StoreTask) -> BoundFilter | None:
    """What a task looks for in one of its stores; None for every key."""
    requested = KeyFilter(task.key, task.where)
    if not requested:
        return None
    schema = None if store.key_schema is None else parse_schema_json(store.key_schema)
    return bound_or_nothing(requested, schema)


def chosen(
    blocks: Iterable[RecordBlock], requested: BoundFilter | None
) -> Iterator[tuple[RecordBlock, Int64s]]:
    """The records whose key is looked for, with their ordinals in the file."""
    for block in blocks:
        ordinals = np.arange(block.first_record, block.first_record + block.count)
        if requested is None:
            yield block, ordinals
            continue
        rows = np.flatnonzero(requested.mask(block))
        if len(rows):
            yield _some(block, rows), ordinals[rows]


def _some(block: RecordBlock, rows: Int64s) -> RecordBlock:
    """Some records of a block; they no longer have consecutive ordinals."""
    return replace(
        block,
        key_offset=block.key_offset[rows],
        key_length=block.key_length[rows],
        value_offset=block.value_offset[rows],
        value_length=block.value_length[rows],
        checksum_mismatches=(),
    )


def check_filter(checkpoint: Checkpoint, requested: KeyFilter) -> None:
    """Refuse a filter that fits no store of the checkpoint.

    Raises:
        CheckpointError: as :meth:`KeyFilter.bind` has it for the first store.
    """
    errors: list[CheckpointError] = []
    for operator in checkpoint.operators:
        for store in operator.layout.store_names:
            schema = operator.schemas.get(store)
            try:
                requested.bind(None if schema is None else schema.key)
            except CheckpointError as error:
                errors.append(error)
            else:
                return
    if errors:
        raise errors[0]


def _hex(text: str) -> bytes:
    digits = text.strip()
    try:
        return bytes.fromhex(digits[2:] if digits[:2].lower() == "0x" else digits)
    except ValueError:
        raise CheckpointError(
            f"the key is {text[:_SHOWN]!r}, expected a JSON object such as "
            """'{"user": "a"}', or the bytes of the key row in hex"""
        ) from None


def _find(schema: StructType, parts: Sequence[str], name: str) -> tuple[tuple[int, ...], DataType]:
    """The field of a dotted name: the longest name that fits first, for names may have dots."""
    names = unique_names(schema.fields)
    for size in range(len(parts), 0, -1):
        head = ".".join(parts[:size])
        if head in names:
            ordinal = names.index(head)
            data_type = storage_type(schema.fields[ordinal].data_type)
            if size == len(parts):
                return (ordinal,), data_type
            if isinstance(data_type, StructType):
                path, found = _find(data_type, parts[size:], name)
                return (ordinal, *path), found
    raise _no_field(name, schema)


def _conditions(
    schema: StructType, requested: dict[str, Any], path: tuple[int, ...], prefix: str = ""
) -> Iterator[Condition]:
    names = unique_names(schema.fields)
    for name, value in requested.items():
        if name not in names:
            raise _no_field(prefix + name, schema)
        ordinal = names.index(name)
        data_type = storage_type(schema.fields[ordinal].data_type)
        yield from _conditions_of(data_type, value, (*path, ordinal), prefix + name)


def _conditions_of(
    data_type: DataType, value: Any, path: tuple[int, ...], name: str
) -> Iterator[Condition]:
    if isinstance(data_type, StructType) and isinstance(value, dict):
        yield Condition(path, present=True)
        yield from _conditions(data_type, value, path, f"{name}.")
        return
    try:
        yield Condition(path, _scalar(data_type, value))
    except (ValueError, OverflowError, pa.ArrowException) as error:
        raise _misfit(name, value, str(error)) from None


def _scalar(data_type: DataType, value: Any) -> Any:
    plain = plain_value(data_type, value)
    if plain is None:
        return None
    return pa.scalar(plain, arrow_type(data_type))


def _no_field(name: str, schema: StructType) -> CheckpointError:
    return CheckpointError(
        f"keys have no field {name[:_SHOWN]!r}; they are {to_ddl(schema) or 'empty'}"
    )


def _misfit(name: str, value: Any, message: str) -> CheckpointError:
    return CheckpointError(f"{name[:_SHOWN]}: got {str(value)[:_SHOWN]!r}, {message}")


def _same_bytes(block: RecordBlock, row: bytes) -> Bools:
    same: Bools = block.key_length == len(row)
    rows = np.flatnonzero(same)
    if row and len(rows):
        offsets = np.ascontiguousarray(block.key_offset[rows])
        lengths = np.ascontiguousarray(block.key_length[rows])
        keys = np.frombuffer(kernel().gather(block.buffer, offsets, lengths), np.uint8)
        same[rows] = (keys.reshape(len(rows), -1) == np.frombuffer(row, np.uint8)).all(axis=1)
    return same


def _holds(keys: Any, condition: Condition) -> Bools:
    import pyarrow.compute as pc  # noqa: PLC0415 - slow to import, and few commands need it

    # A field within a null struct is null: struct_field lets the struct's null through.
    field = reduce(lambda array, ordinal: pc.struct_field(array, [ordinal]), condition.path, keys)
    if condition.present:
        found = pc.is_valid(field)
    elif condition.value is None:
        found = pc.is_null(field)
    elif pa.types.is_nested(field.type):
        found = pa.array([each.equals(condition.value) for each in field], pa.bool_())
    elif pa.types.is_floating(field.type) and condition.value.as_py() != condition.value.as_py():
        found = pc.is_nan(field)
    else:
        found = pc.equal(field, condition.value)
    holds: Bools = pc.fill_null(found, False).to_numpy(zero_copy_only=False)
    return holds
