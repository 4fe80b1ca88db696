"""The application: its routes, behind the guard."""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from inspector.exceptions import CheckpointError, InspectorError
from inspector.light_dataclasses import replace
from inspector.passes.conditions import Term
from inspector.render.page.served import ASSETS, Frame, Link, asset_text, message_html
from inspector.serve.guard import LOOPBACK, Guard
from inspector.serve.known_texts import KnownTexts
from inspector.serve.last_audits import message_of
from inspector.serve.pages import Pages
from inspector.serve.positions import (
    KEY_DIGITS,
    ORDERS,
    ROW_LIMITS,
    ROWS,
    NoSuchPageError,
    Position,
    Search,
    number_of,
    store_of_segment,
)
from inspector.serve.sources import Part, Source
from inspector.serve.work import AbandonedError, TooLongError, Workers

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams
    from starlette.requests import Request
    from starlette.types import ASGIApp

    from inspector.serve.service import Service

SECONDS = 120.0  # seconds that the work of a request may take, unless the command says another time
# seconds that the first page of the fleet waits for audits that are running
_FIRST_SECONDS = 2.0
HEALTH = "/healthz"  # path that needs no token
_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"  # what Prometheus reads
_CLOSED = 499  # status of an answer that nobody waits for


# paths of URLs, with the names of their parameters in braces
_CHECKPOINT = "/{index}"
_OPERATOR = _CHECKPOINT + "/operators/{operator}"
_STORE = _OPERATOR + "/stores/{store}"
_PARTITION = _STORE + "/partitions/{partition}"
_PATHS = {
    "checkpoint": _CHECKPOINT,
    "rows": _CHECKPOINT + "/rows",
    "operator": _OPERATOR,
    "rows of operator": _OPERATOR + "/rows",
    "store": _STORE,
    "rows of store": _STORE + "/rows",
    "partition": _PARTITION,
    "key": _PARTITION + "/keys/{key}",
}
"""Name of each page of the walk -> path of its URL."""

# refusal of a comparison while values are hidden
_ONLY_EQUAL = (
    "Comparisons other than = would tell hidden values: they need --show-values, and keys in clear."
)


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
        self._searches = KnownTexts(1 << 20)  # searches that URLs hide, by name
        self._secret = secrets.token_bytes(32)  # so that a name tells nothing of its search

    def routes(self) -> Sequence[Route]:
        """Return the route of each page."""
        return [
            Route("/", self.fleet),
            Route("/assets/{name}", self.asset),
            *([Route(HEALTH, self.health)] if self._service else []),
            *([Route("/metrics", self.metrics)] if self._service else []),
            *(Route(path, self.page, name=name) for name, path in _PATHS.items()),
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
            entries = [None if result is None else result.entry for result in results]
            return HTMLResponse(self.pages.fleet_page(entries, about))
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

    async def page(self, request: Request) -> Response:
        """Answer with a page of the walk.

        A search that was typed is answered with the URL that hides it, unless keys are in clear.
        """
        position = self._position(request)
        search = position.search
        if search and not search.name and not position.is_clear:
            hidden = replace(search, name=self._hide(search))
            return RedirectResponse(replace(position, search=hidden).url, 303)
        page = await self._workers.run(request, lambda stop: self.pages.page(position, stop))
        return HTMLResponse(page)

    def _position(self, request: Request) -> Position:
        """Return the position that a URL names.

        Raises NoSuchPageError, and HTTPException for what may not be shown.
        """
        names, query = request.path_params, request.query_params
        index, source = number_of(names["index"], "checkpoint"), self.pages.source
        if index >= len(source.paths):
            raise NoSuchPageError("There is no checkpoint with this number.")
        is_clear = query.get("values") == "shown"
        if is_clear and not source.may_show:
            raise HTTPException(403, "Keys and values are shown only after --show-values.")
        key = names.get("key", "")
        if key and not KEY_DIGITS.fullmatch(key):
            raise NoSuchPageError("There is no such key.")
        order, limit = query.get("order", ""), query.get("limit") or str(ROWS)
        if order not in ORDERS or limit not in map(str, ROW_LIMITS):
            raise NoSuchPageError("There is no such order or number of rows.")
        lists_rows = request.url.path.endswith("/rows") or ("partition" in names and not key)
        search = self._search(query, is_clear=is_clear) if lists_rows else Search()
        return Position(
            index, _part(names, query), is_clear, lists_rows, search, order, int(limit), key
        )

    def _search(self, query: QueryParams, *, is_clear: bool) -> Search:
        """Return the search in the query of a URL.

        Raises NoSuchPageError for one that is no longer known, and HTTPException for a comparison
        that would tell hidden values.
        """
        name = query.get("search", "")
        if name:
            text = self._searches.find(name)
            if text is None:
                raise NoSuchPageError("This search is no longer known: search again.")
            key, where = json.loads(text)
            return Search(key, where, name)
        search = Search(query.get("key", "").strip(), query.get("where", "").strip())
        if search.where and not is_clear and Term.parse(search.where).compare != "=":
            raise HTTPException(403, _ONLY_EQUAL)
        return search

    def _hide(self, search: Search) -> str:
        """Return the name by which a URL hides a search, and keep the search."""
        text = json.dumps((search.key, search.where)).encode()
        name = hmac.new(self._secret, text, "sha256").hexdigest()[:16]
        self._searches.keep(name, text)
        return name


def _part(names: Mapping[str, str], query: QueryParams) -> Part:
    """Return the part that path and query of a URL name. Raises NoSuchPageError."""
    operator, store = names.get("operator"), names.get("store")
    partition, batch = names.get("partition"), query.get("batch") or None
    return Part(
        None if operator is None else number_of(operator, "operator"),
        None if store is None else store_of_segment(store),
        None if partition is None else number_of(partition, "partition"),
        None if batch is None else number_of(batch, "batch"),
    )


async def _message(_request: Request, error: Exception) -> Response:
    """Answer with a page that says what is wrong."""
    if isinstance(error, AbandonedError):
        return Response(status_code=_CLOSED)
    status, text = 500, message_of(error)
    if isinstance(error, HTTPException):
        status, text = error.status_code, str(error.detail)
    elif isinstance(error, TooLongError):
        status, text = 503, "This takes longer than a request may take: see --request-seconds."
    elif isinstance(error, NoSuchPageError):
        status, text = 404, str(error)
    elif isinstance(error, CheckpointError):
        status = 404
    elif isinstance(error, (InspectorError, OSError)):
        status = 422
    frame = Frame("Not shown", trail=(Link("Checkpoints", "/"),))
    return HTMLResponse(message_html(frame, text), status)


# errors that are answered with a page; Starlette also reports an error that is none of the others
_ERRORS = (
    *(HTTPException, NoSuchPageError, AbandonedError, TooLongError),
    *(InspectorError, OSError, MemoryError, Exception),
)


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
    inner = Starlette(
        routes=Application(source, seconds, service).routes(),
        exception_handlers=dict.fromkeys(_ERRORS, _message),
    )
    inner.router.redirect_slashes = False
    return Guard(inner, token, bound, hosts, (HEALTH,) if service else ())
