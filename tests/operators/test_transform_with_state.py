"""The stores of transformWithState: the content of each, and the expiry of its rows."""

from __future__ import annotations

from typing import Any

import pytest

from inspector.operators.registry import rule_for
from inspector.operators.rule import Clock, ExpiryField, OperatorShape, RowKind, RowPart
from inspector.operators.transform_with_state import (
    NAMES,
    Family,
    Properties,
    Variable,
    family_of,
    grouping_fields,
    has_ttl,
    rule,
)
from inspector.sparktypes.ddl import parse_ddl

KEY = parse_ddl("user string")
MAP_KEY = parse_ddl("key struct<user: string>, userKey struct<value: string>")
TIMER = parse_ddl("key struct<user: string>, expiryTimestampMs bigint")
TTL = parse_ddl("value struct<n: bigint>, ttlExpirationMs bigint")
PLAIN = parse_ddl("n bigint")
NOTHING = parse_ddl("__dummy__ void")
VARIABLES = {
    "timeMode": "ProcessingTime",
    "outputMode": "Update",
    "stateVariables": [
        {"stateName": "v", "stateVariableType": "ValueState", "ttlEnabled": True},
        {"stateName": "l", "stateVariableType": "ListState", "ttlEnabled": False},
        {"stateName": "m", "stateVariableType": "MapState", "ttlEnabled": True},
        {
            "stateName": "$procTimers_keyToTimestamp",
            "stateVariableType": "TimerState",
            "ttlEnabled": False,
        },
    ],
}
PROC, EVENT = "$procTimers_keyToTimestamp", "$eventTimers_keyToTimestamp"
SCHEMAS = {
    "default": (KEY, NOTHING),
    "v": (KEY, TTL),
    "$ttl_v": (parse_ddl("expirationMs bigint, elementKey struct<user: string>"), NOTHING),
    "l": (KEY, PLAIN),
    "$rowCounter_l": (KEY, parse_ddl("count bigint")),
    "m": (MAP_KEY, TTL),
    PROC: (TIMER, NOTHING),
    EVENT: (TIMER, NOTHING),
    "$procTimers_timestampToKey": (parse_ddl("expiryTimestampMs bigint, key struct<>"), NOTHING),
}


def shape(properties: dict[str, Any] = VARIABLES, name: str = NAMES[0]) -> OperatorShape:
    return OperatorShape(name, SCHEMAS, properties)


@pytest.mark.parametrize(
    ("store", "family", "variable"),
    [
        ("v", Family.VALUE, "v"),
        ("l", Family.LIST, "l"),
        ("m", Family.MAP, "m"),
        ("$ttl_v", Family.TTL_INDEX, "v"),
        ("$rowCounter_l", Family.ROW_COUNTER, "l"),
        ("$count_l", Family.ENTRY_COUNT, "l"),
        ("$min_l", Family.MIN_EXPIRY, "l"),
        (PROC, Family.TIMERS, ""),
        (EVENT, Family.TIMERS, ""),
        ("$procTimers_timestampToKey", Family.TIMERS_BY_TIME, ""),
        ("$later", Family.UNUSED, ""),
        ("default", Family.UNUSED, ""),
    ],
)
def test_family_and_variable_of_a_store(store: str, family: Family, variable: str) -> None:
    key = SCHEMAS[store][0] if store in SCHEMAS else None
    message, unsaid = Properties.of(VARIABLES), Properties.of({})
    assert family_of(store, message, SCHEMAS, key) == (family, variable)
    assert family_of(store, unsaid, SCHEMAS, key) == (family, variable)
    assert family.is_helper is (not family.is_variable and family is not Family.TIMERS)


@pytest.mark.parametrize(
    ("family", "key", "fields"),
    [
        (Family.VALUE, "a string, b int", 2),
        (Family.LIST, "a string, b int, index bigint", 2),
        (Family.MAP, "key struct<a: string>, userKey struct<b: int>", 1),
        (Family.TIMERS, "key struct<a: string>, expiryTimestampMs bigint", 1),
        (Family.ENTRY_COUNT, "a string, b int", 2),
        (Family.TTL_INDEX, "expirationMs bigint, elementKey struct<a: string>", 0),
        (Family.TIMERS_BY_TIME, "expiryTimestampMs bigint, key struct<a: string>", 0),
    ],
)
def test_number_of_grouping_key_fields(family: Family, key: str, fields: int) -> None:
    assert grouping_fields(family, parse_ddl(key)) == fields


def test_processor_properties_from_metadata() -> None:
    result = Properties.of(VARIABLES)
    assert (result.time_mode, result.output_mode) == ("ProcessingTime", "Update")
    assert result.variables is not None
    assert result.variables["v"] == Variable("v", Family.VALUE, True)
    assert result.variables["l"] == Variable("l", Family.LIST, False)
    assert result.variables[PROC].kind is Family.TIMERS
    assert (result.declares("v"), result.declares("w")) == (True, False)


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"stateVariables": {}},
        {"timeMode": None, "stateVariables": 3},
    ],
)
def test_metadata_without_variables_leaves_declarations_unknown(
    properties: dict[str, Any],
) -> None:
    assert Properties.of(properties).declares("v") is None


def test_malformed_variables_are_skipped() -> None:
    odd = [None, {"stateName": 1}, {"stateName": "x", "stateVariableType": "TreeState"}]
    assert Properties.of({"stateVariables": odd}).variables == {}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("store", ["v", "m"])
def test_ttl_value_expires_by_processing_time(name: str, store: str) -> None:
    result = rule_for(shape(name=name), store)
    expected = ExpiryField(Clock.PROCESSING_TIME, RowPart.VALUE, (1,), 1, True, "ttlExpirationMs")
    assert (result.expiry, result.row_kind) == (expected, RowKind.TTL_VALUE)


@pytest.mark.parametrize(
    ("store", "clock"), [(PROC, Clock.PROCESSING_TIME), (EVENT, Clock.WATERMARK)]
)
def test_timer_expires_after_the_batch_that_set_it(store: str, clock: Clock) -> None:
    result = rule_for(shape(), store)
    expected = ExpiryField(clock, RowPart.KEY, (1,), 1, True, "expiryTimestampMs", after_put=True)
    assert (result.expiry, result.row_kind) == (expected, RowKind.TIMER)


@pytest.mark.parametrize("store", ["$ttl_v", "$rowCounter_l", "default"])
def test_helper_stores_need_no_rule(store: str) -> None:
    result = rule(shape(), store)
    assert result.needs_none
    assert (result.expiry, result.never) == (None, None)


def test_variable_without_ttl_is_removed_by_the_processor() -> None:
    assert "when the processor clears it" in (rule(shape(), "l").unknown or "")


def test_variable_in_time_mode_none_never_expires() -> None:
    properties = {**VARIABLES, "timeMode": "NoTime"}
    assert "TimeMode.None" in (rule(shape(properties), "l").never or "")


@pytest.mark.parametrize(
    ("key", "options"),
    [
        ("user string", "--key KEY"),
        ("key struct<user: string>, userKey struct<kk: string>", "--key KEY"),
        ("user string, `the day` date", "--key user=KEY --key 'the day'=KEY"),
        ("key struct<a: string, b: int>, userKey struct<kk: int>", "--key a=KEY --key b=KEY"),
    ],
)
@pytest.mark.parametrize("mode", ["NoTime", "EventTime"])
def test_advice_names_copy_command_for_one_grouping_key(key: str, options: str, mode: str) -> None:
    schemas = {"x": (parse_ddl(key), PLAIN)}
    result = rule(OperatorShape(NAMES[0], schemas, {"timeMode": mode}), "x")
    command = f"inspector copy PATH NEW {options} --by removal --plan"
    assert result.advice.endswith(f": {command}")
    assert "inspector top PATH --by oldest" in result.advice


def test_undeclared_variable_never_expires() -> None:
    siblings = {**VARIABLES, "stateVariables": []}
    assert "no longer declares" in (rule(shape(siblings), "l").never or "")
    ttl = rule(shape(siblings), "v")
    assert ttl.expiry is not None
    assert "deleteIfExists('v')" in ttl.advice
    assert "deleteIfExists" not in rule(shape(), "v").advice


@pytest.mark.parametrize(
    ("ddl", "ttl"),
    [
        ("value struct<n: bigint>, ttlExpirationMs bigint", True),
        ("value bigint, ttlExpirationMs string", False),
        ("value bigint", False),
        ("ttlExpirationMs bigint, value bigint", False),
    ],
)
def test_ttl_is_recognized_by_the_value_schema(ddl: str, ttl: bool) -> None:
    assert has_ttl(parse_ddl(ddl)) is ttl
