"""What the proofs rest on: each premise once, with the Spark source that makes it true.

A statement is called proven only if it follows from the bytes by these. A workload that would
refute one is named with it; ``scripts/make_workloads.py`` makes those that Spark accepts, and no
proof may be wrong on them. Where the bytes of a batch contradict a premise, it is not used there.
"""

from __future__ import annotations

from collections.abc import Mapping

from inspector.light_dataclasses import dataclass


@dataclass(frozen=True)
class Premise:
    """A premise of proofs about group state, state variables, or the watermark.

    Attributes:
        name: by which code and documentation call it.
        says: what it claims.
        source: class and method of Spark in which it was read.
        versions: of Spark, for which it holds.
        refuted_by: what a query would have to do for it to be false.
        guarded_by: what in the bytes would contradict it, so that it is not used; empty if nothing.
    """

    name: str
    says: str
    source: str
    versions: str
    refuted_by: str
    guarded_by: str = ""


_PREMISES = (
    Premise(
        "only-data-calls",
        "in a batch whose offsets are those of the batch before, an operator with nothing above it "
        "but operators that only hand on what comes in is called for timeouts only",
        "MicroBatchExecution.runBatch (a source without new data becomes an empty LocalRelation); "
        "the operators above: inspector.operators.physical",
        "2.4 to 4.3",
        "a stateless function that makes rows of nothing, such as repartition(n).mapPartitions("
        "_ => rows); an aggregation, session window, outer join or group state above the operator, "
        "for which the premise is not used",
        "a record of a key that had no timer, or whose timer had not run out by any clock",
    ),
    Premise(
        "data-first",
        "a batch calls the function for new data first, in ascending order of the grouping columns "
        "(nulls first), and then for the timers that have run out, in the order of a hash map",
        "FlatMapGroupsWithStateExecBase.processDataWithPartition, .requiredChildOrdering",
        "2.4 to 4.3",
        "a key whose order is not the one that inspector.decode.key_order knows (collations count "
        "as unknown); changes that two snapshots show, which stand in the order of their tables",
        "a record behind the first descent of a key that had no timer, or whose timer had not run "
        "out by any clock",
    ),
    Premise(
        "set-after-clock",
        "a timer that is not negative is set after the processing time of its batch, or at or "
        "after the watermark that the operator sees",
        "GroupStateImpl.setTimeoutDuration (a positive duration on the batch's processing time, "
        "which may overflow), .setTimeoutTimestamp (refuses what is before the watermark); "
        "pyspark.sql.streaming.state",
        "2.4 to 4.3",
        "setTimeoutDuration of Long.MaxValue, whose timer is negative; an operator that sees no "
        "watermark (premise one-watermark)",
    ),
    Premise(
        "due-by-clock",
        "a timeout calls only for a key whose timer lies before the watermark of the batch, or "
        "before its processing time: by event time for none as long as the watermark is 0. That "
        "the watermark stays at 0 though data comes does not show by itself which clock it is",
        "FlatMapGroupsWithStateExecBase.InputProcessor.processTimedOutState; "
        "WatermarkTracker.updateWatermark (the least of all sources, of which one without data "
        "counts as 0)",
        "2.4 to 4.3",
        "nothing of the first; of a watermark that moves as soon as data comes: a second source "
        "without data, null event times, or event times no later after 1970 than the delay",
        "records of a batch that contradict both clocks",
    ),
    Premise(
        "clears-timers",
        "in Scala and Java no timer that has run out outlives its batch: the call removes the key, "
        "or writes it with the timer that it set, or with none",
        "FlatMapGroupsWithStateExecBase.InputProcessor.callFunctionAndUpdateState "
        "(onIteratorCompletion compares with the stored timer)",
        "2.4 to 4.3; not applyInPandasWithState, which compares with no timer",
        "applyInPandasWithState, so that the premise is used only where Spark's metadata (4.0 and "
        "later) names the operator",
    ),
    Premise(
        "idle-batch",
        "a batch that another follows with its offsets and its watermark ran with a "
        "processing-time timeout of the one operator that can ask for batches whatever the "
        "watermark does; of the clock of the second nothing is said, as a restart may have run it "
        "again by the other",
        "MicroBatchExecution.constructNextBatch (without new data, only the batch that the run "
        "executed before asks for another: lastExecution, since 4.0 previousContext), "
        "populateStartOffsets (only the last batch is run again); "
        "FlatMapGroupsWithStateExecBase.shouldRunAnotherBatch; the others: Asks in "
        "inspector.operators.physical",
        "2.4 to 4.3",
        "real-time mode, whose batches run for a time; a second operator that may ask, such as a "
        "transformWithState in processing time or one that is not known, with which the premise is "
        "not used",
    ),
    Premise(
        "one-watermark",
        "an operator sees the watermark of the query if no operator above it keeps the watermark "
        "from it, and a batch ran without data because the watermark rose, in a query in which "
        "nothing else asks for such a batch",
        "WatermarkPropagator, StateStoreWriter.produceOutputWatermark (inspector.operators."
        "physical), IncrementalExecution.shouldRunAnotherBatch",
        "all; until 3.4 every operator does",
        "a join, group state, or transformWithState in processing time above the operator (3.5 and "
        "later); a branch without withWatermark, whose columns have the metadata of one by their "
        "schema (that of a Parquet file that such a query wrote, outputStructType=df.schema); a "
        "restart without withWatermark, which leaves the schema file as it is: rows that the "
        "watermark has passed therefore prove nothing",
    ),
    Premise(
        "removes-what-is-there",
        "a delta of the HDFS-backed provider removes only keys that the version before it has",
        "HDFSBackedStateStore.remove (RocksDB's provider writes a removal without a look)",
        "2.3 to 4.3",
        "nothing that one attempt of a batch does; of two attempts whose function gives different "
        "rows, over a file system that keeps the first file, the files are of no one chain either",
    ),
    Premise(
        "puts-once",
        "a deduplication puts a key only if the version before does not have it",
        "BaseStreamingDeduplicateExec.doExecute (keyExists, before anything is evicted)",
        "2.3 to 4.3",
        "as of removes-what-is-there",
    ),
    Premise(
        "evicts-what-is-covered",
        "a deduplication and an aggregation remove only rows whose time the watermark of their "
        "batch has reached: that of the operator is never above it",
        "WatermarkSupport.removeKeysOlderThanWatermark, StateStoreSaveExec, "
        "StreamingDeduplicateWithinWatermarkExec.evictDupInfoFromState",
        "2.3 to 4.3",
        "a second time in the key, by which the rows go (two columns with a watermark and "
        "statefulOperator.allowMultiple=false, or another column after a restart), so that only "
        "keys with one time are checked",
    ),
    Premise(
        "drops-late-rows",
        "in a batch in which it evicts a row of a time after 1970, a deduplication by the event "
        "time and an aggregation put no row that the watermark of the batch and of the one before "
        "it had reached",
        "WatermarkSupport.watermarkPredicateForDataForLateEvents (one expression for both), "
        "PropagateWatermarkSimulator.getInputWatermarkForLateEvents (the watermark of the batch "
        "before, in the plan of this one)",
        "2.3 to 4.3",
        "a null event time in dropDuplicatesWithinWatermark, which reads as 0 and is not late, so "
        "that the premise is not used there; complete mode, and an operator that sees no "
        "watermark, neither of which evicts; a second time in the key; a join or group state above",
    ),
    Premise(
        "one-clock",
        "the timers of all partitions followed the same clock in a batch; another batch may have "
        "followed the other, as a restart may change the kind of timeout",
        "IncrementalExecution (one plan for a batch), StreamingQueryManager (a plan for a run)",
        "2.4 to 4.3",
        "a batch that failed when some partitions had written their delta, and that a run with the "
        "other kind of timeout executed again over a file manager that keeps the first file",
        "records of a batch that contradict both clocks",
    ),
    Premise(
        "ttl-cleanup",
        "every batch of a transformWithState removes, after all calls, the values of the variables "
        "that its processor declares whose TTL ran out by its own processing time; a value is "
        "written with a TTL that ends after its own batch",
        "StatefulProcessorHandleImpl.doTtlCleanup, TTLState.clearExpiredStateForAllKeys, "
        "StateTTL.isExpired, calculateExpirationTimeForDuration",
        "4.0 to 4.3",
        "nothing that Spark accepts: a value that outlives a batch with a later clock is a "
        "leftover whatever the reason, mostly a run that did not declare its variable",
    ),
    Premise(
        "timers-fire",
        "every batch of a transformWithState fires, after the new data, the timers that were there "
        "before it and whose time its clock has reached, and deletes each after its call",
        "TransformWithStateExec.processTimers, handleTimerRows; TimerStateImpl.getExpiredTimers; "
        "in Python pyspark.sql.streaming.stateful_processor_util",
        "4.0 to 4.3",
        "a timer that a call of the same batch sets for a time that has passed, so that the batch "
        "that sets a timer does not count",
    ),
    Premise(
        "appended-batch",
        "a batch with the offsets, the watermark and the very time stamp of the batch before was "
        "run by no query: a tool wrote its version, and no function was called, no timer answered, "
        "nothing evicted; nor was one that has those of an older batch and another number of "
        "partitions",
        "MicroBatchExecution.markMicroBatchStart, constructNextBatch (each batch reads the clock "
        "anew); OfflineStateRepartitionRunner.createNewBatchFromLastCommitted (copies the entry)",
        "2.3 to 4.3",
        "two batches without new data in one millisecond, or a clock that was set back to the very "
        "millisecond; what is said of such a batch is less, and nothing more",
    ),
    Premise(
        "own-batch",
        "the version that batch N made was judged by Spark with the watermark and the processing "
        "time of offsets/N, whichever run executed it",
        "MicroBatchExecution.populateStartOffsets (a batch that is run again takes both from the "
        "log)",
        "2.3 to 4.3",
        "an offset log that was edited",
    ),
    Premise(
        "own-snapshot",
        "a snapshot holds the rows that the query had, and went on from, at its version: a restart "
        "loads it, and a query that runs on has the same rows in memory",
        "HDFSBackedStateStoreProvider.doSnapshot, loadMap, RocksDB.load (all prefer a snapshot to "
        "the delta of its version)",
        "2.3 to 4.3",
        "a batch whose state became a snapshot before its sink failed, and that ran again with "
        "another function or output mode: the run after it has the rows of its delta, and the run "
        "after that those of the snapshot",
        "a snapshot that differs from its deltas: its rows count, and nothing is proven of them "
        "before a snapshot that agrees with what was put and removed since the last one",
    ),
)
PREMISES: Mapping[str, Premise] = {premise.name: premise for premise in _PREMISES}
"""Every premise by its name, as comments and messages call it."""
