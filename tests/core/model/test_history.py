"""Conversations with a history: dated exchanges replace filler, and questions wait for them."""

from __future__ import annotations

import io
import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_ltm import Ltm
from pytest_ltm._core.journal.events import Journal
from pytest_ltm._core.model.filler import PastExchange, ToldTexts, split_by_tokens
from pytest_ltm._core.model.plan import PlannedExample
from pytest_ltm._core.model.scenario import Ask, Definition, Wait
from pytest_ltm._core.model.score import Score
from pytest_ltm._core.model.tokens import token_counter
from pytest_ltm._core.model.transcript import needle_gap
from pytest_ltm.testing import Played, ScriptedAgent, run_conversation

MONDAY = datetime(2022, 5, 2, 10, 0, tzinfo=timezone.utc)
PAST = [
    PastExchange(
        f"D{day}",
        MONDAY + timedelta(days=day),
        f"Day {day}: I bought {thing}.",
        "Noted.",
        f"[{day}] {thing}",
    )
    for day, thing in enumerate(["a kite", "a drum", "a boat"], start=1)
]


class Listener(ScriptedAgent):
    """Accepts history, and keeps each told exchange with its time."""

    def __init__(self) -> None:
        super().__init__(*["an answer"] * 9)
        self.told: list[tuple[str, str, datetime]] = []
        self.now = MONDAY

    def accept(self, message: str, reply: str) -> None:
        self.told.append((message, reply, self.now))

    def tell_time(self, now: datetime) -> None:
        self.now = now


def question(ltm: Ltm) -> None:
    ltm.score(Score(float(ltm.play(ltm.definition) == ["an answer"]), "said"))


def asked(
    *waits: Wait, text: str = "What did I buy?", about: tuple[str, ...] = ()
) -> Definition:
    return Definition(steps=(*waits, Ask(text, about)))


def played(agent: object, *definitions: Definition, **options: Any) -> Played:
    examples = [
        PlannedExample(
            scenario="question", example=str(number), definition=one, together=True
        )
        for number, one in enumerate(definitions)
    ]
    return run_conversation(
        {"question": question},
        agent,
        examples=examples,
        history=PAST,
        span=10**9,
        **options,
    )


def test_an_agent_that_accepts_history_is_told_both_sides_at_their_dates() -> None:
    agent = Listener()
    played(agent, asked(Wait(history=3)))

    assert agent.told == [(past.message, past.reply, past.at) for past in PAST]
    assert agent.heard == ["What did I buy?"]


def test_any_other_agent_is_sent_the_history_as_messages() -> None:
    agent = ScriptedAgent("yes", "yes", "yes", "an answer")
    result = played(agent, asked(Wait(history=3)))

    assert agent.heard == ["[1] a kite", "[2] a drum", "[3] a boat", "What did I buy?"]
    assert [exchange.kind for exchange in result.transcript] == ["history"] * 3 + [
        "ask"
    ]


def test_each_question_comes_as_soon_as_what_it_waits_for_has_been_told() -> None:
    agent = Listener()
    result = played(
        agent,
        asked(Wait(history=1), text="First?"),
        asked(Wait(history=3), text="Last?"),
    )

    assert [exchange.message for exchange in result.transcript] == [
        PAST[0].message,
        "First?",
        PAST[1].message,
        PAST[2].message,
        "Last?",
    ]


def test_a_distance_after_the_evidence_is_filled_with_history_first() -> None:
    agent = Listener()
    result = played(agent, asked(Wait(history=1), Wait(tokens=15), about=("D1",)))
    evidence, answer = result.transcript[0], result.transcript[-1]

    assert needle_gap(evidence, answer) >= 15
    assert {exchange.kind for exchange in result.transcript[1:-1]} == {"history"}


def test_the_needles_of_a_question_are_what_it_names_of_the_history() -> None:
    result = played(Listener(), asked(Wait(history=3), about=("D2",)))
    (needle,) = result.lanes["question/0"].questions[0].needles

    assert result.transcript.number(needle).message == PAST[1].message


def test_what_nobody_waits_for_is_not_told() -> None:
    agent = Listener()
    played(agent, asked(Wait(history=1)))

    assert len(agent.told) == 1


def test_waiting_for_more_than_there_is_ends_that_example_with_an_error() -> None:
    ending = played(Listener(), asked(Wait(history=4))).endings["question/0"]

    assert str(ending.error) == "waits for 4 exchanges of the history, and it has 3"


def test_a_history_with_a_hole_ends_the_conversation() -> None:
    class Deaf(Listener):
        def accept(self, message: str, reply: str) -> None:
            raise ValueError(f"no room for {message} and {reply}")

    ending = played(Deaf(), asked(Wait(history=3))).endings["question/0"]

    assert ending.unreached is not None
    assert "did not take D1 of the history" in ending.unreached


def test_the_journal_names_what_was_told_of_the_history() -> None:
    text = io.StringIO()
    played(Listener(), asked(Wait(history=2)), journal=Journal(text))
    events = [json.loads(line) for line in text.getvalue().splitlines()]

    assert [event["history"] for event in events if event["event"] == "filler"] == [
        "D1",
        "D2",
    ]
    assert [event["history"] for event in events if event["event"] == "wait"] == [2]


class Remembering(Listener):
    """Reports a given list of texts as retrieved."""

    def __init__(self, *shown: str) -> None:
        super().__init__()
        self.shown = list(shown)

    def retrieved(self) -> list[str]:
        return self.shown


def retrieved_by(*shown: str) -> tuple[str, ...] | None:
    return played(Remembering(*shown), asked(Wait(history=3))).transcript[-1].retrieved


def test_texts_of_the_history_are_retrieved_under_their_ids() -> None:
    both = f"{PAST[1].message}\n{PAST[1].reply}"

    assert retrieved_by(both, PAST[0].message, PAST[2].asked) == ("D2", "D1", "D3")


def test_ids_and_texts_that_nobody_told_are_retrieved_as_they_are() -> None:
    assert retrieved_by("D3", "something else") == ("D3", "something else")


def test_a_reply_that_is_always_the_same_names_no_exchange() -> None:
    assert retrieved_by("Noted.") == ("Noted.",)


def test_a_long_text_that_nobody_told_is_cut() -> None:
    (shown,) = retrieved_by("word " * 400) or ()

    assert len(shown) == 200
    assert shown.endswith("…")


def test_an_exchange_of_several_turns_is_retrieved_as_its_turns() -> None:
    texts = ToldTexts()
    texts.add(
        PastExchange(
            "S1",
            MONDAY,
            "a kite and a drum",
            "Noted.",
            "a kite and a drum",
            ("S1_1", "S1_2"),
        )
    )

    assert texts.replace_known_texts(["a kite and a drum "]) == ("S1_1", "S1_2")


class Narrow(ScriptedAgent):
    """Accepts short messages only."""

    max_message_tokens = 8


def test_a_history_is_sent_in_parts_that_the_agent_takes() -> None:
    past = [
        PastExchange(
            "D1",
            MONDAY,
            "",
            "",
            "I bought a kite. It is red.\nIt has a very long tail of silk.",
        )
    ]
    agent = Narrow(*["yes"] * 9)
    result = run_conversation(
        {"question": question},
        agent,
        examples=[
            PlannedExample(
                scenario="question",
                example="0",
                definition=asked(Wait(history=1), about=("D1",)),
            )
        ],
        history=past,
        span=10**9,
    )
    *sent, asking = agent.heard

    assert "".join(sent) == past[0].asked
    assert sent[0] == "I bought a kite. "
    assert all(token_counter("cl100k_base").count(part) <= 8 for part in sent)
    assert result.lanes["question/0"].questions[0].needles == tuple(range(len(sent)))
    assert asking == "What did I buy?"


@pytest.mark.slow
@example("a🙂a.", 4)
@given(st.text(alphabet="ab .\n\u2019é🙂", max_size=80), st.integers(4, 30))
def test_parts_joined_are_the_text(text: str, most: int) -> None:
    count = token_counter("cl100k_base").count
    cut = split_by_tokens(text, most, count)

    assert "".join(cut) == text
    assert all(count(part) <= most for part in cut)
