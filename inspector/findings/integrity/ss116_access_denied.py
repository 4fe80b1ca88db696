"""SS116: access denied.

What it means:
    The storage refused files or folders: there is no permission to read them, or the credentials
    are wrong or have expired.

How it is proven:
    `problems` has the answer of the storage.

Source:
    Any storage (2.3 to 4.3): HTTP 401 and 403, POSIX permissions.
"""

from __future__ import annotations

from inspector.checkpoint.logfile import DENIED_SLUG
from inspector.findings.finding import Severity
from inspector.findings.problem_rule import ProblemRule, problem_case


class AccessDenied(ProblemRule):
    """Parts of the checkpoint that the storage does not let the user read."""

    id = "SS116"
    title = "access denied"
    severity = Severity.WARNING
    spark = "java.nio.file.AccessDeniedException"
    next_step = (
        "renew the credentials or ask for permission to read, and run this again; nothing says "
        "that a file is damaged"
    )

    slugs = (DENIED_SLUG,)

    general = problem_case(
        "The storage denies access to a part of the checkpoint, which is missing from this report."
    )
