"""State schemas that the user gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from inspector.checkpoint.layout import discover
from inspector.checkpoint.state_schema import StateSchema
from inspector.checkpoint.storage import Storage
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.user_schemas import GIVEN, UserSchema, UserSchemas, with_user_schemas
from inspector.exceptions import CheckpointError
from inspector.model import StoreName
from inspector.providers.registry import classify
from inspector.sparktypes import StructType
from inspector.sparktypes.ddl import parse_ddl
from inspector.sparktypes.schema_json import to_json
from tests.cases import JOIN_STORES, small_checkpoint

USER, COUNT = parse_ddl("user string"), parse_ddl("n bigint")


@pytest.mark.parametrize(
    ("text", "operator", "store"),
    [
        ("user string", None, None),
        ("1=user string", 1, None),
        (" 0:left-keyToNumValues = user string", 0, "left-keyToNumValues"),
        (to_json(USER), None, None),
        (f"2:default={to_json(USER)}", 2, "default"),
    ],
)
def test_user_schema_names_its_store(text: str, operator: int | None, store: str | None) -> None:
    assert UserSchema.parse(text) == UserSchema(USER, operator, store)


def test_empty_user_schema_has_no_fields() -> None:
    assert UserSchema.parse("0=") == UserSchema(StructType(), 0)


@pytest.mark.parametrize("text", ["user text", "0={}", "{", "1:x=user"])
def test_invalid_user_schema_is_refused(text: str) -> None:
    with pytest.raises(CheckpointError, match="got the schema"):
        UserSchema.parse(text)


def test_user_schemas_by_store(tmp_path: Path) -> None:
    layout = discover(Storage(str(small_checkpoint(tmp_path))), classify)
    result = UserSchemas.parse([f"0:{JOIN_STORES[0]}=user string", "1=user string"], ["1=n bigint"])
    assert result.of_stores(layout) == {
        (0, JOIN_STORES[0]): (USER, None),
        (1, "default"): (USER, COUNT),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("user string", "name the store, as in"),
        ("0=user string", f"0:{JOIN_STORES[0]}="),
        ("7=user string", "is no store; there are 0:left"),
        ("1:other=user string", "is no store; there are 0:left"),
    ],
)
def test_user_schema_of_no_single_store_is_refused(tmp_path: Path, text: str, message: str) -> None:
    layout = discover(Storage(str(small_checkpoint(tmp_path))), classify)
    with pytest.raises(CheckpointError, match=message):
        UserSchemas.parse([text], []).of_stores(layout)


def test_user_schema_replaces_only_what_is_given() -> None:
    read = StateSchema(2, COUNT, COUNT)
    store_name = StoreName(0, "default")
    assert with_user_schemas(read, (USER, None), store_name) == StateSchema(GIVEN, USER, COUNT)
    assert with_user_schemas(read, (None, USER), store_name) == StateSchema(GIVEN, COUNT, USER)
    assert with_user_schemas(None, (USER, COUNT), store_name) == StateSchema(GIVEN, USER, COUNT)
    with pytest.raises(CheckpointError, match="--value-schema"):
        with_user_schemas(None, (USER, None), store_name)
    with pytest.raises(CheckpointError, match="--key-schema"):
        with_user_schemas(None, (None, USER), store_name)


def test_operator_name_from_user_schemas(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    (root / "state/1/_metadata/metadata").unlink()
    (root / "state/1/0/_metadata/schema").unlink()
    result = UserSchemas.parse(["1=ts timestamp"], ["1=expiresAtMicros bigint"])
    join, dedupe = open_checkpoint(str(root), user_schemas=result).operators
    assert dedupe.name == "dedupeWithinWatermark"
    assert dedupe.schemas["default"].version == GIVEN
    assert dedupe.rules["default"].expiry is not None
    assert join.schemas[JOIN_STORES[0]].version == 2


def test_broken_schema_file_with_a_user_schema_is_no_problem(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    (root / "state/1/0/_metadata/schema").write_bytes(b"broken")
    assert open_checkpoint(str(root)).problems
    result = UserSchemas.parse(["1=ts timestamp"], ["1=d void"])
    assert not open_checkpoint(str(root), user_schemas=result).problems
