"""The one function between the task list and the facts.

``run_tasks(batches) -> batches`` has the signature of Spark's ``mapInArrow``: the Spark engine maps
it over the cluster, the local engine calls it in this process. A task is one partition of one
operator with all its stores. What cannot be read becomes a row of kind ``problem`` and the run
goes on: an exception would lose its type on the way to the driver and fail the whole job.
"""
