"""The public API: every analysis as a function, and the types of what they take and return.

::

    from inspector import api

    report = api.audit("s3a://bucket/checkpoint", api.Options(batch=41))
    for finding in report.findings:
        print(finding.kind.id, finding.evidence)
    keys = api.leftovers(path).to_pandas()

Each function takes the path of a checkpoint and :class:`Options`, and the options of its command
by keyword; it returns a :class:`Report` (``export`` returns Arrow tables, ``watch`` yields a report
for each batch), whose ``to_dict``, ``to_arrow`` and ``to_pandas`` convert it, and which
:func:`render` writes in any format of the command line. :func:`open_checkpoint` has the same as
methods, and :func:`audit_many` audits many checkpoints at a time. What is wrong with a checkpoint
as a whole is raised: a :class:`InspectorError`, or an OSError of its storage.

Functions and types are imported when they are first named: ``info`` waits for none that reads
state. All names that ``__all__`` does not have, and modules below, are internal.
"""

from importlib import import_module
from typing import Any

from inspector import analyses as _analyses

HOMES = {
    "render.audit_history": ("Proofs",),
    "analyses.shared.opening": ("Opened",),
    "analyses.shared.options": ("Options",),
    "analyses.shared.fleet_run": ("Outcome",),
    "api.many": ("audit_many",),
    "api.opened": ("OpenCheckpoint", "open_checkpoint"),
    "engines.choose": ("EngineOptions",),
    "analyses.shared.stores": ("StoreTable",),
    "exceptions": (
        *("CheckpointError", "DecodeError", "EngineError", "InspectorError", "MissingVersionError"),
        *("NotACheckpointError", "UnsupportedProviderError"),
    ),
    "facts.top_keys": ("TopBy",),
    "findings.finding": ("Finding", "Severity"),
    "findings.verdict": ("Cause", "Level", "StateGrowth", "StateSize", "Verdict"),
    "model": ("Certainty", "Problem", "Redact", "TimeoutKind"),
    "render.as_arrow": ("arrow_table",),
    "render.renderers": ("render",),
    "render.report": ("Report",),
    "render.report_data": ("Part",),
    "render.tabular": ("Column", "Table", "Unit"),
}
"""Module -> its names that are public, besides the analyses; type checkers read the stub."""

# public name -> its module
_HOME_OF = {name: home for home, names in HOMES.items() for name in names}

__all__ = sorted((*_analyses.names(), *_HOME_OF))


def __dir__() -> list[str]:
    return sorted((*_analyses.names(), *_HOME_OF))


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(f"inspector.{_HOME_OF[name]}"), name)
    if name not in _analyses.names():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _analyses.load(name).function
