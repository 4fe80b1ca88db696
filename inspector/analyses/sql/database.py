"""DuckDB over the views of a checkpoint: which part of each a query needs, and its result.

A query is planned twice. DuckDB's optimizer first plans it over empty tables of the same columns.
That plan says which columns of which views are scanned, and under which conditions on
``partition_id``. Then the query runs over Arrow streams, and each scan of a view reads its files.
"""

from __future__ import annotations

import json
import re
import shutil
import weakref
from collections.abc import Iterable, Iterator, Mapping
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from inspector.analyses.sql.views import Needs, View
from inspector.exceptions import CheckpointError, EngineError, InspectorError

if TYPE_CHECKING:
    import duckdb

_PARTITION = "partition_id"  # column whose conditions choose the files that are read
# settings of every connection: nothing is loaded, read or written beside the views
_LOCKED = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
_SCAN = "SEQ_SCAN"  # node of a plan that scans a table


def _module() -> Any:
    """Return the module ``duckdb``; EngineError if it is not installed."""
    try:
        import duckdb  # noqa: PLC0415 - an extra, and slow to import
    except ModuleNotFoundError:
        raise EngineError(
            "sql needs DuckDB, which is not installed: pip install 'spark-state-inspector[sql]'"
        ) from None
    return duckdb


class _Scratch:
    """A folder that only this user can read, for large intermediate results; removed at the end."""

    def __init__(self) -> None:
        """Make the folder; it is removed when nothing refers to this object any more."""
        self.folder = mkdtemp(prefix="inspector-sql-")
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)


class _Stream:
    """A view as an Arrow stream, made again for each scan (``__arrow_c_stream__``)."""

    def __init__(self, view: View, scratch: _Scratch) -> None:
        """Wrap a view; ``scratch`` is kept as long as a relation needs the stream."""
        self.view, self.needs, self._scratch = view, Needs(), scratch
        self.error: BaseException | None = None  # raised by the last scan

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a new stream of the rows that the running query needs."""
        reader: Any = pa.RecordBatchReader.from_batches(self.view.schema, self._batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the batches of the view for the running query.

        Only the columns and partitions in ``needs`` have to be read.

        An error of reading is raised, and also kept in ``error``, because DuckDB replaces it by an
        error of its own.
        """
        try:
            yield from self.view.read(self.needs)
        except Exception as error:
            self.error = error
            raise


class Database:
    """DuckDB in memory that has the views of one checkpoint, and nothing else.

    Its queries cannot read or write files; large intermediate results go to a temporary folder,
    which is removed with the database.
    """

    def __init__(self, views: Iterable[View], memory_limit: int | None = None) -> None:
        """Make the views known; ``memory_limit`` of DuckDB is in bytes.

        EngineError: DuckDB is not installed.
        """
        duckdb = _module()
        scratch = _Scratch()
        limit = {} if memory_limit is None else {"memory_limit": f"{memory_limit}B"}
        folder = {"temp_directory": scratch.folder}
        self._connection = duckdb.connect(":memory:", config=_LOCKED | folder | limit)
        self._connection.execute("set TimeZone = 'UTC'")
        self._plans = duckdb.connect(":memory:", config=_LOCKED)
        # It would replace the scan of an empty table by an empty result.
        self._plans.execute(
            "set disabled_optimizers = 'statistics_propagation,empty_result_pullup'"
        )
        self._streams = {view.name: _Stream(view, scratch) for view in views}
        for name, stream in self._streams.items():
            self._connection.register(name, stream)
            self._plans.register("one_view", stream.view.schema.empty_table())
            self._plans.execute(f'create table "{name}" as select * from one_view')
            self._plans.unregister("one_view")

    def run(self, query: str) -> duckdb.DuckDBPyRelation | None:
        """Return the relation of a query, which reads the state when its rows are fetched.

        None for a statement without a result. CheckpointError: DuckDB refuses the query.
        """
        needs = self._needs(query)
        for name, stream in self._streams.items():
            stream.needs, stream.error = needs.get(name, Needs()), None
        with self.errors():
            relation: duckdb.DuckDBPyRelation | None = self._connection.sql(query)
        return relation

    def errors(self) -> _Errors:
        """Return a context that raises errors of DuckDB as errors of this package."""
        return _Errors(self._streams)

    def _needs(self, query: str) -> Mapping[str, Needs]:
        """Return the part of each view that a query scans; views of unknown part are absent."""
        duckdb = _module()
        try:
            ((_, text),) = self._plans.execute(f"explain (format json) {query}").fetchall()
            nodes = json.loads(text)
        except (duckdb.Error, ValueError):
            return {}  # several statements, or one that is no query
        scans: dict[str, list[Needs]] = {}
        for node in _walk(nodes):
            info = node["extra_info"]
            if node["name"].strip() == _SCAN and "Table" in info:
                name = info["Table"].rpartition(".")[2].strip('"')
                scans.setdefault(name, []).append(self._scan(name, info))
        return {name: _union(found) for name, found in scans.items()}

    def _scan(self, name: str, info: Mapping[str, Any]) -> Needs:
        """Return what one scan of a view needs, from the plan's description of it."""
        # An optional condition is one that a node above tests again.
        conditions = [text.removeprefix("optional: ") for text in _texts(info.get("Filters", ()))]
        known = set(self._streams[name].view.schema.names)
        columns = frozenset(_texts(info.get("Projections", ())))
        # A condition may name further columns, and a plan without the list says nothing.
        is_known = "Projections" in info and not conditions and columns <= known
        return Needs(
            columns if is_known else None,
            self._partitions(self._streams[name].view.partitions, conditions),
        )

    def _partitions(
        self, partitions: tuple[int, ...], conditions: Iterable[str]
    ) -> frozenset[int] | None:
        """Return the partitions that fulfil all conditions on the partition alone; None for all."""
        duckdb = _module()
        parts = [part for text in conditions for part in conjuncts(text) if _PARTITION in part]
        chosen = set(partitions)
        for part in parts:
            values = ", ".join(f"({partition})" for partition in partitions)
            test = f"select {_PARTITION} from (values {values}) t({_PARTITION}) where {part}"
            try:
                chosen &= {row[0] for row in self._plans.execute(test).fetchall()}
            except duckdb.Error:
                continue  # it names other columns, too
        return frozenset(chosen) if partitions and parts else None


class _Errors:
    """Context that raises an error of DuckDB as the error of the scan that caused it.

    Without one it raises CheckpointError with DuckDB's message.
    """

    def __init__(self, streams: Mapping[str, _Stream]) -> None:
        """Watch the scans of these streams."""
        self._streams = streams

    def __enter__(self) -> None:
        """Begin to watch."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Raise the error of a scan, or DuckDB's own as CheckpointError."""
        if error is None or not isinstance(error, (_module().Error, pa.ArrowException, OSError)):
            return
        for stream in self._streams.values():
            if isinstance(stream.error, (InspectorError, OSError)):
                raise stream.error from None
        words = " ".join(str(error).split())
        raise CheckpointError(f"DuckDB refuses the query: {words}") from None


def _walk(nodes: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield all nodes of plans."""
    for node in nodes:
        yield node
        yield from _walk(node.get("children", ()))


def _texts(value: str | list[str] | tuple[str, ...]) -> list[str]:
    """Return a plan's list of texts, which it gives as one text if there is one; "" is none."""
    return list(filter(None, [value] if isinstance(value, str) else value))


def _union(needs: list[Needs]) -> Needs:
    """Return what several scans of a view need together."""
    columns = [need.columns for need in needs]
    partitions = [need.partitions for need in needs]
    return Needs(
        None if None in columns else frozenset().union(*filter(None, columns)),
        None if None in partitions else frozenset().union(*filter(None, partitions)),
    )


def conjuncts(condition: str) -> list[str]:
    """Return conditions that a condition in a plan implies: its parts that AND joins.

    Empty if that cannot be known: a text in quotes may look like SQL, and OR joins alternatives.
    """
    if "'" in condition or '"' in condition:
        return []
    text = condition.strip()
    while _is_enclosed(text):
        text = text[1:-1].strip()
    parts, depth, start = [], 0, 0
    for token in re.finditer(r"[()]|\bAND\b|\bOR\b", text, re.IGNORECASE):
        word = token[0].upper()
        depth += (word == "(") - (word == ")")
        if depth == 0 and word == "OR":
            return []
        if depth == 0 and word == "AND":
            parts.append(text[start : token.start()])
            start = token.end()
    return [*parts, text[start:]]


def _is_enclosed(text: str) -> bool:
    """Return True if the first parenthesis of a text begins it, and its partner ends it."""
    if not text.startswith("("):
        return False
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return place == len(text) - 1
    return False
