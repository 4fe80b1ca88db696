"""Keys and values of every store of a checkpoint, decoded by that store's schemas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import pyarrow as pa

from inspector.analyses.shared.judged import Subject, operator_names, store_schemas
from inspector.discovery.checkpoint import Checkpoint
from inspector.light_dataclasses import fields
from inspector.model import Problem, Redact, StoreName
from inspector.render import tabular as t
from inspector.render.values import RowWords
from inspector.sparktypes import StructType, widen_timeout

R = TypeVar("R", bound=t.StoreRow)  # class of rows of a report


class ChangeRow(t.PartitionRow, table="changes", empty="no delta of these versions holds a record"):
    """A record of a delta."""

    operator_name: t.OperatorName | None
    store_name: Annotated[t.StoreName, t.Rank(21)]
    partition_id: Annotated[t.PartitionId, t.Rank(22)]
    version: t.Version
    batch_id: Annotated[t.BatchId, t.Rank(1)]
    event: Annotated[t.EventName, t.Rank(2)]
    key: Annotated[t.KeyJson, t.Rank(3)]
    value: Annotated[t.ValueJson, t.Rank(4)]
    key_bytes: t.KeyBytes
    old_value_bytes: t.OldValueBytes
    value_bytes: Annotated[t.ValueBytes | None, t.Rank(23)]
    key_hex: Annotated[t.KeyHex | None, t.RAW] = None
    value_hex: Annotated[t.ValueHex | None, t.RAW] = None


class EventRow(ChangeRow):
    """A record with its number in the file, and the file."""

    record: int | None  # number of the record in its file; None for a removal that snapshots show
    file: str | None  # path of the file that has the record


def change_rows(
    subject: Subject, batches: Iterable[pa.RecordBatch], redact: Redact, *, raw: bool
) -> Iterator[EventRow]:
    """Yield the records in ``batches``, which have the form of :data:`inspector.schemas.CHANGES`.

    Keys and values are decoded and redacted by ``redact``; ``raw`` adds their bytes in hex, unless
    they are redacted. Problems of reading and decoding are added to those of ``subject``.
    """
    names, words = operator_names(subject.checkpoint), StoreWords(subject.checkpoint, redact)
    for chunk in row_chunks(batches, subject.problems):
        rows = [row | {"file": row["path"]} for row in chunk]
        yield from decode_live_rows(EventRow, rows, names, {"key": words, "value": words}, raw=raw)
    subject.problems.extend(words.misfits())


CHUNK = 1024  # number of rows decoded at once, at most: a row becomes many Python objects


class StoreWords:
    """Decoder of the keys and values of all stores into JSON values, redacted as requested.

    Without redaction, a row of a store without a schema becomes None.
    """

    def __init__(self, checkpoint: Checkpoint, redact: Redact = Redact.NONE) -> None:
        """Prepare decoders for the stores of a checkpoint, with this redaction."""
        # decoder for stores without a schema; and redaction of rows
        self._unknown, self.redact = RowWords(None, redact), redact
        folder = checkpoint.storage.full_path
        # operator id -> path of its folder
        self._folders = {o.operator_id: folder(o.layout.directory) for o in checkpoint.operators}
        schemas = store_schemas(checkpoint).items()
        # store -> decoder of its keys, and of its values
        self._keys = {name: RowWords(schema.key, redact) for name, schema in schemas}
        self._values = {
            name: RowWords(widen_timeout(schema.value), redact) for name, schema in schemas
        }

    def keys(
        self, store: StoreName, rows: Sequence[bytes | None], schema: StructType | None = None
    ) -> list[Any]:
        """Return the keys of a store as redacted JSON values, in the order of ``rows``.

        ``rows`` are UnsafeRow bytes; None stays None. ``schema`` replaces the schema of the
        store's keys, for rows that are parts of keys. Without redaction, a key is None if no
        schema is known.
        """
        row_words = self._keys.get(store, self._unknown)
        return _words(RowWords(schema, self.redact) if schema else row_words, rows)

    def values(self, store: StoreName, rows: Sequence[bytes | None]) -> list[Any]:
        """Return the decoded values of a store, in their order; None stays None."""
        return _words(self._values.get(store, self._unknown), rows)

    def misfits(self) -> Iterator[Problem]:
        """Yield a problem for each store with keys or values that do not fit its schema.

        It has the number of these keys and values, which were decoded as null.
        """
        for store_name, keys in self._keys.items():
            count = keys.misfits + self._values[store_name].misfits
            if count:
                yield Problem(
                    "bad-row",
                    f"keys or values of store {store_name.store_name!r} that do not fit the schema "
                    f"and are null: {count:,}; inspector verify lists them",
                    self._folders[store_name.operator_id],
                )

    def hex(self, row: bytes | None) -> str | None:
        """Return the bytes of a row in hex; None for None, or if rows are redacted."""
        return None if row is None or self.redact is not Redact.NONE else row.hex()


def decode_live_rows(
    kind: type[R],  # class of the rows; columns that it shares with the chunk are copied
    chunk: Sequence[Mapping[str, Any]],  # rows of one store, by column, at least one
    names: Mapping[int, str],  # operator id -> name
    words: Mapping[str, StoreWords],  # column of bytes (``key``, ``value``) -> its decoder
    *,
    raw: bool,  # add a column ``..._hex`` with the bytes in hex
) -> Iterator[R]:
    """Yield the rows of a chunk of :func:`row_chunks` as rows of class ``kind``.

    Columns in ``words`` are decoded, and columns ``..._bytes`` get their lengths.
    """
    store = StoreName(chunk[0]["operator_id"], chunk[0]["store_name"])
    own = (f.name for f in fields(kind) if f.name in chunk[0])
    columns: dict[str, list[Any]] = {name: [row[name] for row in chunk] for name in own}
    columns["operator_name"] = [names.get(store.operator_id)] * len(chunk)
    if "version" in columns:
        columns["batch_id"] = [version - 1 for version in columns["version"]]
    for name, row_words in words.items():
        contents = columns[name]
        columns[name] = (row_words.keys if name == "key" else row_words.values)(store, contents)
        columns[f"{name}_bytes"] = [None if c is None else len(c) for c in contents]
        if raw:
            columns[f"{name}_hex"] = list(map(row_words.hex, contents))
    if "row_bytes" in {field.name for field in fields(kind)}:
        sizes = zip(columns["key_bytes"], columns["value_bytes"], strict=True)
        columns["row_bytes"] = [key + value for key, value in sizes]
    for row in zip(*columns.values(), strict=True):
        yield kind(**dict(zip(columns, row, strict=True)))


def _words(decoder: RowWords, rows: Sequence[bytes | None]) -> list[Any]:
    """Return the rows, UnsafeRow bytes, as ``decoder`` decodes them; None stays None."""
    decoded = iter(decoder.words([row for row in rows if row is not None]))
    return [None if row is None else next(decoded) for row in rows]


def row_chunks(
    batches: Iterable[pa.RecordBatch], problems: list[Problem]
) -> Iterator[list[dict[str, Any]]]:
    """Yield lists of up to :data:`CHUNK` rows of one store, each row as a dictionary by column.

    A batch has rows of one store, or problems (column ``kind``). These are added to ``problems``.
    """
    for batch in batches:
        if batch.column("kind")[0].as_py() == "problem":
            add_problems(map(Problem.from_row, batch.to_pylist()), problems)
            continue
        for start in range(0, batch.num_rows, CHUNK):
            yield batch.slice(start, CHUNK).to_pylist()


def add_problems(new: Iterable[Problem], problems: list[Problem]) -> None:
    """Add new problems to ``problems``.

    A problem without a path is left out if ``problems`` has one with its slug and store.
    """
    for problem in new:
        places = ((known.slug, known.store) for known in problems)
        if problem.path is not None or (problem.slug, problem.store) not in places:
            problems.append(problem)
