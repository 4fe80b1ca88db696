"""Findings about what state costs more than it need, SS3xx."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from inspector.facts.versions import VersionFacts
from inspector.findings import catalogue
from inspector.findings.finding import Finding
from inspector.findings.thresholds import Thresholds
from inspector.findings.views.store_keys import Windows
from inspector.light_dataclasses import dataclass
from inspector.model import DEFAULT_STORE
from inspector.quantities import bytes_text, capitalise, count_text, long_duration_text, share_text

USUAL_VERSIONS = 100  # ``spark.sql.streaming.minBatchesToRetain``, where nobody sets it
_STILL = 0.1  # of the growth of values: so much at least they change in the newer half


@dataclass(frozen=True)
class StoreCosts:
    """What is known of one store."""

    operator_id: int
    operator_name: str
    store_name: str
    partitions: Mapping[int, VersionFacts]  # facts of the judged version by partition
    versions: Mapping[int, VersionFacts]  # facts of every version, all partitions together
    largest: str = ""  # words for the key with the largest value; empty if it is not known
    kept: str = ""  # names of aggregates whose values have no bound; empty if none are shown
    # the key with most rows of a join's side, or entries of a list or map
    hot: HotKey | None = None
    windows: Windows | None = None
    written: int = 0  # rows that it wrote, or gained, in batches whose sources count records
    records: int = 0  # of those sources
    column: WideColumn | None = None  # the column with most of the bytes of large keys or values

    @property
    def total(self) -> VersionFacts:
        """The judged version, all partitions together."""
        return sum(self.partitions.values(), VersionFacts())


@dataclass(frozen=True)
class HotKey:
    """The key with most rows of a join's side, sessions, or entries of a list or map."""

    key: str  # words for it; empty if it has none
    rows: int  # that it has
    of: int  # rows of all keys
    noun: str  # what they are, singular
    bytes: int | None = None  # of its rows, where they are counted
    keys: int = 0  # that have rows in this side of the join
    opposite: float = 0.0  # rows of a key in the other one, on average


@dataclass(frozen=True)
class WideColumn:
    """The column with most of the bytes of large keys or values, by a sample of them."""

    name: str  # its path, or the name of several numbered ones; empty for all that a function keeps
    row_bytes: float  # of it in a row, on average
    share: float  # of the bytes of keys and values
    kept: str = ""  # what it keeps, in brackets, or that it is of the key


def judge_costs(costs: StoreCosts, thresholds: Thresholds) -> Iterator[Finding]:
    """The findings of one store."""
    yield from _hot(costs, thresholds)
    yield from _growing_values(costs, thresholds)
    yield from _wide_column(costs, thresholds)
    yield from _fan_out(costs, thresholds)


def judge_heap(heap_bytes: int | None, thresholds: Thresholds) -> Iterator[Finding]:
    """The estimated heap of the state of all stores against the limit of its user, if any."""
    limit = thresholds.heap_bytes
    if limit is None or heap_bytes is None or heap_bytes <= limit:
        return
    heap, most = f"an estimated {bytes_text(heap_bytes)} of heap", bytes_text(limit)
    evidence = f"the two versions that Spark retains take {heap} in all executors together; the "
    cause = f"The state takes {heap}, more than the limit of {most}."
    yield catalogue.HEAP_OVER_LIMIT.of(f"{evidence}limit is {most}", cause=cause)


@dataclass(frozen=True)
class FileCosts:
    """What lies in the folders of one operator."""

    operator_id: int  # which
    stores: int  # of all partitions
    # left, left_bytes: temporary files of attempts that did not commit
    left: int
    left_bytes: int
    versions: int  # the most that a store has files of
    # bytes, old_bytes: of its state files, and of those more than :data:`USUAL_VERSIONS` old
    bytes: int
    old_bytes: int
    # batches in the offset log, of which each one that starts removes all but
    # ``minBatchesToRetain``
    logged: int = 0
    zips: int = 0  # versions without a changelog at the end, of a provider that writes either
    uploaded: int = 0  # bytes of the files of all stores for each version that is kept
    # facts of each version whose changes are known, all stores together
    changes: Sequence[VersionFacts] = ()


def judge_files(costs: FileCosts, thresholds: Thresholds) -> Iterator[Finding]:
    """Files of an operator that no restart reads, and those that changelogs would save."""
    yield from _whole_uploads(costs, thresholds)
    if costs.left >= max(thresholds.left_files, costs.stores + 1):
        number = f"{count_text(costs.left, 'temporary file')} ({bytes_text(costs.left_bytes)})"
        evidence = f"{number} in the folders of {count_text(costs.stores, 'store')}"
        cause = f"Attempts that were killed left {number} beside the state; Spark removes none."
        yield catalogue.LEFT_FILES.of(evidence, costs.operator_id, cause=cause)
    kept, logged = costs.versions, costs.logged
    if kept >= thresholds.kept_versions or min(kept, logged) >= thresholds.kept_batches:
        share, size = share_text(costs.old_bytes / max(1, costs.bytes)), bytes_text(costs.bytes)
        old_size, old = bytes_text(costs.old_bytes), f"are of versions more than {USUAL_VERSIONS}"
        evidence = f"{kept:,} versions in a store; {old_size} of {size} {old} old"
        cause = f"The files of {kept:,} versions are kept: {share} of the {size} {old} batches old."
        yield catalogue.KEPT_VERSIONS.of(evidence, costs.operator_id, cause=cause)


def _in_brackets(key: str) -> str:
    return f" ({key})" if key else ""


def _where_null(key: str) -> str:
    """What is said of the largest value where a column of its key is null."""
    columns = key.partition("=")[0].rpartition(" is null")[0]
    return f"; the largest where {columns} is null" if columns else ""


def _hot(costs: StoreCosts, thresholds: Thresholds) -> Iterator[Finding]:
    hot = costs.hot
    if hot is None:
        return
    if hot.rows * hot.keys <= 2 * hot.of:  # no key has far more than the others
        yield from _few_keys(costs, hot, thresholds)
    if hot.of < thresholds.hot_rows or hot.rows < thresholds.hot_share * hot.of:
        return
    share = share_text(hot.rows / hot.of)
    side = "" if costs.store_name == DEFAULT_STORE else f" of {_side(costs.store_name)}"
    yield catalogue.HOT_KEY.of_store(
        costs,
        f"{hot.rows:,} of {count_text(hot.of, *_forms(hot.noun))} are of one key",
        hot.rows,
        hot.bytes,
        f"One key has {share} of the {_forms(hot.noun)[1]}{side}{_in_brackets(hot.key)}: "
        f"{hot.rows:,} of {hot.of:,}.",
        next_step="filter the key out if it stands for an unknown one (null, 0, an empty text), or "
        "give session_window a longer gap, so that its events make fewer sessions"
        if hot.noun == "session"
        else catalogue.HOT_KEY.to_do,
    )


def _few_keys(costs: StoreCosts, hot: HotKey, thresholds: Thresholds) -> Iterator[Finding]:
    """A join by a key so coarse that each row meets very many of the other side."""
    if hot.keys < 2 or min(hot.of / hot.keys, hot.opposite) < thresholds.rows_per_join_key:
        return
    rows, keys = count_text(hot.of, "row"), count_text(hot.keys, "join key")
    words = f"{rows} of {_side(costs.store_name)} have {keys}"
    yield catalogue.HOT_KEY.of_store(
        costs,
        f"{words}, of which each has ~{hot.opposite:,.0f} rows in the other side",
        *costs.total.rows_and_bytes,
        f"The join has few keys for its rows: {words}, and each new one meets "
        f"~{hot.opposite:,.0f} rows of the other side.",
        next_step="join by a key that tells more events apart, such as an id beside the country or "
        "type, or by a shorter time range; aggregate one side before the join",
    )


def _forms(noun: str) -> tuple[str, str]:
    return noun, "entries" if noun == "entry" else f"{noun}s"


def _side(store: str) -> str:
    side = store.partition("-")[0]
    return f"the join's {side} side" if side in ("left", "right") else f"the state {store!r}"


def _growing_values(costs: StoreCosts, thresholds: Thresholds) -> Iterator[Finding]:
    stores = max((facts.stores for facts in costs.versions.values()), default=0)
    whole = sorted(v for v, facts in costs.versions.items() if facts.stores == stores)
    filled = [v for v in whole if costs.versions[v].rows]
    if len(filled) < thresholds.window_versions:
        return
    first, last = costs.versions[filled[0]], costs.versions[filled[-1]]
    was, now = first.value_bytes / first.rows, last.value_bytes / last.rows
    grown = (now - was) * first.rows
    if now < max(thresholds.mean_value_bytes, thresholds.value_growth * was):
        return
    more = last.row_bytes - first.row_bytes
    if grown * (last.rows / first.rows) < thresholds.hot_share * more:
        return
    newer = [costs.versions[v] for v in filled[len(filled) // 2 :]]
    means = [facts.value_bytes / facts.rows for facts in newer]
    if max(means) - min(means) < _STILL * (now - was):
        return  # they were full half-way, as a list of the newest entries is
    span = _span((filled[0], filled[-1]))
    evidence = f"the mean value has {bytes_text(now)}, and had {bytes_text(was)} at the beginning "
    evidence += f"of {span}; {count_text(last.rows, 'row')}"
    cause = f"The values grow with the updates, from {bytes_text(was)} to {bytes_text(now)} on "
    cause += f"average{_in_brackets(costs.kept)}{_where_null(costs.largest)}."
    yield catalogue.GROWING_VALUES.of_store(costs, evidence, *last.rows_and_bytes, cause)


def _fan_out(costs: StoreCosts, thresholds: Thresholds) -> Iterator[Finding]:
    """Windows that overlap so much that an event is in very many of them."""
    windows = costs.windows
    each = 1 if windows is None else windows.length_ms // windows.slide_ms
    if windows is None or each < thresholds.windows_per_event:
        # How many rows there are of a record is more than how many windows it is in.
        yield from _many_rows(costs, thresholds.rows_per_record * each)
        return
    length, slide = (long_duration_text(ms) for ms in (windows.length_ms, windows.slide_ms))
    evidence = f"windows are {length} long, and begin every {slide}: {each:,} of them overlap"
    cause = f"Each event is written to {each:,} windows, which are {length} long and begin every "
    cause += f"{slide}."
    rows_and_bytes = costs.total.rows_and_bytes
    yield catalogue.FAN_OUT.of_store(costs, f"{evidence} at any time", *rows_and_bytes, cause)


def _many_rows(costs: StoreCosts, fewest: float) -> Iterator[Finding]:
    """At least so many rows for each record of the sources."""
    if costs.written < max(1, fewest * costs.records):
        return
    rows, records = count_text(costs.written, "row"), count_text(costs.records, "record")
    evidence = f"{rows} were written for {records} that the sources brought"
    cause = f"Each input record is written to ~{costs.written / costs.records:,.0f} rows of the "
    cause += "state: look at explode, flatMap and joins before the operator."
    step = "aggregate or deduplicate before the explode or the join, or keep the array in one row"
    yield catalogue.FAN_OUT.of_store(
        costs, evidence, *costs.total.rows_and_bytes, cause, next_step=step
    )


def _wide_column(costs: StoreCosts, thresholds: Thresholds) -> Iterator[Finding]:
    column = costs.column
    if column is None or column.share < thresholds.hot_share:
        return
    if column.row_bytes < (thresholds.mean_value_bytes if column.name else thresholds.value_bytes):
        return
    total, mark = costs.total, "~" if column.name else ""
    share, rows = share_text(column.share, mark), count_text(total.rows, "row")
    subject = f"the column {column.name!r}{column.kept} holds" if column.name else "the values hold"
    size = f"{mark}{bytes_text(column.row_bytes)}"
    yield catalogue.WIDE_COLUMN.of_store(
        costs,
        f"{subject} {size} in a row and {share} of the bytes of keys and values"
        f"{', by a sample of each file' if column.name else ''}; {rows}",
        total.rows,
        round(column.share * total.row_bytes),
        f"{capitalise(subject)} {share} of the bytes, {size} in each of {rows}"
        f"{_where_null(costs.largest)}.",
    )


def _whole_uploads(costs: FileCosts, thresholds: Thresholds) -> Iterator[Finding]:
    """RocksDB without changelogs: what it uploads is of all column families together."""
    if costs.zips < thresholds.window_versions or costs.uploaded < thresholds.zip_bytes:
        return
    written = sum(map(_put_bytes, costs.changes)) / max(1, len(costs.changes))
    if costs.uploaded < thresholds.zip_ratio * written:
        return
    puts, uploaded = sum(version.puts for version in costs.changes), bytes_text(costs.uploaded)
    yield catalogue.WHOLE_UPLOADS.of(
        f"the newest {count_text(costs.zips, 'version')} have a zip and no changelog in every "
        f"partition; the files are {uploaded} for each version that is kept, and {puts:,} puts in "
        f"{count_text(len(costs.changes), 'version')} wrote ~{bytes_text(written)} each",
        costs.operator_id,
        cause=f"Each batch uploads ~{uploaded} of RocksDB files to write ~{bytes_text(written)} of "
        "rows, as changelogs are off.",
    )


def _put_bytes(version: VersionFacts) -> float:
    """Key and value bytes that a version put, by the mean key where it put over a row."""
    # Such a row has the key object of the version before, which is not among those that are new.
    new = version.row_bytes - version.shared_key_bytes - version.shared_value_bytes
    return new + version.updates * version.key_bytes / max(1, version.rows)


def _span(versions: Collection[int]) -> str:
    """``versions 3 to 12``, ``version 3``."""
    first, last = min(versions), max(versions)
    return f"version {first}" if first == last else f"versions {first} to {last}"
