"""What the package does, as calls: each returns a finished :class:`~inspector.report.model.Report`.

A report's tables hold plain rows; hand it to :func:`inspector.report.render.render` for text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from inspector.checkpoint.roots import Selection
from inspector.engines.local import map_tasks, stream_tasks
from inspector.findings.finding import Finding
from inspector.findings.integrity import judge_format, judge_problems, judge_rewrites
from inspector.findings.lifetime import LeftoverTotal, StoreLife
from inspector.findings.lifetime import judge as judge_life
from inspector.measure.leftovers import Certainty, LeftoverClass, TimeoutKind
from inspector.measure.versions import VersionFacts
from inspector.model import Problem
from inspector.pipeline import run_rows, run_tasks
from inspector.pipeline.collect import Facts, collect
from inspector.pipeline.discovery import Checkpoint, Operator, open_checkpoint
from inspector.pipeline.plan import Wanted, listing_problems, plan
from inspector.report import build
from inspector.report.keys import Redact
from inspector.report.model import Report

__all__ = ["Options", "audit", "files", "info", "leftovers", "rows", "sharing", "sizes", "verify"]


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


def audit(path: str, options: Options | None = None) -> Report:
    """Every fact and every rule; the findings are the verdict.

    Raises:
        NotACheckpointError, UnsupportedProviderError, CheckpointError, EngineError, OSError: the
            checkpoint as a whole cannot be read; what is wrong in it is a problem of the report.
    """
    run = _Run.start(path, options)
    facts = run.facts(fit=True, leftover_limit=build.AUDIT_KEYS)
    redact = run.options.redact or Redact.HASH
    return build.audit(run.checkpoint, run.version, facts, run.findings(facts), redact)


def info(path: str, options: Options | None = None) -> Report:
    """Identity, operators, stores and logs; reads listings and small files only."""
    run = _Run.start(path, options)
    return build.info(run.checkpoint, run.version, run.listed)


def files(path: str, options: Options | None = None) -> Report:
    """The files: chains, replay depth, what else lies there; reads listings only."""
    run = _Run.start(path, options)
    return build.files(run.checkpoint, run.version, run.listed)


def verify(path: str, options: Options | None = None) -> Report:
    """Read and check everything, going on past what cannot be read."""
    run = _Run.start(path, options)
    facts = run.facts(fit=True, leftover_limit=1)
    problems = run.problems(facts)
    return build.verify(
        run.checkpoint, run.version, facts, problems, tuple(judge_problems(problems))
    )


def sizes(path: str, options: Options | None = None, *, by: str = "store") -> Report:
    """Rows and bytes of the judged version, exact; ``by`` store, operator or partition."""
    run = _Run.start(path, options)
    facts = run.facts()
    return build.sizes(run.checkpoint, run.version, facts, run.problems(facts), by)


def sharing(path: str, options: Options | None = None) -> Report:
    """What each version changed and what it shares with the one before."""
    run = _Run.start(path, options)
    facts = run.facts()
    return build.sharing(run.checkpoint, run.version, facts, run.problems(facts))


def leftovers(path: str, options: Options | None = None, *, limit: int = 0) -> Report:
    """Expired keys that are still there, oldest first; all of them if ``limit`` is 0."""
    run = _Run.start(path, options)
    facts = run.facts(leftover_limit=limit)
    findings = [f for f in run.findings(facts) if f.kind.id.startswith("SS2")]
    redact = run.options.redact or Redact.NONE
    return build.leftovers(
        run.checkpoint, run.version, facts, run.problems(facts), findings, redact, limit
    )


def rows(path: str, options: Options | None = None, *, limit: int = 0, raw: bool = False) -> Report:
    """The live rows of a version, decoded; with their bytes in hex if ``raw``.

    The rows are read while the report is written. Problems are in the report when its rows have
    been read to the end.
    """
    run = _Run.start(path, options)
    specs = [task.to_json() for task in plan(run.checkpoint, Wanted(run.version))]
    problems = list(run.listed)
    redact = run.options.redact or Redact.NONE
    return build.rows(
        run.checkpoint,
        run.version,
        stream_tasks(run_rows, specs) if run.version else iter(()),
        problems,
        build.RowsWanted(limit, raw, redact),
    )


@dataclass(frozen=True)
class _Run:
    """One command on one checkpoint."""

    checkpoint: Checkpoint
    version: int
    options: Options
    listed: tuple[Problem, ...]

    @classmethod
    def start(cls, path: str, options: Options | None) -> _Run:
        options = options or Options()
        selection = Selection(options.operator_id, options.partition_id, options.store_name)
        checkpoint = open_checkpoint(path, options.storage_options, selection)
        version = checkpoint.version_of(options.batch, options.state_version)
        listed = (*checkpoint.problems, *listing_problems(checkpoint, version))
        return cls(checkpoint, version, options, listed)

    def facts(self, *, fit: bool = False, leftover_limit: int = 1) -> Facts:
        wanted = Wanted(self.version, fit, leftover_limit, self.options.timeout_kind)
        specs = [task.to_json() for task in plan(self.checkpoint, wanted)]
        return collect(map_tasks(run_tasks, specs, self.options.workers))

    def problems(self, facts: Facts) -> tuple[Problem, ...]:
        return (*self.listed, *facts.problems)

    def findings(self, facts: Facts) -> tuple[Finding, ...]:
        found = [*judge_problems(self.problems(facts))]
        for operator in self.checkpoint.operators:
            found += judge_format(operator.operator_id, self._formats(operator))
            for life in _lives(self.checkpoint, operator, self.version, facts):
                found += judge_life(life)
        for (operator_id, store), versions in facts.by_store().items():
            found += judge_rewrites(operator_id, store, versions.values())
        return tuple(sorted(found, key=lambda f: (-f.kind.severity, f.kind.id)))

    def _formats(self, operator: Operator) -> dict[str, str]:
        if operator.name != "stateStoreSave" or not self.version:
            return {}
        value = self.checkpoint.conf(self.version, "aggregation.stateFormatVersion")
        return {} if value is None else {"aggregation": value}


def _lives(
    checkpoint: Checkpoint, operator: Operator, version: int, facts: Facts
) -> Iterator[StoreLife]:
    clock = checkpoint.clock(version)
    merged = facts.by_store()
    for store, rule in operator.rules.items():
        versions = merged.get((operator.operator_id, store), {})
        known = [one for one in versions.values() if not one.rebased]
        yield StoreLife(
            operator_id=operator.operator_id,
            operator_name=operator.name,
            store_name=store,
            rule=rule,
            newest=versions.get(version, VersionFacts()),
            removals=sum(one.removed_rows for one in known),
            puts=sum(one.puts for one in known),
            window=len(known),
            leftovers=_totals(facts, operator.operator_id, store),
            watermark_ms=None if clock is None else clock.watermark_ms,
        )


def _totals(facts: Facts, operator_id: int, store: str) -> tuple[LeftoverTotal, ...]:
    merged: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in facts.totals:
        if (row["operator_id"], row["store_name"]) == (operator_id, store):
            merged.setdefault((row["leftover_class"], row["certainty"]), []).append(row)
    return tuple(
        LeftoverTotal(
            LeftoverClass(kind),
            Certainty(certainty),
            sum(row["rows"] for row in of_class),
            sum(row["key_bytes"] + row["value_bytes"] for row in of_class),
            min(row["expired_version"] for row in of_class),
        )
        for (kind, certainty), of_class in sorted(merged.items())
    )


Command = Callable[[str, Options], Report]
"""A command of this module, its own options bound."""
