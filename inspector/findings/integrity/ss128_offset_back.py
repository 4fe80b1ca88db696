"""SS128: offset of a source that goes back.

What it means:
    A source is at an earlier position than one batch before: a lower `logOffset`, Kafka offset,
    Delta version or number of `rate`, or another Delta table. Rows between may have been read
    twice, or rows of the new topic or table not at all.

How it is proven:
    Positions of neighbouring batches are compared, except Kafka partitions that one lacks, and
    batches that a tool appended.

Source:
    MicroBatchExecution.populateStartOffsets (2.3 to 4.3) compares no older entries. A file source
    that goes back stops the query (FileStreamSource.getBatch); Kafka reports lost data.
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.checkpoint.log_entries import DELTA_TABLE, DELTA_VERSION, KAFKA, SourceOffset
from inspector.checkpoint.logs import OFFSETS
from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.views.checkpoint_view import CheckpointView


class OffsetBack(Rule[CheckpointView]):
    """Sources whose offset is behind that of the batch before."""

    scope = "checkpoint"
    id = "SS128"
    title = "offset of a source that goes back"
    severity = Severity.WARNING
    spark = "startOffset"
    next_step = (
        "find out whether the topic or table was created again; if so, decide whether the old "
        "state is still right, or begin a new checkpoint. Restore an entry that was changed from "
        "a backup"
    )

    def find(self, view: CheckpointView) -> Iterator[Evidence]:
        """Yield one evidence for each source that goes back: its newest such batch.

        Older such batches of the source are counted as further occurrences.
        """
        is_newest = view.context.restart is not None
        by_source: dict[str, list[tuple[int, SourceOffset]]] = {}
        for batch in sorted(view.sources, reverse=True):
            for source in view.sources[batch] if is_newest or batch < view.version else ():
                if source.setback is not None:
                    by_source.setdefault(source.name, []).append((batch, source))
        for (batch, source), *earlier in by_source.values():
            if source.setback is not None:
                yield self.case_of(source.setback.kind)(
                    occurrences=1 + len(earlier),
                    source=source.called,
                    was=source.setback.before,
                    now=source.setback.after,
                    batch=batch,
                    entry=f"{OFFSETS}/{batch}",
                    previous=f"{OFFSETS}/{batch - 1}",
                    batches=1 + len(earlier),
                )

    def case_of(self, kind: str) -> Case:
        """Return the case of a setback by its kind: a Kafka topic, a Delta table, or another."""
        cases = {KAFKA: self.topic, DELTA_TABLE: self.other_table, DELTA_VERSION: self.older_table}
        return cases.get(kind, self.edited)

    _EVIDENCE = "{source}: {was} in {previous}, {now} in {entry}; {batches:batch} in all"
    edited = Case(
        cause="{source:capital} goes back in batch {batch}, from {was} to {now}: one of the two "
        "entries was changed, or the logs are of two runs.",
        evidence=_EVIDENCE,
    )
    topic = Case(
        cause="{source:capital} goes back in batch {batch}, from {was} to {now}: the topic was "
        "deleted and created again, or one of the two entries was changed.",
        evidence=_EVIDENCE,
    )
    other_table = Case(
        cause="{source:capital} changes in batch {batch}, from {was} to {now}: another table took "
        "the place of the first one, or an entry was changed.",
        evidence=_EVIDENCE,
    )
    older_table = Case(
        cause="{source:capital} goes back in batch {batch}, from {was} to {now}: the table was "
        "replaced by an older one, or one of the two entries was changed.",
        evidence=_EVIDENCE,
    )
