"""Results as JSON: any text is a result or None, and a result of an audit stays what it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector import api
from inspector.serve.last_results import (
    MOST_POINTS,
    result_from_json,
    result_json,
    result_of,
    result_of_failure,
)
from tests.cli.support import checkpoint_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
FAILED = result_of_failure("/a", "/0", "It is gone.", 5)
AUDITED = result_of(api.audit(str(checkpoint_of("fmgws_event_ignore"))), "/0", 77, 99)


@pytest.mark.parametrize("result", [FAILED, AUDITED])
def test_a_result_is_read_as_it_was_written(result: Any) -> None:
    again = result_from_json(result_json(result), "/3")
    assert again is not None
    assert again.entry.url == "/3"
    assert result_json(again) == result_json(result) or json.loads(
        result_json(again)
    ) == json.loads(result_json(result))


def test_a_growth_line_is_bounded() -> None:
    (chart,) = AUDITED.entry.charts
    assert len(chart.series) == 1
    assert len(chart.batches) <= MOST_POINTS


@given(st.text() | JSON.map(json.dumps))
def test_any_text_is_refused_as_result(text: str) -> None:
    assert result_from_json(text, "/0") is None


@given(st.sampled_from(sorted(json.loads(result_json(AUDITED)))), JSON)
def test_any_changed_field_is_a_result_or_none(name: str, value: Any) -> None:
    fields = json.loads(result_json(AUDITED)) | {name: value}
    again = result_from_json(json.dumps(fields), "/0")
    assert again is None or result_json(again)
