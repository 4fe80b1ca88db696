"""DuckDB over the views of a checkpoint: the part of each view that a query needs, and its result.

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

# name of the column of views whose conditions in a query choose the partitions that are read
_PARTITION = "partition_id"
# settings of every connection to DuckDB: SQL cannot load extensions, nor read or write files
_LOCKED = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
_SCAN = "SEQ_SCAN"  # name of a node in DuckDB's plans that scans a table


def _module() -> Any:
    """Import and return the module ``duckdb``. EngineError: it is not installed."""
    try:
        import duckdb  # noqa: PLC0415 - an extra, and slow to import
    except ModuleNotFoundError:
        raise EngineError(
            "sql needs DuckDB, which is not installed: pip install 'spark-state-inspector[sql]'"
        ) from None
    return duckdb


class _Scratch:
    """Temporary folder for large intermediate results, which only this user can read.

    Attributes:
        folder: path of the folder.
    """

    def __init__(self) -> None:
        """Create the folder; it is removed when this object is garbage-collected."""
        self.folder = mkdtemp(prefix="inspector-sql-")
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)


class _Stream:
    """A view as an object from which DuckDB gets a new Arrow stream for each scan.

    Attributes:
        view: the view.
        needs: part of the view that the running query needs.
    """

    def __init__(self, view: View, scratch: _Scratch) -> None:
        """Wrap ``view``; the folder ``scratch`` stays as long as a relation needs this object."""
        self.view, self.needs, self._scratch = view, Needs(), scratch
        # error of reading the view for the running query; None without one
        self.error: BaseException | None = None

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the capsule of a new Arrow stream of the rows that the running query needs.

        DuckDB calls this method for each scan of the view.
        """
        reader: Any = pa.RecordBatchReader.from_batches(self.view.schema, self._batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the batches of the view, with the columns and partitions in ``needs``.

        An error of reading is stored in ``error`` and raised, because DuckDB replaces a raised
        error by an error of its own.
        """
        try:
            yield from self.view.read(self.needs)
        except Exception as error:
            self.error = error
            raise


class Database:
    """DuckDB in memory that has the views of one checkpoint, and nothing else.

    Its queries cannot read or write files. Large intermediate results are stored in a temporary
    folder, which is removed with the database.
    """

    def __init__(self, views: Iterable[View], memory_limit: int | None = None) -> None:
        """Start DuckDB and register ``views`` under their names.

        ``memory_limit`` is DuckDB's limit in bytes; None for its default. EngineError: DuckDB is
        not installed.
        """
        duckdb = _module()
        scratch = _Scratch()
        limit = {} if memory_limit is None else {"memory_limit": f"{memory_limit}B"}
        folder = {"temp_directory": scratch.folder}
        self._connection = duckdb.connect(":memory:", config=_LOCKED | folder | limit)
        self._connection.execute("set TimeZone = 'UTC'")
        self._plans = duckdb.connect(":memory:", config=_LOCKED)
        # These optimizers would remove the scans of empty tables from the plans.
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
        """Return the relation of ``query``, which reads the state when its rows are fetched.

        Return None for a statement without a result, which is executed. CheckpointError: DuckDB
        refuses the query.
        """
        needs = self._needs(query)
        for name, stream in self._streams.items():
            stream.needs, stream.error = needs.get(name, Needs()), None
        with self.errors():
            relation: duckdb.DuckDBPyRelation | None = self._connection.sql(query)
        return relation

    def errors(self) -> _Errors:
        """Return a context that raises errors of DuckDB as errors of reading or CheckpointError."""
        return _Errors(self._streams)

    def _needs(self, query: str) -> Mapping[str, Needs]:
        """Return the part that ``query`` needs of each view, by the name of the view.

        Views that the query does not scan are absent. The result is empty if DuckDB cannot plan the
        query; then all of each view is needed.
        """
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
        """Return the part that one scan needs of the view ``name``.

        ``info`` describes the scan in DuckDB's plan, with its columns and conditions.
        """
        # DuckDB marks a condition as optional if a later node of the plan tests it again.
        conditions = [text.removeprefix("optional: ") for text in _texts(info.get("Filters", ()))]
        known = set(self._streams[name].view.schema.names)
        columns = frozenset(_texts(info.get("Projections", ())))
        # All columns are needed if there are conditions, which may name further columns, or if the
        # plan does not list the columns.
        is_known = "Projections" in info and not conditions and columns <= known
        return Needs(
            columns if is_known else None,
            self._partitions(self._streams[name].view.partitions, conditions),
        )

    def _partitions(
        self, partitions: tuple[int, ...], conditions: Iterable[str]
    ) -> frozenset[int] | None:
        """Return those of ``partitions`` that fulfil the conditions on the partition id.

        ``conditions`` are SQL texts, all of which a row must fulfil. Conditions that name other
        columns too are ignored. Return None, for all partitions, if no condition names the
        partition id or if ``partitions`` is empty.
        """
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
    """Context that replaces an error of DuckDB by the error of reading a view that caused it.

    If no view has an InspectorError or OSError, it raises CheckpointError with DuckDB's message.
    """

    def __init__(self, streams: Mapping[str, _Stream]) -> None:
        """Take the errors of reading from ``streams``, the views by their names."""
        self._streams = streams

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Raise the error of reading a view, or CheckpointError, if ``error`` is DuckDB's.

        Errors of Arrow and OSError are replaced too. Other errors pass unchanged.
        """
        if error is None or not isinstance(error, (_module().Error, pa.ArrowException, OSError)):
            return
        for stream in self._streams.values():
            if isinstance(stream.error, (InspectorError, OSError)):
                raise stream.error from None
        words = " ".join(str(error).split())
        raise CheckpointError(f"DuckDB refuses the query: {words}") from None


def _walk(nodes: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield ``nodes`` of DuckDB's plans and all nodes below them, each before its children."""
    for node in nodes:
        yield node
        yield from _walk(node.get("children", ()))


def _texts(value: str | list[str] | tuple[str, ...]) -> list[str]:
    """Return ``value``, a list of texts from DuckDB's plan, as a list without empty texts.

    The plan has a single text in place of a list with one text.
    """
    return list(filter(None, [value] if isinstance(value, str) else value))


def _union(needs: list[Needs]) -> Needs:
    """Return the part of a view that several scans need together.

    It has all columns if one scan needs all, and all partitions if one scan needs all.
    """
    columns = [need.columns for need in needs]
    partitions = [need.partitions for need in needs]
    return Needs(
        None if None in columns else frozenset().union(*filter(None, columns)),
        None if None in partitions else frozenset().union(*filter(None, partitions)),
    )


def conjuncts(condition: str) -> list[str]:
    """Split the SQL text ``condition`` at each AND outside parentheses, and return the parts.

    All parts are true if the condition is true. A condition without such an AND is the only part.
    Return an empty list if there is an OR outside parentheses, or a quote, whose text may look like
    SQL.
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
    """Return True if one pair of parentheses encloses the whole of ``text``."""
    if not text.startswith("("):
        return False
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return place == len(text) - 1
    return False
