"""SS127: source log with files of another folder.

What it means:
    The newest entries of a file source's log, which no batch has read, name files outside the
    folder of all files before. This happens if another job was started with this checkpoint. The
    next batch reads these entries, and Spark stops with `Wrong basePath`, unless the query reads by
    a glob or with `recursiveFileLookup`.

How it is proven:
    The files are compared with the folders of up to four entries before. The path of the query is
    in no file, so the restart is unknown.

Source:
    FileStreamSource.getBatch, PartitioningAwareFileIndex.basePaths (2.3 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.model import Certainty


class ForeignSource(Rule[CheckpointView]):
    """Entries of a source log that name files outside the folder of the query."""

    scope = "checkpoint"
    id = "SS127"
    title = "source log with files of another folder"
    severity = Severity.WARNING
    certainties = (Certainty.INFERRED,)
    spark = "Wrong basePath"
    next_step = (
        "if another job wrote the entry, stop the query and delete it, all newer entries of that "
        "log, the entry of `offsets` of the unfinished batch that reads it, and their `.crc` files"
    )
    command = "info"

    def find(self, view: CheckpointView) -> Iterator[Evidence]:
        """Yield one evidence for each source log whose newest entries name files of another folder.

        Nothing is yielded if the judged version is not the newest.
        """
        restart = view.files_restart
        doubts = () if restart is None else restart.doubts
        foreign = [doubt.foreign for doubt in doubts if doubt.foreign is not None]
        for entry in foreign:
            yield self.foreign_files(
                occurrences=len(foreign),
                path=entry.path,
                other=entry.other,
                folder=entry.folder,
                to_do=entry.to_do,
            )

    foreign_files = Case(
        cause="The entry {path} names files outside {folder}, the folder that the query reads: "
        "another job was started with this checkpoint, or the query reads several folders.",
        evidence="{path} names files of {other}; the files that the query has read are in {folder}",
        next_step="{to_do}",
    )
