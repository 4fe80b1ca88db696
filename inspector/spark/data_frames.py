"""Methods of a session for its user: reports, DataFrames, and rehearsals of a query."""

from __future__ import annotations

import hashlib
import inspect
import re
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from inspector import api
from inspector.analyses.shared.data_tables import plan_table
from inspector.analyses.shared.declare import DataTable, TableOptions
from inspector.checkpoint.log_entries import parse_offsets
from inspector.checkpoint.logs import COMMITS, OFFSETS
from inspector.checkpoint.storage import Storage
from inspector.discovery.query_sources import STAND_IN
from inspector.discovery.rehearsal_record import REHEARSAL, join_evictions, record_text
from inspector.engines.spark import SparkEngine
from inspector.exceptions import InspectorError
from inspector.light_dataclasses import replace
from inspector.model import ProblemMode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

# default of ``mode``: an error at the first thing that cannot be read
FAILFAST = ProblemMode.FAILFAST.value

StartQuery = Callable[..., "StreamingQuery"]  # starts the user's query on streams, and returns it
Inputs = Union["DataFrame", Sequence["DataFrame"]]  # batches of one source
_ALONE = "rows"  # name of the only source
_IDLE_BATCHES = 3  # batches without data after which a query is known to begin them for ever
_POLL_S = 0.2  # seconds between two looks at the commits

# section on the arguments in the docstring of every table's function
_ARGUMENTS = """

Args:
    spark: the session whose executors read.
    path: the checkpoint, as the executors see it.
    options: which part and version, and rules that are not in the checkpoint.
"""


def audit(spark: SparkSession, path: str, options: api.Options | None = None) -> api.Report:
    """Every fact and every rule, read by a session's executors: ``inspector audit --engine spark``.

    Raises:
        EngineError: the session's workers cannot do it; others as :func:`inspector.api.audit`.
    """
    return api.audit(path, on(spark, options))


class TableFunction:
    """Function that returns one declared table of a checkpoint as a DataFrame."""

    def __init__(self, table: DataTable) -> None:
        """Take name, documentation and options from the declaration of a table."""
        self._table = table
        options = TableOptions.parameters()
        own = {name: item for name, item in options.items() if name in table.options}
        defaults = {name: item.default for name, item in own.items()}
        self._own = defaults | ({"mode": FAILFAST} if "mode" in own else {})
        self.__name__ = self.__qualname__ = table.name
        lines = (f"    {name}: {item.option.help}" for name, item in own.items())
        self.__doc__ = inspect.cleandoc(table.doc) + _ARGUMENTS + "\n".join(lines)
        kinds = inspect.Parameter
        names = {"spark": kinds.empty, "path": kinds.empty, "options": None}
        first = [
            kinds(n, kinds.POSITIONAL_OR_KEYWORD, default=default) for n, default in names.items()
        ]
        keywords = [
            kinds(n, kinds.KEYWORD_ONLY, default=default) for n, default in self._own.items()
        ]
        self.__signature__ = inspect.Signature([*first, *keywords])

    def __repr__(self) -> str:
        return f"<function inspector.spark.{self.__name__}{self.__signature__}>"

    def __call__(
        self, spark: SparkSession, path: str, options: api.Options | None = None, **keywords: Any
    ) -> DataFrame:
        """Return the table as a DataFrame of the session.

        ``keywords`` are the options of the table. Raises TypeError for an unknown one.
        """
        strange = sorted(keywords.keys() - self._own.keys())
        if strange:
            raise TypeError(f"{self.__name__}() got an unexpected keyword argument {strange[0]!r}")
        values: dict[str, Any] = self._own | keywords
        if "mode" in values:
            values["mode"] = ProblemMode(values["mode"])
        plan = plan_table(path, self._table.name, on(spark, options), TableOptions(**values))
        engine: Any = plan.run.engine
        assert isinstance(engine, SparkEngine)
        return engine.frame(plan.function, plan.schema, plan.work)


def on(spark: SparkSession, options: api.Options | None) -> api.Options:
    """Return the options with this session as the engine."""
    options = options or api.Options()
    io, tune_workers = options.engine.io, options.engine.tune_workers
    engine = api.EngineOptions("spark", session=spark, io=io, tune_workers=tune_workers)
    return replace(options, engine=engine)


def rehearse(
    start_query: StartQuery,
    rows: Inputs | Mapping[str, Inputs],
    folder: str | Path | None = None,
) -> str:
    """Run a query on a few inputs, and return the checkpoint that it made, for ``preflight``.

    ::

        def test_the_change_can_go_on(spark, tmp_path):
            schema = "user string, amount long, at timestamp"
            inputs = [
                spark.createDataFrame(rows, schema)
                for rows in (FIRST, SAME_USERS_AGAIN, ONE_A_YEAR_LATER, ONE_A_DAY_AFTER_THAT)
            ]
            new = inspector.spark.rehearse(start_orders, inputs, tmp_path / "new")
            before = inspector.spark.rehearse(start_old_orders, inputs, tmp_path / "before")
            report = api.preflight("s3a://bucket/checkpoints/orders", new, before=before)
            assert report.summary["verdict"] in ("ok", "ignored")

    Each DataFrame of a list is one batch. Give at least two over the same keys, so that the query
    reads state back. Add two of another key whose event times are later than every timer and
    window, so that timers fire and rows are evicted. ``preflight`` says ``unknown`` of code that
    did not run. The time range of a join is recorded from Spark's plan; with Spark Connect it
    needs two more inputs before the jump, at exactly the range and 1 ms later.

    The rows are written to files and read as a stream, in place of the query's own sources, so that
    preflight compares the number of sources and not their kinds. The folder of the files is named
    after the rows, by which preflight knows whether two rehearsals had the same ones.

    Args:
        start_query: starts the query as production does and returns it: it is called with the
            streaming DataFrame (of several sources, with each under its name, in the order in
            which they are given) and ``checkpoint=``, the path for ``checkpointLocation``. It is
            called again with the same arguments if the query has ended, as with
            ``availableNow``, and before each further input of a query with several sources.
        rows: of its source, or of each of its sources by the name of the parameter: a DataFrame
            for one batch, or a list of them.
        folder: where rows and checkpoint are kept, on storage that Spark's executors see; by
            default a new temporary one, which nobody removes.

    Returns:
        The path of the checkpoint, with at least one batch committed.

    Raises:
        ValueError: there is no input, or the sources have different numbers of inputs.
    """
    location = Path(tempfile.mkdtemp(prefix="rehearsal-") if folder is None else folder).resolve()
    inputs_by_name = rows if isinstance(rows, Mapping) else {_ALONE: rows}
    inputs = {
        name: list(frames) if isinstance(frames, Sequence) else [frames]
        for name, frames in inputs_by_name.items()
    }
    counts = {len(frames) for frames in inputs.values()}
    if len(counts) != 1 or 0 in counts:
        numbers = ", ".join(f"{name}: {len(frames)}" for name, frames in inputs.items())
        raise ValueError(
            f"got these numbers of inputs: {numbers or 'none'}; expected the same number, at least "
            "1, for each source. A source without rows in a batch takes an empty DataFrame."
        )
    folders = {
        name: f"{location / STAND_IN}{name}-{_digest(content)}" for name, content in inputs.items()
    }
    checkpoint = str(location / "checkpoint")
    streams: dict[str, DataFrame] = {}
    query: Any = None
    try:
        for step in range(counts.pop()):
            if query is not None and len(inputs) > 1:
                query.stop()  # else a batch may begin between the files of two sources
            for name, frames in inputs.items():
                frames[step].coalesce(1).write.mode("append").parquet(folders[name])
            if not streams:
                for name, (first, *_) in inputs.items():
                    reader = first.sparkSession.readStream.schema(first.schema)
                    streams[name] = reader.parquet(folders[name])
            if query is None or not query.isActive:
                query = _start(start_query, streams, checkpoint)
            _wait(query, checkpoint, step)
        _record_joins(query, checkpoint)
    finally:
        if query is not None:
            query.stop()
    return checkpoint


def _record_joins(query: Any, checkpoint: str) -> None:
    """Write the time ranges of joins, which Spark's plan shows exactly, into the checkpoint."""
    java = getattr(query, "_jsq", None)  # Spark Connect has none
    joins = join_evictions(java.explainInternal(False)) if java is not None else {}
    if joins:
        Path(checkpoint, REHEARSAL).write_text(record_text(joins), "utf-8")


def _digest(frames: Sequence[DataFrame]) -> str:
    """Return 12 hex digits that identify the rows of all inputs of a source."""
    # That of a single input is the one that earlier releases gave.
    texts = [repr((frame.schema, sorted(map(repr, frame.collect())))) for frame in frames]
    text = texts[0] if len(texts) == 1 else repr(texts)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _wait(query: Any, checkpoint: str, step: int) -> None:
    """Wait until a query has committed an input.

    ``step`` is the number of the input, from 0. Also returns if only batches without data follow.
    """
    errors: list[BaseException] = []

    def process() -> None:
        try:
            query.processAllAvailable()
        except BaseException as error:  # noqa: BLE001 - raised below, in the caller's thread
            errors.append(error)

    # With a timeout by processing time Spark begins batches without data for ever, and
    # processAllAvailable never returns. It does when the query is stopped.
    thread = threading.Thread(target=process, daemon=True)
    thread.start()
    while thread.is_alive() and _batches_since(checkpoint, step) < _IDLE_BATCHES:
        thread.join(_POLL_S)
    if errors:
        raise errors[0]


def _batches_since(checkpoint: str, step: int) -> int:
    """Return the number of batches committed after the one that read an input.

    ``step`` is the number of the input, from 0. The result is at most ``_IDLE_BATCHES``, because no
    older batches are read. Returns 0 if no batch read it, or if it is unknown.
    """
    storage = Storage(checkpoint)
    try:
        batches = sorted(
            int(entry.name) for entry in storage.list(COMMITS) if entry.name.isdecimal()
        )
        done = [batch for batch in batches[-_IDLE_BATCHES - 1 :] if _has_read(storage, batch, step)]
    except (InspectorError, OSError):
        return 0  # nothing is committed yet
    return max(0, len(done) - 1)


def _has_read(storage: Storage, batch: int, step: int) -> bool:
    """Return True if the offsets of a batch include the file of an input for every source."""
    offsets = parse_offsets(storage.read(f"{OFFSETS}/{batch}")).sources.values()
    matches = [re.fullmatch(r'\{"logOffset":(\d+)\}', offset or "") for offset in offsets]
    return bool(matches) and all(match and int(match[1]) >= step for match in matches)


def _start(start_query: StartQuery, streams: Mapping[str, Any], checkpoint: str) -> Any:
    """Start the query with its streams, and return the query.

    Streams are passed by name. The stream named ``_ALONE``, which is the source of a query without
    named sources, is passed by position.
    """
    if streams.keys() == {_ALONE}:
        return start_query(streams[_ALONE], checkpoint=checkpoint)
    return start_query(**streams, checkpoint=checkpoint)
