"""SS128: offset of a source that goes back."""

from __future__ import annotations

from typing import Any

import pytest

from inspector.checkpoint.log_entries import (
    DELTA_TABLE,
    DELTA_VERSION,
    FILES,
    KAFKA,
    Setback,
    SourceOffset,
)
from inspector.findings.integrity.ss128_offset_back import OffsetBack
from tests.store_views import batch_clocks, checkpoint_view


def findings(*kinds: str, versions: int = 9) -> list[Any]:
    """Return the findings about a source that goes back in batches from 3 on, one for each kind."""
    sources = {
        batch: (SourceOffset("0", "{}", True, setback=Setback(kind, "5", "2")),)
        for batch, kind in enumerate(kinds, 3)
    }
    view = checkpoint_view({}, clocks=batch_clocks(*[0] * versions), sources=sources)
    return list(OffsetBack().findings(view))


def test_newest_batch_with_lower_offset_is_named() -> None:
    (finding,) = findings(FILES, FILES)
    assert (finding.kind.id, finding.severity.word) == ("SS128", "warning")
    assert finding.cause == (
        "Source 0 goes back in batch 4, from 5 to 2: one of the two entries was changed, or the "
        "logs are of two runs."
    )
    assert finding.evidence == "source 0: 5 in offsets/3, 2 in offsets/4; 2 batches in all"
    assert finding.occurrences == 2


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (KAFKA, "the topic was deleted and created again"),
        (DELTA_TABLE, "another table took the place of the first one"),
        (DELTA_VERSION, "the table was replaced by an older one"),
    ],
)
def test_cause_of_lower_offset_by_source_kind(kind: str, words: str) -> None:
    (finding,) = findings(kind)
    assert words in finding.cause


def test_sources_with_increasing_offsets_have_no_finding() -> None:
    assert findings() == []
    # A batch after the judged version is not judged.
    assert findings(FILES, versions=3) == []
