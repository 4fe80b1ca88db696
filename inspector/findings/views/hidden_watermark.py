"""Watermarks that a restart added and that no schema shows, because a restart keeps the schema."""

from __future__ import annotations

from inspector.discovery.plan import possible_times
from inspector.facts.ages import Ages
from inspector.findings.views.store_view import StoreView
from inspector.model import BatchId


def may_have_watermark(store: StoreView) -> bool:
    """Return True if a time in the store's rows may carry a watermark that its schema lacks.

    Returns False if the rows have no such time. Also returns False if the query has no watermark
    though the judged batch had data of every source.
    """
    sources = store.whole.sources.get(BatchId(store.version - 1), ())
    has_all_data = bool(sources) and all(source.moved for source in sources)
    if store.clock.watermark_ms == 0 and has_all_data:
        return False
    return bool(possible_times(store.operator, store.store_name))


def is_watermark_refuted(store: StoreView) -> bool:
    """Return True if the store's rows surely carry no watermark.

    That is so if the watermark has passed a row that is there. It is also so if the query has no
    watermark though every source of the judged batch has brought data in some batch.
    """
    watermark_ms, oldest_ms = store.clock.watermark_ms, (store.sum(Ages) or Ages()).oldest_ms
    if watermark_ms and oldest_ms is not None:
        return oldest_ms <= watermark_ms
    entries = store.whole.sources
    fed = {source.name for entry in entries.values() for source in entry if source.moved}
    names = {source.name for source in entries.get(BatchId(store.version - 1), ())}
    return watermark_ms == 0 and fed >= names
