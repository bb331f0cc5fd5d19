"""Reading notes by rules or by a model: their selection, order and form, and nothing beyond them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from chat_server import ChatServer, refuses, says
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ltm import providers as calls
from pytest_ltm.agents.memory.reading import (
    MemoryHit,
    NoteReading,
    Utterance,
    parse_reading,
)
from pytest_ltm.agents.memory.thinker import Replying, Rules, Thinker, make_thinker
from pytest_ltm.agents.reader.memory_policies import count_tokens
from pytest_ltm.api.storage import AgentError, AgentFault, DefinitionError, Field

NOON = datetime(2024, 3, 4, 12, tzinfo=timezone.utc)


def note(text: str, hours: float = 0.0, role: Any = "user") -> MemoryHit:
    return MemoryHit(text, (Utterance(role, text, NOON + timedelta(hours=hours)),))


NAMES = (
    note("My name is Ines.", 2),
    note("My name is Tomas.", 1),
    note("My name is Uma.", 3),
)
RELEVANCE = NoteReading(order="relevance")


def reply(message: str, *notes: MemoryHit, at: float = 5, **more: Any) -> str:
    task = Replying(
        message=message, notes=notes, now=NOON + timedelta(hours=at), **more
    )
    return Rules().think(task).result


def test_the_best_notes_are_shown_in_order_of_time_or_of_relevance() -> None:
    texts = [
        [one.text for one in r.choose_notes(NAMES, NOON)]
        for r in (NoteReading(k=2), NoteReading(k=2, order="relevance"))
    ]

    assert texts == [
        ["My name is Tomas.", "My name is Ines."],
        ["My name is Ines.", "My name is Tomas."],
    ]


def test_rules_read_in_the_order_shown() -> None:
    notes = (NAMES[1], NAMES[0], NAMES[2])

    assert reply("What is my name?", *notes) == "Your name is Uma."
    assert reply("What is my name?", *reversed(notes)) == "Your name is Tomas."


def test_rules_know_no_time_where_ages_are_not_shown() -> None:
    jokes = (
        note("Here is a joke: one fish met two fish.", 0),
        note("Here is a joke: a cat sat down.", 3),
    )
    question = "Which joke did I tell you 5 hours ago?"

    assert "one fish" in reply(question, *jokes)
    assert "a cat" in reply(question, *jokes, reading=NoteReading(age=False))


def test_rules_read_what_was_said_last_after_the_notes() -> None:
    recent = (
        Utterance("user", "My name is Zora.", NOON),
        Utterance("assistant", "Hello.", NOON),
    )

    assert reply("What is my name?", *NAMES, recent=recent) == "Your name is Zora."
    assert reply("What is my name?") == "You have not told me your name."


@pytest.mark.slow
@given(
    st.lists(st.text(max_size=60), max_size=12),
    st.builds(
        NoteReading,
        k=st.integers(1, 12),
        budget=st.integers(1, 200),
        format=st.sampled_from(["text", "json"]),
        age=st.booleans(),
    ),
)
@settings(max_examples=60, deadline=None)
def test_no_budget_is_exceeded(texts: list[str], how: NoteReading) -> None:
    chosen = how.choose_notes(
        [note(text, n) for n, text in enumerate(texts)], NOON + timedelta(hours=30)
    )

    assert len(chosen) <= how.k
    assert (
        not chosen
        or count_tokens(how.format_notes(chosen, NOON + timedelta(hours=30)))
        <= how.budget
    )


def test_what_does_not_fit_is_passed_over() -> None:
    long = note("word " * 100)

    assert NoteReading(budget=40).choose_notes([long, NAMES[0]], NOON) == (NAMES[0],)


def test_a_note_is_shown_with_its_age_and_who_said_it() -> None:
    both = MemoryHit(
        "1", (Utterance("user", "Hello.", NOON), Utterance("assistant", "Hi.", NOON))
    )
    later = NOON + timedelta(hours=3)

    assert (
        NoteReading().format_notes([both], later)
        == "[3:00:00 ago] user: Hello.\n[3:00:00 ago] assistant: Hi."
    )
    assert (
        NoteReading(age=False, format="json").format_notes(
            [note("Oslo", role="")], later
        )
        == '[\n[{"text": "Oslo"}]\n]'
    )


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("order", "age", "one of time, relevance"),
        ("format", "xml", "one of text, json"),
        ("k", 0, "at least 1"),
        ("budget", "much", "number of tokens"),
        ("age", "yes", "true or false"),
    ],
)
def test_a_wrong_parameter_is_named(name: str, value: object, said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        parse_reading({name: Field(value, "bot.yml", name)})


def test_parameters_stand_before_a_preset() -> None:
    fields = {"k": Field(3, "f"), "budget": Field("2k", "f")}

    assert parse_reading(fields, RELEVANCE) == NoteReading(
        k=3, budget=2000, order="relevance"
    )


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("ruls", "Did you mean 'rules'"),
        ("openai:", "no model is named"),
        ("rules:x", "'rules'"),
    ],
)
def test_who_cannot_read_is_named(spec: str, said: str) -> None:
    with pytest.raises(AgentError, match=said):
        make_thinker(spec, Field({}, "bot.yml"))


def test_rules_take_no_parameter_of_a_model() -> None:
    with pytest.raises(DefinitionError, match="temperature: is a parameter of a model"):
        make_thinker("rules", Field({"temperature": 1}, "bot.yml"))


# --- A model, through the real client.


@pytest.fixture
def model(chat_server: ChatServer) -> Iterator[Thinker]:
    calls.share_limits(None)
    make, _ = make_thinker(f"openai:m@{chat_server.url}", Field({}, "bot.yml"))
    thinker = make()
    yield thinker
    thinker.close()


def test_a_model_is_sent_notes_recent_messages_and_the_message_with_their_ages(
    chat_server: ChatServer, model: Thinker
) -> None:
    chat_server.next(says("Ines."))
    recent = (Utterance("user", "Hello.", NOON), Utterance("assistant", "Hi.", NOON))
    now = NOON + timedelta(hours=5)
    task = Replying(
        message="Who am I?", notes=NAMES[:1], recent=recent, now=now, about="a sailor"
    )

    thought = model.think(task)

    system, *rest = chat_server.requests[-1].messages
    assert thought.result == "Ines."
    assert "[3:00:00 ago] user: My name is Ines." in system["content"]
    assert "a sailor" in system["content"]
    assert [one["content"] for one in rest] == [
        "[5:00:00 ago] Hello.",
        "Hi.",
        "[2024-03-04 17:00+00:00] Who am I?",
    ]


def test_what_a_refused_request_took_is_not_invented(
    chat_server: ChatServer, model: Thinker
) -> None:
    chat_server.next(refuses(400))

    with pytest.raises(AgentFault) as caught:
        model.think(Replying(message="Hello."))

    assert caught.value.usage is None
