"""Every finding that can be reported, as data: what it means, from when on, and what to do.

The rules that report them are in the other modules of this room, and the numbers that they compare
with in :mod:`inspector.findings.thresholds`. The findings page of the documentation is made from
this, and ``inspector explain SS203`` prints an entry of that page.
"""

from __future__ import annotations

from inspector.findings.finding import Concerns, Explains, Kind, Severity
from inspector.findings.thresholds import DEFAULTS
from inspector.model import Certainty
from inspector.operators.inferences import INFERENCES, Inference

_AT = DEFAULTS
_INFERRED = (Certainty.INFERRED,)
_PROVEN_OR_INFERRED = (Certainty.PROVEN, Certainty.INFERRED)


def _severity(inference: Inference) -> Severity:
    """A warning, if the inference is right often enough to be one."""
    return Severity.WARNING if inference.warns else Severity.INFO


def _accuracy_text(inference: Inference) -> str:
    return (
        f"on random workloads it was right {inference.right:,} of {inference.of:,} times "
        f"(inference `{inference.name}`)"
    )


_JOIN_SIDE, _JOIN_COPY = INFERENCES["join-side"], INFERENCES["join-copy"]

MISSING_DELTA = Kind(
    "SS101",
    Severity.ERROR,
    "missing delta",
    "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS",
    means="A delta between the snapshot (or the empty version 0) and a later version is missing. "
    "No version from that delta on can be loaded until the next snapshot. Spark fails when a task "
    "loads such a version, and its cleanup of old files stops with a warning in the executor's "
    "log. Where a snapshot of the same version is there, that can be loaded, and what it changed "
    "is lost.",
    to_do="restore the file from a backup or an earlier object version; without it the "
    "versions up to the next snapshot cannot be loaded",
    source="HDFSBackedStateStoreProvider.loadMap, filesForVersion (2.3 to 4.3). A `foreachBatch` "
    "that does not consume its DataFrame commits a batch whose delta was never written; Spark 4.1 "
    "and later notice that at the commit",
    cause="A delta file is missing, so no state version from it on can be loaded until the next "
    "snapshot.",
    command="verify",
    proof="By the listing alone: every version between the oldest one that can be restored and the "
    "judged one needs a delta of its number, and this file does not exist.",
    explains=Explains(
        ("SS105",), "a version cannot be put together where a delta of its chain is missing"
    ),
)
UNDECODABLE_FILE = Kind(
    *("SS102", Severity.ERROR, "file that cannot be read", "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"),
    means="A delta or snapshot is cut, has a block whose checksum is wrong, a record of an "
    "impossible length, or rows whose row checksum is wrong. "
    "The table of problems has each file with the byte offset of the fault.",
    to_do="restore the file from a backup or an earlier object version",
    source="HDFSBackedStateStoreProvider.updateFromDeltaFile, readSnapshotFile (2.3 to 4.3). Spark "
    "4.2 and later fall back to an older snapshot where one cannot be read",
    cause="A state, log or metadata file cannot be read.",
    command="verify",
    proof="Every file of the chains is read to its end: its compression frames with their "
    "checksums, the length of each record, the marker at the end, and the row checksums where "
    "there are any. The byte at which it fails is in the table of problems.",
    explains=Explains(
        ("SS105",), "a version cannot be put together where a file of its chain cannot be read"
    ),
)
REPLAY_DEPTH = Kind(
    "SS103",
    Severity.WARNING,
    "replay too deep",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot",
    means="A task that loads the newest version, after a restart or on another executor, has to "
    "read the newest snapshot and then every delta after it, one after the other. Here there are "
    "many: Spark's maintenance has made no snapshot for a long time. It makes one only of a "
    "version that is in the executor's memory, and if that fails, the query goes on without one.",
    thresholds=f"At least {_AT.replay_deltas} deltas after the newest snapshot of a "
    "partition (`replay_deltas`): with a batch each second a sound query has up to 70. "
    f"Information from {_AT.replay_noted} on (`replay_noted`), or from {_AT.replay_slow} on "
    f"(`replay_slow`) that took {_AT.replay_minutes:g} minutes (`replay_minutes`).",
    to_do="look for maintenance errors in the executors' logs, and let the query run longer than "
    "spark.sql.streaming.stateStore.maintenanceInterval (60 s) at a time; a lower "
    "minDeltasForSnapshot makes snapshots more often",
    source="HDFSBackedStateStoreProvider.doMaintenance, doSnapshot (2.3 to 4.3)",
    cause="A restart has to replay many deltas, because there has been no snapshot for a long "
    "time.",
    command="files",
    proof="By the listing: the deltas above the newest snapshot are counted in each partition.",
)
SNAPSHOT_DIFFERS = Kind(
    *("SS104", Severity.ERROR, "snapshot differs from its deltas", "CANNOT_LOAD_STATE_STORE"),
    means="A snapshot holds other rows than the replay of the deltas up to its version. One of "
    "them was not written by this run of this query: something else writes to the checkpoint, or "
    "a batch that had failed ran again with another output mode or other code.",
    to_do="find out what else writes to the checkpoint, and whether the query was changed after a "
    "batch had failed: Spark loads the snapshot, whatever its deltas say",
    source="HDFSBackedStateStoreProvider.fetchFiles, loadMap (2.3 to 4.3), RocksDB.load (3.2 to "
    "4.3): where both exist Spark takes the snapshot",
    cause="A snapshot holds other rows than the deltas up to its version make.",
    command="verify",
    proof="The rows of the snapshot are compared with those that a replay of its deltas makes, "
    "key by key, by the size and the hash of each value. Where the deltas before it are gone, what "
    "the delta of its own version wrote is looked up in it.",
)
NOT_RESTORABLE = Kind(
    "SS105",
    Severity.ERROR,
    "newest committed version not restorable in every partition",
    "CANNOT_LOAD_STATE_STORE",
    means="The version that the last committed batch made cannot be put together in at least one "
    "partition. The query cannot restart from this checkpoint as it is.",
    to_do="restart from the newest version that every partition can restore, "
    "or from a copy of the checkpoint",
    source="HDFSBackedStateStoreProvider.loadMap (2.3 to 4.3)",
    cause="The newest committed state version cannot be restored in every partition, so the query "
    "cannot restart from this checkpoint.",
    command="verify",
    proof="By the listing and by reading: in some partition no snapshot, and no empty version "
    "0, has every delta after it up to the newest committed version.",
    explains=Explains(
        ("SS104", "SS106", "SS110"),
        "the query cannot restart, whatever else is wrong with its files",
    ),
)
BAD_ROW = Kind(
    "SS106",
    Severity.ERROR,
    "rows do not fit their schema",
    "STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE",
    means="UnsafeRows that the schema of the store cannot have produced: a wrong length, an offset "
    "outside of the row, bytes set where the type leaves none. Either the schema belongs to "
    "another query, or the row is damaged.",
    to_do="check that the schema in state/<operator>/0/_metadata/schema belongs to this query",
    source="UnsafeRowUtils.validateStructuralIntegrity (3.1 to 4.3). A null interval, nanosecond "
    "timestamp or (3.1) wide decimal that keeps an offset is not reported: Spark writes those "
    "itself, though its own check refuses them",
    cause="Rows in the state do not fit the schema of their store.",
    command="verify",
    proof="Each row is held against the schema by the checks that Spark itself has: the length, "
    "the null bits, and where each variable part lies.",
)
WRONG_PARTITION = Kind(
    *("SS107", Severity.ERROR, "key in the wrong partition", "spark.sql.shuffle.partitions"),
    means="The hash of a key's grouping columns, modulo the number of partitions, is that of "
    "another partition. Spark never looks for the key where it is: its state is as good as lost, "
    "and a second one grows in the right place. Files were copied between partitions, or the "
    "number of partitions was changed by hand. Not checked: queries that began before Spark 3.3 "
    "(their rows may lie by fewer columns), stores without a schema in the checkpoint, columns of "
    "a collation, and single fields of more than 4,096 bytes.",
    to_do="compare the partition's files with a backup. The number of partitions cannot be changed "
    "by editing a checkpoint; Spark 4.3 repartitions a checkpoint on RocksDB whose query is "
    "stopped",
    source="HashPartitioning.partitionIdExpression (Murmur3, seed 42), "
    "StatefulOperatorPartitioning (3.3 to 4.3: statefulOperator.useStrictDistribution)",
    cause="Keys are in a partition where Spark does not look for them.",
    command="verify",
    proof="The grouping columns of each live key are hashed as Spark hashes them (Murmur3, seed "
    "42, column by column), and the hash modulo the number of partitions is compared with the "
    "number of the folder that the key's files lie in.",
)
CHANGED_DURING_SCAN = Kind(
    "SS108",
    Severity.WARNING,
    "files changed during the scan",
    "spark.sql.streaming.minBatchesToRetain",
    means="The query runs, and Spark's cleanup removed files between their listing and their "
    "reading. They are listed and read again, and where the judged batch can no longer be "
    "restored the newest one is judged instead: then the report is whole, and this is "
    "information. Where the cleanup is faster than two looks, the last ones leave out the "
    "versions before that. It is a warning if a file was gone at every look, or if the query "
    "removes versions faster than they can be read at all: what depends on them is missing from "
    "the report. Nothing is wrong with the checkpoint.",
    to_do="run this again; where a large checkpoint loses files each time, inspect a copy of it, "
    "or one partition at a time",
    source="HDFSBackedStateStoreProvider.doMaintenance, cleanup (2.3 to 4.3): files older than "
    "minBatchesToRetain go once a minute",
    cause="The query removed old files while they were being read, so that part of this report is "
    "missing.",
    command="files",
    proof="A file that the listing of its folder had was not there when it was opened, and the "
    "folder was listed again: the second listing is what is judged.",
)
PARTITION_COUNT = Kind(
    "SS109",
    Severity.ERROR,
    "operators or partitions missing or too many",
    "spark.sql.shuffle.partitions",
    means="The offset log and, from Spark 4.0 on, the metadata of an operator say how many "
    "partitions its state has, and the folders that are there are others. Operators that run in "
    "one partition (`limit`, an aggregation without keys) have partition 0 alone. Or the state of "
    "an operator is missing: operators are numbered from 0 without a gap, and a query that ran "
    "batches for its state alone has at least one.",
    to_do="compare the folders in state/ with a backup: the next batch of the query fails where "
    "the files of a partition are missing, and never reads a partition too many. Spark's "
    "`statestore` data source leaves out missing partitions behind the last one that is there, "
    "without an error",
    source="OffsetSeqMetadata (`spark.sql.shuffle.partitions` in every entry), "
    "OperatorStateMetadata (numPartitions), HDFSBackedStateStoreProvider.loadMap (2.3 to 4.3: a "
    "delta that does not exist is an exception, in 4.x CANNOT_READ_DELTA_FILE_NOT_EXISTS), "
    "StateScan.planInputPartitions (4.0 to 4.3: the folders that are there, without a gap)",
    cause="The operators or partitions in state/ are not those that the query has.",
    command="verify",
    proof="The entry of `offsets` for the judged batch, or the operator's metadata, records the "
    "number of partitions; the folders that the operator has are counted against it. The numbers "
    "of the operators must follow one another.",
)
BAD_CHECKSUM = Kind(
    "SS110",
    Severity.WARNING,
    "checksum file does not match",
    "org.apache.hadoop.fs.ChecksumException",
    means="A checksum file beside a state file, Hadoop's `.NAME.crc` or the `NAME.crc` of Spark "
    "4.1, does not match the file's bytes. The file itself may be whole: a checksum file can be "
    "older than the file beside it.",
    to_do="compare the file with a backup; where the file is as it should be, the checksum file is "
    "stale and can be deleted",
    source="ChecksumFileSystem (Hadoop, local disks), ChecksumCheckpointFileManager (Spark 4.1; "
    "from 4.2 on not for this provider)",
    cause="A checksum file does not match the state file beside it.",
    command="verify",
    proof="The checksum is computed from the file's bytes and compared with the one beside it. "
    "That does not show which of the two is stale.",
)
LOG_CONTRADICTION = Kind(
    "SS111",
    Severity.ERROR,
    "the logs contradict each other",
    "org.apache.spark.sql.execution.streaming.OffsetSeqLog",
    means="An entry of `offsets` or `commits` is missing between others, or two entries that "
    "repeat the same watermark give different ones. Batches, clocks and watermarks are read "
    "from these entries: what is judged by a wrong one is wrong.",
    to_do="compare the entries that are named with a backup; a running query does not change "
    "them, and a restart plans the next batch from them",
    source="MicroBatchExecution.markMicroBatchStart, markMicroBatchEnd, WatermarkTracker (2.3 to "
    "4.3): an entry of `offsets` begins with the watermark that the commit before it ended with",
    cause="Entries of the offset and commit logs are missing or contradict each other.",
    command="verify",
    proof="Each entry of the logs is compared with its neighbours: the numbers must follow one "
    "another, and what two entries repeat must be the same.",
)
CHANGED_FILE = Kind(
    "SS112",
    Severity.ERROR,
    "log, metadata or schema changed since it was written",
    "org.apache.hadoop.fs.ChecksumException",
    means="The bytes of a small file are not those that Hadoop's `.NAME.crc` beside it was "
    "computed from. Spark 4.3 reads its logs without checking that, and acts on what they say "
    "now. Such an entry is ignored: a batch whose entry it is has no clock, a store whose schema "
    "it is has no rule.",
    to_do="restore the file from a backup; one that was edited on purpose is read again when its "
    "`.NAME.crc` is removed",
    source="ChecksumFileSystem (Hadoop, local disks: Spark 2.3 to 4.3 writes its logs by it); "
    "the restart of a query of Spark 4.3 whose offset log was changed",
    cause="A log, metadata or schema file was changed after Spark wrote it.",
    command="verify",
    proof="The checksum of the file's bytes is compared with the one that was written with it.",
)
ABSENT_REMOVALS = Kind(
    "SS113",
    Severity.ERROR,
    "removals of keys that are not there",
    "HDFSBackedStateStore.remove",
    means="A delta removes keys that the version before it does not have. Spark writes a removal "
    "only for a key that it holds, so one of the files is not of this chain: it was copied from "
    "another partition or query, exchanged with another version, or a file before it was changed.",
    to_do="compare the partition's deltas with a backup; Spark loads them as they are, whatever "
    "they hold",
    source="HDFSBackedStateStoreProvider.HDFSBackedStateStore.remove (2.3 to 4.3): a removal goes "
    "to the delta only where the map had the key",
    cause="State files are not of one chain: a delta removes keys that were never there.",
    command="verify",
    proof="During the replay each removal is looked up in the map of the version before it.",
    concerns=Concerns.RECORDS,
)
FOREIGN_FOLDER = Kind(
    "SS114",
    Severity.INFO,
    "folder that is no state store",
    "org.apache.spark.sql.execution.streaming.state.StateStoreId",
    means="A folder among the stores of a partition, or state files beside them, that belong to no "
    "store of the operator: a backup or a copy that somebody made. The stores of an operator are "
    "named by its metadata (Spark 4.0 and later); before, only a join has named ones. Spark never "
    "opens such a folder, and nothing in it is part of any number here. It can also be a file in a "
    "store's folder with a name that Spark never gives: a copy, or a state file that was renamed.",
    to_do="move it out of the checkpoint, once nobody needs it there",
    source="StateStoreId.storeCheckpointLocation (2.3 to 4.3), OperatorStateMetadata "
    "(stateStoreInfo, 4.0 to 4.3)",
    cause="A folder in the state belongs to no store of the query, and Spark ignores it.",
    command="verify",
    proof="The folders in each partition are held against the stores that the operator's "
    "metadata names or, before Spark 4.0, against the names that Spark gives to stores.",
)
ACCESS_DENIED = Kind(
    *("SS116", Severity.WARNING, "access denied", "java.nio.file.AccessDeniedException"),
    means="The storage refused files or folders: there is no permission to read them, or the "
    "credentials are wrong or have expired. Whether the files are sound is not known, nor whether "
    "Spark, which has credentials of its own, can read them.",
    to_do="renew the credentials or ask for permission to read, and run this again; nothing says "
    "that a file is damaged",
    source="any storage, with Spark 2.3 to 4.3: HTTP 401 and 403, POSIX permissions",
    cause="The storage denies access to a part of the checkpoint, which is missing from this "
    "report.",
    command="verify",
    proof="By the storage's own answer to a request, which the table of problems has.",
)
STORAGE_SILENT = Kind(
    *("SS117", Severity.WARNING, "storage did not answer", "java.io.IOException"),
    means="The storage did not answer in time, broke off, or failed, also when it was asked again. "
    "Whether the file or folder is sound is not known.",
    to_do="check the connection and the storage, and run this again; nothing says that a file is "
    "damaged",
    source="any storage, with Spark 2.3 to 4.3: timeouts, closed connections, HTTP 5xx, disk "
    "faults",
    cause="The storage did not return a part of the checkpoint, which is missing from this report.",
    command="verify",
    proof="By the storage's own answer, or by no answer within the time limit.",
)
FOREIGN_RECORDS = Kind(
    *("SS118", Severity.ERROR, "records that their batch cannot have written", "WatermarkSupport"),
    means="A delta holds records that no release of Spark writes in the batch whose number it has: "
    "a deduplication puts a key that is there already, the watermark evicts a row that it has not "
    "reached, a row comes in that was too late, a timer is set in the past. The file was exchanged "
    "with another version, copied from another partition or query, or changed. Each of these rests "
    "on a premise of the topic `proofs`; where the query may refute it, nothing is reported.",
    to_do="compare the partition's deltas with a backup; Spark loads them as they are, whatever "
    "they hold",
    source="StreamingDeduplicateExec, StreamingDeduplicateWithinWatermarkExec, StateStoreSaveExec, "
    "WatermarkSupport, GroupStateImpl (2.4 to 4.3)",
    cause="State files are not of the batches whose numbers they have.",
    command="verify",
    proof="During the replay the records of each delta are compared with the watermark and the "
    "time of its batch, as `offsets` records them, and with the keys of the version before.",
)
UNFINISHED_REPARTITION = Kind(
    "SS119",
    Severity.ERROR,
    "repartitioning not finished",
    "STREAMING_UNFINISHED_REPARTITION_DETECTED",
    means="The newest entry of `offsets` gives the state another number of partitions, and has no "
    "commit: Spark's repartitioning of the checkpoint was interrupted, or is still running. The "
    "version before it is whole and is what is judged here. Spark 4.3 refuses to start the query "
    "(STREAMING_UNFINISHED_REPARTITION_DETECTED), and to repartition to any other number.",
    to_do="run the repartitioning again, to the same number of partitions, and let it finish "
    "before the query is started; Spark does not repartition HDFS-backed state: there the entry "
    "of `offsets` was changed by something else, so restore it from a backup",
    source="MicroBatchExecution.checkUnfinishedRepartitionBatch, OfflineStateRepartitionRunner "
    "(4.3)",
    cause="A repartitioning of the checkpoint has not finished, and the query cannot start.",
    command="info",
    proof="The newest entry of `offsets` has the offsets and the time stamp of a committed "
    "batch and another number of partitions, and there is no entry of `commits` for it.",
)
REFUSED_RESTART = Kind(
    *("SS120", Severity.ERROR, "restart that Spark refuses", "STREAM_FAILED"),
    means="Every file of the state can be read, but Spark refuses the checkpoint: the log of a "
    "file source is not there, or the snapshots have the format of another release. It is "
    "information if only a release later than the one that runs the query refuses it.",
    to_do="restore what is missing from a backup; snapshots of checkpoint format 2 that Spark 4.0 "
    "wrote are read by Spark 4.0 alone, so that a later release needs a new checkpoint",
    source="FileStreamSource.getBatch (2.3 to 4.3), RocksDBCheckpointMetadata.readFromFile (4.0 to "
    "4.3)",
    cause="Spark does not start the query from this checkpoint.",
    command="info",
    proof="The names at the root of the checkpoint are compared with what the newest entry of "
    "`offsets` refers to, and the version in the newest snapshot with those that releases read.",
)
STRAY_VERSIONS = Kind(
    "SS121",
    Severity.WARNING,
    "state files of a batch that never ran",
    "HDFSBackedStateStoreProvider.doMaintenance",
    means="A partition has a file of a version that no batch in the logs has made. Behind a gap it "
    "was copied there or renamed. A restart does not read it. But in an HDFS-backed store "
    "maintenance takes it for the newest version, does not find the files before it, and no longer "
    "removes old versions. Files that follow each other are of batches that the logs have lost.",
    to_do="move the files above the last batch out of the checkpoint while the query is stopped",
    source="HDFSBackedStateStoreProvider.cleanup, filesForVersion (2.3 to 4.3); a query of Spark "
    "4.3 with such a delta kept every version of its partition",
    cause="A state file is of a version that no batch has made.",
    command="files",
    proof="By the listing: its number is above that of the batch that `offsets` plans last, by "
    "more than can have run meanwhile.",
)
NEVER_EXPIRES = Kind(
    *("SS201", Severity.WARNING, "rows can never expire", "withWatermark"),
    certainties=_PROVEN_OR_INFERRED,
    means="By the schema of the store no rule of this operator can ever remove a row: an "
    "aggregation without a watermarked grouping column, `dropDuplicates` without the event time "
    "among its columns, a group state without a timeout, a join side without a watermark; and none "
    "was removed in the versions that can be read. Of columns with a time it is inferred, as a "
    "`withWatermark` that came later shows in no schema, and proven where the only source has "
    "brought data and there is no watermark. For a group state with a timeout: keys that had "
    "no timer at any version of the window. That no key ever had one is proven; that some had none "
    "while others did is inferred, and so is that a call for data took it away from most of them. "
    "Where rows go by the watermark, those whose event time is null "
    "never do: nothing is at or below a null.",
    thresholds=f"Keys without a timer are reported from {_AT.window_versions} versions on whose "
    "changes are known (`window_versions`). Where no rule is, nothing is reported of a store that "
    "removed rows. It is information where the store does not grow, as `audit` judges growth, or "
    "no key was new for so many versions and half the window.",
    to_do="give the rule something to go by: see the operator's advice under `next:` in the "
    "report. Where the rows are few and meant to stay, nothing needs to be done",
    source="WatermarkSupport.watermarkExpression, StreamingDeduplicateExec, "
    "FlatMapGroupsWithStateExec, StreamingSymmetricHashJoinHelper (2.3 to 4.3)",
    cause="No rule of this operator can ever remove its rows.",
    command="timeline",
    proof="From the schema and the rule of the operator, as its source has it, and from every "
    "version that can be replayed: none of them removed a row. For keys without a timer, from the "
    "timers of all versions of the window.",
    explains=Explains(
        ("SS204",), "where no rule can remove a row none is removed", same_store=True
    ),
)
PAST_WATERMARK = Kind(
    *("SS202", Severity.WARNING, "expired rows still present", "outputMode"),
    certainties=_PROVEN_OR_INFERRED,
    means="The clock of a batch that ran covered these rows, so that by the operator's rule they "
    "should be gone, and they are still there. For an aggregation or session window this is "
    "complete mode, which keeps every group, or a restart without `withWatermark`; neither is in "
    "the checkpoint, so the finding is inferred. With a rule of `--operator-rule` or "
    "`--join-retention` it is proven by that rule.",
    to_do="use append or update mode and `withWatermark` where the groups of the past are not "
    "needed; otherwise size the executors for all of them",
    source="StateStoreSaveExec, SessionWindowStateStoreSaveExec, WatermarkSupport (2.3 to 4.3)",
    cause="The watermark has passed these rows, and they are still in the state.",
    command="leftovers",
    proof="The field of each row is compared with the watermark, or the time, with which the "
    "batch ran that made the judged version, as the operator itself compares them. That the mode "
    "is complete is inferred, so that the finding is; a rule that its user gave proves it.",
)
TIMEOUT_KEPT = Kind(
    *("SS203", Severity.ERROR, "timeout fired and key kept", "GroupState.remove"),
    certainties=_PROVEN_OR_INFERRED,
    means="The timeout of a key fired, the function was called for it, and the key is still in the "
    "state: with no timer (`kept_without_timeout`), with the timer that had fired "
    "(`ignored_timeout`, Python only; it fires in every later batch), or with a new one "
    "(`rearmed`). A key without a timer is never called again unless new data arrives for it. "
    "Proven ones are an error and inferred ones a warning; keys with a new timer are a warning "
    "where that happens again and again with their state unchanged, else information.",
    to_do="call state.remove() in the branch where state.hasTimedOut. A function that keeps a key "
    "after its timeout on purpose sets a new one there; such keys are `rearmed`, and reported as "
    "long as no data comes for them",
    source="FlatMapGroupsWithStateExec.processTimedOutState, InputProcessor.onIteratorCompletion "
    "(2.4 to 4.3); FlatMapGroupsInPandasWithStateExec (3.4 to 4.3)",
    cause="The timeout of keys fired, and the function kept them.",
    command="leftovers",
    proof="From the records of each key, batch by batch: the timer lay before the clock of a batch "
    "that ran, and the record of that batch stands where Spark writes those of timeouts, behind "
    "all records of new data; or the batch had no new data. If neither is certain, it is "
    "inferred. The premises are a topic of their own: `proofs`.",
    explains=Explains(
        ("SS204", "SS210"),
        "a function that keeps keys after their timeout is why none goes",
        same_store=True,
    ),
)
NO_REMOVES = Kind(
    *("SS204", Severity.WARNING, "no removes while rows grow", "numRowsRemoved"),
    certainties=_INFERRED,
    means="The store has more rows than at the beginning of the window, none was removed in it, "
    "and neither the checkpoint nor its user says by which rule its rows should go.",
    thresholds=f"At least {_AT.window_versions} versions whose changes are known "
    "(`window_versions`), and more rows in the newest than in the oldest.",
    to_do="if you know when its rows should be removed, say so with --operator-rule, such as "
    "'0=key.window<=watermark'; then those that stayed too long are found",
    source="StateOperatorProgress.numRowsRemoved is the same number (3.2 to 4.3)",
    cause="The store only gains rows, and none was ever removed.",
    command="timeline",
    proof="Rows and removals of every version in the window are counted. That no rule removes "
    "them is inferred from it.",
)
JOIN_SIDE = Kind(
    *("SS205", _severity(_JOIN_SIDE), "one join side never removes", "withWatermark"),
    certainties=_INFERRED,
    means="A side of a stream-stream join removed no row though the watermark moved past some of "
    "its rows. Its range may only be longer than what can be read, which looks the same: "
    f"{_accuracy_text(_JOIN_SIDE)}, so it is for information.",
    thresholds=f"At least {_AT.window_versions} versions whose changes are known "
    "(`window_versions`), a watermark that moved, rows that grew, and at least one row behind the "
    "watermark.",
    to_do="bound this side's time from below by the other's in the join condition, such as "
    "rightTime >= leftTime AND rightTime <= leftTime + INTERVAL 1 HOUR (in days or less: Spark "
    "takes no months and years); if the range is longer than the window that can be read, say so "
    "with --join-retention",
    source="StreamingSymmetricHashJoinHelper.getStateWatermarkPredicates (2.3 to 4.3)",
    cause="One side of the join removes no rows, though the watermark passed some of them.",
    command="timeline",
    proof="Removals are counted over the window, and the times of the rows compared with the "
    "watermark. It is inferred: a range that is longer than the window looks the same.",
)
WATERMARK_FLAT = Kind(
    *("SS206", Severity.WARNING, "watermark flat", "spark.sql.streaming.multipleWatermarkPolicy"),
    means="The watermark stands still though batches bring new data, and the rows of an operator "
    "wait for it; or there is none yet, as one of several sources never brought data. The "
    "evidence names the sources whose offsets stand still meanwhile, if others "
    "move: with policy min the slowest source with a watermark holds it back. Where none stands "
    "still, the event times do not advance. It is information where it moves, and is far behind "
    "event times that the state shows: as a rule a source whose clock, data or delay is late.",
    thresholds=f"At least {_AT.data_batches} batches with new data that did not move it "
    f"(`data_batches`); or {_AT.behind_hours:g} hour behind the newest event time less the longest "
    "delay that a schema gives (`behind_hours`).",
    to_do="bring data to the source that stands still, or remove it from the query; where none "
    "does, look at the event times of the new data",
    source="WatermarkTracker.updateWatermark (2.4 to 4.3)",
    cause="The watermark stands still while new data arrives, so nothing can expire.",
    command="timeline",
    proof="From the log: each entry of `offsets` has its batch's watermark, and the offsets of "
    "each source before and after it. Batches with new data and an unchanged watermark are "
    "counted.",
    concerns=Concerns.BY_WATERMARK,
    explains=Explains(
        ("SS202", "SS204", "SS205", "SS207", "SS209"),
        "rows that go by the watermark cannot go while it stands still",
    ),
)
NO_WATERMARK = Kind(
    "SS207",
    Severity.WARNING,
    "the rule needs a watermark, and there is none yet",
    "withWatermark",
    certainties=(Certainty.PROVEN, Certainty.UNDECIDED),
    means="The rows of the store go by the watermark, the query has had data, and no batch "
    "has had a watermark yet: nothing can expire until it has one. Where the entry of the log that "
    "would say so is missing or in doubt, it is undecided, and information.",
    thresholds=f"At least {_AT.data_batches} batches with new data (`data_batches`).",
    to_do="check that data with event times arrives from every source",
    source="WatermarkTracker.updateWatermark (2.4 to 4.3): 0 is recorded while there is none",
    cause="There is no watermark yet, so nothing can expire.",
    command="timeline",
    proof="From the log: every entry of `offsets` up to the judged batch has the watermark 0, "
    "and some have new offsets.",
    concerns=Concerns.BY_WATERMARK,
    explains=Explains(
        ("SS202", "SS204", "SS205", "SS209"),
        "rows that go by the watermark cannot go while there is none",
    ),
)
WATERMARK_AHEAD = Kind(
    *("SS211", Severity.WARNING, "watermark far from the batch clock", "withWatermark"),
    means="The watermark lies in the future of the batch that ran with it. One row with an event "
    "time far in the future is enough, from a device with a wrong clock. The watermark never goes "
    "back, so every row with a correct time is late from then on: windows, deduplication and joins "
    "drop it without an error, and state that waits for the watermark is gone. It is an error "
    "where batches with new data did not move the watermark any more. A watermark of January 1970 "
    "or of the year 50000 comes of times in a wrong unit: windows and delays then last a thousand "
    "times as long, or a thousandth.",
    thresholds=f"More than {_AT.ahead_hours:.0f} hours (`ahead_hours`): a wrong time zone "
    "makes 14 at most, and data that is read again has its times in the past. From "
    f"{_AT.ahead_noted * 60:.0f} minutes on (`ahead_noted`) it is information, and a warning where "
    "new data did not move it. Of a wrong unit: where a thousand times, or a thousandth of, its "
    "time since 1970 is within ten years of the clock.",
    to_do="filter rows whose event time is in the future out before withWatermark, such as "
    "where(ts <= current_timestamp() + INTERVAL 1 HOUR), and start from a new checkpoint: this "
    "one keeps its watermark",
    source="WatermarkTracker.updateWatermark, setWatermark (2.4 to 4.3): it is only ever raised",
    cause="Event times in the future moved the watermark ahead of the batch clock, and it never "
    "goes back, so data with correct times comes too late for it.",
    command="timeline",
    proof="From the log: the watermark of the judged batch is compared with its batch clock, in "
    "the same entry of `offsets`.",
    explains=Explains(
        ("SS202", "SS206"),
        "a watermark in the future passes rows at once, and no data with correct times moves it",
    ),
)
EXPIRED_TTL = Kind(
    "SS212",
    Severity.WARNING,
    "values past their TTL still present",
    "numValuesRemovedDueToTTLExpiry",
    means="The TTL of these values of a state variable ran out by the clock of a batch that ran, "
    "and they are still in the state. The processor no longer sees them: they only take up space. "
    "Spark removes such values at the end of every batch, but only of variables that the "
    "processor declares in that run: while a variable is not declared, its values stay, and the "
    "first batch of a run that declares it again removes them.",
    to_do="call handle.deleteIfExists for a variable that is not needed any more, in the init of "
    "the processor, or declare it again",
    source="StatefulProcessorHandleImpl.doTtlCleanup, TTLState.ttlEvictionIterator, "
    "OneToOneTTLState, OneToManyTTLState (4.0 to 4.3)",
    cause="Values whose TTL has run out are still in the state.",
    command="leftovers",
    proof="The `ttlExpirationMs` that Spark stored with each value is compared with the "
    "processing time of each batch since the value was put, as Spark's own cleanup compares them. "
    "A batch that ran with a later time left the value.",
)
DUE_TIMER = Kind(
    *("SS213", Severity.WARNING, "timers past their time still present", "numExpiredTimers"),
    certainties=_PROVEN_OR_INFERRED,
    means="The clock of a batch that ran came to the time of these timers, which had been set in a "
    "batch before it, and they are still there. Spark fires every such timer after the new data of "
    "the batch, and deletes it. A timer that was set in the judged batch itself is no such timer: "
    "it may fire in the next one. Downstream of an operator that holds the watermark back it is "
    "inferred.",
    to_do="find out what else writes to this checkpoint and whether the query ever ran with "
    "classes other than Spark's; inspector leftovers lists the timers",
    source="TransformWithStateExec.processTimers, TimerStateImpl.getExpiredTimers (4.0 to 4.3)",
    cause="Timers whose time has come were neither fired nor deleted.",
    command="leftovers",
    proof="The time in each timer's key is compared with the processing time or the watermark "
    "of each batch behind the one that set it. A batch whose clock had come so far left the timer.",
)
TIMER_WITHOUT_STATE = Kind(
    "SS214",
    Severity.INFO,
    "timers of keys without state",
    "StatefulProcessorHandle.deleteTimer",
    means="Timers are set for keys that have no value in any state variable: the processor cleared "
    "the state and left the timer. Each of them takes two rows until it fires, and then "
    "handleExpiredTimer is called for a key that has no state. It is information: a processor may "
    "do that on purpose.",
    to_do="call handle.deleteTimer for the timers of handle.listTimers where the state is cleared",
    source="TimerStateImpl, StatefulProcessorHandleImpl.deleteTimer (4.0 to 4.3): a timer goes "
    "when it has fired, or when the processor deletes it",
    cause="Timers are set for keys that have no state.",
    command="rows",
    proof="The grouping key of each timer of the judged version is looked up among those of all "
    "values, lists and maps of its partition, byte for byte.",
)
UNDECLARED = Kind(
    "SS215",
    Severity.WARNING,
    "state variable that the processor no longer declares",
    "StatefulProcessorHandle.deleteIfExists",
    means="The newest run of the query did not declare this state variable, and its rows are still "
    "there: nothing reads them and nothing removes them, not even a TTL. Every snapshot carries "
    "them on. Where the processor has deleted a variable with deleteIfExists, the indexes that "
    "Spark kept for it stay behind, which is information.",
    to_do="call handle.deleteIfExists with its name in the init of the processor, once you are "
    "sure that no later run needs it",
    source="TransformWithStateOperatorProperties (operator metadata v2), "
    "StatefulProcessorHandleImpl.deleteIfExists (4.0 to 4.3)",
    cause="A state variable is kept though the processor no longer declares it.",
    command="info",
    proof="The newest metadata of the operator lists the variables that its processor declared; "
    "the store of this one has rows and is not among them.",
)
GROWING_ENTRIES = Kind(
    *("SS216", Severity.WARNING, "list or map that only grows", "ListState.appendValue"),
    certainties=_INFERRED,
    means="Keys have many entries in a list or map state, entries were added to them in the window "
    "that can be read, and none was removed. That they go on growing is inferred. A list is read "
    "and, with a TTL, rewritten whole; a map is scanned whole by its iterator.",
    thresholds=f"Keys with at least {_AT.entries_per_key:,} entries, rounded up to a power of two "
    f"(`entries_per_key`), and at least {_AT.window_versions} versions whose changes are known "
    f"(`window_versions`). A warning from {_AT.entries_warned:,} entries on (`entries_warned`); "
    "fewer are information.",
    to_do="give the variable a TTL, or remove entries that are not needed any more: "
    "ListState.put with those that are, MapState.removeKey",
    source="ListStateImpl, MapStateImpl, ListStateImplWithTTL, MapStateImplWithTTL (4.0 to 4.3)",
    cause="Lists or maps of some keys only grow.",
    command="top",
    proof="The entries of each grouping key are counted in the judged version, and those of the "
    "window that came or went. That they go on growing is inferred.",
    explains=Explains(
        ("SS201", "SS204", "SS210"),
        "the entries that only come are the rows that never go",
        same_store=True,
    ),
)
UNIQUE_KEYS = Kind(
    *("SS217", Severity.INFO, "key unique to each event", "Dataset.groupBy"),
    certainties=_INFERRED,
    means="An aggregation or a group state is meant to bring the events of a key together. Here "
    "nearly every put was of a new key, and no key was removed: an id of the event or its exact "
    "time is part of the key. The state then has a row for each event. Of keys with floating-point "
    "numbers it is said where keys are removed too.",
    thresholds=f"At least {_AT.unique_puts} puts (`unique_puts`), {_AT.unique_share:.0%} of them "
    f"of new keys (`unique_share`), over {_AT.window_versions} versions (`window_versions`).",
    to_do="leave the unique column out of the grouping, or round it: a time to a window",
    source="StateStoreSaveExec, FlatMapGroupsWithStateExec (2.3 to 4.3): a row for each key",
    cause="Nearly every put was of a new key: the key is unique to each event.",
    command="top",
    proof="During the replay each put is of a key that the version before has or has not. That "
    "the key is unique to each event is inferred from it.",
    explains=Explains(
        ("SS201", "SS204", "SS210"),
        "where each event makes a key of its own the rows are as many as the events",
        same_store=True,
    ),
)
FAR_EXPIRY = Kind(
    *("SS218", Severity.WARNING, "expiry far ahead of the clock", "GroupState.setTimeoutTimestamp"),
    means="Rows have a timeout, a TTL or an event time by which they can go years after the clock "
    "of the judged batch: milliseconds were taken for seconds, a delay was written in days, or an "
    "event carries a wrong time. Until then they stay.",
    thresholds=f"At least {_AT.far_days:g} days (`far_days`), and {_AT.far_share:.0%} of the "
    f"store's rows (`far_share`). A warning from {_AT.far_warned:g} days on (`far_warned`); less "
    f"is information. It is information, too, where none of the store's rows was removed, and the "
    f"first goes after {_AT.far_spans:g} times the history that can be read (`far_spans`), and "
    f"{_AT.far_hours:g} hour (`far_hours`): a gap of a day in a history of minutes. Of a join it "
    "is information where a long delay of withWatermark keeps the watermark so far behind all rows "
    "of a side.",
    to_do="compare the unit of the time that sets the expiry with what Spark expects: "
    "setTimeoutTimestamp and timers take milliseconds; filter event times in the future before "
    "withWatermark",
    source="GroupStateImpl.setTimeoutTimestamp, TimerStateImpl, TTLState (2.3 to 4.3)",
    cause="Rows expire years after the clock that they go by.",
    command="timeline",
    proof="The expiry of every row of the judged version is compared with the clock of its batch, "
    "by the rule of its operator.",
    explains=Explains(("SS204", "SS210"), "rows that are not yet due are not removed"),
)
UNFED = Kind(
    *("SS220", Severity.INFO, "nothing is stored though data arrives", "numRowsDroppedByWatermark"),
    means="An aggregation, a session window and a join write each record that is in time, and a "
    "limit counts it. None has been written for several batches in which every source brought "
    "data. A limit that is reached looks so, and so do records that all come too late, and the "
    "left side of a left semi join whose rows all match at once.",
    thresholds=f"At least {_AT.window_versions} such batches at the end of the history "
    "(`window_versions`), and an operator that the sources alone feed.",
    to_do="compare the event times of the records with the watermark, and look at the filters "
    "before the operator; of a limit that is reached start the query anew, or stop it",
    source="StreamingGlobalLimitExec, WatermarkSupport.watermarkPredicateForDataForLateEvents, "
    "WatermarkTracker (2.4 to 4.3)",
    cause="No row is stored, though data arrives.",
    command="timeline",
    proof="From the log, by which every source moved, and from every version since: none put a "
    "row. Why is a guess.",
)
TIMERS_GATHER = Kind(
    *("SS219", Severity.INFO, "timers that only gather", "StatefulProcessorHandle.registerTimer"),
    certainties=_INFERRED,
    means="Keys have several timers each, timers were registered in the window that can be read, "
    "and none fired or was deleted: a processor that registers a timer for each event, and never "
    "deletes the one before, has as many timers as events. Each takes two rows, and each will "
    "call the processor.",
    thresholds=f"At least {_AT.timers_per_key:g} timers per key (`timers_per_key`), "
    f"{_AT.unique_puts} timers (`unique_puts`), and {_AT.window_versions} versions whose changes "
    "are known (`window_versions`).",
    to_do="delete the key's timers (listTimers, deleteTimer) before registerTimer, or register one "
    "only if the key has none; compare their expiry times with the clock",
    source="StatefulProcessorHandleImpl.registerTimer, TimerStateImpl (4.0 to 4.3)",
    cause="Timers are registered, and none fires or is deleted.",
    command="timeline",
    proof="The timers of the judged version and their keys are counted, and what the versions of "
    "the window changed. That they go on gathering is inferred.",
)
SHORT_TTL = Kind(
    *("SS221", Severity.INFO, "TTL shorter than the time between batches", "TTLConfig"),
    certainties=_INFERRED,
    means="A value of transformWithState is past its TTL before another batch begins, so that no "
    "later call for its key can see it: the state is of no use.",
    thresholds=f"At least {_AT.window_versions} versions whose changes are known "
    "(`window_versions`).",
    to_do="give the TTL in ms, longer than the trigger interval and the time that a batch takes",
    source="StateTTL, TTLConfig (4.0 to 4.3): what is past it is as good as absent",
    cause="The TTL is shorter than the time between batches.",
    command="timeline",
    proof="The latest end of a TTL less the clock of the judged batch, which put values, against "
    "the median time between batches. That later batches are as far apart is inferred.",
)
JOIN_COUNTERS = Kind(
    "SS208",
    Severity.WARNING,
    "join rows and counters disagree",
    "spark.sql.streaming.stateStore.skipNullsForStreamStreamJoins.enabled",
    means="A join keeps for each key the number of its rows in one store and the rows in another. "
    "Here a counter counts rows that are not there, a key has a counter and no row, or a row lies "
    "behind what its counter counts.",
    to_do="such rows are never joined and never removed; null values that an older release left "
    "are skipped with skipNullsForStreamStreamJoins, else start from a new checkpoint",
    source="SymmetricHashJoinStateManager (2.3 to 4.3)",
    cause="The rows of the join and the counters that count them disagree.",
    command="verify",
    proof="For every key of the join the counter in one store is compared with the rows in the "
    "other, in the judged version.",
)
JOIN_COPY = Kind(
    *("SS209", _severity(_JOIN_COPY), "join on a copy of the event time", "withWatermark"),
    certainties=_INFERRED,
    means="A field of the join key equals the event time of every row, and there are rows that a "
    "watermark on that field would have removed. So the field is a copy (a cast, a computed "
    f"column) that carries no watermark; {_accuracy_text(_JOIN_COPY)}, so it is for information.",
    thresholds="Those of SS205, and no row removed on either side.",
    to_do="join on the column of withWatermark itself, or on its window: a cast or a computed copy "
    "of it carries no watermark, and without one on the key or a time range in the condition rows "
    "stay forever",
    source="StreamingSymmetricHashJoinHelper, StreamingSymmetricHashJoinExec (2.3 to 4.3)",
    cause="The join uses a copy of the event time that carries no watermark, so its rows never "
    "expire.",
    command="timeline",
    proof="Each field of the join key is compared with the event time of the same row, in all "
    "rows. That it carries no watermark is inferred from rows that one would have removed.",
)
NO_MATCH = Kind(
    *("SS222", Severity.INFO, "join without a match", "Dataset.join"),
    certainties=_INFERRED,
    means="Both sides of the join have stored rows, and none that can be read ever found a match.",
    thresholds=f"At least {_AT.hot_rows} rows of either side (`hot_rows`), in state format 2 or "
    "later.",
    to_do="compare the rows of both sides, as inspector rows lists them: the spelling, type and "
    "unit of their keys (u1 and U1, 42 and 042, times that differ by milliseconds), and which of "
    "two events that belong together has the later time",
    source="SymmetricHashJoinStateManager (3.0 to 4.3): each row has a flag that it was matched",
    cause="No row of the join has ever found a match: the keys of its two sides are never equal "
    "(spelling, type, unit), or the time range excludes those that are.",
    command="rows",
    proof="The flag `matched` of each row in the files is counted, of rows that are gone too.",
)
NEARLY_EQUAL = Kind(
    *("SS223", Severity.INFO, "keys that differ in one column alone", "Dataset.dropDuplicates"),
    certainties=_INFERRED,
    means="Keys equal another one but for case or blanks (`u1` and `U1`); or, of keys with a "
    "time, but for a value that no two keys share, such as a UUID.",
    thresholds=f"{_AT.alike_share:.0%} (`alike_share`) of up to 1,024 keys that were put last.",
    to_do="make the column uniform before the operator, such as lower(trim(user)), or leave out of "
    "the key what an event gets anew each time that it is sent",
    source="StateStore (2.3 to 4.3): keys are compared byte by byte",
    cause="Keys differ from each other in one column alone.",
    command="rows",
    proof="The columns are compared byte for byte. That the keys mean the same is inferred.",
    explains=Explains(
        ("SS217", "SS218"),
        "where one thing has several keys, not all of its rows have to be there",
        same_store=True,
    ),
)
OPEN_SESSIONS = Kind(
    *("SS224", Severity.INFO, "sessions that do not close", "session_window"),
    certainties=_INFERRED,
    means="All sessions were there before, and new events prolong them before their gap has "
    "passed: in append mode none of them is ever given out.",
    thresholds=f"{_AT.window_versions} versions (`window_versions`) without a session that came or "
    "closed, in which the watermark moved by three times what it lacks to the first end of one.",
    to_do="choose a gap that is shorter than the pauses between the events of a key, or a window "
    "of a fixed length",
    source="SessionWindowStateStoreSaveExec, MergingSessionsExec (3.2 to 4.3)",
    cause="Sessions do not close, as new events come before their gap has passed.",
    command="timeline",
    proof="The ends of the sessions are compared with the watermark. That they stay open is "
    "inferred.",
)
UNDECIDED = Kind(
    "SS210",
    Severity.INFO,
    "keys that may be leftovers: the bytes do not decide it",
    "GroupState",
    certainties=(Certainty.UNDECIDED,),
    means="Keys of a group state whose bytes allow both: that a timeout left them behind, and that "
    "a call for data did. Or rows, and timers, that the watermark of the query has passed and that "
    "stay: Spark removes those in the same batch, so that most likely no watermark reaches the "
    "operator. The tables `undecided` and `undecided_keys` have the reasons, and the finding "
    "says how many keys `--timeout-kind` would prove to be left behind. It is a warning where no "
    "clock lets a key of the store go: by processing time all are left behind, and by event time "
    "none can expire, as there is no watermark, and no batch of the window has removed a key.",
    thresholds=f"For the warning at least {_AT.data_batches} batches with new data "
    "(`data_batches`).",
    to_do="see the table undecided of inspector leftovers for what would decide them: often "
    "--timeout-kind, or a longer history (spark.sql.streaming.minBatchesToRetain). Of rows that "
    "the watermark has passed: look whether withWatermark stands on the branch of the query that "
    "leads to the operator",
    source="FlatMapGroupsWithStateExec (2.4 to 4.3), FlatMapGroupsInPandasWithStateExec (3.4 to "
    "4.3), WatermarkPropagator (3.5 to 4.3)",
    cause="The files do not show whether these keys were left behind by a timeout.",
    command="leftovers",
    proof="It is not: both stories of the key fit all bytes. The reason says which record, or "
    "which entry of the log, would decide it.",
)
FORMAT_V1 = Kind(
    "SS301",
    Severity.INFO,
    "state format 1 keeps the key twice (SPARK-24763)",
    "spark.sql.streaming.aggregation.stateFormatVersion",
    means="The values of an aggregation repeat its grouping columns. The format is fixed when a "
    "checkpoint begins; one that began with Spark 2.3 has it for good.",
    to_do="a new query (new checkpoint) uses format 2",
    source="StreamingAggregationStateManager (2.4 to 4.3)",
    cause="The state format of this aggregation stores every key twice.",
    command="sizes",
    proof="The offset log records the format; where it records none, format 1 is what the "
    "release that wrote it has. The schema of the values repeats the key's columns.",
)
SKEWED = Kind(
    *("SS302", Severity.INFO, "partition skew", "spark.sql.shuffle.partitions"),
    means="One partition has far more rows of the state than the others. A task that loads it "
    "has the most to read, and its executor needs the most memory.",
    thresholds=f"At least {_AT.skew_ratio:g} times the rows of each partition of the smaller half "
    f"(`skew_ratio`), and at least {_AT.skew_rows:,} rows (`skew_rows`).",
    to_do="see inspector top for the partition's keys: one join key, or one group of sessions, "
    "with very many rows is split by a salt in the key or filtered (null and default values are "
    "frequent ones)",
    source="StatefulOperatorPartitioning, HashPartitioning (2.3 to 4.3): rows go where the hash of "
    "the grouping columns or of the join key sends them",
    cause="The state is skewed: one partition holds far more rows than the others.",
    command="top",
    proof="The rows of every partition of the judged version are counted.",
)
OVERSIZED_VALUE = Kind(
    *("SS303", Severity.INFO, "oversized value", "GroupState.update"),
    means="The largest values are many times larger than the usual one: a list, a set or a sketch "
    "that grows with every row of its key. Each update writes and copies such a value whole.",
    thresholds=f"At least {_AT.value_ratio:g} times the median value (`value_ratio`), or "
    f"{_AT.hot_share:.0%} of the bytes of a store (`hot_share`) of at least 10 rows; and at least "
    f"{_AT.value_bytes:,} bytes (`value_bytes`).",
    to_do="see inspector top for the keys and inspector sizes --by field for what in them is "
    "large; bound the list, keep a count or a sketch in its place, or split the key",
    source="HDFSBackedStateStoreProvider.put (2.3 to 4.3): a value is one UnsafeRow, written whole",
    cause="A few values in the state are far larger than all the others.",
    command="top",
    proof="The size of every value of the judged version is measured; the median is over all of "
    "them.",
    concerns=Concerns.REWRITTEN_ROWS,
)
HOT_KEY = Kind(
    *("SS307", Severity.INFO, "most rows of one key", "spark.sql.shuffle.partitions"),
    means="One key has most of the rows of a join's side, or most entries of a list or map. They "
    "are in one partition, and each row of the other side of a join with that key is joined with "
    "all of them.",
    thresholds=f"At least {_AT.hot_share:.0%} (`hot_share`) of at least {_AT.hot_rows} rows or "
    "entries (`hot_rows`).",
    to_do="filter the key out if it stands for an unknown one (null, 0, an empty text), or split "
    "it by a salt in the key",
    source="SymmetricHashJoinStateManager (2.3 to 4.3), ListStateImpl, MapStateImpl (4.0 to 4.3): "
    "rows go where the hash of their key sends them",
    cause="One key has most of the rows.",
    command="top",
    proof="The rows of each join key, or the entries of each grouping key, are counted in the "
    "judged version.",
    explains=Explains(
        ("SS222",), "a key that most rows have, such as null, has no match as a rule"
    ),
)
GROWING_VALUES = Kind(
    *("SS308", Severity.INFO, "values that grow", "collect_list"),
    certainties=_INFERRED,
    means="The values of a store become larger with the updates, and that is most of its growth: "
    "a list, a set or a text in them takes in something of every event. Each update writes the "
    "value whole. That they go on growing is inferred.",
    thresholds=f"The mean value has at least {_AT.value_growth:g} times the bytes that it had in "
    f"the oldest version (`value_growth`), and {_AT.mean_value_bytes:,} bytes "
    f"(`mean_value_bytes`), over {_AT.window_versions} versions (`window_versions`).",
    to_do="keep a count or a sketch (approx_count_distinct) in place of the list or set, keep the "
    "last entries only, or let the key expire",
    source="HDFSBackedStateStoreProvider.put (2.3 to 4.3): a value is one UnsafeRow, written whole",
    cause="The values grow with every update.",
    command="sizes",
    proof="The bytes of all values are counted in each version, and divided by the rows. That they "
    "go on growing is inferred. If a few values are far larger than the others, SS303 is reported "
    "instead.",
    concerns=Concerns.REWRITTEN_ROWS,
)
FAN_OUT = Kind(
    *("SS309", Severity.INFO, "each event in many rows", "window"),
    certainties=_INFERRED,
    means="Sliding windows overlap: an event is in each of those that it falls into, as many as "
    "the window's duration has slides, and the state has a row for each of them and each key. Or "
    "explode, flatMap or a join makes many rows of a record before the operator.",
    thresholds=f"At least {_AT.windows_per_event} windows for an event (`windows_per_event`), or "
    f"{_AT.rows_per_record:g} rows for a record and a window (`rows_per_record`).",
    to_do="use a longer slide or a shorter window; or aggregate by tumbling windows of the "
    "slide's duration and add those up downstream",
    source="TimeWindowResolution (2.3 to 4.3): an event is expanded to windowDuration / "
    "slideDuration rows before the aggregation",
    cause="Each event is written to many rows.",
    command="rows",
    proof="The length of a window is read from its key, and the slide from how far apart the ends "
    "of the live windows are: it can be shorter and not longer. That every event is in all of "
    "them is inferred. Records are counted by offsets of Kafka and of rate-micro-batch, and the "
    "rows that their batches wrote are compared; other sources, files among them, record no count.",
)
WIDE_COLUMN = Kind(
    *("SS313", Severity.INFO, "one wide column", "payload"),
    certainties=_INFERRED,
    means="One column has most of the bytes of the state, and much in each row: a payload that is "
    "carried along, a long text in a key, a sketch, or all that a function keeps.",
    thresholds=f"At least {_AT.mean_value_bytes:,} bytes in a row (`mean_value_bytes`), "
    f"{_AT.value_bytes:,} of a function's values (`value_bytes`), and {_AT.hot_share:.0%} of the "
    "bytes (`hot_share`).",
    to_do="select the columns that are needed before the operator, and look the payload up after "
    "it; group or deduplicate by a hash (xxhash64, sha2) in place of a long text; allow a sketch "
    "a larger error",
    source="StateStore.put (2.3 to 4.3): keys and values are UnsafeRows with all columns",
    cause="One column holds most of the bytes.",
    command="sizes",
    proof="The columns of the first rows that each file puts are measured, where these rows are "
    "large; that the others are like them is inferred.",
)
WHOLE_UPLOADS = Kind(
    "SS310",
    Severity.INFO,
    "RocksDB uploads without changelogs",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
    means="Every batch flushes RocksDB and uploads a zip and the new table files, in every "
    "partition. With changelogs a batch uploads what it changed, and maintenance uploads a "
    "snapshot now and then.",
    thresholds=f"At least {_AT.window_versions} versions without a changelog (`window_versions`), "
    f"{_AT.zip_bytes:,} bytes a batch (`zip_bytes`), and {_AT.zip_ratio:g} times the bytes of the "
    "rows that were written (`zip_ratio`).",
    to_do="set spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled to true and "
    "restart the query: it goes on from the zips that are there (Spark 3.5 and later)",
    source="RocksDB.commit, RocksDBFileManager.saveCheckpointToDfs (3.2 to 4.3)",
    cause="Every batch uploads whole RocksDB files.",
    command="files",
    proof="By the listing: no version of the window has a changelog. The bytes are those of all "
    "files of the store, divided by the versions that are kept.",
    concerns=Concerns.RECORDS,
)
LEFT_FILES = Kind(
    *("SS311", Severity.INFO, "temporary files that were left", "CheckpointFileManager"),
    means="A task writes its delta or snapshot under a temporary name, and renames it when it "
    "commits. These are of attempts that were killed before that: no version is made of them, and "
    "Spark removes none of them.",
    thresholds=f"At least {_AT.left_files} files, and more than the stores of all partitions, "
    "each of which a running query may be writing (`left_files`).",
    to_do="delete them while the query is stopped; look for executors that were lost or killed",
    source="RenameBasedFSDataOutputStream, FileSystemBasedCheckpointFileManager (2.4 to 4.3)",
    cause="Temporary files of attempts that failed lie beside the state.",
    command="files",
    proof="By the listing: files of the names that Spark gives before a commit are counted.",
    concerns=Concerns.RECORDS,
)
KEPT_VERSIONS = Kind(
    *("SS312", Severity.INFO, "many old versions", "spark.sql.streaming.minBatchesToRetain"),
    means="The files of far more versions are kept than Spark's default of 100. They cost space "
    "and longer listings; a restart reads the newest version alone.",
    thresholds=f"At least {_AT.kept_versions} versions in a store (`kept_versions`), or "
    f"{_AT.kept_batches} where the offset log keeps as many batches (`kept_batches`).",
    to_do="lower spark.sql.streaming.minBatchesToRetain, which is read at each start; where it is "
    "100, look for maintenance errors in the executors' logs",
    source="HDFSBackedStateStoreProvider.cleanup, RocksDBFileManager.deleteOldVersions (2.3 to "
    "4.3)",
    cause="The files of many old versions are kept.",
    command="files",
    proof="By the listing: the versions that each store has files of are counted, and the bytes of "
    "those more than 100 versions old.",
    concerns=Concerns.RECORDS,
)
SAME_VALUE = Kind(
    *("SS304", Severity.INFO, "same-value rewrites", "GroupState.update"),
    means="Updates wrote the bytes that were there already. Each of them is written to the delta, "
    "and makes a new value object in the executors.",
    thresholds=f"At least {_AT.same_value_share:.0%} of all updates in the versions that can be "
    "read (`same_value_share`).",
    to_do="see the operator's advice under `next:` in the report: only in a group state does the "
    "user's function decide what is written, and calls update() only when the value has changed",
    source="HDFSBackedStateStoreProvider.put (2.3 to 4.3): a put is written whatever the value",
    cause="Most updates write the value that is there already.",
    command="sharing",
    proof="During the replay each put is compared with the value that the key had: same size "
    "and same 64-bit hash.",
    concerns=Concerns.RECORDS,
)
EMPTY_DELTAS = Kind(
    *("SS305", Severity.INFO, "empty deltas", "spark.sql.shuffle.partitions"),
    means="Every partition writes a delta in every batch, even where nothing has changed. Each is "
    "a file, or two with its checksum, to be written, listed and deleted: on an object store that "
    "is most of the time and the price of a batch.",
    thresholds=f"At least {_AT.empty_deltas} of them in the versions that can be read "
    f"(`empty_deltas`), and {_AT.empty_share:.0%} of all (`empty_share`).",
    to_do="use a longer trigger interval, or fewer partitions: a query keeps the "
    "spark.sql.shuffle.partitions that its checkpoint began with. Spark 4.3 repartitions a "
    "checkpoint on RocksDB whose query is stopped; all others need a new one",
    source="HDFSBackedStateStoreProvider.commitUpdates (2.3 to 4.3): the file is made when the "
    "store is opened",
    cause="Most deltas change nothing, and each is a file of its own.",
    command="files",
    proof="During the replay the records of each delta are counted.",
    concerns=Concerns.RECORDS,
)
HEAP_OVER_LIMIT = Kind(
    *("SS306", Severity.WARNING, "heap over limit", "java.lang.OutOfMemoryError"),
    certainties=_INFERRED,
    means="The versions of the state that executors keep in memory take more heap than the limit "
    "that was given. It is an estimate: the objects are counted, their sizes are those of a usual "
    "Java virtual machine.",
    thresholds="Judged only with a limit (`heap_bytes`, such as 8GiB).",
    to_do="see inspector memory for the heap of each executor, and for what would change it",
    source="HDFSBackedStateStoreProvider.loadedMaps, maxBatchesToRetainInMemory (2.4 to 4.3)",
    cause="The state takes more heap than the limit.",
    command="memory",
    proof="It is an estimate, by what each row, key and value take as Java objects, and what "
    "two versions share. How good it is is a topic of its own: `heap`.",
)

CATALOGUE: tuple[Kind, ...] = tuple(
    sorted(
        (kind for kind in list(vars().values()) if isinstance(kind, Kind)),
        key=lambda kind: kind.id,
    )
)
"""Every finding that is made, by id; ids never change their meaning."""
