"""``leftovers --explain``: the story of one key, or of one class, batch by batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Annotated, Any

from inspector import docs
from inspector.analyses.expiry.leftover_tables import LeftoverRow, LeftoverWords
from inspector.analyses.shared.judged import Judged, store_ids
from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.discovery.unknown_watermarks import operator_holding_back
from inspector.facts.expired import LeftoverClass
from inspector.facts.leftover_facts import LeftoverAge
from inspector.light_dataclasses import dataclass
from inspector.merge.collect import Facts
from inspector.merge.resolution import reasons_of
from inspector.model import BatchClock, BatchId, Redact, StoreName, TimeoutKind
from inspector.operators.inferences import INFERENCES
from inspector.operators.physical import only_sources_feed
from inspector.operators.rule import MICROS_PER_MS, Clock, ExpiryField, StoreRule
from inspector.quantities import long_duration_text
from inspector.render import tabular as t
from inspector.render.report import Report
from inspector.sums import group_by
from inspector.time_text import time_ms_text


def proof_notes(kind: LeftoverClass) -> tuple[str, ...]:
    """Return one line for each premise and inference on which the leftovers of a class rest.

    The lines are footnotes. Those of premises come first.
    """
    return (*map(_premise, _RESTS_ON[kind]), *map(_inference, _INFERRED_BY.get(kind, ())))


_BY_CLOCK = ("own-batch", "one-watermark")  # names of the premises of proofs by a batch's clock
# names of the premises of proofs by timeouts of the user's function
_BY_TIMEOUT = (
    *("data-first", "only-data-calls", "set-after-clock", "clears-timers", "idle-batch"),
    *("one-clock", "own-batch"),
)
# names of the premises that proofs of each class of leftovers use
_RESTS_ON: Mapping[LeftoverClass, Sequence[str]] = {
    LeftoverClass.PAST_WATERMARK: (*_BY_CLOCK, "timers-fire"),
    LeftoverClass.PAST_PROCESSING_TIME: ("own-batch", "ttl-cleanup", "timers-fire"),
    LeftoverClass.KEPT_WITHOUT_TIMEOUT: _BY_TIMEOUT,
    LeftoverClass.REARMED: _BY_TIMEOUT,
    LeftoverClass.IGNORED_TIMEOUT: ("set-after-clock", "idle-batch", "one-clock", *_BY_CLOCK),
}


def _premise(name: str) -> str:
    """Return the premise called ``name`` as one line.

    It has its statement, its source, and what would refute it, from the documentation.
    """
    premise = docs.entry(name).paragraphs
    source, refuted_by = premise["Source"], premise["Refuted by"]
    return f"premise {name}: {premise['']} Source: {source}. Refuted by: {refuted_by}."


_INFERRED_BY: Mapping[LeftoverClass, Sequence[str]] = {
    LeftoverClass.PAST_WATERMARK: ("complete-mode",),
    LeftoverClass.KEPT_WITHOUT_TIMEOUT: ("kept-by-habit", "unseen-rewrites", "kept-before-window"),
    LeftoverClass.REARMED: ("rearmed-by-habit", "unseen-rewrites", "clock-of-neighbours"),
    LeftoverClass.IGNORED_TIMEOUT: ("clock-of-neighbours",),
}
"""Names of the inferences that find leftovers of a class where there is no proof, by class."""


def _inference(name: str) -> str:
    """Return the inference called ``name`` as one line.

    It has its statement, its hit rate on random workloads, and what would make it certain.
    """
    inference, paragraphs = INFERENCES[name], docs.entry(name).paragraphs
    often = f"right {inference.right:,} of {inference.of:,} times on random workloads"
    certain = f"Decided by: {paragraphs['Decided by']}."
    return f"inference {name}: {paragraphs['']} It was {often}. {certain}"


# what a clock is called in sentences
_CLOCK_NAMES = {
    TimeoutKind.EVENT_TIME: "the watermark",
    TimeoutKind.PROCESSING_TIME: "the batch's processing time",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)  # zero of timestamps


class ClassStoryRow(t.Row, table="story", empty="no key is a leftover of this class"):
    """With `--explain CLASS`: keys of one class that expired in one batch."""

    batch_id: Annotated[t.BatchId | None, t.Rank(1)]
    operator_id: t.OperatorId
    operator_name: Annotated[t.OperatorName | None, t.WIDE]
    store_name: Annotated[t.StoreName, t.WIDE]
    watermark_ms: Annotated[t.WatermarkMs | None, t.Rank(6)]
    batch_timestamp_ms: t.BatchTimestampMs | None
    new_data: t.NewData | None
    certainty: Annotated[t.Certainty, t.Rank(5)]
    keys: Annotated[t.Count, "Keys that the batch found expired.", t.Rank(3)]
    row_bytes: Annotated[t.RowBytes, t.Rank(4)]
    what: Annotated[t.What, t.Rank(2)]


class KeyStoryRow(
    t.Row, table="story", empty="no restorable version contains or contained this key"
):
    """With `--explain KEY`: what one batch did to the key, and what that means."""

    batch_id: Annotated[t.BatchId, t.Rank(1)]
    operator_id: t.OperatorId
    operator_name: Annotated[t.OperatorName | None, t.WIDE]
    store_name: Annotated[t.StoreName, t.WIDE]
    partition_id: Annotated[t.PartitionId, t.WIDE]
    key: Annotated[t.KeyJson, t.Rank(6)]
    event: Annotated[
        t.Text,
        "What the record did, as in `history`; `-` if there is none; of the last row `judged`.",
        t.Rank(2),
    ]
    clock_ms: Annotated[t.ClockMs | None, t.Rank(4)]
    threshold_ms: Annotated[t.ThresholdMs | None, t.Rank(5)]
    what: Annotated[t.What, t.Rank(3)]


def explain_class(judged: Judged, kind: str) -> Report:
    """Return the report on the leftovers of one class, counted by the batch that expired them.

    ``kind`` is the name of the class. The table has a row for each store, batch and certainty. The
    footnotes are the premises and inferences of the class. Raises ValueError for an unknown name.
    """
    groups: dict[tuple[int, str, int, str], list[LeftoverAge]] = defaultdict(list)
    for observation in judged.facts.leftover_ages:
        age = observation.fact
        if age.leftover_class.value == kind:
            expired = 0 if age.before_window else age.expired_version
            groups[(*observation.store.name, expired, age.certainty.value)].append(age)
    rows = [_class_row(judged.checkpoint, *group) for group in sorted(groups.items())]
    when = f"in version {judged.version}, by the batch in which they expired"
    table = ClassStoryRow.table(f"{kind}: keys still there {when}", rows)
    return judged.report("leftovers", (table,), footnotes=proof_notes(LeftoverClass(kind)))


def _class_row(
    checkpoint: Checkpoint, group: tuple[int, str, int, str], ages: Sequence[LeftoverAge]
) -> ClassStoryRow:
    """Return the row on the leftovers of one store that expired in one version.

    ``group`` is operator id, store name, version (0: before the readable ones) and certainty.
    ``ages`` are the counts to add up, at least one.
    """
    operator_id, store, expired, certainty = group
    upstream = next(o.upstream for o in checkpoint.operators if o.operator_id == operator_id)
    clock = checkpoint.clock(expired) or BatchClock(BatchId(expired - 1))
    proof = "their records lie behind those of new data: their timeout called the function"
    if ages[0].timeout_kind is None:
        proof = "the batch's watermark or processing time had passed them, and they stayed"
    elif only_sources_feed(upstream) and clock.has_new_data is False:
        proof = "no new data could reach the operator: only their timeout called the function"
    return ClassStoryRow(
        batch_id=expired - 1 if expired else None,
        **store_ids(checkpoint, (operator_id, store)),
        watermark_ms=clock.watermark_ms or None,
        batch_timestamp_ms=clock.timestamp_ms,
        new_data=clock.has_new_data,
        certainty=certainty,
        keys=sum(age.rows for age in ages),
        row_bytes=sum(age.row_bytes for age in ages),
        what=reasons_of(ages) or proof,
    )


_Event = Mapping[str, Any]  # change of a key: a row of the command ``history``, by column
# operator id, store name, partition id (-1 if partitions do not count), and key in hex
_Key = tuple[int, str, int, str]


def explain_keys(judged: Judged, events: Sequence[_Event]) -> Report:
    """Return the report on the story of each key in ``events``, batch by batch.

    ``events`` are the changes of the keys: rows of the command ``history``, oldest first, with the
    column ``key_hex``. Without events the table has no rows.
    """
    checkpoint, facts = judged.checkpoint, judged.facts
    listed = LeftoverWords.of(checkpoint, Redact.NONE).rows(facts.leftovers, LeftoverRow)
    rows: list[KeyStoryRow] = []
    moves = checkpoint.logs.repartitions
    for group, key_events in _by_key(events, moves).items():
        operator = next(o for o in checkpoint.operators if o.operator_id == group[0])
        rule = operator.rules[group[1]].by_key_time(facts.key_times.get(group[0]))
        clock = partial(_timer_clock, checkpoint, operator, group[1], facts)
        leftover = next((row for row in listed if _identity(t.values(row), moves) == group), None)
        unsure = partial(facts.resolution.may_have_changed, StoreName(group[0], group[1]))
        fed = only_sources_feed(operator.upstream)
        rows += _story(judged, key_events, Narrator(leftover, rule, clock, unsure, fed))
    table = KeyStoryRow.table("what happened, batch by batch", rows)
    return judged.report("leftovers", (table,))


def _timer_clock(
    checkpoint: Checkpoint, operator: Operator, store: str, facts: Facts, version: int
) -> TimeoutKind | None:
    """Return the clock that the timers of an operator's ``store`` followed at a version.

    None if the clock is not known, or if an operator upstream may delay its watermark.
    """
    kind = facts.resolution.clock_of(StoreName(operator.operator_id, store), version).kind
    is_event_time = kind is TimeoutKind.EVENT_TIME
    lags = is_event_time and operator_holding_back(checkpoint, operator, version)
    return None if lags else kind


def _identity(row: _Event, moves: Collection[int]) -> _Key:
    """Return the identity of the key in a row of a report that has a column ``key_hex``.

    ``moves`` are the batches of repartitionings. If there are any, the partition is -1, because
    keys may have moved.
    """
    partition = -1 if moves else row["partition_id"]
    return row["operator_id"], row["store_name"], partition, str(row["key_hex"])


def _by_key(events: Sequence[_Event], moves: Collection[int]) -> dict[_Key, list[_Event]]:
    """Return the events of each key, in the order of ``events``.

    ``moves`` are the batches of repartitionings. Events of these batches are left out for a key
    that has earlier ones, because they only copy it.
    """
    events_by_key: dict[_Key, list[_Event]] = defaultdict(list)
    for event in events:
        key_events = events_by_key[_identity(event, moves)]
        # The snapshot of a repartitioning says nothing new of a key whose history is there.
        if not key_events or event["version"] - 1 not in moves:
            key_events.append(event)
    return events_by_key


def _story(
    judged: Judged, events_of_key: Sequence[_Event], narrator: Narrator
) -> Iterator[KeyStoryRow]:
    """Yield the rows on one key, from its first event to the judged version, then the verdict.

    ``events_of_key`` are its rows of ``history``, at least one. There is a row for each event, and
    for each batch without one that still means something, as a timeout that fires. ``narrator``
    puts them into words.
    """
    version, first = judged.version, events_of_key[0]
    events_by_version = group_by(events_of_key, lambda event: int(event["version"]))
    names = ("operator_id", "operator_name", "store_name", "partition_id", "key")
    ids = {name: first[name] for name in names}

    def line(version: int, event: str, threshold: int | None, meaning: str) -> KeyStoryRow:
        """Return the row on one event in the batch of a version, with the key's present time."""
        times: dict[str, Any] = {"clock_ms": narrator.clock_ms, "threshold_ms": threshold}
        return KeyStoryRow(batch_id=version - 1, **ids, event=event, **times, what=meaning)

    for batch_version in range(min(events_by_version, default=version), version + 1):
        clock = judged.checkpoint.clock(batch_version)
        is_foreign = clock is not None and clock.has_foreign_rows
        threshold = None if is_foreign else narrator.threshold(batch_version, clock)
        events = events_by_version.get(batch_version, [])
        for event in events:
            text = narrator.event(event, clock, threshold)
            yield line(batch_version, event["event"], threshold, text)
        if not events and (silent := narrator.silence(threshold)):
            yield line(batch_version, "-", threshold, silent)
    yield line(version, "judged", None, narrator.verdict)


@dataclass
class Narrator:
    """Narrator of one key's puts and removals, who says what each means under its store's rule.

    The methods must be called batch by batch, oldest first, because they update the key's state.
    """

    leftover: LeftoverRow | None  # the key as ``leftovers`` reports it; None if it is no leftover
    rule: StoreRule  # expiry rule of the key's store
    # returns the clock that timers followed at a version; None if unknown
    timer_clock: Callable[[int], TimeoutKind | None]
    # returns whether timers may have followed the other clock at a version
    may_have_changed: Callable[[int], bool]
    # True if a batch without new data calls the function for timeouts only
    only_sources_feed: bool
    clock_ms: int | None = None  # the key's present timer or time, in ms; None without one
    alive: bool = False  # True if the key is in the state at this point of the story
    # True if a timeout of an unknown clock may have fired and left the key without a timer
    may_have_fired: bool = False
    # clock that timers followed at the version of :meth:`threshold`
    _kind: TimeoutKind | None = None
    # time of the other clock at that version, epoch ms, if timers may have followed it; else None
    _other_ms: int | None = None
    _covered: bool = False  # True if the story has said that the clock passed the key's time

    def __post_init__(self) -> None:
        """Find the rule's time field, and note if it is a timer of a function."""
        self._expiry: ExpiryField | None = self.rule.expiry
        self._timed = self._expiry is not None and self._expiry.clock is Clock.TIMEOUT

    @property
    def verdict(self) -> str:
        """Last line of the story: gone, not known, no leftover, or class and certainty."""
        if not self.alive:
            return "the key is gone"
        if self.leftover is None and self.may_have_fired:
            return "not known: which clock the timers follow would decide it (--timeout-kind)"
        if self.leftover is None:
            return "no leftover: no batch that ran found it expired"
        reason = f": {self.leftover.reason}" if self.leftover.reason else ""
        return f"{self.leftover.class_}, {self.leftover.certainty}{reason}"

    def threshold(self, version: int, clock: BatchClock | None) -> int | None:
        """Return the time (epoch ms) with which the batch of a version compared rows.

        ``clock`` is the clock of that batch. None if the clock or the expiry rule is unknown. For
        timers it also notes which clock they followed.
        """
        if clock is None or self._expiry is None:
            return None
        if self._timed:
            self._kind, self._other_ms = self.timer_clock(version), None
            if self._kind is None:
                return None
            if self.may_have_changed(version):
                # Timers are ahead of both clocks when they are set.
                self._other_ms = clock.time_ms(self._kind.other)
            return clock.time_ms(self._kind) or None
        is_batch_clock = self._expiry.clock is Clock.PROCESSING_TIME
        return clock.timestamp_ms if is_batch_clock else clock.watermark_ms or None

    def event(self, event: _Event, clock: BatchClock | None, threshold: int | None) -> str:
        """Return what a put or removal of the key means, and update the key's state.

        ``event`` is a row of ``history``, ``clock`` the clock of its batch. ``threshold`` is the
        time, epoch ms, with which that batch compared rows.
        """
        due, was = self._due(threshold), self.clock_ms
        self.may_have_fired = False
        self.alive = event["event"] not in ("removal", "absent_removal")
        self.clock_ms = self._time(event) if self.alive else None
        if not self._timed:
            if not self.alive:
                return "removed"
            self._covered = self._due(threshold)
            word = "put" if event["event"] != "in_snapshot" else "held by the oldest snapshot"
            return f"{word}; the batch's clock covered it" if self._covered else word
        if clock is not None and clock.appended and event["event"] != "in_snapshot":
            return f"a tool {self._outcome(event)}"
        if clock is not None and clock.edited and event["event"] != "in_snapshot":
            return f"the batch, or the tool that changed its version, {self._outcome(event)}"
        leftover = self.leftover
        last = leftover is not None and leftover.last_put_version == event["version"]
        proven = last and leftover is not None and leftover.certainty == "proven"
        return f"{self._cause(due, was, threshold, clock, proven=proven)} {self._outcome(event)}"

    def silence(self, threshold: int | None) -> str:
        """Return what a batch without a write for the key means; "" if it means nothing.

        It means something if the key's time has expired at ``threshold`` (epoch ms). For rules
        without timers only the first such batch counts.
        """
        if not self.alive or not self._due(threshold):
            return ""
        if self._timed:
            again = "the function wrote nothing, so it fires again"
            return f"its timeout lies {self._before(self.clock_ms, threshold)}: it fires; {again}"
        if self._covered:
            return ""
        self._covered = True
        return "the batch's clock covered it, and it stayed"

    def _cause(
        self,
        due: bool,
        was: int | None,
        threshold: int | None,
        clock: BatchClock | None,
        *,
        proven: bool,
    ) -> str:
        """Return the beginning of a sentence on a write: what made Spark call the function.

        ``due`` is True if the timer had run out before the write, and ``was`` is its time, epoch
        ms; None without a timer. ``threshold`` is the time, epoch ms, by which timers fire in this
        batch; None if unknown. ``clock`` is the clock of the batch; None if unknown. ``proven`` is
        True if the key is a proven leftover since this write.

        Also sets ``may_have_fired``, which :attr:`verdict` reads, unless the key is a proven
        leftover whose timer was not due.
        """
        if not due and proven:
            return "its record lies behind those of new data: its timeout fired and"
        unsure = self._other_ms is not None and was is not None and was < self._other_ms
        self.may_have_fired = not due and unsure and self.alive and self.clock_ms is None
        if not due and (threshold is None or unsure) and was is not None:
            unknown = "no record of the batch shows which clock timers follow"
            why = unknown if unsure else "the batch's clock is not known"
            return f"its timeout fired, or new data came ({why}); the call"
        if not due:
            return "a call for new data" if was is None else "before its timeout, a call for data"
        fired = self._before(was, threshold)
        if self.only_sources_feed and clock is not None and clock.has_new_data is False:
            return f"its timeout lay {fired} and the batch had no new data: the timeout fired and"
        if proven:
            return f"its timeout lay {fired} and its record behind those of new data: it fired and"
        return f"its timeout lay {fired}: it fired, or new data came; the call"

    def _outcome(self, event: _Event) -> str:
        """Return the end of a sentence on a write: what it left of the key and its timer."""
        if event["event"] == "in_snapshot":
            return "before the window left this"
        if not self.alive:
            return "removed the key"
        timer = "no timeout" if self.clock_ms is None else f"timeout {time_ms_text(self.clock_ms)}"
        word = {"insert": "made the key with", "same_value": "wrote the same value with"}
        return f"{word.get(event['event'], 'wrote the key with')} {timer}"

    def _due(self, threshold: int | None) -> bool:
        """True if the key's timer or time has expired at a threshold (epoch ms).

        False if one of them, or the expiry rule, is unknown.
        """
        if self.clock_ms is None or threshold is None or self._expiry is None:
            return False
        bound = threshold - self._expiry.delay_ms
        return self.clock_ms <= bound if self._expiry.inclusive else self.clock_ms < bound

    def _before(self, clock_ms: int | None, threshold: int | None) -> str:
        """Return a text such as ``2 hours before the watermark``.

        ``clock_ms`` is the key's time and ``threshold`` the batch's, epoch ms; None counts as 0.
        """
        name = "the batch's clock" if self._kind is None else _CLOCK_NAMES[self._kind]
        return f"{long_duration_text((threshold or 0) - (clock_ms or 0))} before {name}"

    def _time(self, event: _Event) -> int | None:
        """Return the timer or event time (epoch ms) that a write gave the key; None without one."""
        if self._timed:
            timer: int | None = event["timeout_ms"]
            return timer
        return None if self._expiry is None else _field_ms(event, self._expiry)


def _field_ms(event: _Event, expiry: ExpiryField) -> int | None:
    """Return the time of a key in epoch ms, rounded up; None if it is no time.

    ``event`` is a row of ``history`` with decoded key and value; ``expiry`` names the field.
    """
    value: Any = event[expiry.part.value]
    for name in expiry.name.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if isinstance(value, int):
        return -(-value // expiry.per_ms)
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value.removesuffix("Z")).replace(tzinfo=timezone.utc)
    except ValueError:
        return None  # a year beyond 9999
    micros = (moment - _EPOCH) // timedelta(microseconds=1)
    return -(-micros // MICROS_PER_MS)
