"""What every command begins with: the checkpoint, the version, the facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from inspector.checkpoint.roots import Selection
from inspector.engines.local import map_tasks
from inspector.exceptions import CheckpointError
from inspector.measure.leftovers import TimeoutKind
from inspector.model import Problem
from inspector.pipeline import run_tasks
from inspector.pipeline.collect import Facts, collect
from inspector.pipeline.discovery import Checkpoint, open_checkpoint
from inspector.pipeline.plan import Wanted, listing_problems, plan
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
        checkpoint = open_checkpoint(path, options.storage_options, selection)
        if selection != Selection() and not any(o.layout.stores for o in checkpoint.operators):
            raise CheckpointError("it has no such operator, store or partition", checkpoint.root)
        version = checkpoint.version_of(options.batch, options.state_version)
        listed = (*checkpoint.problems, *listing_problems(checkpoint, version))
        return cls(checkpoint, version, options, listed)

    def facts(self, *, fit: bool = False, leftover_limit: int = 1) -> Facts:
        """The facts of all versions; see :class:`inspector.pipeline.plan.Wanted`."""
        wanted = Wanted(self.version, fit, leftover_limit, self.options.timeout_kind)
        specs = [task.to_json() for task in plan(self.checkpoint, wanted)]
        return collect(map_tasks(run_tasks, specs, self.options.workers))

    def problems(self, facts: Facts) -> tuple[Problem, ...]:
        """All that is wrong, by the listing and by the files."""
        return (*self.listed, *facts.problems)
