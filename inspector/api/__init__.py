"""The public API: every analysis as a function, and the types of what they take and return.

::

    from inspector import api

    report = api.audit("s3a://bucket/checkpoint", api.Options(batch=41))
    for finding in report.findings:
        print(finding.kind.id, finding.evidence)
    keys = api.leftovers(path).to_pandas()

Each function takes the path of a checkpoint and :class:`Options`, and the options of its command
by keyword; it returns a :class:`Report` (``export`` returns Arrow tables, ``watch`` yields a report
for each batch). A report's tables hold plain rows; its ``to_dict``, ``to_arrow`` and ``to_pandas``
convert it, and :func:`render` writes it in any format of the command line.
:func:`open_checkpoint` has the same functions as methods, and :func:`audit_many` audits many
checkpoints at a time. What is wrong with the checkpoint as a
whole is raised: a :class:`InspectorError`, or an OSError of its storage.

Functions and types are imported when they are first named: those that read state take a while,
``info`` does not. Modules below this package, and all names that ``__all__`` does not have, are
internal and change without notice.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from inspector import analyses as _analyses

if TYPE_CHECKING:
    from inspector.analyses.audit import audit as audit
    from inspector.analyses.changes import changes as changes
    from inspector.analyses.copy import copy as copy
    from inspector.analyses.diff import diff as diff
    from inspector.analyses.export import export as export
    from inspector.analyses.files import files as files
    from inspector.analyses.history import history as history
    from inspector.analyses.info import info as info
    from inspector.analyses.leftovers import leftovers as leftovers
    from inspector.analyses.memory import memory as memory
    from inspector.analyses.preflight import preflight as preflight
    from inspector.analyses.rows import rows as rows
    from inspector.analyses.shared.audit_history import Proofs as Proofs
    from inspector.analyses.shared.fleet import Outcome as Outcome
    from inspector.analyses.shared.options import Options as Options
    from inspector.analyses.shared.run import Run as Run
    from inspector.analyses.shared.store_tables import StoreTable as StoreTable
    from inspector.analyses.sharing import sharing as sharing
    from inspector.analyses.simulate import simulate as simulate
    from inspector.analyses.sizes import sizes as sizes
    from inspector.analyses.timeline import timeline as timeline
    from inspector.analyses.top import top as top
    from inspector.analyses.trend import trend as trend
    from inspector.analyses.verify import verify as verify
    from inspector.analyses.watch import watch as watch
    from inspector.api.many import audit_many as audit_many
    from inspector.api.opened import OpenCheckpoint as OpenCheckpoint
    from inspector.api.opened import open_checkpoint as open_checkpoint
    from inspector.engines.choose import EngineOptions as EngineOptions
    from inspector.exceptions import CheckpointError as CheckpointError
    from inspector.exceptions import DecodeError as DecodeError
    from inspector.exceptions import EngineError as EngineError
    from inspector.exceptions import InspectorError as InspectorError
    from inspector.exceptions import MissingVersionError as MissingVersionError
    from inspector.exceptions import NotACheckpointError as NotACheckpointError
    from inspector.exceptions import UnsupportedProviderError as UnsupportedProviderError
    from inspector.facts.top import TopBy as TopBy
    from inspector.findings.finding import Finding as Finding
    from inspector.findings.finding import Severity as Severity
    from inspector.findings.verdict import Cause as Cause
    from inspector.findings.verdict import Level as Level
    from inspector.findings.verdict import StateGrowth as StateGrowth
    from inspector.findings.verdict import StateSize as StateSize
    from inspector.findings.verdict import Verdict as Verdict
    from inspector.model import Certainty as Certainty
    from inspector.model import Problem as Problem
    from inspector.model import Redact as Redact
    from inspector.model import TimeoutKind as TimeoutKind
    from inspector.render.as_arrow import arrow_table as arrow_table
    from inspector.render.formats import render as render
    from inspector.render.report import Column as Column
    from inspector.render.report import Part as Part
    from inspector.render.report import Report as Report
    from inspector.render.report import Table as Table
    from inspector.render.report import Unit as Unit

_HOMES = {
    "analyses.shared.audit_history": ("Proofs",),
    "analyses.shared.options": ("Options",),
    "analyses.shared.fleet": ("Outcome",),
    "api.many": ("audit_many",),
    "api.opened": ("OpenCheckpoint", "open_checkpoint"),
    "engines.choose": ("EngineOptions",),
    "analyses.shared.run": ("Run",),
    "analyses.shared.store_tables": ("StoreTable",),
    "exceptions": (
        "CheckpointError",
        "DecodeError",
        "EngineError",
        "InspectorError",
        "MissingVersionError",
        "NotACheckpointError",
        "UnsupportedProviderError",
    ),
    "facts.top": ("TopBy",),
    "findings.finding": ("Finding", "Severity"),
    "findings.verdict": ("Cause", "Level", "StateGrowth", "StateSize", "Verdict"),
    "model": ("Certainty", "Problem", "Redact", "TimeoutKind"),
    "render.as_arrow": ("arrow_table",),
    "render.formats": ("render",),
    "render.report": ("Column", "Part", "Report", "Table", "Unit"),
}
"""Module -> the names of its that are public besides the analyses."""

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted((*_analyses.names(), *_HOME_OF))


def __dir__() -> list[str]:
    return sorted((*_analyses.names(), *_HOME_OF))


if not TYPE_CHECKING:  # else a misspelt name would be Any

    def __getattr__(name: str) -> Any:
        if name in _HOME_OF:
            return getattr(import_module(f"inspector.{_HOME_OF[name]}"), name)
        if name not in _analyses.names():
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return _analyses.load(name).function
