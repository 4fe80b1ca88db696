"""Identification of operators, and their rules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inspector.operators.registry import (
    _MODULE_OF,
    LOOK_AT_REWRITES,
    UNKNOWN,
    identify,
    rewrite_advice,
    rule_for,
)
from inspector.operators.rule import OperatorShape, StoreRule
from inspector.sparktypes import StructType
from inspector.sparktypes.ddl import parse_ddl
from inspector.sparktypes.schema_json import parse_schema_json
from tests.cases import hdfs_cases

EVERY = {
    *("stateStoreSave", "StatefulStreamlineAggregate", "sessionWindowStateStoreSaveExec"),
    *("flatMapGroupsWithState", "applyInPandasWithState", "symmetricHashJoin", "globalLimit"),
    *("dedupe", "dedupeWithinWatermark"),
}
"""Operators that run on this provider, as Spark's metadata names them."""

SAME_SHAPE = {"applyInPandasWithState": "flatMapGroupsWithState"}
"""Operators whose schemas are those of another operator."""

Schemas = dict[str, tuple[StructType, StructType]]


def of_fixture(case: Path) -> list[tuple[str, Schemas]]:
    """Return the name by Spark's metadata and the schemas by store of each operator of a case."""
    result: dict[int, Schemas] = {}
    for entry in json.loads((case / "schemas.json").read_text()):
        schemas = tuple(parse_schema_json(json.dumps(entry[side])) for side in ("key", "value"))
        result.setdefault(entry["op"], {})[entry["store"]] = (schemas[0], schemas[1])
    named = []
    for operator, schemas_of in result.items():
        text = (case / f"checkpoint/state/{operator}/_metadata/metadata").read_text()
        named.append((json.loads(text.split("\n")[1])["operatorInfo"]["operatorName"], schemas_of))
    return named


CASES = hdfs_cases("4.3.0")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_operator_is_identified_by_its_schemas(case: Path) -> None:
    for name, schemas in of_fixture(case):
        assert identify(schemas, schemas) == SAME_SHAPE.get(name, name)


def test_fixtures_cover_every_operator() -> None:
    names = {name for case in CASES for name, _ in of_fixture(case)}
    assert names >= EVERY - {"globalLimit", "StatefulStreamlineAggregate"}


def shape(key: str, value: str) -> Schemas:
    return {"default": (parse_ddl(key), parse_ddl(value))}


@pytest.mark.parametrize(
    ("key", "value", "name"),
    [
        ("key void", "value long", "globalLimit"),
        ("key string", "value long", "globalLimit"),
        ("user string", "value long", "stateStoreSave"),
        ("key string", "count long", "stateStoreSave"),
        ("value string", "count long, timeoutTimestamp int", "flatMapGroupsWithState"),
        ("value string", "groupState struct<a: int>", "flatMapGroupsWithState"),
        ("value string", "count long, groupState struct<a: int>", "stateStoreSave"),
        ("a string", "__dummy__ void", "dedupe"),
        ("a string", "expiresAtMicros long", "dedupeWithinWatermark"),
    ],
)
def test_operator_name_of_literal_schemas(key: str, value: str, name: str) -> None:
    assert identify(["default"], shape(key, value)) == name


def test_join_is_identified_by_its_store_names() -> None:
    assert identify(["right-keyWithIndexToValue"], {}) == "symmetricHashJoin"


def test_operators_without_schemas_are_unknown() -> None:
    assert identify(["default"], {}) == UNKNOWN
    assert identify(["a", "b"], {**shape("a int", "b int"), "c": (StructType(), StructType())}) == (
        UNKNOWN
    )


@pytest.mark.parametrize("name", sorted(EVERY))
def test_every_operator_of_the_hdfs_provider_has_a_rule(name: str) -> None:
    rule = rule_for(OperatorShape(name, shape("k int", "v int")), "default")
    assert "no rule is known" not in (rule.unknown or "")
    assert [rule.expiry, rule.never, rule.unknown].count(None) == 2
    assert rule.source


def test_unknown_operators_and_missing_schemas_are_reported() -> None:
    unknown = rule_for(OperatorShape("streamingUnion", {}), "default")
    assert unknown == StoreRule(unknown="no rule is known for operator 'streamingUnion'")
    without = rule_for(OperatorShape("dedupe", {}), "default")
    assert without.unknown is not None
    assert "the state schema (Spark 3.1 and later write one) is missing" in without.unknown


@pytest.mark.parametrize("name", _MODULE_OF)
def test_every_operator_has_specific_rewrite_advice(name: str) -> None:
    assert rewrite_advice(name) != LOOK_AT_REWRITES
    has_update = name in ("flatMapGroupsWithState", "applyInPandasWithState")
    assert ("update()" in rewrite_advice(name)) == has_update


def test_unknown_operator_has_general_rewrite_advice() -> None:
    assert rewrite_advice("streamingUnion") == LOOK_AT_REWRITES
