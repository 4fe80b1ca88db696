"""Exit codes, and the only place that turns errors into them."""

from __future__ import annotations

import enum

from inspector import exceptions
from inspector.credentials import redact


class Exit(enum.IntEnum):
    """Exit codes of the process."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    NOT_A_CHECKPOINT = 3
    INCOMPLETE = 4
    UNSUPPORTED = 5
    STORAGE = 6
    INTERNAL = 70
    INTERRUPTED = 130


# exit code of an error by its class; the first class that fits counts
_OF_ERROR: tuple[tuple[type[Exception], Exit], ...] = (
    (exceptions.UnsupportedProviderError, Exit.UNSUPPORTED),
    (exceptions.NotACheckpointError, Exit.NOT_A_CHECKPOINT),
    (exceptions.CheckpointError, Exit.USAGE),
    (exceptions.EngineError, Exit.USAGE),
    (exceptions.InspectorError, Exit.INCOMPLETE),
    (MemoryError, Exit.INCOMPLETE),
    (FileNotFoundError, Exit.NOT_A_CHECKPOINT),
    (OSError, Exit.STORAGE),
)


def exit_of(error: Exception) -> Exit:
    """Return the exit code for an error that stopped a command."""
    return next((code for kind, code in _OF_ERROR if isinstance(error, kind)), Exit.INTERNAL)


def message_of(error: Exception) -> str:
    """Return the message for an error that stopped a command, with secrets masked."""
    if isinstance(error, MemoryError) and not isinstance(error, exceptions.InspectorError):
        return exceptions.OUT_OF_MEMORY
    internal = exit_of(error) is Exit.INTERNAL
    return redact(f"internal error: {type(error).__name__}: {error}" if internal else str(error))
