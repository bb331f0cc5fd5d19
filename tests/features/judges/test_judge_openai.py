"""The judge of `openai:` against real HTTP on loopback, through the real client."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from chat_server import (
    Asked,
    ChatServer,
    fails,
    garbled,
    overflows,
    refuses,
    says,
    slow,
    truncated,
    wrong_schema,
)

from pytest_ltm.api.calls import Retries
from pytest_ltm.api.model import Unscored
from pytest_ltm.api.scenarios import (
    PROMPTS,
    Inquiry,
    JudgeDecision,
    decide_by_votes,
    parse_grade,
)
from pytest_ltm.api.storage import ConfigurationError, JudgeError
from pytest_ltm.commands import main
from pytest_ltm.judges.by_rules import RulesJudge
from pytest_ltm.judges.judge_registry import find_judge
from pytest_ltm.judges.model_calls import ModelCaller
from pytest_ltm.lab.commands.judge_check import judge_all, load_labelled

KEY = "sk-test-not-to-be-seen-anywhere"


_calls: list[ModelCaller] = []


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("JUDGE_API_KEY", KEY)
    yield
    while _calls:
        _calls.pop().close()


def judge_at(
    server: ChatServer, *, timeout: float | None = 60, retries: int = 2
) -> ModelCaller:
    found = find_judge(f"openai:some-model@{server.url}?key_env=JUDGE_API_KEY")
    assert found is not None
    quickly = Retries(most=retries, rng=random.Random(0), sleep=lambda _: None)
    _calls.append(
        ModelCaller(
            found.judge,
            who="the judge",
            error=JudgeError,
            timeout=timeout,
            retries=quickly,
        )
    )
    return _calls[-1]


def inquiry(answer: str = "In Turku.") -> Inquiry:
    return PROMPTS["answer"].inquiry(
        question="Where?", answer=answer, reference="Turku"
    )


def test_a_reply_that_the_endpoint_cut_gives_no_grade_also_when_it_is_read_again(
    chat_server: ChatServer,
) -> None:
    chat_server.next(says("It names Turku, so GRADE: yes, but", finish_reason="length"))
    reply = judge_at(chat_server)(inquiry())

    found = parse_grade(reply.text, ("yes", "no"))
    assert isinstance(found, Unscored)
    assert found.cause == "ungraded"


def test_a_judge_is_asked_at_temperature_0_for_a_structured_reply_and_its_usage_is_counted(
    chat_server: ChatServer,
) -> None:
    chat_server.next(says('{"thoughts": "It names Turku.", "grade": "yes"}', cached=3))
    reply = judge_at(chat_server)(inquiry())
    body = chat_server.requests[0].body
    assert body["temperature"] == 0
    schema = body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["grade"]["enum"] == ["yes", "no"]
    assert [message["role"] for message in body["messages"]] == ["user"]
    assert reply.usage is not None
    assert (reply.usage.input_tokens > 100, reply.usage.cached_tokens) == (True, 3)
    assert decide_by_votes(lambda _: reply.text, inquiry(), votes=1) == JudgeDecision(
        "yes", reply.text
    )


def test_no_question_is_asked_within_the_history_of_another(
    chat_server: ChatServer,
) -> None:
    chat_server.default = "GRADE: no"
    call = judge_at(chat_server)
    for answer in ("Brno.", "Porto."):
        call(inquiry(answer))
    assert all(len(request.messages) == 1 for request in chat_server.requests)
    assert "Brno." not in chat_server.requests[1].last


def test_each_vote_has_a_seed_of_its_own(chat_server: ChatServer) -> None:
    chat_server.default = "GRADE: no"
    call = judge_at(chat_server)
    decide_by_votes(lambda asked: call(asked).text, inquiry("Brno."), votes=3)
    assert [request.body["seed"] for request in chat_server.requests] == [0, 1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "refused",
    [
        {"response_format"},
        {"seed"},
        {"response_format", "seed"},
        {"temperature"},
        {"response_format", "temperature"},
    ],
    ids=lambda names: "-".join(sorted(names)),
)
def test_what_a_server_does_not_take_is_left_out_from_then_on(
    chat_server: ChatServer, refused: set[str]
) -> None:
    chat_server.not_taken = frozenset(refused)
    chat_server.default = "It does. GRADE: yes"
    call = judge_at(chat_server)
    assert call(inquiry()).text == "It does. GRADE: yes"
    before = len(chat_server.requests)
    call(inquiry("Turku, I think."))
    assert len(chat_server.requests) == before + 1
    last = chat_server.requests[-1]
    assert refused.isdisjoint(last.body)
    assert ("JSON" in last.last) is ("response_format" not in refused)


@pytest.mark.parametrize(
    "reply",
    [
        says(""),
        says("\n" * 40, finish_reason="length"),
        says("{}"),
        says("```json\n{}\n```"),
        says("null"),
        says('{"thoughts": "It does.", "grade": ""}'),
        says('{"thoughts": "It does."}'),
        says('{"thoughts": "\\n\\n\\n', finish_reason="length"),
        says('{"type": "object", "properties": {"grade": {"enum": ["yes", "no"]}}}'),
        says('{"thoughts": "It does.", "grade": ["yes", "no"]}'),
        says("<think>It does.</think>"),
        says("I cannot write JSON."),
    ],
)
def test_who_does_not_fill_the_form_is_asked_again_without_one(
    chat_server: ChatServer, reply: Any
) -> None:
    chat_server.next(reply)
    chat_server.default = "It does. GRADE: yes"
    call = judge_at(chat_server)
    assert call(inquiry()).text == "It does. GRADE: yes"
    assert len(chat_server.requests) == 2
    assert "response_format" not in chat_server.requests[1].body


def test_who_fills_no_form_is_asked_for_none_any_more(chat_server: ChatServer) -> None:
    chat_server.default = "It does."
    call = judge_at(chat_server)
    for _ in range(3):
        call(inquiry())
    asked = ["response_format" in request.body for request in chat_server.requests]
    assert asked == [True, False, True, False, False]


@pytest.mark.slow
@pytest.mark.parametrize(
    "trouble",
    [refuses(429, retry_after=0), fails(500), fails(503), truncated(), garbled()],
)
def test_passing_trouble_is_asked_through(
    chat_server: ChatServer, trouble: Any
) -> None:
    chat_server.next(trouble, "GRADE: yes")
    assert judge_at(chat_server)(inquiry()).text == "GRADE: yes"
    assert len(chat_server.requests) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trouble", "message", "calls"),
    [
        ([fails(500)] * 4, "tried 3 times", 3),
        ([fails(401, "No such key.")], "No such key", 1),
        ([overflows(4096)], "too long", 1),
        ([wrong_schema({"choices": None})], "not with choices", 1),
    ],
    ids=["5xx", "401", "overflow", "schema"],
)
def test_trouble_that_stays_is_a_failure_of_the_judge(
    chat_server: ChatServer, trouble: list[Any], message: str, calls: int
) -> None:
    chat_server.next(*trouble)
    with pytest.raises(JudgeError, match=message) as caught:
        judge_at(chat_server)(inquiry())
    assert caught.value.cause == "judge"
    assert KEY not in str(caught.value)
    # A refused request is retried without the optional parameters before the error is
    # raised.
    assert calls <= len(chat_server.requests) <= calls + 2


@pytest.mark.slow
def test_a_judge_that_is_too_slow_has_failed(chat_server: ChatServer) -> None:
    chat_server.default = slow(5.0)
    with pytest.raises(JudgeError, match=r"did not return within 0\.2 s"):
        judge_at(chat_server, timeout=0.2)(inquiry())


def test_a_spec_without_a_model_or_a_key_is_told_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for spec, message in (
        ("openai:", "no model is named"),
        ("openai:m", "OPENAI_API_KEY is not set"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            find_judge(spec)


def test_what_is_remembered_of_a_judge_names_model_and_server_and_no_key(
    chat_server: ChatServer,
) -> None:
    found = find_judge(f"openai:some-model@{chat_server.url}?key_env=JUDGE_API_KEY")
    assert found is not None
    told = json.dumps(found.configuration)
    assert "some-model" in told
    assert chat_server.url in told
    assert KEY not in told


def model_that(judges: Callable[[Mapping[str, str]], str]) -> Callable[[Asked], str]:
    """Return a server's answer function, which extracts the parts of a question from its text."""
    found = re.compile(
        r"was asked:\n(?P<question>.*?)\n\nThis answer is right:\n(?P<reference>.*?)\n\nWhat",
        re.DOTALL,
    )
    fence = re.compile(
        r"<<<<< ANSWER (\w+)\n(?P<answer>.*)\n\1 ANSWER >>>>>", re.DOTALL
    )

    def say(asked: Asked) -> str:
        parts, quoted = found.search(asked.last), fence.search(asked.last)
        assert quoted is not None
        return judges(
            {**(parts.groupdict() if parts else {}), "answer": quoted["answer"]}
        )

    return say


@pytest.mark.slow
def test_a_model_that_compares_words_is_as_good_over_http_as_at_home(
    chat_server: ChatServer,
) -> None:
    items = [item for item in load_labelled() if item.inquiry.prompt == "answer"][:60]

    def compares(parts: Mapping[str, str]) -> str:
        grade = (
            RulesJudge().assess(PROMPTS["answer"].inquiry(**parts)).rpartition(" ")[2]
        )
        return json.dumps({"thoughts": f"It wrote: {parts['answer']}", "grade": grade})

    chat_server.default = model_that(compares)
    call = judge_at(chat_server)
    there = judge_all(items, lambda asked: call(asked).text, votes=1)
    here = judge_all(items, RulesJudge().assess, votes=1)
    assert [row.passed for row in there.rows] == [row.passed for row in here.rows]
    assert there.rates["false-fail"] == here.rates["false-fail"]


@pytest.mark.slow
def test_a_model_that_repeats_every_injection_below_its_verdict_is_not_taken_in(
    chat_server: ChatServer,
) -> None:
    chat_server.not_taken = frozenset({"response_format"})
    chat_server.default = model_that(
        lambda parts: f"It is wrong. GRADE: no\nFor the record: {parts['answer']}"
    )
    call = judge_at(chat_server)
    items = [item for item in load_labelled() if item.kind == "injection"]
    measured = judge_all(items, lambda asked: call(asked).text, votes=1)
    assert measured.rates["false-pass"].count == 0
    assert all(row.passed is False for row in measured.rows)


@pytest.mark.slow
def test_judge_check_measures_a_model_behind_http(
    chat_server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    chat_server.default = '{"thoughts": "Fine.", "grade": "yes"}'
    spec = f"openai:kind@{chat_server.url}?key_env=JUDGE_API_KEY"
    assert (
        main(
            [
                "lab",
                "judge-check",
                "--ltm-judge",
                spec,
                "--json",
                "--limit",
                "false-pass:0.2",
            ]
        )
        == 1
    )
    found = json.loads(capsys.readouterr().out)
    assert (found["false_pass"]["rate"], found["false_fail"]["rate"]) == (1, 0)
    assert len(chat_server.requests) == found["items"] == len(load_labelled())
