"""``copy --state-format 2``: the same state as a query has that began with format 2."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from inspector import api
from inspector.api import Options
from inspector.checkpoint.state_schema import parse_state_schema
from inspector.model import Redact
from tests.analyses.test_copy import checkpoint, severe, tree
from tests.analyses.test_reshape import live_rows, refusal
from tests.cli.support import run

CONF = "spark.sql.streaming.{}.stateFormatVersion"
QUERIES = {
    "agg_v1": ("agg_update", CONF.format("aggregation")),
    "fmgws_event_ignore_v1": ("fmgws_event_ignore", CONF.format("flatMapGroupsWithState")),
}


def recorded(root: Path, conf: str) -> set[str]:
    """Values of a conf in all entries of the offset log."""
    entries = [path.read_text() for path in (root / "offsets").glob("[0-9]*")]
    return {json.loads(entry.split("\n")[1])["conf"][conf] for entry in entries}


def by_key(root: Path) -> dict[str, Any]:
    """The values of the live rows, by the key."""
    report = api.rows(str(root), Options(redact=Redact.NONE))
    return {json.dumps(row["key"]): row["value"] for row in report.primary.rows}


@pytest.mark.parametrize("release", ["4.3.0", "3.3.4"])
@pytest.mark.parametrize("case", QUERIES)
def test_converted_copy_has_the_schema_of_a_query_in_format_2(
    case: str, release: str, tmp_path: Path
) -> None:
    """Spark ran the query in both formats with equal input."""
    root, (twin, conf) = checkpoint(case, release), QUERIES[case]
    if not root.is_dir():
        pytest.skip("this release has no such fixture")
    before, dest = tree(root), tmp_path / "copy"
    report = api.copy(str(root), str(dest), state_format="2")
    assert report.summary["state_format"] == 2
    assert report.summary["rows"] == len(by_key(root)) > 0
    assert recorded(dest, conf) == {"2"}
    schemas = [
        parse_state_schema((path / "state/0/0/_metadata/schema").read_bytes())
        for path in (dest, checkpoint(twin, release))
    ]
    assert schemas[0].key == schemas[1].key
    assert [f.name for f in schemas[0].value.fields] == [f.name for f in schemas[1].value.fields]
    assert severe(dest) == []
    assert tree(root) == before


def test_converted_group_state_has_rows_of_a_query_in_format_2(tmp_path: Path) -> None:
    """The other query has more keys; equal ones have equal bytes."""
    root, twin = checkpoint("fmgws_event_ignore_v1"), checkpoint("fmgws_event_ignore")
    api.copy(str(root), str(tmp_path / "copy"), state_format="2")
    converted = live_rows(tmp_path / "copy")
    assert converted.total() > 40
    assert converted - live_rows(twin) == Counter()
    schemas = [
        (path / "state/0/0/_metadata/schema").read_bytes() for path in (tmp_path / "copy", twin)
    ]
    assert schemas[0] == schemas[1]


def test_converted_aggregation_has_the_buffers_of_its_source(tmp_path: Path) -> None:
    root = checkpoint("agg_v1")
    api.copy(str(root), str(tmp_path / "copy"), state_format="2")
    old, new = by_key(root), by_key(tmp_path / "copy")
    assert old.keys() == new.keys()
    for key, value in old.items():
        fields, buffers = (json.loads(v) if isinstance(v, str) else v for v in (value, new[key]))
        assert buffers == {name: fields[name] for name in buffers}
        assert set(fields) - set(buffers) == {"window", "user"}


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
    assert any("--state-format 2" in (step.command or "") for step in planned.steps)


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
    for path in root.glob("state/0/0/_metadata/*schema*"):
        path.unlink()
    for path in root.glob("state/0/0/_metadata/.*schema*"):
        path.unlink()
    with pytest.raises(api.InspectorError):
        api.copy(str(root), str(tmp_path / "copy"), state_format="2", stopped=True)
    assert not (tmp_path / "copy").exists()
