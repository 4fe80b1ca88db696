"""Schema files of state stores.

All integers are big-endian. UTF is a 2-byte length and modified UTF-8. v1 is UTF ``v1``, UTF key
schema, UTF value schema. v2 is UTF ``v2``, chunked key schema, chunked value schema. v3 is UTF
``v3``, a 4-byte count of column families, and the families. A family has these parts: UTF name,
2-byte key schema id, chunked key schema, 2-byte value schema id, chunked value schema, chunked
encoder of the key, chunked schema of the user's key. Chunked is a 4-byte count, then that number of
UTF, to be joined. Modified UTF-8 is Java's (``DataOutputStream.writeUTF``): NUL is ``C0 80``. A
character beyond U+FFFF is two surrogates of three bytes each, which the end of a chunk may part.
Nothing follows the last chunk.

Spark 3.1 and later write v2, once, and under partition 0 only. v3 (4.0 on) belongs to operators
whose stores have column families, which need RocksDB. It is in ``_stateSchema``, with a file for
each batch that changed it. Names are those of the first run: a compatible change is allowed and not
written (``StateSchemaCompatibilityChecker``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inspector.checkpoint.logfile import format_of, json_object, problem
from inspector.checkpoint.names import number
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.trees import Entry
from inspector.exceptions import DecodeError, InspectorError, TruncatedError
from inspector.light_dataclasses import dataclass, field, replace
from inspector.model import DEFAULT_STORE, Problem
from inspector.sparktypes import StructType, unknown_type
from inspector.sparktypes.key_encoders import KeyEncoder
from inspector.sparktypes.schema_json import parse_schema_json

NEWEST_FORMAT = 3  # newest format of a schema file that is known

_FAMILY_BYTES = 22  # bytes of the smallest column family: three 2-byte and four 4-byte fields
_MAX_ASTRAL = 0xEF  # greatest first byte in modified UTF-8, which has no sequences of four bytes


@dataclass(frozen=True)
class ColumnFamily:
    """One column family of a store (v3)."""

    name: str  # its name
    key: StructType  # schema of its keys
    value: StructType  # schema of its values
    # how RocksDB arranges the key, as Spark wrote it
    key_encoder: Mapping[str, object] = field(default_factory=dict)
    user_key: StructType | None = None  # schema of the user's key in a map state; None for others
    key_schema_id: int = 0  # number of the key schema
    value_schema_id: int = 0  # number of the value schema
    # older schemas of its values, by number
    older_values: Mapping[int, StructType] = field(default_factory=dict)

    @property
    def encoder(self) -> KeyEncoder:
        """Encoder by which RocksDB arranges the key."""
        return KeyEncoder.parse(self.key_encoder)


@dataclass(frozen=True)
class StateSchema:
    """Schema of one store."""

    version: int  # format of the file, 1 to 3
    key: StructType  # schema of the keys (v3: of the default family, or of the first)
    value: StructType  # schema of the values of the same family
    column_families: tuple[ColumnFamily, ...] = ()  # v3: all families, in order; empty otherwise


def parse_state_schema(data: bytes) -> StateSchema:
    """Return the content of a schema file.

    TruncatedError: the file ends too early; it has the offset. DecodeError: a later format, no
    schema, an unknown type, or more bytes after the end.
    """
    # DecodeError: a later format, no schema, an unknown type, or what goes on after its end.
    cursor = _Cursor(data)
    text = cursor.utf()
    got = repr(_join_surrogates(text[:40]))
    version = format_of(text, NEWEST_FORMAT, got, "a format such as 'v2'")
    if version == NEWEST_FORMAT:
        start = cursor.offset
        families = tuple(_family(cursor) for _ in range(cursor.count(_FAMILY_BYTES)))
        if not families:
            raise DecodeError("got no column family, expected at least one", offset=start)
        main = next((family for family in families if family.name == DEFAULT_STORE), families[0])
        schema = StateSchema(NEWEST_FORMAT, main.key, main.value, families)
    else:
        read = cursor.utf if version == 1 else cursor.read_chunks
        key, value = read(), read()
        schema = StateSchema(version, _struct(key), _struct(value))
    if cursor.remaining:
        message = f"got {cursor.remaining} more bytes, expected the end of the file"
        raise DecodeError(message, offset=cursor.offset)
    return schema


def schema_texts(data: bytes) -> tuple[str, str]:
    """Return the JSON of the key schema and of the value schema in a file of format 1 or 2.

    DecodeError: the file is of another format, or ends too early.
    """
    cursor = _Cursor(data)
    version = cursor.utf()
    if version not in ("v1", "v2"):
        raise DecodeError(f"got a schema file of format {version[:40]!r}, expected 'v1' or 'v2'")
    read = cursor.utf if version == "v1" else cursor.read_chunks
    return _join_surrogates(read()), _join_surrogates(read())


def read_state_schema(
    storage: Storage,
    operator_id: int,
    store_name: str = DEFAULT_STORE,
    schema_paths: Sequence[str] = (),
) -> tuple[StateSchema | None, tuple[Problem, ...]]:
    """Return the schema that Spark (3.1 on) wrote for a store, and problems of reading.

    Formats v1 and v2 are in the folder of partition 0, for all partitions. If there is no such
    file, the v3 files in the operator's ``_stateSchema`` folder are read. ``schema_paths`` are the
    v3 paths in the operator metadata, oldest first; only their file names are used. Without a match
    the newest file is read. Column families and value schemas that only older files have are kept.
    The schema is None if there is none, or if the newest cannot be read.
    """
    # For v3, operator metadata names the schema_paths, oldest first. Only the names of the files
    # count, because the paths are those of the place where the query ran.
    path = schema_path(operator_id, store_name)
    try:
        return _read(storage, path), ()
    except FileNotFoundError:
        pass
    except (InspectorError, OSError) as error:
        return None, (problem(error, storage.full_path(path)),)
    return _read_v3(storage, schema_folder(operator_id, store_name), schema_paths)


def schema_folder(operator_id: int, store_name: str) -> str:
    """Return the folder of a store's schemas below the root, as of Spark 4.0 (schema v3)."""
    return f"state/{operator_id}/_stateSchema/{store_name}"


def schema_path(operator_id: int, store_name: str) -> str:
    """Return the path of a store's schema below the root, as of Spark 3.1 (schemas v1, v2)."""
    partition = f"state/{operator_id}/0"
    folder = partition if store_name == DEFAULT_STORE else f"{partition}/{store_name}"
    return f"{folder}/_metadata/schema"


class _Cursor:
    """Reader of Java's ``DataOutput`` forms that checks every size before it is used.

    Attributes:
        offset: position of the next byte.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.offset = 0

    @property
    def remaining(self) -> int:
        """Number of bytes that are left."""
        return len(self._data) - self.offset

    def utf(self) -> str:
        """Read a text. Surrogates stay as they are, because a chunk may end between two of them."""
        size = self.integer(2)
        return _parse_modified_utf8(self._take(size), self.offset - size)

    def read_chunks(self) -> str:
        """Read a chunked text: a count and that number of texts, joined."""
        return "".join([self.utf() for _ in range(self.count(least_bytes=2))])

    def count(self, least_bytes: int) -> int:
        """Read a 4-byte count of items that take at least ``least_bytes`` bytes each.

        DecodeError: it is negative. TruncatedError: fewer bytes are left.
        """
        start = self.offset
        count = self.integer(4, signed=True)
        if count < 0:
            raise DecodeError(f"got a count of {count}, expected none below 0", offset=start)
        if self.remaining < count * least_bytes:
            raise TruncatedError(
                f"got {self.remaining} bytes, expected {count} items of at least {least_bytes}",
                offset=self.offset,
            )
        return count

    def integer(self, size: int, *, signed: bool = False) -> int:
        """Read a big-endian number of ``size`` bytes."""
        return int.from_bytes(self._take(size), "big", signed=signed)

    def _take(self, size: int) -> bytes:
        """Return the next ``size`` bytes. TruncatedError: fewer are left."""
        if self.remaining < size:
            raise TruncatedError(f"got {self.remaining} bytes, expected {size}", offset=self.offset)
        start, self.offset = self.offset, self.offset + size
        return self._data[start : self.offset]


def _family(cursor: _Cursor) -> ColumnFamily:
    """Read one column family."""
    # Keyword arguments are evaluated in the order of the file.
    return ColumnFamily(
        name=_join_surrogates(cursor.utf()),
        key_schema_id=cursor.integer(2, signed=True),
        key=_struct(cursor.read_chunks()),
        value_schema_id=cursor.integer(2, signed=True),
        value=_struct(cursor.read_chunks()),
        key_encoder=json_object(_join_surrogates(cursor.read_chunks())),
        # Spark writes an object without fields where there is no user key.
        user_key=_struct(text)
        if json_object(_join_surrogates(text := cursor.read_chunks()))
        else None,
    )


def _struct(text: str) -> StructType:
    """Return the schema of a JSON text. DecodeError: it has a type whose width is not known."""
    schema = parse_schema_json(_join_surrogates(text))
    unknown = unknown_type(schema)
    if unknown is not None:
        # Its width is not known, so no row with such a field can be read.
        raise DecodeError(f"schema has the unknown type {unknown[:80]!r}")
    return schema


def _parse_modified_utf8(data: bytes, offset: int) -> str:
    """Return the text of Java's modified UTF-8. DecodeError: it is none, with ``offset``."""
    if max(data, default=0) > _MAX_ASTRAL:
        position = next(location for location, byte in enumerate(data) if byte > _MAX_ASTRAL)
        raise _not_utf(data, position, offset)
    texts = []
    start = 0
    for piece in data.split(b"\xc0\x80"):
        try:
            texts.append(piece.decode("utf-8", "surrogatepass"))
        except UnicodeDecodeError as error:
            raise _not_utf(data, start + error.start, offset) from None
        start += len(piece) + 2
    return "\0".join(texts)


def _not_utf(data: bytes, position: int, offset: int) -> DecodeError:
    """Return the error for a byte that is not modified UTF-8."""
    return DecodeError(
        f"got byte 0x{data[position]:02x}, expected modified UTF-8", offset=offset + position
    )


def _join_surrogates(text: str) -> str:
    """Return the text with pairs of surrogates joined, and lone ones replaced."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _read(storage: Storage, path: str, size: int | None = None) -> StateSchema:
    """Return the schema in a file; an error has the path. Raises InspectorError and OSError."""
    data = storage.read(path, size=size)
    try:
        return parse_state_schema(data)
    except InspectorError as error:
        raise error.at(storage.full_path(path)) from None


def _read_v3(
    storage: Storage, folder: str, schema_paths: Sequence[str]
) -> tuple[StateSchema | None, tuple[Problem, ...]]:
    """Return the newest schema in a folder, with families and schemas that only older ones have.

    The second item are the problems of reading. The schema is None if the newest cannot be read.
    """
    # Spark writes a new file when a column family comes, goes or changes. A family that is no
    # longer declared keeps its rows, and rows keep their schema (StateSchemaCompatibilityChecker).
    try:
        chosen = _order(storage.list(folder, missing_ok=True), schema_paths)
    except (InspectorError, OSError) as error:
        return None, (problem(error, storage.full_path(folder)),)
    state_schema: StateSchema | None = None
    problems: list[Problem] = []
    for entry in chosen:
        newer = None
        try:
            if entry.is_file:
                newer = _read(storage, entry.path, entry.size)
            else:
                problems.append(entry.not_a_file(storage.full_path(entry.path)))
        except (InspectorError, OSError) as error:
            problems.append(problem(error, storage.full_path(entry.path)))
        # An older one that cannot be read is missed where rows are of it; the newest always.
        if newer is None and entry is chosen[-1]:
            return None, tuple(problems)
        if newer is not None:
            state_schema = newer if state_schema is None else _evolve(state_schema, newer)
    return state_schema, tuple(problems)


def _evolve(older: StateSchema, newer: StateSchema) -> StateSchema:
    """Return the newer schema with the families and value schemas that only the older one has."""
    older_families = {family.name: family for family in older.column_families}
    families = []
    for family in newer.column_families:
        values: dict[int, StructType] = {}
        if (old := older_families.pop(family.name, None)) is not None:
            values = {**old.older_values, old.value_schema_id: old.value}
            values.pop(family.value_schema_id, None)
        families.append(replace(family, older_values=values))
    return replace(newer, column_families=(*families, *older_families.values()))


def _order(entries: Sequence[Entry], schema_paths: Sequence[str]) -> list[Entry]:
    """Return the schema files to use, oldest first: those in metadata, else the newest."""
    batches = {
        entry.name: (batch, entry)
        for entry in entries
        if (batch := number(entry.name.partition("_")[0])) is not None
    }
    names = [path.rstrip("/").rsplit("/", 1)[-1] for path in schema_paths]
    named = [batches[name][1] for name in names if name in batches]
    if named:
        return named
    order = sorted(batches.values(), key=lambda b: (b[0], b[1].modified_ms or 0, b[1].name))
    return [entry for _, entry in order[-1:]]
