"""SS224: sessions or timers that new events put off.

What it means:
    New events prolong all sessions before their gap has passed, or each call of a group state sets
    a new timeout before the old one is due. Or some sessions are open far longer than the others.

How it is proven:
    The ends are compared with the clock that they follow; every put of a group state was made by
    data.

Source:
    SessionWindowStateStoreSaveExec, MergingSessionsExec (3.2 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

from inspector.facts.top_keys import TopBy, TopKey
from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import HOT_SHARE, WINDOW_VERSIONS, Threshold
from inspector.findings.views.store_keys import columns_of
from inspector.findings.views.store_view import StoreView
from inspector.model import Certainty
from inspector.operators.rule import MICROS_PER_MS
from inspector.operators.session_window import NAMES as SESSION


class LongSession(NamedTuple):
    """Oldest session among the sessions that each partition lists as written most often."""

    start_ms: int  # start of the session, epoch ms
    puts: int  # number of versions of the window that wrote it
    words: str  # words for its key, as redaction allows


class OpenSessions(Rule[StoreView]):
    """Sessions or timeouts that new events put off: all of them, or some among many."""

    scope = "store"
    id = "SS224"
    title = "sessions or timers that new events put off"
    severity = Severity.INFO
    certainties = (Certainty.INFERRED,)
    spark = "session_window"
    next_step = (
        "choose a gap shorter than the pauses between the events of a key, or a window of a fixed "
        "length; set a timer only if the key has none"
    )

    window_versions = WINDOW_VERSIONS
    hot_share = HOT_SHARE
    put_off_times = Threshold(
        3.0, "times", "Advance of the clock over the wait, or a session's length over the usual."
    )
    ended_rows = Threshold(10, "rows", "Sessions removed, for the others to be compared with.")

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield at most one evidence: sessions or timeouts that new events put off.

        Nothing is yielded if the expiry is unknown, or if a row is due.
        """
        expiring, now_ms, history = store.expiry.expiring, store.expiry.now_ms, store.history
        if expiring is None or not expiring.rows or not now_ms:
            return
        # The first row expires before the end of its bucket. Timers that may follow either clock
        # are due by the later one.
        wait_ms = (min(expiring.rows) + 1) * expiring.width - now_ms
        if history.window < self.window_versions or wait_ms <= 0:
            return
        is_quiet = history.is_quiet(self.window_versions) and not history.removals
        is_session = store.operator_name in SESSION
        if is_session and not is_quiet:
            yield from self.find_long_sessions(store, expiring.lasting, now_ms)
        elif is_quiet and (is_session or self.resets_timeouts(store)):
            yield from self.find_put_off(store, wait_ms)

    def find_put_off(self, store: StoreView, wait_ms: int) -> Iterator[Evidence]:
        """Yield one evidence of all rows if the clock moved far while no row expired.

        The rows are sessions, or keys whose timeouts new events set again. ``wait_ms`` is the most
        time until the first row expires. The clock moved far if it advanced by ``put_off_times``
        that time, or by half of it for sessions that most versions wrote.
        """
        history, is_session = store.history, store.operator_name in SESSION
        moved_ms = store.expiry.advance_ms(history.quiet_versions)
        # Sessions that most versions wrote are open for as long as the clock moved.
        is_often = is_session and history.puts >= self.hot_share * store.rows * history.window
        if moved_ms >= (wait_ms / 2 if is_often else self.put_off_times * wait_ms):
            case = self.sessions if is_session else self.timeouts
            yield case(*store.newest.rows_and_bytes, moved_ms=moved_ms, wait_ms=wait_ms)

    def resets_timeouts(self, store: StoreView) -> bool:
        """Return True if calls for data set the timeouts of all keys again, and none fired."""
        calls, expiring = store.expiry.calls, store.expiry.expiring
        if calls is None or expiring is None or store.expiry.has_fired:
            return False
        is_by_data = calls.armed_by_data + calls.unarmed_by_data >= store.history.puts
        return is_by_data and sum(expiring.rows.values()) == store.rows

    def find_long_sessions(self, store: StoreView, lasting: int, now_ms: int) -> Iterator[Evidence]:
        """Yield at most one evidence, of sessions that are open for far longer than the others.

        ``lasting`` is the number of rows from the older half of the window, and ``now_ms`` is the
        watermark, in epoch ms. Evidence is yielded if at least half of the versions wrote the
        longest session, and it is open for ``put_off_times`` times the usual length or more.
        Nothing is yielded if fewer than ``ended_rows`` sessions were removed.
        """
        session, history = longest_session(store), store.history
        if session is None or history.removals < self.ended_rows:
            return
        moved_ms = store.expiry.advance_ms(history.window - 1)
        others_ms = (store.rows - lasting) * moved_ms / history.removals
        # Else the usual sessions may be there for half of the history.
        is_several = lasting > 1 and 4 * others_ms <= moved_ms
        usual_ms = others_ms if is_several else store.rows * moved_ms / history.removals
        length_ms = now_ms - session.start_ms
        is_often = 2 * session.puts >= history.window
        if is_often and length_ms >= self.put_off_times * usual_ms:
            yield self.long_sessions(
                lasting if is_several else 1,
                length_ms=length_ms,
                usual_ms=round(usual_ms),
                key=session.words,
                puts=session.puts,
            )

    sessions = Case(
        cause="No session has closed while the watermark moved by {moved_ms:duration}: new events "
        "prolong {rows:session} before the gap has passed.",
        evidence="nothing has expired in {window:version}; the first of {rows:number} is due at "
        "most {wait_ms:duration} after its clock, which moved by {moved_ms:duration}",
    )
    timeouts = Case(
        cause="No timeout has fired while its clock moved by {moved_ms:duration}: each call for "
        "new data sets the timeout of {rows:key} anew before it is due.",
        evidence="nothing has expired in {window:version}; the first of {rows:number} is due at "
        "most {wait_ms:duration} after its clock, which moved by {moved_ms:duration}",
    )
    long_sessions = Case(
        cause="{rows:number} of {all:session} {rows:/is} kept open by new events, the longest for "
        "{length_ms:duration}{key:brackets}; the others last ~{usual_ms:duration}. It may be "
        "a robot, a heartbeat or a default key.",
        evidence="by the watermark the longest session is open for {length_ms:duration}, and was "
        "written in {puts:number} of {window:version}; the others last ~{usual_ms:duration}",
    )


def longest_session(store: StoreView) -> LongSession | None:
    """Return the oldest session of those that each partition lists as written most often.

    None if no key is listed or the schema is unknown.
    """
    tops = [key for key in store.facts.of_store(TopKey, store.name) if key.by is TopBy.PUTS]
    if not tops or not store.key_fields:
        return None
    *_, slots = columns_of([top.key for top in tops], store.key_fields)
    times = [int.from_bytes(slot, "little", signed=True) for slot in slots]
    begin, first = min(dict(zip(times, tops, strict=True)).items(), key=itemgetter(0))
    return LongSession(begin // MICROS_PER_MS, first.puts, store.words_of_key(first.key))
