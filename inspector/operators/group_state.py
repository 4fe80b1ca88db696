"""Arbitrary state: ``mapGroupsWithState``, ``flatMapGroupsWithState``, ``applyInPandasWithState``.

Value, state format 2 (Spark 2.4 and later): ``groupState`` struct and, if the query has a timeout,
``timeoutTimestamp`` in epoch ms (-1: no timer armed); format 1: the state's own fields and then
``timeoutTimestamp``, declared ``integer`` though its slot holds 64 bits
(``FlatMapGroupsWithStateExecHelper``).

After the new data of every batch, in every partition, the function is called for each key with
``timeoutTimestamp != -1 and timeoutTimestamp < threshold``: strictly below the batch's processing
time or watermark (``FlatMapGroupsWithStateExec.processTimedOutState``). The two languages differ in
what a call writes that sets no timer (``InputProcessor.onIteratorCompletion``):

* Scala and Java: the timer is *cleared*: the key is written back with -1 and will never fire again.
* applyInPandasWithState: nothing is written; the old timer stays and fires in every later batch.
"""

from __future__ import annotations

from inspector.operators.rule import Clock, ExpiryField, OperatorShape, RowPart, StoreRule
from inspector.sparktypes import StructType

# names of the operator in Spark's metadata
NAMES = ("flatMapGroupsWithState", "applyInPandasWithState")
PANDAS = "applyInPandasWithState"  # name of the operator for applyInPandasWithState
# Spark classes that the rule is from
SOURCE = "FlatMapGroupsWithStateExec, FlatMapGroupsWithStateExecHelper"
REWRITES = "call state.update() only when the value has changed"
"""Advice on puts that change nothing: ``InputProcessor.onIteratorCompletion`` puts after
``update()``.
"""

STATE_FIELD = "groupState"  # field of a value with the state (format 2)
TIMEOUT_FIELD = "timeoutTimestamp"  # field of a value with the timer


def timeout_ordinal(value: StructType) -> int | None:
    """Return the ordinal of the timer, the last field of the value; None without a timeout."""
    last = len(value.fields) - 1
    return last if last >= 0 and value.fields[last].name == TIMEOUT_FIELD else None


def empty_size(value: StructType) -> int:
    """Return the bytes of a value whose state is null and which has a timer.

    Returns -1 if the size of a value does not show a null state.
    """
    # A function that removes the state and sets a timer leaves such a row (state format 2). When
    # the timer fires and the function does nothing, Spark keeps the empty row with timeout -1.
    state = value.fields[0].data_type if value.fields else None
    flat = not (isinstance(state, StructType) and state.fields)
    if flat or value.fields[0].name != STATE_FIELD or timeout_ordinal(value) != 1:
        return -1
    return 8 + 8 * len(value.fields)


def rule(shape: OperatorShape, store: str) -> StoreRule:
    """Return the expiry rule of a group state's store: the timer, or never without a timeout."""
    _, value = shape.schemas[store]
    ordinal = timeout_ordinal(value)
    if ordinal is None:
        return StoreRule(
            never="the query has no timeout, so a key goes only when the function removes it",
            advice="give the query a timeout and call remove() when it fires",
        )
    expiry = ExpiryField(Clock.TIMEOUT, RowPart.VALUE, (ordinal,), 1, False, TIMEOUT_FIELD)
    advice = "call state.remove() in the branch where state.hasTimedOut"
    return StoreRule(expiry=expiry, advice=advice)
