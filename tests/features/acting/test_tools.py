"""Agents that act: the tools of a scenario, the recording of calls, and the checks on them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pytest_ltm import AnsweredCall, Call, Ltm, Reply, Tools
from pytest_ltm.agents.capabilities import capabilities_of
from pytest_ltm.api.journal import ConversationRecord, Journal, events, strip_checksum
from pytest_ltm.api.model import (
    Score,
    Unscored,
    make_tool,
    read_shown_tools,
    shown_tools,
)
from pytest_ltm.api.storage import AgentFault, ScenarioError
from pytest_ltm.testing import Played, run_conversation

TOLD = "I never eat before ten."
TASK = "Book a table at Rossi's, please."
TABLE = {"place": "string", "time": "string"}


class Booker:
    """Makes one booking per task, either by returning the call or by calling the tool."""

    def __init__(self, time: str = "10:00", *, at_once: bool = False) -> None:
        self.time, self.at_once = time, at_once
        self.asked: list[tuple[str, int]] = []

    def reply(self, message: str, tools: Tools | None = None) -> str | Reply:
        self.asked.append((message, 0 if tools is None else len(tools.results)))
        if message != TASK or tools is None:
            return "Noted."
        if self.at_once:
            return tools.call("book_table", place="Rossi's", time=self.time)
        if tools.results:
            return f"It says {tools.results[0].result}."
        return Reply(
            "", calls=[Call("book_table", {"place": "Rossi's", "time": self.time}, "a")]
        )


def books(check: Callable[[Ltm], object], **tool: Any) -> Callable[[Ltm], None]:
    def scenario(ltm: Ltm) -> None:
        ltm.tool("book_table", TABLE, **tool)
        ltm.say(TOLD)
        ltm.wait(tokens=200)
        ltm.ask(TASK)
        check(ltm)

    return scenario


def play(scenario: Callable[[Ltm], object], agent: object, **options: Any) -> Played:
    return run_conversation({"books": scenario}, agent, span=1_000, **options)


def outcome(scenario: Callable[[Ltm], object], agent: object) -> Any:
    return play(scenario, agent).endings["books/0"].verdict


def test_an_agent_takes_tools_if_its_reply_has_a_parameter_of_that_name() -> None:
    def alone(message: str) -> str:
        return message

    assert "TakesTools" in capabilities_of(Booker())
    assert "TakesTools" not in capabilities_of(lambda message: message)
    assert "TakesTools" not in capabilities_of(alone)


@pytest.mark.parametrize("at_once", [False, True])
def test_calls_are_answered_until_the_agent_speaks(at_once: bool) -> None:
    agent = Booker(at_once=at_once)
    scenario = books(lambda ltm: ltm.check_call("book_table", time="10 am"))
    played = play(scenario, lambda: agent)
    [call] = played.transcript[-1].calls
    assert str(call) == "book_table(place=\"Rossi's\", time='10:00')"
    assert (call.result, call.refused) == ("done", False)
    assert played.transcript[-1].reply == ("done" if at_once else "It says done.")
    assert played.endings["books/0"].verdict == Score(
        1.0,
        "all 1 checks passed",
        played.endings["books/0"].verdict.checks,  # type: ignore[union-attr]
    )


def test_a_tool_goes_with_messages_of_its_own_scenario_only() -> None:
    agent = Booker()
    play(books(lambda ltm: ltm.check_call("book_table")), lambda: agent)
    fillers = [asked for asked in agent.asked if asked[0].startswith("Filler")]
    assert fillers
    assert {results for _, results in fillers} == {0}


def test_a_wrong_argument_is_told_with_what_was_told_before() -> None:
    scenario = books(lambda ltm: ltm.check_call("book_table", time="10:00"))
    verdict = outcome(scenario, Booker("09:00"))
    assert verdict.value == 0.0
    assert verdict.reason.startswith(
        "failed: calls book_table(time='10:00'): called book_table(place=\"Rossi's\", time='09:00'); told "
    )
    assert verdict.reason.endswith(f" tokens before: {TOLD}")


def test_an_agent_that_cannot_act_is_unscored_before_anything_is_said() -> None:
    heard: list[str] = []

    def reply(message: str) -> str:
        heard.append(message)
        return "Hm."

    verdict = outcome(books(lambda ltm: ltm.check_call("book_table")), reply)
    assert isinstance(verdict, Unscored)
    assert "TakesTools" in verdict.reason
    assert heard == []


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (
            Call("book_tabel", {}),
            "there is no tool 'book_tabel'. Did you mean 'book_table'?",
        ),
        (Call("book_table", {"place": "x"}), "book_table needs time"),
        (
            Call("book_table", {"place": "x", "time": "y", "day": "z"}),
            "book_table has no argument 'day'",
        ),
        (
            Call("book_table", {"place": "x", "time": 9}),
            "time is of type string, not 9",
        ),
        (Call("book_table", "{not json"), "the arguments are not a JSON object"),
        (Call("book_table", "[1]"), "the arguments are not a JSON object"),
        (Call("book_table", '{"place": NaN}'), "the arguments are not a JSON object"),
        (
            Call("book_table", {"place": "x" * 20_000}),
            "the arguments have 20,013 characters; they may have 20,000",
        ),
    ],
)
def test_a_call_that_cannot_be_is_refused_and_told_why(
    call: Call, complaint: str
) -> None:
    tools = Tools([make_tool("book_table", TABLE, returns="done", description="")])
    tools.answer([call])
    [answered] = tools.results
    assert answered.refused
    assert answered.result.startswith(f"error: {complaint}")


def test_arguments_as_chat_models_write_them_are_read() -> None:
    tools = Tools([make_tool("book_table", TABLE, returns="done", description="")])
    tools.answer([Call("book_table", '{"place": "x", "time": "9"}', "id")])
    assert tools.results == (
        AnsweredCall(
            name="book_table",
            arguments={"place": "x", "time": "9"},
            result="done",
            id="id",
        ),
    )


def test_an_agent_that_never_stops_calling_is_a_fault() -> None:
    class Endless:
        def reply(self, message: str, tools: Tools | None = None) -> str | Reply:
            call = Call("book_table", {"place": "x", "time": "y"})
            return message if tools is None else Reply("", calls=[call])

    played = play(books(lambda ltm: ltm.check_call("book_table")), Endless())
    error = played.endings["books/0"].error
    assert isinstance(error, AgentFault)
    assert "called tools 32 times for one message" in str(error)


def test_a_result_may_be_a_function_of_the_arguments() -> None:
    def price(place: str, time: str) -> dict[str, str]:
        return {"table": f"{place} {time}"}

    scenario = books(lambda ltm: ltm.check_call("book_table"), returns=price)
    played = play(scenario, Booker(at_once=True))
    assert json.loads(played.transcript[-1].reply) == {"table": "Rossi's 10:00"}


def test_a_function_that_raises_is_the_scenarios_own_error() -> None:
    def fails(**_: str) -> str:
        raise KeyError("no such table")

    played = play(
        books(lambda ltm: ltm.check_call("book_table"), returns=fails), Booker()
    )
    error = played.endings["books/0"].error
    assert isinstance(error, ScenarioError)
    assert "no such table" in str(error)
    assert played.transcript[-1].reply == "It says error: the tool is out of order."


@pytest.mark.parametrize(
    ("name", "schema", "words"),
    [
        ("book table", TABLE, "a tool has a name such as 'book_table'"),
        ("book", "place", "needs the schema of its arguments"),
        ("book", {"place": "text"}, "say its type (string, integer"),
        ("book", {"place": {"enum": {1, 2}}}, "is not JSON"),
    ],
)
def test_a_tool_that_cannot_be_is_refused(name: str, schema: Any, words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        make_tool(name, schema, returns="", description="")
    assert words in str(caught.value)


def test_what_a_tool_offers_can_be_told_to_another_process() -> None:
    tools = Tools(
        [make_tool("book_table", TABLE, returns="done", description="Books.")]
    )
    tools.answer([Call("book_table", {"place": "x", "time": "y"}, "a")])
    asked: list[Call] = []

    def ask(call: Call) -> str:
        asked.append(call)
        return "done there"

    there = read_shown_tools(json.loads(json.dumps(shown_tools(tools))), ask)
    assert there.functions == tools.functions
    assert [(call.id, call.result) for call in there.results] == [("a", "done")]
    assert there.call("book_table", place="x", time="y") == "done there"
    there.call("book_table", place=object())
    assert [call.arguments for call in asked] == ['{"place": "x", "time": "y"}', "null"]


# --- The record.


def recorded(agent: object, scenario: Callable[[Ltm], object]) -> bytes:
    file = io.StringIO()
    play(scenario, agent, journal=Journal(file))
    return file.getvalue().encode()


def events_in(journal: bytes) -> Sequence[events.Event]:
    return [
        events.decode_event(strip_checksum(line), "here")
        for line in journal.splitlines(keepends=True)
    ]


def test_calls_are_in_the_journal_and_nobody_is_asked_again_when_it_is_replayed() -> (
    None
):
    counted: list[str] = []

    def returns(place: str, time: str) -> str:
        counted.append(place)
        return f"{time} is booked"

    scenario = books(
        lambda ltm: ltm.check_call("book_table", time="10:00"), returns=returns
    )
    journal = recorded(Booker(), scenario)
    replies = [
        event for event in events_in(journal) if isinstance(event, events.ReplyReceived)
    ]
    assert [len(reply.calls) for reply in replies if reply.calls] == [1]
    assert replies[-1].calls[0].result == "10:00 is booked"
    assert replies[-1].calls[0].tokens > 0

    def nobody(message: str, tools: object = None) -> str:
        raise AssertionError(message, tools)

    again = Journal(io.StringIO(), iter(journal.splitlines(keepends=True)))
    played = play(scenario, nobody, journal=again)
    verdict = played.endings["books/0"].verdict
    assert isinstance(verdict, Score)
    assert verdict.value == 1.0
    assert counted == ["Rossi's"] * 2  # the function also sees the recorded call


def test_a_journal_without_calls_is_what_it_was() -> None:
    def colour(ltm: Ltm) -> None:
        ltm.say("My colour is ochre.")
        ltm.check("ochre", "ochre" in ltm.ask("Which is it?"))

    assert b'"calls"' not in recorded(Booker(), colour)


def test_calls_are_between_the_message_and_the_next_but_bring_no_question_nearer() -> (
    None
):
    quiet = books(lambda ltm: ltm.check_call("book_table"))
    loud = books(lambda ltm: ltm.check_call("book_table"), returns="word " * 300)
    few, many = (play(scenario, Booker()).transcript for scenario in (quiet, loud))
    assert many[-1].call_tokens > few[-1].call_tokens + 250
    assert many[-1].end - few[-1].end >= 250
    assert many.counted_tokens - many.counted_before(many[-1].number) == (
        few.counted_tokens - few.counted_before(few[-1].number)
    )


def test_secrets_in_arguments_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-verysecretkey1234567890")
    agent = Booker("sk-verysecretkey1234567890")
    assert b"verysecret" not in recorded(agent, books(lambda ltm: ltm.check_call("x")))


def test_a_record_without_texts_has_the_names_of_calls_only() -> None:
    journal = recorded(Booker(), books(lambda ltm: ltm.check_call("book_table")))
    reply = next(
        event
        for event in events_in(journal)
        if isinstance(event, events.ReplyReceived) and event.calls
    )
    bare = events.without_texts(reply)
    assert isinstance(bare, events.ReplyReceived)
    assert (bare.calls[0].name, bare.calls[0].arguments, bare.calls[0].result) == (
        "book_table",
        {},
        "",
    )
    record = ConversationRecord.after(events_in(journal))
    assert record.transcript[-1].calls == reply.calls


# --- The checks.


class Scripted:
    """Makes the given calls in reply to the task."""

    def __init__(self, *calls: Call) -> None:
        self._calls = calls

    def reply(self, message: str, tools: Tools | None = None) -> str | Reply:
        if message != TASK or tools is None or tools.results or not self._calls:
            return "All right."
        return Reply("", calls=self._calls)


def book(time: str = "10:00", place: str = "Rossi's") -> Call:
    return Call("book_table", {"place": place, "time": time})


@pytest.mark.parametrize(
    ("calls", "check", "passes"),
    [
        ([book()], lambda ltm: ltm.check_call("book_table", time="10 am"), True),
        ([book()], lambda ltm: ltm.check_call("book_table", place="rossi's"), True),
        ([book()], lambda ltm: ltm.check_call("book_table", time="11:00"), False),
        ([book()], lambda ltm: ltm.check_call("book_table", time=str.isdigit), False),
        ([book()], lambda ltm: ltm.check_call("cancel"), False),
        ([], lambda ltm: ltm.check_call("book_table"), False),
        ([], lambda ltm: ltm.check_not_called(), True),
        ([book()], lambda ltm: ltm.check_not_called(), False),
        ([book()], lambda ltm: ltm.check_not_called("book_table", time="09:00"), True),
        ([book()], lambda ltm: ltm.check_called_once("book_table"), True),
        ([book(), book()], lambda ltm: ltm.check_called_once("book_table"), False),
        ([book(), book()], lambda ltm: ltm.check_call("book_table"), True),
        (
            [book(), book("12:00")],
            lambda ltm: ltm.check_called_once("book_table", time="10:00"),
            True,
        ),
        ([book()], lambda ltm: ltm.check_only_calls(book("10 am")), True),
        ([book(), book()], lambda ltm: ltm.check_only_calls(book()), False),
        ([book("12:00")], lambda ltm: ltm.check_only_calls(book()), False),
        (
            [book(), book("12:00")],
            lambda ltm: ltm.check_only_calls(book("12:00"), book()),
            True,
        ),
        (
            [book(), Call("pay", {"sum": 4})],
            lambda ltm: ltm.check_call_order("book_table", "pay"),
            True,
        ),
        (
            [Call("pay", {"sum": 4}), book()],
            lambda ltm: ltm.check_call_order("book_table", "pay"),
            False,
        ),
        (
            [Call("pay", {"sum": 4})],
            lambda ltm: ltm.check_call("pay", sum="four"),
            True,
        ),
        ([Call("pay", {"sum": 40})], lambda ltm: ltm.check_call("pay", sum=4), False),
        ([Call("pay", {"sum": "4"})], lambda ltm: ltm.check_call("pay"), False),
    ],
)
def test_calls_are_checked_by_what_they_mean(
    calls: list[Call], check: Callable[[Ltm], bool], passes: bool
) -> None:
    found: list[bool] = []

    def scenario(ltm: Ltm) -> None:
        ltm.tool("book_table", TABLE)
        ltm.tool("pay", {"sum": "integer"})
        ltm.say(TOLD)
        ltm.ask(TASK)
        found.append(check(ltm))

    verdict = outcome(scenario, Scripted(*calls))
    assert found == [passes]
    assert isinstance(verdict, Score)
    assert verdict.value == passes


def test_a_value_that_may_be_the_wanted_one_is_left_open() -> None:
    scenario = books(
        lambda ltm: ltm.check_call("book_table", place="the pizza parlour")
    )
    verdict = outcome(scenario, Scripted(book(place="the pizza house")))
    assert isinstance(verdict, Unscored)
