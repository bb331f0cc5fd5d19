"""SpanReceiver: the operations of an agent's memory, from OpenTelemetry spans over OTLP/HTTP on this machine.

It reads the GenAI conventions of memory: spans whose `gen_ai.operation.name` is
`create_memory`, `update_memory`, `upsert_memory`, `delete_memory` or `search_memory`.
All input, valid or not, only becomes operations: no score depends on them.
"""

from __future__ import annotations

import json
import zlib
from ast import literal_eval
from base64 import b64decode
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_hex
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from pytest_ltm.api.model import (
    MOST_OPERATIONS,
    MemoryOperation,
    OperationKind,
    memory_operation,
)
from pytest_ltm.api.storage import ConfigurationError, lazy_pattern, wall_time

if TYPE_CHECKING:
    from email.message import Message

    _Row = tuple[OperationKind, object, str | None]


_KINDS: Mapping[str, OperationKind] = {
    "create_memory": "added",
    "update_memory": "changed",
    "upsert_memory": "changed",
    "delete_memory": "deleted",
    "search_memory": "found",
}
_DRAFT_KINDS: Mapping[str, OperationKind] = {
    "add": "added",
    "update": "changed",
    "delete": "deleted",
    "search": "found",
}
_EVENTS: Mapping[str, OperationKind] = {
    "ADD": "added",
    "UPDATE": "changed",
    "DELETE": "deleted",
}
_DOCUMENT = lazy_pattern(r"retrieval\.documents\.(\d{1,6})\.document\.")
_LONGEST_BODY = 2**24
# The maximum length of a value written as a Python literal.
_LONGEST_VALUE = 2**20
# The number of leading characters whose quotes show whether a value is JSON or Python.
_FIRST = 4
# The maximum number of unread operations, and of traces without spans; more are
# dropped.
MOST_WAITING = 100_000
# Seconds that a question waits for the spans of its search, which exporters send in
# batches.
_PATIENCE = 2.0
# The number of questions, or of first questions of conversations, without spans after
# which waiting stops.
_MOST_IN_VAIN = 3
# Seconds allowed for a client's request.
_SLOWEST = 10.0
_NANO = 10**9
_HEX_TRACE = 32
_PROTOBUF = "application/x-protobuf"


class SpanReceiver:
    """Receives spans, and assigns the operations to conversations; must be closed at the end.

    A span that carries the trace of an exchange belongs to it. Any other belongs to the
    only conversation, by the time at which it began; if several are played at once
    (`apart`), to none.
    """

    def __init__(
        self, port: int = 0, *, apart: bool = False, most_waiting: int = MOST_WAITING
    ) -> None:
        """Listen on a port of this machine, 0: any; ConfigurationError if it is taken."""
        self.most_waiting = most_waiting
        """The maximum number of operations kept for a conversation until it reads them."""
        try:
            self._server = _Server(("127.0.0.1", port), _Handler)
        except (OSError, OverflowError) as error:
            raise ConfigurationError(
                f"port {port} of this machine cannot be listened on: {error}. Write --ltm-traces=auto for a free one"
            ) from error
        self._server.receiver = self
        self._apart = apart
        self._lock = Condition()
        self._newest: SpanInbox | None = None
        self._traces: dict[str, tuple[SpanInbox, int]] = {}
        """The conversation and the exchange of each trace."""
        self.silent = 0
        """The number of conversations that waited for their first span in vain since the last one arrived."""
        Thread(
            target=self._server.serve_forever, name="ltm-traces", daemon=True
        ).start()

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables that direct an exporter to it."""
        return {
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"http://127.0.0.1:{self._server.server_address[1]}/v1/traces",
            "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
            "OTEL_BSP_SCHEDULE_DELAY": "50",
        }

    def begin_conversation(self) -> SpanInbox:
        """Return the inbox of a new conversation; unless played `apart`, it is the only one."""
        with self._lock:
            if not self._apart:
                self._traces.clear()
            self._newest = SpanInbox(self, self._lock)
            return self._newest

    def expect(self, inbox: SpanInbox, number: int) -> str:
        """Return the trace of a new exchange."""
        trace = token_hex(16)
        self._traces[trace] = (inbox, number)
        if len(self._traces) > self.most_waiting:
            del self._traces[next(iter(self._traces))]
        return trace

    def take_in(self, request: Any) -> None:
        """Receive an OTLP request as JSON values; spans unrelated to memory are ignored."""
        operations = []
        for resource in request.get("resourceSpans", ()):
            for scope in resource.get("scopeSpans", ()):
                for span in scope.get("spans", ()):
                    trace = _trace_id(span)
                    operations += [(trace, *row) for row in _operations(span)]
        with self._lock:
            for trace, began, operation in operations:
                inbox, number = self._traces.get(
                    trace, (None if self._apart else self._newest, None)
                )
                if inbox is not None:
                    inbox.put(began, number, operation)
            self._lock.notify_all()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


class SpanInbox:
    """The operations of one conversation, by the exchange in which they began."""

    def __init__(self, receiver: SpanReceiver, lock: Condition) -> None:
        self._receiver = receiver
        self._lock = lock
        self._windows: list[tuple[int, int]] = []
        """The beginning of each exchange, in nanoseconds, and its number."""
        self._waiting: list[tuple[int, int | None, MemoryOperation]] = []
        self._newest = 0
        """The beginning of the newest memory span."""
        self._in_vain = 0

    def begin_exchange(self, number: int) -> str:
        """Return the `traceparent` of an exchange; later spans without a trace belong to it."""
        with self._lock:
            self._windows.append((_nanoseconds(), number))
            return f"00-{self._receiver.expect(self, number)}-{token_hex(8)}-01"

    def put(self, began: int, number: int | None, operation: MemoryOperation) -> None:
        """Keep an operation until it is read; `number`: the exchange in its trace."""
        if len(self._waiting) < self._receiver.most_waiting:
            self._waiting.append((began, number, operation))
        if began <= _nanoseconds() + _NANO:
            self._newest = max(self._newest, began)
            self._receiver.silent = 0

    def operations(self, number: int, *, patient: bool) -> tuple[MemoryOperation, ...]:
        """Return the received operations; those of an earlier exchange carry its number.

        `patient`: wait a little for those of this exchange, unless earlier waits were
        in vain.
        """
        with self._lock:
            # A fast conversation asks before an exporter has sent its first batch. If
            # there is no exporter, a run of many conversations must not wait in each of
            # them.
            limit = _MOST_IN_VAIN
            if not self._newest:
                limit = int(self._receiver.silent < _MOST_IN_VAIN)
            if patient and self._in_vain < limit:
                began = self._windows[-1][0]
                came = self._lock.wait_for(lambda: self._newest >= began, _PATIENCE)
                self._in_vain = 0 if came else self._in_vain + 1
                self._receiver.silent += not self._newest
            waiting = self._waiting
            self._waiting = []
        # Spans arrive in the order in which they ended.
        waiting.sort(key=lambda row: row[0])
        operations = []
        for began, traced_exchange, operation in waiting:
            exchange = traced_exchange
            if exchange is None:
                exchange = self._exchange_at(began)
            if exchange == number:
                operations.append(operation)
            elif exchange is not None:
                operations.append(replace(operation, exchange=exchange))
        return tuple(operations)

    def _exchange_at(self, began: int) -> int | None:
        """Return the exchange at a time; None before the first one, and in the future."""
        place = bisect_right(self._windows, (began, 2**62)) - 1
        if place < 0 or began > _nanoseconds() + _NANO:
            return None
        return self._windows[place][1]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    receiver: SpanReceiver

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that disconnected."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _SLOWEST

    def do_POST(self) -> None:
        """Receive the spans of a request."""
        length = self.headers.get("Content-Length", "")
        # A page in a browser is not an exporter: it sends an Origin.
        if (
            "Origin" in self.headers
            or not length.isdecimal()
            or int(length) > _LONGEST_BODY
        ):
            self._answer(413 if length.isdecimal() else 411)
            return
        try:
            self.server.receiver.take_in(
                _decoded(self.rfile.read(int(length)), self.headers)
            )
        except (
            ValueError,
            TypeError,
            AttributeError,
            LookupError,
            RecursionError,
            ArithmeticError,
            zlib.error,
        ):
            self._answer(400)
            return
        self._answer(200)

    def _answer(self, status: int) -> None:
        self.send_response_only(status)
        self.send_header("Content-Type", self.headers.get("Content-Type", _PROTOBUF))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def _decoded(body: bytes, headers: Message) -> Any:
    if headers.get("Content-Encoding") == "gzip":
        unpacker = zlib.decompressobj(wbits=31)
        body = unpacker.decompress(body, _LONGEST_BODY)
        if unpacker.unconsumed_tail:  # a few bytes can unpack to gigabytes
            raise ValueError("too long")
    if _PROTOBUF not in headers.get("Content-Type", ""):
        return json.loads(body)
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
        ExportTraceServiceRequest,
    )

    request = ExportTraceServiceRequest()
    try:
        request.ParseFromString(body)
        return MessageToDict(request)
    except DecodeError as error:
        raise ValueError(str(error)) from error


def _trace_id(span: Mapping[str, Any]) -> str:
    """Return a span's trace in hexadecimal digits, as in JSON; converted protobuf has it in base64."""
    text = str(span.get("traceId", ""))
    if len(text) == _HEX_TRACE:
        return text.lower()
    return b64decode(text, validate=True).hex()


def _operations(span: Mapping[str, Any]) -> list[tuple[int, MemoryOperation]]:
    """Return the operations of a span, each with the time at which the span began."""
    values = {}
    for part in (span, *span.get("events", ())):
        for attribute in part.get("attributes", ()):
            values[attribute["key"]] = _value(attribute.get("value", {}))
    name = str(values.get("gen_ai.operation.name"))
    rows: Sequence[_Row] = ()
    if kind := _KINDS.get(name):
        rows = _convention_rows(kind, values)
    elif name == "memory_operation":
        rows = _draft_rows(values)
    elif values.get("openinference.span.kind") == "RETRIEVER":
        rows = _retriever_rows(values)
    began = int(span.get("startTimeUnixNano", 0)) if rows else 0
    operations = []
    for place, (kind, record, text) in enumerate(rows[:MOST_OPERATIONS], start=1):
        rank = place if kind == "found" else 0
        operations.append((began, memory_operation(kind, record, text, rank)))
    return operations


def _convention_rows(kind: OperationKind, values: Mapping[str, Any]) -> Sequence[_Row]:
    """Return the rows of the GenAI conventions of memory."""
    value = values.get("gen_ai.memory.records")
    name = values.get("gen_ai.memory.record.id")
    if isinstance(value, str):
        value = json.loads(value)
    if isinstance(value, dict):
        value = [value]
    records = []
    for row in value if isinstance(value, list) else ():
        records.append(row if isinstance(row, dict) else {"content": row})
    if not records and kind != "found":
        records = [{"id": name}]
    return [(kind, record.get("id", name), _text(record)) for record in records]


def _retriever_rows(values: Mapping[str, Any]) -> Sequence[_Row]:
    """Return the rows of OpenInference's form of a retriever's results."""
    places: set[int] = set()
    for key in values:
        if match := _DOCUMENT.match(key):
            places.add(int(match[1]))
    rows: list[_Row] = []
    for place in sorted(places):
        document = f"retrieval.documents.{place}.document"
        content = str(values.get(f"{document}.content", ""))
        rows.append(("found", values.get(f"{document}.id"), content))
    return rows


def _draft_rows(values: Mapping[str, Any]) -> Sequence[_Row]:
    """Return the rows of the conventions' draft, which Mem0's instrumentation uses, with results in Mem0's form."""
    kind = _DRAFT_KINDS.get(str(values.get("gen_ai.memory.operation")))
    name = values.get("gen_ai.memory.id")
    text = values.get("gen_ai.memory.output.messages")
    listing = None
    if kind is None:
        return ()
    if isinstance(text, str) and len(text) <= _LONGEST_VALUE:
        # It is written as JSON or as a Python literal; otherwise the span is ignored.
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            listing = literal_eval(text) if "'" in text[:_FIRST] else json.loads(text)
    results = listing.get("results") if isinstance(listing, dict) else listing
    if isinstance(results, list):
        rows: list[_Row] = []
        for result in results:
            if not isinstance(result, dict):
                continue
            result_kind: OperationKind | None = kind
            if "event" in result:
                result_kind = _EVENTS.get(str(result["event"]))
            if result_kind:
                memory = _text({"content": result.get("memory")})
                rows.append((result_kind, result.get("id"), memory))
        return rows
    if kind == "found":
        return []
    return [
        (kind, name, _text({"content": values.get("gen_ai.memory.input.messages")}))
    ]


def _text(record: Mapping[str, Any]) -> str | None:
    content = record.get("content")
    if content is None or isinstance(content, str):
        return content
    return json.dumps(content, ensure_ascii=False)


def _value(value: Mapping[str, Any]) -> Any:
    """Return a value of OTLP in its JSON form."""
    if "arrayValue" in value:
        return [_value(element) for element in value["arrayValue"].get("values", ())]
    if "kvlistValue" in value:
        fields: dict[str, Any] = {}
        for element in value["kvlistValue"].get("values", ()):
            fields[element["key"]] = _value(element.get("value", {}))
        return fields
    return next(iter(value.values()), None)


def _nanoseconds() -> int:
    return int(wall_time().timestamp() * _NANO)
