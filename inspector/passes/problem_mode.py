"""Error handling of tables whose rows are data and not facts: the modes of Spark's own sources."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from inspector.exceptions import InspectorError
from inspector.model import READABLE, Problem, ProblemMode
from inspector.schemas import PROBLEM, batch_of

COLUMN = "problem"  # name of the column that has a problem as JSON


def with_problems(columns: Sequence[tuple[str, pa.DataType]], mode: ProblemMode) -> pa.Schema:
    """Return the schema of a table: its columns, and ``problem`` in mode ``permissive``."""
    extra_columns = [(COLUMN, pa.string())] if mode is ProblemMode.PERMISSIVE else []
    return pa.schema([*columns, *extra_columns])


def problem_batches(
    schema: pa.Schema, mode: ProblemMode, reported: Iterable[Problem]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows that show problems in a table: one batch in mode ``permissive``.

    Mode ``dropmalformed`` yields nothing. In mode ``failfast`` the first problem that hides data is
    raised as InspectorError.
    """
    problems = list(reported)
    if mode is ProblemMode.FAILFAST:
        refuse(problems)
    if mode is ProblemMode.PERMISSIVE and problems:
        shared = [name for name in PROBLEM if name in schema.names]
        named = [
            {name: row[name] for name in shared} | {COLUMN: json.dumps(row, ensure_ascii=False)}
            for row in map(Problem.to_row, problems)
        ]
        yield batch_of(schema, named)


def refuse(problems: Iterable[Problem]) -> None:
    """Raise InspectorError with the first problem that hides data; return if there is none.

    Problems whose slug is in READABLE are passed over: their file could be read.
    """
    for problem in problems:
        if problem.slug not in READABLE:
            message = (
                f"{problem.message} (mode 'dropmalformed' leaves out what cannot be read, "
                "'permissive' tells it in a column)"
            )
            raise InspectorError(message, problem.path, problem.offset)


def problem_of_text(text: str) -> Problem:
    """Return the problem of one JSON text from the column ``problem``."""
    return Problem.from_row(json.loads(text))


def problems_in(batch: pa.RecordBatch) -> list[Problem]:
    """Return the problems among the rows of a batch of mode ``permissive``."""
    texts: Any = batch.column(COLUMN)
    return [problem_of_text(text) for text in texts.drop_null().to_pylist()]


def take_problems(batch: pa.RecordBatch, problems: list[Problem]) -> pa.RecordBatch:
    """Return a batch without the column and the rows of problems, which are added to ``problems``.

    A batch of another mode than ``permissive`` is returned unchanged.
    """
    if COLUMN not in batch.schema.names:
        return batch
    problems += problems_in(batch)
    return without_problems(batch)


def without_problems(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch without its column ``problem`` and without the rows that have one."""
    texts: Any = batch.column(COLUMN)
    rows: Any = batch.drop_columns([COLUMN])
    sound_rows: pa.RecordBatch = (
        rows if texts.null_count == len(texts) else rows.filter(texts.is_null())
    )
    return sound_rows
