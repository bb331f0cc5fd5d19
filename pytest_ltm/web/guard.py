"""The guard in front of every page: who may request it, and what a browser may do with it."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Collection
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer, the origin of a form would be null
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
# The path prefix of the secret in the link.
ENTRANCE = "/open/"
# Paths that need no secret.
OPEN = "/static/"


MOST_STRANGERS, STRANGER_SECONDS = 64, 30.0
"""The most simultaneous connections without the secret, and how long each may take to show it."""


class Strangers:
    """Limits the connections that have not shown the secret, in number and time; the oldest goes first."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, int], asyncio.Transport] = {}

    def protocol(self) -> type[asyncio.Protocol]:
        """Return the protocol class for connections that begin as strangers."""
        from uvicorn.protocols.http.h11_impl import H11Protocol

        strangers = self

        class Limited(H11Protocol):
            def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
                super().connection_made(transport)
                strangers.welcome(self.client, transport)

            def connection_lost(self, exc: Exception | None) -> None:
                super().connection_lost(exc)
                strangers.admit(self.client)

        return Limited

    def welcome(
        self, client: tuple[str, int] | None, transport: asyncio.Transport
    ) -> None:
        """Register a connection; close the oldest if there are too many."""
        if client is None:
            return
        self._open[client] = transport
        asyncio.get_running_loop().call_later(
            STRANGER_SECONDS, self._show_out, client, transport
        )
        if len(self._open) > MOST_STRANGERS:
            oldest = next(iter(self._open))
            self._show_out(oldest, self._open[oldest])

    def admit(self, client: tuple[str, int] | None) -> None:
        """Stop limiting a connection that has shown the secret or is closed."""
        self._open.pop(client, None)  # type: ignore[arg-type]

    def _show_out(self, client: tuple[str, int], transport: asyncio.Transport) -> None:
        if self._open.get(client) is transport:
            del self._open[client]
            transport.abort()


class Guard:
    """Admits requests from the page itself, and from clients that know the secret.

    Args:
        app: The pages.
        secret: The secret in the link that `ltm serve` prints.
        hosts: The accepted host and port, as in
            `127.0.0.1:8642`.
        cookie: The name of the cookie that holds the secret afterwards.
        home: Where the link leads.
        strangers: The connections that have not shown a secret.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        secret: str,
        hosts: Collection[str],
        cookie: str,
        home: str,
        strangers: Strangers,
    ) -> None:
        self._app = app
        self._secret = secret
        self._hosts = hosts
        self._cookie = cookie
        self._home = home
        self._strangers = strangers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it to the pages."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_known = self._is_secret(
            cookie_parser(Headers(scope=scope).get("cookie", "")).get(self._cookie, "")
        )
        answer = self._foreign(scope)
        path = scope["path"]
        if (
            answer is None
            and path.startswith(ENTRANCE)
            and self._is_secret(path.removeprefix(ENTRANCE))
        ):
            answer = RedirectResponse(self._home, 303)
            answer.set_cookie(self._cookie, self._secret, httponly=True, samesite="lax")
        elif answer is None and not is_known and not path.startswith(OPEN):
            answer = PlainTextResponse(
                "Open the link that `ltm serve` printed: this page needs its key.", 403
            )

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    # the report has its own policy
                    headers.setdefault(name, value)
                if is_known:
                    self._strangers.admit(scope.get("client"))
            await send(message)

        await (self._app if answer is None else answer)(scope, receive, sent)

    def _foreign(self, scope: Scope) -> Response | None:
        """Return the response to a request that does not come from a page of this server."""
        headers = Headers(scope=scope)
        # In characters: addresses of pages name one or two runs.
        if len(scope["path"]) + len(scope.get("query_string", b"")) > 4_000:
            return PlainTextResponse("This address is too long.", 414)
        # To a browser, a foreign name that resolves to this address (DNS rebinding) is
        # another site.
        if headers.get("host", "").lower() not in self._hosts:
            return PlainTextResponse("This server has another address.", 421)
        # Browsers send an origin with requests that another site causes.
        origin = headers.get("origin")
        own_origins = {f"http://{host}" for host in self._hosts}
        if origin is not None and origin.lower() not in own_origins:
            return PlainTextResponse("Only the page itself may ask for this.", 403)
        if scope["method"] not in {"GET", "HEAD"}:
            return PlainTextResponse("This page shows runs and takes nothing.", 405)
        return None

    def _is_secret(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._secret.encode())
