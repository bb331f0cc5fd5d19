"""SpanReceiver: what an agent's memory did, from OpenTelemetry spans over OTLP/HTTP on this machine.

It reads the GenAI conventions of memory: spans whose `gen_ai.operation.name` is `create_memory`, `update_memory`,
`upsert_memory`, `delete_memory` or `search_memory`. Whatever comes in, valid or not, only ever becomes operations: no
score depends on them.
"""

from __future__ import annotations

import json
import zlib
from bisect import bisect_right
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from pytest_ltm._model.memory import MOST_OPERATIONS, MemoryOperation, memory_operation
from pytest_ltm._storage.clock import wall_time
from pytest_ltm._storage.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_ltm._model.memory import OperationKind


_KINDS: Mapping[str, OperationKind] = {
    "create_memory": "added", "update_memory": "changed", "upsert_memory": "changed", "delete_memory": "deleted",
    "search_memory": "found",
}  # fmt: skip
_LONGEST_BODY = 2**24
# Beyond so many that nobody has asked for, operations are left out.
_MOST_WAITING = 100_000
# Seconds that a question waits for the spans of its search, which exporters send in batches.
_PATIENCE = 1.0
# After so many questions without any, none is waited for.
_MOST_IN_VAIN = 3
# Seconds that a client may take over a request.
_SLOWEST = 10.0
_NANO = 10**9
_PROTOBUF = "application/x-protobuf"


class SpanReceiver:
    """Takes in spans, and hands out their operations by the exchange in which they began; close it at the end."""

    def __init__(self, port: int = 0) -> None:
        """Listen on a port of this machine, 0: any; ConfigurationError if it is taken."""
        try:
            self._server = _Server(("127.0.0.1", port), _Handler)
        except (OSError, OverflowError) as error:
            raise ConfigurationError(
                f"port {port} of this machine cannot be listened on: {error}. Write --ltm-traces=auto for a free one"
            ) from error
        self._server.receiver = self
        self._lock = Condition()
        self._windows: list[tuple[int, int]] = []
        """When each exchange began, in nanoseconds, and its number."""
        self._waiting: list[tuple[int, MemoryOperation]] = []
        self._newest = 0
        """When the newest span of a memory began."""
        self._in_vain = 0
        Thread(target=self._server.serve_forever, name="ltm-traces", daemon=True).start()

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables by which an exporter finds it."""
        return {
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"http://127.0.0.1:{self._server.server_address[1]}/v1/traces",
            "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
            "OTEL_BSP_SCHEDULE_DELAY": "50",
        }

    def begin_conversation(self) -> None:
        """Forget what belongs to an earlier conversation."""
        with self._lock:
            self._windows, self._waiting, self._newest, self._in_vain = [], [], 0, 0

    def begin_exchange(self, number: int) -> None:
        """Know that what begins from now on belongs to this exchange."""
        with self._lock:
            self._windows.append((_now(), number))

    def operations(self, number: int, *, patient: bool) -> tuple[MemoryOperation, ...]:
        """Return the operations that came in; of an earlier exchange each says which.

        `patient`: wait a little for those of this exchange, if spans come at all.
        """
        with self._lock:
            if patient and self._newest and self._in_vain < _MOST_IN_VAIN:
                began = self._windows[-1][0]
                came = self._lock.wait_for(lambda: self._newest >= began, _PATIENCE)
                self._in_vain = 0 if came else self._in_vain + 1
            waiting, self._waiting = self._waiting, []
        waiting.sort(key=lambda pair: pair[0])  # spans come in the order in which they ended
        result = [self._placed(at, one, number) for at, one in waiting]
        return tuple(one for one in result if one is not None)

    def take_in(self, request: Any) -> None:
        """Take in a request of OTLP as JSON values; spans that tell nothing of a memory are left out."""
        came = [(began, one) for span in _spans(request) for began, one in _operations(span)]
        with self._lock:
            self._waiting += came[: max(0, _MOST_WAITING - len(self._waiting))]
            self._newest = max([self._newest, *(began for began, _ in came if began <= _now() + _NANO)])
            self._lock.notify_all()

    def close(self) -> None:
        """Listen no longer."""
        self._server.shutdown()
        self._server.server_close()

    def _placed(self, began: int, one: MemoryOperation, current: int) -> MemoryOperation | None:
        """Return an operation with its exchange; None for one before all of them, or from the future."""
        place = bisect_right(self._windows, (began, 2**62)) - 1
        if place < 0 or began > _now() + _NANO:
            return None
        number = self._windows[place][1]
        return one if number == current else replace(one, exchange=number)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    receiver: SpanReceiver

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that broke off is none of the run's affairs."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _SLOWEST

    def do_POST(self) -> None:
        """Take in the spans of a request."""
        length = self.headers.get("Content-Length", "")
        # A page in a browser is no exporter: it says where it is from.
        if "Origin" in self.headers or not length.isdecimal() or int(length) > _LONGEST_BODY:
            self._answer(413 if length.isdecimal() else 411)
            return
        try:
            body = self.rfile.read(int(length))
            if self.headers.get("Content-Encoding") == "gzip":
                body = _unpacked(body)
            self.server.receiver.take_in(_decoded(body, self.headers.get("Content-Type", "")))
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError, ArithmeticError, zlib.error):
            self._answer(400)
            return
        self._answer(200)

    def _answer(self, status: int) -> None:
        self.send_response_only(status)
        self.send_header("Content-Type", self.headers.get("Content-Type", _PROTOBUF))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def _unpacked(body: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    result = unpacker.decompress(body, _LONGEST_BODY)
    if unpacker.unconsumed_tail:
        raise ValueError("too long")
    return result


def _decoded(body: bytes, kind: str) -> Any:
    if _PROTOBUF not in kind:
        return json.loads(body)
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest()
    try:
        request.ParseFromString(body)
        return MessageToDict(request)
    except DecodeError as error:
        raise ValueError(str(error)) from error


def _spans(request: Any) -> Iterator[Mapping[str, Any]]:
    for resource in request.get("resourceSpans", ()):
        for scope in resource.get("scopeSpans", ()):
            yield from scope.get("spans", ())


def _operations(span: Mapping[str, Any]) -> list[tuple[int, MemoryOperation]]:
    """Return when a span began, with each operation that it stands for."""
    parts = (span, *span.get("events", ()))
    values = {one["key"]: _value(one.get("value", {})) for part in parts for one in part.get("attributes", ())}
    kind = _KINDS.get(str(values.get("gen_ai.operation.name")))
    if kind is None:
        return []
    began, records = int(span.get("startTimeUnixNano", 0)), _records(values.get("gen_ai.memory.records"))
    name = values.get("gen_ai.memory.record.id")
    if not records and kind != "found":
        records = [{"id": name}]
    return [
        (began, memory_operation(kind, one.get("id", name), _text(one), place if kind == "found" else 0))
        for place, one in enumerate(records[:MOST_OPERATIONS], 1)
    ]


def _records(value: Any) -> list[Mapping[str, Any]]:
    listed = json.loads(value) if isinstance(value, str) else value
    rows = [listed] if isinstance(listed, dict) else listed if isinstance(listed, list) else []
    return [one if isinstance(one, dict) else {"content": one} for one in rows]


def _text(record: Mapping[str, Any]) -> str | None:
    content = record.get("content")
    return content if content is None or isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _value(value: Mapping[str, Any]) -> Any:
    """Return a value of OTLP as JSON has it."""
    if "arrayValue" in value:
        return [_value(one) for one in value["arrayValue"].get("values", ())]
    if "kvlistValue" in value:
        return {one["key"]: _value(one.get("value", {})) for one in value["kvlistValue"].get("values", ())}
    return next(iter(value.values()), None)


def _now() -> int:
    return int(wall_time().timestamp() * _NANO)
