"""Tables as they are declared: one frozen dataclass each, whose fields are the columns.

::

    class SkewRow(t.StoreRow, table="skew", empty="no store has rows of this version"):
        '''How evenly the rows of one store are spread over its partitions.'''

        partitions: Annotated[t.Count, "Partitions of the store.", t.Rank(11)]
        max_rows: t.MaxRows
        largest_heap_bytes: Annotated[t.EstimatedBytes, "Heap of the largest.", t.WIDE]

The type of a field says its unit and, where many tables have the column, its meaning; what stands
beside it says the rest. A name that Python keeps for itself ends in ``_`` as a field, and not in
the table. What rows are in JSON, Arrow and text is made of the columns and of :func:`values`.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Sized
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar, cast

from inspector.exceptions import InspectorError
from inspector.light_dataclasses import dataclass, field, fields, hints_of, replace
from inspector.quantities import count_text, go_on_with
from inspector.type_hints import hint_parts

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_options):
        """Do nothing. Type checkers read the decorator."""
        return lambda cls: cls


R = TypeVar("R", bound="Row")  # class of rows


class Unit(enum.Enum):
    """Unit of a column's numbers. Text renderers format by it; machine formats do not."""

    TEXT = "text"
    COUNT = "count"
    BYTES = "bytes"
    PER_HOUR = "per_hour"
    BYTES_PER_HOUR = "bytes_per_hour"
    SHARE = "share"
    RATIO = "ratio"
    DURATION_MS = "duration_ms"
    TIME_MS = "time_ms"
    ID = "id"
    VALUE = "value"
    FLAG = "flag"


class Estimate(int):
    """A whole number that is estimated, in a column whose other numbers are exact."""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str  # name in machine formats
    unit: Unit = Unit.TEXT
    exact: bool = True  # counted from bytes; False for an estimate
    doc: str = field(default="", compare=False)  # meaning of the column
    # heading for people, if it is not the name
    title: str | None = field(default=None, compare=False)
    # left out in tables for people if the width is limited
    wide: bool = field(default=False, compare=False)
    # a narrow terminal shows the lowest ranks; columns without one follow in their order
    rank: int | None = field(default=None, compare=False)

    @property
    def head(self) -> str:
        """Heading in tables for people; the suffix ``_ms`` of a time is left out."""
        timed = self.unit in (Unit.TIME_MS, Unit.DURATION_MS)
        name = self.name.removesuffix("_ms") if timed else self.name
        return name.replace("_", " ") if self.title is None else self.title


@dataclass(frozen=True)
class Table:
    """A table of a report: rows, by column name, under columns."""

    name: str  # name in JSON
    title: str  # title for people
    columns: Sequence[Column]  # in order; a row may lack a name, which is null
    # a list, or :class:`StreamedRows` if there are too many to hold, which are read once
    rows: Iterable[Mapping[str, Any]]
    empty: str = "none"  # text if there are no rows
    shown: bool = True  # shown to people; False if another table of the report has the rows, too
    hides_constants: bool = False  # columns with one value in all rows are the first to be left out

    def without_constants(self) -> Table:
        """Return a copy that is marked, so that a drawn table leaves out columns with one value.

        All columns remain in the copy. A drawn table shows them with ``--wide``, or if it has one
        row. Columns that name a row are always shown.
        """
        return replace(self, hides_constants=True)

    def with_wide(self, *names: str) -> Table:
        """Return a copy in which these columns, too, are left out for people."""
        columns = [replace(c, wide=c.wide or c.name in names) for c in self.columns]
        return replace(self, columns=columns)

    def __post_init__(self) -> None:
        """Turn a generator of rows into :class:`StreamedRows`, which refuse a second reading."""
        if isinstance(self.rows, Iterator):
            object.__setattr__(self, "rows", StreamedRows(self.rows, self.name))

    def __repr__(self) -> str:
        """Return name and size; rows are left out, as they are many and may be personal data."""
        rows = self.rows
        count = len(rows) if isinstance(rows, Sized) else getattr(rows, "count", None)
        words = "" if count is None else f", {count_text(count, 'row')}"
        return f"<Table {self.name}: {len(self.columns)} columns{words}>"


class Rank(int):
    """Importance of a column (:attr:`Column.rank`); lower numbers are shown first."""


class Title(str):
    """Heading of a column in tables for people, if its name is not plain."""


class Mark(enum.Enum):
    """Further property of a column: hidden from people, estimated, or shown only with ``--raw``."""

    WIDE = "wide"
    ESTIMATE = "estimate"
    RAW = "raw"


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Row:
    """Base of all row classes: the class declares a table, and its fields are the columns.

    A subclass is a frozen dataclass with keyword arguments; its docstring says what a row is about.
    """

    table_name: ClassVar[str] = ""  # name of the table in JSON; "" for a base of several tables
    when_empty: ClassVar[str] = "none"  # text if there are no rows
    renames: ClassVar[bool] = False  # a field has another name than its column

    def __init_subclass__(cls, *, table: str = "", empty: str = "none") -> None:
        """Declare the table ``table`` and make the class a frozen dataclass.

        ``empty`` is the text if there are no rows.
        """
        cls.table_name, cls.when_empty = table, empty
        cls.renames = cls.renames or any(name.endswith("_") for name in cls.__annotations__)
        dataclass(frozen=True, kw_only=True)(cls)

    @classmethod
    def row_meaning(cls) -> str:
        """Return the meaning of a row from the docstring of its class, as part of a sentence."""
        return go_on_with(" ".join((cls.__doc__ or "").split()).removesuffix("."))

    @classmethod
    def columns(cls, *, raw: bool = False, without: Collection[str] = ()) -> tuple[Column, ...]:
        """Return the columns, without the named ones; those of ``--raw`` only with ``raw``.

        Raises ValueError for an unknown name.
        """
        plain, marked = _columns(cast("Hashable", cls))
        unknown = set(without) - {column.name for column in (*plain, *marked)}
        if unknown:
            raise ValueError(f"{cls.__name__} has no columns {sorted(unknown)}")
        chosen = (*plain, *(marked if raw else ()))
        return tuple(column for column in chosen if column.name not in without)

    @classmethod
    def table(
        cls: type[R],
        title: str,
        rows: Iterable[R],
        *,
        columns: Iterable[Column] | None = None,
        empty: str | None = None,
        shown: bool = True,
    ) -> Table:
        """Return the table with these rows: a list is converted now, an iterator when it is read.

        ``columns`` replaces the declared ones, and ``empty`` the declared text. A table that is not
        ``shown`` is left out for people, because another one has its rows.
        """
        chosen = cls.columns() if columns is None else tuple(columns)
        listed = list(map(values, rows)) if isinstance(rows, list) else map(values, rows)
        words = cls.when_empty if empty is None else empty
        return Table(cls.table_name, title, chosen, listed, words, shown)


def values(row: Row) -> Mapping[str, Any]:
    """Return the values of a row by column name.

    It may be the row's own dictionary, which must not be changed.
    """
    fields_of_row = vars(row)
    if not type(row).renames:
        return fields_of_row
    return {name.rstrip("_"): value for name, value in fields_of_row.items()}


@cache
def _columns(cls: Any) -> tuple[list[Column], list[Column]]:
    """Return the columns that a row class declares: the usual ones, and those of ``--raw``."""
    hints = hints_of(cls)
    plain, marked = list[Column](), list[Column]()
    for member in fields(cls):
        marks = _marks(hints[member.name])
        declared = {_KINDS[type(mark)]: mark for mark in marks if not isinstance(mark, Mark)}
        exact, wide = ESTIMATE not in marks, WIDE in marks
        column = Column(member.name.rstrip("_"), exact=exact, wide=wide, **declared)
        (marked if RAW in marks else plain).append(column)
    return plain, marked


def _marks(hint: Any) -> tuple[Any, ...]:
    """Return the annotations of a type; those inside an optional type come first."""
    parts = hint_parts(hint)
    return (*next(filter(None, map(_marks, parts.arguments)), ()), *parts.marks)


_KINDS = {Unit: "unit", Title: "title", str: "doc", Rank: "rank"}  # types of marks -> of Column
WIDE, ESTIMATE, RAW = Mark

Text = Annotated[str, Unit.TEXT]
Count = Annotated[int, Unit.COUNT]
Bytes = Annotated[int, Unit.BYTES]
EstimatedBytes = Annotated[int, Unit.BYTES, ESTIMATE]
PerHour = Annotated[float, Unit.PER_HOUR, ESTIMATE]
BytesPerHour = Annotated[float, Unit.BYTES_PER_HOUR, ESTIMATE]
Share = Annotated[float, Unit.SHARE]
Ratio = Annotated[float, Unit.RATIO]
DurationMs = Annotated[int, Unit.DURATION_MS]
TimeMs = Annotated[int, Unit.TIME_MS]
Id = Annotated[int, Unit.ID]
Json = Annotated[Any, Unit.VALUE]
Flag = Annotated[bool, Unit.FLAG]

# Columns of many tables. Bytes are UnsafeRow bytes unless the text says otherwise.
OperatorId = Annotated[Id, "The stateful operator's number, the folder below `state/`."]
OperatorName = Annotated[Text, "The operator's name in Spark."]
StoreName = Annotated[Text, "The state store; `default` where the operator has one only."]
PartitionId = Annotated[Id, "The partition of the operator's state."]
Version = Annotated[Id, "The state version: batch id + 1."]
BatchId = Annotated[Id, "The batch that made the version."]
BatchTimestampMs = Annotated[TimeMs, "The processing time of the batch, from the offset log."]
WatermarkMs = Annotated[TimeMs, "The watermark with which the batch ran; null: none."]
LagMs = Annotated[
    DurationMs, "The batch's processing time less its watermark.", Title("watermark lag")
]
NewData = Annotated[Flag, "Whether the batch read new input; null if unknown."]
ClockMs = Annotated[
    TimeMs, "When the key expires: its expiry field, or its timer.", Title("expiry time")
]
ThresholdMs = Annotated[
    TimeMs,
    "The batch's watermark or processing time, with which `clock_ms` was compared.",
    Title("watermark or batch time"),
]
Rows = Annotated[Count, "Live rows."]
Keys = Annotated[Count, "Number of keys."]
KeyBytes = Annotated[Bytes, "Bytes of the key."]
ValueBytes = Annotated[Bytes, "Bytes of the value."]
OldValueBytes = Annotated[
    Bytes, "Bytes of the value before; null if there was none, or it is unknown."
]
RowBytes = Annotated[Bytes, "Key and value bytes of these rows together."]
HeapBytes = Annotated[
    EstimatedBytes, "Bytes on the heap of executors for the two versions that Spark retains."
]
DeltaBytes = Annotated[Bytes, "File bytes of delta files."]
SnapshotBytes = Annotated[Bytes, "File bytes of snapshot files."]
MaxRows = Annotated[Count, "Rows of the partition with the most rows."]
KeyBytesMax = Annotated[Bytes, "Most key bytes of a row."]
ValueBytesMax = Annotated[Bytes, "Most value bytes of a row."]
RowBytesP50 = Annotated[Bytes, "Median of the row bytes of a row, by nearest rank."]
RowBytesP90 = Annotated[Bytes, "90th percentile of the row bytes of a row, by nearest rank."]
RowBytesP99 = Annotated[Bytes, "99th percentile of the row bytes of a row, by nearest rank."]
RowBytesMax = Annotated[Bytes, "Most row bytes of a row."]
Puts = Annotated[Count, "Records that put a row."]
Inserts = Annotated[Count, "Puts of a key that was absent."]
Updates = Annotated[Count, "Puts of a key that was there."]
SameValuePuts = Annotated[Count, "Updates with the value that was there."]
Removals = Annotated[Count, "Records that removed a key that was there."]
EVENTS = (
    "`insert` (the key was absent), `update`, `same_value` (put again with its value), `put` "
    "(earlier value unknown), `removal`, `absent_removal` (no such key)"
)
EventName = Annotated[Text, f"What the record did: {EVENTS}."]
Change = Annotated[Text, "How it differs: `added`, `removed` or `changed`."]
KeyJson = Annotated[Json, "The decoded key; its hash, or null, where keys are redacted."]
ValueJson = Annotated[Json, "The decoded value, null of a removal; redacted as the key is."]
KeyHex = Annotated[Text, "The UnsafeRow bytes of the key in hex."]
ValueHex = Annotated[Text, "The UnsafeRow bytes of the value in hex."]
LastPutVersion = Annotated[
    Id, "The version of the last put; null: before the oldest restorable one."
]
LastPutBatch = Annotated[Id, "The batch that made that version."]
LeftoverClassName = Annotated[
    Text, "How it outlived its expiry: see `inspector explain leftover-classes`."
]
Certainty = Annotated[Text, "`proven` from the bytes, `inferred` by a rule, or `undecided`."]
ExpiredBatch = Annotated[
    Id,
    "The batch that found it expired, or in which its timer last fired; null: before the "
    "oldest restorable one.",
]
Reason = Annotated[Text, "Why it is not proven; null if it is."]
Expires = Annotated[
    Text, "When a row expires: field, comparison and clock; or why that is not known."
]
What = Annotated[Text, "What happened, in words."]
ReplayDeltas = Annotated[Count, "Deltas that a restart reads after the newest snapshot."]
Meaning = Annotated[Text, "What the number says."]


class StoreRow(Row):
    """A row about one store of an operator."""

    operator_id: Annotated[OperatorId, Rank(20)]
    operator_name: Annotated[OperatorName | None, WIDE]
    store_name: Annotated[StoreName | None, Rank(10)]


class PartitionRow(StoreRow):
    """A row about one partition of a store."""

    partition_id: Annotated[PartitionId, Rank(15)]


class StreamedRows:
    """Rows that are too many to hold, and can be read once, unless :meth:`keep` holds them.

    A second reading raises InspectorError, because no rows would look like an empty table.
    """

    def __init__(self, source: Iterator[Mapping[str, Any]], name: str) -> None:
        """Wrap an iterator of rows; ``name`` is that of the table, for errors."""
        self._source, self._name = source, name
        self._ahead: list[Mapping[str, Any]] = []
        self._kept: list[Mapping[str, Any]] | None = None
        self._given = False

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        """Iterate over all rows; InspectorError if they are gone."""
        if self._kept is not None:
            return iter(self._kept)
        if self.gone:
            raise InspectorError(
                f"the rows of table {self._name!r} have been read and are not kept: call the "
                "analysis again, or to_arrow(), to_pandas() or to_dict() before anything else"
            )
        self._given = True
        return chain(self._ahead, self._source)

    def __repr__(self) -> str:
        """Return the name of the table, and the number of kept rows."""
        state = "read when they are needed" if self._kept is None else f"{len(self._kept):,} kept"
        return f"<rows of {self._name}: {state}>"

    @property
    def count(self) -> int | None:
        """Number of rows; None unless they are kept."""
        return None if self._kept is None else len(self._kept)

    @property
    def gone(self) -> bool:
        """True if the rows have been read and were not kept."""
        return self._given and self._kept is None

    def head(self, number: int) -> list[Mapping[str, Any]]:
        """Return up to ``number`` first rows; a later reading still gives them.

        Raises InspectorError if the rows are gone.
        """
        if self._kept is not None:
            return self._kept[:number]
        if self.gone:
            iter(self)  # raises
        self._ahead += islice(self._source, max(number - len(self._ahead), 0))
        return self._ahead[:number]

    def keep(self) -> None:
        """Read all rows and keep them for further readings.

        Raises InspectorError if they were read before and not kept.
        """
        if self._kept is None:
            self._kept = list(self)
