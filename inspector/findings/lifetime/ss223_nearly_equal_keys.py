"""SS223: keys that differ in one column alone.

What it means:
    Keys equal another one except for case or blanks (`u1` and `U1`). Or keys of a deduplication,
    except for a value that an event gets anew each time that it is sent or read, such as a UUID or
    the event time.

How it is proven:
    The columns of up to 1,024 newest keys are compared.

Source:
    StateStore (2.3 to 4.3): keys are compared byte by byte.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import ALIKE_SHARE, Threshold
from inspector.findings.views.store_keys import FEWEST_KEYS, columns_of
from inspector.findings.views.store_view import StoreView
from inspector.model import Certainty
from inspector.operators.deduplicate import NAMES as DEDUPLICATE
from inspector.operators.rule import WATERMARK_KEY
from inspector.sparktypes import TIMESTAMP, TIMESTAMP_NTZ, StringType
from inspector.sums import group_by

# largest number of sampled keys that count as retries of one event; more of them are no retries
MOST_TRIES = 6


class NearlyEqualKeys(Rule[StoreView]):
    """Keys that differ from another key in one column alone and most likely mean the same."""

    scope = "store"
    id = "SS223"
    title = "keys that differ in one column alone"
    severity = Severity.INFO
    certainties = (Certainty.INFERRED,)
    spark = "Dataset.dropDuplicates"
    next_step = (
        "make the column uniform before the operator, such as lower(trim(user)), or leave what an "
        "event gets anew out of the key (an event time: use dropDuplicatesWithinWatermark)"
    )
    command = "rows"
    explains = ("SS217", "SS218")
    explains_store = True

    alike_share = ALIKE_SHARE
    alike_keys = Threshold(5, "keys", "Keys that differ from another in one column.")

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield at most one evidence: the column in which most keys differ from another alone.

        At least ``alike_keys`` keys, and the share ``alike_share`` of the sampled ones, must do so.
        """
        candidates = [*self.spellings(store)]
        if store.operator_name in DEDUPLICATE:
            candidates += self.event_columns(store)
        alike, evidence = max(candidates, key=itemgetter(0), default=(0, None))
        compared = len(store.keys.sample)
        if evidence is not None and alike >= max(self.alike_keys, self.alike_share * compared):
            yield evidence

    def spellings(self, store: StoreView) -> Iterator[tuple[int, Evidence]]:
        """Yield (number of surplus keys, evidence) for each text column of the key.

        Two sampled keys are variants of one key if they differ only in the case of this column or
        in the blanks around it. The number is that of the sampled keys that would go if each group
        of variants became one key: a pair counts 1. It may be 0.
        """
        sample, fields = store.keys.sample, store.key_fields
        columns = [*columns_of([*sample], fields)]
        rows = [*zip(*columns, strict=True)]
        for position, field in enumerate(fields):
            if not isinstance(field.data_type, StringType):
                continue
            texts = [text.decode(errors="replace").strip().casefold() for text in columns[position]]
            others = [row[:position] + row[position + 1 :] for row in rows]
            keys = group_by(zip(texts, others, sample.values(), strict=True), itemgetter(0, 1))
            last = last_of_older([put for *_, put in group] for group in keys.values())
            yield (
                len(sample) - len(keys),
                self.spelling(
                    keys=len(sample) - len(keys),
                    compared=len(sample),
                    column=field.name,
                    last_put=last - 1 if last else None,
                ),
            )

    def event_columns(self, store: StoreView) -> Iterator[tuple[int, Evidence]]:
        """Yield (number of keys, evidence) for each column that may have a new value in each event.

        The number is that of the sampled keys that equal another one without the column. Such a
        column may have a different value in each key, in addition to a time in another column. It
        may be a time next to the event time. It may be the event time, if events look as if they
        were sent again.
        """
        sample, fields = store.keys.sample, store.key_fields
        columns = [*columns_of([*sample], fields)]
        rows = [*zip(*columns, strict=True)]
        times = [field.data_type in (TIMESTAMP, TIMESTAMP_NTZ) for field in fields]
        marked = [WATERMARK_KEY in field.metadata for field in fields]
        for position, field in enumerate(fields):
            shared = [row[:position] + row[position + 1 :] for row in rows]
            alike = len(rows) - len(set(shared))
            has_other_time = any(times[:position] + times[position + 1 :])
            # If most keys are alike, as with times that are null, the column tells them apart.
            is_own = has_other_time and 2 * alike <= len(rows)
            is_own = is_own and len(set(columns[position])) == len(rows)
            is_read_time = times[position] and any(marked[:position] + marked[position + 1 :])
            numbers: dict[str, Any] = {"keys": alike, "compared": len(sample), "column": field.name}
            if is_own or is_read_time:
                yield alike, self.own_value(**numbers)
            elif marked[position] and is_sent_again(shared, columns[position]):
                yield alike, self.event_time(**numbers)

    _EVIDENCE = (
        "of the newest {compared:key} {keys:number} differ from another only in {column:quoted}"
    )
    spelling = Case(
        cause="Of the newest {compared:key} {keys:number} differ from another only in the case or "
        "the blanks of {column:quoted}{last_put:last_put}: one thing has several keys.",
        evidence=_EVIDENCE + "{last_put:last_put}",
    )
    own_value = Case(
        cause="Of the newest {compared:key} {keys:number} differ from another only in "
        "{column:quoted}: if an event gets a new value each time that it is sent or read, "
        "duplicates are not seen.",
        evidence=_EVIDENCE,
    )
    event_time = Case(
        cause="Of the newest {compared:key} {keys:number} differ from another only in "
        "{column:quoted}, the event time: if an event sent again has a new one, duplicates are not "
        "seen.",
        evidence=_EVIDENCE,
    )


def last_of_older(versions: Iterable[Sequence[int]]) -> int:
    """Return the last version that put the older key of a pair, if all newer keys came after it.

    ``versions`` has, for each group of keys that mean one thing, the versions that put them last.
    Returns 0 if a newer key was put no later, or if fewer than FEWEST_KEYS groups are pairs.
    """
    pairs = [sorted(group) for group in versions if len(group) == 2]
    last = max((older for older, _ in pairs), default=0)
    has_ended = len(pairs) >= FEWEST_KEYS and all(newer > last for _, newer in pairs)
    return last if has_ended else 0


def is_sent_again(values: Sequence[Hashable], column: Sequence[bytes]) -> bool:
    """Return True if values look like events that were sent again at other times.

    ``values`` are the keys without the column of event times, and ``column`` has the times as 8
    bytes each. Both have one entry for each key. Either ``in_pairs`` or ``come_and_go`` must be
    True.
    """
    times = [int.from_bytes(time, "little", signed=True) for time in column]
    return in_pairs(values) or come_and_go(values, times)


def in_pairs(values: Sequence[Hashable]) -> bool:
    """Return True if some values are there twice, as events that are sent again.

    A fifth to two fifths of the values must equal an earlier one, and hardly any may be there more
    than twice.
    """
    # If one in five equals another, values drawn from a set have 14 % three times (Poisson). If
    # nearly all are pairs, they are pairs, such as a begin and an end.
    counts = Counter(values)
    again = len(values) - len(counts)
    more = sum(count - 2 for count in counts.values() if count > 2)
    return 5 * again >= len(values) and 5 * again <= 2 * len(values) and 20 * more <= again


def come_and_go(values: Sequence[Hashable], times: Sequence[int]) -> bool:
    """Return True if values are there a few times, closer together than by chance, as retries.

    ``times`` has the time of each value. A value may be there up to MOST_TRIES times.
    """
    # Between the first and the last of n times drawn from a span are (n - 1) / (n + 1) of it.
    # Times of users, who come all the time, do so; a begin and an end are there twice, nearly all.
    groups = group_by(zip(values, times, strict=True), itemgetter(0))
    several = [[time for _, time in group] for group in groups.values() if len(group) > 1]
    counts = Counter(map(len, several))
    again = len(values) - len(groups)
    if sum(counts.values()) < FEWEST_KEYS or max(counts) > MOST_TRIES or 5 * again < len(values):
        return False
    by_chance = sum((len(group) - 1) / (len(group) + 1) for group in several)
    distance = sum(max(group) - min(group) for group in several)
    ordered = sorted(times)  # without the ends: one time may be null, or years ahead
    whole = ordered[-1 - len(times) // 20] - ordered[len(times) // 20]
    return counts[2] < 2 * again // 3 and 3 * distance <= 2 * by_chance * whole
