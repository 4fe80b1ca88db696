"""SS121: state files of a batch that never ran.

What it means:
    A partition has a file of a version that no batch made: it was copied or renamed. A restart does
    not read it. But in an HDFS-backed store maintenance takes it for the newest version, and no
    longer removes old versions.

How it is proven:
    Its number is far above that of the batch that `offsets` plans last.

Source:
    HDFSBackedStateStoreProvider.cleanup, filesForVersion (2.3 to 4.3).
"""

from __future__ import annotations

from inspector.discovery.listing import STRAY
from inspector.findings.finding import Severity
from inspector.findings.problem_rule import ProblemRule, problem_case


class StrayVersion(ProblemRule):
    """A state file of a version that no batch has made."""

    id = "SS121"
    title = "state files of a batch that never ran"
    severity = Severity.WARNING
    spark = "HDFSBackedStateStoreProvider.doMaintenance"
    next_step = (
        "move the files above the last batch out of the checkpoint while the query is stopped"
    )
    command = "files"

    slugs = (STRAY,)
    names_file = True

    general = problem_case("A state file is of a version that no batch has made.")
