"""Filters of keys by the forms in which a user names them, and of rows by the fields of values.

======================  =========================================================================
``user=a``              a field of the key; a dot leads into a struct; repeated: all have to hold
``a``                   the value of a key of one column
``{"user": "a"}``       the same as a JSON object
``hex:0000...``         all bytes of the key row; bare digits will do
``sha256:f04c...``      the hash by which reports name a key that they hide, or its first digits
======================  =========================================================================

A filter is what the user typed, checked against the schemas of a store by :meth:`KeyFilter.bind`
and then applied to whole blocks of records. All conditions have to hold. A field of a struct that
is null counts as null, unless the struct is given as a JSON object: then it has to be there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from inspector.arrays import Bools, Int64s
from inspector.decode.composed_rows import Rows
from inspector.decode.records import RecordBlock
from inspector.decode.row_columns import RowDecoder
from inspector.decode.row_hash import HASH, hash_digits
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.tasks import StoreTask, Task
from inspector.exceptions import CheckpointError, DecodeError
from inspector.kernel.loader import kernel
from inspector.light_dataclasses import dataclass
from inspector.operators.transform_with_state import GroupingKey
from inspector.passes.conditions import (
    KEY,
    SHOWN,
    VALUE,
    Condition,
    Part,
    Term,
    condition_of,
    conditions_of_object,
)
from inspector.passes.grouping_keys import grouping_keys
from inspector.passes.key_values import json_of
from inspector.passes.tracked import schemas
from inspector.sparktypes import StructType, widen_timeout

FORMS = (
    "a field and its value (user=a), the value alone where the key has one column, a JSON object "
    "such as "
    """'{"user": "a"}', the bytes of the key row in hex (hex:...), or the hash of a redacted key """
    "(sha256:...)"
)
"""The forms in which a key can be named, as a clause for messages."""

_HEX = "hex:"  # prefix of a key that is given as hex digits
_MOST_ERRORS = 4  # most reasons that one error lists
_ROW = re.compile(r"hex:|(0x)?0[01]0{14}([0-9a-f]{16})+$", re.IGNORECASE)
"""Text that can be the hex digits of a row of one column: a word of null bits, and words with its
value.
"""
_DIGITS = re.compile(r"[0-9a-f]{1,64}")  # digits of a SHA-256 hash, or its first ones


@dataclass(frozen=True)
class KeyFilter:
    """Filter of rows by key and value, as the user typed it."""

    key: tuple[str, ...] = ()  # names of a key, each in one of the forms above
    # conditions on fields of keys or values: ``NAME=VALUE``, or with another comparison
    where: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.key or self.where)

    @property
    def hashes(self) -> tuple[str, ...]:
        """Names of keys that are hashes (``sha256:...``).

        The digits of one may be the first digits of several keys' hashes.
        """
        return tuple(text for text in map(str.strip, self.key) if text.startswith(HASH))

    def bind(
        self,
        key: StructType | None,
        value: StructType | None = None,
        grouping: GroupingKey | None = None,
        *,
        whole_groups: bool = False,
    ) -> BoundFilter:
        """Return the filter for one store with these schemas.

        Without a key schema only keys in hex and hashes can be used. With ``grouping`` a name also
        stands for the grouping key within the key, whose fields are tried first. With
        ``whole_groups`` names stand only for the grouping key: the filter matches all rows of a
        group or none. CheckpointError: the text has none of the forms, or the schema has no such
        field, or the field no such value.
        """
        rows: set[bytes] = set()
        hashes: set[str] = set()
        result: dict[str, list[Condition]] = {KEY: [], VALUE: []}
        names = _Names.of(key, value, grouping, whole_groups=whole_groups)
        for text in map(str.strip, self.key):
            if text.startswith(HASH):
                hashes.add(_hash(text))
            else:
                conditions = names.conditions_of_key(text)
                result[KEY] += conditions or ()
                rows.update([_hex(text)] if conditions is None else [])
        for text in self.where:
            side, conditions_of_side = names.conditions_of_term(Term.parse(text), names.sides)
            result[side] += conditions_of_side
        fields = _Fields.of(key, result[KEY]), _Fields.of(value, result[VALUE])
        groups = _Groups.of(key, grouping, alone=whole_groups)
        return BoundFilter(tuple(sorted(rows)), tuple(sorted(hashes)), *fields, groups)


@dataclass(frozen=True)
class _Names:
    """Fields of a store that a name in a filter can stand for."""

    sides: Mapping[str, StructType | None]  # schemas of the rows, None if not known
    part: Part | None = None  # the grouping key in the key; None if there is none

    @classmethod
    def of(
        cls,
        key: StructType | None,
        value: StructType | None,
        grouping: GroupingKey | None,
        *,
        whole_groups: bool,
    ) -> _Names:
        """Return the names of a store's fields.

        With ``whole_groups`` they are only the fields of its grouping key. CheckpointError:
        ``whole_groups`` is requested and the store has no grouping key.
        """
        part = None if grouping is None or key is None else (grouping.schema(key), grouping.path)
        if not whole_groups:
            return cls({KEY: key, VALUE: value}, part)
        if part is None:
            raise CheckpointError("the rows of this store have no grouping key")
        return cls({KEY: part[0]}, part)

    def conditions_of_key(self, text: str) -> Sequence[Condition] | None:
        """Return the conditions that a name of a key sets on its fields.

        Returns None if the name is neither JSON nor has ``=``, and is no value of the only field.
        It may be hex digits then.
        """
        key = {KEY: self.sides[KEY]}
        if text[:1] in ("{", "[", '"'):
            return self._conditions_of_object(_object(text))
        if "=" in text:
            term = Term.parse(text)
            if term.compare != "=":
                raise CheckpointError(f"got {text[:SHOWN]!r}, a key is named by NAME=VALUE")
            return self.conditions_of_term(term, key)[1]
        for schema in (self.part[0] if self.part else None, key[KEY]):
            if schema is not None and len(schema.fields) == 1 and not _ROW.match(text):
                return self.conditions_of_term(Term(schema.fields[0].name, "=", text), key)[1]
        return None

    def conditions_of_term(
        self, term: Term, sides: Mapping[str, StructType | None]
    ) -> tuple[str, Sequence[Condition]]:
        """Return the side of a row that a term is about (KEY or VALUE), and its conditions."""
        if not any(schema is not None for schema in sides.values()):
            _schema_or_error(None)
        return condition_of(term, sides, self.part)

    def _conditions_of_object(self, requested: Mapping[str, Any]) -> Sequence[Condition]:
        """Return the conditions of a JSON object on the grouping key, or else on the whole key."""
        key = _schema_or_error(self.sides[KEY])
        if self.part is not None:
            try:
                return list(conditions_of_object(self.part[0], requested, path=self.part[1]))
            except CheckpointError:
                if key == self.part[0]:
                    raise
        return list(conditions_of_object(key, requested))


@dataclass(frozen=True)
class _Fields:
    """Conditions on the keys or on the values of a store, with a decoder of these rows."""

    conditions: tuple[Condition, ...]  # conditions on the rows
    decoder: RowDecoder  # decoder of the rows

    @classmethod
    def of(cls, schema: StructType | None, conditions: Sequence[Condition]) -> _Fields | None:
        """Return the conditions with a decoder.

        Returns None if there are no conditions, or if the schema is not known.
        """
        if schema is None or not conditions:
            return None
        return cls(tuple(conditions), RowDecoder(schema))

    def matching(self, buffer: bytes, offsets: Int64s, lengths: Int64s, among: Int64s) -> Int64s:
        """Return the rows of ``among`` that meet all conditions.

        A row that does not fit its schema meets none.
        """
        decoded = self.decoder.decode(buffer, offsets[among], lengths[among]).array
        met: Bools = decoded.is_valid().to_numpy(zero_copy_only=False)
        for condition in self.conditions:
            met &= condition.holds(decoded)
        return among[met]


@dataclass(frozen=True)
class _Groups:
    """Position of the grouping key within the keys of a store."""

    schema: StructType  # of the keys
    grouping: GroupingKey  # grouping key within them
    alone: bool  # True if bytes and hashes name only the grouping key, never the whole key

    @classmethod
    def of(
        cls, key: StructType | None, grouping: GroupingKey | None, *, alone: bool
    ) -> _Groups | None:
        """Return the groups of a store; None if its key is the grouping key, or if it has none."""
        if key is None or grouping is None:
            return None
        is_key = not grouping.path and grouping.fields == len(key.fields)
        return None if is_key else cls(key, grouping, alone)

    def rows(self, buffer: bytes, offsets: Int64s, lengths: Int64s) -> tuple[Rows, Int64s]:
        """Return the grouping keys of some keys as rows, with the index of each one's key.

        A key that does not fit its schema has no grouping key and is left out.
        """
        positions = np.arange(len(offsets), dtype=np.int64)
        try:
            return grouping_keys(buffer, offsets, lengths, self.schema, self.grouping), positions
        except DecodeError:
            key_spans = (
                (offsets[position : position + 1], lengths[position : position + 1])
                for position in positions
            )
            fitting = positions[[self._fits(buffer, *span) for span in key_spans]]
            spans = offsets[fitting], lengths[fitting]
            return grouping_keys(buffer, *spans, self.schema, self.grouping), fitting

    def _fits(self, buffer: bytes, offset: Int64s, length: Int64s) -> bool:
        """Return True if one key fits the schema, so that its grouping key can be read."""
        try:
            grouping_keys(buffer, offset, length, self.schema, self.grouping)
        except DecodeError:
            return False
        return True


@dataclass(frozen=True)
class BoundFilter:
    """A filter on the rows of one store."""

    rows: tuple[bytes, ...] = ()  # all bytes of the key; no key matches two different entries
    hashes: tuple[str, ...] = ()  # first digits of the key's SHA-256 hash
    keys: _Fields | None = None  # conditions on the fields of keys; None without any
    values: _Fields | None = None  # conditions on the fields of values; None without any
    groups: _Groups | None = None  # None if the grouping key is the whole key, or there is none

    def mask(self, block: RecordBlock, among: Bools | None = None) -> Bools:
        """Return a mask of the records of a block, or of those in ``among``, whose key matches."""
        rows = np.arange(block.count) if among is None else np.flatnonzero(among)
        spans = block.buffer, block.key_offset, block.key_length
        return _mask(block, self.matching_keys(*spans, rows))

    def matching_keys(
        self, buffer: bytes, offsets: Int64s, lengths: Int64s, rows: Int64s
    ) -> Int64s:
        """Return the rows of ``rows`` whose key, a span of the buffer, matches."""
        if (self.rows or self.hashes) and len(rows):
            group_matches = rows[:0]
            if self.groups is not None:
                groups, positions = self.groups.rows(buffer, offsets[rows], lengths[rows])
                group_rows = np.arange(len(positions), dtype=np.int64)
                group_matches = rows[positions[self._of_bytes(*groups, group_rows)]]
            alone = self.groups is not None and self.groups.alone
            key_matches = rows[:0] if alone else self._of_bytes(buffer, offsets, lengths, rows)
            rows = np.union1d(key_matches, group_matches)
        if self.keys is not None and len(rows):
            rows = self.keys.matching(buffer, offsets, lengths, rows)
        return rows

    def _of_bytes(self, buffer: bytes, offsets: Int64s, lengths: Int64s, rows: Int64s) -> Int64s:
        """Return which of ``rows`` have exactly the filter's bytes and all its hash prefixes."""
        for row in self.rows:
            rows = _same_bytes(buffer, offsets, lengths, rows, row)
        view = memoryview(buffer)
        for digits in self.hashes:
            row_bytes = (view[offsets[index] : offsets[index] + lengths[index]] for index in rows)
            met = [hash_digits(item).startswith(digits) for item in row_bytes]
            rows = rows[np.array(met, np.bool_)]
        return rows

    def mask_values(self, block: RecordBlock, among: Bools | None = None) -> Bools:
        """Return a mask of the records, of all or of ``among``, that put a matching value.

        Removals never match. Without conditions on values every record of ``among`` is kept, or
        all.
        """
        puts = block.value_length >= 0
        rows = np.flatnonzero(puts if among is None else puts & among)
        if self.values is None:
            return np.ones(block.count, np.bool_) if among is None else among
        if len(rows):
            rows = self.values.matching(block.buffer, block.value_offset, block.value_length, rows)
        return _mask(block, rows)

    def live(self, block: RecordBlock, rows: Int64s) -> Int64s:
        """Return the indexes of ``rows`` in a block whose key and value match."""
        return np.flatnonzero(self.mask_values(block, self.mask(block, _mask(block, rows))))


# filter that matches no key, because no key equals two different byte strings
_NO_KEY = BoundFilter(rows=(b"", b"\0"))


def filter_of(task: Task, store: StoreTask, *, whole_groups: bool = False) -> BoundFilter | None:
    """Return the filter of a task, bound to the schemas of one of its stores.

    Returns None if every row matches. If the store has no such field, the filter matches no row.
    With ``whole_groups`` the filter matches all rows of a grouping key or none.
    """
    requested = KeyFilter(task.key, task.where)
    try:
        if not requested:
            return None
        key, value = schemas(store)
        return requested.bind(key, value, store.grouping_key, whole_groups=whole_groups)
    except CheckpointError:
        return _NO_KEY


def select_records(
    blocks: Iterable[RecordBlock], requested: BoundFilter | None
) -> Iterator[tuple[RecordBlock, Int64s]]:
    """Yield the records of each block whose key matches, as (block, ordinals in the file).

    All records match if ``requested`` is None. A block without a match is not yielded.
    """
    for block in blocks:
        if requested is None:
            yield block, block.ordinals
            continue
        rows = np.flatnonzero(requested.mask(block))
        if len(rows):
            yield block.select(rows), block.ordinals[rows]


def check_filter(checkpoint: Checkpoint, requested: KeyFilter) -> None:
    """Raise CheckpointError with the reasons if a filter fits none of the checkpoint's stores.

    Each reason names a store where they differ. It returns at the first store that the filter fits.
    """
    errors: dict[str, str] = {}
    for operator in checkpoint.operators:
        for store in operator.layout.store_names:
            schema = operator.schemas.get(store)
            key, value = (None, None) if schema is None else (schema.key, schema.value)
            value = None if value is None else widen_timeout(value)
            try:
                requested.bind(key, value, operator.grouping_key(store))
            except CheckpointError as error:
                errors.setdefault(error.message, f"operator {operator.operator_id}, store {store}")
            else:
                return
    if len(errors) == 1:
        raise CheckpointError(next(iter(errors)))
    if errors:
        listed = [f"{location}: {message}" for message, location in errors.items()]
        remainder = f"; and {len(listed) - _MOST_ERRORS} more" if len(listed) > _MOST_ERRORS else ""
        raise CheckpointError("; ".join(listed[:_MOST_ERRORS]) + remainder)


def _schema_or_error(schema: StructType | None) -> StructType:
    """Return the schema of the keys, which must not be None.

    CheckpointError: it is None; the message lists the other ways to name a key.
    """
    if schema is None:
        raise CheckpointError(
            "keys cannot be looked for by their fields, for there is no state schema: give "
            "--key-schema, the whole key row in hex (hex:...) or its hash (sha256:...)"
        )
    return schema


def _object(text: str) -> dict[str, Any]:
    """Return a JSON object that names a key. CheckpointError: the text is no JSON object."""
    try:
        requested = json_of(text)
    except ValueError as error:
        raise CheckpointError(f"the key is not JSON: {error}") from None
    if not isinstance(requested, dict):
        raise CheckpointError(f"the key is {text[:SHOWN]}, expected a JSON object")
    return requested


def _hex(text: str) -> bytes:
    """Return the bytes of hex digits, with or without ``hex:`` and ``0x``.

    CheckpointError: the text is not hex digits.
    """
    digits = text.removeprefix(_HEX)
    try:
        return bytes.fromhex(digits[2:] if digits[:2].lower() == "0x" else digits)
    except ValueError:
        raise CheckpointError(f"the key is {text[:SHOWN]!r}, expected {FORMS}") from None


def _hash(text: str) -> str:
    """Return the lower-case digits after ``sha256:``.

    CheckpointError: they are not 1 to 64 hex digits.
    """
    digits = text[len(HASH) :].lower()
    if not _DIGITS.fullmatch(digits):
        message = f"the key is {text[:SHOWN]!r}, expected {HASH} and 1 to 64 hex digits"
        raise CheckpointError(message)
    return digits


def _mask(block: RecordBlock, rows: Int64s) -> Bools:
    """Return a mask of all records of a block, True at the indexes ``rows``."""
    met: Bools = np.zeros(block.count, np.bool_)
    met[rows] = True
    return met


def _same_bytes(
    buffer: bytes, offsets: Int64s, lengths: Int64s, rows: Int64s, row: bytes
) -> Int64s:
    """Return the rows of ``rows`` whose span of the buffer equals ``row``."""
    rows = rows[lengths[rows] == len(row)]
    if not row or not len(rows):
        return rows
    keys = kernel().gather(buffer, offsets[rows], lengths[rows])
    equal: Bools = np.frombuffer(keys, np.dtype((np.void, len(row)))) == np.void(row)
    return rows[equal]
