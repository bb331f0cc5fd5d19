"""Chat models behind a real HTTP server on loopback, through the real client."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from chat_server import (
    DIALECTS,
    Asked,
    ChatServer,
    fails,
    garbled,
    overflows,
    refuses,
    resets,
    says,
    truncated,
    wrong_schema,
)
from habits import delta, stream

from pytest_ltm import providers as calls
from pytest_ltm.agents.capabilities import capabilities_of
from pytest_ltm.agents.chat_agent import SHRINKS, History, kept_share
from pytest_ltm.agents.registry import source_of_kind
from pytest_ltm.agents.sources import rereading
from pytest_ltm.agents.unbuilt import FRAME
from pytest_ltm.api.features import agent_kinds
from pytest_ltm.api.model import RAW, Reading, Reply, Usage
from pytest_ltm.api.storage import (
    AgentError,
    AgentFault,
    DefinitionError,
    Field,
    TransientFault,
)
from pytest_ltm.providers import ContextOverflow, RequestRefused
from pytest_ltm.providers import limiter as _places

NOON = datetime(2024, 3, 4, 12, tzinfo=timezone.utc)


@pytest.fixture(autouse=True)
def _own_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    calls.share_limits(None)
    monkeypatch.setattr(_places, "POLL_SECONDS", 0.01)


@pytest.fixture
def chat(chat_server: ChatServer) -> Iterator[Callable[..., Any]]:
    """Create an agent: `chat("context=200", system="Be kind.")`."""
    made: list[Any] = []

    def make(query: str = "", kind: str = "openai", **parameters: Any) -> Any:
        spec = f"m@{chat_server.url}?{query}"
        argument = spec if kind == "openai" else f"openai:{spec}"
        agent = source_of_kind(
            agent_kinds()[kind], argument, Field(parameters, "bot.yml", "parameters")
        ).make()
        made.append(agent)
        return agent

    yield make
    for agent in made:
        agent.close()


def of_parts(parts: list[Any]) -> Any:
    return wrong_schema(
        {
            "choices": [
                {
                    "message": {"role": "assistant", "content": parts},
                    "finish_reason": "stop",
                }
            ]
        }
    )


def sent(server: ChatServer) -> list[str]:
    return [message["content"] for message in server.requests[-1].messages]


# --- requests


def test_each_request_holds_the_conversation_so_far(
    chat_server: ChatServer, chat: Any
) -> None:
    agent = chat(system="Be kind.")
    chat_server.next("One.", "Two.")
    assert [agent.reply("First?").text, agent.reply("Second?").text] == ["One.", "Two."]
    assert sent(chat_server) == ["Be kind.", "First?", "One.", "Second?"]
    roles = [message["role"] for message in chat_server.requests[-1].messages]
    assert roles == ["system", "user", "assistant", "user"]


@pytest.mark.parametrize(
    ("reading", "shown"),
    [(Reading(thoughts="strip"), "One."), (RAW, "<think>Hm.</think>One.")],
)
def test_what_a_model_said_is_sent_back_as_it_is_read_and_returned_as_it_came(
    chat_server: ChatServer, chat: Any, reading: Reading, shown: str
) -> None:
    with rereading(reading):
        agent = chat()
    chat_server.next("<think>Hm.</think>One.", "Three.")
    reply = agent.reply("First?").text
    agent.accept("Second?", "<think>Hm, hm.</think>Two.")
    agent.reply("Third?")

    assert reply == "<think>Hm.</think>One."
    assert sent(chat_server) == [
        "First?",
        shown,
        "Second?",
        shown.replace("Hm", "Hm, hm").replace("One", "Two"),
        "Third?",
    ]


@pytest.mark.parametrize("takes_options", [True, False])
def test_a_stream_is_asked_for_its_usage_until_the_server_refuses_to_tell(
    chat_server: ChatServer, chat: Any, takes_options: bool
) -> None:
    ended = (
        delta(content="Teal."),
        {"choices": [{"delta": {}, "finish_reason": "stop"}]},
    )

    def answer(asked: Asked) -> Any:
        if not asked.body["stream"]:
            return fails(400, "This model supports only streams: set stream=true.")
        if "stream_options" not in asked.body:
            return stream(*ended)
        if not takes_options:
            return fails(400, "Unknown field: stream_options")
        usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
        return stream(*ended, {"choices": [], "usage": usage})

    chat_server.default = answer
    agent = chat()
    replies = [agent.reply("Which?"), agent.reply("And now?")]
    asked = ["stream_options" in request.body for request in chat_server.requests]

    assert [reply.text for reply in replies] == ["Teal.", "Teal."]
    if takes_options:
        assert asked == [False, True, True]
        assert [reply.usage.input_tokens for reply in replies] == [7, 7]
    else:
        assert asked == [False, True, False, False]
        assert all(reply.usage.estimated for reply in replies)


@pytest.mark.parametrize("first", [0, 1])
def test_of_several_choices_the_one_with_the_smallest_index_is_the_reply(
    chat_server: ChatServer, chat: Any, first: int
) -> None:
    choices = []
    for index, text in [(first + 1, "Puce."), (first, "Teal.")]:
        message = {"role": "assistant", "content": text}
        choices.append({"index": index, "message": message, "finish_reason": "stop"})
    chat_server.next(wrong_schema({"choices": choices}))
    assert chat().reply("Which?").text == "Teal."


@pytest.mark.parametrize("together", [True, False])
def test_the_pieces_of_other_choices_in_a_stream_are_left_out(
    chat_server: ChatServer, chat: Any, together: bool
) -> None:
    pieces: list[Any] = []
    for index, text in [(1, "Pu"), (0, "Te"), (1, "ce."), (0, "al.")]:
        pieces.append({"index": index, "delta": {"content": text}})
    pieces.append({"index": 1, "delta": {}, "finish_reason": "length"})
    pieces.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    events = [{"choices": [piece]} for piece in pieces]
    if together:
        events = [{"choices": pieces[n : n + 2]} for n in range(0, len(pieces), 2)]
    chat_server.default = lambda _: stream(*events)
    reply = chat().reply("Which?")
    assert (reply.text, reply.finish_reason) == ("Teal.", "stop")


def test_a_request_is_not_streamed_and_has_temperature_0_unless_told_otherwise(
    chat_server: ChatServer, chat: Any
) -> None:
    chat().reply("a")
    body = chat_server.requests[-1].body
    assert body["stream"] is False
    assert body["temperature"] == 0
    assert body.keys() == {"model", "messages", "stream", "temperature"}


@pytest.mark.slow
def test_parameters_are_sent_as_they_are_named(
    chat_server: ChatServer, chat: Any
) -> None:
    chat(
        "temperature=0.5&max_tokens=2k&seed=7&reasoning_effort=low", extra={"top_k": 3}
    ).reply("a")
    body = chat_server.requests[-1].body
    assert {
        "temperature": 0.5,
        "max_tokens": 2000,
        "seed": 7,
        "reasoning_effort": "low",
        "top_k": 3,
    }.items() <= body.items()
    chat("temperature=default").reply("a")
    assert "temperature" not in chat_server.requests[-1].body


def test_a_told_exchange_is_remembered_and_not_asked(
    chat_server: ChatServer, chat: Any
) -> None:
    agent = chat()
    agent.accept("What is 2 + 2?", "4")
    assert chat_server.requests == []
    agent.reply("And 3 + 3?")
    assert sent(chat_server) == ["What is 2 + 2?", "4", "And 3 + 3?"]


def test_after_a_reset_nothing_is_remembered_but_the_system_prompt(
    chat_server: ChatServer, chat: Any
) -> None:
    agent = chat(system="Be kind.")
    agent.reply("a")
    agent.reset()
    agent.reply("b")
    assert sent(chat_server) == ["Be kind.", "b"]


# --- truncation


def test_the_oldest_exchanges_are_cut_and_never_the_system_prompt_nor_the_newest_message(
    chat_server: ChatServer, chat: Any
) -> None:
    agent = chat(system="Be kind. " * 10, context=200, max_tokens=50)
    for number in range(20):
        agent.accept(f"Number {number}. " * 3, "Noted.")
    newest = "What now? " * 60
    agent.reply(newest)
    assert sent(chat_server) == ["Be kind. " * 10, newest]
    agent.reply("And now?")
    assert sent(chat_server)[0] == "Be kind. " * 10
    assert sent(chat_server)[-1] == "And now?"


def test_what_fits_into_the_context_less_the_reply_is_sent_and_no_more(
    chat_server: ChatServer, chat: Any
) -> None:
    agent = chat(context=200, max_tokens=50)
    for number in range(30):
        agent.accept(f"Number {number}.", "Noted.")
    agent.reply("What now?")
    tokens = [agent.count_tokens(text) + FRAME for text in sent(chat_server)]
    assert sum(tokens) <= 150
    assert sum(tokens) + 2 * max(tokens) > kept_share(150) * 150
    assert sent(chat_server)[-3:] == ["Number 29.", "Noted.", "What now?"]


def test_each_text_is_counted_once_however_long_the_conversation_gets() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text)

    history = History("system", count)
    for number in range(50):
        size = history.size_of(f"message {number}")
        history.drop_oldest(size, 300)
        history.prompt(f"message {number}")
        history.add(f"message {number}", size, f"reply {number}")
    assert len(counted) == len(set(counted)) == 101


def test_the_endpoints_own_counts_correct_the_estimate(
    chat_server: ChatServer, chat: Any
) -> None:
    chat_server.count = lambda text: 3 * len(text.split())
    agent = chat(context=1000, max_tokens=100)
    for number in range(40):
        agent.accept(f"Here is number {number} of many", "That is noted now")
    agent.reply("What now?")
    agent.reply("And now?")
    assert 0.9 * kept_share(900) * 900 < chat_server.requests[-1].prompt_tokens <= 900
    # the count of four separate words: 4
    assert agent.count_tokens("one two three four") > 6


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_prompt_that_is_too_long_is_cut_until_it_fits(
    chat_server: ChatServer, chat: Any, dialect: str
) -> None:
    agent = chat(system="Be kind.")
    for number in range(60):
        agent.accept(f"Here is number {number} of many.", "That is noted, be assured.")
    chat_server.context, chat_server.dialect = 500, dialect
    assert agent.reply("What is the last number?").text == "Understood."
    assert 1 < len(chat_server.requests) <= 1 + SHRINKS
    assert sent(chat_server)[0] == "Be kind."
    assert "Here is number 59 of many." in sent(chat_server)
    # no more was cut than needed
    assert chat_server.requests[-1].prompt_tokens > 150
    before = len(chat_server.requests)
    agent.reply("And now?")
    assert len(chat_server.requests) == before + 1  # it has learned the limit


def test_a_message_that_never_fits_is_a_fault(
    chat_server: ChatServer, chat: Any
) -> None:
    agent = chat()
    agent.accept("a", "b")
    chat_server.context = 50
    with pytest.raises(
        AgentFault, match=r"maximum context length is 50 .* Nothing is left to cut"
    ):
        agent.reply("word " * 100)


@pytest.mark.slow
def test_an_endpoint_that_never_has_enough_is_asked_a_bounded_number_of_times(
    chat_server: ChatServer, chat: Any
) -> None:
    agent = chat()
    for number in range(500):
        agent.accept(f"Here is number {number} of many.", "That is noted, be assured.")
    chat_server.default = overflows(1, dialect="silent")
    with pytest.raises(ContextOverflow):
        agent.reply("What is the last number?")
    assert len(chat_server.requests) == 1 + SHRINKS


def test_a_response_limit_that_leaves_no_room_is_told(
    chat_server: ChatServer, chat: Any
) -> None:
    agent = chat(max_tokens=9000)
    agent.accept("a", "b")
    chat_server.next(overflows(8192))
    with pytest.raises(AgentFault, match="max_tokens=9000 leaves no room"):
        agent.reply("c")


# --- models that refuse parameters


def test_a_temperature_that_nobody_asked_for_is_left_out_where_the_model_refuses_it(
    chat_server: ChatServer, chat: Any
) -> None:
    chat_server.not_taken = frozenset({"temperature"})
    agent = chat()
    assert agent.reply("a").text == "Understood."
    agent.reply("b")
    assert ["temperature" in request.body for request in chat_server.requests] == [
        True,
        False,
        False,
    ]


def test_a_temperature_that_was_asked_for_is_not_left_out_silently(
    chat_server: ChatServer, chat: Any
) -> None:
    chat_server.not_taken = frozenset({"temperature"})
    with pytest.raises(
        AgentFault,
        match=r"does not take temperature=0\.5\. Write temperature=default\. http",
    ):
        chat("temperature=0.5").reply("a")
    assert len(chat_server.requests) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "told",
    [
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
        "invalid temperature: only 1 is allowed for this model",
        "`temperature` may only be set to 1 when thinking is enabled.",
        "temperature and top_p cannot both be specified for this model.",
    ],
)
def test_models_that_refuse_a_temperature_of_0_in_other_words_are_understood(
    chat_server: ChatServer, chat: Any, told: str
) -> None:
    chat_server.next(fails(400, told), "Fine.")
    assert chat().reply("a").text == "Fine."
    assert "temperature" not in chat_server.requests[-1].body


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value"), [("seed", 7), ("reasoning_effort", "low"), ("top_k", 3)]
)
def test_any_other_setting_that_is_refused_is_told_with_its_value(
    chat_server: ChatServer, chat: Any, name: str, value: Any
) -> None:
    chat_server.not_taken = frozenset({name})
    given = {"extra": {name: value}} if name == "top_k" else {name: value}
    with pytest.raises(
        AgentFault,
        match=rf"does not take {name}={value!r}\. Leave it out\. http.* Unsupported",
    ):
        chat(**given).reply("a")


def test_a_refusal_for_another_reason_blames_no_setting(
    chat_server: ChatServer, chat: Any
) -> None:
    chat_server.next(fails(400, "Invalid role in message 0."))
    with pytest.raises(RequestRefused, match=r"Invalid role in message 0\.$"):
        chat(seed=7).reply("a")


def test_the_response_limit_goes_by_the_name_that_the_model_takes(
    chat_server: ChatServer, chat: Any
) -> None:
    chat_server.not_taken = frozenset({"max_tokens", "temperature"})
    agent = chat("max_tokens=100")
    agent.reply("a")
    assert chat_server.requests[-1].body["max_completion_tokens"] == 100
    chat_server.not_taken = frozenset({"max_tokens", "max_completion_tokens"})
    with pytest.raises(
        AgentFault, match=r"does not take max_tokens=100\. Leave it out"
    ):
        agent.reply("b")


# --- responses


def test_the_endpoints_counts_are_reported_with_cached_tokens(
    chat_server: ChatServer, chat: Any
) -> None:
    agent = chat()
    chat_server.next(says("One.", cached=5), says("Two.", usage=False), says("Three."))
    first, second, third = (agent.reply("Hello, you over there!") for _ in range(3))
    one, two = (
        Usage(input_tokens=9, output_tokens=1, cached_tokens=5, calls=1),
        Usage(input_tokens=26, output_tokens=2, calls=1, estimated=True),
    )
    assert first == Reply("One.", one, finish_reason="stop")
    assert second == Reply("Two.", two, finish_reason="stop")
    assert agent.usage() == first.usage + second.usage + third.usage


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (refuses(429, retry_after=0), RequestRefused, "429"),
        (fails(500), RequestRefused, "500"),
        (fails(401, "No."), RequestRefused, "No."),
        (
            truncated(),
            TransientFault,
            r"127\.0\.0\.1.* cannot be reached, or broke off: RemoteProtocolError",
        ),
        (resets(), TransientFault, "broke off"),
        (garbled(), TransientFault, "a body that is not JSON"),
        (garbled("[" * 200_000), TransientFault, "a body that is not JSON"),
        (
            wrong_schema({"reply": "hello"}),
            AgentFault,
            "with the fields reply, not with choices",
        ),
        (wrong_schema("<html>"), AgentFault, "not with choices"),
        (
            wrong_schema({"choices": []}),
            AgentFault,
            "model 'm' answered with no choice at all: the provider kept",
        ),
        (
            wrong_schema({"choices": None, "usage": None}),
            AgentFault,
            "not with choices",
        ),
        (
            wrong_schema({"choices": [{"message": {"role": "assistant"}}]}),
            AgentFault,
            "without a text",
        ),
        (
            wrong_schema({"error": {"message": "busy", "code": 429}}),
            RequestRefused,
            "busy",
        ),
        (
            wrong_schema({"error": {"message": "broken", "code": "x"}}),
            AgentFault,
            "broken",
        ),
        (
            says("", finish_reason="length"),
            AgentFault,
            "used up its response limit before it said anything",
        ),
        (says("", finish_reason="content_filter"), AgentFault, "content filter"),
        (
            says("", finish_reason="tool_calls"),
            AgentFault,
            "called a tool instead of answering",
        ),
        (
            of_parts([{"type": "thinking", "thinking": "Hm."}]),
            AgentFault,
            "without a text",
        ),
        (
            fails(404, "Not Found"),
            RequestRefused,
            r"There is no http://.*/v1/chat/completions; addresses usually end in",
        ),
        (
            fails(404, "The model m does not exist."),
            RequestRefused,
            "answered 404: The model m does not exist\\. http\\S+/v1/models lists",
        ),
    ],
)
def test_what_is_no_answer_is_a_fault_and_leaves_the_conversation_as_it_was(
    chat_server: ChatServer, chat: Any, answer: Any, error: Any, text: str
) -> None:
    agent = chat()
    agent.reply("a")
    before = _shown(agent)
    chat_server.next(answer)
    with pytest.raises(error, match=text):
        agent.reply("b")
    assert _shown(agent) == before
    assert len(chat_server.requests) == 2  # only the caller retries
    agent.reply("c")
    assert sent(chat_server) == ["a", "Understood.", "c"]


def _shown(agent: Any) -> dict[str, Any]:
    return {
        name: value
        for name, value in json.loads(agent.save()).items()
        if name != "used"
    }


def test_a_key_that_was_not_sent_is_told_with_how_to_name_its_variable(
    chat_server: ChatServer, chat: Any
) -> None:
    chat_server.key = "planted"
    with pytest.raises(RequestRefused) as caught:
        chat().reply("a")
    assert str(caught.value) == (
        f"{chat_server.url} answered 401: Incorrect API key provided. No key was sent: an address gets one only where "
        f"the agent says which environment variable holds it, as in openai:m@{chat_server.url}?key_env=NAME"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (fails(401, "No."), True),
        (fails(400, "API key not valid. Please pass a valid API key."), True),
        (fails(403, "Invalid authentication credentials"), True),
        (fails(403, "Not in your country."), False),
        (fails(400, "Unknown model."), False),
        (fails(500, "The API key service is down."), False),
    ],
)
def test_a_key_that_was_refused_is_told_with_its_variable(
    chat_server: ChatServer,
    chat: Any,
    monkeypatch: pytest.MonkeyPatch,
    answer: Any,
    told: bool,
) -> None:
    monkeypatch.setenv("SOME_KEY", "planted")
    chat_server.next(answer)
    with pytest.raises(RequestRefused) as caught:
        chat("key_env=SOME_KEY").reply("a")
    assert (
        "environment variable SOME_KEY; key_env=NAME names another" in str(caught.value)
    ) == told
    assert "planted" not in str(caught.value)


def test_a_refusal_of_the_model_is_what_it_replied(
    chat_server: ChatServer, chat: Any
) -> None:
    message = {"role": "assistant", "content": None, "refusal": "I would rather not."}
    chat_server.next(
        wrong_schema({"choices": [{"message": message, "finish_reason": "stop"}]})
    )
    assert chat().reply("a").text == "I would rather not."


def test_an_empty_reply_is_a_reply_and_is_never_sent_again_as_an_empty_message(
    chat_server: ChatServer, chat: Any
) -> None:
    chat_server.next("", " ")
    agent = chat()
    assert [agent.reply(text).text for text in "ab"] == ["", " "]
    agent.reply("c")
    assert sent(chat_server) == ["a", "(no reply)", "b", "(no reply)", "c"]


def test_the_text_of_a_reply_in_parts_is_the_reply(
    chat_server: ChatServer, chat: Any
) -> None:
    parts = [
        {"type": "thinking", "thinking": []},
        {"type": "text", "text": "It is "},
        {"type": "text", "text": "teal."},
    ]
    chat_server.next(of_parts(parts))
    assert chat().reply("a").text == "It is teal."


@pytest.mark.parametrize(
    ("counted", "believed"), [(3, False), (900, False), (1500, True)]
)
def test_a_count_of_less_than_half_of_a_prompt_is_replaced_by_an_estimate(
    chat_server: ChatServer, chat: Any, counted: int, believed: bool
) -> None:
    message = {"role": "assistant", "content": "Teal."}
    usage = {"prompt_tokens": counted, "completion_tokens": 2}
    choice = {"message": message, "finish_reason": "stop"}
    chat_server.next(wrong_schema({"choices": [choice], "usage": usage}))
    sent = chat().reply("A word or two. " * 500).usage  # about 2,500 tokens
    if believed:
        assert sent == Usage(input_tokens=counted, output_tokens=2, calls=1)
    else:
        assert 2_000 < sent.input_tokens < 3_000
        assert sent.estimated
        assert sent.output_tokens == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("total", "output"), [(None, 5), (105, 5), (905, 805), (50, 5)]
)
def test_what_was_thought_is_counted_where_only_the_total_tells(
    chat_server: ChatServer, chat: Any, total: int | None, output: int
) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 5} | (
        {} if total is None else {"total_tokens": total}
    )
    message = {"role": "assistant", "content": "Teal."}
    chat_server.next(
        wrong_schema(
            {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
        )
    )
    assert chat().reply("a").usage == Usage(
        input_tokens=100, output_tokens=output, calls=1
    )


def test_a_reply_that_the_limit_cut_off_is_taken_as_it_is(
    chat_server: ChatServer, chat: Any
) -> None:
    chat_server.next(says("It is te", finish_reason="length"))
    assert chat().reply("a").text == "It is te"


# --- capabilities


def test_a_chat_has_the_capabilities_that_resuming_and_filler_need(chat: Any) -> None:
    having = {
        "AnswersAlone",
        "AcceptsHistory",
        "Checkpointable",
        "Compacts",
        "Configured",
        "CountsTokens",
    }
    having |= {"LimitsMessages", "ReportsUsage", "Resettable", "TakesTools"}
    assert capabilities_of(chat()) == having
    assert capabilities_of(chat(kind="ts")) == having | {"TimeAware"}


def test_a_question_asked_alone_is_in_no_later_prompt(
    chat: Callable[..., Any], chat_server: ChatServer
) -> None:
    chat_server.next("Ochre.", "Noted.", "Ochre.")
    agent = chat()
    agent.accept("I like ochre.", "Noted.")
    assert agent.answer_alone("Which colour do I like?").text == "Ochre."
    agent.reply("I like teal, too.")
    agent.answer_alone("Which colours do I like?")

    shown = [
        [message["content"] for message in request.messages]
        for request in chat_server.requests
    ]
    assert shown == [
        ["I like ochre.", "Noted.", "Which colour do I like?"],
        ["I like ochre.", "Noted.", "I like teal, too."],
        [
            "I like ochre.",
            "Noted.",
            "I like teal, too.",
            "Noted.",
            "Which colours do I like?",
        ],
    ]


def test_room_that_was_made_for_a_question_alone_is_given_back(
    chat: Callable[..., Any], chat_server: ChatServer
) -> None:
    for questions in (["Is it teal? " * 20, "Which?"], ["Which?"]):
        agent = chat("context=200")
        for number in range(6):
            agent.accept(
                f"Fact {number}: the colour of box {number} is ochre.", "Noted."
            )
        for question in questions:
            agent.answer_alone(question)

    long, after_it, alone = (len(request.messages) for request in chat_server.requests)
    assert long < after_it == alone


def test_control_characters_are_saved_as_escapes(chat: Callable[..., Any]) -> None:
    one, other = chat(), chat()
    one.accept("\x9b31m\u202eHello", "Grüße")
    assert b"\\u009b31m\\u202eHello" in one.save()
    other.load(one.save())
    assert other.save() == one.save()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["openai", "ts"])
def test_what_was_saved_goes_on_in_another_process_as_if_nothing_had_happened(
    chat_server: ChatServer, chat: Any, kind: str
) -> None:
    one, other = chat("context=300", kind=kind), chat("context=300", kind=kind)
    for number in range(20):
        if kind == "ts":
            one.tell_time(NOON + timedelta(minutes=number))
        one.reply(f"Here is number {number}, with \udc80 and ☃.")
    other.load(one.save())
    assert other.save() == one.save()
    assert other.usage() == one.usage()
    for agent in (one, other):
        if kind == "ts":
            agent.tell_time(NOON + timedelta(days=1))
        agent.reply("What now?")
    assert chat_server.requests[-1].messages == chat_server.requests[-2].messages


def test_a_state_of_another_version_is_refused(chat: Any) -> None:
    with pytest.raises(AgentError, match="version 99"):
        chat().load(b'{"version": 99}')


def test_filler_messages_keep_within_a_quarter_of_a_small_context(chat: Any) -> None:
    assert chat().max_message_tokens == 4096
    assert chat("context=2000&max_tokens=400").max_message_tokens == 400


def test_the_configuration_tells_all_that_matters_and_no_key(
    chat_server: ChatServer, chat: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "planted-7c1d")
    chat_server.key = "planted-7c1d"
    agent = chat("key_env=MY_KEY&context=8k&seed=3", system="Be kind.")
    assert agent.reply("a").text == "Understood."
    told = agent.configuration()
    assert told == {
        "chat": 4,
        "model": "m",
        "endpoint": chat_server.url,
        "seed": 3,
        "context": 8000,
        "system": "Be kind.",
        "tokenizer": "o200k_base",
    }
    assert "planted" not in str((told, agent.save(), vars(agent)))


# --- time


def test_a_timed_chat_says_how_much_time_has_passed(
    chat_server: ChatServer, chat: Any
) -> None:
    agent = chat(kind="ts")
    agent.tell_time(NOON)
    agent.reply("Hello.")
    agent.tell_time(NOON + timedelta(hours=3, minutes=20))
    agent.accept("Filler?", "Yes.")
    agent.tell_time(NOON + timedelta(days=2, hours=3, minutes=20))
    agent.reply("I am back.")
    assert sent(chat_server)[::2] == [
        "[2024-03-04 12:00:00+00:00] Hello.",
        "[3:20:00 later] Filler?",
        "[2 days, 0:00:00 later] I am back.",
    ]


def test_a_message_that_failed_does_not_hide_the_time_that_passed(
    chat_server: ChatServer, chat: Any
) -> None:
    agent = chat(kind="ts")
    agent.tell_time(NOON)
    agent.reply("Hello.")
    agent.tell_time(NOON + timedelta(hours=1))
    chat_server.next(fails())
    with pytest.raises(RequestRefused):
        agent.reply("Lost.")
    agent.tell_time(NOON + timedelta(hours=2))
    agent.reply("Here.")
    assert sent(chat_server)[-1] == "[2:00:00 later] Here."


def test_the_extra_body_cannot_take_the_place_of_the_conversation(chat: Any) -> None:
    with pytest.raises(
        (AgentError, DefinitionError), match="is set by the conversation"
    ):
        chat(extra={"messages": []})


def test_no_other_endpoint_is_ever_given_the_key_of_openai(
    chat_server: ChatServer, chat: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_ORG_ID",
        "OPENAI_PROJECT_ID",
        "OPENAI_ADMIN_KEY",
    ):
        monkeypatch.setenv(name, "planted")
    chat().reply("a")
    assert "planted" not in str(chat_server.requests[0].headers)


# --- images

PNG, JPEG = b"\x89PNG\r\n\x1a\n....", b"\xff\xd8...."


def shown_urls(message: Any) -> list[str]:
    return [
        part["image_url"]["url"]
        for part in message["content"]
        if part["type"] == "image_url"
    ]


def test_an_image_goes_with_its_message_as_base64_and_is_shown_again(
    chat_server: ChatServer, chat: Any
) -> None:
    agent = chat("images=true")
    chat_server.next("A cat.", "Grey.", "Yes.")
    assert "AcceptsImages" in capabilities_of(agent)
    assert agent.reply_with_images("What is this?", [PNG, JPEG]).text == "A cat."
    assert agent.reply("Its colour?").text == "Grey."
    first, _, last = chat_server.requests[-1].messages
    assert first["content"][0] == {"type": "text", "text": "What is this?"}
    assert shown_urls(first) == [
        "data:image/png;base64,iVBORw0KGgouLi4u",
        "data:image/jpeg;base64,/9guLi4u",
    ]
    assert last["content"] == "Its colour?"


def test_an_agent_that_is_saved_and_loaded_still_shows_its_images(
    chat_server: ChatServer, chat: Any
) -> None:
    agent, other = chat("images=true"), chat("images=true")
    agent.reply_with_images("What is this?", [PNG])
    other.load(agent.save())
    chat_server.next("Grey.")
    other.reply("Its colour?")
    assert len(shown_urls(chat_server.requests[-1].messages[0])) == 1


def test_images_are_estimated_so_that_a_small_context_drops_the_oldest(
    chat_server: ChatServer, chat: Any
) -> None:
    agent = chat("images=true&context=3000")
    for number in range(4):
        agent.reply_with_images(f"Image {number}?", [PNG])
    assert len(chat_server.requests[-1].messages) == 3


def test_without_the_setting_a_model_takes_no_images(chat: Any) -> None:
    assert "AcceptsImages" not in capabilities_of(chat())
    assert "images" not in chat().configuration()
    assert chat("images=true").configuration()["images"] is True


def test_what_is_no_image_is_not_sent(chat_server: ChatServer, chat: Any) -> None:
    with pytest.raises(AgentFault, match="image 2 of 2 is not a PNG"):
        chat("images=true").reply_with_images("See?", [PNG, b"<svg onload='alert(1)'>"])
    assert chat_server.requests == []


def test_a_model_that_refuses_images_is_a_fault_in_its_own_words(
    chat_server: ChatServer, chat: Any
) -> None:
    chat_server.next(fails(400, "this model does not take image_url"))
    with pytest.raises(RequestRefused, match="does not take image_url"):
        chat("images=true").reply_with_images("See?", [PNG])


def test_only_openai_takes_images(chat: Any) -> None:
    with pytest.raises(AgentError, match="only openai:MODEL takes images"):
        chat("images=true", kind="ts")
    with pytest.raises(AgentError, match="only openai:MODEL takes images"):
        source_of_kind(
            agent_kinds()["anthropic"],
            "m@http://h/v1?images=true",
            Field({}, "bot.yml", "parameters"),
        )
