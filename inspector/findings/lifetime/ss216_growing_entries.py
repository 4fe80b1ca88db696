"""SS216: list or map that only grows.

What it means:
    Keys have many entries in a list or map state, entries were added in the history, and none was
    removed.

How it is proven:
    The entries of each grouping key are counted.

Source:
    ListStateImpl, MapStateImpl, ListStateImplWithTTL, MapStateImplWithTTL (4.0 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.facts.variable_entries import EntriesPerKey
from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import WINDOW_VERSIONS, Threshold
from inspector.findings.views.store_view import StoreView
from inspector.model import Certainty
from inspector.operators.transform_with_state import TTL_OPTION, has_ttl


class GrowingEntries(Rule[StoreView]):
    """Lists and maps whose keys get entries and lose none."""

    scope = "store"
    id = "SS216"
    title = "list or map that only grows"
    severity = Severity.WARNING
    certainties = (Certainty.INFERRED,)
    spark = "ListState.appendValue"
    next_step = (
        "give the variable a TTL, or remove entries that are not needed any more: ListState.put "
        "with those that are, MapState.removeKey"
    )
    command = "top"
    explains = ("SS201", "SS204", "SS210")
    explains_store = True

    entries_per_key = Threshold(64, "entries", "Entries of one key, rounded up to a power of two.")
    entries_warned = Threshold(1024, "entries", "Entries of one key for a warning.")
    window_versions = WINDOW_VERSIONS

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield at most one evidence: the keys of a list or map with many entries that only grow.

        Nothing is yielded if fewer than ``window_versions`` versions are known, or if the processor
        no longer declares the variable.
        """
        entries, family = store.sum(EntriesPerKey), store.operator.family(store.store_name)
        processor = store.operator.processor
        if entries is None or family is None or processor is None:
            return
        keys = entries.growing_from(self.entries_per_key)
        is_short = (entries.versions or 0) < self.window_versions
        if not keys or is_short or processor.declares(store.store_name) is False:
            return
        schema = store.operator.schemas.get(store.store_name)
        is_warned = entries.growing_from(self.entries_warned)
        case = self.with_ttl if schema is not None and has_ttl(schema.value) else self.without_ttl
        yield case(
            keys,
            severity=None if is_warned else Severity.INFO,
            family=family.value,
            least=self.entries_per_key,
            most=entries.most,
            versions=entries.versions,
            option=TTL_OPTION,
        )

    _EVIDENCE = (
        "{rows:key} with {least:number} entries or more, to which entries were added in "
        "{versions:version} and of which none was removed; the most that a key has are "
        "{most:number}"
    )
    without_ttl = Case(
        cause="The {family} state {store:quoted} only grows and has no TTL: {rows:key} {rows:/has} "
        "{least:number} entries or more, up to {most:number}.",
        evidence=_EVIDENCE,
        next_step="give {store:quoted} a TTL ({option}), or remove entries that are not needed any "
        "more: ListState.put with those that are, MapState.removeKey",
    )
    with_ttl = Case(
        cause="The {family} state {store:quoted} only grows: {rows:key} {rows:/has} {least:number} "
        "entries or more, up to {most:number}.",
        evidence=_EVIDENCE,
        next_step="remove entries that are not needed any more: ListState.put with those that are, "
        "MapState.removeKey",
    )
