"""SS307: most rows of one key.

What it means:
    One key has most rows of a join's side, most sessions, or most entries of a list or map: in one
    partition, and each row of the other side of a join with that key is joined with all of them. Or
    the join has few keys for its rows.

How it is proven:
    The rows or entries of each key are counted.

Source:
    SymmetricHashJoinStateManager (2.3 to 4.3), ListStateImpl, MapStateImpl (4.0 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.facts.top_keys import TopBy
from inspector.facts.variable_entries import EntriesPerKey, KeyEntries
from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import HOT_ROWS, HOT_SHARE, Threshold
from inspector.findings.views.store_sizes import first_key
from inspector.findings.views.store_view import StoreView
from inspector.model import JOIN_COUNT_STORES, JOIN_ROW_STORES, StoreName
from inspector.operators.join import COUNT_STORES, VALUE_STORES
from inspector.operators.session_window import NAMES as SESSION


class HotKey(Rule[StoreView]):
    """A key with most rows of a store, or a join with few keys for its rows."""

    scope = "store"
    id = "SS307"
    title = "most rows of one key"
    severity = Severity.INFO
    about_most = True
    leads = ("SS205",)
    spark = "spark.sql.shuffle.partitions"
    next_step = (
        "filter the key out if it stands for an unknown one (null, 0, an empty text), or split it "
        "by a salt in the key"
    )
    command = "top"
    explains = ("SS222",)
    hides = ("SS302",)

    hot_share = HOT_SHARE
    hot_rows = HOT_ROWS
    rows_per_join_key = Threshold(20.0, "rows", "Rows for each join key on both sides, on average.")

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield evidence of a key with most entries of a store, or with most rows of a join's side.

        A join whose keys are few for its rows is yielded, too.
        """
        entries = store.sum(EntriesPerKey)
        if entries is not None:
            yield from self.hot_entries(store, entries)
        elif store.store_name in VALUE_STORES:
            yield from self.hot_rows_of_join(store)

    def is_hot(self, rows: int, total: int) -> bool:
        """Return True if ``rows`` of one key are most of ``total`` rows, and these are many.

        Most is the share ``hot_share``, and many are ``hot_rows``.
        """
        return total >= self.hot_rows and rows >= self.hot_share * total

    def hot_entries(self, store: StoreView, entries: EntriesPerKey) -> Iterator[Evidence]:
        """Yield at most one evidence: a grouping key with most entries of a list, map or session.

        ``entries`` has the numbers of keys and entries of the store. Nothing is yielded for fewer
        than two keys, or if :meth:`is_hot` is False for the key with the most entries.
        """
        listed = store.facts.of_store(KeyEntries, store.name)
        most = max(listed, key=lambda key: (key.entries, key.key), default=None)
        if most is None or entries.keys < 2 or not self.is_hot(most.entries, entries.entries):
            return
        schema = store.operator.key_of_entries(store.store_name)
        case = self.sessions if store.operator_name in SESSION else self.entries
        yield case(
            most.entries,
            most.row_bytes,
            share=most.entries / entries.entries,
            total=entries.entries,
            key=store.whole.context.key_words(store.name, most.key, schema),
        )

    def hot_rows_of_join(self, store: StoreView) -> Iterator[Evidence]:
        """Yield a join key with most rows of a side, and a side whose keys are few for its rows."""
        counting = StoreName(store.operator_id, COUNT_STORES[VALUE_STORES.index(store.store_name)])
        counter = first_key(store.facts, counting, TopBy.NUMBER)
        rows, side = store.rows, store.store_name.partition("-")[0]
        if counter is None or rows < counter.amount:
            return
        keys, opposite = keys_of_sides(store)
        is_even = counter.amount * keys <= 2 * rows  # no key has far more than the others
        if keys > 1 and is_even and min(rows / keys, opposite) >= self.rows_per_join_key:
            total = store.sizes.total
            yield self.few_keys(*total.rows_and_bytes, side=side, keys=keys, opposite=opposite)
        if self.is_hot(counter.amount, rows):
            yield self.join_rows(
                counter.amount,
                share=counter.amount / rows,
                total=rows,
                side=side,
                key=store.whole.context.key_words(counting, counter.key),
            )

    join_rows = Case(
        cause="One key has {share:percent} of the rows of the join's {side} side{key:brackets}: "
        "{rows:number} of {total:number}.",
        evidence="{rows:number} of {total:row} are of one key",
    )
    sessions = Case(
        cause="One key has {share:percent} of the sessions{key:brackets}: {rows:number} of "
        "{total:number}.",
        evidence="{rows:number} of {total:session} are of one key",
        next_step="filter the key out if it stands for an unknown one (null, 0, an empty text), or "
        "give session_window a longer gap, so that its events make fewer sessions",
    )
    entries = Case(
        cause="One key has {share:percent} of the entries of the state {store:quoted}"
        "{key:brackets}: {rows:number} of {total:number}.",
        evidence="{rows:number} of {total:entry} are of one key",
    )
    few_keys = Case(
        cause="The join has few keys for its rows: {rows:row} of the join's {side} side have "
        "{keys:join key}, and each new one meets ~{opposite:number} rows of the other side.",
        evidence="{rows:row} of the join's {side} side have {keys:join key}, of which each has "
        "~{opposite:number} rows in the other side",
        next_step="join by a key that tells more events apart, such as an id beside the country or "
        "type, or by a shorter time range; aggregate one side before the join",
    )


def keys_of_sides(store: StoreView) -> tuple[int, float]:
    """Return a side's number of join keys, and the mean number of rows per key on the other side.

    ``store`` has the rows of the side. Returns 0 and 0.0 for state format 4, which does not count
    the rows of a key.
    """
    if store.store_name not in JOIN_ROW_STORES:
        return 0, 0.0  # state format 4 counts no rows of a key
    side = JOIN_ROW_STORES.index(store.store_name)
    keys, other_rows, other_keys = (
        store.facts.of_version(StoreName(store.operator_id, name), store.version).rows
        for name in (
            JOIN_COUNT_STORES[side],
            JOIN_ROW_STORES[1 - side],
            JOIN_COUNT_STORES[1 - side],
        )
    )
    return keys, other_rows / max(1, other_keys)
