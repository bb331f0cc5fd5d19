"""For any seed and length, generated conversations are complete, and the event graph answers their questions."""

from __future__ import annotations

import random
import re
from itertools import pairwise

from _examples import share
from hypothesis import given, settings
from hypothesis import strategies as st
from locomo_solver import Solver, agrees

from pytest_ltm.datasets.locomo.samples import Category
from pytest_ltm.lab.locomo import Generated, Size, generate_conversation

SIZES = st.integers(1, 20).flatmap(
    lambda sessions: st.integers(7 * sessions, 30 * sessions).map(
        lambda turns: Size(sessions=sessions, turns=turns)
    )
)
SEEDS = st.integers(0, 10**6)
few = settings(max_examples=share(25), deadline=None)


def made(size: Size, seed: int) -> Generated:
    return generate_conversation("x", size, random.Random(seed))


@few
@given(SIZES, SEEDS)
def test_the_event_graph_answers_every_question_and_no_adversarial_one(
    size: Size, seed: int
) -> None:
    one = made(size, seed)
    solver = Solver(one.world)

    for question in one.questions:
        answer = solver.answer(question.text)
        assert (
            answer is None
            if question.category is Category.ADVERSARIAL
            else agrees(answer, question.gold)
        )


@few
@given(SIZES, SEEDS)
def test_the_same_seed_gives_the_same_conversation_of_the_length_asked_for(
    size: Size, seed: int
) -> None:
    one = made(size, seed)

    assert one.as_json() == made(size, seed).as_json()
    assert len(one.sessions) == size.sessions
    assert len(one.turns) == size.turns
    assert len(one.questions) <= size.turns // 3


@few
@given(SIZES, SEEDS)
def test_sessions_follow_each_other_and_effects_their_causes(
    size: Size, seed: int
) -> None:
    world = made(size, seed).world
    events = {event.id: event for event in world.events}

    assert list(world.dates) == sorted(set(world.dates))
    for event in world.events:
        told = world.dates[event.session - 1].date()
        assert event.on is None or event.on < told
        for cause in (events[name] for name in event.causes):
            assert cause.on is not None
            assert event.on is not None
            assert cause.who == event.who
            assert cause.on < event.on
            assert cause.session < event.session
            assert cause.plan is None or cause.plan <= event.on


@few
@given(SIZES, SEEDS)
def test_evidence_exists_and_shows_the_answer(size: Size, seed: int) -> None:
    one = made(size, seed)
    turns = {turn.id: turn for turn in one.turns}

    for question in one.questions:
        cited = [turns[name] for name in question.evidence]
        assert cited
        if question.category is Category.SINGLE_HOP:
            shown = (
                " ".join(f"{said.text} {said.caption}" for said in cited)
                .casefold()
                .replace(" my ", " their ")
            )
            assert question.gold.casefold() in shown
        if question.category is not Category.ADVERSARIAL:
            assert {said.speaker for said in cited} == {question.filling["who"]}


@few
@given(SIZES, SEEDS)
def test_what_an_adversarial_question_is_about_was_said_by_nobody_it_could_be_asked_of(
    size: Size, seed: int
) -> None:
    one = made(size, seed)

    for question in one.questions:
        theme = question.filling.get("theme")
        if question.category is Category.ADVERSARIAL and theme:
            whole = re.compile(rf"(?<!\w){re.escape(theme)}(?!\w)", re.IGNORECASE)
            own = [
                turn for turn in one.turns if turn.speaker == question.filling["who"]
            ]
            assert not any(whole.search(f"{said.text} {said.caption}") for said in own)


@few
@given(SIZES, SEEDS)
def test_nobody_contradicts_themselves(size: Size, seed: int) -> None:
    world = made(size, seed).world
    said: dict[tuple[str, str], str] = {}
    latest: dict[tuple[str, str], str] = {}

    for event in world.events:
        if "theme" in event.roles:
            for role, value in event.roles.items():
                key = (f"{event.kind.partition('/')[0]} {event.roles['theme']}", role)
                assert said.setdefault(key, value) == value
        if event.kind.startswith("habit/"):
            habit = (event.who, event.kind.split("/")[1])
            assert event.roles.get("old") == latest.get(habit)
            latest[habit] = event.roles["new"]


@few
@given(SIZES, SEEDS)
def test_speakers_take_turns_and_no_question_is_asked_twice(
    size: Size, seed: int
) -> None:
    one = made(size, seed)
    texts = [question.text for question in one.questions]

    assert len(set(texts)) == len(texts)
    for number, session in enumerate(one.sessions, start=1):
        assert [said.id for said in session] == [
            f"D{number}:{n}" for n in range(1, len(session) + 1)
        ]
        assert all(
            before.speaker != after.speaker for before, after in pairwise(session)
        )
        assert not any("{" in said.text or "{" in said.caption for said in session)
