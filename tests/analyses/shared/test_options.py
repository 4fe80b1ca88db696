"""The shared options and their groups."""

from __future__ import annotations

from dataclasses import fields

from inspector.analyses.shared.options import (
    AT_VERSION,
    CACHE,
    ENGINE,
    KEYS,
    PART,
    RULES,
    SCHEMAS,
    THRESHOLDS,
    WORK,
    Options,
    redacting,
)
from inspector.engines.choose import EngineOptions
from inspector.model import Redact

GROUPS = (PART, AT_VERSION, SCHEMAS, KEYS, RULES, THRESHOLDS, CACHE, WORK, redacting(Redact.HASH))


def test_every_option_is_in_one_group() -> None:
    names = [element.name for group in GROUPS for element in group]
    assert len(set(names)) == len(names)
    of_engine = {name for name in names if "." in name}
    assert set(names) - of_engine == {item.name for item in fields(Options)} - {"engine"}
    assert {name.removeprefix("engine.") for name in of_engine} == {
        field.name for field in fields(EngineOptions)
    } - {"session", "notify", "watch", "tune_workers", "tells_kernel", "verbose"}
    assert set(ENGINE) <= set(WORK)


def test_option_defaults_equal_those_of_the_class() -> None:
    plain = Options()
    for item in (*AT_VERSION, *SCHEMAS, *KEYS, *RULES):
        assert item.default == getattr(plain, item.name)
    (redact,) = redacting(Redact.HASH)
    assert (redact.default, redact.choices) == (Redact.HASH, ("none", "hash", "all"))


def test_option_names_of_the_spark_source() -> None:
    result = {item.name: item.source for group in GROUPS for item in group}
    assert result["batch"] == "batchId"
    assert result["operator_id"] == "operatorId"
    assert result["store_name"] == "storeName"
    assert result["partition_id"] == "snapshotPartitionId"
    assert result["timeout_kind"] == "timeoutKind"
