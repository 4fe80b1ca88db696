"""SS120: restart that Spark refuses.

What it means:
    Every state file can be read, but Spark refuses the checkpoint: the log of a file source is
    gone, or snapshots have the format of another release. It is a warning if the newest entry of a
    source log is missing, which Spark may write again, and information if only a later release
    refuses it, or only another path.

How it is proven:
    Entries, formats and paths are compared with those that a restart reads.

Source:
    FileStreamSource.getBatch (2.3 to 4.3), RocksDBCheckpointMetadata.readFromFile,
    OperatorStateMetadataV2 (4.0 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.checkpoint.logs import OFFSETS
from inspector.discovery.restart import Obstacle
from inspector.discovery.restart_conditions import JOIN_NULLS, SCHEMA_PATHS
from inspector.findings.finding import Severity, Weight
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.views.checkpoint_view import CheckpointView

REMEDIES = {
    SCHEMA_PATHS: "start the query where the checkpoint was written, or make a checkpoint for this "
    "place with inspector copy, which rewrites the paths",
    JOIN_NULLS: "set spark.sql.streaming.stateStore.skipNullsForStreamStreamJoins.enabled to true, "
    "so that Spark passes over rows that are not there, or start from a new checkpoint",
}
"""Name of the restart rule about an obstacle -> advice to the user."""


class RefusedRestart(Rule[CheckpointView]):
    """An obstacle to the restart though all files of the checkpoint can be read."""

    scope = "checkpoint"
    id = "SS120"
    title = "restart that Spark refuses"
    severity = Severity.ERROR
    info_weight = Weight.BACKGROUND
    spark = "STREAM_FAILED"
    next_step = (
        "restore what is missing from a backup; snapshots of checkpoint format 2 that Spark 4.0 "
        "wrote are read by Spark 4.0 alone, so that a later release needs a new checkpoint"
    )
    command = "info"
    yields_to_errors = True

    def find(self, view: CheckpointView) -> Iterator[Evidence]:
        """Yield evidence of each lost entry of a source log, and of one obstacle to a restart.

        It is the first obstacle that is in no table of problems. Nothing is yielded if the judged
        version is not the newest.
        """
        restart = view.files_restart
        if restart is None:
            return
        lost = [doubt.lost_entry for doubt in restart.doubts if doubt.lost_entry]
        for path in lost:
            yield self.lost_entry(occurrences=len(lost), path=path, offsets=OFFSETS)
        obstacles = [o for o in (*restart.obstacles, *restart.later) if not o.is_listed]
        for obstacle in obstacles[:1]:
            yield self.case_of(obstacle)(
                occurrences=len(obstacles),
                severity=Severity.INFO if obstacle in restart.later else None,
                obstacle=obstacle,
                since=obstacle.since,
                restart=restart.sentence,
                to_do=self.remedy(obstacle),
            )

    def case_of(self, obstacle: Obstacle) -> Case:
        """Return the case of an obstacle.

        It is ``moved`` if only the path is wrong, ``refused_later`` if only later releases refuse,
        and else ``refused``.
        """
        # The files of a checkpoint that was moved, or copied as a backup, are whole.
        if obstacle.about == SCHEMA_PATHS:
            return self.moved
        return self.refused_later if obstacle.since else self.refused

    def remedy(self, obstacle: Obstacle) -> str:
        """Return advice against an obstacle: its own, that of REMEDIES, or the rule's next step.

        For something that is missing and has no advice of its own, it is to restore it from a
        backup.
        """
        if not obstacle.to_do and obstacle.verb == "needs":
            return "restore what is missing from a backup"
        return obstacle.to_do or REMEDIES.get(obstacle.about, self.next_step)

    refused = Case(
        cause="Spark does not start the query from this checkpoint: {obstacle}.",
        evidence="{restart}",
        next_step="{to_do}",
    )
    refused_later = Case(
        cause="Spark {since} or later does not start the query from this checkpoint: {obstacle}.",
        evidence="{restart}",
        next_step="{to_do}",
    )
    moved = Case(
        cause="Spark does not start the query at this path: {obstacle}.",
        evidence="{restart}",
        next_step="{to_do}",
        severity=Severity.INFO,
    )
    lost_entry = Case(
        cause="The entry {path} is missing. Spark refuses the restart, or lists the input folder "
        "and writes the entry again. New files that it writes into this entry are never read.",
        evidence="the newest entry of {offsets} refers to {path}, which is missing",
        next_step="restore {path} from a backup before the restart; without a backup, keep new "
        "files out of the input folder until the query has run a batch",
        severity=Severity.WARNING,
    )
