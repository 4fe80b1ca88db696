"""From a path to tasks: what a checkpoint holds, which rules apply to it, and who reads what.

::

    checkpoint   path           -> Checkpoint: operators, stores, schemas, rules, logs
    plan         Checkpoint     -> tasks, one for each partition of each operator
    tasks        a task as the text that crosses to a worker

Listings, logs and other small files are read here; state files are not.
"""
