"""``inspector export``: tables as files of data."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.parquet as pq

from inspector.analyses.export import store_reports
from inspector.analyses.shared.declare import Analysis
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.stores import StoreTable, of_one_version
from inspector.cli import click_options
from inspector.cli.exits import Exit
from inspector.cli.output_files import code_of, outside, write
from inspector.cli.partial_files import is_written_through, partial_file, real_target
from inspector.cli.terminal import NEVER
from inspector.model import READABLE, Problem
from inspector.plain_text import escape
from inspector.render.as_arrow import arrow_table
from inspector.render.renderers import render
from inspector.render.report import Report
from inspector.render.text import message_lines


def export_options(parameters: Sequence[click.Parameter]) -> list[click.Parameter]:
    """Return the parameters of ``export``: the given ones, and new ones on files and messages.

    Arguments come first.
    """
    arguments = [parameter for parameter in parameters if isinstance(parameter, click.Argument)]
    return [
        *arguments,
        click.Option(
            ["-O", "--output-file"],
            required=True,
            type=click.Path(),
            help="Output file for one store, or folder for several stores. A name that ends with"
            " a slash means a folder.",
        ),
        click.Option(
            ["--format", "form"],
            type=click.Choice(list(SUFFIXES)),
            help="Format.  [default: by the file's name, else parquet]",
        ),
        click.Option(["--force"], is_flag=True, help="Overwrite existing files."),
        *(parameter for parameter in parameters if parameter not in arguments),
        *click_options.message_options(),
    ]


def export(analysis: Analysis, parsed: dict[str, Any]) -> None:
    """Write the tables of an analysis, one for each store, and end the process."""
    form = _format(parsed["output_file"], parsed["form"])
    keywords = click_options.own_options(analysis, parsed)
    run = Run.start(parsed["path"], click_options.api_options(parsed, analysis.shared))
    outside(run.checkpoint.root, parsed["output_file"])
    if not run.engine.in_process:
        check_format(form)
    write = partial(_write_files, analysis) if run.engine.in_process else _write_by_spark
    problems = of_one_version(lambda: write(run, form, parsed, keywords), run.begin_anew)
    for line in message_lines(problems, quiet=parsed["quiet"]):
        click.echo(line, err=True)
    sys.exit(Exit.INCOMPLETE if any(p.slug not in READABLE for p in problems) else Exit.OK)


_Values = Mapping[str, Any]  # values of options by name


def _write_files(
    analysis: Analysis, run: Run, form: str, parsed: _Values, keywords: _Values
) -> Sequence[Problem]:
    """Write the stores' tables in this process, and return the problems."""
    content = parsed["what"]
    sources: list[tuple[str, StoreTable | Report]]
    if form in TYPED:
        sources = [(table.name, table) for table in analysis.function(content, run, **keywords)]
    else:
        sources = [*store_reports(run, content, **keywords)]
    paths = targets(parsed["output_file"], [name for name, _ in sources], SUFFIXES[form])
    texts = []
    with written(paths, force=parsed["force"]) as files:
        for (_, source), file in zip(sources, files, strict=True):
            if isinstance(source, StoreTable):
                texts.append(_count_text(write_store_table(source, file, form), content))
            else:
                with file.open("w", encoding="utf-8", newline="") as opened:
                    write(render(source, form), opened)
                texts.append("written")
    for path, text in zip(paths, texts, strict=True):
        _say(f"{path}: {text}", parsed)
    return [problem for _, source in sources for problem in source.problems]


def _write_by_spark(run: Run, form: str, parsed: _Values, keywords: _Values) -> Sequence[Problem]:
    """Let Spark write the stores' tables, and return the problems."""
    from inspector.spark import writing  # noqa: PLC0415 - takes a second to import

    content, output, force = parsed["what"], parsed["output_file"], parsed["force"]
    done = writing.write_stores(run, content, output, form, force=force, **keywords)
    for table in done:
        count = "" if table.rows is None else f"{_count_text(table.rows, content)}, "
        _say(f"{table.place}: {count}written by Spark", parsed)
    return [*run.listed, *(problem for table in done for problem in table.problems)]


def _count_text(rows: int, noun: str) -> str:
    """Return ``12 rows``: a number with a noun, which is given in the plural."""
    return f"{rows:,} {noun.removesuffix('s') if rows == 1 else noun}"


def _say(text: str, parsed: _Values) -> None:
    """Print a message on stderr, unless ``--quiet``."""
    if not parsed["quiet"]:
        click.echo(escape(text), err=True)


def _format(output: str, requested: str | None) -> str:
    """Return the format that is requested or that a file's suffix means; Parquet for a folder.

    Raises click.UsageError if they contradict each other, or if no format has the suffix.
    """
    path = Path(output)
    if not path.suffix or path.is_dir() or output.endswith(("/", os.sep)):
        return requested or "parquet"
    means = {ending: form for form, ending in SUFFIXES.items()}.get(path.suffix)
    if means is not None and requested not in (None, means):
        raise click.UsageError(f"{output}: the name is that of {means}, got --format {requested}")
    form = requested or means
    if form is None:
        endings = ", ".join(SUFFIXES.values())
        hint = f"give one of {endings}, a folder that ends with a slash, or --format"
        raise click.UsageError(f"{output}: no format ends with {path.suffix}; {hint}")
    return form


SUFFIXES: Mapping[str, str] = {form: f".{form}" for form in ("parquet", "arrow", "csv", "ndjson")}
"""Formats of data files, and how their names end."""

TYPED = ("parquet", "arrow")  # formats that keep types; the others hold what ``rows -o`` writes

# A row group of Parquet ends at this number of rows, or of raw bytes, which limits memory.
_GROUP_ROWS = 1 << 17
_GROUP_BYTES = 32 << 20  # a row group ends at so many rows, or raw bytes: what is held at once

_NO_FIELDS = pa.struct([("__dummy__", pa.null())])
"""Parquet has no struct without fields: the key of a global aggregation becomes this."""


def targets(output: str, names: Sequence[str], suffix: str) -> list[Path]:
    """Return the target file of each table, in the order of ``names``.

    One table is written to ``output`` itself. Several tables, or one if ``output`` is a folder or
    ends with a slash, are written to ``<name><suffix>`` in the folder ``output``. Raises
    click.UsageError if a folder is needed and ``output`` is a file, or several tables are to be
    written and a new ``output`` has the suffix of a file.
    """
    folder, is_named = Path(output), output.endswith(("/", os.sep))
    if not (folder.is_dir() or is_named or len(names) > 1):
        return [folder]
    if folder.exists() and not folder.is_dir():
        raise click.UsageError(f"{output} is a file, and {len(names)} stores need a folder")
    if not folder.exists() and not is_named and folder.suffix == suffix:
        hint = "name a folder, or one store with --operator and --store"
        raise click.UsageError(f"{output} names a file, and there are {len(names)} stores: {hint}")
    return [folder / f"{name}{suffix}" for name in names]


@contextmanager
def written(paths: Sequence[Path], *, force: bool) -> Iterator[list[Path]]:
    """Yield temporary paths for these files, which get their names if the block succeeds.

    Raises click.UsageError if a file exists and ``force`` is not set, or cannot be created.
    """
    targets = [real_target(str(path)) for path in paths]
    for target in targets:
        if is_written_through(target):
            raise click.UsageError(f"{target} is not a regular file, expected a file for data")
        if target.exists() and not force:
            raise click.UsageError(f"{target} exists; --force overwrites it")
    with ExitStack() as files:
        yield [files.enter_context(partial_file(target)) for target in targets]


def write_store_table(table: StoreTable, path: Path, form: str) -> int:
    """Write a store's table as Arrow or Parquet, and return the number of rows.

    Raises click.UsageError if the format cannot hold a type.
    """
    try:
        return _write_arrow(table, path) if form == "arrow" else _write_parquet(table, path)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        message = f"{table.name}: {form} cannot hold it: {error}"
        raise click.UsageError(message + "; --format arrow can" * (form == "parquet")) from None


def write_parquet(report: Report, target: str, *, force: bool) -> None:
    """Write a report's own table as Parquet to the file ``target``.

    click.UsageError: the file is there and ``force`` is not given.
    """
    with written([Path(target)], force=force) as (file,):
        pq.write_table(arrow_table(report, structs=False), file)


def _write_parquet(table: StoreTable, path: Path) -> int:
    """Write a table as Parquet, and return the number of rows."""
    # Parquet has no structs without fields.
    columns = (c.with_type(_NO_FIELDS) if _is_empty(c.type) else c for c in table.schema)
    schema = pa.schema(list(columns))
    count = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for group in _groups(table.batches):
            arrays = [_fill(c) if _is_empty(c.type) else c for c in group.columns]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema), group.num_rows)
            count += group.num_rows
    return count


def _fill(column: Any) -> Any:
    """Return a column of structs without fields as structs with a dummy field, for Parquet."""
    nulls: Any = pa.nulls(len(column))
    null = column.combine_chunks().is_null()
    return pa.StructArray.from_arrays([nulls], fields=list(_NO_FIELDS), mask=null)


def _is_empty(kind: Any) -> bool:
    """True if a type is a struct without fields."""
    return pa.types.is_struct(kind) and not kind.num_fields


def _write_arrow(table: StoreTable, path: Path) -> int:
    """Write a table as an Arrow file, and return the number of rows."""
    count = 0
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        for batch in table.batches:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


def _groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield batches joined into tables of at least ``_GROUP_ROWS`` rows or ``_GROUP_BYTES`` bytes.

    The last one may be smaller.
    """
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


FORMATS = ("parquet", "ndjson", "csv")  # formats that Spark writes


def check_format(form: str) -> None:
    """Raise click.UsageError if Spark does not write a format."""
    if form not in FORMATS:
        raise click.UsageError(f"Spark writes no {form}, expected {', '.join(FORMATS)}")


def write_by_executors(analysis: Analysis, run: Opened, parsed: _Values, keywords: _Values) -> None:
    """Write the whole table of an analysis by Spark's executors, and end the process.

    Returns without writing if options ask for a part of the table, or the format is not one of
    Spark's.
    """
    table, target, form = analysis.by_executors, parsed["output_file"], parsed["output"]
    is_default = all(keywords[option.name] == option.default for option in analysis.options)
    if table is None or form not in FORMATS or not is_default:
        return
    if not target:
        raise click.UsageError(
            f"on Spark the executors write all {table.name}: name a folder with -O, or list some "
            "with --limit N"
        )
    from inspector.spark import writing  # noqa: PLC0415 - takes a second to import

    defaults_for_people = {
        o.name: o.option.for_people for o in analysis.options if o.option.for_people
    }

    def write_all() -> Report:
        report: Report = analysis.function(run, **defaults_for_people)
        writing.write_table(run, table, target, form, force=parsed["force"])
        return report

    report = of_one_version(write_all, run.begin_anew)
    for line in message_lines(report.problems, quiet=parsed["quiet"]):
        click.echo(line, err=True)
    _say(f"{target}: {report.summary[table.name]:,} keys, written by Spark", parsed)
    sys.exit(code_of(report, parsed.get("fail_on", NEVER)))
