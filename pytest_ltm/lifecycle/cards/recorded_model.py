"""Recorded model: replies of the extraction model in a file, so that replaying a card needs no key.

A server on the loopback interface takes the place of `OPENAI_BASE_URL`. It either asks the real model and records it,
or answers from the file. The file contains only replies: requests are identified by their hash, so no prompts of a
library are copied.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from pytest_ltm.api.storage import (
    ConfigurationError,
    describe_error,
    read_regular,
    write_output,
)

FORMAT = "pytest-ltm recorded model 1"
ADDRESS = "OPENAI_BASE_URL"
KEY = "OPENAI_API_KEY"
_DEFAULT = "https://api.openai.com/v1"
_LIMIT = 300.0
"""The timeout in seconds for a reply of the real model."""
_DAY = timedelta(days=1)
_REFUSED = 400
"""The lowest HTTP status that means a refusal."""
_SHOWN = 200


class ModelReply(NamedTuple):
    """The reply of a model to one request."""

    request: str
    """The hash of the request."""
    status: int
    body: Any


class Recording:
    """Replies by request; repeated requests get successive replies, then the last one again."""

    def __init__(self, replies: list[ModelReply]) -> None:
        self.replies = replies
        self._by_request: dict[str, list[ModelReply]] = defaultdict(list)
        for reply in replies:
            self._by_request[reply.request].append(reply)

    def take(self, request: str) -> ModelReply | None:
        """Return the next reply to a request; None if there is none."""
        replies = self._by_request.get(request, [])
        if len(replies) > 1:
            return replies.pop(0)
        return next(iter(replies), None)

    @property
    def digest(self) -> str:
        """Identifies the recording, whatever the order of its calls."""
        lines = sorted(json.dumps(reply, sort_keys=True) for reply in self.replies)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]

    def has_part(self, digest: str, calls: int) -> bool:
        """Return whether `calls` consecutive replies have this digest: those of one memory of several."""
        starts = range(len(self.replies) - calls + 1)
        parts = (Recording(self.replies[start : start + calls]) for start in starts)
        return any(part.digest == digest for part in parts)

    def text(self) -> str:
        """Return the recording as file contents: a header, then one line per reply."""
        header = json.dumps({"format": FORMAT})
        rows = [json.dumps(reply._asdict()) for reply in self.replies]
        return "\n".join([header, *rows]) + "\n"


def read_recording(path: Path) -> Recording:
    """Read the recording in a file; ConfigurationError if it is not one."""
    try:
        header, *lines = read_regular(path).decode().splitlines()
        form = json.loads(header).get("format")
        replies = [ModelReply(**json.loads(line)) for line in lines]
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror or error}") from None
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ConfigurationError(
            f"{path} is not a recording of a model: {error}. Make one with --record"
        ) from None
    if form != FORMAT:
        raise ConfigurationError(
            f"{path} is not a recording of a model: its first line does not say {FORMAT!r}. Make one with --record"
        )
    return Recording(replies)


def recordings_beside(path: Path) -> dict[str, Recording]:
    """Return the recordings in the folder of a file, by name."""
    recordings = {}
    for other in sorted(path.absolute().parent.glob("*.jsonl")):
        with suppress(ConfigurationError):
            recordings[other.name] = read_recording(other)
    return recordings


class ModelServer:
    """Answers for a model, either from a recording or by asking the real one and recording it."""

    def __init__(self, recording: Recording | None, upstream: str = "") -> None:
        """`recording` is replayed; if it is None, the model at the URL `upstream` is asked."""
        self._recording = recording
        self._upstream = upstream.rstrip("/")
        self._lock = threading.Lock()
        self.taken: list[ModelReply] = []
        """The replies given so far."""
        self.missing = 0
        """Number of requests without a recorded reply."""

    def answer(self, path: str, body: bytes, headers: Mapping[str, str]) -> ModelReply:
        """Return the reply to a request."""
        request = hash_request(path, body)
        with self._lock:
            if self._recording is not None:
                reply = self._recording.take(request)
            else:
                reply = self._asked(path, body, headers, request)
            if reply is None:
                self.missing += 1
                return ModelReply(request, 404, _refusal())
            self.taken.append(reply)
            return reply

    def _asked(
        self, path: str, body: bytes, headers: Mapping[str, str], request: str
    ) -> ModelReply:
        passed = {
            name: value
            for name, value in headers.items()
            if name.lower() in {"authorization", "content-type"}
        }
        question = Request(f"{self._upstream}{path}", data=body, headers=passed)  # noqa: S310 - the user's own
        try:
            with urlopen(question, timeout=_LIMIT) as response:  # noqa: S310 - as above
                return ModelReply(
                    request, response.status, lasting_body(json.load(response))
                )
        except HTTPError as error:
            return ModelReply(request, error.code, _body_of(error))
        except (URLError, OSError, ValueError) as error:
            text = f"the model at {self._upstream} does not answer: {describe_error(error)}"
            return ModelReply(request, 502, {"error": {"message": text}})


_PASSING = {"timings", "system_fingerprint"}
_OF_CALL: Mapping[str, Any] = {"id": "recorded", "created": 0}


def lasting_body(body: Any) -> Any:
    """Return a chat reply without its id and times, so that equal replies give equal recordings."""
    if not isinstance(body, dict) or "choices" not in body:
        return body
    kept = {name: value for name, value in body.items() if name not in _PASSING}
    return kept | {name: _OF_CALL[name] for name in _OF_CALL if name in kept}


def _refusal() -> dict[str, Any]:
    message = (
        "this request has no recorded reply: the library, its version or the seed is another one. Record it again with "
        "--record"
    )
    return {"error": {"message": message}}


def _body_of(error: HTTPError) -> Any:
    try:
        return json.load(error)
    except ValueError:
        return {"error": {"message": str(error)}}


def hash_request(path: str, body: bytes) -> str:
    """Return the hash of a request: of its path and JSON, without today's date."""
    try:
        text = json.dumps(json.loads(body), sort_keys=True)
    except ValueError:
        text = body.decode("utf-8", "replace")
    # Prompts contain the current date, but a recording may be replayed on another day.
    today = datetime.now(timezone.utc)
    for day in (today - _DAY, today, today + _DAY):
        text = text.replace(day.strftime("%Y-%m-%d"), "{today}")
    return hashlib.sha256(f"{path}\n{text}".encode()).hexdigest()[:32]


@contextmanager
def standing_in(server: ModelServer) -> Iterator[ModelServer]:
    """Redirect OPENAI_BASE_URL to a server on the loopback interface within the block."""
    httpd = _HttpServer(("127.0.0.1", 0), _Handler)
    httpd.model = server
    thread = threading.Thread(target=httpd.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    environment = {name: os.environ.get(name) for name in (ADDRESS, KEY)}
    os.environ[ADDRESS] = f"http://127.0.0.1:{httpd.server_port}/v1"
    os.environ[KEY] = os.environ.get(KEY) or "replayed-without-a-key"
    try:
        yield server
    finally:
        for name, value in environment.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        httpd.shutdown()
        httpd.server_close()
        thread.join()


@contextmanager
def recording_model(path: Path) -> Iterator[ModelServer]:
    """Record the replies of the model at OPENAI_BASE_URL within the block; write the file at its end."""
    server = ModelServer(None, os.environ.get(ADDRESS) or _DEFAULT)
    with standing_in(server):
        yield server
    if not server.taken:
        raise ConfigurationError(
            f"--record: no memory called a model at {ADDRESS}, so there is nothing to record. Have it take its address "
            "from there"
        )
    if wrong := [reply for reply in server.taken if reply.status >= _REFUSED]:
        raise ConfigurationError(
            f"--record: the model refused {len(wrong)} of {len(server.taken)} calls, first with {wrong[0].status}: "
            f"{json.dumps(wrong[0].body)[:_SHOWN]}. Nothing was written"
        )
    write_output(path, Recording(server.taken).text().encode())


@contextmanager
def replayed_model(path: Path) -> Iterator[ModelServer]:
    """Replace the model by a recording within the block; ConfigurationError at its end for lacking replies."""
    server = ModelServer(read_recording(path))
    with standing_in(server):
        yield server
    if server.missing:
        raise ConfigurationError(
            f"--replay: {server.missing} of {server.missing + len(server.taken)} calls have no reply in {path}: the "
            "library, its version or the seed is another one. Make it again with --record"
        )


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    model: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore the error: a disconnected client reports it itself."""


class _Handler(BaseHTTPRequestHandler):
    server: _HttpServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer a request to the model."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.removeprefix("/v1")
        reply = self.server.model.answer(path, body, dict(self.headers))
        text = json.dumps(reply.body).encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""
