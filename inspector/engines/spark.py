"""The engine on a cluster: the same batch functions, by ``mapInArrow`` on Spark's Python workers.

Only the DataFrame API is used: no RDD, no JVM gateway, so a session of Spark Connect will do. A
large task gets a Spark task of its own, the one with most file bytes first, so that it does not
start when the others are done (:mod:`inspector.engines.dealt`). A task that Spark runs again, or
twice at the same time, tells the same and counts once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StringType

from inspector.engines import session as sessions
from inspector.engines import workers
from inspector.engines.carried import PACKED, carried, packing, unpacked
from inspector.engines.dealt import deal, handing, slots_for
from inspector.engines.engine import HADOOP, BatchFunction, Merge, Work
from inspector.engines.hadoop import HadoopFiles
from inspector.engines.staging import on_copies
from inspector.exceptions import EngineError

_ASKED = 8
"""Spark tasks by which the workers of a cluster are asked what they have."""

_MERGERS = 16
"""Spark tasks that make many results fewer."""

_OTHER_PYTHON = "set PYSPARK_PYTHON or spark.pyspark.python to one like the driver's"

_READY: WeakKeyDictionary[SparkSession, str | None] = WeakKeyDictionary()
"""Sessions whose workers were asked, and what is to be known of those; asking takes a job."""


class SparkEngine:
    """Runs tasks on the executors of a session.

    Args:
        session: of Spark 3.5 or later, classic or Connect.
        reader: what reads the files, if not fsspec on each worker.

    Attributes:
        note: what is to be known of the session's workers, if anything.
    """

    def __init__(self, session: SparkSession, reader: HadoopFiles | None = None) -> None:
        self.session = session
        self.reader = reader
        self.note: str | None = None

    @classmethod
    def of(
        cls, session: Any, master: str | None, conf: Mapping[str, str], *, io: str = "fsspec"
    ) -> SparkEngine:
        """The engine on a session that is there (given or active), or on one that is started.

        Raises:
            EngineError: there is no such Spark, or its workers lack what they need.
        """
        sessions.check_driver()
        if session is None and master is None and not conf:
            # It is used as it is: a builder would give it confs of its own.
            session = SparkSession.getActiveSession()
        session = session or sessions.start(master, conf)
        engine = cls(session, HadoopFiles(session) if io == HADOOP else None)
        if session not in _READY:
            _READY[session] = engine.make_ready()
        engine.note = _READY[session]
        return engine

    def make_ready(self) -> str | None:
        """Ask the workers what they have, and send them this package if they lack it.

        Returns:
            What is to be known of them, if anything.

        Raises:
            EngineError: a worker lacks what cannot be sent.
        """
        found = workers.judge(self._ask())
        if workers.must_ship(found):
            self._ship(str(workers.package_zip()))
            found = workers.judge(self._ask())
            if workers.must_ship(found):
                have = sorted({str(one["inspector"]) for one in found})
                raise EngineError(
                    f"Python workers import version {', '.join(have)} of this package, expected "
                    "that of the driver: remove it there, or install the same wheel on both"
                )
        return workers.kernel_note(found)

    def map(
        self,
        function: BatchFunction,
        schema: pa.Schema,
        work: Sequence[Work],
        merge: Merge | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Map a batch function over tasks and collect what they tell: for results that are few.

        The batches come as bytes, in one column: Spark's code for the many columns of a fact took
        as long to make and to run as the reading of the state.
        """
        if not work:
            return
        try:
            with self.reading():
                told = self._packed(function, schema, work, merge).collect()
        except EngineError:
            raise
        except Exception as error:  # noqa: BLE001 - py4j, gRPC and PySpark each have their own
            raise EngineError(f"Spark: {sessions.words(error)}") from None
        yield from unpacked(row[0] for row in told)

    def _packed(
        self,
        function: BatchFunction,
        schema: pa.Schema,
        work: Sequence[Work],
        merge: Merge | None,
    ) -> DataFrame:
        if merge is None:
            return self._mapped(packing(function), PACKED, work)
        by_keys = self.frame(function, schema, work).repartition(_MERGERS, *merge.keys)
        packed: DataFrame = by_keys.mapInArrow(packing(merge.function), from_arrow_schema(PACKED))
        return packed

    def frame(self, function: BatchFunction, schema: pa.Schema, work: Sequence[Work]) -> DataFrame:
        """The same as a DataFrame that nobody has computed yet: for results that are many.

        Its columns are those of ``schema``, with the types that Spark has
        (:mod:`inspector.engines.carried`). Compute it within :meth:`reading`.
        """
        return self._mapped(*carried(function, schema), work)

    def _mapped(self, run: BatchFunction, schema: pa.Schema, work: Sequence[Work]) -> DataFrame:
        names = self.reader.names(work) if self.reader else []
        if self.reader and names:
            tasks = self.reader.frame(work, slots_for(work, self._cores))
            run = on_copies(run, names)
        else:
            slots = slots_for(work, self._cores)
            tasks = self.session.range(0, slots, 1, slots)
            run = handing(run, deal(work, slots))
        frame: DataFrame = tasks.mapInArrow(
            workers.on_worker(run), from_arrow_schema(schema, prefer_timestamp_ntz=True)
        )
        return frame

    @cached_property
    def _cores(self) -> int | None:
        return sessions.local_cores(self.session)

    def reading(self) -> AbstractContextManager[None]:
        """What the session has to be set to while a frame is computed."""
        return self.reader.small_batches() if self.reader else nullcontext()

    def _ask(self) -> list[str]:
        asked = F.udf(workers.question(), StringType(), useArrow=False)
        slots = self._cores or _ASKED
        numbers = self.session.range(0, slots, 1, slots)
        try:
            return [str(row[0]) for row in numbers.select(asked("id")).collect()]
        except Exception as error:  # noqa: BLE001 - as above
            said = sessions.words(error)
            if "PYTHON_VERSION_MISMATCH" in said:
                said = f"{said.rstrip('.')}; {_OTHER_PYTHON}"
            raise EngineError(f"Spark's Python workers do not start: {said}") from None

    def _ship(self, path: str) -> None:
        try:
            self.session.addArtifacts(path, pyfile=True)
        except Exception:  # noqa: BLE001 - 3.5 has it for Connect only
            self.session.sparkContext.addPyFile(path)
