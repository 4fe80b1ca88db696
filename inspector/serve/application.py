"""The application: its routes, behind the guard."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from inspector.exceptions import InspectorError
from inspector.render.page.served import ASSETS, Frame, Link, asset_text, message_html
from inspector.serve.guard import LOOPBACK, Guard
from inspector.serve.last_audits import message_of
from inspector.serve.pages import Pages, Position
from inspector.serve.sources import Part, Source
from inspector.serve.work import AbandonedError, TooLongError, Workers

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp

    from inspector.serve.service import Service

SECONDS = 120.0  # seconds that the work of a request may take, unless the command says another time
# seconds that the first page of the fleet waits for audits that are running
_FIRST_SECONDS = 2.0
HEALTH = "/healthz"  # path that needs no token
_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"  # what Prometheus reads
_CLOSED = 499  # status of an answer that nobody waits for


class Application:
    """Answers of the server."""

    def __init__(
        self, source: Source, seconds: float = SECONDS, service: Service | None = None
    ) -> None:
        """Prepare the answers; ``seconds`` is the time that the work of a request may take.

        With a ``service`` the page of the fleet shows its last results.
        """
        self.pages, self._service = Pages(source), service
        self._workers = Workers(seconds)
        self._begin = monotonic()

    def routes(self) -> Sequence[Route]:
        """Return the route of each page."""
        return [
            Route("/", self.fleet),
            Route("/assets/{name}", self.asset),
            Route("/{index:int}", self.audit),
            *([Route(HEALTH, self.health)] if self._service else []),
            *([Route("/metrics", self.metrics)] if self._service else []),
        ]

    async def health(self, _request: Request) -> Response:
        """Answer 200 while the audits go on, else 503; says nothing of the checkpoints."""
        is_healthy = self._service is not None and self._service.is_healthy
        text = "ok\n" if is_healthy else "the audits do not go on\n"
        return PlainTextResponse(text, 200 if is_healthy else 503)

    async def metrics(self, _request: Request) -> Response:
        """Answer with the metrics of the last results, as Prometheus reads them."""
        assert self._service is not None
        return Response(self._service.metrics(), media_type=_METRICS_TYPE)

    async def fleet(self, _request: Request) -> Response:
        """Answer with the page of all checkpoints; the first request starts their audits."""
        if self._service is not None:
            results, about = self._service.results, self._service.about()
            found = [None if result is None else result.entry for result in results]
            return HTMLResponse(self.pages.fleet_page(found, about))
        fleet = self.pages.fleet
        fleet.start()
        end = monotonic() + _FIRST_SECONDS
        while not fleet.is_complete and monotonic() < end:
            await asyncio.sleep(0.02)
        return HTMLResponse(self.pages.fleet_page())

    async def asset(self, request: Request) -> Response:
        """Answer with a style or script."""
        name = request.path_params["name"]
        if name not in ASSETS:
            raise HTTPException(404)
        return Response(asset_text(name), media_type=ASSETS[name][0])

    async def audit(self, request: Request) -> Response:
        """Answer with the page of a checkpoint's audit."""
        position = self._position(request)
        page = await self._workers.run(request, lambda s: self.pages.audit_page(position, s))
        return HTMLResponse(page)

    def _position(self, request: Request) -> Position:
        """Return the position that a URL names; HTTPException if there is none."""
        index = request.path_params["index"]
        source = self.pages.source
        if index >= len(source.paths):
            raise HTTPException(404, "There is no checkpoint with this number.")
        query = request.query_params
        shown = query.get("values") == "shown"
        if shown and not source.may_show:
            raise HTTPException(403, "Keys and values are shown only after --show-values.")
        batch = query.get("batch") or None
        if batch is not None and not (batch.isascii() and batch.isdigit() and len(batch) < 16):
            raise HTTPException(400, "The batch is no number.")
        return Position(index, Part(batch=None if batch is None else int(batch)), shown)


async def _message(_request: Request, error: Exception) -> Response:
    """Answer with a page that says what is wrong."""
    if isinstance(error, AbandonedError):
        return Response(status_code=_CLOSED)
    status, text = 500, message_of(error)
    if isinstance(error, HTTPException):
        status, text = error.status_code, str(error.detail)
    elif isinstance(error, TooLongError):
        status, text = 503, "This takes longer than a request may take: see --request-seconds."
    elif isinstance(error, (InspectorError, OSError)):
        status = 422
    frame = Frame("Not shown", trail=(Link("Checkpoints", "/"),))
    return HTMLResponse(message_html(frame, text), status)


def application(
    source: Source,
    token: str,
    bound: str = LOOPBACK[0],
    hosts: Iterable[str] = (),
    seconds: float = SECONDS,
    service: Service | None = None,
) -> ASGIApp:
    """Return the guarded application.

    ``token`` is required of every request, ``bound`` is the address of the server, and ``hosts``
    are further names that requests may use for it. A ``service`` adds ``/metrics`` and
    ``/healthz``; the latter needs no token.
    """
    errors = (HTTPException, AbandonedError, TooLongError, InspectorError, OSError, MemoryError)
    inner = Starlette(
        routes=Application(source, seconds, service).routes(),
        exception_handlers=dict.fromkeys((*errors, Exception), _message),
    )
    return Guard(inner, token, bound, hosts, (HEALTH,) if service else ())
