"""rag:K:SPEC: another agent reads the best matches of what was told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pytest_ltm._storage.errors import AgentError
from pytest_ltm._storage.schema import Field
from pytest_ltm.agents._adapt import source
from pytest_ltm.agents._rag import Rag, make_rag
from pytest_ltm.agents._specs import find

TOLD = ("Ines keeps quails.", "Tomas plays the cello.", "Rain falls on Lisbon.")


class Heard:
    """Says what it was told, and what it was sent."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def accept(self, message: str, reply: str) -> None:
        assert reply
        self.told.append(message)

    def reply(self, message: str) -> str:
        return " | ".join([*self.told, message])


def told(agent: Any) -> Any:
    for text in TOLD:
        agent.accept(text, "Fine.")
    return agent


def asked(agent: Any, message: str) -> str:
    return str(asyncio.run(agent.reply(message)))


def heard(k: int, embeds: Any = None) -> Any:
    return told(Rag(source(Heard, spec="heard"), k, embeds))


def test_only_the_best_matches_are_shown_and_told_as_retrieved() -> None:
    agent = heard(1)

    assert asked(agent, "Who plays cello?") == "Tomas plays the cello. | Who plays cello?"
    assert agent.retrieved() == ["Tomas plays the cello."]
    assert asked(agent, "Who keeps quails?") == "Ines keeps quails. | Who keeps quails?"


def test_an_agent_that_accepts_no_history_is_shown_them_in_the_message() -> None:
    agent = told(Rag(find("echo"), 1))

    assert "Ines keeps quails." in asked(agent, "Who has quails?")


def test_vectors_of_a_function_take_the_place_of_words() -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] if "Lisbon" in text or "weather" in text else [0.0, 1.0] for text in texts]

    assert asked(heard(1, embed), "And the weather?") == "Rain falls on Lisbon. | And the weather?"


def test_a_question_is_not_kept_and_all_is_forgotten_on_reset() -> None:
    agent = heard(3)
    asked(agent, "What about zebras?")

    assert asked(agent, "zebras?") == "zebras?"
    agent.reset()
    assert asked(agent, "quails?") == "quails?"


@pytest.mark.parametrize("argument", ["", "5", "x:echo", "0:echo"])
def test_a_wrong_spec_says_how_to_write_it(argument: str) -> None:
    with pytest.raises(AgentError, match="rag:5:openai:MODEL"):
        make_rag(argument, Field({}, "agent"), find)
