"""Texts kept on disk: those of long conversations, notes and memories."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pytest_ltm._core.model import transcript
from pytest_ltm._core.model.transcript import (
    Exchange,
    LongExchange,
    TextFile,
    Transcript,
)
from pytest_ltm._core.storage.clock import START
from pytest_ltm.agents import caller
from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.reader.reader import make_reader

TEXTS = ["Grüße", "", "\ud83d lone", "x" * 100]


def told(message: str, *, number: int = 0, by_agent: bool = False) -> Exchange:
    return Exchange(
        number=number,
        by="",
        kind="history",
        message=message,
        reply="Noted.",
        start=0,
        message_tokens=9,
        reply_tokens=1,
        now=START + timedelta(days=number),
        told=not by_agent,
    )


def test_texts_come_back_as_they_were_from_memory_and_from_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for limit in (2**20, 10):
        monkeypatch.setattr(transcript, "_IN_MEMORY", limit)
        texts = TextFile()
        for text in TEXTS:
            texts.append(text)
        assert [*texts] == TEXTS


def test_what_is_forgotten_is_overwritten() -> None:
    texts = TextFile()
    for text in TEXTS:
        texts.append(text)
    texts.truncate(1)
    texts.append("new")
    assert [*texts] == ["Grüße", "new"]


def test_a_long_text_that_was_told_reads_like_any_other() -> None:
    transcript = Transcript()
    transcript.append(told("short"))
    transcript.append(told("long " * 500, number=1))
    transcript.append(told("long " * 500, number=2, by_agent=True))
    assert [isinstance(one, LongExchange) for one in transcript] == [False, True, False]
    assert [one.message for one in transcript] == [
        "short",
        "long " * 500,
        "long " * 500,
    ]
    assert (transcript[1].raw_reply, transcript[1].end, transcript[1].now) == (
        "Noted.",
        10,
        told("", number=1).now,
    )


def test_a_reader_keeps_long_exchanges_through_saving_and_questions_asked_alone() -> (
    None
):
    reader = make_reader("bm25", "8k")()
    for number in range(6):
        text = (
            "[2 March 2026] Ann: "
            + f"The key of cupboard {number} hangs behind mirror {number}. " * 40
        )
        reader.accept(text, "Noted.")
    question = "[3 March 2026] Behind what does the key of cupboard 4 hang?"
    alone = reader.answer_alone(question)
    assert "mirror 4" in alone
    assert any("cupboard 4" in text for text in reader.retrieved())  # type: ignore[attr-defined]
    again = make_reader("bm25", "8k")()
    again.load(reader.save())
    assert again.save() == reader.save()
    assert again.answer_alone(question) == alone == reader.answer_alone(question)


def test_an_agent_of_a_vast_state_is_told_again_what_it_was_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(caller, "VAST", 5_000)
    agent = AgentCaller(make_reader("full")(), timeout=60)
    agent.tell("[2 March 2026] Ann: hello", "Noted.")
    assert agent.saves_cheaply
    agent.tell("[2 March 2026] Ann: " + "hello " * 1_000, "Noted.")
    assert not agent.saves_cheaply
