"""``leftovers --explain``: what is asked for, a class or a key."""

from __future__ import annotations

from dataclasses import replace

from inspector.analyses import reports as build
from inspector.api.run import Options, Run
from inspector.api.tables import history
from inspector.facts.expired import LeftoverClass
from inspector.render.report import Report


def explain(path: str, what: str, options: Options | None = None) -> Report:
    """The story of a class of leftovers, or of the keys with some fields, batch by batch.

    Args:
        path: the checkpoint.
        what: a class; else a JSON object of key fields, the key row in hex, or ``NAME=VALUE``.
        options: which part and version.

    Raises:
        CheckpointError: no store has such keys.
    """
    options = options or Options()
    run = Run.start(path, options)
    facts = run.facts(leftover_limit=0)
    if what in {kind.value for kind in LeftoverClass}:
        return build.explain_class(run.checkpoint, run.version, facts, what, run.problems(facts))
    by_field = "=" in what and not what.lstrip().startswith("{")
    asked = replace(
        options, key=None if by_field else what, where=(what,) if by_field else (), redact=None
    )
    events = list(history(path, asked, raw=True).primary.rows)
    return build.explain_keys(run.checkpoint, run.version, events, facts, run.problems(facts))
