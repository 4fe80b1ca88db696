"""What every command begins with: the checkpoint, the version, the facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from inspector.checkpoint.roots import Selection
from inspector.engines.local import map_tasks
from inspector.exceptions import CheckpointError
from inspector.measure.leftovers import TimeoutKind
from inspector.model import Problem
from inspector.operators.given import GivenRules
from inspector.pipeline import run_tasks
from inspector.pipeline.collect import Facts, collect
from inspector.pipeline.discovery import Checkpoint, open_checkpoint
from inspector.pipeline.given_rules import with_rules
from inspector.pipeline.given_schemas import GivenSchemas
from inspector.pipeline.lags import longest_retention_ms
from inspector.pipeline.plan import Wanted, below_joins, listing_problems, plan
from inspector.pipeline.tasks import Task
from inspector.report.keys import Redact


@dataclass(frozen=True)
class Options:
    """What is asked of a checkpoint; every field has the default of the command line.

    Attributes:
        storage_options: of the storage's driver; may hold credentials.
        batch, state_version: the version to judge, as batch N or as version N + 1; the newest
            committed one if neither is given.
        operator_id, store_name, partition_id: only this part.
        redact: what is shown of keys and values; None for the command's own default.
        workers: partitions read at the same time.
        timeout_kind: which clock the timers of group state follow, where the bytes do not tell.
        event_time_fields, operator_rules, join_retention: rules that the checkpoint does not tell,
            as :mod:`inspector.operators.given` reads them.
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
    """

    checkpoint: Checkpoint
    version: int
    options: Options
    listed: tuple[Problem, ...]

    @classmethod
    def start(cls, path: str, options: Options | None) -> Run:
        """Open a checkpoint and choose the version.

        Raises:
            CheckpointError: there is no such part or version.
        """
        options = options or Options()
        selection = Selection(options.operator_id, options.partition_id, options.store_name)
        given = GivenSchemas.parse(options.key_schemas, options.value_schemas)
        checkpoint = open_checkpoint(path, options.storage_options, selection, given)
        if selection != Selection() and not any(o.layout.stores for o in checkpoint.operators):
            raise CheckpointError("it has no such operator, store or partition", checkpoint.root)
        version = checkpoint.version_of(options.batch, options.state_version)
        return cls.at(checkpoint, version, options)

    @classmethod
    def at(cls, checkpoint: Checkpoint, version: int, options: Options) -> Run:
        """A version of a checkpoint that is open."""
        checkpoint = judged_by(checkpoint, options)
        listed = (*checkpoint.problems, *listing_problems(checkpoint, version))
        return cls(checkpoint, version, options, listed)

    def facts(
        self, *, fit: bool = False, leftover_limit: int = 1, top: int = 0, rewrites: bool = False
    ) -> Facts:
        """The facts of all versions; see :class:`inspector.pipeline.plan.Wanted`."""
        wanted = Wanted(self.version, fit, leftover_limit, self.options.timeout_kind, top, rewrites)
        late = below_joins(self.checkpoint, self.version)
        tasks = plan(self.checkpoint, wanted)
        told = list(self._told(task for task in tasks if task.operator_id not in late))
        if late:
            # These see a watermark that lags by what the joins above them were seen to keep.
            lag = longest_retention_ms(self.checkpoint, collect(told))
            wanted = replace(wanted, lags_ms=dict.fromkeys(late, lag))
            tasks = plan(self.checkpoint, wanted)
            told += self._told(task for task in tasks if task.operator_id in late)
        return collect(told)

    def _told(self, tasks: Iterable[Task]) -> Iterator[pa.RecordBatch]:
        return map_tasks(run_tasks, [task.to_json() for task in tasks], self.options.workers)

    def problems(self, facts: Facts) -> tuple[Problem, ...]:
        """All that is wrong, by the listing and by the files."""
        return (*self.listed, *facts.problems)
