"""History of the oldest leftover, as ``leftovers --explain`` tells it."""

from __future__ import annotations

import pytest

from inspector import api
from inspector.analyses.page.of_audit import oldest_story
from inspector.analyses.shared.run import Run
from inspector.discovery.tasks import Request
from inspector.model import Redact
from tests.cli.support import checkpoint_of

CASES = ("fmgws_event_ignore", "fmgws_event_rearm", "agg_complete", "pandas_event_ignore")


@pytest.mark.parametrize("case", CASES)
def test_oldest_story_equals_leftovers_explain(case: str) -> None:
    path = str(checkpoint_of(case))
    run = Run.start(path, None)
    story = oldest_story(run, run.judge(run.facts(Request(leftover_limit=1))), Redact.NONE)
    assert story is not None
    rows = list(story.rows)
    listed = list(api.leftovers(path).primary.rows)
    (mine,) = (row for row in listed if row["key"] == rows[0]["key"])
    assert mine["expired_batch"] == min(row["expired_batch"] for row in listed)
    assert rows == list(api.leftovers(path, explain=mine["key_hex"]).primary.rows)
    assert rows[-1]["event"] == "judged"


@pytest.mark.parametrize(("redact", "display"), [(Redact.HASH, "sha256:"), (Redact.ALL, "***")])
def test_oldest_story_redacts_the_key(redact: Redact, display: str) -> None:
    run = Run.start(str(checkpoint_of("fmgws_event_ignore")), None)
    story = oldest_story(run, run.judge(run.facts(Request(leftover_limit=1))), redact)
    assert story is not None
    rows = list(story.rows)
    assert all(row["key"].startswith(display) for row in rows)
    assert "once-000" not in str(rows)


def test_no_oldest_story_without_leftovers() -> None:
    run = Run.start(str(checkpoint_of("agg_append")), None)
    assert oldest_story(run, run.judge(run.facts(Request())), Redact.HASH) is None
