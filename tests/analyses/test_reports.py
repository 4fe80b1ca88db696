"""One report for each command."""

from __future__ import annotations

from inspector.analyses import reports
from inspector.cli.main import COMMANDS


def test_every_command_that_reports_has_its_function() -> None:
    elsewhere = {"export", "history", "explain"}  # files, the report of changes, the documentation
    assert set(COMMANDS) - elsewhere <= set(reports.__all__)
    assert all(callable(getattr(reports, name)) for name in set(COMMANDS) - elsewhere)
