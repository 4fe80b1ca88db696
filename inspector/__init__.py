"""See inside the state of Spark Structured Streaming.

Point it at a checkpoint that Spark's HDFSBackedStateStoreProvider wrote: it decodes every delta and
snapshot, replays versions into maps, measures UnsafeRows and what versions share, and tells which
expired keys are still there, with proof. The way through the package::

    paths     checkpoint.layout    listing            -> operators, stores, partitions, state files
    bytes     checkpoint.storage   path               -> bytes       (read only; alone knows fsspec)
    tasks     discovery            checkpoint         -> one task for each partition of an operator
    frames    decode.frames        compressed bytes   -> raw bytes
    records   decode.records       raw bytes          -> puts and removals
    maps      state.replay         records, version by version -> StateMap
    facts     facts, passes        StateMap and what a version changed -> facts that add
    merged    merge                facts of all tasks -> Facts
    findings  findings             facts and rules    -> judged findings
    report    analyses, render     findings and facts -> text, JSON, CSV, ...

Between the task list and the facts stands one function, :func:`inspector.passes.run.run_tasks`,
with the signature of Spark's ``mapInArrow``; an engine maps it over the tasks. A task is one
partition of one operator. A module imports only from below:

    cli, spark > api > analyses > render, findings > merge > estimates > passes > discovery, engines
    > facts > operators > state > decode, checkpoint > kernel > schemas, sparktypes > model
    > exceptions

As a library: ``inspector.api`` has a function for every command, ``inspector.spark`` has reports
and DataFrames for a Spark session.
"""

from inspector.exceptions import InspectorError

__version__ = "0.1.0"

__all__ = ["InspectorError", "__version__"]
