"""The shared options and their groups."""

from __future__ import annotations

from dataclasses import fields
from itertools import chain

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
from tests.attributes import attributes

GROUPS = (PART, AT_VERSION, SCHEMAS, KEYS, RULES, THRESHOLDS, CACHE, WORK, redacting(Redact.HASH))


def test_every_option_is_in_one_group() -> None:
    names = attributes(chain(*GROUPS), "name")
    assert len(set(names)) == len(names)
    own = set(attributes(fields(Options), "name")) - {"engine"}
    of_engine = {f"engine.{field.name}" for field in fields(EngineOptions)}
    not_offered = {
        *("engine.session", "engine.notify", "engine.watch"),
        *("engine.tune_workers", "engine.tells_kernel", "engine.verbose"),
    }
    assert set(names) == own | of_engine - not_offered
    assert set(ENGINE) <= set(WORK)


def test_option_defaults_equal_those_of_the_class() -> None:
    names = attributes((*AT_VERSION, *SCHEMAS, *KEYS, *RULES), "name")
    defaults = attributes((*AT_VERSION, *SCHEMAS, *KEYS, *RULES), "default")
    assert attributes([Options()], *names) == [tuple(defaults)]
    (redact,) = redacting(Redact.HASH)
    assert (redact.default, redact.choices) == (Redact.HASH, ("none", "hash", "all"))


def test_option_names_of_the_spark_source() -> None:
    assert dict(attributes((*PART, *AT_VERSION), "name", "source")) == {
        "storage_options": "storageOptions",
        "provider_format": "providerFormat",
        "operator_id": "operatorId",
        "store_name": "storeName",
        "partition_id": "snapshotPartitionId",
        "batch": "batchId",
        "state_version": "stateVersion",
    }
