"""Rules of the user."""

from __future__ import annotations

import pytest

from inspector.exceptions import CheckpointError
from inspector.operators.rule import Clock, RowPart, StoreRule
from inspector.operators.user_rules import UserRules, find_field, parse_duration
from inspector.sparktypes import StructType
from inspector.sparktypes.ddl import parse_ddl

SCHEMAS: tuple[StructType, StructType] = (
    parse_ddl("user string, window struct<start: timestamp, end: timestamp>"),
    parse_ddl("expires bigint, seen timestamp, name string"),
)
UNKNOWN = StoreRule(unknown="not told")


def applied(arguments: UserRules, name: str = "stateStoreSave") -> StoreRule:
    return arguments.apply(0, name, {"default": SCHEMAS}, {"default": UNKNOWN})["default"]


@pytest.mark.parametrize(
    ("text", "millis"),
    [("250ms", 250), ("90s", 90_000), ("1h30m", 5_400_000), ("2d", 172_800_000), ("0s", 0)],
)
def test_parse_duration(text: str, millis: int) -> None:
    assert parse_duration(text) == millis


@pytest.mark.parametrize("text", ["", "1", "h", "1.5h", "-1h", "1h x", "1w"])
def test_malformed_durations_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("rule", "clock", "inclusive", "delay", "path"),
    [
        ("0=key.window<=watermark", Clock.WATERMARK, True, 0, (1, 1)),
        ("0 = window.end <= watermark - 1h", Clock.WATERMARK, True, 3_600_000, (1, 1)),
        ("0:default=value.expires<processing", Clock.PROCESSING_TIME, False, 0, (0,)),
        ("0=value.seen<watermark-2s", Clock.WATERMARK, False, 2000, (1,)),
    ],
)
def test_operator_rule_sets_field_clock_and_delay(
    rule: str, clock: Clock, inclusive: bool, delay: int, path: tuple[int, ...]
) -> None:
    result = applied(UserRules.parse(operator_rules=[rule]))
    assert result.user_supplied
    assert result.expiry is not None
    assert (result.expiry.clock, result.expiry.inclusive) == (clock, inclusive)
    assert (result.expiry.delay_ms, result.expiry.path) == (delay, path)
    assert result.source.startswith("--operator-rule")


def test_never_is_a_valid_operator_rule() -> None:
    result = applied(UserRules.parse(operator_rules=["0=never"]))
    assert (result.never is not None, result.expiry, result.unknown) == (True, None, None)


@pytest.mark.parametrize("text", ["key.window", "0=window"])
def test_event_time_field_replaces_missing_watermark_metadata(text: str) -> None:
    result = applied(UserRules.parse(event_time_fields=[text]))
    assert result.expiry is not None
    assert (result.expiry.part, result.expiry.path) == (RowPart.KEY, (1, 1))
    assert result.doubt  # complete mode is possible


def test_event_time_field_of_another_operator_is_ignored() -> None:
    assert applied(UserRules.parse(event_time_fields=["1=window"])) == UNKNOWN


@pytest.mark.parametrize(
    ("name", "per_ms"), [("expires", 1), ("expires:us", 1000), ("seen", 1000), ("window", 1000)]
)
def test_time_units_of_fields(name: str, per_ms: int) -> None:
    field = find_field(name, SCHEMAS)
    assert field is not None
    assert field.per_ms == per_ms


@pytest.mark.parametrize(
    "arguments",
    [
        UserRules.parse(operator_rules=["0=key.nope<=watermark"]),
        UserRules.parse(operator_rules=["0=value.name<=watermark"]),
        UserRules.parse(event_time_fields=["key.user"]),
        UserRules.parse(event_time_fields=["nope"]),
    ],
)
def test_missing_or_non_time_fields_are_refused(arguments: UserRules) -> None:
    with pytest.raises(CheckpointError, match="field"):
        applied(arguments)


@pytest.mark.parametrize(
    "questions",
    [
        {"operator_rules": ["never"]},
        {"operator_rules": ["x=never"]},
        {"operator_rules": ["0:=never"]},
        {"operator_rules": ["0=key.ts>=watermark"]},
        {"operator_rules": ["0=key.ts<=now"]},
        {"event_time_fields": ["x=ts"]},
        {"event_time_fields": ["0="]},
        {"join_retention": ["left"]},
        {"join_retention": ["up=1h"]},
        {"join_retention": ["x:left=1h"]},
        {"join_retention": ["left=soon"]},
    ],
)
def test_malformed_user_rules_are_refused(questions: dict[str, list[str]]) -> None:
    with pytest.raises(ValueError, match="expected"):
        UserRules.parse(**questions)


def test_join_retention_needs_an_event_time() -> None:
    result = UserRules.parse(join_retention=["left=1h"])
    rules = {"left-keyWithIndexToValue": UNKNOWN}
    with pytest.raises(CheckpointError, match="--event-time-field"):
        result.apply(0, "symmetricHashJoin", {}, rules)
