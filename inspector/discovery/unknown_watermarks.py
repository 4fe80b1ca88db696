"""Operators whose watermark is not that of the query, by an amount that no file shows.

Since Spark 3.5 a join passes on the least of its own watermark and the state watermarks of its
sides, which come from its condition; group state passes on none (``WatermarkPropagator``,
``StateStoreWriter.produceOutputWatermark``). Neither condition nor query is in the checkpoint, and
what the join's rows were seen to keep is no bound: early in its life it has kept nothing for long.
"""

from __future__ import annotations

from dataclasses import replace

from inspector.discovery.checkpoint import HOLDS_WATERMARK_BACK, Checkpoint, Operator
from inspector.operators.rule import Clock, StoreRule

SINCE_3_5 = "optimizer.pruneFiltersCanPruneStreamingSubplan"


def recorded(checkpoint: Checkpoint, version: int, key: str) -> bool:
    """Whether the batch's log entry has a conf that Spark records only from some release on."""
    return checkpoint.logs.conf_for(version - 1, key).origin != "default"


def held_back(checkpoint: Checkpoint, operator: Operator, version: int) -> str | None:
    """The operator upstream that makes this one's watermark lag; None if there is none."""
    if not recorded(checkpoint, version, SINCE_3_5):
        return None
    above = [name for name in operator.upstream if name in HOLDS_WATERMARK_BACK]
    return above[-1] if above else None


def with_unknown_watermarks(checkpoint: Checkpoint, version: int) -> Checkpoint:
    """The same checkpoint, without the rules that are held against such a watermark.

    The field is followed all the same, to report how far behind the query's watermark the rows
    reach. What the user said of an operator counts. Timers have clocks of their own.
    """
    operators = tuple(_judged(checkpoint, operator, version) for operator in checkpoint.operators)
    return replace(checkpoint, operators=operators)


def _judged(checkpoint: Checkpoint, operator: Operator, version: int) -> Operator:
    above = held_back(checkpoint, operator, version)
    if above is None:
        return operator
    rules = {name: _unknown(rule, operator, above) for name, rule in operator.rules.items()}
    return replace(operator, rules=rules)


def _unknown(rule: StoreRule, operator: Operator, above: str) -> StoreRule:
    expiry = rule.expiry
    if expiry is None or expiry.clock is not Clock.WATERMARK or rule.given:
        return rule
    field = f"{expiry.side.value}.{expiry.name}"
    return replace(
        rule,
        expiry=None,
        event_time=expiry,
        unknown=f"downstream of {above} the operator's watermark lags by an amount that is not in "
        f"the checkpoint (--operator-rule gives it, such as "
        f"'{operator.operator_id}={field}<=watermark-1h')",
    )
