"""One function for each command that reads the state."""

from __future__ import annotations

from inspector.analyses import reports as build
from inspector.api.run import Options, Run
from inspector.findings.finding import Finding, Group
from inspector.findings.integrity import judge_problems
from inspector.findings.judge import judge
from inspector.model import Problem
from inspector.render.keys import Redact
from inspector.render.report import Report


def audit(path: str, options: Options | None = None) -> Report:
    """Every fact and every rule; the findings are the verdict.

    Raises:
        NotACheckpointError, UnsupportedProviderError, CheckpointError, EngineError, OSError: the
            checkpoint as a whole cannot be read; what is wrong in it is a problem of the report.
    """
    run = Run.start(path, options)
    facts = run.facts(fit=True, leftover_limit=build.AUDIT_KEYS)
    redact = run.options.redact or Redact.HASH
    problems = run.problems(facts)
    return build.audit(
        run.checkpoint,
        run.version,
        facts,
        problems,
        judge(run.checkpoint, run.version, facts, problems),
        redact,
    )


def findings_of(run: Run) -> tuple[Finding, ...]:
    """The findings of an audit."""
    facts = run.facts(fit=True)
    return judge(run.checkpoint, run.version, facts, run.problems(facts))


def verified(run: Run) -> tuple[Problem, ...]:
    """All that is wrong when everything has been read and checked."""
    return run.problems(run.facts(fit=True))


def verify(path: str, options: Options | None = None) -> Report:
    """Read and check everything, going on past what cannot be read."""
    run = Run.start(path, options)
    facts = run.facts(fit=True)
    problems = run.problems(facts)
    return build.verify(
        run.checkpoint, run.version, facts, problems, tuple(judge_problems(problems))
    )


def sizes(path: str, options: Options | None = None, *, by: str = "store") -> Report:
    """Rows and bytes of the judged version, exact; ``by`` store, operator or partition."""
    run = Run.start(path, options)
    facts = run.facts()
    return build.sizes(run.checkpoint, run.version, facts, run.problems(facts), by)


def sharing(path: str, options: Options | None = None, *, by: str = "store") -> Report:
    """What each version changed and shares with the one before; ``by`` as in :func:`sizes`."""
    run = Run.start(path, options)
    facts = run.facts(rewrites=True, partitions=by == "partition")
    return build.sharing(run.checkpoint, run.version, facts, run.problems(facts), by)


def memory(
    path: str, options: Options | None = None, wanted: build.MemoryWanted | None = None
) -> Report:
    """The size ladder from files to heap, per executor, and what would change it."""
    run = Run.start(path, options)
    facts = run.facts(partitions=True)
    return build.memory(
        run.checkpoint,
        run.version,
        facts,
        run.problems(facts),
        wanted or build.MemoryWanted(),
    )


def timeline(path: str, options: Options | None = None, *, limit: int | None = None) -> Report:
    """What each batch did; growth, and when live rows reach ``limit`` bytes."""
    run = Run.start(path, options)
    facts = run.facts(partitions=True)
    return build.timeline(run.checkpoint, run.version, facts, run.problems(facts), limit)


def top(path: str, options: Options | None = None, *, limit: int = 5) -> Report:
    """Biggest, hottest and oldest keys of every store, ``limit`` of each; skew of partitions."""
    run = Run.start(path, options)
    facts = run.facts(top=limit)
    redact = run.options.redact or Redact.NONE
    return build.top(run.checkpoint, run.version, facts, run.problems(facts), limit, redact)


def leftovers(path: str | Run, options: Options | None = None, *, limit: int = 0) -> Report:
    """Expired keys that are still there, oldest first; all of them if ``limit`` is 0."""
    run = Run.start(path, options)
    # The table of the largest is the same whatever the limit.
    facts = run.facts(leftover_limit=max(limit, build.LARGEST) if limit else 0, matched=True)
    problems = run.problems(facts)
    found = judge(run.checkpoint, run.version, facts, problems)
    lifetime = [f for f in found if f.kind.group is Group.LIFETIME]
    redact = run.options.redact or Redact.NONE
    return build.leftovers(run.checkpoint, run.version, facts, problems, lifetime, redact, limit)
