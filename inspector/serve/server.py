"""The server: uvicorn, with the application on a socket that listens."""

from __future__ import annotations

import socket
from collections.abc import Iterable

import uvicorn

from inspector.serve.application import application
from inspector.serve.sources import Source

_END_SECONDS = 2  # seconds that running requests have when the server ends


def run_server(
    source: Source,
    listening: socket.socket,
    token: str,
    host: str,
    hosts: Iterable[str],
    seconds: float,
) -> None:
    """Answer requests on a socket until the process gets a signal to end."""
    app = application(source, token, host, hosts, seconds)
    config = uvicorn.Config(
        app,
        access_log=False,  # URLs have the token
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=_END_SECONDS,
        lifespan="off",
    )
    uvicorn.Server(config).run(sockets=[listening])
