from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from typing import Any

import pytest
from json_server import Answer, Post, serving

from pytest_ltm.agents import Reply, Usage
from pytest_ltm.agents.capabilities import capabilities_of
from pytest_ltm.agents.registry import find_agent, source_of_kind
from pytest_ltm.api.calls import Trouble, carry_trace, classify_failure
from pytest_ltm.api.features import agent_kinds
from pytest_ltm.api.storage import (
    AgentError,
    AgentFault,
    DefinitionError,
    Field,
    TransientFault,
)

pytest.importorskip("httpx2", reason="the extra `http` is not installed")
NOW = datetime(2024, 5, 6, tzinfo=timezone.utc)


def echo(post: Post) -> dict[str, Any]:
    return {"reply": f"heard {post.body['message']}"}


@contextmanager
def agent(url: str, **parameters: Any) -> Iterator[Any]:
    field = Field(parameters, "bot.yml", "parameters")
    made: Any = source_of_kind(agent_kinds()["http"], url, field).make()
    with closing(made):
        yield made


def wrong(url: str = "http://h/", **parameters: Any) -> str:
    with pytest.raises(DefinitionError) as caught:
        source_of_kind(
            agent_kinds()["http"], url, Field(parameters, "bot.yml", "parameters")
        )
    return str(caught.value)


def test_a_message_is_posted_with_the_conversation_and_the_reply_read() -> None:
    with serving(echo) as server, agent(f"{server.url}/chat") as one:
        assert one.reply("a").text == "heard a"
        one.reply("b")
    first, second = server.posts
    assert first.path == "/chat"
    assert first.body["message"] == "a"
    assert first.body["conversation"] == second.body["conversation"]


def test_every_conversation_has_an_id_of_its_own() -> None:
    with serving(echo) as server, agent(server.url) as one, agent(server.url) as other:
        one.reply("a")
        other.reply("a")
    assert len({post.body["conversation"] for post in server.posts}) == 2


def test_fields_of_request_and_response_are_found_where_the_settings_say() -> None:
    def answer(_: Post) -> dict[str, Any]:
        return {
            "choices": [{"text": "hi"}],
            "usage": {"in": 7, "out": 2},
            "price": 0.25,
        }

    settings = {
        "message": "input.text",
        "conversation": "session.id",
        "body": {"model": "m", "input": {"lang": "en"}},
        "reply": "choices.0.text",
        "input_tokens": "usage.in",
        "output_tokens": "usage.out",
        "cost_usd": "price",
    }
    with serving(answer) as server, agent(server.url, **settings) as one:
        assert one.reply("a") == Reply(
            "hi", Usage(input_tokens=7, output_tokens=2), 0.25
        )
    body = server.posts[0].body
    assert body["input"] == {"lang": "en", "text": "a"}
    assert body["model"] == "m"
    assert body["session"]["id"]
    assert "message" not in body


def test_usage_that_the_server_does_not_tell_is_left_to_be_estimated() -> None:
    with (
        serving(echo) as server,
        agent(server.url, input_tokens="usage.in", cost_usd="cost") as one,
    ):
        assert one.reply("a") == Reply("heard a", Usage(estimated=True))


def test_a_prompt_of_no_tokens_is_left_to_be_estimated() -> None:
    answer = {"reply": "hi", "usage": {"in": 0, "out": 2}}
    with (
        serving(lambda _: answer) as server,
        agent(server.url, input_tokens="usage.in", output_tokens="usage.out") as one,
    ):
        assert one.reply("a").usage == Usage(output_tokens=2, estimated=True)


@pytest.mark.slow
@pytest.mark.parametrize("reply", [None, 7, {"text": "hi"}])
def test_an_answer_without_a_reply_may_be_billed(reply: Any) -> None:
    answer = {"reply": reply, "usage": {"in": 7, "out": 900}}
    with (
        serving(lambda _: answer) as server,
        agent(server.url, input_tokens="usage.in", output_tokens="usage.out") as one,
        pytest.raises(AgentFault) as caught,
    ):
        one.reply("a")
    assert caught.value.refused
    assert caught.value.usage == Usage(input_tokens=7, output_tokens=900)


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer",
    [
        Answer("<html>"),
        Answer("[" * 200_000),
        Answer("{}", headers={"Content-Encoding": "gzip"}),
    ],
    ids=["html", "deep", "not packed"],
)
def test_an_answer_that_cannot_be_read_may_be_billed(answer: Answer) -> None:
    gc.collect()  # otherwise leftovers of other tests would be finalized at the depth where no further call fits
    with (
        serving(lambda _: answer) as server,
        agent(server.url) as one,
        pytest.raises(AgentFault) as caught,
    ):
        one.reply("a")
    assert caught.value.refused
    assert caught.value.usage is None


def test_a_conversation_without_id_is_possible() -> None:
    with serving(echo) as server, agent(server.url, conversation=None) as one:
        one.reply("a")
    assert server.posts[0].body == {"message": "a"}


def test_a_header_takes_its_secret_from_the_environment_and_keeps_the_name_only(
    monkeypatch: Any,
) -> None:
    monkeypatch.setenv("LTM_PROBE_TOKEN", "s3cret-value")
    with (
        serving(echo) as server,
        agent(
            server.url, headers={"Authorization": "Bearer ${LTM_PROBE_TOKEN}"}
        ) as one,
    ):
        one.reply("a")
        assert "s3cret-value" not in str(one.configuration())
        assert "LTM_PROBE_TOKEN" in str(one.configuration())
    assert server.posts[0].headers["authorization"] == "Bearer s3cret-value"


def test_a_variable_that_is_not_set_is_named_before_anything_is_sent() -> None:
    assert "environment variable 'LTM_PROBE_NONE', which is not set" in wrong(
        headers={"X-Key": "${LTM_PROBE_NONE}"}
    )


def test_a_secret_written_out_is_refused() -> None:
    assert "'Authorization' would be a secret in a file" in wrong(
        headers={"Authorization": "Bearer abc"}
    )
    assert "holds no password" in wrong("https://me:pw@h/")


@pytest.mark.slow
@pytest.mark.parametrize("status", [400, 404, 429, 500, 503])
def test_another_status_is_an_error_that_carries_the_response(status: int) -> None:
    def answer(_: Post) -> Answer:
        return Answer({"detail": "no " * 200}, status, {"Retry-After": "3"})

    with (
        serving(answer) as server,
        agent(f"{server.url}/x?key=k") as one,
        pytest.raises(AgentError) as caught,
    ):
        one.reply("a")
    error: Any = caught.value
    assert error.response.status_code == status
    assert error.response.headers["retry-after"] == "3"
    passing = {
        429: Trouble(untaken=True, retry_after=3.0),
        503: Trouble(untaken=True, retry_after=3.0),
    }
    passing[500] = Trouble(untaken=False, retry_after=3.0)
    assert classify_failure(caught.value, now=NOW) == passing.get(status)
    text = str(caught.value)
    assert f"answered {status}" in text
    assert '{"detail": "no no' in text
    assert len(text) < 300
    assert "key=k" not in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("<html>oops</html>", "'<html>oops</html>', which is not JSON"),
        ("", "an empty body, which is not JSON"),
        ({"answer": "x"}, "no field 'reply': there is {'answer'}"),
        (["x"], "no field 'reply': there is a list of 1"),
        ({"reply": 7}, "'reply' is '7', not a text"),
    ],
)
def test_an_answer_without_a_reply_says_what_was_there_instead(
    body: Any, says: str
) -> None:
    with (
        serving(lambda _: Answer(body)) as server,
        agent(server.url) as one,
        pytest.raises(AgentError) as caught,
    ):
        one.reply("a")
    assert says in str(caught.value)


def test_a_server_that_is_not_there_is_a_fault_worth_another_try() -> None:
    with serving(echo) as server:
        gone = server.url
    with (
        agent(gone) as one,
        pytest.raises(TransientFault, match="cannot be reached") as caught,
    ):
        one.reply("a")
    assert classify_failure(caught.value, now=NOW) == Trouble(untaken=True)


@pytest.mark.slow
def test_a_server_that_was_too_slow_may_have_taken_the_message() -> None:
    hold = threading.Event()

    def answer(post: Post) -> dict[str, Any]:
        hold.wait(60)
        return echo(post)

    with serving(answer) as server, agent(server.url, timeout=0.3) as one:
        with pytest.raises(AgentError, match="broke off: ReadTimeout") as caught:
            one.reply("a")
        hold.set()
    assert classify_failure(caught.value, now=NOW) == Trouble(untaken=False)


@pytest.mark.slow
def test_the_server_is_put_back_before_the_first_message_only() -> None:
    with (
        serving(echo_or_ok) as server,
        agent(f"{server.url}/v1/chat", reset="/reset") as one,
    ):
        one.reply("a")
        one.reply("b")
    assert [post.path for post in server.posts] == ["/reset", "/v1/chat", "/v1/chat"]


def echo_or_ok(post: Post) -> dict[str, Any]:
    return echo(post) if "message" in post.body else {}


def test_a_server_with_a_place_for_history_is_told_exchanges() -> None:
    with (
        serving(echo_or_ok) as server,
        agent(f"{server.url}/chat", history="history") as one,
    ):
        assert "AcceptsHistory" in capabilities_of(one)
        one.accept("q", "r")
    [post] = server.posts
    assert post.path == "/history"
    assert (post.body["message"], post.body["reply"]) == ("q", "r")


def test_a_server_is_told_the_time_where_it_wants_it() -> None:
    with serving(echo) as server, agent(server.url, time="context.now") as one:
        one.tell_time(NOW)
        one.reply("a")
    assert server.posts[0].body["context"] == {"now": "2024-05-06T00:00:00+00:00"}


@pytest.mark.slow
def test_a_server_that_keeps_conversations_goes_on_with_the_same_one_after_a_resume() -> (
    None
):
    settings: dict[str, Any] = {"keeps_conversations": True, "reset": "/reset"}
    with serving(echo_or_ok) as server:
        with agent(server.url, **settings) as one:
            one.reply("a")
            state = one.save()
        with agent(server.url, **settings) as other:
            other.load(state)
            other.reply("b")
    reset, first, second = server.posts
    assert reset.path == "/reset"
    assert first.body["conversation"] == second.body["conversation"]


def test_capabilities_are_those_of_the_settings() -> None:
    with (
        agent("http://h/") as bare,
        agent("http://h/", max_message_tokens="2k") as limited,
    ):
        assert capabilities_of(bare) == {"Configured"}
        assert capabilities_of(limited) == {"Configured", "LimitsMessages"}
        assert limited.max_message_tokens == 2000


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"replly": "x"}, "unknown field; known fields:"),
        ({"reply": "a..b"}, "is not a path to a JSON field"),
        ({"reply": 7}, "expected the path of a JSON field"),
        ({"timeout": "soon"}, "expected seconds"),
        ({"body": [1]}, "expected a mapping"),
        ({"keeps_conversations": 1}, "expected true or false"),
    ],
)
def test_wrong_settings_say_file_and_field(
    parameters: dict[str, Any], says: str
) -> None:
    text = wrong(**parameters)
    assert says in text
    assert text.startswith("bot.yml: parameters.")


@pytest.mark.parametrize("spec", ["http://", "http:nowhere", "https:"])
def test_a_spec_without_a_url_is_refused(spec: str) -> None:
    with pytest.raises(AgentError, match="is not a URL such as"):
        find_agent(spec)


@pytest.mark.parametrize(
    "spec", ["http://127.0.0.1:1/chat", "http:http://127.0.0.1:1/chat"]
)
def test_a_url_is_a_spec(spec: str) -> None:
    with closing(find_agent(spec).make()) as made:  # type: ignore[type-var]
        assert made.configuration()["http"]["url"] == "http://127.0.0.1:1/chat"  # type: ignore[attr-defined]


def test_what_its_memory_did_is_read_where_the_settings_say_and_records_are_deleted_by_a_post() -> (
    None
):
    rows = [
        {"what": "added", "id": 1, "text": "likes tea"},
        {"what": "deleted", "id": 2},
    ]
    with (
        serving(lambda _: {"reply": "hi", "memory": rows}) as server,
        agent(server.url, written="memory", settle="/settle", delete="/delete") as one,
    ):
        one.settle()
        one.reply("a")
        assert one.written() == [("added", 1, "likes tea"), ("deleted", 2, None)]
        one.delete("7")
    assert [post.path for post in server.posts] == ["/settle", "/", "/delete"]
    assert server.posts[2].body["id"] == "7"
    assert capabilities_of(one) >= {"ShowsWrites", "Settles", "DeletesRecords"}


def test_settings_of_memory_are_in_no_fingerprint_where_they_are_not_given() -> None:
    with agent("http://h/") as one:
        assert (
            one.configuration()["http"]
            .keys()
            .isdisjoint({"written", "settle", "delete"})
        )


def test_a_request_carries_the_trace_of_the_exchange_where_there_is_one() -> None:
    with serving(echo) as server, agent(server.url) as one:
        with carry_trace("00-ab-cd-01"):
            one.reply("hello")
        one.reply("again")

    assert [post.headers.get("traceparent") for post in server.posts] == [
        "00-ab-cd-01",
        None,
    ]
