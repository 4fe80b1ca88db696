"""Operators whose watermark is not that of the query, by an amount that no file shows.

Since Spark 3.5 an operator hands on what :mod:`inspector.operators.physical` says: a join the least
of its own watermark and the state watermarks of its sides, which come from its condition; group
state none, nor transformWithState in processing time. Neither condition nor query is in the
checkpoint, and how long the join was seen to keep rows is no bound: a young one kept none for long.
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.light_dataclasses import replace
from inspector.model import BatchId
from inspector.operators.physical import Asks, PhysicalOperator, holds_watermark_back
from inspector.operators.rule import Clock, StoreRule

# reason why it is undecided whether a row is a leftover
UNSEEN = (
    "the files do not show that a watermark reaches the operator, and a column that carries one is "
    "no proof: a branch of the query without withWatermark has none, wherever its columns come from"
)
# a conf that offset entries record since Spark 3.5
SINCE_3_5 = "optimizer.pruneFiltersCanPruneStreamingSubplan"


def is_recorded(checkpoint: Checkpoint, version: int, key: str) -> bool:
    """Return whether the batch's log entry records a conf explicitly.

    Spark records some confs only since a release, so that a record dates the entry.
    """
    return checkpoint.logs.conf_for(version - 1, key).origin != "default"


def operator_holding_back(
    checkpoint: Checkpoint, operator: Operator, version: int
) -> PhysicalOperator | None:
    """Return the operator upstream that may delay this operator's watermark.

    None if there is none, or if the batch ran before Spark 3.5.
    """
    if not is_recorded(checkpoint, version, SINCE_3_5):
        return None
    return holds_watermark_back(operator.upstream)


def sees_watermark(checkpoint: Checkpoint, operator: Operator, version: int) -> bool:
    """Return whether the log proves that the operator sees the watermark of the query."""
    # That one of its columns carries a watermark does not: the metadata comes with a schema too, as
    # that of a Parquet file, and on a branch without withWatermark there is none. But a batch that
    # ran without data because the watermark rose was asked for by an operator that sees it
    # (IncrementalExecution.shouldRunAnotherBatch). Until Spark 3.4 all see it.
    if not is_recorded(checkpoint, version, SINCE_3_5):
        return True
    if operator_holding_back(checkpoint, operator, version) is not None:
        return False
    remaining = (item for item in checkpoint.query if item.operator_id != operator.operator_id)
    alone = all(item.physical.asks is Asks.NEVER for item in remaining)
    return alone and any(batch < version for batch in batches_for_state_alone(checkpoint))


def has_branches(checkpoint: Checkpoint, version: int) -> bool:
    """Return whether the query has several sources, so that one alone may set the watermark.

    False for a batch that ran before Spark 3.5.
    """
    # An operator that is fed by another one then sees none (PropagateWatermarkSimulator, 3.5 on).
    sources = checkpoint.logs.sources.get(BatchId(version - 1), ())
    return len(sources) > 1 and is_recorded(checkpoint, version, SINCE_3_5)


def batches_for_state_alone(checkpoint: Checkpoint) -> Iterator[int]:
    """Yield committed batches without new data that a risen watermark caused.

    They show that the query has a stateful operator. Batches appended by a tool are left out.
    """
    # MicroBatchExecution.constructNextBatch: without new data only
    # lastExecution.shouldRunAnotherBatch makes one, which asks the stateful operators.
    for clock in checkpoint.logs.clocks.values():
        previous = checkpoint.logs.clocks.get(BatchId(clock.batch_id - 1))
        rose = previous is not None and (previous.watermark_ms or 0) < (clock.watermark_ms or 0)
        if clock.committed and clock.has_new_data is False and rose and not clock.appended:
            yield clock.batch_id


def with_unknown_watermarks(checkpoint: Checkpoint, version: int) -> Checkpoint:
    """Return a copy without rules that compare rows with a watermark that is not known.

    Operators behind one that may delay the watermark lose their expiry rule; their event time is
    still followed. Rules that the user gave stay.
    """
    # The field is followed all the same, to report how far behind the query's watermark the rows
    # reach. What the user said of an operator counts. Timers have clocks of their own.
    operators = []
    for operator in checkpoint.operators:
        rules, feeder = operator.rules, operator_holding_back(checkpoint, operator, version)
        if feeder is not None:
            rules = {name: _doubt(rule, operator, feeder) for name, rule in rules.items()}
        operators.append(replace(operator, rules=rules))
    return replace(checkpoint, operators=tuple(operators))


def _doubt(rule: StoreRule, operator: Operator, feeder: PhysicalOperator) -> StoreRule:
    """Return the rule without expiry by the watermark, which ``feeder`` may delay.

    The expiry field becomes the event time that is followed. Rules of timers and of the user stay
    unchanged.
    """
    expiry = rule.expiry
    if expiry is None or expiry.clock is not Clock.WATERMARK or rule.user_supplied:
        return rule
    field = f"{expiry.part.value}.{expiry.name}"
    return replace(
        rule,
        expiry=None,
        event_time=expiry,
        unknown=f"downstream of {feeder.name} the operator's watermark lags by an amount that is "
        f"not in the checkpoint (--operator-rule gives it, such as "
        f"'{operator.operator_id}={field}<=watermark-1h')",
    )
