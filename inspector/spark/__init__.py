"""The inspector in a Spark session: reports and DataFrames, from a notebook or a job.

::

    import inspector.spark

    report = inspector.spark.audit(spark, "s3a://bucket/checkpoint")
    inspector.spark.leftovers(spark, path).groupBy("class").count().show()

Any session of Spark 3.5 and later will do, one of Spark Connect too. Where its Python workers lack
this package they are sent it (:mod:`inspector.engines.workers`). On Spark 4.0 and later there is a
data source as well: :mod:`inspector.spark.source`.

A DataFrame reads the checkpoint each time that it is computed; ``cache()`` keeps what it read. What
cannot be read is an error by default; mode ``dropmalformed`` leaves it out, ``permissive`` tells it
in a column ``problem``, as JSON. :func:`problems` lists all of it.
"""

from inspector.spark.frames import (
    audit,
    changes,
    files,
    findings,
    leftovers,
    problems,
    rows,
    versions,
)

__all__ = [
    "audit",
    "changes",
    "files",
    "findings",
    "leftovers",
    "problems",
    "rows",
    "versions",
]
