"""The town's book can be solved from its text alone, by a solver that knows only the name lists and a few verbs."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_ltm.scenarios import _town
from pytest_ltm.scenarios.chapter_break import chapter_break, pages

from pytest_ltm.api.scenarios import Ask, Definition, Say, Wait
from pytest_ltm.datasets._chapterbreak import (
    _first_sentences,
    _last_sentences,
    book_chapters,
)

SEEDS = st.integers(0, 2**63)
SHAPES = st.fixed_dictionaries(
    {},
    optional={
        "chapters": st.integers(1, 14),
        "changes": st.integers(1, 8),
        "chapter_characters": st.integers(1, 3000),
        "page_characters": st.integers(1, 5000),
    },
)
BROKEN = re.compile(
    r"\bbroken?\b|the end of it|to pieces|split|past all use|what was left"
)
SOUND = re.compile(
    r"mended|good order|together again|itself again|never served|not a scratch"
)
NAMES = [person.name for person in _town.PEOPLE]


def texts(definition: Definition) -> list[str]:
    return [step.text for step in definition.steps if not isinstance(step, Wait)]


def named(sentence: str, values: list[str] | tuple[str, ...]) -> list[str]:
    """Return the values named in the sentence, in order."""
    found = [
        (match.start(), value)
        for value in values
        for match in re.finditer(re.escape(value), sentence, re.IGNORECASE)
    ]
    return [value for _, value in sorted(found)]


def told(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the fact in each sentence; the last place counts, and for things the last person."""
    for sentence in re.split(r"(?<=[.!?])\s+|\n+", text):
        people, things = named(sentence, NAMES), named(sentence, _town.THINGS)
        homes, work = named(sentence, _town.HOMES), named(sentence, _town.WORKPLACES)
        if things and (BROKEN.search(sentence) or SOUND.search(sentence)):
            yield "whole", things[-1], "no" if BROKEN.search(sentence) else "yes"
        elif things:
            yield "owner", things[-1], people[-1]
        elif homes:
            yield "home", people[-1], homes[-1]
        elif work:
            yield "work", people[-1], work[-1]


def solved(definition: Definition) -> list[int]:
    """Return the numbers of the options that contradict nothing on the pages."""
    spoken = texts(definition)
    book = "".join(
        text.split(":\n\n", 1)[1] for text in spoken if text.startswith("Page ")
    )
    state = {(kind, subject): value for kind, subject, value in told(book)}
    options = dict(
        re.findall(r"\AOption (\d+):\n\n(.*)", text, re.DOTALL)[0]
        for text in spoken
        if text.startswith("Option ")
    )
    return [
        int(number)
        for number, text in options.items()
        if all(
            state.get((kind, subject), "yes") == value
            for kind, subject, value in told(text)
        )
    ]


@settings(deadline=None)
@given(seed=SEEDS, shape=SHAPES)
def test_exactly_one_of_six_beginnings_contradicts_nothing(
    seed: int, shape: dict[str, int]
) -> None:
    definition = chapter_break(random.Random(seed), shape)
    assert solved(definition) == [definition.expected]
    assert sum(text.startswith("Option ") for text in texts(definition)) == 6


@settings(deadline=None)
@given(seed=SEEDS, shape=SHAPES)
def test_the_beginnings_speak_of_different_matters_so_that_comparing_them_does_not_help(
    seed: int, shape: dict[str, int]
) -> None:
    definition = chapter_break(random.Random(seed), shape)
    said = [
        fact
        for text in texts(definition)
        if text.startswith("Option ")
        for fact in told(text)
    ]
    assert len({(kind, subject) for kind, subject, _ in said}) == len(said) == 18
    true_homes = [value for kind, _, value in said if kind == "home"]
    assert len(set(true_homes)) == len(true_homes)


@settings(deadline=None)
@given(seed=SEEDS, shape=SHAPES)
def test_pages_joined_are_the_text_and_hold_no_more_than_asked_for(
    seed: int, shape: dict[str, int]
) -> None:
    definition = chapter_break(random.Random(seed), shape)
    cut = [
        text.split(":\n\n", 1)[1]
        for text in texts(definition)
        if text.startswith("Page ")
    ]
    limit = shape.get("page_characters", 4000)
    assert all(
        len(page) <= limit
        or len(re.findall(r"[.!?][”]?\s+(?=[^a-z])", page.rstrip())) == 0
        for page in cut
    )
    assert re.findall(r"Chapter (\d+):", "".join(cut)) == [
        str(n + 1) for n in range(shape.get("chapters", 8))
    ]


@given(
    text=st.text(st.sampled_from('ab .!?”"\n\tX'), max_size=400),
    size=st.integers(1, 60),
)
def test_any_text_is_the_sum_of_its_pages(text: str, size: int) -> None:
    assert "".join(pages(text, size)) == text


@settings(deadline=None)
@given(seed=SEEDS)
def test_one_seed_gives_one_book_played_in_one_go(seed: int) -> None:
    definition = chapter_break(random.Random(seed), {})
    assert definition == chapter_break(random.Random(seed), {})
    assert all(isinstance(step, Say) for step in definition.steps[:-1])
    question = definition.steps[-1]
    assert isinstance(question, Ask)
    assert 1 <= len(question.about) <= 5
    assert set(question.about) <= set(texts(definition)[1:-8])


@given(
    text=st.text(st.sampled_from("Ab.! ”\n"), max_size=3000), size=st.integers(1, 2000)
)
def test_the_end_and_the_beginning_of_a_text_are_never_longer_than_asked_for(
    text: str, size: int
) -> None:
    ending, beginning = _last_sentences(text, size), _first_sentences(text)
    assert text.endswith(ending)
    assert text.startswith(beginning)
    assert len(ending) <= size
    assert len(beginning) <= 900


@given(
    bodies=st.lists(
        st.text(st.sampled_from("abc .\n"), min_size=110, max_size=200).filter(
            str.strip
        ),
        max_size=9,
    )
)
def test_a_book_is_cut_at_its_headings(bodies: list[str]) -> None:
    bodies = [
        f"It began. {body} It was long enough, after all, to be more than a heading; so it ended."
        for body in bodies
    ]
    book = "\n\n".join(
        f"CHAPTER {number}.\n\n{body}" for number, body in enumerate(bodies, start=1)
    )
    assert [body for _, body in book_chapters(book)] == bodies
