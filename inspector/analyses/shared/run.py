"""What every analysis begins with: the checkpoint, the version, the facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from inspector.analyses.shared.declare import FactRequest
from inspector.analyses.shared.options import Options
from inspector.checkpoint.roots import Selection
from inspector.discovery.checkpoint import (
    Checkpoint,
    checkpoint_at,
    open_checkpoint,
    state_file_bytes,
)
from inspector.discovery.plan import TaskRequest, listing_problems, plan
from inspector.discovery.tasks import Task
from inspector.discovery.unknown_watermarks import with_unknown_watermarks
from inspector.discovery.user_rules import with_rules
from inspector.discovery.user_schemas import UserSchemas
from inspector.engines.choose import choose, requested_engine
from inspector.engines.engine import BatchFunction, Engine, Merge, Reader, Work, reader_of
from inspector.engines.local import stream_tasks
from inspector.exceptions import CheckpointError, EngineError
from inspector.model import Problem
from inspector.operators.user_rules import UserRules

if TYPE_CHECKING:
    from inspector.merge.collect import Facts


def judged_by(checkpoint: Checkpoint, options: Options) -> Checkpoint:
    """The checkpoint with the rules that its user gave.

    Raises:
        CheckpointError: one is misspelt, or names what is not there.
    """
    try:
        rules = UserRules.parse(
            options.event_time_fields, options.operator_rules, options.join_retention
        )
    except ValueError as error:
        raise CheckpointError(str(error)) from None
    return with_rules(checkpoint, rules)


@dataclass(frozen=True)
class Run:
    """One analysis of one checkpoint.

    Attributes:
        checkpoint: what was found. version: the judged state version.
        options: of its user. listed: what is wrong by the listing alone.
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
        # An engine that cannot be had is an error before anything is read.
        engine = requested_engine(options.engine, options.workers)
        selection = Selection(options.operator_id, options.partition_id, options.store_name)
        schemas = UserSchemas.parse(options.key_schemas, options.value_schemas)
        checkpoint = _opened(path, options, reader_of(engine), (selection, schemas))
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

    def facts(self, request: FactRequest = FactRequest()) -> Facts:  # noqa: B008 - frozen
        """The facts of all versions."""
        from inspector.merge.collect import collect  # noqa: PLC0415 - as in inspector.api

        tasks = self.tasks(request)
        return collect(self._fact_batches(tasks, partitions=request.partitions))

    def tasks(self, request: FactRequest) -> list[Task]:
        """The tasks that make the facts of a request."""
        fields = asdict(request)
        del fields["partitions"]
        planned = TaskRequest(self.version, timeout_kind=self.options.timeout_kind, **fields)
        return plan(self.checkpoint, planned)

    def _fact_batches(self, tasks: Sequence[Task], *, partitions: bool) -> Iterator[pa.RecordBatch]:
        from inspector.merge.combine import KEYS, MANY, combining  # noqa: PLC0415 - as above
        from inspector.passes.run import run_tasks  # noqa: PLC0415

        files = sum(len(store.files) for task in tasks for store in task.stores)
        if partitions or files <= MANY:
            return self.map(run_tasks, tasks)
        return self.map(run_tasks, tasks, Merge(KEYS, combining(self.version)))

    def map(
        self, function: BatchFunction, tasks: Iterable[Task], merge: Merge | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Facts of tasks, by a function of the passes, on the engine of the run."""
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
    narrowed: tuple[Selection, UserSchemas],
) -> Checkpoint:
    if reader is None:
        return open_checkpoint(path, options.storage_options, *narrowed)
    if options.storage_options:
        raise EngineError(
            "--storage-option is for fsspec; with --io hadoop the session's own settings count, "
            "such as --conf spark.hadoop.fs.s3a.endpoint=..."
        )
    return checkpoint_at(*reader.open(path), *narrowed)
