from __future__ import annotations

import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from benchmark_data import GOODAI, lines_of
from pytest_ltm.scenarios import colours, spy_meeting

from pytest_ltm.agents import Echo, Silent
from pytest_ltm.agents.reader.reader import make_reader
from pytest_ltm.api.model import Score, plain_words, space_delimited
from pytest_ltm.api.scenarios import Ask, Definition, PlannedExample, Say, Wait
from pytest_ltm.api.storage import Field
from pytest_ltm.datasets.published import DefinitionsFolder, from_published
from pytest_ltm.evaluators import DecodesMessages
from pytest_ltm.testing import ScriptedAgent, run_conversation, run_scenario

CODES = (*spy_meeting.PLACES, *spy_meeting.TIMES, *spy_meeting.ITEMS)
KEY = {"message", "messages", "meeting"}


def definition(seed: int, **parameters: Any) -> Definition:
    made: Definition = spy_meeting.spy_meeting(random.Random(seed), parameters)
    return made


def scores(
    agent: object, definitions: list[Definition], *, span: int | None
) -> list[float]:
    examples = [
        PlannedExample(
            scenario="spy_meeting",
            example=str(i),
            definition=made,
            reset=spy_meeting.test_spy_meeting.pytestmark[0].kwargs["reset"],
        )
        for i, made in enumerate(definitions)
    ]
    played = run_conversation(
        {"spy_meeting": spy_meeting.test_spy_meeting},
        agent,
        examples=examples,
        span=span,
    )
    verdicts = [ending.verdict for ending in played.endings.values()]
    assert all(isinstance(verdict, Score) for verdict in verdicts), played.endings
    return [verdict.value for verdict in verdicts if isinstance(verdict, Score)]


@pytest.mark.slow
@pytest.mark.parametrize("span", [2_000, 32_000, None])
def test_full_decodes_all_messages(span: int | None) -> None:
    assert (
        scores(make_reader("full")(), [definition(i) for i in range(20)], span=span)
        == [1.0] * 20
    )


@pytest.mark.slow
@pytest.mark.parametrize("agent", [Echo(), Silent()])
def test_echo_and_silent_earn_nothing(agent: object) -> None:
    assert set(scores(agent, [definition(i) for i in range(20)], span=2_000)) == {0.0}


def test_a_window_sees_the_last_message_only() -> None:
    values = scores(
        make_reader("window", "8k")(), [definition(i) for i in range(3)], span=32_000
    )
    assert values == pytest.approx([1 / 3] * 3)


def test_a_meeting_is_an_opening_three_messages_and_a_question_over_90_percent_of_the_span() -> (
    None
):
    made = definition(1, last_wait=0.9)
    assert [type(step) for step in made.steps] == [Say, Wait] * 4 + [Ask]
    assert [s.span for s in made.steps if isinstance(s, Wait)] == pytest.approx(
        [0.225, 0.45, 0.675, 0.9]
    )


@pytest.mark.slow
@pytest.mark.parametrize(("clues", "group"), CODES)
def test_a_clue_gives_no_answer_away(
    clues: tuple[str, ...], group: tuple[str, ...]
) -> None:
    """Repeating the messages earns nothing, for this scenario or any other."""
    forms = [text for kind in spy_meeting.MESSAGES.values() for text in kind]
    everything = tuple(words for _, words in CODES)
    for clue, form in product(clues, forms):
        said = f"Anselm Zorrick: {form.format(clue=clue)}"
        assert DecodesMessages((group,))([said]).value == 0
        assert DecodesMessages((("never",),), everything)([f"never {said}"]).value == 1


@pytest.mark.parametrize("kind", spy_meeting.MESSAGES)
def test_sixty_wordings_and_more_of_each_kind_of_message_and_half_do_without_the_key(
    kind: str,
) -> None:
    assert len(set(product(spy_meeting.SENT, spy_meeting.MESSAGES[kind]))) >= 60
    assert len(set(product(spy_meeting.OPENINGS, spy_meeting.FAVOURS))) >= 60
    assert len(set(product(spy_meeting.LEADS, spy_meeting.QUESTIONS))) >= 60
    for texts in (spy_meeting.SENT, spy_meeting.LEADS, spy_meeting.OPENINGS):
        keyed = [
            text
            for text in texts
            if KEY & set(plain_words(text.replace("{message}", "")))
        ]
        assert len(keyed) <= len(texts) / 2, keyed


def test_a_meeting_is_passed_on_in_three_ways_and_the_question_names_nobody() -> None:
    for seed in range(40):
        opening, *messages, question = (
            step.text for step in definition(seed).steps if not isinstance(step, Wait)
        )
        assert not [
            name
            for name in spy_meeting.PEOPLE
            if set(plain_words(name)) & set(plain_words(question))
        ]
        senders = [
            name for text in messages for name in spy_meeting.PEOPLE if name in text
        ]
        assert len(set(senders)) == 3
        assert all(name in opening for name in senders)


def test_no_keyword_stands_for_two_messages() -> None:
    forms = [space_delimited(word) for _, group in CODES for word in group]
    assert len(set(forms)) == len(forms)
    inside = [
        (a, b)
        for _, one in CODES
        for _, two in CODES
        if one != two
        for a in one
        for b in two
        if space_delimited(a) in space_delimited(b)
    ]
    assert inside == []


def test_an_answer_that_also_names_something_of_a_message_that_was_not_sent_loses_a_third() -> (
    None
):
    made = definition(2)
    right = " ".join(group[0] for group in made.expected)
    strange = made.parameters["other_messages"][0][0]
    ends = [
        run_scenario(
            spy_meeting.test_spy_meeting,
            ScriptedAgent("", "", "", "", text),
            definition=made,
            span=None,
        ).verdict
        for text in (right, f"{right} {strange}")
    ]
    assert [end.value for end in ends if isinstance(end, Score)] == pytest.approx(
        [1.0, 2 / 3]
    )


def test_questions_opening_and_names_hold_no_keyword_and_no_text_a_colour() -> None:
    around = (
        spy_meeting.LEADS,
        spy_meeting.QUESTIONS,
        spy_meeting.OPENINGS,
        spy_meeting.FAVOURS,
        spy_meeting.SENT,
    )
    fixed = [*(text for texts in around for text in texts), *spy_meeting.PEOPLE]
    everybody = tuple(group for _, group in CODES)
    assert [
        text
        for text in fixed
        if DecodesMessages((("never",),), everybody)([f"never {text}"]).value < 1
    ] == []
    texts = [*fixed, *(text for clues, group in CODES for text in (*clues, *group))]
    assert not {word for text in texts for word in plain_words(text)} & set(
        colours.COLOURS
    )


def test_nobody_has_the_name_of_somebody_in_another_scenario() -> None:
    ours = [part for name in spy_meeting.PEOPLE for part in plain_words(name)]
    assert len(set(ours)) == len(ours)
    home = Path(spy_meeting.__file__)
    elsewhere = {
        path.name: set(plain_words(path.read_text()))
        for path in home.parent.glob("*.py")
        if path != home
    }
    assert "prospective_memory.py" in elsewhere
    assert {
        name: found for name, said in elsewhere.items() if (found := said & set(ours))
    } == {}


@pytest.mark.slow
@pytest.mark.published
def test_full_earns_full_marks_on_the_published_definitions() -> None:
    found = []
    for row in lines_of(GOODAI / "definitions.jsonl.gz"):
        if "/Spy Meeting/" in row["path"] and "waits" in row:
            fields = {
                key: row[key]
                for key in ("script", "is_question", "waits", "expected_responses")
            }
            found.append(from_published(Field(fields, row["path"]), "spy_meeting"))
    assert len(found) > 40
    assert set(scores(make_reader("full")(), found, span=None)) == {1.0}


@pytest.mark.published
def test_in_a_published_folder_the_messages_not_in_play_are_those_of_the_other_files() -> (
    None
):
    folder = DefinitionsFolder(GOODAI / "definitions" / "Benchmark 3 - 120k")
    made = folder.definition("spy_meeting", "0")
    others = made.parameters["other_messages"]
    assert others
    assert not {word for group in others for word in group} & {
        word for group in made.expected for word in group
    }
    everything = [
        group for n in "012" for group in folder.definition("spy_meeting", n).expected
    ]
    assert all(group in everything for group in others)
    assert (
        scores(
            make_reader("full")(),
            [folder.definition("spy_meeting", n) for n in "012"],
            span=None,
        )
        == [1.0] * 3
    )


def test_in_a_folder_of_our_own_definitions_the_messages_not_in_play_are_those_of_the_definition(
    tmp_path: Path,
) -> None:
    from pytest_ltm.api.scenarios import write_definition

    (tmp_path / "spy_meeting").mkdir()
    for n in range(2):
        write_definition(tmp_path / "spy_meeting" / f"{n}.def.json", definition(n))
    assert DefinitionsFolder(tmp_path).definition("spy_meeting", "1") == definition(1)
