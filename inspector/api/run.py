"""What every command begins with: the checkpoint, the version, the facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from inspector.checkpoint.roots import Selection
from inspector.discovery.checkpoint import (
    Checkpoint,
    checkpoint_at,
    open_checkpoint,
    state_file_bytes,
)
from inspector.discovery.plan import FactRequest, listing_problems, plan
from inspector.discovery.tasks import Task
from inspector.discovery.unknown_watermarks import with_unknown_watermarks
from inspector.discovery.user_rules import with_rules
from inspector.discovery.user_schemas import UserSchemas
from inspector.engines.choose import (
    EngineOptions,
    choose,
    requested_engine,
)
from inspector.engines.engine import BatchFunction, Engine, Merge, Reader, Work, reader_of
from inspector.engines.local import stream_tasks
from inspector.exceptions import CheckpointError, EngineError
from inspector.model import Problem, TimeoutKind
from inspector.operators.user_rules import GivenRules
from inspector.render.keys import Redact

if TYPE_CHECKING:
    from inspector.merge.collect import Facts


@dataclass(frozen=True)
class Options:
    """What is asked of a checkpoint; every field has the default of the command line.

    Attributes:
        storage_options: of the storage's driver; may hold credentials.
        batch, state_version: the version to judge, as batch N or as version N + 1; the newest
            committed one if neither is given.
        operator_id, store_name, partition_id: only this part.
        redact: what is shown of keys and values; None for the command's own default.
        workers: partitions read at the same time in this process.
        engine: where the tasks run; in this process if not said otherwise.
        timeout_kind: which clock the timers of group state follow, where the bytes do not tell.
        event_time_fields, operator_rules, join_retention: rules that the checkpoint does not tell,
            as :mod:`inspector.operators.user_rules` reads them.
        key, where: only these keys, in commands about rows: a JSON object of key fields or the
            key row in hex; ``NAME=VALUE`` each.
        key_schemas, value_schemas: state schemas in place of those in the checkpoint, each
            ``[OPERATOR[:STORE]=]DDL`` or StructType JSON.
    """

    storage_options: Mapping[str, str] = field(default_factory=dict)
    batch: int | None = None
    state_version: int | None = None
    operator_id: int | None = None
    store_name: str | None = None
    partition_id: int | None = None
    redact: Redact | None = None
    workers: int | None = None
    engine: EngineOptions = field(default_factory=lambda: EngineOptions("local"))
    timeout_kind: TimeoutKind | None = None
    event_time_fields: tuple[str, ...] = ()
    operator_rules: tuple[str, ...] = ()
    join_retention: tuple[str, ...] = ()
    key: str | None = None
    where: tuple[str, ...] = ()
    key_schemas: tuple[str, ...] = ()
    value_schemas: tuple[str, ...] = ()


def judged_by(checkpoint: Checkpoint, options: Options) -> Checkpoint:
    """The checkpoint with the rules that its user gave.

    Raises:
        CheckpointError: one is misspelt, or names what is not there.
    """
    try:
        given = GivenRules.parse(
            options.event_time_fields, options.operator_rules, options.join_retention
        )
    except ValueError as error:
        raise CheckpointError(str(error)) from None
    return with_rules(checkpoint, given)


@dataclass(frozen=True)
class Run:
    """One command on one checkpoint.

    Attributes:
        checkpoint: what was found. version: the judged state version.
        options: as asked. listed: what is wrong by the listing alone.
        engine: where the tasks run.
    """

    checkpoint: Checkpoint
    version: int
    options: Options
    listed: tuple[Problem, ...]
    engine: Engine

    @classmethod
    def start(cls, path: str | Run, options: Options | None) -> Run:
        """Open a checkpoint and choose the version; a run that is open is taken as it is.

        Raises:
            CheckpointError: there is no such part or version.
        """
        if isinstance(path, Run):
            return path
        options = options or Options()
        # What is asked for and cannot be had is said before anything is read.
        engine = requested_engine(options.engine, options.workers)
        selection = Selection(options.operator_id, options.partition_id, options.store_name)
        given = UserSchemas.parse(options.key_schemas, options.value_schemas)
        checkpoint = _opened(path, options, reader_of(engine), (selection, given))
        if selection != Selection() and not any(o.layout.stores for o in checkpoint.operators):
            raise CheckpointError("it has no such operator, store or partition", checkpoint.root)
        version = checkpoint.version_of(options.batch, options.state_version)
        engine = engine or choose(options.engine, options.workers, state_file_bytes(checkpoint))
        return cls.at(checkpoint, version, options, engine)

    @classmethod
    def at(cls, checkpoint: Checkpoint, version: int, options: Options, engine: Engine) -> Run:
        """A version of a checkpoint that is open."""
        checkpoint = with_unknown_watermarks(judged_by(checkpoint, options), version)
        listed = (*checkpoint.problems, *listing_problems(checkpoint, version))
        return cls(checkpoint, version, options, listed, engine)

    def facts(self, *, partitions: bool = False, **asked: Any) -> Facts:
        """The facts of all versions.

        Args:
            partitions: those of single partitions are needed for older versions too; else only
                their sums may be told.
            asked: fields of :class:`inspector.discovery.plan.FactRequest`; one leftover key of a
                class is listed if nothing else is said.
        """
        from inspector.merge.collect import collect  # noqa: PLC0415 - as in inspector.api

        return collect(self._told(self.tasks(**asked), partitions))

    def tasks(self, **asked: Any) -> list[Task]:
        """The tasks of a run; as :meth:`facts`."""
        asked = {"leftover_limit": 1, "timeout_kind": self.options.timeout_kind} | asked
        return plan(self.checkpoint, FactRequest(self.version, **asked))

    def _told(self, tasks: Sequence[Task], partitions: bool) -> Iterator[pa.RecordBatch]:
        from inspector.merge.combine import KEYS, MANY, combining  # noqa: PLC0415 - as above
        from inspector.passes.run import run_tasks  # noqa: PLC0415

        files = sum(len(store.files) for task in tasks for store in task.stores)
        if partitions or files <= MANY:
            return self.map(run_tasks, tasks)
        return self.map(run_tasks, tasks, Merge(KEYS, combining(self.version)))

    def map(
        self, function: BatchFunction, tasks: Iterable[Task], merge: Merge | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Facts of tasks, by a function of the pipeline, on the engine that was asked for."""
        from inspector.facts.registry import facts_schema  # noqa: PLC0415 - as above

        work = [Work(task.to_json(), task.file_bytes) for task in tasks]
        return self.engine.map(function, facts_schema(), work, merge)

    def stream(self, function: BatchFunction, specs: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Batches of tasks one after the other, in this process: for outputs that are written here.

        Args:
            function: as :meth:`inspector.engines.engine.Engine.map` takes it.
            specs: tasks as JSON, of this run's checkpoint or of another that is open.
        """
        reader = reader_of(self.engine)
        yield from stream_tasks(reader.on_driver(function) if reader else function, specs)

    def problems(self, facts: Facts) -> tuple[Problem, ...]:
        """All that is wrong, by the listing and by the files."""
        return (*self.listed, *facts.problems)


def _opened(
    path: str,
    options: Options,
    reader: Reader | None,
    asked: tuple[Selection, UserSchemas],
) -> Checkpoint:
    if reader is None:
        return open_checkpoint(path, options.storage_options, *asked)
    if options.storage_options:
        raise EngineError(
            "--storage-option is for fsspec; with --io hadoop the session's own settings count, "
            "such as --conf spark.hadoop.fs.s3a.endpoint=..."
        )
    return checkpoint_at(*reader.open(path), *asked)
