"""Expiry rules of operators whose watermark is unknown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inspector.discovery.checkpoint import Checkpoint, open_checkpoint, with_rules
from inspector.discovery.unknown_watermarks import operator_holding_back, with_unknown_watermarks
from inspector.operators.rule import StoreRule
from inspector.operators.user_rules import UserRules
from tests import cases
from tests.cases import Batch

SINCE_3_5 = {"optimizer.pruneFiltersCanPruneStreamingSubplan": "true"}


def chain(root: Path, *names: str, conf: dict[str, str] | None = None) -> Checkpoint:
    """Write operators from the sink upwards, each with an event time in its key."""
    cases.write_logs(root, [Batch(3000, 4000, 3)], SINCE_3_5 if conf is None else conf)
    for number, name in enumerate(names):
        cases.write_operator(root, number, name, "default")
        cases.write_schema(root / "state" / str(number) / "0", cases.EVENT_TIME, cases.EXPIRES_AT)
        cases.write_store(root / "state" / str(number) / "0", {1: []})
    return open_checkpoint(str(root))


def rule_of(checkpoint: Checkpoint, operator: int = 0) -> StoreRule:
    return checkpoint.operators[operator].rules["default"]


@pytest.mark.parametrize(
    "above",
    ["symmetricHashJoin", "flatMapGroupsWithState", "applyInPandasWithState", "unheard-of"],
)
@pytest.mark.parametrize("name", ["dedupe", "stateStoreSave"])
def test_expiry_rule_below_a_join_or_group_state_is_unknown(
    tmp_path: Path, name: str, above: str
) -> None:
    result = chain(tmp_path, name, "dedupe", above)
    before = rule_of(result)
    rule = rule_of(with_unknown_watermarks(result, 1))
    assert (rule.expiry, rule.event_time) == (None, before.expiry)
    assert f"downstream of {above}" in str(rule.unknown)
    assert "'0=key." in str(rule.unknown)
    assert rule_of(with_unknown_watermarks(result, 1), 1).expiry is None


@pytest.mark.parametrize("above", ["stateStoreSave", "dedupe", "dedupeWithinWatermark"])
def test_other_operators_pass_the_watermark_on(tmp_path: Path, above: str) -> None:
    result = chain(tmp_path, "dedupe", above)
    assert with_unknown_watermarks(result, 1) == result


def test_all_operators_have_the_query_watermark_before_spark_3_5(tmp_path: Path) -> None:
    result = chain(tmp_path, "dedupe", "symmetricHashJoin", conf={})
    assert operator_holding_back(result, result.operators[0], 1) is None
    assert with_unknown_watermarks(result, 1) == result


def test_upstream_operator_keeps_its_rule(tmp_path: Path) -> None:
    result = chain(tmp_path, "symmetricHashJoin", "dedupe")
    assert rule_of(with_unknown_watermarks(result, 1), 1) == rule_of(result, 1)


def test_rule_of_the_user_is_kept(tmp_path: Path) -> None:
    result = chain(tmp_path, "dedupe", "symmetricHashJoin")
    field = f"key.{cases.EVENT_TIME.fields[0].name}"
    actual = with_rules(result, UserRules.parse(operator_rules=[f"0={field}<=watermark-1h"]))
    assert with_unknown_watermarks(actual, 1).operators == actual.operators
    # An event time field without a lag leaves the rule unknown.
    named = with_rules(result, UserRules.parse(event_time_fields=[f"0={field}"]))
    assert rule_of(with_unknown_watermarks(named, 1)).expiry is None


@pytest.mark.parametrize(
    ("mode", "arrives"), [("EventTime", True), ("NoTime", True), ("ProcessingTime", False)]
)
def test_watermark_below_transform_with_state(tmp_path: Path, mode: str, arrives: bool) -> None:
    name = "transformWithStateInPySparkExec"
    chain(tmp_path, "dedupe", name)
    written = tmp_path / "state/1/_metadata/metadata"
    content = json.loads(written.read_text().split("\n")[1])
    content["operatorPropertiesJson"] = json.dumps({"timeMode": mode})
    written.unlink()
    (written.parent / "v2").mkdir()
    (written.parent / "v2/0").write_text(f"v2\n{json.dumps(content)}")
    checkpoint = open_checkpoint(str(tmp_path))
    above = operator_holding_back(checkpoint, checkpoint.operators[0], 1)
    assert (above is None) is arrives
    assert (rule_of(with_unknown_watermarks(checkpoint, 1)).expiry is not None) is arrives
