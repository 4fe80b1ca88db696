"""What the proofs rest on: each premise once, with the Spark source that makes it true.

A statement is called proven only if it follows from the bytes by these. A workload that would
refute one is named with it; ``scripts/make_workloads.py`` makes those that Spark accepts, and no
proof may be wrong on them. Where the bytes of a batch contradict a premise, it is not used there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


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
        "as unknown)",
        "a record behind the first descent of a key that had no timer, or whose timer had not run "
        "out by any clock",
    ),
    Premise(
        "set-after-clock",
        "a timer is set after the processing time of its batch, or at or after the watermark",
        "GroupStateImpl.setTimeoutDuration (a positive duration on the batch's processing time), "
        ".setTimeoutTimestamp (refuses what is before the watermark); pyspark.sql.streaming.state",
        "2.4 to 4.3",
        "a state file that something else than Spark wrote",
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
        "an operator that no join and no group state stands above sees the watermark of the query",
        "WatermarkPropagator, StateStoreWriter.produceOutputWatermark",
        "all; until 3.4 every operator does",
        "a join or group state above the operator (3.5 and later), for which the premise is not "
        "used",
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
        "own-batch",
        "the version that batch N made was judged by Spark with the watermark and the processing "
        "time of offsets/N, whichever run executed it",
        "MicroBatchExecution.populateStartOffsets (a batch that is run again takes both from the "
        "log)",
        "2.3 to 4.3",
        "an offset log that was edited",
    ),
)
PREMISES: Mapping[str, Premise] = {premise.name: premise for premise in _PREMISES}
"""Every premise by its name, as comments and messages call it."""
