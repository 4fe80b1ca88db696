"""``inspector memory``: what the state takes of an executor's heap."""

from __future__ import annotations

from typing import Any

import click

from inspector import api
from inspector.analyses.memory import MemoryWanted
from inspector.cli.command import finish
from inspector.cli.key_options import schema_options
from inspector.cli.options import api_options, checkpoint_options, output_options, work_options
from inspector.cli.sizes_of import ByteSize


@click.command()
@click.argument("path")
@click.option(
    "--retain",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    help="Versions in memory: spark.sql.streaming.maxBatchesToRetainInMemory.",
)
@click.option("--executors", type=click.IntRange(1), help="Executors that share the partitions.")
@click.option(
    "--cores", type=click.IntRange(1), default=1, show_default=True, help="Tasks of each at a time."
)
@click.option("--heap", type=ByteSize(), help="Heap of an executor: spark.executor.memory (8GiB).")
@click.option(
    "--jdk", type=click.IntRange(8), default=17, show_default=True, help="Java of the executors."
)
@click.option("--spark", help="Spark that runs the query.  [default: told from the checkpoint]")
@work_options
@schema_options
@checkpoint_options
@output_options
def memory(path: str, **given: Any) -> None:
    """The size ladder from files to heap; per executor; what would change it."""
    names = ("retain", "executors", "cores", "jdk", "spark")
    wanted = MemoryWanted(**{n: given.pop(n) for n in names}, heap_bytes=given.pop("heap"))
    finish(api.memory(path, api_options(given), wanted), given)
