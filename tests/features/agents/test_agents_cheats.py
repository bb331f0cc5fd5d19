from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Sequence
from typing import Any

import pytest

from pytest_ltm.agents.capabilities import capabilities_of
from pytest_ltm.agents.reader.memory_policies import count_tokens
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.agents.sources import agent_source
from pytest_ltm.agents.wrapping import PADDINGS, POLITE, make_padded, padded_spec
from pytest_ltm.api.features import agent_kinds
from pytest_ltm.api.model import ExpectedReply, Prompted, Reply
from pytest_ltm.api.storage import AgentError
from pytest_ltm.lab.cheat_agents import CHEATS, OKAY, SPECS

TOLD = (
    "My cat is called Kelvin.",
    "My favourite colour is ochre.",
    "My dog is called Ohm.",
    "Now I prefer teal.",
)
ALONE = [
    spec for spec in SPECS if spec not in {"silent", "echo"} and not padded_spec(spec)
]
QUESTION = "What is my favourite colour?"


def agent(spec: str) -> Any:
    return find_agent(spec).make()


def asked(spec: str, question: str = QUESTION, told: Sequence[str] = TOLD) -> str:
    one = agent(spec)
    for message in told:
        one.reply(message)
    answer: str = one.reply(question)
    return answer


@pytest.mark.parametrize(
    ("spec", "answer"),
    [
        ("dump", "\n".join(TOLD)),
        ("recite:8", TOLD[-1]),
        ("keywords", TOLD[1]),
        ("candidates", "ochre, teal"),
        ("hedge", "It is either ochre or teal."),
        ("hedge:unsure", "I am not sure. Perhaps it is ochre, or perhaps teal."),
        ("fixed:1", "1"),
        ("fixed:last", "The last one."),
    ],
)
def test_its_trick_is_what_it_says_to_a_question(spec: str, answer: str) -> None:
    assert asked(spec) == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who is my cat?", "Kelvin, Ohm"),
        ("How many cats have I got?", OKAY),
        ("Tell me all you know.", "Kelvin, Ohm"),
    ],
)
def test_candidates_are_of_the_kind_that_the_question_asks_for(
    question: str, answer: str
) -> None:
    assert asked("candidates", question) == answer


def test_an_answer_is_json_where_the_question_shows_it() -> None:
    question = 'Where is the marble? Reply as JSON, like {"answer": "place"}.'
    told = ["It lies in the urn.", "She moves it to the sack."]
    assert json.loads(asked("hedge", question, told)) == {
        "answer": "It is either urn or sack."
    }


@pytest.mark.parametrize(
    ("spec", "answer"),
    [("fixed:1", "Leek soup"), ("fixed:2", "Trout"), ("fixed:last", "Cider")],
)
def test_a_fixed_order_takes_an_item_of_the_list_it_is_shown(
    spec: str, answer: str
) -> None:
    assert (
        asked(spec, "What would you like?\n1. Leek soup\n2. Trout\n3. Cider") == answer
    )


def test_only_some_play_their_trick_on_every_message() -> None:
    first = "My cat is called Kelvin."
    busy = {spec for spec in ALONE if asked(spec, "I like it.", [first]) != OKAY}
    assert busy == {"dump-always", "agree", "notes", "inject"}
    assert asked("dump-always", "I like it.", [first]) == first


def test_a_nag_reminds_of_one_task_after_another_and_never_looks_at_the_clock() -> None:
    one = agent("nag")
    assert "TimeAware" in capabilities_of(one)
    assert [
        one.reply(f"Remind me at noon to {task}.") for task in ("rest", "rise")
    ] == [OKAY, OKAY]
    assert [one.reply("It rains.") for _ in range(2)] == [
        "It is time to rest.",
        "It is time to rise.",
    ]


def test_a_guess_is_the_same_for_the_same_question_and_needs_no_memory() -> None:
    assert asked("random") == asked("random", told=[])


def test_what_happened_without_a_reply_is_recited_with_its_reply_and_forgotten_on_reset() -> (
    None
):
    one = agent("dump")
    one.accept("Hello.", "Hi.")
    assert one.reply("Well?") == "Hello.\nHi."
    one.reset()
    assert one.reply("Well?") == ""


@pytest.mark.parametrize("padding", PADDINGS)
def test_padding_stands_behind_the_reply_and_is_as_long_as_it_says(
    padding: str,
) -> None:
    one = agent(f"padded:{padding}:300:echo")
    text = one.reply("What was that?")
    assert text.startswith("What was that?\n\n")
    assert 300 <= count_tokens(text) <= 340


def test_padding_is_the_message_before_where_that_is_asked_for() -> None:
    one = agent("padded:filler:30:window:4k")
    one.reply("Here is something about lighthouses.")
    assert one.reply("Hello.").endswith("about lighthouses.")


def test_the_message_before_is_still_the_padding_in_another_process() -> None:
    one = agent("padded:filler:30:window:4k")
    one.reply("Here is something about lighthouses.")
    resumed = agent("padded:filler:30:window:4k")
    resumed.load(one.save())
    assert resumed.reply("Hello.") == one.reply("Hello.")
    assert resumed.save() == one.save()


def test_a_question_asked_alone_pads_no_later_reply() -> None:
    one = agent("padded:filler:30:window:4k")
    one.reply("Here is something about lighthouses.")
    one.answer_alone("What was that?")
    assert one.reply("Hello.").endswith("about lighthouses.")


def test_the_padded_agent_never_sees_its_padding() -> None:
    one, plain = agent("padded:1500:window:4k"), agent("window:4k")
    for message in (*TOLD, QUESTION):
        padded, reply = one.reply(message), plain.reply(message)
        assert padded.partition("\n\n")[0] == reply
        assert POLITE[0] in padded
    _, inner_state = json.loads(one.save())
    assert b64decode(inner_state) == plain.save()


def test_padding_keeps_what_the_other_agent_can_do() -> None:
    assert capabilities_of(agent("padded:window:4k")) == capabilities_of(
        agent("window:4k")
    ) - {"Resettable", "AcceptsHistory", "TakesTools"}


def test_padding_may_be_as_long_as_the_message() -> None:
    one, message = agent("padded:same:echo"), "It is a long way to the sea. " * 9
    added = one.reply(message).removeprefix(message)
    assert 0.8 < count_tokens(added) / count_tokens(message) < 1.3


def test_a_padded_oracle_is_told_what_full_marks_ask_for_and_no_other_padded_agent_is() -> (
    None
):
    one = agent("padded:20:oracle")
    one.prompt([ExpectedReply("Kelvin.", ())])
    assert one.reply("What is my cat called?").startswith(f"Kelvin.\n\n{POLITE[0]}")
    assert capabilities_of(one) == {
        "Prompted",
        "SeparatesUsers",
        "AnswersAlone",
        "Configured",
    }
    assert not isinstance(agent("padded:20:echo"), Prompted)


def test_an_agent_that_replies_later_and_reports_usage_can_be_padded() -> None:
    class Later:
        async def reply(self, message: str) -> Reply:
            return Reply(message, cost_usd=0.5)

    one: Any = make_padded("20:x", lambda spec: agent_source(Later, spec=spec)).make()
    waiting = one.reply("Hello.")
    with pytest.raises(StopIteration) as ended:
        waiting.send(None)
    assert ended.value.value.cost_usd == 0.5
    assert ended.value.value.text.startswith(f"Hello.\n\n{POLITE[0]}")


@pytest.mark.parametrize(
    ("spec", "cure"),
    [
        ("dump:2k", "Write 'dump'."),
        ("recite", "'recite:8k'"),
        ("recite:many", "'recite:8k'"),
        ("fixed", "'fixed:1' or 'fixed:last'"),
        ("fixed:0", "'fixed:1' or 'fixed:last'"),
        ("hedge:sure", "Write 'hedge' or 'hedge:unsure'."),
        ("padded", "'padded:1500:window:4k'"),
        ("padded:1500", "'padded:1500:window:4k'"),
        ("padded:1500:nobody", "unknown agent 'nobody'"),
    ],
)
def test_a_wrong_spec_is_an_error_with_an_example(spec: str, cure: str) -> None:
    with pytest.raises(AgentError, match=cure):
        find_agent(spec)


def test_every_cheat_is_a_control() -> None:
    controls = {kind.name for kind in agent_kinds().values() if kind.control}
    assert {"oracle", "padded", *CHEATS} == controls
    # needs the file of a tree
    assert {spec.partition(":")[0] for spec in ALONE} == {*CHEATS} - {"skips"}


def test_the_agent_behind_a_padded_one_is_known() -> None:
    specs = (
        "padded:window:4k",
        "padded:20:echo",
        "padded:filler:2k:memory:rules",
        "window:4k",
        "padded",
    )
    assert [padded_spec(spec) for spec in specs] == [
        "window:4k",
        "echo",
        "memory:rules",
        "",
        "",
    ]
