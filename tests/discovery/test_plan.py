"""Plans: the tasks of a request, and what each task knows of its stores."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from inspector.checkpoint.roots import Selection
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.plan import plan
from inspector.discovery.tasks import ALL_LEFTOVERS, Request, StoreTask, Task
from inspector.discovery.unknown_watermarks import SINCE_3_5, UNSEEN
from inspector.model import Certainty, TimeoutKind
from inspector.sparktypes import StructField, StructType
from inspector.sparktypes.ddl import parse_ddl
from inspector.sparktypes.schema_json import to_json
from tests import cases
from tests.attributes import attributes
from tests.cases import Batch, small_checkpoint
from tests.checkpoint_files import remove_paths

EVENT, PROCESSING = TimeoutKind.EVENT_TIME, TimeoutKind.PROCESSING_TIME


def planned(root: Path, version: int = 4, request: Request = ALL_LEFTOVERS) -> list[Task]:
    return plan(open_checkpoint(str(root)), version, request)


def test_plan_has_a_task_per_operator_partition(tmp_path: Path) -> None:
    tasks = planned(small_checkpoint(tmp_path))
    assert attributes(tasks, "operator_id", "partition_id", "url") == [
        (0, 0, str(tmp_path)),
        (0, 1, str(tmp_path)),
        (0, 2, str(tmp_path)),
        (1, 0, str(tmp_path)),
        (1, 1, str(tmp_path)),
        (1, 2, str(tmp_path)),
    ]
    assert attributes(tasks[0].stores, "store_name") == list(cases.JOIN_STORES)
    assert attributes(tasks[3].stores, "store_name") == ["default"]


def test_task_has_files_schemas_rules_and_clocks(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    (root / "state/1/1/.4.delta.0f-1.TID3.tmp").write_bytes(b"")
    (root / "state/1/1/4.delta.crc").write_bytes(b"")
    request = Request(fit=True, leftover_limit=7, matched=True)
    task = planned(root, 3, request)[4]
    assert (task.operator_id, task.partition_id) == (1, 1)
    assert (task.version, task.request) == (3, request)
    (store,) = task.stores
    names = [Path(file.path).name for file in store.files]
    assert names == ["1.delta", "2.delta", "3.delta", "3.snapshot", "4.delta"]
    assert store.key_schema == to_json(cases.EVENT_TIME)
    assert store.expiry == replace(cases.KEY_TIME)
    # The clocks are those of the judged version and of the versions before it.
    clocks = attributes(task.clocks, "watermark_ms", "has_new_data")
    assert clocks == [(0, True), (1000, True), (3000, False)]


def test_an_empty_partition_folder_of_a_join_makes_no_task(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    remove_paths(root, "state/0/2/left-*")
    assert attributes(planned(root), "operator_id", "partition_id") == [
        *((0, 0), (0, 1), (1, 0), (1, 1), (1, 2)),
    ]


def test_codec_and_row_checksum_of_each_version(
    tmp_path: Path,
) -> None:
    root = small_checkpoint(tmp_path)
    conf = {"streaming.stateStore.compression.codec": "zstd"}
    cases.write_logs(root, [Batch(0, 3000, 3)], conf, first=2)
    conf |= {"streaming.stateStore.rowChecksum.enabled": "true"}
    cases.write_logs(root, [Batch(0, 4000, 4)], conf, first=3)
    assert planned(root)[0].codecs == {1: "lz4", 2: "lz4", 3: "zstd", 4: "zstd"}
    assert planned(root, 4)[0].row_checksum
    assert not planned(root, 3)[0].row_checksum


RECORDED_SINCE_3_5 = {"optimizer.pruneFiltersCanPruneStreamingSubplan": "true"}


@pytest.mark.parametrize(
    "name", ["symmetricHashJoin", "flatMapGroupsWithState", "applyInPandasWithState"]
)
def test_watermark_lags_downstream_of_join_or_group_state_since_spark_3_5(
    tmp_path: Path, name: str
) -> None:
    root = small_checkpoint(tmp_path)
    cases.write_operator(root, 0, "dedupe", "default")
    cases.write_logs(root, [Batch(3000, 4000, 3)], RECORDED_SINCE_3_5, first=3)
    assert planned(root)[-1].stores[0].certainty is Certainty.UNDECIDED
    cases.write_operator(root, 1, name, "default")
    downstream, upstream = planned(root)[0].stores[0], planned(root)[-1].stores[0]
    reason = f"downstream of {name} the watermark lags"
    assert (downstream.certainty, downstream.reason) == (Certainty.INFERRED, reason)
    assert (upstream.certainty, upstream.reason) == (Certainty.PROVEN, "")
    assert "downstream" not in planned(root, 3)[0].stores[0].reason


def test_leftovers_of_an_aggregation_are_inferred(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    cases.write_operator(root, 1, "stateStoreSave", "default")
    (store,) = planned(root)[-1].stores
    assert store.certainty is Certainty.INFERRED
    assert "complete mode" in store.reason
    # If there are several sources, another source may have brought the watermark.
    cases.write_logs(root, [Batch(3000, 4000, 3)], RECORDED_SINCE_3_5, first=3)
    (store,) = planned(root)[-1].stores
    assert store.certainty is Certainty.INFERRED
    with (root / "offsets/3").open("a") as entry:
        entry.write("\n3")
    (store,) = planned(root)[-1].stores
    assert store.certainty is Certainty.UNDECIDED


@pytest.mark.parametrize(
    ("conf", "lags"),
    [
        ("optimizer.pruneFiltersCanPruneStreamingSubplan", False),
        ("dropDuplicates.deterministicKeyOrder.enabled", True),
    ],
)
def test_deduplication_evicts_by_the_previous_watermark_since_spark_4_3(
    tmp_path: Path, conf: str, lags: bool
) -> None:
    root = small_checkpoint(tmp_path)
    cases.write_logs(root, [Batch(3000, 4000, 3)], {conf: "true"}, first=3)
    (store,) = planned(root)[-1].stores
    assert store.expiry == replace(cases.KEY_TIME, previous_bound=lags)


# --- which clock timers follow ---------------------------------------------------------------


def group_state_store(
    root: Path,
    batches: Sequence[Batch],
    name: str | None = "flatMapGroupsWithState",
    kind: TimeoutKind | None = None,
    version: int = 1,
) -> StoreTask:
    cases.write_logs(root, batches, {"shuffle.partitions": "1"})
    if name is not None:
        cases.write_operator(root, 0, name, "default")
    cases.write_schema(root / "state/0/0", cases.USER, cases.GROUP_STATE)
    cases.write_store(root / "state/0/0", {number: [] for number, _ in enumerate(batches, 1)})
    task = planned(root, version, replace(ALL_LEFTOVERS, timeout_kind=kind))[0]
    return task.stores[0]


def write_other_operators(root: Path, names: Sequence[str]) -> None:
    """Write operators from number 1 on, in addition to the group state of operator 0."""
    for number, name in enumerate(names, 1):
        cases.write_operator(root, number, name, "default")
        cases.write_schema(root / f"state/{number}/0", cases.USER, cases.EXPIRES_AT)
        cases.write_store(root / f"state/{number}/0", {1: []})


@pytest.mark.parametrize(
    ("batches", "idle"),
    [
        ([Batch(5, 1, 1), Batch(5, 2, 1)], (1,)),
        ([Batch(5, 1, 1), Batch(5, 2, 1), Batch(5, 3, 2), Batch(5, 4, 2)], (1, 3)),
        ([Batch(5, 1, 1), Batch(5, 2, 1), Batch(5, 3, 1)], (1, 2)),
        ([Batch(5, 1, 1), Batch(6, 2, 1)], ()),  # the watermark moved
        ([Batch(5, 1, 1), Batch(5, 2, 2)], ()),  # there was data
        ([Batch(5, 1, 1, committed=False), Batch(5, 2, 1)], (1,)),  # its commit is lost
        ([Batch(5, 1, 1)], ()),
        ([Batch(0, 1, 1), Batch(0, 2, 2)], ()),  # no watermark: an idle source has none
    ],
)
def test_batch_before_an_idle_batch_follows_processing_time(
    tmp_path: Path, batches: list[Batch], idle: tuple[int, ...]
) -> None:
    store = group_state_store(tmp_path, batches, version=len(batches))
    assert store.timeout_kinds == (EVENT, PROCESSING)
    assert store.processing_versions == idle


@pytest.mark.parametrize(
    ("name", "value", "versions"),
    [
        ("stateStoreSave", cases.EXPIRES_AT, (1,)),
        ("flatMapGroupsWithState", cases.GROUP_STATE, ()),
    ],
)
def test_idle_batch_with_two_timer_operators_shows_no_clock(
    tmp_path: Path, name: str, value: StructType, versions: tuple[int, ...]
) -> None:
    cases.write_schema(tmp_path / "state/1/0", cases.USER, value)
    cases.write_store(tmp_path / "state/1/0", {1: [], 2: []})
    cases.write_operator(tmp_path, 1, name, "default")
    store = group_state_store(tmp_path, [Batch(5, 1, 1), Batch(5, 2, 1)], version=2)
    assert store.processing_versions == versions
    # An operator that is not selected counts too.
    (task,) = plan(open_checkpoint(str(tmp_path), selection=Selection(operator_id=0)), 2)
    assert task.stores[0].processing_versions == versions
    # An operator of an unknown kind may have timers.
    shutil.rmtree(tmp_path / "state/1/0/_metadata")
    shutil.rmtree(tmp_path / "state/1/_metadata")
    (task, _) = planned(tmp_path, 2)
    assert task.stores[0].processing_versions == ()


@pytest.mark.parametrize(
    ("name", "properties", "versions"),
    [
        ("transformWithStateExec", {"timeMode": "ProcessingTime"}, ()),
        ("transformWithStateInPandasExec", {"timeMode": "ProcessingTime"}, ()),
        ("transformWithStateExec", {"timeMode": "EventTime"}, (1,)),
        ("transformWithStateExec", {"timeMode": "NoTime"}, (1,)),
        ("transformWithStateExec", {}, ()),
        ("someNewOperator", {}, ()),
    ],
)
def test_idle_batch_with_an_operator_that_requests_batches(
    tmp_path: Path, name: str, properties: dict[str, str], versions: tuple[int, ...]
) -> None:
    group_state_store(tmp_path, [Batch(5, 1, 1), Batch(5, 2, 1)], version=2)
    checkpoint = open_checkpoint(str(tmp_path))
    (group,) = checkpoint.query
    assert group.metadata is not None
    metadata = replace(group.metadata, properties=properties)
    neighbour = replace(group, name=name, rules={}, metadata=metadata)
    (task,) = plan(replace(checkpoint, query=(group, neighbour)), 2)
    assert task.stores[0].processing_versions == versions


def test_idle_batch_with_group_state_without_timers(tmp_path: Path) -> None:
    group_state_store(tmp_path, [Batch(5, 1, 1), Batch(5, 2, 1)], version=2)
    checkpoint = open_checkpoint(str(tmp_path))
    (group,) = checkpoint.query
    (rule,) = group.rules.values()
    without = replace(group, rules={"default": replace(rule, expiry=None)})
    (task,) = plan(replace(checkpoint, query=(group, without)), 2)
    assert task.stores[0].processing_versions == (1,)
    unread = replace(without, schemas={})
    (task,) = plan(replace(checkpoint, query=(group, unread)), 2)
    assert task.stores[0].processing_versions == ()


def test_batches_after_the_judged_batch_are_ignored(tmp_path: Path) -> None:
    batches = [Batch(5, 1, 1), Batch(5, 2, 2), Batch(5, 3, 2)]
    assert group_state_store(tmp_path, batches, version=3).processing_versions == (2,)
    assert group_state_store(tmp_path, batches, version=2).processing_versions == ()
    (task,) = planned(tmp_path, 2)
    assert attributes(task.clocks, "batch_id") == [0, 1]


@pytest.mark.parametrize(
    ("above", "fed"),
    [
        ((), True),
        (("dedupe",), True),
        (("stateStoreSave",), False),
        (("dedupe", "symmetricHashJoin"), False),
        (("applyInPandasWithState",), False),
        (("unheard-of",), False),
    ],
)
def test_only_sources_feed_depends_on_upstream_operators(
    tmp_path: Path, above: tuple[str, ...], fed: bool
) -> None:
    write_other_operators(tmp_path, above)
    assert group_state_store(tmp_path, [Batch(5, 1, 1)]).only_sources_feed is fed


def test_timeout_kind_of_the_user_counts(tmp_path: Path) -> None:
    store = group_state_store(tmp_path, [Batch(0, 1, 1)], kind=EVENT)
    assert store.timeout_kinds == (EVENT,)


@pytest.mark.parametrize(
    ("name", "clear"),
    [("flatMapGroupsWithState", True), ("applyInPandasWithState", False), (None, False)],
)
def test_only_scala_group_state_always_clears_timers(
    tmp_path: Path, name: str | None, clear: bool
) -> None:
    assert group_state_store(tmp_path, [Batch(0, 1, 1)], name).timers_always_clear == clear


def test_group_state_without_timeouts_has_no_clock(tmp_path: Path) -> None:
    root = tmp_path
    group_state_store(root, [Batch(5, 1, 1)])
    cases.write_schema(root / "state/0/0", cases.USER, parse_ddl("groupState struct<a: int>"))
    (task,) = planned(root, 1)
    assert (task.stores[0].timeout_kinds, task.stores[0].expiry) == ((), None)


RISES_ALONE = (Batch(5, 1, 1), Batch(6, 2, 1), Batch(6, 3, 2))


@pytest.mark.parametrize(
    ("batches", "neighbour", "version", "certainty", "reason"),
    [
        (RISES_ALONE, (), 3, Certainty.PROVEN, ""),
        (RISES_ALONE, ("globalLimit",), 3, Certainty.PROVEN, ""),
        # The other operator may have requested the batch.
        (RISES_ALONE, ("dedupe",), 3, Certainty.UNDECIDED, UNSEEN),
        # The batch is newer than the judged version.
        (RISES_ALONE, (), 1, Certainty.UNDECIDED, UNSEEN),
        (
            *((Batch(5, 1, 1), Batch(6, 2, 2), Batch(7, 3, 3)), (), 3),
            *(Certainty.UNDECIDED, UNSEEN),
        ),
        # A processing-time timeout requests such a batch too.
        (
            *((Batch(5, 1, 1), Batch(5, 2, 1), Batch(6, 3, 2)), (), 3),
            *(Certainty.UNDECIDED, UNSEEN),
        ),
    ],
)
def test_timers_follow_the_query_watermark_if_it_made_a_batch(
    tmp_path: Path,
    batches: tuple[Batch, ...],
    neighbour: tuple[str, ...],
    version: int,
    certainty: Certainty,
    reason: str,
) -> None:
    write_other_operators(tmp_path, neighbour)
    store = group_state_store(tmp_path, batches, version=version)
    # Until Spark 3.4 every operator had the watermark of the query.
    assert (store.certainty, store.reason) == (Certainty.PROVEN, "")
    cases.write_logs(tmp_path, batches, {SINCE_3_5: "true"})
    result = planned(tmp_path, version)[0].stores[0]
    assert (result.certainty, result.reason) == (certainty, reason)
    assert ("timers" in result.cross_checks) is (certainty is Certainty.PROVEN)


(MARKED,) = cases.EVENT_TIME.fields
SECOND_TIME = replace(MARKED, name="t2", metadata={})


@pytest.mark.parametrize(
    ("name", "key", "value", "checks"),
    [
        ("dedupe", (MARKED,), cases.USER, {"updates", "removals", "late"}),
        ("stateStoreSave", (MARKED,), cases.USER, {"removals", "late"}),
        # The checkpoint does not show which of the two fields is the first of the input.
        ("dedupe", (MARKED, SECOND_TIME), cases.USER, {"updates"}),
        ("stateStoreSave", (MARKED, SECOND_TIME), cases.USER, set()),
        # A null event time reads as 0, and is not late.
        ("dedupeWithinWatermark", (MARKED,), cases.EXPIRES_AT, {"updates", "removals"}),
    ],
)
def test_cross_checks_of_a_store(
    tmp_path: Path,
    name: str,
    key: tuple[StructField, ...],
    value: StructType,
    checks: set[str],
) -> None:
    cases.write_logs(tmp_path, [Batch(5, 1, 1)])
    cases.write_operator(tmp_path, 0, name, "default")
    cases.write_schema(tmp_path / "state/0/0", StructType(key), value)
    cases.write_store(tmp_path / "state/0/0", {1: []})
    (store,) = planned(tmp_path, 1)[0].stores
    assert set(store.cross_checks) - {"absent"} == checks
