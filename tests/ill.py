"""For each finding a checkpoint that is ill with it and with nothing else of its group.

Each is one that Spark wrote, as it is, or with one damage that its function documents. Nothing is
made by the inspector's own writers, but for logs, which are text.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.checkpoint_files import forget_checksum, newest_number, substitute
from tests.fixture_folder import FIXTURES
from tests.reports import row_where
from tests.rocks_damage import change_entry
from tests.troubles import troubled

GOLDEN = Path(__file__).parent / "golden"

JOIN_COPY = "join_copied_time"
"""A random workload of ``scripts/lab/make_workloads.py`` (family ``join_copy``, Spark 4.3): a join
on a column that repeats the event time; packed, and without the queries' own record of it."""


def unharmed(_root: Path) -> None:
    """As Spark left it."""


@dataclass(frozen=True)
class Ill:
    """A checkpoint that is ill with one thing.

    Attributes:
        case: the fixture. damage: what is done to a copy of it.
        thresholds: that are set; what is sound at this size is ill at another.
        options: more options of an audit.
        meanwhile: the damage happens while the audit reads.
        refusal: what the storage answers when the second delta of a partition is to be read.
        beside: findings of the same group that are of the fixture, or come with the damage.
    """

    case: str
    damage: Callable[[Path], None] = unharmed
    thresholds: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)
    meanwhile: bool = False
    refusal: OSError | None = None
    beside: frozenset[str] = frozenset()

    @property
    def damaged(self) -> bool:
        """Whether it is as Spark left it no more."""
        return self.damage is not unharmed

    def copy(self, folder: Path) -> Path:
        """A copy of the fixture, not yet damaged."""
        root = folder / "checkpoint"
        if self.case == JOIN_COPY:
            with tarfile.open(GOLDEN / f"{JOIN_COPY}.tar.xz") as archive:
                archive.extractall(folder, filter="data")
        elif self.case.startswith("troubles/"):
            shutil.copytree(troubled(self.case.removeprefix("troubles/")), root)
        else:
            shutil.copytree(FIXTURES / self.case / "checkpoint", root)
        return root


# --- files -----------------------------------------------------------------------------------


def _delta_gone(root: Path) -> None:
    """A delta before a snapshot is deleted: the newest version can still be made."""
    (root / "state/0/0/2.delta").unlink()


def _delta_cut(root: Path) -> None:
    """A delta before a snapshot loses its second half."""
    path = root / "state/0/0/2.delta"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    forget_checksum(path)


def _older_snapshot(root: Path) -> None:
    """A snapshot is overwritten by an older one of the same partition."""
    folder = root / "state/0/0"
    shutil.copy(folder / "8.snapshot", folder / "12.snapshot")
    forget_checksum(folder / "12.snapshot")


def _store_gone(root: Path) -> None:
    """One store of a join is deleted in one partition."""
    shutil.rmtree(root / "state/0/0/left-keyToNumValues")


def _other_schema(root: Path) -> None:
    """The schema of an aggregation stands in place of the query's own."""
    schema = "state/0/0/_metadata/schema"
    shutil.copy(FIXTURES / "4.3.0/agg_append/checkpoint" / schema, root / schema)
    forget_checksum(root / schema)


def _file_vanishes(root: Path) -> None:
    """The query's cleanup removes the oldest deltas of a partition while they are being read."""
    (root / "state/0/0/1.delta").unlink(missing_ok=True)


def _backup_beside(root: Path) -> None:
    partition = root / "state/0/0"
    shutil.copytree(partition, root / "backup")
    (root / "backup").rename(partition / "backup")


def _partition_gone(root: Path) -> None:
    """The folder of a partition is deleted."""
    shutil.rmtree(root / "state/0/1")


def _other_sum(root: Path) -> None:
    """The checksum file of one delta stands beside another."""
    folder = root / "state/0/0"
    shutil.copy(folder / "2.delta.crc", folder / "3.delta.crc")


def _entry_gone(root: Path) -> None:
    """An entry of the offset log is deleted."""
    (root / "offsets/5").unlink()


def _entry_edited(root: Path) -> None:
    """A digit of the batch clock in an entry of the offset log is changed by hand."""
    path = root / "offsets/5"
    text = path.read_text("utf-8")
    path.write_text(re.sub(r'("batchTimestampMs":\d+)\d', r"\g<1>7", text, count=1), "utf-8")


def _puts_gone(root: Path) -> None:
    """A delta is overwritten by one that Spark wrote for a batch without changes."""
    shutil.copy(_EMPTY_DELTA, forget_checksum(root / "state/0/0/3.delta"))
    shutil.copy(_EMPTY_DELTA, forget_checksum(root / "state/0/1/3.delta"))


_EMPTY_DELTA = FIXTURES / "4.3.0/empty_partitions/checkpoint/state/0/1/1.delta"


def _delta_again(root: Path) -> None:
    """A delta lies once more under a later version's number."""
    store = root / "state/0/0"
    shutil.copy(store / "2.delta", store / "3.delta")


def _other_partition(root: Path) -> None:
    """A partition's files are copied into another one's folder."""
    shutil.rmtree(root / "state/0/1")
    shutil.copytree(root / "state/0/0", root / "state/0/1")


def _many_batches(root: Path) -> None:
    """120 more batches without new data, each with Spark's delta of a batch without changes."""
    newest = newest_number(root / "commits")
    for batch in range(newest + 1, newest + 121):
        shutil.copy(root / "offsets" / str(newest), root / "offsets" / str(batch))
        shutil.copy(root / "commits" / str(newest), root / "commits" / str(batch))
        shutil.copy(_EMPTY_DELTA, root / f"state/0/0/{batch + 1}.delta")
        shutil.copy(_EMPTY_DELTA, root / f"state/0/1/{batch + 1}.delta")


# --- lifetime --------------------------------------------------------------------------------


def _no_watermark(root: Path) -> None:
    """The logs say of every batch that it had no watermark, as where no event time ever came."""
    substitute(root, "offsets/[0-9]*", r'"batchWatermarkMs":\d+', '"batchWatermarkMs":0')
    substitute(root, "commits/[0-9]*", r'"nextBatchWatermarkMs":\d+', '"nextBatchWatermarkMs":0')


def _counters_gone(root: Path) -> None:
    """The newest delta of a join's counters is overwritten by that of a batch without changes."""
    folder = root / "state/0/0/left-keyToNumValues"
    newest = max(folder.glob("*.delta"), key=lambda path: int(path.stem))
    shutil.copy(_EMPTY_DELTA, newest)
    forget_checksum(newest)


def _last_offsets(root: Path, **fields: int) -> None:
    """Other clocks of the last batch."""
    path = max((root / "offsets").glob("[0-9]*"), key=lambda item: int(item.name))
    lines = path.read_text("utf-8").split("\n")
    lines[1] = json.dumps(json.loads(lines[1]) | fields)
    path.write_text("\n".join(lines), "utf-8")
    forget_checksum(path)


_FAR = 1_900_000_000_000


def _late_clock(root: Path) -> None:
    """The last batch ran after the TTL of every value, so the log says, and left them."""
    _last_offsets(root, batchTimestampMs=_FAR)


def _undeclared(root: Path) -> None:
    """The newest run did not declare one of the variables."""
    for path in (root / "state/0/_metadata/v2").glob("[0-9]*"):
        version, text = path.read_text("utf-8").split("\n")
        content = json.loads(text)
        properties = json.loads(content["operatorPropertiesJson"])
        variables = properties["stateVariables"]
        variables.remove(row_where(variables, stateName="total"))
        content["operatorPropertiesJson"] = json.dumps(properties)
        path.write_text(f"{version}\n{json.dumps(content)}", "utf-8")
        forget_checksum(path)


def _killed_attempts(root: Path) -> None:
    """Attempts of tasks that were killed left their deltas under temporary names."""
    folder = root / "state/0/0"
    for number in range(10):
        name = f".3.delta.0f6d2c1e-6b1f-4a5e-8a1d-00000000000{number}.TID{number}.tmp"
        shutil.copy(folder / "3.delta", folder / name)


def repartitioning_begun(root: Path) -> None:
    """The entry with which Spark's repartitioning begins: the last one with other partitions."""
    newest = newest_number(root / "offsets")
    entry = (root / "offsets" / str(newest)).read_text("utf-8")
    second = re.sub(r'(shuffle\.partitions":")\d+', r"\g<1>9", entry)
    (root / "offsets" / str(newest + 1)).write_text(second, "utf-8")


def _source_log_gone(root: Path) -> None:
    """What the file source noted of the files that it has read."""
    shutil.rmtree(root / "sources")


def _source_goes_back(root: Path) -> None:
    """The entry before the newest two refers to a later entry of the source's log."""
    path = sorted((root / "offsets").glob("[0-9]*"), key=lambda entry: int(entry.name))[-3]
    forget_checksum(path)
    path.write_text(re.sub(r'"logOffset":\d+', '"logOffset":999', path.read_text()))


def _source_of_another_job(root: Path) -> None:
    """Another job was started with the checkpoint, and wrote what it was to read."""
    log = root / "sources/0"
    newest = newest_number(log)
    line = json.dumps({"path": "file:///other/f.json", "timestamp": 1, "batchId": newest + 1})
    (log / str(newest + 1)).write_text(f"v1\n{line}")


def _second_source_idle(root: Path) -> None:
    """A second source has the same offset in all entries."""
    substitute(root, "offsets/[0-9]*", r"\Z", "\n4")


def _partition_behind(root: Path) -> None:
    """The source is a topic with four partitions, one of which advances slowly."""
    for path in (root / "offsets").glob("[0-9]*"):
        forget_checksum(path)
        version, head, *_ = path.read_text().split("\n")
        batch = int(path.name)
        offsets = {"0": 500 * batch, "1": 500 * batch, "2": batch, "3": 500 * batch}
        path.write_text("\n".join([version, head, json.dumps({"orders": offsets})]))


def _delta_of_no_batch(root: Path) -> None:
    """A delta under the number of a version that is far off."""
    shutil.copy(root / "state/0/0/3.delta", root / "state/0/0/99.delta")


def _planned(root: Path) -> None:
    """One more entry of the offset log, a second after the last one."""
    newest = newest_number(root / "offsets")
    entry = (root / "offsets" / str(newest)).read_text("utf-8")
    later = re.sub(
        r'(batchTimestampMs":)(\d+)', lambda match: f"{match[1]}{int(match[2]) + 1_000}", entry
    )
    (root / "offsets" / str(newest + 1)).write_text(later, "utf-8")


def _slow_batches(root: Path) -> None:
    """The log files get the times of batches of which the newest three took long."""
    entries = sorted((root / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    durations_ms = [500] * (len(entries) - 3) + [8_000] * 3
    for path, took_ms in zip(entries, durations_ms, strict=True):
        (clock,) = re.findall(r'batchTimestampMs":(\d+)', path.read_text("utf-8"))
        planned_ns = (int(clock) + 20) * 1_000_000
        os.utime(path, ns=(planned_ns, planned_ns))
        committed_ns = planned_ns + took_ms * 1_000_000
        os.utime(root / "commits" / path.name, ns=(committed_ns, committed_ns))


def _manifest_gone(root: Path) -> None:
    """The newest snapshot of a partition lacks the MANIFEST that its CURRENT names."""
    change_entry(root / "state/0/0", "MANIFEST", lambda _: None)


def schemas_elsewhere(root: Path) -> None:
    """A copy that was made by hand: its metadata name the schemas of the original, which exists."""
    original = Path(shutil.copytree(root, root.with_name("original")))
    substitute(root, "state/0/_metadata/v2/[0-9]*", r'"[^"]*/state/', f'"file:{original}/state/')


ILL: dict[str, Ill] = {
    "SS101": Ill("4.3.0/snapshot_in_middle", _delta_gone),
    "SS102": Ill("4.3.0/snapshot_in_middle", _delta_cut),
    "SS103": Ill("4.3.0/agg_update", _many_batches),
    "SS104": Ill("4.3.0/snapshots_cleaned", _older_snapshot),
    "SS105": Ill("4.3.0/join_left_outer", _store_gone, beside=frozenset(("SS102",))),
    "SS106": Ill("4.3.0/dedup_no_watermark", _other_schema),
    "SS107": Ill("4.3.0/agg_update", _other_partition),
    "SS108": Ill("4.3.0/snapshot_in_middle", _file_vanishes, meanwhile=True),
    "SS109": Ill("4.3.0/agg_update", _partition_gone),
    "SS110": Ill("4.1.4/agg_file_checksum", _other_sum),
    "SS111": Ill("4.3.0/agg_update", _entry_gone),
    "SS112": Ill("4.3.0/agg_update", _entry_edited),
    "SS113": Ill("4.3.0/agg_update", _puts_gone),
    "SS114": Ill("4.3.0/agg_update", _backup_beside),
    "SS116": Ill("4.3.0/snapshot_in_middle", refusal=PermissionError("403 Forbidden")),
    "SS117": Ill("4.3.0/snapshot_in_middle", refusal=TimeoutError("no answer")),
    "SS118": Ill("4.3.0/dedup_no_watermark", _delta_again),
    "SS119": Ill("4.3.0/rocksdb_agg_update", repartitioning_begun),
    "SS120": Ill("troubles/trouble_agg_no_watermark", _source_log_gone),
    "SS121": Ill("4.3.0/agg_update", _delta_of_no_batch),
    "SS124": Ill("4.3.0/agg_update", _planned),
    "SS126": Ill("4.3.0/rocksdb_agg_update_zips_one", _manifest_gone),
    "SS128": Ill("troubles/trouble_agg_no_watermark", _source_goes_back),
    "SS127": Ill("troubles/trouble_agg_no_watermark", _source_of_another_job),
    "SS129": Ill("4.3.0/rocksdb_tws_event", schemas_elsewhere),
    "SS201": Ill("4.3.0/trouble_dedup_without_time"),
    "SS202": Ill("4.3.0/trouble_complete_mode"),
    "SS203": Ill("4.3.0/trouble_kept_timeouts"),
    "SS204": Ill("2.4.8/agg_complete"),
    "SS205": Ill("4.3.0/trouble_join_without_range"),
    "SS206": Ill("4.3.0/trouble_idle_source"),
    "SS207": Ill("4.3.0/dedup_event_time", _no_watermark),
    "SS208": Ill("4.3.0/join_left_outer", _counters_gone),
    "SS209": Ill(JOIN_COPY),
    "SS210": Ill("4.3.0/fmgws_snapshots_cleaned", beside=frozenset(("SS201", "SS203"))),
    "SS211": Ill("4.3.0/trouble_future_watermark"),
    "SS212": Ill(
        "4.3.0/rocksdb_tws_processing", _late_clock, beside=frozenset(("SS210", "SS213", "SS214"))
    ),
    "SS213": Ill(
        "4.3.0/rocksdb_tws_processing", _late_clock, beside=frozenset(("SS210", "SS212", "SS214"))
    ),
    "SS214": Ill("4.3.0/rocksdb_tws_event", beside=frozenset(("SS210",))),
    "SS215": Ill(
        "4.3.0/rocksdb_tws_event",
        _undeclared,
        beside=frozenset(("SS210", "SS214")),
    ),
    "SS216": Ill(
        "4.3.0/rocksdb_tws_event",
        thresholds={"entries_per_key": "4"},
        beside=frozenset(("SS210", "SS214")),
    ),
    "SS217": Ill(
        "4.3.0/mgws_tuple_key",
        thresholds={"unique_puts": "2", "unique_share": "0.05", "window_versions": "2"},
        beside=frozenset(("SS201",)),
    ),
    "SS220": Ill("troubles/trouble_limit_reached"),
    "SS218": Ill("4.3.0/agg_append", thresholds={"far_days": "0.0001"}),
    "SS219": Ill("troubles/trouble_tws_timers_gather"),
    "SS221": Ill("troubles/trouble_tws_short_ttl"),
    "SS222": Ill("troubles/trouble_join_other_case"),
    "SS223": Ill("troubles/trouble_dedup_event_uuid"),
    "SS224": Ill("troubles/trouble_session_heartbeat"),
    "SS225": Ill("troubles/trouble_agg_processing_watermark", beside=frozenset(("SS217",))),
    "SS226": Ill("troubles/trouble_agg_waits_for_next"),
    "SS227": Ill("4.3.0/agg_update", _second_source_idle, thresholds={"idle_batches": "4"}),
    "SS228": Ill(
        "4.3.0/fmgws_event_ignore",
        _partition_behind,
        beside=frozenset(("SS201", "SS203", "SS210")),
    ),
    "SS301": Ill("4.3.0/agg_v1"),
    "SS302": Ill("4.3.0/trouble_skew", thresholds={"hot_share": "1"}),
    "SS303": Ill("4.3.0/trouble_huge_value"),
    "SS304": Ill("4.3.0/trouble_unchanged_updates"),
    "SS305": Ill("4.3.0/agg_update", _many_batches, thresholds={"kept_batches": "1000"}),
    "SS306": Ill("4.3.0/agg_update", thresholds={"heap_bytes": "1KiB"}),
    "SS307": Ill("troubles/trouble_join_hot_key"),
    "SS308": Ill("troubles/trouble_agg_fat_lists"),
    "SS309": Ill("troubles/trouble_agg_fan_out"),
    "SS310": Ill("troubles/trouble_rocksdb_zips"),
    "SS311": Ill("4.3.0/agg_update", _killed_attempts),
    "SS312": Ill("4.3.0/agg_update", thresholds={"kept_versions": "5"}),
    "SS313": Ill("troubles/trouble_join_wide_payload"),
    "SS314": Ill("troubles/trouble_agg_backlog"),
    "SS315": Ill("4.3.0/agg_update", _slow_batches),
}
"""Id of each finding -> a checkpoint on which exactly it is found."""
