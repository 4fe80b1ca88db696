"""SS127: source log with files of another folder."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from inspector.discovery.restart_reasons import Doubt, ForeignEntry
from inspector.findings.integrity.ss127_foreign_source import ForeignSource
from tests.store_views import checkpoint_view


def findings(*doubts: Doubt) -> list[Any]:
    """Return the findings about a restart with doubts."""
    view = checkpoint_view({})
    vars(view)["files_restart"] = SimpleNamespace(doubts=doubts)
    return list(ForeignSource().findings(view))


def test_source_entry_with_foreign_files_is_named() -> None:
    entry = ForeignEntry("sources/0/7", "/other", "/data/in", "offsets/7")
    (finding,) = findings(Doubt("it is foreign", foreign=entry))
    assert (finding.kind.id, finding.severity.word) == ("SS127", "warning")
    assert finding.certainty.value == "inferred"
    assert finding.cause.startswith("The entry sources/0/7 names files outside /data/in, the ")
    assert "delete sources/0/7, all newer entries of this log, offsets/7" in finding.next_step


def test_other_doubts_have_no_finding() -> None:
    assert findings() == []
    assert findings(Doubt("of another kind", lost_entry="sources/0/7")) == []
