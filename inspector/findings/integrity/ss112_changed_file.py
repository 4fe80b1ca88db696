"""SS112: log, metadata or schema changed since it was written.

What it means:
    The bytes of a small file are not those that Hadoop's `.NAME.crc` beside it was computed from.
    Spark 4.3 reads its logs without checking that. Here such an entry is ignored: its batch has no
    clock, its store no rule.

How it is proven:
    The checksum of the bytes is compared with the stored one.

Source:
    ChecksumFileSystem of Hadoop (2.3 to 4.3), on local disks.
"""

from __future__ import annotations

from inspector.exceptions import ChecksumError
from inspector.findings.finding import Severity
from inspector.findings.problem_rule import ProblemRule, problem_case


class ChangedFile(ProblemRule):
    """A log, metadata or schema file with other bytes than Spark wrote."""

    id = "SS112"
    title = "log, metadata or schema changed since it was written"
    severity = Severity.ERROR
    spark = "org.apache.hadoop.fs.ChecksumException"
    next_step = (
        "restore the file from a backup; one that was edited on purpose is read again when its "
        "`.NAME.crc` is removed"
    )

    slugs = (ChecksumError.slug,)

    general = problem_case("A log, metadata or schema file was changed after Spark wrote it.")
