"""SS110: checksum file does not match.

What it means:
    A checksum file beside a state file, Hadoop's `.NAME.crc` or the `NAME.crc` of Spark 4.1, does
    not match the file's bytes. The file may be whole, and the checksum file older.

How it is proven:
    The checksum of the bytes is compared with the stored one.

Source:
    ChecksumFileSystem (Hadoop, local disks), ChecksumCheckpointFileManager (Spark 4.1).
"""

from __future__ import annotations

from inspector.findings.finding import Severity
from inspector.findings.problem_rule import ProblemRule, problem_case


class BadChecksum(ProblemRule):
    """A checksum file that is not of the state file beside it."""

    id = "SS110"
    title = "checksum file does not match"
    severity = Severity.WARNING
    spark = "org.apache.hadoop.fs.ChecksumException"
    next_step = (
        "compare the file with a backup; where the file is as it should be, the checksum file is "
        "stale and can be deleted"
    )

    slugs = ("file-checksum",)

    general = problem_case("A checksum file does not match the state file beside it.")
