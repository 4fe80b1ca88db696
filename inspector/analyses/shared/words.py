"""Keys and values of every store of a checkpoint, decoded by that store's schemas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from inspector.discovery.checkpoint import Checkpoint
from inspector.model import Problem, Redact, StoreName
from inspector.render.keys import RowWords
from inspector.sparktypes import widen_timeout

CHUNK = 1024
"""Rows decoded at once: a row becomes many Python objects."""


class StoreWords:
    """Rows as JSON values, or what redaction leaves of them; None where no schema is known."""

    def __init__(self, checkpoint: Checkpoint, redact: Redact = Redact.NONE) -> None:
        self._unknown = RowWords(None, redact)
        self.redact = redact
        self._keys: dict[StoreName, RowWords] = {}
        self._values: dict[StoreName, RowWords] = {}
        self._folders: dict[int, str] = {}
        for operator in checkpoint.operators:
            folder = checkpoint.storage.full_path(operator.layout.directory)
            self._folders[operator.operator_id] = folder
            for store, schema in operator.schemas.items():
                place = StoreName(operator.operator_id, store)
                self._keys[place] = RowWords(schema.key, redact)
                self._values[place] = RowWords(widen_timeout(schema.value), redact)

    def keys(self, place: StoreName, rows: Sequence[bytes | None]) -> list[Any]:
        """Keys of a store."""
        return _words(self._keys.get(place, self._unknown), rows)

    def values(self, place: StoreName, rows: Sequence[bytes | None]) -> list[Any]:
        """Values of a store; None stays None."""
        return _words(self._values.get(place, self._unknown), rows)

    def misfits(self) -> Iterator[Problem]:
        """Of each store whose rows do not all fit its schema, how many so far do not."""
        for place, keys in self._keys.items():
            count = keys.misfits + self._values[place].misfits
            if count:
                yield Problem(
                    "bad-row",
                    f"keys or values of store {place.store_name!r} that do not fit the schema and "
                    f"are null: {count:,}; the command verify names them",
                    self._folders[place.operator_id],
                )

    def hex(self, row: bytes | None) -> str | None:
        """The bytes of a row, unless they are to be hidden."""
        return None if row is None or self.redact is not Redact.NONE else row.hex()


def _words(decoder: RowWords, rows: Sequence[bytes | None]) -> list[Any]:
    there = iter(decoder.words([row for row in rows if row is not None]))
    return [None if row is None else next(there) for row in rows]


def row_chunks(
    batches: Iterable[pa.RecordBatch], problems: list[Problem]
) -> Iterator[list[dict[str, Any]]]:
    """Rows of batches that hold one store each, a few at a time; problems go to ``problems``."""
    for batch in batches:
        if batch.column("kind")[0].as_py() == "problem":
            add_problems(map(Problem.from_row, batch.to_pylist()), problems)
            continue
        for start in range(0, batch.num_rows, CHUNK):
            yield batch.slice(start, CHUNK).to_pylist()


def add_problems(found: Iterable[Problem], problems: list[Problem]) -> None:
    """Add what was found to ``problems`` that are known, each once.

    The listing has reported already which versions have no chain of files.
    """
    problems.extend(one for one in found if not _reported(one, problems))


def _reported(found: Problem, problems: Sequence[Problem]) -> bool:
    place = (found.slug, found.store)
    return found.path is None and any((p.slug, p.store) == place for p in problems)
