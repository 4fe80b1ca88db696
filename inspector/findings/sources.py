"""Findings about the sources of a query: their offsets, and the logs of file sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from inspector.checkpoint.log_entries import (
    DELTA_TABLE,
    DELTA_VERSION,
    FILES,
    KAFKA,
    NUMBER,
    RATE_MICRO_BATCH,
    SourceOffset,
)
from inspector.checkpoint.logs import OFFSETS
from inspector.discovery.restart import Restart
from inspector.findings import catalogue
from inspector.findings.finding import Finding, Severity
from inspector.findings.thresholds import DEFAULTS, Thresholds
from inspector.model import BatchId
from inspector.quantities import capitalise, count_text

_MEANING = {
    FILES: "one of the two entries was changed, or the logs are of two runs",
    KAFKA: "the topic was deleted and created again, or one of the two entries was changed",
    DELTA_TABLE: "another table took the place of the first one, or an entry was changed",
    DELTA_VERSION: "the table was replaced by an older one, or one of the two entries was changed",
    RATE_MICRO_BATCH: "one of the two entries was changed, or the logs are of two runs",
    NUMBER: "one of the two entries was changed, or the logs are of two runs",
}
"""Kind of setback -> how it comes about."""


def judge_setbacks(
    sources: Mapping[BatchId, Sequence[SourceOffset]], thresholds: Thresholds = DEFAULTS
) -> Iterator[Finding]:
    """Yield a finding for each source whose offset is behind that of the batch before.

    The newest such batch of a source is named; ``sources`` are the offsets of each batch.
    """
    setbacks: dict[str, list[tuple[BatchId, SourceOffset]]] = {}
    for batch in sorted(sources, reverse=True):
        for source in sources[batch]:
            if source.setback is not None:
                setbacks.setdefault(source.name, []).append((batch, source))
    for of_source in setbacks.values():
        if not thresholds.reports(catalogue.OFFSET_BACK.id, len(of_source)):
            continue
        batch, source = of_source[0]
        setback = source.setback
        if setback is None:
            continue
        more = f"; {count_text(len(of_source), 'batch', 'batches')} in all" * (len(of_source) > 1)
        evidence = (
            f"{source.called}: {setback.before} in {OFFSETS}/{batch - 1}, {setback.after} in "
            f"{OFFSETS}/{batch}{more}"
        )
        verb = "changes" if setback.kind == DELTA_TABLE else "goes back"
        cause = (
            f"{capitalise(source.called)} {verb} in batch {batch}, from {setback.before} to "
            f"{setback.after}: {_MEANING[setback.kind]}."
        )
        yield catalogue.OFFSET_BACK.of(evidence, cause=cause)


def judge_source_logs(restart: Restart, thresholds: Thresholds = DEFAULTS) -> Iterator[Finding]:
    """Yield a finding for each source log whose newest entry is lost or names foreign files."""
    lost = [doubt.lost_entry for doubt in restart.doubts if doubt.lost_entry]
    if thresholds.reports(catalogue.REFUSED_RESTART.id, len(lost)):
        for path in lost:
            yield catalogue.REFUSED_RESTART.of(
                f"the newest entry of {OFFSETS} refers to {path}, which is missing",
                next_step=f"restore {path} from a backup before the restart; without a backup, "
                "keep new files out of the input folder until the query has run a batch",
                cause=f"The entry {path} is missing. Spark refuses the restart, or lists the "
                "input folder and writes the entry again. New files that it writes into this entry "
                "are never read.",
                severity=Severity.WARNING,
            )
    foreign = [doubt.foreign for doubt in restart.doubts if doubt.foreign is not None]
    reports_foreign = thresholds.reports(catalogue.FOREIGN_SOURCE.id, len(foreign))
    for entry in foreign if reports_foreign else ():
        yield catalogue.FOREIGN_SOURCE.of(
            f"{entry.path} names files of {entry.other}; the files that the query has read are in "
            f"{entry.folder}",
            next_step=entry.to_do,
            cause=f"The entry {entry.path} names files outside {entry.folder}, the folder that the "
            "query reads: another job was started with this checkpoint, or the query reads several "
            "folders.",
        )
