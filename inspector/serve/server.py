"""The server: uvicorn, with the application on a socket that listens."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterable

import uvicorn

from inspector.serve.application import application
from inspector.serve.service import Service
from inspector.serve.sources import Source

_END_SECONDS = 2  # seconds that running requests have when the server ends


def run_server(  # noqa: PLR0913 - each is an option of the command
    source: Source,
    listening: socket.socket,
    token: str,
    host: str,
    hosts: Iterable[str],
    seconds: float,
    service: Service | None = None,
) -> None:
    """Answer requests on a listening socket until the process gets SIGINT or SIGTERM.

    ``token`` is required of every request. ``host`` is the address to which the socket is bound,
    and ``hosts`` are further names that the header Host may have. ``seconds`` is the time that the
    work of one request may take. ``service``, if given, is started before the server and stopped
    after it. SIGTERM ends the process with code 0.
    """
    app = application(source, token, host, hosts, seconds, service)
    config = uvicorn.Config(
        app,
        access_log=False,  # URLs have the token
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=_END_SECONDS,
        lifespan="off",
    )
    # uvicorn ends its server, and then raises the signal again for this handler.
    signal.signal(signal.SIGTERM, lambda *_: None)
    if service is not None:
        service.start()
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        if service is not None:
            service.stop()
