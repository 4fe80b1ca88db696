"""``inspector serve``: a local web application over some checkpoints, which it only reads.

``guard`` refuses what is not the user's own browser, ``work`` runs analyses with limits,
``sources`` opens a part of a checkpoint, ``pages`` makes each page of a report, ``last_audits``
keeps the last audit of each checkpoint, and ``application`` joins them. Starlette was chosen
because it is maintained, small, and has no dependency besides anyio; its test client needs no port.
"""
