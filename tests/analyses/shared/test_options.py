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
    names = [each.name for group in GROUPS for each in group]
    assert len(set(names)) == len(names)
    of_engine = {name for name in names if "." in name}
    assert set(names) - of_engine == {each.name for each in fields(Options)} - {"engine"}
    assert {name.removeprefix("engine.") for name in of_engine} == {
        each.name for each in fields(EngineOptions)
    } - {"session", "notify", "watch", "tune_workers", "tells_kernel", "verbose"}
    assert set(ENGINE) <= set(WORK)


def test_defaults_are_those_of_the_class() -> None:
    plain = Options()
    for each in (*AT_VERSION, *SCHEMAS, *KEYS, *RULES):
        assert each.default == getattr(plain, each.name)
    (redact,) = redacting(Redact.HASH)
    assert (redact.default, redact.choices) == (Redact.HASH, ("none", "hash", "all"))


def test_the_names_of_sparks_source_stay() -> None:
    found = {each.name: each.source for group in GROUPS for each in group}
    assert found["batch"] == "batchId"
    assert found["operator_id"] == "operatorId"
    assert found["store_name"] == "storeName"
    assert found["partition_id"] == "snapshotPartitionId"
    assert found["timeout_kind"] == "timeoutKind"
