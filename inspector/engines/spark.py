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

# number of Spark tasks that check the modules of Python workers, if the number of cores is not
# known
_PROBES = 8
# largest number of rows of an exchange in an Arrow batch for a Python worker; a row has a few MB
_PARCELS_PER_BATCH = 8
_MERGERS = 16  # number of Spark tasks that merge results before they are sent to the driver
# advice at the end of an error message, if workers have another version of Python than the driver
_OTHER_PYTHON = "set PYSPARK_PYTHON or spark.pyspark.python to one like the driver's"


class SparkEngine(ShufflingEngine):
    """Engine that runs tasks on the executors of a Spark session, in its Python workers."""

    def __init__(
        self,
        session: SparkSession,  # session of Spark 3.5 or later, classic or Connect
        reader: HadoopFiles | None = None,  # reader of the files; None: fsspec on each worker
        *,
        tune_workers: bool | None = None,  # as in :class:`inspector.engines.choose.EngineOptions`
    ) -> None:
        """Run tasks on ``session``; nothing is sent to its workers yet."""
        self.session = session
        self.reader: HadoopFiles | None = reader
        # number of cores of a local master; None on a cluster, whose number of cores may change
        self.cores = sessions.local_cores(session)
        self.note: str | None = None  # note for the user about the session's workers; None without
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
        """Return the engine on ``session``, or on the active or a new session if it is None.

        ``master`` and ``conf`` are for a new session. ``io`` is the way to read files: ``fsspec``
        or ``hadoop``. The workers of a session are checked once, and get this package if they lack
        it.

        EngineError: a session is passed with master or confs, no session can be started, PySpark or
        pandas does not suit, or the workers lack a module.
        """
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
        """Check the modules of the workers, and send them this package if they lack this version.

        Return a note for the user if workers decode files with the slow kernel in Python; None
        otherwise. EngineError: the workers do not start, a worker lacks a module, or it still
        imports another version of this package.
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
        """Notes for the user, at most two: on the packaged Java, and on slow workers."""
        return [note for note in (sessions.java_note(), self.note) if note is not None]

    def measure(self) -> Measure:
        """Return the number of Spark tasks done and in total in the running stages.

        Both are 0 if Spark does not report them, as with Spark Connect.
        """
        try:
            tracker = self.session.sparkContext.statusTracker()
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        except Exception:  # noqa: BLE001 - progress is no reason to end a run
            stages = []
        running = [stage for stage in stages if stage is not None]
        done = sum(stage.numCompletedTasks for stage in running)
        return Measure(done, sum(stage.numTasks for stage in running), TASKS)

    def run(self, job: Job) -> Iterator[pa.RecordBatch]:
        """Run ``job`` as one Spark job, and yield its results, merged if the job has a merge.

        All results are collected on the driver first. EngineError: Spark fails, for example because
        the function of the job raises an error.
        """
        # Results are sent as bytes in one column. Spark's code for the many columns of facts took
        # as long as reading the files.
        if not job.work:
            return
        with self.computing():
            rows = self._collect(lambda: self._ipc_frame(job))
        yield from from_ipc(row[0] for row in rows)

    def exchange(self, job: Exchange) -> Iterator[Exchanged]:
        """Run senders and receivers of ``job``, and yield the results of both.

        Spark's shuffle moves the parcels. Without receivers nothing runs, not even the senders.
        EngineError: Spark fails.
        """
        if not job.receivers:
            return
        scope = sessions.scope_of(self.session)
        with scope.conf(self.session.conf, BATCH_ROWS, str(_PARCELS_PER_BATCH)):
            rows = self._collect(lambda: self._exchange_frame(job))
        yield from results_in(rows)

    def _exchange_frame(self, job: Exchange) -> DataFrame:
        """Return a lazy frame with the results of an exchange as rows of RESULTS."""
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
        """Call ``frame`` and return the rows of its frame. EngineError: the call or Spark fails."""
        with sessions.engine_errors(self.session, "Spark"):
            return frame().collect()

    def _ipc_frame(self, job: Job) -> DataFrame:
        """Return a lazy frame with the results of ``job`` as rows of IPC_SCHEMA.

        If the job has a merge, results are merged within each Spark task, and then by _MERGERS
        tasks.
        """
        merge = job.merge
        if merge is None:
            return self._frame(encode_as_ipc(job.function), IPC_SCHEMA, job.work)
        # Results are shuffled as bytes. A shuffle of facts by their columns took longer than making
        # them.
        schema = keys_and_ipc(job.schema, merge.keys)
        partial_frame = self._frame(merge_in_part(job.function, merge), schema, job.work)
        parts = partial_frame.repartition(_MERGERS, *merge.keys)
        merged: DataFrame = parts.mapInArrow(merge_at_last(merge), from_arrow_schema(IPC_SCHEMA))
        return merged

    def frame(self, function: BatchFunction, schema: pa.Schema, work: Sequence[Work]) -> DataFrame:
        """Return a lazy DataFrame with the results of ``function`` on the tasks ``work``.

        ``schema`` is the schema of the results. Types that Spark does not support are converted.
        The frame must be computed inside the context of :meth:`computing`.
        """
        return self._frame(encode_columns(function, schema), encode_schema(schema), work)

    def _frame(self, run: BatchFunction, schema: pa.Schema, work: Sequence[Work]) -> DataFrame:
        """Return a lazy frame with the results of the batch function ``run`` on the tasks ``work``.

        ``schema`` is the schema of the results. It must have only types that Spark supports,
        because nothing is converted here.
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
        """Return a context that sets the conf BATCH_ROWS while a frame is computed.

        Frames need it only if Spark reads the files; otherwise the context changes nothing.
        """
        if self.reader is None:
            return nullcontext()
        scope = sessions.scope_of(self.session)
        return scope.conf(self.session.conf, BATCH_ROWS, str(CHUNKS_PER_BATCH))

    def _probe(self) -> list[str]:
        """Run :func:`inspector.engines.workers.probe` in Python workers, and return its JSON texts.

        There is one text for each of ``cores`` Spark tasks, or of _PROBES tasks if ``cores`` is
        None; several may be from one worker.
        EngineError: the workers do not start.
        """
        probe = F.udf(workers.probe(), StringType(), useArrow=False)
        count = self.cores or _PROBES
        numbers = self.session.range(0, count, 1, count)
        try:
            return [str(row[0]) for row in numbers.select(probe("id")).collect()]
        except Exception as error:  # noqa: BLE001 - py4j, gRPC and PySpark each have their own
            message = sessions.message_of(error, self.session)
            if "PYTHON_VERSION_MISMATCH" in message:
                message = f"{message.rstrip('.')}; {_OTHER_PYTHON}"
            raise EngineError(f"Spark's Python workers do not start: {message}") from None

    def _ship(self) -> None:
        """Send this package to the workers as a zip, from which they can import it."""
        # The file stays as long as the session, because executors that start later fetch it.
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
