"""Spans of a memory become operations; no incoming data can change a score or end a run."""

from __future__ import annotations

import gzip
import http.client
import json
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("opentelemetry.proto", reason="the extra `otel` is not installed")

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)

from pytest_ltm.api.calls import add_trace, carry_trace
from pytest_ltm.api.model import LONGEST_RECORD, MOST_OPERATIONS, MemoryOperation
from pytest_ltm.api.storage import ConfigurationError, wall_time
from pytest_ltm.modes.span_receiver import SpanInbox, SpanReceiver


def now() -> int:
    return int(wall_time().timestamp() * 10**9)


def span(
    operation: str, records: object = None, *, began: int | None = None, **more: Any
) -> dict[str, Any]:
    values = {"gen_ai.operation.name": operation, **more}
    if records is not None:
        values["gen_ai.memory.records"] = (
            records if isinstance(records, str) else json.dumps(records)
        )
    attributes = [
        {"key": key, "value": {"stringValue": value}} for key, value in values.items()
    ]
    return {
        "name": f"{operation} notes",
        "startTimeUnixNano": str(began or now()),
        "attributes": attributes,
    }


def request(*spans: Any) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def post(
    receiver: SpanReceiver, body: bytes, kind: str = "application/json", **headers: str
) -> int:
    url = urlsplit(receiver.variables["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"])
    with closing(
        http.client.HTTPConnection(str(url.hostname), url.port, timeout=30)
    ) as client:
        client.request("POST", url.path, body, {"Content-Type": kind, **headers})
        return client.getresponse().status


def send(receiver: SpanReceiver, *spans: Any) -> int:
    return post(receiver, json.dumps(request(*spans)).encode())


@pytest.fixture
def receiver() -> Iterator[SpanReceiver]:
    with closing(SpanReceiver()) as made:
        yield made


@pytest.fixture
def inbox(receiver: SpanReceiver) -> SpanInbox:
    """The operations of the only conversation, in its first exchange."""
    made = receiver.begin_conversation()
    made.begin_exchange(0)
    return made


def taken(inbox: SpanInbox, number: int = 0) -> tuple[MemoryOperation, ...]:
    return inbox.operations(number, patient=False)


def test_every_operation_of_the_conventions_is_read(
    receiver: SpanReceiver, inbox: SpanInbox
) -> None:
    kinds = ("create_memory", "update_memory", "upsert_memory")
    send(receiver, *(span(kind, [{"id": "m1", "content": kind}]) for kind in kinds))
    more: Any = {"gen_ai.memory.record.id": "m1"}
    send(receiver, span("delete_memory", **more))
    send(
        receiver,
        span(
            "search_memory",
            [{"id": "m2", "content": "best"}, {"id": "m3", "content": {"a": 1}}],
        ),
    )
    send(receiver, span("create_memory_store"), span("chat"))
    assert taken(inbox) == (
        MemoryOperation("added", "m1", "create_memory"),
        MemoryOperation("changed", "m1", "update_memory"),
        MemoryOperation("changed", "m1", "upsert_memory"),
        MemoryOperation("deleted", "m1"),
        MemoryOperation("found", "m2", "best", 1),
        MemoryOperation("found", "m3", '{"a": 1}', 2),
    )
    assert taken(inbox) == ()


def test_the_draft_by_which_mem0_is_instrumented_is_read(
    receiver: SpanReceiver, inbox: SpanInbox
) -> None:
    def done(operation: str, **more: Any) -> dict[str, Any]:
        values: dict[str, Any] = {
            f"gen_ai.memory.{name.replace('_', '.')}": value
            for name, value in more.items()
        }
        return span(
            "memory_operation", **{"gen_ai.memory.operation": operation, **values}
        )

    added = str(
        {
            "results": [
                {"id": "m1", "memory": "Ada's home: Porto", "event": "ADD"},
                {"id": "m2", "event": "NONE"},
            ]
        }
    )
    found = json.dumps(
        {"results": [{"id": "m1", "memory": "Ada's home: Turku", "score": 0.5}]}
    )
    send(
        receiver,
        done("add", output_messages=added),
        done("update", id="m1", input_messages="Ada's home: Turku"),
    )
    send(
        receiver,
        done("search", output_messages=found),
        done("delete", id="m1"),
        done("get", id="m1"),
    )
    assert taken(inbox) == (
        MemoryOperation("added", "m1", "Ada's home: Porto"),
        MemoryOperation("changed", "m1", "Ada's home: Turku"),
        MemoryOperation("found", "m1", "Ada's home: Turku", 1),
        MemoryOperation("deleted", "m1"),
    )


def test_what_a_retriever_finds_is_read_from_openinference(
    receiver: SpanReceiver, inbox: SpanInbox
) -> None:
    documents: dict[str, Any] = {
        "retrieval.documents.10.document.content": "third",
        "retrieval.documents.2.document.content": "second",
    }
    first: dict[str, Any] = {
        "retrieval.documents.0.document.id": "m1",
        "retrieval.documents.0.document.content": "first",
    }
    send(
        receiver,
        span("None", **{"openinference.span.kind": "RETRIEVER", **documents, **first}),
    )
    assert taken(inbox) == (
        MemoryOperation("found", "m1", "first", 1),
        MemoryOperation("found", "", "second", 2),
        MemoryOperation("found", "", "third", 3),
    )


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_protobuf_is_read_as_json_is(
    receiver: SpanReceiver, inbox: SpanInbox, *, packed: bool
) -> None:
    whole = ParseDict(
        request(span("create_memory", [{"id": "m1", "content": "tea"}])),
        ExportTraceServiceRequest(),
    )
    body = (
        gzip.compress(whole.SerializeToString())
        if packed
        else whole.SerializeToString()
    )
    more = {"Content-Encoding": "gzip"} if packed else {}
    assert post(receiver, body, "application/x-protobuf", **more) == 200
    assert taken(inbox) == (MemoryOperation("added", "m1", "tea"),)


def test_a_late_span_belongs_to_the_exchange_in_which_it_began(
    receiver: SpanReceiver, inbox: SpanInbox
) -> None:
    began = now()
    inbox.begin_exchange(1)
    send(receiver, span("create_memory", ["tea"], began=began))
    assert taken(inbox, 1) == (MemoryOperation("added", "", "tea", exchange=0),)


def test_spans_in_disorder_are_put_in_the_order_in_which_they_began(
    receiver: SpanReceiver, inbox: SpanInbox
) -> None:
    began = now()
    send(
        receiver,
        span("update_memory", ["second"], began=began + 2),
        span("create_memory", ["first"], began=began + 1),
    )
    assert [one.text for one in taken(inbox)] == ["first", "second"]


@pytest.mark.parametrize(
    "shift", [-3600, 3600], ids=["before the conversation", "in the future"]
)
def test_a_span_of_another_time_belongs_to_no_exchange(
    receiver: SpanReceiver, inbox: SpanInbox, shift: int
) -> None:
    send(receiver, span("create_memory", ["forged"], began=now() + shift * 10**9))
    assert taken(inbox) == ()


def test_huge_spans_are_cut_and_huge_requests_refused(
    receiver: SpanReceiver, inbox: SpanInbox
) -> None:
    send(
        receiver,
        span("create_memory", ["x" * 10**6]),
        span("search_memory", ["y"] * (3 * MOST_OPERATIONS)),
    )
    one, *found = taken(inbox)
    assert len(one.text or "") == LONGEST_RECORD
    assert len(found) == MOST_OPERATIONS
    url = urlsplit(receiver.variables["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"])
    with closing(
        http.client.HTTPConnection(str(url.hostname), url.port, timeout=30)
    ) as client:
        client.putrequest("POST", url.path)
        client.putheader("Content-Length", str(2**40))
        client.endheaders()
        assert client.getresponse().status == 413


def found_in_draft(text: str) -> dict[str, Any]:
    values: dict[str, Any] = {
        "gen_ai.memory.operation": "search",
        "gen_ai.memory.output.messages": text,
    }
    return span("memory_operation", **values)


HOSTILE = {
    "no json": b"{",
    "deep": b"[" * 200_000,
    "a list": b"[]",
    "null": b"null",
    "spans of another kind": json.dumps(
        {"resourceSpans": [{"scopeSpans": [{"spans": [1, None, "x"]}]}]}
    ).encode(),
    "attributes of another kind": json.dumps(
        request({"attributes": [{"value": 1}]})
    ).encode(),
    "a time that is none": json.dumps(
        request(span("create_memory", "[]") | {"startTimeUnixNano": "soon"})
    ).encode(),
    "records that are none": json.dumps(request(span("create_memory", "{["))).encode(),
    "half a character": json.dumps(request(span("create_memory", ["\ud800"]))).encode(),
    "results that are none": json.dumps(
        request(
            *(
                found_in_draft(text)
                for text in ("{'a'", "{'a': " * 10_000, "[1, None]", "'" * 2**21, "3")
            )
        )
    ).encode(),
    "an infinite score": json.dumps(
        request(span("search_memory", '[{"content": "a", "score": 1e999}]'))
    ).encode(),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("kind", ["application/json", "application/x-protobuf"])
def test_hostile_requests_are_answered_and_the_next_is_read(
    receiver: SpanReceiver, inbox: SpanInbox, name: str, kind: str
) -> None:
    assert post(receiver, HOSTILE[name], kind) in (200, 400)
    taken(inbox)
    assert send(receiver, span("create_memory", ["tea"])) == 200
    assert [one.text for one in taken(inbox)] == ["tea"]


def test_a_page_in_a_browser_and_a_bomb_are_refused(
    receiver: SpanReceiver, inbox: SpanInbox
) -> None:
    body = json.dumps(request(span("create_memory", ["tea"]))).encode()
    assert post(receiver, body, Origin="http://evil.example") == 413
    bomb = gzip.compress(b" " * 2**25)
    assert post(receiver, bomb, **{"Content-Encoding": "gzip"}) == 400
    assert taken(inbox) == ()


def test_keys_in_spans_do_not_reach_the_journal(
    receiver: SpanReceiver, inbox: SpanInbox
) -> None:
    send(
        receiver,
        span(
            "create_memory",
            ["my key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"],
        ),
    )
    assert "abcdefghijklmnop" not in str(taken(inbox)[0].text)


def test_what_waits_has_a_limit() -> None:
    with closing(SpanReceiver(most_waiting=3)) as receiver:
        inbox = receiver.begin_conversation()
        inbox.begin_exchange(0)
        send(receiver, span("search_memory", ["a"] * 10))
        assert len(taken(inbox)) == 3


@pytest.mark.parametrize(
    "sent_before", [True, False], ids=["spans came before", "these are the first"]
)
def test_a_question_waits_for_the_spans_of_its_search(
    receiver: SpanReceiver, inbox: SpanInbox, *, sent_before: bool
) -> None:
    if sent_before:
        send(receiver, span("create_memory", ["tea"]))
        taken(inbox)
    inbox.begin_exchange(1)
    late = threading.Timer(0.05, lambda: send(receiver, span("search_memory", ["tea"])))
    late.start()
    assert inbox.operations(1, patient=True) == (
        MemoryOperation("found", "", "tea", 1),
    )
    late.join()


def test_agents_that_send_no_spans_hold_up_only_their_first_conversations(
    receiver: SpanReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(
        receiver._lock, "wait_for", lambda _come, seconds: waits.append(seconds)
    )
    for _ in range(10):
        talk = receiver.begin_conversation()
        for number in (0, 1):
            talk.begin_exchange(number)
            assert talk.operations(number, patient=True) == ()
    assert len(waits) == 3
    send(receiver, span("create_memory", ["tea"]))  # here some spans are sent
    receiver.begin_conversation().operations(0, patient=False)
    assert receiver.silent == 0


def test_a_port_that_is_taken_is_told(receiver: SpanReceiver) -> None:
    port = urlsplit(receiver.variables["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]).port or 0
    with pytest.raises(
        ConfigurationError, match=f"port {port} of this machine cannot be listened on"
    ):
        SpanReceiver(port)


def trace_of(traceparent: str) -> str:
    return traceparent.split("-")[1]


@pytest.mark.parametrize("kind", ["application/json", "application/x-protobuf"])
def test_a_span_belongs_to_the_exchange_of_its_trace_whenever_it_began(
    receiver: SpanReceiver, kind: str
) -> None:
    inbox = receiver.begin_conversation()
    first, _ = inbox.begin_exchange(0), inbox.begin_exchange(1)
    later = span("create_memory", ["tea"]) | {"traceId": trace_of(first)}
    body = json.dumps(request(later)).encode()
    if "protobuf" in kind:
        coded = b64encode(bytes.fromhex(trace_of(first))).decode()
        body = ParseDict(
            request(later | {"traceId": coded}), ExportTraceServiceRequest()
        ).SerializeToString()

    assert post(receiver, body, kind) == 200
    assert taken(inbox, 1) == (MemoryOperation("added", "", "tea", exchange=0),)


def test_conversations_at_once_have_the_spans_of_their_traces_and_no_others() -> None:
    with closing(SpanReceiver(apart=True)) as receiver:
        one, other = receiver.begin_conversation(), receiver.begin_conversation()
        traces = [trace_of(each.begin_exchange(0)) for each in (one, other)]
        send(
            receiver,
            *(span("create_memory", [trace]) | {"traceId": trace} for trace in traces),
        )
        send(
            receiver,
            span("create_memory", ["whose?"]),
            span("create_memory", ["forged"]) | {"traceId": "0" * 32},
        )

        assert [[row.text for row in taken(each)] for each in (one, other)] == [
            [trace] for trace in traces
        ]


def test_the_trace_of_an_earlier_conversation_is_unknown(
    receiver: SpanReceiver,
) -> None:
    before = receiver.begin_conversation()
    trace = trace_of(before.begin_exchange(0))
    now_played = receiver.begin_conversation()
    now_played.begin_exchange(0)
    send(
        receiver,
        span("create_memory", ["late"], began=now() - 3600 * 10**9)
        | {"traceId": trace},
    )

    assert taken(before) == taken(now_played) == ()


def test_spans_of_this_process_and_our_requests_carry_the_trace_of_the_exchange() -> (
    None
):
    trace = pytest.importorskip(
        "opentelemetry.trace", reason="the extra `otel` is not installed"
    )
    traceparent = f"00-{'ab' * 16}-{'cd' * 8}-01"
    sent = SimpleNamespace(headers={})
    with carry_trace(traceparent):
        add_trace(sent)
        assert trace.get_current_span().get_span_context().trace_id == int(
            "ab" * 16, 16
        )

    assert sent.headers == {"traceparent": traceparent}
    assert not trace.get_current_span().get_span_context().is_valid
    outside = SimpleNamespace(headers={})
    add_trace(outside)
    assert outside.headers == {}
