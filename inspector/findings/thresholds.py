"""From which numbers on something is worth a finding; every one of them can be set.

``--threshold NAME=VALUE`` of the commands that judge, ``thresholds`` of
:class:`inspector.api.Options`. A name is a field of :class:`Thresholds`, or the id of a finding:
then the value is the least number of rows (of occurrences, where it counts none) from which on
that finding is reported at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from inspector.light_dataclasses import dataclass, field, fields
from inspector.quantities import number_of

_ID = re.compile(r"SS[123]\d\d")


def _at(default: Any, ids: str, doc: str) -> Any:
    return field(default=default, metadata={"ids": ids, "doc": doc})


@dataclass(frozen=True)
class Thresholds:
    """The numbers that the rules compare with; the defaults are silent on sound queries.

    Attributes:
        at_least: id of a finding -> the least rows or occurrences from which on it is reported.
    """

    window_versions: int = _at(
        5,
        "SS201 SS204 SS205 SS209 SS216 SS217 SS219 SS220 SS221 SS224 SS308 SS310",
        "Versions whose changes must be known before what did not happen in them says anything.",
    )
    entries_per_key: int = _at(
        64,
        "SS216",
        "Entries in a list or map of one key from which on it is reported that it only grows.",
    )
    entries_warned: int = _at(1024, "SS216", "Entries of one key from which on it is a warning.")
    timers_per_key: float = _at(
        3.0, "SS219", "Timers per key from which on it is reported that they only gather."
    )
    unique_puts: int = _at(
        100, "SS217", "Puts from which on it is reported that nearly all of them were new keys."
    )
    unique_share: float = _at(0.99, "SS217", "Share of the puts that were of new keys.")
    alike_share: float = _at(
        0.05, "SS223", "Share of the keys compared that equal another in all columns but one."
    )
    far_days: float = _at(
        180.0, "SS218", "Days by which rows expire after the clock that they go by."
    )
    far_warned: float = _at(730.0, "SS218", "Days from which on it is a warning.")
    far_spans: float = _at(
        10.0,
        "SS218",
        "Times the history that can be read by which the first row of a store expires, where "
        "none has gone yet.",
    )
    far_hours: float = _at(1.0, "SS218", "Hours that this is at the least.")
    far_share: float = _at(
        0.01,
        "SS201 SS218",
        "Share of a store's rows that expire so late, or have a null event time.",
    )
    data_batches: int = _at(
        3,
        "SS206 SS207 SS210 SS211",
        "Batches with new data without which a watermark that does not move is no surprise.",
    )
    replay_deltas: int = _at(
        100,
        "SS103",
        "Deltas that a restart has to replay in one partition. Spark makes a snapshot from 10 "
        "deltas on, but looks only once a minute, so that a query with a batch each second has "
        "up to 70.",
    )
    replay_noted: int = _at(50, "SS103", "Deltas of one partition from which on it is information.")
    replay_slow: int = _at(
        20, "SS103", "Such deltas where Spark would have made a snapshot within the time."
    )
    replay_minutes: float = _at(10.0, "SS103", "Minutes of batch clock that make this time.")
    ahead_hours: float = _at(
        24.0,
        "SS211",
        "Hours by which the watermark is ahead of the batch clock. A wrong time zone makes 14 at "
        "most, and the event times of a replay lie in the past.",
    )
    behind_hours: float = _at(
        1.0,
        "SS206",
        "Hours by which a watermark that moves is behind the newest event times and its delay.",
    )
    ahead_noted: float = _at(
        0.5,
        "SS211",
        "Hours from which on it is information, or a warning where new data does not move it.",
    )
    skew_ratio: float = _at(
        3.0, "SS302", "Rows of the largest partition over those of the smaller half."
    )
    skew_rows: int = _at(
        100, "SS302", "Rows that the largest partition has at least; fewer are uneven by chance."
    )
    value_ratio: float = _at(100.0, "SS303", "Bytes of the largest value over the median value.")
    value_bytes: int = _at(4096, "SS303", "Bytes that the largest value has at least.")
    hot_share: float = _at(
        0.5,
        "SS303 SS307 SS313",
        "Share of a store's bytes, or of the rows of a join's side or of the entries of a list "
        "or map, that one key has.",
    )
    hot_rows: int = _at(
        100, "SS222 SS307", "Rows of a join's side, or entries of a list or map, at the least."
    )
    value_growth: float = _at(
        2.0, "SS308", "Bytes of the mean value over those of the oldest version."
    )
    mean_value_bytes: int = _at(
        1024, "SS308 SS313", "Bytes that the mean value, or a column of it, has at least."
    )
    windows_per_event: int = _at(24, "SS309", "Windows that an event is written to.")
    rows_per_record: float = _at(
        10.0, "SS309", "Rows of the state that are written for one record of the sources."
    )
    zip_ratio: float = _at(
        2.0, "SS310", "Bytes uploaded over the bytes of the rows that were written."
    )
    zip_bytes: int = _at(8_192, "SS310", "Bytes that a batch uploads at the least.")
    same_value_share: float = _at(
        0.5, "SS304", "Share of all updates that write the value that is there already."
    )
    empty_share: float = _at(0.5, "SS305", "Share of the deltas that change nothing.")
    empty_deltas: int = _at(100, "SS305", "Deltas that change nothing, over all partitions.")
    left_files: int = _at(
        10, "SS311", "Temporary files of failed attempts, and more than there are stores."
    )
    kept_versions: int = _at(
        200,
        "SS312",
        "Versions whose files are kept. Spark keeps 100 (minBatchesToRetain), and looks once a "
        "minute, so that a query with a batch each second has up to 170.",
    )
    kept_batches: int = _at(
        120,
        "SS312",
        "Such versions where the offset log keeps as many batches: Spark purges it in every batch.",
    )
    heap_bytes: int | None = _at(
        None,
        "SS306",
        "Bytes of heap that the state may take in all executors together, in the two versions "
        "that Spark retains; not judged unless it is given.",
    )
    at_least: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def parse(cls, given: Mapping[str, str | float]) -> Thresholds:
        """Those of a user, ``NAME=VALUE`` each, and the defaults of all others.

        Raises:
            ValueError: unknown threshold so, or the value is not a number for it.
        """
        result: dict[str, Any] = {}
        ids: dict[str, int] = {}
        numbers = {f.name: f for f in fields(cls) if f.name != "at_least"}
        for name, value in given.items():
            amount = number_of(value) if isinstance(value, str) else value
            if _ID.fullmatch(name):
                ids[name] = int(_whole(name, value, amount))
            elif name not in numbers:
                raise ValueError(
                    f"unknown threshold {name!r}; expected one of {', '.join(sorted(numbers))}, or "
                    "the id of a finding (SS202=100: reported from 100 rows on)"
                )
            elif isinstance(numbers[name].default, float):
                if amount is None:
                    raise ValueError(
                        f"{value!r} is not a number for the threshold {name}, expected one like 0.5"
                    )
                result[name] = float(amount)
            else:
                result[name] = int(_whole(name, value, amount))
        return cls(**result, at_least=ids)

    def reports(self, id_: str, count: int | None) -> bool:
        """Whether a finding about so many rows, or occurrences, is to be reported.

        One that counts none (None) occurs once.
        """
        return (1 if count is None else count) >= self.at_least.get(id_, 0)


def _whole(name: str, value: object, amount: float | None) -> float:
    if amount is None or amount != int(amount):
        raise ValueError(f"{value!r} is not a whole number for the threshold {name}")
    return amount


DEFAULTS = Thresholds()
"""What is compared with where nobody sets anything."""
