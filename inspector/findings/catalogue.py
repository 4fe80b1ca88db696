"""Every finding that can be reported, as data: what it means, from when on, and what to do.

The rules that report them are in the other modules of this room and take their thresholds from
here. The findings page of the documentation is made from it, and ``inspector explain SS203`` prints
an entry of that page.
"""

from __future__ import annotations

from inspector.findings.finding import Group, Kind, Severity
from inspector.model import Certainty
from inspector.operators.inferences import INFERENCES, Inference

WINDOW = 5
"""Versions whose changes must be known before what did not happen in them says anything."""

DATA_BATCHES = 3
"""Batches with new data without which a watermark that does not move is no surprise."""

SAME_VALUE_SHARE = 0.5
"""Share of same-value puts among all updates from which on they are reported."""

_PROVEN = (Certainty.PROVEN,)
_INFERRED = (Certainty.INFERRED,)
_PROVEN_OR_INFERRED = (Certainty.PROVEN, Certainty.INFERRED)


def _severity(inference: Inference) -> Severity:
    """A warning, if the inference is right often enough to be one."""
    return Severity.WARNING if inference.warns else Severity.INFO


def _measured(inference: Inference) -> str:
    return (
        f"on random workloads it was right {inference.right:,} of {inference.of:,} times "
        f"(inference `{inference.name}`)"
    )


_JOIN_SIDE, _JOIN_COPY = INFERENCES["join-side"], INFERENCES["join-copy"]

MISSING_DELTA = Kind(
    "SS101",
    Severity.ERROR,
    Group.INTEGRITY,
    "missing delta",
    "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS",
    _PROVEN,
    means="A delta lies between the snapshot (or the empty version 0) and a later version, and is "
    "not there. No version from that delta on can be loaded until the next snapshot. Spark fails "
    "when a task loads such a version, and its cleanup of old files stops silently.",
    to_do="restore the file from a backup or an earlier object version; without it the "
    "versions after it cannot be loaded",
    source="HDFSBackedStateStoreProvider.loadMap, filesForVersion (2.3 to 4.3). A `foreachBatch` "
    "that does not consume its DataFrame commits a batch whose delta was never written; Spark 4.1 "
    "and later notice that at the commit",
)
UNDECODABLE_FILE = Kind(
    "SS102",
    Severity.ERROR,
    Group.INTEGRITY,
    "file that cannot be read",
    "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED",
    _PROVEN,
    means="A delta or snapshot is cut, has a block whose checksum is wrong, a record of an "
    "impossible length, or rows whose row checksum is wrong; or the storage refused to give it. "
    "The table of problems has each file with the byte offset of the fault.",
    to_do="restore the file from a backup or an earlier object version",
    source="HDFSBackedStateStoreProvider.updateFromDeltaFile, readSnapshotFile (2.3 to 4.3). Spark "
    "4.2 and later fall back to an older snapshot where one cannot be read",
)
SNAPSHOT_DIFFERS = Kind(
    "SS104",
    Severity.ERROR,
    Group.INTEGRITY,
    "snapshot differs from its deltas",
    "CANNOT_LOAD_STATE_STORE",
    _PROVEN,
    means="A snapshot holds other rows than the replay of the deltas up to its version. One of "
    "them was not written by this run of this query.",
    to_do="find out what else writes to the checkpoint: Spark loads the snapshot, "
    "whatever its deltas say",
    source="HDFSBackedStateStoreProvider.fetchFiles, loadMap (2.3 to 4.3): where both exist Spark "
    "takes the snapshot",
)
NOT_RESTORABLE = Kind(
    "SS105",
    Severity.ERROR,
    Group.INTEGRITY,
    "newest committed version not restorable in every partition",
    "CANNOT_LOAD_STATE_STORE",
    _PROVEN,
    means="The version that the last committed batch made cannot be put together in at least one "
    "partition. The query cannot restart from this checkpoint as it is.",
    to_do="restart from the newest version that every partition can restore, "
    "or from a copy of the checkpoint",
    source="HDFSBackedStateStoreProvider.loadMap (2.3 to 4.3)",
)
BAD_ROW = Kind(
    "SS106",
    Severity.ERROR,
    Group.INTEGRITY,
    "rows do not fit their schema",
    "STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE",
    _PROVEN,
    means="UnsafeRows that the schema of the store cannot have produced: a wrong length, an offset "
    "outside of the row, bytes set where the type leaves none. Either the schema belongs to "
    "another query, or the row is damaged.",
    to_do="check that the schema in state/<operator>/0/_metadata/schema belongs to this query",
    source="UnsafeRowUtils.validateStructuralIntegrity (3.1 to 4.3). A null interval, nanosecond "
    "timestamp or (3.1) wide decimal that keeps an offset is not reported: Spark writes those "
    "itself, though its own check refuses them",
)
PARTITION_COUNT = Kind(
    "SS109",
    Severity.ERROR,
    Group.INTEGRITY,
    "partitions missing",
    "spark.sql.shuffle.partitions",
    _PROVEN,
    means="The offset log says how many partitions the state has, and folders of some are not "
    "there. Operators that run in one partition (`limit`, an aggregation without keys) are not "
    "expected to have more.",
    to_do="restore the folders: Spark silently reads a missing partition as empty",
    source="OffsetSeqMetadata (`spark.sql.shuffle.partitions` in every entry), "
    "StatePartitionReader (4.0 to 4.3)",
)
BAD_CHECKSUM = Kind(
    "SS110",
    Severity.WARNING,
    Group.INTEGRITY,
    "checksum file does not match",
    "org.apache.hadoop.fs.ChecksumException",
    _PROVEN,
    means="A checksum file beside a state file, Hadoop's `.NAME.crc` or the `NAME.crc` of Spark "
    "4.1, says something else than the file's bytes do. The file itself may be whole: a checksum "
    "file can be older than what it stands beside.",
    to_do="compare the file with a backup; where the file is as it should be, "
    "the checksum file is stale and can go",
    source="ChecksumFileSystem (Hadoop, local disks), ChecksumCheckpointFileManager (Spark 4.1; "
    "from 4.2 on not for this provider)",
)
LOG_CONTRADICTION = Kind(
    "SS111",
    Severity.ERROR,
    Group.INTEGRITY,
    "the logs contradict each other",
    "org.apache.spark.sql.execution.streaming.OffsetSeqLog",
    _PROVEN,
    means="An entry of `offsets` or `commits` is missing between others, or two entries that "
    "repeat the same watermark give different ones. Batches, clocks and watermarks are read "
    "from these entries: what is judged by a wrong one is wrong.",
    to_do="compare the entries that are named with a backup; a running query does not change "
    "them, and a restart plans the next batch from them",
    source="MicroBatchExecution.markMicroBatchStart, markMicroBatchEnd, WatermarkTracker (2.3 to "
    "4.3): an entry of `offsets` begins with the watermark that the commit before it ended with",
)
CHANGED_FILE = Kind(
    "SS112",
    Severity.ERROR,
    Group.INTEGRITY,
    "log, metadata or schema changed since it was written",
    "org.apache.hadoop.fs.ChecksumException",
    _PROVEN,
    means="The bytes of a small file are not those that Hadoop's `.NAME.crc` beside it was made "
    "of. Spark on a local disk refuses to read it, and nothing here is taken from it: a batch "
    "whose entry it is has no clock, a store whose schema it is has no rule.",
    to_do="restore the file from a backup; one that was edited on purpose is read again when its "
    "`.NAME.crc` is removed",
    source="ChecksumFileSystem.open (Hadoop, local disks; Spark 2.3 to 4.3 writes and reads "
    "its logs by it there)",
)
ABSENT_REMOVALS = Kind(
    "SS113",
    Severity.ERROR,
    Group.INTEGRITY,
    "removals of keys that are not there",
    "HDFSBackedStateStore.remove",
    _PROVEN,
    means="A delta removes keys that the version before it does not have. Spark writes a removal "
    "only for a key that it holds, so one of the files is not of this chain: it was copied from "
    "another partition or query, exchanged with another version, or a file before it was changed.",
    to_do="compare the partition's deltas with a backup; Spark loads them as they lie here, "
    "whatever they hold",
    source="HDFSBackedStateStoreProvider.HDFSBackedStateStore.remove (2.3 to 4.3): a removal goes "
    "to the delta only where the map had the key",
)
NEVER_EXPIRES = Kind(
    "SS201",
    Severity.WARNING,
    Group.LIFETIME,
    "rows can never expire",
    "withWatermark",
    _PROVEN_OR_INFERRED,
    means="By the schema of the store no rule of this operator can ever remove a row: an "
    "aggregation without a watermarked grouping column, `dropDuplicates` without the event time "
    "among its columns, a group state without a timeout, a join side without a watermark; and none "
    "was removed in the versions that can be read. For a group state with a timeout: keys that had "
    "no timer at any version of the window. That no key ever had one is proven; that some had none "
    "while others did is inferred.",
    thresholds=f"Keys without a timer are reported from {WINDOW} versions on whose changes are "
    "known. Nothing is reported of a store that removed rows.",
    to_do="give the rule something to go by: see the operator's advice under `next:` in the "
    "report. Where the rows are few and meant to stay, nothing needs to be done",
    source="WatermarkSupport.watermarkExpression, StreamingDeduplicateExec, "
    "FlatMapGroupsWithStateExec, StreamingSymmetricHashJoinHelper (2.3 to 4.3)",
)
PAST_WATERMARK = Kind(
    "SS202",
    Severity.WARNING,
    Group.LIFETIME,
    "expired rows still present",
    "outputMode",
    _PROVEN_OR_INFERRED,
    means="The clock of a batch that ran covered these rows, so that the operator's rule says they "
    "should have gone, and they are still there. For an aggregation or session window this is "
    "complete mode, which keeps every group; the output mode is not in the checkpoint, so the "
    "finding is inferred. With a rule of `--operator-rule` or `--join-retention` it is "
    "proven by that rule.",
    to_do="use append or update mode where the groups of the past are not needed; otherwise size "
    "the executors for all of them",
    source="StateStoreSaveExec, SessionWindowStateStoreSaveExec, WatermarkSupport (2.3 to 4.3)",
)
TIMEOUT_KEPT = Kind(
    "SS203",
    Severity.ERROR,
    Group.LIFETIME,
    "timeout fired and key kept",
    "GroupState.remove",
    _PROVEN_OR_INFERRED,
    means="The timeout of a key fired, the function was called for it, and the key is still in the "
    "state: with no timer (`kept_without_timeout`), with the timer that had fired "
    "(`ignored_timeout`, Python only; it fires in every later batch), or with a new one "
    "(`rearmed`). A key without a timer is never called again unless new data arrives for it.",
    to_do="call state.remove() in the branch where state.hasTimedOut. A function that means to "
    "keep a key after its timeout sets a new one there; such keys are `rearmed` and remain "
    "reported as long as their timers only run out and are set anew",
    source="FlatMapGroupsWithStateExec.processTimedOutState, InputProcessor.onIteratorCompletion "
    "(2.4 to 4.3); FlatMapGroupsInPandasWithStateExec (3.4 to 4.3)",
)
NO_REMOVES = Kind(
    "SS204",
    Severity.WARNING,
    Group.LIFETIME,
    "no removes while rows grow",
    "numRowsRemoved",
    _INFERRED,
    means="The store has more rows than at the beginning of the window, none was removed in it, "
    "and neither the checkpoint nor its user says by which rule its rows should go.",
    thresholds=f"At least {WINDOW} versions whose changes are known, and more rows in the newest "
    "than in the oldest.",
    to_do="give the rule with --operator-rule, if you know it; then leftovers are judged by it",
    source="StateOperatorProgress.numRowsRemoved is the same number (3.2 to 4.3)",
)
JOIN_SIDE = Kind(
    "SS205",
    _severity(_JOIN_SIDE),
    Group.LIFETIME,
    "one join side never removes",
    "withWatermark",
    _INFERRED,
    means="A side of a stream-stream join removed no row though the watermark moved past some of "
    "its rows. Its range may only be longer than what can be read, which looks the same: "
    f"{_measured(_JOIN_SIDE)}, so it is for information.",
    thresholds=f"At least {WINDOW} versions whose changes are known, a watermark that moved, rows "
    "that grew, and at least one row behind the watermark.",
    to_do="bound this side's time from below by the other's in the join condition, such as "
    "rightTime >= leftTime AND rightTime <= leftTime + INTERVAL 1 HOUR; if the range is longer "
    "than the window that can be read, say so with --join-retention",
    source="StreamingSymmetricHashJoinHelper.getStateWatermarkPredicates (2.3 to 4.3)",
)
WATERMARK_FLAT = Kind(
    "SS206",
    Severity.WARNING,
    Group.LIFETIME,
    "watermark flat",
    "spark.sql.streaming.multipleWatermarkPolicy",
    _PROVEN,
    means="The watermark stands still though batches bring new data, and the rows of an operator "
    "wait for it.",
    thresholds=f"At least {DATA_BATCHES} batches with new data that did not move it.",
    to_do="look for a source that is idle or behind: with policy min the slowest one holds the "
    "watermark; and for event times that do not advance",
    source="WatermarkTracker.updateWatermark (2.4 to 4.3)",
)
NO_WATERMARK = Kind(
    "SS207",
    Severity.WARNING,
    Group.LIFETIME,
    "the rule needs a watermark, and there is none yet",
    "withWatermark",
    _PROVEN,
    means="The rows of the store go by the watermark, the query has had data, and no batch "
    "has had a watermark yet: nothing can expire until it has one.",
    thresholds=f"At least {DATA_BATCHES} batches with new data.",
    to_do="check that data with event times arrives from every source",
    source="WatermarkTracker.updateWatermark (2.4 to 4.3): 0 is recorded as long as there is none",
)
JOIN_COUNTERS = Kind(
    "SS208",
    Severity.WARNING,
    Group.LIFETIME,
    "join rows and counters disagree",
    "spark.sql.streaming.stateStore.skipNullsForStreamStreamJoins.enabled",
    _PROVEN,
    means="A join keeps for each key the number of its rows in one store and the rows in another. "
    "Here a counter counts rows that are not there, a key has a counter and no row, or a row lies "
    "behind what its counter counts.",
    to_do="such rows are never joined and never removed; null values that an older release left "
    "are skipped with skipNullsForStreamStreamJoins, else start from a new checkpoint",
    source="SymmetricHashJoinStateManager (2.3 to 4.3)",
)
JOIN_COPY = Kind(
    "SS209",
    _severity(_JOIN_COPY),
    Group.LIFETIME,
    "join on a copy of the event time",
    "withWatermark",
    _INFERRED,
    means="A field of the join key equals the event time of every row, and rows are there that a "
    "watermark on that field would have removed. So the field is a copy (a cast, a computed "
    f"column) that carries no watermark; {_measured(_JOIN_COPY)}, so it is for information.",
    thresholds="Those of SS205, and no row removed on either side.",
    to_do="join on the column of withWatermark itself, or on its window: a cast or a computed copy "
    "of it carries no watermark, and without one on the key or a time range in the condition "
    "rows stay for ever",
    source="StreamingSymmetricHashJoinHelper, StreamingSymmetricHashJoinExec (2.3 to 4.3)",
)
UNDECIDED = Kind(
    "SS210",
    Severity.INFO,
    Group.LIFETIME,
    "keys that may be leftovers: the bytes do not decide it",
    "GroupState",
    (Certainty.UNDECIDED,),
    means="Keys of a group state whose bytes allow both: that a timeout left them behind, and that "
    "a call for data did. The tables `undecided` and `undecided_keys` have the reasons.",
    to_do="see the table undecided of inspector leftovers for what would decide them: often "
    "--timeout-kind, or a longer history (spark.sql.streaming.minBatchesToRetain)",
    source="FlatMapGroupsWithStateExec (2.4 to 4.3), FlatMapGroupsInPandasWithStateExec (3.4 to "
    "4.3)",
)
FORMAT_V1 = Kind(
    "SS301",
    Severity.INFO,
    Group.EFFICIENCY,
    "state format 1 keeps the key twice (SPARK-24763)",
    "spark.sql.streaming.aggregation.stateFormatVersion",
    _PROVEN,
    means="The values of an aggregation repeat its grouping columns. The format is fixed when a "
    "checkpoint begins; one that began with Spark 2.3 has it for good.",
    to_do="a new query (new checkpoint) uses format 2",
    source="StreamingAggregationStateManager (2.4 to 4.3)",
)
SAME_VALUE = Kind(
    "SS304",
    Severity.INFO,
    Group.EFFICIENCY,
    "same-value rewrites",
    "GroupState.update",
    _PROVEN,
    means="Updates wrote the bytes that were there already. Each of them is written to the delta, "
    "and makes a new value object in the executors.",
    thresholds=f"At least {SAME_VALUE_SHARE:.0%} of all updates in the versions that can be read.",
    to_do="call update() only when the value has changed",
    source="HDFSBackedStateStoreProvider.put (2.3 to 4.3): a put is written whatever it puts",
)

CATALOGUE = (
    MISSING_DELTA,
    UNDECODABLE_FILE,
    SNAPSHOT_DIFFERS,
    NOT_RESTORABLE,
    BAD_ROW,
    PARTITION_COUNT,
    BAD_CHECKSUM,
    LOG_CONTRADICTION,
    CHANGED_FILE,
    ABSENT_REMOVALS,
    NEVER_EXPIRES,
    PAST_WATERMARK,
    TIMEOUT_KEPT,
    NO_REMOVES,
    JOIN_SIDE,
    WATERMARK_FLAT,
    NO_WATERMARK,
    JOIN_COUNTERS,
    JOIN_COPY,
    UNDECIDED,
    FORMAT_V1,
    SAME_VALUE,
)
"""Every finding that is made; ids never change their meaning."""
