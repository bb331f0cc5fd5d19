"""A server on loopback with hostile responses: real HTTP, or bytes that pass for it."""

from __future__ import annotations

import gzip
import json
import socket
import socketserver
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from pytest_ltm.api.model import load_encoding

AWAY = "/away"
"""The path of requests that arrive through a redirect."""
ESCAPES = "\x1b]52;c;aGk=\x07\x1b[2J\u009b31m\u202e"


class Asked(NamedTuple):
    """A request, with its connection for the response."""

    connection: socket.socket
    stopping: threading.Event
    headers: str
    body: Any
    usual: Callable[..., Any]
    """Returns the body of a good response, with a text and usage, in the form that the request expects."""

    @property
    def tokens(self) -> int:
        """Tokens of the prompt."""
        texts = [one.get("content") for one in self.body.get("messages", ())] or [
            self.body.get("message")
        ]
        return sum(
            len(load_encoding("o200k_base").encode_ordinary(str(text)))
            for text in texts
        )

    @property
    def secret(self) -> str:
        """The credentials sent with the request."""
        return next(
            (
                line
                for line in self.headers.split("\r\n")
                if line.lower().startswith("authorization")
            ),
            "",
        )

    @property
    def elsewhere(self) -> str:
        """An address of this server that looks like another host's."""
        return f"http://localhost:{self.connection.getsockname()[1]}{AWAY}"

    def send(self, data: bytes | str) -> None:
        """Send bytes."""
        self.connection.sendall(data.encode() if isinstance(data, str) else data)

    def answer(
        self,
        body: Any,
        status: str = "200 OK",
        *,
        length: int | None = None,
        **headers: Any,
    ) -> None:
        """Send a response: texts and bytes unchanged, anything else as JSON."""
        data = (
            body
            if isinstance(body, bytes)
            else body.encode()
            if isinstance(body, str)
            else json.dumps(body).encode()
        )
        shown = {
            "content-type": "application/json",
            "content-length": str(len(data) if length is None else length),
        }
        shown |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = "".join(f"{name}: {value}\r\n" for name, value in shown.items())
        self.send(
            f"HTTP/1.1 {status}\r\n{lines}connection: close\r\n\r\n".encode() + data
        )

    def again(self, data: bytes | str, seconds: float = 0.0) -> None:
        """Send bytes repeatedly until the client hangs up or the server stops."""
        while not self.stopping.wait(seconds):
            self.send(data)

    def chunked(self, packed: str = "") -> None:
        """Begin a chunked response."""
        more = f"content-encoding: {packed}\r\n" if packed else ""
        self.send(
            f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{more}transfer-encoding: chunked\r\n\r\n"
        )


def _reset(asked: Asked) -> None:
    asked.connection.setsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
    )


def _usage(value: Any) -> Callable[[Asked], None]:
    return lambda asked: asked.answer(asked.usual(usage=value))


def _text(value: Any) -> Callable[[Asked], None]:
    return lambda asked: asked.answer(asked.usual(value))


def _body(body: Any, status: str = "200 OK", **headers: Any) -> Callable[[Asked], None]:
    return lambda asked: asked.answer(body, status, **headers)


def _busy(after: str) -> Callable[[Asked], None]:
    return _body(
        {"error": {"message": "Slow down."}}, "429 Too Many Requests", retry_after=after
    )


def _drip(asked: Asked) -> None:
    asked.send(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n"
    )
    asked.again(" ", 0.2)


def _endless(asked: Asked) -> None:
    asked.chunked()
    asked.again(b"10000\r\n" + b" " * 0x10000 + b"\r\n")


def _bomb(asked: Asked) -> None:
    asked.answer(gzip.compress(b" " * 200_000_000, 9), content_encoding="gzip")


def _bombs(asked: Asked) -> None:
    asked.answer(
        gzip.compress(gzip.compress(b" " * 100_000_000, 9), 9),
        content_encoding="gzip, gzip",
    )


def _bad_chunk(asked: Asked) -> None:
    asked.chunked()
    asked.send("-5\r\n{}\r\nzz\r\n")


def _endless_head(asked: Asked) -> None:
    asked.send("HTTP/1.1 200 OK\r\n")
    asked.again("x-more: and more\r\n" * 1_000)


def _twice(asked: Asked) -> None:
    asked.answer(asked.usual())
    asked.answer(asked.usual())


def _echo(status: str) -> Callable[[Asked], None]:
    return lambda asked: asked.answer(
        {"error": {"message": f"{asked.secret} {ESCAPES}"}}, status
    )


def _redirect(status: str, to: str) -> Callable[[Asked], None]:
    return _body("", status, location=to)


USAGE: dict[str, Callable[[Asked], None]] = {
    "usage_missing": lambda asked: asked.answer(asked.usual()),
    "usage_null": _usage(None),
    "usage_text": _usage("lots"),
    "usage_list": _usage([1, 2]),
    "usage_empty": _usage({}),
    "usage_zero": _usage(
        {"prompt_tokens": 0, "completion_tokens": 0, "in": 0, "out": 0}
    ),
    "usage_negative": _usage(
        {"prompt_tokens": -500, "completion_tokens": -3, "in": -500, "out": -3}
    ),
    "usage_words": _usage(
        {
            "prompt_tokens": "a dozen",
            "completion_tokens": "3.x",
            "in": "a dozen",
            "out": "3.x",
        }
    ),
    "usage_infinite": lambda asked: asked.answer(
        json.dumps(asked.usual(usage="?")).replace(
            '"?"', '{"prompt_tokens": 1e999, "in": 1e999, "out": NaN}'
        )
    ),
    "usage_true": _usage(
        {"prompt_tokens": True, "completion_tokens": 1.5, "in": True, "out": 1.5}
    ),
}
TEXTS: dict[str, Callable[[Asked], None]] = {
    "text_null": _text(None),
    "text_number": _text(5),
    "text_object": _text({"a": [1]}),
    "text_empty": _text(""),
    "text_megabytes": _text("word " * 1_000_000),
    "text_surrogate": lambda asked: asked.answer(
        json.dumps(asked.usual("?")).replace("?", "\\ud83d")
    ),
    "text_controls": _text(f"\0{ESCAPES}"),
    "text_secret": lambda asked: asked.answer(asked.usual(asked.secret)),
    "choices_none": _body(
        {"choices": [], "usage": {"prompt_tokens": 30, "completion_tokens": 5_000}}
    ),
    "choices_null": _body({"choices": None}),
    "tool_call": _body(
        {"choices": [{"message": {"tool_calls": [{}]}, "finish_reason": "tool_calls"}]}
    ),
    "object_empty": _body({}),
    "array": _body([]),
    "null": _body("null"),
    "deep": _body("[" * 200_000),
    "deep_whole": _body("[" * 200_000 + "]" * 200_000),
    "long_number": _body("9" * 1_000_000),
    "nan": _body("NaN"),
    "html": _body("<html><script>alert(1)</script>", content_type="text/html"),
    "wrong_type": lambda asked: asked.answer(asked.usual(), content_type="image/png"),
    "utf16": lambda asked: asked.answer(json.dumps(asked.usual()).encode("utf-16")),
    "not_utf8": _body(
        b'{"reply": "\xff\xfe"}', content_type="application/json; charset=utf-8"
    ),
    "strange_charset": lambda asked: asked.answer(
        asked.usual(), content_type="application/json; charset=zip"
    ),
    "nothing": _body(""),
    "no_content": _body("", "204 No Content"),
    "half": _body('{"choices": [{"mess'),
}
STATUSES: dict[str, Callable[[Asked], None]] = {
    "status_400": _echo("400 Bad Request"),
    "status_401": _echo("401 Unauthorized"),
    "status_404": _body("<html>not here", "404 Not Found", content_type="text/html"),
    "status_500": _echo(f"500 Oh {ESCAPES.encode('ascii', 'ignore').decode()}"),
    "status_503": _body("", "503 Service Unavailable"),
    "status_999": _body("{}", "999 Odd"),
    "status_304": _body("", "304 Not Modified"),
    "retry_negative": _busy("-5"),
    "retry_words": _busy("soon"),
    "retry_infinite": _busy("1e999"),
    "retry_nan": _busy("nan"),
    "retry_huge": _busy("9" * 400),
    "retry_date": _busy("Fri, 31 Dec 9999 23:59:59 GMT"),
    "retry_bad_date": _busy("Fri, 99 Dec 99999 99:99:99 GMT"),
    "redirect_loop": _redirect("307 Temporary Redirect", ""),
    "redirect_host": lambda asked: _redirect("307 Temporary Redirect", asked.elsewhere)(
        asked
    ),
    "redirect_get": _redirect("301 Moved Permanently", "/elsewhere"),
    "redirect_file": _redirect("302 Found", "file:///etc/passwd"),
    "redirect_nowhere": _redirect("308 Permanent Redirect", "http://127.0.0.1:9/"),
    "redirect_garbage": _redirect("302 Found", "http://[::"),
}
WIRES: dict[str, Callable[[Asked], None]] = {
    "reset": _reset,
    "closed": lambda _: None,
    "cut": lambda asked: asked.answer(json.dumps(asked.usual())[:20], length=4_000),
    "short_length": lambda asked: asked.answer(asked.usual(), length=5),
    "negative_length": lambda asked: asked.answer(asked.usual(), length=-5),
    "silent": lambda asked: asked.again("", 0.1),
    "drip": _drip,
    "endless": _endless,
    "endless_head": _endless_head,
    "long_head": lambda asked: asked.send(
        "HTTP/1.1 200 OK\r\nx: " + "a" * 10_000_000 + "\r\n\r\n"
    ),
    "bad_chunk": _bad_chunk,
    "bomb": _bomb,
    "bombs": _bombs,
    "no_gzip": lambda asked: asked.answer(asked.usual(), content_encoding="gzip"),
    "cut_gzip": lambda asked: asked.answer(
        gzip.compress(b"{}" * 9_000)[:-20], content_encoding="gzip"
    ),
    "deflated": lambda asked: asked.answer(zlib.compress(b"{}"), content_encoding="br"),
    "continues": lambda asked: asked.again("HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "hints": lambda asked: asked.again(
        "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n", 0.05
    ),
    "tls": lambda asked: asked.send(b"\x15\x03\x01\x00\x02\x02\x50" * 3),
    "no_http": lambda asked: asked.send("SSH-2.0-OpenSSH_9.6\r\n" + ESCAPES),
    "nuls": lambda asked: asked.send(bytes(100_000)),
    "twice": _twice,
}
ANSWERS = {**USAGE, **TEXTS, **STATUSES, **WIRES}
"""The responses to a request, by name."""


class Server(socketserver.ThreadingTCPServer):
    """Answers every request in the same way, and counts the requests."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, how: str, usual: Callable[..., Any]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.how, self.usual = ANSWERS[how], usual
        self.prompts: list[int] = []
        """The tokens of each prompt."""
        self.led_away = 0
        """Requests with a body that followed a redirect to another host."""
        self.stopping = threading.Event()

    @property
    def url(self) -> str:
        """The server's address."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_: Any) -> None:
        """Ignore errors: clients hang up."""


class _Handler(socketserver.BaseRequestHandler):
    server: Server

    def handle(self) -> None:
        with suppress(OSError, ValueError):
            self.request.settimeout(30)
            with self.request.makefile("rb") as file:
                headers = "".join(
                    iter(lambda: file.readline().decode("latin-1"), "\r\n")
                )
                lengths = [
                    line
                    for line in headers.lower().split("\r\n")
                    if line.startswith("content-length:")
                ]
                body = json.loads(
                    file.read(int(lengths[0].partition(":")[2])) if lengths else b"{}"
                )
            asked = Asked(
                self.request, self.server.stopping, headers, body, self.server.usual
            )
            if body:  # a redirected GET has none
                self.server.prompts.append(asked.tokens)
                self.server.led_away += headers.startswith(f"POST {AWAY}")
            self.server.how(asked)


@contextmanager
def serving(how: str, usual: Callable[..., Any]) -> Iterator[Server]:
    """Serve until the block ends."""
    with Server(how, usual) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.stopping.set()
            server.shutdown()
            thread.join()
