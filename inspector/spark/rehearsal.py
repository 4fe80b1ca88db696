"""A run of one's own query on a few rows, whose checkpoint ``preflight`` compares."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspector.discovery.query_sources import STAND_IN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

StartQuery = Callable[..., "StreamingQuery"]
_ALONE = "rows"


def rehearse(
    start_query: StartQuery,
    rows: DataFrame | Mapping[str, DataFrame],
    folder: str | Path | None = None,
) -> str:
    """Run a query on a few rows, and give the checkpoint that it made.

    ::

        def test_the_change_can_go_on(spark, tmp_path):
            rows = spark.createDataFrame([("a", 1)], "user string, amount long")
            new = inspector.spark.rehearse(start_orders, rows, tmp_path / "new")
            before = inspector.spark.rehearse(start_old_orders, rows, tmp_path / "before")
            report = api.preflight("s3a://bucket/checkpoints/orders", new, before=before)
            assert report.summary["verdict"] in ("ok", "ignored")

    The rows are written to files and read as a stream, in place of the query's own sources, so that
    preflight compares the number of sources and not their kinds. The folder of the files is named
    after the rows, by which preflight knows whether two rehearsals had the same ones.

    Args:
        start_query: starts the query as production does and returns it: it is called with the
            streaming DataFrame (of several inputs, with each under its name, in the order in
            which they are given) and ``checkpoint=``, the path for ``checkpointLocation``.
        rows: of its input, or of each of its inputs by the name of the parameter.
        folder: where rows and checkpoint are kept, on storage that Spark's executors see; by
            default a new temporary one, which nobody removes.

    Returns:
        The path of the checkpoint, of which at least one batch is committed.

    Raises:
        StreamingQueryException: the query failed.
    """
    location = Path(tempfile.mkdtemp(prefix="rehearsal-") if folder is None else folder).resolve()
    inputs = dict(rows) if isinstance(rows, Mapping) else {_ALONE: rows}
    streams: dict[str, DataFrame] = {}
    for name, frame in inputs.items():
        digest = hashlib.sha256(repr((frame.schema, sorted(map(repr, frame.collect())))).encode())
        path = str(location / f"{STAND_IN}{name}-{digest.hexdigest()[:12]}")
        frame.coalesce(1).write.parquet(path)
        streams[name] = frame.sparkSession.readStream.schema(frame.schema).parquet(path)
    checkpoint = str(location / "checkpoint")
    query = _start(start_query, streams, checkpoint)
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    return checkpoint


def _start(start_query: StartQuery, streams: Mapping[str, Any], checkpoint: str) -> Any:
    if streams.keys() == {_ALONE}:
        return start_query(streams[_ALONE], checkpoint=checkpoint)
    return start_query(**streams, checkpoint=checkpoint)
