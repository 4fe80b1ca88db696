"""The engine on a cluster: the same batch functions, by ``mapInArrow`` on Spark's Python workers.

Only the DataFrame API is used: no RDD, no JVM gateway, so a session of Spark Connect is enough. A
large task gets a Spark task of its own, the largest first (:mod:`inspector.engines.bin_packing`). A
task that Spark runs again, or twice at the same time, yields the same results, which count once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StringType

from inspector.engines import session as sessions
from inspector.engines import workers
from inspector.engines.arrow_encoding import (
    IPC_SCHEMA,
    encode_as_ipc,
    encode_columns,
    encode_schema,
    from_ipc,
    keys_and_ipc,
    merge_at_last,
    merge_in_part,
)
from inspector.engines.bin_packing import by_group, group_count, pack, partition_keys
from inspector.engines.engine import (
    HADOOP,
    PARCEL_COLUMNS,
    TASKS,
    BatchFunction,
    Exchange,
    Exchanged,
    Job,
    Measure,
    ShufflingEngine,
    Work,
)
from inspector.engines.hadoop import BATCH_ROWS, CHUNKS_PER_BATCH, HadoopFiles
from inspector.engines.parcels import (
    PARCELS,
    RESULTS,
    SHUFFLE_KEY,
    call_receivers,
    results_in,
    with_shuffle_keys,
)
from inspector.engines.staging import on_staged_files
from inspector.exceptions import EngineError

# Spark tasks that ask workers for their packages, if the number of cores is not known
_PROBES = 8
# rows of an exchange in a batch for a Python worker, each of a few MB at most
_PARCELS_PER_BATCH = 8
_MERGERS = 16  # Spark tasks that merge results before they reach the driver
# advice if workers have another Python than the driver
_OTHER_PYTHON = "set PYSPARK_PYTHON or spark.pyspark.python to one like the driver's"


class SparkEngine(ShufflingEngine):
    """Engine that runs tasks on the executors of a Spark session, in its Python workers."""

    def __init__(
        self,
        session: SparkSession,  # of Spark 3.5 or later, classic or Connect
        reader: HadoopFiles | None = None,  # what reads the files, if not fsspec on each worker
        *,
        tune_workers: bool | None = None,  # as in :class:`inspector.engines.choose.EngineOptions`
    ) -> None:
        self.session = session
        self.reader: HadoopFiles | None = reader
        self.cores = sessions.local_cores(session)  # None on a cluster, which may grow
        self.note: str | None = None  # what a user is to know of the session's workers, if anything
        owned = sessions.scope_of(session).owns_workers
        self._tune_workers = owned if tune_workers is None else tune_workers

    @classmethod
    def of(
        cls,
        session: Any,
        master: str | None,
        conf: Mapping[str, str],
        *,
        io: str = "fsspec",
        tune_workers: bool | None = None,
    ) -> SparkEngine:
        """Return the engine on a session that is passed or active, or on a new one.

        EngineError: there is no such Spark, its workers lack something, or a session is passed with
        master or confs.
        """
        # EngineError: no such Spark, its workers lack something, or a session has master or confs.
        sessions.check_driver()
        if session is None:
            session = sessions.start(master, conf)
        elif master is not None or conf:
            raise EngineError("master and conf are for a session to start, got a session as well")
        reader = HadoopFiles(session) if io == HADOOP else None
        engine = cls(session, reader, tune_workers=tune_workers)
        scope = sessions.scope_of(session)
        if not scope.workers_checked:
            scope.worker_note = engine.prepare_workers()
            scope.workers_checked = True
        engine.note = scope.worker_note
        return engine

    def prepare_workers(self) -> str | None:
        """Send this package to the workers if they lack it; return a note for the user, or None.

        EngineError: a worker lacks a module or has another version of this package.
        """
        result = workers.check(self._probe())
        if workers.lack_package(result):
            self._ship()
            result = workers.check(self._probe())
            if workers.lack_package(result):
                have = sorted({str(item["inspector"]) for item in result})
                raise EngineError(
                    f"Python workers import version {', '.join(have)} of this package, expected "
                    "that of the driver: remove it there, or install the same wheel on both"
                )
        return workers.kernel_note(result)

    @property
    def notes(self) -> list[str]:
        """Notes for the user about the session: its Java, and its workers."""
        return [note for note in (sessions.java_note(), self.note) if note is not None]

    def measure(self) -> Measure:
        """Return the tasks done and in total of the running stages; 0 with Spark Connect."""
        try:
            tracker = self.session.sparkContext.statusTracker()
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        except Exception:  # noqa: BLE001 - progress is no reason to end a run
            stages = []
        running = [stage for stage in stages if stage is not None]
        done = sum(stage.numCompletedTasks for stage in running)
        return Measure(done, sum(stage.numTasks for stage in running), TASKS)

    def run(self, job: Job) -> Iterator[pa.RecordBatch]:
        """Map a batch function over tasks, and yield their results, which should be few."""
        # As bytes, in one column: Spark's code for the many of a fact took as long as reading.
        if not job.work:
            return
        with self.computing():
            rows = self._collect(lambda: self._ipc_frame(job))
        yield from from_ipc(row[0] for row in rows)

    def exchange(self, job: Exchange) -> Iterator[Exchanged]:
        """Move parcels between tasks by Spark's shuffle, and yield the results of all tasks.

        Without receivers nothing runs, not even the senders.
        """
        if not job.receivers:
            return
        scope = sessions.scope_of(self.session)
        with scope.conf(self.session.conf, BATCH_ROWS, str(_PARCELS_PER_BATCH)):
            rows = self._collect(lambda: self._exchange_frame(job))
        yield from results_in(rows)

    def _exchange_frame(self, job: Exchange) -> DataFrame:
        """Return a frame with the results of an exchange as rows of RESULTS."""
        count = group_count(job.receivers, self.cores)
        keys = partition_keys(count)
        send = with_shuffle_keys(job.send, keys, len(job.receivers))
        sent = self._frame(send, PARCELS, job.senders)
        parcels = sent.repartition(count, SHUFFLE_KEY).sortWithinPartitions(*PARCEL_COLUMNS[:-1])
        run = call_receivers(job.receive, job.receivers)
        if self._tune_workers:
            run = workers.tune(run)
        results: DataFrame = parcels.mapInArrow(run, from_arrow_schema(RESULTS))
        return results

    def _collect(self, frame: Callable[[], DataFrame]) -> list[Any]:
        """Return the rows of a frame. EngineError: Spark fails."""
        try:
            return frame().collect()
        except EngineError:
            raise
        except Exception as error:  # noqa: BLE001 - py4j, gRPC and PySpark each have their own
            raise EngineError(f"Spark: {sessions.message_of(error, self.session)}") from None

    def _ipc_frame(self, job: Job) -> DataFrame:
        """Return a frame with the results of a job as rows of bytes."""
        merge = job.merge
        if merge is None:
            return self._frame(encode_as_ipc(job.function), IPC_SCHEMA, job.work)
        # As bytes here too: a shuffle of facts by their columns took longer than to make them.
        schema = keys_and_ipc(job.schema, merge.keys)
        partial_frame = self._frame(merge_in_part(job.function, merge), schema, job.work)
        parts = partial_frame.repartition(_MERGERS, *merge.keys)
        merged: DataFrame = parts.mapInArrow(merge_at_last(merge), from_arrow_schema(IPC_SCHEMA))
        return merged

    def frame(self, function: BatchFunction, schema: pa.Schema, work: Sequence[Work]) -> DataFrame:
        """Return the results of a job as a DataFrame, to be computed within :meth:`computing`."""
        return self._frame(encode_columns(function, schema), encode_schema(schema), work)

    def _frame(self, run: BatchFunction, schema: pa.Schema, work: Sequence[Work]) -> DataFrame:
        """Return a frame with the results of a batch function over tasks.

        ``schema`` is that of the results and must have only types that Spark supports: nothing is
        converted here.
        """
        names = self.reader.names(work) if self.reader else []
        count = group_count(work, self.cores)
        if self.reader and names:
            tasks = self.reader.frame(work, count)
            run = on_staged_files(run, names)
        else:
            tasks = self.session.range(0, count, 1, count)
            run = by_group(run, pack(work, count))
        if self._tune_workers:
            run = workers.tune(run)
        types = from_arrow_schema(schema, prefer_timestamp_ntz=True)
        frame: DataFrame = tasks.mapInArrow(run, types)
        return frame

    def computing(self) -> AbstractContextManager[None]:
        """Return a context that sets the confs that the session needs while a frame is computed."""
        if self.reader is None:
            return nullcontext()
        scope = sessions.scope_of(self.session)
        return scope.conf(self.session.conf, BATCH_ROWS, str(CHUNKS_PER_BATCH))

    def _probe(self) -> list[str]:
        """Return the answers of the workers to :func:`inspector.engines.workers.probe`.

        EngineError: they do not start.
        """
        probe = F.udf(workers.probe(), StringType(), useArrow=False)
        count = self.cores or _PROBES
        numbers = self.session.range(0, count, 1, count)
        try:
            return [str(row[0]) for row in numbers.select(probe("id")).collect()]
        except Exception as error:  # noqa: BLE001 - as above
            message = sessions.message_of(error, self.session)
            if "PYTHON_VERSION_MISMATCH" in message:
                message = f"{message.rstrip('.')}; {_OTHER_PYTHON}"
            raise EngineError(f"Spark's Python workers do not start: {message}") from None

    def _ship(self) -> None:
        """Send this package to the workers as a zip."""
        # The file stays as long as the session: an executor that starts within a job fetches it.
        path = str(
            workers.package_zip(Path(sessions.scope_of(self.session).folder("inspector-zip-")))
        )
        import_path = list(sys.path)
        try:
            self.session.addArtifacts(path, pyfile=True)
        except Exception:  # noqa: BLE001 - 3.5 has it for Connect only
            self.session.sparkContext.addPyFile(path)
        finally:
            sys.path[:] = import_path  # both put it on the driver's path, where it is not needed
