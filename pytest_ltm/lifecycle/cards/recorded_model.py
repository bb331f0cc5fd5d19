"""Recorded model: the replies by which a memory extracts, kept in a file, so that its card needs no key.

A server on loopback stands where `OPENAI_BASE_URL` leads. Recording, it asks the real
model; replaying, it answers from the file. The file has the replies alone: a request is
known by its hash, so no prompt of a library is copied.
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
"""Seconds for a reply of the real model."""
_DAY = timedelta(days=1)
_REFUSED = 400
"""The lowest HTTP status of a refusal."""
_SHOWN = 200


class ModelReply(NamedTuple):
    """What a model answered to a request."""

    request: str
    """The request's hash."""
    status: int
    body: Any


class Recording:
    """Replies by request; of equal requests each has its own, and the last is repeated."""

    def __init__(self, replies: list[ModelReply]) -> None:
        self.replies = replies
        self._by_request: dict[str, list[ModelReply]] = defaultdict(list)
        for reply in replies:
            self._by_request[reply.request].append(reply)

    def take(self, request: str) -> ModelReply | None:
        """Return the next reply to a request; None where there is none."""
        replies = self._by_request.get(request, [])
        if len(replies) > 1:
            return replies.pop(0)
        return next(iter(replies), None)

    @property
    def digest(self) -> str:
        """What tells recordings apart, whatever order their calls came in."""
        lines = sorted(json.dumps(reply, sort_keys=True) for reply in self.replies)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]

    def has_part(self, digest: str, calls: int) -> bool:
        """Return whether so many replies in a row have this digest: those of one memory of several."""
        starts = range(len(self.replies) - calls + 1)
        parts = (Recording(self.replies[start : start + calls]) for start in starts)
        return any(part.digest == digest for part in parts)

    def text(self) -> str:
        """Return it as a file has it: a header, then a line for each reply."""
        header = json.dumps({"format": FORMAT})
        rows = [json.dumps(reply._asdict()) for reply in self.replies]
        return "\n".join([header, *rows]) + "\n"


def read_recording(path: Path) -> Recording:
    """Return the recording in a file; ConfigurationError where it is none."""
    try:
        header, *lines = read_regular(path).decode().splitlines()
        is_recording = json.loads(header).get("format") == FORMAT
        replies = [ModelReply(**json.loads(line)) for line in lines * is_recording]
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror or error}") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise ConfigurationError(
            f"{path} is not a recording of a model: {error}. Make one with --record"
        ) from None
    if not is_recording:
        raise ConfigurationError(
            f"{path} is not a recording of a model: its first line does not say {FORMAT!r}. Make one with --record"
        )
    return Recording(replies)


def recordings_beside(path: Path) -> dict[str, Recording]:
    """Return the recordings in a file's folder, by their names."""
    recordings = {}
    for other in sorted(path.absolute().parent.glob("*.jsonl")):
        with suppress(ConfigurationError):
            recordings[other.name] = read_recording(other)
    return recordings


class ModelServer:
    """Answers for a model, from a recording or from the real one, whose replies it keeps."""

    def __init__(self, recording: Recording | None, upstream: str = "") -> None:
        """`recording`: what is replayed; None: `upstream` is asked, a URL."""
        self._recording = recording
        self._upstream = upstream.rstrip("/")
        self._lock = threading.Lock()
        self.taken: list[ModelReply] = []
        """What was answered so far."""
        self.missing = 0
        """Requests that have no recording."""

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
    """Return a chat reply without its number and times, so that equal replies give equal recordings."""
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
    """Return what a request is known by: its path and JSON, without today's date."""
    try:
        text = json.dumps(json.loads(body), sort_keys=True)
    except ValueError:
        text = body.decode("utf-8", "replace")
    # Prompts tell the machine's date, and a recording is replayed on another day.
    today = datetime.now(timezone.utc)
    for day in (today - _DAY, today, today + _DAY):
        text = text.replace(day.strftime("%Y-%m-%d"), "{today}")
    return hashlib.sha256(f"{path}\n{text}".encode()).hexdigest()[:32]


@contextmanager
def standing_in(server: ModelServer) -> Iterator[ModelServer]:
    """Send what goes to OPENAI_BASE_URL to a server on loopback within the block."""
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
    """Record what the model at OPENAI_BASE_URL replies within the block; write it at the end."""
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
    """Answer for the model from a file within the block; ConfigurationError after calls that it does not have."""
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
        """Say nothing: a client that broke off shows it itself."""


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
        """Say nothing."""
