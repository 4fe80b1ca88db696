"""The story of the oldest leftover on an audit page."""

from __future__ import annotations

import pytest

from inspector import api
from inspector.analyses.page.of_audit import oldest_story
from inspector.analyses.shared.run import Run
from inspector.discovery.tasks import Request
from inspector.model import Redact
from tests.cli.support import checkpoint_of
from tests.reports import cell_values

WINDOW = '{"start": "2024-01-01T00:00:00.000000Z", "end": "2024-01-01T00:00:20.000000Z"}'


@pytest.mark.parametrize(
    ("case", "key", "batch"),
    [
        ("fmgws_event_ignore", "value=once-000", 4),
        ("fmgws_event_rearm", "value=once-008", 10),
        ("agg_complete", f'{{"window": {WINDOW}, "user": "user-018"}}', 4),
        ("pandas_event_ignore", "user=idle-005", 4),
    ],
)
def test_oldest_story_equals_leftovers_explain(case: str, key: str, batch: int) -> None:
    path = str(checkpoint_of(case))
    run = Run.start(path, None)
    story = oldest_story(run, run.judge(run.facts(Request(leftover_limit=1))), Redact.NONE)
    assert story is not None
    assert list(story.rows) == list(api.leftovers(path, explain=key).primary.rows)
    assert min(cell_values(api.leftovers(path).primary.rows, "expired_batch")) == batch
    leftover = api.leftovers(path, api.Options(key=key)).primary.rows
    assert cell_values(leftover, "expired_batch") == [batch]


@pytest.mark.parametrize(
    ("redact", "display"), [(Redact.HASH, "sha256:2745aaf702b8b337"), (Redact.ALL, "***")]
)
def test_oldest_story_redacts_the_key(redact: Redact, display: str) -> None:
    run = Run.start(str(checkpoint_of("fmgws_event_ignore")), None)
    story = oldest_story(run, run.judge(run.facts(Request(leftover_limit=1))), redact)
    assert story is not None
    rows = list(story.rows)
    assert cell_values(rows, "key") == [display] * 3
    assert "once-000" not in str(rows)


def test_no_oldest_story_without_leftovers() -> None:
    run = Run.start(str(checkpoint_of("agg_append")), None)
    assert oldest_story(run, run.judge(run.facts(Request())), Redact.HASH) is None
