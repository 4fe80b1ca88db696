"""What listings and small files tell: commands that start as fast as their imports."""

from __future__ import annotations

from inspector.analyses import listing
from inspector.api.run import Options, Run
from inspector.discovery.formats import see_bytes
from inspector.render.report import Report


def info(path: str, options: Options | None = None) -> Report:
    """Identity, operators, stores and logs; reads listings and small files only."""
    run = Run.start(path, options)
    return listing.info(run.checkpoint, run.version, run.listed, see_bytes(run.checkpoint))


def files(path: str, options: Options | None = None) -> Report:
    """The files: chains, replay depth, what else lies there; reads listings only."""
    run = Run.start(path, options)
    return listing.files(run.checkpoint, run.version, run.listed)
