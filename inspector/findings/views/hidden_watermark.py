"""A watermark that a restart added and that no schema shows, as a restart keeps the schema."""

from __future__ import annotations

from inspector.discovery.plan import possible_times
from inspector.facts.ages import Ages
from inspector.findings.views.store_view import StoreView
from inspector.model import BatchId


def may_have_watermark(store: StoreView) -> bool:
    """Return True if a time of the rows may carry a watermark.

    It carries none if the query has no watermark after a batch with data of every source.
    """
    sources = store.whole.sources.get(BatchId(store.version - 1), ())
    has_all_data = bool(sources) and all(source.moved for source in sources)
    if store.clock.watermark_ms == 0 and has_all_data:
        return False
    return bool(possible_times(store.operator, store.store_name))


def is_watermark_refuted(store: StoreView) -> bool:
    """Return True if the rows do not carry a watermark.

    A row is there that the watermark has passed; or the query has none though every source has read
    data.
    """
    watermark_ms, oldest_ms = store.clock.watermark_ms, (store.sum(Ages) or Ages()).oldest_ms
    if watermark_ms and oldest_ms is not None:
        return oldest_ms <= watermark_ms
    entries = store.whole.sources
    fed = {source.name for entry in entries.values() for source in entry if source.moved}
    names = {source.name for source in entries.get(BatchId(store.version - 1), ())}
    return watermark_ms == 0 and fed >= names
