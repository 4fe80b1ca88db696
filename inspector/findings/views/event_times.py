"""Newest times of the rows that expire by the watermark."""

from __future__ import annotations

from typing import NamedTuple

from inspector.facts.ages import Ages
from inspector.facts.expiring import Expiring
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.findings.views.store_view import StoreView
from inspector.model import TimeoutKind
from inspector.operators import deduplicate_within_watermark, transform_with_state
from inspector.operators.rule import Clock

EVENT_TIME = "event time"  # words for the kind of time if it is the event time of a row


class NewestTime(NamedTuple):
    """Newest time of a store's rows that is compared with the watermark."""

    millis: int  # the newest time, in epoch ms
    what: str  # words for the kind of time, such as ``window end``
    # event time that some row surely had or exceeded, epoch ms; None if it is unknown
    event_ms: int | None = None
    store_name: str = ""  # store that has the row
    version: int = 0  # version that put the row last; 0 if unknown


def newest_times(view: CheckpointView) -> list[NewestTime]:
    """Return the newest time of each store whose rows have a time to compare with the watermark."""
    times = map(newest_time, view.stores)
    return [time for time in times if time is not None]


def newest_time(store: StoreView) -> NewestTime | None:
    """Return the newest time of a store's rows that is compared with the watermark.

    It is an expiry time, such as a window's end or an event-time timeout, or an event time. Returns
    None if the rows have no such time or follow another clock.
    """
    rule_field = store.rule.expiry or store.rule.event_time
    if rule_field is None:
        return None
    if rule_field.clock is Clock.TIMEOUT:
        timeouts = [
            max(item.rows) * item.width
            for item in store.facts.merged(Expiring).get(store.name, {}).values()
            if item.rows and item.timeout_kind is TimeoutKind.EVENT_TIME
        ]
        if store.expiry.usual_kind is not TimeoutKind.EVENT_TIME or not timeouts:
            return None
        return NewestTime(max(timeouts), "timeout", None, store.store_name)
    ages = store.sum(Ages)
    if rule_field.clock is not Clock.WATERMARK or ages is None or ages.newest_ms is None:
        return None
    what = _what(rule_field.name)
    length_ms = 0 if what == EVENT_TIME else store.keys.window_ms or None
    event_ms = None if length_ms is None else ages.newest_ms - length_ms
    return NewestTime(ages.newest_ms, what, event_ms, store.store_name, ages.newest[1])


def _what(field_name: str) -> str:
    """Return words for the kind of time in a rule's field, such as ``timer`` or ``window end``."""
    if field_name == transform_with_state.TIMER_FIELD:
        return "timer"
    if field_name == deduplicate_within_watermark.FIELD:
        return "expiry time (event time and delay)"
    return "window end" if field_name.endswith(".end") else EVENT_TIME
