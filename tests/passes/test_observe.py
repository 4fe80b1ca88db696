"""The one pass over a store: facts, leftovers, and what does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from inspector.discovery.tasks import StoreTask
from inspector.facts.ages import Ages
from inspector.facts.checks import ChecksPassed
from inspector.facts.expired import LeftoverClass
from inspector.facts.leftover_facts import Leftover, LeftoverCount
from inspector.facts.timed_out import BEFORE, BY_BOTH, DISPUTED
from inspector.facts.timers import EVENT, PROCESSING, ClockEvidence
from inspector.facts.versions import VersionFacts
from inspector.model import NO_TIMEOUT, Certainty, TimeoutKind
from inspector.passes.tracked import schemas, tracking
from inspector.sparktypes import LONG
from inspector.sparktypes.ddl import parse_ddl
from inspector.sparktypes.schema_json import to_json
from tests import cases, encode
from tests.attributes import attributes
from tests.cases import Batch, Seen, facts_of_type, group_state, observed_in, problems_in, user
from tests.checkpoint_files import remove_paths
from tests.encode import Record
from tests.passes.support import facts_by_version, rows_of_store
from tests.reports import slugs


def against(result: list[Seen]) -> list[tuple[int, TimeoutKind]]:
    """Versions, and the clocks that the timers of their batches cannot have followed."""
    return [
        (item.version, kind)
        for item in result
        if isinstance(item.fact, ClockEvidence)
        for kind in item.fact.against
    ]


def versions_in(result: list[Seen]) -> dict[int, VersionFacts]:
    return facts_by_version(result, VersionFacts)


def group_states(
    root: Path,
    batches: Sequence[Batch],
    *partitions: dict[int, list[Record]],
    name: str | None = "flatMapGroupsWithState",
) -> Path:
    """A query with group state, one store by version for each partition."""
    cases.write_logs(root, batches, {"shuffle.partitions": str(len(partitions))})
    if name is not None:
        cases.write_operator(root, 0, name, "default")
    for number, deltas in enumerate(partitions):
        cases.write_store(root / "state/0" / str(number), deltas)
    cases.write_schema(root / "state/0/0", cases.USER, cases.GROUP_STATE)
    return root


def facts_by_clock(rows: list[Seen], kind: Any) -> dict[TimeoutKind, Any]:
    """Return the facts of one type, by the clock of their timers."""
    return {fact.timeout_kind: fact for fact in facts_of_type(rows, kind)}


A, B = user("a"), user("b")


def test_leftover_has_key_batch_and_margin(tmp_path: Path) -> None:
    batches = [Batch(0, 1000, 1), Batch(500, 2000, 2), Batch(900, 3000, 2), Batch(950, 4000, 3)]
    deltas: dict[int, list[Record]] = {
        1: [(A, group_state(1, 600)), (B, group_state(1, 9000))],
        2: [(A, group_state(2, 700))],
        3: [(A, group_state(2, NO_TIMEOUT))],
        4: [],
    }
    rows = observed_in(group_states(tmp_path, batches, deltas))
    # Set at or before the time of their batches; the last fired when the watermark was past it.
    assert against(rows) == [(1, PROCESSING), (2, PROCESSING)]
    # By the other clock, that of the third batch, it is one as well: it fired in a quiet batch.
    totals, by_clock = facts_by_clock(rows, LeftoverCount), facts_by_clock(rows, Leftover)
    assert set(totals) == set(by_clock) == set(TimeoutKind)
    total, value = totals[EVENT], by_clock[EVENT]
    common: dict[str, Any] = {
        "leftover_class": LeftoverClass.KEPT_WITHOUT_TIMEOUT,
        "certainty": Certainty.PROVEN,
        "timeout_kind": EVENT,
        "expired_version": 3,
        "key_bytes": len(A),
        "value_bytes": len(group_state(1, 0)),
    }
    assert total == replace(total, rows=1, **common)
    expected = replace(value, key=A, clock_ms=700, threshold_ms=900, **common)
    assert value == replace(expected, last_put_version=3, puts=3, fired=1)
    assert facts_by_version(rows, Leftover).keys() == {4}


def test_the_version_that_is_judged_decides_which_files_are_read(tmp_path: Path) -> None:
    root = cases.small_checkpoint(tmp_path)
    (root / "state/1/0/3.delta").write_bytes(b"broken")
    rows = observed_in(root, 2)
    assert problems_in(rows) == []
    assert set(versions_in(rows)) == {1, 2}
    assert problems_in(observed_in(root, 3)) != []


def test_a_snapshot_that_differs_is_a_problem_and_its_rows_count(tmp_path: Path) -> None:
    root = cases.small_checkpoint(tmp_path)
    cases.write_store(root / "state/1/1", {}, {3: [(cases.micros(None), b"\1" * 16)]})
    rows = observed_in(root)
    (problem,) = problems_in(rows)
    assert problem.slug == "snapshot-differs"
    assert (problem.path, problem.version) == (str(root / "state/1/1/3.snapshot"), 3)
    assert "got missing keys: 2, keys too many: 0, keys with another value: 1" in problem.message
    facts = versions_in(rows_of_store(rows, 1, "default", 1))
    assert list(facts) == [1, 2, 3, 4]
    assert attributes(facts.values(), "row_sizes.total") == [12, 3, 1, 2]
    assert attributes(facts.values(), "rebased") == [0, 0, 1, 0]


DISPUTED_BATCHES = [
    *(Batch(0, 1000, 1), Batch(900, 2000, 1), Batch(900, 3000, 2)),
    *(Batch(900, 4000, 2), Batch(900, 5000, 3), Batch(900, 6000, 3)),
]


def disputed(
    root: Path, snapshots: dict[int, list[Record]], later: dict[int, list[Record]] | None = None
) -> list[Seen]:
    """A query of which A had its timeout answered in batch 1, and B is put anew by each."""
    remaining = [(A, group_state(2, NO_TIMEOUT))]
    deltas: dict[int, list[Record]] = {1: [(A, group_state(1, 600))], 2: [*remaining], 5: [], 6: []}
    deltas |= {3: [(B, group_state(1, 9000))], 4: [(B, None)]}
    deltas |= later or {}
    group_states(root, DISPUTED_BATCHES, deltas, name="applyInPandasWithState")
    cases.write_store(root / "state/0/0", {}, snapshots)
    return observed_in(root)


def certainties(rows: list[Seen]) -> set[tuple[Certainty, str | None]]:
    return set(attributes(facts_of_type(rows, LeftoverCount), "certainty", "reason"))


def differing(rows: list[Seen]) -> list[int | None]:
    assert set(slugs(problems_in(rows))) <= {"snapshot-differs"}
    return attributes(problems_in(rows), "version")


def test_nothing_is_proven_of_rows_that_differ_in_snapshot(tmp_path: Path) -> None:
    remaining, due = (A, group_state(2, NO_TIMEOUT)), (A, group_state(1, 600))
    as_it_is = disputed(tmp_path / "agrees", {3: [remaining, (B, group_state(1, 9000))]})
    assert (differing(as_it_is), certainties(as_it_is)) == ([], {(Certainty.PROVEN, None)})
    # The timer stands in the snapshot that a restart loads, and had long fired in what ran.
    rows = disputed(tmp_path / "differs", {3: [due]})
    assert (differing(rows), certainties(rows)) == ([3], {(Certainty.UNDECIDED, DISPUTED)})


REMAINING: Record = (A, group_state(2, NO_TIMEOUT))
DUE: Record = (A, group_state(1, 600))


@pytest.mark.parametrize(
    ("later_snapshots", "reasons"),
    [
        pytest.param({5: [DUE]}, {None, BY_BOTH}, id="equals the snapshot"),
        pytest.param({4: [REMAINING], 5: [REMAINING]}, {BEFORE}, id="equals the deltas"),
        pytest.param({5: [(A, group_state(3, 500))]}, {DISPUTED}, id="equals neither"),
    ],
)
def test_later_snapshot_decides_disputed_rows(
    tmp_path: Path, later_snapshots: dict[int, list[Record]], reasons: set[str | None]
) -> None:
    rows = disputed(tmp_path, {3: [DUE]} | later_snapshots)
    assert differing(rows) == [3]
    assert set(attributes(facts_of_type(rows, LeftoverCount), "reason")) == reasons


@pytest.mark.parametrize(
    ("timer", "kind"),
    [
        (NO_TIMEOUT, LeftoverClass.KEPT_WITHOUT_TIMEOUT),
        (9000, LeftoverClass.REARMED),
        (600, LeftoverClass.IGNORED_TIMEOUT),
    ],
)
def test_a_timeout_may_have_put_what_the_snapshot_before_does_not_have(
    tmp_path: Path, timer: int, kind: LeftoverClass
) -> None:
    rows = disputed(tmp_path, {3: [(B, group_state(1, 9000))]}, {4: [(A, group_state(3, timer))]})
    # The timer that it replaced may have followed the one clock or the other.
    assert kind in attributes(facts_of_type(rows, LeftoverCount), "leftover_class")
    assert certainties(rows) == {(Certainty.UNDECIDED, DISPUTED)}
    leftovers = attributes(facts_of_type(rows, Leftover), "key", "timeout_kind", "leftover_class")
    assert set(leftovers) & set(product([A], [EVENT], LeftoverClass)) == {(A, EVENT, kind)}


def test_a_second_put_behind_such_a_snapshot_is_one_for_data(tmp_path: Path) -> None:
    again: dict[int, list[Record]] = {4: [(A, group_state(3, NO_TIMEOUT)), (B, None)]}
    again |= {5: [(A, group_state(4, NO_TIMEOUT))]}
    rows = disputed(tmp_path, {3: [(B, group_state(1, 9000))]}, again)
    assert facts_of_type(rows, LeftoverCount) == []


def test_removal_is_not_compared_with_differing_snapshot(tmp_path: Path) -> None:
    rows = disputed(tmp_path, {3: [(A, group_state(2, NO_TIMEOUT))]})
    assert differing(rows) == [3]  # B, which the fourth batch removed, is not in it


def test_oldest_snapshot_is_compared_with_its_delta(tmp_path: Path) -> None:
    root = cases.small_checkpoint(tmp_path)
    (root / "state/1/1/1.delta").unlink()
    (root / "state/1/1/2.delta").unlink()
    cases.write_store(root / "state/1/1", {3: [(cases.micros(7), b"\1" * 16)]})
    (problem,) = problems_in(observed_in(root))
    assert (problem.slug, problem.path) == (
        *("snapshot-differs", str(root / "state/1/1/3.snapshot")),
    )
    assert "got missing keys: 1, keys too many: 0, keys with another" in problem.message


def test_nothing_is_proven_behind_an_oldest_snapshot_that_differs(tmp_path: Path) -> None:
    disputed(tmp_path, {3: [DUE]})
    remove_paths(tmp_path, "state/0/0/[12].delta")
    rows = observed_in(tmp_path)
    assert (differing(rows), certainties(rows)) == ([3], {(Certainty.UNDECIDED, DISPUTED)})


def test_file_bytes_are_those_on_storage_and_raw_bytes_those_of_the_file_replayed(
    tmp_path: Path,
) -> None:
    root = cases.small_checkpoint(tmp_path)
    facts = versions_in(rows_of_store(observed_in(root), 1, "default", 1))
    folder = root / "state/1/1"
    assert list(facts) == [1, 2, 3, 4]
    assert attributes(facts.values(), "delta_bytes") == [
        (folder / "1.delta").stat().st_size,
        (folder / "2.delta").stat().st_size,
        (folder / "3.delta").stat().st_size,
        (folder / "4.delta").stat().st_size,
    ]
    assert facts[3].snapshot_bytes == (folder / "3.snapshot").stat().st_size
    assert facts[3].raw_bytes == len(encode.END)
    assert facts[2].raw_bytes == 9 * (4 + 16 + 4) + len(encode.END)


def test_version_of_a_snapshot_alone_has_no_empty_delta(tmp_path: Path) -> None:
    root = cases.small_checkpoint(tmp_path)
    remove_paths(root, "state/1/1/[123].delta")
    facts = versions_in(rows_of_store(observed_in(root), 1, "default", 1))
    assert attributes(facts.values(), "rebased", "empty_deltas") == [(1, 0), (0, 0)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # In Scala no timer that has run out stands, so it follows the other clock.
        ("flatMapGroupsWithState", [(2, PROCESSING)]),
        ("applyInPandasWithState", []),
        (None, []),
    ],
)
def test_expired_timer_contradicts_clock_in_scala_only(
    tmp_path: Path, name: str | None, expected: list[tuple[int, TimeoutKind]]
) -> None:
    deltas: dict[int, list[Record]] = {1: [(A, group_state(1, 1500))], 2: []}
    root = group_states(tmp_path, [Batch(1, 1000, 1), Batch(2, 2000, 2)], deltas, name=name)
    assert against(observed_in(root)) == expected


def test_sizes_without_schema_and_no_leftovers(tmp_path: Path) -> None:
    batches = [Batch(0, 1000, 1), Batch(900, 2000, 1)]
    deltas: dict[int, list[Record]] = {1: [(A, group_state(1, 600))], 2: []}
    root = group_states(tmp_path, batches, deltas)
    (root / "state/0/0/_metadata/schema").unlink()
    rows = observed_in(root, fit=True)
    assert list(map(type, attributes(rows, "fact"))) == [
        VersionFacts,
        VersionFacts,
        Ages,
        ChecksPassed,
    ]


def store(key: str, value: str, **options: Any) -> StoreTask:
    return StoreTask("default", (), to_json(parse_ddl(key)), to_json(parse_ddl(value)), **options)


def test_the_timer_of_state_format_1_is_read_as_the_long_that_it_is() -> None:
    _, value = schemas(store("value string", "visits long, timeoutTimestamp int"))
    assert value is not None
    assert value.fields[-1].data_type == LONG
    assert schemas(StoreTask("default", ())) == (None, None)


def test_only_columns_of_rules_are_tracked() -> None:
    group = store("value string", "groupState struct<a: int>, timeoutTimestamp long")
    assert (tracking(group).clock, tracking(group).clock_slot) == (None, -1)
    by_key = cases.tracked(cases.KEY_TIME, cases.EVENT_TIME, cases.EXPIRES_AT)
    assert by_key.clock is not None
    assert (by_key.clock_slot, by_key.descends) == (-1, None)
    timer = cases.tracked(cases.TIMER, cases.USER, cases.GROUP_STATE)
    assert timer.clock_slot == 16
    assert timer.descends is not None


@pytest.mark.parametrize(
    ("timer", "expected"),
    [
        # Set before the time of its batch: no timer of processing time. In Scala it stands, too.
        (500, [(1, PROCESSING), (2, PROCESSING)]),
        # That no watermark has come yet proves nothing: an idle source holds it back.
        (9000, []),
        (NO_TIMEOUT, []),
    ],
)
def test_timer_kind_before_first_watermark(
    tmp_path: Path, timer: int, expected: list[tuple[int, TimeoutKind]]
) -> None:
    deltas: dict[int, list[Record]] = {1: [(A, group_state(1, timer))], 2: []}
    rows = observed_in(group_states(tmp_path, [Batch(0, 1000, 1), Batch(0, 2000, 2)], deltas))
    assert against(rows) == expected
    assert facts_of_type(rows, LeftoverCount) == []


def damage_nothing(_delta: Path) -> None:
    pass


def rewrite_with_misfit(delta: Path) -> None:
    delta.write_bytes(encode.state_file([(A, group_state(1, 5)), (A, b"v" * 8), (b"", None)]))


def add_wrong_checksum(delta: Path) -> None:
    delta.with_name(f".{delta.name}.crc").write_bytes(b"crc\0\0\0\2\0" + bytes(4))


def rewrite_large(delta: Path) -> None:
    value = group_state(1, 9)
    entries = [(user(f"{number:08}" * 9), value) for number in range(9999)]
    delta.write_bytes(encode.state_file(entries))


@pytest.mark.parametrize(
    "damage",
    [
        damage_nothing,
        Path.unlink,
        lambda delta: delta.write_bytes(b""),
        lambda delta: delta.write_bytes(delta.read_bytes()[:-9]),
        lambda delta: delta.write_bytes(delta.read_bytes().replace(b"a", b"b")),
        lambda delta: delta.write_bytes(encode.state_file([(A, None)], "zstd")),
        rewrite_with_misfit,
        add_wrong_checksum,
        rewrite_large,
    ],
)
@pytest.mark.parametrize(
    ("snapshots", "name"),
    [((), "flatMapGroupsWithState"), ((4, 9), "flatMapGroupsWithState"), ((4, 9), "dedupe")],
)
def test_small_deltas_show_the_same_together_and_alone(
    tmp_path: Path,
    damage: Any,
    snapshots: Sequence[int],
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def state(version: int) -> list[Record]:
        others = [(user(str(number)), group_state(1, 50)) for number in range(version)]
        return [(A, group_state(version, 100)), *others]

    deltas: dict[int, list[Record]] = {
        version: [(A, group_state(version, 100)), (user(str(version - 1)), group_state(1, 50))]
        for version in range(1, 13)
    }
    deltas[5] = []
    batches = [Batch(10 * number, 1000 * number) for number in range(12)]
    root = group_states(tmp_path, batches, deltas, name=name)
    store = root / "state/0/0"
    cases.write_store(store, {}, {version: state(version) for version in snapshots})
    damage(store / "7.delta")
    together = observed_in(root, 12, fit=True)
    for item in (0, 1, 3):
        monkeypatch.setattr("inspector.passes.observe.TOGETHER", item)
        alone = observed_in(root, 12, fit=True)
        assert sorted(alone, key=repr) == sorted(together, key=repr)
    assert len(versions_in(together)) >= 6
