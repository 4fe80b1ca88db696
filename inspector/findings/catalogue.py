"""Every finding that can be reported, as data: how much it matters, its cause, and what to do.

What each means, how it is proven, from when on it is reported and by which source of Spark stands
in the documentation's findings page alone; ``inspector explain SS203`` prints an entry of it.
"""

from __future__ import annotations

from functools import partial

from inspector.findings.finding import Concerns, Explains, Kind, Severity
from inspector.model import Certainty
from inspector.operators.inferences import INFERENCES, Inference

_of_files = partial(Kind, command="verify")
_of_records = partial(Kind, command="files", concerns=Concerns.RECORDS)
_of_inference = partial(Kind, certainties=(Certainty.INFERRED,))
_of_proof_or_inference = partial(Kind, certainties=(Certainty.PROVEN, Certainty.INFERRED))


def _severity(inference: Inference) -> Severity:
    """A warning, if the inference is right often enough to be one."""
    return Severity.WARNING if inference.warns else Severity.INFO


_JOIN_SIDE, _JOIN_COPY = INFERENCES["join-side"], INFERENCES["join-copy"]
LATE_ROWS = _severity(INFERENCES["late-rows"])
"""Of findings that say which rows are dropped as late."""
RESTORE_MISSING = "restore what is missing from a backup"

MISSING_DELTA = _of_files(
    *("SS101", Severity.ERROR, "missing delta"),
    "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS",
    to_do="restore the file from a backup or an earlier object version; without it the "
    "versions up to the next snapshot cannot be loaded",
    cause="A delta file is missing, so no state version from it on can be loaded until the next "
    "snapshot.",
    explains=Explains(
        ("SS105",), "a version cannot be put together where a delta of its chain is missing"
    ),
)
UNDECODABLE_FILE = _of_files(
    *("SS102", Severity.ERROR, "file that cannot be read", "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"),
    to_do="restore the file from a backup or an earlier object version",
    cause="A state, log or metadata file cannot be read.",
    explains=Explains(
        ("SS105",), "a version cannot be put together where a file of its chain cannot be read"
    ),
)
REPLAY_DEPTH = Kind(
    *("SS103", Severity.WARNING, "replay too deep"),
    "spark.sql.streaming.stateStore.minDeltasForSnapshot",
    to_do="look for maintenance errors in the executors' logs, and let the query run longer than "
    "spark.sql.streaming.stateStore.maintenanceInterval (60 s) at a time; a lower "
    "minDeltasForSnapshot makes snapshots more often",
    cause="A restart has to replay many deltas, because there has been no snapshot for a long "
    "time.",
    command="files",
)
SNAPSHOT_DIFFERS = _of_files(
    *("SS104", Severity.ERROR, "snapshot differs from its deltas", "CANNOT_LOAD_STATE_STORE"),
    to_do="find out what else writes to the checkpoint, and whether the query was changed after a "
    "batch had failed: Spark loads the snapshot, whatever its deltas say",
    cause="A snapshot holds other rows than the deltas up to its version make.",
)
NOT_RESTORABLE = _of_files(
    *("SS105", Severity.ERROR, "newest committed version not restorable in every partition"),
    "CANNOT_LOAD_STATE_STORE",
    to_do="restart from the newest version that every partition can restore, "
    "or from a copy of the checkpoint",
    cause="The newest committed state version cannot be restored in every partition, so the query "
    "cannot restart from this checkpoint.",
    explains=Explains(
        ("SS104", "SS106", "SS110"),
        "the query cannot restart, whatever else is wrong with its files",
    ),
)
BAD_ROW = _of_files(
    *("SS106", Severity.ERROR, "rows do not fit their schema"),
    "STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE",
    to_do="check that the schema in state/<operator>/0/_metadata/schema belongs to this query",
    cause="Rows in the state do not fit the schema of their store.",
)
WRONG_PARTITION = _of_files(
    *("SS107", Severity.ERROR, "key in the wrong partition", "spark.sql.shuffle.partitions"),
    to_do="compare the partition's files with a backup. The number of partitions cannot be changed "
    "by editing a checkpoint; Spark 4.3 repartitions a checkpoint on RocksDB whose query is "
    "stopped",
    cause="Keys are in a partition where Spark does not look for them.",
)
CHANGED_DURING_SCAN = Kind(
    *("SS108", Severity.WARNING, "files changed during the scan"),
    "spark.sql.streaming.minBatchesToRetain",
    to_do="run this again; where a large checkpoint loses files each time, inspect a copy of it, "
    "or one partition at a time",
    cause="The query removed old files while they were being read, so that part of this report is "
    "missing.",
    command="files",
)
PARTITION_COUNT = _of_files(
    *("SS109", Severity.ERROR, "operators or partitions missing or too many"),
    "spark.sql.shuffle.partitions",
    to_do="compare the folders in state/ with a backup: the next batch of the query fails where "
    "the files of a partition are missing, and never reads a partition too many. Spark's "
    "`statestore` data source leaves out missing partitions behind the last one that is there, "
    "without an error",
    cause="The operators or partitions in state/ are not those that the query has.",
)
BAD_CHECKSUM = _of_files(
    *("SS110", Severity.WARNING, "checksum file does not match"),
    "org.apache.hadoop.fs.ChecksumException",
    to_do="compare the file with a backup; where the file is as it should be, the checksum file is "
    "stale and can be deleted",
    cause="A checksum file does not match the state file beside it.",
)
LOG_CONTRADICTION = _of_files(
    *("SS111", Severity.ERROR, "the logs contradict each other"),
    "org.apache.spark.sql.execution.streaming.OffsetSeqLog",
    to_do="see that no second run of the query uses this checkpoint; compare the entries that are "
    "named with a backup: a query changes none, and a restart plans the next batch from them",
    cause="Entries of the offset and commit logs are missing or contradict each other.",
)
CHANGED_FILE = _of_files(
    *("SS112", Severity.ERROR, "log, metadata or schema changed since it was written"),
    "org.apache.hadoop.fs.ChecksumException",
    to_do="restore the file from a backup; one that was edited on purpose is read again when its "
    "`.NAME.crc` is removed",
    cause="A log, metadata or schema file was changed after Spark wrote it.",
)
ABSENT_REMOVALS = _of_files(
    *("SS113", Severity.ERROR, "removals of keys that are not there"),
    "HDFSBackedStateStore.remove",
    to_do="compare the partition's deltas with a backup; Spark loads them as they are, whatever "
    "they hold",
    cause="State files are not of one chain: a delta removes keys that were never there.",
    concerns=Concerns.RECORDS,
)
FOREIGN_FOLDER = _of_files(
    *("SS114", Severity.INFO, "folder that is no state store"),
    "org.apache.spark.sql.execution.streaming.state.StateStoreId",
    to_do="move it out of the checkpoint, once nobody needs it there",
    cause="A folder in the state belongs to no store of the query, and Spark ignores it.",
)
ACCESS_DENIED = _of_files(
    *("SS116", Severity.WARNING, "access denied", "java.nio.file.AccessDeniedException"),
    to_do="renew the credentials or ask for permission to read, and run this again; nothing says "
    "that a file is damaged",
    cause="The storage denies access to a part of the checkpoint, which is missing from this "
    "report.",
)
STORAGE_SILENT = _of_files(
    *("SS117", Severity.WARNING, "storage did not answer", "java.io.IOException"),
    to_do="check the connection and the storage, and run this again; nothing says that a file is "
    "damaged",
    cause="The storage did not return a part of the checkpoint, which is missing from this report.",
)
FOREIGN_RECORDS = _of_files(
    *("SS118", Severity.ERROR, "records that their batch cannot have written", "WatermarkSupport"),
    to_do="compare the partition's deltas with a backup; Spark loads them as they are, whatever "
    "they hold",
    cause="State files are not of the batches whose numbers they have.",
)
UNFINISHED_REPARTITION = Kind(
    *("SS119", Severity.ERROR, "repartitioning not finished"),
    "STREAMING_UNFINISHED_REPARTITION_DETECTED",
    to_do="run the repartitioning again, to the same number of partitions, and let it finish "
    "before the query is started; Spark does not repartition HDFS-backed state: there the entry "
    "of `offsets` was changed by something else, so restore it from a backup",
    cause="A repartitioning of the checkpoint has not finished, and the query cannot start.",
    command="info",
)
REFUSED_RESTART = Kind(
    *("SS120", Severity.ERROR, "restart that Spark refuses", "STREAM_FAILED"),
    to_do=f"{RESTORE_MISSING}; snapshots of checkpoint format 2 that Spark 4.0 wrote are read by "
    "Spark 4.0 alone, so that a later release needs a new checkpoint",
    cause="Spark does not start the query from this checkpoint.",
    command="info",
)
STRAY_VERSIONS = Kind(
    *("SS121", Severity.WARNING, "state files of a batch that never ran"),
    "HDFSBackedStateStoreProvider.doMaintenance",
    to_do="move the files above the last batch out of the checkpoint while the query is stopped",
    cause="A state file is of a version that no batch has made.",
    command="files",
)
NEVER_EXPIRES = _of_proof_or_inference(
    *("SS201", Severity.WARNING, "rows can never expire", "withWatermark"),
    to_do="give the rule something to go by: see the operator's advice under `next:` in the "
    "report. Where the rows are few and meant to stay, nothing needs to be done",
    cause="No rule of this operator can ever remove its rows.",
    explains=Explains(
        ("SS204",), "where no rule can remove a row none is removed", same_store=True
    ),
)
PAST_WATERMARK = _of_proof_or_inference(
    *("SS202", Severity.WARNING, "expired rows still present", "outputMode"),
    to_do="use append or update mode and `withWatermark` where the groups of the past are not "
    "needed; otherwise size the executors for all of them",
    cause="The watermark has passed these rows, and they are still in the state.",
    command="leftovers",
)
TIMEOUT_KEPT = _of_proof_or_inference(
    *("SS203", Severity.ERROR, "timeout fired and key kept", "GroupState.remove"),
    to_do="call state.remove() in the branch where state.hasTimedOut. A function that keeps a key "
    "after its timeout on purpose sets a new one there; such keys are `rearmed`, and reported as "
    "long as no data comes for them",
    cause="The timeout of keys fired, and the function kept them.",
    command="leftovers",
    explains=Explains(
        ("SS204", "SS210"),
        "a function that keeps keys after their timeout is why none goes",
        same_store=True,
    ),
)
NO_REMOVES = _of_inference(
    *("SS204", Severity.WARNING, "no removes while rows grow", "numRowsRemoved"),
    to_do="if you know when its rows should be removed, say so with --operator-rule, such as "
    "'0=key.window<=watermark'; then those that stayed too long are found",
    cause="The store only gains rows, and none was ever removed.",
)
JOIN_SIDE = _of_inference(
    *("SS205", _severity(_JOIN_SIDE), "one join side never removes", "withWatermark"),
    to_do="bound this side's time from below by the other's in the join condition, such as "
    "rightTime >= leftTime AND rightTime <= leftTime + INTERVAL 1 HOUR (in days or less: Spark "
    "takes no months and years); if the range is longer than the window that can be read, say so "
    "with --join-retention",
    cause="One side of the join removes no rows, though the watermark passed some of them.",
)
WATERMARK_FLAT = Kind(
    *("SS206", Severity.WARNING, "watermark flat", "spark.sql.streaming.multipleWatermarkPolicy"),
    to_do="bring data to the source that stands still, or remove it from the query; where none "
    "does, look at the event times of the new data",
    cause="The watermark stands still while new data arrives, so nothing can expire.",
    concerns=Concerns.BY_WATERMARK,
    explains=Explains(
        ("SS202", "SS204", "SS205", "SS207", "SS209", "SS218"),
        "rows that go by the watermark cannot go while it stands still",
    ),
)
NO_WATERMARK = Kind(
    *("SS207", Severity.WARNING, "the rule needs a watermark, and there is none yet"),
    "withWatermark",
    certainties=(Certainty.PROVEN, Certainty.UNDECIDED),
    to_do="check that data with event times arrives from every source",
    cause="There is no watermark yet, so nothing can expire.",
    concerns=Concerns.BY_WATERMARK,
    explains=Explains(
        ("SS202", "SS204", "SS205", "SS209"),
        "rows that go by the watermark cannot go while there is none",
    ),
)
WATERMARK_AHEAD = Kind(
    *("SS211", Severity.WARNING, "watermark far from the batch clock", "withWatermark"),
    to_do="filter rows whose event time is in the future out before withWatermark, such as "
    "where(ts <= current_timestamp() + INTERVAL 1 HOUR), and start from a new checkpoint: this "
    "one keeps its watermark",
    cause="Event times in the future moved the watermark ahead of the batch clock, and it never "
    "goes back, so data with correct times comes too late for it.",
    explains=Explains(
        ("SS202", "SS206", "SS218"),
        "a watermark in the future passes rows at once, and no data with correct times moves it",
    ),
)
EXPIRED_TTL = Kind(
    *("SS212", Severity.WARNING, "values past their TTL still present"),
    "numValuesRemovedDueToTTLExpiry",
    to_do="call handle.deleteIfExists for a variable that is not needed any more, in the init of "
    "the processor, or declare it again",
    cause="Values whose TTL has run out are still in the state.",
    command="leftovers",
)
DUE_TIMER = _of_proof_or_inference(
    *("SS213", Severity.WARNING, "timers past their time still present", "numExpiredTimers"),
    to_do="find out what else writes to this checkpoint and whether the query ever ran with "
    "classes other than Spark's; inspector leftovers lists the timers",
    cause="Timers whose time has come were neither fired nor deleted.",
    command="leftovers",
)
TIMER_WITHOUT_STATE = Kind(
    *("SS214", Severity.INFO, "timers of keys without state"),
    "StatefulProcessorHandle.deleteTimer",
    to_do="call handle.deleteTimer for the timers of handle.listTimers where the state is cleared",
    cause="Timers are set for keys that have no state.",
    command="rows",
)
UNDECLARED = Kind(
    *("SS215", Severity.WARNING, "state variable that the processor no longer declares"),
    "StatefulProcessorHandle.deleteIfExists",
    to_do="call handle.deleteIfExists with its name in the init of the processor, once you are "
    "sure that no later run needs it",
    cause="A state variable is kept though the processor no longer declares it.",
    command="info",
)
GROWING_ENTRIES = _of_inference(
    *("SS216", Severity.WARNING, "list or map that only grows", "ListState.appendValue"),
    to_do="give the variable a TTL, or remove entries that are not needed any more: "
    "ListState.put with those that are, MapState.removeKey",
    cause="Lists or maps of some keys only grow.",
    command="top",
    explains=Explains(
        ("SS201", "SS204", "SS210"),
        "the entries that only come are the rows that never go",
        same_store=True,
    ),
)
UNIQUE_KEYS = _of_inference(
    *("SS217", Severity.INFO, "key unique to each event", "Dataset.groupBy"),
    to_do="leave the unique column out of the grouping, or round it: a time to a window",
    cause="Nearly every put was of a new key: the key is unique to each event.",
    command="top",
    explains=Explains(
        ("SS201", "SS204", "SS210"),
        "where each event makes a key of its own the rows are as many as the events",
        same_store=True,
    ),
)
FAR_EXPIRY = _of_proof_or_inference(
    *("SS218", Severity.WARNING, "expiry far ahead of the clock", "GroupState.setTimeoutTimestamp"),
    to_do="compare the unit of the time that sets the expiry with what Spark expects: "
    "setTimeoutTimestamp and timers take milliseconds; filter event times in the future before "
    "withWatermark",
    cause="Rows expire years after the clock that they go by.",
    explains=Explains(("SS204", "SS210"), "rows that are not yet due are not removed"),
)
UNFED = _of_proof_or_inference(
    *("SS220", Severity.INFO, "data arrives that is not stored", "numRowsDroppedByWatermark"),
    to_do="compare the event times of the records with the watermark, and look at the filters "
    "before the operator; of a limit that is reached start the query anew, or stop it",
    cause="No row is stored, though data arrives.",
)
TIMERS_GATHER = _of_inference(
    *("SS219", Severity.INFO, "timers that gather", "StatefulProcessorHandle.registerTimer"),
    to_do="delete the key's timers (listTimers, deleteTimer) before registerTimer, or register one "
    "only if the key has none; compare their expiry times with the clock",
    cause="Keys have several timers each.",
)
SHORT_TTL = _of_inference(
    *("SS221", Severity.INFO, "state that ends before it is used again", "TTLConfig"),
    to_do="make the TTL, the timeout or the delay of withWatermark longer than the trigger "
    "interval, the time that a batch takes and the pauses between the events of a key",
    cause="State ends before it is used again.",
)
JOIN_COUNTERS = _of_files(
    *("SS208", Severity.WARNING, "join rows and counters disagree"),
    "spark.sql.streaming.stateStore.skipNullsForStreamStreamJoins.enabled",
    to_do="such rows are never joined and never removed; null values that an older release left "
    "are skipped with skipNullsForStreamStreamJoins, else start from a new checkpoint",
    cause="The rows of the join and the counters that count them disagree.",
)
JOIN_COPY = _of_inference(
    *("SS209", _severity(_JOIN_COPY), "join on a copy of the event time", "withWatermark"),
    to_do="join on the column of withWatermark itself, or on its window: a cast or a computed copy "
    "of it carries no watermark, and without one on the key or a time range in the condition rows "
    "stay forever",
    cause="The join uses a copy of the event time that carries no watermark, so its rows never "
    "expire.",
)
NO_MATCH = _of_inference(
    *("SS222", Severity.INFO, "join without a match", "Dataset.join"),
    to_do="compare the rows of both sides, as inspector rows lists them: the spelling, type and "
    "unit of their keys (u1 and U1, 42 and 042, times that differ by milliseconds), and which of "
    "two events that belong together has the later time",
    cause="No row of the join has ever found a match: the keys of its two sides are never equal "
    "(spelling, type, unit), or the time range excludes those that are.",
    command="rows",
)
NEARLY_EQUAL = _of_inference(
    *("SS223", Severity.INFO, "keys that differ in one column alone", "Dataset.dropDuplicates"),
    to_do="make the column uniform before the operator, such as lower(trim(user)), or leave out of "
    "the key what an event gets anew each time that it is sent (an event time: use "
    "dropDuplicatesWithinWatermark)",
    cause="Keys differ from each other in one column alone.",
    command="rows",
    explains=Explains(
        ("SS217", "SS218"),
        "where one thing has several keys, not all of its rows have to be there",
        same_store=True,
    ),
)
OPEN_SESSIONS = _of_inference(
    *("SS224", Severity.INFO, "sessions or timers that new events put off", "session_window"),
    to_do="choose a gap that is shorter than the pauses between the events of a key, or a window "
    "of a fixed length; of timers: set one only if the key has none",
    cause="Sessions do not close, or timers do not fire, as new events come before it is time.",
)
WATERMARK_OF_CLOCK = _of_inference(
    *("SS225", Severity.INFO, "watermark of the batch clock", "withWatermark"),
    to_do="give withWatermark the time that the event carries; if it has none, processing time is "
    "what there is",
    cause="The watermark is the batch clock less always the same.",
    explains=Explains(("SS217", "SS218"), "windows then follow when events are read"),
)
WAITING = _of_inference(
    *("SS226", Severity.INFO, "rows that wait for the next batch", "Trigger.AvailableNow"),
    to_do="run with Trigger.AvailableNow, which ends with a batch without data, in place of "
    "Trigger.Once; leave spark.sql.streaming.noDataMicroBatches.enabled on, or run more often",
    cause="Rows that the watermark has passed wait for the next batch.",
)
UNDECIDED = Kind(
    *("SS210", Severity.INFO, "keys that may be leftovers: the bytes do not decide it"),
    "GroupState",
    certainties=(Certainty.UNDECIDED,),
    to_do="see the table undecided of inspector leftovers for what would decide them: often "
    "--timeout-kind, or a longer history (spark.sql.streaming.minBatchesToRetain). Of rows that "
    "the watermark has passed: look whether withWatermark stands on the branch of the query that "
    "leads to the operator",
    cause="The files do not show whether these keys were left behind by a timeout.",
    command="leftovers",
)
FORMAT_V1 = Kind(
    *("SS301", Severity.INFO, "state format 1 keeps the key twice (SPARK-24763)"),
    "spark.sql.streaming.aggregation.stateFormatVersion",
    to_do="a new query (new checkpoint) uses format 2",
    cause="The state format of this aggregation stores every key twice.",
    command="sizes",
)
SKEWED = Kind(
    *("SS302", Severity.INFO, "partition skew", "spark.sql.shuffle.partitions"),
    to_do="see inspector top for the partition's keys: one join key, or one group of sessions, "
    "with very many rows is split by a salt in the key or filtered (null and default values are "
    "frequent ones)",
    cause="The state is skewed: one partition holds far more rows than the others.",
    command="top",
)
OVERSIZED_VALUE = Kind(
    *("SS303", Severity.INFO, "oversized value", "GroupState.update"),
    to_do="see inspector top for the keys and inspector sizes --by field for what in them is "
    "large; bound the list, keep a count or a sketch in its place, or split the key",
    cause="A few values in the state are far larger than all the others.",
    command="top",
    concerns=Concerns.REWRITTEN_ROWS,
)
HOT_KEY = Kind(
    *("SS307", Severity.INFO, "most rows of one key", "spark.sql.shuffle.partitions"),
    to_do="filter the key out if it stands for an unknown one (null, 0, an empty text), or split "
    "it by a salt in the key",
    cause="One key has most of the rows.",
    command="top",
    explains=Explains(
        ("SS222",), "a key that most rows have, such as null, has no match as a rule"
    ),
)
GROWING_VALUES = _of_inference(
    *("SS308", Severity.INFO, "values that grow", "collect_list"),
    to_do="keep a count or a sketch (approx_count_distinct) in place of the list or set, keep the "
    "last entries only, or let the key expire",
    cause="The values grow with every update.",
    command="sizes",
    concerns=Concerns.REWRITTEN_ROWS,
)
FAN_OUT = _of_inference(
    *("SS309", Severity.INFO, "each event in many rows", "window"),
    to_do="use a longer slide or a shorter window; or aggregate by tumbling windows of the "
    "slide's duration and add those up downstream",
    cause="Each event is written to many rows.",
    command="rows",
)
WIDE_COLUMN = _of_inference(
    *("SS313", Severity.INFO, "one wide column", "payload"),
    to_do="select the columns that are needed before the operator, and look the payload up after "
    "it; group or deduplicate by a hash (xxhash64, sha2) in place of a long text; allow a sketch "
    "a larger error",
    cause="One column holds most of the bytes.",
    command="sizes",
)
BURST = Kind(
    *("SS314", Severity.INFO, "one batch far larger than others", "maxOffsetsPerTrigger"),
    to_do="limit what one batch reads: maxOffsetsPerTrigger (Kafka), maxFilesPerTrigger or "
    "maxBytesPerTrigger (files). Such a batch takes long, may run out of memory, and runs again "
    "whole if it fails",
    cause="One batch wrote far more rows than others do.",
    concerns=Concerns.RECORDS,
)
WHOLE_UPLOADS = _of_records(
    *("SS310", Severity.INFO, "RocksDB uploads without changelogs"),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
    to_do="set spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled to true and "
    "restart the query: it goes on from the zips that are there (Spark 3.5 and later)",
    cause="Every batch uploads whole RocksDB files.",
)
LEFT_FILES = _of_records(
    *("SS311", Severity.INFO, "temporary files that were left", "CheckpointFileManager"),
    to_do="delete them while the query is stopped; look for executors that were lost or killed",
    cause="Temporary files of attempts that failed lie beside the state.",
)
KEPT_VERSIONS = _of_records(
    *("SS312", Severity.INFO, "many old versions", "spark.sql.streaming.minBatchesToRetain"),
    to_do="lower spark.sql.streaming.minBatchesToRetain, which is read at each start; where it is "
    "100, look for maintenance errors in the executors' logs",
    cause="The files of many old versions are kept.",
)
SAME_VALUE = Kind(
    *("SS304", Severity.INFO, "same-value rewrites", "GroupState.update"),
    to_do="see the operator's advice under `next:` in the report: only in a group state does the "
    "user's function decide what is written, and calls update() only when the value has changed",
    cause="Most updates write the value that is there already.",
    command="sharing",
    concerns=Concerns.RECORDS,
)
EMPTY_DELTAS = _of_records(
    *("SS305", Severity.INFO, "empty deltas", "spark.sql.shuffle.partitions"),
    to_do="use a longer trigger interval, or fewer partitions: a query keeps the "
    "spark.sql.shuffle.partitions that its checkpoint began with. Spark 4.3 repartitions a "
    "checkpoint on RocksDB whose query is stopped; all others need a new one",
    cause="Most deltas change nothing, and each is a file of its own.",
)
HEAP_OVER_LIMIT = _of_inference(
    *("SS306", Severity.WARNING, "heap over limit", "java.lang.OutOfMemoryError"),
    to_do="see inspector memory for the heap of each executor, and for what would change it",
    cause="The state takes more heap than the limit.",
    command="memory",
)

CATALOGUE: tuple[Kind, ...] = tuple(
    sorted(
        (kind for kind in list(vars().values()) if isinstance(kind, Kind)), key=lambda kind: kind.id
    )
)
"""Every finding that is made, by id; ids never change their meaning."""
