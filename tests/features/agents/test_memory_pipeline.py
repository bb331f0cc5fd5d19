"""Memory systems: what each keeps, finds and shows within its budget; each can be saved at any moment."""

from __future__ import annotations

import json
import math
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_thinker import Script

from pytest_ltm.agents.capabilities import capabilities_of
from pytest_ltm.agents.memory.parameters import (
    GROUPS,
    NAMES,
    PRESETS,
    preset_file_text,
    preset_settings,
)
from pytest_ltm.agents.memory.parameters import memory_settings as settings_of
from pytest_ltm.agents.memory.pipeline import Pipeline
from pytest_ltm.agents.memory.roles import ExtractedFact, Summary
from pytest_ltm.agents.memory.thinker import Replying, Rules, Task, prompt_tokens
from pytest_ltm.agents.profile import profile_of
from pytest_ltm.agents.reader.memory_policies import count_tokens
from pytest_ltm.agents.registry import find_agent, source_of_kind
from pytest_ltm.api.features import agent_kinds
from pytest_ltm.api.storage import AgentError, Field
from pytest_ltm.commands import main
from pytest_ltm.providers.chat_responses import ModelResponse, Used
from pytest_ltm.providers.specs import Spec

MONDAY = datetime(2024, 3, 4, 9, tzinfo=timezone.utc)
TALK = (
    ("My name is Ines, and my favourite colour is teal.", "Nice to meet you."),
    ("You know what? A joke about two fish: one of them drives.", "Good one."),
    ("I work as a baker in Porto.", "Bread is my favourite word."),
    ("Yesterday I bought a canoe.", "Where will you keep it?"),
    ("In the shed of my sister Odile.", "The shed it is."),
)


class Watched(Rules):
    """Rules that record every task."""

    def __init__(self) -> None:
        self.asked: list[Task[Any]] = []

    def think(self, task: Task[Any]) -> Any:
        self.asked.append(task)
        return super().think(task)


def fields_of(query: str) -> dict[str, Field]:
    return Spec("memory", "rules", query, "agent").fields(NAMES, groups=GROUPS)


def made_for_users(query: str = "", **parameters: Any) -> Any:
    return source_of_kind(
        agent_kinds()["memory"],
        f"rules?{query}" if query else "rules",
        Field(parameters, "bot.yml", "parameters"),
    ).make()


def made(query: str = "", **parameters: Any) -> Any:
    return made_for_users(query, **parameters).memory_of("")


def told(
    agent: Any, exchanges: Any = TALK, *, hours: float = 5, start: datetime = MONDAY
) -> Any:
    for number, (message, reply) in enumerate(exchanges):
        agent.tell_time(start + number * timedelta(hours=hours))
        agent.accept(message, reply)
    agent.tell_time(start + len(exchanges) * timedelta(hours=hours))
    return agent


@pytest.mark.parametrize("name", PRESETS)
def test_each_system_has_the_same_powers_and_tells_its_settings(name: str) -> None:
    agent = made_for_users(f"preset={name}")

    promised = profile_of(find_agent(f"memory:rules?preset={name}")).capabilities
    assert "ShowsRetrieval" in promised
    assert capabilities_of(agent) >= promised
    assert agent.configuration()["thinker"] == "rules"


@pytest.mark.slow
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
    for message in (
        "What is my name?",
        "My name is Zora now.",
        "Where is the canoe I bought yesterday?",
    ):
        for one in (kept, agent):
            one.tell_time(MONDAY + timedelta(days=3))
        assert agent.reply(message) == kept.reply(message)
        assert agent.retrieved() == kept.retrieved()
        again = made(f"preset={name}")
        again.load(agent.save())
        agent = again


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in PRESETS if not name.startswith("memgpt")]
)
@given(
    texts=st.lists(
        st.text(st.characters(codec="utf-8"), max_size=300), min_size=1, max_size=12
    ),
    window=st.integers(300, 1500),
)
@settings(max_examples=8, deadline=None)
def test_no_prompt_is_larger_than_the_window(
    name: str, texts: list[str], window: int
) -> None:
    thinker = Watched()
    how = preset_settings(name)
    agent = Pipeline(
        type(how)(
            **{**{f: getattr(how, f) for f in how.__struct_fields__}, "window": window}
        ),
        thinker,
    )
    for number, text in enumerate(texts):
        agent.tell_time(MONDAY + number * timedelta(hours=7))
        agent.accept(text, text[::-1])
        agent.reply(f"What of {text[:20]}")
    for task in thinker.asked:
        if isinstance(task, Replying):
            alone = Replying(
                message=task.message,
                now=task.now,
                about=task.about,
                reading=task.reading,
            )
            assert prompt_tokens(task.prompt()) <= max(
                window, prompt_tokens(alone.prompt())
            )


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


# --- Value and key: the stored text, and the text it is found by.


def found(query: str, message: str, **parameters: Any) -> list[str]:
    agent = told(made(query, **{"recent": 0, "reading": {"k": 1}, **parameters}))
    agent.reply(message)
    texts: list[str] = agent.retrieved()
    return texts


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ("turn", ["Yesterday I bought a canoe."]),
        ("round", ["Yesterday I bought a canoe.\nWhere will you keep it?"]),
        ("fact", ["Yesterday I bought a canoe."]),
        ("chunk:8/0.5", ["Yesterday I bought a canoe."]),
    ],
)
def test_each_value_is_found_as_what_it_is_from(value: str, texts: list[str]) -> None:
    assert found(f"value={value}", "canoe") == texts


@pytest.mark.parametrize("value", ["session", "observation", "summary"])
def test_what_is_kept_of_a_session_is_found_when_it_is_over(value: str) -> None:
    agent = made(f"value={value}&recent=0&reading.k=1")
    told(agent, TALK[:2], hours=0.1)
    told(agent, TALK[2:], hours=0.1, start=MONDAY + timedelta(days=1))
    agent.reply("which baker")
    assert agent.retrieved() == []  # that session is still open, and is shown whole
    agent.tell_time(MONDAY + timedelta(days=2))
    agent.reply("which baker")

    assert "I work as a baker in Porto." in "\n".join(agent.retrieved())
    assert "My name is Ines" not in "\n".join(agent.retrieved())


def test_an_observation_cites_the_turns_that_tell_it() -> None:
    agent = told(made("preset=locomo-observations&reading.k=1"))
    agent.tell_time(MONDAY + timedelta(days=9))
    agent.reply("shed sister")

    assert agent.retrieved() == ["In the shed of my sister Odile."]


@pytest.mark.parametrize(
    ("join", "both"), [("merge", True), ("replace", False), ("ranks", True)]
)
def test_further_keys_are_merged_replace_the_value_or_have_rankings_of_their_own(
    join: str, both: bool
) -> None:
    script = Script(facts=[(ExtractedFact("The user sleeps badly.", (0,)),)])
    how = settings_of(fields_of(f"key=value+facts&join={join}&recent=0"))
    agent: Any = Pipeline(how, script)
    agent.accept("The canoe was too loud.", "")

    agent.reply("sleeps badly")
    assert agent.retrieved() == ["The canoe was too loud."]
    agent.reply("loud canoe")
    assert bool(agent.retrieved()) is both


def test_the_oldest_memories_go_where_there_are_too_many() -> None:
    assert found("", "canoe", retrieval={"capacity": 1}) == []
    assert found("", "shed", retrieval={"capacity": 1}) == [
        "In the shed of my sister Odile.\nThe shed it is."
    ]


def test_filler_is_not_kept_where_it_is_to_be_skipped() -> None:
    agent = told(made("filler=skipped&recent=0"))
    agent.reply("My canoe is red.")
    agent.reply("canoe")

    assert [text.partition("\n")[0] for text in agent.retrieved()] == [
        "My canoe is red."
    ]


@pytest.mark.parametrize("name", ["retrieval", "memgpt"])
def test_questions_asked_alone_leave_no_memory(name: str) -> None:
    agent = told(made(f"preset={name}"))
    for _ in range(2):
        agent.answer_alone("My canoe is red. Where is the canoe?")
        assert not any("red" in text for text in agent.retrieved())


# --- Query and reading.


def test_a_question_about_a_time_is_looked_up_in_that_time() -> None:
    exchanges = [(f"I bought a boat, number {day}.", "") for day in range(5)]
    agent = told(made("query=time-aware&recent=0"), exchanges, hours=24)
    agent.reply("Which boat did I buy yesterday?")

    assert agent.retrieved() == ["I bought a boat, number 4."]


def test_what_happened_yesterday_is_found_by_the_day_that_it_happened() -> None:
    agent = told(
        made("query=time-aware&recent=0"),
        [*TALK, ("I am tired.", ""), ("So tired of boats.", "")],
        hours=24,
    )
    # told on the 7th, about the day before
    agent.reply("What boat or canoe did I buy on March 6?")

    assert "canoe" in agent.retrieved()[0]


def test_notes_on_each_memory_are_what_is_read() -> None:
    script = Script(note=["", "It was a canoe.", ""])
    agent: Any = Pipeline(
        settings_of(fields_of("reading.notes=per-item&recent=0&reading.k=3")), script
    )
    for text in ("I bought a canoe.", "A canoe is a boat.", "Canoe!"):
        agent.accept(text, "")
    agent.reply("canoe")

    assert [note.text for note in script.asked[-1].notes] == ["It was a canoe."]


def test_the_newest_half_of_the_window_is_shown_and_not_found_again() -> None:
    script = Script()
    agent: Any = Pipeline(settings_of(fields_of("preset=ltm-2&window=600")), script)
    for number in range(12):
        agent.tell_time(MONDAY + number * timedelta(hours=1))
        agent.accept(f"Boat {number} is in the harbour of Porto, as ever.", "I see.")
    agent.reply("Which boat is in Porto?")
    task = script.asked[-1]
    recent = [one.text for one in task.recent]
    notes = "\n".join(note.text for note in task.notes)

    assert recent[-2:] == ["Boat 11 is in the harbour of Porto, as ever.", "I see."]
    assert 0 < len(recent) < 24
    assert "Boat 0 " in notes
    assert "Boat 11" not in notes
    assert agent.in_context() == ["", *recent]


def test_where_the_window_holds_everything_it_is_all_in_context_and_nothing_is_retrieved() -> (
    None
):
    agent = told(made("preset=ltm-2"))
    agent.reply("Where is my canoe?")

    assert agent.retrieved() == []
    assert agent.in_context()[1:] == [text for exchange in TALK for text in exchange]


# --- Notebooks.


def test_the_notebook_is_shown_at_once_as_the_paper_has_it_and_one_message_later_as_the_code_has_it() -> (
    None
):
    for mode, shown in (("paper", [True, True]), ("code", [False, True])):
        script = Script()
        agent: Any = Pipeline(
            settings_of(fields_of(f"preset=ltm-3&mode={mode}")), script
        )
        agent.reply("My cat is called Odile.")
        agent.reply("Hello.")
        assert [
            "Odile" in task.about for task in script.asked if task.role == "reply"
        ] == shown


def test_what_changes_takes_the_place_of_what_was_so_in_the_notebook() -> None:
    agent = told(
        made("preset=ltm-1"),
        [
            ("My favourite colour is teal.", ""),
            ("My favourite colour is ochre now.", ""),
        ],
    )

    assert agent._user == {"favourite colour": "My favourite colour is ochre now."}


def test_a_notebook_keeps_to_its_size() -> None:
    for preset_name in ("ltm-1", "ltm-3"):
        kind = {"ltm-1": "json", "ltm-3": "text"}[preset_name]
        agent = made(f"preset={preset_name}&notebook={kind}:40")
        told(agent, [(f"My cat number {n} is called Odile{n}.", "") for n in range(9)])
        assert count_tokens(agent._known(40)) <= 40
        assert "Odile8" in agent._known(40)


def test_with_a_notebook_of_no_size_agent_1_replies_as_agent_2_does() -> None:
    one, two = told(made("preset=ltm-1&notebook=json:0")), told(made("preset=ltm-2"))

    for message in ("What is my name?", "My name is Zora.", "What is my job?"):
        assert one.reply(message).text == two.reply(message).text


# --- Forgetting.


def forgotten(query: str, *, asks: bool = False, days: int = 40) -> list[int]:
    """Return, for each of a hundred memories of the first day, the day on which it was forgotten."""
    agent = made(
        f"forgetting={query}&recent=0&reading.k=100&reading.budget=16000&key=value&window=64k"
    )
    agent.tell_time(MONDAY)
    for number in range(100):
        agent.accept(f"boat{number}", "")
    boats = " ".join(f"boat{number}" for number in range(100))
    counts = []
    for day in range(1, days):
        agent.tell_time(MONDAY + timedelta(days=day))
        agent.reply(boats if asks else "nothing of this kind")
        counts.append(
            sum(number < 100 for number in agent._memories.forgotten_numbers())
        )
    return counts


def test_as_the_paper_has_it_memories_fade_along_the_curve() -> None:
    gone = forgotten("paper", days=4)

    assert [
        pytest.approx(100 * (1 - math.exp(-day)), abs=12) for day in (1, 2, 3)
    ] == gone


def test_as_the_code_has_it_the_chances_of_all_days_multiply_and_nothing_lasts_thirty_days() -> (
    None
):
    gone = forgotten("code", days=3)

    assert [pytest.approx(100 * (1 - math.exp(-day)), abs=12) for day in (1, 3)] == gone
    assert forgotten("code", asks=True, days=2)[0] < 100


@pytest.mark.slow
def test_what_is_recalled_lasts_longer() -> None:
    assert forgotten("paper", asks=True, days=9)[-1] < forgotten("paper", days=9)[-1]


def test_equal_conversations_forget_the_same_and_other_seeds_forget_others() -> None:
    assert forgotten("paper", days=3) == forgotten("paper", days=3)
    assert forgotten("paper", days=6) != forgotten("paper&draw=1", days=6)


# --- Presets as files, and the prompts.


def test_the_program_prints_presets_and_prompts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, begins in (
        ("ltm-2", "# GoodAI's LTM agent 2"),
        ("prompts", "# What models are told"),
    ):
        assert main(["list", "agents", "--expand", name]) == 0
        assert capsys.readouterr().out.startswith(begins)
    assert main(["list", "agents", "--expand", "ltm2"]) == 2
    assert "Did you mean 'ltm-2'" in capsys.readouterr().err
    assert main(["list", "suites", "--expand", "ltm-2"]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_a_copy_of_a_preset_is_the_preset(name: str, tmp_path: Path) -> None:
    text = preset_file_text(name)
    assert "\nagent: memory:openai:gpt-4o-mini  # or memory:rules\n" in text
    (tmp_path / "copy.yml").write_text(
        text.replace("memory:openai:gpt-4o-mini ", "memory:rules "), encoding="utf-8"
    )
    copy: Any = find_agent("copy.yml", base=tmp_path).make()

    assert copy.configuration() == made(f"preset={name}").configuration()


def test_ltm_1_asks_and_keeps_by_itself() -> None:
    one, two = (
        told(made(f"preset={name}&recent=0"), []) for name in ("ltm-1", "ltm-2")
    )
    for agent in (one, two):
        agent.accept("I gave up fencing for the oboe in spring.", "Nice.")
        agent.accept("Zurich has a lake.", "Yes.")
    told_by, shown = one._note_down(
        "Hello there! Which instrument do I practise, please? It is late."
    )

    assert "oboe" in told_by
    assert shown == ("Which instrument do I practise, please?", "instrument practise")
    assert not two._note_down("Which instrument do I practise?")[0]


def test_days_pass_by_tokens_where_the_clock_shows_one_day() -> None:
    agent = told(made("preset=memorybank&day=30"), [])
    for number in range(12):
        agent.accept(
            f"I have box {number}, which is full of old letters from Ghent.", "Noted."
        )
    saved = agent.save()

    assert agent.calls()["summary"] >= 4
    assert agent._portrait["history"]
    assert agent._extra_days >= 4
    assert agent._memories.forgotten_numbers()
    agent.load(saved)
    assert agent.save() == saved
    by_the_clock = told(
        made("preset=memorybank&day=0"), [("I have a box.", "Noted.")] * 12, hours=0.1
    )
    assert "summary" not in by_the_clock.calls()


# --- As in LongMemEval: keys from the user's side, dates, notes in the reply's prompt,
# keyphrase queries.


def test_a_key_of_the_users_side_finds_by_what_the_user_said_and_shows_both_sides() -> (
    None
):
    exchanges = [
        ("I bought a kayak.", "A canoe is wider."),
        ("I like tea.", "The oboe of Ghent?"),
    ]
    by_user, by_both = (
        told(made(f"value=round&recent=0&key={key}"), exchanges)
        for key in ("user", "value")
    )
    for agent in (by_user, by_both):
        agent.reply("canoe")

    assert by_user.retrieved() == []
    assert by_both.retrieved() == ["I bought a kayak.\nA canoe is wider."]
    by_user.reply("kayak")
    assert by_user.retrieved() == ["I bought a kayak.\nA canoe is wider."]


def test_what_is_written_of_the_users_side_is_written_of_that_alone() -> None:
    script = Script()
    settings = settings_of(
        fields_of(
            "value=round&recent=0&key=user user-facts user-keyphrases user-summary"
        )
    )
    agent: Any = Pipeline(settings, script)
    agent.accept("I bought a kayak.", "A canoe is wider.")

    assert [[one.text for one in task.said] for task in script.asked] == [
        ["I bought a kayak."]
    ] * 3


def test_dates_in_the_place_of_ages_stand_before_memories_and_message() -> None:
    script = Script()
    agent: Any = told(
        Pipeline(settings_of(fields_of("reading.age=date&recent=0")), script),
        [("A kayak.", "Yes.")],
    )
    agent.reply("kayak?")
    system, message = script.asked[-1].prompt()

    assert f"[{MONDAY.isoformat(' ', 'minutes')}] user: A kayak." in system["content"]
    assert (
        message["content"]
        == f"[{(MONDAY + timedelta(hours=5)).isoformat(' ', 'minutes')}] kayak?"
    )


def said(text: str) -> ModelResponse:
    return ModelResponse(text=text, used=Used())


def test_a_chain_of_notes_is_one_prompt_and_the_reply_what_stands_behind_its_mark() -> (
    None
):
    script = Script()
    agent: Any = told(
        Pipeline(settings_of(fields_of("reading.notes=con&recent=0")), script),
        [("A kayak.", "Yes.")],
    )
    agent.reply("kayak?")
    task = script.asked[-1]

    assert [one.role for one in script.asked] == ["reply"]
    assert "write down" in task.prompt()[0]["content"]
    assert (
        task.result(said("- a kayak (Answer: no)\nAnswer: It is red.")) == "It is red."
    )
    assert task.result(said("It is red.")) == "It is red."
    assert task.result(said("Notes.\nAnswer:")) == "Notes.\nAnswer:"


def test_a_note_on_one_memory_is_asked_for_with_both_dates() -> None:
    script = Script(note=["A kayak."])
    agent: Any = Pipeline(
        settings_of(fields_of("reading.notes=per-item&recent=0")), script
    )
    told(agent, [("A kayak.", "Yes.")]).reply("kayak?")
    asked = next(one for one in script.asked if one.role == "note").prompt()[1][
        "content"
    ]

    assert f"Said on {MONDAY:%A, %Y-%m-%d}:\n1. user: A kayak." in asked
    assert f"Today is {MONDAY + timedelta(hours=5):%A, %Y-%m-%d}." in asked


def test_keyphrases_of_the_message_are_looked_for_beside_it() -> None:
    script = Script(keyphrases=[("red kayak",)])
    agent: Any = told(
        Pipeline(settings_of(fields_of("query=keyphrases&recent=0")), script),
        [("A kayak.", "Yes.")],
    )
    agent.reply("My boat?")

    assert agent.retrieved() == ["A kayak.\nYes."]


def test_an_incremental_summary_is_written_again_after_each_session_and_is_all_that_is_shown() -> (
    None
):
    agent = made("preset=locomo-incremental")
    agent._thinker = watched = Watched()
    told(agent, [("Odile keeps quails.", "Nice."), ("Odile sold a canoe.", "Oh.")])
    agent.reply("What does Odile keep?")
    summaries = [task for task in watched.asked if isinstance(task, Summary)]
    [asked] = [task for task in watched.asked if isinstance(task, Replying)]

    assert [task.earlier for task in summaries] == ["", "Odile keeps quails"]
    assert asked.about == "Odile keeps quails\nOdile sold canoe"


def test_an_incremental_summary_holds_what_was_said_in_this_session_too_and_a_question_alone_leaves_it() -> (
    None
):
    agent = told(
        made("preset=locomo-incremental"), [("Odile keeps quails.", "Nice.")], hours=0
    )
    agent.answer_alone("What does Odile keep?")
    assert agent.in_context()[0] == "Odile keeps quails"
    assert json.loads(agent.save().splitlines()[0])["pad"] == ""


@pytest.mark.parametrize("name", ["ltm-2", "memgpt", "longmemeval-facts"])
def test_each_user_has_a_memory_of_their_own_which_is_saved_with_the_others(
    name: str,
) -> None:
    agent = made_for_users(f"preset={name}")
    agent.tell_time(MONDAY)
    agent.accept("My name is Zora.", "Noted.", user="ann")
    agent.accept("My name is Milo.", "Noted.", user="bo")
    again = made_for_users(f"preset={name}")
    again.load(agent.save())
    for memory in (agent, again):
        memory.tell_time(MONDAY + timedelta(hours=5))
        assert "Zora" in memory.reply("What is my name?", user="ann").text
        assert "Milo" in memory.reply("What is my name?", user="bo").text
        nobody = memory.reply("What is my name?").text
        assert "Zora" not in nobody
        assert "Milo" not in nobody


def test_the_state_of_one_user_is_that_of_the_memory_alone() -> None:
    agent = told(made_for_users("preset=ltm-2"))
    agent.reply("What is my name?")
    assert agent.save() == agent.memory_of("").save()
