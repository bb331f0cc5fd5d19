"""Requests to an ASGI app in this process, without a socket or a server thread."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

if TYPE_CHECKING:
    from starlette.types import ASGIApp


class Got(NamedTuple):
    """A response."""

    status: int
    headers: dict[str, str]
    text: str


def ask(
    app: ASGIApp,
    path: str,
    given: Mapping[str, str] | None = None,
    *,
    host: str = "127.0.0.1:1",
    **headers: str | None,
) -> Got:
    """Return the response to a GET, or to a POST if a form is given; header names use `_`, and None omits a header."""
    body = b"" if given is None else urlencode(given).encode()
    said: dict[str, str | None] = {
        "host": host,
        "cookie": "ltm_1=k",
        "content_length": str(len(body)),
    }
    said |= {"origin": "http://127.0.0.1:1"} if given is not None else {}
    said |= headers
    place, _, query = path.partition("?")
    scope: dict[str, Any] = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET" if given is None else "POST",
        "path": place,
        "raw_path": place.encode(),
        "query_string": query.encode(),
        "scheme": "http",
        "root_path": "",
        "server": ("127.0.0.1", 1),
        "client": ("127.0.0.1", 2),
        "headers": [
            (k.replace("_", "-").encode(), v.encode())
            for k, v in said.items()
            if v is not None
        ],
    }
    sent: list[Any] = []

    bodies = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if not bodies:
            await asyncio.Event().wait()  # the client never disconnects
        return bodies.pop()

    async def send(message: Any) -> None:
        sent.append(message)

    async def answered() -> None:
        await app(scope, receive, send)

    asyncio.run(answered())
    start = sent[0]
    text = b"".join(message.get("body", b"") for message in sent[1:]).decode()
    return Got(
        start["status"], {k.decode(): v.decode() for k, v in start["headers"]}, text
    )
