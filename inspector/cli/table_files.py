"""Tables to files of data: whole or not at all, and never over what is there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.parquet as pq

from inspector.analyses.shared.stores import StoreTable
from inspector.cli.output_files import write
from inspector.cli.partial_files import is_written_through, partial_file, real_target
from inspector.render.as_arrow import arrow_table
from inspector.render.renderers import render
from inspector.render.report import Report

SUFFIXES: Mapping[str, str] = {
    "parquet": ".parquet",
    "arrow": ".arrow",
    "csv": ".csv",
    "ndjson": ".ndjson",
}
"""Formats of data files, and how their names end."""

TYPED = ("parquet", "arrow")
"""Formats that keep types; the others hold what ``rows -o`` writes."""

_GROUP_ROWS = 1 << 17
_GROUP_BYTES = 32 << 20
"""A row group ends at so many rows, or bytes before compression: what is held at once."""

_NO_FIELDS = pa.struct([("__dummy__", pa.null())])
"""Parquet has no struct without fields: the key of a global aggregation becomes this."""


def targets(output: str, names: Sequence[str], suffix: str) -> list[Path]:
    """Where tables go: one table into a file, several into a folder, one file each."""
    folder = Path(output)
    if folder.is_dir() or output.endswith(("/", os.sep)) or len(names) > 1:
        if folder.exists() and not folder.is_dir():
            raise click.UsageError(f"{output} is a file, and {len(names)} stores need a folder")
        if not folder.exists() and not output.endswith(("/", os.sep)) and folder.suffix == suffix:
            raise click.UsageError(
                f"{output} names a file, and there are {len(names)} stores: name a folder, or one "
                "store with --operator and --store"
            )
        return [folder / f"{name}{suffix}" for name in names]
    return [folder]


@contextmanager
def written(paths: Sequence[Path], *, force: bool) -> Iterator[list[Path]]:
    """Files to write, which get their names when the block has ended well."""
    targets = [real_target(str(path)) for path in paths]
    for target in targets:
        if is_written_through(target):
            raise click.UsageError(f"{target} is not a regular file, expected a file for data")
        if target.exists() and not force:
            raise click.UsageError(f"{target} exists; --force overwrites it")
    with ExitStack() as files:
        yield [files.enter_context(partial_file(target)) for target in targets]


def write_store_table(table: StoreTable, path: Path, form: str) -> int:
    """Write a table with its types, and count its rows."""
    try:
        return _WRITERS[form](table, path)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        message = f"{table.name}: {form} cannot hold it: {error}"
        raise click.UsageError(message + "; --format arrow can" * (form == "parquet")) from None


def write_parquet(report: Report, target: str, *, force: bool) -> None:
    """Write a report's own table as Parquet."""
    with written([Path(target)], force=force) as (file,):
        pq.write_table(arrow_table(report), file)


def write_report(report: Report, path: Path, form: str) -> None:
    """Write a report's own table as text."""
    with path.open("w", encoding="utf-8", newline="") as file:
        write(render(report, form), file)


def _write_parquet(table: StoreTable, path: Path) -> int:
    schema = pa.schema([_with_fields(column) for column in table.schema])
    count = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for group in _groups(table.batches):
            arrays = [_values_of(column) for column in group.columns]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema), group.num_rows)
            count += group.num_rows
    return count


def _with_fields(column: Any) -> Any:
    """A column's field as Parquet can have it."""
    return column.with_type(_NO_FIELDS) if _is_empty(column.type) else column


def _values_of(column: Any) -> Any:
    """A column's values under that field."""
    if not _is_empty(column.type):
        return column
    nulls: Any = pa.nulls(len(column))
    null = column.combine_chunks().is_null()
    return pa.StructArray.from_arrays([nulls], fields=list(_NO_FIELDS), mask=null)


def _is_empty(kind: Any) -> bool:
    return pa.types.is_struct(kind) and not kind.num_fields


def _write_arrow(table: StoreTable, path: Path) -> int:
    count = 0
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        for batch in table.batches:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


def _groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _GROUP_ROWS or size >= _GROUP_BYTES:
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)


_WRITERS: Mapping[str, Callable[[StoreTable, Path], int]] = {
    "parquet": _write_parquet,
    "arrow": _write_arrow,
}
