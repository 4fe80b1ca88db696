"""``inspector copy --state-format 2``: state in the format of newer queries."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from inspector import api
from inspector.api import Options
from inspector.checkpoint.state_schema import StateSchema, parse_state_schema
from inspector.model import Redact
from tests.analyses.test_copy import checkpoint, severe
from tests.analyses.test_reshape import live_rows, logged_confs, refusal
from tests.attributes import attributes
from tests.checkpoint_files import contents_below
from tests.cli.support import run
from tests.reports import cell_values

CONF = "spark.sql.streaming.{}.stateFormatVersion"
QUERIES = {
    "agg_v1": ("agg_update", CONF.format("aggregation")),
    "fmgws_event_ignore_v1": ("fmgws_event_ignore", CONF.format("flatMapGroupsWithState")),
}


def schema_of(root: Path) -> StateSchema:
    """Return the schema of the only store."""
    return parse_state_schema((root / "state/0/0/_metadata/schema").read_bytes())


@pytest.mark.parametrize(
    ("case", "release"),
    [("agg_v1", "4.3.0"), ("fmgws_event_ignore_v1", "3.3.4"), ("fmgws_event_ignore_v1", "4.3.0")],
)
def test_converted_copy_has_the_schema_of_a_query_in_format_2(
    case: str, release: str, tmp_path: Path
) -> None:
    """Spark ran the query in both formats with equal input."""
    root, (twin, conf) = checkpoint(case, release), QUERIES[case]
    before, dest = contents_below(root), tmp_path / "copy"
    report = api.copy(str(root), str(dest), state_format="2")
    assert report.summary["state_format"] == 2
    assert report.summary["rows"] == live_rows(root).total() > 0
    assert logged_confs(dest, conf) == {"2"}
    converted, expected = schema_of(dest), schema_of(checkpoint(twin, release))
    assert converted.key == expected.key
    assert cell_values(map(vars, converted.value.fields), "name") == cell_values(
        map(vars, expected.value.fields), "name"
    )
    assert severe(dest) == []
    assert contents_below(root) == before


def test_converted_group_state_has_rows_of_a_query_in_format_2(tmp_path: Path) -> None:
    """The query in format 2 has more keys; equal keys have equal bytes."""
    root, twin = checkpoint("fmgws_event_ignore_v1"), checkpoint("fmgws_event_ignore")
    api.copy(str(root), str(tmp_path / "copy"), state_format="2")
    converted = live_rows(tmp_path / "copy")
    assert converted.total() > 40
    assert converted - live_rows(twin) == Counter()
    schema = "state/0/0/_metadata/schema"
    assert (tmp_path / "copy" / schema).read_bytes() == (twin / schema).read_bytes()


def test_converted_aggregation_has_the_buffers_of_its_source(tmp_path: Path) -> None:
    """Format 1 repeats the grouping key, window and user, in the value."""
    root = checkpoint("agg_v1")
    api.copy(str(root), str(tmp_path / "copy"), state_format="2")
    old = api.rows(str(root), Options(redact=Redact.NONE)).primary.rows
    new = list(api.rows(str(tmp_path / "copy"), Options(redact=Redact.NONE)).primary.rows)
    expected = [(row["key"], {**row["key"], **row["value"]}) for row in new]
    assert sorted(map(str, cell_values(old, "key", "value"))) == sorted(map(str, expected))
    assert {"window", "user"} & set(cell_values(new, "value")[0]) == set()


@pytest.mark.parametrize("case", QUERIES)
def test_conversion_with_new_partitions_and_provider_keeps_rows(case: str, tmp_path: Path) -> None:
    root = checkpoint(case)
    api.copy(str(root), str(tmp_path / "alone"), state_format="2")
    words: dict[str, Any] = {"state_format": "2", "partitions": 5, "provider": "rocksdb"}
    api.copy(str(root), str(tmp_path / "all"), **words)
    api.copy(str(tmp_path / "all"), str(tmp_path / "back"), partitions=2, provider="hdfs")
    expected: Counter[Any] = live_rows(tmp_path / "alone")
    assert live_rows(tmp_path / "all") == live_rows(tmp_path / "back") == expected
    assert severe(tmp_path / "all") == []


def test_plan_of_a_conversion_repeats_the_option(tmp_path: Path) -> None:
    root, dest = checkpoint("agg_v1"), tmp_path / "copy"
    planned = api.copy(str(root), str(dest), state_format="2", plan=True)
    assert not dest.exists()
    assert "--state-format 2" in str(attributes(planned.steps, "command"))


# --- refusals ------------------------------------------------------------------------------------


def test_query_in_format_2_is_refused(tmp_path: Path) -> None:
    message = refusal(checkpoint("agg_update"), tmp_path, state_format="2")
    assert "leave out --state-format" in message
    assert "join" not in message


def test_join_in_format_1_is_refused_with_the_next_step(tmp_path: Path) -> None:
    message = refusal(checkpoint("join_inner_v1", "3.3.4"), tmp_path, state_format="2")
    assert "start a new query for another format of it" in message


def test_other_format_is_a_usage_error(tmp_path: Path) -> None:
    outcome = run("copy", checkpoint("agg_v1"), tmp_path / "copy", "--state-format", "1")
    assert outcome.code == 2


def test_checkpoint_without_a_schema_file_is_refused(tmp_path: Path) -> None:
    root = Path(shutil.copytree(checkpoint("agg_v1"), tmp_path / "checkpoint"))
    shutil.rmtree(root / "state/0/0/_metadata")
    with pytest.raises(api.InspectorError):
        api.copy(str(root), str(tmp_path / "copy"), state_format="2", stopped=True)
    assert not (tmp_path / "copy").exists()
