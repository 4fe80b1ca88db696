"""The methods of OpenCheckpoint for type checkers; python scripts/refresh_docs.py writes them."""

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Literal, TypedDict

from inspector.analyses.shared.audit_history import Proofs
from inspector.analyses.shared.store_tables import StoreTable
from inspector.engines.choose import EngineOptions
from inspector.facts.top import TopBy
from inspector.model import Redact, TimeoutKind
from inspector.render.report import Report

class OpenOptions(TypedDict, total=False):
    """The keywords of open_checkpoint: the fields of Options."""

    storage_options: Mapping[str, str]
    batch: int | None
    state_version: int | None
    operator_id: int | None
    store_name: str | None
    partition_id: int | None
    redact: Redact | str | None
    workers: int | None
    memory_limit: int | None
    engine: EngineOptions | str
    timeout_kind: TimeoutKind | str | None
    event_time_fields: str | Sequence[str]
    operator_rules: str | Sequence[str]
    join_retention: str | Sequence[str]
    key: str | Sequence[str]
    where: str | Sequence[str]
    key_schemas: str | Sequence[str]
    value_schemas: str | Sequence[str]
    thresholds: Mapping[str, str | float]

class TypedMethods:
    """One method for every analysis."""

    def audit(
        self,
        *,
        maximum: Mapping[str, str | float] = ...,
        baseline: str | None = ...,
        tolerance: str = ...,
        estimate: bool = ...,
        price: Mapping[str, str] = ...,
        page: bool = ...,
        storage_options: Mapping[str, str] = ...,
        batch: int | None = ...,
        state_version: int | None = ...,
        operator_id: int | None = ...,
        store_name: str | None = ...,
        partition_id: int | None = ...,
        redact: Redact | str | None = ...,
        workers: int | None = ...,
        memory_limit: int | None = ...,
        engine: EngineOptions | str = ...,
        timeout_kind: TimeoutKind | str | None = ...,
        event_time_fields: str | Sequence[str] = ...,
        operator_rules: str | Sequence[str] = ...,
        join_retention: str | Sequence[str] = ...,
        key_schemas: str | Sequence[str] = ...,
        value_schemas: str | Sequence[str] = ...,
        thresholds: Mapping[str, str | float] = ...,
    ) -> Report: ...
    def changes(
        self,
        *,
        from_batch: int = ...,
        raw: bool = ...,
        storage_options: Mapping[str, str] = ...,
        batch: int | None = ...,
        state_version: int | None = ...,
        operator_id: int | None = ...,
        store_name: str | None = ...,
        partition_id: int | None = ...,
        key: str | Sequence[str] = ...,
        where: str | Sequence[str] = ...,
        key_schemas: str | Sequence[str] = ...,
        value_schemas: str | Sequence[str] = ...,
    ) -> Report: ...
    def copy(
        self,
        dest: str | PathLike[str],
        *,
        evict: str | None = ...,
        by: Literal["removal", "timeout"] | None = ...,
        certainty: Literal["proven", "inferred"] = ...,
        operator: int | None = ...,
        compact: bool = ...,
        plan: bool = ...,
        stopped: bool = ...,
        dest_storage_options: Mapping[str, str] | None = ...,
        storage_options: Mapping[str, str] = ...,
        batch: int | None = ...,
        state_version: int | None = ...,
        redact: Redact | str | None = ...,
        workers: int | None = ...,
        memory_limit: int | None = ...,
        engine: EngineOptions | str = ...,
        timeout_kind: TimeoutKind | str | None = ...,
        event_time_fields: str | Sequence[str] = ...,
        operator_rules: str | Sequence[str] = ...,
        join_retention: str | Sequence[str] = ...,
        key: str | Sequence[str] = ...,
        where: str | Sequence[str] = ...,
        key_schemas: str | Sequence[str] = ...,
        value_schemas: str | Sequence[str] = ...,
    ) -> Report: ...
    def diff(
        self,
        other: str | PathLike[str] | None = ...,
        *,
        from_batch: int | None = ...,
        to_batch: int | None = ...,
        from_version: int | None = ...,
        to_version: int | None = ...,
        raw: bool = ...,
        limit: int = ...,
        storage_options: Mapping[str, str] = ...,
        operator_id: int | None = ...,
        store_name: str | None = ...,
        partition_id: int | None = ...,
        redact: Redact | str | None = ...,
        key: str | Sequence[str] = ...,
        where: str | Sequence[str] = ...,
        key_schemas: str | Sequence[str] = ...,
        value_schemas: str | Sequence[str] = ...,
    ) -> Report: ...
    def export(
        self,
        what: Literal["rows", "changes"],
        *,
        from_batch: int = ...,
        raw: bool = ...,
        mode: str = ...,
        storage_options: Mapping[str, str] = ...,
        batch: int | None = ...,
        state_version: int | None = ...,
        operator_id: int | None = ...,
        store_name: str | None = ...,
        partition_id: int | None = ...,
        engine: EngineOptions | str = ...,
        key: str | Sequence[str] = ...,
        where: str | Sequence[str] = ...,
        key_schemas: str | Sequence[str] = ...,
        value_schemas: str | Sequence[str] = ...,
    ) -> list[StoreTable]: ...
    def files(
        self,
        *,
        storage_options: Mapping[str, str] = ...,
        batch: int | None = ...,
        state_version: int | None = ...,
        operator_id: int | None = ...,
        store_name: str | None = ...,
        partition_id: int | None = ...,
    ) -> Report: ...
    def history(
        self,
        *,
        uncommitted: bool = ...,
        raw: bool = ...,
        limit: int = ...,
        storage_options: Mapping[str, str] = ...,
        batch: int | None = ...,
        state_version: int | None = ...,
        operator_id: int | None = ...,
        store_name: str | None = ...,
        partition_id: int | None = ...,
        redact: Redact | str | None = ...,
        key: str | Sequence[str] = ...,
        where: str | Sequence[str] = ...,
        key_schemas: str | Sequence[str] = ...,
        value_schemas: str | Sequence[str] = ...,
    ) -> Report: ...
    def info(
        self,
        *,
        storage_options: Mapping[str, str] = ...,
        batch: int | None = ...,
        state_version: int | None = ...,
        operator_id: int | None = ...,
        store_name: str | None = ...,
        partition_id: int | None = ...,
        key_schemas: str | Sequence[str] = ...,
        value_schemas: str | Sequence[str] = ...,
    ) -> Report: ...
    def leftovers(
        self,
        *,
        explain: str | None = ...,
        limit: int = ...,
        storage_options: Mapping[str, str] = ...,
        batch: int | None = ...,
        state_version: int | None = ...,
        operator_id: int | None = ...,
        store_name: str | None = ...,
        partition_id: int | None = ...,
        redact: Redact | str | None = ...,
        workers: int | None = ...,
        memory_limit: int | None = ...,
        engine: EngineOptions | str = ...,
        timeout_kind: TimeoutKind | str | None = ...,
        event_time_fields: str | Sequence[str] = ...,
        operator_rules: str | Sequence[str] = ...,
        join_retention: str | Sequence[str] = ...,
        key: str | Sequence[str] = ...,
        where: str | Sequence[str] = ...,
        key_schemas: str | Sequence[str] = ...,
        value_schemas: str | Sequence[str] = ...,
        thresholds: Mapping[str, str | float] = ...,
    ) -> Report: ...
    def memory(
        self,
        *,
        retain: int = ...,
        executors: int | None = ...,
        cores: int = ...,
        heap: int | None = ...,
        state_percent: int | None = ...,
        jdk: int = ...,
        spark: str | None = ...,
        rocksdb_confs: Mapping[str, str] = ...,
        storage_options: Mapping[str, str] = ...,
        batch: int | None = ...,
        state_version: int | None = ...,
        operator_id: int | None = ...,
        store_name: str | None = ...,
        partition_id: int | None = ...,
        workers: int | None = ...,
        memory_limit: int | None = ...,
        engine: EngineOptions | str = ...,
        timeout_kind: TimeoutKind | str | None = ...,
        event_time_fields: str | Sequence[str] = ...,
        operator_rules: str | Sequence[str] = ...,
        join_retention: str | Sequence[str] = ...,
        key_schemas: str | Sequence[str] = ...,
        value_schemas: str | Sequence[str] = ...,
    ) -> Report: ...
    def preflight(
        self,
        new: str | PathLike[str] | None = ...,
        *,
        conf: Mapping[str, str] = ...,
        to_spark: str | None = ...,
        storage_options: Mapping[str, str] = ...,
    ) -> Report: ...
    def rows(
        self,
        *,
        raw: bool = ...,
        limit: int = ...,
        storage_options: Mapping[str, str] = ...,
        batch: int | None = ...,
        state_version: int | None = ...,
        operator_id: int | None = ...,
        store_name: str | None = ...,
        partition_id: int | None = ...,
        redact: Redact | str | None = ...,
        key: str | Sequence[str] = ...,
        where: str | Sequence[str] = ...,
        key_schemas: str | Sequence[str] = ...,
        value_schemas: str | Sequence[str] = ...,
    ) -> Report: ...
    def sharing(
        self,
        *,
        by: str = ...,
        storage_options: Mapping[str, str] = ...,
        batch: int | None = ...,
        state_version: int | None = ...,
        operator_id: int | None = ...,
        store_name: str | None = ...,
        partition_id: int | None = ...,
        workers: int | None = ...,
        memory_limit: int | None = ...,
        engine: EngineOptions | str = ...,
        key_schemas: str | Sequence[str] = ...,
        value_schemas: str | Sequence[str] = ...,
    ) -> Report: ...
    def sizes(
        self,
        *,
        by: str = ...,
        storage_options: Mapping[str, str] = ...,
        batch: int | None = ...,
        state_version: int | None = ...,
        operator_id: int | None = ...,
        store_name: str | None = ...,
        partition_id: int | None = ...,
        workers: int | None = ...,
        memory_limit: int | None = ...,
        engine: EngineOptions | str = ...,
        key_schemas: str | Sequence[str] = ...,
        value_schemas: str | Sequence[str] = ...,
    ) -> Report: ...
    def timeline(
        self,
        *,
        capacity: int | None = ...,
        last: int | None = ...,
        storage_options: Mapping[str, str] = ...,
        batch: int | None = ...,
        state_version: int | None = ...,
        operator_id: int | None = ...,
        store_name: str | None = ...,
        partition_id: int | None = ...,
        workers: int | None = ...,
        memory_limit: int | None = ...,
        engine: EngineOptions | str = ...,
        timeout_kind: TimeoutKind | str | None = ...,
        event_time_fields: str | Sequence[str] = ...,
        operator_rules: str | Sequence[str] = ...,
        join_retention: str | Sequence[str] = ...,
        key_schemas: str | Sequence[str] = ...,
        value_schemas: str | Sequence[str] = ...,
    ) -> Report: ...
    def top(
        self,
        *,
        limit: int = ...,
        by: TopBy | None = ...,
        storage_options: Mapping[str, str] = ...,
        batch: int | None = ...,
        state_version: int | None = ...,
        operator_id: int | None = ...,
        store_name: str | None = ...,
        partition_id: int | None = ...,
        redact: Redact | str | None = ...,
        workers: int | None = ...,
        memory_limit: int | None = ...,
        engine: EngineOptions | str = ...,
        key_schemas: str | Sequence[str] = ...,
        value_schemas: str | Sequence[str] = ...,
    ) -> Report: ...
    def trend(
        self,
        *,
        days: int = ...,
        limit: int = ...,
        storage_options: Mapping[str, str] = ...,
    ) -> Report: ...
    def verify(
        self,
        *,
        subset: str | None = ...,
        proofs: Proofs | None = ...,
        storage_options: Mapping[str, str] = ...,
        batch: int | None = ...,
        state_version: int | None = ...,
        operator_id: int | None = ...,
        store_name: str | None = ...,
        partition_id: int | None = ...,
        workers: int | None = ...,
        memory_limit: int | None = ...,
        engine: EngineOptions | str = ...,
        key_schemas: str | Sequence[str] = ...,
        value_schemas: str | Sequence[str] = ...,
        thresholds: Mapping[str, str | float] = ...,
    ) -> Report: ...
    def watch(
        self,
        *,
        interval: float = ...,
        until: int | None = ...,
        duration: str | None = ...,
        last: int = ...,
        storage_options: Mapping[str, str] = ...,
        operator_id: int | None = ...,
        store_name: str | None = ...,
        partition_id: int | None = ...,
        workers: int | None = ...,
        timeout_kind: TimeoutKind | str | None = ...,
        event_time_fields: str | Sequence[str] = ...,
        operator_rules: str | Sequence[str] = ...,
        join_retention: str | Sequence[str] = ...,
        key_schemas: str | Sequence[str] = ...,
        value_schemas: str | Sequence[str] = ...,
        thresholds: Mapping[str, str | float] = ...,
    ) -> Iterator[Report]: ...
