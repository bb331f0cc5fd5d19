"""Memory systems: what each keeps, finds and shows, within its budget, and that it can be saved at any moment."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ltm._storage.errors import AgentError
from pytest_ltm._storage.schema import Field
from pytest_ltm.agents._capabilities import capabilities
from pytest_ltm.agents._memory import CAPABILITIES
from pytest_ltm.agents._specs import ADAPTERS
from pytest_ltm.memory.parameters import PRESETS, preset
from pytest_ltm.memory.pipeline import Pipeline
from pytest_ltm.memory.thinking import Replying, Rules, size

if TYPE_CHECKING:
    from pytest_ltm.memory.thinking import Task

MONDAY = datetime(2024, 3, 4, 9, tzinfo=timezone.utc)
TALK = (
    ("My name is Ines, and my favourite colour is teal.", "Nice to meet you."),
    ("You know what? A joke about two fish: one of them drives.", "Good one."),
    ("I work as a baker in Porto.", "Bread is my favourite word."),
    ("Yesterday I bought a canoe.", "Where will you keep it?"),
    ("In the shed of my sister Odile.", "The shed it is."),
)


class Watched(Rules):
    """Rules that keep what they were asked."""

    def __init__(self) -> None:
        self.asked: list[Task[Any]] = []

    def think(self, task: Task[Any]) -> Any:
        self.asked.append(task)
        return super().think(task)


def made(query: str = "", **parameters: Any) -> Any:
    return ADAPTERS["memory"](f"rules?{query}" if query else "rules", Field(parameters, "bot.yml", "parameters")).make()


def told(agent: Any, exchanges: Any = TALK, *, hours: float = 5, start: datetime = MONDAY) -> Any:
    for number, (message, reply) in enumerate(exchanges):
        agent.tell_time(start + number * timedelta(hours=hours))
        agent.accept(message, reply)
    agent.tell_time(start + len(exchanges) * timedelta(hours=hours))
    return agent


@pytest.mark.parametrize("name", PRESETS)
def test_each_system_has_the_same_powers_and_tells_its_settings(name: str) -> None:
    agent = made(f"preset={name}")

    assert capabilities(agent) >= CAPABILITIES
    assert agent.configuration()["thinker"] == "rules"


@pytest.mark.parametrize("name", PRESETS)
def test_saved_and_loaded_at_every_step_it_replies_the_same(name: str) -> None:
    kept, agent = told(made(f"preset={name}")), made(f"preset={name}")
    for number, exchange in enumerate(TALK):
        agent.tell_time(MONDAY + number * timedelta(hours=5))
        agent.accept(*exchange)
        again = made(f"preset={name}")
        again.load(agent.save())
        assert again.save() == agent.save()
        agent = again
    for message in ("What is my name?", "My name is Zora now.", "Where is the canoe I bought yesterday?"):
        for one in (kept, agent):
            one.tell_time(MONDAY + timedelta(days=3))
        assert agent.reply(message) == kept.reply(message)
        assert agent.retrieved() == kept.retrieved()
        again = made(f"preset={name}")
        again.load(agent.save())
        agent = again


@pytest.mark.parametrize("name", [name for name in PRESETS if not name.startswith("memgpt")])
@given(
    texts=st.lists(st.text(st.characters(codec="utf-8"), max_size=300), min_size=1, max_size=12),
    window=st.integers(300, 1500),
)
@settings(max_examples=8, deadline=None)
def test_no_prompt_is_larger_than_the_window(name: str, texts: list[str], window: int) -> None:
    thinker = Watched()
    how = preset(name)
    agent = Pipeline(type(how)(**{**{f: getattr(how, f) for f in how.__slots__}, "window": window}), thinker)
    for number, text in enumerate(texts):
        agent.tell_time(MONDAY + number * timedelta(hours=7))
        agent.accept(text, text[::-1])
        agent.reply(f"What of {text[:20]}")
    for task in thinker.asked:
        if isinstance(task, Replying):
            alone = Replying(message=task.message, now=task.now, about=task.about, reading=task.reading)
            assert size(task.prompt()) <= max(window, size(alone.prompt()))


def test_both_sides_are_kept_and_so_is_a_message_that_asks() -> None:
    agent = told(made("recent=0"))

    agent.reply("Who drives in the joke about fish?")
    assert any("one of them drives" in text for text in agent.retrieved())
    agent.reply("What is your favourite word?")
    assert any("favourite word" in text for text in agent.retrieved())


def test_what_is_retrieved_are_texts_as_they_were_told() -> None:
    agent = told(made("recent=0&reading.k=1"))
    agent.reply("canoe")

    assert agent.retrieved() == ["Yesterday I bought a canoe.\nWhere will you keep it?"]


def test_another_state_is_refused() -> None:
    with pytest.raises(AgentError, match="other settings"):
        made("preset=ltm-2").load(made("preset=ltm-3").save())
