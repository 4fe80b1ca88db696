"""See inside the state of Spark Structured Streaming.

Point it at a checkpoint that Spark's HDFSBackedStateStoreProvider or RocksDBStateStoreProvider
wrote: it decodes every delta, changelog and snapshot, replays versions into maps, measures
UnsafeRows and what versions share, and reports which expired keys are still there, with proof. The
way through the package::

    paths     checkpoint.layout    listing            -> operators, stores, partitions, state files
    bytes     checkpoint.storage   path               -> bytes       (read only; drivers by fsspec)
    tasks     discovery            checkpoint         -> one task for each partition of an operator
    frames    decode.frames        compressed bytes   -> raw bytes
    records   decode.records       raw bytes          -> puts and removals
    maps      state.replay         records, version by version -> StateMap
    facts     facts, passes        StateMap and what a version changed -> facts that add
    merged    merge                facts of all tasks -> Facts
    findings  findings             facts and rules    -> judged findings
    report    analyses, render     findings and facts -> text, JSON, CSV, ...

Between the task list and the facts stands one function, :func:`inspector.passes.worker.run_tasks`,
with the signature of Spark's ``mapInArrow``; an engine maps it over the tasks. A task is one
partition of one operator. A module imports only from below:

    cli > spark > api > analyses > render > findings > merge, estimates > passes
    > discovery, engines > facts > operators > providers > state > encode > decode, checkpoint
    > kernel > schemas, sparktypes > model
    > arrays, codec, quantities, sums, time_text, plain_text, exceptions, docs > credentials

Public are the names in ``__all__`` of three packages: ``inspector`` (this one: the errors, and
:func:`~inspector.api.opened.open_checkpoint`, which is imported when it is first named),
``inspector.api`` (a function for every command, and the types that they take and return) and
``inspector.spark`` (reports and DataFrames for a Spark session). All else is internal and changes
without notice.
"""

from importlib import import_module
from typing import Any

from inspector.exceptions import (
    CheckpointError,
    DecodeError,
    EngineError,
    InspectorError,
    MissingVersionError,
    NotACheckpointError,
    UnsupportedProviderError,
)

__version__ = "0.1.0"

__all__ = [
    "CheckpointError",
    "DecodeError",
    "EngineError",
    "InspectorError",
    "MissingVersionError",
    "NotACheckpointError",
    "UnsupportedProviderError",
    "__version__",
    "open_checkpoint",
]


def __getattr__(name: str) -> Any:
    if name != "open_checkpoint":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("inspector.api.opened").open_checkpoint


def __dir__() -> list[str]:
    return sorted(__all__)
