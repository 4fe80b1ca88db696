"""Guard before the application: token, host, origin, method, and limits of requests.

A page of another site may make a browser send requests to this server, and may rebind the name of
its own host to this address. So each request needs the token, by the URL that the command printed
and then by a cookie, a host that names this server, and no foreign origin.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN = "token"  # name of the parameter of the printed URL
LONGEST_URL = 8192  # bytes of path and query together
MAX_REQUESTS = 64  # requests that are answered at the same time; further ones are refused
LOOPBACK = ("127.0.0.1", "::1", "localhost")  # names of this machine in the header Host

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Headers of every answer."""

# answer to a request without the token
_NO_TOKEN = (
    "This request has no valid token. Open the URL that `inspector serve` printed, then open this "
    "page again.\n"
)


class Guard:
    """ASGI application that passes only allowed requests on to another one."""

    def __init__(
        self,
        application: ASGIApp,
        token: str,
        bound: str = LOOPBACK[0],
        hosts: Iterable[str] = (),
        open_paths: Iterable[str] = (),
    ) -> None:
        """Guard an application.

        ``bound`` is the address to which the server is bound, ``hosts`` are further names that the
        header Host may have, and ``open_paths`` are paths that need no token.
        """
        self._application, self._token = application, token
        self._open_paths = frozenset(open_paths)
        self._names = {name.lower() for name in (bound, *hosts)}
        address = _address(bound)
        # An attacker can rebind a name and no address, so any address may name an open server.
        self._takes_addresses = address is not None and address.is_unspecified
        if address is None or address.is_loopback or address.is_unspecified:
            self._names |= set(LOOPBACK)
        # Cookies of a host are the same for all ports, so each server has a name of its own.
        self._cookie = f"inspector_{sha256(token.encode()).hexdigest()[:8]}"
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on with the headers of :data:`HEADERS`."""
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        if scope["type"] != "http":  # websockets, which are not served
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = Headers(scope=scope)
        is_page = "text/html" in headers.get("accept", "")

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                answer.update(HEADERS)
                if sets_cookie:
                    answer.append("Set-Cookie", self._set_cookie())
            await send(message)

        sets_cookie = False
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, send_guarded)
            return
        url_token = _url_token(scope)
        if url_token is not None:
            sets_cookie = True
            if is_page:  # so that neither history nor address bar keep the token
                await _without_token(scope)(scope, receive, send_guarded)
                return
        self._running += 1
        try:
            await self._application(scope, receive, send_guarded)
        finally:
            self._running -= 1

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the answer to a request that is not allowed; None if it is allowed."""
        if scope["method"] not in ("GET", "HEAD"):
            text = "Checkpoints are only read: use GET or HEAD.\n"
            return PlainTextResponse(text, 405, {"Allow": "GET, HEAD"})
        size = len(scope.get("raw_path") or scope["path"].encode()) + len(scope["query_string"])
        if size > LONGEST_URL:
            return PlainTextResponse(f"The URL has more than {LONGEST_URL:,} bytes.\n", 414)
        host = headers.getlist("host")
        if len(host) != 1 or not self._is_own(host[0]):
            text = "The header Host does not name this server; --allow-host allows a name.\n"
            return PlainTextResponse(text, 421)
        if any(not _is_same_origin(origin, host[0]) for origin in headers.getlist("origin")):
            return PlainTextResponse("The request is from a page of another site.\n", 403)
        if scope["path"] not in self._open_paths and not self._has_token(scope, headers):
            return PlainTextResponse(_NO_TOKEN, 403)
        if self._running >= MAX_REQUESTS:
            text = f"{MAX_REQUESTS} requests are being answered; try again.\n"
            return PlainTextResponse(text, 503, {"Retry-After": "1"})
        return None

    def _is_own(self, host: str) -> bool:
        """True if the header Host names this server; the port may be that of a tunnel."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name in self._names or (self._takes_addresses and _address(name) is not None)

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        """True if URL, cookie or ``Authorization: Bearer`` have the token."""
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        tokens = [_url_token(scope), bearer if scheme.lower() == "bearer" else None]
        tokens.append(_cookie_value(headers, self._cookie))
        expected = self._token.encode()
        matches = [hmac.compare_digest((text or "").encode(), expected) for text in tokens]
        return any(matches)

    def _set_cookie(self) -> str:
        """Return the header that makes a browser send the token with its next requests."""
        return f"{self._cookie}={quote(self._token)}; Path=/; HttpOnly; SameSite=Strict"


def _address(name: str):  # type: ignore[no-untyped-def]  # two classes without a common base
    """Return the IP address that a text is; None if it is none."""
    try:
        return ip_address(name.strip("[]"))
    except ValueError:
        return None


def _is_same_origin(origin: str, host: str) -> bool:
    """True if an origin is that of the server itself; a proxy before it may speak HTTPS."""
    return origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}")


def _url_token(scope: Scope) -> str | None:
    """Return the token in the query of a request; None if there is none."""
    return dict(_query(scope)).get(TOKEN)


def _query(scope: Scope) -> list[tuple[str, str]]:
    """Return the names and values in the query of a request."""
    text = scope["query_string"].decode("latin-1")
    return parse_qsl(text, keep_blank_values=True, errors="replace")


def _without_token(scope: Scope) -> Response:
    """Return a redirection to the same URL without the token."""
    remaining = urlencode([(name, value) for name, value in _query(scope) if name != TOKEN])
    # One slash at the begin: two would name another host.
    path = "/" + quote(scope["path"].lstrip("/"), safe="/~")
    return RedirectResponse(f"{path}?{remaining}" if remaining else path, 303)


def _cookie_value(headers: Headers, name: str) -> str | None:
    """Return the value of a cookie; None if it is not sent."""
    try:
        cookie = SimpleCookie("; ".join(headers.getlist("cookie"))).get(name)
    except CookieError:
        return None
    return None if cookie is None else cookie.value
