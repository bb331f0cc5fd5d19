"""Transport: posts JSON to a model's server, by httpx2 or a provider's client, and returns any answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from pytest_ltm.api.calls import add_trace
from pytest_ltm.api.storage import AgentFault

# For pytest: the message already has the server's answer.
__tracebackhide__ = True

# Maximum bytes of an answer, decompressed.
LONGEST_BODY = 2**24
TOO_LONG = f"more than {LONGEST_BODY:,} bytes"
_PACKINGS = frozenset({"", "identity", "gzip", "deflate"})


class Arrived(NamedTuple):
    """A server's answer, complete."""

    status: int
    headers: Mapping[str, str]
    text: str


class Unreached(Exception):
    """A request got no answer; the cause says why.

    Args:
        unsent: Whether nothing was sent.
    """

    def __init__(self, *, unsent: bool) -> None:
        super().__init__()
        self.unsent = unsent


class Transport(Protocol):
    """Posts to one server."""

    def post(self, path: str, body: Mapping[str, Any]) -> Arrived:
        """Return the answer to a body posted to a path below the server's address.

        Raises:
            Unreached: There was no answer.
            AgentFault: The server redirects elsewhere, or its answer is too long.
        """

    def close(self) -> None:
        """Close the connections."""


class ClientGuard:
    """Options for every HTTP client: limits, and hooks that block foreign redirects and unbounded answers."""

    def __init__(self, base_url: str, timeout: float | None) -> None:
        self._base_url = base_url
        self.options: Mapping[str, Any] = {
            "timeout": timeout,
            "headers": {"Accept-Encoding": "gzip, deflate"},
            "event_hooks": {
                "request": [self._stay_at_home, add_trace],
                "response": [self._read_bounded],
            },
        }

    def _stay_at_home(self, request: Any) -> None:
        """Refuse a redirect that would send the conversation to another server, or drop its body."""
        home = urlsplit(self._base_url)
        # the usual redirect from http: to https:
        is_secured = request.url.scheme == "https" and request.url.port is None
        is_own = request.url.scheme == home.scheme and request.url.port == home.port
        if (
            request.url.host == home.hostname
            and (is_own or is_secured)
            and request.method == "POST"
        ):
            return
        place = str(request.url.copy_with(query=None, userinfo=b""))
        raise AgentFault(
            f"{self._base_url} redirects to {place}. If that is right, give this address"
        )

    def _read_bounded(self, response: Any) -> None:
        packing = response.headers.get("content-encoding", "")
        if packing.lower() not in _PACKINGS:
            response.close()
            raise AgentFault(
                f"{self._base_url} answered with a body packed as {packing[:40]!r}"
            )
        if not read_bounded(response):
            raise AgentFault(f"{self._base_url} answered with {TOO_LONG}")


def read_bounded(response: Any) -> bool:
    """Read the body of a streamed response; return False for one that is longer than LONGEST_BODY, unpacked."""
    body = bytearray()
    for part in response.iter_bytes():
        body += part
        if len(body) > LONGEST_BODY:
            response.close()
            return False
    response._content = bytes(body)  # noqa: SLF001 - as its read() does, which has no limit
    return True


class HttpTransport:
    """Posts by httpx2, the extra `http`."""

    def __init__(
        self, address: str, headers: Mapping[str, str], guard: ClientGuard
    ) -> None:
        # An extra, and slow to import.
        import httpx2

        self._address = address
        self._headers = headers
        self._unsent = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
        self._failed: type[Exception] = httpx2.HTTPError
        self._client = httpx2.Client(follow_redirects=True, **guard.options)

    def post(self, path: str, body: Mapping[str, Any]) -> Arrived:
        """Return the server's answer."""
        try:
            response = self._client.post(
                f"{self._address}{path}", json=body, headers=self._headers
            )
        except self._failed as error:
            raise Unreached(unsent=isinstance(error, self._unsent)) from error
        return Arrived(response.status_code, response.headers, response.text)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
