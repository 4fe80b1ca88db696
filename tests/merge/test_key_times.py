"""Joins whose rows expire by a time in their key, in simulated and in real checkpoints."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.discovery.checkpoint import open_checkpoint, with_rules
from inspector.discovery.plan import plan
from inspector.facts.join_rows import KeyTimeVotes, RemovedRows, RowsTimedByKey
from inspector.merge.collect import Facts, collect, count_covered_rows, times_with_watermark
from inspector.model import JOIN_COUNT_STORES, JOIN_ROW_STORES, Certainty, StoreName
from inspector.operators.user_rules import IN_JOIN_KEY, UserRules
from inspector.passes.worker import run_tasks
from inspector.schemas import TASKS, batch_of
from inspector.sparktypes import LONG, TIMESTAMP, StructField, StructType
from inspector.sparktypes.ddl import parse_ddl
from tests import cases, encode
from tests.attributes import attributes
from tests.cases import STRING, Batch
from tests.encode import Record
from tests.facts.histories import changes_between
from tests.fixture_folder import FIXTURES
from tests.planted import plant_old_rows

LEFT, RIGHT = JOIN_ROW_STORES
MARK = {"spark.watermarkDelayMs": 0}
KEY = StructType((StructField("field0", TIMESTAMP), StructField("field1", STRING)))
ROW_KEY = StructType((*KEY.fields, StructField("index", LONG)))
MARKED = StructType((StructField("ts", TIMESTAMP, metadata=MARK),))
PLAIN = StructType((StructField("ts", TIMESTAMP),))
COUNT = parse_ddl("value bigint")
SECOND = 1000
PARTITIONS = 2

USERS = ["user-0", "user-1" * 2, "user-2" * 3, "user-3" * 4]
Event = tuple[int, int, int]
"""Side (0 is the left one), index of a user, and time in ms."""
Key = tuple[int, str]


def facts_of(root: Path, given_rules: UserRules | None = None) -> Facts:
    """Return the facts of a checkpoint's newest version with all leftovers."""
    checkpoint = with_rules(open_checkpoint(str(root)), given_rules or UserRules())
    tasks = plan(checkpoint, checkpoint.newest_version)
    specs = [{"task_id": n, "spec": task.to_json()} for n, task in enumerate(tasks)]
    return collect(run_tasks([batch_of(TASKS, specs)]))


def votes_on(facts: Facts, store: str) -> KeyTimeVotes:
    """Return the votes of a side's rows on the first field of the key."""
    return facts.merged(KeyTimeVotes)[StoreName(0, store)][(0,)]


def listed(facts: Facts) -> dict[tuple[str, bytes], int]:
    """Return the version in which each leftover expired, by store and key."""
    leftovers = facts.leftovers
    keys = attributes(leftovers, "store.store_name", "fact.key")
    result = dict(zip(keys, attributes(leftovers, "fact.expired_version"), strict=True))
    assert sum(attributes(facts.totals, "fact.rows")) == len(result)
    assert sum(attributes(facts.leftover_ages, "fact.rows")) == len(result)
    return result


# --- the simulator ---------------------------------------------------------------------------


@dataclass
class Side:
    """One side of a join in one partition, which removes all rows of a key at once.

    It writes the files of ``SymmetricHashJoinStateManager``.

    Attributes:
        skew: Event time of each user's rows less the time in their key, in ms.
        stuck: Users whose rows are never removed.
        rows: Number of rows of each key.
        due: Version in which a watermark first covered a row of a stuck user.
    """

    skew: Mapping[str, int]
    stuck: frozenset[str]
    rows: Counter[Key] = field(default_factory=Counter)
    due: dict[bytes, int] = field(default_factory=dict)
    counts: dict[int, list[Record]] = field(default_factory=dict)
    values: dict[int, list[Record]] = field(default_factory=dict)

    def run(self, keys: Iterable[Key], watermark: int, version: int) -> None:
        """Add rows of a batch, remove those that the watermark covers, and write the version."""
        counters, stored = self.counters(), self.stored_rows()
        self.rows = self.rows + Counter(keys)
        covered = {key for key in self.rows if watermark and key[0] <= watermark}
        for key in covered:
            if key[1] in self.stuck:
                rows = [row_key(key, index) for index in range(self.rows[key])]
                self.due = dict.fromkeys(rows, version) | self.due
            else:
                del self.rows[key]
        self.counts[version] = changes_between(counters, self.counters())
        self.values[version] = changes_between(stored, self.stored_rows())

    def counters(self) -> dict[bytes, bytes]:
        """Return the rows of the store of counters."""
        return {
            encode.row(KEY, (time * 1000, user)): encode.row(COUNT, (count,))
            for (time, user), count in self.rows.items()
        }

    def stored_rows(self) -> dict[bytes, bytes]:
        """Return the rows of the store of the side's rows."""
        return {
            row_key(key, index): encode.row(PLAIN, ((key[0] + self.skew.get(key[1], 0)) * 1000,))
            for key, count in self.rows.items()
            for index in range(count)
        }


def row_key(key: Key, index: int) -> bytes:
    return encode.row(ROW_KEY, (key[0] * 1000, key[1], index))


def simulate(
    history: list[list[Event]], sides: list[list[Side]], *, delay: int = 3 * SECOND
) -> list[Batch]:
    """Run both sides of every partition. Return the log of the batches."""
    watermark = newest = 0
    logs: list[Batch] = []
    for number, events in enumerate(history):
        logs.append(Batch(watermark, SECOND * number + 1, number))
        for partition, choice in product(range(PARTITIONS), (0, 1)):
            keys = [
                (time, USERS[user])
                for side, user, time in events
                if (user % PARTITIONS, side) == (partition, choice)
            ]
            sides[partition][choice].run(keys, watermark, number + 1)
        newest = max([newest, *(time for _, _, time in events)])
        watermark = max(watermark, newest - delay)
    return logs


def write(root: Path, logs: list[Batch], sides: list[list[Side]]) -> None:
    cases.write_logs(root, logs, {"shuffle.partitions": str(len(sides))})
    cases.write_operator(root, 0, "symmetricHashJoin", *JOIN_COUNT_STORES, *JOIN_ROW_STORES)
    for partition, pair in enumerate(sides):
        folder = root / "state/0" / str(partition)
        for side, counts, values in zip(pair, JOIN_COUNT_STORES, JOIN_ROW_STORES, strict=True):
            cases.write_store(folder / counts, side.counts)
            cases.write_store(folder / values, side.values)
    first_partition = root / "state/0/0"
    cases.write_schema(first_partition / JOIN_COUNT_STORES[0], KEY, COUNT)
    cases.write_schema(first_partition / JOIN_COUNT_STORES[1], KEY, COUNT)
    cases.write_schema(first_partition / LEFT, ROW_KEY, MARKED)
    cases.write_schema(first_partition / RIGHT, ROW_KEY, PLAIN)


def partitions(
    skew: Mapping[str, int] | None = None, stuck: Iterable[str] = ()
) -> list[list[Side]]:
    users = frozenset(stuck)
    return [
        [Side(skew or {}, users), Side({}, users)],
        [Side(skew or {}, users), Side({}, users)],
    ]


def covered(sides: list[list[Side]]) -> set[bytes]:
    """Return the live rows that a watermark on the key would have removed."""
    return set(chain(*attributes(chain(*sides), "due")))


@given(
    history=st.lists(
        st.lists(
            st.tuples(st.integers(0, 1), st.integers(0, 3), st.integers(0, 20 * SECOND)),
            max_size=6,
        ),
        min_size=1,
        max_size=8,
    ),
    stuck=st.sets(st.sampled_from(USERS)),
    skew=st.dictionaries(st.sampled_from(USERS), st.integers(1, 9 * SECOND), max_size=1),
)
def test_key_time_is_rejected_by_the_first_covered_row(
    history: list[list[Event]], stuck: set[str], skew: dict[str, int]
) -> None:
    sides = partitions(skew, stuck)
    logs = simulate(history, sides)
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), logs, sides)
        facts = facts_of(Path(folder))
    assert listed(facts) == {}
    left, _ = zip(*sides, strict=True)
    has_rows = any(attributes(left, "rows"))
    written = chain(*(records for side in left for records in side.values.values()))
    has_removals = None in dict(written).values()
    if covered(sides) or not skew:
        is_accepted = has_rows and has_removals and not covered(sides)
        assert facts.key_times == ({0: (0,)} if is_accepted else {})


# --- acceptance and rejection of key times ---------------------------------------------------

HISTORY: list[list[Event]] = [
    [(0, 0, 1_000), (0, 1, 1_000), (1, 0, 1_000), (1, 1, 1_000)],
    [(0, 0, 9_000), (0, 1, 9_500)],
    [(0, 0, 9_900), (0, 1, 9_900)],
]


def checkpoint(root: Path, sides: list[list[Side]]) -> Path:
    write(root, simulate(HISTORY, sides), sides)
    return root


def test_key_time_is_accepted_if_no_covered_row_is_left(tmp_path: Path) -> None:
    facts = facts_of(checkpoint(tmp_path, partitions()))
    assert facts.key_times == {0: (0,)}
    assert listed(facts) == {}


@pytest.mark.parametrize("side", [0, 1])
def test_covered_row_of_either_side_rejects_the_key_time(tmp_path: Path, side: int) -> None:
    """A join on a copy of the event time removes no rows, because the copy has no watermark."""
    sides = partitions()
    sides[0][side].stuck = frozenset(USERS[:1])
    facts = facts_of(checkpoint(tmp_path, sides))
    assert (facts.key_times, listed(facts)) == ({}, {})
    assert votes_on(facts, JOIN_ROW_STORES[side]).covered == 1
    assert votes_on(facts, JOIN_ROW_STORES[1 - side]).covered == 0


def test_row_with_another_event_time_rejects_the_key_time(tmp_path: Path) -> None:
    facts = facts_of(checkpoint(tmp_path, partitions({USERS[1]: 1})))
    assert (facts.key_times, listed(facts)) == ({}, {})
    assert votes_on(facts, LEFT).other == 2
    assert votes_on(facts, RIGHT).other == 0
    assert facts.sums(RowsTimedByKey)[StoreName(0, LEFT)].rows == 2


def test_key_time_needs_a_removed_row(tmp_path: Path) -> None:
    sides = partitions()
    write(tmp_path, simulate(HISTORY[:2], sides), sides)
    facts = facts_of(tmp_path)
    assert facts.sums(RowsTimedByKey)[StoreName(0, LEFT)].rows == 4
    assert facts.key_times == {}


def test_late_removals_reject_the_key_time(tmp_path: Path) -> None:
    sides = partitions()
    logs = simulate([*HISTORY, []], sides)
    write(tmp_path, logs, sides)
    assert facts_of(tmp_path).key_times == {0: (0,)}
    # Batch 3 instead of batch 2 removes the rows that the watermark of batch 2 covers.
    for side in chain(*sides):
        side.values[4] = [*side.values[4], *(r for r in side.values[3] if r[1] is None)]
        side.values[3] = [r for r in side.values[3] if r[1] is not None]
    write(tmp_path, logs, sides)
    assert (facts := facts_of(tmp_path)).key_times == {}
    assert facts.sums(RemovedRows)[StoreName(0, LEFT)].off_time == 2


@pytest.mark.parametrize(
    ("rule", "remaining"),
    [
        ({"operator_rules": ["0=never"]}, []),
        ({"operator_rules": [f"0:{LEFT}=never"]}, []),
        ({"operator_rules": [f"0:{RIGHT}=never"]}, []),
        ({"operator_rules": [f"0:{RIGHT}=key.field0<=watermark"]}, [RIGHT]),
        ({"join_retention": ["left=1h"]}, []),
        ({}, []),
        ({"event_time_fields": ["key.field0"]}, [LEFT, RIGHT]),
        ({"event_time_fields": ["key.field0"], "join_retention": ["left=5s"]}, [LEFT, RIGHT]),
    ],
)
def test_user_rules_of_join_sides_decide_leftovers(
    tmp_path: Path, rule: dict[str, list[str]], remaining: list[str]
) -> None:
    root = checkpoint(tmp_path, partitions(stuck=USERS[:1]))
    result = listed(facts_of(root, UserRules.parse(**rule)))
    assert [store for store, _ in result] == remaining


def test_join_below_another_join_has_no_key_time_since_spark_3_5(tmp_path: Path) -> None:
    root = checkpoint(tmp_path, partitions())
    shutil.copytree(root / "state/0", root / "state/1")
    cases.write_operator(root, 1, "symmetricHashJoin", *JOIN_COUNT_STORES, *JOIN_ROW_STORES)
    assert facts_of(root).key_times == {0: (0,), 1: (0,)}
    log = root / "offsets" / str(len(HISTORY) - 1)
    recorded = '"spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan": "true", '
    log.write_text(log.read_text().replace('"conf": {', '"conf": {' + recorded))
    assert facts_of(root).key_times == {1: (0,)}


LEFT_SIDE, RIGHT_SIDE = StoreName(0, LEFT), StoreName(0, RIGHT)
REMOVED = {LEFT_SIDE: RemovedRows(3)}


def key_times(
    left: list[KeyTimeVotes],
    right: list[KeyTimeVotes],
    removed: Mapping[StoreName, RemovedRows] = REMOVED,
) -> dict[int, tuple[int, ...]]:
    votes = {LEFT_SIDE: by_path(left), RIGHT_SIDE: by_path(right)}
    return times_with_watermark(votes, removed)


def by_path(votes: list[KeyTimeVotes]) -> dict[tuple[int, ...], KeyTimeVotes]:
    return dict(zip(attributes(votes, "path"), votes, strict=True))


def test_two_matching_key_times_are_ambiguous() -> None:
    left, right = KeyTimeVotes((0,), same=4), KeyTimeVotes((0,), same=2)
    assert key_times([left], [right]) == {0: (0,)}
    assert key_times([left, KeyTimeVotes((1, 1), same=4)], [right]) == {}
    # A row against a time rejects it. So does a side with late removals.
    assert key_times([left, KeyTimeVotes((1, 1), same=3, other=1)], [right]) == {0: (0,)}
    late = {**REMOVED, RIGHT_SIDE: RemovedRows(1, 1)}
    assert key_times([left], [right, KeyTimeVotes((1, 1), same=2)], late) == {0: (0,)}
    assert key_times([KeyTimeVotes((0,))], []) == {}
    # So do missing removals, and a covered row of either side.
    assert key_times([left], [right], {}) == {}
    assert key_times([left], [KeyTimeVotes((0,), same=2, covered=1)]) == {}
    assert key_times([left], [right, KeyTimeVotes((1, 1), covered=1)]) == {0: (0,)}


def test_covered_rows_count_only_for_a_unanimous_key_time() -> None:
    votes = [KeyTimeVotes((0,), same=4, covered=3), KeyTimeVotes((1,), same=4, other=1, covered=4)]
    assert count_covered_rows(by_path(votes)) == 3
    assert count_covered_rows({(1,): votes[1]}) == count_covered_rows({}) == 0


# --- checkpoints of Spark --------------------------------------------------------------------


@pytest.mark.parametrize("version", ["4.3.0", "3.5.9"])
@pytest.mark.parametrize(
    ("case", "path", "field_name", "location"),
    [("join_time_key", (0,), "key.field0", 0), ("join_window_key", (1, 1), "key.field1", 1)],
)
def test_planted_old_rows_reject_the_key_time_of_a_spark_join(
    tmp_path: Path, version: str, case: str, path: tuple[int, ...], field_name: str, location: int
) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(FIXTURES / version / case / "checkpoint", root)
    facts = facts_of(root)
    assert facts.key_times == {0: path}
    assert (facts.totals, facts.leftovers) == ([], [])
    assert any(attributes(facts.sums(RowsTimedByKey).values(), "rows"))
    planted = plant_old_rows(root, location)
    facts = facts_of(root)
    assert (facts.key_times, facts.totals, facts.leftovers) == ({}, [], [])
    # A user rule accepts the time all the same.
    facts = facts_of(root, UserRules.parse(event_time_fields=[field_name]))
    assert set(listed(facts)) == planted
    reasons = set(attributes(facts.totals, "fact.certainty", "fact.reason"))
    assert reasons == {(Certainty.INFERRED, IN_JOIN_KEY)}
