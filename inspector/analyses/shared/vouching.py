"""What the report says of files that no checksum vouches for: nothing else can be held against it.

Where no byte could tell that another one changed, the reader has to know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.analyses.shared.judged import Subject
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.checksums import unsummed

if TYPE_CHECKING:
    from inspector.merge.collect import Facts


def vouching(checkpoint: Checkpoint, facts: Facts) -> dict[str, Any]:
    """The counts, for the summary of a report that read every file to its end."""
    return _of_state(facts) | {
        "small_files": checkpoint.small_files,
        "small_files_without_checksum": checkpoint.unsummed_small_files,
    }


def _of_state(facts: Facts) -> dict[str, int]:
    from inspector.facts.checks import ChecksPassed  # noqa: PLC0415 - numpy: not for `info`

    passed = sum((observation.fact for observation in facts.of(ChecksPassed)), ChecksPassed())
    return {
        "files_without_checksum": passed.unsummed_files,
        "files_confirmed_by_snapshot": passed.confirmed_files,
    }


def vouching_notes(subject: Subject, facts: Facts | None = None) -> list[str]:
    """One sentence on state files, or none where a checksum vouches for every one.

    Logs, metadata and schemas are only counted, by :func:`vouching` and in the head of each report:
    on most storages nothing vouches for them, which says nothing of the checkpoint.

    Args:
        subject: the judged version.
        facts: of a run that read every file to its end; without them the log and the listing say
            which files hold a checksum.
    """
    if not subject.checkpoint.operators:
        return [
            "There is no state in this checkpoint: its query keeps none, or state/ is lost. "
            "Nothing in the checkpoint shows which."
        ]
    listed = unsummed(subject.checkpoint, subject.version)
    without, confirmed = listed.without, None
    if facts is not None:
        counts = _of_state(facts)
        without = counts["files_without_checksum"]
        confirmed = counts["files_confirmed_by_snapshot"]
    if not without:
        return []
    more = f"; snapshots confirm {confirmed:,} of them" if confirmed else ""
    return [
        f"No checksum covers {_share(without, listed.files)} state files: a change of "
        f"their bytes may go unnoticed{more}."
    ]


def _share(some: int, every: int) -> str:
    return f"{some:,} of {max(some, every):,}"
